"""Boosting of decision stumps: AdaBoost.MH and AdaBoost.MR.

Both share the search for cuts. AdaBoost.MH boosts under a distribution over instances and labels; AdaBoost.MR ranks the
labels of an instance above the others, and cuts the scores of each instance by a cut that is learned.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, check_flag, make_generator, one_of, whole
from cofactor.chunked import is_sparse
from cofactor.errors import InvalidInputError
from cofactor.kernels.boosting import ROUNDING, best_cuts, pair_weights, reweigh, side_sums, step_terms
from cofactor.kernels.threads import parallel_for
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.explaining import ScorePart, ScoreParts
from cofactor.labels.scaling import is_wide_sparse
from cofactor.labels.training_data import ENOUGH, PARTS
from cofactor.metrics.ranking import ranking_loss
from cofactor.model.estimator import learned, param
from cofactor.model.progress import Monitor

_BEYOND = 0.1  # how far the lowest and the highest cut of an instance lie beyond its outputs


def cut_regression(outputs: NDArray[np.float64], on: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the regression of the best cuts of instances on their outputs by least squares, its intercept last."""
    known = np.column_stack([outputs, np.ones(len(outputs))])
    return np.asarray(np.linalg.lstsq(known, best_cuts_of(outputs, on), rcond=None)[0])


