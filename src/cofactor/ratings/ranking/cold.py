"""Items without interactions, known by their features: how likely users interact with them, beside all others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self, cast

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InvalidInputError
from cofactor.kernels.threads import library_limit
from cofactor.model.state import check_array
from cofactor.ratings.blocks import products_of_rows
from cofactor.ratings.features import FeatureTable
from cofactor.ratings.ids import IdMap
from cofactor.ratings.ranking.choosing import Offer
from cofactor.ratings.standardization import Standardization

__all__ = ["ColdItems", "with_new_items"]

#: Weights of the penalty that are tried, for each item with features.
_PENALTIES = 10.0 ** np.arange(-5, 2)


@dataclass(frozen=True, eq=False)
class ColdItems:
    r"""What features say of utilities, the logarithms of how likely users interact with items.

    For each user a ridge regression of the utilities z of known items on their features F gives those of new ones,

    .. math:: \hat z = \bar z + f^\top (F^\top F + \lambda I)^{-1} F^\top (z - \bar z) + s

    with λ chosen by leave-one-out error over users, and s such that known items, predicted so, would have as many
    interactions in sum as they have: a regression of logarithms alone would give a typical share, not a mean one.

    Attributes
    ----------
    coding : Standardization
        Of the columns.
    features : ndarray of shape (n_items, p), float32
        F; rows of 0 for items without features.
    projection : ndarray of shape (p, n_items), float32
        :math:`(F^\top F + \lambda I)^{-1} F^\top`.
    described : ndarray of shape (n_items,), bool
        Which known items have features.
    """

    coding: Standardization
    features: NDArray[np.float32]
    projection: NDArray[np.float32]
    described: NDArray[np.bool_]

    @classmethod
    def of(cls, table: FeatureTable, items: IdMap, utilities: NDArray[np.floating]) -> Self:
        """Learn from the features of known items, and the utilities (k, n_items) of some users."""
        coding = Standardization.of(table, items)
        F = coding.rows(table, items)
        described = table.ids.index(items.ids) >= 0
        z = np.asarray(utilities, dtype=np.float64)[:, described].T
        z = z - z.mean(axis=0)
        known = F[described]
        with library_limit(1, "blas"):
            squares, axes = np.linalg.eigh(known.T @ known)
            turned = known @ axes
            pulled = turned.T @ z
            best, least = 0.0, np.inf
            for penalty in _PENALTIES * len(known):
                shrunk = 1 / (np.maximum(squares, 0) + penalty)
                leverage = (turned**2) @ shrunk + 1 / len(known)
                left = (z - turned @ (shrunk[:, None] * pulled)) / np.maximum(1 - leverage, 1e-3)[:, None]
                error = float((left**2).sum())
                if error < least:
                    best, least = float(penalty), error
            projection = (axes / (np.maximum(squares, 0) + best)) @ (axes.T @ F.T)
        return cls(coding, F.astype(np.float32), projection.astype(np.float32), described)

    def utilities(self, known: NDArray[np.float32], seen: NDArray[np.bool_], new: NDArray[Any]) -> NDArray[np.float32]:
        """Return the utilities of new items for users, given those of known items, the items seen, and new features."""
        means = np.compress(self.described, known, axis=1).mean(axis=1, keepdims=True)
        slopes = products_of_rows(known - means, self.projection)
        fitted = means + products_of_rows(slopes, self.features)
        out = seen | ~self.described
        shift = _log_sums(known, out) - _log_sums(fitted, out)
        return np.asarray(means + products_of_rows(slopes, new.astype(np.float32)) + shift, dtype=np.float32)

    def among(self, before: IdMap, items: IdMap) -> Self:
        """Return the same for more items, of which these say nothing that are not among those before."""
        at = items.index(before.ids)
        n = len(items)
        described, features = np.zeros(n, dtype=np.bool_), np.zeros((n, self.features.shape[1]), dtype=np.float32)
        described[at], features[at] = self.described, self.features
        projection = np.zeros((len(self.projection), n), dtype=np.float32)
        projection[:, at] = self.projection
        return type(self)(self.coding, features, projection, described)

    def to_state(self) -> dict[str, Any]:
        """Return what a file holds."""
        arrays = {"features": self.features, "projection": self.projection}
        return {"coding": self.coding.to_state(), **arrays, "described": self.described.astype(np.uint8)}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned."""
        described = state["described"].astype(np.bool_)
        return cls(Standardization.from_state(state["coding"]), state["features"], state["projection"], described)

    def check(self, n_items: int) -> None:
        """Refuse what does not fit together."""
        p = self.coding.n_columns
        check_array("features", self.features, (n_items, p), np.float32)
        check_array("projection", self.projection, (p, n_items), np.float32)
        if self.described.shape != (n_items,) or not self.described.any():
            raise InvalidInputError(f"described must have shape {(n_items,)}, and hold some item")


