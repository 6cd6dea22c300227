"""What is loaded, and when: a name of a package when it is used, a model with nothing of the others."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.together import together

import cofactor
from cofactor import labels, ratings
from cofactor.lazy import Registry
from cofactor.ratings import ALS, ranking

#: Packages that take long to load.
HEAVY = ("sklearn", "numba", "numpy", "scipy", "pandas", "matplotlib", "pyarrow")
#: Packages that shells, pictures and statistics alone need.
EXTRA = ("polars", "pooch", "typer", "rich", "arff", "cvxpy", "arviz", "xarray", "scikit_posthocs", "seaborn")
EXTRA += ("statsmodels", "starlette", "uvicorn", "msgspec", "prometheus_client")
REGISTRIES = {
    "ratings": ratings.MODELS,
    "ranking": ranking.MODELS,
    "labels": labels.MODELS,
    "transformers": labels.TRANSFORMERS,
}


#: What a model needs when some of its methods are called, and not before.
OF_CALLS = (
    "cofactor.metrics.ratings",
    "cofactor.model.explanations",
    "cofactor.model.selection",
    "cofactor.persistence",
    "cofactor.ratings.features",
    "cofactor.ratings.sharded",
    "cofactor.samplers",
    "email.parser",
    "safetensors",
)


def asked_of_a_process(lines: str) -> list[str]:
    """Return what some lines print to the standard error of a process of their own."""
    done = subprocess.run([sys.executable, "-c", lines], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def loaded(*uses: str) -> list[set[str]]:
    """Return the modules that each of some lines loads beside scikit-learn and Numba, with none of ours there yet."""
    questions = f"""
import sys, sklearn.base, numba
for use in {uses!r}:
    for name in [name for name in sys.modules if name.partition(".")[0] == "cofactor"]:
        del sys.modules[name]
    before = set(sys.modules)
    exec(use)
    print(*set(sys.modules) - before, file=sys.stderr)
"""
    return [set(line.split()) for line in asked_of_a_process(questions)]


def saved_model(folder: Path) -> Path:
    path = folder / "model.cofactor"
    ALS(1, alpha=1.0, random_state=0).fit([(1, 1), (1, 2), (2, 1)], [1, 2, 2]).save(path)
    return path


@pytest.mark.processes
def test_packages_and_registries_load_nothing_heavy() -> None:
    lines = """
import sys, cofactor, cofactor.ratings, cofactor.labels, cofactor.datasets
for package in (cofactor, cofactor.ratings, cofactor.labels, cofactor.datasets):
    package.__all__, dir(package)
models = cofactor.ratings.MODELS
list(models), "MMMF" in models, len(models)
print(*sys.modules, file=sys.stderr)
"""
    assert not set(asked_of_a_process(lines)[-1].split()) & {*HEAVY, *EXTRA}


@pytest.mark.processes
def test_a_model_loads_its_own_module_and_nothing_that_only_calls_need(tmp_path: Path) -> None:
    uses = {
        "from cofactor.ratings import MMMF": "cofactor.ratings.factors.mmmf",
        "import cofactor; cofactor.ratings.MODELS['OrdinalProbit']": "cofactor.ratings.sampled.ordinal_probit",
        "from cofactor.labels import LabelRidge": "cofactor.labels.ridge",
        f"import cofactor; cofactor.load({str(saved_model(tmp_path))!r})": "cofactor.ratings.factors.als",
    }
    of_models = {type.__module__ for registry in REGISTRIES.values() for type in registry.values()}
    for (use, own), found in zip(uses.items(), loaded(*uses), strict=True):
        assert found & of_models == {own}, use
        if own.endswith("mmmf"):
            assert not found & set(OF_CALLS), use
        top = {name.partition(".")[0] for name in found}
        assert not top & {"pandas", "matplotlib", "pyarrow"}, use
        others = ("scipy.stats", "cofactor.datasets", "sklearn.linear_model", "sklearn.pipeline")
        assert not any(name.startswith(others) for name in found), use


@pytest.mark.processes
def test_commands_without_work_load_nothing_heavy(tmp_path: Path) -> None:
    path = str(saved_model(tmp_path))
    nowhere = str(tmp_path / "nowhere")
    table = str(tmp_path / "x.csv")
    commands = [
        (["--help"], ""),
        (["--version"], ""),
        (["fit", "--help"], ""),
        (["info", path], ""),
        (["info", nowhere], f"{nowhere}: no such file"),
        (["fit", table], f"{table}: no such file, and no known data set"),
        (["predict", nowhere, table], f"{nowhere}: no such file"),
        (["predict", path, table], f"{table}: no such file"),
        (["recommend", nowhere, "--all"], f"{nowhere}: no such file"),
        (["evaluate", nowhere], f"{nowhere}: no such file, and no known data set"),
    ]
    lines = f"""
import sys, cofactor.cli
for arguments in {[arguments for arguments, _ in commands]!r}:
    status = cofactor.cli.main(arguments)
    print("STATUS", status, file=sys.stderr)
print(*sys.modules, file=sys.stderr)
"""
    *told, modules = asked_of_a_process(lines)
    answers = "\n".join(told).split("STATUS ")
    for (arguments, message), said, status in zip(commands, answers[:-1], answers[1:], strict=True):
        assert message in said, arguments
        assert status.startswith("2" if message else "0"), arguments
    assert not set(modules.split()) & set(HEAVY)


@pytest.mark.processes
@pytest.mark.evidence
def test_no_module_but_the_shells_needs_heavy_packages() -> None:
    """Every other module imports where they cannot be imported (scikit-learn itself takes pandas)."""
    root, names = Path(cofactor.__file__).parent, []
    for path in root.rglob("*.py"):
        parts = ["cofactor", *path.relative_to(root).with_suffix("").parts]
        if parts[1] not in ("cli", "server", "__init__", "__main__"):
            names.append(".".join(parts[:-1] if parts[-1] == "__init__" else parts))
    assert "cofactor.ratings" in names
    lines = ["import importlib, sys", f"sys.modules.update(dict.fromkeys({('matplotlib', 'pandas', *EXTRA)!r}))"]
    lines += [f"for name in {names!r}: importlib.import_module(name)", "print('imported', file=sys.stderr)"]
    assert asked_of_a_process("\n".join(lines)) == ["imported"]


@together("package", [cofactor, ratings, ratings.ranking, labels, cofactor.metrics, cofactor.evaluation])
def test_names_of_a_package_are_there(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert set(names) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = package.Nothing  # type: ignore[attr-defined]


@together("registry", REGISTRIES.values(), ids=REGISTRIES)
def test_a_registry_is_a_mapping_of_classes(registry: Registry) -> None:
    assert all(kind.__name__ == name for name, kind in registry.items())
    both = registry | {"Mine": dict}
    assert both["Mine"] is dict
    assert "Mine" not in registry
    assert {**registry, "Mine": dict} == dict(both)
    with pytest.raises(KeyError):
        registry["Nothing"]
