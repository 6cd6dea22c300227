"""An estimator whose parameters are chosen on held-out training data."""

from __future__ import annotations

import copy
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import AUTO
from cofactor.metrics.labels import LabelMetric, micro_f1
from cofactor.model.convergence import NothingPredictedWarning
from cofactor.model.estimator import Estimator, param
from cofactor.model.progress import Monitor
from cofactor.model.selection.grid import Grid, seeded, select_parameters, task_of
from cofactor.model.selection.judges import (
    OWN,
    PLAIN,
    Choice,
    feature_space_of,
    last_step,
    uncut,
    with_parameters,
)
from cofactor.model.times import pairs_for, timed_pairs
from cofactor.solvers.result import Callback
from cofactor.typing import Features, Ids, Labels, Pairs, RandomState, RatingValues


def _inner_has(name: str) -> Callable[[Any], bool]:
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


class Search(Estimator):
    """A model whose parameters are chosen on held-out training data, then fitted to all of them.

    It serves ratings and labels; of labels it also chooses how scores are cut.

    Parameters
    ----------
    estimator : RatingModel, LabelModel, Pipeline or scikit-learn estimator
        Not changed.
    grid : dict of str to list, or a list of such dicts, optional
        Values to try, as for scikit-learn's ``ParameterGrid``; by default ``estimator.default_grid()``.
    metric : str or LabelMetric, optional
        A name in `cofactor.metrics.RATING_METRICS` or `cofactor.metrics.LABEL_METRICS`, or of recommended lists as
        `cofactor.evaluation.ranking_scorer` takes it, such as "recall@20"; by default "mae" or "micro_f1", and
        "ndcg@10" of models of interactions.
    prediction_grid : dict of str to list, or a list of such dicts, optional
        Values of parameters that only matter to predictions, such as ``alpha_predict`` of `OMF`: every cell is fitted
        once, and measured with each.
    thresholds : sequence of str, optional
        Of labels: some of "plain", "global", "per-label", "top-k", "cardinality", "auto", among which it chooses. By
        default the model decides by itself, with the threshold that it has, in each fit.
    validation : str, float, int or splitter, optional
        How to hold data out: a protocol ("holdout", "weak", "strong", "kfold", "time", "user-last", "per-user" or
        "new-users" of ratings;
        "kfold", "holdout" or "stratified" of labels), a share, a number of folds, an object with ``split(X, y)``, or
        pairs of training and held-out rows. By default "holdout" for ratings, "per-user" for lists, a fifth of the
        instances for labels.
    n_splits : int, default=3
        Number of splits, or folds, of a protocol.
    levels : array-like of shape (R,), optional
        The levels of the ratings, for NMAE and zero-one error, and for a model that wants to know them; by default the
        distinct ratings.
    n_jobs : int, optional
        Number of cells at a time, in threads.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the splits; of ratings also of a model which has none of its own.
    callback : callable, optional
        Called with a `Progress` for each cell that was tried. If it returns True, the choice is among those tried.
    verbose : int, default=0
        Whether to show progress on the terminal.

    Attributes
    ----------
    results_ : list of Choice
        Every cell and rule, the best first; see `select_parameters`.
    choices_ : dict of str to Choice
        Of labels: the best for the "plain" cut, the best "learned" one, and the best by calibrated probabilities,
        "auto", as far as `thresholds` asks for them. Their parameters may differ. Else the best, as "own".
    estimators_ : dict of str to estimator
        The models fitted to all data, one object where the parameters are the same up to the threshold.
    seconds_ : dict of str to float
        The time of the last fit of each; the same for both where they are one object.
    best_ : str
        The best key of `choices_`: it predicts.
    best_params_ : dict
        Its parameters.
    best_estimator_ : estimator
        It; a `LabelModel` among them predicts with the threshold chosen, and can be saved.

    Notes
    -----
    A learned threshold is that of the held-out scores; it is kept when the model is fitted to all instances. A rule
    as the model's own `threshold` would cost five more fits instead.

    Examples
    --------
    >>> from sklearn.datasets import make_multilabel_classification
    >>> from cofactor.labels import PLST
    >>> X, Y = make_multilabel_classification(200, random_state=0)
    >>> model = Search(PLST(n_components=1.0), {"alpha": [1, 1e6]}, thresholds=("plain", "global")).fit(X, Y)
    >>> model.best_, model.best_params_
    ('learned', {'alpha': 1})

    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = [(user, item) for user in range(5) for item in range(4)], [1, 2, 3, 2] * 5
    >>> search = Search(DummyRegressor(strategy="constant"), {"constant": [2, 5]}, validation="weak")
    >>> search.fit(X, y).best_params_
    {'constant': 2}
    """

    estimator: Any = param(kw_only=False)
    grid: Grid | None = param(default=None, kw_only=False)
    metric: str | LabelMetric | None = param(default=None)
    prediction_grid: Grid | None = param(default=None)
    thresholds: Sequence[str] | None = param(default=None)
    validation: Any = param(default=None)
    n_splits: int = param(default=3)
    levels: ArrayLike | None = param(default=None)
    n_jobs: int | None = param(default=None)
    random_state: RandomState = param(default=0)
    callback: Callback | None = param(default=None)
    verbose: int = param(default=0)

    def fit(self, X: Pairs | Features, y: RatingValues | Labels = None, *, time: ArrayLike | None = None) -> Self:
        """Choose, and fit to everything.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns; or features of shape (n, D)
            User id and item id of each rating; or features of instances.
        y : array-like of shape (n,) or (n, L)
            The ratings; or labels, whose form predictions will have. Interactions have counts, or none.
        time : array-like of shape (n,), optional
            When each rating was given, for splits by time, and for models that know time. By default X has it in a
            third column, as it does where such a model is to predict.
        """
        with Monitor(self.callback, bool(self.verbose), type(self).__name__) as monitor:
            results = select_parameters(
                self.estimator,
                X,
                y,
                self.grid,
                metric=self.metric,
                prediction_grid=self.prediction_grid,
                thresholds=self.thresholds,
                validation=self.validation,
                n_splits=self.n_splits,
                time=time,
                levels=self.levels,
                n_jobs=self.n_jobs,
                random_state=self.random_state,
                monitor=monitor,
            )
        choices: dict[str, Choice] = {}
        for choice in results:
            choices.setdefault(choice.rule if choice.rule in (PLAIN, OWN, AUTO) else "learned", choice)
        if y is None or task_of(y) == "ratings":
            X = pairs_for(self.estimator, *timed_pairs(X, time))
        estimators, seconds = self._fitted(choices, X, y)
        self.results_, self.choices_, self.estimators_, self.seconds_ = results, choices, estimators, seconds
        self.best_ = next(iter(choices))
        self.best_params_, self.best_estimator_ = choices[self.best_].parameters, estimators[self.best_]
        return self

    def _fitted(self, choices: dict[str, Choice], X: Any, y: Any) -> tuple[dict[str, Any], dict[str, float]]:
        """Fit to everything with each choice, once where they differ in the threshold alone; and the seconds."""
        began = time.perf_counter()
        if OWN in choices:
            ratings = y is None or task_of(y) == "ratings"
            base = seeded(self.estimator, self.random_state, self.levels) if ratings else self.estimator
            y = np.asarray(y) if ratings and y is not None else y
            model = with_parameters(base, choices[OWN].parameters).fit(X, y)
            return {OWN: model}, {OWN: time.perf_counter() - began}
        fitted: list[tuple[dict[str, Any], Any, float]] = []
        estimators, seconds = {}, {}
        cells = [choice.parameters for choice in choices.values()]
        # A frame is given to the models as it is, so that they know the names of its columns.
        differ = cells[1:] != cells[:-1] and not hasattr(X, "columns")
        space = feature_space_of(self.estimator, cells) if differ else None
        data = X if space is None else space(X, y)
        for name, choice in choices.items():
            known = [one for one in fitted if one[0] == choice.parameters]
            if not known:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", NothingPredictedWarning)
                    model = uncut(with_parameters(self.estimator, choice.parameters)).fit(data, y)
                now = time.perf_counter()
                known = [(choice.parameters, model, now - began)]
                fitted, began = [*fitted, *known], now
            _, model, seconds[name] = known[0]
            estimators[name] = model if choice.rule == PLAIN else _with_cut(model, choice)
        return estimators, seconds

    # ---------------------------------------------------------------- the chosen model answers

    def predict(self, X: Pairs | Features) -> Any:
        """Predict ratings or labels by the best choice.

        Parameters
        ----------
        X : as in `fit`
        """
        check_is_fitted(self)
        return self.best_estimator_.predict(X)

    @available_if(_inner_has("decision_function"))
    def decision_function(self, X: Pairs | Features) -> NDArray[Any]:
        """Return the scores of the best choice.

        Parameters
        ----------
        X : as in `fit`
        """
        check_is_fitted(self)
        return self.best_estimator_.decision_function(X)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Pairs | Features) -> Any:
        """Return the probabilities of the best choice: of every level of ``scale_``, or of every label.

        Parameters
        ----------
        X : as in `fit`
        """
        check_is_fitted(self)
        return self.best_estimator_.predict_proba(X)

    @available_if(_inner_has("fold_in"))
    def fold_in(self, X: Pairs | None = None, y: RatingValues = None, **options: Any) -> Any:
        """Return a model for new users, by the best choice.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y : array-like of shape (n,)
            The ratings.
        **options
            Others that the model's ``fold_in`` has.
        """
        check_is_fitted(self)
        return self.best_estimator_.fold_in(X, y, **options)

    @available_if(_inner_has("recommend"))
    def recommend(self, users: Ids, n: int = 10, **options: Any) -> Any:
        """Recommend items, by the best choice.

        Parameters
        ----------
        users : array-like of ids
            Whom to recommend to.
        n : int, default=10
            Number of items for each.
        **options
            Others that the model's ``recommend`` has.
        """
        check_is_fitted(self)
        return self.best_estimator_.recommend(users, n, **options)

    def decodings(self, X: Features) -> Iterator[tuple[str, Any, Any]]:
        """Yield name, labels, and scores (None without any) of each choice: "plain", "learned" or "own".

        Parameters
        ----------
        X : array, sparse matrix or frame of shape (n, D)
            Features.
        """
        check_is_fitted(self)
        for name in sorted(self.estimators_, key=PLAIN.__ne__):
            model = self.estimators_[name]
            scores = model.decision_function(X) if hasattr(model, "decision_function") else None
            yield name, model.predict(X), scores

    def score(self, X: Pairs | Features, y: RatingValues | Labels = None) -> float:
        """Return micro-F1 of predicted labels, in a frame matched by name; of ratings what the model returns.

        Parameters
        ----------
        X, y : as in `fit`
        """
        check_is_fitted(self)
        ours = hasattr(last_step(self.best_estimator_), "label_names_")  # others return accuracy, and know no names
        own = ours or y is None or task_of(y) == "ratings"
        return self.best_estimator_.score(X, y) if own else micro_f1(y, self.predict(X))

    @property
    def scale_(self) -> Any:
        """The levels of the chosen rating model."""
        return self.best_estimator_.scale_

    @property
    def classes_(self) -> Any:
        """The classes of the chosen label model."""
        return self.best_estimator_.classes_

    @property
    def takes_sparse_labels(self) -> bool:
        """Whether labels may be sparse: whether the model says so."""
        return bool(getattr(last_step(self.estimator), "takes_sparse_labels", False))

    def __sklearn_tags__(self) -> Any:
        """Return scikit-learn's description of the model inside."""
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        tags.estimator_type, tags.classifier_tags = inner.estimator_type, inner.classifier_tags
        tags.regressor_tags = inner.regressor_tags
        return tags


def _with_cut(model: Any, choice: Choice) -> Any:
    """Return a copy of a fitted model, or pipeline, which predicts with the chosen cut."""
    last = last_step(model)
    decided = last.with_cut(choice.rule, choice.threshold)
    if last is model:
        return decided
    pipeline = copy.copy(model)
    pipeline.steps = [*model.steps[:-1], (model.steps[-1][0], decided)]
    return pipeline
