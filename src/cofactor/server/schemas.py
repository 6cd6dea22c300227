"""What requests and answers look like: they are checked by these classes, and the document of the interface is made of
them.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from cofactor.service.options import RECOMMEND

#: What options of the shell say, which mean the same here.
_HELP = {one.name: one.help for one in RECOMMEND}

Id = int | float | str
Count = Annotated[int, Meta(ge=1)]


# ---------------------------------------------------------------- requests


class ModelQuery(Struct, kw_only=True, forbid_unknown_fields=True):
    """Which model is asked.

    Attributes
    ----------
    model : str, optional
        Its name; by default the first one.
    """

    model: str | None = None


class _Wish(ModelQuery, kw_only=True, forbid_unknown_fields=True):
    n: Annotated[int, Meta(ge=1, description=_HELP["n"])] = 10
    exclude_seen: Annotated[bool, Meta(description="Leave out what the user has rated.")] = True
    rank_by: Annotated[Literal["like", "interaction", "gain", "rating"] | None, Meta(description=_HELP["rank_by"])] = (
        None
    )
    at_least: Annotated[float | None, Meta(description=_HELP["at_least"])] = None
    quantile: Annotated[float | None, Meta(description=_HELP["quantile"])] = None


class FromOne(_Wish, kw_only=True, forbid_unknown_fields=True):
    """Recommendations for one user, as the query of an address."""

    candidates: Annotated[list[str] | None, Meta(description="The only items to recommend; repeat.")] = None
    candidates_filter: Annotated[str | None, Meta(description="The same by the name of a filter.")] = None
    exclude: Annotated[list[str] | None, Meta(description="Items to leave out; repeat.")] = None
    exclude_filter: Annotated[str | None, Meta(description="The same by the name of a filter.")] = None


class Rated(Struct, forbid_unknown_fields=True):
    """A rating of a new user. A model of interactions takes items without ratings, and a recommender of ratings items
    that all have one, or all have none.
    """

    item: Id
    rating: float | None = None


class NewUser(Struct, forbid_unknown_fields=True):
    """A user who was not in training, with ratings."""

    ratings: Annotated[list[Rated], Meta(min_length=1)]


class Rules(Struct, forbid_unknown_fields=True):
    """What lists must be like, as `Rules` of Python; in `groups` and `boost` a text is the name of a filter."""

    min_support: Annotated[int, Meta(ge=0, description=_HELP["min_support"])] = 0
    diversity: Annotated[float, Meta(ge=0, description=_HELP["diversity"])] = 0.0
    novelty: Annotated[float, Meta(ge=0, description=_HELP["novelty"])] = 0.0
    groups: Annotated[
        dict[str, Id] | str | None, Meta(description="The group of each item by its id, for at_most and at_least.")
    ] = None
    at_most: Annotated[
        int | dict[str, int] | None, Meta(description="Most items of each group in a list, or of these groups.")
    ] = None
    at_least: Annotated[
        int | dict[str, int] | None, Meta(description="Fewest items of each group in a list, or of these groups.")
    ] = None
    boost: Annotated[
        dict[str, float] | str | None, Meta(description="What is added to the scores of items, by their ids.")
    ] = None


class FromSome(_Wish, kw_only=True, forbid_unknown_fields=True):
    """Recommendations for several users: ids of known ones, and ratings of new ones."""

    users: Annotated[list[Id | NewUser], Meta(min_length=1)]
    candidates: Annotated[
        list[Id] | str | None, Meta(description="The only items to recommend, or the name of a filter.")
    ] = None
    exclude: Annotated[
        list[Id] | dict[str, list[Id]] | str | None,
        Meta(description="Items to leave out: for all, or for each user of training by id; or the name of a filter."),
    ] = None
    rules: Rules | None = None
    new_items: Annotated[
        list[dict[str, int | float | str]] | None,
        Meta(description="Features of new items, recommended among the others: id, and the columns of training."),
    ] = None


class FilterItems(Struct, forbid_unknown_fields=True):
    """Items that requests may name together: ids; or an object of their groups, or boosts, by id."""

    items: list[Id] | dict[str, Id]


class FilterQuery(Struct, kw_only=True, forbid_unknown_fields=True):
    """Which of the items of a filter to list, as the query of an address."""

    first: Annotated[int, Meta(ge=0, description="How many to pass over.")] = 0
    n: Count = 100


class NoQuery(Struct, forbid_unknown_fields=True):
    """Nothing but the address."""


class Pair(Struct, forbid_unknown_fields=True):
    """A user, known by id or new with ratings, and an item."""

    user: Id | NewUser
    item: Id


class Some(ModelQuery, kw_only=True, forbid_unknown_fields=True):
    """Predictions for pairs of user and item."""

    pairs: Annotated[list[Pair], Meta(min_length=1)]


class ItemsQuery(ModelQuery, kw_only=True, forbid_unknown_fields=True):
    """Items by words of their titles, or by id, as the query of an address."""

    n: Count = 10
    search: Annotated[
        str, Meta(description="Each word begins a word of the title; case and accents do not matter.")
    ] = ""
    ids: Annotated[list[str] | None, Meta(description="These items instead, as far as they are known; repeat.")] = None


class SimilarQuery(ModelQuery, kw_only=True, forbid_unknown_fields=True):
    """Items that are like one, as the query of an address."""

    n: Count = 10
    min_ratings: Annotated[int, Meta(ge=0, description="Leave out items with fewer ratings.")] = 5


# ---------------------------------------------------------------- answers


class RecommendedItem(Struct):
    """An item of a list; `p_interact` and `p_like` are of recommenders, `prediction` of models which predict ratings,
    and `title` of items whose title is known.
    """

    item: Id
    score: float
    p_interact: float | UnsetType = UNSET
    p_like: float | UnsetType = UNSET
    prediction: float | UnsetType = UNSET
    meaning: str | UnsetType = UNSET
    title: str | UnsetType = UNSET


class List(Struct):
    """What is recommended to a user, best first; of a new user the id is null."""

    user: Id | None
    items: list[RecommendedItem]
    warnings: list[str] | UnsetType = UNSET


class Lists(Struct):
    """A list for each user, in the order of the request; warnings of items that were named and are not known."""

    lists: list[List]
    warnings: list[str] | UnsetType = UNSET


class Unknown(Struct):
    """Items of a filter that were not in training of a model: how many, and the first of them."""

    model: str
    total: int
    first: list[Id]


class Filter(Struct):
    """A filter: how many items it has, which of them models do not know, and those that were asked for."""

    name: str
    total: int
    unknown: list[Unknown]
    items: list[Id] | dict[str, Id] | UnsetType = UNSET


class FilterNames(Struct):
    """The names of all filters."""

    filters: list[str]


class Prediction(Struct):
    """The predicted rating, its level from 1, and the score, which is the expected rating where there are
    probabilities; these are of all levels. Of a new user the id is null.
    """

    user: Id | None
    item: Id
    prediction: float
    level: int
    score: float
    meaning: str | UnsetType = UNSET
    probabilities: list[float] | UnsetType = UNSET


class Predictions(Struct):
    """Predictions in the order of the request, and the ratings of all levels."""

    levels: list[float]
    predictions: list[Prediction]


class Item(Struct):
    """An item, its number of ratings, and its title if that is known."""

    item: Id
    ratings: int
    title: str | UnsetType = UNSET


class Items(Struct):
    """Items that were found, those with most ratings first; or those that were asked for by id, in that order."""

    items: list[Item]


class SimilarItem(Struct):
    """An item, its title if that is known, and how similar it is, from -1 to 1."""

    item: Id
    similarity: float
    title: str | UnsetType = UNSET


class SimilarItems(Struct):
    """The items most like one."""

    item: Id
    similar: list[SimilarItem]


class Model(Struct):
    """What there is to say of a model of ratings, or of labels; other members are those of its class."""

    name: str
    version: str
    sha256: str | None
    kind: Literal["ratings", "labels"]
    model: str
    settings: dict[str, Any]
    users: int | UnsetType = UNSET
    items: int | UnsetType = UNSET
    features: int | UnsetType = UNSET
    labels: int | UnsetType = UNSET
    rows: list[str] | UnsetType = UNSET
    label_names: list[Id] | UnsetType = UNSET
    row_names: list[str] | UnsetType = UNSET


class Models(Struct):
    """The names of all models, the one that answers by default first."""

    models: list[str]


class Failure(Struct):
    """Why there is no answer.

    Attributes
    ----------
    status : int
        That of HTTP.
    message : str
        All in one line.
    argument : str or None
        What of the request is wrong: ``users[0].ratings[2].rating``.
    found : object
        What was there.
    advice : str or None
        What to do.
    request_id : str
        Which the log has too.
    """

    status: int
    message: str
    argument: str | None
    found: Any
    advice: str | None
    request_id: str


class Failures(Struct):
    """The form of all errors."""

    error: Failure


Value = int | float | str | bool | None
Row = list[float] | dict[str, Value] | str


class DecisionQuery(Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """How to decide which labels are on: for a precision or a recall, by costs or cuts, with so many labels."""

    precision: Annotated[float, Meta(description="Share of the returned labels that are right.")] | None = None
    recall: Annotated[float, Meta(description="Share of the true labels that are returned.")] | None = None
    each_label: Annotated[bool, Meta(description="Each label by itself, not all together.")] = False
    costs: (
        Annotated[list[float], Meta(description="Of a label that is wrongly on, and one that is wrongly off.")] | None
    ) = None
    cuts: Annotated[dict[str, float], Meta(description="Of probabilities, by label.")] | None = None
    at_least: Annotated[int, Meta(ge=0, description="How many labels a row has at least.")] = 0
    at_most: Annotated[int, Meta(ge=0, description="How many labels a row has at most.")] | None = None


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
    decision: Annotated[
        DecisionQuery | None, Meta(description="How to decide, in the place of what the fit learned.")
    ] = None


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


class TaggedRows(Struct):
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


class ExplanationQuery(ModelQuery, kw_only=True, forbid_unknown_fields=True):
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


class ScoreExplanation(Struct):
    """The score of an item, or of a label, and its reasons; where there is an intercept, they sum to the score."""

    score: float
    reasons: list[Reason]
    item: Id | UnsetType = UNSET
    label: Id | UnsetType = UNSET
    rest: Rest | UnsetType = UNSET
    intercept: float | UnsetType = UNSET


class Explanations(Struct):
    """An explanation of each item, or label."""

    explanations: list[ScoreExplanation]
