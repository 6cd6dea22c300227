"""The form in which every loader and reader hands over ratings."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.text import counted


def _n_distinct(ids: NDArray) -> int:
    return len(set(ids.tolist())) if ids.dtype == object else len(np.unique(ids))


@dataclass(frozen=True, eq=False, repr=False)
class RatingDataset:
    """Ratings as they stand in a file: pairs of ids, one number for each pair, and the scale.

    Any estimator takes the parts as they are, ``model.fit(data.X, data.y)``.

    Parameters
    ----------
    name : str
        Name of the data set, or of the file it was read from.
    X : ndarray of shape (n, 2)
        User id and item id of each rating; int64 where all ids are integers, otherwise object.
    y : ndarray of shape (n,), float64
        The ratings.
    scale : ndarray of shape (R,), float64, or None
        The possible ratings in increasing order; None for continuous ratings.
    item_names : mapping from item id to str
        Titles; empty where none are known. May name items which nobody rated.
    timestamps : ndarray of shape (n,), int64, or None
        Time of each rating, in seconds since 1970 where the source says so.
    description : str
        Origin and peculiarities, in a sentence or two.

    Raises
    ------
    ValueError
        If the shapes do not fit together or the scale does not increase.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor.datasets import RatingDataset
    >>> RatingDataset("tiny", np.array([[1, 7], [2, 7]]), np.array([4.0, 5.0]), np.arange(1.0, 6.0))
    RatingDataset('tiny': 2 ratings, 2 users, 1 item, scale 1 to 5 in 5 levels)
    """

    name: str
    X: NDArray
    y: NDArray[np.float64]
    scale: NDArray[np.float64] | None
    item_names: Mapping[Any, str] = field(default_factory=dict)
    timestamps: NDArray[np.int64] | None = None
    description: str = ""

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape[1] != 2:
            raise InvalidInputError(
                f"X must have shape (n, 2), a user id and an item id per rating; found {self.X.shape}"
            )
        if self.y.shape != (len(self.X),):
            raise InvalidInputError(
                f"y must have shape ({len(self.X)},), one rating per row of X; found {self.y.shape}"
            )
        if self.timestamps is not None and self.timestamps.shape != self.y.shape:
            raise InvalidInputError(f"timestamps must have shape {self.y.shape}; found {self.timestamps.shape}")
        if self.scale is not None and (self.scale.ndim != 1 or not np.all(np.diff(self.scale) > 0)):
            raise InvalidInputError("scale must be a 1-d array of increasing ratings")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.y)

    @property
    def n_users(self) -> int:
        """Number of users with at least one rating."""
        return _n_distinct(self.X[:, 0])

    @property
    def n_items(self) -> int:
        """Number of items with at least one rating."""
        return _n_distinct(self.X[:, 1])

    def level_counts(self) -> NDArray[np.int64]:
        """Count the ratings of each level of the scale.

        Returns
        -------
        ndarray of shape (R,), int64

        Raises
        ------
        ValueError
            If the ratings are continuous (``scale`` is None).

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor.datasets import RatingDataset
        >>> X, y = np.array([[1, 7], [2, 7]]), np.array([3.0, 3.0])
        >>> data = RatingDataset("tiny", X, y, np.arange(1.0, 4.0))
        >>> data.level_counts().tolist()
        [0, 0, 2]
        """
        if self.scale is None:
            raise InvalidInputError(
                f"data set {self.name!r} is continuous; bin it first (cofactor.datasets.bin_ratings)"
            )
        return np.bincount(np.searchsorted(self.scale, self.y), minlength=len(self.scale))

    def __repr__(self) -> str:
        if self.scale is None:
            scale = "continuous"
        else:
            scale = f"scale {self.scale[0]:g} to {self.scale[-1]:g} in {len(self.scale)} levels"
        return (
            f"RatingDataset({self.name!r}: {counted(self.n_ratings, 'rating')}, {counted(self.n_users, 'user')}, "
            f"{counted(self.n_items, 'item')}, {scale})"
        )
