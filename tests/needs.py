"""What tests need that a machine may lack, real data or a browser: without it they are skipped, and the end says so."""

from __future__ import annotations

import doctest

from _pytest.doctest import MultipleDoctestFailures

from cofactor.datasets import DatasetNotFoundError


class LackingError(Exception):
    """A test needs something that is not on this machine."""


def what_lacks(error: BaseException) -> str:
    """Return what a test that ended with an error needs and does not have; empty where that is not the reason."""
    if isinstance(error, MultipleDoctestFailures):  # the first one is why the others failed
        error = error.failures[0]
    if isinstance(error, doctest.UnexpectedException):
        error = error.exc_info[1]
    if isinstance(error, LackingError):
        return str(error)
    return "real data (COFACTOR_DATA)" if isinstance(error, DatasetNotFoundError) else ""
