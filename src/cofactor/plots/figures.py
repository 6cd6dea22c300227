"""What all pictures share: colours, new figures, checks of the data, and files."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.datasets._bytes import PathLike, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "INK",
    "MARKERS",
    "MUTED",
    "OKABE_ITO",
    "colour_bar",
    "draw",
    "new_axes",
    "new_panels",
    "numbers",
    "require_matplotlib",
    "root_figure",
    "same_size",
    "save_figure",
    "series",
    "series_style",
    "tidy",
]

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""The colour-blind safe palette of Okabe and Ito (2008); the yellow, weak on white, comes last."""

INK = "#262626"
MUTED = "#8C8C8C"
_GRID = "#E6E6E6"
_LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_FORMATS = ("png", "svg", "pdf")


def new_axes(ax: Axes | None, width: float = 6.4, height: float = 4.2) -> Axes:
    """Return `ax`, or the axes of a new figure (size in inches) which pyplot does not know of.

    Raises
    ------
    ImportError
        If matplotlib is not installed.
    """
    return new_panels(1, width, height)[0] if ax is None else ax


def new_panels(n: int, width: float = 6.4, height: float = 4.2) -> list[Axes]:
    """Return n axes side by side in a new figure (size in inches) which pyplot does not know of."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return [figure.add_subplot(1, n, k + 1) for k in range(n)]


def require_matplotlib() -> None:
    """Import matplotlib, or say how to install it."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise ImportError('pictures need matplotlib, which is not installed: pip install "cofactor[plots]"') from error


def tidy(ax: Axes, xlabel: str, ylabel: str, title: str = "", grid: bool = True) -> None:
    """Label the axes and give them the quiet look which all pictures share."""
    ax.set_xlabel(xlabel, color=INK)
    ax.set_ylabel(ylabel, color=INK)
    if title:
        ax.set_title(title, fontsize=10, color=INK, loc="left")
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=9)
    if grid:
        ax.grid(visible=True, which="major", color=_GRID, linewidth=0.8)
        ax.set_axisbelow(True)


def colour_bar(ax: Axes, mapped: Any, label: str, width: float = 0.045) -> None:
    """Explain the colours of what is `mapped` by a bar to the right of the axes (width as a share of theirs)."""
    bar = ax.figure.colorbar(mapped, cax=ax.inset_axes((1.03, 0, width, 1)))
    bar.set_label(label, color=INK)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, color=MUTED, labelcolor=INK)


def series_style(index: int) -> dict[str, Any]:
    """Return colour, line style and marker of a series: no two of the first 56 are alike."""
    return {
        "color": OKABE_ITO[index % 7],
        "linestyle": _LINES[index % len(_LINES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def numbers(values: ArrayLike, name: str, *, positive: bool = False) -> NDArray[np.float64]:
    """Return a non-empty one-dimensional array of finite numbers, or say what is wrong with it."""
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, found {values!r:.60}") from None
    if array.ndim != 1 or not array.size:
        raise ValueError(f"{name} must be one-dimensional and not empty, found shape {array.shape}")
    wrong = ~np.isfinite(array) if not positive else ~(np.isfinite(array) & (array > 0))
    if wrong.any():
        first = int(np.argmax(wrong))
        kind = "positive and finite" if positive else "finite"
        raise ValueError(f"{name} must be {kind}, found {array[first]} at position {first}")
    return array


def series(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]], name: str, parts: tuple[str, str]
) -> Iterator[tuple[str, NDArray[np.float64], NDArray[np.float64]]]:
    """Yield label, x and y of each curve, having checked them."""
    if not isinstance(curves, Mapping):
        raise TypeError(
            f"{name} must be a mapping from names to ({parts[0]}, {parts[1]}), found {type(curves).__name__}"
        )
    if not curves:
        raise ValueError(f"{name} is empty: give at least one name with ({parts[0]}, {parts[1]})")
    for label, pair in curves.items():
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ValueError(f"{name}[{label!r}] must be a pair ({parts[0]}, {parts[1]}), found {pair!r:.60}")
        x, y = (numbers(part, f"{parts[k]} of {name}[{label!r}]") for k, part in enumerate(pair))
        same_size(x, y, f"{parts[0]} of {name}[{label!r}]", parts[1])
        yield str(label), x, y


def same_size(first: NDArray[Any], second: NDArray[Any], first_name: str, second_name: str) -> None:
    """Refuse two arrays of different length."""
    if len(first) != len(second):
        raise ValueError(f"{first_name} and {second_name} must be equally long, found {len(first)} and {len(second)}")


def save_figure(ax_or_fig: Axes | Figure, path: PathLike) -> None:
    """Write a picture to a file, whole or not at all, and close its figure.

    Parameters
    ----------
    ax_or_fig : matplotlib Axes or Figure
        The picture, or any part of it; the whole figure is written.
    path : path-like
        File to write, ending in ``.png``, ``.svg`` or ``.pdf``. It is written under a temporary name in the
        same folder and then renamed. The bytes depend on the picture alone, not on the time.

    Raises
    ------
    TypeError
        If `ax_or_fig` belongs to no figure.
    ValueError
        If the name of the file ends in anything else.
    FileNotFoundError
        If the folder of the file does not exist.

    Notes
    -----
    Closing makes ``matplotlib.pyplot`` forget the figure where it came from there. The figure itself remains
    usable, and can be saved again in another format.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from cofactor.plots import plot_tradeoff
    >>> folder = tempfile.TemporaryDirectory()
    >>> ax = plot_tradeoff({"ALS": ([0.6, 0.4, 0.2], [0.75, 0.72, 0.78])})
    >>> save_figure(ax, pathlib.Path(folder.name, "tradeoff.png"))
    >>> [file.name for file in pathlib.Path(folder.name).iterdir()]
    ['tradeoff.png']
    >>> folder.cleanup()
    """
    require_matplotlib()
    suffix = Path(path).suffix.lower().removeprefix(".")
    if suffix not in _FORMATS:
        raise ValueError(f"{os.fspath(path)}: pictures are written as .png, .svg or .pdf, found {suffix!r}")
    figure = root_figure(ax_or_fig)
    with replacing(path) as stream:
        stream.write(draw(figure, suffix))
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def draw(ax_or_fig: Axes | Figure, form: str) -> bytes:
    """Return the whole figure as PNG, SVG or PDF; the bytes depend on the picture alone."""
    from matplotlib import rc_context

    # Without these two, SVG and PDF files would differ from run to run.
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "cofactor", "svg.fonttype": "path"}):
        root_figure(ax_or_fig).savefig(stream, format=form, metadata=dates.get(form), facecolor="white")
    return stream.getvalue()


def root_figure(ax_or_fig: Axes | Figure) -> Any:
    """Return the whole figure of an Axes, a SubFigure or a Figure."""
    figure = getattr(ax_or_fig, "figure", None)
    while figure is not None and figure.figure not in (None, figure):
        figure = figure.figure
    if not hasattr(figure, "savefig"):
        raise TypeError(f"ax_or_fig must be an Axes or a Figure of matplotlib, found {type(ax_or_fig).__name__}")
    return figure
