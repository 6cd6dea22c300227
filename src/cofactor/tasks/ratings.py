"""The task of ratings: users, items, and how much users like items."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np
from sklearn.base import clone

from cofactor import labels, ratings
from cofactor.errors import Argument, InvalidInputError, Place, Text
from cofactor.evaluation.protocols import measure_ratings
from cofactor.metrics import PROBABILITY_METRICS, RATING_METRICS
from cofactor.model.named_splits import parts_of, splitter_of
from cofactor.ratings import MMMF, Ensemble, ImplicitModel, RatingModel, Recommender
from cofactor.ratings.facts import facts_of, predicts_ratings
from cofactor.ratings.features import takes_features, with_new_items
from cofactor.tasks import rating_files
from cofactor.tasks.answers import RatingAnswers
from cofactor.tasks.base import Task
from cofactor.tasks.baselines import MostFrequentLevel, UserMedian
from cofactor.tasks.clusters import block_by_block
from cofactor.tasks.exclusions import read_exclusions
from cofactor.tasks.matching import match_ids, refuse_new
from cofactor.tasks.models import Wanted, assemble, short_names
from cofactor.tasks.options import RATINGS
from cofactor.tasks.places import about
from cofactor.tasks.plain import (
    Built,
    Column,
    Facts,
    Loaded,
    Progress,
    Protocol,
    Ranked,
    Request,
    Room,
    Settings,
    Table,
)
from cofactor.tasks.predicting import answers_of, check_predicts_on_workers, predictions
from cofactor.tasks.ranking import ranked
from cofactor.tasks.rating_facts import fit_facts, rating_model_of
from cofactor.tasks.rating_notes import interaction_notes, scale_notes
from cofactor.tasks.reasons import because, reasons, reasons_table
from cofactor.tasks.recommending import Lists, check_users, ranking_model, recommendations
from cofactor.tasks.rules import rules_of
from cofactor.tasks.side_features import check_taking, features_of, only_new, side_features
from cofactor.tasks.similarity import similar_columns, with_similar
from cofactor.typing import Listener

__all__ = ["RatingTask"]

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
    >>> "binary-mmmf" in task.models(), task.can("recommend"), task.can("similar")
    (True, True, True)
    """

    name = "ratings"
    options = RATINGS
    one_model, many_models = "model of ratings", "models of ratings"
    default_model = "recommender"
    tuned_model = "mmmf"  #: where a penalty, or a number of factors, is given, and no model
    compared_models = ("mmmf", "als")
    default_protocol, default_splits = "holdout", 3
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

    def read_for(self, model: Any, file: str, options: Mapping[str, Any]) -> Loaded:
        """Read new ratings, on the model's scale; see `Task.read_for`."""
        return rating_files.read_more(file, model, options, interactions=not predicts_ratings(model))

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
        wanted = Wanted(inner=inner, no_alpha="penalty to weigh", no_factors="number of factors")
        known = model.get_params()
        duplicates = settings.options.get("duplicates", "error")
        fixed = {"random_state": settings.seed, "duplicates": duplicates, "ratings__duplicates": duplicates}
        model.set_params(**{name: value for name, value in fixed.items() if name in known})
        return assemble(model, replace(settings, params=params), wanted)

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
            rating = model._rating_kind() if rating == "auto" else self.find(str(rating))()
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
        return fitted, fit_facts(fitted, loaded, seconds, notes)

    def predict(self, model: Any, file: str, options: Mapping[str, Any], called: str = "the model") -> Table:
        """Predict the ratings of the pairs in a file; see `Task.predict`."""
        model = rating_model_of(model, called)
        if options["proba"]:
            self._require_probabilities(model, "proba", called)
        if options["scheduler"] is not None:
            check_predicts_on_workers(options, called)
        pairs = rating_files.read_rating_pairs(file, model, options)

        def tables() -> Iterator[Table]:
            asking = partial(answers_of, options)
            with block_by_block(options["scheduler"], "predict", asking, model, called) as each:
                yield from predictions(each, model, *pairs, options)

        return Table.of_blocks(tables())

    def fold_in(self, model: Any, file: str | None, options: Mapping[str, Any]) -> Built:
        """Return a model for the users of a file, or for new ones whose features a file has; see `Task.fold_in`."""
        features = side_features(model, "user_features", options)
        if file is None:
            return Built(model.fold_in(user_features=features and only_new(model, features)))
        data, notes = rating_files.read_new_users(file, model, options, interactions=not predicts_ratings(model))
        if data.holds_interactions:
            if not isinstance(model, Recommender | ImplicitModel):
                advice: Any = (
                    "name their column with ",
                    Argument("rating"),
                    "; a recommender also folds in interactions",
                )
                raise InvalidInputError("holds no ratings, which this model needs", advice=advice, place=Place(file))
            with about(file):
                return Built(model.fold_in(data, known=options["known"]), notes)
        of_users: dict[str, Any] = {} if features is None else {"user_features": features}
        of_users["known"] = options["known"]
        with about(file):
            return Built(model.fold_in(data.X, data.y, time=data.timestamps, **of_users), notes)

    def recommend(self, model: Any, request: Request, options: Mapping[str, Any], called: str = "the model") -> Table:
        """Recommend items to users of a model, or to new ones after `fold_in`; see `Task.recommend`."""
        model = ranking_model(model, request)
        if not isinstance(model, Recommender | ImplicitModel):
            for name in ("at_least", "quantile"):
                if getattr(request, name) is not None:
                    self._require_probabilities(model, name, called)
        allowed, titles = None, None
        notes: tuple[Text, ...] = ()
        of_items = side_features(model, "item_features", options)
        new = None if of_items is None else only_new(model, of_items)
        if new is not None and not isinstance(model, Recommender):
            model, new = with_new_items(model, new), None
        if request.candidates is not None:
            allowed, notes = rating_files.read_candidates(request.candidates, model, request.encoding, new)
        if request.titles is not None:
            items = model.items_.ids if new is None else np.append(model.items_.ids, new.ids.ids)
            titles, more = rating_files.titles_of(items, request.titles, request.encoding)
            notes = (*notes, *more)
        folding = request.ratings is not None or options["user_features"] is not None
        rules: dict[str, Any] = {**rules_of(model, request, folding=folding, new=new)}
        if folding:
            folded = self.fold_in(model, request.ratings, options)
            model, notes = folded.model, (*notes, *folded.notes)
        ids: Any = model.users_.ids
        if request.users is not None:
            ids = np.array([*match_ids(request.users, model.users_), None], dtype=object)[:-1]
            check_users(ids.tolist(), model, request.ratings or options["user_features"])
        if request.exclude is not None:
            rules["exclude"], more = read_exclusions(request.exclude, model, request.encoding)
            notes = (*notes, *more)
        if request.why:
            model._require_ratings(("what raises a score is among them: ",))
        lists = Lists.asked(request, allowed, new, rules)

        def tables() -> Iterator[Table]:
            with block_by_block(request.scheduler, "recommend", lists, model, called) as each:
                for columns, more in recommendations(each, ids, request):
                    if titles is not None:
                        columns["title"] = [titles.get(str(item), "") for item in columns["item"]]
                    if request.why:
                        columns["because"] = because(model, columns["user"], columns["item"], titles)
                    yield Table("Recommendations", columns, notes=more)

        return Table.of_blocks(tables(), notes)

    def similar(self, model: Any, ids: Sequence[Any], n: int, options: Mapping[str, Any] | None = None) -> Table:
        """Return similar items, or users; see `Task.similar`."""
        given = {"side": "item", "titles": None, "encoding": "utf-8", "min_ratings": 5} | dict(options or {})
        side, titles = given["side"], given["titles"]
        model = with_similar(model, side)
        known = model.users_ if side == "user" else model.items_
        asked = match_ids(ids, known)
        refuse_new(asked, known, f"{side}s")
        columns = similar_columns(model, asked, n, side, given["min_ratings"])
        notes: tuple[Text, ...] = ()
        if titles is not None:
            by_id, notes = rating_files.titles_of(known.ids, titles, given["encoding"])
            columns["title"] = [by_id.get(str(one), "") for one in columns["similar"]]
        return Table(f"Similar {side}s", columns, notes=notes)

    def explain(self, model: Any, of: Any, item: Any, n: int = 10, options: Mapping[str, Any] | None = None) -> Table:
        """Return which ratings of a user raise or lower the scores of items; see `Task.explain`."""
        given = {"titles": None, "encoding": "utf-8"} | dict(options or {})
        (user,), items = match_ids([of], model.users_), match_ids(item, model.items_)
        refuse_new([user], model.users_, "users")
        refuse_new(items, model.items_, "items")
        found = reasons(model, user, items)
        if given["titles"] is None:
            return reasons_table(found, n, None)
        titles, notes = rating_files.titles_of(model.items_.ids, given["titles"], given["encoding"] or "utf-8")
        return replace(reasons_table(found, n, titles), notes=notes)

    def update(self, model: Any, loaded: Loaded, options: Mapping[str, Any] | None = None) -> Any:
        """Return a copy of a model that has taken in new ratings; see `Task.update`."""
        features: dict[str, Any] = dict(features_of(loaded.ready, options or {}))
        with about(loaded.file):
            return copy.copy(model).update(loaded.ready, again=bool((options or {}).get("again")), **features)

    def describe(self, model: Any) -> Facts:
        """Return sizes, scale and effort of a fitted model."""
        return facts_of(model)

    def answers(self, model: Any, titles: Mapping[str, str] | None = None) -> RatingAnswers:
        """Return what answers questions to a fitted model; see `Task.answers`."""
        if not self.owns(model):
            raise InvalidInputError(f"{type(model).__name__} is no {self.one_model}")
        return RatingAnswers(model, titles)

    def _require_probabilities(self, model: Any, option: str, called: str) -> None:
        """Refuse a model without probabilities of levels; the message names the models that have them."""
        if not hasattr(model, "predict_proba"):
            having = ", ".join(name for name, kind in self.models().items() if hasattr(kind(), "predict_proba"))
            kind = f"{called} is a model of {type(model).__name__}, without probabilities"
            raise InvalidInputError((Argument(option), f": {kind}; {having} have them"))

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
        listen: Callable[[Progress], None] | None = None,
    ) -> Ranked:
        """Measure recommendations; see `Task.rank`."""
        ready, notes = self.prepared(models, loaded, settings)
        self.warm_up(list(ready.values()), loaded)
        return ranked(ready, loaded, protocol, listen, notes)

    def baselines(self, loaded: Loaded, settings: Settings) -> dict[str, Any]:
        """Return the most frequent level, and the median of each user."""
        scale = loaded.data.scale
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
