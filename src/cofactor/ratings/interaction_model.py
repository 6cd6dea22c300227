"""What all models of users, items and interactions share: what they can do, files, updates, reasons, and what is alike.

What a model can do is declared once by its class, asked in one way, and refused by one error that names who can. What a
fit is given is checked once before it begins, and never changed afterwards.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_choice, check_number
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError, LostRatingsWarning, Text
from cofactor.kernels.threads import library_limit
from cofactor.model.commit import committed
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import Estimator, learned
from cofactor.model.offered import kinds_of, offered_if
from cofactor.model.progress import Monitor
from cofactor.model.size import refuse_too_large
from cofactor.model.state import check_course, from_plain, is_mapped, member, packed, to_plain, unpacked
from cofactor.rating_scale import RatingScale
from cofactor.ratings.blocks import pairs_per_block
from cofactor.ratings.data import Ratings, entries_of_rows, merged, restrict
from cofactor.ratings.ids import ConcatIds, IdMap, saved_ids
from cofactor.ratings.interactions import Interactions
from cofactor.ratings.lookup import Lookup
from cofactor.ratings.similar import Embeddings, covariance, directions, directions_of_interactions
from cofactor.ratings.topn import Catalog, Excluded, ExclusionMask, Ranking, best_items, ids_of
from cofactor.solvers.result import Callback
from cofactor.text import plural, some_of
from cofactor.typing import Ids, RatingValues, SideFeatures, SideName

if TYPE_CHECKING:
    from cofactor.ratings.features import FeatureTable
    from cofactor.ratings.reasons import Reasons
    from cofactor.ratings.shard_folder import StoredUsers
    from cofactor.ratings.sharded import ShardedRatings


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
    r"""What models of a class can do; ask a model with `can`, and let it refuse with `require`.

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
    vectors : Tag
        Whether scores are :math:`U_i \cdot V_j + b_i + c_j` of learned `U_`, `V_` and `item_bias_`, by which the model
        has `similar_users` and `user_vectors` too.
    explain : Tag
        Whether the model has `explain`, and the method `contributions` for it.
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
    vectors: Tag = False
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
    "vectors": "scores of {} are no products of vectors",
    "explain": (
        "the scores of this {} are no sum over what a user rated or interacted with, "
        "and there is no short way to what each changes"
    ),
    "additive": "the scores of {} are no sums of what ratings contribute",
}

#: What asks for it, where that is always the same.
_ARGUMENTS = {"weights": "sample_weight", "shards": "X"}


def _models_with(base: Any, tag: str) -> list[str]:
    """Return the names of our models below a class that have a tag, if only with some parameters."""
    ours = (kind for kind in kinds_of(base) if kind.__module__.startswith("cofactor."))
    tags = {kind.__name__: getattr(kind.tags, tag) for kind in ours}
    return sorted(name for name, own in tags.items() if own is True or isinstance(own, With))


def _silent_monitor() -> Monitor:
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
    monitor: Monitor = field(default_factory=_silent_monitor)
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


#: Share of ratings that came since the last fit from which another fit is due. On MovieLens 100K daily updates by a
#: sixth of the ratings still cost nothing that could be measured: RMSE of `OrdinalProbit` .004 below that of a refit,
#: with a standard error of .003, of `ALS` .000 ± .003.
_DUE = 0.1


_REMEMBERED = 1000  # updates by which a repeated one is recognised: 17 bytes each


@dataclass(frozen=True)
class Updates:
    """What was taken into a model since it was fitted.

    Attributes
    ----------
    n_fitted : int
        Ratings of the last fit.
    n_updates : int
        Updates since.
    n_new : int
        Ratings that these gave, those which took the place of earlier ones too.
    keys : tuple of str
        What tells the last 1,000 updates from others.
    fitted_key : str
        What tells the ratings of the fit from others, once an update came; before it they are those of the model.

    Examples
    --------
    >>> fitted = Ratings.from_pairs([("ann", "Up"), ("bob", "Heat")], [1, 2])
    >>> new = Ratings.from_pairs([("ann", "Up"), ("bob", "Up")], [1, 2])
    >>> updates = Updates(2).after(new, fitted)
    >>> updates.due, updates.source(new, new), updates.source(fitted, new)
    (True, 'an earlier update', 'the fit')
    """

    n_fitted: int
    n_updates: int = 0
    n_new: int = 0
    keys: tuple[str, ...] = ()
    fitted_key: str = ""

    def after(self, new: Ratings, earlier: Ratings) -> Self:
        """Return what it is after an update by new ratings, given those that the model had before it."""
        keys, fitted = (*self.keys, new.key)[-_REMEMBERED:], self.fitted_key if self.n_updates else earlier.key
        n_new = self.n_new + new.n_ratings
        return replace(self, n_updates=self.n_updates + 1, n_new=n_new, keys=keys, fitted_key=fitted)

    def source(self, new: Ratings, earlier: Ratings) -> Literal["", "the fit", "an earlier update"]:
        """Return what took the same ratings in before, in any order, as when a job is run again; "" if nothing did.

        Parameters
        ----------
        new : Ratings
        earlier : Ratings
            All that the model has.
        """
        if self.keys and new.key in self.keys:
            return "an earlier update"
        if self.n_fitted != new.n_ratings:
            return ""
        return "the fit" if new.key == (self.fitted_key if self.n_updates else earlier.key) else ""

    @property
    def due(self) -> bool:
        """Whether a tenth or more of all ratings are new."""
        return self.n_new >= _DUE * (self.n_fitted + self.n_new)

    def to_state(self) -> dict[str, Any]:
        """Return the attributes as a dictionary."""
        numbers = {"n_fitted": self.n_fitted, "n_updates": self.n_updates, "n_new": self.n_new}
        keys = {"keys": list(self.keys), "fitted_key": self.fitted_key}
        return numbers | {name: value for name, value in keys.items() if value}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """Rebuild it from what `to_state` returned; what is no number of ratings or updates is refused."""
        found = {name: member(dict(state), name, int) for name in ("n_fitted", "n_updates", "n_new")}
        if min(found.values()) < 0 or found["n_fitted"] < 1:
            raise InvalidInputError(f"numbers of ratings and updates must not be negative, found {found}")
        keys = member(dict(state), "keys", list) if "keys" in state else []
        fitted_key = member(dict(state), "fitted_key", str) if "fitted_key" in state else ""
        if not all(isinstance(key, str) for key in keys):
            raise InvalidInputError("keys of updates must be text")
        return cls(**found, keys=tuple(keys), fitted_key=fitted_key)


