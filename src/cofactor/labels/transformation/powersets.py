"""Label powersets, whole and random, and the votes of classifiers of label sets.

A powerset has a class for every label set of training; random k-label sets are powersets of few labels, which vote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from math import comb
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, check_flag, make_generator, one_of, whole
from cofactor.chunked import is_sparse
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, TrainingData
from cofactor.labels.learners.base import Learner, Subproblem
from cofactor.labels.learners.linear import LinearLearner, linear_scores
from cofactor.labels.transformation.base import LearnerModel
from cofactor.model.estimator import learned, param

#: How votes are counted.
VOTING = ("soft", "hard")


def class_scores(learners: Sequence[Learner], X: CheckedFeatures) -> list[NDArray[Any]]:
    """Return scores of each learner's K classes, shape (n, K) for two classes as well; linear ones by one product.

    Examples
    --------
    >>> one = LinearLearner(np.array([[2.0]]), np.zeros(1), np.array([0, 1]))
    >>> class_scores([one], np.array([[1.5]]))
    [array([[0., 3.]])]
    """
    linear = [one for one in learners if isinstance(one, LinearLearner)]
    if len(linear) < len(learners) or len({one.binarize for one in linear}) > 1:
        return [_of_two(one.scores(X)) for one in learners]
    coef, intercept = np.hstack([one.coef for one in linear]), np.concatenate([one.intercept for one in linear])
    table = linear_scores(X, coef, intercept, linear[0].binarize)
    ends = np.cumsum([one.coef.shape[1] for one in linear])
    return [_of_two(part) for part in np.split(table, ends[:-1], axis=1)]


def _of_two(scores: NDArray[Any]) -> NDArray[Any]:
    """Return a column of scores for each of two classes where there is one for the second."""
    if scores.ndim == 2 and scores.shape[1] > 1:
        return scores
    column = scores.ravel()
    return np.column_stack([np.zeros_like(column), column])


def set_margins(scores: NDArray[Any], sets: NDArray[np.bool_]) -> NDArray[Any]:
    """Return by how much the best label set with a label exceeds the best one without it, shape (n, k).

    It is above 0 exactly for the labels of the best set, unless other sets are as good.

    Parameters
    ----------
    scores : ndarray of shape (n, K)
        Score of each of the sets.
    sets : ndarray of shape (K, k), bool
        Which labels they hold; each label is in some of them, and not in others.

    Examples
    --------
    >>> set_margins(np.array([[0.1, 0.7, 0.2]]), np.array([[True, False], [True, True], [False, False]])).round(2)
    array([[0.5, 0.5]])
    """
    best = scores.argmax(axis=1)
    top = scores[np.arange(len(scores)), best]
    margins = np.empty((len(scores), sets.shape[1]))
    for k, has in enumerate(sets.T):  # one of both is the best set of all, so only the others are searched
        held = has[best]
        margins[held, k] = top[held] - scores[np.ix_(held, ~has)].max(axis=1)
        margins[~held, k] = scores[np.ix_(~held, has)].max(axis=1) - top[~held]
    return margins


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
        `paper`. Li's multi-class method looks at one set against one: ``LabelPowerset.paper(SVC(kernel="linear"))``.
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
    learner_: Learner = learned(kind=Learner)

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), Y = data.features.shape, data.labels
        ends = zip(Y.indptr[:-1].tolist(), Y.indptr[1:].tolist(), strict=True)
        n_sets = len({Y.indices[begin:end].tobytes() for begin, end in ends})
        return 8 * D * n_sets + n * Y.shape[1]

    def _fit(self, data: TrainingData) -> None:
        rows, classes = distinct_sets(data.labels)
        self.sets_ = data.labels[rows]
        estimator, generator = self._chosen_estimator(data), make_generator(self.random_state)
        (self.learner_,) = self._fit_tasks(
            estimator, data.features, [Subproblem(classes)], data, generator, what="label sets"
        )

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        (scores,) = class_scores([self.learner_], X)
        return set_margins(scores, self.sets_.toarray() > 0)

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        return np.asarray(self.sets_[self.learner_.predict(X)].toarray() > 0)

    def _check_learned(self) -> None:
        super()._check_learned()
        learner = self.learner_
        if not is_sparse(self.sets_) or learner.n_features != self.n_features_in_:
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


#: Most labels in a set: each of them is a bit of a class.
_MOST_LABELS = 60


class RAkEL(LearnerModel):
    r"""Label powersets of random sets of k labels, which vote (RAkEL: random k-label sets).

    .. math:: f_l(x) = \frac{1}{|S_l|} \sum_{s \in S_l} \hat y_l^{(s)}(x) - \frac12 + \frac{1}{4 |S_l|}

    with the sets :math:`S_l` that hold label l, and the labels that their powersets predict; half of the votes are
    enough. By "soft" voting it is the mean of the scores that `LabelPowerset` gives to the label.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        By default ``LinearSVC(C=cost_)``, one set against all others, with the cost of `BinaryRelevance`; ``C=1`` in
        `paper`.
    labelset_size : int, default=3
        k, from 1 (binary relevance) to 60; all labels if there are fewer, which is `LabelPowerset`.
    n_estimators : int or "auto", default="auto"
        Number m of sets that overlap; "auto" takes twice the number of labels. There are never more than distinct sets
        of k labels.
    overlapping : bool, default=True
        Whether sets overlap, as RAkEL-o has them, or the labels are cut into ⌈L / k⌉ disjoint ones (RAkEL-d), of which
        the last one may be smaller.
    voting : {"soft", "hard"}, default="soft"
        Whether scores are averaged, which tells more, or labels are counted, as in the paper.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {threshold}
    {decide_for}
    {random_state}
        It draws the sets, a seed for each estimator, if that has a ``random_state``, and the quarter of the instances
        on which probabilities are learned.
    {callback}
        Powersets that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    labelsets_ : csr_array of shape (m, L')
        The sets, of the L' labels that vary in training.
    learners_ : list of Learner
        Of each set. A class is the number whose binary digits say which labels of the set are on, the last digit the
        first label.
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    The first sets cut a random order of the labels, so that each label is in a set if m allows it; where it does not,
    a label without a set has one of its own, which is binary relevance.

    References
    ----------
    G. Tsoumakas, I. Katakis & I. Vlahavas, "Random k-labelsets for multilabel classification", IEEE Transactions on
    Knowledge and Data Engineering 23, 2011, doi:10.1109/TKDE.2010.164.

    Examples
    --------
    >>> X = np.arange(9.0)[:, None]
    >>> y = np.hstack([X > 2, X > 5, X < 4])
    >>> model = RAkEL.paper(labelset_size=2, random_state=0).fit(X, y)
    >>> model.labelsets_.toarray().astype(int)
    array([[1, 0, 1],
           [0, 1, 1],
           [1, 1, 0]])
    >>> model.predict([[0.0], [8.0]])
    array([[False, False,  True],
           [ True,  True, False]])
    """

    labelset_size: int = param(whole(high=_MOST_LABELS), default=3)
    n_estimators: int | str = param(whole(also=[AUTO]), default="auto")
    overlapping: bool = param(check_flag, default=True)
    voting: str = param(one_of(VOTING), default="soft")

    labelsets_: sparse.csr_array = learned("labelsets labels", dtype=None)
    learners_: list[Learner] = learned(kind=Learner, many=True)

    _paper: ClassVar[Mapping[str, Any]] = {"voting": "hard"}

    def _check_together(self) -> None:
        super()._check_together()
        if self.n_estimators != AUTO and not self.overlapping:
            raise InvalidInputError(
                "disjoint sets are as many as it takes to hold all labels",
                argument="n_estimators",
                found=self.n_estimators,
                advice="leave it out, or let sets overlap",
            )

    def _n_sets(self, n_labels: int) -> int:
        """Return how many sets there are, beside those of labels that are in none of them."""
        k = min(self.labelset_size, n_labels)
        if not self.overlapping:
            return -(-n_labels // k)
        wanted = 2 * n_labels if self.n_estimators == AUTO else int(self.n_estimators)
        return min(wanted, comb(n_labels, k))

    def _fit_bytes(self, data: TrainingData) -> int:
        (n, D), L = data.features.shape, data.labels.shape[1]
        return 8 * D * self._n_sets(L) * min(2 ** min(self.labelset_size, L), n)

    def _fit(self, data: TrainingData) -> None:
        generator, L = make_generator(self.random_state), data.labels.shape[1]
        sets = random_sets(L, min(self.labelset_size, L), self._n_sets(L), self.overlapping, generator)
        self.labelsets_ = set_table(sets, L)
        columns = sparse.csc_array(data.labels, dtype=np.int64)
        estimator = self._chosen_estimator(data)
        tasks = [Subproblem(columns[:, one] @ (1 << np.arange(len(one)))) for one in sets]
        self.learners_ = self._fit_tasks(estimator, data.features, tasks, data, generator, what="sets of labels")

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        total = np.zeros((X.shape[0], self.labelsets_.shape[1]))
        each = class_scores(self.learners_, X)
        for learner, scores, labels in zip(self.learners_, each, sets_in(self.labelsets_), strict=True):
            sets = (learner.classes[:, None] >> np.arange(len(labels))) % 2 == 1
            if self.voting == "soft":
                total[:, labels] += set_margins(scores, sets)
            else:
                total[:, labels] += sets[np.argmax(scores, axis=1)] - 0.5
        n_votes = np.bincount(self.labelsets_.indices, minlength=total.shape[1])
        return (total if self.voting == "soft" else total + 0.25) / n_votes

    def _check_learned(self) -> None:
        super()._check_learned()
        learners = self.learners_
        if not is_sparse(self.labelsets_) or self.labelsets_.shape[0] != len(learners):
            raise InvalidInputError(f"expected {len(learners)} sets of labels")
        if not np.bincount(self.labelsets_.indices, minlength=self.labelsets_.shape[1]).all():
            raise InvalidInputError("each label must be in a set")
        for learner, labels in zip(learners, sets_in(self.labelsets_), strict=True):
            bits = (learner.classes[:, None] >> np.arange(max(len(labels), 1))) % 2
            fits = 1 <= len(labels) <= _MOST_LABELS and len(set(labels.tolist())) == len(labels)
            if not fits or learner.classes[0] < 0 or learner.classes[-1] >= 1 << len(labels):
                raise InvalidInputError("the classes of a learner are not subsets of its set of labels")
            if learner.n_features != self.n_features_in_ or not ((bits.min(axis=0) == 0) & bits.any(axis=0)).all():
                raise InvalidInputError("a learner does not fit the features, or says nothing of a label of its set")


def random_sets(
    n_labels: int, size: int, n_sets: int, overlapping: bool, generator: np.random.Generator
) -> list[NDArray[np.int64]]:
    """Return distinct sets of labels, each in increasing order; a label that is in none has one of its own.

    Parameters
    ----------
    n_labels, size, n_sets : int
        There must be that many distinct sets of this size.
    overlapping : bool
        Whether sets overlap; otherwise they cut a random order of the labels.

    Examples
    --------
    >>> random_sets(5, 2, 3, False, np.random.default_rng(0))
    [array([2, 4]), array([0, 3]), array([1])]
    """
    order = generator.permutation(n_labels)
    cut = [np.sort(order[k : k + size]) for k in range(0, n_labels, size)]
    if not overlapping:
        return cut
    found = {tuple(one.tolist()): None for one in cut[:n_sets] if len(one) == size}
    if comb(n_labels, size) <= 4 * n_sets:  # few are left out: draw from all
        others = [one for one in combinations(range(n_labels), size) if one not in found]
        for k in generator.permutation(len(others))[: n_sets - len(found)]:
            found[others[k]] = None
    elif n_labels % size and len(found) < n_sets:  # the labels that are left over come first, with others
        rest = set(cut[-1].tolist())
        more = generator.permutation([k for k in range(n_labels) if k not in rest])
        found[tuple(sorted([*rest, *more[: size - len(rest)].tolist()]))] = None
    while len(found) < n_sets:
        found[tuple(sorted(generator.choice(n_labels, size, replace=False).tolist()))] = None
    held = {label for one in found for label in one}
    alone = [(label,) for label in range(n_labels) if label not in held]
    return [np.array(one, dtype=np.int64) for one in (*found, *alone)]


def set_table(sets: list[NDArray[np.int64]], n_labels: int) -> sparse.csr_array:
    """Return sets of labels, each in increasing order, as the rows of a table of ones."""
    starts = np.concatenate(([0], np.cumsum([len(one) for one in sets])))
    members = np.concatenate(sets)
    return sparse.csr_array((np.ones(len(members), np.float32), members, starts), shape=(len(sets), n_labels))


def sets_in(table: sparse.csr_array) -> list[NDArray[Any]]:
    """Return the sets of labels that `set_table` put into a table."""
    return np.split(table.indices, table.indptr[1:-1])
