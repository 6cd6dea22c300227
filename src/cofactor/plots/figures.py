"""What all pictures share: colours, new figures, checks of the data, and files."""

from __future__ import annotations

import io
import logging
import os
import re
import sys
import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.errors import InvalidInputError, InvalidTypeError, MissingPackageError
from cofactor.files import PathLike, replacing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.figure import Figure
    from matplotlib.text import Text

_LOG = logging.getLogger(__name__)

OKABE_ITO = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#F0E442")
"""The colour-blind safe palette of Okabe and Ito (2008); the yellow, weak on white, comes last."""

INK = "#262626"
MUTED = "#8C8C8C"
BLANK = "#F2F2F2"  # a cell without a value
_GRID = "#E6E6E6"
_LINES = ("-", "--", "-.", ":")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<")
_FORMATS = ("png", "svg", "pdf")
_LONGEST = 40  # letters of a name at an axis: longer names would leave no room for the data
_LINE = 32  # letters in a line of the legend, for the same reason
#: Fonts with Chinese, Japanese and Korean letters, the first choice first.
_CJK = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "Source Han Sans",
    "WenQuanYi Micro Hei",
    "WenQuanYi Zen Hei",
    "Microsoft YaHei",
    "Yu Gothic",
    "Malgun Gothic",
    "PingFang SC",
    "Hiragino Sans",
    "Arial Unicode MS",
)
_NO_GLYPH = re.compile(r"Glyph (\d+) .* missing from font")


def new_axes(ax: Any, width: float = 6.4, height: float = 4.2) -> Axes:
    """Return `ax`, or the axes of a new figure (size in inches) which pyplot does not know of.

    Raises
    ------
    TypeError
        If `ax` is no Axes.
    ImportError
        If matplotlib is not installed.
    """
    if ax is None:
        return new_panels(1, width, height)[0]
    require_matplotlib()
    from matplotlib.axes import Axes

    if not isinstance(ax, Axes):
        advice = "give one of its Axes, or leave it out"
        raise InvalidTypeError("expected Axes of matplotlib", argument="ax", found=ax, advice=advice)
    return ax


def new_panels(n: int, width: float = 6.4, height: float = 4.2) -> list[Axes]:
    """Return n axes side by side in a new figure (size in inches) which pyplot does not know of."""
    require_matplotlib()
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), dpi=150, layout=_settled_layout())
    FigureCanvasAgg(figure)
    panels: list[Any] = [figure.add_subplot(1, n, k + 1) for k in range(n)]
    for ax in panels:
        ax._repr_png_ = partial(_in_notebook, figure)  # pyplot, which would show it, does not know of it
    return panels


def _in_notebook(figure: Figure) -> tuple[bytes, dict[str, int]]:
    """Return what a notebook shows of a figure: a picture, and its size on the page at 96 points an inch."""
    width, height = figure.get_size_inches() * 96
    return draw(figure, "png"), {"width": round(width), "height": round(height)}


def _settled_layout() -> Any:
    """Return the constrained layout of matplotlib, repeated until nothing moves any more.

    When the layout changes the size of axes, their ticks may change, and the labels of these need other room. If the
    layout is made only once, it sometimes cuts a label off, and a figure drawn twice is not the same.
    """
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    class SettledLayout(ConstrainedLayoutEngine):  # here, since matplotlib need not be installed
        def execute(self, fig: Any) -> None:
            for _ in range(3):
                before = _places(fig)
                super().execute(fig)
                if np.allclose(_places(fig), before, rtol=0, atol=1e-12):  # each layout rounds otherwise
                    break

        def __reduce__(self) -> tuple[Any, ...]:  # so that figures can be pickled
            return _settled_layout, ()

    return SettledLayout()


def _places(figure: Any) -> list[tuple[float, ...]]:
    """Return where the axes of a figure stand."""
    return [ax.get_position(original=True).bounds for ax in figure.axes]


