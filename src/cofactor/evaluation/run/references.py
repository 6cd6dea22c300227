"""References to what many cells need and none carries: data, and the rows of splits.

A cell that goes to another process holds a name, a checksum, and how to load; the process loads once, and keeps it for
its other cells.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, TypeVar, cast

import joblib

from cofactor.errors import InvalidInputError

__all__ = ["Reference"]

Value = TypeVar("Value")

_KEPT = 4  #: values that a process keeps: data and splits of the set at hand, and of the one before
_LOADED: OrderedDict[str, Any] = OrderedDict()
_LOCK = threading.RLock()


class Reference(Generic[Value]):
    """Something that many cells need.

    Parameters
    ----------
    name : str
        What messages call it.
    checksum : str
        Distinguishes it from all others.
    value : object
        What it refers to; a copy of the reference in another process does not hold it.
    load : callable, optional
        Returns it there. By default it is written to a temporary file of this machine when the first copy is made, and
        read from there; the file goes with the reference.

    Examples
    --------
    >>> import pickle
    >>> rows = Reference("rows", "abc", list(range(10_000)))
    >>> len(pickle.dumps(rows)) < 500, sum(pickle.loads(pickle.dumps(rows)).value())
    (True, 49995000)
    """

    def __init__(self, name: str, checksum: str, value: Value, load: Callable[[], Value] | None = None) -> None:
        self.name, self.checksum, self._load = name, checksum, load
        self._held: list[Value] = [value]

    def value(self) -> Value:
        """Return what it refers to."""
        if self._held:
            return self._held[0]
        with _LOCK:
            if self.checksum not in _LOADED:
                assert self._load is not None  # of a copy
                _LOADED[self.checksum] = self._load()
                while len(_LOADED) > _KEPT:
                    _LOADED.popitem(last=False)
            _LOADED.move_to_end(self.checksum)
            return cast(Value, _LOADED[self.checksum])

    def __getstate__(self) -> dict[str, Any]:
        with _LOCK:
            if self._load is None:
                self._load = self._written()
        return {"name": self.name, "checksum": self.checksum, "_load": self._load, "_held": []}

    def _written(self) -> _Written:
        """Write the value to a file, which is removed together with this reference."""
        folder = tempfile.mkdtemp(prefix="cofactor-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = Path(folder, "value")
        joblib.dump(self._held[0], path)
        return _Written(self.name, str(path))


class _Written:
    """Reads a value from the file to which it was written."""

    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def __call__(self) -> Any:
        if not Path(self.path).exists():
            raise InvalidInputError(
                f"{self.name} was given in memory, and lies in {self.path} on the machine that began the run",
                advice="name data sets which every machine can load, or let TMPDIR be a folder that all of them share",
            )
        return joblib.load(self.path, mmap_mode="r")
