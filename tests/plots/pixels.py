"""The pixels of a picture: what was drawn, and whether anything is cut off."""

import numpy as np
from matplotlib.axes import Axes


def pixels_of(ax: Axes) -> np.ndarray:
    """Return red, green and blue of the figure as it was last drawn or saved as PNG, shape (height, width, 3)."""
    return np.asarray(ax.figure.canvas.buffer_rgba())[..., :3]  # type: ignore[union-attr]


def check_drawn_and_whole(ax: Axes) -> None:
    """Require that something was drawn, and that nothing reaches the border of the figure, where it is cut off."""
    drawn = pixels_of(ax)
    assert (drawn < 250).any(axis=2).mean() > 0.005
    assert (np.concatenate([drawn[0], drawn[-1], drawn[:, 0], drawn[:, -1]]) == 255).all()
