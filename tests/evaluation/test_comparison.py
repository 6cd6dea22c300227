"""compare: the numbers of the single evaluations, each computed once, and what is made of them."""

from __future__ import annotations

import csv
import json
import multiprocessing
import sys
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, ShuffleSplit
from sklearn.multioutput import MultiOutputClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import LinearSVC
from tests.together import together

from cofactor.datasets import LabelDataset, make_labels, make_ratings
from cofactor.evaluation import (
    Comparison,
    FoldInScorer,
    ResultStore,
    RunProgress,
    Search,
    StrongGeneralization,
    WeakGeneralization,
    compare,
    evaluate,
    evaluate_labels,
)
from cofactor.evaluation.keys import checksum, described
from cofactor.labels import PLST, BinaryRelevance
from cofactor.metrics import label_report
from cofactor.ratings import ALS, HMF, OrdinalProbit
from cofactor.reports.comparison import comparison_page

Start = Callable[..., BaseProcess]

STARS = make_ratings(40, 30, 3, density=0.4, random_state=0)
X, Y = make_multilabel_classification(90, 8, n_classes=4, random_state=3)
MEANS = {"mean": DummyRegressor(), "median": DummyRegressor(strategy="median")}
TOY = ([(user, item) for user in range(12) for item in range(5)], np.array([1, 2, 3, 5, 4] * 12, dtype=float))
NOT_TIMES = ("mae", "rmse", "nmae", "fre", "zero_one")


class Spy(BaseEstimator):
    """Predicts a constant, and writes down to which ratings it was fitted."""

    def __init__(self, level: float = 3.0, log: str = "", random_state: Any = None) -> None:
        self.level, self.log, self.random_state = level, log, random_state

    def fit(self, X: Any, y: Any) -> Spy:
        with open(self.log, "a") as stream:
            stream.write(json.dumps([[int(user), int(item)] for user, item in X]) + "\n")
        return self

    def predict(self, X: Any) -> Any:
        return np.full(len(X), self.level)

    def fold_in(self, X: Any, y: Any) -> Spy:
        return self


def measures(comparison: Comparison, method: str, names: tuple[str, ...] = NOT_TIMES) -> list[dict[str, float]]:
    return [{name: r.measures[name] for name in names} for r in comparison.results if r.method == method]


# ---------------------------------------------------------------- what is measured


@pytest.mark.parametrize("protocol", ["holdout", "weak", "strong", "kfold"])
def test_ratings_are_measured_as_by_evaluate(protocol: str) -> None:
    model = ALS(3, 5.0)
    comparison = compare({"ALS": model}, [STARS], splits=protocol, n_splits=2, seeds=(4, 5))
    seeded = [ALS(3, 5.0, levels=STARS.scale, random_state=seed) for seed in (4, 5)]
    expected = [
        row
        for one in seeded
        for row in evaluate(one, STARS.X, STARS.y, protocol, 2, one.random_state, scale=STARS.scale)
    ]
    assert measures(comparison, "ALS") == [{name: row[name] for name in NOT_TIMES} for row in expected]
    number = "{}/2" if protocol == "kfold" else "{}"
    assert [(r.split, r.seed) for r in comparison.results] == [
        (f"{protocol} {number.format(k)}", seed) for seed in (4, 5) for k in (1, 2)
    ]


def test_labels_are_measured_as_by_evaluate_labels() -> None:
    comparison = compare({"PLST": PLST.paper()}, {"toy": (X, Y)}, seeds=(7,))
    expected = evaluate_labels(PLST.paper(random_state=7), X, Y, 3, random_state=7)
    names = tuple(label_report(Y, Y, Y))
    assert measures(comparison, "PLST", names) == [{name: row[name] for name in names} for row in expected]
    assert [r.split for r in comparison.results] == ["kfold 1/3", "kfold 2/3", "kfold 3/3"]


