"""From rows of numbers to X and Y: how many columns there are, and from where indices count."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.datasets.readers.matrices import generic_names, small_indices
from cofactor.datasets.readers.svm_text import Block, Sizes
from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.limits import COLUMNS
from cofactor.typing import LABEL_DTYPE

#: Whether numbers in a file count from 0 or from 1, or "auto"; a tuple has a value for indices and one for labels.
Base = Literal["auto"] | bool | tuple[Literal["auto"] | bool, Literal["auto"] | bool]


@dataclass
class Extent:
    """Smallest and largest number in all rows, and the line of the largest; each for indices, then for labels."""

    least: list[int]
    most: list[int]
    lines: list[int]

    @classmethod
    def of(cls, blocks: Iterable[Block]) -> Extent:
        """Extent of some blocks of rows."""
        extent = cls([1, 1], [-1, -1], [0, 0])
        for block in blocks:
            for k, (found, counts) in enumerate(((block.indices, block.n_entries), (block.labels, block.n_labels))):
                if not len(found):
                    continue
                extent.least[k] = min(extent.least[k], int(found.min()))
                at = int(found.argmax())
                if found[at] > extent.most[k]:
                    extent.most[k] = int(found[at])
                    extent.lines[k] = int(block.lines[np.searchsorted(np.cumsum(counts), at, side="right")])
        return extent


@dataclass(frozen=True)
class Layout:
    """How many features and labels there are, and which number the first one of each has in the file."""

    name: str
    n_features: int
    n_labels: int
    first_index: int
    first_label: int

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features, by their indices in the file."""
        return generic_names("x", self.n_features, self.first_index)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, by their numbers in the file."""
        return generic_names("y", self.n_labels, self.first_label)

    def matrices(self, block: Block, unit: str = "line") -> tuple[csr_array, csr_array]:
        """X and Y of some rows; `unit` is what messages call a row of the file, "line" or "row"."""
        X = self._matrix(block.n_entries, block.indices, block.values, block.lines, unit, "index")
        ones = np.ones(len(block.labels), dtype=LABEL_DTYPE)
        return X, self._matrix(block.n_labels, block.labels, ones, block.lines, unit, "label")

    def _matrix(
        self,
        counts: NDArray[np.int64],
        numbers: NDArray[np.int64],
        values: NDArray,
        lines: NDArray[np.int64],
        unit: str,
        what: Literal["index", "label"],
    ) -> csr_array:
        if what == "index":
            n, first, option = self.n_features, self.first_index, "n_features"
        else:
            n, first, option = self.n_labels, self.first_label, "n_labels"
        columns = numbers - first
        indptr = np.concatenate([[0], np.cumsum(counts)])
        outside = np.flatnonzero((columns < 0) | (columns >= n))
        if len(outside):
            row = np.searchsorted(indptr, outside[0], side="right") - 1
            raise InvalidInputError(
                f"the {what} {numbers[outside[0]]} is outside of {first} to {n + first - 1}",
                advice=("give ", Argument(option), " or ", Argument("zero_based"), " if it is right"),
                place=self._place(unit, lines[row]),
            )
        matrix = small_indices(csr_array((values, columns, indptr), (len(counts), n)))
        matrix.sort_indices()
        equal = np.flatnonzero(matrix.indices[1:] == matrix.indices[:-1])  # an entry and the next one
        rows = np.searchsorted(indptr, equal, side="right") - 1
        twice = np.flatnonzero(indptr[rows + 1] > equal + 1)  # both of them in one row
        if len(twice):
            raise InvalidInputError(
                f"the {what} {matrix.indices[equal[twice[0]]] + first} occurs twice",
                place=self._place(unit, lines[rows[twice[0]]]),
            )
        return matrix

    def _place(self, unit: str, number: np.int64) -> Place:
        if unit == "line":
            return Place(self.name, int(number))
        return Place(self.name, column=f"{unit} {number}")


def needs_extent(sizes: Sizes | None, n_features: int | None, n_labels: int | None, zero_based: Base) -> bool:
    """Whether the layout is known only after all rows were read."""
    return sizes is None and (n_features is None or n_labels is None or "auto" in _bases(zero_based))


def _bases(zero_based: Base) -> tuple[Literal["auto"] | bool, Literal["auto"] | bool]:
    """Whether indices and labels count from 0."""
    bases = zero_based if isinstance(zero_based, tuple) else (zero_based, zero_based)
    if len(bases) != 2 or any(base not in ("auto", True, False) for base in bases):
        raise InvalidInputError(
            "not known",
            argument="zero_based",
            found=zero_based,
            advice="expected 'auto', True or False, or two of these in a tuple",
        )
    return bases


def settle(
    name: str,
    sizes: Sizes | None,
    extent: Extent | None,
    n_features: int | None,
    n_labels: int | None,
    zero_based: Base,
) -> Layout:
    """Layout of a file from its sizes, else from what the caller gives, else from the extent of its rows."""
    bases = _bases(zero_based)
    widths = {"n_features": n_features, "n_labels": n_labels}
    for option, given in widths.items():
        if given is not None and given < 0:
            raise InvalidInputError("must be at least 0", argument=option, found=given)
    if sizes is not None:
        for option, given in widths.items():
            announced = getattr(sizes, option)
            if given not in (None, announced):
                raise InvalidInputError(
                    (f"announces {announced} {option[2:]}, but it should be ", Argument(option, given)),
                    argument=option,
                    place=Place(name, 1),
                )
            if given is None:
                COLUMNS.check(announced, f"announces {announced} {option[2:]}", Place(name, 1), argument=option)
        return Layout(name, sizes.n_features, sizes.n_labels, 0, 0)
    first_index, first_label = (_first(base, extent, k) for k, base in enumerate(bases))
    if n_features is None:
        n_features = _width(name, extent, 0, first_index)
    if n_labels is None:
        n_labels = _width(name, extent, 1, first_label)
    return Layout(name, n_features, n_labels, first_index, first_label)


def _first(base: Literal["auto"] | bool, extent: Extent | None, k: int) -> int:
    """Number of the first feature (k = 0), or label (k = 1)."""
    if base == "auto":
        return 0 if extent is None else extent.least[k]
    return 0 if base else 1


def _width(name: str, extent: Extent | None, k: int, first: int) -> int:
    """How many features (k = 0), or labels (k = 1), there are by the extent of the rows."""
    assert extent is not None
    what, option = ("index", "n_features") if k == 0 else ("label", "n_labels")
    proportion = f"the {what} {extent.most[k]} is out of all proportion"
    COLUMNS.check(extent.most[k] + 1 - first, proportion, Place(name, extent.lines[k]), argument=option)
    return extent.most[k] + 1 - first if extent.most[k] >= 0 else 0
