"""Correlation of labels by features: relevances by their formulas, and the three ways to compare them."""

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.correlation import feature_correlation
from cofactor.correlation.conditional import feature_relevance
from cofactor.errors import InvalidInputError


def data(n: int = 40, D: int = 6, L: int = 4) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.6)
    return X, (X @ rng.normal(size=(D, L)) + rng.normal(size=(n, L)) > 0).astype(np.int64)


@together("form", [np.asarray, sparse.csr_array])
def test_relevances_by_their_formulas(form) -> None:  # type: ignore[no-untyped-def]
    X, Y = data()
    found = feature_relevance(form(X), Y)
    fisher = feature_relevance(form(X), sparse.csr_array(Y), "fisher")
    for label, y in enumerate(Y.T):
        for d, x in enumerate(X.T):
            on, off = x[y == 1], x[y == 0]
            assert found[label, d] == pytest.approx(np.corrcoef(x, y)[0, 1] ** 2, abs=1e-12)
            assert fisher[label, d] == pytest.approx((on.mean() - off.mean()) ** 2 / (on.var() + off.var()), rel=1e-9)


def test_undefined_relevances() -> None:
    """A constant feature tells nothing; one that is the label itself has the largest score; so for any scale."""
    X, Y = data()
    X[:, 0], X[:, 1], Y[:, 3] = 0.1, 1e3 + 1e-2 * Y[:, 0], 1
    pearson, fisher = feature_relevance(X, Y), feature_relevance(X, Y, "fisher")
    assert not pearson[:, 0].any()
    assert not fisher[:, 0].any()
    assert pearson[0, 1] == pytest.approx(1)
    assert fisher[0, 1] == 100
    assert not pearson[3].any()
    assert not fisher[3].any()


@together("relevance", ["pearson", "fisher"])
def test_offsets_do_not_count(relevance: str) -> None:
    X, Y = data()
    expected = feature_relevance(X, Y, relevance)
    np.testing.assert_allclose(feature_relevance(X + 1.6e6, Y, relevance), expected, rtol=1e-6, atol=1e-9)
    shifted = X + 1e9
    shifted[:, 0] = 0.1 + 0.2 * (Y[:, 0] < 2) - 1e-17
    assert not feature_relevance(shifted, Y, relevance)[:, 0].any()
    np.testing.assert_allclose(feature_relevance(shifted, Y, relevance)[:, 1:], expected[:, 1:], rtol=1e-3, atol=1e-6)


def test_ways_to_compare_relevances() -> None:
    X, Y = data()
    r = feature_relevance(X, Y, "fisher")
    found = {s: feature_correlation(X, Y, relevance="fisher", similarity=s, k=2) for s in ("correlation", "overlap")}
    np.testing.assert_allclose(found["correlation"], np.corrcoef(r) - np.eye(4), atol=1e-12)
    best = [set(np.argsort(-row)[:2].tolist()) for row in r]
    np.testing.assert_array_equal(found["overlap"], [[len(a & b) * (a is not b) for a in best] for b in best])
    distance = np.linalg.norm(r[:, None] - r, axis=2)
    np.testing.assert_allclose(
        feature_correlation(X, Y, relevance="fisher", similarity="euclidean"), -distance, atol=1e-7
    )


@together("similarity", ["correlation", "overlap"])
def test_constant_labels_have_no_correlation(similarity: str) -> None:
    X, Y = data()
    Y[:, 2] = 0
    result = feature_correlation(X, Y, similarity=similarity, k=50)
    assert not result[2].any()
    assert result[0, 1] != 0


def test_weights_are_repetitions() -> None:
    X, Y = data()
    times = np.random.default_rng(1).integers(0, 3, len(Y))
    for relevance in ("pearson", "fisher"):
        np.testing.assert_allclose(
            feature_relevance(X, Y, relevance, times),
            feature_relevance(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0), relevance),
            rtol=1e-9,
        )


def test_what_is_refused() -> None:
    X, Y = data()
    for wrong in ({"relevance": "gini"}, {"similarity": "dice"}, {"k": 0}):
        with pytest.raises(InvalidInputError, match=f"^{next(iter(wrong))}="):
            feature_correlation(X, Y, **wrong)
    with pytest.raises(InvalidInputError, match="features of the 40 instances"):
        feature_correlation(X[:30], Y)


@together("form", [np.asarray, sparse.csr_array])
@together("relevance", ["pearson", "fisher"])
def test_no_unit_of_a_feature_is_too_small_or_large(relevance: str, form) -> None:  # type: ignore[no-untyped-def]
    X, Y = data()
    X[:, 5] = 0
    units = 2.0 ** np.array([-1000, -500, 0, 100, 300, 0])
    found, expected = (feature_relevance(form(table), Y, relevance) for table in (X * units, X))
    np.testing.assert_array_equal(found, expected)


@together("relevance", ["pearson", "fisher"])
def test_a_constant_label_has_no_relevance_whatever_the_weights(relevance: str) -> None:
    X = np.array([[0.0, 1], [1, 0], [2, 2], [3, 5], [4, 1], [5, 0], [1, 4]])
    Y = np.array([[0, 1], [0, 1], [1, 1], [1, 1], [0, 1], [1, 1], [0, 1]])
    for seed in range(20):
        assert not feature_relevance(X, Y, relevance, np.random.default_rng(seed).random(7))[1].any()