def test_a_learned_threshold_is_what_counts() -> None:
    models = {"learned": PLST.paper(threshold="global", random_state=0), "plain": PLST.paper(random_state=0)}
    selection = Search(PLST.paper(), {"alpha": [1.0]}, thresholds=("global",), random_state=0)
    comparison = compare({**models, "selection": selection}, {"toy": (X, Y)})
    rows = evaluate_labels(models["learned"], X, Y, 3)
    for name in ("plain", "learned"):
        expected = [{"micro_f1": row["micro_f1"]} for row in rows if row["decoding"] == name]
        assert measures(comparison, name, ("micro_f1",)) == expected
    decodings = {r.method: r.measures["decoding"] for r in comparison.results}
    assert decodings == {"learned": "learned", "plain": "plain", "selection": "learned"}


def test_any_estimator_of_scikit_learn_may_take_part() -> None:
    methods = {"ridge": RidgeClassifier(), "BR": BinaryRelevance.paper(RidgeClassifier())}
    comparison = compare(methods, {"toy": (X, Y), "sparse": (sparse.csr_array(X), sparse.csr_array(Y))})
    assert not comparison.failed
    assert measures(comparison, "ridge", ("hamming",)) == measures(comparison, "BR", ("hamming",))


SCIKIT_LEARN = {
    "forest": RandomForestClassifier(5, random_state=0),
    "neighbours": KNeighborsClassifier(),
    "search": GridSearchCV(MultiOutputClassifier(LogisticRegression()), {"estimator__C": [0.1, 1.0]}, cv=2),
}


@together("name", SCIKIT_LEARN)
def test_estimators_which_take_no_sparse_labels_get_an_array(name: str) -> None:
    sets = {"dense": (X, Y), "sparse": (sparse.csr_array(X), sparse.csr_array(Y))}
    dense, thin = compare({name: SCIKIT_LEARN[name]}, sets, n_splits=2).table("hamming").means[:, 0]
    assert dense == pytest.approx(thin, abs=0.05)  # a solver may differ by the form of the features
    assert thin < 0.35


class Watching(PLST):
    """Writes down in which form it got its labels."""

    forms: ClassVar[list[bool]] = []

    def fit(self, X: Any, Y: Any) -> Watching:
        self.forms.append(sparse.issparse(Y))
        super().fit(X, Y)
        return self


def test_label_models_get_sparse_labels_also_inside_of_pipelines_and_searches() -> None:
    scaled = make_pipeline(MaxAbsScaler(), Watching(1))
    methods = {"plain": Watching(1), "pipeline": scaled, "search": Watching(1)}
    Watching.forms.clear()
    grids = {"search": {"alpha": [1.0]}, "pipeline": {"watching__alpha": [1.0]}}
    comparison = compare(methods, {"toy": (sparse.csr_array(X), sparse.csr_array(Y))}, n_splits=2, grids=grids)
    assert not comparison.failed
    assert Watching.forms == [True] * 18  # of each fold the fit; of a search also three inner ones


def test_the_form_of_the_data_changes_nothing() -> None:
    pairs, y = TOY
    frames = [pd.DataFrame(pairs, columns=["user", "item"]), pl.DataFrame(pairs, schema=["user", "item"], orient="row")]
    forms = {"list": pairs, "array": np.array(pairs), "pandas": frames[0], "polars": frames[1]}
    comparison = compare(MEANS, {name: (form, y) for name, form in forms.items()}, splits="weak")
    values = {r.data: [] for r in comparison.results}
    for r in comparison.results:
        values[r.data].append(r.measures["mae"])
    assert len({json.dumps(found) for found in values.values()}) == 1


def test_official_and_other_splits() -> None:
    data, _ = make_labels(60, 6, 4, n_groups=2, random_state=0)
    train = np.arange(60) < 45
    official = LabelDataset(data.name, data.X, data.Y, data.feature_names, data.label_names, train_rows=train)
    (result,) = compare({"PLST": PLST.paper()}, [official], splits="official").results
    assert (result.split, result.measures["n_train"], result.measures["n_test"]) == ("official", 45, 15)
    splitter = PredefinedSplit(np.where(train, -1, 0))
    (same,) = compare({"PLST": PLST.paper()}, [official], splits=splitter).results
    assert same.split == "PredefinedSplit 1"
    assert same.measures["micro_f1"] == result.measures["micro_f1"]
    kept = {}
    for splits in (ShuffleSplit(1, random_state=3), ShuffleSplit(1)):
        results = compare({"PLST": PLST.paper()}, [official], splits=splits, seeds=(0, 3)).results
        kept[splits.random_state] = [r.measures["micro_f1"] for r in results]
    assert kept[3][0] == kept[3][1] == kept[None][1] != kept[None][0]  # a splitter without a seed gets ours


