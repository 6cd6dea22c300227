"""How the cells of a grid are judged: rating models by their errors, label models by their labels or by cut scores."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, Self, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing

from cofactor.metrics.labels import LabelMetric
from cofactor.metrics.tables import as_label_sets, split_unknown
from cofactor.model.splits import Rows

Settings: TypeAlias = Mapping[str, Any]

PLAIN = "plain"  #: the rule which cuts scores at 0
OWN = "own"  #: where a model decides as it is


class LabelRule(Protocol):
    """Turns scores into labels."""

    @property
    def value(self) -> Any:
        """The cut: a number, one for each label, or the number of labels."""

    def predict(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where labels are on."""


@runtime_checkable
class CutModel(Protocol):
    """What a label model brings to a choice: cuts of its scores, and features that several fits may share."""

    #: Names of the rules by which a cut may be learned.
    cut_rules: tuple[str, ...]

    def disable_threshold(self) -> None:
        """Take the plain cut, since the caller cuts the scores."""

    def learn_cut(self, rule: str, scores: NDArray[Any], truth: Any) -> LabelRule:
        """Learn a cut by a rule, or return the plain one."""

    def with_cut(self, rule: str, cut: LabelRule) -> Self:
        """Return a copy of the fitted model which predicts with a cut."""

    def feature_space_for(self, varied: Collection[str]) -> Callable[[Any, Any], Any] | None:
        """Return what prepares features once for fits which differ in these parameters, None if nothing can."""


@dataclass(frozen=True)
class PlainCut:
    """Labels with a positive score are on."""

    value: float = 0.0

    def predict(self, scores: NDArray[Any]) -> NDArray[np.bool_]:
        """Return where labels are on."""
        return scores > 0


@dataclass(frozen=True)
class Choice:
    """Parameters, with what they reached on held-out data; of labels with the cut of the scores.

    Attributes
    ----------
    parameters : dict
        A cell of the grid.
    rule : str
        "plain", or the rule by which the cut was learned; "own" where the model decided as it is.
    threshold : LabelRule or None
        The cut, learned on the same held-out instances; None where the model decided as it is.
    value : float
        The metric.
    seconds : float
        Time to fit the cell, on all splits together.

    Examples
    --------
    >>> from cofactor.evaluation import Choice
    >>> Choice({"alpha": 1.0}, "plain", None, 0.62, 0.01).parameters
    {'alpha': 1.0}
    """

    parameters: dict[str, Any]
    rule: str
    threshold: Any
    value: float
    seconds: float


class SplitData:
    """A training part, what is folded in after the fit if anything is, and the held-out part."""

    def __init__(self, X: Any, y: Any, train: Rows, fold_in: Rows | None, test: Rows) -> None:
        self.X, self.y = _rows(X, train), _rows(y, train)
        self.fold_in = None if fold_in is None else (_rows(X, fold_in), _rows(y, fold_in))
        self.test_X, self.test_y = _rows(X, test), _rows(y, test)

    def share(self, estimator: Any, cells: Sequence[Settings]) -> None:
        """Prepare the features once, for all cells."""
        space = feature_space_of(estimator, cells)
        if space is not None:
            self.X = space(self.X, self.y)
            self.test_X = self.X.other(self.test_X)


def _rows(values: Any, rows: Rows) -> Any:
    """Return some rows; None of None, as interactions have no y."""
    return None if values is None else _safe_indexing(values, rows)


def feature_space_of(estimator: Any, cells: Sequence[Settings]) -> Callable[[Any, Any], Any] | None:
    """Return what prepares features once for all cells of a grid, as ``space(X, y)``; None if nothing can."""
    varied = {name for cell in cells for name in cell}
    return estimator.feature_space_for(varied) if isinstance(estimator, CutModel) else None


# ---------------------------------------------------------------- how cells are judged


class CellOutcome(NamedTuple):
    """What came out of a cell on one part: for each prediction setting a value, or the scores."""

    seconds: float
    found: list[Any]


class Judge:
    """Fits cells, and says how good they are."""

    rules: tuple[str, ...] = (OWN,)
    greater_is_better = True

    def __init__(self, estimator: Any, parts: Sequence[SplitData], settings: list[dict[str, Any]]) -> None:
        self.estimator, self.parts, self.settings = estimator, parts, settings

    def attempt(self, part: SplitData, cell: Settings) -> CellOutcome:
        """Fit a cell to the training rows of a part; look at the held-out ones with each prediction setting."""
        model = self.model(cell)
        began = time.perf_counter()
        model = model.fit(part.X, part.y)
        seconds = time.perf_counter() - began
        if part.fold_in is not None:
            model = model.fold_in(*part.fold_in)
        return CellOutcome(seconds, [self.found(model.set_params(**setting), part) for setting in self.settings])

    def choices(self, cell: Settings, outcomes: list[CellOutcome]) -> list[Choice]:
        """Return how good a cell is with each prediction setting: the mean over the parts."""
        seconds = sum(outcome.seconds for outcome in outcomes)
        values = np.mean([outcome.found for outcome in outcomes], axis=0)
        return [
            Choice({**cell, **setting}, OWN, None, float(value), seconds)
            for setting, value in zip(self.settings, values, strict=True)
        ]

    def model(self, cell: Settings) -> Any:
        """Return a fresh estimator with the parameters of a cell."""
        return with_parameters(self.estimator, cell)

    def found(self, model: Any, part: SplitData) -> Any:
        """Return the value of a fitted model on the held-out rows of a part."""
        raise NotImplementedError


