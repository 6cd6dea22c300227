"""Collective multi-label classifier with features: they weigh the pairs of labels too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cofactor.labels.base import FitInput
from cofactor.labels.crf.base import CRF
from cofactor.labels.crf.sets import LabelSets
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState


class CMLF(CRF):
    r"""Collective multi-label classifier with features: a pair of labels has a weight for each feature.

    .. math:: s(x, t) = (x W + b) \, t^\top + \sum_{j < k} (x v_{jk} + v^0_{jk}) \, I(t_j = t_k)

    with P and its maximum as in `CML`: whether two labels go together may depend on the features. A model has
    (D + 1) L (L - 1) / 2 weights of pairs, or four times as many.

    Parameters
    ----------
    alpha, pairs, inference, update, stopping, n_sweeps, burn_in, n_chains, max_iter, tol
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned, and all that "gibbs" draws.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_, coef_, intercept_, sets_, seed_, objective_, history_, certificate_, n_iter_
        See `CML`.
    pair_coef_ : ndarray of shape (D + 1, q, P)
        Weights of pairs for each feature, then those for none.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    Label sets depend on combinations of the weights of pairs alone, at most S of them, which are fitted: a gradient
    costs O(n D L + n S (D + L) + D S² + S L²), an epoch of "gibbs" O(n D L²), by matrix products.

    Features may be far from 0, but not with "gibbs", which warns of them: the penalty is that of the weights above, and
    the solver sees centred features. The gradient grows with the distance, however near the maximum is.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, sections 4.1.2 and 4.3.
    N. Ghamrawi & A. McCallum, "Collective multi-label classification", CIKM 2005, doi:10.1145/1099554.1099591.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.repeat([[0.0], [1.0]], 4, axis=0)
    >>> y = np.array([[0, 0], [1, 1], [0, 0], [1, 1], [0, 1], [1, 0], [0, 1], [1, 0]])  # alike if x is 0, else not
    >>> sets = CMLF.paper(0.01, threshold="joint").fit(X, y).predict([[0.0], [1.0]])
    >>> sets[:, 0] == sets[:, 1]
    array([ True, False])
    """

    _learned: ClassVar[tuple[str, ...]] = (*CRF._learned, "sets_", "seed_")
    _shapes: ClassVar[Mapping[str, str]] = {**CRF._shapes, "sets_": "SL", "seed_": ""}
    _optional: ClassVar[frozenset[str]] = CRF._optional | {"seed_"}
    _structure: ClassVar[LabelSets] = LabelSets(with_features=True)

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        pairs: str = "two-state",
        inference: str = "auto",
        update: str = "expectation",
        stopping: str = "likelihood",
        n_sweeps: int = 200,
        burn_in: int = 20,
        n_chains: int = 4,
        max_iter: int = 2000,
        tol: float = 1e-6,
        scale: str = "auto",
        threshold: float | str = "auto",
        decide_for: str = "micro",
        random_state: RandomState = None,
        callback: Callback | None = None,
        verbose: int = 0,
    ) -> None:
        self.alpha = alpha
        self.pairs = pairs
        self.inference = inference
        self.update = update
        self.stopping = stopping
        self.n_sweeps = n_sweeps
        self.burn_in = burn_in
        self.n_chains = n_chains
        self.max_iter = max_iter
        self.tol = tol
        self.scale = scale
        self.threshold = threshold
        self.decide_for = decide_for
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _choose(self, data: FitInput) -> None:
        self._structure.choose(self, data)
