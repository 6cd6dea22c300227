"""Features of users or items that the caller knows: numbers and categories, read from whatever holds them.

Training teaches means and scales of numbers, and which categories there are.
"""

from __future__ import annotations

import itertools
import warnings
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import narwhals as nw
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import as_list, refuse_masked
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.frames import as_array, as_frame, collect
from cofactor.model.convergence import callers_level
from cofactor.model.state import check_array
from cofactor.model.times import is_missing, pairs_for
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interactions import is_data_set
from cofactor.text import plural, shorten, some_of
from cofactor.typing import SideFeatures

_FORMS = (
    "a mapping from ids to sequences of numbers and texts, a frame with the ids in its first column (or in a named or "
    "non-integer pandas index), or a tuple (ids, array) or (ids, mapping from names to columns)"
)


_TIMES = (np.datetime64, np.timedelta64)  # NumPy makes numbers of them, in whatever unit they have

_TOO_LARGE = 1e100  #: its square, of which there are sums, is still a number


@dataclass(frozen=True)
class FeatureTable:
    """Features of some users, or items.

    Attributes
    ----------
    argument : str
        Name of the argument they came as, for messages.
    ids : IdMap
        Whose they are.
    values : ndarray of shape (n, c), float64
        In the order of `ids`: finite numbers; in columns of categories the position of each among `categories`, and NaN
        where there is none.
    names : tuple of str
        Of the columns.
    categories : tuple
        For each column its categories, sorted; None for a column of numbers.
    """

    argument: str
    ids: IdMap
    values: NDArray[np.float64]
    names: tuple[str, ...]
    categories: tuple[tuple[str, ...] | None, ...]

    @property
    def checksum(self) -> int:
        """A number that is the same for the same features, in whatever order they came."""
        ids = "\n".join(map(repr, self.ids.ids.tolist()))
        return zlib.crc32(self.values.tobytes(), zlib.crc32(f"{ids}{self._words}".encode()))

    @property
    def _words(self) -> str:
        """What categories stand for, in one text; empty without any."""
        return repr(self.categories) if any(words is not None for words in self.categories) else ""

    def select(self, chosen: NDArray[np.bool_]) -> FeatureTable:
        """Return the rows that are chosen."""
        return replace(self, ids=IdMap(self.ids.ids[chosen]), values=self.values[chosen])

    def without(self, known: IdMap) -> FeatureTable:
        """Return the rows of those who are not known."""
        return self.select(new_rows(known, self))

    @classmethod
    def read(cls, table: Any, argument: str) -> FeatureTable:
        """Read features from a mapping, a frame, or ids with an array or columns; take those read before as they are.

        Columns of text, and categorical ones of frames, are categories; all others must be numbers.

        Examples
        --------
        >>> table = FeatureTable.read({"bob": [31, "cook"], "ann": [25, "artist"]}, "user_features")
        >>> table.values.tolist(), table.categories
        ([[25.0, 0.0], [31.0, 1.0]], (None, ('artist', 'cook')))
        """
        if isinstance(table, FeatureTable):
            return table  # which was given as what it says
        ids, columns = _columns_of(table, argument)
        if not columns or not len(ids):
            raise InvalidInputError(f"{argument} holds no features: expected {_FORMS}", argument=argument)
        known = IdMap(ids, f"the ids of {argument}")
        where = known.index(ids)
        if len(known) < len(where):
            twice = known.ids[np.bincount(where) > 1]
            raise InvalidInputError(
                f"{argument} has several rows for {some_of(twice, 3)}: leave one for each id", argument=argument
            )
        values = np.empty((len(known), len(columns)))
        categories: list[tuple[str, ...] | None] = []
        for k, (name, column) in enumerate(columns.items()):
            words = _words_of(column, name, argument)
            if words is None:
                values[where, k] = _numbers(column, name, ids, argument)
                categories.append(None)
            else:
                values[where, k], kinds = coded(words)
                categories.append(kinds)
        return cls(argument, known, values, tuple(columns), tuple(categories))


