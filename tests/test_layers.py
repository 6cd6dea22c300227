"""Imports go only downward."""

from pathlib import Path

from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

import cofactor

ROOT = Path(cofactor.__file__).parent


def test_imports_go_only_downward(capsys, monkeypatch) -> None:
    """The layers stand in pyproject.toml."""
    monkeypatch.setattr("logging.config.dictConfig", lambda config: None)  # it would silence all loggers of the process
    status = lint_imports(str(ROOT.parents[1] / "pyproject.toml"), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
