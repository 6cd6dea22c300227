"""Bi-level maximum margin matrix factorization: objective, optimum, decoding."""

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.ratings import BinaryMMMF

from ..reference import MARGINS, SLOPES, binary_objective, planted, scores_of

X, LEVELS = planted(n_levels=2)
Y = 2 * LEVELS - 3


def tight(**params):
    settings = {"alpha": 1.0, "dtype": "float64", "tol": 1e-12, "max_iter": 20000, "random_state": 0}
    return BinaryMMMF(**settings | params)


@together("margin", MARGINS)
@together("alpha_bias", [None, 0.7])
@together(("dtype", "precision"), [("float32", 1e-5), ("float64", 1e-12)])
def test_objective(margin, alpha_bias, dtype, precision):
    model = BinaryMMMF(5, 0.8, margin=margin, alpha_bias=alpha_bias, dtype=dtype, random_state=0).fit(X, Y)
    assert model.objective_ == pytest.approx(binary_objective(model), rel=precision)
    assert model.objective_ == model.history_[-1] == min(model.history_)
    assert len(model.history_) == len(model.seconds_) == model.n_iter_ + 1
    assert model.objective_ < 0.6 * model.history_[0]


@together("margin", MARGINS)
@together("alpha_bias", [None, 0.7])
def test_the_gradient_vanishes_at_the_solution(margin, alpha_bias):
    model = tight(n_factors=6, margin=margin, alpha_bias=alpha_bias).fit(X, Y)
    users, levels, x = scores_of(model)
    y = 2 * levels - 3
    C = np.zeros((40, 30))
    C[users, model.ratings_.indices] = y * SLOPES[margin](y * x)
    slopes = [C @ model.V_ + model.alpha_ * model.U_, C.T @ model.U_ + model.alpha_ * model.V_]  # (3.8), (3.9)
    if alpha_bias is not None:
        slopes += [C.sum(1) + alpha_bias * model.user_bias_, C.sum(0) + alpha_bias * model.item_bias_]
    norm = np.sqrt(sum(np.sum(g**2) for g in slopes))
    assert model.certificate_ == pytest.approx(norm, rel=1e-4, abs=1e-9)
    assert norm < 1e-3


@together("alpha_bias", [None, 0.7])
def test_every_start_reaches_the_same_optimum_when_there_are_enough_factors(alpha_bias):
    """With as many factors as columns, the problem in U V^T is convex: a trace norm (section 3.2)."""
    models = [tight(n_factors=30, alpha_bias=alpha_bias, random_state=seed).fit(X, Y) for seed in range(4)]
    best = min(model.objective_ for model in models)
    for model in models:
        assert model.objective_ == pytest.approx(best, rel=1e-6)
        gap = model.decision_function(X) - models[0].decision_function(X)
        assert np.abs(gap).max() < 2e-2


def test_the_penalty_is_the_trace_norm():
    model = tight(n_factors=30, alpha_bias=None).fit(X, Y)
    trace_norm = np.linalg.svd(model.U_ @ model.V_.T, compute_uv=False).sum()
    assert 0.5 * (np.sum(model.U_**2) + np.sum(model.V_**2)) == pytest.approx(trace_norm, rel=1e-4)
    np.testing.assert_allclose(model.U_.T @ model.U_, model.V_.T @ model.V_, atol=2e-2)


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
def test_zero_is_the_solution_from_the_spectral_norm_of_the_signs_on():
    """At zero the slope of the smooth hinge is -1, so zero is optimal iff alpha >= ‖Y‖ in the spectral norm."""
    signs = sparse.csr_array((Y, X.T)).toarray()
    limit = np.linalg.norm(signs, 2)
    zero = 0.5 * len(Y)
    above = tight(n_factors=30, alpha=1.02 * limit, alpha_bias=None).fit(X, Y)
    below = tight(n_factors=30, alpha=0.9 * limit, alpha_bias=None).fit(X, Y)
    assert above.objective_ == pytest.approx(zero, rel=1e-6)
    assert np.abs(above.U_ @ above.V_.T).max() < 1e-3
    assert below.objective_ < 0.997 * zero


