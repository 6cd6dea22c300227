"""Choice of parameters: one loop, one class, for ratings and for labels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import make_multilabel_classification
from sklearn.dummy import DummyRegressor
from sklearn.metrics import f1_score, make_scorer
from sklearn.model_selection import GridSearchCV, KFold, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer
from tests.together import together

from cofactor.datasets import make_ratings
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation import LABEL_PROTOCOLS, PROTOCOLS, Search, select_parameters, splitter_of
from cofactor.labels import PLST, MLkNN
from cofactor.model.selection.judges import OWN
from cofactor.model.selection.trials import out_of_fold_scores, try_all
from cofactor.ratings import ALS, OrdinalProbit

STARS = make_ratings(40, 30, 3, density=0.4, random_state=0)
X, Y = make_multilabel_classification(80, 8, n_classes=4, random_state=3)
GRID = {"alpha": [2.0, 10.0, 50.0]}


# ---------------------------------------------------------------- the loop


def test_every_candidate_is_tried_on_every_part_in_order():
    seen = []

    def attempt(part, candidate):
        seen.append((part, candidate))
        return part * candidate

    assert try_all(attempt, [1, 10], [2, 3], lambda candidate, found: (candidate, found)) == [
        (2, [2, 20]),
        (3, [3, 30]),
    ]
    assert seen == [(1, 2), (10, 2), (1, 3), (10, 3)]


def test_an_error_says_which_candidate_was_tried():
    def attempt(part, candidate):
        raise ZeroDivisionError("no")

    for n_jobs in (None, 2):
        with pytest.raises(ZeroDivisionError) as raised:
            try_all(attempt, [1], [{"alpha": 3}], lambda candidate, found: found, n_jobs)
        assert raised.value.__notes__ == ["while trying {'alpha': 3}"]


@pytest.mark.parametrize("n", [2, 3, 5, 23])
def test_out_of_fold_scores_never_see_their_rows(n):
    folds = []

    def score(k, train, test):
        assert not train[test].any()
        assert train.sum() == n - len(test)
        folds.append(test)
        return np.column_stack([test, np.full(len(test), k)])

    scores = out_of_fold_scores(score, n, 2, 5, np.random.default_rng(0))
    assert scores[:, 0].tolist() == list(range(n))
    assert len(folds) == min(n, 5)
    assert sorted(np.concatenate(folds)) == list(range(n))


# ---------------------------------------------------------------- ratings


@pytest.mark.parametrize("validation", [*PROTOCOLS, 0.3, 4, KFold(3)])
def test_ratings_are_chosen_by_any_kind_of_split(validation):
    search = Search(ALS(3), GRID, validation=validation, levels=STARS.scale, random_state=1)
    search.fit(STARS.X, STARS.y, time=np.arange(len(STARS.y)) % 50)
    values = [choice.value for choice in search.results_]
    assert values == sorted(values)
    assert search.best_params_ == search.results_[0].parameters
    assert search.choices_[OWN] is search.results_[0]
    again = ALS(3, levels=STARS.scale, random_state=1, **search.best_params_).fit(STARS.X, STARS.y)
    np.testing.assert_array_equal(search.predict(STARS.X[:9]), again.predict(STARS.X[:9]))


def test_a_search_answers_as_the_model_that_it_chose():
    search = Search(
        OrdinalProbit(2, n_sweeps=20, burn_in=10, random_state=0), {"n_factors": [2]}, validation="weak", n_splits=1
    )
    search.fit(STARS.X, STARS.y)
    model = search.best_estimator_
    np.testing.assert_array_equal(search.predict_proba(STARS.X[:5]), model.predict_proba(STARS.X[:5]))
    np.testing.assert_array_equal(search.scale_, model.scale_)
    users = [int(STARS.X[0, 0])]
    assert str(search.recommend(users, 3)) == str(model.recommend(users, 3))
    new = [("new", item) for item in STARS.X[:4, 1].tolist()]
    folded = search.fold_in(new, STARS.y[:4])
    np.testing.assert_array_equal(folded.predict(new), model.fold_in(new, STARS.y[:4]).predict(new))
    assert search.score(STARS.X, STARS.y) == model.score(STARS.X, STARS.y)
    plain = Search(DummyRegressor(), {})
    for name in ("fold_in", "recommend", "predict_proba", "decision_function"):
        assert not hasattr(plain, name)


def test_ratings_need_y():
    with pytest.raises(InvalidInputError, match="needs y: pass pairs with their ratings, or features with labels"):
        Search(ALS(3), GRID).fit(STARS.X, None)


# ---------------------------------------------------------------- labels


def test_a_model_may_decide_by_itself():
    """Then each fit learns its own threshold, as in scikit-learn's search."""
    grid = {"alpha": [0.1, 10.0, 1e4]}
    folds = KFold(3, shuffle=True, random_state=0)
    model = PLST.paper(threshold="global", random_state=0)
    search = Search(model, grid, thresholds=None, validation=folds).fit(X, Y)
    scorer = make_scorer(f1_score, average="micro")
    direct = GridSearchCV(model, grid, scoring=scorer, cv=folds).fit(X, Y)
    assert search.best_params_ == direct.best_params_
    expected = sorted(direct.cv_results_["mean_test_score"], reverse=True)
    np.testing.assert_allclose([choice.value for choice in search.results_], expected, rtol=1e-12)
    np.testing.assert_array_equal(search.predict(X), direct.predict(X))
    ((name, labels, scores),) = search.decodings(X)
    assert name == search.best_ == OWN
    np.testing.assert_array_equal(labels, search.predict(X))
    np.testing.assert_array_equal(scores, search.decision_function(X))
    ranked = Search(model, grid, metric="average_precision", thresholds=None, validation=folds).fit(X, Y)
    assert 0.5 < ranked.results_[0].value < 1


