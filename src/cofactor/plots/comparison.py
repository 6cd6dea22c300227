"""Pictures that compare methods: their ranks over data sets, their errors by level, and along the size of the data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError, MissingPackageError
from cofactor.metrics.scale import as_scale
from cofactor.plots.curves import plot_parameter_lines
from cofactor.plots.figures import (
    INK,
    MUTED,
    OKABE_ITO,
    as_floats,
    as_written,
    check_named,
    inches,
    legend,
    name_ticks,
    new_axes,
    numbers,
    require_matplotlib,
    series,
    series_style,
    shortened,
    style_axes,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class AverageRanks(Protocol):
    """What a critical-difference diagram shows; any object with these attributes will do."""

    @property
    def methods(self) -> Sequence[str]:
        """Names of the methods, from the best to the worst."""

    @property
    def average_ranks(self) -> Sequence[float]:
        """The average rank of each."""

    @property
    def p_values(self) -> Sequence[Sequence[float]]:
        """p-value of each pair, in the order of `methods`."""

    @property
    def critical_difference(self) -> float:
        """By how much the average ranks of two methods must differ at least."""

    @property
    def alpha(self) -> float:
        """Level of significance."""

    @property
    def n_data(self) -> int:
        """Number of data sets."""


def plot_critical_difference(outcome: AverageRanks, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Plot the average ranks of methods, and which of them do not differ: a critical-difference diagram.

    Needs the extra ``cofactor[stats]``.

    Parameters
    ----------
    outcome : AverageRanks
        Names, ranks and p-values, such as the result of `cofactor.evaluation.nemenyi`.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        Title of the picture, for instance the measure.

    Returns
    -------
    matplotlib Axes
        The better a method, the farther to the left it stands. A thick bar joins methods among which no difference is
        shown; the bar above the axis is as long as the critical difference.

    Raises
    ------
    ImportError
        If matplotlib or scikit-posthocs, which draws the diagram, is not installed.

    Notes
    -----
    The picture is not one of ``matplotlib.pyplot``, but scikit-posthocs imports that module.

    References
    ----------
    J. Demšar, Journal of Machine Learning Research 7 (2006); as figures 5.5 and 6.4 of V. Kumar's thesis.

    Examples
    --------
    >>> from cofactor.evaluation import Scores, nemenyi
    >>> errors = [[0.10, 0.20, 0.30], [0.12, 0.18, 0.25], [0.31, 0.28, 0.40], [0.15, 0.19, 0.22]]
    >>> ax = plot_critical_difference(nemenyi(Scores(errors, ["HMF", "MMMF", "ALS"], greater_is_better=False)))
    >>> [text.get_text() for text in ax.texts]
    ['HMF (1.25) ', 'MMMF (1.75) ', ' (3.00) ALS', 'CD = 1.657']
    """
    require_matplotlib()
    try:
        from scikit_posthocs import critical_difference_diagram
    except ModuleNotFoundError as error:
        raise MissingPackageError("scikit-posthocs", "this picture needs", "stats") from error
    from pandas import DataFrame, Series

    names = [shortened(name) for name in outcome.methods]
    room = 2 * inches(names) + 1  # for names and ranks on both sides
    ax = new_axes(ax, max(6.4, 4 + room), 1.3 + 0.24 * len(names))
    # Methods are named by their numbers, since two names may be equal once they are shortened.
    drawn = critical_difference_diagram(
        Series(outcome.average_ranks),
        DataFrame(outcome.p_values),
        alpha=outcome.alpha,
        ax=ax,
        label_fmt_left="{label}",
        label_fmt_right="{label}",
        label_props={"fontsize": 9},
        elbow_props={"color": MUTED, "linewidth": 1},
        marker_props={"color": INK, "s": 16},
        crossbar_props={"color": OKABE_ITO[0], "linewidth": 4, "solid_capstyle": "round", "marker": ""},
    )
    for (line,) in drawn["crossbars"]:
        ranks = sorted(line.get_xdata())  # they come from a set, in another order in each process
        line.set(gid="group", data=([ranks[0], ranks[-1]], line.get_ydata()[:2]))
    start = 1.0
    end = start + outcome.critical_difference
    ax.plot([start, end], [1.2, 1.2], color=INK, linewidth=1.5, marker="|", markersize=8, gid="critical difference")
    ax.text((start + end) / 2, 1.5, f"CD = {outcome.critical_difference:.3f}", ha="center", fontsize=9, color=INK)
    last = max(len(names), end)
    margin = 0.025 * (last - start)  # for the marks at both ends
    ax.set_xlim(start - margin, last + margin)
    ax.set_ylim(top=2.4)
    ax.set_xticks(range(1, len(names) + 1))
    ax.spines["top"].set_bounds(start, last)
    _write_names(ax, drawn, names, outcome.average_ranks)
    as_written(ax.set_title(title, fontsize=10, color=INK, loc="left"))
    ax.set_xlabel(f"average rank over {outcome.n_data} data sets (1 = best)", color=INK, fontsize=9, labelpad=8)
    ax.tick_params(color=MUTED, labelcolor=INK, labelsize=9)
    ax.spines["top"].set_color(MUTED)
    return ax


