"""A conditional random field in which labels form a chain."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import make_generator
from cofactor.correlation import MEASURES, greedy_chain, measured
from cofactor.labels.base import FitInput
from cofactor.labels.crf.base import CRF
from cofactor.labels.crf.fields import TreeField
from cofactor.labels.crf.structure import (
    SAMPLED,
    best_of,
    chain_tree,
    check_drawing,
    check_tree,
    drawn_chain,
    tree_bytes,
)
from cofactor.labels.transformation.chains import check_order, order_of
from cofactor.problems.tree_likelihood import LabelTree
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState


class ChainCRF(CRF):
    r"""A conditional random field in which each label goes with the next one of a chain.

    The model of `TreeCRF`, whose tree is a chain: a random one, the greedy one of a measure, or the best of some random
    ones.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        See `CML`.
    order : str or array-like of shape (L,), default="random"
        "random"; "given"; a measure of `cofactor.correlation.MEASURES`, by which each label is followed by the one
        that is most like it; "sampled-correlation" or "sampled-likelihood": of `n_samples` random chains the one whose
        pairs have the largest sum of `measure`, or that makes the labels of training likeliest; or positions or names
        of the labels in their order (whole numbers are positions, whatever labels are called). The source found random
        chains as good as those of any measure, so that is the default.
    n_samples : int, default=11
        How many chains are drawn. The source took 1,001; each of the likelihood costs a fit.
    measure : str, default="chi-squared"
        The measure of "sampled-correlation".
    max_iter, tol
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws chains, and the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    order_, parents_, alpha_, coef_, intercept_, pair_coef_, objective_, history_, certificate_, n_iter_
        See `TreeCRF`.
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
    >>> ChainCRF.paper(order=[2, 0, 1]).fit(X, y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    _learned: ClassVar[tuple[str, ...]] = (*CRF._learned, "order_", "parents_")
    _shapes: ClassVar[Mapping[str, str]] = {**CRF._shapes, "order_": "L", "parents_": "L"}

    order_: NDArray[np.int64]
    parents_: NDArray[np.int64]

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        order: str | ArrayLike = "random",
        n_samples: int = 11,
        measure: str = "chi-squared",
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
        self.order = order
        self.n_samples = n_samples
        self.measure = measure
        self.max_iter = max_iter
        self.tol = tol
        self.scale = scale
        self.threshold = threshold
        self.decide_for = decide_for
        self.random_state = random_state
        self.callback = callback
        self.verbose = verbose

    def _check_params(self) -> None:
        super()._check_params()
        check_drawing(self.n_samples, self.measure)
        check_order(self.order, also=SAMPLED)

    def _fit_bytes(self, data: FitInput) -> int:
        return tree_bytes(data)

    def _field(self) -> TreeField:
        return TreeField(LabelTree(self.order_, self.parents_))

    def _check_field(self) -> None:
        check_tree(self.order_, self.parents_, int(np.count_nonzero(self.constant_ == 0)))

    def _choose(self, data: FitInput) -> None:
        name = self.order if isinstance(self.order, str) else ""
        if name in SAMPLED:
            generator = make_generator(self.random_state)
            trees = [drawn_chain(data.labels.shape[1], generator) for _ in range(self.n_samples)]
            learning = self.alpha_, self.max_iter, self.tol
            tree = best_of(trees, name, data, measure=self.measure, learning=learning)
        elif name in MEASURES:
            tree = chain_tree(greedy_chain(measured(name, data.features, data.labels, data.weights)))
        else:
            tree = chain_tree(order_of(self, data, make_generator(self.random_state)))
        self.order_, self.parents_ = tree

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "order": self.order_}
