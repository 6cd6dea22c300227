"""The scores of several methods on the splits of a data set, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from cofactor.errors import InvalidInputError
from cofactor.plots.figures import INK, OKABE_ITO, inches, name_ticks, new_axes, numbers, shortened, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_splits"]

_ROW = 0.3  # inches
_WIDTH = 4.8  # inches: legible on a phone, too; more for long names
_TITLE = 50  # letters that the width has room for


def plot_splits(scores: Mapping[str, ArrayLike], ax: Axes | None = None, *, metric: str = "", title: str = "") -> Axes:
    """Draw the score of each method on each split, and the mean over its splits.

    Parameters
    ----------
    scores : mapping from str to array-like
        For each method its scores, one for each split; the first method is on top.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    metric : str, default=""
        What is measured, with its unit if it has one.
    title : str, default=""
        Title of the picture, for instance the data set.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If there is no method, or a method has no scores, or scores are not finite.

    Examples
    --------
    >>> ax = plot_splits({"HMF": [0.67, 0.68, 0.66], "ALS": [0.69, 0.70, 0.68]}, metric="MAE", title="ml-100k")
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['HMF', 'ALS']
    """
    if not scores:
        raise InvalidInputError("scores is empty: give at least one method with its scores", argument="scores")
    checked = {str(name): numbers(values, f"scores[{name!r}]") for name, values in scores.items()}
    ax = new_axes(ax, _WIDTH + max(0.0, inches(list(checked)) - 1.2), _ROW * len(checked) + 0.9)
    for row, values in enumerate(checked.values()):
        places = np.full(len(values), row)
        ax.plot(values, places, "o", color=OKABE_ITO[0], alpha=0.45, markersize=5, markeredgewidth=0, zorder=2)
        ax.plot([values.mean()], [row], "D", color=INK, markersize=5, zorder=3)
    name_ticks(ax.yaxis, list(checked))
    ax.set_ylim(len(checked) - 0.5, -0.5)
    ax.locator_params(axis="x", nbins=6)
    tidy(ax, f"{metric}; ◆ mean" if metric else "◆ mean", "", shortened(title, _TITLE))
    return ax
