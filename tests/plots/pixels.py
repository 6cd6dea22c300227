"""What is left of a picture: its pixels, whether anything is cut off, and nothing in memory."""

import gc
import weakref
from collections.abc import Callable
from typing import Any

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


def check_draws(ax: Axes) -> None:
    """Draw all that is in a figure but for its pixels, without making room, which takes most of the time."""
    ax.figure.set_layout_engine(None)  # type: ignore[union-attr]
    ax.figure.draw_without_rendering()  # type: ignore[union-attr]


def check_left_alone_and_freed(pictures: dict[str, tuple[Callable[..., Axes], tuple[Any, ...]]]) -> None:
    """Require of functions and their arguments that arguments stay as they are, and that no figure stays in memory."""
    before = {name: repr(arguments) for name, (_, arguments) in pictures.items()}
    drawn = {name: weakref.ref(plot(*arguments).figure) for name, (plot, arguments) in pictures.items()}
    gc.collect()  # once for all: it takes longer than all the rest
    assert [name for name, figure in drawn.items() if figure() is not None] == []
    assert {name: repr(arguments) for name, (_, arguments) in pictures.items()} == before