def require_matplotlib() -> None:
    """Import matplotlib, or say how to install it."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingPackageError("matplotlib", "pictures need", "plots") from error


def style_axes(ax: Axes, xlabel: str, ylabel: str, title: str = "", grid: bool = True) -> Axes:
    """Label the axes, give them the quiet look which all pictures share, and return them."""
    as_written(ax.set_xlabel(xlabel, color=INK))
    as_written(ax.set_ylabel(ylabel, color=INK))
    if title:
        as_written(ax.set_title(title, fontsize=10, color=INK, loc="left"))
    ax.spines[["top", "right"]].set_visible(False)
    ax.spines[["left", "bottom"]].set_color(MUTED)
    ax.tick_params(which="both", color=MUTED, labelcolor=INK, labelsize=9)
    if grid:
        ax.grid(visible=True, which="major", color=_GRID, linewidth=0.8)
        ax.set_axisbelow(True)
    return ax


def colour_bar(ax: Axes, mapped: Any, label: str, width: float = 0.045) -> None:
    """Explain the colours of what is `mapped` by a bar to the right of the axes (width as a share of theirs)."""
    bar = ax.figure.colorbar(mapped, cax=ax.inset_axes((1.03, 0, width, 1)))
    bar.set_label(label, color=INK)
    as_written(bar.ax.yaxis.label)
    bar.outline.set_visible(False)
    bar.ax.tick_params(labelsize=9, color=MUTED, labelcolor=INK)


def legend(ax: Axes, title: str | None = None, pad: float = 1.0) -> Axes:
    """Explain the series to the right of the axes, where no data are, and return the axes; long names are broken.

    The distance `pad` is in letters, not a share of the axes: so the layout is the same however often it is made.
    """
    look: dict[str, Any] = {"frameon": False, "fontsize": 9, "title_fontsize": 9}
    drawn = ax.legend(title=title, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=pad, **look)
    for text in drawn.get_texts():
        text.set_text(textwrap.fill(text.get_text(), _LINE, replace_whitespace=False, drop_whitespace=False))
        as_written(text)
    return ax


def share_legend(panels: Sequence[Axes]) -> None:
    """Remove the legends of all panels but the last: panels side by side show the same series."""
    for ax in panels[:-1]:
        drawn = ax.get_legend()
        if drawn is not None:
            drawn.remove()


def name_ticks(axis: Axis, names: Sequence[str], longest: int = _LONGEST, **style: Any) -> None:
    """Write names at 0, 1, 2, … of an axis, shortened where they are long."""
    axis.set_ticks(range(len(names)), [shortened(name, longest) for name in names], **style)
    for text in axis.get_ticklabels():
        as_written(text)


def as_written(text: Text) -> None:
    """Draw a text as it is: a dollar sign begins no formula, and letters which the font lacks come from others.

    Every text that comes from the caller must pass through here; `style_axes`, `colour_bar`, `legend` and `name_ticks`
    see to it. The text is not escaped, so that a program can read it from the picture as it was given.
    """
    text.set_parse_math(False)
    if not text.get_text().isascii():
        text.set_fontfamily([*text.get_fontfamily(), *_cjk_fonts()])


@cache
def _cjk_fonts() -> tuple[str, ...]:
    """Return the fonts for Chinese, Japanese and Korean that this machine has: matplotlib warns of missing ones."""
    from matplotlib.font_manager import fontManager

    known = set(fontManager.get_font_names())
    return tuple(name for name in _CJK if name in known)


def inches(names: Sequence[str]) -> float:
    """Return about how wide the longest of these names is at an axis, in inches: letters there have nine points."""
    wide = [sum(letter.isupper() or not letter.isascii() for letter in name) for name in names]
    return max(0.075 * min(len(name), _LONGEST) + 0.045 * min(n, _LONGEST) for name, n in zip(names, wide, strict=True))


def shortened(text: str, longest: int = _LONGEST) -> str:
    """Cut a text to a length; an ellipsis shows that it was cut.

    Examples
    --------
    >>> shortened("Emotion-Emotional_/_Passionate", 22)
    'Emotion-Emotional_/_P…'
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def series_style(index: int) -> dict[str, Any]:
    """Return colour, line style and marker of a series: no two of the first 56 series have all three in common."""
    return {
        "color": OKABE_ITO[index % 7],
        "linestyle": _LINES[index % len(_LINES)],
        "marker": MARKERS[index % len(MARKERS)],
    }


def titled(title: str, words: str) -> str:
    """Return the title that the caller gave, followed by what the picture says itself.

    Examples
    --------
    >>> titled("medical", "3 nodes"), titled("", "3 nodes")
    ('medical: 3 nodes', '3 nodes')
    """
    return ": ".join(part for part in (title, words) if part)


def whole_numbers(ax: Axes) -> None:
    """Set ticks of the horizontal axis at whole numbers."""
    from matplotlib.ticker import MaxNLocator

    ax.xaxis.set_major_locator(MaxNLocator(integer=True))


def readable_on(rgba: Any) -> str:
    """Return white or black, whichever has the higher contrast (WCAG 2) on a colour: it is at least 4.5."""
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in rgba[:3])
    luminance = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    return "white" if 1.05 / (luminance + 0.05) > (luminance + 0.05) / 0.05 else "black"


def as_floats(values: ArrayLike, name: str, what: str = "a matrix of numbers") -> NDArray[np.float64]:
    """Return a new array of numbers of any shape, or refuse what is not `what`."""
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidTypeError(f"{name} must be {what}, found {values!r:.60}", argument=name) from None


def numbers(values: ArrayLike, name: str, *, positive: bool = False) -> NDArray[np.float64]:
    """Return a non-empty one-dimensional array of finite numbers, or say what is wrong with it."""
    array = as_floats(values, name, "numbers")
    if array.ndim != 1 or not array.size:
        raise InvalidInputError(
            f"{name} must be one-dimensional and not empty, found shape {array.shape}", argument=name
        )
    wrong = ~np.isfinite(array) if not positive else ~(np.isfinite(array) & (array > 0))
    if wrong.any():
        first = int(np.argmax(wrong))
        kind = "positive and finite" if positive else "finite"
        raise InvalidInputError(f"{name} must be {kind}, found {array[first]} at position {first}", argument=name)
    return array


