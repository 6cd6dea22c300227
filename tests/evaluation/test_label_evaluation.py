"""The k-fold protocol for label models: what is measured, on which rows, and with which decoding."""

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.datasets import make_multilabel_classification
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from tests.together import together

import cofactor
from cofactor.datasets import make_labels
from cofactor.errors import InvalidInputError
from cofactor.evaluation import Search, decodings, evaluate, evaluate_labels, fold_means
from cofactor.labels import MODELS, PLST, BinaryRelevance, learn_threshold
from cofactor.labels.embedding.omf import OMF
from cofactor.metrics import label_report, macro_f1, micro_f1
from cofactor.model.selection.grid import select_parameters

X, Y = make_multilabel_classification(120, 12, n_classes=6, random_state=1)


class Recorder(BaseEstimator):
    """Scores are the first columns of X; it remembers what it was shown, and a threshold that it "learned"."""

    def __init__(self, threshold=0, cut=2.0):
        self.threshold = threshold
        self.cut = cut

    def fit(self, X, Y):
        self.n_labels_ = Y.shape[1]
        self.seen_ = np.asarray(X).copy()
        self.threshold_ = self.cut if isinstance(self.threshold, str) else float(self.threshold)
        return self

    def decision_function(self, X):
        assert not {tuple(row) for row in np.asarray(X)} & {tuple(row) for row in self.seen_}, "test rows in training"
        return np.asarray(X)[:, : self.n_labels_] - 3

    def predict(self, X):
        return (self.decision_function(X) > self.threshold_).astype(int)


# --- folds ----------------------------------------------------------------------------------------------------


def test_every_row_is_tested_once_and_never_trained_on():
    distinct = X + np.arange(120)[:, None] / 1000
    rows = evaluate_labels(Recorder(), distinct, Y, 7, random_state=3)
    assert [row["fold"] for row in rows] == list(range(7))
    assert sum(row["n_test"] for row in rows) == 120
    assert {row["n_train"] + row["n_test"] for row in rows} == {120}
    folds = KFold(7, shuffle=True, random_state=3).split(X)
    expected = [micro_f1(Y[test], distinct[test, :6] > 3) for _, test in folds]
    assert [row["micro_f1"] for row in rows] == pytest.approx(expected, rel=1e-15)


def test_a_seed_gives_the_same_folds():
    first, again, other = (
        evaluate_labels(PLST.paper(), X, Y, 3, random_state=seed, ranking=False) for seed in (0, 0, 1)
    )
    measures = [[row["micro_f1"] for row in rows] for rows in (first, again, other)]
    assert measures[0] == measures[1] != measures[2]


def test_a_published_split():
    fold = np.where(np.arange(120) < 90, -1, 0)
    (row,) = evaluate_labels(PLST.paper(), X, Y, PredefinedSplit(fold))
    fitted = PLST.paper().fit(X[:90], Y[:90])
    report = label_report(Y[90:], fitted.predict(X[90:]), fitted.decision_function(X[90:]))
    assert {name: row[name] for name in report} == report
    assert (row["n_train"], row["n_test"]) == (90, 30)


def test_folds_side_by_side_give_the_same():
    rows, again = (
        evaluate_labels(PLST.paper(threshold="global", random_state=0), X, Y, 3, n_jobs=n) for n in (None, 2)
    )
    times = ("fit_seconds", "predict_seconds")
    assert [{k: v for k, v in row.items() if k not in times} for row in rows] == [
        {k: v for k, v in row.items() if k not in times} for row in again
    ]


@together("form", [sparse.csr_array, sparse.csr_matrix, pd.DataFrame])
def test_forms_of_the_data(form):
    expected = evaluate_labels(BinaryRelevance.paper(Ridge()), X, Y, 3)
    found = evaluate_labels(BinaryRelevance.paper(Ridge()), form(X), form(Y), 3)
    for one, other in zip(expected, found, strict=True):
        assert one["macro_f1"] == pytest.approx(other["macro_f1"], rel=1e-9)


# --- decodings ------------------------------------------------------------------------------------------------


