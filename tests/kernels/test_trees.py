"""Walks through trees against a walk in plain Python."""

import numpy as np
from scipy import sparse

from cofactor.kernels.trees import add_leaf_values, add_leaf_values_of_sparse


def forest(n_trees: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Return random trees whose children come after their parents."""
    rng = np.random.default_rng(seed)
    roots, left, right, feature, threshold = [], [], [], [], []
    for _ in range(n_trees):
        roots.append(len(left))
        waiting = [(len(left), 0)]
        left.append(-1), right.append(-1), feature.append(-1), threshold.append(0.0)
        while waiting:
            node, depth = waiting.pop()
            if depth == 5 or rng.random() < 0.2:
                continue
            feature[node], threshold[node] = int(rng.integers(n_features)), float(rng.normal())
            for side in (left, right):
                side[node] = len(left)
                waiting.append((len(left), depth + 1))
                left.append(-1), right.append(-1), feature.append(-1), threshold.append(0.0)
    values = rng.dirichlet(np.ones(3), size=len(left))
    whole = (np.array(part, dtype=np.int32) for part in (left, right, feature))
    return (np.array(roots), *whole, np.array(threshold), values)


def walked(X: np.ndarray, nodes: tuple[np.ndarray, ...]) -> np.ndarray:
    """Return the sums row by row."""
    roots, left, right, feature, threshold, values = nodes
    found = np.zeros((len(X), values.shape[1]))
    for i, row in enumerate(X):
        for node in roots:
            while left[node] >= 0:
                node = left[node] if row[feature[node]] <= threshold[node] else right[node]
            found[i] += values[node]
    return found


def test_walks():
    nodes = forest(7, 5)
    rng = np.random.default_rng(1)
    X = (rng.normal(size=(40, 5)) * (rng.random((40, 5)) < 0.6)).astype(np.float32)
    expected = walked(X, nodes)
    found = np.zeros((40, 3))
    add_leaf_values(X, *nodes, found)
    assert np.array_equal(found, expected)
    table = sparse.csr_array(X)
    found[:] = 0
    add_leaf_values_of_sparse(table.indptr, table.indices, table.data, 5, *nodes, found)
    assert np.array_equal(found, expected)
    found[:] = 0
    add_leaf_values_of_sparse(table.indptr[10:21], table.indices, table.data, 5, *nodes, found[10:20])
    assert np.array_equal(found[10:20], expected[10:20])
    assert not found[:10].any()