def _write_names(ax: Axes, drawn: Mapping[str, Any], names: Sequence[str], ranks: Sequence[float]) -> None:
    """Write names and ranks at the two ends of the axis, and join them to their methods.

    At the ends, the room that names need beside the axes does not depend on the width of the axes, so the layout can
    find it.
    """
    ends = ax.get_xlim()
    n_left = (len(names) + 1) // 2
    for place, (label, elbow) in enumerate(zip(drawn["labels"], drawn["elbows"], strict=True)):
        method = int(label.get_text())
        name, rank = names[method], ranks[method]
        on_left = place < n_left
        x = ends[0] if on_left else ends[1]
        elbow.set_xdata([x, rank, rank])
        label.set(x=x, text=f"{name} ({rank:.2f}) " if on_left else f" ({rank:.2f}) {name}", color=INK)
        as_written(label)


def plot_error_by_level(
    errors: Mapping[str, ArrayLike],
    scale: ArrayLike,
    counts: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    unit: str = "stars",
    title: str = "",
) -> Axes:
    r"""Plot the mean absolute error of several methods for each true level of the ratings.

    Parameters
    ----------
    errors : mapping of str to array-like of shape (R,) or (n_splits, R)
        For each method the error on the ratings of each true level, as `cofactor.metrics.error_by_level` returns it;
        of one split or of several. NaN where there are no ratings.
    scale : array-like of shape (R,)
        The increasing levels.
    counts : array-like of shape (R,), optional
        Number of test ratings of each level: they stand below the levels.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    unit : str, default="stars"
        Unit of the ratings.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line for each method; over several splits the mean, with bars of one standard deviation to each side.

    Raises
    ------
    TypeError, ValueError
        If there is no method, or errors are no numbers, or errors, scale and counts do not fit together.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_error_by_level({"HMF": [1.2, 0.4, 0.9], "mean": [1.9, 0.2, 1.1]}, [1, 2, 3], counts=[10, 70, 20])
    >>> ax.get_ylabel(), [label.get_text() for label in ax.get_xticklabels()]
    ('MAE (stars)', ['1\nn = 10', '2\nn = 70', '3\nn = 20'])
    """
    levels = as_scale(scale)
    check_named(errors, "errors", "its error for each level")
    checked = {str(name): _by_level(values, str(name), levels.size) for name, values in errors.items()}
    words = [f"{level:g}" for level in levels]
    if counts is not None:
        sizes = numbers(counts, "counts")
        if sizes.size != levels.size:
            raise InvalidInputError(
                f"counts must have one number for each of {levels.size} levels, found {sizes.size}", argument="counts"
            )
        words = [f"{word}\nn = {size:,.0f}" for word, size in zip(words, sizes, strict=True)]
    ax = new_axes(ax, max(6.4, 1.5 + 0.6 * levels.size))
    middle = (len(checked) - 1) / 2
    for index, (name, table) in enumerate(checked.items()):
        mean, spread = _mean_and_spread(table)
        # Each method a little to the side, so that bars at the same level stand beside each other.
        places = np.arange(levels.size) + 0.05 * (index - middle)
        ax.errorbar(places, mean, spread, label=name, linewidth=1.6, markersize=5, capsize=3, **series_style(index))
    ax.set_xticks(range(levels.size), words)
    ax.set_ylim(bottom=0)
    return legend(style_axes(ax, f"true rating ({unit})", f"MAE ({unit})", title))


