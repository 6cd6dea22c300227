"""Ridge regression of every route is scikit-learn's."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.preprocessing import MaxAbsScaler
from tests.together import together

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels import PLST, FeatureSpace, TrainingData, regression
from cofactor.solvers.linear import solve_positive


def example(n: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.5)
    X[:, 0] += 3
    X[:, -1] = X[:, 1]  # not of full rank
    return X, (rng.random((n, 4)) < 0.4).astype(float)


SHAPES = [(40, 9), (9, 40), (20, 20)]
ROUTES = ["dense", "sparse", "inverse", "iterative"]


@pytest.fixture(params=ROUTES)
def route(request, monkeypatch):
    if request.param == "iterative":
        monkeypatch.setattr(FeatureSpace, "largest", 1)
    if request.param == "inverse":
        monkeypatch.setattr(regression, "_EAGER", 1)
    return request.param


def space_of(route: str, X: np.ndarray, fit_intercept: bool = True) -> FeatureSpace:
    return FeatureSpace(X if route == "dense" else sparse.csr_array(X), fit_intercept=fit_intercept)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_ridge_is_that_of_scikit_learn(route, shape, fit_intercept):
    X, T = example(*shape)
    space = space_of(route, X, fit_intercept)
    for alpha in (0.01, 1.0, 300.0):
        expected = Ridge(alpha=alpha, fit_intercept=fit_intercept, solver="svd").fit(X, T)
        for targets in (T, sparse.csr_array(T), T.astype(np.float32)):
            coef, intercept = space.ridge(targets, alpha)
            assert np.abs(coef - expected.coef_.T).max() < 1e-10
            assert np.abs(intercept - expected.intercept_).max() < 1e-10
        assert np.allclose(space.predict(coef, intercept), expected.predict(X))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_without_penalty_it_is_the_solution_of_least_norm(shape):
    X, T = example(*shape)
    for features in (X, sparse.csr_array(X)):
        coef, _ = FeatureSpace(features).ridge(T, 0)
        expected = np.linalg.pinv(X - X.mean(axis=0), rcond=1e-10) @ (T - T.mean(axis=0))
        assert np.abs(coef - expected).max() < 1e-9


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_hat_matrix(route, shape, fit_intercept):
    X, T = example(*shape)
    space = space_of(route, X, fit_intercept)
    centred, targets = (X - X.mean(axis=0), T - T.mean(axis=0)) if fit_intercept else (X, T)
    H = centred @ np.linalg.solve(centred.T @ centred + 2.0 * np.eye(shape[1]), centred.T)
    B = space.hat_factor(2.0)
    assert np.abs(B @ B.T - H).max() < 1e-12
    assert np.abs(B.T @ B - np.diag(np.diag(B.T @ B))).max() < 1e-12
    for given in (T, sparse.csr_array(T)):
        assert np.abs(space.explained(given, 2.0) - targets.T @ H @ targets).max() < 1e-10


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_principal_coordinates(shape, form):
    X, T = example(*shape)
    space = FeatureSpace(form(X))
    s, targets = space.principal(form(T))
    centred, wanted = X - X.mean(axis=0), T - T.mean(axis=0)
    assert np.allclose(s, np.linalg.svd(centred)[1][: len(s)])
    V = space.lift(np.eye(len(s)))
    assert np.allclose(V.T @ V, np.eye(len(s)))
    assert np.allclose((centred @ V / s).T @ wanted, targets)
    A = np.random.default_rng(0).normal(size=targets.shape)
    rest = np.sum(wanted**2) - np.sum(targets**2)
    assert np.sum((centred @ space.lift(A) - wanted) ** 2) == pytest.approx(
        np.sum((s[:, None] * A - targets) ** 2) + rest
    )


def test_far_from_the_origin():
    X, T = example(40, 9)
    expected = FeatureSpace(X).ridge(T, 1.0)[0]
    assert np.abs(FeatureSpace(X + 1e5).ridge(T, 1.0)[0] - expected).max() < 1e-8


def test_single_precision_features_are_computed_in_double():
    X, T = example(40, 9)
    for features in (X.astype(np.float32), sparse.csr_array(X.astype(np.float32))):
        coef, _ = FeatureSpace(features).ridge(T, 1.0)
        assert coef.dtype == np.float64
        assert np.abs(coef - FeatureSpace(X).ridge(T, 1.0)[0]).max() < 1e-6


def test_constant_features_have_no_weight():
    X, T = example(40, 9)
    X[:, 3] = 7.0
    for features in (X, sparse.csr_array(X)):
        coef, _ = FeatureSpace(features).ridge(T, 0.01)
        assert np.abs(coef[3]).max() < 1e-6
    nothing, intercept = FeatureSpace(np.ones((5, 2))).ridge(T[:5], 1.0)
    assert np.allclose(nothing, 0, atol=1e-12)
    assert np.allclose(intercept, T[:5].mean(axis=0))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_cell_that_silences_the_other_features(form, shape, fit_intercept):
    X, T = example(*shape)
    X[:, 2] = 3.0
    X[4, 3] = -1e12
    with pytest.warns(InputWarning, match=r"X holds -1e\+12 \(row 4, column 3\), beside which") as caught:
        space = FeatureSpace(form(X), fit_intercept=fit_intercept)
    assert len(caught) == 1
    with pytest.warns(InputWarning, match="MaxAbsScaler"):
        FeatureSpace(form(X), fit_intercept=fit_intercept, sample_weight=np.arange(1, len(X) + 1))
    assert np.abs(np.delete(space.ridge(T, 1.0)[0], 3, axis=0)).max() < 1e-6  # indeed
    for mended in (np.delete(X, 4, axis=0), MaxAbsScaler().fit_transform(X)):  # as the warning advises
        FeatureSpace(form(mended), fit_intercept=fit_intercept)


@together("form", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@together("fit_intercept", [True, False])
def test_a_few_columns_which_vary_so_little_that_they_are_lost(form, fit_intercept):
    X, T = example(40, 6)
    X[:, 1:3] *= 1e-11
    with pytest.warns(InputWarning, match=r"2 of 6 features \(the first in column 1\) vary so little") as caught:
        space = FeatureSpace(form(X), fit_intercept=fit_intercept)
    assert len(caught) == 1
    assert np.abs(space.ridge(T, 1.0)[0][1:3]).max() < 1e-6
    if form is np.asarray:  # a model says their names
        frame = pd.DataFrame(X, columns=list("abcdef"))
        with pytest.warns(InputWarning, match=r"2 of 6 features \(the first in column 'b'\) .* beside column 'a'"):
            PLST.paper(fit_intercept=fit_intercept).fit(frame, np.eye(40, 2))


def test_refusals():
    space = FeatureSpace(example(20, 5)[0])
    with pytest.raises(ValueError, match="the targets have 3 rows, the features 20"):
        space.ridge(np.ones((3, 1)), 1.0)
    with pytest.raises(ValueError, match="alpha=-1"):
        space.ridge(np.ones((20, 1)), -1)
    with pytest.raises(InvalidInputError, match=r"X holds NaN \(row 0, column 0\)"):
        FeatureSpace([[np.nan]])


def test_one_decomposition_serves_all_models(monkeypatch):
    X, T = example(40, 9)
    space = FeatureSpace(X)
    expected = PLST.paper(2, alpha=3.0).fit(X, T)
    monkeypatch.setattr(regression, "_triangular_factor", None)  # it cannot decompose again
    model = PLST.paper(2, alpha=3.0).fit(space, T)
    assert np.array_equal(model.coef_, expected.coef_)
    with pytest.raises(TypeError):
        PLST.paper(2).fit(X, T)


def test_a_given_space_serves_all_instances_and_no_part_of_them():
    X, T = example(40, 9)
    space = FeatureSpace(X)
    data = TrainingData(space.X, sparse.csr_array(T), space=space)
    assert data.feature_space() is space
    assert data.rows(np.arange(40)).feature_space() is not space
    assert TrainingData(space.X, sparse.csr_array(T)).feature_space() is not space
    with pytest.raises(ValueError, match="fit_intercept=True, the model False"):
        PLST.paper(2, fit_intercept=False).fit(space, T)


def test_conjugate_gradients_solve_each_column():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 20))
    A = A.T @ A + np.eye(20)
    B = rng.normal(size=(20, 5)) * [1, 1e-6, 1e6, 0, 1]
    X = solve_positive(lambda V: A @ V, B)
    assert np.allclose(X, np.linalg.solve(A, B), rtol=1e-8)
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        solve_positive(lambda V: A @ V, B, max_iter=2)
    with pytest.warns(ConvergenceWarning, match="relative residual of nan"):
        solve_positive(lambda V: np.nan * V, B, max_iter=2)