def test_plain_and_learned_come_from_one_fit():
    fits = []

    class Counting(Recorder):
        def fit(self, X, Y):
            fits.append(len(X))
            return super().fit(X, Y)

    distinct = X + np.arange(120)[:, None] / 1000
    rows = evaluate_labels(Counting(threshold="global"), distinct, Y, 3)
    assert fits == [80, 80, 80]
    assert [(row["fold"], row["decoding"]) for row in rows] == [
        (k, name) for k in range(3) for name in ("plain", "learned")
    ]
    test = next(KFold(3, shuffle=True, random_state=0).split(X))[1]
    assert rows[0]["micro_f1"] == micro_f1(Y[test], distinct[test, :6] > 3)
    assert rows[1]["micro_f1"] == micro_f1(Y[test], distinct[test, :6] > 5)
    assert [row["threshold"] for row in rows[:2]] == [0.0, 2.0]
    assert rows[0]["coverage"] == rows[1]["coverage"]


def test_names_of_decodings():
    def names(model):
        return [name for name, _, _ in decodings(model.fit(X, Y), X + 100)]

    assert names(Recorder()) == ["plain"]
    assert names(Recorder(threshold=0.5)) == ["plain", "given"]
    assert names(make_pipeline(StandardScaler(), PLST.paper(threshold="top-k"))) == ["plain", "learned"]
    assert names(RidgeClassifier()) == ["plain"]


def test_a_pipeline_and_a_classifier_of_scikit_learn():
    pipeline = make_pipeline(StandardScaler(), PLST.paper(threshold="global"))
    plain = make_pipeline(StandardScaler(), PLST.paper())
    both, alone = (evaluate_labels(model, X, Y, 3) for model in (pipeline, plain))
    assert [row["micro_f1"] for row in both if row["decoding"] == "plain"] == [row["micro_f1"] for row in alone]
    rows = evaluate_labels(OneVsRestClassifier(RidgeClassifier()), X, Y[:, Y.sum(axis=0) > 10], 3)
    assert rows[0]["threshold"] == 0
    assert "coverage" in rows[0]


def test_without_scores_there_is_no_ranking():
    class Silent(BaseEstimator):
        def fit(self, X, Y):
            return self

        def predict(self, X):
            return sparse.csr_array((len(X), 6))

    (row,) = evaluate_labels(Silent(), X, Y, PredefinedSplit([0] * 20 + [-1] * 100))
    assert "coverage" not in row
    assert row["micro_f1"] == 0
    assert "coverage" not in evaluate_labels(PLST.paper(), X, Y, 3, ranking=False)[0]


def test_conventions_are_passed_on():
    rare = Y.copy()
    rare[:, 0] = 0
    rows = [evaluate_labels(PLST.paper(), X, rare, 3, undefined=u, empty=0)[0] for u in (0, 1, "skip")]
    assert rows[0]["macro_f1"] < rows[2]["macro_f1"] < rows[1]["macro_f1"]
    test = next(KFold(3, shuffle=True, random_state=0).split(X))[1]
    train = np.setdiff1d(np.arange(120), test)
    predicted = PLST.paper().fit(X[train], rare[train]).predict(X[test])
    assert rows[2]["macro_f1"] == macro_f1(rare[test], predicted, "skip")


def test_means_over_folds():
    rows = evaluate_labels(PLST.paper(threshold="global"), X, Y, 4)
    means = fold_means(rows)
    assert list(means) == ["plain", "learned"]
    values = [row["micro_f1"] for row in rows if row["decoding"] == "learned"]
    assert means["learned"]["micro_f1"] == pytest.approx((np.mean(values), np.std(values, ddof=1)))
    assert not {"fold", "parameters", "decoding"} & set(means["plain"])
    assert fold_means(rows[:1])["plain"]["micro_f1"] == (rows[0]["micro_f1"], 0.0)


def test_bad_input():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        evaluate_labels(PLST.paper(), X, Y[:-1], 3)
    with pytest.raises(ValueError, match="n_splits=10: expected a whole number from 2 to 9, the number of rows"):
        evaluate_labels(PLST.paper(), X[:9], Y[:9])
    with pytest.raises(ValueError, match="n_jobs=0: expected a whole number other than 0"):
        evaluate_labels(PLST.paper(), X, Y, 3, n_jobs=0)
    with pytest.raises(TypeError, match="n_jobs='a'"):
        Search(PLST.paper(), {"alpha": [1.0]}, n_jobs="a").fit(X, Y)
    with pytest.raises(InvalidInputError, match="X is a data set, which brings its labels.*splitter=..."):
        evaluate_labels(PLST.paper(), make_labels(30, 5, 3, n_groups=1, random_state=0)[0], 5)
    with pytest.raises(TypeError, match="splitter must be"):
        evaluate_labels(PLST.paper(), X, Y, "kfold")


