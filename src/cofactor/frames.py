"""Frames and series of pandas, polars and other libraries, told apart from all else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_choice
from cofactor.typing import Frame

__all__ = ["as_frame", "as_series", "frame_of"]

#: Most of what models are given. Narwhals, which looks for all libraries that it knows, is not asked about these: that
#: takes a third of the time of a single prediction.
_PLAIN = (np.ndarray, list, tuple)


def as_frame(value: Any) -> nw.DataFrame[Any] | None:
    """Return a frame that has its data in memory, in the form of narwhals; None if it is no frame.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> as_frame([("ann", "Up")]) is None
    True
    """
    if isinstance(value, _PLAIN):
        return None
    frame = nw.from_native(value, eager_only=True, pass_through=True)
    return frame if isinstance(frame, nw.DataFrame) else None


def as_series(value: Any) -> nw.Series[Any] | None:
    """Return a series, in the form of narwhals; None if it is none.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> as_series([4.0, 5.0]) is None
    True
    """
    if isinstance(value, _PLAIN):
        return None
    series = nw.from_native(value, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def frame_of(columns: Mapping[str, NDArray[Any]], kind: str) -> Frame:
    """Return columns as a frame, or table, of pandas, polars or pyarrow.

    Examples
    --------
    >>> frame_of({"item": np.array(["Up"]), "score": np.array([2.0])}, "polars").columns
    ['item', 'score']
    """
    check_choice("kind", kind, ("pandas", "polars", "pyarrow"))
    plain = {name: column.tolist() for name, column in columns.items()}
    return nw.from_dict(plain, backend=cast(Any, kind)).to_native()
