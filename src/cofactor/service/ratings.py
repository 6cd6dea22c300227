"""The task of ratings: users, items, and how much users like items."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from cofactor import labels, ratings
from cofactor.errors import Argument, InvalidInputError, Place, Text
from cofactor.evaluation.protocols import measure_ratings
from cofactor.evaluation.recommendations import evaluate_recommendations
from cofactor.metrics import PROBABILITY_METRICS, RATING_METRICS
from cofactor.model.facts import Facts
from cofactor.model.named_splits import parts_of, splitter_of
from cofactor.model.times import pairs_for
from cofactor.ratings import MMMF, Ensemble, ImplicitModel, RatingModel, Recommender
from cofactor.ratings.facts import facts_of
from cofactor.ratings.features import takes_features
from cofactor.service import rating_files
from cofactor.service.base import Task, about
from cofactor.service.baselines import MostFrequentLevel, UserMedian
from cofactor.service.models import assemble, short_names
from cofactor.service.options import RATINGS
from cofactor.service.rating_files import (
    check_taking,
    features_of,
    interaction_notes,
    scale_notes,
)
from cofactor.service.rating_service import RatingService
from cofactor.service.results import Built, Column, EvaluationProgress, Loaded, Protocol, RankedResult, Room, Settings
from cofactor.text import plural
from cofactor.typing import Listener

_FEW = 200  #: ratings of a fit that only warms up

#: What stands above a measure in tables, where that is not its name.
_HEADINGS = {"mae": "MAE", "nmae": "NMAE", "rmse": "RMSE", "fre": "FRE", "rps": "RPS", "ece": "ECE"}
#: Measures that make room for those of probabilities.
_GIVING_WAY = ("nmae", "fre")


class RatingTask(Task):
    """What shells may ask about ratings; see `Task`.

    Examples
    --------
    >>> task = RatingTask()
    >>> "binary-mmmf" in task.models(), task.service.kind
    (True, 'ratings')
    """

    name = "ratings"
    options = RATINGS
    service = RatingService
    one_model, many_models = "model of ratings", "models of ratings"
    default_model = "recommender"
    tuned_model = "mmmf"  #: where a penalty, or a number of factors, is given, and no model
    compared_models = ("mmmf", "als")
    best = "mae"

    # ---------------------------------------------------------------- files and models

    def read(self, file: str, options: Mapping[str, Any], progress: Any = None) -> Loaded:
        """Read ratings, and refuse those which no model could take; see `Task.read`."""
        data, why = rating_files.read_rating_file(file, options, progress)
        duplicates = options["duplicates"]
        if data.holds_interactions:
            if "target" not in options and getattr(data, "kinds", None) is not None:
                data = replace(cast(Any, data), kinds=None)
                why += "; events of all kinds count alike here"
            ready = rating_files.checked_interactions(data, file, target=options.get("target"))
            data = replace(data, features=features_of(ready, options))
            return Loaded(file, data, ready, interaction_notes(data, ready, why, duplicates))
        data, notes = rating_files.with_latest(data) if duplicates == "last" else (data, ())
        ready = rating_files.checked_ratings(data, file, duplicates)
        notes = (*notes, *scale_notes(data, options))
        return Loaded(file, replace(data, features=features_of(ready, options)), ready, notes)

    def models(self) -> dict[str, type[Any]]:
        """Return the models by their names.

        Examples
        --------
        >>> {"als", "binary-mmmf", "gibbs-mmmf"} <= set(RatingTask().models())
        True
        """
        return short_names({**ratings.MODELS, **ratings.ranking.MODELS})

    def elsewhere(self) -> tuple[str, Iterable[str]]:
        """See `Task`."""
        return "label model", short_names(labels.MODELS)

    def owns(self, model: object) -> bool:
        """Return whether it is a model of ratings, or of interactions."""
        return isinstance(model, RatingModel | ImplicitModel | Recommender)

    def build(self, name: str, settings: Settings) -> Built:
        """Return the unfitted model that settings describe; see `Task.build`.

        For an ensemble, alpha and factors are those of its members, and the parameter ``estimator`` names their kind.
        For a recommender, factors are those of its rating model, which the parameter ``ratings`` names, and
        ``interactions`` names its implicit-feedback models.
        """
        params = dict(settings.params)
        kind, inner = self.find(name), ""
        if kind is Recommender:
            model, inner = self._recommender(params), "ratings__"
        elif kind is Ensemble:
            model, inner = Ensemble(self._member(params.pop("estimator", None))), "estimator__"
        else:
            model = kind()
        known = model.get_params()
        duplicates = settings.options.get("duplicates", "error")
        fixed = {"random_state": settings.seed, "duplicates": duplicates, "ratings__duplicates": duplicates}
        model.set_params(**{name: value for name, value in fixed.items() if name in known})
        lacking = {"alpha": "penalty to weigh", "factors": "number of factors"}
        return assemble(model, replace(settings, params=params), {}, inner, lacking)

    def default_models(self, settings: Settings, *, compared: bool = False, ranked: bool = False) -> tuple[str, ...]:
        """Return the models where none is asked for: one with a penalty, or factors, where these are given."""
        if compared:
            return ("recommender", "ease") if ranked else self.compared_models
        if settings.alpha != "auto" or settings.factors is not None:
            return (self.tuned_model,)
        return (self.default_model,)

    def _recommender(self, params: dict[str, Any]) -> Recommender:
        """Return a recommender of parts that parameters name; these are taken out of `params`."""
        asked = params.pop("interactions", None)
        names = [asked] if isinstance(asked, str) else asked
        model = Recommender(None if names is None else [self.find(str(one))() for one in names])
        rating: Any = params.pop("ratings", "auto")
        if rating is not None:
            rating = model.rating_kind() if rating == "auto" else self.find(str(rating))()
        return model.set_params(ratings=rating)

    def _member(self, name: str | None) -> Any:
        """Return the kind of the members of an ensemble, so that their parameters can be set by name."""
        if name is None:
            return MMMF(n_factors=8)
        member = self.find(str(name))
        return member(n_factors=8) if "n_factors" in member().get_params() else member()

    # ---------------------------------------------------------------- fit, and what a fitted model does

    def fit(self, model: Any, loaded: Loaded, settings: Settings, listen: Listener | None = None) -> tuple[Any, Facts]:
        """Fit a model of ratings; see `Task.fit`."""
        ready, notes = self.prepared({"": model}, loaded, settings)
        fitted = ready[""]
        if listen is not None:
            self.listen(fitted, listen)
        began = time.perf_counter()
        with about(loaded.file):
            fitted.fit(loaded.ready, **loaded.data.features)
        seconds = time.perf_counter() - began
        self.listen(fitted, None)
        return fitted, _fit_facts(fitted, loaded, seconds, notes)

    # ---------------------------------------------------------------- evaluation

    def metrics(self, models: Mapping[str, Any]) -> tuple[Column, ...]:
        """Return all measures of ratings; those of probabilities are shown where a model has such."""
        probable = any(hasattr(model, "predict_proba") for model in models.values())
        room: dict[str, Room] = dict.fromkeys(PROBABILITY_METRICS, "any" if probable else "none")
        room |= dict.fromkeys(_GIVING_WAY, "wide" if probable else "any") | {"rps": "none"}
        names = (*RATING_METRICS, *PROBABILITY_METRICS)
        headings = {name: _HEADINGS.get(name, name.replace("_", "-")) for name in names}
        measures = (Column(name, headings[name], 4, room.get(name, "any")) for name in names)
        return (*measures, Column("seconds", "seconds", 2))

    def splits(self, loaded: Loaded, protocol: Protocol) -> list[Any]:
        """Return training, fold-in and test rows of each split."""
        data = loaded.data
        splitter = splitter_of(
            protocol.name or self.default_protocol,
            n_splits=protocol.splits or self.default_splits,
            random_state=protocol.seed,
            test_size=protocol.test_size,
            test_users=protocol.options.get("test_users", 0.1),
            n_rows=data.n_ratings,
            times=data.timestamps,
            data=data.name,
        )
        return list(parts_of(splitter, data.X, data.y))

    def measure(
        self, model: Any, loaded: Loaded, parts: Any, keep: Callable[[Any], object] | None = None
    ) -> Mapping[str, dict[str, Any]]:
        """Measure a model on one split; see `Task.measure`."""
        if isinstance(model, ImplicitModel):
            message = f"{type(model).__name__} says who interacts with what, and predicts no ratings"
            advice = ("measure the lists that it recommends, with ", Argument("rank"))
            raise InvalidInputError(message, advice=advice)
        data = loaded.data
        times = None if data.timestamps is None else data.timestamps.astype(np.float64)
        beside = loaded.data.features if takes_features(model) else {}
        return {"": measure_ratings(model, data.X, data.y, parts, data.scale, times, keep, beside)}

    def suited(self, models: Mapping[str, Any], sets: Sequence[Loaded]) -> dict[str, Any]:
        """Return models as such data need them; refuse both kinds at once, and models of ratings for interactions."""
        interactions = [one for one in sets if one.data.holds_interactions]
        if not interactions:
            return dict(models)
        other = next((one for one in sets if not one.data.holds_interactions), None)
        if other is not None:
            advice = ("compare each kind by itself, or read all as interactions with ", Argument("implicit"))
            raise InvalidInputError(
                f"{interactions[0].name} holds interactions and {other.name} ratings", advice=advice
            )
        return {name: _for_data(model, interactions[0]) for name, model in models.items()}

    def ranks(self, loaded: Loaded, options: Mapping[str, Any]) -> bool:
        """Return whether lists are measured: if asked for, and of interactions always."""
        return bool(options.get("rank")) or loaded.data.holds_interactions

    def rank(
        self,
        models: Mapping[str, Any],
        loaded: Loaded,
        protocol: Protocol,
        settings: Settings,
        listen: Callable[[EvaluationProgress], None] | None = None,
    ) -> RankedResult:
        """Measure recommendations; see `Task.rank`."""
        ready, notes = self.prepared(models, loaded, settings)
        self.warm_up(list(ready.values()), loaded)
        data, options, name = loaded.data, protocol.options, protocol.name or "per-user"
        splitter_of(name, times=data.timestamps, data=data.name)  # so that errors name the file
        if data.holds_interactions and options["likes"] is not None:
            advice = "leave it out: every item with an interaction is relevant"
            found = options["likes"]
            raise InvalidInputError("there are no ratings", argument="likes", found=found, advice=advice)

        def show(model: str, done: int, total: int) -> None:
            if listen is not None:
                listen(EvaluationProgress(model, done // (len(ready) + 1) + 1, done, total))

        found = evaluate_recommendations(
            ready,
            data.X,
            None if data.holds_interactions else data.y,
            name,
            protocol.splits or 1,
            protocol.seed,
            at=options["at"],
            likes=options["likes"],
            auc=options["auc"],
            test_size=protocol.test_size,
            test_users=options["test_users"],
            time=data.timestamps,
            counts=data.y if data.holds_interactions else None,
            **data.features,
            progress=show,
        )
        splits, left_out = found.facts["splits"], found.facts["users_left_out"]
        if left_out:
            users = plural(left_out, "user", form=",")
            notes = (*notes, f"{users} of test parts were not in training, and are left out")
        if options["likes"] is None and not data.holds_interactions:
            notes = (
                *notes,
                ("every item with an interaction is relevant; ", Argument("likes"), " counts only what was liked"),
            )
        likes = "" if options["likes"] is None else f", liked from {options['likes']:g}"
        return RankedResult(
            title=f"{loaded.name}: {name}, {plural(splits, 'split')}, seed {protocol.seed}{likes}",
            facts={"data": loaded.name, "protocol": name, "seed": protocol.seed, **found.facts},
            summary=found.summary(),
            text=found.text,
            notes=notes,
        )

    def baselines(self, loaded: Loaded | None, settings: Settings) -> dict[str, Any]:
        """Return the most frequent level, and the median of each user."""
        scale = None if loaded is None else loaded.data.scale
        return {"most frequent": MostFrequentLevel(scale), "user median": UserMedian(scale)}

    def prepared(
        self, models: Mapping[str, Any], loaded: Loaded, settings: Settings
    ) -> tuple[dict[str, Any], tuple[Text, ...]]:
        """Return copies of models that know the scale of the data; see `Task.prepared`."""
        ready = {name: _for_data(model, loaded) for name, model in models.items()}
        beside = check_taking(
            {name or type(model).__name__: model for name, model in ready.items()}, loaded.data.features
        )
        as_interactions = () if loaded.data.holds_interactions else _note_interactions(ready.values())
        return ready, (
            *loaded.notes,
            *beside,
            *as_interactions,
            *_note_factors(settings.factors, ready.values(), loaded),
        )

    def warm_up(self, models: Sequence[Any], loaded: Loaded) -> None:
        """Fit every model to a few ratings; see `Task.warm_up`."""
        # The first ratings may all be of one level: one of each level is among these.
        one_each = np.unique(loaded.data.y, return_index=True)[1]
        few = np.union1d(np.arange(min(_FEW, loaded.data.n_ratings)), one_each)
        for model in models:
            if isinstance(model, ImplicitModel) or loaded.data.holds_interactions:
                clone(model).fit(loaded.data.X[few])
                continue
            alphas = {name: 1.0 for name in model.get_params() if name.split("__")[-1] == "alpha"}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                bare = replace(loaded, data=replace(loaded.data, features={}))  # features may not know these users
                self.measure(clone(model).set_params(**alphas), bare, (few, None, few))


def _for_data(model: Any, loaded: Loaded) -> Any:
    """Return a copy of a model, ready for interactions or for the scale of ratings; refuse one that cannot learn."""
    data, ready = loaded.data, clone(model)
    if data.holds_interactions:
        if isinstance(model, RatingModel):
            taking = ", ".join(short_names(ratings.ranking.MODELS))
            message = (
                f"holds interactions, and {type(model).__name__} learns from ratings, what users like more and less"
            )
            advice: Any = (
                f"models of interactions are {taking}; or name the column of ratings with ",
                Argument("rating"),
            )
            advice = (*advice, ", or cut counts into levels with ", Argument("bins", 5))
            raise InvalidInputError(message, advice=advice, place=Place(loaded.name))
        return ready.set_params(ratings=None) if isinstance(model, Recommender) else ready
    known = ready.get_params()
    return ready.set_params(**{name: data.scale for name in ("levels", "ratings__levels") if name in known})


def _note_interactions(models: Iterable[Any]) -> tuple[Text, ...]:
    """Say which models pass ratings over, and learn only who interacted with what."""
    names = [type(model).__name__ for model in models if isinstance(model, ImplicitModel)]
    if not names:
        return ()
    who = f"{', '.join(names)} {'learns' if len(names) == 1 else 'learn'}"
    return (f"{who} from what users interacted with, whatever the ratings say; a recommender learns from both",)


def _note_factors(factors: int | str | None, models: Iterable[Any], loaded: Loaded) -> tuple[Text, ...]:
    """Say how many factors are used where more were asked for than a product of factors can have.

    Models with probabilities use all: their factors are more than a product.
    """
    n_users, n_items = loaded.ready.shape
    most = min(n_users, n_items)
    if not isinstance(factors, int) or factors <= most or all(hasattr(model, "predict_proba") for model in models):
        return ()
    size = f"{n_users:,} users × {n_items:,} items"
    return ((Argument("factors", factors), f" is more than the smaller side of {size}; at most {most:,} are used"),)


def _fit_facts(model: Any, loaded: Loaded, seconds: float, notes: tuple[Any, ...]) -> Facts:
    """Describe a model that was just fitted.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    loaded : Loaded
        To what.
    seconds : float
        How long it took.
    notes : tuple of Text
        What the user should also know.
    """
    data, about_it = loaded.data, facts_of(model)
    what = "interactions" if data.holds_interactions else "ratings"
    dropped = {"dropped": data.n_dropped} if data.n_dropped and not data.holds_interactions else {}
    error = _training_error(model, data)
    values = {
        **about_it.values,
        "data": data.name,
        what: model.ratings_.n_ratings,
        **dropped,
        "seconds": round(seconds, 3),
        **({} if error is None else {"train_mae": error}),
    }
    shown = {
        **about_it.shown,
        what: f"{values[what]:,}",
        **{name: f"{n:,} ratings" for name, n in dropped.items()},
        "seconds": f"{seconds:.2f}",
        **({} if error is None else {"training MAE": f"{error:.4f}"}),
    }
    first = ("users", "items", what, "dropped", "levels", "meaning", "seconds")
    order = [name for name in first if name in shown]
    ordered = {name: shown[name] for name in (*order, *(name for name in shown if name not in order))}
    return Facts(f"{values['model']} fitted to {data.name}", values, ordered, notes)


def _training_error(model: Any, data: Any) -> float | None:
    """Return the mean absolute error on the ratings of the fit; None of a model that predicts none."""
    if not model.predicts_ratings:
        return None
    times = None if data.timestamps is None else data.timestamps.astype(np.float64)
    return float(-model.score(pairs_for(model, data.X, times), data.y))
