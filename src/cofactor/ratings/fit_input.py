"""What a fit is given: checked once before the fit begins, and never changed afterwards."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from cofactor.model.progress import Monitor
from cofactor.ratings.data import Ratings

if TYPE_CHECKING:
    from cofactor.ratings.features import FeatureTable
    from cofactor.ratings.interaction_model import InteractionModel


def _silent() -> Monitor:
    return Monitor(None, False)


@dataclass(frozen=True)
class FitInput:
    """All that a model learns from, in `fit` and in `fold_in`.

    Attributes
    ----------
    ratings : Ratings
        The ratings; in `fold_in` those of the new users.
    monitor : Monitor
        What is told about progress.
    name : str
        What warnings call the model, where it is part of another one; empty for the name of its class.
    user_features, item_features : FeatureTable or None
        What else is known of users and of items.
    shadow : Ratings or None
        Ratings of users who are predicted for but not learned from.
    before : InteractionModel or None
        The model as it was before this fit, or fold-in; a warm start goes on from there, and so does an update.
    whole : Ratings or None
        In an update all ratings of the model, those of other rows too.
    solution : object
        What `ImplicitModel.tune` found for all ratings on its way, if anything: it need not be found again.
    update : int
        Which update of the model renews the given rows, counted from 1; 0 in a fit, and in a fold-in.
    """

    ratings: Ratings
    monitor: Monitor = field(default_factory=_silent)
    name: str = ""
    user_features: FeatureTable | None = None
    item_features: FeatureTable | None = None
    shadow: Ratings | None = None
    before: InteractionModel | None = None
    whole: Ratings | None = None
    solution: Any = None
    update: int = 0

    @property
    def in_shards(self) -> bool:
        """Whether the ratings are `ShardedRatings`, which models get whose tags say so."""
        given: object = self.ratings
        return not isinstance(given, Ratings)

    @property
    def features(self) -> tuple[FeatureTable | None, FeatureTable | None]:
        """Features of users, and of items."""
        return self.user_features, self.item_features

    def called(self, model: InteractionModel) -> str:
        """Return what warnings call the model."""
        return self.name or type(model).__name__
