"""The task of ratings: users, items, and how much users like items."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from cofactor import ratings
from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.evaluation.protocols import chosen_alpha, measure_ratings
from cofactor.metrics import PROBABILITY_METRICS, RATING_METRICS
from cofactor.model.named_splits import parts_of, splitter_of
from cofactor.model.times import pairs_for
from cofactor.ratings import MMMF, RatingModel
from cofactor.ratings.described import with_new_items
from cofactor.tasks import rating_files
from cofactor.tasks.base import Task, about
from cofactor.tasks.baselines import MostFrequentLevel, UserMedian
from cofactor.tasks.matching import match_ids
from cofactor.tasks.models import Wanted, assemble, short_names
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
from cofactor.tasks.ranking import ranked
from cofactor.tasks.reasons import because, reasons_table
from cofactor.tasks.side_features import asked, check_taking, features_of, only_new, side_features, takes_features
from cofactor.tasks.words import numbers, shortest
from cofactor.text import counted
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
    one_model, many_models = "model of ratings", "models of ratings"
    default_model = "mmmf"
    compared_models = ("mmmf", "als")
    default_protocol, default_splits = "holdout", 3
    best = "mae"

    # ---------------------------------------------------------------- files and models

    def read(self, file: str, options: Mapping[str, Any], progress: Any = None) -> Loaded:
        """Read ratings, and refuse those which no model could take; see `Task.read`."""
        data = rating_files.read_rating_file(file, options, progress)
        duplicates = options["duplicates"]
        data, notes = rating_files.with_latest(data) if duplicates == "last" else (data, ())
        ready = rating_files.checked_ratings(data, file, duplicates)
        notes = (*notes, *rating_files.scale_notes(data, options))
        return Loaded(file, replace(data, features=features_of(ready, options)), ready, notes)

    def read_for(self, model: Any, file: str, options: Mapping[str, Any]) -> Loaded:
        """Read new ratings, on the model's scale; see `Task.read_for`."""
        return rating_files.read_more(file, model, options)

    def models(self) -> dict[str, type[Any]]:
        """Return the models by their names.

        Examples
        --------
        >>> {"als", "binary-mmmf", "gibbs-mmmf"} <= set(RatingTask().models())
        True
        """
        return short_names(ratings.MODELS)

    def owns(self, model: object) -> bool:
        """Return whether it is a model of ratings."""
        return isinstance(model, RatingModel)

    def build(self, name: str, settings: Settings) -> Built:
        """Return the unfitted model that settings describe; see `Task.build`.

        For an ensemble, alpha and factors are those of its members, and the parameter ``estimator`` names their kind.
        """
        params = dict(settings.params)
        kind = self.find(name)
        ensemble = kind.__name__ == "Ensemble"
        model = kind(self._member(params.pop("estimator", None))) if ensemble else kind()
        wanted = Wanted(
            inner="estimator__" if ensemble else "",
            no_alpha="penalty to weigh",
            no_factors="number of factors",
        )
        known = model.get_params()
        fixed = {"random_state": settings.seed, "duplicates": settings.options.get("duplicates", "error")}
        model.set_params(**{name: value for name, value in fixed.items() if name in known})
        return assemble(model, replace(settings, params=params), wanted)

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

    def predict(self, model: Any, file: str, options: Mapping[str, Any], called: str = "the model") -> Table:
        """Predict the ratings of the pairs in a file; see `Task.predict`."""
        if options["proba"]:
            self._require_probabilities(model, "proba", called)
        X, times = rating_files.read_rating_pairs(file, model, options)
        asking = asked(model, X, options, times)
        columns: dict[str, Any] = {
            "user": X[:, 0],
            "item": X[:, 1],
            **_with_meaning(model, asking.answers("predict")),
            "score": shortest(asking.answers("decision_function")),
        }
        if options["proba"]:
            chances = zip(model.scale_.tolist(), asking.answers("predict_proba").T, strict=True)
            columns |= {f"p_{level:g}": column for level, column in chances}
        unknown = asking.n_unknown()
        notes: tuple[Text, ...] = ()
        if unknown:
            share = f"{unknown:,} of {len(X):,}; they are predicted as for an average one"
            notes = (f"pairs with a user or an item that was not in training: {share}",)
        return Table("Predictions", columns, notes=notes)

    def fold_in(self, model: Any, file: str | None, options: Mapping[str, Any]) -> Built:
        """Return a model for the users of a file, or for new ones whose features a file has; see `Task.fold_in`."""
        features = side_features(model, "user_features", options)
        if file is None:
            return Built(model.fold_in(user_features=features and only_new(model, features)))
        data, notes = rating_files.read_new_users(file, model, options)
        of_users = {"user_features": features, "known": options["known"]}
        with about(file):
            return Built(model.fold_in(data.X, data.y, time=data.timestamps, **of_users), notes)

    def recommend(self, model: Any, request: Request, options: Mapping[str, Any], called: str = "the model") -> Table:
        """Recommend items to users of a model, or to new ones after `fold_in`; see `Task.recommend`."""
        ranking = {name: getattr(request, name) for name in ("at_least", "quantile")}
        ranking = {name: value for name, value in ranking.items() if value is not None}
        if len(ranking) > 1:
            both = (Argument("at_least"), " and ", Argument("quantile"))
            raise InvalidInputError((*both, " both say how to rank: give one of them"))
        for name in ranking:
            self._require_probabilities(model, name, called)
        allowed, titles = None, None
        notes: tuple[Text, ...] = ()
        of_items = side_features(model, "item_features", options)
        if of_items is not None:
            model = with_new_items(model, only_new(model, of_items))
        if request.candidates is not None:
            allowed, notes = rating_files.read_candidates(request.candidates, model, request.encoding)
        if request.titles is not None:
            titles = rating_files.read_titles(request.titles, request.encoding)
        if request.ratings is not None or options["user_features"] is not None:
            folded = self.fold_in(model, request.ratings, options)
            model, notes = folded.model, (*notes, *folded.notes)
        ids = model.users_.ids.tolist() if request.users is None else match_ids(request.users, model.users_)
        _check_users(ids, model, request.ratings or options["user_features"])
        seen = not request.include_seen
        items, scores = model.recommend(ids, request.n, exclude_seen=seen, candidates=allowed, **ranking)
        columns = _recommendations(model, ids, items, scores)
        if titles is not None:
            columns["title"] = [titles.get(str(item), "") for item in columns["item"]]
        if request.why:
            model._require_ratings(("what raises a score is among them: save it with ratings=True",))
            columns["because"] = because(model, columns["user"], columns["item"], titles)
        return Table("Recommendations", columns, notes=notes)

    def similar(self, model: Any, ids: Sequence[Any], n: int, options: Mapping[str, Any] | None = None) -> Table:
        """Return similar items, or users; see `Task.similar`."""
        given = {"side": "item", "titles": None, "encoding": "utf-8", "min_ratings": 5} | dict(options or {})
        side, titles = given["side"], given["titles"]
        if not hasattr(model, "similar_items"):
            raise InvalidInputError(
                f"{type(model).__name__} has no factors by which {side}s are similar: models such as ALS, MMMF and "
                "OrdinalProbit have"
            )
        known = model.users_ if side == "user" else model.items_
        asked = match_ids(ids, known)
        find = model.similar_users if side == "user" else model.similar_items
        found, similarities = find(asked, n, min_ratings=given["min_ratings"])
        there = np.isfinite(similarities)
        columns = {
            side: [one for one, row in zip(asked, there, strict=True) for _ in range(int(row.sum()))],
            "rank": np.broadcast_to(np.arange(1, n + 1), there.shape)[there],
            "similar": found[there].tolist(),
            "similarity": shortest(similarities[there]),
        }
        if titles is not None:
            by_id = rating_files.read_titles(titles, given["encoding"])
            columns["title"] = [by_id.get(str(one), "") for one in columns["similar"]]
        return Table(f"Similar {side}s", columns)

    def explain(self, model: Any, of: Any, item: Any, n: int = 10, options: Mapping[str, Any] | None = None) -> Table:
        """Return which ratings of a user raise or lower the scores of items; see `Task.explain`."""
        given = {"titles": None, "encoding": "utf-8"} | dict(options or {})
        (user,) = match_ids([of], model.users_)
        found = model.explain(user, match_ids(item, model.items_))
        titles = given["titles"]
        by_id = None if titles is None else rating_files.read_titles(titles, given["encoding"] or "utf-8")
        return reasons_table(found, n, by_id)

    def update(self, model: Any, loaded: Loaded, options: Mapping[str, Any] | None = None) -> Any:
        """Return a copy of a model that has taken in new ratings; see `Task.update`."""
        features: dict[str, Any] = dict(features_of(loaded.ready, options or {}))
        with about(loaded.file):
            return copy.copy(model).update(loaded.ready, **features)

    def describe(self, model: Any) -> Facts:
        """Return sizes, scale and effort of a fitted model."""
        values = {
            "model": type(model).__name__,
            "users": len(model.users_),
            "items": len(model.items_),
            "levels": model.scale_.tolist(),
            **({} if model.coding_ is None else {"meanings": model.coding_.names()}),
            **_effort(model),
            "alpha": chosen_alpha(model),
            **_since_the_fit(model),
        }
        shown = {
            "users": f"{values['users']:,}",
            "items": f"{values['items']:,}",
            "levels": numbers(values["levels"], "g"),
            **_meanings(values),
            **_effort_in_words(values),
            **_updates_in_words(values),
        }
        due = ("a tenth or more of the ratings came after the fit: fit a model to all of them",)
        return Facts(values["model"], values, shown, due if values.get("refit_due") else ())

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
        data = loaded.data
        times = None if data.timestamps is None else data.timestamps.astype(np.float64)
        beside = loaded.data.features if takes_features(model) else {}
        return {"": measure_ratings(model, data.X, data.y, parts, data.scale, times, keep, beside)}

    def rank(
        self,
        models: Mapping[str, Any],
        loaded: Loaded,
        protocol: Protocol,
        settings: Settings,
        listen: Callable[[Progress], None] | None = None,
    ) -> Ranked:
        """Measure recommendations; see `Task.rank`."""
        if loaded.data.features:
            named = (Argument(name) for name in loaded.data.features)
            raise InvalidInputError((next(named), " does not go with ", Argument("rank"), ": leave it out"))
        ready, notes = self.prepared(models, loaded, settings)
        self.warm_up([model for model in ready.values() if hasattr(model, "predict")], loaded)
        return ranked(ready, loaded, protocol, listen, notes)

    def baselines(self, loaded: Loaded, settings: Settings) -> dict[str, Any]:
        """Return the most frequent level, and the median of each user."""
        scale = loaded.data.scale
        return {"most frequent": MostFrequentLevel(scale), "user median": UserMedian(scale)}

    def prepared(
        self, models: Mapping[str, Any], loaded: Loaded, settings: Settings
    ) -> tuple[dict[str, Any], tuple[Text, ...]]:
        """Return copies of models that know the scale of the data; see `Task.prepared`."""
        ready = {name: clone(model).set_params(levels=loaded.data.scale) for name, model in models.items()}
        beside = check_taking(
            {name or type(model).__name__: model for name, model in ready.items()}, loaded.data.features
        )
        return ready, (*loaded.notes, *beside, *_note_factors(settings.factors, ready.values(), loaded))

    def warm_up(self, models: Sequence[Any], loaded: Loaded) -> None:
        """Fit every model to a few ratings; see `Task.warm_up`."""
        # The first ratings may all be of one level: one of each level is among these.
        one_each = np.unique(loaded.data.y, return_index=True)[1]
        few = np.union1d(np.arange(min(_FEW, loaded.data.n_ratings)), one_each)
        for model in models:
            alphas = {name: 1.0 for name in model.get_params() if name.split("__")[-1] == "alpha"}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                bare = replace(loaded, data=replace(loaded.data, features={}))  # features may not know these users
                self.measure(clone(model).set_params(**alphas), bare, (few, None, few))


