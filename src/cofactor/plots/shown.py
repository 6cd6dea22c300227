"""Axes that a notebook shows as their picture. Import it only where matplotlib is known to be installed."""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes

from cofactor.plots.figures import draw, root_figure

_POINTS = 96  #: of the page, in an inch of the figure: the picture has more, and stays sharp on fine screens


class ShownAxes(Axes):
    """Axes of a figure which pyplot does not know of, and so would not show."""

    def _repr_png_(self) -> tuple[bytes, dict[str, Any]]:
        width, height = root_figure(self).get_size_inches() * _POINTS
        return draw(self, "png"), {"width": round(width), "height": round(height)}
