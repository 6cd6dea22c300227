"""The generator of labels: what it says about its groups, correlations and rank is so."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array, issparse
from tests.together import together

from cofactor.datasets import make_labels


def within(groups):
    same = groups[:, None] == groups
    return same & ~np.eye(len(groups), dtype=bool), ~same


@together("density", [1.0, 0.1])
def test_scores_have_the_known_correlations_and_rank(density):
    data, truth = make_labels(40_000, 60, 12, n_groups=3, n_factors=3, correlation=0.6, density=density, random_state=0)
    scores = data.X @ truth.coef
    # Correlations of n pairs deviate by (1 - r²)/√n, here 0.005.
    np.testing.assert_allclose(np.corrcoef(scores.T), truth.correlations, atol=0.025)
    np.testing.assert_allclose(scores.std(axis=0), 1, atol=0.03)
    same, other = within(truth.groups)
    assert np.abs(truth.correlations[other]).max() < 1e-12
    assert truth.correlations[same].min() >= 2 * 0.6 - 1 - 1e-12  # ρ - (1 - ρ)
    assert np.linalg.matrix_rank(truth.coef) == 9
    assert np.linalg.matrix_rank(truth.correlations, tol=1e-9) == 9


def test_labels_of_a_group_occur_together():
    data, truth = make_labels(5000, 50, 12, correlation=0.9, noise=0.0, random_state=1)
    together = np.corrcoef(data.Y.toarray().T)
    same, other = within(truth.groups)
    assert together[same].min() > 0.3
    assert np.abs(together[other]).max() < 0.1


def test_without_noise_the_map_and_the_thresholds_give_the_labels():
    for density in (1.0, 0.2):
        data, truth = make_labels(500, 40, 10, noise=0.0, density=density, random_state=2)
        np.testing.assert_array_equal(data.X @ truth.coef > truth.thresholds, data.Y.toarray() > 0)


def test_noise_is_the_share_that_features_do_not_explain():
    agreement = []
    for noise in (0.0, 0.2, 0.6, 1.0):
        data, truth = make_labels(4000, 40, 10, noise=noise, cardinality=5, random_state=3)
        agreement.append(np.mean((data.X @ truth.coef > np.median(data.X @ truth.coef, axis=0)) == data.Y.toarray()))
    assert agreement[0] == 1
    assert agreement == sorted(agreement, reverse=True)
    assert abs(agreement[-1] - 0.5) < 0.02
    # Two normal variables of correlation r have the same sign with probability 1/2 + arcsin(r)/π.
    assert agreement[2] == pytest.approx(0.5 + np.arcsin(np.sqrt(0.4)) / np.pi, abs=0.01)


def test_cardinality_and_tail():
    data, _ = make_labels(2000, 30, 10, cardinality=3, random_state=0)
    assert data.cardinality == 3
    assert np.ptp(data.Y.sum(axis=0)) == 0
    skewed, _ = make_labels(2000, 30, 10, cardinality=2, tail=1.0, random_state=0)
    counts = np.sort(skewed.Y.sum(axis=0))[::-1]
    np.testing.assert_allclose(counts / counts[0], 1 / np.arange(1, 11), atol=0.002)
    assert skewed.cardinality == pytest.approx(2, abs=0.01)


def test_sparse_features():
    data, _ = make_labels(1000, 80, 8, density=0.05, random_state=0)
    assert isinstance(data.X, csr_array)
    assert data.X.nnz == pytest.approx(1000 * 80 * 0.05, rel=0.05)
    assert data.X.data.min() > 0
    assert data.X.indices.dtype == np.int32
    assert not issparse(make_labels(10, 20, 4, random_state=0)[0].X)


@given(
    n_groups=st.integers(1, 4),
    extra=st.integers(0, 5),
    n_factors=st.integers(1, 4),
    correlation=st.floats(0, 1),
    seed=st.integers(0, 100),
)
@settings(max_examples=40)
def test_shapes_groups_and_seeds(n_groups, extra, n_factors, correlation, seed):
    options = {"n_groups": n_groups, "n_factors": n_factors, "correlation": correlation, "cardinality": 1.0}
    data, truth = make_labels(30, 20, n_groups + extra, **options, random_state=seed)
    again, _ = make_labels(30, 20, n_groups + extra, **options, random_state=np.random.default_rng(seed))
    np.testing.assert_array_equal(data.X, again.X)
    np.testing.assert_array_equal(data.Y.toarray(), again.Y.toarray())
    assert data.Y.shape == (30, n_groups + extra)
    assert set(truth.groups.tolist()) == set(range(n_groups))
    np.testing.assert_allclose(np.diag(truth.correlations), 1)
    if n_factors == 1:
        same, _ = within(truth.groups)
        np.testing.assert_allclose(truth.correlations[same], 1)


@together(
    ("options", "message"),
    [
        ({"n_labels": 0}, "n_labels=0: expected a whole number of at least 1"),
        ({"n_groups": 21}, "n_groups=21: must not exceed n_labels=20"),
        ({"n_factors": 30}, "n_groups . n_factors = 120 must not exceed n_features=100"),
        ({"correlation": 1.5}, "correlation=1.5: expected a number of at least 0 and at most 1"),
        ({"noise": -0.1}, "noise=-0.1: expected a number of at least 0"),
        ({"density": 0.0}, "density=0.0: expected a number above 0 and at most 1"),
        ({"tail": -1.0}, "tail=-1.0: expected a number of at least 0"),
        ({"cardinality": 21.0}, "asks for a label in 1.05 of the instances"),
        ({"cardinality": 0.0}, "expected a cardinality above 0"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        make_labels(**options)
    with pytest.raises(TypeError, match="n_instances=1.5: expected a whole number"):
        make_labels(1.5)
