"""One node of the tree of `MLCHMF`: learn an embedding, retain the instances that it fits, split the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.chunked import batches, is_sparse
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit, thread_limit
from cofactor.labels.clusters import k_means
from cofactor.losses import MARGIN_LOSSES
from cofactor.model.state import check_array, last_length, member
from cofactor.penalties import L2
from cofactor.problems import LowRankProblem
from cofactor.solvers import Result, lbfgs
from cofactor.solvers.result import Callback

Rows = NDArray[np.int64]
Embedding = dict[str, Any]  #: "node", and arrays "features", "U", "V" as in `embed`

_SCORES_PER_BLOCK = 1 << 22


@dataclass(frozen=True)
class Growth:
    """The parameters of `MLCHMF` which a single node needs."""

    n_components: int
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
    """A node after training.

    Attributes
    ----------
    embedding : Embedding or None
        None if no instance is retained, so that it is not needed.
    retained : ndarray of shape (n,), bool
        Which instances of the node are retained.
    clusters : list of ndarray
        Row numbers of the other instances, one array for each child.
    unfinished : bool
        Whether the solver ran out of iterations.
    n_iter : int
        Number of iterations of the solver.
    """

    embedding: Embedding | None
    retained: NDArray[np.bool_]
    clusters: list[Rows]
    unfinished: bool
    n_iter: int


def grow(
    features: Any,
    Y: sparse.csr_array,
    points: Any,
    rows: Rows,
    growth: Growth,
    node: int,
    split: bool,
    callback: Callback | None,
    threads: int,
) -> Grown:
    """Learn the embedding of a node, and split the instances that it does not retain.

    Parameters
    ----------
    features : ndarray or csr_array of shape (N, D')
        The features that embeddings see: all features, and perhaps a constant one.
    Y : csr_array of shape (N, L)
        Ones where a label is on.
    points : ndarray or csr_array of shape (N, D)
        The features that distances are computed from: without the constant one.
    rows : ndarray of int
        Row numbers of the instances of the node.
    growth : Growth
    node : int
        Number of the node.
    split : bool
        Whether the node may have children.
    callback : callable or None
        Called with a `Progress` after every iteration.
    threads : int
        How many threads the kernels may use.
    """
    # BLAS and OpenMP always use one thread, so that rounding does not depend on what runs at the same time (n_jobs).
    with thread_limit(threads), library_limit(1):
        embedding, result = embed(features[rows], Y[rows], growth, callback)
        retained = errors(features[rows], Y[rows], embedding) <= growth.tolerance
        clusters = cluster(points, rows[~retained], growth) if split else []
    return Grown(
        embedding | {"node": node} if retained.any() else None, retained, clusters, result.unfinished, result.n_iter
    )


def embed(X: Any, Y: sparse.csr_array, growth: Growth, callback: Callback | None = None) -> tuple[Embedding, Result]:
    """Minimise J(U, V) of `MLCHMF` over the given instances; return the embedding and the result of the solver.

    Rows of U for features that no instance has are 0 at the start and stay 0. They are left out; `features` holds the
    numbers of the others. Factors beyond the number of instances are left out too.
    """
    present = np.unique(X.indices) if is_sparse(X) else np.flatnonzero(X.any(axis=0))
    d = min(growth.n_components, X.shape[0], max(len(present), 1))
    ridge = {"U": L2(growth.alpha), "V": L2(growth.alpha)}
    loss = MARGIN_LOSSES[growth.margin]()
    problem = LowRankProblem(X[:, present], Y, loss, d, ridge, dtype=growth.dtype)
    result = lbfgs(problem, problem.start(), max_iter=growth.max_iter, tol=growth.tol, callback=callback)
    arrays = problem.arrays(result.x)
    return {"features": present, "U": arrays["U"], "V": arrays["V"]}, result


def scores(X: Any, embedding: Mapping[str, Any]) -> NDArray[Any]:
    """Return X U V; X may lack the constant feature, which is the last one."""
    features, rows = embedding["features"], embedding["U"]
    U = np.zeros((max(X.shape[1], 1 + int(features.max(initial=-1))), rows.shape[1]), rows.dtype)
    U[features] = rows
    codes = X @ U[: X.shape[1]]
    if len(U) > X.shape[1]:
        codes += U[-1]
    return np.asarray(codes @ embedding["V"])


def check_embeddings(embeddings: Any, n_features: int, n_labels: int) -> None:
    """Refuse embeddings read from a file unless each scores all labels from some features, or the constant one."""
    if not isinstance(embeddings, list) or not embeddings:
        raise InvalidInputError("embeddings_ must be a list of at least one")
    for each in embeddings:
        features, d = member(each, "features", np.ndarray), last_length(each["U"])
        rising = features.ndim == 1 and features.dtype.kind == "i" and bool((np.diff(features) > 0).all())
        if not rising or (len(features) and not 0 <= features[0] <= features[-1] <= n_features):
            raise InvalidInputError(f"the features of an embedding must rise within 0 to {n_features}")
        check_array("U of an embedding", each["U"], (len(features), d))
        check_array("V of an embedding", each["V"], (d, n_labels))


def check_nodes(nodes: Any) -> None:
    """Refuse node records read from a file unless they are a tree, level by level."""
    if not isinstance(nodes, list) or not nodes or not all(isinstance(node, dict) for node in nodes):
        raise InvalidInputError("tree_ must be a list of nodes")
    parents: list[int | None] = [None]
    for k, node in enumerate(nodes):
        children = member(node, "children", list)
        if node["id"] != k or k >= len(parents) or node["parent"] != parents[k]:
            raise InvalidInputError(f"node {k} of the tree is not where its parent expects it")
        if children != list(range(len(parents), len(parents) + len(children))):
            raise InvalidInputError(f"node {k} of the tree has the children {children}")
        parents += [k] * len(children)
        if not all(type(node[name]) is int and node[name] >= 0 for name in ("depth", "n", "n_retained")):
            raise InvalidInputError(f"node {k} of the tree must count its instances")


def errors(X: Any, Y: sparse.csr_array, embedding: Mapping[str, Any]) -> NDArray[np.float64]:
    """Return the Hamming loss of each instance: the share of labels l for which (x U V_l > 0) is wrong."""
    n, n_labels = Y.shape
    wrong = np.empty(n)
    for block in batches(n, max(1, _SCORES_PER_BLOCK // n_labels)):
        wrong[block] = np.count_nonzero((scores(X[block], embedding) > 0) != (Y[block].toarray() > 0), axis=1)
    return wrong / n_labels


def cluster(points: Any, rows: Rows, growth: Growth) -> list[Rows]:
    """Split rows into clusters by k-means: none if there are too few rows, a single one if all rows are equal."""
    if len(rows) < growth.min_size:
        return []
    centres, labels = k_means(points[rows], growth.n_clusters)
    return [rows[labels == c] for c in range(len(centres))]


def draw(nodes: Sequence[Mapping[str, Any]]) -> str:
    """Return a picture of a tree, drawn with characters, from its node records."""
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
