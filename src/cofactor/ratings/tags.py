"""What a model can do: declared once by its class, asked in one way, and refused by one error that names who can."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from cofactor.errors import Argument, InvalidInputError
from cofactor.model.offered import kinds_of

__all__ = ["Tag", "Tags", "With", "refusal"]


@dataclass(frozen=True)
class With:
    """That a model can do something with some values of a parameter.

    Attributes
    ----------
    parameter : str
    values : tuple

    Examples
    --------
    >>> from cofactor.ratings import PMF
    >>> With("link", ("identity",))(PMF(link="logistic", solver="lbfgs"))
    False
    """

    parameter: str
    values: tuple[Any, ...]

    def __call__(self, model: Any) -> bool:
        """Return whether a model has one of the values."""
        return getattr(model, self.parameter) in self.values


#: Whether models of a class can do something: yes, no, or what to ask a model that may or may not.
Tag: TypeAlias = bool | Callable[[Any], bool]


@dataclass(frozen=True)
class Tags:
    """What models of a class can do; ask a model with `can`, and let it refuse with `require`.

    Attributes
    ----------
    weights : Tag
        Whether ratings may have weights.
    features : Tag
        Whether a fit takes features of users and items, by which new ones are known.
    shards : Tag
        Whether `_fit` learns from ratings in shards too.
    probabilities : Tag
        Whether `scorer_` is a `ProbabilityScorer`, and the model has `predict_proba`.
    fold_in_items : Tag
        Whether rows of items say all of them, so that a fold-in of items predicts without those of training.
    similar : Tag
        Whether the model has `similar_items` and `item_vectors`.
    explain : Tag
        Whether the model has `explain`, and the method `_contributions` for it.
    additive : Tag
        Whether contributions sum to the score, but for an intercept.

    Examples
    --------
    >>> from cofactor.ratings import ALS, MMMF
    >>> ALS().can("explain"), MMMF().can("explain")
    (True, False)
    """

    weights: Tag = False
    features: Tag = False
    shards: Tag = False
    probabilities: Tag = False
    fold_in_items: Tag = True
    similar: Tag = False
    explain: Tag = False
    additive: Tag = True


#: What a model without a tag says; ``{}`` stands for its name.
_REFUSALS = {
    "weights": "{} takes no weights of ratings",
    "features": "{} takes no features of users or items",
    "shards": "{} learns from ratings in memory alone",
    "probabilities": "{} gives levels no probabilities",
    "fold_in_items": "{} does not fold in items",
    "similar": "{} does not say how alike items are",
    "explain": (
        "the scores of this {} are no sum over what a user rated or interacted with, "
        "and there is no short way to what each changes"
    ),
    "additive": "the scores of {} are no sums of what ratings contribute",
}

#: What asks for it, where that is always the same.
_ARGUMENTS = {"weights": "sample_weight", "shards": "X"}


def refusal(model: Any, tag: str, argument: str | None = None) -> InvalidInputError:
    """Return the error of a model that cannot do what callers may ask for, which names the models that can.

    Parameters
    ----------
    model : InteractionModel
    tag : str
        Name of a field of `Tags`.
    argument : str, optional
        What asks for it; by default the one that is usual.

    Examples
    --------
    >>> from cofactor.ratings import URP
    >>> print(refusal(URP(), "weights"))
    URP takes no weights of ratings; leave them out, or take one of ALS, BPMF, BinaryMMMF, HMF, MMMF, PMF, PMMMF
    """
    before, after = _REFUSALS[tag].split("{}")
    name, own = type(model).__name__, getattr(model.tags, tag)
    argument = argument or _ARGUMENTS.get(tag)
    if isinstance(own, With):
        first, *others = own.values
        take: tuple[str | Argument, ...] = (
            "take ",
            Argument(own.parameter, first),
            *(f" or {other!r}" for other in others),
        )
        subject = f"{before}{name} with ", Argument(own.parameter, getattr(model, own.parameter)), after
        return InvalidInputError(subject, argument=argument, advice=take)
    able = ", ".join(_able(model.family(), tag) or _able(model.family().__base__, tag))
    advice = {
        "weights": f"leave them out, or take one of {able}",
        "features": f"{able} and Recommender do",
        "shards": f"{able} learn in shards; others from the files themselves, in Python from X.to_ratings()",
        "explain": f"those of {able} can be explained",
    }
    return InvalidInputError(f"{before}{name}{after}", argument=argument, advice=advice.get(tag, f"{able} do"))


def _able(base: Any, tag: str) -> list[str]:
    """Return the names of our models below a class that have a tag, if only with some parameters."""
    ours = (kind for kind in kinds_of(base) if kind.__module__.startswith("cofactor."))
    tags = {kind.__name__: getattr(kind.tags, tag) for kind in ours}
    return sorted(name for name, own in tags.items() if own is True or isinstance(own, With))
