"""Weights of pairs of labels, in two parametrisations, as a quadratic form of label sets."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

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
    def of_all(cls, form: str, n_labels: int) -> "PairForm":
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
