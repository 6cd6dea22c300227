"""AdaBoost.MH: boosting by real-valued stumps under a distribution over instances and labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.boosting import reweigh
from cofactor.labels.adaptation.boosting import Course, Sides, StumpBoosting, labels_of


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

    def _course(self, Y: sparse.csr_array) -> Course:
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

    def outputs(self, sides: Sides) -> NDArray[np.float64]:
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