class RatingJudge(Judge):
    """By an error of predicted ratings."""

    greater_is_better = False

    def __init__(
        self, estimator: Any, parts: Sequence[SplitData], settings: list[dict[str, Any]], metric: Any, levels: Any
    ) -> None:
        super().__init__(estimator, parts, settings)
        self.metric, self.levels = metric, levels

    def found(self, model: Any, part: SplitData) -> float:
        """Return the error on the held-out ratings."""
        return float(self.metric(part.test_y, model.predict(part.test_X), self.levels))


class ListJudge(Judge):
    """By a measure of the lists that a model recommends."""

    def __init__(self, estimator: Any, parts: Sequence[SplitData], settings: list[dict[str, Any]], metric: str) -> None:
        super().__init__(estimator, parts, settings)
        self.metric = metric

    def found(self, model: Any, part: SplitData) -> float:
        """Return the measure of lists for the held-out interactions."""
        return float(model.ranking_score(part.test_X, part.test_y, metric=self.metric))


class LabelJudge(Judge):
    """By a metric of the labels that a model predicts, or of its scores."""

    def __init__(
        self, estimator: Any, parts: Sequence[SplitData], settings: list[dict[str, Any]], metric: LabelMetric
    ) -> None:
        super().__init__(estimator, parts, settings)
        self.metric, self.greater_is_better = metric, metric.greater_is_better

    def found(self, model: Any, part: SplitData) -> float:
        """Return the metric on the held-out instances."""
        method = {"labels": "predict", "scores": "decision_function", "probabilities": "predict_proba"}
        return float(self.metric(part.test_y, getattr(model, method[self.metric.takes])(part.test_X)))


#: Score of a label whose truth is not known: it is off, and those who learn cuts and calibration leave it out.
_UNKNOWN = -1e9


class CutJudge(LabelJudge):
    """By a metric of labels which are cut from the scores of all held-out parts together.

    Labels of the held-out parts that are not known (NaN) are off, in truth and in prediction.
    """

    def __init__(
        self,
        estimator: Any,
        parts: Sequence[SplitData],
        settings: list[dict[str, Any]],
        metric: LabelMetric,
        rules: tuple[str, ...],
    ) -> None:
        super().__init__(estimator, parts, settings, metric)
        self.rules = rules
        split = [split_unknown(part.test_y) for part in parts]
        self.truth = sparse.vstack([as_label_sets(labels) for labels, _ in split], format="csr")
        self.known = None
        if any(known is not None for _, known in split):
            shapes = [labels.shape for labels, _ in split]
            known = [np.ones(shapes[k], dtype=bool) if part is None else part for k, (_, part) in enumerate(split)]
            self.known = np.concatenate(known)

    def model(self, cell: Settings) -> Any:
        """Return a fresh estimator with the parameters of a cell, and the plain cut."""
        return uncut(with_parameters(self.estimator, cell))

    def found(self, model: Any, part: SplitData) -> Any:
        """Return scores of the held-out rows: real ones, or labels as ±1 where the model has none."""
        if hasattr(model, "decision_function"):
            return np.asarray(model.decision_function(part.test_X))
        return 2.0 * as_label_sets(model.predict(part.test_X)).toarray() - 1

    def choices(self, cell: Settings, outcomes: list[CellOutcome]) -> list[Choice]:
        """Return how good a cell is with each prediction setting and rule."""
        seconds = sum(outcome.seconds for outcome in outcomes)
        choices = []
        for k, setting in enumerate(self.settings):
            scores = np.concatenate([outcome.found[k] for outcome in outcomes])
            if self.known is not None:
                scores = np.where(self.known, scores, _UNKNOWN)
            for rule in self.rules:
                cut = self.cut(rule, scores)
                value = self.metric(self.truth, scores if self.metric.takes == "scores" else cut.predict(scores))
                choices.append(Choice({**cell, **setting}, rule, cut, value, seconds))
        return choices

    def cut(self, rule: str, scores: NDArray[Any]) -> LabelRule:
        """Return the cut of a rule."""
        model = last_step(self.estimator)
        return model.learn_cut(rule, scores, self.truth) if isinstance(model, CutModel) else PlainCut()


def with_parameters(estimator: Any, cell: Settings) -> Any:
    """Return a fresh estimator with these parameters; those which are estimators are copied too."""
    return clone(estimator).set_params(**{name: clone(value, safe=False) for name, value in cell.items()})


def uncut(model: Any) -> Any:
    """Return the model, with the plain cut if it cuts scores."""
    last = last_step(model)
    if isinstance(last, CutModel):
        last.disable_threshold()
    return model


def last_step(model: Any) -> Any:
    """Return the estimator at the end of a pipeline, or the model itself."""
    return model.steps[-1][1] if hasattr(model, "steps") else model
