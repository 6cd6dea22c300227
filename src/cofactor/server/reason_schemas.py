"""What requests for explanations and their answers look like; see `cofactor.server.schemas`."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from cofactor.server.label_schemas import Row
from cofactor.server.schemas import Id, ModelQuery, NewUser

__all__ = ["Asked", "Explanation", "Explanations", "Reason", "Rest"]


class Asked(ModelQuery, kw_only=True, forbid_unknown_fields=True):
    """What is to be explained: of a model of ratings items of a user, of a model of labels labels of a row."""

    user: Annotated[Id | NewUser | UnsetType, Meta(description="Of ratings: an id, or the ratings of a new user.")] = (
        UNSET
    )
    items: Annotated[list[Id], Meta(min_length=1, description="Of ratings: what is to be explained.")] | UnsetType = (
        UNSET
    )
    row: Annotated[Row | UnsetType, Meta(description="Of labels: a row, as in /v1/tags.")] = UNSET
    labels: (
        Annotated[
            list[Id],
            Meta(min_length=1, description="Of labels: what is to be explained; by default those that are predicted."),
        ]
        | UnsetType
    ) = UNSET
    n: Annotated[int, Meta(ge=1, description="Reasons of each, the strongest.")] = 10


class Reason(Struct):
    """What speaks for the item or the label if its contribution is above 0, and against it if it is below.

    Of ratings an item that the user rated, with this rating, or interacted with so many times; of a recommender the
    contribution is the sum of `interaction` and `like`. Of labels a feature with its value, or an instance of the
    training data.
    """

    contribution: float
    item: Id | UnsetType = UNSET
    rating: float | UnsetType = UNSET
    times: float | UnsetType = UNSET
    interaction: float | UnsetType = UNSET
    like: float | UnsetType = UNSET
    feature: Id | UnsetType = UNSET
    value: float | UnsetType = UNSET
    instance: Id | UnsetType = UNSET


class Rest(Struct):
    """Reasons that are not told: how many, and the sum of their contributions."""

    reasons: int
    contribution: float


class Explanation(Struct):
    """The score of an item, or of a label, and its reasons; where there is an intercept, they sum to the score."""

    score: float
    reasons: list[Reason]
    item: Id | UnsetType = UNSET
    label: Id | UnsetType = UNSET
    rest: Rest | UnsetType = UNSET
    intercept: float | UnsetType = UNSET


class Explanations(Struct):
    """An explanation of each item, or label."""

    explanations: list[Explanation]