def test_the_default_grid_is_that_of_the_model():
    alone = select_parameters(MLkNN.paper(), X, Y)
    given = select_parameters(MLkNN.paper(), X, Y, MLkNN.paper().default_grid())
    assert [(c.parameters, c.value) for c in alone] == [(c.parameters, c.value) for c in given]
    piped = Search(make_pipeline(Normalizer(), MLkNN.paper())).fit(X, Y)
    assert {name for choice in piped.results_ for name in choice.parameters} == {
        f"mlknn__{name}" for name in MLkNN.paper().default_grid()
    }
    with pytest.raises(InvalidInputError, match="grid=None: DummyRegressor declares no default grid; give the values"):
        Search(DummyRegressor()).fit(STARS.X, STARS.y)


@pytest.mark.parametrize("validation", ["kfold", "holdout", 0.25, 3, ShuffleSplit(2, random_state=0)])
def test_labels_are_chosen_by_any_kind_of_split(validation):
    first, second = (Search(PLST.paper(), {"alpha": [1, 1e6]}, validation=validation).fit(X, Y) for _ in range(2))
    assert first.best_params_ == second.best_params_ == {"alpha": 1}
    assert [c.value for c in first.results_] == [c.value for c in second.results_]


# ---------------------------------------------------------------- the class


@pytest.mark.processes
def test_progress_is_told_of_every_candidate():
    told = []
    Search(PLST.paper(), {"alpha": [1, 10]}, callback=told.append, n_jobs=2).fit(X, Y)
    assert sorted(progress.stage for progress in told) == ["choice, alpha=1", "choice, alpha=10"]
    assert sorted(progress.iteration for progress in told) == [1, 2]
    assert all(0 < progress.objective < 1 for progress in told)
    search = Search(PLST.paper(), {"alpha": [1, 10, 100]}, callback=lambda progress: progress.iteration == 2).fit(X, Y)
    assert {choice.parameters["alpha"] for choice in search.results_} == {1, 10}