@pytest.mark.processes
def test_processes_change_nothing(tmp_path: Path) -> None:
    methods = {"ALS": ALS(3, 5.0), **MEANS}
    one = compare(methods, [STARS], seeds=(0, 1))
    two = compare(methods, [STARS], seeds=(0, 1), n_jobs=2, store=tmp_path / "results")
    assert [r.key for r in one.results] == [r.key for r in two.results]
    for name in methods:
        assert measures(one, name) == measures(two, name)


# ---------------------------------------------------------------- what is computed


def test_only_what_is_new_is_computed(tmp_path: Path) -> None:
    computed: list[int] = []

    def count(progress: RunProgress) -> None:
        computed[-1] = progress.computed

    def run(methods: dict[str, Any], y: Any = TOY[1], **options: Any) -> int:
        computed.append(0)
        data = {"toy": (TOY[0], y)}
        compare(methods, data, **{"splits": "weak", "store": tmp_path / "results", "progress": count, **options})
        return computed[-1]

    assert run(MEANS) == 6
    assert run(MEANS) == 0
    assert run(MEANS, metrics=["rmse"]) == 0
    assert run({**MEANS, "third": DummyRegressor(strategy="quantile", quantile=0.7)}) == 3
    assert run({"mean": DummyRegressor(), "median": DummyRegressor(strategy="quantile", quantile=0.4)}) == 3
    assert run(MEANS, n_splits=5) == 4  # the first three are the same
    assert run(MEANS, seeds=(0, 1)) == 6
    assert run(MEANS, splits="kfold") == 6
    assert run(MEANS, splits="kfold", n_splits=4) == 8
    assert run(MEANS, splits=KFold(3, shuffle=True)) == 6
    assert run(MEANS, splits=KFold(3, shuffle=True, random_state=9)) == 6
    assert run(MEANS, y=TOY[1][::-1]) == 6
    assert run({"mean": DummyRegressor()}, grids={"mean": {"strategy": ["mean", "median"]}}) == 3


KEYS = """
from sklearn.dummy import DummyRegressor
from sklearn.model_selection import ShuffleSplit
from cofactor.evaluation import compare
from cofactor.ratings import ALS
pairs = [(f"u{k // 5}", k % 5) for k in range(60)]
methods = {"ALS": ALS(2, 5.0, callback=callback, verbose=verbose), "mean": DummyRegressor(quantile=object())}
found = compare(methods, {"toy": (pairs, [1, 2, 3, 5, 4] * 12)}, splits=ShuffleSplit(1, random_state=0))
keys = [result.key for result in found.results]
if answer is not None:
    answer.send(keys)
"""


@pytest.mark.evidence
@pytest.mark.processes
def test_keys_do_not_depend_on_the_process_or_on_what_one_sees(start: Start) -> None:
    ours, theirs = multiprocessing.Pipe()
    start(KEYS, callback=None, verbose=0, answer=theirs)
    names: dict[str, Any] = {"callback": lambda progress: None, "verbose": 1, "answer": None}
    exec(KEYS, names)
    assert names["keys"] == ours.recv()
    assert len(set(names["keys"])) == 2


