"""Curves: objectives, errors along alpha, costs, a measure over parameters, and how a user drifts in time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_choice
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.plots.figures import (
    BLANK,
    INK,
    MARKERS,
    MUTED,
    OKABE_ITO,
    as_floats,
    check_named,
    colour_bar,
    legend,
    name_ticks,
    new_axes,
    numbers,
    readable_on,
    same_size,
    series,
    series_style,
    style_axes,
    titled,
    whole_numbers,
)
from cofactor.text import plural, without_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_convergence(
    histories: Mapping[str, tuple[ArrayLike, ArrayLike]],
    ax: Axes | None = None,
    *,
    x: Literal["seconds", "iterations"] = "seconds",
    gap: bool = False,
    title: str = "",
) -> Axes:
    """Plot the objective of one or several solvers against time or iterations.

    Parameters
    ----------
    histories : mapping of str to (seconds, objective)
        For each solver or starting point, two sequences: the seconds since the start, and the objective, both at the
        start and after every iteration. These are ``(result.seconds, result.history)`` of a solver's result.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    x : {"seconds", "iterations"}, default="seconds"
        The horizontal axis.
    gap : bool, default=False
        Whether to plot the objective minus the lowest value that any of the solvers reached, on a logarithmic axis:
        this shows the rate of convergence. The lowest value itself has no place on such an axis.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line per solver, with a marker where it stopped.

    Raises
    ------
    TypeError, ValueError
        If a history is not a pair of equally long, finite sequences, or `x` is neither of the two.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figures 3.4 and 3.7 of V. Kumar's thesis on maximum-margin matrix factorization.

    Examples
    --------
    >>> seconds, objective = [0.0, 0.1, 0.2], [90.0, 40.0, 35.0]
    >>> ax = plot_convergence({"L-BFGS": (seconds, objective)}, x="iterations")
    >>> ax.get_xlabel(), ax.lines[0].get_xydata().tolist()
    ('iterations', [[0.0, 90.0], [1.0, 40.0], [2.0, 35.0]])
    """
    check_choice("x", x, ("seconds", "iterations"))
    checked = list(series(histories, "histories", ("seconds", "objective")))
    lowest = min(float(objective.min()) for _, _, objective in checked)
    ax = new_axes(ax)
    for index, (label, seconds, objective) in enumerate(checked):
        across = seconds if x == "seconds" else np.arange(len(objective), dtype=np.float64)
        height = objective
        if gap:
            height = np.where(objective > lowest, objective - lowest, np.nan)
        drawn = np.flatnonzero(np.isfinite(height))
        style = series_style(index) | {"linewidth": 1.8, "markersize": 5, "markevery": drawn[-1:].tolist()}
        ax.plot(across, height, label=label, **style)
    if gap:
        ax.set_yscale("log")
    else:
        ax.yaxis.set_major_formatter("{x:,.6g}")
    if x == "iterations":
        whole_numbers(ax)
    objective_name = f"objective J − {lowest:,.6g}, the lowest seen" if gap else "objective J"
    return legend(style_axes(ax, "time (seconds)" if x == "seconds" else "iterations", objective_name, title))


def plot_likelihood(histories: Mapping[str, ArrayLike], ax: Axes | None = None, *, title: str = "") -> Axes:
    """Plot the log-likelihoods of one or several models along their training.

    Parameters
    ----------
    histories : mapping of str to array-like
        For each model its objective at the start and after every iteration, as the ``history_`` of conditional random
        fields: the negative log-likelihood of the training instances, and the penalties. (That of Gibbs sampling is
        another loss, of held-out instances.)
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line per model, the log-likelihood less the penalties, with a marker where it stopped; the legend says where
        that is.

    Raises
    ------
    TypeError, ValueError
        If a history is not a sequence of finite numbers.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_likelihood({"CML": [90.0, 40.0, 35.0], "TreeCRF": [90.0, 50.0]})
    >>> ax.lines[0].get_xydata().tolist()
    [[0.0, -90.0], [1.0, -40.0], [2.0, -35.0]]
    >>> ax.get_legend().get_texts()[1].get_text()
    'TreeCRF: -50 after 1 iteration'
    """
    check_named(histories, "histories", "a history")
    checked = {str(name): numbers(values, f"histories[{name!r}]") for name, values in histories.items()}
    ax = new_axes(ax)
    for index, (name, values) in enumerate(checked.items()):
        n_iter = len(values) - 1
        words = f"{name}: {-values[-1]:,.6g} after {plural(n_iter, 'iteration')}"
        style = series_style(index)
        ax.plot(np.arange(len(values)), -values, label=words, linewidth=1.8, markersize=5, markevery=[n_iter], **style)
    ax.yaxis.set_major_formatter("{x:,.6g}")
    whole_numbers(ax)
    return legend(style_axes(ax, "iterations", "log-likelihood less penalties", title))


def plot_tradeoff(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    ax: Axes | None = None,
    *,
    error: str = "MAE",
    title: str = "",
) -> Axes:
    """Plot test error against training error along alpha, for one or several methods.

    A method whose curve lies lower generalises better at the same training error.

    Parameters
    ----------
    curves : mapping of str to (train_error, test_error)
        For each method, the two errors for every alpha, in the order of alpha.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    error : str, default="MAE"
        Name of the error, with its unit if it has one: for the labels of the axes.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line per method; a ring marks its lowest test error.

    Raises
    ------
    TypeError, ValueError
        If a curve is not a pair of equally long, finite sequences.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figures 3.12 and 4.2 of V. Kumar's thesis on maximum-margin matrix factorization.

    Examples
    --------
    >>> ax = plot_tradeoff({"MMMF": ([0.1, 0.3, 0.5], [0.74, 0.70, 0.72])}, error="MAE (stars)")
    >>> ax.get_ylabel()
    'test MAE (stars)'
    """
    checked = list(series(curves, "curves", ("train_error", "test_error")))
    ring: dict[str, Any] = {"linestyle": "none", "marker": "o", "markerfacecolor": "none"}
    ax = new_axes(ax)
    for index, (label, train, test) in enumerate(checked):
        style = series_style(index)
        ax.plot(train, test, label=label, linewidth=1.6, markersize=5, **style)
        best = int(np.argmin(test))
        ax.plot(train[best], test[best], markersize=12, markeredgewidth=1.4, color=style["color"], **ring)
    # An entry of its own, so that the legend says what the rings are.
    ax.plot([], [], markersize=10, color=MUTED, label="lowest test error", **ring)
    return legend(style_axes(ax, f"training {error}", f"test {error}", title))


def plot_validation(
    alphas: ArrayLike,
    scores_mean: ArrayLike,
    scores_std: ArrayLike | None,
    best: float,
    ax: Axes | None = None,
    *,
    score: str = "zero-one error",
    parameter: str = "alpha",
    title: str = "",
) -> Axes:
    """Plot the validation error along alpha, with its spread and the chosen alpha.

    Parameters
    ----------
    alphas : array-like of shape (n,)
        The values that were tried, in any order.
    scores_mean : array-like of shape (n,)
        Mean validation error for each of them.
    scores_std : array-like of shape (n,) or None
        Standard deviation over the repetitions, drawn as a band; None where there was only one.
    best : float
        The chosen alpha, marked by a vertical line.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    score : str, default="zero-one error"
        Name of the error, with its unit if it has one: for the label of the axis.
    parameter : str, default="alpha"
        What the weight of the penalty is called.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        The horizontal axis is logarithmic. The title gives the chosen alpha.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not equally long and finite, an alpha is not positive, or a deviation is negative.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figures 3.9 and 3.10 of V. Kumar's thesis on maximum-margin matrix factorization.

    Examples
    --------
    >>> ax = plot_validation([1, 10, 100], [0.31, 0.27, 0.35], [0.01, 0.01, 0.02], best=10)
    >>> ax.get_xscale(), ax.get_title(loc="left")
    ('log', 'chosen alpha = 10')
    """
    across = numbers(alphas, "alphas", positive=True)
    mean = numbers(scores_mean, "scores_mean")
    same_size(across, mean, "alphas", "scores_mean")
    spread = None if scores_std is None else numbers(scores_std, "scores_std")
    if spread is not None:
        same_size(across, spread, "alphas", "scores_std")
        if spread.min() < 0:
            raise InvalidInputError(f"scores_std must not be negative, found {spread.min()}", argument="scores_std")
    chosen = float(numbers([best], "best", positive=True)[0])
    order = np.argsort(across, kind="stable")
    ax = new_axes(ax)
    ax.set_xscale("log")
    style: dict[str, Any] = {"color": OKABE_ITO[0]}
    if spread is not None:
        low, high = (mean - spread)[order], (mean + spread)[order]
        ax.fill_between(across[order], low, high, alpha=0.2, linewidth=0, label="± one standard deviation", **style)
    ax.plot(across[order], mean[order], marker="o", markersize=4, linewidth=1.6, label="mean", **style)
    ax.axvline(chosen, color=OKABE_ITO[1], linestyle="--", linewidth=1.4, label=f"chosen {parameter}")
    _plain_ticks(ax.xaxis, across)
    words = f"chosen {parameter} = {chosen:.4g}"
    return legend(style_axes(ax, f"{parameter} (weight of the penalty)", f"validation {score}", titled(title, words)))


def plot_scaling(
    sizes: ArrayLike,
    seconds: ArrayLike | Mapping[str, ArrayLike],
    ax: Axes | None = None,
    slope: float = 1.0,
    *,
    size: str = "number of ratings",
) -> Axes:
    r"""Plot seconds against size on logarithmic axes, with a line of reference slope.

    The slope of a series is that of the least-squares line through :math:`(\log n, \log t)`: 1 means that the
    cost is linear.

    Parameters
    ----------
    sizes : array-like of shape (n,)
        The sizes, at least two different ones.
    seconds : array-like of shape (n,) or mapping of str to such
        Seconds for each size; a mapping for several methods.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    slope : float, default=1.0
        Slope of the reference line, which passes through the middle of the first series.
    size : str, default="number of ratings"
        What the sizes count: for the label of the axis.

    Returns
    -------
    matplotlib Axes
        One line per method, whose measured slope stands in the legend, and the reference line.

    Raises
    ------
    TypeError, ValueError
        If the arrays are not equally long and positive, or all sizes are equal.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_scaling([1e5, 2e5, 4e5], {"HMF": [0.5, 1.0, 2.0]})
    >>> ax.get_legend_handles_labels()[1]
    ['HMF (slope 1.00)', 'slope 1']
    """
    across = numbers(sizes, "sizes", positive=True)
    if across.min() == across.max():
        raise InvalidInputError(
            f"sizes must hold at least two different sizes, found only {across[0]:g}", argument="sizes"
        )
    reference = float(numbers([slope], "slope")[0])
    order = np.argsort(across, kind="stable")
    drawn = {label: values[order] for label, values in _timings(seconds, across)}
    across = across[order]
    ax = new_axes(ax)
    ax.set_xscale("log")
    ax.set_yscale("log")
    for index, (label, values) in enumerate(drawn.items()):
        measured = np.polyfit(np.log(across), np.log(values), 1)[0]
        words = f"{label} (slope {measured:.2f})"
        ax.plot(across, values, linewidth=1.6, markersize=6, label=words, **series_style(index))
    first = next(iter(drawn.values()))
    middle = np.exp(np.log(across).mean()), np.exp(np.log(first).mean())
    ends = across[[0, -1]]
    line = middle[1] * (ends / middle[0]) ** reference
    look: dict[str, Any] = {"color": "#DADADA", "linewidth": 7, "solid_capstyle": "round", "zorder": 1}
    ax.plot(ends, line, label=f"slope {reference:g}", **look)
    _plain_ticks(ax.xaxis, across, at_values=True)
    _plain_ticks(ax.yaxis, np.concatenate(list(drawn.values())))
    return legend(style_axes(ax, size, "time (seconds)"))


def _timings(
    seconds: ArrayLike | Mapping[str, ArrayLike], sizes: NDArray[np.float64]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    """Yield label and seconds of each method, checked."""
    timed = seconds if isinstance(seconds, Mapping) else {"measured": seconds}
    check_named(timed, "seconds", "its seconds")
    for label, values in timed.items():
        name = f"seconds[{label!r}]" if isinstance(seconds, Mapping) else "seconds"
        checked = numbers(values, name, positive=True)
        same_size(sizes, checked, "sizes", name)
        yield str(label), checked


def _plain_ticks(axis: Any, values: NDArray[np.float64], *, at_values: bool = False) -> None:
    """Write 0.5, 20, 100k on a logarithmic axis.

    With `at_values`, ticks stand at the values themselves, if these are few and far enough apart. Otherwise they stand
    at powers of ten, and in a narrow range also at twice and five times these.
    """
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullFormatter, NullLocator

    decades = np.log10(values.max() / values.min())
    steps = (1.0, 2.0, 5.0) if decades < 3 else (1.0,)
    distinct = np.unique(values)
    if at_values and len(distinct) <= 8 and np.diff(np.log10(distinct)).min() >= decades / 14:
        axis.set_major_locator(FixedLocator(distinct.tolist()))
        axis.set_minor_locator(NullLocator())
    else:
        axis.set_major_locator(LogLocator(base=10, subs=steps, numticks=15))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    axis.set_minor_formatter(NullFormatter())


def _short(value: float) -> str:
    """Write a number with a suffix for its size: 20, 100k, 2.5M."""
    for factor, suffix in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= factor:
            return f"{value / factor:g}{suffix}"
    return f"{value:g}"


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
    style_axes(ax, column_name, row_name, title, grid=False)
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
    return legend(style_axes(ax, parameter, measure, title))


def _word(value: Any) -> str:
    return f"{value:g}" if isinstance(value, int | float) else str(value)


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
    return legend(style_axes(ax, f"{unit} since the first rating", "drift of the score", title))


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
    return legend(style_axes(ax, "time", "standard deviation", title), "processes of the drift")


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
