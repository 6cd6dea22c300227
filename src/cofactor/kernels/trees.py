"""Decision trees stored as arrays: the sum of what all trees of a forest say of each row.

All nodes of all trees stand in the same arrays. Children come after their parent, and a leaf has -1 as its left child,
so a walk ends in as many steps as there are nodes, at most. Callers check that before they come here.
"""

import numpy as np

from cofactor.kernels.arrays import zeros
from cofactor.kernels.compile import exact


@exact
def add_leaf_values(X, roots, left, right, feature, threshold, values, out):  # type: ignore[no-untyped-def]
    """Add to row i of `out` the values of the leaf that row i of X reaches, for one tree after the other.

    A row goes left where its feature, in single precision as in training, is at most the threshold.
    """
    for t in range(len(roots)):
        for i in range(len(X)):
            node = roots[t]
            while left[node] >= 0:
                below = X[i, feature[node]] <= threshold[node]
                node = np.int64(left[node] if below else right[node])
            for k in range(out.shape[1]):
                out[i, k] += values[node, k]


@exact
def add_leaf_values_of_sparse(  # type: ignore[no-untyped-def]
    indptr, indices, data, n_features, roots, left, right, feature, threshold, values, out
):
    """Do the same for the rows of a CSR matrix without doubled entries."""
    row = zeros(n_features, np.float32)
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = data[a]
        for t in range(len(roots)):
            node = roots[t]
            while left[node] >= 0:
                node = np.int64(left[node] if row[feature[node]] <= threshold[node] else right[node])
            for k in range(out.shape[1]):
                out[i, k] += values[node, k]
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = 0


@exact
def find_leaves(X, roots, left, right, feature, threshold, out):  # type: ignore[no-untyped-def]
    """Write the leaf of each tree that each row of X reaches; rows go as in `add_leaf_values`."""
    for t in range(len(roots)):
        for i in range(len(X)):
            node = roots[t]
            while left[node] >= 0:
                below = X[i, feature[node]] <= threshold[node]
                node = np.int64(left[node] if below else right[node])
            out[i, t] = node


@exact
def find_leaves_of_sparse(  # type: ignore[no-untyped-def]
    indptr, indices, data, n_features, roots, left, right, feature, threshold, out
):
    """Do the same for the rows of a CSR matrix without doubled entries."""
    row = zeros(n_features, np.float32)
    for i in range(len(indptr) - 1):
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = data[a]
        for t in range(len(roots)):
            node = roots[t]
            while left[node] >= 0:
                node = np.int64(left[node] if row[feature[node]] <= threshold[node] else right[node])
            out[i, t] = node
        for a in range(indptr[i], indptr[i + 1]):
            row[indices[a]] = 0
