"""Picture of a tree of models: how many instances reach each node, and how many stay there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor.errors import InvalidInputError
from cofactor.plots.figures import INK, MUTED, colour_bar, new_axes, style_axes, titled

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WRITTEN = 24  # up to this number of leaves, numbers stand beside the nodes
_LARGEST = 1100.0  # area of the root, in square points
_SMALLEST = 12.0  # that of a node with few instances


def plot_label_tree(nodes: Sequence[Mapping[str, Any]], ax: Axes | None = None, *, title: str = "") -> Axes:
    """Draw the tree of MLC-HMF: a circle for each node, whose area is the number of instances that reach the node.

    Parameters
    ----------
    nodes : sequence of dict
        Each with ``id``, ``parent`` (None for the root), ``depth``, ``n`` (number of instances), ``n_retained`` (how
        many of them stay with the node itself), ``children`` (ids): `MLCHMF.tree_`.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        The colour is the share of instances that the node retained; the others go to its children. Beside each node
        stands "retained / instances" where there are at most 24 leaves. The title gives the number of nodes and how
        many instances no node retained.

    Raises
    ------
    ValueError
        If the nodes do not form one tree.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> root = {"id": 0, "parent": None, "depth": 0, "n": 10, "n_retained": 4, "children": [1, 2]}
    >>> leaves = [{"id": k, "parent": 0, "depth": 1, "n": 3, "n_retained": 2, "children": []} for k in (1, 2)]
    >>> plot_label_tree([root, *leaves]).get_title(loc="left")
    '3 nodes, 2 of 10 instances retained by none'
    """
    places = tree_positions(nodes)
    known = {node["id"]: node for node in nodes}
    total = max(int(node["n"]) for node in nodes)
    n_leaves = sum(not node["children"] for node in nodes)
    depth = max(int(node["depth"]) for node in nodes)
    ax = new_axes(ax, min(4.5 + 0.45 * n_leaves, 14.0), 2.2 + 0.9 * (depth + 1))
    for node in nodes:
        for child in node["children"]:
            ax.plot(*zip(places[node["id"]], places[child], strict=True), color=MUTED, linewidth=1.0, zorder=1)
    areas = [_area(node["n"], total) for node in nodes]
    percent = [100 * node["n_retained"] / max(node["n"], 1) for node in nodes]
    look: dict[str, Any] = {"cmap": "Blues", "vmin": 0, "vmax": 100, "edgecolors": INK, "linewidths": 0.8}
    x, y = np.array([places[key] for key in known]).T
    circles = ax.scatter(x, y, s=areas, c=percent, zorder=2, **look)
    if n_leaves <= _WRITTEN:
        _write_numbers(ax, nodes, places)
    left = total - sum(int(node["n_retained"]) for node in nodes)
    words = f"{len(nodes)} node{'s' * (len(nodes) != 1)}, {left:,} of {total:,} instances retained by none"
    style_axes(ax, "area: instances that reach the node", "depth", title=titled(title, words), grid=False)
    ax.set_xticks([])
    ax.set_yticks(range(depth + 1))
    ax.set_xlim(-0.9, n_leaves - 0.1)
    ax.set_ylim(depth + 0.55, -0.5)
    colour_bar(ax, circles, "retained by the node (%)", width=0.025)
    return ax


def _area(n: int, total: int) -> float:
    """Return the area of a circle for n of all instances, in square points."""
    return max(_LARGEST * n / total, _SMALLEST)


def tree_positions(nodes: Sequence[Mapping[str, Any]]) -> dict[Any, tuple[float, int]]:
    """Return (x, depth) of each node: leaves at 0, 1, 2, …, every other node half way between its outer children.

    Parameters
    ----------
    nodes : sequence of dict
        With ``id``, ``parent``, ``depth`` and ``children``.

    Raises
    ------
    ValueError
        If there is not exactly one root, or a node is not reached from it exactly once.

    Examples
    --------
    >>> nodes = [{"id": "r", "parent": None, "depth": 0, "children": ["a", "b"]}]
    >>> nodes += [{"id": key, "parent": "r", "depth": 1, "children": []} for key in "ab"]
    >>> tree_positions(nodes)["r"]
    (0.5, 0)
    """
    known = {node["id"]: node for node in nodes}
    roots = [node["id"] for node in nodes if node["parent"] is None]
    if len(known) != len(nodes) or len(roots) != 1:
        raise InvalidInputError(
            f"nodes must have distinct ids and one root, found {len(nodes)} nodes and {len(roots)} roots",
            argument="nodes",
        )
    order = _depth_first(known, roots[0])
    places: dict[Any, tuple[float, int]] = {}
    n_leaves = 0
    for key in order:
        if not known[key]["children"]:
            places[key] = (float(n_leaves), int(known[key]["depth"]))
            n_leaves += 1
    for key in reversed(order):  # so that children have their places before their parents
        children = known[key]["children"]
        if children:
            across = [places[child][0] for child in children]
            places[key] = ((min(across) + max(across)) / 2, int(known[key]["depth"]))
    return places


def _depth_first(known: Mapping[Any, Mapping[str, Any]], root: Any) -> list[Any]:
    """Return the nodes, each before its children, or say what is wrong with the tree."""
    order, waiting, seen = [], [root], set()
    while waiting:
        key = waiting.pop()
        if key in seen or key not in known:
            raise InvalidInputError(
                f"nodes must form a tree: node {key!r} is {'reached twice' if key in seen else 'missing'}"
            )
        seen.add(key)
        order.append(key)
        waiting.extend(reversed(list(known[key]["children"])))
    if len(order) != len(known):
        lost = next(key for key in known if key not in seen)
        raise InvalidInputError(f"nodes must form a tree: node {lost!r} is not reached from the root")
    return order


def _write_numbers(ax: Axes, nodes: Sequence[Mapping[str, Any]], places: Mapping[Any, tuple[float, int]]) -> None:
    """Write below each node how many instances it retained, and how many reached it."""
    total = max(int(node["n"]) for node in nodes)
    box = {"boxstyle": "square,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
    for node in nodes:
        radius = (_area(node["n"], total) / 3.14) ** 0.5
        below: dict[str, Any] = {"xytext": (0, -radius - 3), "textcoords": "offset points", "ha": "center", "va": "top"}
        words = f"{node['n_retained']} / {node['n']}"
        ax.annotate(words, places[node["id"]], fontsize=8, color=INK, bbox=box, **below)
