"""What every fold-in and update checks, whatever the model."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from scipy import sparse

from cofactor.checks import check_choice
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.model.callers import callers_level
from cofactor.ratings.data import Ratings

__all__ = ["KNOWN", "advising", "check_known", "warn_of_lost_times"]

#: What may become of users, or items, that were in training.
KNOWN = ("error", "merge", "replace")

#: What to do about ratings that a model does not take, by the parameter which was set when it was made.
_ADVICE = {
    "scale": "correct them; a model that is to know other levels must be fitted with them",
    "duplicates": "remove them, or let the model choose: set_params(duplicates='last'), or 'mean'",
}


@contextmanager
def advising() -> Iterator[None]:
    """Within the block, advice about levels and repeated pairs is what a fold-in can follow: the model has them."""
    try:
        yield
    except InvalidInputError as error:
        if not error.advice or error.argument not in _ADVICE:
            raise
        raise InvalidInputError(error.problem, argument=error.argument, advice=_ADVICE[error.argument]) from None


def check_known(X: Any, known: str) -> None:
    """Refuse to merge or replace what has no ids."""
    check_choice("known", known, KNOWN)
    if sparse.issparse(X) and known != "error":
        raise InvalidInputError(
            ("a sparse matrix has no ids, so all it holds is new, and ", Argument("known", known), " finds nobody"),
            argument="known",
            advice="pass pairs of user id and item id",
        )


def warn_of_lost_times(
    earlier: Ratings,
    new: Ratings,
    what: Sequence[str | Argument] = ("the update",),
    advice: Sequence[str | Argument] = ("give times to both, with ", Argument("time"), ", or to none"),
    those: str = "ratings",
) -> None:
    """Warn where only earlier ratings, or new ones, have times, so that `what` takes them together forgets all."""
    if (earlier.times is None) != (new.times is None) and earlier.n_ratings and new.n_ratings:
        lacking = f"{those} of training" if earlier.times is None else f"new {those}"
        text = (*what, f" forgets all times, since the {lacking} have none; ", *advice)
        warnings.warn(InputWarning(text), stacklevel=callers_level())
