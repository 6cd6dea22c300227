"""Shadow users: they are drawn in every sweep of a fit, and change nothing in it."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.ratings.data import Ratings, as_ratings
from cofactor.ratings.merging import merged
from cofactor.text import counted

_PREFIX = "shadow_"  #: of the names of their quantities in chains


def read_shadow(given: Any, training: Ratings, duplicates: Any, unknown_items: Any) -> Ratings:
    """Return the ratings of shadow users, for the items of training.

    Parameters
    ----------
    given : tuple (X, y), Ratings, or data set
    training : Ratings
    duplicates, unknown_items
        As in `Ratings.from_pairs`.

    Examples
    --------
    >>> training = as_ratings([("ann", "Up"), ("bob", "Up"), ("bob", "Alien")], [3, 1, 2])
    >>> read_shadow(([("zoe", "Up")], [2]), training, "error", "drop")
    Ratings(1 user, 2 items, 1 rating on 1, 2, 3)
    """
    X, y = given if isinstance(given, tuple) and len(given) == 2 else (given, None)
    try:
        shadow = as_ratings(X, y, training.scale, duplicates, training.items, unknown_items)
    except InvalidInputError as error:
        raise type(error)(("shadow: ", *error.problem), argument="shadow", advice=error.advice) from error
    known = training.users.index(shadow.users.ids) >= 0
    if known.any():
        first = shadow.users.ids[known].tolist()[0]
        raise InvalidInputError(
            f"shadow holds {counted(int(known.sum()), 'user')} of X, the first is {first!r}: users in "
            "training cannot be shadow users; give all ratings of a user in one of them, and other users other ids",
            argument="shadow",
        )
    return shadow


def with_shadow(training: Ratings, shadow: Ratings) -> tuple[Ratings, NDArray[np.bool_]]:
    """Return the ratings of all users, and which of these users are shadow users."""
    both = merged(training, shadow)
    return both, shadow.users.index(both.users.ids) >= 0


def joined(samples: dict[str, NDArray[Any]], is_shadow: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return samples in which shadow users stand among the others, as chains do not have them."""
    whole = {name: array for name, array in samples.items() if not name.startswith(_PREFIX)}
    for name in samples.keys() - whole.keys():
        own, of_training = samples[name], samples[name.removeprefix(_PREFIX)]
        rows = np.empty((len(own), len(is_shadow) + 1, *own.shape[2:]), dtype=own.dtype)
        rows[:, :-1][:, is_shadow], rows[:, :-1][:, ~is_shadow] = own[:, :-1], of_training[:, :-1]
        rows[:, -1] = of_training[:, -1]
        whole[name.removeprefix(_PREFIX)] = rows
    return whole


def parted(
    samples: dict[str, NDArray[Any]], of_users: list[str], is_shadow: NDArray[np.bool_]
) -> dict[str, NDArray[Any]]:
    """Return samples as chains have them, shadow users apart: what `joined` was given.

    Examples
    --------
    >>> rows = np.arange(4.0).reshape(1, 4, 1)  # the last one is of a cold user
    >>> apart = parted({"U": rows}, ["U"], np.array([False, True, False]))
    >>> apart["U"].ravel().tolist(), apart["shadow_U"].ravel().tolist()
    ([0.0, 2.0, 3.0], [1.0, 3.0])
    >>> joined(apart, np.array([False, True, False]))["U"].ravel().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    apart = dict(samples)
    for name in of_users:
        for key, chosen in ((name, ~is_shadow), (_PREFIX + name, is_shadow)):
            apart[key] = samples[name][:, np.append(chosen, True)]
    return apart


def check_shadow(is_shadow: Any, n: int) -> None:
    """Refuse what does not say of each of n users whether they are a shadow user, and what says it of all."""
    if not isinstance(is_shadow, np.ndarray) or is_shadow.dtype != np.bool_ or is_shadow.shape != (n,):
        raise InvalidInputError(f"is_shadow_ must say of each of {n} users whether they are a shadow user")
    if is_shadow.all():
        raise InvalidInputError("all users are shadow users")
