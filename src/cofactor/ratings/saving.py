"""What a file holds of a rating model: parameters, what was learned, ids, and the ratings of training."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cofactor.coding import Coding
from cofactor.errors import InvalidInputError, LostRatingsWarning
from cofactor.model.callers import callers_level
from cofactor.model.state import from_plain, is_mapped, member, packed, plain, unpacked
from cofactor.ratings.checked_files import GIVE_BACK
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import saved_ids
from cofactor.ratings.saved import Saved
from cofactor.ratings.sharded import ShardedRatings
from cofactor.ratings.stored_users import StoredUsers, copied
from cofactor.ratings.updates import Updates

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel

__all__ = ["checked_parts", "model_of", "state_of", "to_memory", "without_ratings_of"]

_Model = TypeVar("_Model", bound=Saved)


def _in_memory(value: Any) -> Any:
    """Return something learned with copies of all arrays that are mapped from a file."""
    if isinstance(value, Mapping):
        return {name: _in_memory(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_in_memory(one) for one in value]
    return copied(value) if isinstance(value, np.ndarray) and is_mapped(value) else value


def to_memory(model: _Model) -> _Model:
    """See `Saved.to_memory`."""
    whole: Any = copy.copy(model)
    if model.stored_users_ is not None:
        whole._restore(_in_memory(model._saved()))
    whole.stored_users_ = None
    if isinstance(whole.ratings_, ShardedRatings):
        whole.ratings_ = whole.ratings_.to_ratings()
    return whole


def without_ratings_of(model: _Model) -> _Model:
    """Return a copy of a model that does not keep its ratings."""
    lean: Any = copy.copy(model)
    lean.ratings_ = None
    return lean


def state_of(model: Any) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return a header which JSON can hold, and arrays."""
    arrays: dict[str, NDArray[Any]] = {}
    stored = model.stored_users_
    header: dict[str, Any] = {
        "params": {name: plain(v) for name, v in model.get_params(deep=False).items() if name != "callback"},
        "learned": {name: packed(value, f"learned.{name}", arrays) for name, value in model._saved().items()},
        "ids": {},
    }
    there = {} if stored is None else {f"learned.{name}": array for name, array in stored.arrays.items()}
    elsewhere = [name for name, array in there.items() if arrays.get(name) is array]
    for name in elsewhere:
        del arrays[name]
    if elsewhere:
        header["stored_users"] = stored.folder
    if model.coding_ is not None:
        header["coding"] = model.coding_.to_state()
    if model.updates_ is not None:
        header["updates"] = model.updates_.to_state()
    for name, ids in (("users", model.users_), ("items", model.items_)):
        if not (elsewhere and ids is stored.users):
            columns, header["ids"][name] = ids.to_state()
            arrays |= {f"{name}.{key}": column for key, column in columns.items()}
    ratings = model.ratings_
    if isinstance(ratings, ShardedRatings):
        if ratings.folder is not None:
            return header | {"shards": ratings.folder}, arrays
        ratings = ratings.to_ratings()
    if ratings is not None:
        arrays |= {f"ratings.{name}": getattr(ratings, name) for name in ("indptr", "indices", "levels")}
        for name in ("times", "weights"):
            if getattr(ratings, name) is not None:
                arrays[f"ratings.{name}"] = getattr(ratings, name)
    return header, arrays


def model_of(
    kind: type[_Model], header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any]
) -> _Model:
    """Rebuild a model of a class; see `Saved._from_state`."""
    model: Any = kind(**{name: from_plain(value, models) for name, value in member(header, "params", dict).items()})
    model._check_params()
    stored = StoredUsers.open(member(header, "stored_users", Path), kind.__name__) if "stored_users" in header else None
    model.users_, model.items_ = (
        stored.users if stored is not None and name not in header["ids"] else saved_ids(header, arrays, name)
        for name in ("users", "items")
    )
    model.ratings_, model.stored_users_ = None, stored
    learned = member(header, "learned", dict)
    there = {} if stored is None else {f"learned.{name}": array for name, array in stored.arrays.items()}
    found = {name: unpacked(value, there | arrays, models) for name, value in learned.items()}
    model._restore({name: found[name] for name in ("scale_", *kind._learned)})
    model._check_learned()
    if "coding" in header:
        model.coding_ = Coding.of_state(header["coding"])
        if model.coding_.scale != tuple(model.scale_):
            raise InvalidInputError("the coding of the levels is not that of the scale")
    model.updates_ = Updates.from_state(member(header, "updates", dict)) if "updates" in header else None
    if "ratings.indptr" in arrays:
        rows: dict[str, Any] = {name: arrays[f"ratings.{name}"] for name in ("indptr", "indices", "levels")}
        columns: dict[str, Any] = {name: arrays.get(f"ratings.{name}") for name in ("times", "weights")}
        checked = Ratings.from_csr(model.users_, model.items_, model.scale_, **rows, **columns)
        model.ratings_ = replace(checked, coding=model.coding_)
    if "shards" in header:
        model.ratings_, model.lost_ratings_ = _shards_of(model, member(header, "shards", Path))
    return model


def _shards_of(model: Any, folder: Path) -> tuple[ShardedRatings | None, str]:
    """Return the ratings in shards which a model was fitted on; None, with a warning, and why they are not there."""
    try:
        found = ShardedRatings.open(folder)
        if found.items == model.items_ and found.shape[0] == len(model.users_):
            return found, ""
        why = f"those in {folder} have other users or items now"
    except InvalidInputError as error:
        why = str(InvalidInputError(error.problem, place=error.place))  # its advice is for who makes a folder
    except OSError as error:
        why = str(error)
    text = f"the ratings of this model are not as they were ({why}): it cannot leave out what users rated; {GIVE_BACK}"
    warnings.warn(LostRatingsWarning(text), stacklevel=callers_level())
    return None, why


def checked_parts(whole: RatingModel, parts: Any, kind: type[Any]) -> list[Any]:
    """Return models read from a file as parts of another one, whose users and items they must have.

    Parameters
    ----------
    whole : RatingModel
    parts : object
        Should be a list of models, all of one class.
    kind : type
        What this class must be, or derive from.
    """
    name = type(whole).__name__
    alike = isinstance(parts, list) and bool(parts) and len({type(part) for part in parts}) == 1
    if not alike or not isinstance(parts[0], kind):
        raise InvalidInputError(f"the parts of this {name} must be models of one class, a {kind.__name__}")
    for part in parts:
        if part.users_ != whole.users_ or part.items_ != whole.items_ or part.ratings_ is not None:
            raise InvalidInputError(f"the parts of this {name} must have its users and items")
        part.users_, part.items_ = whole.users_, whole.items_
    return parts
