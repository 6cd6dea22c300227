"""A conditional random field whose pairs of labels form a tree."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from cofactor.correlation import MEASURES, maximum_spanning_tree, measured
from cofactor.labels.base import FitInput
from cofactor.labels.crf.base import CRF
from cofactor.labels.crf.fields import tree_of_edges
from cofactor.labels.crf.trees import Tree, edges
from cofactor.model.checks import check_choice, make_generator
from cofactor.solvers.result import Callback
from cofactor.typing import RandomState

STRUCTURES = (*MEASURES, "random")


class TreeCRF(CRF):
    r"""A conditional random field whose pairs of labels form a tree: sums over all label sets are exact, and fast.

    .. math::

        \max_{W, b, V} \; \sum_i \log P(y_i \mid x_i) - \frac{\alpha}{2} (\|W\|_F^2 + \|V\|_F^2), \qquad
        P(t \mid x) \propto \exp\Bigl[(x W + b) \, t^\top + \sum_{(j, k) \in T} v_{jk} \, I(t_j = t_k)\Bigr]

    over all label sets t. T is the maximum spanning tree of a measure of how labels go together, or of random numbers.
    ``threshold="joint"`` predicts the likeliest label set; scores are the log-odds of the marginals.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        See `CML`.
    structure : str, default="chi-squared"
        A measure of `cofactor.correlation.MEASURES`, or "random".
    max_iter, tol
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws the tree, where it is random, and the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    order_ : ndarray of shape (L',)
        The L' labels that vary in training, from the root of the tree on: their positions among these. `edges` has
        positions among all labels.
    parents_ : ndarray of shape (L',)
        The parent of each of them, -1 for the root.
    alpha_, coef_, intercept_, objective_, history_, certificate_, n_iter_
        See `CML`.
    pair_coef_ : ndarray of shape (1, 1, L' - 1)
        Weights of each label but the root and its parent, in the order of `order_`.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    An evaluation costs O(n D L + n L).

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> TreeCRF.paper().fit(X, y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    _learned: ClassVar[tuple[str, ...]] = (*CRF._learned, "order_", "parents_")
    _shapes: ClassVar[Mapping[str, str]] = {**CRF._shapes, "order_": "L", "parents_": "L"}
    _structure: ClassVar[Tree] = Tree()

    edges = edges

    def __init__(
        self,
        alpha: float | str = "auto",
        *,
        structure: str = "chi-squared",
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
        self.structure = structure
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
        check_choice("structure", self.structure, STRUCTURES)

    def _choose(self, data: FitInput) -> None:
        L = data.labels.shape[1]
        if self.structure == "random":
            table = make_generator(self.random_state).random((L, L))
            table = table + table.T
        else:
            table = measured(self.structure, data.features, data.labels, data.weights)
        self.order_, self.parents_ = tree_of_edges(maximum_spanning_tree(table), L)
