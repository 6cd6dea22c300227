"""Pictures of models that give probabilities: how well these are calibrated, and whether the chains agree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import NotFittedError

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.metrics.catalogue import share_interval
from cofactor.metrics.probabilities import CalibrationBins, calibration_bins, label_calibration_bins
from cofactor.plots.figures import INK, MUTED, OKABE_ITO, legend, new_axes, series_style, style_axes, whole_numbers
from cofactor.samplers.diagnostics import split_r_hat

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from cofactor.samplers import Chain

#: Height of the part below the frequencies where the counts stand, as a share of that of the frequencies.
_STRIP = 0.26
_SHADE = "#EFEFEF"
_SINGLE = 3  # labels with lines of their own
_FEWEST = 4  # sweeps from which R-hat can be computed


def plot_reliability(
    y: ArrayLike,
    probabilities: ArrayLike,
    scale: ArrayLike,
    ax: Axes | None = None,
    *,
    n_bins: int = 15,
    over: str = "top",
    title: str = "",
) -> Axes:
    r"""Plot how often predictions came true against their predicted probability: a reliability diagram.

    On the diagonal, predictions come true as often as their probabilities say. Below it the probabilities are too high,
    above it too low.

    Parameters
    ----------
    y : array-like of shape (n,)
        True ratings.
    probabilities : array-like of shape (n, R)
        Probability of every level, as `predict_proba` returns them.
    scale : array-like of shape (R,)
        The increasing levels.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    n_bins : int, default=15
        Number of bins of equal width.
    over : {"top", "all"}, default="top"
        Which predictions are counted: the most probable level of each rating, or every level of each rating.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One point for each bin that is not empty, at its mean probability and its frequency, with Wilson's interval of
        95 %. Bars and numbers below show how many predictions each bin has; the bars have a logarithmic scale. The
        legend gives the expected calibration error.

    Raises
    ------
    ValueError
        If y, probabilities and scale do not fit together, or a setting is unknown.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As in Guo, Pleiss, Sun & Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> p = [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.2, 0.8]]
    >>> ax = plot_reliability([1, 1, 2, 1], p, scale=[1, 2])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['calibrated', 'most probable level: ECE 0.050']
    """
    bins = calibration_bins(y, probabilities, scale, n_bins=n_bins, over=over)
    ax = _diagonal(ax)
    what = "most probable level" if over == "top" else "all levels"
    _draw_frequencies(ax, bins, f"{what}: ECE {bins.error:.3f}")
    return _finished(ax, title)


def plot_label_reliability(
    Y: Any,
    probabilities: ArrayLike,
    ax: Axes | None = None,
    *,
    labels: Sequence[int | str] | None = None,
    names: Sequence[Any] | None = None,
    n_bins: int = 10,
    title: str = "",
) -> Axes:
    """Plot how often predicted labels came true against their probability: all labels together, and single ones.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        True labels: booleans, 0 and 1, or -1 and 1; NaN where a label is not known.
    probabilities : array-like of shape (n, L)
        Probability of each label, as `predict_proba` returns them.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    labels : sequence of int or str, optional
        Labels that get lines of their own, as columns or by some of `names`; by default the three with the largest
        calibration error.
    names : sequence of length L, optional
        Names of the labels, for the legend; by default their numbers.
    n_bins : int, default=10
        Number of bins of equal width.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        As of `plot_reliability`; the bars and the intervals are those of all labels together.

    Raises
    ------
    InvalidInputError
        If Y and probabilities do not fit together, or there is no such label.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_label_reliability([[1, 0], [1, 0]], [[0.8, 0.2], [0.8, 0.1]], names=["rock", "pop"], labels=[1])
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['calibrated', 'pop: ECE 0.150', 'all labels: ECE 0.175']
    """
    pooled = label_calibration_bins(Y, probabilities, n_bins=n_bins)
    L = np.shape(probabilities)[1]
    if names is not None and len(names) != L:
        raise InvalidInputError(f"there are {len(names)} names for {L} labels", argument="names")
    if labels is None:
        errors = [label_calibration_bins(Y, probabilities, k, n_bins=n_bins).error for k in range(L)]
        labels = np.argsort(errors, kind="stable")[::-1][:_SINGLE].tolist() if L > 1 else []
    columns = [_column(label, names, L) for label in labels]
    ax = _diagonal(ax)
    for index, label in enumerate(columns):
        bins = label_calibration_bins(Y, probabilities, label, n_bins=n_bins)
        full = bins.counts > 0
        name = label if names is None else names[label]
        style = series_style(index + 1) | {"markersize": 4, "linewidth": 1.0}
        ax.plot(bins.predicted[full], bins.observed[full], label=f"{name}: ECE {bins.error:.3f}", **style)
    _draw_frequencies(ax, pooled, f"all labels: ECE {pooled.error:.3f}")
    return _finished(ax, title)


def _column(label: int | str, names: Sequence[Any] | None, L: int) -> int:
    """Return the column of a label, which may be given by its name."""
    known = [] if names is None else list(names)
    if isinstance(label, str) and label in known:
        return known.index(label)
    if isinstance(label, str) or not 0 <= label < L:
        by_name = ", or some of names" if names is not None else "; names says how they are called"
        raise InvalidInputError(f"expected columns from 0 to {L - 1}{by_name}", argument="labels", found=label)
    return int(label)


def _diagonal(ax: Axes | None) -> Axes:
    """Return the axes, new ones if there are none, with the line of calibrated predictions."""
    ax = new_axes(ax, 7.4, 5.2)
    ax.plot([0, 1], [0, 1], color=MUTED, linestyle="--", linewidth=1.2, label="calibrated")
    return ax


def _draw_frequencies(ax: Axes, bins: CalibrationBins, label: str) -> None:
    """Draw observed frequencies with their intervals, and the counts below."""
    full = bins.counts > 0
    across, height = bins.predicted[full], bins.observed[full]
    low, high = (end[full] for end in share_interval(bins))
    # A share of 0 or 1 is itself an end of the interval; rounding must not put the end on its other side.
    bars = [np.maximum(height - low, 0), np.maximum(high - height, 0)]
    look: dict[str, Any] = {"color": OKABE_ITO[0], "marker": "o", "markersize": 5, "linewidth": 1.6}
    ax.errorbar(across, height, bars, elinewidth=1, capsize=2, label=label, **look)
    _draw_counts(ax, bins)


def _finished(ax: Axes, title: str) -> Axes:
    """Set the limits and the texts of a reliability diagram."""
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-_STRIP - 0.02, 1.02)
    ticks = np.linspace(0, 1, 6)
    ax.set_xticks(ticks)
    ax.set_yticks(ticks)
    return legend(style_axes(ax, "predicted probability (below: number of predictions)", "observed frequency", title))


def _draw_counts(ax: Axes, bins: CalibrationBins) -> None:
    """Draw bars and numbers below the line of frequency 0."""
    width = 1 / len(bins.counts)
    logs = np.log1p(bins.counts)
    heights = 0.6 * _STRIP * logs / logs.max()
    ax.bar(bins.edges[:-1], heights, width, bottom=-_STRIP, align="edge", color="#C9C9C9", edgecolor="white")
    ax.axhline(0, color=MUTED, linewidth=0.8)
    if len(bins.counts) > 20:
        return
    for left, height, count in zip(bins.edges, heights, bins.counts, strict=False):
        if count:
            at = (left + width / 2, height - _STRIP)
            above: dict[str, Any] = {"xytext": (0, 1.5), "textcoords": "offset points"}
            ax.annotate(_short(int(count)), at, ha="center", va="bottom", fontsize=6.5, color=INK, **above)


def _short(count: int) -> str:
    """Write a count in about three characters: 950, 9.5k, 95k."""
    for size, letter in ((10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.{1 if count < 10 * size else 0}f}{letter}"
    return str(count)


def plot_trace(model: Any, ax: Axes | None = None, *, title: str = "") -> Axes:
    """Plot the log-likelihood after every sweep of each chain of a model drawn from its posterior.

    Chains that agree look like one band of noise without a trend after the end of burn-in.

    Parameters
    ----------
    model : SampledModel
        A fitted model with chains, such as `OrdinalProbit`.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line per chain; burn-in is shaded. For several chains the legend gives the rank-normalized split R-hat of
        the log-likelihood after burn-in: above 1.01 they do not agree yet. The steep rise of the first sweeps is cut
        off: next to it, all later changes would look flat.

    Raises
    ------
    TypeError, ValueError
        If the model has no chains.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> from cofactor.samplers import Chain
    >>> chains = [Chain(0, 1, log_likelihood=[-90.0, -50, -41, -43, -40, -42])]
    >>> ax = plot_trace(SimpleNamespace(chains_=chains, burn_in=2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['burn-in', 'chain 1']
    """
    chains = _checked_chains(model)
    burn_in = min(model.burn_in, *(chain.n_sweeps for chain in chains))
    ax = new_axes(ax)
    if burn_in:
        ax.axvspan(0.5, burn_in + 0.5, color=_SHADE, linewidth=0, label="burn-in", zorder=0)
    for index, chain in enumerate(chains):
        style = series_style(index) | {"markevery": [chain.n_sweeps - 1], "markersize": 5, "linewidth": 1.1}
        ax.plot(np.arange(1, chain.n_sweeps + 1), chain.log_likelihood, label=f"chain {chain.number + 1}", **style)
    shown = np.concatenate([chain.log_likelihood[burn_in // 4 :] for chain in chains])
    margin = 0.06 * (np.ptp(shown) or 1)
    ax.set_ylim(shown.min() - margin, shown.max() + margin)
    ax.set_xlim(0.5, max(chain.n_sweeps for chain in chains) + 0.5)
    whole_numbers(ax)
    ax.yaxis.set_major_formatter("{x:,.6g}")
    return legend(style_axes(ax, "sweeps", "log-likelihood", title), _agreement(chains, burn_in))


def _checked_chains(model: Any) -> list[Chain]:
    chains: list[Chain] | None = getattr(model, "chains_", None)
    if chains is None and hasattr(model, "n_chains"):
        raise NotFittedError(f"this {type(model).__name__} is not fitted yet, or its fit ended before the first sample")
    if chains is None:
        raise InvalidTypeError(
            "model must be a fitted one that is drawn from its posterior by chains, such as OrdinalProbit, "
            f"found {type(model).__name__}",
            argument="model",
        )
    if not chains:
        raise InvalidInputError(
            "model has no chains: fold_in, and save with n_samples, leave them out; plot the fitted one",
            argument="model",
        )
    return chains


def _agreement(chains: list[Chain], burn_in: int) -> str | None:
    """Return what R-hat says of several chains after burn-in."""
    n = min(chain.n_sweeps for chain in chains) - burn_in
    if len(chains) < 2 or n < _FEWEST:
        return None
    return f"R-hat {split_r_hat([chain.log_likelihood[burn_in : burn_in + n] for chain in chains]):.2f}"
