"""The label powerset: every label set of training is a class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import make_generator
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.features import is_sparse
from cofactor.labels.learners.base import Learner, Task
from cofactor.labels.transformation.base import LearnerModel
from cofactor.labels.transformation.votes import class_scores, set_margins
from cofactor.model.estimator import learned


class LabelPowerset(LearnerModel):
    r"""Every distinct label set of training is a class of one multi-class problem.

    .. math:: \hat y = y^{(\hat k)}, \quad \hat k = \arg\max_k s_k(x), \qquad
        f_l(x) = \max_{k : y_l^{(k)} = 1} s_k(x) - \max_{k : y_l^{(k)} = 0} s_k(x)

    with the label sets :math:`y^{(k)}` of training and the scores :math:`s_k` of a multi-class learner. The score
    :math:`f_l` of a label is above 0 where the best set holds it, so the plain cut predicts that set. Only label sets
    of training are predicted; probabilities (``threshold="auto"``) decide about each label, and may make others.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        By default ``LinearSVC(C=cost_)``, one set against all others, with the cost of `BinaryRelevance`; ``C=1`` in
        `paper`.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {set_threshold}
        "joint" predicts the best set also where several are equally good: the first of them.
    {decide_for}
    {random_state}
        It draws a seed for the estimator, if that has a ``random_state``, and the quarter of the instances on which
        probabilities are learned.
    {callback}
        A step is the whole problem.
    {verbose}

    Attributes
    ----------
    sets_ : csr_array of shape (K, L')
        The distinct label sets, of the L' labels that vary in training.
    learner_ : Learner
        Its classes are the rows of `sets_`.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    Where nearly every instance has a label set of its own, as on cal500, nothing is learned: take `RAkEL`.

    References
    ----------
    G. Tsoumakas & I. Katakis, "Multi-label classification: an overview", International Journal of Data Warehousing and
    Mining 3, 2007, doi:10.4018/jdwm.2007070101.

    Examples
    --------
    >>> X = np.arange(9.0)[:, None]
    >>> y = np.hstack([X > 2, X > 5])
    >>> model = LabelPowerset.paper().fit(X, y)
    >>> model.sets_.toarray().astype(int)
    array([[0, 0],
           [1, 0],
           [1, 1]])
    >>> model.predict([[0.0], [8.0]])
    array([[False, False],
           [ True,  True]])
    """

    sets_: sparse.csr_array = learned("sets labels", dtype=None)
    learner_: Learner = learned()

    def _fit_bytes(self, data: FitInput) -> int:
        (n, D), Y = data.features.shape, data.labels
        ends = zip(Y.indptr[:-1].tolist(), Y.indptr[1:].tolist(), strict=True)
        n_sets = len({Y.indices[begin:end].tobytes() for begin, end in ends})
        return 8 * D * n_sets + n * Y.shape[1]

    def _fit(self, data: FitInput) -> None:
        rows, classes = distinct_sets(data.labels)
        self.sets_ = data.labels[rows]
        estimator, generator = self._chosen_estimator(data), make_generator(self.random_state)
        (self.learner_,) = self._fit_tasks(
            estimator, data.features, [Task(classes)], data, generator, what="label sets"
        )

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        (scores,) = class_scores([self.learner_], X)
        return set_margins(scores, self.sets_.toarray() > 0)

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        return np.asarray(self.sets_[self.learner_.predict(X)].toarray() > 0)

    def _check_learned(self) -> None:
        super()._check_learned()
        learner = self.learner_
        if not is_sparse(self.sets_) or not isinstance(learner, Learner) or learner.n_features != self.n_features_in_:
            raise InvalidInputError(f"expected label sets, and a learner of {self.n_features_in_} features")
        K = self.sets_.shape[0]
        if not np.array_equal(learner.classes, np.arange(K)):
            raise InvalidInputError(f"expected a learner of the classes 0 to {K - 1}")
        check_label_sets(self.sets_)


def distinct_sets(Y: sparse.csr_array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return a row of each distinct label set, ordered as the rows of their table, and which of them each row has.

    Examples
    --------
    >>> distinct_sets(sparse.csr_array([[1, 0], [0, 1], [1, 0]]))
    (array([1, 0]), array([1, 0, 1]))
    """
    packed = np.packbits(Y.toarray() > 0, axis=1)
    whole = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, rows, classes = np.unique(whole, return_index=True, return_inverse=True)
    return rows.astype(np.int64), classes.astype(np.int64)


def check_label_sets(sets: sparse.csr_array) -> None:
    """Refuse label sets of a file that hold other numbers than ones, or of which a label is in all, or in none.

    Such a label is constant, and left out.
    """
    if not (sets.data == 1).all():
        raise InvalidInputError("label sets must be tables of zeros and ones")
    share = (sets.toarray() > 0).mean(axis=0)
    if not ((share > 0) & (share < 1)).all():
        raise InvalidInputError("each label must be in some of the label sets, and not in others")
