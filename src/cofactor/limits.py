"""Limits which readers, measures and models share."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from cofactor.errors import Argument, InvalidInputError, Place, Text

#: Largest number of levels of a rating scale, that of a scale from 0 to 100; more distinct ratings are continuous.
MAX_LEVELS: Final = 101

#: Features further from 0, and weights above it, are refused: sums of their squares are rounded to infinity in single
#: precision.
LARGEST: Final = 1e15

#: Features of which none is further from 0, and weights of which none is above it, cannot be learned from: beside
#: penalties, and in single precision, their squares are lost in rounding, and what dense and sparse features give
#: differs.
SMALLEST: Final = 1e-15

_BLOCK = 1 << 16  # entries of a block

_PROPORTION = 100  # data rarely grow by more than this when they are unpacked


def number_in_environment(variable: str, least: int = 0) -> int | None:
    """Return the number which an environment variable gives, None if it is unset or empty.

    Parameters
    ----------
    variable : str
        Its name.
    least : int, default 0
        The smallest number that is taken.

    Raises
    ------
    InvalidInputError
        If it is no whole number, is smaller, or has 20 digits or more.

    Examples
    --------
    >>> import os
    >>> from cofactor.limits import number_in_environment
    >>> os.environ["MAX_PAGES"] = "20"
    >>> number_in_environment("MAX_PAGES")
    20
    >>> del os.environ["MAX_PAGES"]
    """
    given = os.environ.get(variable)
    if not given:
        return None
    if not (given.isascii() and given.isdigit() and len(given) < 20) or int(given) < least:
        at_least = f" of at least {least}" if least else ""
        raise InvalidInputError(f"{variable}={given!r}: expected a whole number{at_least}")
    return int(given)


@dataclass(frozen=True)
class Limit:
    """The most that a file may ask for, so that a small file which is damaged or forged does not take all memory.

    Parameters
    ----------
    variable : str
        Environment variable which sets it.
    usual : int
        The limit where that variable is not set.
    unit : str
        What is counted.

    Examples
    --------
    >>> from cofactor.errors import Place
    >>> from cofactor.limits import Limit
    >>> pages = Limit("MAX_PAGES", 20, "pages")
    >>> pages.check(20, "is a long book", Place("book.txt"))
    >>> pages.check(21, "is a long book", Place("book.txt"))
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: book.txt: is a long book, and more than 20 pages are refused; if it is right,
    set the environment variable MAX_PAGES to a larger number
    """

    variable: str
    usual: int
    unit: str

    def most(self, size: int = 0) -> int:
        """Return the limit for a file of this size: the usual one, or a hundred times the size if that is more.

        Raises
        ------
        InvalidInputError
            If the environment variable is no whole number.
        """
        given = number_in_environment(self.variable)
        return max(self.usual, _PROPORTION * size) if given is None else given

    def check(
        self, asked: int, what: Text, place: Place | None = None, *, size: int = 0, argument: str | None = None
    ) -> None:
        """Refuse more than the limit.

        Parameters
        ----------
        asked : int
            How much it is.
        what : str, or parts of it
            The beginning of the message: what asks for it. Arguments in it are separate parts.
        place : Place, optional
            Where that is, if it is known here.
        size : int, default 0
            Bytes of the file, or cells in it; with 0 the usual limit holds whatever its size.
        argument : str, optional
            An argument by which the caller can say that it is right.

        Raises
        ------
        InvalidInputError
            If it is more.
        """
        most = self.most(size)
        if asked > most:
            given = () if argument is None else ("give ", Argument(argument), " or ")
            advice = ("if it is right, ", *given, f"set the environment variable {self.variable} to a larger number")
            parts = (what,) if isinstance(what, str) else tuple(what)
            problem = (*parts, f", and more than {most:,} {self.unit} are refused")
            raise InvalidInputError(problem, advice=advice, place=place)


#: Bytes of a file when it is unpacked: text from gzip, matrices of MATLAB.
UNPACKED: Final = Limit("COFACTOR_MAX_UNPACKED", 1 << 28, "bytes unpacked")
#: Features or labels, each of which has a name, and coefficients in a model. Published sets have up to 3 million.
COLUMNS: Final = Limit("COFACTOR_MAX_COLUMNS", 1 << 22, "columns")
#: Numbers of a dense array which has far more of them than the file: 1 GiB.
CELLS: Final = Limit("COFACTOR_MAX_CELLS", 1 << 27, "cells")
#: Memory that the parameters of a model ask for, such as a number of factors: 8 GiB, or a hundred times the data.
FIT: Final = Limit("COFACTOR_MAX_FIT", 1 << 33, "bytes for a fit")


def blocks(n: int) -> Iterator[slice]:
    """Cut n entries into blocks: what is computed for one of them on the way stays small, and near.

    Examples
    --------
    >>> [(block.start, block.stop) for block in blocks(100_000)]
    [(0, 65536), (65536, 100000)]
    """
    return (slice(start, min(start + _BLOCK, n)) for start in range(0, n, _BLOCK))