def best_cuts_of(outputs: NDArray[np.float64], on: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return for each instance the cut of its outputs with the fewest wrong labels, the lowest of several.

    Examples
    --------
    >>> best_cuts_of(np.array([[0.5, -0.5, 0.1], [0.2, 0.0, 0.4]]), np.array([[True, False, True], [True, True, True]]))
    array([-0.2, -0.1])
    """
    order = np.argsort(outputs, axis=1, kind="stable")
    ranked, on = np.take_along_axis(outputs, order, axis=1), np.take_along_axis(on, order, axis=1)
    start = np.zeros((len(on), 1), dtype=np.int64)
    missed = np.hstack([start, np.cumsum(on, axis=1)])
    wrong = missed + (~on).sum(axis=1)[:, None] - np.hstack([start, np.cumsum(~on, axis=1)])
    middles = (ranked[:, 1:] + ranked[:, :-1]) / 2
    cuts = np.hstack([ranked[:, :1] - _BEYOND, middles, ranked[:, -1:] + _BEYOND])
    return np.take_along_axis(cuts, np.argmin(wrong, axis=1)[:, None], axis=1)[:, 0]


#: Numbers of rounds among which "auto" chooses.
_ROUNDS = (25, 50, 100, 200, 400)
_FEATURES_PER_TASK = 32
_CELLS = 1 << 22  # of stumps that are asked of instances at the same time


class LabelRows(NamedTuple):
    """Which labels are on, as kernels want it."""

    indptr: NDArray[np.int64]
    indices: NDArray[np.int64]


class SplitSums(NamedTuple):
    """Sums of weights on both sides of a cut, shape (2, L): of all instances, and of those that have a label."""

    heavy: NDArray[np.float64]
    on: NDArray[np.float64]


class BoostingState(Protocol):
    """What a kind of boosting knows of its course: the weights, and what follows from a cut."""

    weights: NDArray[np.float64]
    labels: LabelRows
    ranking: bool

    def outputs(self, sides: SplitSums) -> NDArray[np.float64]:
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

    def best(self, course: BoostingState) -> tuple[int, float]:
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
    def _course(self, Y: sparse.csr_array) -> BoostingState:
        """Return the state of boosting before the first round."""

    @abstractmethod
    def _loss(self, scores: NDArray[np.float64], Y: NDArray[np.bool_]) -> float:
        """Return how bad scores of new instances are."""

    def _capabilities(self) -> Capabilities:
        # Cuts move with the scale of a feature.
        return replace(super()._capabilities(), scales=("none",), separate_labels=True)

    def _fit_bytes(self, data: TrainingData) -> int:
        n, L = data.labels.shape
        return 16 * n * L + 24 * int(data.features.size)

    def _fit(self, data: TrainingData) -> None:
        X, Y = data.features, data.labels
        self.presence_ = self.stumps == "presence" or (self.stumps == AUTO and is_wide_sparse(X))
        n_rounds = self._chosen_rounds(data) if self.n_estimators == AUTO else int(self.n_estimators)
        found = self._boosted(Columns(X, self.presence_), Y, n_rounds, data.monitor)
        self.history_, self.n_iter_ = found.history, len(found.history)
        self._merge(found, Y.shape[1])

    def _boosted(self, columns: Columns, Y: sparse.csr_array, n_rounds: int, monitor: Monitor) -> Boosting:
        """Return the cuts of so many rounds, or fewer: until nothing is gained, or `note` says that it is enough."""
        course = self._course(Y)
        found = Boosting([], [], [], [])
        L = course.weights.shape[1]
        last = np.inf
        for done in range(1, n_rounds + 1):
            f, cut = columns.best(course)
            above = columns.above(f, cut)
            sides = SplitSums(np.empty((2, L)), np.empty((2, L)))
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
            if monitor.note("boosting", done, n_rounds, objective):
                break
        return found

    def _chosen_rounds(self, data: TrainingData) -> int:
        """Return the number of rounds with the least loss on a quarter of the instances, held out; keep its scores."""
        n = data.n_instances
        if n < PARTS:
            return _ROUNDS[0]
        generator = make_generator(0 if self.random_state is None else self.random_state)
        train, test = data.without_quarter(generator)
        inner = data.monitor.inside("number of rounds")
        found = self._boosted(Columns(train.features, self.presence_), train.labels, _ROUNDS[-1], inner)
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

    def _held_out(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
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


def labels_of(Y: sparse.csr_array) -> LabelRows:
    """Return which labels are on, as kernels want it."""
    return LabelRows(Y.indptr.astype(np.int64), Y.indices.astype(np.int64))


def _row_numbers(labels: LabelRows) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(labels.indptr) - 1), np.diff(labels.indptr))


class AdaBoostMH(StumpBoosting):
    r"""AdaBoost.MH with real-valued stumps (Schapire & Singer): boosting that lowers a bound of the Hamming loss.

    .. math:: \frac{1}{N L} \sum_{i, l} \exp\Bigl(-z_{il} \sum_t h_t(x_i, l)\Bigr), \qquad z_{il} = 2 y_{il} - 1

    With weights D of instances and labels, which are in proportion to the terms of this sum, a round takes the cut of a
    feature for which :math:`Z = 2 \sum_b \sum_l \sqrt{W_+^{bl} W_-^{bl}}` is least. There :math:`W_\pm^{bl}` is the
    weight of label l, on or off, on side b of the cut; the round adds :math:`h_t = \tfrac12 \ln
    \frac{W_+^{bl} + \epsilon}{W_-^{bl} + \epsilon}` to the score of each label there, with
    :math:`\epsilon = 1 / (N L)`. A label is on if its score is above 0.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Largest number of rounds; boosting ends where nothing is gained. "auto" takes that one of 25, 50, 100, 200 and
        400 with the least squared error of the probabilities 1 / (1 + exp(-2 score)) on a quarter of the instances,
        which is held out. The paper has no rule.
    stumps : {"auto", "presence", "threshold"}, default="auto"
        What a cut asks: whether a feature is not 0, or whether it lies above a threshold, midway between two values
        that occur. "auto" asks for presence where features are many, and mostly 0, as words are.
    {scale}
        Here "auto" is "none": thresholds move with the scale of a feature.
    {threshold}
    {decide_for}
    {random_state}
        It draws the instances that are held out; nothing else is drawn.
    {callback}
    {verbose}

    Attributes
    ----------
    intercept_, cut_features_, cuts_, steps_, presence_, n_iter_, history_
        See `StumpBoosting`; the objective is the exponential loss above, which bounds the Hamming loss in training.

    Notes
    -----
    All labels share the cuts; boosting for each label on its own has cuts of its own for each. A round takes one pass
    over the entries of the features times the labels, and two over instances times labels: tables of that size are in
    memory. Weights of instances must be whole numbers: an instance is repeated as often. The sum of what a score gets
    from all cuts of one feature is its share in `explain`.

    References
    ----------
    R. E. Schapire & Y. Singer, "BoosTexter: a boosting-based system for text categorization", Machine Learning 39,
    2000, doi:10.1023/A:1007649029923.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X < 2])
    >>> model = AdaBoostMH.paper(5).fit(X, Y)
    >>> model.predict([[0.0], [3.0], [7.0]])
    array([[False,  True],
           [False, False],
           [ True, False]])
    """

    def _course(self, Y: sparse.csr_array) -> BoostingState:
        return HammingCourse(Y)

    def _loss(self, scores: NDArray[np.float64], Y: NDArray[np.bool_]) -> float:
        return squared_error(scores, Y)


def squared_error(scores: NDArray[np.float64], Y: NDArray[np.bool_]) -> float:
    """Return the mean squared error of the probabilities 1 / (1 + exp(-2 score))."""
    return float(np.mean((0.5 * (1 + np.tanh(scores)) - Y) ** 2))


class HammingCourse:
    """A distribution over instances and labels."""

    ranking = False

    def __init__(self, Y: sparse.csr_array) -> None:
        self.labels = labels_of(Y)
        self.weights = np.full(Y.shape, 1 / (Y.shape[0] * Y.shape[1]))
        self._smoothing = 1 / (Y.shape[0] * Y.shape[1])
        self._objective = 1.0

    def outputs(self, sides: SplitSums) -> NDArray[np.float64]:
        """Return half the smoothed log-odds of each label on both sides; zeros if Z is 1."""
        off = np.maximum(sides.heavy - sides.on, 0)
        if 2 * np.sqrt(sides.on * off).sum() >= 1 - 1e-12:
            return np.zeros_like(off)  # nothing is gained
        return np.asarray(0.5 * np.log((sides.on + self._smoothing) / (off + self._smoothing)))

    def take(self, above: NDArray[np.uint8], outputs: NDArray[np.float64]) -> float:
        """Change the weights, and return the exponential loss."""
        reweigh(above, np.exp(outputs), np.exp(-2 * outputs), self.weights, *self.labels)
        total = float(self.weights.sum())
        self.weights /= total
        self._objective *= total
        return self._objective


_LARGEST = 5.0  #: α of a cut that leaves no pair in the wrong order
_ROUNDING = 1e-12  #: of sums of weights


class AdaBoostMR(StumpBoosting):
    r"""AdaBoost.MR with stumps (Schapire & Singer): boosting that lowers a bound of the ranking loss.

    .. math:: \sum_i \frac{1}{N |y_i| |\bar y_i|} \sum_{l \in y_i} \sum_{m \notin y_i}
        \exp\bigl(\tfrac12 (F_m(x_i) - F_l(x_i))\bigr), \qquad F = \sum_t \alpha_t h_t

    The weight of a pair of labels is in proportion to its term. With :math:`g_{il}`, half the weight of the pairs in
    which label l of instance i is on less half of that in which it is off, a round takes the cut of a feature with the
    largest :math:`r = \sum_b \sum_l |\sum_{i \in b} g_{il}|`; on side b of the cut, h is the sign of the inner sum,
    and :math:`\alpha = \tfrac12 \ln \frac{1 + r}{1 - r}`, at most 5. Instances with all labels or none do not count.

    Parameters
    ----------
    n_estimators : int or "auto", default="auto"
        Largest number of rounds; boosting ends where nothing is gained. "auto" takes that one of 25, 50, 100, 200 and
        400 with the least ranking loss on a quarter of the instances, which is held out. The paper has no rule.
    stumps : {"auto", "presence", "threshold"}, default="auto"
        What a cut asks: whether a feature is not 0, or whether it lies above a threshold, midway between two values
        that occur. "auto" asks for presence where features are many, and mostly 0, as words are.
    instance_cuts : bool, default=True
        Whether a cut for each instance is learned in training, and subtracted from its scores: the regression of the
        cut with the fewest wrong labels on the scores, as in `BPMLL`. The sum above says how labels of an instance are
        ranked, and nothing of how its scores compare with those of another. `paper` does without.
    {scale}
        Here "auto" is "none": thresholds move with the scale of a feature.
    {threshold}
        Scores rank the labels of an instance and have no natural cut; `paper` takes "global", learned on a quarter of
        the training instances.
    {decide_for}
    {random_state}
        It draws the instances that are held out; nothing else is drawn.
    {callback}
    {verbose}

    Attributes
    ----------
    intercept_, cut_features_, cuts_, steps_, presence_, n_iter_, history_
        See `StumpBoosting`; the objective is the sum above, which bounds the ranking loss in training.

    Notes
    -----
    A single label that varies has no other to be ranked with: it is learned as by `AdaBoostMH`.

    The sums over pairs are products of sums over labels, so that a round takes one pass over the entries of the
    features times the labels, and a few over instances times labels: tables of that size are in memory. Weights of
    instances must be whole numbers: an instance is repeated as often.

    References
    ----------
    R. E. Schapire & Y. Singer, "BoosTexter: a boosting-based system for text categorization", Machine Learning 39,
    2000, doi:10.1023/A:1007649029923.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X < 4])
    >>> model = AdaBoostMR.paper(5, threshold=0).fit(X, Y)
    >>> model.predict([[0.0], [7.0]])
    array([[False,  True],
           [ True, False]])
    """

    instance_cuts: bool = param(check_flag, default=True)

    _paper: ClassVar[Mapping[str, Any]] = {"threshold": "global", "instance_cuts": False}

    def _fit(self, data: TrainingData) -> None:
        super()._fit(data)
        if not self.instance_cuts or data.labels.shape[1] == 1:
            return
        *slope, constant = cut_regression(self._scores(data.features), data.labels.toarray() > 0)
        self.intercept_ -= self.intercept_ @ slope + constant  # the cut is a sum over the same features
        self.steps_ -= (self.steps_ @ slope)[:, None]

    def _held_out(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
        if self.instance_cuts:  # the scores that the fit kept have no cuts
            return LabelModel._held_out(self, data)
        return super()._held_out(data)

    def _course(self, Y: sparse.csr_array) -> BoostingState:
        return HammingCourse(Y) if Y.shape[1] == 1 else _RankingCourse(Y)

    def _loss(self, scores: NDArray[np.float64], Y: NDArray[np.bool_]) -> float:
        return squared_error(scores, Y) if Y.shape[1] == 1 else float(ranking_loss(Y, scores))


class _RankingCourse:
    """A distribution over pairs of labels, one on and one off, of each instance: held as sums over pairs by label."""

    ranking = True

    def __init__(self, Y: sparse.csr_array) -> None:
        self.labels = labels_of(Y)
        sizes = np.diff(self.labels.indptr)
        pairs = sizes * (Y.shape[1] - sizes)
        self._share = np.where(pairs > 0, 1 / np.maximum(pairs, 1), 0.0) / max(1, np.count_nonzero(pairs))
        self._terms = np.ones(Y.shape)  # exp(F/2) of labels that are off, exp(-F/2) of those that are on
        self.weights = np.empty(Y.shape)
        self.take(np.zeros(Y.shape[0], np.uint8), np.zeros((1, Y.shape[1])))

    def outputs(self, sides: SplitSums) -> NDArray[np.float64]:
        gain = 2 * sides.on - sides.heavy
        gain[np.abs(gain) <= _ROUNDING] = 0.0  # the sign of rounding errors would depend on the order of instances
        r = 0.5 * float(np.abs(gain).sum())
        return np.asarray(np.sign(gain) * min(_LARGEST, float(np.arctanh(min(r, 1 - 1e-15)))))

    def take(self, above: NDArray[np.uint8], outputs: NDArray[np.float64]) -> float:
        """Set the weights of labels, with the sum 2: each pair counts for both; return the objective."""
        sums = np.empty((len(above), 2))
        step_terms(above, np.exp(0.5 * outputs), self._terms, *self.labels, sums)
        objective = float((self._share * sums[:, 0] * sums[:, 1]).sum())
        share = self._share / (objective if objective > 0 else 1.0)
        pair_weights(self._terms, share * sums[:, 1], share * sums[:, 0], *self.labels, self.weights)
        return objective