def _fit_facts(model: Any, loaded: Loaded, seconds: float, notes: tuple[Text, ...]) -> Facts:
    """Describe a model that was just fitted."""
    data, about_it = loaded.data, RatingTask().describe(model)
    times = None if data.timestamps is None else data.timestamps.astype(np.float64)
    training_error = -model.score(pairs_for(model, data.X, times), data.y)
    dropped = {"dropped": data.n_dropped} if data.n_dropped else {}
    values = {
        **about_it.values,
        "data": data.name,
        "ratings": model.ratings_.n_ratings,
        **dropped,
        "seconds": round(seconds, 3),
        "train_mae": training_error,
    }
    shown = {
        **about_it.shown,
        "ratings": f"{values['ratings']:,}",
        **{name: f"{n:,} ratings" for name, n in dropped.items()},
        "seconds": f"{seconds:.2f}",
        "training MAE": f"{training_error:.4f}",
    }
    order = [name for name in ("users", "items", "ratings", "dropped", "levels", "meaning", "seconds") if name in shown]
    ordered = {name: shown[name] for name in (*order, *(name for name in shown if name not in order))}
    return Facts(f"{values['model']} fitted to {data.name}", values, ordered, notes)


def _meanings(values: Mapping[str, Any]) -> dict[str, str]:
    """Return what the levels stand for, where the model knows it."""
    if "meanings" not in values:
        return {}
    pairs = zip(values["levels"], values["meanings"], strict=True)
    return {"meaning": ", ".join(f"{level:g} = {meaning}" for level, meaning in pairs)}


