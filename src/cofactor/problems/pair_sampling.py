"""Gibbs sampling of label sets, of a conditional random field with weights of pairs of labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from cofactor.problems.pairs import Floats, PairForm
from cofactor.problems.set_likelihood import with_context

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
