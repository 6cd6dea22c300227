"""Ids and features of new files, matched with those that a model knows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.datasets import LabelDataset
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.files import display_name
from cofactor.ratings import IdMap
from cofactor.text import counted, few, nearest

__all__ = [
    "IdsByText",
    "NotInTrainingError",
    "align_features",
    "counts_from_zero",
    "hint",
    "match_ids",
    "match_pairs",
    "refuse_new",
]

_NUMBERED = re.compile(r"c\d+")  #: names which readers give to the columns of a table without header


class NotInTrainingError(InvalidInputError):
    """A user or an item was not in training."""


class IdsByText:
    """Ids of a model by their text; made once, where many are looked up.

    Parameters
    ----------
    known : IdMap
        Ids of the model.

    Examples
    --------
    >>> from cofactor.ratings import IdMap
    >>> films = IdsByText(IdMap([7, 8]))
    >>> films.match(7), films.match("8"), films.match("8.0"), films.match("9")
    (7, 8, 8, '9')
    """

    def __init__(self, known: IdMap) -> None:
        ids = known.ids.tolist()
        self._own = {value: value for value in ids}
        self._by_text = {str(value): value for value in ids}
        if known.ids.dtype.kind == "i":
            self._by_text |= {f"{value}.0": value for value in ids}

    def match(self, one: Any) -> Any:
        """Return the id that equals what was given, or else has its text, or what was given where there is none."""
        return self._own.get(one, self._by_text.get(str(one), one))

    def found(self, one: Any, argument: str, advice: str = "") -> Any:
        """Return the id as `match` does; refuse one that is not there.

        Parameters
        ----------
        one : str or number
            What was given.
        argument : str
            Where it was given.
        advice : str, optional
            What to do about one that is not there.
        """
        matched = self.match(one)
        if matched not in self._own:
            raise NotInTrainingError("was not in training", argument=argument, found=one, advice=advice)
        return matched


def match_ids(texts: Sequence[Any] | NDArray[Any], known: IdMap) -> list[Any]:
    """Return for each text the id of the model that has this text, or the text itself where there is none.

    Where all ids of the model are whole numbers, 7.0 is 7: a column with gaps is often written so.

    Parameters
    ----------
    texts : sequence of str
        Ids as a file has them.
    known : IdMap
        Ids of the model.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> model = ALS(n_factors=1, alpha=1.0, random_state=0).fit([(1, 7), (1, 8), (2, 7)], [1, 2, 2])
    >>> match_ids(["7", "8.0", "9"], model.items_)
    [7, 8, '9']
    """
    ids = IdsByText(known)
    return [ids.match(text) for text in texts]


def refuse_new(ids: Sequence[Any], known: IdMap, argument: str) -> None:
    """Refuse ids of users, or items, that were not in training.

    Parameters
    ----------
    ids : sequence
        In the form which the model knows.
    known : IdMap
        Ids of the model.
    argument : {"users", "items"}
        Whose ids.
    """
    places = known.index(ids)
    if (places < 0).any():
        found = ids[int((places < 0).argmax())]
        advice = hint(found, known, "cofactor update takes their ratings into the model" if argument == "users" else "")
        raise NotInTrainingError("was not in training", argument=argument, found=found, advice=advice)


def hint(one: Any, known: IdMap, otherwise: str = "") -> str:
    """Return what to do about an id that is not there: names that are nearly it, and other advice.

    It is for those who have the model; others must not be told who is in it.

    Examples
    --------
    >>> from cofactor.ratings import IdMap
    >>> hint("anna", IdMap(["ann", "bob"]), "leave her out")
    'did you mean ann? Otherwise leave her out'
    >>> hint("zoe", IdMap(["ann", "bob"]), "leave her out")
    'leave her out'
    """
    near = nearest(one, map(str, known.ids)) if isinstance(one, str) and known.ids.dtype.kind in "OU" else []
    if not near:
        return otherwise
    meant = f"did you mean {', '.join(near)}?"
    return f"{meant} Otherwise {otherwise}" if otherwise else meant


def match_pairs(X: NDArray[Any], users: IdMap, items: IdMap) -> NDArray[Any]:
    """Return pairs of user and item with the ids of a model.

    Parameters
    ----------
    X : ndarray of shape (n, 2)
        Ids as a file has them.
    users, items : IdMap
        Ids of the model.
    """
    matched = np.empty(X.shape, dtype=object)
    matched[:, 0] = match_ids(X[:, 0], users)
    matched[:, 1] = match_ids(X[:, 1], items)
    return matched


def align_features(data: LabelDataset, model: Any, *, named: bool) -> Any:
    """Return the features of a file in the order of those that a label model was fitted to.

    Parameters
    ----------
    data : LabelDataset
        What was read.
    model : LabelModel
        Fitted.
    named : bool
        Whether the file names its columns. Columns with names of labels are left out then.
    """
    known = getattr(model, "feature_names_in_", None)
    if known is None:  # fitted in Python to arrays: positions are all there is
        if data.n_features != model.n_features_in_:
            there = f"has {counted(data.n_features, 'feature')} ({few(data.feature_names)})"
            fitted = f"the model was fitted to {model.n_features_in_}, without names"
            advice = "fit it to a frame, so that it knows which are missing"
            raise InvalidInputError(f"{there}, but {fitted}", advice=advice, place=Place(data.name))
        return data.X
    wanted = [str(name) for name in known]
    if all(map(_NUMBERED.fullmatch, (*data.feature_names, *wanted))) and data.n_features == len(wanted):
        return data.X
    labels = {str(name) for name in model.label_names_}
    keep = [j for j, name in enumerate(data.feature_names) if not (named and name in labels)]
    if len(keep) < data.n_features:
        names = tuple(data.feature_names[j] for j in keep)
        data = replace(data, X=data.X[:, np.array(keep, dtype=np.intp)], feature_names=names)
    return data.align(wanted)


def counts_from_zero(names: Sequence[Any] | NDArray[Any], letter: str) -> bool | None:
    """Return whether the columns of a libsvm file count from 0, judged by their names.

    None where the names are not those which the reader of such files gives.

    Parameters
    ----------
    names : sequence of str
        Of features or labels.
    letter : str
        The letter with which such names begin.

    Examples
    --------
    >>> counts_from_zero(["x1", "x2"], "x"), counts_from_zero(["y0"], "y"), counts_from_zero(["age", "size"], "x")
    (False, True, None)
    """
    first = str(names[0]) if len(names) else ""
    if first not in (f"{letter}0", f"{letter}1") or str(names[-1]) != f"{letter}{int(first[1:]) + len(names) - 1}":
        return None
    return first == f"{letter}0"


def bases_of(model: Any, asked: bool | None) -> tuple[Any, Any]:
    """Return whether features and labels of a libsvm file count from 0, as in training; "auto" if unknown.

    Parameters
    ----------
    model : LabelModel
        Fitted.
    asked : bool, optional
        The option of the user.
    """
    known = counts_from_zero(getattr(model, "feature_names_in_", ()), "x")
    if known is not None and asked is not None and known != asked:
        start = 0 if known else 1
        message = f"the indices of the file to which the model was fitted count from {start}"
        raise InvalidInputError((Argument("zero_based", asked), ": ", message))
    of_labels = counts_from_zero(model.label_names_, "y")
    index = known if known is not None else asked
    label = of_labels if of_labels is not None else asked
    return "auto" if index is None else index, "auto" if label is None else label


def refuse_sizes(model: Any, file: str) -> None:
    """Refuse a libsvm file with sizes, whose indices count from 0, for a model whose indices count from 1."""
    if counts_from_zero(getattr(model, "feature_names_in_", ()), "x") is False:
        raise InvalidInputError(
            "has sizes in its first line, so that its indices count from 0, but the model was fitted to a libsvm file "
            "whose indices count from 1",
            place=Place(display_name(file)),
        )
