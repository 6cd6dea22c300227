"""Binary relevance is scikit-learn's model for each label, and nothing else."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import cofactor
from cofactor.labels import BinaryRelevance, FeatureSpace


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


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=repr)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_jobs", [None, 2])
def test_it_is_one_versus_rest(estimator, form, n_jobs):
    ours = BinaryRelevance(estimator, n_jobs=n_jobs).fit(form(X), Y)
    theirs = OneVsRestClassifier(estimator).fit(form(X), Y)
    assert np.array_equal(ours.predict(form(X)), theirs.predict(form(X)))
    assert np.allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-10)


def test_ridge_by_one_decomposition():
    space = FeatureSpace(sparse.csr_array(X))
    for alpha in (0.1, 10.0):
        ours = BinaryRelevance(Ridge(alpha=alpha)).fit(space, Y)
        theirs = Ridge(alpha=alpha).fit(X, Y)
        assert np.abs(ours.coef_ - theirs.coef_.T).max() < 1e-10
        assert np.abs(ours.decision_function(X) - theirs.predict(X) + 0.5).max() < 1e-10
    without = BinaryRelevance(Ridge(alpha=1.0, fit_intercept=False)).fit(X, Y)
    assert np.abs(without.coef_ - Ridge(alpha=1.0, fit_intercept=False).fit(X, Y).coef_.T).max() < 1e-10


def test_seeds_reach_the_solver():
    estimator = LinearSVC(loss="hinge", dual=True, tol=0.5)
    a, b, c = (BinaryRelevance(estimator, random_state=seed).fit(X, Y).coef_ for seed in (0, 0, 1))
    assert np.array_equal(a, b)
    assert not np.array_equal(a, c)
    fixed = [BinaryRelevance(LinearSVC(random_state=5, tol=0.5), random_state=seed).fit(X, Y).coef_ for seed in (0, 1)]
    assert np.array_equal(*fixed)


def test_the_estimator_given_is_not_touched():
    estimator = LinearSVC()
    BinaryRelevance(estimator, random_state=0).fit(X, Y)
    assert estimator.random_state is None
    assert not hasattr(estimator, "coef_")


def test_one_warning_for_all_labels():
    with pytest.warns(ConvergenceWarning, match="stopped early for 4 of 4 labels") as raised:
        BinaryRelevance(LinearSVC(loss="hinge", dual=True, max_iter=1, C=100)).fit(X, Y)
    assert len(raised) == 1


def test_refusals():
    with pytest.raises(TypeError, match="expected one of scikit-learn's LinearSVC"):
        BinaryRelevance(KNeighborsClassifier()).fit(X, Y)
    with pytest.raises(ValueError, match="class_weight"):
        BinaryRelevance(LinearSVC(class_weight={0: 1, 1: 3})).fit(X, Y)
    with pytest.raises(ValueError, match="'C' parameter of LinearSVC"):
        BinaryRelevance(LinearSVC(C=-1)).fit(X, Y)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, Ridge(alpha=3.0)], ids=repr)
def test_the_estimator_survives_a_file(estimator, tmp_path):
    model = BinaryRelevance(estimator).fit(X, Y)
    model.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert type(loaded.estimator) is type(estimator)
    assert loaded.estimator.get_params() == estimator.get_params()
    assert np.array_equal(loaded.decision_function(X), model.decision_function(X))


def test_progress_of_folds_is_told_apart():
    seen = []
    BinaryRelevance(threshold="global", random_state=0, callback=seen.append).fit(X, Y)
    expected = [f"threshold, fold {k}, labels" for k in (1, 2, 3, 4, 5)]
    assert [p.stage for p in seen] == [stage for stage in [*expected, "labels"] for _ in range(4)]


def test_progress_counts_labels():
    seen = []
    BinaryRelevance(callback=seen.append).fit(X, Y)
    assert [(p.stage, p.iteration, p.objective) for p in seen] == [("labels", k, 4.0 - k) for k in (1, 2, 3, 4)]
