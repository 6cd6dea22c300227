"""Frames of pandas, polars and other libraries, told apart from all else."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

__all__ = ["as_frame"]


def as_frame(value: Any) -> nw.DataFrame[Any] | None:
    """Return a frame that has its data in memory, in the form of narwhals; None if it is no frame.

    Arrays, lists and tuples are most of what models are given: narwhals, which looks for all libraries that it knows,
    is not asked about these. That takes a third of the time of a single prediction.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> as_frame([("ann", "Up")]) is None
    True
    """
    if isinstance(value, np.ndarray | list | tuple):
        return None
    frame = nw.from_native(value, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None
