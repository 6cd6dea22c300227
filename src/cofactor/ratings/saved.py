"""Models of users, items and ratings that go to files and come back from them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.errors import Argument, InvalidInputError
from cofactor.model.docs import fill_docs

if TYPE_CHECKING:
    from cofactor.ratings.stored_users import StoredUsers

__all__ = ["Saved", "required_ratings"]


@fill_docs
class Saved:
    """A model with users, items and ratings, or takes, that goes to a file and comes back from one."""

    #: Names of the attributes that a fit learns, and a file holds.
    _learned: ClassVar[tuple[str, ...]] = ()

    #: What a fit found for users, where it stays in the folder of shards.
    stored_users_: StoredUsers | None = None

    #: Why the ratings in shards that it was fitted on are there no more; empty where they are, or were not kept.
    lost_ratings_: str = ""

    def save(self, path: str | Path, *, ratings: bool = True) -> None:
        """Write the model, with those inside it, to a file which `cofactor.load` reads; nothing in it is ever executed.

        Parameters
        ----------
        {path}
        ratings : bool, default=True
            Whether to keep what users rated, or took, in training. `recommend(exclude_seen=True)` and `complete` need
            it; models of exposure recommend to new users alone without it.
        """
        from cofactor import persistence
        from cofactor.ratings.saving import without_ratings_of

        check_is_fitted(self)
        persistence.save(path, self if ratings else without_ratings_of(self))

    def to_memory(self) -> Self:
        """Return a model that needs no folder of shards: what a fit found for users, and ratings, are in memory.

        Returns
        -------
        model
            A copy; a file that it is saved to holds all that it needs. Others than those of a fit to a folder of shards
            are as they were.
        """
        from cofactor.ratings.saving import to_memory

        check_is_fitted(self)
        return to_memory(self)

    def _saved(self) -> dict[str, Any]:
        """Return what a file holds of what was learned, by attribute, in a form that `cofactor.model.state` takes."""
        return {name: getattr(self, name) for name in ("scale_", *self._learned)}

    def _restore(self, saved: dict[str, Any]) -> None:
        """Take what `_saved` returned, read from a file and not checked yet."""
        for name, value in saved.items():
            setattr(self, name, value)

    def _summary(self) -> dict[str, Any]:
        """Return what the file says of the model to those who do not load it."""
        from cofactor.model.facts import summary
        from cofactor.ratings.facts import facts_of

        return summary(self, facts_of(self))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        from cofactor.ratings.saving import state_of

        return state_of(self)

    @classmethod
    def _from_state(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any]) -> Self:
        """Rebuild a model from what `_to_state` returned; whatever does not fit together is refused.

        Parameters
        ----------
        header, arrays
            What a file holds.
        models : mapping of str to type
            Classes that parameters and parts may have, by name.
        """
        from cofactor.ratings.saving import model_of

        return model_of(cls, header, arrays, models)


def required_ratings(model: Any, otherwise: tuple[str | Argument, ...], what: str = "ratings") -> Any:
    """Return what a model was fitted on, or refuse to go on without it.

    Parameters
    ----------
    model : Saved
    otherwise : tuple of str or Argument
        What may be done instead of having it, up to the word "or".
    what : {"ratings", "takes"}
    """
    if model.ratings_ is not None:
        return model.ratings_
    name = type(model).__name__
    if model.lost_ratings_:
        from cofactor.ratings.checked_files import GIVE_BACK

        lost = f"the {what} of this {name} are not as they were ({model.lost_ratings_}): "
        raise InvalidInputError((lost, *otherwise, GIVE_BACK))
    raise InvalidInputError(
        (f"this {name} was saved without its {what}: ", *otherwise, "save the fitted model with ratings=True in Python")
    )
