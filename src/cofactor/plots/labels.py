"""Pictures of label models: which labels go together, which factors they use, and where scores are cut."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import check_choice
from cofactor.errors import InvalidInputError
from cofactor.metrics.tables import as_label_sets, check_same_shape
from cofactor.pages import Html, table
from cofactor.plots.figures import (
    BLANK,
    INK,
    MUTED,
    OKABE_ITO,
    as_names,
    colour_bar,
    legend,
    matrix,
    name_ticks,
    new_axes,
    numbers,
    series,
    series_style,
    style_axes,
    titled,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 40  # up to this number of labels, their names stand at the axes
_BARS = 20  # labels of an instance
_LONGEST = 22  # letters of a name


def plot_cooccurrence(
    Y: Any,
    groups: ArrayLike | None = None,
    ax: Axes | None = None,
    *,
    order: ArrayLike | None = None,
    names: Sequence[Any] | None = None,
    title: str = "",
) -> Axes:
    """Plot how much the rows of each pair of labels overlap, in the given order or sorted by group.

    Two such pictures, one without and one with `groups`, show what a clustering of the labels has found: squares along
    the diagonal.

    Parameters
    ----------
    Y : array-like or sparse matrix of shape (n, L)
        Labels: booleans, 0 and 1, or -1 and 1.
    groups : array-like of shape (L,), optional
        Group of each label, any numbers (`GroPLE.groups_`): labels of a group stand together, within a frame.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    order : array-like of shape (L,), optional
        The labels in the order in which to draw them; by default in the order of the columns, or by group.
    names : sequence of length L, optional
        Names of the labels, written where there are at most 40.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        The colour of cell (k, l) is the Jaccard index of two labels (`cofactor.correlation.jaccard`): the number of
        rows with both, divided by the number of rows with at least one. The colour scale is a square root, up to the
        largest index off the diagonal, which is left blank. With groups the title gives the means within and between
        groups.

    Raises
    ------
    ValueError
        If `groups`, `order` or `names` do not fit the labels.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_cooccurrence([[1, 0, 1], [1, 0, 1], [0, 1, 0]], groups=[0, 1, 0])
    >>> ax.images[0].get_array().tolist()
    [[None, 1.0, 0.0], [1.0, None, 0.0], [0.0, 0.0, None]]
    """
    from cofactor.correlation import jaccard  # heavy: only where it is used

    overlap = jaccard(as_label_sets(Y))
    n_labels = len(overlap)
    of_label = None if groups is None else _one_per_label(groups, "groups", n_labels)
    return draw_pairs(
        ax, overlap, of_label, _placed(order, of_label, n_labels), names, "overlap of their rows (Jaccard index)", title
    )


def draw_pairs(
    ax: Axes | None,
    table: NDArray[np.float64],
    groups: NDArray[Any] | None,
    placed: NDArray[np.int64],
    names: Sequence[Any] | None,
    measure: str,
    title: str,
) -> Axes:
    """Draw a number for each pair of labels, in the order in which these are placed, perhaps with frames of groups."""
    n_labels = len(table)
    side = 6.0 if n_labels <= _NAMED else 5.0
    ax = new_axes(ax, side + 1.4, side)
    _heat(ax, np.ma.masked_array(table, np.eye(n_labels, dtype=bool))[np.ix_(placed, placed)], measure)
    words = ""
    if groups is not None:
        _frame_runs(ax, groups[placed])
        words = _within_and_between(table, groups)
    style_axes(ax, "label", "label", title=titled(title, words), grid=False)
    _name_labels(ax, names, placed, both=True)
    ax.spines[:].set_visible(False)
    return ax


def plot_group_sparsity(
    V: ArrayLike,
    groups: ArrayLike,
    ax: Axes | None = None,
    *,
    names: Sequence[Any] | None = None,
    title: str = "",
) -> Axes:
    r"""Plot which labels use which latent factor, labels sorted by group.

    With the penalty :math:`\sum_k \|V^k\|_{2,1}`, whole rows of the part :math:`V^k` of a group are zero: these are
    the factors that the group does not use.

    Parameters
    ----------
    V : array-like of shape (d, L)
        Latent factors of the labels (`GroPLE.V_`).
    groups : array-like of shape (L,)
        Group of each column of V, any numbers. `GroPLE.groups_` also has a -1 for each label that was constant in
        training; V has no columns for these labels, and they are left out.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    names : sequence, optional
        Names of the labels, one for each of `groups`, written where there are at most 40.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        The colour of a cell is :math:`|V_{jl}|`, on a square-root scale, blank where it is 0. Factors are sorted by
        the group that uses them most. The title gives the share of (group, factor) pairs that are zero.

    Raises
    ------
    TypeError, ValueError
        If V is not a matrix of finite numbers, or `groups` or `names` do not fit it.
    ImportError
        If matplotlib is not installed.

    References
    ----------
    As figure 6.1 of V. Kumar's thesis.

    Examples
    --------
    >>> ax = plot_group_sparsity([[1.0, 2.0, 0.0], [0.0, 0.0, 3.0]], groups=[0, 0, 1])
    >>> ax.get_title(loc="left")
    '50 % of the rows of groups are zero'
    """
    factors = matrix(V, "V")
    found = np.asarray(groups)
    if found.ndim == 1 and len(found) > factors.shape[1] == np.count_nonzero(found != -1):
        kept = np.flatnonzero(found != -1)
        if names is not None:
            names = _one_per_label(np.array(names, dtype=object), "names", len(found))[kept].tolist()
        found = found[kept]
    of_label = _one_per_label(found, "groups", factors.shape[1])
    kinds = np.unique(of_label)
    lengths = np.stack([np.linalg.norm(factors[:, of_label == kind], axis=1) for kind in kinds])
    rows = np.lexsort((-lengths.max(axis=0), lengths.argmax(axis=0)))
    placed = _placed(None, of_label, factors.shape[1])
    ax = new_axes(ax, 6.6, 4.8)
    sizes = np.abs(factors[np.ix_(rows, placed)])
    _heat(ax, np.ma.masked_equal(sizes, 0), label="size of the entry of V, |V|", aspect="auto")
    for edge in np.flatnonzero(np.diff(np.searchsorted(kinds, of_label[placed]))):
        ax.axvline(edge + 0.5, color=INK, linewidth=1.0)
    words = f"{100 * np.mean(lengths == 0):.0f} % of the rows of groups are zero"
    style_axes(ax, "label, by group", "latent factor", title=titled(title, words), grid=False)
    ax.set_yticks([])
    _name_labels(ax, names, placed, both=False)
    return ax


def plot_threshold_curves(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    learned: Mapping[str, float] | None = None,
    ax: Axes | None = None,
    *,
    measure: str = "micro-F1",
    title: str = "",
) -> Axes:
    """Plot a measure against the cut of the scores, with the plain cut at 0 and the learned one.

    Parameters
    ----------
    curves : mapping of str to (cuts, values)
        For each method, or part of the data, the cuts and the measure at each (`cofactor.labels.micro_f1_curve`).
    learned : mapping of str to float, optional
        The cut that was learned for some of the names.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    measure : str, default="micro-F1"
        What is plotted.
    title : str, default=""
        Title of the picture.

    Returns
    -------
    matplotlib Axes
        One line for each name. A dotted line marks the plain cut, a large marker each learned cut; the legend gives
        the measure at the plain and at the learned cut, interpolated.

    Raises
    ------
    TypeError, ValueError
        If a curve is not a pair of equally long, finite sequences, or a learned cut belongs to none of the names.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_threshold_curves({"PLST": ([-0.2, -0.1, 0.0], [0.5, 0.7, 0.6])}, {"PLST": -0.1})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['PLST: 0.600 at 0, 0.700 at -0.1', 'plain cut']
    """
    cuts_of = dict(learned or {})
    checked = list(series(curves, "curves", ("cuts", "values")))
    unknown = set(cuts_of) - {label for label, _, _ in checked}
    if unknown:
        raise InvalidInputError(
            f"learned has a cut for {sorted(unknown)[0]!r}, which is none of the curves", argument="learned"
        )
    ax = new_axes(ax)
    for index, (label, cuts, values) in enumerate(checked):
        order = np.argsort(cuts, kind="stable")
        x, y = cuts[order], values[order]
        style = series_style(index)
        words = f"{label}: {np.interp(0.0, x, y):.3f} at 0"
        if label in cuts_of:
            cut = float(numbers([cuts_of[label]], f"learned[{label!r}]")[0])
            height = float(np.interp(cut, x, y))
            words += f", {height:.3f} at {cut:.3g}"
            ax.plot([cut], [height], markersize=9, markeredgecolor="white", zorder=4, **{**style, "linestyle": ""})
        ax.plot(x, y, label=words, linewidth=1.8, color=style["color"], linestyle=style["linestyle"])
    ax.axvline(0, color=MUTED, linewidth=1.2, linestyle=":", label="plain cut")
    return legend(style_axes(ax, "cut of the scores", measure, title))


def plot_marginals(
    probabilities: ArrayLike,
    label_set: ArrayLike,
    ax: Axes | None = None,
    *,
    truth: ArrayLike | None = None,
    names: Sequence[Any] | None = None,
    title: str = "",
) -> Axes:
    """Plot how probable each label of one instance is, and which labels are predicted.

    The two need not agree at ½: a decision may be made for F1, and the likeliest label set of a conditional random
    field may hold a label that is off in most of the probability.

    Parameters
    ----------
    probabilities : array-like of shape (L,)
        A row of ``predict_proba``.
    label_set : array-like of shape (L,)
        The same row of ``predict``: truth values, 0 and 1, or -1 and 1.
    ax : matplotlib Axes, optional
        Where to draw; by default in a new figure.
    truth : array-like of shape (L,), optional
        The labels that the instance has, to be marked at their bars.
    names : sequence of length L, optional
        Names of the labels; by default their positions.
    title : str, default=""
        What the title begins with.

    Returns
    -------
    matplotlib Axes
        A bar for each of the 20 most probable labels, the most probable one at the top. Bars of labels that are
        predicted are filled, those of others are hollow; a line marks ½.

    Raises
    ------
    ValueError
        If `probabilities` are not from 0 to 1, or the other arguments do not fit them.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> ax = plot_marginals([0.2, 0.9, 0.4], [0, 1, 1], names=["sad", "calm", "happy"])
    >>> [text.get_text() for text in ax.get_yticklabels()]
    ['calm', 'happy', 'sad']
    >>> ax.get_title(loc="left")
    '2 of 3 labels predicted, 1 above ½'
    """
    chances = numbers(probabilities, "probabilities")
    if chances.min() < 0 or chances.max() > 1:
        raise InvalidInputError("expected numbers from 0 to 1", argument="probabilities")
    n_labels = len(chances)
    inside = _of_one(label_set, "label_set", n_labels)
    has = None if truth is None else _of_one(truth, "truth", n_labels)
    words = _one_per_label(np.array(range(n_labels) if names is None else names, dtype=object), "names", n_labels)
    drawn = np.argsort(-chances, kind="stable")[:_BARS]
    ax = new_axes(ax, 6.4, 1.2 + 0.22 * len(drawn))
    for chosen, colour, what in ((True, OKABE_ITO[0], "predicted"), (False, "white", "not predicted")):
        places = np.flatnonzero(inside[drawn] == chosen)
        if len(places):
            ax.barh(places, chances[drawn[places]], color=colour, edgecolor=OKABE_ITO[0], height=0.7, label=what)
    if has is not None:
        places = np.flatnonzero(has[drawn])
        ax.plot(chances[drawn[places]], places, "D", color=OKABE_ITO[1], markersize=6, label="true", clip_on=False)
    ax.axvline(0.5, color=MUTED, linewidth=1.2, linestyle=":")
    ax.set_xlim(0, 1)
    ax.set_ylim(len(drawn) - 0.4, -0.6)
    sums = f"{inside.sum()} of {n_labels} labels predicted, {np.count_nonzero(chances > 0.5)} above ½"
    style_axes(ax, "probability", "label", titled(title, sums), grid=False)
    name_ticks(ax.yaxis, [str(word) for word in words[drawn]], _LONGEST)
    legend(ax)
    return ax


def _heat(ax: Axes, values: Any, label: str, aspect: Literal["equal", "auto"] = "equal") -> None:
    """Draw a matrix, blank where masked, with a bar that explains the colours.

    They go from white to blue, by square roots; or from red over white to blue, where there are negative numbers.
    """
    from matplotlib import colormaps
    from matplotlib.colors import Normalize, PowerNorm

    low, top = (float(values.min()), float(values.max())) if values.count() else (0.0, 0.0)
    most = max(-low, top)
    norm = Normalize(-most, most) if low < 0 else PowerNorm(0.5, vmin=0, vmax=top if top > 0 else 1)
    colours = colormaps["RdBu" if low < 0 else "Blues"].with_extremes(bad=BLANK)
    image = ax.imshow(values, cmap=colours, norm=norm, aspect=aspect, interpolation="nearest")
    colour_bar(ax, image, label)


def _frame_runs(ax: Axes, groups: NDArray[Any]) -> None:
    """Frame each run of labels of one group on the diagonal."""
    from matplotlib.patches import Rectangle

    edges = np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))
    for start, stop in zip(edges, np.append(edges[1:], len(groups)), strict=True):
        corner, side = (start - 0.5, start - 0.5), stop - start
        ax.add_patch(Rectangle(corner, side, side, fill=False, edgecolor=OKABE_ITO[1], linewidth=1.4))


def _within_and_between(overlap: NDArray[np.float64], groups: NDArray[Any]) -> str:
    """Say how large the overlap is on average within groups, and between them."""
    same = groups[:, None] == groups[None, :]
    pairs = ~np.eye(len(groups), dtype=bool)
    means = [overlap[chosen].mean() if chosen.any() else np.nan for chosen in (same & pairs, ~same)]
    shown = ["–" if np.isnan(mean) else f"{mean:.3f}" for mean in means]
    return f"mean {shown[0]} within groups, {shown[1]} between"


def _placed(order: ArrayLike | None, groups: NDArray[Any] | None, n_labels: int) -> NDArray[np.int64]:
    """Return the labels in the order in which they are drawn."""
    if order is None:
        return np.arange(n_labels) if groups is None else np.argsort(groups, kind="stable")
    placed = np.asarray(order)
    if placed.shape != (n_labels,) or not np.array_equal(np.sort(placed), np.arange(n_labels)):
        raise InvalidInputError(
            f"order must hold each of the numbers 0 to {n_labels - 1} once, found {order!r:.60}", argument="order"
        )
    return placed.astype(np.int64)


def _one_per_label(values: ArrayLike, name: str, n_labels: int) -> NDArray[Any]:
    found = np.asarray(values)
    if found.shape != (n_labels,):
        raise InvalidInputError(
            f"{name} must hold one value for each of the {n_labels} labels, found shape {found.shape}", argument=name
        )
    return found


def _name_labels(ax: Axes, names: Sequence[Any] | None, placed: NDArray[np.int64], *, both: bool) -> None:
    """Write the names of the labels at the axes, where there is room for them."""
    known = None if names is None else _one_per_label(np.array(names, dtype=object), "names", len(placed))
    if known is None or len(placed) > _NAMED:
        ax.set_xticks([])
        if both:
            ax.set_yticks([])
        return
    words = [str(name) for name in known[placed]]
    size = 8 if len(placed) <= 25 else 6
    name_ticks(ax.xaxis, words, _LONGEST, rotation=90, fontsize=size)
    if both:
        name_ticks(ax.yaxis, words, _LONGEST, fontsize=size)
    ax.tick_params(length=0)


def _of_one(labels: ArrayLike, name: str, n_labels: int) -> NDArray[np.bool_]:
    """Return which labels an instance has."""
    table = as_label_sets(_one_per_label(labels, name, n_labels)[None], name)
    return np.asarray(table.toarray()[0] > 0)


_MARKS = {"right": "✓", "wrong": "✗", "missed": "–"}


def prediction_table(
    Y: Any,
    predicted: Any,
    names: Sequence[Any] | None = None,
    *,
    rows: Sequence[Any] | None = None,
    form: Literal["text", "html"] = "text",
) -> str:
    """Return a table which says of each instance which labels were found, which are wrong, and which were missed.

    Parameters
    ----------
    Y, predicted : array-like or sparse matrix of shape (n, L)
        True and predicted labels of a few instances: booleans, 0 and 1, or -1 and 1.
    names : sequence of length L, optional
        Names of the labels; by default 0 to L - 1.
    rows : sequence of length n, optional
        Names of the instances; by default 0 to n - 1.
    form : {"text", "html"}, default="text"
        Lines of text, or a table whose names are escaped.

    Returns
    -------
    str
        ✓ before labels that were found, ✗ before wrong ones, – before those missed: they differ by their signs, not by
        their colours.

    Raises
    ------
    ValueError
        If the shapes or the names do not fit together, or `form` is neither of the two.

    Examples
    --------
    >>> print(prediction_table([[1, 1, 0]], [[1, 0, 1]], ["rock", "loud", "sad"], rows=["song 7"]))
    song 7: ✓ rock  ✗ sad  – loud
    """
    check_choice("form", form, ("text", "html"))
    true, found = as_label_sets(Y), as_label_sets(predicted, "predicted")
    check_same_shape(true.shape, found.shape, ("Y", "predicted"))
    labels = as_names(names, "names", true.shape[1])
    instances = as_names(rows, "rows", true.shape[0])
    parts = [_sorted_out(true[[k]].indices, found[[k]].indices, labels) for k in range(true.shape[0])]
    return _text(instances, parts) if form == "text" else _html(instances, parts)


def _sorted_out(true: NDArray[Any], found: NDArray[Any], names: list[str]) -> dict[str, list[str]]:
    """Return the names of labels that are right, wrong and missed."""
    sets = {
        "right": np.intersect1d(true, found),
        "wrong": np.setdiff1d(found, true),
        "missed": np.setdiff1d(true, found),
    }
    return {kind: [names[k] for k in chosen] for kind, chosen in sets.items()}


def _text(instances: list[str], parts: list[dict[str, list[str]]]) -> str:
    lines = []
    for instance, part in zip(instances, parts, strict=True):
        words = "  ".join(f"{_MARKS[kind]} {name}" for kind, names in part.items() for name in names)
        lines.append(f"{instance}: {words or 'no labels, and none predicted'}")
    return "\n".join(lines)


def _html(instances: list[str], parts: list[dict[str, list[str]]]) -> Html:
    titles = {"right": "found", "wrong": "wrong", "missed": "missed"}
    heads = ["", *(f"{_MARKS[kind]} {title}" for kind, title in titles.items())]
    rows = [
        [instance, *(", ".join(part[kind]) for kind in titles)] for instance, part in zip(instances, parts, strict=True)
    ]
    return table(heads, rows, words=True, framed=False)
