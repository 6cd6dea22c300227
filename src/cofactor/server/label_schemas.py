"""What requests to models of labels and their answers look like; see `cofactor.server.schemas`."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from cofactor.server.schemas import Count, Id, ModelQuery

__all__ = ["FeatureNames", "Features", "Labels", "Names", "Row", "Tagged", "Tagging", "Tags", "TopLabel"]

Value = int | float | str | bool | None
Row = list[float] | dict[str, Value] | str


class Tagging(ModelQuery, kw_only=True, forbid_unknown_fields=True):
    """Rows whose labels are asked for: vectors of numbers, values by names of features or of columns, or texts."""

    rows: Annotated[list[Row], Meta(min_length=1)]
    top: Annotated[Count | None, Meta(description="How many of the best labels to tell with their numbers.")] = None
    threshold: Annotated[
        float | None, Meta(description="Labels whose probability is above this, or whose score where there is none.")
    ] = None
    coverage: (
        Annotated[float, Meta(ge=0, le=1, description="Sets that hold all labels of a row with this probability.")]
        | None
    ) = None


class TopLabel(Struct):
    """A label with its score, and its probability where the model has probabilities."""

    label: Id
    score: float
    probability: float | UnsetType = UNSET


class Tagged(Struct):
    """The labels that are predicted for a row; with `top` the best labels; `unknown` names columns whose value did not
    occur in training.
    """

    labels: list[Id]
    top: list[TopLabel] | UnsetType = UNSET
    unknown: list[str] | UnsetType = UNSET


class Tags(Struct):
    """The labels of each row, in the order of the request."""

    tags: list[Tagged]


class Names(ModelQuery, kw_only=True, forbid_unknown_fields=True):
    """Which of the names of a model to list, as the query of an address."""

    first: Annotated[int, Meta(ge=0, description="How many to pass over.")] = 0
    n: Count = 100


class FeatureNames(Names, kw_only=True, forbid_unknown_fields=True):
    """Which features, or columns, to list, as the query of an address."""

    search: Annotated[str, Meta(description="Those whose name holds this; case does not matter.")] = ""
    names: Annotated[list[str] | None, Meta(description="These instead, as far as the model has them; repeat.")] = None


class Labels(Struct):
    """Names of labels, and how many there are in all."""

    total: int
    labels: list[Id]


class Features(Struct):
    """What rows may name, and how many there are in all: each has a name and a kind, of words also these."""

    total: int
    features: list[dict[str, Any]]
