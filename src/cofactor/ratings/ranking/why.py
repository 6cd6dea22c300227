"""Why a recommender recommends an item: which takes make it likely to be taken, and which ratings to be liked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from cofactor.kernels.threads import library_limit
from cofactor.ratings.explaining import asked, of_own
from cofactor.ratings.probability import expected
from cofactor.ratings.ranking.choosing import liked_from, seen_by, utilities
from cofactor.ratings.reasons import Reasons
from cofactor.typing import Ids

if TYPE_CHECKING:
    from cofactor.ratings.base import RatingModel
    from cofactor.ratings.ranking.recommender import Recommender

__all__ = ["ExplainsByItsParts"]


class ExplainsByItsParts:
    """Reasons of the exposure models and of the rating model, so that lists say why."""

    rating_model_: RatingModel | None

    def explain(self, user: Any, items: Ids, *, at_least: float | None = None) -> Reasons:
        r"""Return which of a user's own ratings make it likely that items are taken, and liked.

        Parameters
        ----------
        user : hashable
            A user's id.
        items : array-like of shape (k,)
            Item ids, also of what the user rated.
        at_least : float, optional
            The rating from which on an item is liked, as in `recommend`.

        Returns
        -------
        Reasons
            With `parts` "take" and, with a rating model, "like", whose sum contributions are. Scores are those of
            `recommend`, without a rating model of "take", and of what the user took those it would have among what is
            open to them; contributions do not sum to them.

        Raises
        ------
        InvalidInputError
            As `RatingModel.explain` does; also if a part cannot explain, such as `BPR`.

        Notes
        -----
        A reason for taking is by how much the weighted sum :math:`c_u \cdot \ell` of the logarithms of the exposure
        models' scores falls where the take's contribution to each score (see `RatingModel.explain`) is taken away: for
        `EASE` exactly what the user would have without the take. A reason for liking is the change of the
        logarithm of the probability to like the item, to first order.

        Examples
        --------
        >>> from cofactor.ratings import EASE, Recommender
        >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
        >>> model = Recommender(EASE(1.0), random_state=0).fit(X)
        >>> why = model.explain(0, [4])
        >>> why.own_items.tolist(), bool((why.parts["take"] > 0).all())
        ([0, 2], True)
        """
        return _reasons(cast("Recommender", self), user, items, at_least)

    @property
    def _own_kind(self) -> str:
        """What a user's own entries are, see `Reasons`."""
        rated = None if self.rating_model_ is None else self.rating_model_.ratings_
        return "rating" if rated is not None and rated.n_ratings else "take"  # or folded in by takes alone


def _reasons(model: Recommender, user: Any, items: Any, at_least: float | None) -> Reasons:
    """Return what `Recommender.explain` does."""
    ratings, row, columns = asked(model, user, items)
    with library_limit(1, "blas"):
        rows = np.array([row])
        seen = seen_by(ratings, rows, len(model.items_))
        whole, open_ = utilities(model, rows)[0].astype(np.float64), ~seen[0]
        scores = whole[columns] - (np.logaddexp.reduce(whole[open_]) if open_.any() else 0.0)
        parts = {"take": _of_taking(model, row, columns)}
        if model.rating_model_ is not None:
            liked = liked_from(model.scale_, at_least)
            now = model.rating_model_._all_probabilities(np.full(len(columns), row, dtype=np.int32), columns)
            chances = np.maximum(expected(now, liked), 1e-300)
            scores, parts["like"] = scores + np.log(chances), _of_liking(model, row, columns, liked, chances)
    own = of_own(model, ratings, row)
    total = sum(parts.values(), np.zeros((len(columns), len(own[0]))))
    return Reasons(user, model.items_.ids[columns], scores, *own, total, None, model._own_kind, parts)


def _of_taking(model: Recommender, row: int, columns: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return by how much c · ℓ falls where what a take adds to the scores of exposure models is taken away."""
    counts = np.repeat(model._require_ratings().user_counts[row], len(columns))
    now, without = [], []
    for part in model.exposures_:
        scores = part._explained(row, columns).astype(np.float64)[:, None]
        now.append(part._log_takes(scores))
        without.append(part._log_takes(scores - part._contributions(row, columns)))
    return model._log_odds(now, counts).astype(np.float64) - model._log_odds(without, counts)


def _of_liking(
    model: Recommender, row: int, columns: NDArray[np.int32], liked: NDArray[Any], chances: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the change of the logarithm of the probability to be liked, to first order."""
    rating_model: Any = model.rating_model_
    counts = rating_model._require_ratings(()).user_counts
    if not counts[row]:  # folded in by takes alone
        return np.zeros((len(columns), int(model._require_ratings().user_counts[row])))
    return np.asarray(rating_model._contributions(row, columns, liked) / chances[:, None])