def _with_meaning(model: Any, found: NDArray[Any]) -> dict[str, Any]:
    """Return the columns of predictions: ratings, and what they stand for where the model knows it."""
    meaning = {} if model.coding_ is None else {"meaning": model.coding_.named(found)}
    return {"prediction": found, **meaning}


def _effort(model: Any) -> dict[str, Any]:
    """Return the iterations; of a sampled model its factors, sweeps, and the memory of its samples."""
    samples = getattr(model, "samples_", None)
    if samples is None:
        return {"iterations": iterations(model)}
    chosen = {"factors": int(model.n_factors_)} if hasattr(model, "n_factors_") else {}
    return chosen | {
        "sweeps": int(model.n_iter_),
        "burn_in": int(model.burn_in),
        "chains": len(model.chains_),
        "samples": len(next(iter(samples.values()))),
        "sample_bytes": sum(array.nbytes for array in samples.values()),
    }


def iterations(model: Any) -> list[int]:
    """Return the iterations, or sweeps, of a fitted model: one number, or one for each stage or member.

    Parameters
    ----------
    model : RatingModel
        Fitted.
    """
    parts = getattr(model, "members_", None) or getattr(model, "stages_", None)
    if parts:
        return [sum(iterations(part)) for part in parts]
    return [int(model.n_iter_)]