def test_grid_search_of_scikit_learn():
    search = GridSearchCV(PLST.paper(n_components=1.0), {"alpha": [0.1, 1e7]}, cv=3)
    assert search.fit(X, Y).best_params_ == {"alpha": 0.1}
    rows = evaluate_labels(search, X, Y, 3)
    assert {row["parameters"]["alpha"] for row in rows} == {0.1}


# --- selection inside the training part -----------------------------------------------------------------------


def test_selection_finds_what_brute_force_finds():
    grid = {"alpha": [0.1, 10, 1000], "n_components": [2, 6]}
    choices = select_parameters(PLST.paper(), X, Y, grid, thresholds=("plain", "global", "top-k"), validation=4)
    assert len(choices) == 18
    values = [choice.value for choice in choices]
    assert values == sorted(values, reverse=True)
    seed = int(np.random.default_rng(0).integers(np.iinfo(np.int32).max))
    folds = list(KFold(4, shuffle=True, random_state=seed).split(X))
    truth = np.concatenate([Y[test] for _, test in folds])
    for choice in choices:
        models = [PLST.paper(**choice.parameters).fit(X[train], Y[train]) for train, _ in folds]
        scores = np.concatenate([m.decision_function(X[test]) for m, (_, test) in zip(models, folds, strict=True)])
        if choice.rule == "plain":
            on = scores > 0
        else:
            on = learn_threshold(choice.rule, scores, sparse.csr_array(truth)).apply(scores)
        assert choice.value == pytest.approx(micro_f1(truth, on))


def test_parameters_of_predictions_cost_no_fit():
    fits = []

    class Counting(OMF):
        def fit(self, X, Y):
            fits.append(self.alpha_predict)
            return super().fit(X, Y)

    options = {"thresholds": ("plain", "top-k"), "validation": 2}
    model = Counting.paper(n_components=4, random_state=0)
    once = select_parameters(model, X, Y, {"alpha": [0.1, 1]}, prediction_grid={"alpha_predict": [0.01, 10]}, **options)
    assert fits == [None] * 4
    every = select_parameters(model, X, Y, {"alpha": [0.1, 1], "alpha_predict": [0.01, 10]}, **options)
    assert len(fits) == 12
    found = {(str(sorted(c.parameters.items())), c.rule): c.value for c in once}
    assert found == {(str(sorted(c.parameters.items())), c.rule): c.value for c in every}
    assert len(found) == 8
    selection = Search(model, {}, prediction_grid={"alpha_predict": [0.01, 10]}).fit(X, Y)
    assert selection.best_estimator_.alpha_predict == selection.best_params_["alpha_predict"]


def test_selection_never_sees_test_rows():
    distinct = X + np.arange(120)[:, None] / 1000
    test = np.arange(0, 120, 5)
    train = np.setdiff1d(np.arange(120), test)
    fold = np.full(120, -1)
    fold[test] = 0
    other = Y.copy()
    other[test] = 1 - other[test]
    selection = Search(PLST.paper(), {"alpha": [0.1, 100]}, thresholds=("plain", "global"))
    rows = [evaluate_labels(selection, distinct, labels, PredefinedSplit(fold)) for labels in (Y, other)]
    for one, flipped in zip(*rows, strict=True):
        assert one["parameters"] == flipped["parameters"]
        assert one["threshold"] == flipped["threshold"]
        assert one["micro_f1"] != flipped["micro_f1"]
    fitted = selection.fit(distinct[train], Y[train])
    assert rows[0][0]["parameters"] == fitted.choices_["plain"].parameters