def with_new_items(offer: Offer, cold: ColdItems | None, rating_model: Any, table: FeatureTable) -> Offer:
    """Return an offer with new items too, known by their features, after the known ones.

    Their probabilities to be liked are those of the rating model where it knows features of items, and of an average
    item otherwise.

    Parameters
    ----------
    offer : Offer
    cold : ColdItems or None
        What features of items say; None where a fit was given none.
    rating_model : RatingModel or None
    table : FeatureTable
        Rows of known items are passed over.
    """
    if cold is None:
        raise InvalidInputError(
            (Argument("new_items"), " needs a Recommender that was fitted with features of items"),
            argument="new_items",
            advice=("give ", Argument("item_features"), " to fit"),
        )
    n_known, new = len(offer.catalog.items), table.among(offer.catalog.items.index(table.ids.ids) < 0)
    if not len(new.ids):
        raise InvalidInputError((Argument("new_items"), " holds no item that is new"), argument="new_items")
    catalog = offer.catalog.with_items(new.ids)
    features = cold.coding.rows(new, new.ids)
    part: Any = None
    if rating_model is not None and rating_model._knows_features("item"):
        part = rating_model.fold_in_items(item_features=new)

    def utilities(users: NDArray[Any], seen: NDArray[np.bool_]) -> NDArray[np.float32]:
        known = offer.utilities(users, seen[:, :n_known])
        return np.hstack([known, cold.utilities(known, seen[:, :n_known], features)])

    def probabilities(timed_users: Any, asked: NDArray[np.int32]) -> NDArray[Any]:
        is_new = asked >= n_known
        out = np.empty((len(asked), len(cast(Any, offer.scale))))
        if not is_new.all():
            out[~is_new] = offer.probabilities(timed_users[np.flatnonzero(~is_new)], asked[~is_new])
        if is_new.any():
            model, place = rating_model, np.full(int(is_new.sum()), -1, dtype=np.int32)  # an average item
            if part is not None:
                model, place = part, part.items_.index(catalog.items.ids[asked[is_new]])
            out[is_new] = model.scorer_.all_probabilities(timed_users[np.flatnonzero(is_new)], place)
        return out

    return replace(offer, catalog=catalog, utilities=utilities, probabilities=probabilities)


def _log_sums(z: NDArray[np.floating], out: NDArray[np.bool_]) -> NDArray[np.float32]:
    """Return the logarithm of the sum of exponentials of each row, but for what is left out, as a column."""
    masked = np.where(out, -np.inf, z)
    if not masked.size:
        return np.zeros((len(z), 1), dtype=np.float32)
    highest = masked.max(axis=1, keepdims=True)
    none = ~np.isfinite(highest)
    total = np.exp(np.where(out, -np.inf, z - np.where(none, 0, highest))).sum(axis=1, keepdims=True)
    return np.where(none, 0, highest + np.log(np.where(none, 1, total))).astype(np.float32)
