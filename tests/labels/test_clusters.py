"""Clusters by k-means, also of few distinct rows, and distances."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from cofactor.labels.clusters import k_means, squared_distances


@pytest.mark.parametrize("k", [2, 3, 5])
def test_groups_that_lie_apart_are_found_in_any_order_of_rows(k: int) -> None:
    rng = np.random.default_rng(0)
    centres = 10 * rng.normal(size=(k, 6))
    X = np.repeat(centres, 20, axis=0) + 0.1 * rng.normal(size=(20 * k, 6))
    means = X.reshape(k, 20, 6).mean(axis=1)
    for form in (np.asarray, sparse.csr_array):
        for rows in (X, X[rng.permutation(len(X))]):
            found, _ = k_means(form(rows), k)
            near = np.argmin(squared_distances(found, means), axis=1)
            assert sorted(near) == list(range(k))
            np.testing.assert_allclose(found, means[near], atol=1e-9)


def test_rows_that_nearly_agree_are_cut_in_two() -> None:
    """They differ by less than rounding errors."""
    X = np.array([[1e8, 0.0], [1e8, 1e-9], [1e8, 0.0]])
    centres, _ = k_means(X, 2)
    assert np.all(np.isfinite(centres))
    assert centres.shape == (2, 2)


def test_there_are_no_more_centres_than_distinct_rows() -> None:
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
    for form in (np.asarray, sparse.csr_array):
        centres, labels = k_means(form(X), 5)
        assert np.array_equal(centres[labels], X)
        assert len(centres) == 2


def test_distances_of_dense_and_sparse_rows() -> None:
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(6, 4)), rng.normal(size=(3, 4))
    expected = ((X[:, None] - Z) ** 2).sum(axis=2)
    for form in (np.asarray, sparse.csr_array):
        np.testing.assert_allclose(squared_distances(form(X), Z), expected, atol=1e-13)
    assert np.all(squared_distances(X.astype(np.float32), X.astype(np.float32)) >= 0)


def test_clusters_go_on_from_given_ones() -> None:
    X = np.array([[-10.0], [10.0], [-9.0], [-9.5], [-13.0], [9.0], [10.5], [11.0]])
    start = np.array([0, 0, 1, 1, 1, 2, 2, 2])  # no row is nearest to the centre of the first
    expected = KMeans(3, init=[[0.0], [-10.5], [30.5 / 3]], n_init=1).fit(X)
    centres, labels = k_means(X, 3, start=start)
    assert np.array_equal(labels, expected.labels_)
    np.testing.assert_allclose(centres, expected.cluster_centers_)
    assert sorted(np.bincount(labels)) == [1, 3, 4]
