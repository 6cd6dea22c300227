"""The base class of fitted learners, and the checks of a state that was read from a file."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping
from itertools import pairwise
from typing import Any, ClassVar, Self, TypeAlias

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.features import CheckedFeatures

__all__ = [
    "Arrays",
    "CheckedFeatures",
    "Learner",
    "StateReader",
    "give_probabilities",
    "put_pattern",
    "put_rows",
    "scores_of",
    "wrong_state",
]

#: The arrays of a state, by name.
Arrays: TypeAlias = dict[str, NDArray[Any]]


class Learner(ABC):
    """A fitted classifier, or a fitted regressor of the codes 0 and 1, which a label model holds.

    A learner is made by `cofactor.labels.learners.fit_learner` and does not change. It knows K >= 2 classes: two for a
    single label, more for a model that predicts whole label sets.

    Attributes
    ----------
    classes : ndarray of shape (K,), int64
        The classes, increasing.
    n_features : int
        Number of features D.
    """

    #: Name of this kind of learner in its state.
    kind: ClassVar[str]

    classes: NDArray[np.int64]
    n_features: int

    # ---------------------------------------------------------------- what a subclass provides

    @property
    @abstractmethod
    def has_probabilities(self) -> bool:
        """Whether `probabilities` works."""

    @abstractmethod
    def scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores: the higher, the more likely the class.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.

        Returns
        -------
        ndarray of shape (n,) or (n, K)
            Of two classes one score, above 0 for the second class. Of more classes one score each: the highest score of
            a row decides, and only differences within a row have a meaning.
        """

    def probabilities(self, X: CheckedFeatures) -> NDArray[np.float64]:
        """Return P(class | features) of shape (n, K).

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.

        Raises
        ------
        InvalidTypeError
            If the learner has no probabilities (`has_probabilities`).
        """
        raise InvalidTypeError(f"{self.name} gives scores, but no probabilities")

    @property
    def name(self) -> str:
        """Name of the learner in messages."""
        return f"a learner of kind {self.kind!r}"

    @abstractmethod
    def _state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the part of the state that only this kind of learner has, as JSON values and arrays."""

    @classmethod
    @abstractmethod
    def _rebuilt(cls, state: StateReader, n_features: int, classes: NDArray[np.int64]) -> Self:
        """Return the learner that `_state` described, or refuse the state."""

    # ---------------------------------------------------------------- the rest

    def predict(self, X: CheckedFeatures) -> NDArray[np.int64]:
        """Return the class of each instance: with the highest score, or of two classes the second for scores above 0.

        Parameters
        ----------
        X : ndarray or csr_array of shape (n, D)
            Checked features.

        Returns
        -------
        ndarray of shape (n,), int64
        """
        scores = self.scores(X)
        best = np.argmax(scores, axis=1) if scores.ndim == 2 else (scores > 0).astype(np.intp)
        return self.classes[best]

    def _to_state(self) -> tuple[dict[str, Any], Arrays]:
        """Return the whole state of the learner.

        Returns
        -------
        header : dict
            JSON values: the kind, D, the classes, the version of scikit-learn that fitted it, and those of the kind.
        arrays : dict of str to ndarray

        Raises
        ------
        InvalidTypeError
            If this learner cannot be stored as plain numbers.
        """
        header, arrays = self._state()
        opening = {
            "kind": self.kind,
            "n_features": self.n_features,
            "classes": self.classes.tolist(),
            "sklearn": sklearn.__version__,
        }
        return opening | header, arrays

    @classmethod
    def _from_state(
        cls, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild a learner from its state.

        Parameters
        ----------
        header, arrays
            What `_to_state` returned; perhaps read from a forged file.
        models : mapping, optional
            Not used: a learner holds no models.

        Returns
        -------
        Learner
            Its scores are those of the original, to the last bit.

        Raises
        ------
        InvalidInputError
            If a part of the state is missing, out of range or does not fit the other parts.
        """
        state = StateReader(header, arrays)
        state.choice("kind", (cls.kind,))
        classes = state.member("classes", list)
        if len(classes) < 2 or any(type(k) is not int for k in classes):
            raise wrong_state("expected at least two whole numbers", "classes", classes)
        if any(a >= b for a, b in pairwise(classes)) or max(map(abs, classes)) >= 1 << 62:
            raise wrong_state("expected increasing numbers below 2**62", "classes", classes)
        return cls._rebuilt(state, state.whole("n_features", low=1), np.array(classes, dtype=np.int64))


def give_probabilities(learners: Any, estimator: Any) -> bool:
    """Return whether learners have probabilities; before a fit, where there are none, whether their estimator has."""
    if learners is None:
        return hasattr(estimator, "predict_proba")
    several = learners if isinstance(learners, list) else [learners]
    return all(one.has_probabilities for one in several)


