"""What a fit produces to predict with: scores, margins and levels of pairs of a user and an item, by index alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.ratings.best import Ranking, Rescorer
from cofactor.ratings.blocks import pairs_per_block
from cofactor.ratings.decisions import Decision
from cofactor.ratings.probability import Criterion, Expectation, Pairwise, expected, in_blocks, margins_of, of_all_pairs

__all__ = ["ProbabilityScorer", "Scorer"]


@dataclass(frozen=True, eq=False)
class Scorer(ABC):
    """Scores of pairs; index -1 is an unknown user or item, and users may be `TimedUsers` of a model that knows time.

    Attributes
    ----------
    scale : ndarray of shape (R,)
        The values a rating can take.
    decision : Decision
        The rule that turns margins into levels.
    """

    scale: NDArray[np.float64]
    decision: Decision

    @abstractmethod
    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n,): the score of each pair, which ranks the items of a user."""

    @abstractmethod
    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the scores (len(users), len(items)) of some items for some users."""

    @abstractmethod
    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n, R - 1): how far each pair's score lies above each boundary between levels."""

    def levels(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.int64]:
        """Return the level 1..R of each pair."""
        return self.decision.levels(self.margins(users, items), self.scale)

    def ratings(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[np.float64]:
        """Return the rating of each of as many pairs as there may be."""
        return np.asarray(self.scale[self.in_blocks(self.levels, users, items) - 1])

    def ranking(self, criterion: Criterion | None) -> Ranking:
        """Return what items are ranked by: scores, or another measure of the probabilities of levels."""
        return Ranking(self.block, pairs_per_block(len(self.scale)))

    def in_blocks(self, function: Pairwise, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return a function of many pairs, block by block, on all threads."""
        return in_blocks(function, users, items, len(self.scale))


@dataclass(frozen=True, eq=False)
class ProbabilityScorer(Scorer):
    """Scores that follow from the probability of every level; a margin is how far that above exceeds one half."""

    @property
    def rough(self) -> bool:
        """Whether blocks are rough, so that those of the best items are computed again."""
        return False

    @abstractmethod
    def probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n, R): the probability of every level for each pair."""

    def all_probabilities(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return the probabilities of as many pairs as there may be."""
        return self.in_blocks(self.probabilities, users, items)

    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n,): the expected rating of each pair."""
        return self.in_blocks(lambda *pairs: expected(self.probabilities(*pairs), self.scale), users, items)

    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return self.criterion_block(users, items, Expectation(self.scale))

    def criterion_block(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion) -> NDArray[Any]:
        """Return how good some items are for some users, by another measure than scores."""
        return of_all_pairs(lambda *pairs: criterion(self.probabilities(*pairs)), users, items)

    def rescore(self, users: NDArray[Any], items: NDArray[Any], criterion: Criterion | None) -> NDArray[Any]:
        """Return numbers nearer to the exact ones, of some items of each user, (len(users), m) as `items`."""
        if criterion is None:
            return of_all_pairs(self.scores, users, items)
        return self.criterion_block(users, items, criterion)

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return margins_of(self.probabilities(users, items))  # in this thread: `ratings` runs its blocks in all threads

    def ranking(self, criterion: Criterion | None) -> Ranking:
        """See `Scorer`."""
        block = self.block if criterion is None else partial(self.criterion_block, criterion=criterion)
        n_pairs = pairs_per_block(len(self.scale))
        if not self.rough:
            return Ranking(block, n_pairs)

        def exact(users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
            if criterion is None:
                return self.scores(users, items)
            return self.in_blocks(lambda *pairs: criterion(self.probabilities(*pairs)), users, items)

        return Ranking(block, n_pairs, Rescorer(partial(self.rescore, criterion=criterion), exact))
