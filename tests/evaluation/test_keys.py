"""Descriptions: equal in every process where nothing changed, different where anything did."""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import importlib
import json
import shutil
import sys
import threading
import types
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse, special, stats
from sklearn import config_context
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import KFold, PredefinedSplit, RandomizedSearchCV, RepeatedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from tests.children import answer_of
from tests.together import together

import cofactor
from cofactor.datasets import LabelDataset, make_labels
from cofactor.evaluation import Cell, cell, compare, keys
from cofactor.evaluation.comparison import sources_of
from cofactor.evaluation.keys import IndescribableError, UnsourcedError, code_digest, described
from cofactor.labels import PLST
from cofactor.ratings import ALS


def told(value: Any, strict: bool = True) -> Any:
    return described(value, strict=strict).value


TOY = ([(user, item) for user in range(12) for item in range(5)], np.array([1, 2, 3, 5, 4] * 12, dtype=float))


class Plain:
    """An object without a repr of its own."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def scaled(self, x: Any) -> Any:
        return x * self.value


class Slots:
    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


@dataclass
class Options:
    alpha: float = 1.0
    names: tuple[str, ...] = ()


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Constant(BaseEstimator):
    """Predicts what it is told."""

    def __init__(self, level: Any = 3.0, callback: Any = None, source: Any = None) -> None:
        self.level, self.callback, self.source = level, callback, source

    def fit(self, X: Any, y: Any) -> Constant:
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.level)


def power(k: int) -> Callable[[float], float]:
    return lambda x: x**k


@functools.lru_cache
def kept(x: float) -> float:
    return x


def series(middle: float) -> pd.Series:
    return pd.Series(np.where(np.arange(1000) == 500, middle, 0.0))


def moved(generator: Any) -> Any:
    generator.random(3)
    return generator


def itself(start: int) -> list[Any]:
    found: list[Any] = [start]
    found.append(found)
    return found


def forest(seed: int) -> FrozenEstimator:
    X = np.random.default_rng(0).normal(size=(30, 3))
    return FrozenEstimator(RandomForestClassifier(2, random_state=seed).fit(X, X[:, 0] > 0))


def weighted(model: Any) -> Any:
    with config_context(enable_metadata_routing=True):
        return model.set_fit_request(sample_weight=True)


def search(distribution: Any) -> RandomizedSearchCV:
    return RandomizedSearchCV(Ridge(), {"alpha": distribution}, random_state=0)


FAMILIES: dict[str, list[Callable[[], Any]]] = {
    "plain values": [
        lambda: None,
        lambda: "None",
        lambda: 1,
        lambda: 1.0,
        lambda: True,
        lambda: "1",
        lambda: 1 + 0j,
        lambda: b"1",
        lambda: -0.0,
        lambda: 0.0,
        lambda: float("nan"),
        lambda: Fraction(1, 3),
        lambda: np.float32(1),
    ],
    "collections": [
        lambda: [1, 2],
        lambda: [2, 1],
        lambda: (1, 2),
        lambda: {1, 2},
        lambda: frozenset([1, 2]),
        lambda: {1: 2},
        lambda: {"1": 2},
        lambda: {"class": "tuple", "items": [1, 2]},
        lambda: collections.OrderedDict([("a", 1), ("b", 2)]),
        lambda: {"a": 1, "b": 2},
        lambda: collections.deque([1, 2]),
        lambda: range(2),
        lambda: [1, [2]],
    ],
    "arrays": [
        lambda: np.arange(6),
        lambda: np.arange(6.0),
        lambda: np.arange(6).reshape(2, 3),
        lambda: np.array([Ridge(1.0), "a"], dtype=object),
        lambda: np.array([Ridge(2.0), "a"], dtype=object),
        lambda: np.array([(1, 2.0)], dtype=[("a", "i4"), ("b", "f8")]),
        lambda: np.array([(1, 2.0)], dtype=[("a", "i4"), ("c", "f8")]),
        lambda: np.array([Plain(np.arange(2000))], dtype=object),
        lambda: np.array([Plain(np.arange(2000) != 1000)], dtype=object),
        lambda: sparse.csr_array(np.eye(3)),
        lambda: sparse.csr_matrix(np.eye(3)),
        lambda: sparse.csr_array(2 * np.eye(3)),
    ],
    "frames": [
        lambda: series(1.0),
        lambda: series(2.0),
        lambda: pd.Series(series(1.0).to_numpy(), index=np.arange(1000) + 1),
        lambda: pd.DataFrame({"a": series(1.0)}),
        lambda: pd.DataFrame({"b": series(1.0)}),
        lambda: pd.DataFrame({"a": series(1.0).astype("Float64")}),
        lambda: pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["a", "b"])),
        lambda: pd.Series(["a", "b"], dtype=pd.CategoricalDtype(["b", "a"])),
        lambda: pd.Index([1, 2]),
        lambda: pl.DataFrame({"a": ["x", None]}),
        lambda: pl.DataFrame({"a": ["x", "y"]}),
        lambda: pl.Series([1, 2]),
        lambda: pl.LazyFrame({"a": [1]}),
        lambda: pl.LazyFrame({"a": [2]}),
    ],
    "generators of numbers": [
        lambda: np.random.RandomState(0),
        lambda: np.random.RandomState(1),
        lambda: moved(np.random.RandomState(0)),
        lambda: np.random.default_rng(0),
        lambda: np.random.default_rng(1),
        lambda: moved(np.random.default_rng(0)),
        lambda: np.random.Generator(np.random.MT19937(0)),
        lambda: np.random.mtrand._rand,
    ],
    "distributions": [
        lambda: search(stats.uniform(0.5, 1)),
        lambda: search(stats.uniform(4, 1)),
        lambda: search(stats.loguniform(4, 5)),
        lambda: search(stats.randint(4, 5)),
        lambda: search(stats.Normal(mu=1.0, sigma=2.0)),
        lambda: search(stats.Normal(mu=1.0, sigma=3.0)),
    ],
    "estimators": [
        lambda: Ridge(),
        lambda: Ridge(alpha=2.0),
        lambda: RidgeClassifier(),
        lambda: make_pipeline(FunctionTransformer(), Ridge()),
        lambda: make_pipeline(FunctionTransformer(), Ridge(alpha=2.0)),
        lambda: weighted(Ridge()),
        lambda: FunctionTransformer().set_output(transform="pandas"),
        lambda: FunctionTransformer(),
        lambda: forest(0),
        lambda: forest(1),
        lambda: ALS(2, 8.0),
        lambda: ALS(2, 9.0),
        lambda: make_scorer(f1_score),
        lambda: make_scorer(f1_score, average="micro"),
    ],
    "splitters": [
        lambda: KFold(3),
        lambda: KFold(4),
        lambda: RepeatedKFold(n_splits=3, random_state=0),
        lambda: RepeatedKFold(n_splits=4, random_state=0),
        lambda: PredefinedSplit([0, 1, 1]),
        lambda: PredefinedSplit([0, 1, 0]),
    ],
    "functions": [
        lambda: FunctionTransformer(power),
        lambda: FunctionTransformer(itself),
        lambda: FunctionTransformer(functools.partial(power, 2)),
        lambda: FunctionTransformer(functools.partial(power, 3)),
        lambda: FunctionTransformer(kept),
        lambda: FunctionTransformer(Plain(2).scaled),
        lambda: FunctionTransformer(Plain(3).scaled),
        lambda: FunctionTransformer(np.log1p),
        lambda: FunctionTransformer(special.expit),
        lambda: FunctionTransformer(np.mean),
        lambda: FunctionTransformer(len),
        lambda: FunctionTransformer(str.upper),
    ],
    "objects": [
        lambda: Plain(1),
        lambda: Plain(2),
        lambda: Plain(Plain(2)),
        lambda: Slots(1),
        lambda: Slots(2),
        lambda: Options(),
        lambda: Options(2.0),
        lambda: Options(names=("a",)),
        lambda: Colour.RED,
        lambda: Colour.BLUE,
        lambda: Colour,
        lambda: Plain,
        lambda: dict,
        lambda: Path("a/b"),
        lambda: Path("a/c"),
        lambda: datetime.date(2020, 1, 1),
        lambda: datetime.datetime(2020, 1, 1),
        lambda: datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC),
        lambda: pd.Timestamp("2020-01-01"),
        lambda: np.dtype("f4"),
        lambda: np.dtype("f8"),
        lambda: ...,
    ],
}


@pytest.mark.parametrize("family", FAMILIES)
def test_different_things_differ(family: str) -> None:
    first, second = ([json.dumps(told(make())) for make in FAMILIES[family]] for _ in range(2))
    assert first == second
    same = {text: [k for k, other in enumerate(first) if other == text] for text in first}
    assert [places for places in same.values() if len(places) > 1] == []
    assert " at 0x" not in "".join(first)


def test_equal_things_are_equal() -> None:
    assert told({"a": 1, "b": 2}) == told({"b": 2, "a": 1})
    assert told({1: "a", 2: "b"}) == told({2: "b", 1: "a"})
    assert told(frozenset([0, 8])) == told(frozenset([8, 0]))  # which are iterated in the order given
    assert told(Plain({"words": frozenset([0, 8])})) == told(Plain({"words": frozenset([8, 0])}))
    assert told([np.float64(2.0), np.int64(3), np.str_("x"), np.bool_(True)]) == [2.0, 3, "x", True]
    assert told(np.arange(6)[::2]) == told(np.array([0, 2, 4]))
    assert told(Ridge().fit([[0.0], [1.0]], [0, 1])) == told(Ridge())  # it is cloned before it is fitted
    assert told(ALS(2, callback=print, verbose=1)) == told(ALS(2))
    assert told(RandomForestClassifier(n_jobs=2, verbose=3)) == told(RandomForestClassifier())
    once = Plain(1)
    assert told([once, once]) == told([Plain(1), Plain(1)])
    assert told(types.MappingProxyType({"a": 1})) == told({"a": 1})


# ---------------------------------------------------------------- which code takes part


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a copy of this package, which may be edited."""
    folder = tmp_path_factory.mktemp("copy")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(cofactor.__file__).parent, folder / "cofactor", ignore=ignored)
    return folder


