"""Logistic regressions fitted together are those of scikit-learn, fitted one by one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from cofactor.labels.learners import fit_logistics, suits_logistics


@pytest.mark.parametrize(("n", "D", "cost"), [(120, 6, 3.0), (40, 60, 0.5)])
def test_each_label_has_the_regression_of_scikit_learn(n: int, D: int, cost: float) -> None:
    rng = np.random.default_rng(0)
    X = 3 + rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.6)
    Y = X @ rng.normal(size=(D, 70)) + 3 * rng.normal(size=(n, 70))
    Y = (np.quantile(Y, np.linspace(0.1, 0.97, 70), axis=0).diagonal() < Y).astype(int)
    told: list[int] = []
    for form in (np.asarray, sparse.csr_array):
        learners, n_unfinished = fit_logistics(form(X), sparse.csr_array(Y), cost, n_jobs=1, on_label=told.append)
        for j in (0, 30, 63, 64, 69):
            theirs = LogisticRegression(C=cost, tol=1e-8, max_iter=10_000).fit(X, Y[:, j])
            np.testing.assert_allclose(learners.probabilities(X)[:, j], theirs.predict_proba(X)[:, 1], atol=5e-3)
            objectives = [
                cost * np.logaddexp(0, (1 - 2 * Y[:, j]) * (X @ w + b)).sum() + 0.5 * w @ w
                for w, b in ((learners.coef[:, j], learners.intercept[j]), (theirs.coef_[0], theirs.intercept_[0]))
            ]
            assert objectives[0] <= objectives[1] * (1 + 1e-5)
        assert n_unfinished == 0
    assert told == [*range(1, 71)] * 2


def test_what_is_stopped_takes_a_single_step_and_says_so() -> None:
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(50, 3)), sparse.csr_array((rng.random((50, 4)) < 0.5).astype(float))
    learners, n_unfinished = fit_logistics(X, Y, 1.0, stopped=lambda: True)
    assert n_unfinished == 4
    assert np.isfinite(learners.coef).all()


def test_tables_that_are_too_large_are_left_to_others() -> None:
    plain, X = LogisticRegression(C=2.0, max_iter=1000), sparse.csr_array((1000, 2000))
    assert suits_logistics(plain, X)
    assert not suits_logistics(plain, sparse.csr_array((10, 50_000)))
    assert not suits_logistics(plain, sparse.csr_array((1_000_000, 2000)))
    for other in (LogisticRegression(C=1e4, max_iter=1000), LogisticRegression(C=2.0), LinearSVC()):
        assert not suits_logistics(other, X)