def scores_of(probabilities: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return scores for a learner that has only probabilities p: p - 1/2; of two classes, of the second one only.

    Log-odds would be infinite for the probabilities 0 and 1, which trees and nearest neighbours often give.

    Examples
    --------
    >>> scores_of(np.array([[0.25, 0.75], [1.0, 0.0]]))
    array([ 0.25, -0.5 ])
    """
    return (probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities) - 0.5


class StateReader:
    """Reads the parts of a state, and refuses those which are not as they must be.

    Parameters
    ----------
    header : mapping of str to JSON values
    arrays : mapping of str to ndarray

    Examples
    --------
    >>> state = StateReader({"link": "magic", "leaf_size": 30}, {"coef": np.ones((2, 3))})
    >>> state.whole("leaf_size", low=1)
    30
    >>> state.choice("link", ("none", "logistic"))
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: link='magic': the state of a learner: expected one of 'none', 'logistic'
    >>> state.floats("coef", (4, None)).shape
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: the state of a learner: 'coef' must have shape (4, any), found (2, 3)
    """

    def __init__(self, header: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> None:
        self._header, self._arrays = header, arrays

    def has(self, name: str) -> bool:
        """Whether there is an array of this name."""
        return name in self._arrays

    def member(self, name: str, kind: type[Any]) -> Any:
        """Return a member of the header, which must have exactly this type."""
        if name not in self._header:
            raise wrong_state(f"{name!r} is missing")
        value = self._header[name]
        if type(value) is not kind:
            raise wrong_state(f"expected {kind.__name__}", name, value)
        return value

    def whole(self, name: str, *, low: int, high: int | None = None) -> int:
        """Return a whole number from `low` to `high`."""
        value = self.member(name, int)
        if value < low or (high is not None and value > high):
            word = f"of at least {low}" if high is None else f"from {low} to {high}"
            raise wrong_state(f"expected a whole number {word}", name, value)
        return int(value)

    def number(self, name: str, *, above: float = -np.inf) -> float:
        """Return a finite number, perhaps above a bound."""
        value = self._header.get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not above < value < np.inf:
            word = "a finite number" if above == -np.inf else f"a finite number above {above:g}"
            raise wrong_state(f"expected {word}", name, value)
        return float(value)

    def optional_number(self, name: str) -> float | None:
        """Return a finite number or None."""
        return None if self._header.get(name, 0) is None else self.number(name)

    def choice(self, name: str, choices: Collection[str]) -> str:
        """Return one of some texts."""
        value = self._header.get(name)
        if not isinstance(value, str) or value not in choices:
            raise wrong_state(f"expected one of {', '.join(map(repr, choices))}", name, value)
        return value

    def array(self, name: str, dtypes: tuple[Any, ...], shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Return an array which has one of some dtypes; None in `shape` means any length."""
        found = self._arrays.get(name)
        if not isinstance(found, np.ndarray):
            raise wrong_state(f"the array {name!r} is missing")
        if found.dtype not in [np.dtype(dtype) for dtype in dtypes]:
            known = " or ".join(np.dtype(dtype).name for dtype in dtypes)
            raise wrong_state(f"{name!r} must have dtype {known}, found {found.dtype}")
        if found.ndim != len(shape) or any(k not in (None, m) for k, m in zip(shape, found.shape, strict=True)):
            lengths = ", ".join("any" if k is None else str(k) for k in shape)
            raise wrong_state(f"{name!r} must have shape ({lengths}), found {found.shape}")
        return np.ascontiguousarray(found)

    def floats(self, name: str, shape: tuple[int | None, ...]) -> NDArray[Any]:
        """Return an array of finite real numbers."""
        found = self.array(name, (np.float64, np.float32), shape)
        if not np.isfinite(found).all():
            raise wrong_state(f"{name!r} holds a number that is not finite")
        return found

    def positions(self, name: str, dtype: Any, shape: tuple[int | None, ...], high: int) -> NDArray[Any]:
        """Return an array of whole numbers from 0 to below `high`."""
        found = self.array(name, (dtype,), shape)
        if found.size and not (found.min() >= 0 and found.max() < high):
            raise wrong_state(f"{name!r} must lie from 0 to {high - 1}, found {found.min()} to {found.max()}")
        return found

    def rows(self, name: str, n_columns: int) -> CheckedFeatures:
        """Return features as `put_rows` stored them: finite, and at least one row."""
        if self.has(name):
            dense = self.floats(name, (None, n_columns))
            if not len(dense):
                raise wrong_state(f"{name!r} has no rows")
            return dense
        pointers, columns = self.pattern(name, None, n_columns)
        data = self.floats(f"{name}.data", (len(columns),))
        return sparse.csr_array((data, columns, pointers), shape=(len(pointers) - 1, n_columns))

    def pattern(self, name: str, n_rows: int | None, n_columns: int) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return row pointers and column numbers of a csr table as `put_pattern` stored them: at least one row."""
        pointers = self.array(f"{name}.indptr", (np.int32, np.int64), (None if n_rows is None else n_rows + 1,))
        columns = self.positions(f"{name}.indices", pointers.dtype, (None,), n_columns)
        n = len(columns)
        if len(pointers) < 2 or pointers[0] != 0 or pointers[-1] != n or (np.diff(pointers) < 0).any():
            raise wrong_state(f"'{name}.indptr' must rise from 0 to {n}")
        inside = np.ones(max(n - 1, 0), dtype=bool)  # whether an entry and the next one are in the same row
        ends = pointers[1:-1]
        inside[ends[(ends > 0) & (ends < n)] - 1] = False
        if (np.diff(columns) <= 0)[inside].any():
            raise wrong_state(f"'{name}.indices' must rise within each row")
        return pointers, columns


def put_rows(name: str, X: CheckedFeatures, arrays: Arrays) -> None:
    """Add features to the arrays of a state."""
    if isinstance(X, np.ndarray):
        arrays[name] = X
    else:
        arrays[f"{name}.data"] = X.data
        put_pattern(name, X, arrays)


def put_pattern(name: str, table: sparse.csr_array, arrays: Arrays) -> None:
    """Add the positions of the entries of a table to the arrays of a state."""
    arrays[f"{name}.indices"], arrays[f"{name}.indptr"] = table.indices, table.indptr


def wrong_state(problem: str, name: str | None = None, found: Any = None) -> InvalidInputError:
    """Return the error for a state of a learner which cannot be right; `name` is a member of its header."""
    opening = f"the state of a learner: {problem}"
    return InvalidInputError(opening) if name is None else InvalidInputError(opening, argument=name, found=found)