def unknown_features(argument: str) -> InvalidInputError:
    """Return the error for features of a kind that a model was not fitted with."""
    return InvalidInputError(
        (Argument(argument), " was not given in training, so nothing is known about what it says"),
        argument=argument,
        advice="leave it out, or fit a Recommender, OrdinalProbit, ALS, BPMF or MMMF with such features",
    )


def refuse_foreign(table: FeatureTable, ids: IdMap) -> None:
    """Refuse features of none of these ids."""
    if not (table.ids.index(ids.ids) >= 0).any():
        raise InvalidInputError(
            f"{table.argument} has no row for any of the {len(ids)} ids of the ratings, such as "
            f"{some_of(ids.ids, 3)}; it has rows for {some_of(table.ids.ids, 3)}",
            argument=table.argument,
        )


def _columns_of(table: Any, argument: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    """Return ids, and the columns by their names, of whatever form holds them."""
    table = collect(table, argument)
    frame = as_frame(table)
    if frame is not None:
        return _of_frame(frame, argument)
    if isinstance(table, Mapping):
        ids = list(table)
        return ids, _of_rows([np.atleast_1d(_as_given(row, argument)) for row in table.values()], ids, argument)
    if not (isinstance(table, tuple) and len(table) == 2):
        raise InvalidTypeError(f"{argument} is a {type(table).__name__}, expected {_FORMS}", argument=argument)
    ids, given = as_list(table[0], f"the first of {argument}"), table[1]
    if sparse.issparse(given):
        raise InvalidTypeError(
            f"{argument} holds a sparse matrix, expected an array: give it with .toarray()", argument=argument
        )
    if isinstance(given, Mapping):
        columns = {str(name): _as_given(column, argument) for name, column in given.items()}
        odd = next((name for name, column in columns.items() if column.shape != (len(ids),)), None)
        if odd is not None:
            raise InvalidInputError(
                f"{argument} has {len(ids)} ids but {odd} of shape {columns[odd].shape}: expected a value for each",
                argument=argument,
            )
        return ids, columns
    values = _as_given(given, argument)
    values = values[:, None] if values.ndim == 1 else values
    if values.ndim != 2 or len(values) != len(ids):
        raise InvalidInputError(
            f"{argument} has {len(ids)} ids but an array of shape {values.shape}: expected a row for each",
            argument=argument,
        )
    return ids, {f"column {k}": values[:, k] for k in range(values.shape[1])}


def _as_given(values: Any, argument: str) -> NDArray[Any]:
    """Return an array whose cells are what was given: NumPy would make texts of numbers beside texts."""
    refuse_masked(values, argument)
    return values if isinstance(values, np.ndarray) else np.asarray(values, dtype=object)


def _of_frame(frame: nw.DataFrame[Any], argument: str) -> tuple[Any, dict[str, NDArray[Any]]]:
    names = list(frame.columns)
    columns = {str(column.name): _of_series(column) for column in frame.iter_columns()}
    index = nw.maybe_get_index(frame)
    if index is not None and (index.name is not None or np.asarray(index).dtype.kind not in "iu"):
        return np.asarray(index), columns
    if len(names) < 2:
        raise InvalidInputError(
            f"{argument} has the column {names} only: expected ids and at least one feature", argument=argument
        )
    columns.pop(str(names[0]))
    return as_array(next(iter(frame.iter_columns()))), columns


def _of_series(column: nw.Series[Any]) -> NDArray[Any]:
    """Return a column of a frame; a categorical one as texts, even if its categories are numbers."""
    cells = as_array(column)
    if column.dtype not in (nw.Categorical, nw.Enum):
        return cells
    words = np.empty(len(cells), dtype=object)
    words[:] = [None if is_missing(cell) else word_of(cell) for cell in cells.tolist()]
    return words


def _of_rows(rows: Sequence[NDArray[Any]], ids: Sequence[Any], argument: str) -> dict[str, NDArray[Any]]:
    if not rows:
        return {}
    odd = next((k for k, row in enumerate(rows) if row.shape != (len(rows[0]),)), None)
    if odd is not None:
        raise InvalidInputError(
            f"{argument} has features of shape {rows[odd].shape} for {ids[odd]!r} but {rows[0].shape} for {ids[0]!r}: "
            "expected as many for each",
            argument=argument,
        )
    return {f"column {k}": np.array([row[k] for row in rows], dtype=object) for k in range(len(rows[0]))}


def word_of(value: Any) -> str:
    """Return the name of a category: a number has the same whichever type holds it.

    Examples
    --------
    >>> word_of("3"), word_of(3), word_of(3.0), word_of(2.5)
    ('3', '3', '3', '2.5')
    """
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _words_of(column: NDArray[Any], name: str, argument: str) -> list[str | None] | None:
    """Return the cells of a column of texts, None for those that are missing; or None if it is a column of numbers."""
    if column.dtype.kind not in "OUST":
        return None
    cells = [None if is_missing(cell) or cell == "" else cell for cell in column.tolist()]
    texts = [cell for cell in cells if isinstance(cell, str)]
    beside = [cell for cell in cells if cell is not None and not isinstance(cell, str)]
    if texts and beside:
        raise InvalidTypeError(
            f"{argument}: {name} holds {texts[0]!r} beside {beside[0]!r}, expected numbers throughout, or texts: write "
            "numbers as texts where they stand for categories",
            argument=argument,
        )
    missing = not beside and not any(isinstance(cell, float) for cell in column.tolist())
    return cells if texts or missing else None


def coded(words: Sequence[str | None]) -> tuple[NDArray[np.float64], tuple[str, ...]]:
    """Return the position of each word among those there are, NaN where there is none; and these words, sorted."""
    kinds = tuple(sorted({word for word in words if word is not None}))
    position: dict[str | None, float] = {word: float(k) for k, word in enumerate(kinds)}
    return np.array([position.get(word, np.nan) for word in words]), kinds


def _numbers(column: NDArray[Any], name: str, ids: Any, argument: str) -> NDArray[np.float64]:
    try:
        if column.dtype.kind in "Mmc" or any(isinstance(cell, _TIMES) for cell in column if column.dtype == object):
            raise TypeError
        numbers = column.astype(np.float64)
    except (TypeError, ValueError):
        found = repr(column[0])
        raise InvalidTypeError(
            f"{argument}: {name} holds {found}, expected numbers, or texts that name categories", argument=argument
        ) from None
    bad = np.flatnonzero(~(np.abs(numbers) < _TOO_LARGE))
    if bad.size:
        whose = np.asarray(ids, dtype=object)[bad].tolist()[0]
        raise InvalidInputError(
            f"{argument}: {name} is {numbers[bad[0]]:g} for {whose!r}, one of {plural(bad.size, 'value')} there that "
            f"cannot be used: fill them in, or leave out these rows (ids without a row get the column means)",
            argument=argument,
        )
    return numbers


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
                f"{argument}: {shorten([own[k] for k in new])} of {name} did not occur in training, and says nothing "
            )
            text += "for " + plural(int(np.isin(column, new).sum()), "row")
            warnings.warn(InputWarning(text), stacklevel=callers_level())


