"""Pictures of rating models: which level was predicted for which, and users and items in the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError
from cofactor.metrics.scale import as_scale
from cofactor.plots.figures import (
    INK,
    MARKERS,
    MUTED,
    OKABE_ITO,
    as_floats,
    colour_bar,
    legend,
    matrix,
    new_axes,
    numbers,
    readable_on,
    style_axes,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CROWDED = 7  # from this number of levels on, a cell has room for one line of text only
_MOST_WRITTEN = 25  # beyond this number of levels it has room for none
_IN_PLANE = "have shape (n, 2), from n_factors=2"


def plot_confusion(counts: ArrayLike, scale: ArrayLike, ax: Axes | None = None, *, title: str = "") -> Axes:
    r"""Plot how often each level was predicted for each true level.

    Cell (a, b) has the colour of its share of its row,
    :math:`p_{ab} = n_{ab} / \sum_c n_{ac}`, so that rare levels show as clearly as frequent ones.

    Parameters
    ----------
    counts : array-like of shape (R, R)
        Number of ratings of level a (row) predicted as level b (column): the result of
        `cofactor.metrics.confusion_matrix`.
    scale : array-like of shape (R,)
        The levels on the original scale, for the ticks.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        Shares in percent and counts stand in the cells, as far as there is room for them: from 7 levels on
        only shares, beyond 25 nothing. A dash marks a level that does not occur. The title gives the share of all
        ratings that were predicted exactly, and the share that is at most one level off.

    Raises
    ------
    TypeError, ValueError
        If `counts` is not a square matrix of non-negative numbers with one row per level, or is all zero.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_confusion([[6, 2], [1, 3]], scale=[1, 2])
    >>> ax.images[0].get_array().tolist()
    [[75.0, 25.0], [25.0, 75.0]]
    """
    levels = as_scale(scale)
    table = _checked_counts(counts, levels.size)
    rows = table.sum(axis=1, keepdims=True)
    shares = np.divide(100 * table, rows, out=np.zeros_like(table), where=rows > 0)
    top = 10 * np.ceil(shares.max() / 10)  # the whole range of colours, up to a round number
    n_levels = levels.size
    side = min(2.6 + 0.5 * n_levels, 9.0)
    ax = new_axes(ax, 1.1 * side + 0.5, side)
    image = ax.imshow(shares, cmap="Blues", vmin=0, vmax=top, aspect="equal")
    if n_levels <= _MOST_WRITTEN:
        _write_cells(ax, image, table, shares)
    ticks = range(0, n_levels, -(-n_levels // _MOST_WRITTEN))
    names = [f"{levels[tick]:g}" for tick in ticks]
    ax.set_xticks(ticks, names)
    ax.set_yticks(ticks, names)
    distance = np.abs(np.subtract.outer(np.arange(n_levels), np.arange(n_levels)))
    exact, near = (100 * table[distance <= off].sum() / table.sum() for off in (0, 1))
    words = titled(title, f"{exact:.1f} % exact, {near:.1f} % at most one level off")
    style_axes(ax, "predicted rating", "true rating", title=words, grid=False)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    edges = np.arange(n_levels + 1) - 0.5
    ax.set_xticks(edges, minor=True)
    ax.set_yticks(edges, minor=True)
    ax.grid(which="minor", color="#DADADA", linewidth=0.6)
    colour_bar(ax, image, "share of the row (%)")
    return ax


def _checked_counts(counts: ArrayLike, n_levels: int) -> NDArray[np.float64]:
    table = as_floats(counts, "counts")
    if table.shape != (n_levels, n_levels):
        raise InvalidInputError(
            f"counts must have one row and one column for each of the {n_levels} levels of scale, "
            f"found shape {table.shape}",
            argument="counts",
        )
    if not (np.isfinite(table) & (table >= 0)).all():
        raise InvalidInputError("counts must be finite and not negative", argument="counts")
    if not table.any():
        raise InvalidInputError("counts is all zero: there is nothing to plot", argument="counts")
    return table


def _write_cells(ax: Axes, image: Any, table: NDArray[np.float64], shares: NDArray[np.float64]) -> None:
    """Write share and count into each cell, in black or white, whichever is easier to read."""
    n_levels = len(table)
    crowded = n_levels >= _CROWDED
    size = max(4.0, 9.0 - 0.25 * max(n_levels - _CROWDED, 0))
    empty = table.sum(axis=1) == 0
    for row, column in np.ndindex(table.shape):
        if empty[row]:
            text = "–"
        elif crowded:
            text = f"{shares[row, column]:.0f}" if table[row, column] else ""
        else:
            text = f"{shares[row, column]:.0f} %\n{table[row, column]:,.10g}"
        colour = readable_on(image.to_rgba(shares[row, column]))
        ax.text(column, row, text, ha="center", va="center", fontsize=size, linespacing=1.3, color=colour)


def plot_embedding(
    V: ArrayLike,
    U_row: ArrayLike,
    thresholds: ArrayLike,
    levels: ArrayLike,
    ax: Axes | None = None,
    *,
    scale: ArrayLike | None = None,
) -> Axes:
    r"""Plot items as points in the plane, with the thresholds of one user as parallel lines.

    Line r is the set of points v with :math:`u \cdot v = \theta_r`. Under MMMF the R - 1 lines separate the
    levels; under PMMMF each of the R lines runs through the items of its level.

    Parameters
    ----------
    V : array-like of shape (n_items, 2)
        Item factors of a model with ``n_factors=2``.
    U_row : array-like of shape (2,)
        Factors u of the user, not zero; drawn as an arrow in the direction in which the ratings rise.
    thresholds : array-like of shape (n_thresholds,)
        Thresholds of the user. Lines outside the picture are left out.
    levels : array-like of shape (n_items,)
        Level 1..R of each item for this user, rated or predicted; 0 for items without one, drawn in grey.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    scale : array-like of shape (R,), optional
        The levels on the original scale, for the legend; by default 1..R.

    Returns
    -------
    matplotlib Axes
        One collection of points per level that occurs, and one line per threshold.

    Raises
    ------
    TypeError, ValueError
        If the shapes do not fit together, a value is not finite, `U_row` is zero, or a level is not a whole
        number from 0 to R.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figures 3.5, 3.6 and 4.1 of V. Kumar's thesis on maximum-margin matrix factorization.

    Examples
    --------
    >>> V = [[-2, 0], [-1, 1], [1, 1], [2, -1]]
    >>> ax = plot_embedding(V, U_row=[1, 0], thresholds=[0.0], levels=[1, 1, 2, 2])
    >>> [line.get_xdata().tolist() for line in ax.lines]
    [[0.0, 0.0]]
    """
    points = matrix(V, "V", 2, _IN_PLANE)
    direction = numbers(U_row, "U_row")
    if direction.shape != (2,) or not direction.any():
        raise InvalidInputError(
            f"U_row must be two numbers, not both zero, found {direction.tolist()!r:.60}", argument="U_row"
        )
    theta = numbers(thresholds, "thresholds")
    ranks, names = _checked_levels(levels, len(points), scale)
    ax, low, high = _new_plane(ax, points)
    if (ranks == 0).any():
        x, y = points[ranks == 0].T
        ax.scatter(x, y, s=10, color=MUTED, alpha=0.4, linewidths=0, label="not rated")
    for index, (name, colour) in enumerate(zip(names, _level_colours(len(names)), strict=True)):
        chosen = points[ranks == index + 1]
        style: dict[str, Any] = {"color": [colour], "marker": MARKERS[index % len(MARKERS)], "edgecolors": "white"}
        if len(chosen):
            ax.scatter(chosen[:, 0], chosen[:, 1], s=26, linewidths=0.5, label=f"{name:g}", **style)
    _draw_thresholds(ax, direction, theta, low, high)
    _draw_direction(ax, direction, low, high)
    return legend(
        style_axes(ax, "item factor 1", "item factor 2", grid=False), "rating", pad=2.5
    )  # beyond the names of the lines


def plot_hyperplanes(U: ArrayLike, V: ArrayLike, threshold: float = 0.0, ax: Axes | None = None) -> Axes:
    r"""Plot bi-level factors in the plane: items as points, each user as the line that separates them.

    The line of user i is the set of points v with :math:`u_i \cdot v = \theta`; an arrow points to its upper side.

    Parameters
    ----------
    U : array-like of shape (n_users, 2)
        User factors, none of them zero.
    V : array-like of shape (n_items, 2)
        Item factors.
    threshold : float, default=0.0
        The threshold θ of all users.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.

    Returns
    -------
    matplotlib Axes
        One line for each user, as far as it crosses the picture, and one collection of points.

    Raises
    ------
    TypeError, ValueError
        If the shapes do not fit together, a value is not finite, or a user is zero.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figure 3.1 of V. Kumar's thesis on maximum-margin matrix factorization.

    Examples
    --------
    >>> ax = plot_hyperplanes([[1, 0], [0, 2]], [[-1, 1], [1, -1]], threshold=0.5)
    >>> [line.get_xydata().round(2).tolist() for line in ax.lines]
    [[[0.5, -1.16], [0.5, 1.16]], [[1.16, 0.25], [-1.16, 0.25]]]
    """
    users, points = matrix(U, "U", 2, _IN_PLANE), matrix(V, "V", 2, _IN_PLANE)
    lengths = np.linalg.norm(users, axis=1)
    if not lengths.all():
        raise InvalidInputError(f"U must have no row of zeros, found row {np.argmin(lengths)}", argument="U")
    theta = float(numbers([threshold], "threshold")[0])
    ax, low, high = _new_plane(ax, points)
    normals, offsets = users / lengths[:, None], theta / lengths
    taken = [*points, *(points + 0.04 * (high - low).min())]  # items, and their names beside them
    for index in range(len(users)):
        _draw_side(ax, index, normals, offsets, (low, high), taken)
    ax.scatter(points[:, 0], points[:, 1], s=26, color=INK, zorder=3)
    for index, point in enumerate(points):
        ax.annotate(f"$V_{{{index + 1}}}$", point, xytext=(5, 4), textcoords="offset points", fontsize=10, color=INK)
    return style_axes(ax, "factor 1", "factor 2", grid=False)


def _draw_side(
    ax: Axes,
    index: int,
    normals: NDArray[np.float64],
    offsets: NDArray[np.float64],
    window: tuple[NDArray[np.float64], NDArray[np.float64]],
    taken: list[NDArray[np.float64]],
) -> None:
    """Draw the line of a user with an arrow to its upper side and the user's name; add their places to `taken`.

    The arrow stands where its foot and the name are as far as possible from all places taken, and the name from the
    lines of others and from the frame.
    """
    normal = normals[index]
    ends = _clip(normal * offsets[index], np.array([-normal[1], normal[0]]), *window)
    if ends is None:
        return
    reach = 0.09 * (window[1] - window[0]).min() * normal
    feet = ends[0] + np.linspace(0.04, 0.96, 47)[:, None] * (ends[1] - ends[0])
    names = feet + 1.4 * reach
    others = np.arange(len(normals)) != index
    distances = (
        np.linalg.norm(names[:, None] - np.array(taken), axis=2),
        np.linalg.norm(feet[:, None] - np.array(taken), axis=2),
        np.abs(names @ normals[others].T - offsets[others]),
        np.hstack([names - window[0], window[1] - names]),
    )
    best = int(np.argmax(np.hstack(distances).min(axis=1)))
    foot, tip = feet[best], feet[best] + reach
    taken += [foot, tip, names[best]]
    colour = OKABE_ITO[index % 7]
    ax.plot(*ends.T, color=colour, linewidth=1.3, zorder=1.5)
    ax.annotate("", tip, xytext=foot, arrowprops={"arrowstyle": "-|>", "color": colour, "lw": 1.4, "shrinkA": 0})
    beside: dict[str, Any] = {"xytext": tuple(8 * normal), "textcoords": "offset points"}
    ax.annotate(f"$U_{{{index + 1}}}$", tip, ha="center", va="center", color=colour, **beside)


def _checked_levels(
    levels: ArrayLike, n_items: int, scale: ArrayLike | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the level of each item, and the rating which each level stands for."""
    ranks = numbers(levels, "levels")
    if len(ranks) != n_items:
        raise InvalidInputError(
            f"levels must hold one level for each of the {n_items} items, found {len(ranks)}", argument="levels"
        )
    names = np.arange(1.0, max(ranks.max(), 1) + 1) if scale is None else as_scale(scale)
    wrong = (ranks < 0) | (ranks > len(names)) | (ranks != np.floor(ranks))
    if wrong.any():
        raise InvalidInputError(
            f"levels must be whole numbers from 0 to {len(names)}, found {ranks[wrong][0]:g}: "
            "give ranks on the scale, not ratings",
            argument="levels",
        )
    return ranks, names


