"""What boosting of many labels by stumps has in common: the search for cuts, the number of rounds, scores."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_flag, make_generator, one_of, whole
from cofactor.errors import InvalidInputError
from cofactor.kernels.boosting import ROUNDING, best_cuts, side_sums
from cofactor.kernels.threads import parallel_for
from cofactor.labels.base import Capabilities, CheckedFeatures, FitInput, LabelModel
from cofactor.labels.explaining import ScorePart, ScoreParts
from cofactor.labels.features import is_sparse
from cofactor.labels.fit_input import ENOUGH, PARTS
from cofactor.labels.scaling import AUTO, is_thin
from cofactor.model.estimator import learned, param

__all__ = ["Boosting", "Course", "Sides", "StumpBoosting"]

#: Numbers of rounds among which "auto" chooses.
_ROUNDS = (25, 50, 100, 200, 400)
_FEATURES_PER_TASK = 32
_CELLS = 1 << 22  # of stumps that are asked of instances at the same time


class Labels(NamedTuple):
    """Which labels are on, as kernels want it."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]


class Sides(NamedTuple):
    """Sums of weights on both sides of a cut, shape (2, L): of all instances, and of those that have a label."""

    heavy: NDArray[np.float64]
    on: NDArray[np.float64]


class Course(Protocol):
    """What a kind of boosting knows of its course: the weights, and what follows from a cut."""

    weights: NDArray[np.float64]
    labels: Labels
    ranking: bool

    def outputs(self, sides: Sides) -> NDArray[np.float64]:
        """Return what a cut adds to the scores of both sides, shape (2, L)."""

    def take(self, above: NDArray[np.uint8], outputs: NDArray[np.float64]) -> float:
        """Add these outputs to the scores of training, change the weights, and return the objective."""


