"""The likelihood of label sets, of a conditional random field whose pairs of labels form a tree."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.label_tree import best_of_trees, sum_trees
from cofactor.kernels.threads import parallel_for
from cofactor.passes import batches
from cofactor.penalties import Penalty
from cofactor.problems.pair_likelihood import PairLikelihoodProblem
from cofactor.problems.pairs import TWO_STATES, Floats, PairForm

_ROWS = 256  # instances in one task


class LabelTree(NamedTuple):
    """A tree whose nodes are labels.

    Parameters
    ----------
    order : ndarray of shape (L,), int64
        The labels from the root on; each comes after its parent.
    parents : ndarray of shape (L,), int64
        The parent of each label; -1 for the root.
    """

    order: NDArray[np.int64]
    parents: NDArray[np.int64]

    def edges(self) -> NDArray[np.int64]:
        """Return each label but the root and its parent, shape (L - 1, 2), in the order of the tree."""
        below = self.order[1:]
        return np.column_stack([below, self.parents[below]])

    def pairs(self) -> PairForm:
        """Return the form of the pairs of labels and their parents, in the order of the tree."""
        below, above = self.edges().T
        return PairForm(TWO_STATES, below, above, len(self.order))

    def of_edges(self, values: Floats) -> Floats:
        """Return values of the pairs by label, 0 for the root."""
        found = np.zeros(len(self.order))
        found[self.order[1:]] = values
        return found


class TreeLikelihoodProblem(PairLikelihoodProblem):
    r"""Negative log-likelihood of the label sets of instances, where labels depend on their parents in a tree.

    .. math::

        J = \sum_i c_i \Bigl[\log \sum_{t} e^{s_i(t)} - s_i(y_i)\Bigr] + p_W(W) + p_V(V), \qquad
        s_i(t) = (x_i W + b) \, t^\top + \sum_{l} v_l \, I(t_l = t_{p(l)})

    over all label sets t. A weight for each of the four states of a pair would give the same, since b has no penalty.
    The sum goes up and down the tree: an evaluation costs O(nnz(X) L + N L).

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    Y : csr_array of shape (N, L)
        Labels.
    tree : LabelTree
    penalties : mapping from str to Penalty
        Penalties of W and V.
    weights : ndarray of shape (N,), optional
        c; 1 by default.
    """

    def __init__(
        self,
        X: Any,
        Y: sparse.csr_array,
        tree: LabelTree,
        penalties: Mapping[str, Penalty],
        *,
        weights: np.ndarray | None = None,
    ) -> None:
        weights = np.ones(X.shape[0]) if weights is None else weights
        self._Y, self._tree = np.asarray(Y.toarray(), dtype=np.float64), tree
        share = self._Y.T @ (weights / weights.sum())
        super().__init__(X, share, tree.pairs(), penalties, weights)
        first, second = self._Y[:, self._pairs.first], self._Y[:, self._pairs.second]
        self._observed = weights @ (first * second)

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        first, second = self._pairs.first, self._pairs.second
        a, _, _ = self._pairs.parts(arrays["V"][0])
        F = self._base(arrays) - self._shift(arrays["V"][0])
        total, chances, both = tree_sums(F, self._tree, self._tree.of_edges(a), self._weights)
        total -= float(self._weights @ np.einsum("il,il->i", F, self._Y) + a @ self._observed)
        slopes = self._weights[:, None] * (chances - self._Y)
        self._put_gradient(self._X, slopes, out)
        of_pairs = both[first] - self._observed
        of_pairs -= self._share[second] * out["b"][first] + self._share[first] * out["b"][second]
        out["V"][0] = self._pairs.gradient(of_pairs, np.zeros(len(a)), np.zeros(len(a)))
        return total + self.add_penalties(x, gradient)


def tree_sums(F: Floats, tree: LabelTree, a: Floats, weights: Floats) -> tuple[float, Floats, Floats]:
    """Return the sum of the logarithms, the chances (N, L), and the sums of both on; see `sum_trees`."""
    blocks = list(batches(len(F), _ROWS))
    chances, both, totals = np.empty_like(F), np.empty((len(blocks), F.shape[1])), np.empty(len(blocks))

    def task(k: int) -> None:
        rows = blocks[k]
        totals[k] = sum_trees(F[rows], tree.order, tree.parents, a, weights[rows], chances[rows], both[k])

    parallel_for(task, len(blocks))
    return float(totals.sum()), chances, both.sum(axis=0)


def tree_best(F: Floats, tree: LabelTree, a: Floats) -> NDArray[np.bool_]:
    """Return the likeliest label sets, shape (N, L)."""
    best = np.empty(F.shape, np.uint8)
    best_of_trees(F, tree.order, tree.parents, a, best)
    return best > 0
