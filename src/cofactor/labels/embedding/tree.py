"""One node of the tree of `MLCHMF`: learn an embedding, keep the instances it serves, split the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans
from threadpoolctl import ThreadpoolController

from cofactor.kernels.threads import thread_limit
from cofactor.losses import MARGIN_LOSSES
from cofactor.penalties import L2
from cofactor.problems import LowRankProblem
from cofactor.solvers import lbfgs
from cofactor.solvers.result import Callback

Rows = NDArray[np.int64]
Embedding = dict[str, Any]  #: "node", and arrays "features", "U", "V" as in `embed`

_SCORES_PER_BLOCK = 1 << 22


@lru_cache(maxsize=1)
def _pools() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes longer than a small node


def one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread each."""
    return _pools().limit(limits=1)


@dataclass(frozen=True)
class Growth:
    """What all nodes have in common: the parameters of `MLCHMF` which concern a single node."""

    n_factors: int
    alpha: float
    tolerance: float
    min_size: int
    n_clusters: int
    margin: str
    max_iter: int
    tol: float
    dtype: str


@dataclass(frozen=True)
class Grown:
    """What became of a node.

    Attributes
    ----------
    embedding : Embedding or None
        None where it is not needed: nothing retained.
    retained : ndarray of shape (n,), bool
        Which instances of the node it serves.
    clusters : list of ndarray
        The others, as row numbers, to be the children.
    converged : bool
        Whether the embedding was learned to the end.
    """

    embedding: Embedding | None
    retained: NDArray[np.bool_]
    clusters: list[Rows]
    converged: bool


def grow(
    features: Any, Y: sparse.csr_array, points: Any, rows: Rows, growth: Growth, node: int, seed: int, *,
    split: bool, callback: Callback | None = None, threads: int = 1,
) -> Grown:  # fmt: skip
    """Learn the embedding of a node, and split the instances it does not serve.

    Parameters
    ----------
    features : ndarray or csr_array of shape (N, D')
        What embeddings act on: all features and perhaps a constant one.
    Y : csr_array of shape (N, L)
        Ones where a label is on.
    points : ndarray or csr_array of shape (N, D)
        What distances are taken of: the features alone.
    rows : ndarray of int
        The instances of the node.
    growth : Growth
    node, seed : int
        Number of the node, and seed of the tree: together they are the seed of the clustering.
    split : bool
        Whether the node may have children.
    callback : callable, optional
        Called with a `Progress` after every iteration.
    threads : int, default=1
        How many threads the kernels may use.
    """
    # One thread for BLAS and OpenMP whatever runs beside it, so that sums, hence bits, do not depend on n_jobs.
    with thread_limit(threads), one_thread():
        embedding, converged = embed(features[rows], Y[rows], growth, callback)
        retained = errors(features[rows], Y[rows], embedding) <= growth.tolerance
        clusters = cluster(points, rows[~retained], growth, node, seed) if split else []
    return Grown(embedding | {"node": node} if retained.any() else None, retained, clusters, converged)


def embed(X: Any, Y: sparse.csr_array, growth: Growth, callback: Callback | None = None) -> tuple[Embedding, bool]:
    """Minimise (5.19) over the instances given; return the embedding, and whether the solver converged.

    Features which no instance has get zero rows in U, at the start and therefore for ever, so they are left out:
    `features` names the others. Likewise factors beyond the number of instances.
    """
    present = np.unique(X.indices) if isinstance(X, sparse.csr_array) else np.flatnonzero(X.any(axis=0))
    d = min(growth.n_factors, X.shape[0], max(len(present), 1))
    ridge = {"U": L2(growth.alpha), "V": L2(growth.alpha)}
    loss = MARGIN_LOSSES[growth.margin]()
    problem = LowRankProblem(X[:, present], Y, loss, d, ridge, dtype=growth.dtype)
    result = lbfgs(problem, problem.start(), max_iter=growth.max_iter, tol=growth.tol, callback=callback)
    arrays = problem.arrays(result.x)
    return {"features": present, "U": arrays["U"], "V": arrays["V"]}, result.converged


def scores(X: Any, embedding: Mapping[str, Any]) -> NDArray[Any]:
    """Return X U V; X may lack the constant feature, which is the last one."""
    features, rows = embedding["features"], embedding["U"]
    U = np.zeros((max(X.shape[1], 1 + int(features.max(initial=-1))), rows.shape[1]), rows.dtype)
    U[features] = rows
    codes = X @ U[: X.shape[1]]
    if len(U) > X.shape[1]:
        codes += U[-1]
    return np.asarray(codes @ embedding["V"])


def errors(X: Any, Y: sparse.csr_array, embedding: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the Hamming loss of each instance: the share of labels l for which (x U V_l > 0) is wrong."""
    n, n_labels = Y.shape
    wrong = np.empty(n)
    height = max(1, _SCORES_PER_BLOCK // n_labels)
    for k in range(0, n, height):
        block = slice(k, k + height)
        wrong[block] = np.count_nonzero((scores(X[block], embedding) > 0) != (Y[block].toarray() > 0), axis=1)
    return wrong / n_labels


def cluster(points: Any, rows: Rows, growth: Growth, node: int, seed: int) -> list[Rows]:
    """Split rows into clusters by k-means; too few of them make no children, equal ones a single child."""
    if len(rows) < growth.min_size or not len(rows):
        return []
    mine = points[rows]
    k = _n_distinct(mine, growth.n_clusters)
    if k == 1:
        return [rows]
    own_seed = int(np.random.SeedSequence(entropy=seed, spawn_key=(node,)).generate_state(1)[0])
    labels = KMeans(k, n_init=1, random_state=own_seed).fit_predict(mine)
    return [rows[labels == c] for c in range(k)]


def _n_distinct(X: Any, most: int) -> int:
    """Return the number of distinct rows, or `most` if there are more."""
    found: set[bytes] = set()
    for i in range(X.shape[0]):
        if isinstance(X, sparse.csr_array):
            here = slice(X.indptr[i], X.indptr[i + 1])
            found.add(X.indices[here].tobytes() + X.data[here].tobytes())
        else:
            found.add(X[i].tobytes())
        if len(found) == most:
            break
    return len(found)


def draw(nodes: Sequence[Mapping[str, Any]]) -> str:
    """Return a picture of a tree of node records in characters."""
    lines = [f"{nodes[0]['n']} instances"]

    def add(node: Mapping[str, Any], indent: str) -> None:
        for k, child in enumerate(node["children"]):
            last = k == len(node["children"]) - 1
            one = nodes[child]
            lines.append(
                f"{indent}{'└─' if last else '├─'} {child}: {one['n']} instances, {one['n_retained']} retained"
            )
            add(one, indent + ("   " if last else "│  "))

    add(nodes[0], "")
    return "\n".join(lines)
