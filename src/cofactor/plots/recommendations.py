"""Pictures of recommended lists: recall by length, accuracy against coverage, popularity, and calibration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import check_number
from cofactor.errors import InvalidInputError
from cofactor.metrics.catalogue import share_interval
from cofactor.metrics.probabilities import CalibrationBins
from cofactor.plots.figures import (
    INK,
    MUTED,
    OKABE_ITO,
    check_named,
    legend,
    name_ticks,
    new_axes,
    numbers,
    same_size,
    series,
    series_style,
    style_axes,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cofactor.ratings import Reasons

_SHOWN = 20  # bars


def plot_recall_curves(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    ax: Axes | None = None,
    *,
    measure: str = "recall",
    title: str = "",
) -> Axes:
    """Plot recall, or another measure of lists, against their length k, for several methods.

    Parameters
    ----------
    curves : mapping from str to (lengths, values)
        For each method lengths of lists, and the measure there.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    measure : str, default="recall"
        What is measured.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        If there is no method, or lengths and values do not go together.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_recall_curves({"popularity": ([5, 10], [0.08, 0.14]), "EASE": ([5, 10], [0.2, 0.3])})
    >>> ax.get_legend_handles_labels()[1]
    ['popularity', 'EASE']
    """
    of_scores = "{name: (at, [s.mean(name, f'recall@{k}').mean for k in at]) for name in s.methods}"
    _check_methods(curves, "curves", "(lengths, values)", of_scores)
    checked = list(series(curves, "curves", ("lengths", "values")))
    ax = new_axes(ax, 7.4, 4.2)
    for index, (name, lengths, values) in enumerate(checked):
        order = np.argsort(lengths, kind="stable")
        ax.plot(lengths[order], values[order], label=name, linewidth=1.6, markersize=5, **series_style(index))
    ax.set_ylim(bottom=0)
    ax.set_xlim(left=0)
    return legend(style_axes(ax, "items of each list, k", measure, title))


def plot_coverage_tradeoff(
    points: Mapping[str, tuple[float, float]],
    ax: Axes | None = None,
    *,
    measure: str = "nDCG@10",
    coverage: str = "share of the items that are recommended",
    title: str = "",
) -> Axes:
    """Plot accuracy against how many items are recommended at all, a mark for each method.

    Parameters
    ----------
    points : mapping from str to (coverage, accuracy)
        For each method.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    measure, coverage : str
        What is measured.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        Up is more accurate, to the right is more of the catalogue.

    Raises
    ------
    ValueError
        If there is no method, or a number is not finite.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_coverage_tradeoff({"popularity": (0.03, 0.18), "EASE": (0.2, 0.37)})
    >>> ax.get_legend_handles_labels()[1]
    ['popularity', 'EASE']
    """
    _check_methods(points, "points", "(coverage, accuracy)", "{name: (coverage, s.mean(name, 'ndcg@10').mean)}")
    checked = {str(name): numbers(point, f"points[{name!r}]") for name, point in points.items()}
    for name, point in checked.items():
        if len(point) != 2:
            raise InvalidInputError(f"points[{name!r}] must be coverage and accuracy, found {len(point)} numbers")
    ax = new_axes(ax, 7.4, 4.2)
    ax.margins(0.12)
    for index, (name, (across, up)) in enumerate(checked.items()):
        style = series_style(index) | {"linestyle": "none"}
        ax.plot([across], [up], label=name, markersize=8, **style)
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    return legend(style_axes(ax, coverage, measure, title))


def plot_popularity(
    rated: ArrayLike,
    recommended: Mapping[str, ArrayLike],
    ax: Axes | None = None,
    *,
    n_groups: int = 10,
    title: str = "",
) -> Axes:
    """Plot how popular recommended items are against how popular the items are that the same users rated.

    Parameters
    ----------
    rated : array-like of shape (n,)
        For each user the mean popularity of the rated items, a share of the users.
    recommended : mapping from str to array-like of shape (n,)
        For each method the mean popularity of each user's list, see `cofactor.metrics.user_popularities`. Users for
        whom one of the two is not known, NaN, are left out.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    n_groups : int, default=10
        Users in order of `rated` are put in so many groups of about the same size.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        Means over groups, with twice their standard errors. On the dashed line recommendations are as popular as what
        users rate; above it they are more so.

    Raises
    ------
    ValueError
        If there is no method, or numbers of users differ.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_popularity([0.1, 0.2, 0.3, 0.4], {"popularity": [0.5, 0.5, 0.4, 0.5]}, n_groups=2)
    >>> ax.get_legend_handles_labels()[1]
    ['as what users rate', 'popularity']
    """
    check_number("n_groups", n_groups, low=1, whole=True)
    _check_methods(recommended, "recommended", "the popularity of lists", "what user_popularities returns of lists")
    own = np.asarray(rated, dtype=np.float64)
    ax = new_axes(ax, 7.4, 4.6)
    highest = 0.0
    bars = []
    for name, given in recommended.items():
        values = np.asarray(given, dtype=np.float64)
        same_size(values, own, f"recommended[{name!r}]", "rated")
        known = ~(np.isnan(values) | np.isnan(own))
        if not known.any():
            raise InvalidInputError(f"recommended[{name!r}] has no user whose popularities are known")
        groups = np.array_split(np.argsort(own[known], kind="stable"), min(n_groups, int(known.sum())))
        bars.append((str(name), *_group_means(own[known], values[known], groups)))
        highest = max(highest, bars[-1][1].max(), (bars[-1][2] + bars[-1][3]).max())
    ax.plot([0, highest], [0, highest], color=MUTED, linestyle="--", linewidth=1.2, label="as what users rate")
    for index, (name, across, up, spread) in enumerate(bars):
        ax.errorbar(across, up, spread, label=name, linewidth=1.6, markersize=5, capsize=2, **series_style(index))
    ax.set_xlim(left=0)
    ax.set_ylim(bottom=0)
    return legend(
        style_axes(ax, "popularity of what users rated (share of users)", "popularity of what is recommended", title)
    )


def _check_methods(given: Any, argument: str, what: str, of_scores: str) -> None:
    """Refuse what is no mapping from method; of the scores of an evaluation say where they hold it."""
    advice = f"of the {type(given).__name__} s pass {of_scores}" if hasattr(given, "of_lists") else ""
    check_named(given, argument, what, advice=advice)


def _group_means(
    own: NDArray[np.float64], values: NDArray[np.float64], groups: list[NDArray[np.int64]]
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the means of both over groups, and twice the standard error of the second."""
    errors = [np.std(values[group], ddof=1) / np.sqrt(len(group)) if len(group) > 1 else 0.0 for group in groups]
    across, up = (np.array([part[group].mean() for group in groups]) for part in (own, values))
    return across, up, 2 * np.array(errors)