class Columns:
    """Features by columns, the entries of each by value; numbers that are 0 are left out.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, D)
    presence : bool
        Whether only that a feature is not 0 counts.
    """

    def __init__(self, X: CheckedFeatures, presence: bool) -> None:
        table: Any = sparse.csc_array(X)
        table.eliminate_zeros()
        values = np.ones(table.nnz) if presence else table.data.astype(np.float64)
        column = np.repeat(np.arange(table.shape[1]), np.diff(table.indptr))
        order = np.arange(table.nnz) if presence else np.lexsort((values, column))
        self.indptr = table.indptr.astype(np.int64)
        self.rows, self.values = table.indices[order].astype(np.int64), values[order]
        self.n_instances, self.n_features = table.shape

    def best(self, course: Course) -> tuple[int, float]:
        """Return the feature and the cut with the least loss; feature -1 if all features are constant."""
        total = course.weights.sum(axis=0)
        on = np.bincount(
            course.labels.indices, course.weights[_row_numbers(course.labels), course.labels.indices], len(total)
        )
        losses, cuts = np.empty(self.n_features), np.empty(self.n_features)

        def task(t: int) -> None:
            lo, hi = t * _FEATURES_PER_TASK, min((t + 1) * _FEATURES_PER_TASK, self.n_features)
            columns = (self.indptr, self.rows, self.values)
            best_cuts(lo, hi, *columns, course.weights, *course.labels, total, on, course.ranking, losses, cuts)

        parallel_for(task, -(-self.n_features // _FEATURES_PER_TASK))
        f = int(np.argmax(losses <= losses.min() + ROUNDING))
        return (f, float(cuts[f])) if losses[f] < np.inf else (-1, 0.0)

    def above(self, f: int, cut: float) -> NDArray[np.uint8]:
        """Return 1 for instances whose feature lies above a cut, otherwise 0."""
        found = np.full(self.n_instances, cut < 0 and f >= 0, dtype=np.uint8)
        if f >= 0:
            here = slice(self.indptr[f], self.indptr[f + 1])
            found[self.rows[here]] = self.values[here] > cut
        return found


class Boosting(NamedTuple):
    """What boosting found: a feature, a cut and outputs for each round, and the objective after it."""

    features: list[int]
    cuts: list[float]
    outputs: list[NDArray[np.float64]]
    history: list[float]


class StumpBoosting(LabelModel):
    """Boosting of many labels at once by stumps, which cut one feature, and add numbers to all scores on both sides.

    A subclass says how weights begin and change (`_course`), and how well scores of new instances are (`_loss`).

    Attributes
    ----------
    intercept_ : ndarray of shape (L',)
        Scores below all cuts, of the L' labels that vary in training.
    cut_features_, cuts_ : ndarray of shape (S,)
        Feature and place of each distinct cut.
    steps_ : ndarray of shape (S, L')
        What is added to the scores of instances whose feature lies above the cut.
    presence_ : bool
        Whether only that features are not 0 counts.
    n_iter_ : int
        Number of rounds.
    history_ : list of float
        Objective after each round.
    """

    n_estimators: int | str = param(whole(also=[AUTO]), default="auto", kw_only=False, grid=[50, 100, 200, 400])
    stumps: str = param(one_of([AUTO, "presence", "threshold"]), default="auto")

    intercept_: NDArray[np.float64] = learned("labels")
    cut_features_: NDArray[np.int64] = learned("stumps", dtype=np.int64)
    cuts_: NDArray[np.float64] = learned("stumps")
    steps_: NDArray[np.float64] = learned("stumps labels")
    presence_: bool = learned(check=check_flag)
    n_iter_: int = learned()
    history_: list[float] = learned()

    @abstractmethod
    def _course(self, Y: sparse.csr_array) -> Course:
        """Return the state of boosting before the first round."""

    @abstractmethod
    def _loss(self, scores: NDArray[np.float64], Y: NDArray[np.bool_]) -> float:
        """Return how bad scores of new instances are."""

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), scales=("none",))  # cuts move with the scale of a feature

    def _fit_bytes(self, data: FitInput) -> int:
        n, L = data.labels.shape
        return 16 * n * L + 24 * int(data.features.size)

    def _fit(self, data: FitInput) -> None:
        X, Y, monitor = data.features, data.labels, data.monitor
        self.presence_ = self.stumps == "presence" or (self.stumps == AUTO and is_thin(X))
        n_rounds = self._chosen_rounds(data) if self.n_estimators == AUTO else int(self.n_estimators)

        def note(done: int, objective: float) -> bool:
            monitor.note("boosting", done, n_rounds, objective)
            return monitor.stopped

        found = self._boosted(Columns(X, self.presence_), Y, n_rounds, note)
        self.history_, self.n_iter_ = found.history, len(found.history)
        self._merge(found, Y.shape[1])

    def _boosted(
        self, columns: Columns, Y: sparse.csr_array, n_rounds: int, note: Callable[[int, float], bool]
    ) -> Boosting:
        """Return the cuts of so many rounds, or fewer: until nothing is gained, or `note` says that it is enough."""
        course = self._course(Y)
        found = Boosting([], [], [], [])
        L = course.weights.shape[1]
        last = np.inf
        for done in range(1, n_rounds + 1):
            f, cut = columns.best(course)
            above = columns.above(f, cut)
            sides = Sides(np.empty((2, L)), np.empty((2, L)))
            side_sums(above, course.weights, *course.labels, *sides)
            outputs = course.outputs(sides)
            if not outputs.any():
                break
            objective = course.take(above, outputs)
            if not objective < last * (1 - 1e-12):
                break
            last = objective
            found.features.append(f)
            found.cuts.append(cut)
            found.outputs.append(outputs)
            found.history.append(objective)
            if note(done, objective):
                break
        return found

    def _chosen_rounds(self, data: FitInput) -> int:
        """Return the number of rounds with the least loss on a quarter of the instances, held out; keep its scores."""
        n = data.n_instances
        if n < PARTS:
            return _ROUNDS[0]
        generator = make_generator(0 if self.random_state is None else self.random_state)
        train, test = data.without_quarter(generator)
        inner = data.monitor.inside("number of rounds")

        def note(done: int, objective: float) -> bool:
            inner.note("boosting", done, _ROUNDS[-1], objective)
            return inner.stopped

        found = self._boosted(Columns(train.features, self.presence_), train.labels, _ROUNDS[-1], note)
        asked = Columns(data.features[test], self.presence_)
        truth = data.labels[test].toarray() > 0
        scores = np.zeros(truth.shape)
        best, kept = (np.inf, _ROUNDS[0]), scores
        for done, (f, cut, outputs) in enumerate(zip(*found[:3], strict=True), 1):
            scores += outputs[asked.above(f, cut)]
            if done in _ROUNDS or done == len(found.cuts):
                judged = (self._loss(scores, truth), done)
                if judged < best:
                    best, kept = judged, scores.copy()
        if len(test) >= ENOUGH:
            data.cache.held_out = (test, kept)
        return max(1, best[1])

    def _held_out(self, data: FitInput) -> tuple[NDArray[np.int64], NDArray[Any]]:
        kept = data.cache.held_out
        return super()._held_out(data) if kept is None or data.weights is not None else kept

    def _resolved_params(self) -> dict[str, Any]:
        return {"n_estimators": max(1, self.n_iter_), "stumps": "presence" if self.presence_ else "threshold"}

    def _merge(self, found: Boosting, n_labels: int) -> None:
        """Keep what was found as a sum of distinct cuts."""
        self.intercept_ = np.zeros(n_labels)
        steps: dict[tuple[int, float], NDArray[np.float64]] = {}
        for f, cut, (below, above) in zip(found.features, found.cuts, found.outputs, strict=True):
            self.intercept_ += below
            if f >= 0:
                steps[f, cut] = steps.get((f, cut), 0.0) + (above - below)
        self.cut_features_ = np.array([f for f, _ in steps], dtype=np.int64)
        self.cuts_ = np.array([cut for _, cut in steps])
        self.steps_ = np.array(list(steps.values())).reshape(len(steps), n_labels)

    def _above(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        """Return which cuts each instance lies above, shape (n, S)."""
        used, place = np.unique(self.cut_features_, return_inverse=True)
        values: Any = X[:, used]
        values = values.toarray() if is_sparse(values) else values
        return np.asarray((values != 0 if self.presence_ else values)[:, place] > self.cuts_)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        n, height = X.shape[0], max(1, _CELLS // max(1, len(self.cuts_)))
        scores = np.tile(self.intercept_, (n, 1))
        for lo in range(0, n, height):
            scores[lo : lo + height] += self._above(X[lo : lo + height]).astype(np.float64) @ self.steps_
        return scores

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return ScoreParts((_CutPart(self._above(X), self.cut_features_, self.steps_),), self.intercept_)

    def _check_learned(self) -> None:
        super()._check_learned()
        f = self.cut_features_
        if f.size and not 0 <= f.min() <= f.max() < self.n_features_in_:
            raise InvalidInputError(f"cut_features_ must be features from 0 to {self.n_features_in_ - 1}")


class _CutPart(ScorePart):
    """The part of features of which cuts are known."""

    kind = "feature"

    def __init__(self, above: NDArray[np.bool_], features: NDArray[np.int64], steps: NDArray[np.float64]) -> None:
        self.above, self.steps = above, steps
        self.used, self.place = np.unique(features, return_inverse=True)

    def terms(self, label: int, row: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
        """Return the features that contribute, and their contributions."""
        shares = np.bincount(self.place, self.above[row] * self.steps[:, label], minlength=len(self.used))
        return self.used[shares != 0], shares[shares != 0]


def labels_of(Y: sparse.csr_array) -> Labels:
    """Return which labels are on, as kernels want it."""
    return Labels(Y.indptr.astype(np.int64), Y.indices.astype(np.int64))


def _row_numbers(labels: Labels) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(labels.indptr) - 1), np.diff(labels.indptr))
