"""Collective multi-label classifier: every pair of labels has weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cofactor.labels.crf.base import CRF
from cofactor.labels.crf.sets import OfSets
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState


class CML(OfSets, CRF):
    r"""Collective multi-label classifier: a conditional random field with a weight for every pair of labels.

    .. math::

        \max_{W, b, V} \; \sum_i \log P(y_i \mid x_i) - \frac{\alpha}{2} (\|W\|_F^2 + \|V\|_F^2), \qquad
        P(y \mid x) = \frac{e^{s(x, y)}}{\sum_{t \in S} e^{s(x, t)}}, \qquad
        s(x, t) = (x W + b) \, t^\top + \sum_{j < k} v_{jk} \, I(t_j = t_k)

    The maximum is unique. ``threshold="joint"`` predicts the likeliest label set; probabilities are the marginals.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        Weight of the penalties, above 0: one by the variance σ² of the Gaussian prior. "auto" weighs as much beside the
        logistic loss as the best penalty of ridge regression beside the squared one. `paper` takes 1.
    pairs : {{"two-state", "four-state"}}, default="two-state"
        One weight for a pair, which counts where both labels are alike (4.5), or one for each of its four states. Both
        give the same probabilities, since b has no penalty; those of `CMLF` differ.
    inference : {{"auto", "exact", "supported"}}, default="auto"
        Which label sets S are possible: all of at most 14 labels, or those of training (4.2). "auto" takes all of 10
        labels or fewer.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-6
        Converged when the objective falls by less than this share of itself per iteration, over five iterations.
    {scale}
    {threshold}
        "joint" predicts the likeliest label set, "auto" cuts the marginals where that is best.
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    alpha_ : float
        The penalty that was taken.
    coef_ : ndarray of shape (D, L')
        W, for the L' labels that vary in training.
    intercept_ : ndarray of shape (L',)
        b, which has no penalty: the weights of a constant feature. The source has none, and then the two forms of
        pairs differ.
    pair_coef_ : ndarray of shape (1, q, P)
        V of the P pairs in the order of ``numpy.triu_indices``, with q = 1, or 4 states: 00, 10, 01, 11.
    sets_ : csr_array of shape (S, L')
        The label sets that are possible.
    objective_ : float
        Negative log-likelihood and penalties.
    history_, certificate_, n_iter_
        Objective after each iteration, distance from stationarity, number of iterations.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped at `max_iter`.

    Notes
    -----
    All weights share one pass over instances × label sets, by matrix products: a gradient costs
    O(n D L + n S L + S L²), where the source counts each weight by itself (table 4.1).

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, sections 4.1.1 and 4.2.
    N. Ghamrawi & A. McCallum, "Collective multi-label classification", CIKM 2005, doi:10.1145/1099554.1099591.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> CML.paper().fit(X, y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    _learned: ClassVar[tuple[str, ...]] = (*CRF._learned, "sets_")
    _shapes: ClassVar[Mapping[str, str]] = {**CRF._shapes, "sets_": "SL"}

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        pairs: str = "two-state",
        inference: str = "auto",
        max_iter: int = 500,
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
        self.max_iter = max_iter
        self.tol = tol
        self.scale = scale
        self.threshold = threshold
        self.decide_for = decide_for
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose
