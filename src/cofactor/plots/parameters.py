"""Pictures of a measure over the parameters of a method: of two as a map, of one as lines with their spread."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from cofactor.errors import InvalidInputError
from cofactor.plots.figures import (
    BLANK,
    as_floats,
    colour_bar,
    legend,
    name_ticks,
    new_axes,
    readable_on,
    series,
    series_style,
    tidy,
)
from cofactor.text import without_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_parameter_map(
    values: ArrayLike,
    rows: Sequence[Any],
    columns: Sequence[Any],
    ax: Axes | None = None,
    *,
    row_name: str,
    column_name: str,
    measure: str = "accuracy",
    limits: tuple[float, float] | None = None,
    title: str = "",
) -> Axes:
    """Plot a measure for each pair of values of two parameters.

    Parameters
    ----------
    values : array-like of shape (n, m)
        The measure; NaN where a pair was not measured.
    rows, columns : sequences of length n and m
        The values of the two parameters, in the order in which to draw them.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    row_name, column_name : str
        What the parameters are called.
    measure : str, default="accuracy"
        What is measured, with its unit if it has one.
    limits : (float, float), optional
        The measures at the two ends of the colours, so that several maps can be compared; by default the least and the
        largest of this map.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        Each cell has its number; the larger the number, the lighter the cell. Cells that were not measured are blank.

    Raises
    ------
    TypeError, ValueError
        If `values` are no numbers, do not fit the two parameters, or nothing was measured.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figure 6.2 of V. Kumar's thesis.

    Examples
    --------
    >>> ax = plot_parameter_map([[0.7, 0.6], [0.5, 0.4]], [0.1, 1], [1, 10], row_name="λ₁", column_name="λ₂")
    >>> [text.get_text() for text in ax.texts]
    ['.700', '.600', '.500', '.400']
    """
    table = as_floats(values, "values")
    if table.shape != (len(rows), len(columns)):
        raise InvalidInputError(
            f"values must have {len(rows)} rows and {len(columns)} columns, one for each value of the parameters, "
            f"found shape {table.shape}",
            argument="values",
        )
    known = np.isfinite(table)
    if not known.any():
        raise InvalidInputError("values holds no finite number: there is nothing to plot", argument="values")
    ax = new_axes(ax, 2.6 + 0.75 * len(columns), 1.4 + 0.5 * len(rows))
    from matplotlib import colormaps

    colours = colormaps["cividis"].with_extremes(bad=BLANK)
    low, high = limits or (None, None)
    image = ax.imshow(np.ma.masked_array(table, ~known), cmap=colours, aspect="auto", vmin=low, vmax=high)
    for row, column in np.argwhere(known):
        value = table[row, column]
        colour = readable_on(image.to_rgba(value))
        ax.text(column, row, without_zero(value), ha="center", va="center", fontsize=9, color=colour)
    name_ticks(ax.xaxis, [_word(value) for value in columns])
    name_ticks(ax.yaxis, [_word(value) for value in rows])
    tidy(ax, column_name, row_name, title, grid=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    colour_bar(ax, image, measure)
    return ax


def plot_parameter_lines(
    lines: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike | None]],
    ax: Axes | None = None,
    *,
    parameter: str,
    measure: str = "accuracy",
    logarithmic: bool = False,
    title: str = "",
) -> Axes:
    """Plot a measure along a parameter, for several methods or settings, with its spread.

    Parameters
    ----------
    lines : mapping of str to (values, means, deviations)
        For each name the values of the parameter, in any order, the mean of the measure at each, and its standard
        deviation; None where there was a single measurement.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    parameter : str
        What the parameter is called, with its unit if it has one.
    measure : str, default="accuracy"
        What is measured, with its unit if it has one.
    logarithmic : bool, default=False
        Whether the axis of the parameter is logarithmic.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line for each name; bars of one standard deviation to each side.

    Raises
    ------
    TypeError, ValueError
        If a line does not hold equally long, finite sequences, or a deviation is negative.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figure 6.3 of V. Kumar's thesis.

    Examples
    --------
    >>> lines = {"d = 20": ([10, 1], [0.31, 0.30], [0.01, 0.02]), "d = 60": ([1, 10], [0.31, 0.33], None)}
    >>> ax = plot_parameter_lines(lines, parameter="number of groups K")
    >>> ax.get_legend_handles_labels()[1]
    ['d = 20', 'd = 60']
    """
    checked = list(series(lines, "lines", ("values", "means", "deviations")))
    ax = new_axes(ax)
    for index, (name, x, mean, spread) in enumerate(checked):
        order = np.argsort(x, kind="stable")
        style = series_style(index) | {"linewidth": 1.6, "markersize": 5, "capsize": 3}
        ax.errorbar(x[order], mean[order], None if spread is None else spread[order], label=name, **style)
    if logarithmic:
        ax.set_xscale("log")
    return legend(tidy(ax, parameter, measure, title))


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)
