"""Logistic regressions fitted together are those of scikit-learn, fitted one by one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from cofactor.labels import IBLR, BinaryRelevance, TrainingData
from cofactor.labels.learners import fitting
from cofactor.labels.learners.linear import LinearLearner
from cofactor.labels.learners.machines import fit_logistics, suits_logistics, together_bytes


@pytest.mark.parametrize(("n", "D", "cost"), [(120, 6, 3.0), (40, 60, 0.5)])
def test_each_label_has_the_regression_of_scikit_learn(n: int, D: int, cost: float) -> None:
    rng = np.random.default_rng(0)
    X = 3 + rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.6)
    Y = X @ rng.normal(size=(D, 70)) + 3 * rng.normal(size=(n, 70))
    Y = (np.quantile(Y, np.linspace(0.1, 0.97, 70), axis=0).diagonal() < Y).astype(int)
    told: list[int] = []
    for form in (np.asarray, sparse.csr_array):
        coef, intercept, n_unfinished = fit_logistics(
            form(X), sparse.csr_array(Y), cost, n_jobs=1, on_label=told.append
        )
        learners = LinearLearner(coef, intercept, link="logistic")
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
    coef, _, n_unfinished = fit_logistics(X, Y, 1.0, stopped=lambda: True)
    assert n_unfinished == 4
    assert np.isfinite(coef).all()


def test_other_problems_are_left_to_scikit_learn() -> None:
    plain = LogisticRegression(C=2.0, max_iter=1000)
    assert suits_logistics(plain, (1000, 2000), 1000)
    for shape, L in (((10, 50_000), 10**6), ((1_000_000, 2000), 1000), ((1000, 2000), 100), ((1000, 20), 31)):
        assert not suits_logistics(plain, shape, L)
    others = [{"C": 1e4}, {"C": "1"}, {"max_iter": 50}, {"tol": 1e-6}, {"fit_intercept": False}]
    for params in others:
        assert not suits_logistics(LogisticRegression(**params), (1000, 200), 1000)
    assert not suits_logistics(LinearSVC(), (1000, 200), 1000)


def test_binary_relevance_and_iblr_fit_them_together(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 5))
    Y = (X @ rng.normal(size=(5, 32)) + rng.normal(size=(80, 32)) > 0.5).astype(int)
    together = BinaryRelevance.paper(LogisticRegression()).fit(X, Y)
    exact = [LogisticRegression(tol=1e-9).fit(X, y).predict_proba(X)[:, 1] for y in Y.T]
    np.testing.assert_allclose(together.predict_proba(X), np.transpose(exact), atol=5e-3)
    monkeypatch.setattr(fitting, "fit_logistics", None)
    BinaryRelevance.paper(LogisticRegression(max_iter=100)).fit(X, Y, sample_weight=np.arange(80) % 2 + 0.5)
    for model in (BinaryRelevance.paper(LogisticRegression()), IBLR(3)):
        with pytest.raises(TypeError):
            model.fit(X, Y)


def test_memory_of_their_tables_is_counted() -> None:
    data = TrainingData(np.zeros((80, 5)), sparse.csr_array((80, 32)))
    for model, D in ((BinaryRelevance(LogisticRegression()), 5), (IBLR(), 32), (IBLR(with_features=True), 37)):
        assert model._fit_bytes(data) == 8 * 32 * D + together_bytes((80, D))
    assert IBLR(estimator=LogisticRegression(C=1e4))._fit_bytes(data) == 8 * 32 * 32
