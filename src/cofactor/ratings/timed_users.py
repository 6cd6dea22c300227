"""Users at times, which stand in the place of users where a model knows time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

__all__ = ["TimedUsers"]


@dataclass(frozen=True)
class TimedUsers:
    """Users, each at a time: to be cut and indexed as the array of users that it is to those who do not ask for times.

    Attributes
    ----------
    users : ndarray of shape (n,), int32
        Indices; -1 for a user who is not known.
    seconds : ndarray of shape (n,), float64
        Since 1970.

    Examples
    --------
    >>> visits = TimedUsers(np.array([3, 5, 3]), np.array([10.0, 20.0, 30.0]))
    >>> visits[1:].seconds.tolist(), np.asarray(visits).tolist(), len(visits)
    ([20.0, 30.0], [3, 5, 3], 3)
    """

    users: NDArray[np.int32]
    seconds: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, where: Any) -> Self:
        return type(self)(self.users[where], self.seconds[where])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.users, dtype=dtype) if copy else np.asarray(self.users, dtype=dtype)
