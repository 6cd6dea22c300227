"""Fit and measure a rating model under an evaluation protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.utils import _safe_indexing, check_consistent_length

from cofactor.datasets import InteractionDataset
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.evaluation.keys import plain_value
from cofactor.interrupts import propagate_interrupt
from cofactor.metrics.probabilities import probability_report
from cofactor.metrics.ratings import mean_absolute_error, rating_report
from cofactor.metrics.scale import as_scale
from cofactor.metrics.topn import list_measure
from cofactor.model.facts import chosen_alpha
from cofactor.model.named_splits import parts_of, splitter_of
from cofactor.model.splits import Parts, pair_numbers
from cofactor.model.times import pairs_for, timed_pairs
from cofactor.ratings.features import FeatureTable, PairQuery, tables_of, takes_features
from cofactor.ratings.interactions import as_numbers, split_xy
from cofactor.typing import Pairs, RandomState, SideFeatures


def evaluate(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    protocol: Any = "holdout",
    n_splits: int = 3,
    random_state: RandomState = 0,
    *,
    test_size: float = 0.2,
    test_users: float = 0.1,
    scale: ArrayLike | None = None,
    time: ArrayLike | None = None,
    user_features: SideFeatures | None = None,
    item_features: SideFeatures | None = None,
) -> list[dict[str, Any]]:
    """Fit a fresh copy of a model on the training part of each split and measure it on the test part.

    Users and items which occur in the test part alone are left to the model's fallback for unknown ids.

    Parameters
    ----------
    model : estimator
        A rating model with ``fit(X, y)`` and ``predict(X)``; for the strong protocol also ``fold_in(X, y)``,
        which returns a fitted model of the new users. It is cloned, and not changed.
    X : array of shape (n, 2), list of pairs, pandas or polars frame, or data set
        User id and item id of each rating; perhaps with times in a third column. Without y a frame with columns for
        user, item and rating, or a data set such as `load_ratings` returns.
    y : array-like of shape (n,), optional
        The ratings, where X does not hold them.
    protocol : str, splitter or list, default="holdout"
        One of `PROTOCOLS`.
        How to split: a random part, one rating per user, users held out and folded in, shuffled k-fold; or by time:
        what came before from what came next ("time", `TimeSplit`), or the last part of each user ("user-last",
        `UserLast`). A random part of each user ("per-user", `PerUserHoldout`); new users, folded in from a part of
        their ratings and tested on the others ("new-users", `NewUsers`).
        Or any object with ``split(X, y)`` of scikit-learn's kind, which brings its own settings; one with
        ``split_fold_in`` is used as the strong protocol. Or pairs of training and test rows (`GivenSplits`).
    n_splits : int, default=3
        Number of splits, or folds; "user-last" is one.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits. The model has its own.
    test_size : float or int, default=0.2
        Part, or number, of the ratings to hold out ("holdout"), or of those of each user ("user-last", "per-user"),
        or of each new user ("new-users"); part in each test block ("time").
    test_users : float or int, default=0.1
        Part, or number, of the users to hold out ("strong", "new-users").
    scale : array-like of shape (R,), optional
        The levels of the ratings, for NMAE and zero-one error. By default the ``levels`` of the model if it
        has any, otherwise the distinct values of y.
    time : array-like of shape (n,), optional
        When each rating was given, where X does not say so, see `cofactor.model.times.seconds_of`. Splits by time need
        it, and a model whose ``fit`` knows time gets it in a third column of X, in training and in test.
    user_features, item_features : mapping, frame, or tuple, optional
        What else is known of users and of items, for models whose ``fit`` takes it; by default the ``features`` of a
        data set. Users and items which occur in the test part alone are then known by their features.

    Returns
    -------
    list of dict
        For each split ``mae``, ``nmae``, ``rmse``, ``fre``, ``zero_one`` (as
        `cofactor.metrics.rating_report`), ``n_train``, ``n_test``, ``fit_seconds``, ``predict_seconds``, and
        for the strong protocol ``fold_in_seconds``. Of a model that gives every level of its ``scale_`` a probability
        also ``log_loss``, ``rps``, ``ece`` (as `cofactor.metrics.probability_report`); ``parameters`` are those
        that the fit chose. The first fit of a process also loads, or compiles, machine code: where seconds matter, fit
        once before.

    Raises
    ------
    ValueError
        If the protocol is unknown, or X and y cannot be split that way.
    TypeError
        If the model cannot fold in and the protocol is strong.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> X = [(user, item) for user in range(5) for item in range(4)]
    >>> results = evaluate(DummyRegressor(strategy="constant", constant=2), X, [1, 2, 3, 2] * 5, "weak")
    >>> [(result["n_train"], result["n_test"]) for result in results]
    [(15, 5), (15, 5), (15, 5)]

    Notes
    -----
    Random splits put ratings of one session into training and into test. A model that knows time then mostly
    interpolates: what it gains there says little of what it gains about the future, which "time" and "user-last"
    measure.
    """
    features = features_by_name(X, user_features, item_features)
    if y is None:
        X, y, time = (None, None, None) if isinstance(X, InteractionDataset) else split_xy(X, time)
        if y is None:
            advice = "give them as y, or a frame with columns for user, item and rating"
            raise InvalidInputError("X holds no ratings", argument="X", advice=advice)
    y = as_numbers(y)
    check_lengths(X, y)
    shape = getattr(y, "shape", None) or np.shape(y)
    if len(shape) == 2 and shape[1] > 1:
        raise InvalidInputError(
            f"y has shape {tuple(shape)}, expected a rating for each pair",
            argument="y",
            advice="models of labels are measured by evaluate_labels, or by scikit-learn's cross_validate",
        )
    ratings = np.asarray(y)
    X, times = timed_pairs(X, time)
    splitter = splitter_of(
        protocol,
        n_splits=n_splits,
        random_state=random_state,
        test_size=test_size,
        test_users=test_users,
        n_rows=len(ratings),
        times=times,
    )
    if scale is None:
        scale = model.get_params().get("levels")
    levels = np.unique(ratings) if scale is None else scale
    if hasattr(splitter, "split_fold_in") and not hasattr(model, "fold_in"):
        raise InvalidTypeError(f"{type(model).__name__} has no method fold_in, which this protocol needs")
    if not takes_features(model):
        given = {"user_features": user_features, "item_features": item_features}
        if unused := [name for name, table in given.items() if table is not None]:
            raise InvalidTypeError(f"{type(model).__name__} takes no features: leave out {' and '.join(unused)}")
        features = {}
    with propagate_interrupt():
        return [
            measure_ratings(model, X, ratings, parts, levels, times, features=features)
            for parts in parts_of(splitter, X, ratings)
        ]


def check_lengths(X: Any, y: Any) -> None:
    """Refuse ratings that are not one for each pair, and what is meant to be the protocol."""
    if isinstance(y, str) or hasattr(y, "split"):
        advice = ("where X holds ratings, name what comes next: ", Argument("protocol", y))
        raise InvalidTypeError("expected ratings", argument="y", found=y, advice=advice)
    check_consistent_length(X, y)


def features_by_name(X: Any, *given: SideFeatures | None) -> dict[str, FeatureTable]:
    """Return features as `tables_of` does, those that there are, by the names of the arguments of ``fit``."""
    named = zip(("user_features", "item_features"), tables_of(X, *given), strict=True)
    return {name: table for name, table in named if table is not None}


def measure_ratings(
    model: Any,
    X: Any,
    y: Any,
    parts: Parts,
    scale: ArrayLike,
    times: NDArray[np.float64] | None = None,
    keep: Callable[[Any], object] | None = None,
    features: Mapping[str, FeatureTable] | None = None,
) -> dict[str, Any]:
    """Fit a copy of a model and measure it, on training, fold-in (None where there is none) and test rows.

    `keep` is called with the copy when it is fitted. It is fitted with the `features`, which describe users and items
    of the test part that are in no other.
    """
    features, pairs = features or {}, X
    X = pairs_for(model, X, times)
    train, fold_in, test = parts
    seconds = {}
    started = time.perf_counter()
    fitted = clone(model).fit(_safe_indexing(X, train), y[train], **features)
    seconds["fit_seconds"] = time.perf_counter() - started
    parameters = _chosen(model, fitted)
    if keep is not None:
        keep(fitted)
    if fold_in is not None:
        started = time.perf_counter()
        of_users = {name: table for name, table in features.items() if name == "user_features"}
        fitted = fitted.fold_in(_safe_indexing(X, fold_in), y[fold_in], **of_users)
        seconds["fold_in_seconds"] = time.perf_counter() - started
    started = time.perf_counter()
    ask = _asking(fitted, X, test)
    if features:
        users, items = (features.get(name) for name in ("user_features", "item_features"))
        now = None if times is None else times[test]
        described = getattr(fitted, "rating_model_", fitted)  # of a recommender, which predicts by it
        ask = PairQuery.of(described, np.asarray(_safe_indexing(pairs, test), dtype=object), users, items, now).answers
    predicted = ask("predict")
    seconds["predict_seconds"] = time.perf_counter() - started
    errors = rating_report(y[test], predicted, scale)
    probabilities = _probabilities(fitted, ask, scale)
    if probabilities is not None:
        errors |= probability_report(y[test], probabilities, scale)
    return {**errors, "n_train": train.size, "n_test": test.size, **seconds, "parameters": parameters}


def rating_measures(
    model: Any, X: Any, y: Any, times: Any, features: Mapping[str, FeatureTable], parts: Parts, scale: Any
) -> dict[str, Any]:
    """Fit a rating model on one split, and measure it.

    Parameters
    ----------
    model : estimator
        Cloned, and not changed.
    X, y, times, features
        Pairs, ratings, their times or None, and features of users and items, for models that take them.
    parts : tuple
        Rows for training, fold-in (or None) and test.
    scale : array-like
        The levels of the ratings.
    """
    given = features if takes_features(model) else {}
    row = measure_ratings(model, X, y, parts, scale, times, features=given)
    return row | {"parameters": plain_value(row["parameters"])}


def _chosen(model: Any, fitted: Any) -> dict[str, Any]:
    """Return the parameters that the fit chose: by grid search, or a penalty by validation."""
    if hasattr(fitted, "best_params_"):
        return dict(fitted.best_params_)
    alpha = chosen_alpha(fitted) if getattr(model, "alpha", None) == "auto" else None
    return {} if alpha is None else {"alpha": alpha}


def _asking(model: Any, X: Any, rows: NDArray[Any]) -> Callable[[str], NDArray[Any]]:
    """Return what asks a method of the model about some rows."""
    return lambda method: getattr(model, method)(_safe_indexing(X, rows))


def _probabilities(model: Any, ask: Callable[[str], NDArray[Any]], scale: ArrayLike) -> NDArray[np.float64] | None:
    """Return the probability of every level of the scale, or None for a model without such.

    A level that was not in training has none. Other classifiers than rating models have no ``scale_``.
    """
    if not hasattr(model, "predict_proba") or not hasattr(model, "scale_"):
        return None
    levels, own = as_scale(scale), np.asarray(model.scale_)
    if not np.isin(own, levels).all():
        return None
    known = np.asarray(ask("predict_proba"), dtype=np.float64)
    found = np.zeros((len(known), levels.size))
    found[:, np.searchsorted(levels, own)] = known
    return found


class FoldInScorer:
    """Scorer for strong generalization inside scikit-learn's ``cross_validate`` and ``GridSearchCV``.

    It folds the users of the test rows, none of whom may be in training, in from all their other ratings, predicts
    the test rows with the folded-in model, and returns the negative error.

    Parameters
    ----------
    X : array of shape (n, 2), list of pairs, pandas or polars frame of two columns
        All pairs of user id and item id, the same that are given to ``cross_validate``.
    y : array-like of shape (n,)
        Their ratings.
    metric : callable, default=mean_absolute_error
        Error ``metric(y_true, y_pred)``; smaller is better.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from cofactor.datasets import make_ratings
    >>> from cofactor.evaluation import FoldInScorer, StrongGeneralization
    >>> from cofactor.ratings import ALS
    >>> data = make_ratings(30, 20, 2, density=0.4, random_state=0)
    >>> strong = StrongGeneralization(test_users=0.2, random_state=0)
    >>> scorer = FoldInScorer(data.X, data.y)
    >>> model = ALS(2, alpha=1.0, random_state=0)
    >>> cross_validate(model, data.X, data.y, cv=strong, scoring=scorer)["test_score"].round(2).tolist()
    [-0.33, -0.0, -0.17]
    """

    def __init__(self, X: Pairs, y: ArrayLike, metric: Callable[[Any, Any], float] = mean_absolute_error) -> None:
        check_consistent_length(X, y)
        self.X = X
        self.y = np.asarray(y)
        self.metric = metric

    def __repr__(self) -> str:
        return f"FoldInScorer({self.y.size} ratings, {getattr(self.metric, '__name__', self.metric)})"

    def __call__(self, model: Any, X: Pairs, y: ArrayLike) -> float:
        """Return the negative error of the model on the test rows X, y after fold-in of their users."""
        users, pairs = pair_numbers(self.X, X)
        n_all = self.y.size
        of_test_users = np.isin(users[:n_all], users[n_all:])
        rows = np.flatnonzero(of_test_users & ~np.isin(pairs[:n_all], pairs[n_all:]))
        if not rows.size:
            raise InvalidInputError(
                "the users of the test rows have no other ratings in X: there is nothing to fold in"
            )
        folded = model.fold_in(_safe_indexing(self.X, rows), self.y[rows])
        return -self.metric(y, folded.predict(X))


def _list_score(model: Any, X: Any, y: Any = None, *, metric: str) -> float:
    """Return the mean of a measure over the users of held-out rows X, y."""
    return float(getattr(model, "best_estimator_", model).ranking_score(X, y, metric=metric))


def ranking_scorer(metric: str = "ndcg@10") -> Callable[..., float]:
    """Return a scorer of recommended lists for ``cross_validate`` and ``GridSearchCV`` of scikit-learn.

    Parameters
    ----------
    metric : str, default="ndcg@10"
        "ndcg", "precision", "recall", "capped_recall", "map", "mrr" or "hit_rate" with the length of the lists.

    Returns
    -------
    callable
        Called with a fitted model and held-out rows, it returns their ``ranking_score``.

    Examples
    --------
    >>> from sklearn.model_selection import cross_validate
    >>> from cofactor.datasets import make_ratings
    >>> from cofactor.evaluation import PerUserHoldout, ranking_scorer
    >>> from cofactor.ratings import EASE
    >>> data = make_ratings(60, 40, 3, density=0.5, random_state=0)
    >>> scorers = {name: ranking_scorer(name) for name in ("ndcg@10", "recall@20")}
    >>> sorted(cross_validate(EASE(), data.X, cv=PerUserHoldout(random_state=0), scoring=scorers))
    ['fit_time', 'score_time', 'test_ndcg@10', 'test_recall@20']
    """
    list_measure(metric)
    return partial(_list_score, metric=metric)
