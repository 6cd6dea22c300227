"""Samples that lie user by user, as in a folder of shards: what is asked for of some users is copied from there.

In memory a sample of all users is contiguous, and kernels are compiled for that. In a file the samples of a user are: a
prediction reads one or two pages for them, and not one for each sample. So the samples of the users that a block of
predictions is about are copied, some at a time, and kernels see what they see in memory, with the same bits. The copy
stays in a cache of the core.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.samples import samples_of

__all__ = ["in_groups", "lie_by_user", "of_users"]

Samples = Mapping[str, NDArray[np.float32]]

#: Bytes of samples that are copied at a time.
_PIECE = 1 << 20


def lie_by_user(samples: Samples, names: Collection[str]) -> bool:
    """Return whether the samples of a user lie together, and not those of all users."""
    return any(not samples[name].flags.c_contiguous for name in names)


def of_users(samples: Samples, names: Collection[str], users: NDArray[Any]) -> dict[str, NDArray[np.float32]]:
    """Return samples whose arrays with these names have some users alone, in this order.

    Examples
    --------
    >>> mapped = np.arange(24, dtype="f4").reshape(4, 3, 2)  # four users, three samples
    >>> found = of_users({"U": mapped.swapaxes(0, 1)}, ["U"], np.array([2, 0]))["U"]
    >>> found[0].tolist(), found.flags.c_contiguous
    ([[12.0, 13.0], [0.0, 1.0]], True)
    """
    return {**samples, **{name: _of_users(samples[name].swapaxes(0, 1), users) for name in names}}


def _of_users(table: NDArray[np.float32], users: NDArray[Any]) -> NDArray[np.float32]:
    """Return the samples of some users, (S, len(users), ...), of a table that has those of all user by user."""
    out = np.empty((table.shape[1], len(users), table.shape[2]), table.dtype)
    samples_of(table, users, out)
    return out


def in_groups(
    function: Callable[[Samples, NDArray[Any], NDArray[Any]], NDArray[Any]],
    samples: Samples,
    names: Collection[str],
    users: NDArray[Any],
    items: NDArray[Any],
) -> NDArray[Any]:
    """Return a function of pairs of users and items, by copies of the samples of some users after others.

    Parameters
    ----------
    function : callable
        Called with samples, users by their place in these, and items; returns a row for each pair.
    samples : mapping from str to ndarray
    names : collection of str
        Arrays of users, which lie user by user.
    users, items : ndarray of shape (n,)
    """
    order = np.argsort(users, kind="stable")
    some, first = np.unique(users[order], return_index=True)
    ends = np.append(first, len(users))
    size = max(1, _PIECE // sum(samples[name][:, 0].nbytes for name in names))
    out = None
    for lo in range(0, max(len(some), 1), size):
        hi = min(lo + size, len(some))
        pairs = order[ends[lo] : ends[hi]]
        places = np.repeat(np.arange(hi - lo, dtype=users.dtype), np.diff(ends[lo : hi + 1]))
        found = function(of_users(samples, names, some[lo:hi]), places, items[pairs])
        if out is None:
            out = np.empty((len(users), *found.shape[1:]), found.dtype)
        out[pairs] = found
    assert out is not None
    return out
