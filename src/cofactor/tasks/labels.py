"""The task of labels: instances, their features, and the tags that they have."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from cofactor import labels, ratings
from cofactor.datasets.registry import KNOWN
from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.evaluation.labels import decodings, measure_labels, unknown_labels
from cofactor.labels import LabelModel
from cofactor.labels.base import label_facts
from cofactor.labels.decisions import AUTO
from cofactor.metrics import LABEL_METRICS, LabelTally, micro_f1
from cofactor.model.convergence import NothingPredictedWarning, predicts_none
from cofactor.model.named_splits import splitter_of
from cofactor.tasks import label_files
from cofactor.tasks.base import Task
from cofactor.tasks.baselines import LabelFrequencies
from cofactor.tasks.label_answers import LabelAnswers
from cofactor.tasks.label_explaining import explanation_table
from cofactor.tasks.label_output import Answers, RowNames, ambiguous, columns_of_labels, records_of_labels, separator_of
from cofactor.tasks.label_rows import without_names
from cofactor.tasks.label_settings import OTHER_NAMES, decisions_of, known_estimator
from cofactor.tasks.matching import align_features
from cofactor.tasks.models import Wanted, assemble, short_names
from cofactor.tasks.options import LABELS
from cofactor.tasks.places import about
from cofactor.tasks.plain import Built, Column, Facts, Loaded, Measured, Progress, Protocol, Room, Settings, Table
from cofactor.text import counted, few, folded
from cofactor.typing import Listener

__all__ = ["LabelTask"]

_TALLY = "by label"  #: where `measure` puts the counts of labels, which are no measure
_FEW = 40  #: instances of a fit that only warms up

#: What stands above a measure in tables, where that is not its name.
_HEADINGS = {
    "hamming": "Hamming",
    "accuracy": "accur.",
    "subset_accuracy": "subset",
    "example_f1": "ex. F1",
    "macro_f1": "macro",
    "micro_f1": "micro",
    "log_loss": "log-loss",
    "ece": "ECE",
}
#: Measures for which tables have no room.
_NOT_SHOWN = frozenset(
    {
        *("label_accuracy", "example_mcc", "macro_mcc", "micro_mcc"),
        *("one_error", "coverage", "ranking_loss", "average_precision"),
        *("precision_at_1", "precision_at_3", "ndcg_at_3", "precision_at_5", "ndcg_at_5"),
    }
)


class Split(NamedTuple):
    """One split of instances, as `LabelTask.measure` takes it."""

    train: NDArray[Any]
    test: NDArray[Any]
    by_label: bool = False  # whether to measure each label too


class LabelTask(Task):
    """What shells may ask about labels; see `Task`.

    LabelRidge is the default model: it chooses its settings by exact leave-one-out in the fit, so no part of the data
    is held out, and in seconds its micro-F1 is that of tuned models or better (see the benchmarks).

    Examples
    --------
    >>> task = LabelTask()
    >>> "binary-relevance" in task.models(), task.can("predict"), task.can("recommend")
    (True, True, False)
    """

    name = "labels"
    options = LABELS
    one_model, many_models = "label model", "label models"
    default_model = "label-ridge"
    compared_models = ("label-ridge", "mlknn")
    default_protocol, default_splits = "kfold", 5
    best, highest = "micro_f1", True
    other_names = OTHER_NAMES

    # ---------------------------------------------------------------- files and models

    def read(self, file: str, options: Mapping[str, Any], progress: Any = None) -> Loaded:
        """Read features and labels; see `Task.read`."""
        data = label_files.read_label_file(file, options)
        recipe = None if file in KNOWN else data.recipe  # what known sets hold is known
        said = () if recipe is None else (*recipe.notes(), *_fillings(data))
        return Loaded(file, data, notes=(*said, *_unknown(data)))

    def read_for(self, model: Any, file: str, options: Mapping[str, Any]) -> Loaded:
        """Read features and labels by the recipe of columns that a model holds; see `Task.read_for`."""
        data = label_files.read_labels_for(file, model, options)
        return Loaded(file, data, notes=(*_fillings(data), *_unknown(data)))

    def models(self) -> dict[str, type[Any]]:
        """Return the models by their names.

        Examples
        --------
        >>> "mlknn" in LabelTask().models()
        True
        """
        return short_names(labels.MODELS)

    def elsewhere(self) -> tuple[str, Iterable[str]]:
        """See `Task`."""
        return "model of ratings", short_names({**ratings.MODELS, **ratings.ranking.MODELS})

    def owns(self, model: object) -> bool:
        """Return whether it is a model of labels."""
        return isinstance(model, LabelModel)

    def build(self, name: str, settings: Settings) -> Built:
        """Return the unfitted model that settings describe; see `Task.build`.

        The parameter ``estimator`` of binary relevance is given by the name of a class.
        """
        if folded(name) in {folded(known) for known in labels.TRANSFORMERS}:
            advice = f"{self.many_models} are {', '.join(self.models())}"
            message = f"is a transformer of features, to be used from Python, in a Pipeline before a model; {advice}"
            raise InvalidInputError(message, argument="model", found=name)
        model = self.find(name)()
        params = dict(settings.params)
        if "estimator" in params and "estimator" in model.get_params(deep=False):
            model.set_params(estimator=known_estimator(model, str(params.pop("estimator"))))
        if "scale" in params and params["scale"] is None:  # the word "none" stands for None in other parameters
            params["scale"] = "none"
        decisions, notes = decisions_of(model, settings)
        fixed = {"random_state": settings.seed, **decisions}
        if settings.options.get("missing") == "ignore" and "missing" in model.get_params(deep=False):
            fixed["missing"] = "ignore"
        built = assemble(model, replace(settings, params=params), Wanted(fixed=fixed))
        return replace(built, notes=(*notes, *built.notes))

    def contestant(self, name: str, settings: Settings) -> Built:
        """Return a model, which chooses its open parameters by itself in each training part; see `Task.contestant`."""
        return self.build(name, settings)

    def name_of(self, model: Any) -> str:
        """Return the name of the class of a model."""
        return type(model).__name__

    # ---------------------------------------------------------------- fit, and what a fitted model does

    def fit(self, model: Any, loaded: Loaded, settings: Settings, listen: Listener | None = None) -> tuple[Any, Facts]:
        """Fit to all instances; the model chooses what the settings leave open by itself. See `Task.fit`."""
        data = loaded.data
        fitted: LabelModel = clone(model)
        if listen is not None:
            self.listen(fitted, listen)
        began = time.perf_counter()
        with about(loaded.file), warnings.catch_warnings():
            warnings.simplefilter("ignore", NothingPredictedWarning)  # a note says it with the names of options
            # With names, ids and the recipe, by which other files are matched.
            fitted.fit(data, recorded=settings.options.get("recorded"))
        seconds = time.perf_counter() - began
        self.listen(fitted, None)
        return fitted, _fit_facts(fitted, loaded, _choices(fitted), seconds)

    def predict(self, model: Any, file: str, options: Mapping[str, Any], called: str = "the model") -> Table:
        """Predict the labels of the instances in a file; see `Task.predict`."""
        top, scores, form = options["top"], options["scores"], options["form"]
        if top is not None and (scores or form == "table"):
            out = Argument("scores" if scores else "form")
            raise InvalidInputError(("writes labels with their scores: leave out ", out), argument="top", found=top)
        if options["proba"]:
            _require_probabilities(model, scores, called)
        if options["coverage"] is not None:
            _require_sets(model, options)
        data = label_files.read_features(file, model, options)
        plain = without_names(model)
        answers = Answers.of(plain, data.X, options)
        names = [str(name) for name in model.label_names_]
        rows = RowNames.of(data, options["id"] or getattr(getattr(model, "recipe_", None), "id", None))
        columns = columns_of_labels(plain, answers, names, options, rows)
        tags_only = top is None and not scores and not options["proba"] and form == "tags"
        return Table(
            "Predicted labels",
            columns,
            records=lambda: records_of_labels(answers, names, options, rows),
            fault=ambiguous(names, separator_of(model)) if tags_only else None,
            notes=(*rows.notes, *_fillings(data)),
        )

    def explain(self, model: Any, of: Any, item: Any, n: int = 10, options: Mapping[str, Any] | None = None) -> Table:
        """Return which features speak for and against labels of the instances in a file; see `Task.explain`."""
        options = self.values("explain", {}) if options is None else options
        data = label_files.read_features(of, model, options)
        rows = RowNames.of(data, options["id"] or getattr(getattr(model, "recipe_", None), "id", None))
        model._check_explains()
        found = without_names(model).explain(data.X, item, n_terms=n)
        heading = rows.heading_beside({name: 0 for name in found.columns if name != "instance"})
        notes = (*rows.notes, *_fillings(data))
        if "kernel" in model.get_params() and "instance" in found.columns["kind"]:
            by_features = ("fit with ", Argument("kernel", "linear"), ", and all terms are features")
            notes += (("a kernel compares instances with those of training, and names no features; ", *by_features),)
        numbered = getattr(model, "instance_ids_", None) is None
        table = explanation_table(found, data.feature_names, heading, rows.ids, numbered=numbered)
        return replace(table, notes=notes)

    def update(self, model: Any, loaded: Loaded, options: Mapping[str, Any] | None = None) -> Any:
        """Return a copy of a model that has learned from more instances, by its `partial_fit`; see `Task.update`.

        Data that `read_for` read by the model's recipe are taken as they are; of others features and labels are matched
        by name.
        """
        if not hasattr(model, "partial_fit"):
            raise InvalidInputError(f"{type(model).__name__} learns from all instances at once: fit it again")
        updated = without_names(copy.deepcopy(model))
        data, trained = loaded.data, {str(name): name for name in model.label_names_}
        names = [trained.get(name, name) for name in data.label_names]  # some may be whole numbers in the model
        alike = data.recipe is not None and data.recipe == getattr(model, "recipe_", None)
        with about(loaded.file):
            X = data.X if alike else align_features(data, model, named=False)
            updated.partial_fit(X, data.targets, data.weights, label_names=names)
        if hasattr(model, "feature_names_in_"):
            updated.feature_names_in_ = model.feature_names_in_
        return updated

    def describe(self, model: Any) -> Facts:
        """Return sizes and threshold of a fitted model."""
        return label_facts(model)

    def answers(self, model: Any, titles: Mapping[str, str] | None = None) -> LabelAnswers:
        """Return what answers questions to a fitted model, or to a pipeline that ends in one; see `Task.answers`."""
        return LabelAnswers(model)

    # ---------------------------------------------------------------- evaluation

    def metrics(self, models: Mapping[str, Any]) -> tuple[Column, ...]:
        """Return all measures of labels."""
        headings = {name: _HEADINGS.get(name, name.replace("_", " ")) for name in LABEL_METRICS}
        probable = any(hasattr(model, "predict_proba") for model in models.values())
        room: dict[str, Room] = dict.fromkeys(_NOT_SHOWN, "none")
        room |= {"log_loss": "none", "ece": "wide" if probable else "none"}
        measures = (Column(name, heading, 3, room.get(name, "any")) for name, heading in headings.items())
        return (*measures, Column("seconds", "s", 2))

    def splits(self, loaded: Loaded, protocol: Protocol) -> list[Any]:
        """Return training and test rows of each split."""
        data = loaded.data
        if data.n_instances < 2:
            raise InvalidInputError(f"{data.name}: holds {data.n_instances} instance, too few to hold some out")
        splitter = splitter_of(
            protocol.name or self.default_protocol,
            "labels",
            n_splits=protocol.splits or self.default_splits,
            random_state=protocol.seed,
            test_size=protocol.test_size,
            n_rows=data.n_instances,
            train_rows=data.train_rows,
            groups=data.ids,
            data=data.name,
        )
        by_label = bool(protocol.options.get("by_label"))
        return [
            Split(train, test, by_label) for train, test in splitter.split(np.zeros(data.n_instances), data.targets)
        ]

    def measure(
        self, model: Any, loaded: Loaded, parts: Any, keep: Callable[[Any], object] | None = None
    ) -> Mapping[str, dict[str, Any]]:
        """Measure a model on one split, separately for the plain cut and for its own; see `Task.measure`."""
        split = Split(*parts)
        options = {"ranking": True, "undefined": 0, "empty": 1}
        tally, truth = LabelTally(loaded.data.label_names), loaded.data.targets
        left_out = unknown_labels(truth[split.train])

        def ways(fitted: Any, X: Any) -> list[tuple[str, Any, Any]]:
            found = list(decodings(fitted, X))
            if split.by_label:
                own = getattr(fitted, "best_", found[-1][0])
                (labels, scores) = next((labels, scores) for name, labels, scores in found if name == own)
                chances = fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else None
                tally.add(*_beside_left_out(left_out, truth[split.test], labels, scores, chances))
            return found

        with about(loaded.file):
            data = loaded.data
            named = isinstance(model, LabelModel)  # a `Search` takes tables alone
            X, names = (data, data.label_names) if named else (data.X, None)
            rows = measure_labels(model, X, truth, 0, split.train, split.test, ways, options, keep, names)
        measured = {"" if row["decoding"] in ("plain", AUTO) else row["decoding"]: row for row in rows}
        if split.by_label:
            next(iter(measured.values()))[_TALLY] = tally
        return measured

    def evaluate(
        self,
        models: Mapping[str, Any],
        loaded: Loaded,
        protocol: Protocol,
        settings: Settings,
        listen: Callable[[Progress], None] | None = None,
    ) -> Measured:
        """Measure models, and each label if ``by_label`` is among the options of the protocol; see `Task.evaluate`.

        The measures of labels are those of the decisions that each model makes itself.
        """
        measured = super().evaluate(models, loaded, protocol, settings, listen)
        tallies = {name: LabelTally(loaded.data.label_names) for name in models}
        for name, runs in measured.results.items():
            for run in runs:
                tally = run.pop(_TALLY, None)
                if name in tallies and tally is not None:
                    tallies[name].merge(tally)
        measured = replace(measured, notes=(*measured.notes, *_left_out(measured)))
        if not protocol.options.get("by_label"):
            return measured
        return replace(measured, by_label={name: tally.table() for name, tally in tallies.items()})

    def baselines(self, loaded: Loaded, settings: Settings) -> dict[str, Any]:
        """Return the rule that gives every instance the frequent labels."""
        missing = settings.options.get("missing", "error")
        decisions = decisions_of(LabelFrequencies(threshold=0), replace(settings, lenient=True))[0]
        return {
            "frequent labels": LabelFrequencies(
                **{"threshold": 0, **decisions}, missing=missing, random_state=settings.seed
            )
        }

    def prepared(
        self, models: Mapping[str, Any], loaded: Loaded, settings: Settings
    ) -> tuple[dict[str, Any], tuple[Text, ...]]:
        """Return copies of models; see `Task.prepared`."""
        return {name: clone(model) for name, model in models.items()}, loaded.notes

    def warm_up(self, models: Sequence[Any], loaded: Loaded) -> None:
        """Fit every model to a few instances; see `Task.warm_up`."""
        some = loaded.data.take(slice(0, min(_FEW, loaded.data.n_instances)))
        known = some.known is None or some.known.any(axis=0)
        taught = some.targets[:, known] if np.any(known) and some.known is not None else some.Y
        for model in models:
            with warnings.catch_warnings(), about(loaded.file):
                warnings.simplefilter("ignore")
                clone(model).fit(some.X, taught).predict(some.X)


def _beside_left_out(left_out: NDArray[np.int64], truth: Any, *tables: Any) -> Iterator[Any]:
    """Yield true labels, unknown where they were left out, and tables of the other labels with columns for these."""
    if not len(left_out):
        yield from (truth, *tables)
        return
    kept = np.delete(np.arange(truth.shape[1]), left_out)
    unknown = truth.copy()
    unknown[:, left_out] = np.nan
    yield unknown
    for table in tables:
        wide = None
        if table is not None:
            wide = np.zeros(truth.shape, dtype=table.dtype)
            wide[:, kept] = table
        yield wide


def _left_out(measured: Measured) -> Iterator[str]:
    """Say for each split which labels no model could learn."""
    for run in next(iter(measured.results.values())):
        if run["left_out"]:
            names, them = few(run["left_out"]), "it" if len(run["left_out"]) == 1 else "them"
            split = f"the training part of split {run['fold'] + 1}"
            yield f"{split} knows nothing of {names}: its measures leave {them} out"


def _require_probabilities(model: LabelModel, scores: bool, called: str) -> None:
    """Refuse a model without probabilities, and scores beside them, which would have the same headings."""
    asked = Argument("proba")
    if scores:
        raise InvalidInputError((asked, " writes probabilities in the place of scores: leave out ", Argument("scores")))
    if not hasattr(model, "predict_proba"):
        why = f": {called} cuts scores and has learned no probabilities; fit with "
        raise InvalidInputError((asked, why, Argument("threshold", AUTO)))


def _require_sets(model: LabelModel, options: Mapping[str, Any]) -> None:
    """Refuse a model without sets of a stated coverage, and options that write numbers of all labels."""
    for other in ("top", "scores", "proba"):
        if options[other]:
            raise InvalidInputError((Argument("coverage"), " writes sets of labels: leave out ", Argument(other)))
    model.check_coverage()


def _choices(model: LabelModel) -> dict[str, Any]:
    """Return what a fitted model chose by itself."""
    params = model.get_params(deep=False)
    found = {"scale": model.scaling_.kind} if params.get("scale") == "auto" else {}
    if model.constant_.all():
        return found
    settled = model._resolved_params()
    return found | {name: value for name, value in settled.items() if params.get(name) in ("auto", None)}


def _fit_facts(model: LabelModel, loaded: Loaded, chosen: Mapping[str, Any], seconds: float) -> Facts:
    """Describe a model that was just fitted."""
    data, known = loaded.data, label_facts(model)
    predicted = without_names(model).predict(data.X)
    score = micro_f1(data.targets, predicted)
    values = {
        **known.values,
        "data": data.name,
        "instances": data.n_instances,
        "cardinality": data.cardinality,
        "seconds": round(seconds, 3),
        "chosen": {name: str(value) if isinstance(value, BaseEstimator) else value for name, value in chosen.items()},
        "train_micro_f1": score,
    }
    shown = {
        "instances": f"{data.n_instances:,}",
        "features": known.shown["features"],
        "labels": f"{data.n_labels:,}, {data.cardinality:.2f} for each instance",
        "constant labels": known.shown.get("constant labels", ""),
        "seconds": f"{seconds:.2f}",
        "chosen": ", ".join(
            f"{name} {value:.4g}" if isinstance(value, float) else f"{name} {value}" for name, value in chosen.items()
        ),
        "threshold": known.shown.get("threshold", ""),
        "decides": known.shown.get("decides", ""),
        "training micro-F1": f"{score:.4f}",
    }
    notes = loaded.notes
    if predicts_none(predicted.nnz, data.Y.nnz) and not isinstance(model.threshold, str):
        found = f"{counted(predicted.nnz, 'label')} predicted for training instances which have {data.Y.nnz:,}"
        notes = (*notes, (f"{found}; try ", Argument("threshold", AUTO), ", which decides by probabilities"))
    return Facts(f"{values['model']} fitted to {data.name}", values, {k: v for k, v in shown.items() if v}, notes)


def _fillings(data: Any) -> tuple[str, ...]:
    """Say which cells without a value were filled."""
    return () if data.recipe is None else data.recipe.fillings(data.filled)


def _unknown(data: Any) -> tuple[str, ...]:
    """Say how many labels are not known, and what becomes of them."""
    if data.known is None:
        return ()
    n_all = data.known.size
    n = n_all - int(np.count_nonzero(data.known))
    known = "models learn from the others, and measures count these alone"
    return (f"{n:,} of {n_all:,} labels ({n / n_all:.1%}) are not known: {known}",)