#: What may become of users, or items, that were in training.
KNOWN = ("error", "merge", "replace")


#: What to do about ratings that a model does not take, by the parameter which was set when it was made.
_ADVICE = {
    "scale": "correct them; a model that is to know other levels must be fitted with them",
    "duplicates": "remove them, or let the model choose: set_params(duplicates='last'), or 'mean'",
}


@contextmanager
def advise_fold_in() -> Iterator[None]:
    """Within the block, advice about levels and repeated pairs is what a fold-in can follow: the model has them."""
    try:
        yield
    except InvalidInputError as error:
        if not error.advice or error.argument not in _ADVICE:
            raise
        raise InvalidInputError(error.problem, argument=error.argument, advice=_ADVICE[error.argument]) from None


def check_known(X: Any, known: str) -> None:
    """Refuse to merge or replace what has no ids."""
    check_choice("known", known, KNOWN)
    if sparse.issparse(X) and known != "error":
        raise InvalidInputError(
            ("a sparse matrix has no ids, so all it holds is new, and ", Argument("known", known), " finds nobody"),
            argument="known",
            advice="pass pairs of user id and item id",
        )


def warn_of_lost_times(
    earlier: Ratings,
    new: Ratings,
    what: Sequence[str | Argument] = ("the update",),
    advice: Sequence[str | Argument] = ("give times to both, with ", Argument("time"), ", or to none"),
    those: str = "ratings",
) -> None:
    """Warn where only earlier ratings, or new ones, have times, so that `what` takes them together forgets all."""
    if (earlier.times is None) != (new.times is None) and earlier.n_ratings and new.n_ratings:
        lacking = f"{those} of training" if earlier.times is None else f"new {those}"
        text = (*what, f" forgets all times, since the {lacking} have none; ", *advice)
        warnings.warn(InputWarning(text), stacklevel=callers_level())


