"""Where errors are: in which file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cofactor.errors import InvalidInputError, Place
from cofactor.files import display_name

__all__ = ["about"]


@contextmanager
def about(file: str) -> Iterator[None]:
    """Within the block, errors name this file; those which name an argument or another place stay as they are.

    Parameters
    ----------
    file : str
        As the user gave it.
    """
    try:
        yield
    except InvalidInputError as error:
        if error.place is not None or error.argument is not None:
            raise
        raise error.at(Place(display_name(file))) from error