def plot_learning_curves(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike, ArrayLike | None]],
    ax: Axes | None = None,
    *,
    error: str = "MAE",
    logarithmic: bool = False,
    title: str = "",
) -> Axes:
    """Plot the test error of several methods against the share of the training data that they were given.

    Parameters
    ----------
    curves : mapping of str to (shares, means, deviations)
        For each method the shares, above 0 and at most 1, in any order; the mean test error at each; and its standard
        deviation over splits or seeds, None where there was a single one.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    error : str, default="MAE"
        Name of the error, with its unit if it has one.
    logarithmic : bool, default=False
        Whether the axis of the shares is logarithmic.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line for each method; bars of one standard deviation to each side.

    Raises
    ------
    TypeError, ValueError
        If a curve does not hold equally long, finite sequences, a deviation is negative, or a share is not above 0 and
        at most 1.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_learning_curves({"HMF": ([0.1, 0.5, 1], [0.9, 0.75, 0.70], [0.02, 0.01, 0.01])}, error="MAE (stars)")
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('share of the training data (%)', 'test MAE (stars)')
    """
    percent = {}
    for name, shares, means, deviations in series(curves, "curves", ("shares", "means", "deviations")):
        if shares.min() <= 0 or shares.max() > 1:
            raise InvalidInputError(f"shares of {name!r} must be above 0 and at most 1, found {shares.tolist()!r:.60}")
        percent[name] = (100 * shares, means, deviations)
    words = {"parameter": "share of the training data (%)", "measure": f"test {error}", "title": title}
    ax = plot_parameter_lines(percent, ax, logarithmic=logarithmic, **words)
    ax.xaxis.set_major_formatter("{x:g}")
    return ax


def _by_level(values: ArrayLike, name: str, n_levels: int) -> NDArray[np.float64]:
    """Return errors as (n_splits, R)."""
    table = np.atleast_2d(as_floats(values, f"errors[{name!r}]", "numbers"))
    if table.ndim != 2 or table.shape[1] != n_levels:
        raise InvalidInputError(
            f"errors[{name!r}] must have one number for each of {n_levels} levels, found {table.shape}"
        )
    if np.isinf(table).any() or (table < 0).any():
        raise InvalidInputError(f"errors[{name!r}] must be finite and not negative, or NaN where there are no ratings")
    return table


def _mean_and_spread(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Return mean and standard deviation of each column, NaN left out: of a single row there are no deviations.

    The mean of no numbers is NaN, and so is the deviation of fewer than two.
    """
    known = np.ma.masked_invalid(table)
    mean = known.mean(axis=0).filled(np.nan)
    return mean, None if len(table) == 1 else known.std(axis=0, ddof=1).filled(np.nan)


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
    check_named(scores, "scores", "its scores")
    checked = {str(name): numbers(values, f"scores[{name!r}]") for name, values in scores.items()}
    ax = new_axes(ax, _WIDTH + max(0.0, inches(list(checked)) - 1.2), _ROW * len(checked) + 0.9)
    for row, values in enumerate(checked.values()):
        places = np.full(len(values), row)
        ax.plot(values, places, "o", color=OKABE_ITO[0], alpha=0.45, markersize=5, markeredgewidth=0, zorder=2)
        ax.plot([values.mean()], [row], "D", color=INK, markersize=5, zorder=3)
    name_ticks(ax.yaxis, list(checked))
    ax.set_ylim(len(checked) - 0.5, -0.5)
    ax.locator_params(axis="x", nbins=6)
    return style_axes(ax, f"{metric}; ◆ mean" if metric else "◆ mean", "", shortened(title, _TITLE))
