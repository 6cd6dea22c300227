"""What `cofactor demo` does, step by step; it prints nothing. Imported only when the demo runs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from cofactor import published
from cofactor.datasets import DatasetNotFoundError, RatingDataset, load_ratings, make_ratings
from cofactor.evaluation import Holdout
from cofactor.metrics import confusion_matrix, rating_report
from cofactor.ratings import ALS, HMF, MMMF, PMMMF, Ensemble, OrdinalProbit, RatingModel
from cofactor.ratings.sampled.base import SampledModel
from cofactor.tasks.baselines import MostFrequentLevel, UserMedian

#: Films for the new user, of several tastes, with what he might give them.
NEW_USER = {
    "Star Wars (1977)": 5.0,
    "Raiders of the Lost Ark (1981)": 5.0,
    "Alien (1979)": 4.0,
    "Titanic (1997)": 2.0,
    "English Patient, The (1996)": 1.0,
}

#: Model, solver, and its name in the picture of convergence. ALS minimises an objective of its own.
SOLVERS = (
    ("MMMF", "lbfgs", "L-BFGS"),
    ("MMMF", "cg", "conjugate gradients"),
    ("MMMF", "apg", "accelerated proximal gradients"),
    ("MMMF", "gd", "gradient descent"),
    ("ALS", "exact", "exact half steps"),
    ("ALS", "cg", "conjugate gradient half steps"),
)

Say = Callable[[str], object]
Curves = dict[str, tuple[list[float], list[float]]]
Panels = dict[str, Curves]


@dataclass(frozen=True)
class Split:
    """Data and their parts: four fifths to train, one to test; a tenth of the former to choose alpha."""

    data: RatingDataset
    train: NDArray[np.int64]
    test: NDArray[np.int64]
    part: NDArray[np.int64]
    validation: NDArray[np.int64]

    def rows(self, which: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[np.float64]]:
        """Return pairs and ratings of some rows."""
        return self.data.X[which], self.data.y[which]

    def title(self, item: Any) -> str:
        """Return the title of an item, or a name for it."""
        return self.data.item_names.get(item, f"item {item}")


@dataclass
class Row:
    """One line of the table of results."""

    name: str
    errors: dict[str, float]
    seconds: float | None = None
    alpha: float | None = None
    validation: dict[float, float] = field(default_factory=dict)
    train_mae: float | None = None
    validation_mae: float | None = None

    @property
    def is_baseline(self) -> bool:
        """Whether it is no model, but a rule to compare models with."""
        return self.validation_mae is None

    @property
    def at_end(self) -> bool:
        """Whether alpha is the first or the last candidate, so that a better one may lie beyond."""
        return self.alpha is not None and self.alpha in (min(self.validation), max(self.validation))

    @property
    def published(self) -> tuple[float, float] | None:
        """MAE and RMSE of the thesis."""
        mae, rmse = (published.value("thesis-4.1", self.name, metric) for metric in ("mae", "rmse"))
        return None if mae is None or rmse is None else (mae, rmse)


def load_data(seed: int, quick: bool, download: bool, progress: Any = None) -> tuple[RatingDataset, str]:
    """Return MovieLens 100K, or synthetic ratings and the reason why.

    Parameters
    ----------
    seed : int
        Of the synthetic ratings.
    quick : bool
        Whether these are few.
    download : bool
        Whether MovieLens may be downloaded.
    progress : object, optional
        Progress bar of the download.
    """
    from cofactor.datasets import fetch

    try:
        if download:
            fetch("ml-100k", progress=progress)
        return load_ratings("ml-100k", download=False), ""
    except DatasetNotFoundError as error:
        n_users, n_items = (400, 300) if quick else (900, 700)
        return make_ratings(n_users, n_items, 5, density=0.15, random_state=seed), str(error)


def split(data: RatingDataset, seed: int) -> Split:
    """Split ratings; everything that is chosen is chosen without the test part."""
    ((train, test),) = Holdout(0.2, 1, seed).split(data.X)
    ((part, validation),) = Holdout(0.1, 1, seed).split(train)
    return Split(data, train, test, train[part], train[validation])


def alphas(data: RatingDataset, quick: bool) -> list[float]:
    """Return the candidates for alpha: 10^(k/8)."""
    real = data.name != "synthetic"
    if quick:
        exponents = [8, 10, 12] if real else [2, 5, 8]
    else:
        exponents = list(range(6, 13)) if real else list(range(-2, 11, 2))
    return [float(10 ** (k / 8)) for k in exponents]


def contestants(data: RatingDataset, seed: int, quick: bool) -> dict[str, RatingModel]:
    """Return the models, with their defaults except alpha."""
    common: dict[str, Any] = {"levels": data.scale, "random_state": seed}
    models: dict[str, RatingModel] = {
        "MMMF": MMMF(**common),
        "HMF": HMF(**common),
        "PMMMF": PMMMF(**common),
        "ALS": ALS(**common),
    }
    if not quick:
        models["Ensemble"] = Ensemble(MMMF(n_factors=8), **common)
        models["OrdinalProbit"] = OrdinalProbit(**common)
    return models


def with_alpha(model: RatingModel, alpha: float, **params: Any) -> RatingModel:
    """Return an unfitted copy of a model with that alpha."""
    inner = "estimator__" if isinstance(model, Ensemble) else ""
    copy: RatingModel = clone(model).set_params(**{f"{inner}alpha": alpha}, **params)
    return copy


def compete(name: str, model: RatingModel, s: Split, grid: list[float], say: Say) -> tuple[Row, RatingModel]:
    """Choose alpha on the validation part, fit to the whole training part, measure on the test part.

    A model without alpha is fitted to the part without validation just once, to know its error there.
    """

    def candidate(alpha: float | None) -> RatingModel:
        say(f"{name}: fitting" + ("" if alpha is None else f" with alpha {alpha:.3g}"))
        return clone(model) if alpha is None else with_alpha(model, alpha)

    candidates: list[float | None] = [None] if isinstance(model, SampledModel) else [*grid]
    errors = {alpha: -candidate(alpha).fit(*s.rows(s.part)).score(*s.rows(s.validation)) for alpha in candidates}
    best = min(errors, key=lambda alpha: errors[alpha])
    began = time.perf_counter()
    fitted = candidate(best).fit(*s.rows(s.train))
    seconds = time.perf_counter() - began
    row = measure(name, fitted, s)
    row.seconds, row.alpha, row.validation_mae = seconds, best, errors[best]
    row.validation = {alpha: error for alpha, error in errors.items() if alpha is not None}
    row.train_mae = -fitted.score(*s.rows(s.train))
    return row, fitted


def measure(name: str, fitted: Any, s: Split) -> Row:
    """Measure on the test part."""
    X, y = s.rows(s.test)
    assert s.data.scale is not None
    return Row(name, rating_report(y, fitted.predict(X), s.data.scale))


def baselines(s: Split) -> list[Row]:
    """Measure two rules without a model."""
    rules: dict[str, Any] = {"most frequent": MostFrequentLevel(s.data.scale), "user median": UserMedian(s.data.scale)}
    return [measure(name, rule.fit(*s.rows(s.train)), s) for name, rule in rules.items()]


@dataclass(frozen=True)
class Advice:
    """Recommendations for one user, with what he liked, and what he thought of the recommended ones."""

    user: Any
    n_ratings: int
    liked: list[tuple[str, float]]
    recommended: list[tuple[str, float, float | None]]  #: title, predicted rating, rating in the test part
    milliseconds: float = 0.0


def advise_known(model: RatingModel, s: Split) -> Advice:
    """Recommend ten items to the user with the median number of ratings."""
    X, y = s.rows(s.train)
    users, counts = np.unique(X[:, 0], return_counts=True)
    user = users[np.argsort(counts, kind="stable")[len(users) // 2]]
    X_test, y_test = s.rows(s.test)
    hidden = {item: float(r) for (u, item), r in zip(X_test.tolist(), y_test, strict=True) if u == user}
    mine = X[:, 0] == user
    return _advise(model, s, user, X[mine, 1], y[mine], hidden)


def advise_new(model: RatingModel, s: Split) -> Advice:
    """Fold in a user who was not in training, from five ratings, and recommend ten items."""
    items, ratings = new_users_ratings(s)
    X = np.array([[-1, item] for item in items])
    began = time.perf_counter()
    folded = model.fold_in(X, ratings)
    milliseconds = 1000 * (time.perf_counter() - began)
    advice = _advise(folded, s, -1, np.array(items), np.array(ratings), {})
    return Advice(advice.user, len(items), advice.liked, advice.recommended, milliseconds)


def new_users_ratings(s: Split) -> tuple[list[Any], list[float]]:
    """Return five well-known items and ratings; the five with most ratings where titles are not known."""
    known = {title: item for item, title in s.data.item_names.items()}
    train_items, counts = np.unique(s.data.X[s.train, 1], return_counts=True)
    found = {known[title]: rating for title, rating in NEW_USER.items() if title in known}
    if len(found) == len(NEW_USER) and np.isin(list(found), train_items).all():
        return list(found), list(found.values())
    assert s.data.scale is not None
    popular = train_items[np.argsort(-counts, kind="stable")[: len(NEW_USER)]].tolist()
    high, low = float(s.data.scale[-1]), float(s.data.scale[0])
    return popular, [high, high, high, low, low][: len(popular)]


def _advise(
    model: RatingModel, s: Split, user: Any, items: NDArray[Any], ratings: NDArray[Any], hidden: Mapping[Any, float]
) -> Advice:
    order = np.argsort(-ratings, kind="stable")
    liked = [(s.title(items[k].item()), float(ratings[k])) for k in order[:5]]
    began = time.perf_counter()
    best, _ = model.recommend([user], 10)
    milliseconds = 1000 * (time.perf_counter() - began)
    chosen = [item for item in best[0].tolist() if item is not None]
    predicted = model.predict([(user, item) for item in chosen])
    rows = [(s.title(i), float(p), hidden.get(i)) for i, p in zip(chosen, predicted, strict=True)]
    return Advice(user, len(ratings), liked, rows, milliseconds)


def confusion(model: RatingModel, s: Split) -> NDArray[np.int64]:
    """Count predicted against true levels of the test part."""
    X, y = s.rows(s.test)
    assert s.data.scale is not None
    return confusion_matrix(y, model.predict(X), s.data.scale)


def convergence(models: Mapping[str, RatingModel], alphas: Mapping[str, float], s: Split, say: Say) -> Panels:
    """Run the solvers of each model from the same start; return seconds and objective of each solver."""
    panels: Panels = {}
    for model, solver, name in SOLVERS:
        say(f"{model} with {name}")
        copy = with_alpha(models[model], alphas[model], solver=solver, tol=1e-7, max_iter=400)
        with warnings.catch_warnings():
            # The slow ones are meant to be cut short here.
            warnings.simplefilter("ignore", ConvergenceWarning)
            copy.fit(*s.rows(s.train))
        panels.setdefault(model, {})[name] = (list(copy.seconds_), list(copy.history_))
    return panels


def tradeoff(models: Mapping[str, RatingModel], grid: list[float], s: Split, say: Say) -> Curves:
    """Return training and test error along alpha; a picture only, nothing is chosen by it."""
    curves: Curves = {}
    for name, model in models.items():
        train, test = [], []
        for alpha in grid:
            say(f"{name}: training and test error at alpha {alpha:.3g}")
            fitted = with_alpha(model, alpha).fit(*s.rows(s.train))
            train.append(-fitted.score(*s.rows(s.train)))
            test.append(-fitted.score(*s.rows(s.test)))
        curves[name] = train, test
    return curves
