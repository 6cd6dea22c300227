"""Descriptions: equal in every process where nothing changed, different where anything did."""

from __future__ import annotations

import collections
import datetime
import enum
import functools
import json
import os
import runpy
import subprocess
import sys
import threading
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

from cofactor.datasets import LabelDataset, make_labels
from cofactor.evaluation import compare
from cofactor.evaluation.run import cells, described
from cofactor.evaluation.run.code_facts import origin
from cofactor.evaluation.run.described import IndescribableError
from cofactor.evaluation.run.sources import sources_of
from cofactor.experiments.base.label_work import label_fold
from cofactor.labels import PLST
from cofactor.ratings import ALS

Changes = Callable[[str, str], set[str]]

told = described.described
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
        lambda: collections.OrderedDict([("b", 2), ("a", 1)]),
        lambda: {"a": 1, "b": 2},
        lambda: collections.deque([1, 2]),
        lambda: range(2),
        lambda: [1, [2]],
        lambda: itself(1),
        lambda: itself(2),
    ],
    "arrays": [
        lambda: np.arange(6),
        lambda: np.arange(6.0),
        lambda: np.arange(6).reshape(2, 3),
        lambda: np.array([Ridge(1.0), "a"], dtype=object),
        lambda: np.array([Ridge(2.0), "a"], dtype=object),
        lambda: np.ma.array([1, 2], mask=[0, 1]),
        lambda: np.ma.array([1, 2], mask=[1, 0]),
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
        lambda: Constant(callback=power(1)),
        lambda: Constant(callback=power(2)),
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
        lambda: FunctionTransformer(lambda X: X),
        lambda: FunctionTransformer(lambda X: 0 * X),
        lambda: FunctionTransformer(lambda X: 1 * X),
        lambda: FunctionTransformer(lambda X, k=2: k * X),
        lambda: FunctionTransformer(lambda X, k=3: k * X),
        lambda: FunctionTransformer(lambda X, *, k=3: k * X),
        lambda: FunctionTransformer(lambda X: (lambda x: x + 1)(X)),
        lambda: FunctionTransformer(lambda X: (lambda x: x + 2)(X)),
        lambda: FunctionTransformer(power(2)),
        lambda: FunctionTransformer(power(3)),
        lambda: FunctionTransformer(functools.partial(power, 2)),
        lambda: FunctionTransformer(functools.partial(power, 3)),
        lambda: FunctionTransformer(functools.lru_cache(power(2))),
        lambda: FunctionTransformer(functools.lru_cache(power(3))),
        lambda: FunctionTransformer(Plain(2).scaled),
        lambda: FunctionTransformer(Plain(3).scaled),
        lambda: FunctionTransformer(np.log1p),
        lambda: FunctionTransformer(special.expit),
        lambda: FunctionTransformer(np.mean),
        lambda: FunctionTransformer(len),
        lambda: FunctionTransformer(str.upper),
        lambda: np.vectorize(power(2)),
        lambda: np.vectorize(power(3)),
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
        lambda: np,
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
    assert told([np.float64(2.0), np.int64(3), np.str_("x"), np.bool_(True)]) == [2.0, 3, "x", True]
    assert told(sparse.csr_array(np.eye(2)))["checksum"] == told(sparse.csc_array(np.eye(2)))["checksum"]
    assert told(Ridge().fit([[0.0], [1.0]], [0, 1])) == told(Ridge())  # it is cloned before it is fitted
    assert told(ALS(2, callback=print, verbose=1)) == told(ALS(2))
    assert told(RandomForestClassifier(n_jobs=2, verbose=3)) == told(RandomForestClassifier())
    once = Plain(1)
    assert told([once, once]) == told([Plain(1), Plain(1)])


def test_the_version_of_a_package_is_part_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = told([Ridge(), KFold(), np.log1p])
    assert before[0]["class"] == f"sklearn.linear_model._ridge.Ridge ({origin('sklearn')})"
    origin.cache_clear()
    monkeypatch.setattr("importlib.metadata.version", lambda name: "9.9")
    try:
        after = told([Ridge(), KFold(), np.log1p])
        assert all(old != new for old, new in zip(before, after, strict=True))
        assert told(ALS())["class"] == "cofactor.ratings.factors.als.ALS"
    finally:
        origin.cache_clear()


# ---------------------------------------------------------------- other processes, and scripts that are edited

SCRIPT = """
import enum, functools, json, sys, threading
from dataclasses import dataclass, field
import numba
import numpy as np
from scipy import stats
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
import beside
from beside import taken

LOCK, SCALE, WORDS = threading.Lock(), 3.0, {"one", "two", "three"}

def helper(x):
    return beside.shift(x) * SCALE

@numba.njit
def compiled(x):
    return x + 1

class Level(enum.Enum):
    LOW = 1

@dataclass
class Options:
    depth: int = 5
    names: list = field(default_factory=list)

class Parent(BaseEstimator):
    bias = 0.5
    def predict(self, X):
        return self.inner_(X)

class Model(TransformerMixin, Parent):
    def __init__(self, alpha=1.0):
        self.alpha = alpha
    def fit(self, X, y):
        with LOCK:
            self.inner_ = lambda X: helper(compiled(X)) + taken(X)
        return self if X in {"a", "b", "c"} else Model()
    @property
    def twice(self):
        return self.alpha * 2
    @functools.cached_property
    def thrice(self):
        return self.alpha * 3
    @staticmethod
    def four():
        return 4
    @functools.lru_cache
    def five(self):
        return 5
    def get_feature_names_out(self, names=None):
        return super().get_feature_names_out(names)

from cofactor.evaluation.run.cells import cell
from cofactor.evaluation.run.described import described

def measured(method, data, split, seed):
    return {"mae": 1.0}

things = {
    "model": Model(), "options": Options(), "level": Level.LOW, "words": WORDS, "state": np.random.RandomState(3),
    "function": helper, "method": Model().predict, "frozen": stats.uniform(0.5, 1), "pipe": make_pipeline(Model()),
    "class": Parent, "cell": cell(measured, method="m").key,
}
found = {name: described(thing) for name, thing in things.items()}
print(json.dumps(found))
"""
BESIDE = "def shift(x):\n    return x + 1\n\ndef taken(x):\n    return x\n"


def run(folder: Path, script: str = SCRIPT, seed: str = "0") -> dict[str, Any]:
    """Run the script in a process of its own."""
    (folder / "script.py").write_text(script)
    (folder / "beside.py").write_text(BESIDE)
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run(
        [sys.executable, folder / "script.py"], env=environment, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(tmp_path_factory.mktemp("first"))


@pytest.fixture
def changes(unchanged: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Changes:
    """Return a function which runs both files here and says what they describe otherwise."""

    def changes(script: str, beside: str) -> set[str]:
        (tmp_path / "script.py").write_text(script)
        (tmp_path / "beside.py").write_text(beside)
        monkeypatch.syspath_prepend(tmp_path)
        monkeypatch.delitem(sys.modules, "beside", raising=False)
        found = runpy.run_path(str(tmp_path / "script.py"), run_name="__main__")["found"]
        assert found.keys() == unchanged.keys()
        return {name for name in found if found[name] != unchanged[name]}

    return changes


def test_another_process_says_the_same(unchanged: dict[str, Any], tmp_path: Path, changes: Changes) -> None:
    assert run(tmp_path, "# moved by a line\n" + SCRIPT, seed="77") == unchanged
    assert changes(SCRIPT, BESIDE) == set()


OF_MODEL = {"model", "method", "pipe"}


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("self.inner_(X)", "self.inner_(X) + 1", {*OF_MODEL, "class"}),
        ("bias = 0.5", "bias = 0.6", {*OF_MODEL, "class"}),
        ("taken(X)", "0 * taken(X)", OF_MODEL),
        ("self.alpha * 2", "self.alpha * 9", OF_MODEL),
        ("self.alpha * 3", "self.alpha * 9", OF_MODEL),
        ("return 4", "return 9", OF_MODEL),
        ("return 5", "return 9", OF_MODEL),
        ("return x + 1", "return x + 2", OF_MODEL),
        ('"a", "b", "c"', '"a", "b"', OF_MODEL),
        ("SCALE, WORDS = threading.Lock(), 3.0", "SCALE, WORDS = threading.Lock(), 4.0", {*OF_MODEL, "function"}),
        ("depth: int = 5", "depth: int = 6", {"options"}),
        ("LOW = 1", "LOW = 2", {"level"}),
        ("stats.uniform(0.5, 1)", "stats.uniform(0.5, 2)", {"frozen"}),
        ('"mae": 1.0', '"mae": 2.0', {"cell"}),
    ],
)
def test_an_edited_script_is_another(old: str, new: str, changed: set[str], changes: Changes) -> None:
    assert old in SCRIPT
    assert changes(SCRIPT.replace(old, new, 1), BESIDE) == changed


def test_an_edited_module_is_another(changes: Changes) -> None:
    assert changes(SCRIPT, BESIDE.replace("x + 1", "x + 2")) == {*OF_MODEL, "function"}


# ---------------------------------------------------------------- what cannot be told apart


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (Constant(level=[1, (k for k in range(3))]), "level.1: cannot tell one generator from another"),
        (Constant(callback=np.frompyfunc(lambda x: x, 1, 1)), "callback: cannot tell one ufunc from another"),
        (Plain(threading.Lock()), "value: cannot tell one lock from another"),
        (FunctionTransformer((lambda lines: lambda X: next(lines))(k for k in "ab")), "func.closure.0: cannot tell"),
    ],
)
def test_what_cannot_be_told_apart_is_refused(value: Any, message: str) -> None:
    with pytest.raises(IndescribableError, match=message):
        told(value)
    assert told(value, strict=False)["class"]