def test_selection_refits_to_everything_and_keeps_the_threshold(tmp_path):
    selection = Search(PLST.paper(), {"alpha": [1, 1e7]}, thresholds=("plain", "global", "per-label")).fit(X, Y)
    choice = selection.choices_["learned"]
    model = PLST.paper(**choice.parameters).fit(X, Y)
    np.testing.assert_allclose(selection.estimators_["learned"].decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(
        selection.estimators_["learned"].predict(X), choice.threshold.predict(model.decision_function(X))
    )
    plain = PLST.paper(**selection.choices_["plain"].parameters).fit(X, Y)
    np.testing.assert_array_equal(selection.estimators_["plain"].predict(X), plain.predict(X))
    np.testing.assert_array_equal(selection.predict(X), selection.best_estimator_.predict(X))
    assert selection.score(X, Y) == micro_f1(Y, selection.predict(X))
    assert selection.best_ == "learned"
    assert [name for name, _, _ in selection.decodings(X)] == ["plain", "learned"]
    selection.best_estimator_.save(tmp_path / "model")
    again = cofactor.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict(X), selection.predict(X))


def test_one_decomposition_serves_the_whole_grid(monkeypatch):
    from cofactor.labels import regression, training_data

    made = []

    class Counting(regression.FeatureSpace):
        def __init__(self, *args, **options):
            made.append(1)
            super().__init__(*args, **options)

    monkeypatch.setattr(training_data, "FeatureSpace", Counting)
    grid = {"alpha": [0.1, 1, 10], "n_components": [2, 4]}
    for estimator, cells in ((PLST.paper(), grid), (BinaryRelevance.paper(Ridge()), {"estimator__alpha": [1, 10]})):
        made.clear()
        select_parameters(estimator, X, Y, cells)
        assert len(made) == 1, estimator
    made.clear()
    shared = select_parameters(PLST.paper(), X, Y, grid)
    for cells in ({**grid, "fit_intercept": [True]},):
        made.clear()
        alone = select_parameters(PLST.paper(), X, Y, cells)
        assert len(made) == 6
    assert [choice.value for choice in alone] == pytest.approx([choice.value for choice in shared])


def test_without_an_intercept_the_space_has_none():
    choices = select_parameters(PLST.paper(fit_intercept=False), X, Y, {"alpha": [1.0]})
    with_space = Search(PLST.paper(fit_intercept=False), {"alpha": [1.0]}, thresholds=("plain",)).fit(X, Y)
    assert with_space.choices_["plain"].value == choices[0].value


def test_cells_side_by_side_give_the_same():
    grid = {"alpha": [0.1, 1, 10, 100]}
    one, two = (select_parameters(PLST.paper(), X, Y, grid, thresholds=("global",), n_jobs=n) for n in (None, 2))
    assert [(c.parameters, c.value) for c in one] == [(c.parameters, c.value) for c in two]


def test_selection_of_steps_and_by_other_metrics():
    pipeline = make_pipeline(Normalizer(), PLST.paper(threshold="global"))
    grid = {"normalizer": ["passthrough", Normalizer()], "plst__alpha": [0.01, 1]}
    selection = Search(pipeline, grid, metric="hamming", thresholds=("plain", "top-k"), validation=3).fit(X, Y)
    values = [choice.value for choice in selection.results_]
    assert values == sorted(values)
    assert pipeline.steps[-1][1].threshold == "global"
    learned = selection.estimators_["learned"]
    assert (learned.predict(X).sum(axis=1) == selection.choices_["learned"].threshold.value).all()
    assert selection.estimators_["plain"].steps[-1][1].threshold == 0
    ranked = select_parameters(PLST.paper(), X, Y, {}, metric="average_precision")
    assert 0.5 < ranked[0].value < 1


def test_selection_of_frames_keeps_names():
    frame = pd.DataFrame(X, columns=[f"f{k}" for k in range(12)])
    labels = pd.DataFrame(Y, columns=list("abcdef"))
    selection = Search(PLST.paper(), {"alpha": [1, 100]}, thresholds=("plain", "global")).fit(frame, labels)
    assert list(selection.predict(frame).columns) == list("abcdef")
    assert list(selection.best_estimator_.feature_names_in_) == list(frame.columns)


def test_selection_of_a_model_without_scores_or_thresholds():
    choices = select_parameters(RidgeClassifier(), X, Y, {"alpha": [1, 1e9]})
    assert choices[0].parameters == {"alpha": 1}
    with pytest.raises(
        TypeError, match=r"a learned threshold needs a model of cofactor\.labels, found RidgeClassifier"
    ):
        select_parameters(RidgeClassifier(), X, Y, {}, thresholds=("global",))