@dataclass(frozen=True)
class RowMerge:
    """Where the users, or items, of a model and of a part stand among those of both.

    Attributes
    ----------
    side : {"user", "item"}
    ids : IdMap
        Those of both.
    old, new : ndarray of int
        Where those of the model stand, and those of the part.
    whole : Ratings or None
        All ratings of the model, if this is the last merge of an update.
    """

    side: SideName
    ids: IdMap
    old: NDArray[np.int32]
    new: NDArray[np.int32]
    whole: Ratings | None = None

    def rows(self, ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
        """Return the rows of both in a new array; those of the part in the place of the model's.

        Examples
        --------
        >>> merge = RowMerge("user", IdMap(["a", "b", "c"]), np.array([0, 2]), np.array([1, 2]))
        >>> merge.rows(np.array([1.0, 3.0]), np.array([20.0, 30.0]))
        array([ 1., 20., 30.])
        """
        out = np.zeros((len(self.ids), *ours.shape[1:]), dtype=ours.dtype)
        out[self.old] = ours
        out[self.new] = theirs
        return out

    def spread(self, ours: NDArray[Any], axis: int = 0) -> NDArray[Any]:
        """Return what a model has for each, along an axis, among zeros for those who are new."""
        shape = list(ours.shape)
        shape[axis] = len(self.ids)
        out = np.moveaxis(np.zeros(shape, dtype=ours.dtype), axis, 0)
        out[self.old] = np.moveaxis(ours, axis, 0)
        return np.ascontiguousarray(np.moveaxis(out, 0, axis))

    def rows_of_samples(self, ours: NDArray[Any], theirs: NDArray[Any]) -> NDArray[Any]:
        """Return likewise samples (S, n + 1, ...) of rows, the last of which, a cold one's, stays as it is."""
        out = np.zeros((len(ours), len(self.ids) + 1, *ours.shape[2:]), dtype=ours.dtype)
        out[:, self.old], out[:, self.new], out[:, -1] = ours[:, :-1], theirs[:, :-1], ours[:, -1]
        return out

    def ragged(
        self,
        ours: tuple[NDArray[np.int64], NDArray[Any]],
        theirs: tuple[NDArray[np.int64], NDArray[Any]],
        axis: int = 0,
    ) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return likewise rows of several lengths: offsets, and entries along an axis."""
        counts = self.rows(np.diff(ours[0]), np.diff(theirs[0]))
        indptr = np.concatenate([[0], np.cumsum(counts)])
        kept = np.setdiff1d(self.old, self.new)
        shape = list(ours[1].shape)
        shape[axis] = int(indptr[-1])
        out = np.moveaxis(np.zeros(shape, dtype=ours[1].dtype), axis, 0)
        for where, rows, (start, entries) in ((self.old, kept, ours), (self.new, self.new, theirs)):
            chosen = np.isin(where, rows)
            _, source = entries_of_rows(start, np.flatnonzero(chosen))
            _, target = entries_of_rows(indptr, where[chosen])
            out[target] = np.moveaxis(entries, axis, 0)[source]
        return indptr, np.moveaxis(out, 0, axis)


#: What vectors are for.
SIMILARITY, SCORES = "similarity", "scores"


def available_with(tag: str) -> Callable[[Any], Any]:
    """Return a decorator for a method that only models with a tag have."""
    return available_if(lambda model: model.can(tag))


class InteractionModel(Estimator, ABC):
    """A model of users, items, and ratings or interactions.

    Attributes
    ----------
    users_, items_ : IdMap
        Ids of users and items.
    scale_ : ndarray of shape (R,)
        The values a rating can take.
    ratings_ : Ratings or None
        What it was fitted on; None if it was saved without.
    rating_scale_ : RatingScale or None
        What the levels stand for, where the data said so.
    stored_users_ : StoredUsers or None
        Where a fit left what it found for users, if that is the folder of shards.
    updates_ : Updates or None
        What `update` took in since the last fit; None for a model that comes from a fold-in.
    refit_due_ : bool
        Whether so much was taken in that a fit of all is worth its time.
    """

    users_: IdMap = learned(saved=False)
    items_: IdMap = learned(saved=False)
    scale_: NDArray[np.float64] = learned("levels", dtype=np.float64)
    ratings_: Any = learned(saved=False)
    rating_scale_: RatingScale | None = learned(saved=False, default=None)
    stored_users_: StoredUsers | None = learned(saved=False, default=None)
    updates_: Updates | None = learned(saved=False, default=None)

    #: Why the ratings in shards that it was fitted on are there no more; empty where they are, or were not kept.
    lost_ratings_: str = learned(saved=False, default="")

    #: What models of the class can do.
    tags: ClassVar[Tags] = Tags()

    #: What a user's own entries are, see `explain`.
    _own_kind: ClassVar[str] = "rating"

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together: kernels do not check indices."""
        check_course(self)
        lengths = {"users": len(self.users_), "items": len(self.items_), "levels": len(self.scale_)}
        self._check_declared(lengths)

    # What only a call of a method needs is imported by the call: who imports a model seldom calls all of them.

    # ---------------------------------------------------------------- what it can do

    def can(self, tag: str) -> bool:
        """Return whether the model can do something, with its parameters.

        Parameters
        ----------
        tag : str
            Name of one of `tags`.

        Returns
        -------
        bool
        """
        own = getattr(self.tags, tag)
        return bool(own(self)) if callable(own) else own

    def require(self, tag: str, argument: str | None = None) -> None:
        """Refuse what the model cannot do; the error names the models that can.

        Parameters
        ----------
        tag : str
            Name of one of `tags`.
        argument : str, optional
            What asks for it; by default the one that is usual.
        """
        if not self.can(tag):
            raise self._refusal(tag, argument)

    def _refusal(self, tag: str, argument: str | None) -> InvalidInputError:
        """Return the error of a model that cannot do what callers may ask for, which names the models that can."""
        before, after = _REFUSALS[tag].split("{}")
        name, own = type(self).__name__, getattr(self.tags, tag)
        argument = argument or _ARGUMENTS.get(tag)
        if isinstance(own, With):
            first, *others = own.values
            take: tuple[str | Argument, ...] = (
                "take ",
                Argument(own.parameter, first),
                *(f" or {other!r}" for other in others),
            )
            subject = f"{before}{name} with ", Argument(own.parameter, getattr(self, own.parameter)), after
            return InvalidInputError(subject, argument=argument, advice=take)
        able = ", ".join(_models_with(self.family(), tag) or _models_with(self.family().__base__, tag))
        advice = {
            "weights": f"leave them out, or take one of {able}",
            "features": f"{able} and Recommender do",
            "shards": f"{able} learn in shards; others from the files themselves, in Python from X.to_ratings()",
            "explain": f"those of {able} can be explained",
        }
        return InvalidInputError(f"{before}{name}{after}", argument=argument, advice=advice.get(tag, f"{able} do"))

    @classmethod
    def family(cls) -> type[InteractionModel]:
        """Return the class that its kind of models derives from: of rating models, or of implicit-feedback models."""
        return [kind for kind in cls.__mro__ if InteractionModel in kind.__bases__][-1]

    # ---------------------------------------------------------------- learning

    def _fit_bytes(self, interactions: Any) -> int:
        """Return what a fit takes at least."""
        return 0

    def learn(self, given: FitInput, listener: Callback | None = None) -> Self:
        """Learn from checked ratings, or interactions, wholly or not at all: a fit that fails changes nothing.

        For models that are made of others, as `learn_as_part`, `folded_in` and `items_folded_in` are; `fit` is for all
        else.

        Parameters
        ----------
        given : FitInput
        listener : callable, optional
            Called with progress; by default the model's own callback is.

        Returns
        -------
        self
        """
        with committed(self) as fitted, self._monitor(listener) as monitor:
            fitted.set_interactions(given.ratings, Updates(given.ratings.n_ratings))
            model: Any = fitted  # whose class says how to learn
            model._fit(replace(given, monitor=monitor, before=self))
        return self

    def _monitor(self, listener: Callback | None = None) -> Monitor:
        listener = listener or getattr(self, "callback", None)
        return Monitor(listener, bool(getattr(self, "verbose", 0)), type(self).__name__)

    def set_interactions(self, interactions: Ratings, updates: Updates | None) -> None:
        """Set what is learned from, unless a fit would take too much memory.

        Parameters
        ----------
        interactions : Ratings
            Or ratings in shards, where the tags say so.
        updates : Updates or None
        """
        refuse_too_large(self, self._fit_bytes(interactions), interactions.n_ratings)
        self.users_, self.items_, self.scale_ = interactions.users, interactions.items, interactions.scale
        self.ratings_, self.updates_ = interactions, updates

    # ---------------------------------------------------------------- what it was fitted on

    def require_ratings(self, otherwise: tuple[str | Argument, ...] = ()) -> Any:
        """Return what the model was fitted on, or refuse to go on without it.

        Parameters
        ----------
        otherwise : tuple of str or Argument
            What may be done instead of having it, up to the word "or".

        Returns
        -------
        Ratings or ShardedRatings
        """
        if self.ratings_ is not None:
            return self.ratings_
        name = type(self).__name__
        if self.lost_ratings_:
            from cofactor.ratings.shard_folder import GIVE_BACK

            lost = f"the {self._own_kind}s of this {name} are not as they were ({self.lost_ratings_}): "
            raise InvalidInputError((lost, *otherwise, GIVE_BACK))
        raise InvalidInputError(
            (
                f"this {name} was saved without its {self._own_kind}s: ",
                *otherwise,
                "save the fitted model with ratings=True in Python",
            )
        )

    def _ratings_in_memory(self, what: str, otherwise: tuple[str | Argument, ...] = ()) -> Ratings:
        """Return what the model was fitted on for what needs it in memory, or refuse ratings in shards."""
        ratings = self.require_ratings(otherwise)
        if isinstance(ratings, Ratings):
            return ratings
        raise InvalidInputError(
            f"{what} needs the ratings of the model in memory, and they are in shards",
            advice="where they fit, model.to_memory() takes them there in Python",
        )

    def _fitted_on(self) -> tuple[Updates, Ratings]:
        """Return what the model took in so far, and its ratings; refuse one that lacks those it was learned from."""
        advice = ("new ratings have nothing to be merged with; ",)
        ratings = self._ratings_in_memory("update", advice)
        if self.updates_ is None:
            raise InvalidInputError(
                "this model comes from a fold-in, and has other ratings than those it was learned from",
                advice="update the model that was fitted",
            )
        return self.updates_, ratings

    def _came_before(self, new: Ratings, both: Ratings | None, again: bool) -> bool:
        """Return whether an update is to take nothing in, since the same came before; a warning says so.

        Parameters
        ----------
        new : Ratings
        both : Ratings or None
            All ratings with the new ones: where these change some, such as one that goes back to what it was, they are
            taken in. None for counts, which add up.
        again : bool
            Whether the caller wants it taken in.
        """
        known, earlier = self._fitted_on()
        source = "" if again else known.source(new, earlier)
        if not source or (both is not None and both.key != earlier.key):
            return False
        kind = "interaction" if both is None else "rating"
        those = plural(new.n_ratings, f"{kind} is", f"{kind}s are")
        text = f"{those} what {source} took in, and not taken in twice; "
        warnings.warn(InputWarning((text, Argument("again", True), " does it")), stacklevel=callers_level())
        return True

    @property
    def refit_due_(self) -> bool:
        """Whether so much was taken in since the last fit that another one is worth its time: see `update`."""
        check_is_fitted(self)
        return self.updates_ is not None and bool(self.updates_.due)

    def _support(self, otherwise: tuple[str | Argument, ...] = ()) -> tuple[NDArray[Any], int]:
        """Return how many users interacted with, or rated, each item in training, and how many users there were.

        Parameters
        ----------
        otherwise : tuple of str or Argument
            See `require_ratings`.
        """
        self._refuse_fold_in("user", advice=(Argument("candidates"), " can leave out items instead"))
        return self.require_ratings(otherwise).item_counts, len(self.users_)

    def _counts(self, side: SideName) -> NDArray[Any]:
        """Return how many ratings, or interactions, users or items had in training."""
        otherwise = ("pass ", Argument("min_ratings", 0), ", or ")
        if side == "item":
            return self._support(otherwise)[0]
        counts: NDArray[Any] = self.require_ratings(otherwise).user_counts
        return counts

    def _refuse_fold_in(self, side: SideName, advice: Text = "ask the model that was fitted") -> None:
        """Refuse to compare by the few that a fold-in knows."""
        if self.updates_ is None:
            raise InvalidInputError(
                f"this {type(self).__name__} comes from a fold-in, and knows too few {side}s to compare by",
                advice=advice,
            )

    # ---------------------------------------------------------------- what there is to say of it

    def ranking_score(self, X: Any, y: RatingValues = None, *, metric: str = "ndcg@10") -> float:
        """Return how good lists of unseen items are for held-out interactions, the mean over users.

        Parameters
        ----------
        X : pairs, frame, sparse matrix or data set
            Held-out interactions, or ratings, all of which are hits. Kinds of events count alike.
        y : array-like of shape (n,), optional
            Ratings or counts; a count of 0 is no interaction.
        metric : str, default="ndcg@10"
            "ndcg", "precision", "recall", "capped_recall", "map", "mrr" or "hit_rate" with the length of the lists, see
            `cofactor.metrics`.

        Returns
        -------
        float
            Higher is better. Users who were not in training are left out, and so is what users had there; an item that
            was not in training is missed.

        Raises
        ------
        InvalidInputError
            If nothing in X is new to a user of training.
        """
        from cofactor.metrics.topn import list_measure
        from cofactor.metrics.user_means import user_mean

        check_is_fitted(self)
        measure, k = list_measure(metric)
        given, seen = Interactions.read(X, y, counts=True), self._ratings_in_memory("ranking_score")
        rows, columns = self.users_.index(given.users), self.items_.index(given.items)
        if (columns < 0).any():
            new = np.asarray(given.items)[columns < 0]
            columns[columns < 0] = len(self.items_) + IdMap(new).index(new)
        kept = rows >= 0
        if given.values is not None and given.says != "ratings" and not self.predicts_ratings:
            kept &= np.asarray(given.values, dtype=np.float64) > 0
        users, owners = np.unique(rows[kept], return_inverse=True)
        shape = len(users), max(len(self.items_), int(columns.max(initial=-1)) + 1)
        indptr, entries = entries_of_rows(seen.indptr, users)
        known = sparse.csr_array((np.ones(len(entries)), seen.indices[entries], indptr), shape=shape)
        asked = sparse.csr_array((np.ones(len(owners)), (owners, columns[kept])), shape=shape).sign()
        relevant = sparse.csr_array(asked - asked.multiply(known.sign()))
        relevant.eliminate_zeros()
        if not relevant.nnz:
            problem = "holds nothing that is new to a user of training"
            advice = "hold out a part of each user, with PerUserHoldout(), or fold new users in"
            raise InvalidInputError(problem, argument="X", advice=advice)
        found = cast(Any, self).recommend(self.users_.ids[users], k)
        there = np.isfinite(found.scores)
        lists = np.full(there.shape, -1, dtype=np.int64)
        lists[there] = self.items_.index(found.items[there])
        return float(user_mean(measure(lists, relevant, k)).mean)

    @property
    def predicts_ratings(self) -> bool:
        """Whether a fitted model predicts ratings; those of interactions do not."""
        return False

    def iterations(self) -> list[int]:
        """Return the iterations, or sweeps, of a fit: one number, or one for each stage or member; none without.

        Returns
        -------
        list of int
        """
        parts = getattr(self, "members_", None) or getattr(self, "stages_", None)
        if parts:
            return [sum(part.iterations()) for part in parts]
        n_iter: int | None = getattr(self, "n_iter_", None)
        return [] if n_iter is None else [int(n_iter)]

    def effort(self) -> dict[str, Any]:
        """Return what a fit took, by the names of `cofactor info`: numbers of factors, and of iterations or samples.

        Returns
        -------
        dict of str to object
        """
        model: Any = self
        chosen: dict[str, Any] = {}
        if hasattr(model, "n_factors_") or hasattr(model, "V_"):
            chosen["factors"] = int(model.n_factors_ if hasattr(model, "n_factors_") else model.V_.shape[1])
        samples: dict[str, NDArray[Any]] | None = getattr(self, "samples_", None)
        if samples is None:
            iterations = self.iterations()
            return chosen | ({"iterations": iterations} if iterations else {})
        return chosen | {
            "sweeps": int(model.n_iter_),
            "burn_in": int(model.burn_in),
            "chains": len(model.chains_),
            "samples": len(next(iter(samples.values()))),
            "sample_bytes": sum(array.nbytes for array in samples.values() if not is_mapped(array)),
        }

    # ---------------------------------------------------------------- reasons

    @offered_if(lambda model: model.require("explain"))
    def explain(self, user: Any, items: Ids) -> Reasons:
        r"""Return which of a user's own ratings, or interactions, raise or lower the scores of items, and by how much.

        Only models have it whose scores are such sums, or nearly so: those of the table below.

        Parameters
        ----------
        user : hashable
            A user's id.
        items : array-like of shape (k,)
            Item ids. They may be among those that the user rated: that rating is then one of the reasons; but no
            interaction is a reason for itself in `EASE`, `ItemKNN` and `RP3beta`, whose weights have no diagonal.

        Returns
        -------
        Reasons

        Raises
        ------
        InvalidInputError
            If the user or an item was not in training, the user has no ratings, or the model was saved without its
            ratings.

        Notes
        -----
        ===============================  ===============================================================================
        `EASE`, `ItemKNN`, `RP3beta`     :math:`x_{ui} W_{ij}`: strength of the interaction times weight. Exact:
                                         contributions and what popularity adds, the intercept, sum to the score, and
                                         each is what the score would fall by without that interaction
        `ImplicitALS`, `ALS`, `PMF`      :math:`f_j^\top A^{-1} f_i w_i t_i` with :math:`A = P + \sum_i w_i f_i
                                         f_i^\top`, since the user's row is a ridge regression of targets t (the rating
                                         less its mean and the bias of the item; 1 for an interaction). Exact: they sum
                                         to the score less the intercept. That is the mean, the bias or popularity of
                                         the item, what features say, and, of users of training, the little by which
                                         the last round of the fit moved items after users; in a fold-in there is none
                                         of it
        `OrdinalProbit`, `BPMF`          how much lower the expected rating would be without this one rating
        `LogisticMF`                     how much lower the score would be without this interaction, by a step of
                                         Newton's method
        `Popularity`                     0: no interaction of the user matters
        ===============================  ===============================================================================

        Of a model drawn from a posterior it is a conditional leave-one-out answer, to first order. Under each sample of
        items and priors the row of the user is about Gaussian, of precision :math:`A = \Lambda + \sum_i \omega_i f_i
        f_i^\top`, with ω the information of a rating about its score (of `OrdinalProbit` with the latent normal
        integrated out) and g the derivative of its log-likelihood. Without rating i the mean of the score falls by
        :math:`f_j^\top A^{-1} f_i g_i / (1 - \omega_i f_i^\top A^{-1} f_i)`, the expected rating by this times its
        slope, and both are averaged over samples. Items, thresholds, drift and what is known of who rated what stay as
        they are. Folding the user in without the rating was the comparison: on planted data of 60 users and 40 items
        the changes of three users had correlations of .97 to .99 with these and were 6 to 9 % larger; of three users of
        MovieLens 100K with 20, 40 and 90 ratings .88, .98 and .82, and .88, .93 and 1.04 times as large, the noise of
        the comparison included.

        Examples
        --------
        >>> from cofactor.ratings import EASE
        >>> X = [(u, i) for u in range(6) for i in range(6) if u % 2 == i % 2 and (u, i) != (0, 4)]
        >>> print(EASE(alpha=1.0).fit(X).explain(0, [4]))
        user 0: 4, score 0.571
          +0.2857  interacted with 0
          +0.2857  interacted with 2
          +0.0000  intercept
        """
        from cofactor.ratings.reasons import Reasons

        ratings, row, columns = self._asked_why(user, items)
        with library_limit(1, "blas"):
            contributions = np.asarray(self.contributions(row, columns), dtype=np.float64)
            scores = np.asarray(self.explained_scores(row, columns), dtype=np.float64)
        intercepts = scores - contributions.sum(axis=1) if self.can("additive") else None
        items_ids, own = self.items_.ids[columns], self._own_entries(ratings, row, self._own_kind)
        return Reasons(user, items_ids, scores, *own, contributions, intercepts, self._own_kind)

    def _asked_why(self, user: Any, items: Ids) -> tuple[Ratings, int, NDArray[np.int32]]:
        """Return the ratings, and the indices of a user, who has some, and of items."""
        check_is_fitted(self)
        known = Lookup(self.users_, self.items_)
        if isinstance(user, list | set | dict | np.ndarray) or hasattr(user, "columns"):
            raise InvalidTypeError(
                "expected the id of one user", argument="user", found=user, advice="call it for each of them"
            )
        row = int(known.known([user], argument="user")[0])
        columns = known.known(items, "item")
        if not len(columns):
            raise InvalidInputError("expected at least one item to explain", argument="items")
        advice = ("what is to be explained is what they say: ",)
        ratings = self._ratings_in_memory("explain", advice)
        if ratings.indptr[row] == ratings.indptr[row + 1]:
            raise InvalidInputError(
                f"user {user!r} has no ratings, of which one could raise or lower a score",
                argument="user",
                advice="their scores are those of the average user, or follow from features",
            )
        return ratings, row, columns

    def explained_scores(self, user: int, items: NDArray[np.int32]) -> NDArray[Any]:
        """Return the scores of items that `explain` is about.

        Parameters
        ----------
        user : int
        items : ndarray of int
            Indices.

        Returns
        -------
        ndarray of shape (k,)
        """
        raise NotImplementedError

    def _own_entries(self, ratings: Ratings, row: int, kind: str) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the ids of a user's items, and the ratings, or how often the user interacted with each."""
        own = slice(ratings.indptr[row], ratings.indptr[row + 1])
        counted = kind == "interaction" and ratings.weights is not None
        values: Any = ratings.weights if counted else ratings.values
        return self.items_.ids[ratings.indices[own]], np.asarray(values[own], dtype=np.float64)

    def contributions(self, user: int, items: NDArray[Any]) -> NDArray[Any]:
        """Return what each own entry of a user adds to the scores of items, for models with the tag `explain`.

        Parameters
        ----------
        user : int
        items : ndarray of int
            Indices.

        Returns
        -------
        ndarray of shape (k, n)
        """
        raise self._refusal("explain", None)

    def _catalog(self) -> Catalog:
        """Return what lists are made of besides scores."""
        return Catalog(self.users_, self.items_, self.ratings_, self._support, self._item_directions)

    # ---------------------------------------------------------------- those of a fold-in who are known

    def resolve_known(
        self,
        new: Ratings,
        known: str,
        side: Literal["users", "items"],
        join: Callable[[Ratings, Ratings], Ratings] | None = None,
    ) -> Ratings:
        """Return the ratings that count, where the model knows some of the users, or items.

        Parameters
        ----------
        new : Ratings
        known : {"error", "merge", "replace"}
        side : {"users", "items"}
        join : callable, optional
            Merges earlier ratings and new ones; by default the later one of a pair counts.
        """
        given: IdMap = getattr(new, side)
        from cofactor.ratings.sharded import ShardedRatings

        ours: IdMap = getattr(self, f"{side}_")
        known_before = ours.index(given.ids) >= 0
        old = given.ids[known_before]
        ours.warn_if_alike(given.ids[~known_before], side[:-1], callers_level())
        merge, replace = Argument("known", "merge"), Argument("known", "replace")
        if not len(old) and known == "merge":
            others = plural(len(ours), f"other {side[:-1]}", form=",")
            advice = f"if it comes from a fold-in, the {side} of training are known to the model that was fitted"
            text = (merge, f" finds nobody: this model knows {others}, such as {some_of(ours.ids[:3])}; {advice}")
            warnings.warn(InputWarning(text), stacklevel=callers_level())
        if not len(old) or known == "replace":
            return new
        if known == "error":
            those = plural(len(old), f"{side[:-1]} is", f"{side} are")
            if not new.n_ratings:
                raise InvalidInputError(
                    f"{those} known to this model, such as {some_of(old[:3])}, and there are no ratings of them",
                    advice=f"give the features of new {side} alone",
                )
            whose = "its" if those == "1 item is" else "their"
            raise InvalidInputError(
                f"{those} known to this model, such as {some_of(old[:3])}: {whose} ratings there would be forgotten",
                advice=(merge, " adds the new ratings to them, ", replace, " lets the new ones alone count"),
            )
        kept: Any = self.require_ratings(("there is nothing to merge with; give ", replace, ", or "))
        wanted = {side: given}
        earlier = kept.restrict(**wanted) if isinstance(kept, ShardedRatings) else restrict(kept, **wanted)
        if join is not None:
            return join(earlier, new)
        warn_of_lost_times(earlier, new, (merge,), ("give times to both, or to none",))
        return merged(earlier, new)

    def with_new_items(self, new_items: SideFeatures) -> Any:
        """Return a model of the same users, and of the items of a table which it does not know but by these features.

        Parameters
        ----------
        new_items : mapping, frame, tuple or FeatureTable

        Returns
        -------
        InteractionModel
        """
        from cofactor.ratings.features import FeatureTable, unknown_features

        model: Any = self
        argument = getattr(new_items, "argument", "new_items")
        self.require("features", argument)
        if not model.knows_features("item"):
            raise unknown_features(argument)
        return model.fold_in_items(item_features=FeatureTable.read(new_items, argument).without(self.items_))

    # ---------------------------------------------------------------- what is alike

    def _item_directions(self) -> NDArray[np.float64]:
        """Return vectors of items, of length 1 or 0, whose inner products say how alike items are."""
        if self.can("vectors"):
            return self._directions("item")
        self._refuse_fold_in("user")
        return directions_of_interactions(self.require_ratings(()))

    def _user_directions(self) -> NDArray[np.float64]:
        """Return vectors of users whose inner products are the correlations of their scores over all items."""
        return self._directions("user")

    def _directions(self, side: SideName) -> NDArray[np.float64]:
        """Return vectors of length 1, or 0, whose inner products are the correlations of scores over the other side."""
        self._refuse_fold_in(side)
        U, V, _ = self._factors()
        own, other = (U, V) if side == "user" else (V, U)
        return directions(own, covariance(other))

    def _factors(self) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
        """Return U, V and c of a model with the tag `vectors`."""
        model: Any = self
        return model.U_, model.V_, model.item_bias_

    @available_with("similar")
    def similar_items(
        self,
        items: Ids,
        n: int = 10,
        *,
        candidates: Iterable[Any] | None = None,
        min_ratings: int = 5,
        new_items: SideFeatures | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        r"""Find the items that the same users like, or interact with.

        Of a model with factors they are those whose scores go together most over all users:

        .. math:: s_{jk} = \frac{v_j^\top C v_k}{\sqrt{v_j^\top C v_j} \sqrt{v_k^\top C v_k}}, \qquad
            C = \frac{1}{n} \sum_i (u_i - \bar u) (u_i - \bar u)^\top

        This is the correlation over users of :math:`u_i \cdot v_j` with :math:`u_i \cdot v_k`. Unlike the cosine of
        :math:`v_j` and :math:`v_k`, it is the same for all factors that predict the same (Steck, Ekanadham & Kallus
        2024). Biases do not count: items that all users like are not similar for that. Of other models of interactions
        it is the correlation of who interacted with the items, by the 64 leading singular vectors of the interactions;
        a `Recommender` asks its first implicit-feedback model with factors.

        Parameters
        ----------
        items : array-like of shape (k,)
            Item ids, of training or of `new_items`.
        n : int, default=10
            Number of similar items for each.
        candidates : array-like or iterable, optional
            Ids of the items to choose from, which were in training; by default all.
        min_ratings : int, default=5
            Fewest ratings, or interactions, in training of the items to choose from: what is known of items with few is
            mostly chance. Other values than 0 need a model with its ratings.
        new_items : mapping, frame, or tuple, optional
            Features of items that only these describe, in the columns of the `item_features` of the fit, of models that
            take such. Rows of items of training are passed over.

        Returns
        -------
        ids : ndarray of shape (k, n)
            Item ids, the most similar first, never the item itself. Where fewer are left, there is None.
        similarities : ndarray of shape (k, n)
            From -1 to 1; -inf where the id is None, and 0 with an item whose factors are 0.

        Raises
        ------
        InvalidInputError
            If an item is known in neither way, the model learned without features of items, or a rating model comes
            from a fold-in, whose users are too few to compare by.

        References
        ----------
        H. Steck, C. Ekanadham & N. Kallus, "Is cosine-similarity of embeddings really about similarity?", WWW 2024,
        doi:10.1145/3589335.3651526.

        Examples
        --------
        >>> from cofactor.ratings import ALS, ItemKNN
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> model.similar_items([0], 2)[0].tolist()
        [[2, 4]]
        >>> genres = {i: ["drama" if i % 2 else "comedy"] for i in range(6)}
        >>> model = ALS(2, 1.0, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X], item_features=genres)
        >>> sorted(model.similar_items(["new"], 3, new_items={"new": ["drama"]})[0][0].tolist())
        [1, 3, 5]
        >>> model = ItemKNN().fit([(u, i) for u, i in X if u % 2 == i % 2])
        >>> model.similar_items([0], 2, min_ratings=0)[0].tolist()
        [[2, 4]]
        """
        if new_items is None:
            return self._similar("item", self._item_directions, items, n, candidates, min_ratings)
        check_is_fitted(self)
        self._refuse_fold_in("item")
        part: Any = self.with_new_items(new_items)
        (U, V, _), (_, V_new, _) = self._factors(), part._factors()
        both = partial(directions, np.vstack([V, V_new]), covariance(U))
        return self._similar("item", both, items, n, candidates, min_ratings, part.items_)

    @available_with("vectors")
    def similar_users(
        self, users: Ids, n: int = 10, *, candidates: Iterable[Any] | None = None, min_ratings: int = 5
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        r"""Find the users who like alike: whose scores go together most over all items, but for biases.

        The similarity of two users is the correlation over items of :math:`u_i \cdot v_j` with
        :math:`u_k \cdot v_j`. That most users like some items more than others does not count.

        Parameters
        ----------
        users : array-like of shape (k,)
            User ids.
        n, candidates, min_ratings
            As in `similar_items`, of users.

        Returns
        -------
        ids : ndarray of shape (k, n)
            User ids, the most similar first, never the user themselves. Where fewer are left, there is None.
        similarities : ndarray of shape (k, n)
            See `similar_items`.

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> sorted(model.similar_users([1], 3)[0][0].tolist())
        [3, 5, 7]
        """
        return self._similar("user", self._user_directions, users, n, candidates, min_ratings)

    @available_with("similar")
    def item_vectors(self, for_: str = SIMILARITY) -> Embeddings:
        r"""Return a vector of each item, for software that searches nearest neighbours.

        Parameters
        ----------
        for_ : {"similarity", "scores"}, default="similarity"
            "similarity": unit vectors, whose inner products are those of `similar_items`; 0 for an item without
            direction. "scores", where the model has factors: :math:`(v_j, c_j)`, whose inner product with the
            :math:`(u_i, 1)` of `user_vectors` is the score of the pair up to a number that is the same for all items of
            a user. Of models drawn from a posterior these are means, see `cofactor.ratings.OrdinalProbit`; the scores
            of the model itself rank a little better.

        Returns
        -------
        Embeddings

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> users, items = model.user_vectors("scores"), model.item_vectors("scores")
        >>> rest = model.decision_function(X).reshape(8, 6) - users.values @ items.values.T
        >>> np.allclose(rest, rest[:, :1], atol=1e-5)
        True
        """
        return self._vectors("item", for_)

    @available_with("vectors")
    def user_vectors(self, for_: str = SIMILARITY) -> Embeddings:
        """Return a vector of each user; see `item_vectors`.

        Parameters
        ----------
        for_ : {"similarity", "scores"}, default="similarity"

        Returns
        -------
        Embeddings

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> model.user_vectors("scores").values.shape
        (8, 3)
        """
        return self._vectors("user", for_)

    def _vectors(self, side: SideName, for_: str) -> Embeddings:
        check_is_fitted(self)
        if for_ == SCORES and not self.can("vectors"):
            raise InvalidInputError(
                f"scores of {type(self).__name__} are no inner products of vectors",
                argument="for_",
                found=for_,
                advice="take a model with factors, such as ImplicitALS or LogisticMF, or leave it out for similarities",
            )
        check_choice("for_", for_, (SIMILARITY, SCORES) if self.can("vectors") else (SIMILARITY,))
        ids = (self.users_ if side == "user" else self.items_).ids
        if for_ == SIMILARITY:
            found = self._item_directions() if side == "item" else self._user_directions()
            return Embeddings(ids, found.astype(np.float32))
        U, V, c = self._factors()
        last = np.ones(len(U)) if side == "user" else c
        return Embeddings(ids, np.column_stack([U if side == "user" else V, last]).astype(np.float32))

    def _similar(
        self,
        side: SideName,
        vectors_of: Callable[[], NDArray[np.float64]],
        asked: Ids,
        n: int,
        candidates: Iterable[Any] | None,
        min_ratings: int,
        new_items: IdMap | None = None,
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return the most similar ids of training, and how similar; the last vectors are those of new items."""
        check_is_fitted(self)
        check_number("n", n, low=1, whole=True)
        check_number("min_ratings", min_ratings, low=0, whole=True)
        known = self.users_ if side == "user" else self.items_
        lookup = Lookup(self.users_, self.items_)
        items: Any = self.items_ if new_items is None else ConcatIds(self.items_, new_items)
        rows, columns = Lookup(self.users_, items).known(asked, side), lookup.candidates(candidates, side)
        vectors = vectors_of()  # first: some need ratings, however few others may have
        if min_ratings:
            columns = columns[self._counts(side)[columns] >= min_ratings]

        def block(ours: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
            found = np.einsum("ad,bd->ab", vectors[ours], vectors[others])
            found[ours[:, None] == others] = -np.inf
            return found

        nothing = ExclusionMask(None, Excluded.of(lookup, None))
        places, similarities = best_items(
            Ranking(block, pairs_per_block(1)), rows, columns.astype(np.int32), n, nothing
        )
        places[np.isneginf(similarities)] = -1  # the item itself, where nothing else is left
        return ids_of(known, places), similarities

    # ---------------------------------------------------------------- files

    def save(self, path: str | Path, *, ratings: bool = True) -> None:
        """Write the model, with those inside it, to a file which `cofactor.load` reads; nothing in it is ever executed.

        Parameters
        ----------
        {path}
        ratings : bool, default=True
            Whether to keep the ratings, or interactions, of training. `recommend(exclude_seen=True)` and `complete`
            need them; implicit-feedback models recommend to new users alone without them.
        """
        from cofactor import persistence

        check_is_fitted(self)
        persistence.save(path, self if ratings else self.without_ratings())

    def to_memory(self) -> Self:
        """Return a model that needs no folder of shards: what a fit found for users, and ratings, are in memory.

        Returns
        -------
        model
            A copy; a file that it is saved to holds all that it needs. Others than those of a fit to a folder of shards
            are as they were.
        """
        from cofactor.ratings.sharded import ShardedRatings

        check_is_fitted(self)
        whole: Any = copy.copy(self)
        if self.stored_users_ is not None:
            whole._restore(_in_memory(self._saved()))
            whole._check_learned()
        for name, declared in self._learned.items():
            if declared.holds(InteractionModel):
                setattr(whole, name, [part.to_memory() for part in getattr(self, name)])
        whole.stored_users_ = None
        if isinstance(whole.ratings_, ShardedRatings):
            whole.ratings_ = whole.ratings_.to_ratings()
        return whole

    def without_ratings(self) -> Self:
        """Return a copy that does not keep its ratings, or interactions.

        Returns
        -------
        model
        """
        lean = copy.copy(self)
        lean.ratings_ = None
        return lean

    def _saved(self) -> dict[str, Any]:
        """Return what a file holds of what was learned, by attribute, in a form that `cofactor.model.state` takes.

        Ratings stand in a file once, not in each part of a model.
        """
        return {name: _without_ratings(field.to_plain(getattr(self, name))) for name, field in self._learned.items()}

    def _restore(self, saved: dict[str, Any]) -> None:
        """Take what `_saved` returned, read from a file and not checked yet."""
        for name, declared in self._learned.items():
            setattr(self, name, declared.from_plain(saved[name]))

    def _summary(self) -> dict[str, Any]:
        """Return what the file says of the model to those who do not load it."""
        from cofactor.model.facts import summary
        from cofactor.ratings.facts import facts_of

        return summary(self, facts_of(self))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        from cofactor.ratings.sharded import ShardedRatings

        arrays: dict[str, NDArray[Any]] = {}
        stored: Any = self.stored_users_
        header: dict[str, Any] = {
            "params": {name: to_plain(v) for name, v in self.get_params(deep=False).items() if name != "callback"},
            "learned": {name: packed(value, f"learned.{name}", arrays) for name, value in self._saved().items()},
            "ids": {},
        }
        there = {} if stored is None else {f"learned.{name}": array for name, array in stored.arrays.items()}
        elsewhere = [name for name, array in there.items() if arrays.get(name) is array]
        for name in elsewhere:
            del arrays[name]
        if elsewhere:
            header["stored_users"] = stored.folder
        if self.rating_scale_ is not None:
            header["coding"] = self.rating_scale_.to_state()  # as files called it before
        if self.updates_ is not None:
            header["updates"] = self.updates_.to_state()
        for name, ids in (("users", self.users_), ("items", self.items_)):
            if not (elsewhere and ids is stored.users):
                columns, header["ids"][name] = ids.to_state()
                arrays |= {f"{name}.{key}": column for key, column in columns.items()}
        ratings = self.ratings_
        if isinstance(ratings, ShardedRatings):
            if ratings.folder is not None:
                return header | {"shards": ratings.folder}, arrays
            ratings = ratings.to_ratings()
        if ratings is not None:
            arrays |= {f"ratings.{name}": getattr(ratings, name) for name in ("indptr", "indices", "levels")}
            for name in ("times", "weights"):
                if getattr(ratings, name) is not None:
                    arrays[f"ratings.{name}"] = getattr(ratings, name)
        return header, arrays

    @classmethod
    def _from_state(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any]) -> Self:
        """Rebuild a model from what `_to_state` returned; whatever does not fit together is refused.

        Parameters
        ----------
        header, arrays
            What a file holds.
        models : mapping of str to type
            Classes that parameters and parts may have, by name.
        """
        from cofactor.ratings.shard_folder import StoredUsers

        model: Any = cls(**{name: from_plain(value, models) for name, value in member(header, "params", dict).items()})
        model.check_params()
        stored = (
            StoredUsers.open(member(header, "stored_users", Path), cls.__name__) if "stored_users" in header else None
        )
        model.users_, model.items_ = (
            stored.users if stored is not None and name not in header["ids"] else saved_ids(header, arrays, name)
            for name in ("users", "items")
        )
        model.ratings_, model.stored_users_ = None, stored
        saved = member(header, "learned", dict)
        there = {} if stored is None else {f"learned.{name}": array for name, array in stored.arrays.items()}
        model._restore({name: unpacked(value, there | arrays, models) for name, value in saved.items()})
        model._check_learned()
        if "coding" in header:
            model.rating_scale_ = RatingScale.of_state(header["coding"])
            if model.rating_scale_.scale != tuple(model.scale_):
                raise InvalidInputError("the rating scale has other levels than the ratings")
        model.updates_ = Updates.from_state(member(header, "updates", dict)) if "updates" in header else None
        if "ratings.indptr" in arrays:
            rows: dict[str, Any] = {name: arrays[f"ratings.{name}"] for name in ("indptr", "indices", "levels")}
            columns: dict[str, Any] = {name: arrays.get(f"ratings.{name}") for name in ("times", "weights")}
            checked = Ratings.from_csr(model.users_, model.items_, model.scale_, **rows, **columns)
            model.ratings_ = replace(checked, rating_scale=model.rating_scale_)
        if "shards" in header:
            model.ratings_, model.lost_ratings_ = _shards_of(model.users_, model.items_, member(header, "shards", Path))
        return model


def _without_ratings(value: Any) -> Any:
    """Return something learned, in which models do not keep their ratings."""
    if isinstance(value, list):
        return [_without_ratings(one) for one in value]
    return value.without_ratings() if isinstance(value, InteractionModel) else value


def _in_memory(value: Any) -> Any:
    """Return something learned with copies of all arrays that are mapped from a file."""
    from cofactor.ratings.shard_folder import copy_samples

    if isinstance(value, Mapping):
        return {name: _in_memory(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_in_memory(one) for one in value]
    return copy_samples(value) if isinstance(value, np.ndarray) and is_mapped(value) else value


def _shards_of(users: IdMap, items: IdMap, folder: Path) -> tuple[ShardedRatings | None, str]:
    """Return the ratings in shards which a model was fitted on; None, with a warning, and why they are not there."""
    from cofactor.ratings.shard_folder import GIVE_BACK
    from cofactor.ratings.sharded import ShardedRatings

    try:
        found = ShardedRatings.open(folder)
        if found.items == items and found.shape[0] == len(users):
            return found, ""
        why = f"those in {folder} have other users or items now"
    except InvalidInputError as error:
        why = str(InvalidInputError(error.problem, place=error.place))  # its advice is for who makes a folder
    except OSError as error:
        why = str(error)
    text = f"the ratings of this model are not as they were ({why}): it cannot leave out what users rated; {GIVE_BACK}"
    warnings.warn(LostRatingsWarning(text), stacklevel=callers_level())
    return None, why
