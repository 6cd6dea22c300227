"""Work that leaves little garbage need not be stopped to search for it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["garbage_kept"]


@contextmanager
def garbage_kept() -> Iterator[None]:
    """Search for no garbage within the block: for compilers and imports, a tenth and a sixth of whose time it takes.

    Examples
    --------
    >>> import gc
    >>> with garbage_kept():
    ...     gc.isenabled()
    False
    """
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()
