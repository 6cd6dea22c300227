"""What all experiments know of their data: checksums, which go into the keys of cells."""

from __future__ import annotations

import hashlib
from functools import cache

from cofactor.datasets import DatasetNotFoundError, verify

__all__ = ["checksum"]


@cache
def checksum(name: str) -> str:
    """Return the SHA-256 of a data set's files on this machine, or nothing where the set is not there.

    Parameters
    ----------
    name : str
        Name in the registry.

    Examples
    --------
    >>> checksum("ml-100k")[:12]
    '06416e597f82'
    """
    try:
        files = verify(name).files
    except DatasetNotFoundError:
        return ""
    found = [file.found for file in files if file.required and file.found]
    return found[0] if len(found) == 1 else hashlib.sha256("".join(found).encode()).hexdigest()
