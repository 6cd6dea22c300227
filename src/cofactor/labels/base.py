"""The base class of all label models: it checks input, learns thresholds, predicts in blocks, scores and saves."""

from __future__ import annotations

import copy
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from cofactor import persistence
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import blas_limit
from cofactor.labels.calibration import Calibration
from cofactor.labels.common import check_common
from cofactor.labels.conformal import predict_set
from cofactor.labels.data import LabelForm
from cofactor.labels.decoding import AIMS, AUTO, FAR, JOINT, RULES, Decoder, Joint, check_decision
from cofactor.labels.explaining import explain, no_parts
from cofactor.labels.facts import label_facts
from cofactor.labels.fit_input import CheckedFeatures, FitInput
from cofactor.labels.held_out import check_enough, decide, fit_threshold, holdout_scores, recorded_shares
from cofactor.labels.learners import LEARNERS
from cofactor.labels.receiving import received, received_features, scaled
from cofactor.labels.regression import FeatureSpace
from cofactor.labels.scaling import OF_DENSE, Scaling
from cofactor.labels.scoring import (
    cut_of_rule,
    decided,
    in_form,
    of_all_labels,
    offers_probabilities,
    on_by_scores,
    score,
)
from cofactor.labels.state import check_answers, check_shapes, label_state, take_state
from cofactor.labels.tags import label_tags
from cofactor.model.commit import committed
from cofactor.model.docs import fill_docs
from cofactor.model.facts import summary
from cofactor.model.kinds import kinds_of
from cofactor.model.offered import offered_if
from cofactor.model.parameters import refuses_unknown_parameters
from cofactor.model.progress import Monitor
from cofactor.model.shown import html_of
from cofactor.model.size import refuse_too_large
from cofactor.passes import batches, together
from cofactor.typing import Features, Labels, RandomState

__all__ = ["CheckedFeatures", "FitInput", "LabelModel"]

_SCORES_PER_BLOCK = 1 << 22


