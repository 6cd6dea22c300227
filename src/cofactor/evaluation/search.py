"""Parameters of a rating model, chosen by grid search inside the training part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.metrics import make_scorer
from sklearn.model_selection import GridSearchCV
from sklearn.utils.metaestimators import available_if

from cofactor.errors import InvalidInputError
from cofactor.evaluation.protocols import FoldInScorer, splitter_of
from cofactor.metrics.ratings import RATING_METRICS
from cofactor.text import did_you_mean

__all__ = ["RatingSearch", "check_grid", "check_names", "seeded"]

Grid = Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]]


def _inner_has(name: str) -> Callable[[Any], bool]:
    return lambda search: hasattr(getattr(search, "best_estimator_", search.estimator), name)


def check_names(estimator: Any, names: Iterable[str]) -> None:
    """Refuse names of parameters that an estimator does not have."""
    known = estimator.get_params()
    for name in names:
        if name not in known:
            raise InvalidInputError(f"{type(estimator).__name__} has no {name!r}; {did_you_mean(name, known)}")


def check_grid(estimator: Any, grid: Grid) -> None:
    """Refuse a grid with names that an estimator does not have, or without values for one."""
    for table in [grid] if isinstance(grid, Mapping) else grid:
        check_names(estimator, table)
        for name, values in table.items():
            if isinstance(values, str | Mapping) or not np.iterable(values) or not len(values):
                raise InvalidInputError(f"{name} must be a list of values to try, found {values!r}")


class RatingSearch(BaseEstimator):
    """A rating model whose parameters are chosen on ratings held out of the training ones, then fitted to all.

    scikit-learn's ``GridSearchCV`` with inner splits of the same kind as the outer ones.

    Parameters
    ----------
    estimator : estimator
        A rating model. Not changed.
    grid : dict of str to list, or a list of such dicts
        Values to try, as for scikit-learn's ``ParameterGrid``.
    protocol : {"holdout", "weak", "strong", "kfold"}, default="holdout"
        How the training ratings are split, see `evaluate`.
    n_splits : int, default=3
        Number of inner splits.
    metric : str, default="mae"
        Error by which to choose, a name in `cofactor.metrics.RATING_METRICS`.
    levels : array-like of shape (R,), optional
        The levels of the ratings, for NMAE and zero-one error, and for a model that wants to know them; by default the
        distinct ratings.
    random_state : int, RandomState instance or None, default=None
        Seed of the splits, and of a model which has none of its own.

    Attributes
    ----------
    search_ : GridSearchCV
        With ``cv_results_``.
    best_params_, best_estimator_
        The parameters chosen, and the model fitted with them.

    Examples
    --------
    >>> from sklearn.dummy import DummyRegressor
    >>> X, y = [(user, item) for user in range(5) for item in range(4)], [1, 2, 3, 2] * 5
    >>> search = RatingSearch(DummyRegressor(strategy="constant"), {"constant": [2, 5]}, "weak", random_state=0)
    >>> search.fit(X, y).best_params_
    {'constant': 2}
    """

    def __init__(
        self,
        estimator: Any,
        grid: Grid,
        protocol: str = "holdout",
        n_splits: int = 3,
        metric: str = "mae",
        levels: ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.protocol = protocol
        self.n_splits = n_splits
        self.metric = metric
        self.levels = levels
        self.random_state = random_state

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Choose the parameters, and fit the model to all ratings with them.

        Parameters
        ----------
        X : array of shape (n, 2), list of pairs, or frame of two columns
            User id and item id of each rating.
        y : array-like of shape (n,)
            The ratings.
        """
        if self.metric not in RATING_METRICS:
            raise InvalidInputError(
                f"expected one of {', '.join(map(repr, RATING_METRICS))}", argument="metric", found=self.metric
            )
        ratings = np.asarray(y)
        scale = np.unique(ratings) if self.levels is None else self.levels

        def error(true: Any, predicted: Any) -> float:
            return RATING_METRICS[self.metric](true, predicted, scale)

        splitter = splitter_of(self.protocol, self.n_splits, self.random_state)
        folds_in = hasattr(splitter, "split_fold_in")
        scorer = FoldInScorer(X, ratings, error) if folds_in else make_scorer(error, greater_is_better=False)
        model = seeded(self.estimator, self.random_state, self.levels)
        self.search_ = GridSearchCV(model, self.grid, scoring=scorer, cv=splitter, error_score="raise").fit(X, ratings)
        self.best_params_ = self.search_.best_params_
        self.best_estimator_ = self.search_.best_estimator_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict ratings by the chosen model."""
        return self.best_estimator_.predict(X)

    @available_if(_inner_has("fold_in"))
    def fold_in(self, X: Any, y: ArrayLike) -> Any:
        """Return a model for the new users."""
        return self.best_estimator_.fold_in(X, y)

    @available_if(_inner_has("predict_proba"))
    def predict_proba(self, X: Any) -> NDArray[Any]:
        """Return the probability of every level of ``scale_``."""
        return self.best_estimator_.predict_proba(X)

    @property
    def scale_(self) -> Any:
        """The levels of the chosen model."""
        return self.best_estimator_.scale_


def seeded(estimator: Any, seed: Any, levels: ArrayLike | None = None) -> Any:
    """Return a copy of an estimator in which every ``random_state`` that is None is the seed; so with ``levels``.

    Examples
    --------
    >>> from sklearn.neural_network import MLPRegressor
    >>> seeded(MLPRegressor(), 3).random_state, seeded(MLPRegressor(random_state=1), 3).random_state
    (3, 1)
    """
    model = clone(estimator)
    given = {"random_state": seed, "levels": levels}
    unset = {
        name: given[last]
        for name, value in model.get_params().items()
        if value is None and (last := name.rpartition("__")[2]) in given and given[last] is not None
    }
    return model.set_params(**unset)