def test_descriptions_tell_apart_what_differs() -> None:
    models = [
        ALS(2, 1.0),
        ALS(3, 1.0),
        PLST.paper(2),
        BinaryRelevance.paper(LinearSVC(C=1.0)),
        BinaryRelevance.paper(LinearSVC(C=2.0)),
        GridSearchCV(LinearSVC(), {"C": [1, 2]}, cv=KFold(2)),
        GridSearchCV(LinearSVC(), {"C": [1, 2]}, cv=KFold(3)),
        GridSearchCV(LinearSVC(), {"C": np.array([1, 2])}, cv=KFold(3)),
        GridSearchCV(LinearSVC(), {"C": np.array([1, 3])}, cv=KFold(3)),
        Spy(level=object()),  # type: ignore[arg-type]
    ]
    texts = [json.dumps(described(model).value) for model in models]
    assert len(set(texts)) == len(texts)
    assert " at 0x" not in "".join(texts)


def test_checksums_tell_apart_what_differs() -> None:
    tables = [
        np.arange(6),
        np.arange(6.0),
        np.arange(6).reshape(2, 3),
        np.array(["a", 1], dtype=object),
        np.array([1, "a"], dtype=object),
        sparse.csr_array(np.eye(3)),
        sparse.csr_array(np.eye(3, 4)),
        sparse.csr_array(np.diag([1.0, 1.0, 2.0])),
    ]
    assert len({checksum(table) for table in tables}) == len(tables)
    assert checksum(sparse.csc_array(np.eye(3))) == checksum(sparse.csr_array(np.eye(3)))
    assert checksum(np.arange(3), np.arange(2)) != checksum(np.arange(2), np.arange(3))


# ---------------------------------------------------------------- choice of parameters


@pytest.mark.parametrize("splits", ["weak", "strong", "holdout", "kfold"])
def test_parameters_are_chosen_inside_the_training_part(splits: str, tmp_path: Path) -> None:
    log = tmp_path / "log"
    comparison = compare(
        {"spy": Spy(log=str(log))}, {"toy": TOY}, splits=splits, n_splits=2, grids={"spy": {"level": [50.0, 3.0, 90.0]}}
    )
    assert [r.measures["parameters"] for r in comparison.results] == [{"level": 3.0}] * 2
    assert {record["chosen"] for record in comparison.records()} == {'{"level": 3.0}'}
    fits = [{tuple(pair) for pair in json.loads(line)} for line in log.read_text().splitlines()]
    per_cell = 3 * 3 + 1  # inner splits × values, and the fit with the best
    assert len(fits) == 2 * per_cell
    for k in range(2):
        *inner, whole = fits[k * per_cell : (k + 1) * per_cell]
        assert len(whole) == comparison.results[k].measures["n_train"] < 60
        assert all(part < whole for part in inner)


def test_a_search_is_that_of_scikit_learn() -> None:
    grid = {"alpha": [2.0, 10.0, 50.0]}
    X, y, levels = STARS.X, STARS.y, STARS.scale
    for protocol, splitter in (("weak", WeakGeneralization), ("strong", StrongGeneralization)):
        search = Search(ALS(3), grid, validation=protocol, levels=levels, random_state=1).fit(X, y)
        strong = protocol == "strong"
        scorer = FoldInScorer(X, y) if strong else "neg_mean_absolute_error"
        direct = GridSearchCV(
            ALS(3, levels=levels, random_state=1), grid, scoring=scorer, cv=splitter(random_state=1)
        ).fit(X, y)
        assert search.best_params_ == direct.best_params_
        np.testing.assert_allclose(
            [choice.value for choice in search.results_],
            sorted(-direct.cv_results_["mean_test_score"]),
            rtol=1e-12,
        )
        np.testing.assert_array_equal(search.predict(X[:9]), direct.predict(X[:9]))
    assert not hasattr(Search(DummyRegressor(), {}), "fold_in")


def test_labels_have_grids_too() -> None:
    learners = {"estimator": [LinearSVC(C=1e-9, random_state=0), LinearSVC(C=0.1, random_state=0)]}
    features = (X - X.mean(axis=0)) / X.std(axis=0)
    comparison = compare({"BR": BinaryRelevance.paper()}, {"toy": (features, Y)}, grids={"BR": learners})
    assert not comparison.failed
    assert [r.measures["parameters"]["estimator"]["C"] for r in comparison.results] == [0.1] * 3


# ---------------------------------------------------------------- what is made of it


