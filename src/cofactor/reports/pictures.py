"""Pictures of matplotlib inside a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.pages import Html, figure
from cofactor.plots.figures import draw, root_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def drawn(picture: Axes | Figure, caption: str, *, alt: str = "", form: str = "svg") -> Html:
    """Return a picture inside the page, with its caption; no file is written.

    Parameters
    ----------
    picture : matplotlib Axes or Figure
        What is drawn.
    caption : str
        Stands below the picture.
    alt : str
        What the picture shows, for readers who cannot see it; by default the texts of the axes, or the caption.
    form : {"svg", "png"}, default="svg"
        SVG is sharp at any size, PNG is smaller where there are thousands of points.

    Raises
    ------
    InvalidInputError
        If `picture` is no Axes or Figure of matplotlib, or `form` is neither of the two.

    Examples
    --------
    >>> from cofactor.plots import plot_tradeoff
    >>> ax = plot_tradeoff({"ALS": ([0.6, 0.4], [0.75, 0.72])})
    >>> drawn(ax, "The trade-off.").startswith('<figure><div class="scroll" role="region"')
    True
    """
    content, inches = draw(picture, form), root_figure(picture).get_figwidth()
    return figure(content, caption, alt=alt or _described(picture), form=form, inches=inches)


def _described(picture: Axes | Figure) -> str:
    """Return in words what the axes of a picture show."""
    texts = []
    for ax in root_figure(picture).axes:
        title = ax.get_title(loc="left") or ax.get_title()
        labels = " against ".join(label for label in (ax.get_ylabel(), ax.get_xlabel()) if label)
        legend = ax.get_legend()
        names = ", ".join(text.get_text() for text in legend.get_texts()) if legend else ""
        texts.append(": ".join(part for part in (title, labels, names) if part))
    return "; ".join(filter(None, texts))
