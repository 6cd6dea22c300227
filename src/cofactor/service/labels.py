"""The task of labels: instances, their features, and the tags that they have."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from cofactor import labels, ratings
from cofactor.checks import AUTO
from cofactor.datasets.registry import KNOWN
from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.evaluation.labels import decodings, measure_labels, unknown_labels
from cofactor.labels import MODELS, LabelClustering, LabelModel
from cofactor.labels.base import label_facts
from cofactor.labels.decisions import JOINT, TARGET_METRICS, check_decision, no_joint
from cofactor.labels.learners.fitting import SAVABLE
from cofactor.labels.targets import check_targets
from cofactor.metrics import LABEL_METRICS, LabelTally
from cofactor.model.convergence import NothingPredictedWarning, predicts_none
from cofactor.model.facts import Facts
from cofactor.model.named_splits import splitter_of
from cofactor.service import label_files
from cofactor.service.base import Task, about
from cofactor.service.baselines import LabelFrequencies
from cofactor.service.label_service import (
    LabelService,
    without_names,
)
from cofactor.service.models import assemble, short_names
from cofactor.service.options import LABELS, asked_of
from cofactor.service.results import (
    Built,
    Column,
    EvaluationProgress,
    EvaluationResult,
    Loaded,
    Protocol,
    Room,
    Settings,
)
from cofactor.text import normalize_name, plural, shorten
from cofactor.typing import Listener

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
    "micro_precision": "prec.",
    "micro_recall": "recall",
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


#: What papers call models, in lower case without hyphens.
OTHER_NAMES = {
    "2br": "stacked2br",
    "br": "binary-relevance",
    "bsvm": "binary-relevance",
    "cc": "classifier-chain",
    "clr": "calibrated-label-ranking",
    "cs": "compressed-sensing",
    "ecc": "ensemble-of-chains",
    "knn": "knn-vote",
    "lp": "label-powerset",
    "mldt": "ml-decision-tree",
    "mlsf": "meta-labels",
    "multiclass": "label-powerset",
    "pcc": "probabilistic-chain",
    "rfmldt": "ml-forest",
}


class LabelSplit(NamedTuple):
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
    >>> "binary-relevance" in task.models(), task.service.kind
    (True, 'labels')
    """

    name = "labels"
    options = LABELS
    service = LabelService
    one_model, many_models = "label model", "label models"
    default_model = "label-ridge"
    compared_models = ("label-ridge", "mlknn")
    default_protocol = "kfold"
    best, highest = "micro_f1", True
    other_names = OTHER_NAMES

    # ---------------------------------------------------------------- files and models

    def read(self, file: str, options: Mapping[str, Any], progress: Any = None) -> Loaded:
        """Read features and labels; see `Task.read`."""
        data = label_files.read_label_file(file, options)
        schema = None if file in KNOWN else data.schema  # what known sets hold is known
        said = () if schema is None else (*schema.notes(), *label_files.fillings(data))
        return Loaded(file, data, notes=(*said, *label_files.unknown(data)))

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
        if normalize_name(name) in {normalize_name(known) for known in labels.TRANSFORMERS}:
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
        built = assemble(model, replace(settings, params=params), fixed)
        return replace(built, notes=(*notes, *built.notes))

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
            # With names, ids and the schema, by which other files are matched.
            fitted.fit(data, recorded=settings.options.get("recorded"))
        seconds = time.perf_counter() - began
        self.listen(fitted, None)
        return fitted, _fit_facts(fitted, loaded, _choices(fitted), seconds)

    # ---------------------------------------------------------------- evaluation

    def metrics(self, models: Mapping[str, Any]) -> tuple[Column, ...]:
        """Return all measures of labels."""
        headings = {name: _HEADINGS.get(name, name.replace("_", " ")) for name in LABEL_METRICS}
        probable = any(hasattr(model, "predict_proba") for model in models.values())
        room: dict[str, Room] = dict.fromkeys(_NOT_SHOWN, "none")
        if not any(isinstance(getattr(model, "decide_for", None), Mapping) for model in models.values()):
            room |= {"micro_precision": "none", "micro_recall": "none"}
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
            LabelSplit(train, test, by_label)
            for train, test in splitter.split(np.zeros(data.n_instances), data.targets)
        ]

    def measure(
        self, model: Any, loaded: Loaded, parts: Any, keep: Callable[[Any], object] | None = None
    ) -> Mapping[str, dict[str, Any]]:
        """Measure a model on one split, separately for the plain cut and for its own; see `Task.measure`."""
        split = LabelSplit(*parts)
        options = {"ranking": True, "undefined": 0, "empty": 1}
        tally, truth = LabelTally(loaded.data.label_names), loaded.data.targets
        left_out = unknown_labels(truth[split.train])

        def ways(fitted: Any, X: Any) -> list[tuple[str, Any, Any]]:
            found = list(decodings(fitted, X))
            if split.by_label:
                own = getattr(fitted, "best_", found[-1][0])
                (labels, scores) = next((labels, scores) for name, labels, scores in found if name == own)
                chances = fitted.predict_proba(X) if hasattr(fitted, "predict_proba") else None
                tally.add(*_with_left_out(left_out, truth[split.test], labels, scores, chances))
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
        listen: Callable[[EvaluationProgress], None] | None = None,
    ) -> EvaluationResult:
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
        measured = replace(measured, notes=(*measured.notes, *_note_left_out(measured)))
        if not protocol.options.get("by_label"):
            return measured
        return replace(measured, by_label={name: tally.table() for name, tally in tallies.items()})

    def baselines(self, loaded: Loaded | None, settings: Settings) -> dict[str, Any]:
        """Return the rule that gives every instance the frequent labels."""
        missing = settings.options.get("missing", "error")
        model = LabelFrequencies(threshold=0, missing=missing, random_state=settings.seed)
        bare = {name: value for name, value in settings.options.items() if name not in asked_of(settings.options)}
        found, _ = decisions_of(model, replace(settings, options=bare, lenient=True))
        return {"frequent labels": model.set_params(**found)}

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


