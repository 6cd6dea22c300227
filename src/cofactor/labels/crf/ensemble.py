"""Random chains of labels that vote."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_jobs, make_generator, number, whole
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import thread_limit
from cofactor.labels.base import Capabilities, CheckedFeatures, FitInput, LabelModel
from cofactor.labels.crf.base import LEAST, chosen_alpha, strongest_edges, table_of_all
from cofactor.labels.crf.chain import ChainCRF
from cofactor.labels.crf.structure import distinct, drawn_chain, undirected
from cofactor.labels.penalty import penalty
from cofactor.model.convergence import callers_level, with_unfinished
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import side_by_side
from cofactor.text import counted


class ChainCRFEnsemble(LabelModel):
    r"""Conditional random fields of random chains; each label is decided by vote.

    .. math:: \hat P(y_l = 1 \mid x) = \frac{1}{K} \sum_{k=1}^{K} P_k(y_l = 1 \mid x)

    with P_k the distribution of the k-th chain (`ChainCRF`). ``threshold="joint"`` predicts a label that is in more
    than half of the likeliest label sets of the chains.

    Parameters
    ----------
    n_estimators : int, default=51
        Number K of chains. The source took 1,001.
    alpha : float or "auto", default="auto"
        See `CML`; the same for all chains.
    max_iter, tol
        See `CML`.
    {n_jobs}
    {scale}
    {set_threshold}
        "joint" takes the vote of label sets, "auto" cuts probabilities of single labels. These are the means of
        marginals with "joint" or a number, calibrated else.
    {decide_for}
    {random_state}
        It draws the chains, and the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    models_ : list of ChainCRF
        The chains. One that was drawn again, or the other way round, is the same model, and was fitted once.
    alpha_ : float
        The penalty that was taken.
    n_iter_ : int
        The largest number of iterations of a chain.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> model = ChainCRFEnsemble.paper(5, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    n_estimators: int = param(whole(), default=51, kw_only=False)
    alpha: float | str = param(penalty(inclusive=False), default="auto", kw_only=False)
    max_iter: int = param(whole(), default=2000)
    tol: float = param(number(low=0), default=1e-6)
    n_jobs: int | None = param(check_jobs, default=None)

    models_: list[ChainCRF] = learned()
    alpha_: float = learned(check=number(low=0))
    n_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 1.0, "n_estimators": 1001}

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), weights="any")

    def _fit_bytes(self, data: FitInput) -> int:
        return ChainCRF()._fit_bytes(data) + 8 * self.n_estimators * (data.features.shape[1] + 4) * data.labels.shape[1]

    def _fit(self, data: FitInput) -> None:
        self.alpha_ = chosen_alpha(self.alpha, data)
        generator = make_generator(self.random_state)
        drawn = [drawn_chain(data.labels.shape[1], generator) for _ in range(self.n_estimators)]
        chains = distinct(drawn)
        orders = [chain.order for chain in chains.values()]

        def fitted(k: int, n_threads: int) -> ChainCRF:
            stage = data.monitor.stage(f"chain {k + 1}")
            chain = ChainCRF(
                self.alpha_, order=orders[k], max_iter=self.max_iter, tol=self.tol, scale="none",
                threshold="joint", callback=(lambda progress: True) if data.monitor.stopped else stage,
            )  # fmt: skip
            with config_context(assume_finite=True), thread_limit(n_threads):  # checked already, and warned of
                return chain.fit(data.features, data.labels, data.weights)

        tasks = [(k,) for k in range(len(orders))]
        models, unfinished = with_unfinished(lambda: side_by_side(fitted, tasks, len(tasks), self.n_jobs))
        if unfinished:
            text = f"{len(unfinished)} of {counted(len(tasks), 'chain')} ended too early, such as: {unfinished[0]}"
            warnings.warn(text, ConvergenceWarning, stacklevel=callers_level())
        of_kind = dict(zip(chains, models, strict=True))
        self.models_ = [of_kind[undirected(chain)] for chain in drawn]
        self.n_iter_ = max(model.n_iter_ for model in self.models_)

    def pair_weights(self) -> NDArray[np.float64]:
        """Return the mean of what the chains say that each pair of labels adds to the score of a label set.

        Returns
        -------
        ndarray of shape (L, L)
            See `CML.pair_weights`.
        """
        check_is_fitted(self)
        return table_of_all(self._pair_table(), self.constant_)

    def edges(self) -> NDArray[np.int64]:
        """Return the edges of the tree of the weightiest pairs; see `CML.edges`.

        Returns
        -------
        ndarray of shape (L' - 1, 2)
            Pairs of positions among all labels.
        """
        check_is_fitted(self)
        varying = np.flatnonzero(self.constant_ == 0)
        return varying[strongest_edges(self._pair_table())] if len(varying) else np.empty((0, 2), dtype=np.int64)

    def _pair_table(self) -> NDArray[np.float64]:
        """Return the mean weights of pairs of the labels that vary, shape (L', L')."""
        none = np.zeros((0, 0))
        return none if self.constant_.all() else np.mean([model._pair_table() for model in self.models_], axis=0)

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_}

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.asarray(logit(self._probabilities(X)))

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        total = np.zeros((X.shape[0], self._n_varying))
        for model in self.models_:
            total += model._probabilities(X)
        return np.clip(total / len(self.models_), LEAST, 1 - LEAST)

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        votes = np.zeros((X.shape[0], self._n_varying))
        for model in self.models_:
            votes += model._label_sets(X)
        return np.asarray(votes > len(self.models_) / 2)

    def _check_learned(self) -> None:
        super()._check_learned()
        n_labels = self._n_varying
        models = self.models_
        if not isinstance(models, list) or not models or not all(type(one) is ChainCRF for one in models):
            raise InvalidInputError("expected a list of chains")
        for model in models:
            if model.n_features_in_ != self.n_features_in_ or len(model.label_names_) != n_labels:
                raise InvalidInputError(f"expected chains of {n_labels} labels and {self.n_features_in_} features")
            if np.any(model.constant_ != 0):
                raise InvalidInputError("expected chains of labels that vary")
