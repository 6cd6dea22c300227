"""What training teaches about features: means and scales of numbers, and which categories there are."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError
from cofactor.model.callers import callers_level
from cofactor.model.state import check_array
from cofactor.ratings.features import FeatureTable, coded, refuse_foreign, word_of
from cofactor.ratings.ids import IdMap
from cofactor.text import counted, few

#: Most categories of a column: each is a feature of its own.
_MOST_CATEGORIES = 1000

Words = tuple[tuple[str, ...] | None, ...]


@dataclass(frozen=True)
class Standardization:
    """How the columns of a table become features that have mean 0 over the rows of training, and are alike in size.

    Numbers get the standard deviation 1. A column of categories becomes a feature for each category of training, 1 for
    those who have it; the variances of these features sum to one, so that the column counts as much as one of numbers.
    Where nothing is known (no row, no category, a category that training did not have), features are 0, their means.

    Attributes
    ----------
    names : tuple of str
        Of the columns.
    means, scales : ndarray of shape (C,), float64
        Of the features. A scale of infinity stands for a column that was constant in training: it says nothing, and is
        left out.
    categories : tuple
        For each column its categories in training, sorted; None for a column of numbers.
    """

    names: tuple[str, ...]
    means: NDArray[np.float64]
    scales: NDArray[np.float64]
    categories: Words

    @classmethod
    def of(cls, table: FeatureTable, ids: IdMap) -> Self:
        """Learn from the rows of these ids; columns that are constant there are dropped with a warning."""
        refuse_foreign(table, ids)
        found = table.ids.index(ids.ids)
        known = table.values[found[found >= 0]]
        categories = _occurring(table, known)
        features = _spread(known, table.categories, categories)
        missing = np.isnan(features)
        counts = np.maximum((~missing).sum(axis=0), 1)
        means = np.where(missing, 0, features).sum(axis=0) / counts
        scales = np.sqrt((np.where(missing, 0, features - means) ** 2).sum(axis=0) / counts)
        largest = np.abs(np.where(missing, 0, features)).max(axis=0)
        constant = scales <= 1e-12 * np.maximum(np.abs(means), largest)
        for columns, words in zip(_parts(categories), categories, strict=True):
            if words is not None:
                scales[columns] = np.sqrt((scales[columns] ** 2).sum())
                constant[columns] = len(words) < 2
        _warn_of_constant(table, [constant[columns].all() for columns in _parts(categories)])
        return cls(table.names, means, np.where(constant, np.inf, scales), categories)

    @property
    def n_columns(self) -> int:
        """Number of features of columns that were not constant."""
        return int(np.isfinite(self.scales).sum())

    @property
    def weight(self) -> float:
        """What each feature weighs, so that those of all columns together are as long as one number."""
        varying = sum(bool(np.isfinite(self.scales[columns]).any()) for columns in _parts(self.categories))
        return float(1 / np.sqrt(max(varying, 1)))

    def rows(self, table: FeatureTable | None, ids: IdMap) -> NDArray[np.float64]:
        """Return the features of these ids, without constant columns; zeros (the means) for what is not known."""
        varies = np.isfinite(self.scales)
        out = np.zeros((len(ids), self.n_columns))
        if table is None:
            return out
        if table.names != self.names:
            raise InvalidInputError(
                f"{table.argument} has the columns {', '.join(table.names)}, but those of training were "
                f"{', '.join(self.names)}: give the same in the same order",
                argument=table.argument,
            )
        found = table.ids.index(ids.ids)
        known = found >= 0
        values = table.values[found[known]]
        values, kinds = _as_in_training(table, values, self.categories)
        _warn_of_new(table.argument, self.names, values, kinds, self.categories)
        features = (_spread(values, kinds, self.categories)[:, varies] - self.means[varies]) / self.scales[varies]
        out[known] = np.where(np.isnan(features), 0, features)
        return out

    def to_state(self) -> dict[str, Any]:
        """Return names, means, scales and categories as a dictionary."""
        categories = [None if words is None else list(words) for words in self.categories]
        return {"names": list(self.names), "means": self.means, "scales": self.scales, "categories": categories}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned; what does not fit together is refused."""
        names = tuple(str(name) for name in state["names"])
        given = state["categories"]
        categories = tuple(None if words is None else tuple(str(word) for word in words) for words in given)
        unsorted = any(words is not None and list(words) != sorted(set(words)) for words in categories)
        if len(categories) != len(names) or unsorted:
            raise InvalidInputError("categories of features must be sorted, and given for every column")
        n = sum(1 if words is None else len(words) for words in categories)
        for key in ("means", "scales"):
            check_array(f"{key} of features", state[key], (n,), np.float64, finite=False)
        if not np.isfinite(state["means"]).all() or not (state["scales"] > 0).all():
            raise InvalidInputError("means of features must be finite, and their scales positive")
        return cls(names, state["means"], state["scales"], categories)


