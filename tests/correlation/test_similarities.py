"""Similarities of columns against scikit-learn, NumPy and brute force; groups of columns with known groups."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score, jaccard_score
from sklearn.metrics.pairwise import cosine_similarity
from tests.together import together

from cofactor.correlation import (
    co_occurrence,
    cosine,
    jaccard,
    normalized,
    pearson,
    positive_part,
    self_tuning_affinity,
    spectral_groups,
)
from cofactor.datasets import make_labels
from cofactor.errors import InvalidInputError

MEASURES = [co_occurrence, cosine, pearson, jaccard, self_tuning_affinity]


def table(n: int = 60, L: int = 12, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.random((n, L)) < rng.uniform(0.1, 0.6, L)).astype(float)


def blocks(n: int = 400, groups: int = 4, size: int = 5, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return labels in groups: each row has a topic, and most labels of its topic are on."""
    rng = np.random.default_rng(seed)
    topic = rng.integers(groups, size=n)
    group = rng.permutation(np.repeat(np.arange(groups), size))
    chance = np.where(group == topic[:, None], 0.7, 0.02)
    return (rng.random((n, groups * size)) < chance).astype(float), group


def test_against_other_implementations() -> None:
    Y = table()
    np.testing.assert_allclose(cosine(Y), cosine_similarity(Y.T), atol=1e-14)
    np.testing.assert_allclose(pearson(Y), np.corrcoef(Y.T), atol=1e-13)
    expected = [[jaccard_score(a, b) for a in Y.T] for b in Y.T]
    np.testing.assert_allclose(jaccard(Y), expected, atol=1e-15)


@together("measure", MEASURES)
@together("kind", [sparse.csr_array, sparse.csc_matrix])
def test_sparse_equals_dense(measure, kind) -> None:  # type: ignore[no-untyped-def]
    Y = table()
    np.testing.assert_allclose(measure(kind(Y.astype(np.float32))), measure(Y), atol=1e-13)


@together("measure", [cosine, pearson, jaccard])
@together("convert", [np.asarray, sparse.csr_array])
def test_columns_without_variation(measure, convert) -> None:  # type: ignore[no-untyped-def]
    """A zero column has similarity 0 with all others; in correlations so has a column of ones."""
    Y = table(n=49)
    Y[:, 3], Y[:, 5] = 0, 1
    result = measure(convert(Y))
    assert np.array_equal(np.diag(result), np.ones(12))
    others = np.arange(12) != 3
    assert not result[3, others].any()
    assert result[5, np.arange(12) != 5].any() == (measure is not pearson)


def test_pearson_sees_small_variation_on_a_large_mean() -> None:
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(50, 3)) + 1e4
    np.testing.assert_allclose(pearson(Y), np.corrcoef(Y.T), atol=1e-9)
    assert np.array_equal(pearson(np.full((7, 2), 0.1)), np.eye(2))


def test_normalized_is_symmetric_and_bounded() -> None:
    v = np.full((1, 3), 1 / 3)
    result = normalized(v.T @ v * (1 + 1e-16))
    assert np.array_equal(result, np.ones((3, 3)))
    assert np.array_equal(normalized(np.zeros((2, 2))), np.eye(2))


def test_positive_part_is_the_projection() -> None:
    """R = R₊ - R₋ with both positive semidefinite and orthogonal to each other."""
    rng = np.random.default_rng(0)
    R = rng.normal(size=(6, 6))
    R += R.T
    part = positive_part(R)
    assert np.linalg.eigvalsh(part)[0] > -1e-12
    assert np.linalg.eigvalsh(part - R)[0] > -1e-12
    np.testing.assert_allclose(part @ (part - R), 0, atol=1e-12)


def test_self_tuning_affinity_by_its_formula() -> None:
    Y = table()
    distance = np.linalg.norm(Y.T[:, None] - Y.T, axis=2)
    scale = np.sort(distance, axis=1)[:, 7]  # the column itself comes first
    expected = np.exp(-(distance**2) / np.outer(scale, scale))
    np.fill_diagonal(expected, 0)
    np.testing.assert_allclose(self_tuning_affinity(Y), expected, atol=1e-13)
    np.testing.assert_allclose(self_tuning_affinity(2 * Y - 1), expected, atol=1e-13)  # ±1 is the same


