"""Fixtures shared by all tests."""

import os
from pathlib import Path

# Small products gain nothing from BLAS threads, and lose minutes where other work keeps the cores busy. This must stand
# before NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data sets: the tests fail, never skip, where it is missing."""
    value = os.environ.get("COFACTOR_DATA")
    assert value, "set COFACTOR_DATA to the folder of the real data sets (see README, 'Running the tests')"
    path = Path(value)
    assert (path / "movielens").is_dir(), f"COFACTOR_DATA={path} holds no folder 'movielens'"
    return path