def test_solvers_agree():
    expected = tight(n_factors=30).fit(X, Y).objective_
    for solver, tol in (("cg", 1e-10), ("gd", 1e-9), ("apg", 1e-9)):
        found = tight(n_factors=30, solver=solver, tol=tol).fit(X, Y)
        assert found.objective_ == pytest.approx(expected, rel=1e-4)
        assert np.all(np.diff(found.history_) <= 0)


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
def test_a_score_on_the_threshold_means_the_upper_level():
    """(3.4): the lower level needs a score below the threshold."""
    model = BinaryMMMF(1, 1.0, alpha_bias=None, threshold=0.5, random_state=0).fit([(0, 0), (1, 1)], [-1, 1])
    model.U_, model.V_ = np.array([[1.0], [0.5]]), np.array([[0.5], [np.nextafter(0.5, 0)]])
    model.user_bias_, model.item_bias_ = np.zeros(2), np.zeros(2)
    model.thresholds_ = np.full((2, 1), 0.5)
    assert model.predict([(0, 0), (0, 1), (1, 0)]).tolist() == [1, -1, -1]
    assert model.margins([(0, 0), (1, 0)]).ravel().tolist() == [0.0, -0.25]


@together("threshold", [-1.5, 0.0, 0.4])
def test_decoding(threshold):
    model = BinaryMMMF(4, 1.0, threshold=threshold, random_state=0).fit(X, Y)
    x = model.decision_function(X)
    assert np.array_equal(model.predict(X), np.where(x >= np.float32(threshold), 1, -1))
    np.testing.assert_allclose(model.thresholds_, threshold, rtol=1e-6, atol=1e-37)


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
def test_biases_learn_what_users_and_items_have_in_common():
    rng = np.random.default_rng(0)
    b, c = rng.normal(size=40), rng.normal(size=30)
    pairs = np.argwhere(np.ones((40, 30)))
    y = np.sign(b[pairs[:, 0]] + c[pairs[:, 1]])
    model = BinaryMMMF(5, 1000.0, alpha_bias=0.5, random_state=0).fit(pairs, y)
    assert np.abs(model.U_ @ model.V_.T).max() < 1e-2
    assert np.corrcoef(model.user_bias_, b)[0, 1] > 0.9
    assert np.corrcoef(model.item_bias_, c)[0, 1] > 0.9
    assert np.mean(model.predict(pairs) == y) > 0.95
    without = BinaryMMMF(5, 1000.0, alpha_bias=None, random_state=0).fit(pairs, y)
    assert not without.user_bias_.any()
    assert not without.item_bias_.any()


def test_unknown_users_and_items_count_with_zero_factors_and_biases():
    model = BinaryMMMF(3, 1.0, random_state=0).fit(X, Y)
    assert model.decision_function([(-1, 3), (2, -1), (-1, -1)]).tolist() == [
        model.item_bias_[3], model.user_bias_[2], 0.0
    ]  # fmt: skip


@together("dtype", ["float32", "float64"])
@together("threshold", [0.0, 0.25])
def test_a_score_on_the_threshold_means_the_level_that_is_most_frequent(dtype, threshold):
    """With factors of zero all scores are 0, here at or below the threshold: never rounding decides."""
    pairs = [(u, i) for u in range(3) for i in range(4)]
    y = [-1, -1, -1, 1, 1, 1, 1, -1, 1, 1, -1, -1]  # user 0 mostly -1, user 1 mostly +1, user 2 half and half
    model = BinaryMMMF(2, 1e4, alpha_bias=None, threshold=threshold, dtype=dtype, random_state=0)
    with pytest.warns(UserWarning, match="BinaryMMMF: all factors are zero: alpha=10000 is too large"):
        model.fit(pairs, y)
    assert not model.U_.any()
    assert not model.V_.any()
    expected = [-1, 1, 1, 1] if threshold == 0 else [-1] * 4
    assert model.predict([(0, 0), (1, 0), (2, 0), ("new", 0)]).tolist() == expected
    folded = model.fold_in([("low", 0), ("high", 1), ("high", 2)], [-1, 1, 1])
    assert folded.predict([("low", 3), ("high", 3)]).tolist() == ([-1, 1] if threshold == 0 else [-1, -1])


@together("alpha", [1e300, 2e12])
def test_alpha_beyond_single_precision_is_refused(alpha):
    with pytest.raises(ValueError, match=r"alpha=.*: expected a number above 0 and at most 1e\+12"):
        BinaryMMMF(2, alpha).fit(X, Y)
    assert not BinaryMMMF(2, 1e12, alpha_bias=1e12, random_state=0).fit(X, Y).U_.any()