def test_a_store_refuses_what_nobody_would_find_again(tmp_path: Path) -> None:
    class Once(Constant):
        """Takes its level from something that cannot be copied."""

        def __sklearn_clone__(self) -> Once:
            return self

    methods = {"mean": DummyRegressor(), "once": Once(source=(k for k in range(3)))}
    assert not compare(methods, {"toy": TOY}).failed
    message = "method 'once': source: cannot tell one generator from another, so that results of it cannot be found"
    with pytest.raises(TypeError, match=message):
        compare(methods, {"toy": TOY}, store=tmp_path / "results.sqlite")
    assert not (tmp_path / "results.sqlite").exists()


# ---------------------------------------------------------------- keys of a comparison


def keys(method: Any, data: Any = None, **options: Any) -> list[str]:
    found = compare({"m": method}, {"toy": TOY} if data is None else data, **{"splits": "kfold", **options})
    return [result.key for result in found.results]


def test_the_rows_of_an_official_split_are_part_of_the_key(tmp_path: Path) -> None:
    data, _ = make_labels(60, 6, 4, n_groups=2, random_state=0)
    first, second = (
        LabelDataset(data.name, data.X, data.Y, data.feature_names, data.label_names, train_rows=np.arange(60) < n)
        for n in (45, 20)
    )
    sizes = [
        compare({"PLST": PLST()}, [one], splits="official", store=tmp_path / "s.sqlite").results[0].measures["n_train"]
        for one in (first, second)
    ]
    assert sizes == [45, 20]
    assert keys(PLST(), [first]) == keys(PLST(), [second]) == keys(PLST(), [replace(first, train_rows=None)])


