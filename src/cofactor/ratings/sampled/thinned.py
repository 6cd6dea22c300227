"""Some of a model's samples, evenly spaced, which all its fold-ins go through."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.sampled.by_user import lie_by_user
from cofactor.ratings.sampled.draws import spaced
from cofactor.ratings.stored_users import copied

__all__ = ["Sample", "Thinned"]

Sample = dict[str, NDArray[np.float32]]


class Thinned:
    """n samples, or all if there are not so many; copies of them are made once, when they are asked for.

    Parameters
    ----------
    whole : dict of str to ndarray
        Samples along the first axis.
    n : int

    Attributes
    ----------
    whole : dict of str to ndarray
    where : ndarray of int
        The numbers of the chosen samples.

    Examples
    --------
    >>> thinned = Thinned({"U": np.arange(5.0)}, 3)
    >>> thinned["U"].tolist(), [float(sample["U"]) for sample in thinned]
    ([0.0, 2.0, 4.0], [0.0, 2.0, 4.0])
    """

    def __init__(self, whole: dict[str, NDArray[np.float32]], n: int) -> None:
        self.whole, self.where = whole, spaced(len(whole["U"]), n)
        self._n, self._chosen = n, dict[str, NDArray[np.float32]]()

    def __len__(self) -> int:
        return len(self.where)

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        """Return the chosen samples of a quantity, along the first axis, each of them contiguous."""
        if len(self) == len(self.whole["U"]) and not lie_by_user(self.whole, [name]):
            return self.whole[name]
        if name not in self._chosen:
            whole = self.whole[name]
            self._chosen[name] = copied(whole, self.where) if whole.ndim > 2 else whole[self.where]
        return self._chosen[name]

    def __iter__(self) -> Iterator[Sample]:
        """Return one sample after the other."""
        return ({name: array[s] for name, array in self.whole.items()} for s in self.where)

    def is_of(self, whole: dict[str, NDArray[np.float32]], n: int) -> bool:
        """Return whether these are n samples of such samples."""
        return self.whole is whole and self._n == n