def test_affinity_with_many_equal_columns() -> None:
    """Nine equal columns have no distance to their seventh neighbour."""
    Y = table(L=4)
    Y = np.column_stack([Y, *[Y[:, 0]] * 8])
    A = self_tuning_affinity(Y)
    same = np.r_[0, 4:12]
    assert np.isfinite(A).all()
    assert np.array_equal(A, A.T)
    np.testing.assert_array_equal(A[np.ix_(same, same)], 1 - np.eye(9))
    assert np.all(A[0, 1:4] < 0.9)
    assert np.array_equal(self_tuning_affinity(np.ones((3, 4))), 1 - np.eye(4))
    assert np.array_equal(self_tuning_affinity(np.ones((3, 1))), [[0.0]])


@together("seed", range(3))
def test_known_groups_are_found(seed: int) -> None:
    Y, group = blocks(seed=seed)
    found = spectral_groups(self_tuning_affinity(Y), 4, seed)
    assert adjusted_rand_score(group, found) == 1
    first = [int(np.argmax(found == k)) for k in range(4)]
    assert first == sorted(first)  # numbered in the order of their first columns
    np.testing.assert_array_equal(found, spectral_groups(self_tuning_affinity(sparse.csr_array(Y)), 4, seed))


def test_numbers_of_groups() -> None:
    A = self_tuning_affinity(table())
    assert not spectral_groups(A, 1).any()
    np.testing.assert_array_equal(spectral_groups(A, 12), np.arange(12))
    np.testing.assert_array_equal(spectral_groups(A, 99), np.arange(12))
    assert len(np.unique(spectral_groups(A, 5))) == 5
    np.testing.assert_array_equal(spectral_groups(np.zeros((1, 1)), 3), [0])
    with pytest.raises(ValueError, match="n_groups=0"):
        spectral_groups(A, 0)


def test_isolated_columns_do_not_matter() -> None:
    A = np.zeros((5, 5))
    A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = 1
    found = spectral_groups(A, 2)
    assert found[0] == found[1] != found[2] == found[3]


def test_equal_columns_stay_together() -> None:
    A = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    found = spectral_groups(A, 2)
    np.testing.assert_array_equal(found, [0, 0, 0, 1, 1, 1])
    Y = np.repeat(table(L=3), 4, axis=1)
    np.testing.assert_array_equal(spectral_groups(self_tuning_affinity(Y), 3), np.repeat(np.arange(3), 4))


@together("similarity", MEASURES)
def test_columns_of_other_numbers(similarity) -> None:  # type: ignore[no-untyped-def]
    """Products and correlations are defined for all numbers, shares of labels are not."""
    signs = 2 * table() - 1
    if similarity in (cosine, jaccard):
        with pytest.raises(InvalidInputError, match="^Y: expected labels coded 0 and 1, found -1; take Y > 0"):
            similarity(signs)
    else:
        np.testing.assert_allclose(similarity(signs.tolist()), similarity(sparse.csr_array(signs)), atol=1e-12)
        with pytest.raises(InvalidInputError, match="^Y: expected finite numbers"):
            similarity(np.where(signs > 0, np.nan, signs))


@together("similarity", [co_occurrence, cosine, pearson, jaccard])
def test_a_data_set_is_no_table(similarity):
    data = make_labels(random_state=0)[0]
    with pytest.raises(InvalidInputError, match=r"^Y: is a data set; pass its labels, data\.Y"):
        similarity(data)
    assert similarity(data.Y).shape == (data.n_labels, data.n_labels)


@together("similarity", [co_occurrence, cosine, pearson, jaccard, self_tuning_affinity])
def test_too_many_columns_are_refused(similarity):
    with pytest.raises(InvalidInputError, match="similarities of 20,000 columns are 400,000,000 numbers, and more"):
        similarity(sparse.csr_array((3, 20_000)))
