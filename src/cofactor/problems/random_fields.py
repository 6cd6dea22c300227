"""The likelihood of label sets in conditional random fields with weights of pairs of labels.

Weights of pairs are a quadratic form of label sets, in two parametrisations; coordinates in which label sets differ,
and in which features are centred, leave the penalties as they are. The likelihood is a sum over the label sets of the
training data, over all label sets by samples of a Gibbs chain, or over a tree of labels by messages.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import expit

from cofactor.chunked import batches
from cofactor.kernels.label_tree import best_of_trees, sum_trees
from cofactor.kernels.threads import parallel_for
from cofactor.penalties import Penalty
from cofactor.problems.base import PenalizedProblem

Floats = NDArray[np.float64]

TWO_STATES, FOUR_STATES = "two-state", "four-state"
FORMS = (TWO_STATES, FOUR_STATES)


@dataclass(frozen=True)
class PairForm:
    r"""What weights of pairs of labels add to a label set, but for a constant.

    For a pair i < j, with two states :math:`v_{ij} I(t_i = t_j)`, and with four

    .. math:: v^{00} (1 - t_i)(1 - t_j) + v^{10} t_i (1 - t_j) + v^{01} (1 - t_i) t_j + v^{11} t_i t_j.

    Both are :math:`a_{ij} t_i t_j + l_{ij} t_i + m_{ij} t_j`, and a constant, which does not count.

    Parameters
    ----------
    form : {"two-state", "four-state"}
    first, second : ndarray of shape (P,), int64
        The labels i and j of each pair.
    n_labels : int
        L.
    """

    form: str
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    n_labels: int

    @classmethod
    def of_all(cls, form: str, n_labels: int) -> PairForm:
        """Return the form of all pairs of labels."""
        first, second = np.triu_indices(n_labels, 1)
        return cls(form, first.astype(np.int64), second.astype(np.int64), n_labels)

    @property
    def n_states(self) -> int:
        """Weights of a pair."""
        return 1 if self.form == TWO_STATES else 4

    def parts(self, V: Floats) -> tuple[Floats, Floats, Floats]:
        """Return a, l and m of weights V (k, P)."""
        if self.form == TWO_STATES:
            return 2 * V[0], -V[0], -V[0]
        neither, first, second, both = V
        return neither - first - second + both, first - neither, second - neither

    def gradient(self, a: Floats, first: Floats, second: Floats) -> Floats:
        """Return derivatives by the weights, (k, P), of those by a, l and m."""
        if self.form == TWO_STATES:
            return (2 * a - first - second)[None]
        return np.array([a - first - second, first - a, second - a, a])

    def indicators(self, sets: Floats) -> Floats:
        """Return what each weight gives each set of (S, L), shape (S, k P)."""
        t, u = sets[:, self.first], sets[:, self.second]
        if self.form == TWO_STATES:
            return np.asarray(t == u, dtype=np.float64)
        return np.concatenate([(1 - t) * (1 - u), t * (1 - u), (1 - t) * u, t * u], axis=1)

    def by_label(self, first: Floats, second: Floats) -> Floats:
        """Return the sum of what the first and the second labels of pairs have, for each label."""
        found = np.bincount(self.first, first, self.n_labels) + np.bincount(self.second, second, self.n_labels)
        return np.asarray(found, dtype=np.float64)

    def quadratic(self, V: Floats) -> tuple[Floats, Floats]:
        """Return the matrix A (L, L) and the vector l (L,) of weights V (k, P): a set t has t A t' + l t'."""
        a, first, second = self.parts(V)
        table = np.zeros((self.n_labels, self.n_labels))
        table[self.first, self.second] = a
        return table, self.by_label(first, second)

    def quadratic_gradient(self, table: Floats, linear: Floats) -> Floats:
        """Return derivatives by the weights, (k, P), of those by A and l."""
        return self.gradient(table[self.first, self.second], linear[self.first], linear[self.second])


_LEAST = 1e-10  # of the largest eigenvalue, below which a direction is rounding errors


class PairBasis(NamedTuple):
    r"""Orthonormal combinations of weights V (k, P) of pairs, of which alone the scores of S label sets depend.

    Scores are :math:`\Phi v` with the indicators Φ (S, k P), so the part of v outside the rows of Φ only costs penalty.
    What remains has min(S, k P) numbers at most, often far fewer than there are pairs, and the same length. The
    combinations are turned to the principal axes of the label sets, so that a solver meets hardly any correlations.

    Parameters
    ----------
    scores : ndarray of shape (S, r)
        What a unit of each combination gives each set.
    directions : ndarray of shape (r, k P)
        The combinations.
    variances : ndarray of shape (r,)
        Variances of the scores.

    Examples
    --------
    >>> sets = np.array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 1.0]])
    >>> basis = PairBasis.of_sets(sets, PairForm.of_all("two-state", 3), np.ones(3) / 3)
    >>> (basis.scores @ basis.directions).round(6)  # which pairs are alike in each set
    array([[1., 1., 1.],
           [1., 1., 1.],
           [0., 1., 0.]])
    """

    scores: Floats
    directions: Floats
    variances: Floats

    def beside_labels(self, sets: Floats, share: Floats) -> tuple[Floats, Floats]:
        """Return the scores (S, r) without what single labels explain of them, and what these weigh there, (L, r)."""
        roots = np.sqrt(share)[:, None]
        table = np.column_stack([np.ones(len(sets)), sets])
        explained = np.linalg.lstsq(roots * table, roots * self.scores, rcond=None)[0]
        return self.scores - table @ explained, explained[1:]

    @classmethod
    def of_sets(cls, sets: Floats, pairs: PairForm, share: Floats) -> PairBasis:
        """Return the basis of label sets (S, L), which have these shares (S,) of the instances."""
        indicators = pairs.indicators(sets)
        scores, n_sets = indicators, len(sets)
        if n_sets < indicators.shape[1]:
            squares, axes = np.linalg.eigh(indicators @ indicators.T)
            kept = squares > _LEAST * squares[-1]
            axes, roots = axes[:, kept], np.sqrt(squares[kept])
            scores = axes * roots
        centred = scores - share @ scores
        variances, turn = np.linalg.eigh(centred.T @ (share[:, None] * centred))
        if n_sets < indicators.shape[1]:
            directions = ((axes / roots) @ turn).T @ indicators
        else:
            directions = np.ascontiguousarray(turn.T)
        return cls(scores @ turn, directions, np.maximum(variances, 0.0))


class MeanAxis:
    r"""The reflection that turns the mean of features, with a constant one, to the axis of the constant one.

    A penalty of squares, of the constant one's weight too, does not see it. Weights v of features and c of the constant
    one give the scores :math:`x v + c = (x - \bar x) v + l c'` with c' the reflected c, and l the `length` of
    :math:`(\bar x, 1)`: what all instances share is in c' alone, however far from 0 the features are.

    Parameters
    ----------
    mean : ndarray of shape (D,)
        Of the features.

    Examples
    --------
    >>> axis = MeanAxis(np.array([3.0]))
    >>> weights, constant = axis.reflected(np.array([[2.0]]), np.array([1.0]))
    >>> bool(np.isclose(3.0 * 2.0 + 1.0, axis.length * constant[0]))
    True
    """

    def __init__(self, mean: Floats) -> None:
        square = float(mean @ mean)
        self.length = float(np.sqrt(1 + square))
        mirror = np.append(mean, -square / (1 + self.length))  # the mean less the axis, times the length
        size = float(np.linalg.norm(mirror))
        self._mirror = mirror / size if size > 0 else mirror

    def reflected(self, of_features: Floats, of_constant: Floats) -> tuple[Floats, Floats]:
        """Return the reflection of weights (D, r) and (r,); that of the reflection is they themselves."""
        twice = 2 * (self._mirror[:-1] @ of_features + self._mirror[-1] * of_constant)
        return of_features - np.outer(self._mirror[:-1], twice), of_constant - self._mirror[-1] * twice


_LEAST_CURVATURE = 1e-3


class PairLikelihoodProblem(PenalizedProblem):
    """Weights W of features, b of labels, and V of pairs of labels.

    A solver sees other coordinates than b, which has no penalty, so that the minimum is the same: scores of centred
    features, and of pairs of centred labels where pairs have a constant weight. It then takes a quarter of the steps.

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    share : ndarray of shape (L,)
        The weighted share of the instances that have each label.
    pairs : PairForm
    penalties : mapping from str to Penalty
        Penalties of W and V.
    weights : ndarray of shape (N,)
        Weights of the instances.
    more : mapping from str to tuple of int, optional
        Shapes of other arrays.
    """

    def __init__(
        self,
        X: Any,
        share: Floats,
        pairs: PairForm,
        penalties: Mapping[str, Penalty],
        weights: np.ndarray,
        more: Mapping[str, tuple[int, ...]] | None = None,
    ) -> None:
        L = len(share)
        shapes = {"W": (X.shape[1], L), "b": (L,), "V": (1, pairs.n_states, len(pairs.first)), **(more or {})}
        super().__init__(shapes, penalties, True, np.float64)
        self._X, self._pairs, self._weights, self._share = X, pairs, weights, share
        self._mean = np.asarray(X.T @ (weights / weights.sum())).ravel()

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return W, b and V, of features and labels that are not centred."""
        arrays = {name: array.copy() for name, array in self.layout.views(x).items()}
        _, first, second = self._pairs.parts(arrays["V"][0])
        arrays["b"] -= self._mean @ arrays["W"] + self._shift(arrays["V"][0]) + self._pairs.by_label(first, second)
        return arrays

    def inverse_curvatures(self, x: np.ndarray) -> np.ndarray:
        """Return a rough guess of 1 / (second derivative of J) for each parameter: that of independent labels."""
        scale, total = np.empty(self.size), self._weights.sum()
        views, varying = self.layout.views(scale), self._share * (1 - self._share)
        squares = self._squares()
        views["b"][...] = total * varying
        views["W"][...] = np.outer(squares - total * self._mean**2, varying) + self._weight_of("W")
        of_pairs = varying[self._pairs.first] * varying[self._pairs.second] * (4 if self._pairs.n_states == 1 else 1)
        views["V"][...] = total * of_pairs + self._weight_of("V")
        self._put_curvatures(squares, views)
        return 1 / np.maximum(scale, _LEAST_CURVATURE * self._weights.mean())

    def _put_curvatures(self, squares: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write second derivatives by other arrays; `squares` are the sums of squares of the features."""

    def _squares(self) -> Floats:
        table: Any = self._X
        squared = table.multiply(table) if hasattr(table, "multiply") else table**2
        return np.asarray(squared.T @ self._weights)

    def _weight_of(self, name: str) -> float:
        return float(getattr(self.penalties.get(name), "alpha", 0.0))

    def _base(self, arrays: Mapping[str, np.ndarray]) -> Floats:
        """Return scores of labels by centred features, shape (N, L)."""
        return np.asarray(self._X @ arrays["W"] + (arrays["b"] - self._mean @ arrays["W"]))

    def _shift(self, V: Floats) -> Floats:
        """Return what a label has less where those of its pairs are centred: the shares times a."""
        a, _, _ = self._pairs.parts(V)
        return self._pairs.by_label(a * self._share[self._pairs.second], a * self._share[self._pairs.first])

    def _put_gradient(self, X: Any, slopes: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write the derivatives by W and b of those by the scores of labels, for instances with features X."""
        out["b"][...] = slopes.sum(axis=0)
        out["W"][...] = X.T @ slopes - np.outer(self._mean, out["b"])


SCORES_PER_BLOCK = 1 << 21  #: scores of label sets in memory at a time


class SetLikelihoodProblem(PairLikelihoodProblem):
    r"""Negative log-likelihood of the label sets of instances among some label sets.

    .. math::

        J = \sum_i c_i \Bigl[\log \sum_{t \in S} e^{s_i(t)} - s_i(y_i)\Bigr] + p_W(W) + p_V(V), \qquad
        s_i(t) = (x_i W + b) \, t^\top + \sum_{j < k} \sum_q z_i v_{q, jk} f_q(t_j, t_k)

    with the indicators f of a `PairForm`, and z = 1, or z = (x, 1) where features weigh the pairs. The gradient takes
    matrix products over instances × label sets: an evaluation costs O(nnz(X) L + N |S| L + |S| L²), and with features
    O(nnz(X) |S| + D |S| r) more, or O(nnz(X) r + N |S| r) if that is less. For a solver sees V as B (D + 1, r) in a
    `PairBasis`, with r no larger than |S|, and of the features, with z, as a `MeanAxis` has them: wherever these are,
    it takes the same steps.

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    sets : ndarray of shape (S, L)
        Label sets, of zeros and ones, as float64.
    own : ndarray of shape (N,), int64
        Which of the sets each instance has.
    pairs : PairForm
    penalties : mapping from str to Penalty
        Penalties of W and V.
    with_features : bool, default=False
        Whether pairs have a weight for each feature, beside a constant one.
    weights : ndarray of shape (N,), optional
        c; 1 by default.
    """

    def __init__(
        self,
        X: Any,
        sets: Floats,
        own: np.ndarray,
        pairs: PairForm,
        penalties: Mapping[str, Penalty],
        *,
        with_features: bool = False,
        weights: np.ndarray | None = None,
    ) -> None:
        weights = np.ones(X.shape[0]) if weights is None else weights
        counts = np.bincount(own, weights, len(sets))
        share, (N, D) = counts @ sets / counts.sum(), X.shape
        more, penalties, self._with_features = {}, dict(penalties), with_features
        seen = PairForm(pairs.form, pairs.first[:0], pairs.second[:0], len(share)) if with_features else pairs
        if with_features:
            self._basis = PairBasis.of_sets(sets, pairs, counts / counts.sum())
            more["B"] = (D + 1, len(self._basis.variances))
            penalties |= {"B": penalties["V"]} if "V" in penalties else {}
        super().__init__(X, share, seen, penalties, weights, more)
        self._sets, self._own, self._counts, self._centred = sets, own, counts, sets - share
        if with_features:
            r, S = len(self._basis.variances), len(sets)
            self._instances_first = N * r * (D + S) < D * S * (r + N)
            self._observed = np.asarray(X.T @ (weights[:, None] * self._basis.scores[own]))
            self._axis, self._shape = MeanAxis(self._mean), (D + 1, pairs.n_states, len(pairs.first))
            beside, of_labels = self._basis.beside_labels(sets, counts / counts.sum())
            self._constant_variances, turn = np.linalg.eigh(beside.T @ (counts[:, None] * beside) / counts.sum())
            self._turn, self._constant_scores = turn, self._axis.length * beside @ turn
            self._constant_labels = self._axis.length * of_labels @ turn

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return W, b and V, of features and labels that are not centred."""
        arrays = super().arrays(x)
        if self._with_features:
            B = arrays.pop("B")
            arrays["b"] -= self._constant_labels @ B[-1]
            constant = self._turn @ B[-1]
            of_features, constant = self._axis.reflected(B[:-1], constant)
            arrays["V"] = (np.vstack([of_features, constant]) @ self._basis.directions).reshape(self._shape)
        return arrays

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return J at `x` and write its gradient."""
        arrays, out = self.layout.views(x), self.layout.views(gradient)
        base, B = self._base(arrays), None
        if self._with_features:
            B, _ = self._axis.reflected(arrays["B"][:-1], self._turn @ arrays["B"][-1])
            of_pairs = self._constant_scores @ arrays["B"][-1] - self._basis.scores @ (self._mean @ B)
            of_B = -self._observed
        else:
            table, _ = self._pairs.quadratic(arrays["V"][0])
            of_pairs = np.einsum("sl,sl->s", self._centred @ table, self._centred)
        of_sets = None if B is None or self._instances_first else B @ self._basis.scores.T
        slopes, expected, total = np.empty_like(base), -self._counts, 0.0
        step = max(1, SCORES_PER_BLOCK // len(self._sets))
        for first in range(0, len(base), step):
            rows = slice(first, first + step)
            scores = base[rows] @ self._sets.T + of_pairs
            if B is not None:
                scores += self._X[rows] @ of_sets if of_sets is not None else (self._X[rows] @ B) @ self._basis.scores.T
            own, weights = self._own[rows], self._weights[rows]
            scores -= scores.max(axis=1, keepdims=True)
            of_own = scores[np.arange(len(own)), own]
            chances = np.exp(scores, out=scores)
            sums = chances.sum(axis=1)
            total += float(weights @ (np.log(sums) - of_own))
            chances *= (weights / sums)[:, None]
            slopes[rows] = chances @ self._sets - weights[:, None] * self._sets[own]
            expected += chances.sum(axis=0)
            if B is not None:
                self._add_features(of_B, self._X[rows], chances)
        self._put_gradient(self._X, slopes, out)
        if B is not None:
            of_B -= np.outer(self._mean, expected @ self._basis.scores)
            out["B"][:-1], of_mean = self._axis.reflected(of_B, np.zeros(B.shape[1]))
            out["B"][-1] = expected @ self._constant_scores + of_mean @ self._turn
        else:
            products = self._centred.T @ (expected[:, None] * self._centred)
            out["V"][0] = self._pairs.quadratic_gradient(products, np.zeros(len(products)))
        return total + self.add_penalties(x, gradient)

    def _add_features(self, sums: Floats, X: Any, chances: Floats) -> None:
        """Add X' C R for the chances C of sets, and the scores R of the basis."""
        R = self._basis.scores
        sums += X.T @ (chances @ R) if self._instances_first else (X.T @ chances) @ R

    def _put_curvatures(self, squares: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write second derivatives by the weights of features."""
        if "B" in out:
            total, variances = self._weights.sum(), self._basis.variances
            squares = np.maximum(squares - total * self._mean**2, 0.0)
            along, _ = self._axis.reflected(np.zeros((len(squares), 1)), np.ones(1))
            out["B"][:-1] = np.outer(squares, variances)
            out["B"][-1] = total * self._axis.length**2 * self._constant_variances
            out["B"][-1] += (squares @ along[:, 0] ** 2) * (self._turn**2).T @ variances
            out["B"] += self._weight_of("V")


def pair_scores(V: Floats, sets: Floats, pairs: PairForm) -> Floats:
    """Return what the weights V (M, k, P) of pairs give each set, shape (M, S)."""
    found = np.empty((len(V), len(sets)))
    for m, weights in enumerate(V):
        table, linear = pairs.quadratic(weights)
        found[m] = np.einsum("sl,sl->s", sets @ table + linear, sets)
    return found


def with_context(X: Any, of_pairs: Floats) -> Floats:
    """Return z G for what pairs give the sets, G (M, S), and z = 1 or (x, 1)."""
    return of_pairs[-1:] if len(of_pairs) == 1 else X @ of_pairs[:-1] + of_pairs[-1]


class SampledLikelihoodProblem(PairLikelihoodProblem):
    r"""Negative log-likelihood of the label sets of instances among all label sets: estimates of its gradient.

    .. math::

        J = \sum_i \Bigl[\log \sum_t e^{s_i(t)} - s_i(y_i)\Bigr] + p_W(W) + p_V(V), \qquad
        \nabla J = \sum_i \bigl(E_i[f(x_i, t)] - f(x_i, y_i)\bigr) + \nabla p_W + \nabla p_V

    with the scores s of `SetLikelihoodProblem` and their derivatives f. J itself is too much to compute.

    Parameters
    ----------
    X : ndarray or csr_array of shape (N, D)
        Features.
    truth : ndarray of shape (N, L), bool
        Labels.
    pairs : PairForm
    penalties : mapping from str to Penalty
        Penalties of W and V.
    with_features : bool, default=False
        Whether pairs have a weight for each feature, beside a constant one.
    """

    def __init__(
        self,
        X: Any,
        truth: NDArray[np.bool_],
        pairs: PairForm,
        penalties: Mapping[str, Penalty],
        *,
        with_features: bool = False,
    ) -> None:
        more, penalties = {}, dict(penalties)
        if with_features:
            more["F"] = (X.shape[1], pairs.n_states, len(pairs.first))
            penalties |= {"F": penalties["V"]} if "V" in penalties else {}
        super().__init__(X, truth.mean(axis=0), pairs, penalties, np.ones(len(truth)), more)
        self._truth = truth

    def arrays(self, x: np.ndarray) -> dict[str, np.ndarray]:
        """Return W, b and V, of features and labels that are not centred."""
        arrays = super().arrays(x)
        if "F" in arrays:
            arrays["V"] = np.concatenate([arrays.pop("F"), arrays["V"]])
        return arrays

    def gradient(self, x: np.ndarray, rows: NDArray[np.int64], drawn: NDArray[np.bool_], out: np.ndarray) -> None:
        """Write an estimate of the gradient of J at `x`, by some instances and label sets drawn of these.

        Parameters
        ----------
        x : ndarray
        rows : ndarray of shape (m,), int64
        drawn : ndarray of shape (C, m, L), bool
        out : ndarray
        """
        views, X, truth, pairs = self.layout.views(out), self._X[rows], self._truth[rows], self._pairs
        slopes = drawn.mean(axis=0) - truth
        self._put_gradient(X, slopes, views)
        centred, own, L = drawn - self._share, truth - self._share, truth.shape[1]
        pooled = centred.reshape(-1, L)
        products = pooled.T @ pooled / len(drawn) - own.T @ own
        views["V"][0] = pairs.quadratic_gradient(products, np.zeros(L))
        if "F" in views:
            both = np.mean([each[:, pairs.first] & each[:, pairs.second] for each in drawn], axis=0)
            both -= truth[:, pairs.first] & truth[:, pairs.second]
            of_labels = np.asarray(X.T @ slopes)
            found = pairs.gradient(X.T @ both, of_labels[:, pairs.first], of_labels[:, pairs.second])
            views["F"][...] = np.moveaxis(found, 0, 1)
        out *= len(self._truth) / len(rows)
        self.add_penalties(x, out)

    def _put_curvatures(self, squares: Floats, out: Mapping[str, np.ndarray]) -> None:
        """Write second derivatives by the weights of features."""
        if "F" in out:
            of_pairs = (out["V"] - self._weight_of("V")) / len(self._truth)
            out["F"][...] = squares[:, None, None] * of_pairs + self._weight_of("V")


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


def tree_best_of_sizes(F: Floats, tree: LabelTree, a: Floats, least: int, most: int) -> NDArray[np.bool_]:
    """Return the likeliest of the label sets that have from `least` to `most` labels, shape (N, L).

    It is exact, by dynamic programming over the tree and the number of labels that are on below each label: O(N L²).
    """
    n, L = F.shape
    blocks = batches(n, max(1, SCORES_PER_BLOCK // (2 * L * L)))
    return np.concatenate([_best_of_sizes(F[rows], tree, a, least, most) for rows in blocks])


def _best_of_sizes(F: Floats, tree: LabelTree, a: Floats, least: int, most: int) -> NDArray[np.bool_]:
    n, L = F.shape
    rows, on, count = np.arange(n), np.zeros((L, n), dtype=np.int64), np.zeros((L, n), dtype=np.int64)
    # tables[l][s, i, m]: the best score of l and the labels below it; l is on (s = 1) or off, and m of them are on
    tables = np.full((L, 2, n, 2), -np.inf)
    tables[:, 0, :, 0], tables[:, 1, :, 1] = 0, F.T
    found = list(tables)
    joined: list[list[tuple[int, Floats, Floats]]] = [[] for _ in range(L)]
    for below in tree.order[:0:-1].tolist():
        above = int(tree.parents[below])
        off, with_ = found[below]
        reached = np.maximum(off, np.array([with_, with_ + a[below]]))  # by whether the label above is on
        before = found[above]
        width, n_below = before.shape[2], reached.shape[2]
        both = np.full((2, n, width + n_below - 1), -np.inf)
        for k in range(n_below):
            here = both[:, :, k : k + width]
            np.maximum(here, before + reached[:, :, k, None], out=here)
        joined[above].append((below, before, reached))
        found[above] = both
    root = tree.order[0]
    ends = np.moveaxis(found[root][:, :, least : most + 1], 1, 0)
    on[root], count[root] = divmod(ends.reshape(n, -1).argmax(axis=1), ends.shape[2])
    count[root] += least
    for above in tree.order.tolist():
        for below, before, reached in reversed(joined[above]):
            state, rest = on[above], count[above][:, None] - np.arange(reached.shape[2])
            inside = (rest >= 0) & (rest < before.shape[2])
            others = before[state[:, None], rows[:, None], np.where(inside, rest, 0)]
            k = np.where(inside, others + reached[state, rows], -np.inf).argmax(axis=1)
            off, with_ = found[below][:, rows, k]
            on[below], count[below] = with_ + a[below] * state > off, k
            count[above] -= k
    return np.asarray(on.T > 0)


_MOST_CLIMBS = 100  # sweeps; each but the last makes label sets likelier, so that few are needed


@dataclass(frozen=True)
class LabelInteractions:
    """What the log-odds of each label of some instances are, given the other labels.

    Parameters
    ----------
    base : ndarray of shape (n, L)
        Log-odds where all other labels are off.
    table : ndarray of shape (L, L) or (L, n, L)
        What a label that is on adds to those of the others: to all instances the same, or not. It is symmetric in the
        labels, with zeros for a label and itself.
    """

    base: Floats
    table: Floats

    @classmethod
    def of(cls, X: Any, pairs: PairForm, W: Floats, b: Floats, V: Floats) -> LabelInteractions:
        """Return those of weights of features (D, L), of labels (L,), and of pairs (M, q, P)."""
        score = np.asarray(X @ W + b, dtype=np.float64)
        if len(V) == 1:
            upper, linear = pairs.quadratic(V[0])
            return cls(score + linear, upper + upper.T)
        a, first, second = pairs.parts(np.moveaxis(V, 1, 0))
        of_labels = np.array([pairs.by_label(*each) for each in zip(first, second, strict=True)])
        of_pairs = with_context(X, a).T
        table = np.zeros((pairs.n_labels, len(score), pairs.n_labels))
        table[pairs.first, :, pairs.second] = of_pairs
        table[pairs.second, :, pairs.first] = of_pairs
        return cls(score + with_context(X, of_labels), table)

    def odds(self, on: NDArray[np.bool_]) -> Floats:
        """Return the log-odds for label sets, shape (C, n, L) as the sets."""
        if self.table.ndim == 2:
            return self.base + on @ self.table
        return self.base + (on.swapaxes(0, 1) @ self.table.swapaxes(0, 1)).swapaxes(0, 1)

    def of_label(self, label: int, states: NDArray[np.int64]) -> Floats:
        """Return what one label adds to the log-odds of some of the states, of which the first n are of one chain."""
        return self.table[label] if self.table.ndim == 2 else self.table[label, states % len(self.base)]


class Chains:
    """Gibbs chains of the label sets of some instances.

    Parameters
    ----------
    interactions : LabelInteractions
    on : ndarray of shape (C, n, L), bool
        Where each of the C chains of an instance begins.

    Attributes
    ----------
    chances : ndarray of shape (C, n, L)
        Of the last sweep, the probability of each label given the others as they were then.

    Examples
    --------
    >>> attracted = LabelInteractions(np.array([[-1.0, -1.5]]), np.array([[0.0, 3.0], [3.0, 0.0]]))
    >>> chains = Chains(attracted, np.array([[[False, True]], [[False, False]]]))
    >>> chains.on.tolist(), chains.scores().tolist()
    ([[[False, True]], [[False, False]]], [[-1.5], [0.0]])
    >>> chains.likeliest().tolist()  # no change of one label betters the likelier one of the two
    [[False, False]]
    """

    def __init__(self, interactions: LabelInteractions, on: NDArray[np.bool_]) -> None:
        self._interactions, self._shape = interactions, on.shape
        self._on = np.array(on.reshape(-1, on.shape[-1]))
        self._odds = interactions.odds(on).reshape(self._on.shape)
        self._chances = np.empty_like(self._odds)

    @property
    def on(self) -> NDArray[np.bool_]:
        """The label sets, shape (C, n, L)."""
        return self._on.reshape(self._shape)

    @property
    def chances(self) -> Floats:
        """Of the last sweep, the probability of each label given the others as they were then."""
        return self._chances.reshape(self._shape)

    def sweep(self, uniforms: Floats) -> None:
        """Draw each label given the others, in their order, by numbers within (0, 1) of shape (L, C n) or (L, 1)."""
        for label, numbers in enumerate(uniforms):
            chances = expit(self._odds[:, label])
            self._chances[:, label] = chances
            on = numbers < chances
            changed = np.flatnonzero(on != self._on[:, label])
            if len(changed):
                signs = np.where(on[changed], 1.0, -1.0)[:, None]
                self._odds[changed] += signs * self._interactions.of_label(label, changed)
                self._on[:, label] = on

    def scores(self) -> Floats:
        """Return the score of each label set, shape (C, n): its log-probability, but for a constant of the instance."""
        total = self._interactions.base + self._odds.reshape(self._shape)
        return np.asarray(0.5 * (total * self.on).sum(axis=-1))

    def likeliest(self) -> NDArray[np.bool_]:
        """Return the likeliest label set of each instance, bettered until no change of one label does, (n, L)."""
        best = np.argmax(self.scores(), axis=0)
        return climbed(self._interactions, self.on[best, np.arange(len(best))])


def climbed(interactions: LabelInteractions, on: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return label sets, shape (n, L), after each label has gone to its likelier state until none changes."""
    chains = Chains(interactions, on[None])
    for _ in range(_MOST_CLIMBS):
        before = chains.on.copy()
        chains.sweep(np.full((on.shape[1], 1), 0.5))
        if np.array_equal(before, chains.on):
            break
    return chains.on[0]
