"""Users at times, which stand in the place of users where a model knows time; pairs that a model is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import Argument, InvalidInputError
from cofactor.model.times import seconds_of
from cofactor.ratings.lookup import Lookup

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel

__all__ = ["Visits", "asked_pairs", "visits_of"]


@dataclass(frozen=True)
class Visits:
    """Users, each at a time: to be cut and indexed as the array of users that it is to those who do not ask for times.

    Attributes
    ----------
    users : ndarray of shape (n,), int32
        Indices; -1 for a user who is not known.
    seconds : ndarray of shape (n,), float64
        Since 1970.

    Examples
    --------
    >>> visits = Visits(np.array([3, 5, 3]), np.array([10.0, 20.0, 30.0]))
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


def asked_pairs(model: RatingModel, X: Any, time: Any = None) -> tuple[Any, NDArray[np.int32]]:
    """Return users, or their visits, and item indices of pairs, -1 for ids that are not known.

    Parameters
    ----------
    model : RatingModel
    X, time
        As in `RatingModel.predict`.
    """
    check_is_fitted(model)
    users, items, times = Lookup(model.users_, model.items_).pairs(X, model.unknown, time)
    if not model._knows_time and time is None:
        return users, items
    if times is None:
        raise InvalidInputError(
            f"this {type(model).__name__} was fitted with times, and its predictions depend on them",
            argument="time",
            advice=("give the time of each pair with ", Argument("time")),
        )
    return visits_of(model, users, times), items


def visits_of(model: RatingModel, users: NDArray[np.int32], time: Any) -> NDArray[np.int32] | Visits:
    """Return users at times, one for all or one for each; without times the users.

    Parameters
    ----------
    model : RatingModel
    users : ndarray of shape (n,), int32
        Indices.
    time : array-like of shape (n,), number, date, or None
        Refused by a model that does not know time.
    """
    if time is None:
        return users
    if not model._knows_time:
        raise InvalidInputError(
            f"this {type(model).__name__} predicts the same at any time",
            argument="time",
            advice="leave it out, or fit an OrdinalProbit(time=True) with times",
        )
    one = np.ndim(time) == 0
    seconds = seconds_of([time] if one else time, None if one else len(users))
    return Visits(users, np.broadcast_to(seconds, len(users)))