@together(
    ("options", "error", "message"),
    [
        ({"metric": "accuracies"}, ValueError, "metric='accuracies': expected one of 'hamming'"),
        ({"thresholds": ()}, ValueError, "expected a list of some of 'plain', 'auto', 'global'"),
        ({"thresholds": "global"}, ValueError, "expected a list"),
        ({"thresholds": ("best",)}, ValueError, "expected a list"),
        ({"validation": "half"}, ValueError, "validation='half' is not known; expected one of kfold"),
        (
            {"validation": True},
            TypeError,
            "expected a share of the instances, .*, or pairs of training and held-out rows",
        ),
        ({"validation": 1.5}, ValueError, "validation=1.5: expected a share between 0 and 1"),
        ({"grid": {"alpha": [-1.0]}}, ValueError, "alpha"),
        ({"grid": {"beta": [1.0]}}, ValueError, "PLST has no parameter 'beta'"),
    ],
)
def test_bad_selections(options, error, message):
    with pytest.raises(error, match=message) as raised:
        select_parameters(PLST.paper(), X, Y, **{"grid": {}, **options})
    if "grid" in options:
        assert raised.value.__notes__ == [
            f"while trying {{{str({k: v[0] for k, v in options['grid'].items()})[1:-1]}}}"
        ]


@together("name", ["LabelRidge", "MLkNN", "RAkEL", "TreeCRF"])
def test_models_of_all_kinds_can_be_evaluated_with_both_decodings(name):
    """Linear ones, neighbours, ensembles and fields: what `decodings` asks of them, the contract of all promises."""
    model = MODELS[name].paper(threshold="global", random_state=0)
    rows = evaluate_labels(model, np.abs(X[:60]), Y[:60, :4], 2)
    assert {row["decoding"] for row in rows} == {"plain", "learned"}
    assert all(0 <= row["micro_f1"] <= 1 and np.isfinite(row["ranking_loss"]) for row in rows)


@together("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_estimators_of_scikit_learn_are_not_confused_by_many_labels_in_int8(form: Any) -> None:
    labels = np.eye(150, dtype=np.int8).repeat(2, axis=0)  # of each label an instance to learn from, and one to try
    (row,) = evaluate_labels(
        OneVsRestClassifier(DecisionTreeClassifier(random_state=0)),
        labels.astype(float),
        form(labels),
        PredefinedSplit(np.arange(300) % 2 - 1),
    )
    assert row["micro_f1"] == 1


def test_a_search_scores_labels_by_name() -> None:
    names = [f"label {k}" for k in range(Y.shape[1])]
    frame = pd.DataFrame(Y, columns=names)
    for model in (PLST.paper(), make_pipeline(StandardScaler(), PLST.paper())):
        search = Search(model, {}).fit(X, frame)
        assert search.score(X, frame[names[::-1]]) == search.score(X, frame) == micro_f1(Y, search.predict(X))
    other = Search(RidgeClassifier(), {}).fit(X, Y)  # has no names, and its own score is accuracy
    assert other.score(X, Y) == micro_f1(Y, other.predict(X))


def test_a_search_names_the_row_of_a_wrong_cell() -> None:
    for row in (7, 77):
        wrong, strange = X.astype(float), Y.astype(float)
        wrong[row, 2], strange[row, 1] = 1e200, 0.5
        with pytest.raises(InvalidInputError, match=rf"X holds 1e\+200 \(row {row}, column 2\)"):
            Search(PLST.paper()).fit(wrong, Y)
        with pytest.raises(InvalidInputError, match=rf"y holds 0.5 \(row {row}, label 1\)"):
            Search(PLST.paper()).fit(X, strange)


def test_evaluate_of_ratings_refuses_labels_and_names_what_measures_them():
    X, Y = np.eye(8), np.eye(8)[:, :3]
    for y in (Y, sparse.csr_array(Y)):
        with pytest.raises(InvalidInputError, match=r"y has shape \(8, 3\).*measured by evaluate_labels"):
            evaluate(PLST(), X, y, "stratified")
