"""AdaBoost.MR: boosting by stumps that ranks the labels of an instance above the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import check_flag
from cofactor.kernels.boosting import pair_weights, step_terms
from cofactor.labels.adaptation.adaboost_mh import HammingCourse, squared_error
from cofactor.labels.adaptation.boosting import Course, Sides, StumpBoosting, labels_of
from cofactor.labels.adaptation.instance_cuts import cut_regression
from cofactor.labels.base import FitInput, LabelModel
from cofactor.metrics.labels import ranking_loss
from cofactor.model.estimator import param

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

    def _fit(self, data: FitInput) -> None:
        super()._fit(data)
        if not self.instance_cuts or data.labels.shape[1] == 1:
            return
        *slope, constant = cut_regression(self._scores(data.features), data.labels.toarray() > 0)
        self.intercept_ -= self.intercept_ @ slope + constant  # the cut is a sum over the same features
        self.steps_ -= (self.steps_ @ slope)[:, None]

    def _held_out(self, data: FitInput) -> tuple[NDArray[np.int64], NDArray[Any]]:
        if self.instance_cuts:  # the scores that the fit kept have no cuts
            return LabelModel._held_out(self, data)
        return super()._held_out(data)

    def _course(self, Y: sparse.csr_array) -> Course:
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

    def outputs(self, sides: Sides) -> NDArray[np.float64]:
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