def test_a_fit_that_fails_leaves_the_search_as_it_was():
    search = Search(PLST.paper(), {"alpha": [1, 10]}).fit(X, Y)
    before = dict(vars(search))
    search.set_params(grid={"alpha": [-1]})
    with pytest.raises(ValueError, match="alpha"):
        search.fit(X, Y)
    assert {name: value for name, value in vars(search).items() if name != "grid"} == {
        name: value for name, value in before.items() if name != "grid"
    }


class Bare:
    """An estimator that knows nothing of scikit-learn but the names of methods."""

    def __init__(self, level: float = 1.0) -> None:
        self.level = level

    def get_params(self, deep: bool = True) -> dict[str, float]:
        return {"level": self.level}

    def set_params(self, **parameters: float) -> Bare:
        vars(self).update(parameters)
        return self

    def fit(self, X, y):
        return self

    def predict(self, X):
        return np.full(len(X), self.level)


def test_a_search_is_an_estimator_of_scikit_learn():
    search = Search(PLST.paper(), {"alpha": [1, 10]}, thresholds=("plain", "global"))
    assert clone(search).get_params()["estimator__alpha"] == search.estimator.alpha
    assert search.__sklearn_tags__().input_tags.sparse
    assert search.takes_sparse_labels
    assert not Search(DummyRegressor(), {}).takes_sparse_labels
    assert isinstance(search, BaseEstimator)
    bare = Search(Bare(), {"level": [1.0, 3.0]}, validation="weak").fit(STARS.X, STARS.y)
    assert bare.best_params_ == {"level": 3.0}


# ---------------------------------------------------------------- protocols by name


@pytest.mark.parametrize(
    ("task", "protocol"), [*[("ratings", name) for name in PROTOCOLS], *[("labels", name) for name in LABEL_PROTOCOLS]]
)
def test_every_protocol_splits(task, protocol):
    train_rows = np.arange(len(STARS.X)) % 3 > 0
    given = {"train_rows": train_rows, "groups": train_rows, "times": np.arange(len(STARS.X))}
    splitter = splitter_of(protocol, task, n_splits=2, random_state=0, **given)
    parts = list(splitter.split(STARS.X, np.eye(3)[np.arange(len(STARS.X)) % 3]))
    assert len(parts) == splitter.get_n_splits() == (1 if protocol in ("official", "user-last") else 2)
    for train, test in parts:
        assert not set(train) & set(test)
    if protocol == "official":
        np.testing.assert_array_equal(parts[0][0], np.flatnonzero(train_rows))


@together(
    ("arguments", "options", "message"),
    [
        (("weka",), {}, "protocol='weka' is not known; did you mean weak"),
        (("weak", "labels"), {}, "protocol='weak' is not for labels; these have kfold, holdout"),
        (("official",), {"argument": "splits"}, "splits='official' is not for ratings; these have"),
        (("official", "labels"), {"data": "'toy'"}, "data set 'toy' has no official split; choose "),
        (("kfold",), {"n_splits": 1}, "n_splits=1: expected a whole number of at least 2 for kfold"),
        (("kfold",), {"n_splits": 9, "n_rows": 5}, "n_splits=9: expected .* from 2 to 5, the number of rows"),
        (("weak",), {"n_splits": 0}, "n_splits=0: expected a whole number of at least 1 for weak"),
        (("weak",), {"n_splits": 1.5}, "n_splits=1.5: expected a whole number of at least 1"),
        (("weak",), {"n_splits": True}, "n_splits=True: expected a whole number of at least 1"),
        ((5,), {}, r"one of holdout, weak, .* new-users, an object with split\(X\), or pairs of training and"),
    ],
)
def test_a_protocol_that_cannot_be_done_is_refused(arguments, options, message):
    with pytest.raises(InvalidTypeError if arguments == (5,) else InvalidInputError, match=message):
        splitter_of(*arguments, **options)