def _with_left_out(left_out: NDArray[np.int64], truth: Any, *tables: Any) -> Iterator[Any]:
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


def _note_left_out(measured: EvaluationResult) -> Iterator[str]:
    """Say for each split which labels no model could learn."""
    for run in next(iter(measured.results.values())):
        if run["left_out"]:
            names, them = shorten(run["left_out"]), "it" if len(run["left_out"]) == 1 else "them"
            split = f"the training part of split {run['fold'] + 1}"
            yield f"{split} knows nothing of {names}: its measures leave {them} out"


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
    values = {
        **known.values,
        "data": data.name,
        "instances": data.n_instances,
        "cardinality": data.cardinality,
        "seconds": round(seconds, 3),
        "chosen": {name: str(value) if isinstance(value, BaseEstimator) else value for name, value in chosen.items()},
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
        "held-out micro-F1": known.shown.get("held-out micro-F1", ""),
    }
    notes = loaded.notes
    if not isinstance(model.threshold, str):
        n_predicted = without_names(model).predict(data.X).nnz
        if predicts_none(n_predicted, data.Y.nnz):
            found = f"{plural(n_predicted, 'label')} predicted for training instances which have {data.Y.nnz:,}"
            notes = (*notes, (f"{found}; try ", Argument("threshold", AUTO), ", which decides by probabilities"))
    return Facts(f"{values['model']} fitted to {data.name}", values, {k: v for k, v in shown.items() if v}, notes)


def decisions_of(model: LabelModel, settings: Settings) -> tuple[dict[str, Any], tuple[Text, ...]]:
    """Return the parameters of a label model which say how it decides, and a note where it cannot do so as asked.

    Parameters
    ----------
    model : LabelModel
    settings : Settings
        What was asked for.

    Raises
    ------
    InvalidInputError
        If the model does not decode label sets by itself, but was asked to, and the settings are not lenient.
    """
    found: dict[str, Any] = {"threshold": AUTO, "decide_for": TARGET_METRICS[0]}
    found |= {name: settings.options[name] for name in found if name in settings.options}
    wanted = asked_of(settings.options)
    if wanted:
        first = next(iter(wanted))
        for other, value in found.items():
            if value not in (AUTO, TARGET_METRICS[0]):
                advice = ("leave out ", Argument(other, value))
                raise InvalidInputError("says how to decide", argument=first, found=wanted[first], advice=advice)
        check_targets(wanted)
        found["decide_for"] = wanted
    check_decision(**found)
    if found["threshold"] != JOINT or model.capabilities.label_sets:
        return found, ()
    name = type(model).__name__
    if not settings.lenient:
        raise no_joint(
            name, {k.__name__: short for short, k in short_names(MODELS).items() if k().capabilities.label_sets}
        )
    asked, taken = Argument("threshold", JOINT), Argument("threshold", AUTO)
    return found | {"threshold": AUTO}, ((asked, f" does not concern {name}, which decides as with ", taken),)


def known_estimator(model: LabelModel, name: str) -> Any:
    """Return an estimator that a model may hold, by the name of its class.

    Parameters
    ----------
    model : LabelModel
        One with a parameter ``estimator``.
    name : str
        What a user wrote.
    """
    known = MODELS if isinstance(model, LabelClustering) else SAVABLE
    if name not in known:
        raise InvalidInputError(f"expected one of {', '.join(known)}", argument="estimator", found=name)
    return known[name]()