def _since_the_fit(model: Any) -> dict[str, Any]:
    """Return what was taken into a model after it was fitted, if anything."""
    taken = model.updates_
    if taken is None or not taken.n_updates:
        return {}
    return {"updates": taken.n_updates, "new_ratings": taken.n_new, "refit_due": model.refit_due_}


def _updates_in_words(values: Mapping[str, Any]) -> dict[str, str]:
    if "updates" not in values:
        return {}
    news = f"{counted(values['new_ratings'], 'rating', form=',')} in {counted(values['updates'], 'update')}"
    return {"since the fit": news}


def _effort_in_words(values: Mapping[str, Any]) -> dict[str, str]:
    words = {}
    if "factors" in values:
        words["factors"] = str(values["factors"])
    if "sweeps" in values:
        chains = f" of {values['chains']} chains" if values["chains"] > 1 else ""  # after an update they are gone
        words["sweeps"] = f"{values['sweeps']:,}{chains}, the first {values['burn_in']:,} burn-in"
        words["samples kept"] = f"{values['samples']:,} ({values['sample_bytes'] / 1e6:,.1f} MB of memory)"
    else:
        words["iterations"] = numbers(values["iterations"], ",")
    alpha = values["alpha"]
    if alpha is not None:  # not every model has a penalty
        words["alpha"] = numbers(alpha, ".4g") if isinstance(alpha, list) else f"{alpha:.4g}"
    return words


def _note_factors(factors: int | None, models: Iterable[Any], loaded: Loaded) -> tuple[Text, ...]:
    """Say how many factors are used where more were asked for than a product of factors can have.

    Models with probabilities use all: their factors are more than a product.
    """
    n_users, n_items = loaded.ready.shape
    most = min(n_users, n_items)
    if factors is None or factors <= most or all(hasattr(model, "predict_proba") for model in models):
        return ()
    size = f"{n_users:,} users × {n_items:,} items"
    return ((Argument("factors", factors), f" is more than the smaller side of {size}; at most {most:,} are used"),)


def _check_users(ids: list[Any], model: Any, file: str | None) -> None:
    """Refuse users that a model does not know."""
    known = model.users_.index(ids)
    if (known < 0).any():
        unknown = ids[int((known < 0).argmax())]
        if file is not None:
            raise InvalidInputError(f"is not in {file}", argument="users", found=unknown)
        advice = ("give ratings of new users with ", Argument("ratings"))
        raise InvalidInputError("was not in training", argument="users", found=unknown, advice=advice)


def _recommendations(model: Any, ids: list[Any], items: NDArray[Any], scores: NDArray[Any]) -> dict[str, Any]:
    """Return the columns of recommendations; where a user has fewer than n items, the rest is left out."""
    found = np.isfinite(scores)
    users = np.empty(items.shape, dtype=object)
    users[:] = np.array([*ids, None], dtype=object)[:-1, None]
    ranks = np.broadcast_to(np.arange(1, items.shape[1] + 1), items.shape)
    pairs = np.column_stack([users[found], items[found].astype(object)])
    latest = None if model._now is None else np.full(len(pairs), model._now)
    predictions = {"prediction": np.empty(0)}
    if len(pairs):
        predictions = _with_meaning(model, model.predict(pairs_for(model, pairs, latest)))
    return {
        "user": pairs[:, 0].tolist(),
        "rank": ranks[found],
        "item": pairs[:, 1].tolist(),
        "score": shortest(scores[found]),
        **predictions,
    }
