"""A conditional random field whose pairs of labels form a tree."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cofactor.checks import check_choice, make_generator, one_of, whole
from cofactor.correlation import MEASURES, maximum_spanning_tree, measured
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.base import FitInput
from cofactor.labels.crf.base import CRF
from cofactor.labels.crf.fields import TreeField
from cofactor.labels.crf.structure import (
    SAMPLED,
    best_of,
    check_tree,
    drawn_tree,
    of_varying,
    tree_bytes,
    tree_of_edges,
)
from cofactor.labels.transformation.chains import label_places
from cofactor.model.estimator import learned, param
from cofactor.problems.random_fields import LabelTree

STRUCTURES = (*MEASURES, "random", *SAMPLED)


def _check_structure(name: str, structure: Any) -> None:
    """Refuse what is neither the name of a structure, nor pairs of positions or names."""
    if structure is None or isinstance(structure, str):
        check_choice(name, structure, STRUCTURES)
        return
    try:
        pairs = np.asarray(structure)
    except ValueError:  # rows of several lengths
        pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iuU":
        known = ", ".join(map(repr, STRUCTURES))
        problem = f"expected one of {known}, or the edges of a tree, each two positions, or two names, of labels"
        raise InvalidTypeError(problem, argument=name, found=structure)


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
    structure : str or array-like of shape (L - 1, 2), default="chi-squared"
        A measure of `cofactor.correlation.MEASURES`; "random"; "sampled-correlation" or "sampled-likelihood": of
        `n_samples` random trees the one whose edges have the largest sum of `measure`, or that makes the labels of
        training likeliest; or the edges of a tree of all labels, each two positions or names
        (whole numbers are positions, whatever labels are called).
    n_samples : int, default=11
        How many trees are drawn. Each of the likelihood costs a fit.
    measure : str, default="chi-squared"
        The measure of "sampled-correlation".
    max_iter, tol
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws trees, where they are random, and the quarter of the instances on which probabilities are learned.
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

    structure: str | ArrayLike = param(_check_structure, default="chi-squared")
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
        L = data.labels.shape[1]
        if not isinstance(self.structure, str):
            places = label_places(self.structure, self.label_names_.tolist(), "structure")
            tree = of_varying(_tree_given(places, len(self.constant_)), self.constant_)
        elif self.structure in SAMPLED:
            generator = make_generator(self.random_state)
            trees = [drawn_tree(data.labels.shape[1], generator) for _ in range(self.n_samples)]
            learning = self.alpha_, self.max_iter, self.tol
            tree = best_of(trees, self.structure, data, measure=self.measure, learning=learning)
        elif self.structure == "random":
            tree = drawn_tree(L, make_generator(self.random_state))
        else:
            table = measured(self.structure, data.features, data.labels, data.weights)
            tree = tree_of_edges(maximum_spanning_tree(table), L)
        self.order_, self.parents_ = tree

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "structure": LabelTree(self.order_, self.parents_).edges()}


def _tree_given(pairs: NDArray[Any], L: int) -> LabelTree:
    """Return the tree of L labels with these edges; refuse edges of none.

    Examples
    --------
    >>> _tree_given(np.array([[0, 1], [2, 1]]), 3)
    LabelTree(order=array([0, 1, 2]), parents=array([-1,  0,  1]))
    """
    if len(pairs) == L - 1 and np.all((pairs >= 0) & (pairs < L)):
        tree = tree_of_edges(pairs, L)
        if len(tree.order) == L:
            return tree
    problem = f"expected {L - 1} pairs of positions from 0 to {L - 1}, or of names, that connect all {L} labels"
    advice = "" if pairs.dtype.kind == "U" else "whole numbers are positions, whatever labels are called"
    raise InvalidInputError(problem, argument="structure", found=pairs, advice=advice)