def _parts(categories: Words) -> list[slice]:
    """Return where the features of each column are."""
    ends = np.cumsum([1 if words is None else len(words) for words in categories])
    return [slice(end - (1 if words is None else len(words)), end) for end, words in zip(ends, categories, strict=True)]


def _occurring(table: FeatureTable, known: NDArray[np.float64]) -> Words:
    """Return the categories that occur in the rows of training."""
    found: list[tuple[str, ...] | None] = []
    for name, words, column in zip(table.names, table.categories, known.T, strict=True):
        if words is None:
            found.append(None)
            continue
        there = np.unique(column[~np.isnan(column)]).astype(int)
        if len(there) > _MOST_CATEGORIES:
            raise InvalidInputError(
                f"{table.argument}: {name} has {len(there):,} categories, and at most {_MOST_CATEGORIES:,} are taken",
                argument=table.argument,
                advice="leave the column out, or join categories",
            )
        found.append(tuple(words[k] for k in there))
    return tuple(found)


def _spread(values: NDArray[np.float64], kinds: Words, categories: Words) -> NDArray[np.float64]:
    """Return numbers as they are, and 0 and 1 for each category, NaN where a row has none of them.

    Parameters
    ----------
    values : ndarray of shape (n, c)
        Numbers, and positions among the `kinds` of a column.
    kinds : tuple
        The categories that positions stand for.
    categories : tuple
        Those that have features.
    """
    features: list[NDArray[np.float64]] = []
    for column, own, words in zip(values.T, kinds, categories, strict=True):
        if words is None or own is None:
            features.append(column[:, None])
            continue
        position = {word: k for k, word in enumerate(words)}
        places = np.array([*(position.get(word, -1) for word in own), -1])
        place = places[np.where(np.isnan(column), len(own), column).astype(int)]
        own_features = (place[:, None] == np.arange(len(words))).astype(np.float64)
        own_features[place < 0] = np.nan
        features.append(own_features)
    return np.hstack(features)


def _as_in_training(
    table: FeatureTable, values: NDArray[np.float64], categories: Words
) -> tuple[NDArray[np.float64], Words]:
    """Return values and what their positions stand for, with categories in the columns where training had them."""
    values, kinds = values.copy(), list(table.categories)
    for k, (own, words) in enumerate(zip(table.categories, categories, strict=True)):
        if words is None and own is not None:
            found = repr(own[0]) if own else "no value"
            raise InvalidTypeError(
                f"{table.argument}: {table.names[k]} holds {found}, expected numbers as in training",
                argument=table.argument,
            )
        if words is not None and own is None:
            values[:, k], kinds[k] = coded([word_of(number) for number in values[:, k].tolist()])
    return values, tuple(kinds)


def _warn_of_constant(table: FeatureTable, constant: Sequence[bool]) -> None:
    names = [name for name, same in zip(table.names, constant, strict=True) if same]
    if names:
        verb = "are" if len(names) > 1 else "is"
        warnings.warn(
            f"{table.argument}: {', '.join(names)} {verb} the same for all in training: dropped",
            UserWarning,
            stacklevel=callers_level(),
        )


def _warn_of_new(
    argument: str, names: Sequence[str], values: NDArray[np.float64], kinds: Words, categories: Words
) -> None:
    """Warn of categories that did not occur in training."""
    for name, column, own, words in zip(names, values.T, kinds, categories, strict=True):
        if words is None or own is None:
            continue
        new = [k for k in np.unique(column[~np.isnan(column)]).astype(int).tolist() if own[k] not in words]
        if new:
            text = (
                f"{argument}: {few([own[k] for k in new])} of {name} did not occur in training, and says nothing for "
            )
            text += counted(int(np.isin(column, new).sum()), "row")
            warnings.warn(InputWarning(text), stacklevel=callers_level())