@pytest.fixture(scope="module")
def several() -> Comparison:
    sets = {f"toy {k}": (TOY[0], np.roll(TOY[1], k) + k % 3) for k in range(7)}
    third = DummyRegressor(strategy="constant", constant=1.0)
    return compare({**MEANS, "low": third}, sets, splits="weak", metrics=["mae", "log_loss"])


def test_statistics_of_several_methods(several: Comparison) -> None:
    found = several.statistics("mae")
    means = several.table("mae").means
    assert found.friedman is not None
    assert found.friedman.n_data == 7
    assert found.friedman.average_ranks[2] == 3.0
    assert found.nemenyi is not None
    assert found.wilcoxon is not None
    assert len(found.wilcoxon.pairs) == 3
    assert found.signed_rank is None
    assert found.refused == {}
    assert means[0, 2] == pytest.approx(np.mean([m["mae"] for m in measures(several, "low")[:3]]))
    with pytest.raises(ValueError, match="nothing was measured under 'log_loss'"):
        several.table("log_loss")


def test_statistics_of_two_methods_and_of_one_data_set() -> None:
    found = compare(MEANS, {"toy": TOY}, splits="weak").statistics()
    assert found.friedman is found.nemenyi is found.wilcoxon is found.signed_rank is None
    assert list(found.correlated_t) == ["toy"]
    said = str(found)
    assert "Friedman's test with Nemenyi's is not done: with one data set nothing can be said about others" in said
    assert "Wilcoxon's test with Holm's correction is not done: with one data set" in said
    assert "take correlated_t" not in said  # it was done


def test_records_are_written_whole(several: Comparison, tmp_path: Path) -> None:
    several.to_csv(tmp_path / "results.csv")
    with (tmp_path / "results.csv").open() as stream:
        rows = list(csv.DictReader(stream))
    records = several.records()
    assert len(rows) == len(records) == 7 * 3 * 3 * (len(NOT_TIMES) + 4)
    assert [float(row["value"]) for row in rows] == [record["value"] for record in records]
    several.to_parquet(tmp_path / "results.parquet")
    frame = pd.read_parquet(tmp_path / "results.parquet")
    assert frame["value"].tolist() == [record["value"] for record in records]
    assert frame["metric"].tolist() == [record["metric"] for record in records]
    with pytest.raises(OSError, match="nowhere"):
        several.to_csv(tmp_path / "nowhere" / "results.csv")
    assert {path.name for path in tmp_path.iterdir()} == {"results.csv", "results.parquet"}


