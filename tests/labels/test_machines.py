"""Support vector machines fitted together are those of liblinear, fitted one by one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import LinearSVC

from cofactor.labels import BinaryRelevance, Stacked2BR
from cofactor.labels.learners import fitting, machines
from cofactor.labels.learners.machines import fit_linear_svms, machine_bytes, suits_machines
from cofactor.problems.classifiers import SquaredHingeProblems, rotate_table

rng = np.random.default_rng(0)


def drawn(n, D, offset, n_labels=34):
    """Return features, some in the span of others, and labels from frequent to rare."""
    X = offset + rng.normal(size=(n, D)) / np.sqrt(D)
    X[:, -1], X[:, -2] = 1.0, X[:, 0] + X[:, 1]
    signal = X @ rng.normal(size=(D, n_labels)) + 0.3 * rng.normal(size=(n, n_labels))
    return X, (np.quantile(signal, np.linspace(0.2, 0.95, n_labels), axis=0).diagonal() < signal).astype(int)


def objective(w, table, z, costs):
    return 0.5 * w @ w + costs @ np.maximum(0, 1 - z * (table @ w)) ** 2


@pytest.mark.parametrize(("n", "D", "offset"), [(120, 6, 0.0), (120, 6, -1.0), (40, 60, -1.0)])
def test_each_label_has_the_machine_of_liblinear(n, D, offset):
    X, Y = drawn(n, D, offset)
    weights = rng.integers(3, size=n).astype(float)
    table = np.column_stack([X, np.ones(n)])
    for form, given in ((np.asarray, None), (sparse.csr_array, weights)):
        told = []
        estimator, costs = LinearSVC(C=0.7), 0.7 * (np.ones(n) if given is None else given)
        coef, intercept, n_unfinished = fit_linear_svms(
            estimator, form(X), sparse.csr_array(Y), given, n_jobs=1, on_label=told.append
        )
        assert n_unfinished == 0
        assert told == [*range(1, 35)]
        for j in (0, 20, 33):
            z, w = 2.0 * Y[:, j] - 1, np.append(coef[:, j], intercept[j])
            exact = LinearSVC(C=0.7, tol=1e-9, max_iter=100_000).fit(X, Y[:, j], given)
            theirs = np.append(exact.coef_[0], exact.intercept_)
            assert objective(w, table, z, costs) <= objective(theirs, table, z, costs) * (1 + 1e-5)
            np.testing.assert_allclose(table @ w, table @ theirs, atol=5e-3)


def test_derivatives_are_those_of_the_objective():
    X, Y = drawn(30, 4, 1.0, 3)
    X[:, -1] = 1.0
    problems = SquaredHingeProblems(rotate_table(X, np.ones(4)), 2.0 * Y - 1, rng.random(30))
    theta, which = rng.normal(size=(2, problems.start().shape[1])), np.array([0, 2])
    value, gradient = problems.evaluate(theta, which)
    w = theta[1] @ problems.X.axes.T
    np.testing.assert_allclose(value[1], objective(w, X, problems.Z[:, 2], problems.costs))
    for k, step in enumerate(1e-6 * np.eye(theta.shape[1])):
        rise = problems.evaluate(theta + step, which)[0] - problems.evaluate(theta - step, which)[0]
        np.testing.assert_allclose(rise / 2e-6, gradient[:, k], rtol=1e-5, atol=1e-6)


def test_other_problems_are_left_to_others():
    X = np.ones((400, 300)) / 20
    assert suits_machines(LinearSVC(), X, 40, None)
    assert suits_machines(LinearSVC(), sparse.csr_array(X), 40, None)
    assert not suits_machines(LinearSVC(), X, 31, None)
    assert not suits_machines(LinearSVC(), X[:, :199], 40, None)
    assert not suits_machines(LinearSVC(), sparse.csr_array(X * (np.arange(300) % 3 == 0)), 40, None)
    assert not suits_machines(LinearSVC(C=100), X, 40, None)
    assert not suits_machines(LinearSVC(), X, 40, np.full(400, 100.0))
    for params in ({"tol": 1e-7}, {"loss": "hinge"}, {"fit_intercept": False}, {"class_weight": "balanced"}):
        assert not suits_machines(LinearSVC(**params), X, 40, None)
    assert machine_bytes(None, X, 40) == machine_bytes(LinearSVC(), X, 40) > X.nbytes
    assert machine_bytes(None, X, 31) == machine_bytes(LinearSVC(loss="hinge"), X, 40) == 0


@pytest.mark.parametrize(
    "model", [BinaryRelevance.paper(LinearSVC(C=0.5)), Stacked2BR.paper(LinearSVC(C=0.5), random_state=0)]
)
def test_models_fit_them_together(model, monkeypatch):
    X, Y = drawn(90, 8, 0.0)
    one_by_one = model.fit(X, Y).decision_function(X)
    monkeypatch.setattr(machines, "_FEWEST_FEATURES", 1)
    np.testing.assert_allclose(model.fit(X, Y).decision_function(X), one_by_one, atol=0.01, rtol=0.01)
    monkeypatch.setattr(fitting, "fitted_by_kernels", None)
    model.fit(X, Y)
    monkeypatch.setattr(fitting, "fit_linear_svms", None)
    with pytest.raises(TypeError):
        model.fit(X, Y)
