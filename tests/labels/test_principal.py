"""Principal directions of labels: the same from either side, weighted or not, and nearly so by subspace iteration."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from cofactor.labels.embedding import code
from cofactor.labels.embedding.code import principal_directions, right_singular_vectors


def labels(n: int, L: int, seed: int = 0) -> sparse.csr_array:
    rng = np.random.default_rng(seed)
    share = 0.5 / np.arange(1, L + 1) ** 0.7
    return sparse.csr_array((rng.random((n, L)) < share).astype(np.float64))


def centred(Y: sparse.csr_array, weights: np.ndarray | None) -> np.ndarray:
    table = Y.toarray() - np.average(Y.toarray(), axis=0, weights=weights)
    return table if weights is None else np.sqrt(weights)[:, None] * table


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", [(40, 60), (60, 40)])
def test_both_sides_give_the_singular_vectors(
    monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int], weighted: bool
) -> None:
    Y = labels(*shape)
    weights = np.random.default_rng(1).uniform(0.5, 2, shape[0]) if weighted else None
    exact = np.linalg.svd(centred(Y, weights))[2][:10].T
    for largest in (3000, 50):  # from the labels; from the instances, where they are fewer
        monkeypatch.setattr(code, "LARGEST", largest)
        V = principal_directions(Y, 10, weights)
        assert np.abs(V.T @ V - np.eye(10)).max() < 1e-9
        assert np.abs(np.abs((V * exact).sum(axis=0)) - 1).max() < 1e-6
        assert (V[np.abs(V).argmax(axis=0), np.arange(10)] > 0).all()


@pytest.mark.parametrize("shape", [(150, 300), (300, 150)])
def test_subspace_iteration_loses_next_to_nothing(monkeypatch: pytest.MonkeyPatch, shape: tuple[int, int]) -> None:
    monkeypatch.setattr(code, "LARGEST", 10)
    Y = labels(*shape)
    table = centred(Y, None)
    V = principal_directions(Y, 20)
    assert V.shape == (shape[1], 20)
    assert np.abs(V.T @ V - np.eye(20)).max() < 1e-9
    best = (np.linalg.svd(table, compute_uv=False)[:20] ** 2).sum()
    assert best * 0.995 < ((table @ V) ** 2).sum() <= best * (1 + 1e-12)
    assert np.array_equal(V, principal_directions(Y, 20))
    assert principal_directions(Y, 10_000).shape[1] <= min(shape) // 2


def test_so_many_directions_that_they_are_in_single_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "LARGEST", 10)
    Y = labels(150, 300)
    V = principal_directions(Y, 20)
    monkeypatch.setattr(code, "_DOUBLE", 10)
    single = principal_directions(Y, 20)
    assert single.dtype == np.float32
    assert np.abs(single.T @ single - np.eye(20)).max() < 1e-5
    energy, best = (float(((centred(Y, None) @ each) ** 2).sum()) for each in (single, V))
    assert energy > 0.999 * best
    assert principal_directions(labels(150, 300)[:, [0, 1] * 100], 20).shape == (200, 2)


def test_the_rank_bounds_the_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    Y = sparse.csr_array(np.repeat(labels(30, 4).toarray(), 20, axis=1))
    for largest in (3000, 50, 10):
        monkeypatch.setattr(code, "LARGEST", largest)
        assert principal_directions(Y, 12).shape == (80, 4)
    A = np.random.default_rng(0).normal(size=(5, 3)) @ np.random.default_rng(1).normal(size=(3, 30))
    for table in (A, A.T):
        V = right_singular_vectors(table, 4)
        assert V.shape[1] == 3
        assert np.allclose(table @ V @ V.T, table)
