"""Chains of several random orders, which vote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import make_generator, one_of, whole
from cofactor.errors import InvalidInputError
from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.learners.chain import Chain
from cofactor.labels.transformation.base import LearnerModel
from cofactor.labels.transformation.chains import chain_bytes, fit_chain
from cofactor.labels.transformation.classifier_chain import check_chain
from cofactor.labels.transformation.votes import VOTING
from cofactor.model.estimator import learned, param


class EnsembleOfChains(LearnerModel):
    r"""Classifier chains of random orders, which vote for each label.

    .. math:: f_l(x) = \frac1C \sum_{c = 1}^C \hat y_l^{(c)}(x) - \frac12

    with the labels that chain c predicts, or, by "soft" voting, the mean of the chains' scores. All chains learn from
    all instances; only their orders differ.

    Parameters
    ----------
    estimator : classifier or regressor of scikit-learn, optional
        As in `ClassifierChain`.
    n_estimators : int, default=10
        Number C of chains.
    voting : {"soft", "hard"}, default="soft"
        Whether scores are averaged, which tells more, or labels are counted, as in the paper. Exactly half of the
        votes are too few.
    {n_jobs}
    {scale}
        With an estimator that is given, "auto" is "none": some want features as they are.
    {threshold}
    {decide_for}
    {random_state}
        It draws the orders, a seed for each estimator, if that has a ``random_state``, and the quarter of the
        instances on which probabilities are learned.
    {callback}
        Labels that are still to be fitted get one iteration each if the estimator has a ``max_iter``.
    {verbose}

    Attributes
    ----------
    orders_ : ndarray of shape (C, L')
        Order of the L' labels that vary in training in each chain: their positions among these.
    chains_ : list of Chain
    cost_ : float or None
        C of the default estimator; None where the estimator was given.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes & E. Frank, "Classifier chains for multi-label classification", Machine Learning
    85, 2011, doi:10.1007/s10994-011-5256-5.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> model = EnsembleOfChains.paper(n_estimators=4, random_state=0).fit(X, y)
    >>> model.decision_function([[0.0], [7.0]])
    array([[-0.5,  0.5, -0.5],
           [ 0.5, -0.5,  0.5]])
    """

    n_estimators: int = param(whole(), default=10)
    voting: str = param(one_of(VOTING), default="soft")

    orders_: NDArray[np.int64] = learned("chains labels", dtype=int)
    chains_: list[Chain] = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"voting": "hard"}

    def _fit_bytes(self, data: FitInput) -> int:
        return chain_bytes(data, self.n_estimators)

    def _fit(self, data: FitInput) -> None:
        generator = make_generator(self.random_state)
        estimator, L = self._chosen_estimator(data), data.labels.shape[1]
        self.orders_ = np.stack([generator.permutation(L) for _ in range(self.n_estimators)])
        self.chains_ = [
            fit_chain(self._fit_tasks, estimator, data, order, generator, done=c * L, most=self.n_estimators * L)
            for c, order in enumerate(self.orders_)
        ]

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        total = np.zeros((X.shape[0], self.orders_.shape[1]))
        for order, chain in zip(self.orders_, self.chains_, strict=True):
            scores, labels = chain.decide(X)
            total[:, order] += scores if self.voting == "soft" else labels - 0.5
        return total / len(self.chains_)

    def _check_learned(self) -> None:
        super()._check_learned()
        chains = self.chains_
        if not isinstance(chains, list) or not chains or len(chains) != len(self.orders_):
            raise InvalidInputError(f"expected {len(self.orders_)} chains, at least one")
        for chain, order in zip(chains, self.orders_, strict=True):
            check_chain(chain, order, self._n_varying, self.n_features_in_)
