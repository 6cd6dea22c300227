"""Numbers as people read them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["shortest"]


def shortest(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return float32 as the shortest float64 that is the same float32: .1, not .10000000149; float64 as it is.

    Examples
    --------
    >>> shortest(np.array([0.1], dtype=np.float32))
    array([0.1])
    """
    return values if values.dtype == np.float64 else values.astype("U").astype("float64")
