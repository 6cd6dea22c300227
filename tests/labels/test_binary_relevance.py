"""Binary relevance predicts exactly what scikit-learn's estimator predicts for each label."""

import itertools

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit
from sklearn.base import clone
from sklearn.cluster import KMeans
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import (
    LinearRegression,
    LogisticRegression,
    Perceptron,
    Ridge,
    RidgeClassifier,
    SGDClassifier,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import MultiOutputClassifier
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

import cofactor
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels import PLST, BinaryRelevance, FeatureSpace
from cofactor.persistence import ModelFileError, read_model, write_model


def example() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 6))
    return X, (X @ rng.normal(size=(6, 4)) + 0.5 * rng.normal(size=(90, 4)) > 0.3).astype(int)


X, Y = example()
ESTIMATORS = [
    LinearSVC(random_state=0),
    LinearSVC(C=0.1, loss="hinge", dual=True, random_state=0, max_iter=100_000),
    LogisticRegression(C=3.0),
    RidgeClassifier(),
    SGDClassifier(random_state=0),
]


@pytest.mark.parametrize(
    ("estimator", "form", "n_jobs"),
    [
        *itertools.product(ESTIMATORS, [np.asarray, sparse.csr_array], [None]),
        pytest.param(SGDClassifier(random_state=0), sparse.csr_array, 2, marks=pytest.mark.processes),
    ],
    ids=repr,
)
def test_it_is_one_versus_rest(estimator, form, n_jobs):
    ours = BinaryRelevance.paper(estimator, n_jobs=n_jobs).fit(form(X), Y)
    if estimator.get_params().get("loss") == "squared_hinge":  # which we fit exactly
        estimator = clone(estimator).set_params(tol=1e-13, max_iter=10**6)
    theirs = OneVsRestClassifier(estimator).fit(form(X), Y)
    assert np.array_equal(ours.predict(form(X)), theirs.predict(form(X)))
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-10)


def test_ridge_by_one_decomposition():
    space = FeatureSpace(sparse.csr_array(X))
    for alpha in (0.1, 10.0):
        ours = BinaryRelevance.paper(Ridge(alpha=alpha)).fit(space, Y)
        theirs = Ridge(alpha=alpha).fit(X, Y)
        assert np.abs(ours.coef_ - theirs.coef_.T).max() < 1e-10
        assert np.abs(ours.decision_function(X) - theirs.predict(X) + 0.5).max() < 1e-10
    without = BinaryRelevance.paper(Ridge(alpha=1.0, fit_intercept=False)).fit(X, Y)
    assert np.abs(without.coef_ - Ridge(alpha=1.0, fit_intercept=False).fit(X, Y).coef_.T).max() < 1e-10


