"""What there is to say of a fitted model of labels."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from inspect import isfunction
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor import persistence
from cofactor.checks import (
    AUTO,
    as_weights,
    check_callback,
    check_choice,
    check_number,
    check_random_state,
    check_text,
    check_verbose,
    make_generator,
    relative_weights,
)
from cofactor.chunked import batches, take_rows, zip_chunks
from cofactor.errors import Argument, InputWarning, InvalidInputError, InvalidTypeError
from cofactor.kernels.threads import blas_limit
from cofactor.labels.calibration import CONSTANT_SCORE, COVERS, Calibration
from cofactor.labels.data import (
    LabelForm,
    as_known_labels,
    as_labels,
    check_coding,
    check_known,
    checked_names,
    features_to_score,
    in_trained_order,
    is_dataset,
    known_in_order,
    label_positions,
    label_tags,
    of_all_labels,
    refused_unknown,
    unpack_dataset,
    warn_of_one_sided,
    with_constant,
)
from cofactor.labels.decisions import (
    JOINT,
    RULES,
    TARGET_METRICS,
    Decision,
    Threshold,
    check_aim,
    check_decision,
    check_enough,
    check_threshold,
    learn_threshold,
    no_joint,
    recorded_shares,
    warn_of_one_answer,
    warn_of_unreached,
)
from cofactor.labels.explaining import NO_PARTS, Explainer, ScoreParts
from cofactor.labels.features import CheckedFeatures, as_features, check_n_features, warn_of_copies
from cofactor.labels.learners import LEARNERS
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.scaling import (
    OF_DENSE,
    Scaling,
    candidate_scalings,
    check_scale,
    compared_scalings,
    learn_scaling,
    rows_to_compare,
    stream_scaling,
)
from cofactor.labels.targets import check_targets
from cofactor.labels.training_data import (
    ENOUGH,
    PARTS,
    TrainingData,
    are_chunks,
    check_lengths,
    check_whole,
    read_chunks,
    refuse_labels_beside,
    sampled,
    space_for,
    weights_of,
)
from cofactor.metrics.labels import label_counts
from cofactor.metrics.tables import of_known
from cofactor.model.commit import committed, learned_names
from cofactor.model.estimator import Estimator, learned, param
from cofactor.model.explanations import Explanation
from cofactor.model.facts import Facts, summary
from cofactor.model.offered import kinds_of, offered_if
from cofactor.model.progress import Monitor
from cofactor.model.size import refuse_too_large
from cofactor.model.state import check_course, head_of, member, of_head, unpacked
from cofactor.schema import Schema
from cofactor.solvers.result import Callback
from cofactor.text import plural
from cofactor.typing import Features, Labels, RandomState

__all__ = ["Capabilities", "CheckedFeatures", "LabelModel", "LabelPredictions", "TrainingData", "label_facts"]


def label_facts(model: Any) -> Facts:
    """Return sizes and threshold of a fitted model.

    Parameters
    ----------
    model : LabelModel
        Fitted.
    """
    new = max((sums.new_weight for sums in getattr(model, "sums_", None) or ()), default=0)
    values = {
        "model": type(model).__name__,
        "features": int(model.n_features_in_),
        "labels": len(model.label_names_),
        "constant_labels": [str(name) for name in model.label_names_[model.constant_ != 0]],
        "threshold": model.threshold_,
        **({"new_instances": new, "refit_due": model.refit_due_} if new else {}),
        "held_out_micro_f1": model.decision_.held_out_f1,
    }
    constant, due = values["constant_labels"], values.get("refit_due")
    shown = {
        "features": f"{values['features']:,}",
        "labels": f"{values['labels']:,}",
        "constant labels": ", ".join(constant[:5]) + (f", ... ({len(constant)})" if len(constant) > 5 else ""),
        "threshold": _cuts_shown(model.threshold_),
        "decides": model.decision_.words,
        "since the fit": plural(new, "new instance", form=",.10g") + (", a refit is due" if due else "") if new else "",
        "held-out micro-F1": "" if model.decision_.held_out_f1 is None else f"{model.decision_.held_out_f1:.4f}",
    }
    notes = ("a tenth or more of the instances came after the fit: fit a model to all of them",) if due else ()
    return Facts(values["model"], values, {name: text for name, text in shown.items() if text}, notes)


def _cuts_shown(threshold: Any) -> str:
    """Return the cut of a model, or the range of its cuts; nothing where it has none."""
    if threshold is None:
        return ""
    cuts = np.atleast_1d(threshold)
    return f"{cuts[0]:.3g}" if len(cuts) == 1 else f"{cuts.min():.3g} to {cuts.max():.3g}, one a label"


_SCORES_PER_BLOCK = 1 << 22
_EXPLAINED_PER_BLOCK = 4096  #: instances, of which there may be a table with all training instances
_DOUBLE = 1 << 22  #: held-out scores up to which they keep the precision that the model gives them


class LabelPredictions(NamedTuple):
    """What a model says of some instances, each of shape (n, L); probabilities are None if they were not asked for."""

    scores: NDArray[Any]
    on: NDArray[np.bool_]
    probabilities: NDArray[Any] | None


@dataclass(frozen=True)
class Capabilities:
    """What a label model can do, with the parameters that it has and after what it learned.

    Attributes
    ----------
    weights : {"any", "whole"}
        Which `sample_weight` a fit takes; "whole" numbers say how often instances are repeated.
    chunks : bool
        Whether a fit takes chunks of instances: what it learns are sums over the instances.
    scales : tuple of str
        The scales from which dense features choose with ``scale="auto"``; "none" alone is that of all features, and
        there are none if the model looks at no features.
    probabilities : bool
        Whether the model has probabilities of its own, which are exact.
    label_sets : bool
        Whether it decodes label sets by itself, with ``threshold="joint"``.
    explanations : bool
        Whether its scores are sums over features or instances, so that `LabelModel.explain` can show them.
    separate_labels : bool
        Whether what it learns of each label stands in rows or columns of its own, so that `LabelModel.drop_labels` can
        leave labels out.
    shared_space : bool or None
        Where fits can share one `FeatureSpace`, whether this has an intercept; None where they cannot.
    scale_error : callable or None
        ``scale_error(X, Y)`` is the error of the model for scaled features, by which ``scale="auto"`` chooses; None
        where a ridge regression chooses.
    """

    weights: str = "whole"
    chunks: bool = False
    scales: tuple[str, ...] = OF_DENSE
    probabilities: bool = False
    label_sets: bool = False
    explanations: bool = False
    separate_labels: bool = False
    shared_space: bool | None = None
    scale_error: Callable[[CheckedFeatures, sparse.csr_array], float] | None = field(default=None, repr=False)


class LabelModel(ClassifierMixin, Estimator, ABC):
    """A model which predicts the labels of instances from their features.

    A subclass says how to learn (`_fit`) and how to score (`_scores`). It sees checked features, and labels as a sparse
    array of ones without the labels that never or always occur. It may also give probabilities of labels
    (`_probabilities`), and predict label sets as a whole (`_label_sets`). The base class does the rest.

    Attributes
    ----------
    n_features_in_ : int
        Number D of features.
    label_names_ : ndarray of shape (L,), object
        Names of the labels: as given, columns of the frame y was, or 0 to L - 1. Labels which are given to the fitted
        model in a frame are matched by name, in any order; others are matched by position.
    constant_ : ndarray of shape (L,), int8
        1 for labels that all instances had in training, -1 for those that none had, 0 for all others. Constant
        labels are not learned: predictions repeat the constant, and their score is 1e9 or -1e9.
    scaling_ : Scaling
        How features are scaled, before anything else is done with them.
    decision_ : Decision
        How scores become probabilities and labels. Its `rule` is a `ProbabilityThreshold` or one of sets of labels with
        ``threshold="auto"``, else a `Threshold` or a `TopK`; None where the model predicts label sets as a whole. Its
        `calibration` is None where the fit learned no threshold.
    """

    scale: str = param(check_scale, default="auto")
    threshold: float | str = param(default="auto")
    decide_for: str | Mapping[str, Any] = param(check_aim, default="micro")
    random_state: RandomState = param(check_random_state, default=None)
    callback: Callback | None = param(check_callback, default=None)
    verbose: int = param(check_verbose, default=0)

    n_features_in_: int = learned(saved=False)
    label_names_: NDArray[Any] = learned(saved=False)
    form_: LabelForm = learned(kind=LabelForm)
    constant_: NDArray[np.int8] = learned("names", dtype=np.int8)
    scaling_: Scaling = learned(kind=Scaling)
    decision_: Decision = learned(kind=Decision)

    size_params = ("n_components", "n_members")  # chains that draw label sets are short beside weights

    #: Parameters with which a model is that of its paper, beside those of its base classes; see `paper`. A function
    #: makes a value of the class and the parameters that the caller gives.
    _paper: ClassVar[Mapping[str, Any]] = {"scale": "none", "threshold": 0}

    #: Whether `fit` takes sparse labels. scikit-learn has no tag for it, so `cofactor.evaluation` asks for this.
    takes_sparse_labels: ClassVar[bool] = True

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the estimator."""
        return label_tags(super().__sklearn_tags__())

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _fit(self, data: TrainingData) -> None:
        """Learn. There is at least one label, and each is on for some instances and off for others."""

    @abstractmethod
    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return scores, shape (n, L'), of the L' labels that `_fit` saw; the plain cut is 0."""

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return probabilities, shape (n, L'), of the labels that `_fit` saw; only where they are exact."""
        raise NotImplementedError

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        """Return which of the labels that `_fit` saw are on, for a model that decodes label sets by itself."""
        raise InvalidInputError(f"{type(self).__name__} does not decode label sets by itself")

    def _fit_bytes(self, data: TrainingData) -> int:
        """Return how many bytes a fit takes at least, beyond its data: tables of labels × labels above all."""
        return data.bytes_of(getattr(self, "n_components", 0))

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        """Return of which parts the scores of the L' labels that `_fit` saw are the sum: with it a model can explain.

        A class that cannot, below one that can, takes it from here again.
        """
        raise NotImplementedError

    def _check_explains(self) -> None:
        """Refuse a model that cannot explain, and name those that can."""
        if not self.capabilities.explanations:
            raise InvalidInputError(
                f"the scores of this {type(self).__name__} are no sum over features or instances, and cannot be "
                "explained",
                advice=f"those of {self._others_with('explanations')} can",
            )

    def _others_with(self, capability: str) -> str:
        """Return which other models have a capability."""
        able = (kind for kind in self._kinds() if getattr(kind().capabilities, capability))
        return ", ".join(kind.__name__ for kind in able if not isinstance(self, kind))

    def _capabilities(self) -> Capabilities:
        """Return what the model can do; by default what it has methods for."""
        kind = type(self)
        return Capabilities(
            probabilities=kind._probabilities is not LabelModel._probabilities,
            label_sets=kind._label_sets is not LabelModel._label_sets,
            explanations=kind._score_parts is not LabelModel._score_parts,
        )

    @staticmethod
    def _kinds() -> list[type[LabelModel]]:
        """Return all models, for errors which name those that can do what this one cannot."""
        return kinds_of(LabelModel)

    def _resolved_params(self) -> dict[str, Any]:
        """Return parameters with the values that the fit chose for them, with which a part of the data is fitted."""
        return {}

    def _held_out(self, data: TrainingData) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return rows, and their scores, shape (m, L'), by models like this fitted one which did not learn from them.

        They are those of a quarter of the instances, drawn by `random_state`, or by 0 if there is none; of up to four
        quarters, each by a copy of its own with the settings that this model chose, until they are 80. Beyond a budget
        of scores they are a part of them, see `sampled`. Scores are ±1e9 for labels which are constant in the instances
        that a copy learned from. A model with an exact leave-one-out overrides it. The data hold the labels that `_fit`
        saw, and weights of the instances, which are not repeated yet.
        """
        generator = make_generator(0 if self.random_state is None else self.random_state)  # the same parts in every fit
        n, n_labels = data.labels.shape
        rows, scores = [], []
        for k, test in enumerate(np.array_split(generator.permutation(n), min(PARTS, n))):
            rows.append(sampled(np.sort(test), n_labels, generator))
            scores.append(self._scores_of_others(data, test, rows[-1], k))
            if sum(map(len, rows)) >= ENOUGH or len(rows[-1]) < len(test):
                break
        return np.concatenate(rows), scores[0] if len(scores) == 1 else np.concatenate(scores)

    def _scores_of_others(
        self, data: TrainingData, test: NDArray[np.int64], rows: NDArray[np.int64], k: int
    ) -> NDArray[Any]:
        """Return scores of rows by a copy of this model which learned from all that are not in the k-th part `test`."""
        part = copy.copy(self)
        for name in learned_names(part):
            if name not in ("n_features_in_", "label_names_", "form_"):
                delattr(part, name)
        part.set_params(**self._resolved_params())
        train = np.ones(data.n_instances, dtype=bool)
        train[test] = False
        with warnings.catch_warnings():
            for kind in (ConvergenceWarning, InputWarning):  # the model itself has warned
                warnings.simplefilter("ignore", kind)
            part._fit_nonconstant(data.rows(np.flatnonzero(train), data.monitor.inside(f"held-out part {k + 1}")))
        blocks = map(part._all_scores, part._blocks(take_rows(data.features, rows)))
        shape = len(rows), data.labels.shape[1]
        if shape[0] * shape[1] <= _DOUBLE:
            return np.concatenate(list(blocks))
        table, done = np.empty(shape, np.float32), 0
        for block in blocks:
            table[done : done + len(block)] = block
            done += len(block)
        return table

    def _check_together(self) -> None:
        joint = self.capabilities.label_sets
        if not joint and isinstance(self.threshold, str) and self.threshold == JOINT:
            able = [kind.__name__ for kind in self._kinds() if kind().capabilities.label_sets]
            raise no_joint(type(self).__name__, dict(zip(able, able, strict=True)))
        check_threshold(self.threshold, joint=joint)

    @classmethod
    def paper(cls, *args: Any, **params: Any) -> Self:
        """Return the model with the settings of its paper: features as they are, and mostly scores cut at 0.

        Parameters
        ----------
        *args, **params
            Other parameters, or other values, as the constructor takes them.

        Returns
        -------
        LabelModel
            Not fitted.

        Examples
        --------
        >>> from cofactor.labels import PLST
        >>> PLST.paper(alpha=2.0).threshold
        0
        """
        given = {**dict(zip(cls._params, args, strict=False)), **params}
        printed: dict[str, Any] = {}
        for kind in reversed(cls.__mro__):
            printed |= vars(kind).get("_paper", {})
        made = {name: value(cls, given) if isfunction(value) else copy.copy(value) for name, value in printed.items()}
        return cls(**{name: value for name, value in made.items() if name in cls._params} | given)

    # ---------------------------------------------------------------- the contract

    @property
    def capabilities(self) -> Capabilities:
        """What the model can do, with its parameters and after what it learned."""
        return self._capabilities()

    def fit(
        self,
        X: Features | FeatureSpace | Iterable[tuple[Features, Labels]],
        y: Labels | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        label_names: Iterable[Any] | None = None,
        mask: Any = None,
        recorded: float | ArrayLike | None = None,
    ) -> Self:
        """Learn from instances whose labels are known.

        Parameters
        ----------
        X : array-like, sparse matrix or array, frame, or FeatureSpace, of shape (n, D)
            Features; a `cofactor.labels.FeatureSpace` lets several fits share one decomposition of the features. Or a
            `cofactor.datasets.LabelDataset` without `y`: then the model keeps its schema of columns too, and predicts
            from frames with the columns of the table it was read from. Or chunks without `y`, see `capabilities`: a
            `cofactor.datasets.LabelChunks`, or any iterable of pairs (X, y) that can be read again and again.
        {labels}
            Predictions have the same form.
        {sample_weight}
            Some models take whole numbers only, see `capabilities`.
        {label_names}
        {mask}
        {recorded}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If a parameter, features, labels or weights are not valid. The message says what was found, and what to do.
        """
        self.check_params()
        check_decision(self.threshold, self.decide_for)
        with (
            committed(self) as fitted,
            Monitor(self.callback, bool(self.verbose), type(self).__name__) as monitor,
        ):
            data = fitted._receive(X, y, sample_weight, label_names=label_names, mask=mask, monitor=monitor)
            if isinstance(self.threshold, str) and self.threshold not in (AUTO, JOINT):
                check_enough(data.n_instances, self.threshold)
            shares = recorded_shares(recorded, data, fitted.label_names_, self.threshold)
            with blas_limit(*data.features.shape):
                data = fitted._with_scaling(data)
            varying = fitted._fit_nonconstant(data)
            if isinstance(self.threshold, str) and self.threshold != JOINT:
                fitted._decide(self.threshold, varying, shares)
        return self

    def predict(self, X: Features) -> Any:
        """Predict labels.

        Parameters
        ----------
        {features}

        Returns
        -------
        array, sparse matrix or array, or frame, of shape (n, L)
            In the form of the y that `fit` was given.

        Notes
        -----
        Works on blocks of instances, so that the scores of all instances are never in memory at the same time.
        """
        return self._in_form(X, self._decoded)

    def predict_set(self, X: Features, *, coverage: float = 0.9, cover: str = "all") -> Any:
        """Predict sets of labels which hold the true ones with a stated coverage.

        Parameters
        ----------
        {features}
        coverage : float, default=0.9
            From 0 to 1: how often the set of an instance holds all its labels, or which share of them it holds on
            average.
        cover : {"all", "share"}, default="all"
            "all": every label of the instance is in its set, for this share of the instances. "share": the mean share
            of an instance's labels in its set, which needs smaller sets where instances have many labels.

        Returns
        -------
        array, sparse matrix or array, or frame, of shape (n, L)
            In the form of the y that `fit` was given; on where a label is in the set.

        Raises
        ------
        InvalidInputError
            If the coverage is not from 0 to 1, or the model has learned no probabilities from held-out instances: `fit`
            does so if `threshold` is "auto" or another rule, but not with "joint" or a number. Then `fit_threshold` may
            do so later, from other instances; with "auto" the model also predicts by these probabilities from then on.

        Notes
        -----
        Split conformal prediction, and conformal risk control (Angelopoulos et al., 2024), on the scores that
        calibration learns from: see `cofactor.labels.calibration` for the rule. It holds for new instances that are
        drawn like those of the training data; coverage over all of them, not for each label or each kind of instance.
        The same held-out scores teach the calibration, but up to 256 of them are calibrated for this by what others
        teach.
        A coverage of 1 gives all labels. In a pipeline of scikit-learn:
        ``pipeline[-1].predict_set(pipeline[:-1].transform(X))``.

        Labels of held-out instances that are not known, or perhaps not recorded, count by the chance that they are
        on.

        Measured on new instances for a coverage of .9 (nine folds of emotions, medical, llog and cal500 each):
        `LabelRidge` covered .88 to .91, `OMF` .90 to .93. Fewer were covered where 60 to 240 held-out instances have up
        to 174 labels: `GroPLE` .86 on llog and .87 on cal500, `BinaryRelevance` .81 on cal500.
        """
        check_is_fitted(self)
        check_number("coverage", coverage, low=0, high=1)
        check_choice("cover", cover, COVERS)
        self.check_coverage()
        return self._in_form(X, lambda block: self.decision_.sets(self._all_scores(block), coverage, cover))

    def iter_predictions(
        self,
        X: Features,
        *,
        probabilities: bool = False,
        coverage: float | None = None,
        decision: Mapping[str, Any] | None = None,
        checked: bool = False,
    ) -> Iterator[LabelPredictions]:
        """Yield scores, labels that are on, and probabilities, for blocks of instances; each is computed once.

        They are those of `decision_function`, `predict`, or with a coverage `predict_set`, and `predict_proba`.

        Parameters
        ----------
        {features}
        probabilities : bool, default=False
            Whether to yield them; only of models that have some.
        coverage : float, optional
            Of sets, see `predict_set`.
        decision : mapping from str to object, optional
            Decide so, and not as the model does otherwise: the arguments of `set_decision`.
        checked : bool, default=False
            Whether X is known to be finite numbers in the order of training, a C-contiguous ndarray or a csr_array, as
            where a server made it: to check a row takes longer than to score it.

        Yields
        ------
        LabelPredictions
            ``scores``, ``on`` and ``probabilities`` of a block, each of shape (n, L); probabilities are None if they
            were not asked for.
        """
        if coverage is not None:
            self.check_coverage()
        given: Any = X
        how = self._asked(decision) if decision else self.decision_
        features = self.scaling_.apply(given) if checked else self._features(X)
        for block in self._blocks(features):
            scores, chances = self._all_scores(block), None
            if probabilities:
                chances = self._all_probabilities(block) if how.calibration is None else how.proba(scores)
            if coverage is not None:
                on = how.sets(scores, coverage)
            elif how.rule is None:  # label sets do not follow from scores
                on = self._decoded(block)
            else:
                on = how.predict(scores, chances)
            yield LabelPredictions(scores, on, chances)

    def check_coverage(self) -> None:
        """Refuse a fitted model that has learned no sets of a stated coverage, see `predict_set`.

        Raises
        ------
        InvalidInputError
        """
        if np.all(self.constant_):
            raise InvalidInputError(
                "all labels were constant in training, so that no sets were learned", argument="coverage"
            )
        if not self.decision_.has_sets:
            raise InvalidInputError(
                f"this {type(self).__name__} has learned no probabilities from held-out instances",
                argument="coverage",
                advice=("fit it with ", Argument("threshold", AUTO)),
            )

    def decision_function(self, X: Features) -> NDArray[Any]:
        """Return scores: the higher, the more likely the label; the plain cut is 0.

        Parameters
        ----------
        {features}

        Returns
        -------
        ndarray of shape (n, L)
        """
        return np.concatenate([self._all_scores(block) for block in self._blocks(self._features(X))])

    def _offers_probabilities(self) -> bool:
        """Whether the model has `predict_proba`; if not, an AttributeError says how it gets it."""
        decision = getattr(self, "decision_", None)
        if (decision is not None and decision.calibration is not None) or self.capabilities.probabilities:
            return True
        if decision is None and isinstance(self.threshold, str) and self.threshold != JOINT:
            return True  # a fit will learn a calibration
        name = type(self).__name__
        if self.threshold == AUTO:
            raise AttributeError(f"{name} has no predict_proba yet: give it more instances to learn from")
        raise AttributeError(
            f"{name} has no predict_proba with threshold={self.threshold!r}, but scores: fit it with threshold='auto', "
            "or let the fitted model learn probabilities by fit_threshold(X, y, 'auto') from instances which are new "
            "to it"
        )

    @offered_if(_offers_probabilities)
    def predict_proba(self, X: Features) -> NDArray[Any]:
        """Return the probability of each label.

        Probabilities are calibrated on held-out instances where the fit learned a threshold; otherwise a model has this
        method only if its own probabilities are exact.

        Parameters
        ----------
        {features}

        Returns
        -------
        ndarray of shape (n, L)
            Each label has a probability of its own, so rows do not sum to 1. Labels that were constant in training
            have 0 or 1.
        """
        return np.concatenate([self._all_probabilities(block) for block in self._blocks(self._features(X))])

    @offered_if(_check_explains)
    def explain(self, X: Features, labels: Iterable[Any] | None = None, *, n_terms: int = 10) -> Explanation:
        """Return which features, or which training instances, speak for and against labels.

        Only models have it whose scores are sums over these: `BinaryRelevance` not with trees, neighbours or other
        learners that are not linear.

        Parameters
        ----------
        {features}
        labels : iterable, optional
            Names of the labels to explain for every instance; by default those that are predicted for it.
        n_terms : int, default=10
            How many terms to return for each label of an instance, those with the largest contributions; the others
            are added up.

        Returns
        -------
        Explanation
            The contributions of a label of an instance sum to its score (`decision_function`).

        Raises
        ------
        InvalidInputError
            If features or labels do not fit the model.

        Notes
        -----
        A linear map of features: the contribution of a feature is its value, scaled as the model scales it, times its
        coefficient. Where the model centres features, the intercept is the score of an instance with mean features. A
        kernel: a training instance contributes how much it counts for this instance, times its label, as `LabelRidge`
        says; so do instances which have the label speak for it, and with ``kernel="linear"`` all terms are features.
        Neighbours: each contributes its vote; for `MLkNN`, whose score depends on the number of neighbours that have
        the label, these share equally in the difference to the score without any such neighbour, and the other
        neighbours contribute 0.

        Examples
        --------
        >>> from sklearn.linear_model import Ridge
        >>> from cofactor.labels import BinaryRelevance
        >>> X, y = np.array([[0.0, 1.0], [1.0, 1.0], [2.0, 0.0], [3.0, 0.0]]), np.array([[0], [0], [1], [1]])
        >>> model = BinaryRelevance.paper(estimator=Ridge()).fit(X, y, label_names=["high"])
        >>> print(model.explain([[2.0, 0.0]]))
        instance 0: high, score 0.250
          +0.5000  feature 0 = 2
          -0.2500  intercept
        """
        check_number("n_terms", n_terms, low=1, whole=True)
        check_is_fitted(self)
        given = self._features(X) if isinstance(X, FeatureSpace) else features_to_score(X, self)
        scaled = given if isinstance(X, FeatureSpace) else self.scaling_.apply(given)
        wanted = None if labels is None else label_positions(labels, self.label_names_)
        varying = self.constant_ == 0
        explainer = Explainer(self.label_names_, getattr(self, "feature_names_in_", None), varying, n_terms)
        parts = batches(scaled.shape[0], _EXPLAINED_PER_BLOCK)
        for block in (block for part in parts for block in self._blocks(scaled[part])):
            scores = self._all_scores(block)
            if wanted is None:
                pairs = np.argwhere(self._decoded(block))
            else:
                pairs = np.column_stack([np.repeat(np.arange(len(scores)), len(wanted)), np.tile(wanted, len(scores))])
            explainer.add(scores, pairs, self._score_parts(block) if varying[pairs[:, 1]].any() else NO_PARTS, given)
        return explainer.explanation()

    @property
    def threshold_(self) -> float | NDArray[np.float64] | None:
        """The cut between off and on: a number, or one for each label; or how many labels an instance has at least.

        With ``threshold="auto"`` it is a cut of probabilities, otherwise of scores. With "top-k" it says how many
        labels are on; with "subset" the least number; with "example" it is the cut of the chance of no label.
        """
        check_is_fitted(self)
        return self.decision_.value

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Positions of the labels, which scikit-learn's `cross_val_predict` needs."""
        check_is_fitted(self)
        return np.arange(len(self.label_names_))

    def fit_threshold(
        self, X: Features, y: Labels, rule: str | float | None = None, *, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Learn only how to decide, from instances that the model has not learned from: calibration and threshold.

        Nothing else changes, not even the parameter `threshold`. `fit` itself learns both, on training instances that
        it holds out. This method is for models that learn by `partial_fit`, and for another rule after a fit.

        Parameters
        ----------
        {features}
        {labels}
        rule : {"auto", "global", "per-label", "top-k", "cardinality"} or float, optional
            The rule (see `learn_threshold`), or the cut of the scores itself, with which the calibration stays as it
            was; by default the parameter `threshold`. "auto" decides as the parameter `decide_for` says.
        {sample_weight}

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If the rule, features, labels or weights are not valid, or do not fit the model.

        Notes
        -----
        The scores of all these instances are in memory at the same time. Later calls of `partial_fit` keep the cut;
        learn it again from recent instances when scores have changed.
        """
        check_is_fitted(self)
        if rule is None:
            rule = self.threshold
            check_decision(rule, self.decide_for)
        check_threshold(rule, argument="rule")
        data = self._receive(X, y, sample_weight, reset=False, weights="any")
        if isinstance(rule, str):
            scores = np.concatenate([self._all_scores(block) for block in self._blocks(data.features)])
            given = data.labels, data.weights
            names = self.label_names_
            self.decision_ = Decision.learn(rule, self.decide_for, scores, *given, known=data.known, names=names)
            warn_of_unreached(self.decision_, type(self).__name__)
        else:
            self.decision_ = replace(self.decision_, rule=Threshold(float(rule)), held_out_f1=None)
        return self

    def set_decision(
        self,
        *,
        precision: float | None = None,
        recall: float | None = None,
        costs: tuple[Any, Any] | None = None,
        cuts: Any = None,
        each_label: bool = False,
        at_least: int = 0,
        at_most: int | None = None,
    ) -> Self:
        """Decide anew which labels are on, by what the fit learned from held-out instances; nothing else changes.

        One of the first four, or none: then labels are decided as before. What a user may ask for every time can be the
        parameter `decide_for`, too: ``decide_for={"precision": 0.9, "at_most": 5}``.

        Parameters
        ----------
        precision : float, optional
            From .5 to .99: this share of the labels that are predicted shall be right. Labels are on above the lowest
            cut of probabilities that shows it on held-out instances: Wilson's lower bound, above the true share in one
            of twenty samples, reaches it.
        recall : float, optional
            From .5 to .99: this share of the labels that are on shall be predicted, by the highest cut that shows it.
        costs : pair, optional
            What a label costs that is wrongly on, and one that is wrongly off: numbers above 0, or one for each label.
            A label is on where that costs less on average: above the cut a / (a + b).
        cuts : float, sequence of L numbers, mapping or Series, optional
            Cuts of probabilities of your own, from 0 to 1. A mapping or Series has them by name of the label; others
            keep their cut, where they have one.
        each_label : bool, default=False
            Whether each label has its own cut for the precision or recall. Labels whose held-out instances are too few
            or too mixed to show a precision are never on: ``decision_.abstains`` says which; twenty-five that are all
            right show .9. Those that show no recall have the cut of all labels.
        at_least, at_most : int, optional
            How many labels an instance has. The likeliest join, or remain.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If the fit learned no probabilities, which it does with ``threshold="auto"`` and other rules, but not with
            "joint" or a number; or a value is not valid.

        Warns
        -----
        InputWarning
            If no cut shows the precision for all labels together: nothing is predicted then.

        Examples
        --------
        >>> from cofactor.datasets import make_labels
        >>> from cofactor.labels import LabelRidge
        >>> data = make_labels(400, 12, 6, random_state=0)[0]
        >>> model = LabelRidge(random_state=0).fit(data.X, data.Y)
        >>> model.set_decision(precision=0.9, at_most=2).decision_.words
        'by a cut of probabilities, for a precision of 0.9; at most 2 labels'
        >>> int(model.predict(data.X).sum(axis=1).max())
        2
        """
        check_is_fitted(self)
        given = {"precision": precision, "recall": recall, "costs": costs, "cuts": cuts, "at_most": at_most}
        wanted = {name: value for name, value in given.items() if value is not None}
        wanted |= {"each_label": True} if each_label else {}
        self.decision_ = self._asked(wanted | ({"at_least": at_least} if at_least else {}))
        return self

    def _asked(self, wanted: Mapping[str, Any]) -> Decision:
        """Return the decision that is asked for, see `set_decision`; constant labels keep the one they have."""
        if self.constant_.all():
            check_targets(wanted)
            return self.decision_
        found = self.decision_.asked(wanted, self.label_names_)
        warn_of_unreached(found, type(self).__name__)
        return found

    def rename_labels(self, names: Mapping[Any, Any]) -> Self:
        """Call labels otherwise; nothing else changes.

        Parameters
        ----------
        names : mapping
            New names by the old ones. Labels that are not in it keep theirs; two may change places.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If there is no label of an old name, or two would have the same one.

        Notes
        -----
        The schema of a model that was fitted to a table follows: other tables are read by the new names. Parameters
        that name labels, such as `class_weight`, stay as they were given.

        Examples
        --------
        >>> from cofactor.labels import LabelRidge
        >>> model = LabelRidge().fit([[0.0], [1.0], [2.0], [3.0]], [[1], [1], [0], [0]], label_names=["film"])
        >>> model.rename_labels({"film": "cinema"}).label_names_
        array(['cinema'], dtype=object)
        """
        check_is_fitted(self)
        if not isinstance(names, Mapping):
            raise InvalidTypeError("expected a mapping, new names by old ones", argument="names", found=names)
        for name in names.values():
            if isinstance(name, bool) or not isinstance(name, str | int | np.integer) or name == "":
                raise InvalidInputError("expected texts or whole numbers as new names", argument="names", found=name)
        renamed = self.label_names_.copy()
        renamed[label_positions(names, self.label_names_)] = list(names.values())
        self._relabel(checked_names(renamed.tolist(), len(renamed)).tolist())
        return self

    def drop_labels(self, labels: Iterable[Any]) -> Self:
        """Forget labels; scores of the others stay what they are.

        Parameters
        ----------
        labels : iterable
            Names of the labels, not of all.

        Returns
        -------
        self

        Raises
        ------
        InvalidInputError
            If there is no label of a name, none would be left, or labels depend on each other in this model: in chains,
            trees, random fields and label sets. Then fit it again.

        Notes
        -----
        How the others are decided stays, too: numbers of a label are its own, and what all labels share, such as one
        cut, is that of the fit. Where a probability looks at the other labels of the instance (`Calibration`), those
        that are gone do not count any more. The schema of a model that was fitted to a table follows: columns of these
        labels are left out.

        Examples
        --------
        >>> from cofactor.labels import LabelRidge
        >>> Y = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]]
        >>> model = LabelRidge().fit([[0.0], [1.0], [2.0], [3.0]], Y, label_names=["sea", "sun", "ski"])
        >>> model.drop_labels(["sun"]).label_names_
        array(['sea', 'ski'], dtype=object)
        """
        check_is_fitted(self)
        if not self.capabilities.separate_labels:
            raise InvalidInputError(
                f"what this {type(self).__name__} learned of a label depends on others, so that none can be dropped",
                advice=f"fit it again without them; {self._others_with('separate_labels')} can drop labels",
            )
        L = len(self.label_names_)
        kept = np.setdiff1d(np.arange(L), label_positions(labels, self.label_names_))
        if not len(kept):
            raise InvalidInputError("at least one label must be left", argument="labels")
        varying = np.flatnonzero(self.constant_ == 0)
        places = {"names": kept, "labels": np.flatnonzero(np.isin(varying, kept))}
        with committed(self, keep=learned_names(self)) as fitted:
            for name, declared in self._learned.items():
                if not len(places["labels"]) and name not in LabelModel._learned:
                    fitted.__dict__.pop(name, None)  # as after a fit to labels that are all constant
                elif hasattr(self, name):
                    setattr(fitted, name, declared.select(getattr(self, name), places))
            fitted._relabel([name if k in kept else None for k, name in enumerate(self.label_names_.tolist())])
        return self

    def _relabel(self, names: Sequence[Any], new: Sequence[Any] = ()) -> None:
        """Call each label as is said here, None of one that is gone, and name new ones; so does the schema."""
        schema: Schema | None = getattr(self, "schema_", None)
        if schema is not None:
            pairs = zip(self.label_names_, names, strict=True)
            called = {str(old): None if name is None else str(name) for old, name in pairs}
            self.schema_ = schema.with_labels(called, tuple(map(str, new)))
        self.label_names_ = np.array([name for name in (*names, *new) if name is not None], dtype=object)

    def score(self, X: Features, y: Labels | None = None, sample_weight: ArrayLike | None = None) -> float:
        """Return micro-F1 of the predictions: 2 hits / (labels that are on + labels that are predicted).

        Parameters
        ----------
        {features}
            Or a `cofactor.datasets.LabelDataset` without `y`, which is matched by the names of features and labels.
        {labels}
            Labels that are not known, NaN, do not count.
        {sample_weight}

        Returns
        -------
        float
            0 to 1; 0 if no label is on and none is predicted. Weights multiply the counts of each instance.
        """
        X, y, label_names, sample_weight, mask = unpack_dataset(X, y, None, sample_weight, None)
        if y is None:
            raise InvalidInputError("y is missing: the labels with which to compare predictions", argument="y")
        labels, form, names, known = as_known_labels(y, label_names, mask, missing="ignore")
        given = names if form.is_frame or label_names is not None else None
        truth = in_trained_order(labels, given, self.label_names_)
        predicted = of_known(as_labels(self.predict(X))[0], known_in_order(known, given, self.label_names_))
        return _weighted_micro_f1(truth, predicted, as_weights(sample_weight, truth.shape[0]))

    def save(self, path: str | Path) -> None:
        """Write the model to a file for `cofactor.load`, which never executes anything from it.

        Parameters
        ----------
        {path}
        """
        check_is_fitted(self)
        persistence.save(path, self)

    # ---------------------------------------------------------------- input

    def _receive(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        label_names: Iterable[Any] | None = None,
        mask: Any = None,
        reset: bool = True,
        weights: str | None = None,
        monitor: Monitor | None = None,
    ) -> TrainingData:
        """Check the data of a fit and note their form; without `reset` they must have the form noted before.

        Instances of weight 0, or without any known label, are left out. With `reset`, no label counts as constant
        afterwards, and the cut is 0 if `threshold` is a rule that is still to be learned: the state in which
        `partial_fit` starts; features are not scaled yet. `weights` says which weights are taken, "any" or "whole"; by
        default the `capabilities` of the model.
        """
        X, y, label_names, sample_weight, mask = unpack_dataset(X, y, label_names, sample_weight, mask)
        features: Any
        if y is not None:
            refuse_labels_beside(X)
        if reset and y is None and are_chunks(X):
            self._check_takes_chunks(mask)
            features, labels, form, names, columns = read_chunks(X, label_names)
            self.n_features_in_, known = features.shape[1], None
            if columns is not None:
                self.feature_names_in_ = columns
        else:
            features = self._features(X, reset=reset)
            missing = getattr(self, "missing", "ignore")
            labels, form, names, known = as_known_labels(y, label_names, mask, missing=missing)
            check_lengths(features, labels)
        if known is not None:
            if "missing" not in self._params:  # those who learn from known labels alone have it
                raise refused_unknown(known, type(self).__name__, names)
            check_known(known, names)
            warn_of_one_sided(labels, known, names)
        if reset:
            self.form_, self.label_names_ = form, names
            self.constant_ = np.zeros(len(names), dtype=np.int8)
            self.decision_ = Decision.of_threshold(self.threshold)
        else:
            self.form_ = check_coding(form, self.form_)
            given = names if form.is_frame or label_names is not None else None
            labels = in_trained_order(labels, given, self.label_names_)
            known = known_in_order(known, given, self.label_names_)
        space = X if isinstance(X, FeatureSpace) else None
        weight = weights_of(sample_weight, labels.shape[0], space)
        if (weights or self.capabilities.weights) == "whole":
            check_whole(weight, type(self).__name__)
        ids = getattr(X, "ids", None) if is_dataset(X) else None
        called = getattr(self, "feature_names_in_", None)
        check_text(() if called is None else called, "names of features")
        check_text(() if ids is None else ids, "ids of instances")
        watched = monitor or Monitor(None, False)
        data = TrainingData(features, labels, weight, watched, space, known=known, ids=ids, feature_names=called)
        return data.without_zero_weights().drop_unlabelled()

    def _check_takes_chunks(self, mask: Any) -> None:
        """Refuse chunks if the model learns from all instances at once, or has settings that want these."""
        if not self.capabilities.chunks:
            name = type(self).__name__
            able = sorted(kind.__name__ for kind in self._kinds() if kind().capabilities.chunks)
            of = " with these settings" if name in able else ""
            raise InvalidInputError(
                f"{name}{of} learns from all instances at once, not from chunks",
                argument="X",
                advice=f"take one of {', '.join(able)} (with the default estimator and loss, or LinearSVC(C=C), "
                "LogisticRegression(C=C) or Ridge()), or give each chunk to OMF.partial_fit",
            )
        for name, value in (("mask", mask), ("class_weight", getattr(self, "class_weight", None))):
            if value is not None:
                raise InvalidInputError(
                    ("a fit to chunks takes no ", Argument(name)),
                    argument=name,
                    advice="leave it out, or give all instances at once",
                )

    def _features(self, X: Any, *, reset: bool = False) -> CheckedFeatures:
        """Return checked features, scaled as in training.

        With `reset` they are to be learned from, and not scaled: their number and names, and the schema of a data set,
        are noted.
        """
        if not reset:
            check_is_fitted(self)
        if isinstance(X, FeatureSpace):
            if reset:
                self.n_features_in_ = X.shape[1]
            check_n_features(X, self)
            return X.X
        if not reset:
            return self.scaling_.apply(features_to_score(X, self))
        if not is_dataset(X):
            return as_features(X, self, reset=True)
        checked = as_features(X.X, self, reset=True, names=X.feature_names)
        self.feature_names_in_ = np.array(X.feature_names, dtype=object)
        if X.schema is not None:
            self.schema_ = X.schema
        return checked

    def _with_scaling(self, data: TrainingData, *, stream: bool = False) -> TrainingData:
        """Choose the scaling, and return the data scaled; a `FeatureSpace` is scaled already."""
        if data.space is not None:
            self.scaling_ = data.space.scaling_for(self.scale)
            return data
        weights = relative_weights(data.weights)
        if stream:
            self.scaling_ = stream_scaling(self.scale, data.features, data.weights)
        elif self.scale != AUTO or self.capabilities.scales == ("none",):
            self.scaling_ = learn_scaling("none" if self.scale == AUTO else self.scale, data.features, weights)
        elif (error := self.capabilities.scale_error) is not None and data.n_instances >= 3:
            candidates, rows = candidate_scalings(data.features, data.weights), rows_to_compare(data.n_instances)
            X, Y = data.features[rows], data.labels[rows]
            self.scaling_ = candidates[int(np.argmin([error(scaling.apply(X), Y) for scaling in candidates]))]
        else:
            labels, of_dense = data.expected_labels(), self.capabilities.scales
            self.scaling_, best = compared_scalings(data.features, labels, weights, of_dense=of_dense)
            return data.scaled(self.scaling_, best)
        return data.scaled(self.scaling_)

    # ---------------------------------------------------------------- constant labels, blocks, decisions

    def _fit_nonconstant(self, data: TrainingData) -> TrainingData:
        """Note which labels are constant in the data, and learn the others; return the data with these others."""
        n, L = data.labels.shape
        counts = np.bincount(data.labels.indices, minlength=L)
        n_known = n if data.known is None else data.known.sum(axis=0)
        # A label of which nothing is known, in a part of the instances, is off: nothing says that it is ever on.
        self.constant_ = np.where(counts == 0, -1, counts == n_known).astype(np.int8)
        varying = self.constant_ == 0
        data = data if varying.all() else data.of_labels(np.flatnonzero(varying))
        if not varying.any():
            return data
        learned = data.repeated() if data.weights is not None and self.capabilities.weights == "whole" else data
        refuse_too_large(self, self._fit_bytes(learned), learned.features.size, learned.sizes)
        with blas_limit(*learned.features.shape):
            self._fit(learned)
        return data

    def _decide(self, threshold: str, data: TrainingData, recorded: NDArray[np.float64] | None = None) -> None:
        """Learn calibration and decision from the data of the fit, by scores of the labels that vary, held out.

        Parameters
        ----------
        threshold : str
            As in `Decision.learn`.
        data : TrainingData
            With the labels that are not constant.
        recorded : ndarray of shape (L,), optional
            Of all labels, as in `Decision.learn`.
        """
        constant = self.constant_
        if not data.labels.shape[1]:
            plain = Calibration(np.ones(len(constant)), np.zeros(len(constant)))
            self.decision_ = replace(self.decision_, calibration=plain)
            return
        warn_of_copies(data.features, data.labels)
        with blas_limit(*data.features.shape):
            # An exact leave-one-out is that of a regression that all labels share.
            rows, scores = self._held_out(data) if data.known is None else LabelModel._held_out(self, data)
        known = None if data.known is None else of_all_labels(data.known[rows], constant, True, True)
        scores, labels = (
            of_all_labels(scores, constant, -CONSTANT_SCORE, CONSTANT_SCORE),
            with_constant(data.labels[rows], constant),
        )
        weights = None if data.weights is None else data.weights[rows]
        self.decision_ = Decision.learn(
            threshold, self.decide_for, scores, labels, weights, recorded, known=known, names=self.label_names_
        )
        warn_of_unreached(self.decision_, type(self).__name__)
        on = self.decision_.predict(scores)
        if recorded is None:
            self.decision_ = self.decision_.tried(on, labels, weights, known)
        told = self.decision_.is_unreached or data.monitor.stopped or not self.capabilities.scales
        if len(scores) >= ENOUGH and not told:
            warn_of_one_answer(on, type(self).__name__)

    def _of_all_labels(self, method: Any, X: CheckedFeatures, off: Any, on: Any) -> NDArray[Any]:
        """Return what a method says of the labels that `_fit` saw, and `off` or `on` for constant labels."""
        if self.constant_.all():
            table = np.empty((X.shape[0], 0), dtype=type(on))
        else:
            with blas_limit(*X.shape):
                table = np.asarray(method(X))
        return of_all_labels(table, self.constant_, off, on)

    def _all_scores(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return the scores of all labels, constant ones included."""
        return self._of_all_labels(self._scores, X, -CONSTANT_SCORE, CONSTANT_SCORE)

    def _all_probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return the probabilities of all labels: calibrated ones, or the model's own."""
        if self.decision_.calibration is None:
            return self._of_all_labels(self._probabilities, X, 0.0, 1.0)
        return self.decision_.proba(self._all_scores(X))

    def _decoded(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        """Return which labels are on."""
        if self.decision_.rule is None:
            return self._of_all_labels(self._label_sets, X, False, True)
        return self.decision_.predict(self._all_scores(X))

    def _in_form(self, X: Features, decide: Callable[[CheckedFeatures], NDArray[np.bool_]]) -> Any:
        """Return what is decided of blocks of instances, in the form of the y that `fit` was given."""
        blocks = [decide(block) for block in self._blocks(self._features(X))]
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        if self.form_.is_sparse:
            on = sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
            return self.form_.cast(on, self.label_names_)
        return self.form_.cast(np.concatenate(blocks), self.label_names_, index)

    def _blocks(self, X: CheckedFeatures) -> Iterator[CheckedFeatures]:
        """Yield blocks of rows, so that the scores of all instances are not in memory at the same time."""
        height = max(1, _SCORES_PER_BLOCK // len(self.label_names_))
        for (chunk,) in zip_chunks(X):
            few = chunk.shape[0] <= height  # a slice of sparse features is a copy
            yield from (chunk,) if few else (chunk[rows] for rows in batches(chunk.shape[0], height))

    # ---------------------------------------------------------------- for the choice of parameters

    #: Rules by which `cofactor.evaluation.Search` may learn a cut.
    cut_rules: ClassVar[tuple[str, ...]] = (AUTO, *RULES)

    def disable_threshold(self) -> None:
        """Set the plain cut as the threshold, for a fit after which the caller cuts the scores."""
        self.threshold, self.decide_for = 0, TARGET_METRICS[0]

    def learn_cut(self, rule: str, scores: NDArray[Any], truth: sparse.csr_array) -> Decision:
        """Return the decision that a rule learns from scores, or the plain cut.

        Parameters
        ----------
        rule : str
            One of `cut_rules`, or "plain".
        scores : ndarray of shape (n, L)
            Of instances that the model did not learn from.
        truth : csr_array of shape (n, L)
            Their labels.
        """
        if rule == AUTO:
            return Decision.learn(AUTO, self.decide_for, scores, truth)
        return Decision(Threshold(0.0) if rule == "plain" else learn_threshold(rule, scores, truth))

    def with_cut(self, rule: str, cut: Decision) -> Self:
        """Return a copy of the fitted model which decides by a cut.

        Parameters
        ----------
        rule : str
            How it was learned.
        cut : Decision
            What `learn_cut` returned.
        """
        model = copy.copy(self)
        model.threshold, model.decision_ = rule, cut
        if cut.calibration is None:
            model.decision_ = replace(cut, calibration=self.decision_.calibration)
        else:
            model.decide_for = cut.name if cut.name in TARGET_METRICS and not cut.wanted else dict(cut.wanted)
        return model

    def feature_space_for(self, varied: Collection[str]) -> Callable[[Any, Any], FeatureSpace] | None:
        """Return ``prepare(X, y)``, once for fits that differ in these parameters alone; None if nothing can."""
        intercept = self.capabilities.shared_space
        if intercept is None or any(name.endswith(("fit_intercept", "scale", "estimator")) for name in varied):
            return None
        return partial(space_for, scale=self.scale, fit_intercept=intercept)

    # ---------------------------------------------------------------- saving

    def _summary(self) -> dict[str, Any]:
        """Return what the file says of the model to those who do not load it."""
        return summary(self, label_facts(self))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        self._check_savable()
        arrays: dict[str, NDArray[Any]] = {}
        learned = self._pack_learned(arrays, "learned.")  # nothing of its own if all labels are constant
        header = head_of(self) | {"label_names": self.label_names_.tolist(), "learned": learned}
        if hasattr(self, "schema_"):
            header["recipe"] = self.schema_.as_json()  # as files called it before
        return header, arrays

    def _check_savable(self) -> None:
        """Refuse estimators among the parameters of which a file cannot hold what they learn."""
        for part in self.get_params(deep=False).values():
            if isinstance(part, LabelModel):
                part._check_savable()
            elif hasattr(part, "fit"):
                from cofactor.labels.learners.fitting import check_savable
                # loads scikit-learn's estimators

                check_savable(part)

    @classmethod
    def _from_state(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild a model from what `_to_state` returned, and refuse parts that do not fit together.

        `models` holds the classes of models that may be part of this one, by name; learners may be part of it too.
        """
        known = models or {}
        estimators, parts = dict(known), {**known, **LEARNERS}
        if "estimator" in cls._params:
            from cofactor.labels.learners.fitting import SAVABLE
            # loads scikit-learn's estimators

            estimators |= SAVABLE
        model: Self = of_head(cls, header, estimators)
        if "recipe" in header:
            model.schema_ = Schema.of_json(member(header, "recipe", dict))
        model.label_names_ = np.array(member(header, "label_names", list), dtype=object)
        saved = member(header, "learned", dict)
        for name, value in saved.items():
            if name not in cls._learned:
                raise InvalidInputError(f"{cls.__name__} has no {name}")
            setattr(model, name, cls._learned[name].from_plain(unpacked(value, arrays, parts)))
        for texts in (header["feature_names"], model.label_names_, getattr(model, "instance_ids_", None)):
            check_text(() if texts is None else texts, "names and ids")
        model._check_form()
        if model._n_varying:
            model._check_learned()
            model._check_answers()
        elif saved.keys() > LabelModel._learned.keys():
            raise InvalidInputError("something is learned, though no label varies")
        return model

    @property
    def _n_varying(self) -> int:
        """How many labels varied in training: those that `_fit` saw."""
        return int(np.count_nonzero(self.constant_ == 0))

    def _check_form(self) -> None:
        """Refuse names and features, read from a file, that do not fit together."""
        names = getattr(self, "feature_names_in_", None)
        schema = getattr(self, "schema_", None)
        if schema is not None and (names is None or schema.feature_names != tuple(names.tolist())):
            raise InvalidInputError("the schema of columns makes other features than those of the model")
        for name, declared in LabelModel._learned.items():
            declared.refuse_wrong(name, getattr(self, name, None), {"names": len(self.label_names_)})
        self.scaling_.check(self.n_features_in_)
        self.decision_.check(len(self.label_names_))

    def _check_learned(self) -> None:
        """Refuse what was learned, read from a file, if it is not as declared; subclasses check more than that.

        This comes before anything is computed: neither SciPy's products nor kernels check indices.
        """
        check_course(self)
        sizes = {"features": self.n_features_in_, "labels": self._n_varying, "names": len(self.label_names_)}
        self._check_declared(sizes)

    def _check_answers(self) -> None:
        """Refuse what was read from a file unless the model can score an instance and say which labels are on."""
        n_labels = len(self.label_names_)
        nothing = np.zeros((1, self.n_features_in_))
        scores, on = self._all_scores(nothing), self._decoded(nothing)
        if scores.shape != (1, n_labels) or not np.isfinite(scores).all():
            raise InvalidInputError(f"it gives an instance scores of shape {scores.shape}, or not finite ones")
        if on.shape != (1, n_labels) or on.dtype != np.bool_:
            raise InvalidInputError(f"it gives an instance labels of shape {on.shape}, dtype {on.dtype}")


def _weighted_micro_f1(
    truth: sparse.csr_array, predicted: sparse.csr_array, weights: NDArray[np.float64] | None = None
) -> float:
    """Return micro-F1; weights multiply the counts of each instance."""
    counts = label_counts(truth, predicted).rows
    w = np.ones(truth.shape[0]) if weights is None else weights
    total = float(w @ (counts.true + counts.predicted))
    return 2 * float(w @ counts.common) / total if total else 0.0
