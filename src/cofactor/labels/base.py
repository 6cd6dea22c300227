"""The contract of every label model: fit, predict, score, save; and what learns its threshold."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from cofactor import persistence
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.data import LabelForm, as_labels, tidy_features
from cofactor.labels.regression import FeatureSpace, offered
from cofactor.labels.thresholds import FAR, RULES, Threshold, check_threshold, learn_threshold
from cofactor.metrics.labels import micro_f1
from cofactor.model.checks import check_callback, check_number, make_generator
from cofactor.model.commit import committed
from cofactor.model.docs import fill_docs
from cofactor.model.progress import Monitor
from cofactor.model.selection.trials import out_of_fold_scores
from cofactor.model.state import from_plain, member, packed, plain, unpacked

_SCORES_PER_BLOCK = 1 << 22
_FOLDS = 5


class LabelTagsMixin:
    """Features may be sparse, and labels are a table: what scikit-learn's tools need to know."""

    #: Labels may be sparse in `fit`, which scikit-learn has no tag for: `cofactor.evaluation` looks for this one.
    takes_sparse_labels = True

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the estimator."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = False
        return tags


@fill_docs
class LabelModel(LabelTagsMixin, BaseEstimator, ABC):
    """A model which gives instances labels.

    Subclasses say how to learn (`_fit`) and how to score (`_scores`). They see checked features, and labels as a
    sparse array of ones from which labels that never or always occur have been taken out. All else is here.

    Attributes
    ----------
    n_features_in_ : int
        Number D of features.
    label_names_ : ndarray of shape (L,), object
        Names of the labels: as given, columns of the frame Y was, or 0 to L - 1.
    constant_ : ndarray of shape (L,), int8
        1 for labels that all instances had in training, -1 for those that none had, 0 for all others. Constant
        labels are not learned: predictions repeat the constant, and their score is ±1e9, as good as infinite.
    """

    #: Parameters in the constructor of every model.
    threshold: Any
    random_state: Any

    n_features_in_: int
    label_names_: NDArray[Any]
    form_: LabelForm
    constant_: NDArray[np.int8]
    decision_: Threshold

    #: Names of what `_fit` learns and a file must hold: arrays (dense or csr), numbers, strings, None, and lists and
    #: dictionaries of these.
    _learned: ClassVar[tuple[str, ...]] = ()

    #: Whether `fit` may warn that nothing is predicted; not where the cut is chosen, or told of, by the caller.
    _says_if_empty = True

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        fill_docs(cls)

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _fit(self, X: NDArray[Any] | sparse.csr_array, Y: sparse.csr_array, monitor: Monitor) -> None:
        """Learn from features, and ones where one of at least one label is on; every label is on and off somewhere."""

    @abstractmethod
    def _scores(self, X: NDArray[Any] | sparse.csr_array) -> NDArray[Any]:
        """Return the scores of each instance for each label that `_fit` saw; the plain cut is 0."""

    def _check_params(self) -> None:
        """Refuse parameters out of their range."""
        check_threshold(self.threshold)
        fit_intercept = getattr(self, "fit_intercept", True)
        if not isinstance(fit_intercept, bool | np.bool_):
            raise InvalidTypeError("expected True or False", argument="fit_intercept", found=fit_intercept)
        check_callback(getattr(self, "callback", None))
        verbose = getattr(self, "verbose", 0)
        if not isinstance(verbose, bool | np.bool_):
            check_number("verbose", verbose, low=0, whole=True)
        make_generator(self.random_state if not isinstance(self.random_state, np.random.RandomState) else None)

    # ---------------------------------------------------------------- the contract

    def fit(self, X: Any, Y: Any, *, label_names: Iterable[Any] | None = None) -> Self:
        """Learn from instances whose labels are known.

        Parameters
        ----------
        X : array-like, sparse matrix or array, frame, or FeatureSpace, of shape (n, D)
            Features; of `cofactor.labels.regression.FeatureSpace` if one decomposition is to serve several models.
        Y : array-like, sparse matrix or array, or frame, of shape (n, L)
            Labels: 0 and 1, False and True, or -1 and 1. Predictions have the same form.
        label_names : iterable of length L, optional
            Names of the labels; by default the columns of a frame, and 0 to L - 1 else.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If parameters, features or labels are not valid; the message says what was found and what to do.
        """
        self._check_params()
        with (
            committed(self) as fitted,
            Monitor(getattr(self, "callback", None), bool(getattr(self, "verbose", 0))) as monitor,
            offered(X if isinstance(X, FeatureSpace) else None),
        ):
            features, labels = fitted._receive(X, Y, label_names)
            if isinstance(self.threshold, str):
                scores = fitted._out_of_fold_scores(features, labels, monitor)
                fitted.decision_ = learn_threshold(self.threshold, scores, labels)
            fitted._fit_varying(features, labels, monitor)
        return self

    def predict(self, X: Any) -> Any:
        """Predict labels.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of shape (n, D)
            Features.

        Returns
        -------
        array, sparse matrix or array, or frame, of shape (n, L)
            In the form in which `fit` got Y. Works in blocks, so that scores of all instances × all labels never
            stand in memory.
        """
        features = self._features(X)
        blocks = [self.decision_.apply(scores) for scores in self._score_blocks(features)]
        index = getattr(X, "index", None) if hasattr(X, "iloc") else None
        if self.form_.is_sparse:
            on = sparse.vstack([sparse.csr_array(block) for block in blocks], format="csr")
            return self.form_.cast(on, self.label_names_)
        return self.form_.cast(np.concatenate(blocks), self.label_names_, index)

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return real-valued scores; a higher one means a more likely label, and the plain cut is at 0.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of shape (n, D)
            Features.

        Returns
        -------
        ndarray of shape (n, L)
        """
        return np.concatenate(list(self._score_blocks(self._features(X))))

    @property
    def threshold_(self) -> float | NDArray[np.float64]:
        """The cut between off and on: a number, or one for each label; with "top-k" the number of labels."""
        check_is_fitted(self)
        return self.decision_.value

    @property
    def classes_(self) -> NDArray[np.int64]:
        """Positions of the labels: what scikit-learn's `cross_val_predict` asks of a multi-label classifier."""
        check_is_fitted(self)
        return np.arange(len(self.label_names_))

    def fit_threshold(self, X: Any, Y: Any, rule: str | float | None = None) -> Self:
        """Learn only the cut of the scores, from instances held out or, in a stream, not learned from yet.

        All else stays as it is, and so does the parameter `threshold`. `fit` learns the cut of a rule by itself, on
        folds; this is for a model which learned by `partial_fit`, and for another rule afterwards.

        Parameters
        ----------
        X : array-like, sparse matrix or array, or frame, of shape (n, D)
            Features.
        Y : array-like, sparse matrix or array, or frame, of shape (n, L)
            Labels.
        rule : {"global", "per-label", "top-k", "cardinality"} or float, optional
            The rule, see `learn_threshold`, or a cut; by default the parameter `threshold`.

        Returns
        -------
        self

        Raises
        ------
        ValueError, TypeError
            If the rule, features or labels are not valid, or do not fit the model.

        Notes
        -----
        Needs the scores of all these instances in memory. Later calls of `partial_fit` keep the cut; learn it anew
        from recent instances when scores have changed.
        """
        check_is_fitted(self)
        rule = self.threshold if rule is None else rule
        check_threshold(rule)
        features, labels = copy.copy(self)._receive(X, Y, reset=False)
        if isinstance(rule, str):
            scores = np.concatenate(list(self._score_blocks(features)))
            self.decision_ = learn_threshold(rule, scores, labels)
        else:
            self.decision_ = Threshold("fixed", float(rule))
        return self

    def score(self, X: Any, Y: Any) -> float:
        """Return micro-F1 of `predict`."""
        predicted, _, _ = as_labels(self.predict(X))
        return float(micro_f1(as_labels(Y)[0], predicted))

    def default_grid(self) -> dict[str, list[Any]]:
        """Return values to try for the parameters that matter most, where a user says nothing about them.

        Returns
        -------
        dict of str to list
            Values by parameter, as `Search` takes them; empty where there is nothing to choose.

        Examples
        --------
        >>> from cofactor.labels import MLkNN
        >>> MLkNN().default_grid()
        {'n_neighbors': [5, 10, 20]}
        """
        return {"alpha": [1.0, 10.0, 100.0, 1000.0]} if "alpha" in self.get_params(deep=False) else {}

    def save(self, path: str | Path) -> None:
        """Write the model to a file, which `cofactor.load` reads; nothing in it is ever executed.

        Parameters
        ----------
        path : str or Path
            The file; written whole or not at all.
        """
        check_is_fitted(self)
        persistence.save(path, self)

    # ---------------------------------------------------------------- input

    def _receive(
        self, X: Any, Y: Any, label_names: Iterable[Any] | None = None, *, reset: bool = True
    ) -> tuple[NDArray[Any] | sparse.csr_array, sparse.csr_array]:
        """Check features and labels, and note their form; without `reset`, they must fit those noted before.

        Afterwards the model can predict all labels, which is what `partial_fit` needs: it knows no constant labels,
        and its cut is 0 if `threshold` is a rule, until `fit_threshold` learns one.
        """
        if Y is None:
            raise InvalidInputError(f"{type(self).__name__} requires y to be passed, but the target y is None")
        features = self._features(X, reset=reset)
        labels, form, names = as_labels(Y, label_names)
        n, D = features.shape
        if labels.shape[0] != n:
            turned = "; Y" if labels.shape[1] == n else "; X" if labels.shape[0] == D else ""
            raise InvalidInputError(
                f"X has {n} rows and Y has {labels.shape[0]}{turned and turned + ' seems to be transposed'}: "
                "both must have one row for each instance"
            )
        if reset:
            self.form_, self.label_names_ = form, names
            self.constant_ = np.zeros(len(names), dtype=np.int8)
            cut = 0.0 if isinstance(self.threshold, str) else float(self.threshold)
            self.decision_ = Threshold("fixed", cut)
        elif labels.shape[1] != len(self.label_names_):
            raise InvalidInputError(f"Y has {labels.shape[1]} labels, but the model knows {len(self.label_names_)}")
        return features, labels

    def _features(self, X: Any, *, reset: bool = False) -> NDArray[Any] | sparse.csr_array:
        """Return checked features."""
        if not reset:
            check_is_fitted(self)
        if isinstance(X, FeatureSpace):
            if not reset and X.shape[1] != self.n_features_in_:
                raise InvalidInputError(f"X has {X.shape[1]} features, but the model expects {self.n_features_in_}")
            self.n_features_in_ = X.shape[1]
            return X.X
        if not reset and hasattr(X, "shape") and len(X.shape) == 2 and X.shape[1] != self.n_features_in_:
            turned = "; X seems to be transposed" if X.shape[0] == self.n_features_in_ else ""
            raise InvalidInputError(
                f"X has {X.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_} features "
                f"as input{turned}"
            )
        dtypes = [np.float64, np.float32]
        return tidy_features(validate_data(self, X, reset=reset, accept_sparse="csr", dtype=dtypes, order="C"))

    # ---------------------------------------------------------------- constant labels, blocks, thresholds

    def _fit_varying(self, X: NDArray[Any] | sparse.csr_array, Y: sparse.csr_array, monitor: Monitor) -> None:
        """Note labels which are constant here, and learn the others."""
        counts = np.bincount(Y.indices, minlength=Y.shape[1])
        self.constant_ = (counts == Y.shape[0]).astype(np.int8) - (counts == 0).astype(np.int8)
        varying = self.constant_ == 0
        if varying.any():
            self._fit(X, Y if varying.all() else Y[:, np.flatnonzero(varying)], monitor)

    def _all_scores(self, X: NDArray[Any] | sparse.csr_array) -> NDArray[Any]:
        """Return the scores of all labels, constant ones included."""
        varying = self.constant_ == 0
        if varying.all():
            return self._scores(X)
        scores = np.tile(FAR * self.constant_, (X.shape[0], 1))
        if varying.any():
            scores[:, varying] = self._scores(X)
        return scores

    def _score_blocks(self, X: NDArray[Any] | sparse.csr_array) -> Iterator[NDArray[Any]]:
        """Yield the scores of blocks of rows."""
        n, height = X.shape[0], max(1, _SCORES_PER_BLOCK // len(self.label_names_))
        for k in range(0, n, height):
            yield self._all_scores(X if n <= height else X[k : k + height])

    def _out_of_fold_scores(
        self, X: NDArray[Any] | sparse.csr_array, Y: sparse.csr_array, monitor: Monitor
    ) -> NDArray[Any]:
        """Return scores of all instances by models which did not see them."""
        n = X.shape[0]
        if n < 2:
            raise InvalidInputError(
                "a threshold by a rule is learned on held-out instances",
                argument="threshold",
                found=self.threshold,
                advice=f"give 2 or more, not {n}",
            )

        def score(k: int, train: NDArray[np.bool_], test: NDArray[np.int64]) -> NDArray[Any]:
            part = copy.copy(self)
            part._fit_varying(X[train], Y[train], monitor.inside(f"threshold, fold {k + 1}"))
            return part._all_scores(X[test])

        return out_of_fold_scores(score, n, Y.shape[1], _FOLDS, make_generator(self.random_state))

    # ---------------------------------------------------------------- what a choice of parameters asks for

    #: Rules by which `cofactor.evaluation.Search` may learn a cut.
    cut_rules: ClassVar[tuple[str, ...]] = RULES

    def _uncut(self) -> None:
        """Take the plain cut, since the caller cuts the scores."""
        self.set_params(threshold=0)
        self._says_if_empty = False

    def _learn_cut(self, rule: str, scores: NDArray[Any], truth: sparse.csr_array) -> Threshold:
        """Learn a cut by a rule, or return the plain one."""
        return Threshold("fixed", 0.0) if rule == "plain" else learn_threshold(rule, scores, truth)

    def _with_cut(self, rule: str, cut: Threshold) -> Self:
        """Return a copy of the fitted model which predicts with a cut."""
        decided = copy.copy(self)
        decided.decision_, decided.threshold = cut, rule
        return decided

    def _feature_space(self, varied: Collection[str]) -> Callable[[Any], FeatureSpace] | None:
        """Return what prepares features once for fits which differ in these parameters; None: nothing can."""
        return None

    # ---------------------------------------------------------------- saving

    #: Other estimators that parameters of this model may hold, by class name.
    _components: ClassVar[Mapping[str, type[BaseEstimator]]] = {}

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        arrays: dict[str, NDArray[Any]] = {"constant": self.constant_}
        learned = {
            name: packed(getattr(self, name), f"learned.{name}", arrays)
            for name in self._learned
            if hasattr(self, name)  # nothing is learned where all labels are constant
        }
        header = {
            "params": {k: plain(v) for k, v in self.get_params(deep=False).items() if k != "callback"},
            "n_features": self.n_features_in_,
            "feature_names": [str(name) for name in getattr(self, "feature_names_in_", [])],
            "label_names": self.label_names_.tolist(),
            "form": asdict(self.form_),
            "rule": self.decision_.rule,
            "threshold": packed(self.decision_.value, "threshold", arrays),
            "learned": learned,
        }
        return header, arrays

    @classmethod
    def _from_state(cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Self:
        """Rebuild a model from what `_to_state` returned; whatever does not fit together is refused."""
        model = cls(**{k: from_plain(v, cls._components) for k, v in member(header, "params", dict).items()})
        model._check_params()
        model.n_features_in_ = member(header, "n_features", int)
        if names := member(header, "feature_names", list):
            model.feature_names_in_ = np.array(names, dtype=object)
        model.form_ = LabelForm(**member(header, "form", dict))
        model.label_names_ = np.array(member(header, "label_names", list), dtype=object)
        model.constant_ = arrays["constant"]
        model.decision_ = Threshold(member(header, "rule", str), unpacked(header["threshold"], arrays))
        for name, value in member(header, "learned", dict).items():
            if name not in cls._learned:
                raise InvalidInputError(f"{cls.__name__} has no {name}")
            setattr(model, name, unpacked(value, arrays))
        model._check_learned()
        return model

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together: it must be able to score an instance."""
        n_labels = len(self.label_names_)
        if self.constant_.shape != (n_labels,) or self.constant_.dtype != np.int8:
            raise InvalidInputError(f"constant has shape {self.constant_.shape}, dtype {self.constant_.dtype}")
        if np.shape(self.decision_.value) not in ((), (n_labels,)):
            raise InvalidInputError(f"the threshold has shape {np.shape(self.decision_.value)} for {n_labels} labels")
        try:
            scores = self._all_scores(np.zeros((1, self.n_features_in_)))
        except (AttributeError, IndexError) as error:
            raise InvalidInputError(f"it cannot score an instance: {error}") from error
        if scores.shape != (1, n_labels) or not np.isfinite(scores).all():
            raise InvalidInputError(f"it gives an instance scores of shape {scores.shape}, or not finite ones")
