"""What is loaded, and when: a name of a package when it is used, a model with nothing of the others."""

import subprocess
import sys
from pathlib import Path

import pytest

import cofactor
from cofactor import labels, ratings
from cofactor.lazy import Registry
from cofactor.ratings import ALS, ranking

#: Packages that take long to load.
HEAVY = ("sklearn", "numba", "numpy", "scipy", "pandas", "matplotlib", "pyarrow")
REGISTRIES = {
    "ratings": ratings.MODELS,
    "ranking": ranking.MODELS,
    "labels": labels.MODELS,
    "transformers": labels.TRANSFORMERS,
}


def loaded(code: str, given: str = "") -> set[str]:
    """Return the modules that some lines load in a process of their own, beside those that `given` loads."""
    lines = (
        "import sys",
        given,
        "before = set(sys.modules)",
        code,
        "print(*set(sys.modules) - before, file=sys.stderr)",
    )
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], capture_output=True, text=True, check=True)
    return set(done.stderr.splitlines()[-1].split())


@pytest.mark.processes
@pytest.mark.parametrize("package", ["cofactor", "cofactor.ratings", "cofactor.labels", "cofactor.datasets"])
def test_a_package_loads_nothing_heavy(package: str) -> None:
    found = loaded(f"import {package}\n{package}.__all__, dir({package})")
    assert not found & set(HEAVY)


@pytest.mark.processes
def test_registries_know_names_without_classes() -> None:
    names = "list(MODELS), 'MMMF' in MODELS, len(MODELS)"
    assert not loaded(f"from cofactor.ratings import MODELS\n{names}") & set(HEAVY)


@pytest.mark.processes
@pytest.mark.parametrize(
    ("use", "own"),
    [
        ("from cofactor.ratings import MMMF", "cofactor.ratings.factors.mmmf"),
        ("import cofactor; cofactor.ratings.MODELS['MMMF']", "cofactor.ratings.factors.mmmf"),
        ("from cofactor.ratings import OrdinalProbit", "cofactor.ratings.sampled.ordinal_probit"),
        ("from cofactor.labels import LabelRidge", "cofactor.labels.ridge.model"),
    ],
)
def test_a_model_loads_its_own_module(use: str, own: str) -> None:
    found = loaded(use, given="import sklearn.base, numba")
    of_models = {type.__module__ for registry in REGISTRIES.values() for type in registry.values()}
    assert found & of_models == {own}
    top = {name.partition(".")[0] for name in found}
    assert not top & {"pandas", "matplotlib", "pyarrow"}
    assert not any(name.startswith(("scipy.stats", "cofactor.datasets", "sklearn.linear_model")) for name in found)


@pytest.mark.processes
def test_loading_a_file_loads_its_model(tmp_path: Path) -> None:
    path = tmp_path / "model.cofactor"
    ALS(1, alpha=1.0, random_state=0).fit([(1, 1), (1, 2), (2, 1)], [1, 2, 2]).save(path)
    found = loaded(f"import cofactor\ncofactor.load({str(path)!r})")
    assert "cofactor.ratings.factors.als" in found
    assert not found & {"cofactor.ratings.factors.mmmf", "cofactor.labels.base", "sklearn.pipeline"}


@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--help"], ""),
        (["info", "{file}"], ""),
        (["info", "nowhere"], "nowhere: no such file"),
        (["fit", "nowhere.csv"], "nowhere.csv: no such file, and no known data set"),
        (["predict", "nowhere", "x.csv"], "nowhere: no such file"),
        (["predict", "{file}", "x.csv"], "x.csv: no such file"),
        (["recommend", "nowhere", "--all"], "nowhere: no such file"),
        (["evaluate", "nowhere"], "nowhere: no such file, and no known data set"),
    ],
)
def test_commands_without_work_load_nothing_heavy(tmp_path: Path, arguments: list[str], message: str) -> None:
    path = tmp_path / "model.cofactor"
    ALS(1, alpha=1.0, random_state=0).fit([(1, 1), (1, 2), (2, 1)], [1, 2, 2]).save(path)
    given = [one.format(file=path) for one in arguments]
    code = f"import cofactor.cli\nassert cofactor.cli.main({given}) == {2 if message else 0}"
    script = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=True)
    assert message in done.stderr
    assert not set(done.stdout.splitlines()[-1].split()) & set(HEAVY)


@pytest.mark.parametrize("package", [cofactor, ratings, ratings.ranking, labels, cofactor.metrics, cofactor.evaluation])
def test_names_of_a_package_are_there(package: object) -> None:
    names = package.__all__  # type: ignore[attr-defined]
    assert set(names) <= set(dir(package))
    assert all(getattr(package, name) is not None for name in names)
    with pytest.raises(AttributeError, match="has no attribute 'Nothing'"):
        _ = package.Nothing  # type: ignore[attr-defined]


@pytest.mark.parametrize("registry", REGISTRIES.values(), ids=REGISTRIES)
def test_a_registry_is_a_mapping_of_classes(registry: Registry) -> None:
    assert all(kind.__name__ == name for name, kind in registry.items())
    both = registry | {"Mine": dict}
    assert both["Mine"] is dict
    assert "Mine" not in registry
    assert {**registry, "Mine": dict} == dict(both)
    with pytest.raises(KeyError):
        registry["Nothing"]
