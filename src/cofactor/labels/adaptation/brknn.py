"""Nearest neighbours that vote for each label: BR-kNN, and its extensions a and b."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import one_of
from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.adaptation.neighbour_model import (
    NeighbourModel,
    bare_rows,
    priors,
    vote_parts,
    vote_scores,
    vote_shares,
)
from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.decisions import JOINT
from cofactor.labels.explaining import ScoreParts
from cofactor.model.estimator import learned, param


class BRkNN(NeighbourModel):
    r"""Nearest neighbours that vote: a label is on if at least half of them have it.

    .. math:: s_l(x) = \frac{c_l(x) + 1/4}{k} - \frac12,

    where :math:`c_l(x)` of the k nearest training instances have label l; a quarter of a vote breaks ties, and is too
    little for anything else. This is binary relevance with nearest neighbours, which all labels share.

    Parameters
    ----------
    {n_neighbors}
        The paper tries several; 10 is usual.
    extension : {"a", "b"}, optional
        How `predict` makes label sets with ``threshold="joint"``, which it needs. "a": the labels with at least half
        of the votes; if there is none, the one with the most. "b": the s labels with the most votes, where s is the
        mean number of labels of the neighbours, rounded, a half up. Of labels with as many votes the one that more
        training instances have comes first, then the one with the lower number. By default there is no extension.
    {neighbour_scale}
    {set_threshold}
        "joint" decides as `extension` says.
    {decide_for}
    {random_state}
        It draws the held-out instances, where there are too many scores to learn probabilities from all.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    prior_ : ndarray of shape (L',)
        Share of the training instances that have each label, of the L' labels that vary in training.
    n_neighbors_, X_, Y_, instances_, instance_ids_
        See `NeighbourModel`.

    Notes
    -----
    How neighbours are found: see `NeighbourModel`. Where all training instances that have any features have them in
    rows of one length, as with ``scale="rows"``, an instance without any feature is as near to one as to another: the
    shares of the labels among all training instances stand in place of its votes.

    The shares of the neighbours are often 0 or 1, so they are no probabilities; those of ``threshold="auto"`` are
    calibrated.

    References
    ----------
    E. Spyromitros, G. Tsoumakas & I. Vlahavas, "An empirical study of lazy multilabel classification algorithms",
    SETN 2008, doi:10.1007/978-3-540-87881-0_40.

    Examples
    --------
    >>> X = np.array([[0.0], [0.1], [0.2], [0.3], [1.0], [1.1], [1.2], [1.3]])
    >>> Y = np.array([[1, 0], [1, 0], [1, 0], [0, 0], [0, 0], [0, 1], [1, 1], [0, 0]])
    >>> BRkNN.paper(2).fit(X, Y).predict([[0.05], [1.15], [1.4]])
    array([[1, 0],
           [1, 1],
           [1, 1]])
    >>> BRkNN.paper(4, extension="a").fit(X, Y).predict([[0.7]])
    array([[1, 0]])
    """

    extension: str | None = param(one_of(["a", "b", None]), default=None)

    prior_: NDArray[np.float64] = learned("labels")

    _paper: ClassVar[Mapping[str, Any]] = {
        "n_neighbors": 10,
        "threshold": lambda _, given: 0 if given.get("extension") is None else JOINT,
    }

    def _check_together(self) -> None:
        super()._check_together()
        if self.extension is not None and self.threshold != JOINT:
            raise InvalidInputError(
                "an extension makes label sets by itself",
                argument="extension",
                found=self.extension,
                advice=("it needs ", Argument("threshold", JOINT)),
            )

    def _learn(self, counts: Callable[[], sparse.csr_array], data: FitInput) -> None:
        self.prior_ = priors(data)

    def _of_counts(self, counts: sparse.csr_array, X: CheckedFeatures) -> NDArray[Any]:
        return vote_scores(counts, self.n_neighbors_, self.prior_, bare_rows(X, self.X_))

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        shares = vote_shares(self._counts(X), self.n_neighbors_, self.prior_, bare_rows(X, self.X_))
        by_prior = np.argsort(-self.prior_, kind="stable")
        votes = shares[:, by_prior]
        if self.extension == "b":
            wanted = np.floor(shares.sum(axis=1) + 0.5)
            places = np.argsort(np.argsort(-votes, axis=1, kind="stable"), axis=1)
            on = places < wanted[:, None]
        else:
            on = votes >= 0.5
            if self.extension == "a" and not (self.constant_ > 0).any():  # else no set is empty
                empty = np.flatnonzero(~on.any(axis=1))
                on[empty, np.argmax(votes[empty], axis=1)] = True
        sets = np.empty_like(on)
        sets[:, by_prior] = on
        return sets

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        return vote_parts(*self._having(X), self.n_neighbors_, self.prior_, bare_rows(X, self.X_), self._names)