def test_seeds_that_are_objects_are_part_of_the_key() -> None:
    zero, one = (np.random.RandomState(k) for k in (0, 1))
    assert keys(ALS(2, 5.0, random_state=zero)) != keys(ALS(2, 5.0, random_state=one))
    assert keys(ALS(2, 5.0, random_state=zero)) == keys(ALS(2, 5.0, random_state=np.random.RandomState(0)))
    splitter = KFold(3, shuffle=True, random_state=np.random.RandomState(0))
    assert keys(DummyRegressor(), splits=splitter) != keys(DummyRegressor(), splits=splitter)  # it has moved on


def test_names_of_features_are_part_of_the_checksum_of_labels_alone() -> None:
    X, Y = np.arange(12.0).reshape(6, 2), np.eye(2)[[0, 1] * 3]
    frames = [pd.DataFrame(X, columns=names) for names in (["a", "b"], ["b", "a"])]
    of_labels = [sources_of({"toy": (one, Y)})[0].checksum for one in (X, *frames)]
    assert len(set(of_labels)) == 3
    of_ratings = [sources_of({"toy": (one, Y[:, 0])})[0].checksum for one in (X, *frames)]
    assert len(set(of_ratings)) == 1


def test_functions_of_this_package_are_told_by_their_names() -> None:
    """What was computed for the published tables is to be found again."""
    assert cells.cell(label_fold, method="m").measure == "cofactor.experiments.base.label_work:label_fold"
    assert cells.cell(keys, method="m").measure.startswith(f"{keys.__module__}:keys ")