def plot_interaction_reliability(
    bins: CalibrationBins | Mapping[str, CalibrationBins], ax: Axes | None = None, *, title: str = ""
) -> Axes:
    """Plot how often users interacted with items against the probability of it, both on logarithmic axes.

    Parameters
    ----------
    bins : CalibrationBins, or mapping from str to CalibrationBins
        As `cofactor.metrics.interaction_calibration_bins` returns them; for several methods by name. Bins that are
        empty, or have no interactions, are left out: zero has no place on a logarithmic axis.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        Bars are intervals of 95 % of the observed shares.

    Raises
    ------
    ValueError
        If nothing is left to be drawn.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from cofactor.metrics import interaction_calibration_bins
    >>> bins = interaction_calibration_bins([0.1, 0.1, 0.5, 0.6], [0, 1, 1, 0], edges=[0, 0.3, 1])
    >>> ax = plot_interaction_reliability(bins)
    >>> ax.get_legend_handles_labels()[1]
    ['calibrated', 'observed']
    """
    if not isinstance(bins, CalibrationBins):
        _check_methods(bins, "bins", "CalibrationBins", "s.interactions")
    given = dict(bins) if isinstance(bins, Mapping) else {"observed": bins}
    ax = new_axes(ax, 7.4, 5.2)
    shown = {str(name): one for name, one in given.items() if (np.nan_to_num(one.observed) > 0).any()}
    if not shown:
        raise InvalidInputError("no bin has an item with an interaction: there is nothing to draw", argument="bins")
    ends = []
    for index, (name, one) in enumerate(shown.items()):
        full = (np.nan_to_num(one.observed) > 0) & (one.predicted > 0)
        low, high = (end[full] for end in share_interval(one))
        across, up = one.predicted[full], one.observed[full]
        bars = [np.maximum(up - low, 0), np.maximum(high - up, 0)]
        ax.errorbar(across, up, bars, label=name, linewidth=1.6, markersize=5, capsize=2, **series_style(index))
        ends += [across.min(), across.max(), up.min(), up.max()]
    span = [min(ends) / 1.5, min(max(ends) * 1.5, 1.0)]
    ax.plot(span, span, color=MUTED, linestyle="--", linewidth=1.2, label="calibrated", zorder=1)
    ax.set_xscale("log")
    ax.set_yscale("log")
    return legend(style_axes(ax, "predicted probability of an interaction", "share with an interaction", title))


