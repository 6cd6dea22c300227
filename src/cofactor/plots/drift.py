"""Pictures of models that know time: how a user drifts, and how fast drift comes and goes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.plots.figures import INK, MARKERS, MUTED, OKABE_ITO, legend, new_axes, tidy

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_POINTS = 500  # of the curve, besides the moments
_MARGIN = 0.06  # shown before the first rating and after the last, as a share of the time between
_WIDE = 1.96  # standard deviations to each side for 95 %

#: Units of time and their seconds, from short to long.
_UNITS = (("s", 1.0), ("min", 60.0), ("h", 3600.0), ("days", 86400.0), ("years", 365.25 * 86400.0))


def plot_drift(model: Any, user: Any, ax: Axes | None = None, *, title: str = "") -> Axes:
    r"""Plot how the scores of a user drift with time, with a band of 95 %.

    Parameters
    ----------
    model : OrdinalProbit
        Fitted with ``time=True``.
    user : hashable
        Id of a user with ratings.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        The posterior mean of :math:`s_i(t)` in units of the noise of a rating, and 1.96 posterior standard deviations
        to each side. Strokes at the bottom are the moments when the user rated.

    Raises
    ------
    TypeError, ValueError
        If the model does not know time, or the user, or no ratings of theirs.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from cofactor.ratings import OrdinalProbit
    >>> X, y = [(u, i) for u in range(4) for i in range(5)], [1, 2, 3, 3, 1] * 4
    >>> model = OrdinalProbit(1, implicit=None, time=True, n_sweeps=8, burn_in=4, random_state=0)
    >>> ax = plot_drift(model.fit(X, y, time=[60 * k for k in range(20)]), user=2)
    >>> ax.get_xlabel()
    'min since the first rating'
    """
    past = _past(model)
    row = int(model.users_.index([user])[0])
    seconds = past.seconds[past.indptr[row] : past.indptr[row + 1]] if row >= 0 else np.zeros(0)
    if not seconds.size:
        raise InvalidInputError(f"user {user!r} has no ratings in this model", argument="user")
    first, span = seconds[0], max(seconds[-1] - seconds[0], 1.0)
    times = np.union1d(seconds, np.linspace(first - _MARGIN * span, seconds[-1] + _MARGIN * span, _POINTS))
    mean, deviation = model.drift([user] * len(times), times)
    unit, size = _unit(span)
    across = (times - first) / size
    ax = new_axes(ax)
    low, high = mean - _WIDE * deviation, mean + _WIDE * deviation
    ax.fill_between(across, low, high, color=OKABE_ITO[0], alpha=0.2, linewidth=0, label="95 %")
    ax.plot(across, mean, color=OKABE_ITO[0], linewidth=1.4, label="posterior mean")
    ax.axhline(0, color=MUTED, linewidth=0.8)
    bottom = low.min() - 0.08 * (high.max() - low.min())
    ax.plot((seconds - first) / size, np.full(seconds.size, bottom), "|", color=INK, markersize=7, label="ratings")
    return legend(tidy(ax, f"{unit} since the first rating", "drift of the score", title))


def plot_drift_times(model: Any, ax: Axes | None = None, *, title: str = "") -> Axes:
    r"""Plot how long each process of the drift lasts, and how far it goes: their posterior.

    Parameters
    ----------
    model : OrdinalProbit
        Fitted with ``time=True``.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        For each process a cloud of one point for each sample: its time :math:`\ell_k`, after which the correlation has
        fallen to 1/e, and its standard deviation :math:`\sigma_k`. Crosses are the medians; the legend gives those of
        the times, with 95 % intervals.

    Raises
    ------
    TypeError, ValueError
        If the model does not know time.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from types import SimpleNamespace
    >>> samples = {"drift_time": [[20.0, 3600, 86400 * 50]], "drift_scale": [[0.4, 0.3, 0.2]]}
    >>> ax = plot_drift_times(SimpleNamespace(past_=True, samples_=samples))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['20 s (20 s to 20 s)', '60 min (60 min to 60 min)', '50 days (50 days to 50 days)']
    """
    _past(model)
    times, scales = (np.asarray(model.samples_[f"drift_{name}"], dtype=np.float64) for name in ("time", "scale"))
    ax = new_axes(ax)
    for k, (own, sigma) in enumerate(zip(times.T, scales.T, strict=True)):
        low, middle, high = (_duration(value) for value in np.quantile(own, [0.025, 0.5, 0.975]))
        style: dict[str, Any] = {"color": OKABE_ITO[k], "marker": MARKERS[k], "linestyle": "none"}
        label = f"{middle} ({low} to {high})"
        ax.plot(own, sigma, markersize=4, markeredgewidth=0, alpha=0.35, label=label, **style)
        ax.plot(np.median(own), np.median(sigma), "+", color=INK, markersize=9, markeredgewidth=1.4)
    ax.set_xscale("log")
    ax.set_xticks([size for _, size in _UNITS], [f"1 {unit.removesuffix('s') or unit}" for unit, _ in _UNITS])
    ax.minorticks_off()
    low, high = min(times.min(), 1.0), max(times.max(), _UNITS[-1][1])
    ax.set_xlim(low / 1.5, 1.5 * high)
    ax.set_ylim(0, 1.1 * scales.max())
    return legend(tidy(ax, "time", "standard deviation", title), "processes of the drift")


def _past(model: Any) -> Any:
    """Return when users of a model rated; refuse a model that does not know."""
    if hasattr(model, "time"):
        check_is_fitted(model)
    if not hasattr(model, "past_"):
        raise InvalidTypeError(
            f"model must be a fitted OrdinalProbit(time=True), found {type(model).__name__}", argument="model"
        )
    if model.past_ is None:
        raise InvalidInputError("model does not know time: fit it with time=True", argument="model")
    return model.past_


def _unit(seconds: float) -> tuple[str, float]:
    """Return the largest unit of which there are at least one and a half."""
    return next(((unit, size) for unit, size in reversed(_UNITS) if seconds >= 1.5 * size), _UNITS[0])


def _duration(seconds: float) -> str:
    """Write a time in two digits or more.

    Examples
    --------
    >>> _duration(18.2), _duration(1400), _duration(5e6)
    ('18 s', '23 min', '58 days')
    """
    unit, size = _unit(seconds)
    number = seconds / size
    return f"{number:.{0 if number >= 10 else 1}f} {unit}"