def test_a_report_tells_how_it_was_measured(several: Comparison, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # drawing would take most of the time
    assert "DummyRegressor(strategy=" in comparison_page(several)


def test_a_method_that_fails_leaves_a_gap(tmp_path: Path) -> None:
    methods = {**MEANS, "broken": DummyRegressor(strategy="nonsense")}
    comparison = compare(methods, {"toy": TOY}, splits="weak", store=tmp_path / "results")
    assert [r.method for r in comparison.failed] == ["broken"] * 3
    assert comparison.failed[0].error.startswith("InvalidParameterError: The 'strategy' parameter")
    assert comparison.table().scores.methods == ("mean", "median")
    assert list(comparison.statistics().correlated_t) == ["toy"]
    comparison.to_csv(tmp_path / "results.csv")
    written = pd.read_csv(tmp_path / "results.csv")
    assert (written["value"].isna() == (written["status"] == "failed")).all()
    assert len(ResultStore(tmp_path / "results").results(status="failed")) == 3


def test_what_failed_everywhere_is_told() -> None:
    broken = DummyRegressor(strategy="nonsense")
    comparison = compare({"mean": DummyRegressor(), "broken": broken}, {"toy": TOY}, splits="weak")
    said = "broken failed wherever it ran, and is in no table and no test: InvalidParameterError: The 'strategy'"
    assert list(comparison.absent()) == ["broken"]
    table = comparison.table()
    for text in (str(table), table.latex(), str(comparison.statistics())):
        assert said in text
    assert said in table.markdown()
    alone = compare({"broken": broken}, {"toy": TOY}, splits="weak")
    for ask in (alone.table, alone.statistics):
        with pytest.raises(ValueError, match="only failures, first of broken on toy: InvalidParameterError: The 'str"):
            ask()


def test_what_lacks_a_metric_is_told() -> None:
    methods = {"ALS": ALS(2, 5.0), "probit": OrdinalProbit(2, n_sweeps=6, burn_in=2)}
    comparison = compare(methods, [STARS], n_splits=1, metrics=["log_loss"])
    assert comparison.absent("mae") == {}
    assert comparison.absent() == {"ALS": "has no log_loss, and is not in this table"}
    assert str(comparison.table()).splitlines()[-1] == "ALS has no log_loss, and is not in this table"


def test_one_data_set_and_names_of_known_ones() -> None:
    data, _ = make_labels(40, 6, 4, n_groups=2, random_state=0)
    assert compare({"PLST": PLST.paper()}, data, n_splits=2).table().scores.data == (data.name,)
    found = [
        compare({"PLST": PLST.paper()}, named, n_splits=2) for named in ("emotions", ["emotions"], {"a": "emotions"})
    ]
    assert [one.table().scores.data for one in found] == [("emotions",), ("emotions",), ("a",)]
    assert len({one.table().means.item() for one in found}) == 1


def test_a_seed_given_twice_counts_once() -> None:
    twice = compare(MEANS, {"toy": TOY}, splits="weak", seeds=(0, np.int64(0), 3))
    assert [one.key for one in twice.results] == [
        one.key for one in compare(MEANS, {"toy": TOY}, splits="weak", seeds=(0, 3)).results
    ]
    assert twice.facts["seeds"] == "0, 3"


def test_penalties_chosen_by_validation_are_kept():
    methods = {"ALS": ALS(3), "fixed": ALS(3, alpha=2.0), "HMF": HMF(2, max_iter=5)}
    comparison = compare(methods, {"stars": STARS}, n_splits=1)
    chosen = {one.method: one.measures["parameters"] for one in comparison.results}
    assert chosen["fixed"] == {}
    assert chosen["ALS"]["alpha"] > 0
    assert len(chosen["HMF"]["alpha"]) == len(STARS.scale) - 1


# ---------------------------------------------------------------- bad input


@together(
    ("changes", "message"),
    [
        ({"metrics": ["mea"]}, "metric 'mea' is not known; did you mean mae"),
        ({"metrics": ["micro_f1"]}, "metric 'micro_f1' is for labels, but the data are ratings: choose among mae, "),
        ({"metrics": []}, "metrics is empty"),
        ({"splits": "weka"}, "splits='weka' is not known; did you mean weak"),
        ({"splits": "official"}, "splits='official' is not for ratings; these have holdout, weak, strong, kfold"),
        (
            {"splits": "kfold", "n_splits": 1},
            "n_splits=1: expected a whole number from 2 to 60, the number of rows, for",
        ),
        ({"splits": "kfold", "n_splits": 99}, "n_splits=99: expected a whole number from 2 to 60"),
        ({"n_splits": 0}, "n_splits=0: expected a whole number of at least 1 for holdout of 'toy'"),
        ({"grids": {"maen": {}}}, "grids: method 'maen' is not known; did you mean mean"),
        ({"grids": {"mean": {}}, "grid_metric": "mse"}, "grid_metric: metric 'mse' is not known; did you mean rmse"),
        ({"grids": {"mean": {"constnat": [1]}}}, "grids: DummyRegressor has no 'constnat'; did you mean constant?"),
        ({"grids": {"mean": [{"constant": 1}]}}, "grids: constant must be a list of values to try, found 1"),
        ({"grids": {"mean": {"constant": []}}}, r"grids: constant must be a list of values to try, found \[\]"),
        ({"grid_metric": "auc"}, "grid_metric: metric 'auc' is not known; expected one of mae"),
        ({"data": {"tags": (X, Y)}, "grid_metric": "mae"}, "grid_metric: metric 'mae' is not known; .*macro_f1"),
        ({"seeds": []}, r"seeds=\[\]: expected a list of whole numbers from 0 to 4294967295, such as \[0, 1, 2\]"),
        ({"seeds": 5}, "seeds=5: expected a list"),
        ({"seeds": "01"}, "seeds='01': expected a list"),
        ({"seeds": [-1]}, r"seeds=\[-1\]: expected"),
        ({"seeds": [2**32]}, r"seeds=\[4294967296\]: expected"),
        ({"seeds": [True]}, r"seeds=\[True\]: expected"),
        ({"seeds": [0.5]}, r"seeds=\[0.5\]: expected"),
        ({"metrics": ["log_loss"]}, "no method here has log_loss, for which predict_proba is needed"),
        (
            {"data": {"tags": (X, Y)}, "metrics": ["coverage", "one_error"]},
            "no method here has coverage or one_error, for which decision_function is needed",
        ),
        ({"data": {"toy": ([], [])}}, "data set 'toy' is empty"),
        ({"data": {"toy": (X[:0], Y[:0])}}, "data set 'toy' is empty"),
        ({"data": {"toy": (TOY[0], TOY[1][1:])}}, "data set 'toy': Found input variables with inconsistent numbers"),
        ({"data": ["ml-100"]}, "data: 'ml-100' is no known data set; did you mean ml-100k, .*read_ratings and load_"),
        ({"estimators": {}}, "estimators is empty"),
        ({"data": {}}, "data is empty"),
        ({"data": {"toy": TOY, "tags": (X, Y)}}, "'toy' holds ratings and 'tags' labels: compare each kind by itself"),
        (
            {"data": {"toy": (X, Y[:, 0])}},
            r"'toy': X has shape \(90, 8\) and y \(90,\); expected pairs of ids, perhaps",
        ),
        ({"splits": "user-last"}, "data set 'toy' has no times, by which user-last splits; give them with time"),
        ({"splits": [([0, 1], [99])]}, "expected test rows of split 0 from 0 to 59, found from 99 to 99"),
        ({"data": [STARS, STARS]}, "data sets must have different names"),
        ({"data": {"tags": (X, Y)}, "splits": "weak"}, "'weak' is not for labels; these have kfold, holdout, official"),
        ({"data": {"tags": (X, Y)}, "splits": "official"}, "'tags' has no official split"),
        ({"data": {"tags": (X, Y)}, "metrics": ["mae"]}, "metric 'mae' is for ratings, but the data are labels"),
    ],
)
def test_bad_input(changes: dict[str, Any], message: str) -> None:
    given = {"estimators": MEANS, "data": {"toy": TOY}, **changes}
    with pytest.raises(ValueError, match=message):
        compare(given.pop("estimators"), given.pop("data"), **given)


def test_bad_kinds_of_input() -> None:
    with pytest.raises(TypeError, match="method 'mean': DummyRegressor cannot fold in new users"):
        compare(MEANS, {"toy": TOY}, splits="strong")
    with pytest.raises(TypeError, match=r"data set 'toy': expected \(X, y\) or a data set, found int"):
        compare(MEANS, {"toy": 3})
    with pytest.raises(
        TypeError, match="splits must be one of .*, an object with split.*, or pairs of training and test rows; found 5"
    ):
        compare(MEANS, {"toy": TOY}, splits=5)
    with pytest.raises(TypeError, match="found a int inside"):
        compare(MEANS, [3])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="data: expected a mapping of names to .*, found a int"):
        compare(MEANS, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="estimators must be a mapping of names to estimators, .* found a list"):
        compare([ALS()], {"toy": TOY})  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"method 'als': expected an estimator, found the class ALS; write ALS\(\)"):
        compare({"als": ALS}, {"toy": TOY})
    with pytest.raises(TypeError, match="method 'als': expected an estimator, found a str, which has no fit"):
        compare({"als": "ALS"}, {"toy": TOY})
    with pytest.raises(TypeError, match="estimators: the name of a method must be a text, found 1"):
        compare({1: ALS()}, {"toy": TOY})  # type: ignore[dict-item]