def table_of(given: SideFeatures | None, argument: str) -> FeatureTable | None:
    """Return the features that a caller gave, checked; None without."""
    if given is None:
        return None
    return FeatureTable.read(given, argument)


def tables_of(
    X: Any, user_features: SideFeatures | None, item_features: SideFeatures | None
) -> tuple[FeatureTable | None, FeatureTable | None]:
    """Return features of users and of items, checked: those that are given, or that a data set has.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from cofactor.datasets import make_ratings
    >>> data = replace(make_ratings(3, 2, 1, random_state=0), features={"item_features": {0: [2.5], 1: [3.0]}})
    >>> tables_of(data, None, None)[1].values.tolist()
    [[2.5], [3.0]]
    """
    own = getattr(X, "features", {}) if is_data_set(X) else {}
    users = own.get("user_features") if user_features is None else user_features
    items = own.get("item_features") if item_features is None else item_features
    return table_of(users, "user_features"), table_of(items, "item_features")


@dataclass(frozen=True)
class PairQuery:
    """Pairs of user and item, and for each part of them the model that knows it.

    Attributes
    ----------
    n_pairs : int
    parts : list of tuple
        Which pairs are in the part, these pairs, and the model.
    """

    n_pairs: int
    parts: list[tuple[NDArray[np.bool_], NDArray[Any], Any]]

    @classmethod
    def of(
        cls,
        model: Any,
        X: NDArray[Any],
        users: FeatureTable | None,
        items: FeatureTable | None,
        times: NDArray[np.float64] | None = None,
    ) -> PairQuery:
        """Fold in those who are new, as far as features describe them.

        Parameters
        ----------
        model : RatingModel
            Fitted.
        X : ndarray of shape (n, 2)
            Pairs of user and item.
        users, items : FeatureTable or None
            Features of users and of items.
        times : ndarray of shape (n,), optional
            When they are asked for; models that know time need it.

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
        >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
        >>> genres = table_of({i: ["drama" if i % 2 else "comedy"] for i in range(8)}, "item_features")
        >>> model = ALS(2, 0.1, random_state=0).fit(X, y, item_features=genres)
        >>> PairQuery.of(model, np.array([(0, 5), (0, 7), (1, 7)]), None, genres).answers("predict")
        array([1., 2., 3.])
        """
        new = np.zeros((len(X), 2), dtype=np.bool_)
        for side, (table, known) in enumerate(((users, model.users_), (items, model.items_))):
            if table is not None:
                at = table.ids.index(X[:, side])
                new[:, side] = (at >= 0) & new_rows(known, table)[at]
        parts = []
        for of_users, of_items in itertools.product((False, True), repeat=2):
            rows = (new == [of_users, of_items]).all(axis=1)
            if rows.any():
                part = model
                if of_users and users is not None:
                    part = part.fold_in(user_features=users.without(part.users_))
                if of_items and items is not None:
                    part = part.with_new_items(items)
                parts.append((rows, pairs_for(part, X[rows], None if times is None else times[rows]), part))
        return cls(len(X), parts)

    def answers(self, method: str) -> NDArray[Any]:
        """Return what a method of the models says of all pairs."""
        found = [getattr(model, method)(pairs) for _, pairs, model in self.parts]
        whole = np.empty((self.n_pairs, *found[0].shape[1:]), dtype=found[0].dtype)
        for (rows, _, _), values in zip(self.parts, found, strict=True):
            whole[rows] = values
        return whole

    def n_unknown(self) -> int:
        """Return how many pairs have a user or an item that their model does not know."""
        return sum(
            int(((model.users_.index(pairs[:, 0]) < 0) | (model.items_.index(pairs[:, 1]) < 0)).sum())
            for _, pairs, model in self.parts
        )


def takes_features(model: Any) -> bool:
    """Return whether a model can be fitted with features of users and items; of a `Recommender` its rating model.

    Examples
    --------
    >>> from cofactor.ratings import ALS, URP, Recommender
    >>> takes_features(ALS()), takes_features(URP())
    (True, False)
    >>> takes_features(Recommender()), takes_features(Recommender(ratings=URP()))
    (True, False)
    """
    return hasattr(model, "can") and bool(model.can("features"))


def new_rows(known: IdMap, table: FeatureTable) -> NDArray[np.bool_]:
    """Return whose features are not those of known users, or items, in the order of the table."""
    return known.index(table.ids.ids) < 0