def _level_colours(n_levels: int) -> list[Any]:
    """Return distinct colours: the palette while it lasts, then even steps through viridis."""
    if n_levels <= 7:
        return list(OKABE_ITO[:n_levels])
    from matplotlib import colormaps

    return list(colormaps["viridis"](np.linspace(0, 0.95, n_levels)))


def _new_plane(ax: Axes | None, points: NDArray[np.float64]) -> tuple[Axes, NDArray[np.float64], NDArray[np.float64]]:
    """Return axes around the points and the origin, and their lower left and upper right corners."""
    low, high = np.minimum(points.min(axis=0), 0), np.maximum(points.max(axis=0), 0)
    margin = 0.08 * max((high - low).max(), 1e-12)
    low, high = low - margin, high + margin
    ax = new_axes(ax, 6.6, 5.2)
    ax.set_xlim(low[0], high[0])
    ax.set_ylim(low[1], high[1])
    ax.set_aspect("equal", adjustable="box")
    return ax, low, high


def _draw_thresholds(
    ax: Axes,
    direction: NDArray[np.float64],
    theta: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> None:
    """Draw the lines u·v = θ as far as they cross the picture, each with its name at one end."""
    normal = direction / np.linalg.norm(direction)
    along = np.array([-normal[1], normal[0]])
    for index, value in enumerate(theta):
        foot = normal * (value / np.linalg.norm(direction))
        ends = _clip(foot, along, low, high)
        if ends is None:
            continue
        ax.plot(*ends.T, color=INK, linewidth=1.1, linestyle=(0, (5, 2)), zorder=1.5)
        # Above the picture or right of it, since the tick labels stand on the other sides.
        above, right = np.isclose(ends[:, 1], high[1]), np.isclose(ends[:, 0], high[0])
        end = int(np.argmax(2 * above + right))
        ax.annotate(
            f"$\\theta_{{{index + 1}}}$",
            ends[end],
            xytext=(0, 3) if above[end] else (4, 0) if right[end] else (4, 6),
            textcoords="offset points",
            ha="center" if above[end] else "left",
            va="bottom" if above[end] else "center",
            fontsize=10,
            color=INK,
            annotation_clip=False,
        )


def _clip(
    foot: NDArray[np.float64],
    along: NDArray[np.float64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
) -> NDArray[np.float64] | None:
    """Return the two ends of the part of a line inside a box, or None where it passes by."""
    start, stop = -np.inf, np.inf
    for axis in (0, 1):
        if along[axis] == 0:
            if not low[axis] < foot[axis] < high[axis]:
                return None
            continue
        first, second = sorted((np.array([low[axis], high[axis]]) - foot[axis]) / along[axis])
        start, stop = max(start, first), min(stop, second)
    return None if start >= stop else foot + np.outer([start, stop], along)


def _draw_direction(
    ax: Axes, direction: NDArray[np.float64], low: NDArray[np.float64], high: NDArray[np.float64]
) -> None:
    """Draw an arrow from the origin along u; its length has no meaning, since u and θ share their scale."""
    tip = direction / np.linalg.norm(direction) * 0.16 * (high - low).min()
    ax.annotate(
        "",
        tip,
        xytext=(0, 0),
        arrowprops={"arrowstyle": "-|>", "color": INK, "lw": 1.8, "shrinkA": 0},
        zorder=4,
    )
    ax.annotate("$u$", tip, xytext=tuple(6 * np.sign(direction)), textcoords="offset points", fontsize=11, color=INK)