def matrix(
    values: ArrayLike, name: str, n_columns: int | None = None, expected: str = "be a non-empty matrix"
) -> NDArray[np.float64]:
    """Return a checked matrix of finite numbers, of a row and a column at least, or of so many columns."""
    table = as_floats(values, name)
    if table.ndim != 2 or not table.size or n_columns not in (None, table.shape[1]):
        raise InvalidInputError(f"{name} must {expected}, found shape {table.shape}", argument=name)
    if not np.isfinite(table).all():
        raise InvalidInputError(f"{name} must be finite, found NaN or infinite entries", argument=name)
    return table


def as_names(names: Sequence[Any] | None, name: str, n: int) -> list[str]:
    """Return n names as texts; without any, numbers from 0."""
    if names is not None and len(names) != n:
        raise InvalidInputError(f"{name} must have {n} entries, found {len(names)}", argument=name)
    return [str(one) for one in (range(n) if names is None else names)]


def check_named(given: Any, name: str, what: str, advice: str = "") -> None:
    """Require a mapping from names to this, with at least one name."""
    if not isinstance(given, Mapping):
        problem = f"{name} must be a mapping from names to {what}, found {type(given).__name__}"
        raise InvalidTypeError(problem, argument=name, advice=advice)
    if not given:
        raise InvalidInputError(f"{name} is empty: give at least one name with {what}", argument=name)


def series(curves: Mapping[str, Sequence[ArrayLike | None]], name: str, parts: Sequence[str]) -> Iterator[Any]:
    """Yield label and arrays of each curve, checked: two, or three, of which the last, deviations, may be None."""
    whole = f"({', '.join(parts)})"
    check_named(curves, name, whole)
    for label, given in curves.items():
        place = f"{name}[{label!r}]"
        if not isinstance(given, tuple | list) or len(given) != len(parts):
            raise InvalidInputError(f"{place} must hold {whole}, found {given!r:.60}", argument=name)
        missing = len(given) == 3 and given[2] is None
        arrays = [numbers(part, f"{parts[k]} of {place}") for k, part in enumerate(given) if k < 2 or not missing]
        for array, what in zip(arrays[1:], parts[1:], strict=False):
            same_size(arrays[0], array, f"{parts[0]} of {place}", what)
        if len(arrays) == 3 and arrays[2].min() < 0:
            raise InvalidInputError(f"{parts[2]} of {place} must not be negative, found {arrays[2].min()}")
        yield (str(label), *arrays, *([None] if missing else []))


def same_size(first: NDArray[Any], second: NDArray[Any], first_name: str, second_name: str) -> None:
    """Refuse two arrays of different length."""
    if len(first) != len(second):
        raise InvalidInputError(
            f"{first_name} and {second_name} must be equally long, found {len(first)} and {len(second)}"
        )


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
        raise InvalidInputError(f"{os.fspath(path)}: pictures are written as .png, .svg or .pdf, found {suffix!r}")
    figure = root_figure(ax_or_fig)
    with replacing(path) as stream:
        stream.write(draw(figure, suffix))
    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close(figure)


def draw(ax_or_fig: Axes | Figure, form: str) -> bytes:
    """Return the whole figure as PNG, SVG or PDF; the bytes depend on the picture alone.

    Matplotlib warns of each letter that no font has, at every drawing; here all of them are named once, in the log.
    """
    from matplotlib import rc_context

    # Without these two, SVG and PDF files would differ from run to run.
    dates: dict[str, dict[str, Any]] = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    stream = io.BytesIO()
    with rc_context({"svg.hashsalt": "cofactor", "svg.fonttype": "path"}), warnings.catch_warnings(record=True) as seen:
        warnings.filterwarnings("always", _NO_GLYPH.pattern)
        root_figure(ax_or_fig).savefig(stream, format=form, metadata=dates.get(form), facecolor="white")
    _report(seen)
    return stream.getvalue()


def _report(seen: list[warnings.WarningMessage]) -> None:
    """Log the letters without a glyph, and pass all other warnings on."""
    letters: dict[str, None] = {}
    for one in seen:
        found = _NO_GLYPH.match(str(one.message))
        if found:
            letters[chr(int(found[1]))] = None
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno, source=one.source)
    if letters:
        shown = shortened("".join(letters))
        _LOG.warning(f"no font on this machine has {shown}: boxes are drawn instead; install Noto Sans CJK, say")


def root_figure(ax_or_fig: Axes | Figure) -> Any:
    """Return the whole figure of an Axes, a SubFigure or a Figure."""
    figure = getattr(ax_or_fig, "figure", None)
    while figure is not None and figure.figure not in (None, figure):
        figure = figure.figure
    if not hasattr(figure, "savefig"):
        raise InvalidTypeError(
            f"ax_or_fig must be an Axes or a Figure of matplotlib, found {type(ax_or_fig).__name__}",
            argument="ax_or_fig",
        )
    return figure
