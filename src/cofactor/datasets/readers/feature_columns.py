"""Columns of a table as features: what is learned of the columns of training, and the features made by it."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, hstack

from cofactor.datasets.cells import feature_cells, numbers_of
from cofactor.datasets.readers.label_columns import check_words
from cofactor.datasets.readers.words import learn_vocabulary, words_of
from cofactor.datasets.table import Cells, Table, Words
from cofactor.errors import Argument, InputWarning, InvalidInputError
from cofactor.limits import CELLS
from cofactor.recipe import Recipe, truth_of
from cofactor.text import counted, few, is_number

__all__ = ["FeatureOptions", "cells_as_in", "cells_of", "features_by", "recipe_of"]


@dataclass(frozen=True)
class FeatureOptions:
    """How columns become features; the parameters are those of `read_label_table`."""

    text: tuple[str, ...] = ()
    max_values: int | None = None
    max_words: int | None = None
    ngrams: int | None = None


@dataclass(frozen=True)
class _Made:
    """Free text that has become features, and how many of its cells are empty."""

    X: csr_array
    n_gaps: int


# ------------------------------------------------------------------------------------------------- cells


def cells_of(table: Table, names: Sequence[str], features: Sequence[int], text: Sequence[str]) -> dict[int, Cells]:
    """Return the cells of features, by their positions, where no recipe knows them; `text` names those of free text."""
    free = set(text)
    return {j: _text_cells(table, j) if names[j] in free else feature_cells(table, j) for j in features}


def _text_cells(table: Table, j: int) -> Words:
    """Return the cells of free text; a column of numbers is none."""
    found = table.cells(j, gaps=True)
    if isinstance(found, Words) and not _all_numbers(found):
        return found
    place = table.column_place(j)
    raise InvalidInputError(
        "holds numbers, which are a feature as they are",
        advice=("leave it out of ", Argument("text")),
        place=place,
    )


def _all_numbers(found: Words) -> bool:
    """Return whether all cells that are not empty are numbers."""
    some = [cell for cell in found.values if cell]
    return bool(some) and all(map(is_number, some))


def cells_as_in(table: Table, names: Sequence[str], features: Sequence[int], recipe: Recipe) -> dict[int, Cells]:
    """Return the cells of features, by their positions, as a recipe has them: numbers, or text."""
    return {j: _as_in(table, j, names[j], recipe) for j in features}


def _as_in(table: Table, j: int, name: str, recipe: Recipe) -> Cells:
    if name in recipe.vocabularies or name in recipe.words:
        return table.words(j, gaps=True)
    found = feature_cells(table, j)
    if not isinstance(found, Words):
        return found
    if not any(found.values):  # no row has a value
        return np.full(len(found.codes), np.nan)
    if {word.lower() for word in found.values} <= {"", "false", "true"}:  # truth values of a file with types
        truth = {"": np.nan, "false": 0.0, "true": 1.0}
        return np.array([truth[word.lower()] for word in found.values])[found.codes]
    return numbers_of(table, j)  # whose error says which cell is no number


# ---------------------------------------------------------------------------------- what training teaches


def recipe_of(
    table: Table, names: Sequence[str], cells: dict[int, Any], options: FeatureOptions, roles: Mapping[str, Any]
) -> Recipe:
    """Return how these columns become features, as their cells teach it; cells of text become features already.

    Parameters
    ----------
    table : Table
        What was read.
    names : sequence of str
        Names of all columns.
    cells : dict from int to Cells
        As `cells_of` returns them.
    options : FeatureOptions
        How columns become features.
    roles : mapping from str to object
        The members of the recipe which say what the other columns are.
    """
    _check_values(table, names, cells, options)
    words: dict[str, tuple[str, ...]] = {}
    vocabularies, fill, scale = {}, {}, {}
    for j, found in list(cells.items()):
        name, place = names[j], table.column_place(j)
        if name in options.text and isinstance(found, Words):
            vocabularies[name], made = learn_vocabulary(found, place, options.max_words, options.ngrams)
            cells[j] = _Made(made, _count_gaps(found))  # texts are cut into words only once
            continue
        numbers = found
        if isinstance(found, Words):
            words[name] = tuple(sorted(filter(None, found.values)))
            numbers = _truth_values(found, words[name]) if truth_of(words[name]) is not None else np.zeros(1)
        if isinstance(numbers, Words) or np.isnan(numbers).all() or words.get(name) == ():
            what = ("no row has a value; leave it out with ", Argument("drop", [name]))
            raise InvalidInputError(what, place=place)
        if name not in words or truth_of(words[name]) is not None:
            fill[name] = _median(numbers)
        if name not in words and options.text:
            scale[name] = _mean_and_deviation(numbers, fill[name])
    features = tuple(names[j] for j in cells)
    return Recipe(features, words=words, vocabularies=vocabularies, fill=fill, scale=scale, **roles)


def _check_values(table: Table, names: Sequence[str], cells: Mapping[int, Cells], options: FeatureOptions) -> None:
    """Refuse words of which there are so many that they are free text."""
    found = {
        j: [word for word in column.values if word]
        for j, column in cells.items()
        if isinstance(column, Words) and names[j] not in options.text
    }
    sizes = [(names[j], len(values), table.column_place(j)) for j, values in found.items() if truth_of(values) is None]
    n_rows = max((len(column.codes) for column in cells.values() if isinstance(column, Words)), default=0)
    check_words(sizes, n_rows, options.max_values)


def _median(numbers: NDArray[np.float64]) -> float:
    """Return the median of those numbers that are there; unlike NumPy's it does not overflow."""
    known = np.sort(numbers[~np.isnan(numbers)])
    low, high = known[(len(known) - 1) // 2], known[len(known) // 2]
    return float(low if low == high else low / 2 + high / 2)


def _mean_and_deviation(numbers: NDArray[np.float64], filler: float) -> tuple[float, float]:
    """Return mean and standard deviation of numbers when missing ones are filled; the latter is 1 where it is 0."""
    filled = np.where(np.isnan(numbers), filler, numbers)
    with np.errstate(over="ignore", invalid="ignore"):  # numbers so large are refused by every model
        mean, deviation = float(filled.mean()), float(filled.std())
    return (mean, deviation or 1.0) if np.isfinite([mean, deviation]).all() else (0.0, 1.0)


def _truth_values(found: Words, words: Sequence[str]) -> NDArray[np.float64]:
    """Return words for off and on as 0 and 1, and NaN where there is none."""
    truth = truth_of(words) or ()
    codes: dict[str, float] = {word.lower(): value for word, value in zip(words, truth, strict=True)}
    return np.array([codes.get(word.lower(), np.nan) for word in found.values])[found.codes]


# -------------------------------------------------------------------------------------- features by a recipe


def features_by(
    table: Table, names: Sequence[str], cells: dict[int, Any], recipe: Recipe
) -> tuple[NDArray[np.float64] | csr_array, dict[str, int]]:
    """Return the features that a recipe makes of cells, and how many cells of each column had no value.

    Parameters
    ----------
    table : Table
        What was read.
    names : sequence of str
        Names of all columns.
    cells : dict from int to Cells
        As `recipe_of` leaves them, or `cells_as_in` returns them; used up.
    recipe : Recipe
        How columns become features.

    Returns
    -------
    X : ndarray, or csr_array if there is free text, of shape (n, D), float64
    filled : dict from str to int
        By the names of features that have such cells.
    """
    blocks: list[Any] = []
    dense: list[NDArray[Any]] = []
    filled: dict[str, int] = {}
    width = 0
    for j in list(cells):
        name, found = names[j], cells.pop(j)
        n_gaps = found.n_gaps if isinstance(found, _Made) else _count_gaps(found)
        if n_gaps:
            filled[name] = n_gaps
        if name in recipe.vocabularies:
            blocks += [np.column_stack(dense)] if dense else []
            blocks.append(found.X if isinstance(found, _Made) else words_of(found, recipe.vocabularies[name]))
            dense = []
            continue
        for column in _columns(table, j, name, found, recipe):
            dense.append(column)
            width += 1
            many = f"values of column {name!r} make more than {counted(width, 'column')}"
            CELLS.check(len(column) * width, many, table.column_place(j), size=len(column) * table.n_columns)
    blocks += [np.column_stack(dense)] if dense else []
    if len(blocks) == 1 and not recipe.vocabularies:
        return blocks[0].astype(np.float64, copy=False), filled
    return csr_array(hstack([csr_array(block) for block in blocks], format="csr", dtype=np.float64)), filled


def _count_gaps(found: Cells) -> int:
    """Return how many cells have no value."""
    if not isinstance(found, Words):
        return int(np.isnan(found).sum())
    return int((found.codes == found.values.index("")).sum()) if "" in found.values else 0


def _columns(table: Table, j: int, name: str, found: Cells, recipe: Recipe) -> Iterator[NDArray[Any]]:
    """Yield the column, or the columns, which a recipe makes of the cells of a feature that is no free text."""
    if isinstance(found, Words) and recipe.spread(name):
        yield from _coded(table, j, found, recipe.words[name])
        return
    numbers = _truth(table, j, found, recipe.words[name]) if isinstance(found, Words) else found
    gaps = np.isnan(numbers)
    if gaps.any():
        if name not in recipe.fill:
            raise InvalidInputError("no value", place=table.place(int(np.argmax(gaps)), j))
        numbers = np.where(gaps, recipe.fill[name], numbers)
    mean, deviation = recipe.scale.get(name, (0.0, 1.0))
    yield (numbers - mean) / deviation if name in recipe.scale else numbers


def _coded(table: Table, j: int, found: Words, words: tuple[str, ...]) -> Iterator[NDArray[np.int8]]:
    """Yield the columns of 0 and 1 for a column of text with these words."""
    unseen = sorted(set(found.values).difference(words, ("",)))
    if unseen:
        rows = int(np.isin(found.codes, [found.values.index(word) for word in unseen]).sum())
        warnings.warn(
            InputWarning(
                f"{table.column_place(j)}: {few(unseen)} did not occur in training; all columns of this feature are 0 "
                f"in {counted(rows, 'row')}"
            ),
            stacklevel=5,
        )
    position = {word: k for k, word in enumerate(found.values)}
    for word in words:
        yield (found.codes == position.get(word, -1)).astype(np.int8)


def _truth(table: Table, j: int, found: Words, words: tuple[str, ...]) -> NDArray[np.float64]:
    """Return a column of words for off and on as 0 and 1, and NaN where there is none."""
    some = [word for word in found.values if word]
    if some and truth_of(some) is None:
        row = found.first_row(lambda word: bool(word) and word.lower() not in {known.lower() for known in words})
        assert row is not None
        raise InvalidInputError(
            f"expected {' or '.join(words)} as in training, found {found.at(row)!r}", place=table.place(row, j)
        )
    return _truth_values(found, some)