def test_seeds_reach_the_solver():
    estimator = LinearSVC(loss="hinge", dual=True, tol=0.5)
    a, b, c = (BinaryRelevance.paper(estimator, random_state=seed).fit(X, Y).coef_ for seed in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    fixed = [
        BinaryRelevance.paper(LinearSVC(random_state=5, tol=0.5), random_state=seed).fit(X, Y).coef_ for seed in (0, 1)
    ]
    assert np.array_equal(*fixed)


def test_the_given_estimator_is_not_changed():
    estimator = LinearSVC()
    BinaryRelevance.paper(estimator, random_state=0).fit(X, Y)
    assert estimator.random_state is None
    assert not hasattr(estimator, "coef_")


def test_one_warning_for_all_labels():
    with pytest.warns(ConvergenceWarning, match="stopped early for 4 of 4 labels") as raised:
        BinaryRelevance.paper(LinearSVC(loss="hinge", dual=True, max_iter=1, C=100)).fit(X, Y)
    assert len(raised) == 1


def test_refusals():
    with pytest.raises(TypeError, match="expected a classifier or regressor of scikit-learn"):
        BinaryRelevance.paper(KMeans()).fit(X, Y)
    with pytest.raises(TypeError, match=r"expected an estimator, not its class: LinearSVC\(\)"):
        BinaryRelevance.paper(LinearSVC).fit(X, Y)
    for nested in (BinaryRelevance.paper(), PLST.paper(), MultiOutputClassifier(LinearSVC())):
        with pytest.raises(InvalidTypeError, match=f"estimator of one label.*{type(nested).__name__} takes tables"):
            BinaryRelevance.paper(nested).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight"):
        BinaryRelevance.paper(LinearSVC(class_weight={0: 1, 1: 3})).fit(X, Y)
    with pytest.raises(ValueError, match="'C' parameter of LinearSVC"):
        BinaryRelevance.paper(LinearSVC(C=-1)).fit(X, Y)


def test_progress_names_the_held_out_part():
    seen = []
    BinaryRelevance.paper(threshold="global", random_state=0, callback=seen.append).fit(X, Y)
    parts = [f"held-out part {k}, labels" for k in (1, 2, 3, 4)][: len({p.stage for p in seen}) - 1]
    assert [p.stage for p in seen] == [stage for stage in ("labels", *parts) for _ in range(4)]


def test_progress_counts_labels():
    seen = []
    BinaryRelevance.paper(random_state=0, callback=seen.append).fit(X, Y)
    assert [(p.stage, p.iteration, p.objective) for p in seen] == [("labels", k, 4.0 - k) for k in (1, 2, 3, 4)]


# ---------------------------------------------------------------------- any learner

X_NEAR_ZERO = np.abs(X).round(1)  # not negative, like counts
#: One with probabilities of each kind, and one without; `test_learners.py` has all.
LEARNERS = [
    Perceptron(random_state=0),
    LinearRegression(),
    GaussianNB(),
    RandomForestClassifier(7, random_state=0),
    KNeighborsClassifier(4),
]
PIPELINE = make_pipeline(StandardScaler(), LogisticRegression())
OTHERS = [SVC(), QuadraticDiscriminantAnalysis(), PIPELINE]


def with_constants(Y: np.ndarray) -> np.ndarray:
    """Return labels with one that all have, and one that none has, between them."""
    return np.column_stack([Y[:, :2], np.ones(len(Y), int), Y[:, 2:], np.zeros(len(Y), int)])


@pytest.mark.parametrize("estimator", [*LEARNERS, *OTHERS], ids=repr)
def test_any_learner(estimator):
    X = X_NEAR_ZERO
    ours = BinaryRelevance.paper(estimator).fit(X[:70], Y[:70])
    alone = [clone(estimator).fit(X[:70], y) for y in Y[:70].T]
    expected = np.column_stack([each.predict(X[70:]) for each in alone])
    assert np.array_equal(ours.predict(X[70:]), expected > 0.5)
    if hasattr(alone[0], "predict_proba"):
        expected = np.column_stack([each.predict_proba(X[70:])[:, 1] for each in alone])
        exact = isinstance(estimator, RandomForestClassifier | DecisionTreeClassifier | KNeighborsClassifier)
        assert np.allclose(ours.predict_proba(X[70:]), expected, rtol=0 if exact else 1e-9, atol=0 if exact else 1e-12)
    else:
        assert not hasattr(ours, "predict_proba")


@pytest.mark.parametrize("estimator", LEARNERS, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_any_learner_survives_a_file(estimator, form, tmp_path):
    labels = with_constants(Y)
    trained = X_NEAR_ZERO if isinstance(estimator, GaussianNB) else form(X_NEAR_ZERO)
    model = BinaryRelevance.paper(estimator, random_state=0).fit(trained, labels)
    model.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert repr(loaded) == repr(model)
    assert np.array_equal(loaded.predict(form(X_NEAR_ZERO))[:, [2, 5]], labels[:, [2, 5]])
    assert np.array_equal(loaded.decision_function(form(X_NEAR_ZERO)), model.decision_function(form(X_NEAR_ZERO)))
    if hasattr(model, "predict_proba"):
        found = loaded.predict_proba(form(X_NEAR_ZERO))
        assert np.array_equal(found, model.predict_proba(form(X_NEAR_ZERO)))
        assert np.array_equal(found[:, [2, 5]], labels[:, [2, 5]])
        assert ((found >= 0) & (found <= 1)).all()
    assert np.array_equal(loaded.fit(trained, labels).predict(form(X_NEAR_ZERO)), model.predict(form(X_NEAR_ZERO)))


@pytest.mark.parametrize("estimator", OTHERS, ids=lambda estimator: type(estimator).__name__)
def test_others_cannot_be_saved(estimator, tmp_path):
    advice = "steps .* before the model" if estimator is PIPELINE else "take one of LinearSVC, LogisticRegression"
    for labels in (Y, np.ones_like(Y)):
        model = BinaryRelevance.paper(estimator).fit(X, labels)
        with pytest.raises(InvalidTypeError, match=f"cannot be saved safely.*{advice}"):
            model.save(tmp_path / "model")
        assert list(tmp_path.iterdir()) == []


def test_what_is_advised_for_a_pipeline_can_be_saved(tmp_path):
    model = make_pipeline(StandardScaler(), BinaryRelevance.paper(LinearSVC(), random_state=0)).fit(X, Y)
    cofactor.save(model, tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").predict(X), model.predict(X))


def test_probabilities_exist_if_the_learner_has_them():
    assert hasattr(BinaryRelevance.paper(LogisticRegression()), "predict_proba")
    for estimator in (None, LinearSVC(), Ridge()):
        assert not hasattr(BinaryRelevance.paper(estimator), "predict_proba")
        assert not hasattr(BinaryRelevance.paper(estimator).fit(X, Y), "predict_proba")
    model = BinaryRelevance.paper(LogisticRegression()).fit(X, Y)
    assert np.array_equal(model.predict_proba(X), expit(model.decision_function(X)))
    assert np.array_equal(model.predict_proba(X) > 0.5, model.predict(X))


def test_only_linear_learners_have_coefficients():
    assert BinaryRelevance.paper(MultinomialNB()).fit(X_NEAR_ZERO, Y).coef_.shape == (6, 4)
    assert not hasattr(BinaryRelevance.paper(GaussianNB()).fit(X, Y), "coef_")
    assert not hasattr(BinaryRelevance.paper(), "coef_")


def test_neighbours_are_kept_once(tmp_path):
    model = BinaryRelevance.paper(KNeighborsClassifier()).fit(X, np.tile(Y, 5))
    model.save(tmp_path / "model")
    _, arrays = read_model(tmp_path / "model")
    assert sum(array.shape == X.shape for array in arrays.values()) == 1


@pytest.mark.parametrize("estimator", [*LEARNERS[3:], LogisticRegression()], ids=repr)
def test_states_that_do_not_fit_the_model(estimator, tmp_path):
    BinaryRelevance.paper(estimator).fit(X, Y).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    BinaryRelevance.paper(estimator).fit(X[:, :5], Y[:, :3]).save(tmp_path / "other")
    other, others = read_model(tmp_path / "other")
    write_model(tmp_path / "model", header | {"learned": other["learned"]}, arrays | others)
    with pytest.raises(ModelFileError):
        cofactor.load(tmp_path / "model")
    constant = np.array([0, 0, 0, 1], dtype=np.int8)
    write_model(tmp_path / "model", header, arrays | {"learned.constant_": constant})
    with pytest.raises(ModelFileError):
        cofactor.load(tmp_path / "model")


@pytest.mark.parametrize(
    "estimator", [DecisionTreeClassifier(random_state=0), GaussianNB(), KNeighborsClassifier(3)], ids=repr
)
def test_weights(estimator):
    weights = np.arange(len(Y)) % 3
    rows = np.repeat(np.arange(len(Y)), weights)
    ours = BinaryRelevance.paper(estimator).fit(X, Y, weights)
    twice = BinaryRelevance.paper(estimator).fit(X[rows], Y[rows])
    assert np.allclose(ours.predict_proba(X), twice.predict_proba(X))
    if isinstance(estimator, KNeighborsClassifier):
        with pytest.raises(InvalidInputError, match="must be whole numbers"):
            ours.fit(X, Y, weights / 2)
    else:
        assert np.allclose(ours.fit(X, Y, weights / 2).predict_proba(X), twice.predict_proba(X))


def test_nearest_in_dense_rows_take_sparse_queries():
    X = np.random.default_rng(0).random((40, 3))
    Y = (X[:, :2] > 0.5).astype(int)
    model = BinaryRelevance.paper(KNeighborsClassifier(3)).fit(X, Y)
    assert np.array_equal(model.predict_proba(sparse.csr_array(X)), model.predict_proba(X))