OF_PLST = """
from cofactor.evaluation import compare
from cofactor.labels import PLST
X, Y = [[float(k % 3), float(k % 5)] for k in range(20)], [[k % 2, int(k < 9)] for k in range(20)]
(result, _) = compare({"PLST": PLST.paper()}, {"toy": (X, Y)}, store="results", n_splits=2).results
found = [result.key, str(result.measures["hamming"])]
"""
#: Forgets this package in a new process, to import another.
FROM_A_COPY = """
import os, sys
for name in [name for name in sys.modules if name.partition(".")[0] == "cofactor"]:
    del sys.modules[name]
sys.path.insert(0, package)
os.chdir(folder)
import cofactor
assert cofactor.__file__.startswith(package)
"""
PREDICTS_NOTHING = """

LabelModel.predict = lambda self, X: np.zeros((len(X), 2), dtype=int)
"""


@pytest.mark.evidence
@pytest.mark.processes
def test_a_changed_estimator_is_computed_again(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A store once gave the old figure of an estimator that had been changed."""
    monkeypatch.chdir(tmp_path)
    first: dict[str, Any] = {}
    exec(OF_PLST, first)
    file = package / "cofactor" / "labels" / "base.py"
    text = file.read_text(encoding="utf-8")
    file.write_text(text + PREDICTS_NOTHING, encoding="utf-8")
    try:
        other_key, other_hamming = answer_of(
            f"{FROM_A_COPY}{OF_PLST}answer.send(found)", package=str(package), folder=str(tmp_path)
        )
    finally:
        file.write_text(text, encoding="utf-8")
    key, hamming = first["found"]
    assert key != other_key
    assert hamming != other_hamming


def digest(*modules: str) -> str:
    keys._digest.cache_clear()
    return code_digest(modules)


def test_versions_of_packages_are_part_of_every_key(monkeypatch: pytest.MonkeyPatch) -> None:
    versions = {"numpy": "1", "scipy": "1", "scikit-learn": "1", "numba": "1"}
    monkeypatch.setattr("importlib.metadata.version", versions.__getitem__)
    found = {digest(), digest("pandas.core.frame")}
    for name in versions:
        versions[name] = "2"
        found.add(digest())
    assert len(found) == 6  # that of pandas counts only where something of it is used
    monkeypatch.setattr(pd, "__version__", "3")
    assert digest("pandas.core.frame") not in found
    assert digest("pathlib", "builtins") == digest()


# ---------------------------------------------------------------- code of the user

MINE = """
from sklearn.base import BaseEstimator

class Model(BaseEstimator):
    pass

def measured(method, data, split, seed):
    return {"mae": 1.0}
"""


@pytest.mark.parametrize("within", [False, True])
def test_code_of_the_user_counts_by_its_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, within: bool) -> None:
    """Of a package all of them, else the file."""
    folder = tmp_path / "ours" if within else tmp_path
    folder.mkdir(exist_ok=True)
    for name in ("mine", "other"):
        (folder / f"{name}.py").write_text(MINE)
    monkeypatch.syspath_prepend(tmp_path)
    mine = importlib.import_module("ours.mine" if within else "mine")

    def found() -> list[str]:
        keys._digest.cache_clear()
        cells = [cell(mine.measured, method="m", version=version) for version in ("", "1")]
        return [*(one.key for one in cells), code_digest(described(mine.Model()).modules)]

    first = found()
    assert found() == first
    for name, counts in (("mine", True), ("other", within)):
        (folder / f"{name}.py").write_text(MINE + "# edited\n")
        assert [old != new for old, new in zip(first, found(), strict=True)] == [counts, False, counts]
        (folder / f"{name}.py").write_text(MINE)
    for name in ("mine", "ours", "ours.mine"):
        monkeypatch.delitem(sys.modules, name, raising=False)


def test_code_without_a_source_needs_a_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(measured, "__module__", "made_by_hand")
    monkeypatch.setitem(sys.modules, "made_by_hand", types.ModuleType("made_by_hand"))
    with pytest.raises(UnsourcedError, match="the module made_by_hand has no source file, .*; keep the code in a file"):
        cell(measured, method="m")
    assert cell(measured, method="m", version="1").key != cell(measured, method="m", version="2").key
    with pytest.raises(IndescribableError, match="<lambda> from another; write it at the top of a module"):
        cell(lambda **_: {}, method="m", version="1")

    monkeypatch.setattr(Constant, "__module__", "made_by_hand")
    methods = {"mine": Constant()}
    assert not compare(methods, {"toy": TOY}).failed
    message = "method 'mine': the module made_by_hand has no source file, .*cannot be found again in the store; keep"
    with pytest.raises(TypeError, match=message):
        compare(methods, {"toy": TOY}, store=tmp_path / "results")
    compare(methods, {"toy": TOY}, store=tmp_path / "results", version="1")


def measured(method: str, data: str, split: str, seed: int) -> dict[str, float]:
    return {"mae": 1.0}


# ---------------------------------------------------------------- what cannot be told apart


@together(
    ("value", "message"),
    [
        (Constant(level=[1, (k for k in range(3))]), "level.1: cannot tell one generator from another"),
        (Constant(callback=np.frompyfunc(lambda x: x, 1, 1)), "callback: cannot tell one ufunc from another"),
        (Plain(threading.Lock()), "cannot tell one Plain from another"),
        (FunctionTransformer(lambda X: X), "func: cannot tell one <lambda> from another; write it at the top of a mod"),
        (FunctionTransformer(power(2)), "func: cannot tell one power.<locals>.<lambda> from another"),
        (itself(1), "cannot tell one list from another: it holds itself"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(value: Any, message: str) -> None:
    with pytest.raises(IndescribableError, match=message):
        told(value)
    if not isinstance(value, list):
        assert told(value, strict=False)["class"]


class Once(Constant):
    """Takes its level from something that cannot be copied."""

    def __sklearn_clone__(self) -> Once:
        return self


def test_all_that_says_what_a_cell_is_is_part_of_its_key() -> None:
    """And what else it carries, such as its work, is not."""
    facts = {
        "measure": "m",
        "method": "n",
        "data": "d",
        "checksum": "c",
        "split": "s",
        "seed": 3,
        "parameters": {"a": 1},
    }
    other = {"parameters": {"a": 2}, "seed": 4}
    one = Cell(work=dict, code="x", **facts)
    changed = [replace(one, **{name: other.get(name, "other")}) for name in (*facts, "code")]
    assert len({one.key, *(each.key for each in changed)}) == len(changed) + 1
    assert replace(one, work=list).key == one.key


def test_a_store_refuses_what_nobody_would_find_again(tmp_path: Path) -> None:
    methods = {"mean": DummyRegressor(), "once": Once(source=(k for k in range(3)))}
    assert not compare(methods, {"toy": TOY}).failed
    message = (
        "method 'once': cannot tell one Once from another, so that results of it cannot be found again in the store"
    )
    with pytest.raises(TypeError, match=message):
        compare(methods, {"toy": TOY}, store=tmp_path / "results")
    assert not (tmp_path / "results").exists()


# ---------------------------------------------------------------- keys of a comparison


def keys_of(method: Any, data: Any = None, **options: Any) -> list[str]:
    found = compare({"m": method}, {"toy": TOY} if data is None else data, **{"splits": "kfold", **options})
    return [result.key for result in found.results]


def test_the_rows_of_an_official_split_are_part_of_the_key(tmp_path: Path) -> None:
    data, _ = make_labels(60, 6, 4, n_groups=2, random_state=0)
    first, second = (
        LabelDataset(data.name, data.X, data.Y, data.feature_names, data.label_names, train_rows=np.arange(60) < n)
        for n in (45, 20)
    )
    sizes = [
        compare({"PLST": PLST.paper()}, [one], splits="official", store=tmp_path / "results")
        .results[0]
        .measures["n_train"]
        for one in (first, second)
    ]
    assert sizes == [45, 20]
    assert (
        keys_of(PLST.paper(), [first])
        == keys_of(PLST.paper(), [second])
        == keys_of(PLST.paper(), [replace(first, train_rows=None)])
    )


def test_seeds_that_are_objects_are_part_of_the_key() -> None:
    zero, one = (np.random.RandomState(k) for k in (0, 1))
    assert keys_of(ALS(2, 5.0, random_state=zero)) != keys_of(ALS(2, 5.0, random_state=one))
    assert keys_of(ALS(2, 5.0, random_state=zero)) == keys_of(ALS(2, 5.0, random_state=np.random.RandomState(0)))
    splitter = KFold(3, shuffle=True, random_state=np.random.RandomState(0))
    assert keys_of(DummyRegressor(), splits=splitter) != keys_of(DummyRegressor(), splits=splitter)  # it has moved on


def test_names_of_features_are_part_of_the_checksum_of_labels_alone() -> None:
    X, Y = np.arange(12.0).reshape(6, 2), np.eye(2)[[0, 1] * 3]
    frames = [pd.DataFrame(X, columns=names) for names in (["a", "b"], ["b", "a"])]
    of_labels = [sources_of({"toy": (one, Y)})[0].checksum for one in (X, *frames)]
    assert len(set(of_labels)) == 3
    of_ratings = [sources_of({"toy": (one, Y[:, 0])})[0].checksum for one in (X, *frames)]
    assert len(set(of_ratings)) == 1