def plot_recommendations(
    names: Sequence[str], p_interact: ArrayLike, p_like: ArrayLike, ax: Axes | None = None, *, title: str = ""
) -> Axes:
    """Plot what is recommended to a user, the best at the top, with both probabilities as bars.

    Parameters
    ----------
    names : sequence of str of length n
        Titles of the items, best first.
    p_interact, p_like : array-like of shape (n,)
        How likely the user interacts with each item next, and likes it then: rows of `Recommendations`.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        P(interact) belongs to the axis below, whose end is the highest one, and P(like) to the axis above, from 0 to 1.

    Raises
    ------
    ValueError
        If there is no item, or numbers of items differ.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_recommendations(["Alien", "Up"], [0.03, 0.02], [0.7, 0.8])
    >>> ax.get_legend_handles_labels()[1]
    ['P(interact)', 'P(like | interaction)']
    """
    chances, likes = np.ravel(p_interact), np.ravel(p_like)
    if len(names) == chances.size == likes.size:  # lists may end before n items
        there = np.array([name is not None for name in names], dtype=np.bool_)
        names, chances, likes = [name for name in names if name is not None], chances[there], likes[there]
    chances, likes = numbers(chances, "p_interact"), numbers(likes, "p_like")
    same_size(chances, likes, "p_interact", "p_like")
    if len(names) != chances.size:
        raise InvalidInputError(f"found {len(names)} names and {chances.size} probabilities: give as many of both")
    ax = new_axes(ax, 7.4, 1.4 + 0.42 * chances.size)
    places = np.arange(chances.size)
    highest = max(float(chances.max()) * 1.05, 1e-12)
    # Both are drawn on the axis below; that above says what the ends of the bars of P(like) are.
    ax.barh(places - 0.2, chances, 0.36, label="P(interact)", color=OKABE_ITO[0])
    ax.barh(places + 0.2, likes * highest, 0.36, label="P(like | interaction)", color=OKABE_ITO[1])
    ax.set_xlim(0, highest)
    ax.set_ylim(chances.size - 0.5, -0.5)
    style_axes(ax, "probability that the user interacts with the item next", "", title, grid=False)
    ax.set_yticks(places)
    name_ticks(ax.yaxis, [str(name) for name in names])
    ax.locator_params(axis="x", nbins=4)
    scaling: Any = (lambda x: x / highest, lambda x: x * highest)
    above = ax.secondary_xaxis("top", functions=scaling)
    above.set_xlabel("probability that the user likes it then", color=INK, fontsize=9)
    above.tick_params(color=MUTED, labelcolor=INK, labelsize=9)
    above.spines["top"].set_color(MUTED)
    legend(ax)
    return ax


def plot_reasons(
    reasons: Reasons,
    item: Any = None,
    ax: Axes | None = None,
    *,
    n: int = 10,
    names: Mapping[Any, str] | None = None,
    title: str = "",
) -> Axes:
    """Plot which of a user's own ratings, or interactions, raise and lower the score of an item, as horizontal bars.

    Parameters
    ----------
    reasons : Reasons
        As `explain` of models of ratings returns them.
    item : hashable, optional
        Id of the item; by default the first one that was explained.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    n : int, default=10
        Number of bars, at most 20: the largest contributions.
    names : mapping from item id to str, optional
        Titles of items; by default their ids.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        Those that raise the score most stand at the top; those that lower it are hatched. Ratings stand beside names.

    Raises
    ------
    ValueError
        If the item was not explained, or n is not from 1 to 20.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> why = ALS(n_factors=2, alpha=0.1, random_state=0).fit(X, y).explain(0, [5])
    >>> ax = plot_reasons(why, n=3, names={3: "Up"})
    >>> "why 5 for user 0" in ax.get_title(loc="left")
    True
    """
    check_number("n", n, low=1, high=_SHOWN, whole=True)
    ids = reasons.items.tolist()
    item = ids[0] if item is None else item
    if item not in ids:
        raise InvalidInputError("is none of the items that were explained", argument="item", found=item)
    values = reasons.contributions[ids.index(item)]
    drawn = np.argsort(-np.abs(values), kind="stable")[:n]
    drawn = drawn[np.argsort(-values[drawn], kind="stable")]
    called = dict(names or {})
    own, rated = reasons.own_items.tolist(), reasons.own_ratings.tolist()
    stars = [f" ({value:g})" if reasons.kind == "rating" else "" for value in rated]
    ax = new_axes(ax, 7.0, 1.4 + 0.26 * len(drawn))
    for raising, colour, hatch, what in ((True, OKABE_ITO[0], "", "raises"), (False, OKABE_ITO[1], "//", "lowers")):
        places = np.flatnonzero((values[drawn] > 0) == raising)
        if len(places):
            style: dict[str, Any] = {"color": colour, "hatch": hatch, "edgecolor": "white", "height": 0.7}
            ax.barh(places, values[drawn[places]], label=what, **style)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    head = f"why {called.get(item, item)} for user {reasons.user}"
    xlabel = "contribution to the score" if reasons.intercepts is not None else "change of the score without it"
    style_axes(ax, xlabel, "", titled(title, head), grid=False)
    name_ticks(ax.yaxis, [f"{called.get(own[k], own[k])}{stars[k]}" for k in drawn.tolist()])
    legend(ax)
    return ax
