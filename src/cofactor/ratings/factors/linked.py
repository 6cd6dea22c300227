"""Factors that lie near a regression on features of users and items: penalties of a fit, and means of new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.model.state import check_array
from cofactor.penalties import L2, AroundL2, RegressedL2
from cofactor.ratings.data import Ratings
from cofactor.ratings.fit_input import FitInput

if TYPE_CHECKING:
    from cofactor.ratings.features import FeatureTable
    from cofactor.ratings.links import Link, Side

__all__ = ["ARGUMENTS", "FactorLink", "around", "learned_links", "linked_penalties", "side_of"]

Arrays = Mapping[str, NDArray[Any]]

#: Arguments with features of users and of items; features are named so among the arrays with which a fit starts too.
ARGUMENTS = ("user_features", "item_features")

#: Names of arrays, those of users and those of items.
Names = tuple[tuple[str, ...], tuple[str, ...]]

#: For each array, what makes its penalty of a weight.
Drawn = dict[str, Callable[[float], L2]]


@dataclass(frozen=True)
class FactorLink:
    """What features say of users, or of items: weights with which their factors are regressed on features.

    Attributes
    ----------
    link : Link
        What the features are made of.
    weights : dict from str to ndarray
        By the name of each array, (K, ...): those which make the penalty least.
    """

    link: Link
    weights: dict[str, NDArray[np.float64]]

    @classmethod
    def of(cls, link: Link, features: NDArray[np.float64] | None, arrays: Arrays, names: Iterable[str]) -> Self:
        """Return the weights of fitted arrays; none where no feature says anything."""
        if features is None:
            return cls(link, {})
        found = {name: _penalty(name, features, 1.0).weights(arrays[name]) for name in names}
        return cls(link, {name: weights[len(weights) - link.n_features :] for name, weights in found.items()})

    @property
    def is_described(self) -> bool:
        """Whether features of the caller are among those of the link."""
        return self.link.is_described

    def means(self, side: Side, table: FeatureTable | None) -> dict[str, NDArray[np.float64]]:
        """Return what features say of other rows, by the name of each array; zeros for rows without."""
        from cofactor.kernels.regression import means_by

        features = self.link.features(side, table)
        if not isinstance(features, np.ndarray):
            return {}
        columns = np.ascontiguousarray(features[:-1].T)
        out = {}
        for name, weights in self.weights.items():
            rows = weights.reshape(len(weights), -1)
            out[name] = means_by(columns, rows, np.zeros(rows.shape[1])).reshape(-1, *weights.shape[1:])
        return out

    def to_state(self) -> dict[str, Any]:
        """Return the attributes as a dictionary of arrays and numbers."""
        return {"link": self.link.to_state(), "weights": self.weights}

    @classmethod
    def from_state(cls, state: Any) -> Self:
        """Rebuild it from what `to_state` returned; `check` has to follow."""
        from cofactor.ratings.links import Link

        return cls(Link.from_state(state["link"]), dict(state["weights"]))

    def check(self, shapes: Mapping[str, tuple[int, ...]]) -> None:
        """Refuse what was read from a file, if it does not fit arrays with rows of these shapes."""
        self.link.check(0)
        wanted = set(shapes) if self.link.n_features else set()
        if set(self.weights) != wanted or self.link.tied:
            raise InvalidInputError(f"weights of features must be of {', '.join(shapes)}")
        for name, weights in self.weights.items():
            check_array(f"weights of features for {name}", weights, (self.link.n_features, *shapes[name]), np.float64)


def learned_links(given: FitInput) -> tuple[tuple[Link | None, Link | None], dict[str, NDArray[np.float64]]]:
    """Return what the features of users and of items are made of, and these features, by their arguments."""
    links: list[Link | None] = []
    features = {}
    for argument, table in zip(ARGUMENTS, given.features, strict=True):
        link = None
        if table is not None:
            from cofactor.ratings.links import Link

            link, found = Link.learned(argument, side_of(given.ratings, argument), table, None, False)
            if isinstance(found, np.ndarray):
                features[argument] = found[:-1]
        links.append(link)
    return (links[0], links[1]), features


def linked_penalties(start: Arrays, names: Names) -> Drawn:
    """Return penalties that draw arrays to their regression on the features among the arrays of a start."""
    return {
        name: partial(_penalty, name, start[argument])
        for argument, own in zip(ARGUMENTS, names, strict=True)
        if argument in start
        for name in own
    }


def around(means: Arrays) -> Drawn:
    """Return penalties that draw arrays to given means."""
    return {name: partial(AroundL2, given=mean) for name, mean in means.items()}


def side_of(ratings: Ratings, argument: str) -> Side:
    """Return users or items, of whom an argument has features."""
    from cofactor.ratings.links import Side

    return Side.users(ratings) if argument == "user_features" else Side.items(ratings)


def _penalty(name: str, features: NDArray[np.float64], alpha: float) -> RegressedL2:
    """Return the penalty of an array; thresholds have a mean too, which costs nothing."""
    if name != "own":
        return RegressedL2(alpha, features)
    n, K = features.shape
    return RegressedL2(alpha, np.column_stack([np.ones(n), features]), np.append(0.0, np.ones(K)))
