"""Linear support vector machines by kernels, against liblinear."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from cofactor.kernels.lanes import LANES
from cofactor.labels import BinaryRelevance
from cofactor.labels.learners import machines
from cofactor.labels.learners.base import Subproblem
from cofactor.labels.learners.machines import fitted_by_kernels

rng = np.random.default_rng(0)
X = sparse.csr_array(rng.random((90, 12)) * (rng.random((90, 12)) < 0.4))
signal = X @ rng.normal(size=(12, 3))
TARGETS = [signal[:, 0] > 0.1, np.digitize(signal[:, 1], [-0.3, 0.4]), signal[:, 2] > 0.5]


@pytest.fixture(params=[machines._MOST_FOR_NEWTON, 0], ids=["newton", "blocks"])
def solver(request, monkeypatch):
    monkeypatch.setattr(machines, "_MOST_FOR_NEWTON", request.param)


def fitted(tasks, weights=None, *, stopped=False, **params):
    return list(fitted_by_kernels(LinearSVC(**params), X, tasks, weights, lambda: stopped))


def objective(coef, intercept, rows, z, costs):
    """The formula, with a penalty of the intercept."""
    beyond = np.maximum(0, 1 - z * (rows @ coef + intercept))
    return 0.5 * (coef @ coef + intercept**2) + costs @ beyond**2


def test_minima_are_those_of_liblinear(solver):
    rows, weights = np.flatnonzero(rng.random(90) > 0.3), rng.integers(3, size=90).astype(float)
    tasks = [
        Subproblem(TARGETS[0].astype(int)),
        Subproblem(TARGETS[1][rows] + 3, rows, 9),
        Subproblem(TARGETS[2].astype(int), None, 10),
    ]
    for task, (learner, converged) in zip(tasks, fitted(tasks, weights, C=2.0, tol=1e-6), strict=True):
        assert converged
        of = np.arange(90) if task.rows is None else task.rows
        part = X[of][:, : task.n_features]
        exact = LinearSVC(C=2.0, dual=False, tol=1e-10, max_iter=100_000).fit(part, task.target, weights[of])
        assert learner.n_features == part.shape[1]
        assert np.array_equal(learner.classes, exact.classes_)
        np.testing.assert_allclose(learner.coef, exact.coef_.T, atol=2e-4)
        np.testing.assert_allclose(learner.intercept, exact.intercept_, atol=2e-4)


@pytest.mark.parametrize("cost", [0.01, 1.0, 10.0])
def test_the_default_tolerance_is_near_the_minimum(solver, cost):
    target = TARGETS[0].astype(int)
    z, costs = np.where(target == 1, 1.0, -1.0), np.full(90, cost)
    learner, _ = fitted([Subproblem(target)], C=cost)[0]
    exact = LinearSVC(C=cost, dual=False, tol=1e-10, max_iter=1_000_000).fit(X, target)
    least = objective(exact.coef_[0], exact.intercept_[0], X, z, costs)
    assert objective(learner.coef[:, 0], learner.intercept[0], X, z, costs) <= least * (1 + 2e-5)
    np.testing.assert_array_equal(learner.predict(X), exact.predict(X))


def test_newton_ends_where_there_is_no_slope():
    """Its second derivatives are kept from step to step: with few rows more than features, and with many."""
    for rows in (np.arange(90), np.arange(16)):
        z = np.where(TARGETS[0][rows], 1.0, -1.0)
        ((learner, converged),) = fitted([Subproblem(TARGETS[0][rows].astype(int), rows)], C=10.0)
        assert converged
        table = np.column_stack([X[rows].toarray(), np.ones(len(rows))])
        w = np.append(learner.coef[:, 0], learner.intercept)
        np.testing.assert_allclose(20 * table.T @ (z * np.maximum(0, 1 - z * (table @ w))), w, atol=1e-9)


def test_one_step_is_not_the_minimum(solver):
    (learner, converged), _ = fitted(
        [Subproblem(TARGETS[0].astype(int)), Subproblem(TARGETS[2].astype(int))], stopped=True
    )
    assert not converged
    assert np.any(learner.coef)


def test_machines_of_many_blocks_are_those_of_one_each(monkeypatch):
    monkeypatch.setattr(machines, "_MOST_FOR_NEWTON", 0)
    tasks = [Subproblem((signal[:, 0] > cut).astype(int)) for cut in np.linspace(-0.5, 0.5, 2 * LANES + 3)]
    for task, one in zip(tasks, fitted(tasks, tol=1e-6), strict=True):
        (alone,) = fitted([task], tol=1e-6)
        np.testing.assert_allclose(one.learner.coef, alone.learner.coef, atol=2e-4)


def test_rows_that_are_nearly_empty_are_left_to_coordinate_descent(monkeypatch):
    def refuse(*_):
        raise AssertionError

    tasks, diagonal = [Subproblem(np.arange(90) % 2)], sparse.csr_array(np.eye(90))
    exact = next(fitted_by_kernels(LinearSVC(), diagonal, tasks, None, lambda: False))
    monkeypatch.setattr(machines, "_by_newton", refuse)
    monkeypatch.setattr(machines, "_SPARSE", 30)
    near = next(fitted_by_kernels(LinearSVC(), diagonal, tasks, None, lambda: False))
    np.testing.assert_allclose(near.learner.coef, exact.learner.coef, atol=5e-3)
    for table, tol in ((diagonal.toarray(), 1e-4), (diagonal, 1e-8), (X, 1e-4)):
        with pytest.raises(AssertionError):
            next(fitted_by_kernels(LinearSVC(tol=tol), table, tasks, None, lambda: False))


def test_other_estimators_are_left_to_scikit_learn(monkeypatch):
    for estimator in (LinearSVC(loss="hinge"), LinearSVC(class_weight="balanced"), LinearSVC(fit_intercept=False)):
        assert fitted_by_kernels(estimator, X, [], None, lambda: False) is None
    monkeypatch.setattr(machines, "_MOST_FOR_NEWTON", 0)
    assert fitted_by_kernels(LinearSVC(), X.toarray(), [], None, lambda: False) is not None
    monkeypatch.setattr(machines, "_MOST_DENSE_FOR_NEWTON", 0)
    assert fitted_by_kernels(LinearSVC(), X.toarray(), [], None, lambda: False) is None
    assert fitted_by_kernels(LinearSVC(C=1e4), X, [], None, lambda: False) is None
    assert fitted_by_kernels(LinearSVC(), X * 1e3, [], None, lambda: False) is None
    assert fitted_by_kernels(LinearSVC(tol=1e-8), X, [], None, lambda: False) is None


@pytest.mark.parametrize("n", [3, 10])  # fewer rows than features, and more
def test_collinear_rows_far_from_0(n):
    """Beside them the penalty is lost in rounding, and no equations could be solved."""
    place = np.arange(n) - n / 2 + 0.3
    X, y = np.outer(place, [1.0, 2.0, 3.0, 4.0]) * 1e12, place > 0
    model = BinaryRelevance.paper(LinearSVC(max_iter=100))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert (model.fit(X, y[:, None]).predict(X)[:, 0] == y).all()
