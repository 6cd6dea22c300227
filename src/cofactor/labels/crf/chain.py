"""A conditional random field in which labels form a chain."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import make_generator, one_of, whole
from cofactor.correlation import MEASURES, greedy_chain, measured
from cofactor.labels.base import FitInput
from cofactor.labels.crf.base import CRF
from cofactor.labels.crf.fields import TreeField
from cofactor.labels.crf.structure import (
    SAMPLED,
    best_of,
    chain_tree,
    check_tree,
    drawn_chain,
    tree_bytes,
)
from cofactor.labels.transformation.chains import check_order, order_of
from cofactor.model.estimator import learned, param
from cofactor.problems.random_fields import LabelTree


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

    order: str | ArrayLike = param(partial(check_order, also=SAMPLED), default="random")
    n_samples: int = param(whole(), default=11)
    measure: str = param(one_of(MEASURES), default="chi-squared")

    order_: NDArray[np.int64] = learned("labels", dtype=int)
    parents_: NDArray[np.int64] = learned("labels", dtype=int)

    def _fit_bytes(self, data: FitInput) -> int:
        return tree_bytes(data)

    def _field(self) -> TreeField:
        return TreeField(LabelTree(self.order_, self.parents_))

    def _check_field(self) -> None:
        check_tree(self.order_, self.parents_, self._n_varying)

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