@fill_docs
@refuses_unknown_parameters
class LabelModel(ClassifierMixin, BaseEstimator, ABC):
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
    calibration_ : Calibration or None
        How scores become probabilities; None where the fit learned no threshold.
    decision_ : Decoder
        How probabilities or scores become labels: a `ProbabilityCut` or sets of labels with ``threshold="auto"``, else
        a `Cut`, a `TopK`, or `Joint`, where the model predicts label sets as a whole.
    """

    _html_repr = html_of
    # Parameters of every model; a class that does not take the two first has these.
    scale: str = "none"
    decide_for: str = "micro"
    threshold: float | str
    random_state: RandomState
    #: What to do with unknown labels; a class that learns from the known ones alone has it as a parameter.
    missing: str = "error"
    _takes_unknown: ClassVar[bool] = False

    #: Parameters with which a model is that of its paper, beside those of all models; see `paper`.
    _paper: ClassVar[Mapping[str, Any]] = {}

    n_features_in_: int
    label_names_: NDArray[Any]
    form_: LabelForm
    constant_: NDArray[np.int8]
    scaling_: Scaling
    calibration_: Calibration | None
    decision_: Decoder

    #: Whether `fit` takes sparse labels. scikit-learn has no tag for it, so `cofactor.evaluation` asks for this.
    takes_sparse_labels: ClassVar[bool] = True

    #: Names of the attributes that `_fit` sets and a file must hold: arrays (dense or csr), numbers, strings, None,
    #: models, learners, and lists and dictionaries of these.
    _learned: ClassVar[tuple[str, ...]] = ()

    #: Shapes of those that are arrays or numbers, a letter for each axis: D features, L labels that vary in training;
    #: any other letter is a length which all that name it share. A file with other shapes is refused.
    _shapes: ClassVar[Mapping[str, str]] = {}

    #: Those of them that a fitted model may lack.
    _optional: ClassVar[frozenset[str]] = frozenset({"instance_ids_"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fill_docs(cls)

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the estimator."""
        return label_tags(super().__sklearn_tags__())

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _fit(self, data: FitInput) -> None:
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

    def _fit_bytes(self, data: FitInput) -> int:
        """Return how many bytes a fit takes at least, beyond its data: tables of labels × labels above all."""
        return data.bytes_of(getattr(self, "n_components", 0))

    #: `_score_parts(X)` returns the `ScoreParts` of the L' labels that `_fit` saw: with it a model can explain.
    _score_parts = no_parts

    def _has_probabilities(self) -> bool:
        """Whether the model has probabilities; this may depend on its parameters."""
        return type(self)._probabilities is not LabelModel._probabilities

    def _decodes_sets(self) -> bool:
        """Whether the model can decode label sets by itself; this may depend on its parameters."""
        return type(self)._label_sets is not LabelModel._label_sets

    @staticmethod
    def _kinds() -> list[type[LabelModel]]:
        """Return all models, for errors which name those that can do what this one cannot."""
        return kinds_of(LabelModel)

    def _warn_of_limits(self, data: FitInput) -> None:
        """Warn of parameters that mean less than they say, since the data are few; by default of none."""
        return

    def _settled(self) -> dict[str, Any]:
        """Return parameters with the values that the fit chose for them, with which a part of the data is fitted."""
        return {}

    def _held_out(self, data: FitInput) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """Return rows, and their scores, shape (m, L'), by models like this fitted one which did not learn from them.

        A model with an exact leave-one-out overrides it. The data hold the labels that `_fit` saw, and weights of the
        instances, which are not repeated yet. See `sampled` for the number of rows.
        """
        return holdout_scores(self, data)

    def _dense_scales(self) -> tuple[str, ...]:
        """Return the scales from which dense features choose with ``scale="auto"``."""
        return OF_DENSE

    @property
    def takes_chunks(self) -> bool:
        """Whether `fit` takes chunks of instances, see its X: what it learns are sums over the instances."""
        return False

    @property
    def takes_weights(self) -> str:
        """Which `sample_weight` the model takes: "any", or "whole" numbers, which say how often to repeat instances."""
        return "whole"

    def _check_params(self) -> None:
        """Refuse parameters out of their range."""
        check_common(self)

    def default_grid(self) -> dict[str, list[Any]]:
        """Return values to try of the parameters that matter most, for a search to which no grid is given.

        Returns
        -------
        dict of str to list
            Values of each parameter, as `Search` takes them; empty where the model declares none.

        Examples
        --------
        >>> from cofactor.labels import MLkNN
        >>> MLkNN().default_grid()
        {'n_neighbors': [5, 10, 20]}
        """
        return {}

    @classmethod
    def paper(cls, *args: Any, **params: Any) -> Self:
        """Return the model with the settings of its paper: features as they are, scores cut at 0.

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
        names = inspect.signature(cls).parameters
        common = {name: value for name, value in (("scale", "none"), ("threshold", 0)) if name in names}
        return cls(**{**common, **cls._paper, **dict(zip(names, args, strict=False)), **params})

    # ---------------------------------------------------------------- the contract

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
            `cofactor.datasets.LabelDataset` without `y`: then the model keeps its recipe of columns too, and predicts
            from frames with the columns of the table it was read from. Or chunks, if `takes_chunks`, without `y`: a
            `cofactor.datasets.LabelChunks`, or any iterable of pairs (X, y) that can be read again and again.
        {labels}
            Predictions have the same form.
        {sample_weight}
            Some models take whole numbers only, see `takes_weights`.
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
        self._check_params()
        check_decision(self.threshold, self.decide_for)
        with (
            committed(self) as fitted,
            Monitor(getattr(self, "callback", None), bool(getattr(self, "verbose", 0)), type(self).__name__) as monitor,
        ):
            data = fitted._receive(X, y, sample_weight, label_names=label_names, mask=mask, monitor=monitor)
            if isinstance(self.threshold, str) and self.threshold not in (AUTO, JOINT):
                check_enough(data.n_instances, self.threshold)
            shares = recorded_shares(recorded, data, fitted.label_names_, self.threshold)
            with blas_limit(*data.features.shape):
                data = fitted._with_scaling(data)
            varying = fitted._fit_varying(data)
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

    predict_set = predict_set

    _in_form = in_form

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

    @offered_if(offers_probabilities)
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

    explain = explain

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

    fit_threshold = fit_threshold
    score = score

    def save(self, path: str | Path) -> None:
        """Write the model to a file for `cofactor.load`, which never executes anything from it.

        Parameters
        ----------
        {path}
        """
        check_is_fitted(self)
        persistence.save(path, self)

    # ---------------------------------------------------------------- input

    def _receive(self, X: Any, y: Any, sample_weight: Any = None, *, reset: bool = True, **options: Any) -> FitInput:
        """Check the data of a fit and note their form, see `received`; without `reset` the form noted before holds."""
        return received(self, X, y, sample_weight, reset=reset, **options)

    def _features(self, X: Any, *, reset: bool = False) -> CheckedFeatures:
        """Return checked features, with `reset` as in `as_features`; without it they are scaled."""
        return received_features(self, X, reset=reset)

    def _with_scaling(self, data: FitInput, *, stream: bool = False) -> FitInput:
        """Choose the scaling, and return the data scaled."""
        return scaled(self, data, stream=stream)

    # ---------------------------------------------------------------- constant labels, blocks, decisions

    def _fit_varying(self, data: FitInput) -> FitInput:
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
        learned = data.repeated() if data.weights is not None and self.takes_weights == "whole" else data
        refuse_too_large(self, self._fit_bytes(learned), learned.features.size, learned.sizes)
        with blas_limit(*learned.features.shape):
            self._fit(learned)
        return data

    def _decide(self, threshold: str, data: FitInput, recorded: NDArray[np.float64] | None = None) -> None:
        """Learn calibration and decision by held-out scores of the labels that vary."""
        decide(self, threshold, data, recorded)

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
        return self._of_all_labels(self._scores, X, -FAR, FAR)

    def _all_probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        """Return the probabilities of all labels: calibrated ones, or the model's own."""
        if self.calibration_ is None:
            return self._of_all_labels(self._probabilities, X, 0.0, 1.0)
        return self.calibration_.probabilities(self._all_scores(X))

    def _decoded(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        """Return which labels are on."""
        if isinstance(self.decision_, Joint):
            return self._of_all_labels(self._label_sets, X, False, True)
        return on_by_scores(self, self._all_scores(X))

    def _blocks(self, X: CheckedFeatures) -> Iterator[CheckedFeatures]:
        """Yield blocks of rows, so that the scores of all instances are not in memory at the same time."""
        height = max(1, _SCORES_PER_BLOCK // len(self.label_names_))
        for (part,) in together(X):
            few = part.shape[0] <= height  # a slice of sparse features is a copy
            yield from (part,) if few else (part[rows] for rows in batches(part.shape[0], height))

    # ---------------------------------------------------------------- for the choice of parameters

    #: Rules by which `cofactor.evaluation.Search` may learn a cut.
    cut_rules: ClassVar[tuple[str, ...]] = (AUTO, *RULES)

    def _uncut(self) -> None:
        """Set the plain cut as the threshold, since the caller cuts the scores."""
        self.threshold, self.decide_for = 0, AIMS[0]

    def _learn_cut(self, rule: str, scores: NDArray[Any], truth: sparse.csr_array) -> Decoder:
        """Return the cut that a rule learns, or the plain one."""
        return cut_of_rule(rule, self.decide_for, scores, truth)

    def _with_cut(self, rule: str, cut: Decoder) -> Self:
        """Return a copy of the fitted model which predicts with a cut."""
        model = copy.copy(self)
        decided(model, rule, cut)
        return model

    def _feature_space(self, varied: Collection[str]) -> Callable[[Any, Any], FeatureSpace] | None:
        """Return ``prepare(X, y)``, once for fits that differ in these parameters alone; None if nothing can."""
        return None

    # ---------------------------------------------------------------- saving

    #: Other estimators that parameters of this model may hold, by class name.
    _known_estimators: ClassVar[Mapping[str, type[BaseEstimator]]] = {}

    def _summary(self) -> dict[str, Any]:
        """Return what the file says of the model to those who do not load it."""
        return summary(self, label_facts(self))

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        return label_state(self)

    @classmethod
    def _from_state(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild a model from what `_to_state` returned, and refuse parts that do not fit together.

        `models` holds the classes of models that may be part of this one, by name; learners may be part of it too.
        """
        known = models or {}
        model = take_state(cls, header, arrays, {**known, **cls._known_estimators}, {**known, **LEARNERS})
        model._check_learned()
        check_answers(model)
        return model

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together; subclasses check more than shapes."""
        check_shapes(self)
