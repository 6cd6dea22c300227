"""Pictures of how labels go together: similarities by cluster, and trees and chains of labels."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order, connected_components

from cofactor.chunked import as_dense, is_sparse
from cofactor.errors import InvalidInputError
from cofactor.plots.figures import (
    INK,
    OKABE_ITO,
    as_names,
    as_written,
    matrix,
    new_axes,
    shortened,
    style_axes,
    titled,
)
from cofactor.plots.labels import draw_pairs
from cofactor.plots.trees import tree_positions

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 40  # up to this number of labels, names stand at the axes, and weights at the edges
_ROW = 8  # labels in a row of a chain
_LINE = 16  # letters in a line of a name
_THICK = 4.0  # line of the largest weight, in points


def plot_correlations(
    C: ArrayLike,
    clusters: Sequence[ArrayLike] | None = None,
    ax: Axes | None = None,
    *,
    names: Sequence[Any] | None = None,
    measure: str = "similarity",
    title: str = "",
) -> Axes:
    """Plot how each pair of labels goes together, in the given order or by cluster.

    Parameters
    ----------
    C : array-like, or sparse array or matrix, of shape (L, L)
        Similarities, such as a measure of `cofactor.correlation`.
    clusters : sequence of array-like, optional
        The labels of each cluster, each label in one, as `cofactor.correlation.disjoint_clusters` returns them: labels
        of a cluster stand together, within a frame.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    names : sequence of length L, optional
        Names of the labels, written where there are at most 40.
    measure : str, default="similarity"
        What the colour bar says.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        The colour of cell (k, l) is the similarity of two labels; the diagonal is left blank. The scale is a square
        root, or, with negative similarities, linear from red to blue. With clusters the title gives the means within
        and between them.

    Raises
    ------
    ValueError
        If C is not square and finite, or `clusters` or `names` do not fit it.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> C = [[0.0, 0.1, 0.9], [0.1, 0.0, 0.2], [0.9, 0.2, 0.0]]
    >>> ax = plot_correlations(C, [[0, 2], [1]])
    >>> ax.images[0].get_array().tolist()
    [[None, 0.9, 0.1], [0.9, None, 0.2], [0.1, 0.2, None]]
    >>> ax.get_title(loc="left")
    'mean 0.900 within groups, 0.150 between'
    """
    table = _square(C, "C")
    n_labels = len(table)
    of_label = None if clusters is None else _cluster_of(clusters, n_labels)
    placed = np.arange(n_labels) if of_label is None else np.argsort(of_label, kind="stable")
    return draw_pairs(ax, table, of_label, placed, names, measure, title)


def plot_label_structure(
    structure: ArrayLike,
    C: ArrayLike,
    ax: Axes | None = None,
    *,
    names: Sequence[Any] | None = None,
    title: str = "",
) -> Axes:
    """Draw trees or a chain of labels: the thicker a line, the more the two labels go together.

    Parameters
    ----------
    structure : array-like of shape (E, 2) or (L,)
        The edges of a tree (`cofactor.correlation.maximum_spanning_tree`), or of some; a label without edges stands
        alone. Or the labels in the order of a chain (`cofactor.correlation.greedy_chain`).
    C : array-like, or sparse array or matrix, of shape (L, L)
        Weights of pairs of labels.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    names : sequence of length L, optional
        Names of the labels; by default their positions.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        A tree grows to the right from its middle, so that it is as low as it can be; the largest one is on top. A chain
        begins at the top left, and turns at the end of each row. Weights are written at lines of up to 40 labels;
        negative ones are red. The title gives their sum.

    Raises
    ------
    ValueError
        If edges make a circle, or the order is not of all labels, or C or `names` do not fit.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> C = [[0.0, 0.1, 0.9], [0.1, 0.0, 0.2], [0.9, 0.2, 0.0]]
    >>> plot_label_structure([[0, 2], [1, 2]], C).get_title(loc="left")
    'tree of 3 labels, sum of weights 1.1'
    >>> plot_label_structure([0, 2, 1], C, title="emotions").get_title(loc="left")
    'emotions: chain of 3 labels, sum of weights 1.1'
    """
    table = _square(C, "C")
    n_labels = len(table)
    given = np.asarray(structure)
    is_chain = given.ndim == 1 and n_labels > 1
    edges = _chain_edges(given, n_labels) if is_chain else _checked_edges(given, n_labels)
    words = as_names(names, "names", n_labels)
    places = _chain_places(given) if is_chain else _tree_places(edges, n_labels)
    across, down = places.max(axis=0) + 1
    ax = new_axes(ax, float(min(2 + 1.5 * across, 16)), float(min(1.4 + (0.8 if is_chain else 0.46) * down, 40)))
    weights = table[edges[:, 0], edges[:, 1]]
    _draw_edges(ax, places, edges, weights, written=n_labels <= _NAMED)
    for (x, y), word in zip(places.tolist(), words, strict=True):
        said = textwrap.fill(shortened(word, 2 * _LINE), _LINE)
        box = {"boxstyle": "round,pad=0.25", "facecolor": "white", "edgecolor": INK, "linewidth": 0.8}
        text = ax.text(x, y, said, ha="center", va="center", fontsize=8, color=INK, bbox=box, zorder=3)
        as_written(text)
    shape = (
        "chain" if is_chain or _one_after_another(edges, n_labels) else "trees" if len(edges) < n_labels - 1 else "tree"
    )
    sums = f"{shape} of {n_labels} label{'s' * (n_labels != 1)}, sum of weights {weights.sum():.4g}"
    across_words, down_words = ("place", "row") if is_chain else ("edges from the middle of the tree", "branch")
    style_axes(ax, across_words, down_words, titled(title, sums), grid=False)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.set_xlim(-0.6, across - 0.4)
    ax.set_ylim(down - 0.4, -0.6)
    return ax


def _square(values: ArrayLike, name: str) -> NDArray[np.float64]:
    """Return a table of similarities, or say what is wrong with it."""
    table = matrix(as_dense(values) if is_sparse(values) else values, name)
    if table.shape[0] != table.shape[1]:
        raise InvalidInputError(f"expected as many rows as columns, found shape {table.shape}", argument=name)
    return table


def _cluster_of(clusters: Sequence[ArrayLike], n_labels: int) -> NDArray[np.int64]:
    """Return the cluster of each label, or refuse clusters of which some label is in none or in two."""
    members = [np.asarray(one).ravel() for one in clusters]
    whole = np.concatenate([*members, np.empty(0)])
    if not np.array_equal(np.sort(whole), np.arange(n_labels)):
        raise InvalidInputError(f"each of the labels 0 to {n_labels - 1} must be in one of them", argument="clusters")
    of_label = np.empty(n_labels, dtype=np.int64)
    for k, one in enumerate(members):
        of_label[one.astype(np.int64)] = k
    return of_label


def _draw_edges(ax: Axes, places: NDArray[Any], edges: NDArray[Any], weights: NDArray[Any], *, written: bool) -> None:
    """Draw lines between labels, perhaps with their weights."""
    most = max(float(np.abs(weights).max(initial=0)), np.finfo(float).tiny)
    for (i, j), weight in zip(edges, weights, strict=True):
        ends = places[[i, j]]
        width = max(0.5, _THICK * abs(float(weight)) / most)
        ax.plot(*ends.T, color=OKABE_ITO[1 if weight < 0 else 0], linewidth=width, zorder=1, solid_capstyle="round")
        if written:
            box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.85}
            x, y = ends.mean(axis=0).tolist()
            ax.text(x, y, f"{weight:.3g}", ha="center", va="center", fontsize=7, color=INK, bbox=box, zorder=2)


# ---------------------------------------------------------------- places of labels


def _chain_edges(order: NDArray[Any], n_labels: int) -> NDArray[np.int64]:
    """Return the pairs of neighbours of a chain, or refuse an order that is not of all labels."""
    if order.dtype.kind not in "iu" or not np.array_equal(np.sort(order), np.arange(n_labels)):
        raise InvalidInputError(
            f"a chain of {n_labels} labels must hold each of the numbers 0 to {n_labels - 1} once", argument="structure"
        )
    return np.column_stack([order[:-1], order[1:]]).astype(np.int64)


def _one_after_another(edges: NDArray[np.int64], n_labels: int) -> bool:
    """Whether edges connect all labels, each with the one before it, as the edges of a fitted chain do."""
    return len(edges) == n_labels - 1 > 1 and np.array_equal(edges[:-1, 0], edges[1:, 1])


def _chain_places(order: NDArray[Any]) -> NDArray[np.float64]:
    """Return (x, y) of each label of a chain, whose rows go to the right and to the left in turn."""
    row, column = np.divmod(np.arange(len(order)), _ROW)
    places = np.empty((len(order), 2))
    places[order] = np.column_stack([np.where(row % 2, _ROW - 1 - column, column), row])
    return places


def _checked_edges(edges: NDArray[Any], n_labels: int) -> NDArray[np.int64]:
    """Return the edges of trees; refuse what is no pair of labels. Circles are seen in `_nodes`."""
    if n_labels == 1 and edges.size <= 1:
        return np.empty((0, 2), dtype=np.int64)
    fits = edges.ndim == 2 and edges.shape[1] == 2 and edges.dtype.kind in "iu"
    if not fits or edges.min(initial=0) < 0 or edges.max(initial=0) >= n_labels:
        raise InvalidInputError(
            f"edges of {n_labels} labels are pairs of the numbers 0 to {n_labels - 1}; found shape {edges.shape}",
            argument="structure",
        )
    return edges.astype(np.int64)


def _tree_places(edges: NDArray[np.int64], n_labels: int) -> NDArray[np.float64]:
    """Return where labels stand, one tree below the other, each from the middle of one of its longest paths."""
    graph = sparse.coo_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_labels, n_labels)).tocsr()
    n_trees, tree_of = connected_components(graph, directed=False)
    if len(edges) != n_labels - n_trees:
        raise InvalidInputError("edges of a tree make no circle", argument="structure")
    trees = [_nodes(graph, int(np.argmax(tree_of == tree))) for tree in range(n_trees)]
    places, above = np.empty((n_labels, 2)), 0.0
    for nodes in sorted(trees, key=len, reverse=True):
        for label, (down, depth) in tree_positions(nodes).items():
            places[label] = depth, above + down
        above = places[[node["id"] for node in nodes], 1].max() + 1
    return places


def _nodes(graph: Any, label: int) -> list[dict[str, Any]]:
    """Return the nodes of the tree that a label is in, as `tree_positions` takes them."""
    order, before = breadth_first_order(graph, breadth_first_order(graph, label, directed=False)[0][-1], directed=False)
    path = [order[-1]]  # a longest one
    while before[path[-1]] >= 0:
        path.append(before[path[-1]])
    order, before = breadth_first_order(graph, path[(len(path) - 1) // 2], directed=False)
    nodes: dict[int, dict[str, Any]] = {}
    for one, above in zip(order.tolist(), before[order].tolist(), strict=True):
        parent = nodes.get(above)
        depth = 0 if parent is None else parent["depth"] + 1
        nodes[one] = {"id": one, "parent": None if parent is None else above, "depth": depth, "children": []}
        if parent is not None:
            parent["children"].append(one)
    return list(nodes.values())
