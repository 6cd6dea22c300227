"""The most that requests may ask for."""

from __future__ import annotations

from dataclasses import dataclass

from cofactor.errors import InvalidInputError

__all__ = ["Limits"]


@dataclass(frozen=True)
class Limits:
    """The most that a request, and all requests at a time, may ask for.

    Parameters
    ----------
    body : int, default=1048576
        Bytes of a body.
    batch : int, default=1000
        Users, pairs, candidates, or ratings of a new user, in a request.
    n : int, default=1000
        Items in a list.
    rows : int, default=100000
        Items in all lists of a request.
    concurrent : int, default=64
        Requests that are answered or wait at a time; more get 503.
    connections : int, default=2048
        Connections of each process; for one more, one that has not sent a whole request is closed.
    seconds : float, default=10.0
        In which the headers must have come, and then a body.
    answer : float, default=30.0
        Seconds in which a request must be answered once its body is there; if it is not, it gets 503.

    Examples
    --------
    >>> Limits(n=20).check(21, "n", "n")
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: n=21: more than 20 are refused; ask for fewer
    """

    body: int = 1 << 20
    batch: int = 1000
    n: int = 1000
    rows: int = 100_000
    concurrent: int = 64
    connections: int = 2048
    seconds: float = 10.0
    answer: float = 30.0

    def check(self, asked: int, limit: str, argument: str, advice: str = "ask for fewer") -> None:
        """Refuse more than a limit.

        Parameters
        ----------
        asked : int
            How many.
        limit : {"batch", "n", "rows"}
            Which limit.
        argument : str
            What asks for so many.
        advice : str, default="ask for fewer"
            What to do.
        """
        most: int = getattr(self, limit)
        if asked > most:
            raise InvalidInputError(f"more than {most:,} are refused", argument=argument, found=asked, advice=advice)
