"""Imports go only downward, and what is heavy is needed by the shells alone."""

import subprocess
import sys
from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import cofactor

ROOT = Path(cofactor.__file__).parent

HEAVY = (
    *("matplotlib", "pandas", "polars", "pooch", "typer", "rich", "arff", "cvxpy", "arviz", "xarray"),
    *("scikit_posthocs", "seaborn", "statsmodels"),
    *("starlette", "uvicorn", "msgspec", "prometheus_client"),
)


def test_imports_go_only_downward(capsys, monkeypatch) -> None:
    """The layers stand in pyproject.toml."""
    monkeypatch.setattr("logging.config.dictConfig", lambda config: None)  # it would silence all loggers of the process
    status = lint_imports(str(ROOT.parents[1] / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out


@pytest.mark.evidence
def test_no_module_but_the_shells_needs_heavy_packages() -> None:
    """Every other module imports where they cannot be imported (scikit-learn itself takes pandas)."""
    names = []
    for path in ROOT.rglob("*.py"):
        parts = ["cofactor", *path.relative_to(ROOT).with_suffix("").parts]
        if parts[1] not in ("cli", "server", "__init__", "__main__"):
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    assert "cofactor.ratings" in names
    lines = ["import importlib, sys", f"sys.modules.update(dict.fromkeys({HEAVY!r}))"]
    lines += [f"for name in {names!r}: importlib.import_module(name)", "print('imported')"]
    outcome = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True)
    assert (outcome.returncode, outcome.stdout) == (0, "imported\n"), outcome.stderr
