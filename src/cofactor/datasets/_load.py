"""One door to all known data sets of ratings."""

import os
from collections.abc import Sequence

from numpy.typing import NDArray

from cofactor.datasets._types import RatingDataset
from cofactor.datasets.jester import load_jester
from cofactor.datasets.movielens import load_movielens
from cofactor.datasets.registry import KNOWN
from cofactor.errors import InvalidInputError
from cofactor.text import did_you_mean

__all__ = ["load_ratings"]


def load_ratings(
    name: str,
    data_home: str | os.PathLike[str] | None = None,
    *,
    bins: int | Sequence[float] | NDArray | None = None,
    download: bool = True,
) -> RatingDataset:
    """Load a data set of ratings of the registry by its name.

    Parameters
    ----------
    name : {"ml-100k", "ml-1m", "ml-latest-small", "jester-1"}
        Name in the registry.
    data_home, download
        As in `load_movielens`.
    bins : int or array-like, optional
        As in `load_jester`; an error for sets which have levels already.

    Returns
    -------
    RatingDataset

    Raises
    ------
    ValueError
        If the name is unknown, names a set of labels, or `bins` does not apply.
    DatasetNotFoundError
        If the set is not there and cannot be downloaded.

    Examples
    --------
    >>> from cofactor.datasets import load_ratings
    >>> load_ratings("ml-latest-small").level_counts().tolist()
    [1370, 2811, 1791, 7551, 5550, 20047, 13136, 26818, 8551, 13211]
    """
    known = [entry.name for entry in KNOWN.values() if entry.task == "ratings"]
    if name in KNOWN and name not in known:
        raise InvalidInputError(f"data set {name!r} holds labels, not ratings; load it with load_labels({name!r})")
    if name not in known:
        raise InvalidInputError(f"data set {name!r} is not known; {did_you_mean(name, known)}")
    if name == "jester-1":
        return load_jester(data_home, bins=bins)
    if bins is not None:
        raise InvalidInputError(f"bins= is for continuous ratings; those of {name!r} have levels already")
    return load_movielens(name, data_home, download=download)
