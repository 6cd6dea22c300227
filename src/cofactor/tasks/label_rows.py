"""Rows that come without files, as those to a server, as features of a label model."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.utils import get_tags

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.data import features_to_score
from cofactor.labels.features import CheckedFeatures
from cofactor.limits import LARGEST
from cofactor.recipe import Recipe, truth_of
from cofactor.text import did_you_mean

__all__ = ["Given", "Row", "RowReader", "hint", "without_names"]

#: A vector of all features; values by names of features, or of columns of a table; or a text.
Row: TypeAlias = Sequence[float] | Mapping[str, Any] | str

_FORMS: dict[type[Any], str] = {list: "numbers", dict: "names", str: "text"}
_MOST_KNOWN = 5000  #: names among which similar ones are looked for
_LONGEST = 100  #: characters of a name for which similar ones are looked for


class Given(NamedTuple):
    """Rows as features.

    Attributes
    ----------
    features : ndarray or csr_array of shape (n, D)
        Checked, not yet scaled.
    unknown : dict from int to list of str
        For some rows which columns hold a value that did not occur in training.
    """

    features: CheckedFeatures
    unknown: dict[int, list[str]]


def hint(name: str, known: Sequence[str], otherwise: str = "") -> str:
    """Return which of some names may be meant, see `did_you_mean`; where they are too many, how to see them.

    Parameters
    ----------
    name : str
        What was given.
    known : sequence of str
        What could be meant.
    otherwise : str, optional
        The hint where no name is similar.
    """
    return otherwise if len(known) > _MOST_KNOWN else did_you_mean(name[:_LONGEST], known, otherwise)


class RowReader:
    """Makes features of rows: for a model, or a pipeline of transformers and a model.

    Parameters
    ----------
    model : LabelModel or Pipeline
        Fitted.

    Attributes
    ----------
    end : LabelModel
        The model in which the pipeline ends; it takes the features without names.
    forms : tuple of str
        Which rows it reads: "numbers", all features in their order; "names", objects of values by names of features,
        0 where nothing is said; "table", objects of cells by columns of the table to which the model was fitted, a
        column that is not there as a cell without a value; "text".
    names : list of str
        What rows may name: features, by their positions where they have no names, or columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from cofactor.labels import LabelRidge
    >>> X = pd.DataFrame({"wind": [3.0, 0.0, 1.0, 4.0], "rain": [0.0, 1.0, 1.0, 0.0]})
    >>> reader = RowReader(LabelRidge.paper().fit(X, [[1], [0], [0], [1]]))
    >>> reader.forms, reader.read([{"rain": 2}, {}]).features.toarray().tolist()
    (('numbers', 'names'), [[0.0, 2.0], [0.0, 0.0]])
    >>> reader.read([{"win": 2}])
    Traceback (most recent call last):
    ...
    cofactor.errors.InvalidInputError: rows[0].win=2: is no feature of the model: did you mean wind?
    """

    def __init__(self, model: Any) -> None:
        steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
        *before, end = [step for step in steps if step is not None and not isinstance(step, str)]
        first = before[0] if before else end
        self.end, self._before = without_names(end), [without_names(step) for step in before]
        self._recipe: Recipe | None = None if before else getattr(end, "recipe_", None)
        self._takes_sparse = not before or bool(get_tags(model).input_tags.sparse)
        words = getattr(first, "vocabulary_", None)
        self._reads_text = words is not None
        known = getattr(first, "feature_names_in_", None) if words is None else sorted(words, key=words.__getitem__)
        n_features = first.n_features_in_ if words is None else len(words)
        self._n_features = int(n_features)
        self._features = list(map(str, range(self._n_features) if known is None else known))
        self._positions = {name: j for j, name in enumerate(self._features)}
        self._codes = {} if self._recipe is None else _codes(self._recipe)
        self._is_table = self._recipe is not None and _makes_features(self._recipe)
        self._text_column = self._one_text()
        self.terms = _names_after(self._before, self._features, known is not None)

    @property
    def forms(self) -> tuple[str, ...]:
        """Which rows it reads."""
        if self._reads_text:
            return ("text",)
        return ("numbers", "table" if self._is_table else "names", *(["text"] if self._text_column else []))

    @property
    def names(self) -> list[str]:
        """What rows may name."""
        return list(self._recipe.features) if self._recipe is not None and self._is_table else self._features

    def described(self, names: Sequence[str]) -> list[dict[str, Any]]:
        """Return name and kind of some of what rows may name: a number, a text, or words, of which it has these.

        Parameters
        ----------
        names : sequence of str
            Some of `names`.
        """
        recipe = self._recipe
        if recipe is None:
            return [{"name": name, "kind": "word" if self._reads_text else "number"} for name in names]
        return [_described(name, recipe) for name in names]

    def example(self) -> Any:
        """Return a row that the model takes."""
        recipe = self._recipe
        if self._reads_text:
            return " ".join(self._features[:2])
        if recipe is not None and self._is_table:
            return {name: _example_of(name, recipe) for name in recipe.features}
        return dict.fromkeys(self._features[:2], 1)

    def read(self, rows: Sequence[Row], place: str = "rows[{}]") -> Given:
        """Return rows as features; all of them must have one form.

        Parameters
        ----------
        rows : sequence of Row
            At least one.
        place : str, default="rows[{}]"
            What messages call them.

        Raises
        ------
        InvalidInputError
            If a row does not fit the model; the message names the row and the feature.
        """
        kind = type(rows[0])
        for k, row in enumerate(rows):
            if type(row) is not kind:
                problem = f"is of the form {_form(row)}, and others are {_form(rows[0])}"
                raise InvalidInputError(problem, argument=place.format(k), advice="send each form in its own request")
        if _form(rows[0]) not in self.forms and not (kind is dict and self._is_table):
            raise self._wrong_form(rows[0], place.format(0))
        if kind is str:
            return self._texts(rows, place)
        if kind is list:
            return self._through(self._vectors(rows, place))
        if self._is_table:
            return self._table(rows, place)
        return self._through(self._named(rows, place))

    # ---------------------------------------------------------------- the forms

    def _vectors(self, rows: Sequence[Any], place: str) -> NDArray[np.float64]:
        """Return vectors of all features as a table."""
        for k, row in enumerate(rows):
            if len(row) != self._n_features:
                problem = f"expected {self._n_features:,} numbers, found {len(row):,}"
                raise InvalidInputError(problem, argument=place.format(k), found=len(row))
        table = np.array(rows, dtype=np.float64)
        wrong = ~(np.abs(table) <= LARGEST)
        if wrong.any():
            k, j = np.argwhere(wrong)[0].tolist()
            _refuse_size(f"{place.format(k)}[{j}]", rows[k][j])
        return table

    def _named(self, rows: Sequence[Any], place: str) -> CheckedFeatures:
        """Return values by names of features as a sparse table; what has no name is 0."""
        indptr: list[int] = [0]
        indices: list[int] = []
        values: list[float] = []
        for k, row in enumerate(rows):
            found: dict[int, float] = {}
            for name, value in row.items():
                j = self._positions.get(name)
                if j is not None:
                    found[j] = self._number(name, value, place, k)
                elif not self._is_left_out(name):
                    raise self._unknown(name, value, place.format(k))
            order = sorted(j for j, value in found.items() if value)
            indices += order
            values += [found[j] for j in order]
            indptr.append(len(indices))
        parts = (np.array(values), np.array(indices, dtype=np.int32), np.array(indptr, dtype=np.int32))
        table = csr_array(parts, shape=(len(rows), self._n_features))
        table.has_canonical_format = True  # by the order, so that it is not looked for again and again
        return table if self._takes_sparse else table.toarray()

    def _table(self, rows: Sequence[Any], place: str) -> Given:
        """Return rows of a table as features, by the recipe of the model."""
        from pyarrow import table as arrow  # takes a while to load, as do the readers, and few models need it

        from cofactor.datasets import read_label_table

        recipe = self._recipe
        assert recipe is not None
        known = set(recipe.features)
        for k, row in enumerate(rows):
            for name, value in row.items():
                if name not in known and not self._is_left_out(name):
                    raise self._unknown(name, value, place.format(k))
        cells = {
            name: [self._cell(name, row.get(name), place, k) for k, row in enumerate(rows)] for name in recipe.features
        }
        unknown: dict[int, list[str]] = {}
        for name in filter(recipe.spread, recipe.words):
            words = {None, "", *recipe.words[name]}
            for k, cell in enumerate(cells[name]):
                if cell not in words:
                    unknown.setdefault(k, []).append(name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", InputWarning)  # of what did not occur in training, which is returned
            read = read_label_table(arrow(cells), [], recipe=recipe)
        return Given(features_to_score(read.X, self.end), unknown)

    def _texts(self, rows: Sequence[Any], place: str) -> Given:
        if self._reads_text:
            return self._through(list(rows))
        return self._table([{self._text_column: row} for row in rows], place)

    def _through(self, table: Any) -> Given:
        """Return what transformers make of a table."""
        if not self._before:
            return Given(table, {})
        for step in self._before:
            table = step.transform(table)
        return Given(features_to_score(table, self.end), {})

    # ---------------------------------------------------------------- values

    def _number(self, name: str, value: Any, place: str, k: int) -> float:
        """Return the value of a feature as a number."""
        codes = self._codes.get(name)
        if codes is not None:
            code = codes.get(_word(value).lower())
            if code is not None:
                return code
        if value is None and self._recipe is not None and name in self._recipe.fill:
            return self._recipe.fill[name]
        if value is None or isinstance(value, str):
            expected = "a number" if codes is None else " or ".join(codes)
            raise InvalidInputError(f"expected {expected}", argument=f"{place.format(k)}.{name}", found=value)
        if not -LARGEST <= value <= LARGEST:
            _refuse_size(f"{place.format(k)}.{name}", value)
        return float(value)

    def _cell(self, name: str, value: Any, place: str, k: int) -> Any:
        """Return the cell of a column as a table has it: a number or a text, None where it has no value."""
        recipe = self._recipe
        assert recipe is not None
        if name in recipe.vocabularies or recipe.spread(name):
            return None if value is None else _word(value)
        if value is None and name in recipe.fill:
            return None
        number = self._number(name, value, place, k)
        if name not in self._codes:
            return number
        words = {self._codes[name][word.lower()]: word for word in recipe.words[name]}
        if number not in words:
            expected = " or ".join(recipe.words[name])
            raise InvalidInputError(f"expected {expected}", argument=f"{place.format(k)}.{name}", found=value)
        return words[number]

    def _is_left_out(self, name: str) -> bool:
        """Return whether a name is that of a column which is no feature: a label, an id, or a remark."""
        recipe = self._recipe
        return recipe is not None and (name == recipe.id or name in recipe.labels or name in recipe.drop)

    # ---------------------------------------------------------------- refusals

    def _unknown(self, name: str, value: Any, place: str) -> InvalidInputError:
        what = "column" if self._is_table else "feature"
        advice = hint(name, self.names, f"none of its {what}s has a similar name")
        return InvalidInputError(
            f"is no {what} of the model: {advice}", argument=f"{place}.{name[:_LONGEST]}", found=value
        )

    def _wrong_form(self, row: Any, place: str) -> InvalidInputError:
        expected = {
            "numbers": f"a list of {self._n_features:,} numbers",
            "names": "an object of values by names of features",
            "table": "an object of cells by names of columns",
            "text": "a text",
        }
        takes = ", or ".join(expected[form] for form in self.forms)
        return InvalidInputError(f"is of the form {_form(row)}, and this model takes {takes}", argument=place)

    def _one_text(self) -> str | None:
        """Return the column of text, if there is just one."""
        columns = [] if self._recipe is None else list(self._recipe.vocabularies)
        return columns[0] if len(columns) == 1 else None


def _form(row: Any) -> str:
    return _FORMS[type(row)]


def _refuse_size(argument: str, found: Any) -> NoReturn:
    problem = f"features must lie between {-LARGEST:g} and {LARGEST:g}"
    raise InvalidInputError(problem, argument=argument, found=found)


def _word(value: Any) -> str:
    """Return a value as text, as tables have it.

    Examples
    --------
    >>> [_word(value) for value in (True, 3, 3.0, 2.5, " red ")]
    ['true', '3', '3', '2.5', 'red']
    """
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _codes(recipe: Recipe) -> dict[str, dict[str, float]]:
    """Return for each column of words for off and on 0 or 1 for these words, in lower case."""
    found: dict[str, dict[str, float]] = {}
    for name, words in recipe.words.items():
        truth = truth_of(words)
        if truth is not None:
            found[name] = {word.lower(): float(value) for word, value in zip(words, truth, strict=True)}
    return found


def _makes_features(recipe: Recipe) -> bool:
    """Return whether features are other than the columns, so that rows are cells of a table."""
    return bool(recipe.vocabularies or recipe.scale) or any(map(recipe.spread, recipe.words))


def _described(name: str, recipe: Recipe) -> dict[str, Any]:
    if name in recipe.vocabularies:
        return {"name": name, "kind": "text"}
    if name in recipe.words:
        return {"name": name, "kind": "words", "words": list(recipe.words[name])}
    return {"name": name, "kind": "number"}


def _example_of(name: str, recipe: Recipe) -> Any:
    if name in recipe.vocabularies:
        return " ".join(recipe.vocabularies[name].words[:2])
    return recipe.words[name][-1] if name in recipe.words else recipe.fill.get(name, 0.0)


def _names_after(before: Sequence[Any], names: list[str], named: bool) -> list[Any] | None:
    """Return names of the features that transformers hand on; None where these have none."""
    found: Any = names if named else None
    for step in before:
        try:
            of_words = hasattr(step, "vocabulary_")
            found = step.get_feature_names_out(*(() if of_words else (found,))) if of_words or named else None
        except (AttributeError, ValueError):
            return None
    return None if found is None else list(map(str, found))


def without_names(model: Any) -> Any:
    """Return a fitted estimator that takes features without names, because they were matched before.

    Parameters
    ----------
    model : estimator
        Fitted; not changed.
    """
    bare = copy.copy(model)
    if hasattr(bare, "feature_names_in_"):
        del bare.feature_names_in_
    return bare
