"""Our implicit-feedback models beside `implicit` and `lenskit`: all tuned on the same validation part, in one run.

    python benchmarks/recommender_peers.py     (pip install implicit lenskit)

A fifth of the ratings of each user is the test; a fifth of what is left is the validation, on which every method, ours
too, chooses among its settings, once by nDCG@10 of what was liked (4 or more) and once by nDCG@10 of anything. Then it
is fitted to all of the training part. Settings include whether to learn from all ratings or from those of 4 and more.
All items that a user has not rated in training are ranked. `Recommender` runs at its defaults, and `EASE` chooses its
penalty inside of what it is given.
"""

import itertools
import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from common import publish, table
from scipy import sparse
from threadpoolctl import threadpool_limits

from cofactor.datasets import load_ratings
from cofactor.metrics.topn import user_ndcgs
from cofactor.metrics.user_means import user_mean
from cofactor.model.splits import PerUserHoldout
from cofactor.ratings import BPR, EASE, ImplicitALS, ItemKNN, LogisticMF, Recommender, RP3beta

DATA = {"ml-100k": "MovieLens 100K", "ml-latest-small": "MovieLens latest-small"}
SEED, LIKED = 0, 4.0
Settings = dict[str, Any]
Table = sparse.csr_matrix
Fit = Callable[[Table, Settings], np.ndarray]  # interactions and settings to scores of all users and items


def ours(kind: Any) -> Fit:
    def fit(interactions: Table, settings: Settings) -> np.ndarray:
        model = kind(random_state=SEED, **settings) if "random_state" in kind().get_params() else kind(**settings)
        return model.fit(interactions)._score_table(np.arange(interactions.shape[0]), 0, interactions.shape[1])

    return fit


def theirs(name: str, kind: str) -> Fit:
    """Of implicit: a model of factors or of neighbours."""

    def fit(interactions: Table, settings: Settings) -> np.ndarray:
        import implicit

        if name == "nearest_neighbours":
            model = getattr(implicit.nearest_neighbours, kind)(num_threads=2, **settings)
            model.fit(interactions, show_progress=False)
            return (interactions @ model.similarity).toarray()
        if name == "bpr":
            model = implicit.cpu.bpr.BayesianPersonalizedRanking(num_threads=2, random_state=SEED, **settings)
        else:
            model = implicit.cpu.als.AlternatingLeastSquares(num_threads=2, random_state=SEED, **settings)
        model.fit(interactions, show_progress=False)
        return model.user_factors @ model.item_factors.T

    return fit


def lenskit_model(module: str, kind: str) -> Fit:
    def fit(interactions: Table, settings: Settings) -> np.ndarray:
        import importlib

        import pandas as pd
        from lenskit.data import ItemList, RecQuery, from_interactions_df

        entries = interactions.tocoo()
        data = from_interactions_df(pd.DataFrame({"user_id": entries.row, "item_id": entries.col}))
        scorer = getattr(importlib.import_module(f"lenskit.{module}"), kind)(**settings)
        scorer.train(data)
        out, items = np.full(interactions.shape, -1e9, dtype=np.float32), ItemList(np.arange(interactions.shape[1]))
        for user in np.unique(entries.row):
            found = scorer(RecQuery(user_id=user, user_items=data.user_row(user)), items).scores()
            out[user] = np.where(np.isfinite(found), found, -1e9)
        return out

    return fit


def popularity(interactions: Table, settings: Settings) -> np.ndarray:
    counts = interactions.sum(axis=0)
    return np.tile(counts.A1 if hasattr(counts, "A1") else counts, (interactions.shape[0], 1))


def grid(**values: tuple[Any, ...]) -> list[Settings]:
    """Return all settings of values."""
    return [dict(zip(values, one, strict=True)) for one in itertools.product(*values.values())]


LIKES = (False, True)
METHODS: dict[str, tuple[str, Fit, list[Settings]]] = {
    "popularity": ("baseline", popularity, grid(likes=LIKES)),
    "EASE": ("cofactor", ours(EASE), grid(likes=LIKES)),
    "ImplicitALS": (
        "cofactor",
        ours(ImplicitALS),
        grid(likes=LIKES, n_factors=(16, 32), alpha=(0.003, 0.01, 0.03), unobserved=(0.1, 0.4)),
    ),
    "LogisticMF": ("cofactor", ours(LogisticMF), grid(likes=LIKES)),
    "ItemKNN": ("cofactor", ours(ItemKNN), grid(likes=LIKES, n_neighbors=(20, 50, 100, 200))),
    "RP3beta": ("cofactor", ours(RP3beta), grid(likes=LIKES, n_neighbors=(50, 200), beta=(0.2, 0.4, 0.6))),
    "BPR": ("cofactor", ours(BPR), grid(likes=LIKES, n_factors=(16, 32))),
    "implicit ALS": (
        "peer",
        theirs("als", ""),
        grid(likes=LIKES, factors=(16, 32), regularization=(3.0, 10.0, 30.0, 100.0), alpha=(1.0, 3.0, 10.0)),
    ),
    "implicit BPR": (
        "peer",
        theirs("bpr", ""),
        grid(likes=LIKES, factors=(16, 32, 64), learning_rate=(0.01, 0.05), regularization=(0.01, 0.05)),
    ),
    "implicit item-kNN, cosine": (
        "peer",
        theirs("nearest_neighbours", "CosineRecommender"),
        grid(likes=LIKES, K=(20, 50, 100, 200)),
    ),
    "implicit item-kNN, tf-idf": (
        "peer",
        theirs("nearest_neighbours", "TFIDFRecommender"),
        grid(likes=LIKES, K=(20, 50, 100, 200)),
    ),
    "implicit item-kNN, BM25": (
        "peer",
        theirs("nearest_neighbours", "BM25Recommender"),
        grid(likes=LIKES, K=(50, 100, 200), K1=(1.2, 10.0, 100.0), B=(0.2, 0.6)),
    ),
    "lenskit ImplicitMF": (
        "peer",
        lenskit_model("als", "ImplicitMFScorer"),
        grid(likes=LIKES, embedding_size=(16, 32), regularization=(0.1, 1.0, 10.0, 30.0), weight=(3, 10, 40)),
    ),
    "lenskit EASE": (
        "peer",
        lenskit_model("knn", "EASEScorer"),
        grid(likes=LIKES, regularization=(50, 100, 200, 400, 800)),
    ),
    "lenskit item-kNN": (
        "peer",
        lenskit_model("knn", "ItemKNNScorer"),
        grid(likes=LIKES, feedback=("implicit",), max_nbrs=(20, 50, 100)),
    ),
}


class Part:
    """Ratings to learn from, and those held out, as tables of the same users and items."""

    def __init__(self, X: np.ndarray, y: np.ndarray, train: np.ndarray, test: np.ndarray, shape: tuple[int, int]):
        self.X, self.y, self.train = X, y, train
        self.all = self._table(X, train, shape)
        self.liked = self._table(X, train[y[train] >= LIKED], shape)
        self.held = {
            "likes": self._table(X, test[y[test] >= LIKED], shape),
            "any": self._table(X, test, shape),
        }

    @staticmethod
    def _table(X: np.ndarray, rows: np.ndarray, shape: tuple[int, int]) -> Table:
        return sparse.csr_matrix((np.ones(len(rows), np.float32), X[rows].T), shape=shape)

    def values(self, scores: np.ndarray) -> dict[str, np.ndarray]:
        """Return nDCG@10 of each user."""
        scores = np.array(scores, dtype=np.float32)
        scores[self.all.nonzero()] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :10]
        return {name: user_ndcgs(best, sparse.csr_array(held), 10) for name, held in self.held.items()}

    def scores(self, name: str, settings: Settings) -> np.ndarray:
        settings = dict(settings)
        interactions = self.liked if settings.pop("likes") else self.all
        with threadpool_limits(1, "blas"):
            return METHODS[name][1](interactions, settings)


def recommender(part: Part) -> dict[str, np.ndarray]:
    """Return nDCG@10 of each user of our recommender at its defaults, by what is asked."""
    out = {}
    model = Recommender(random_state=SEED).fit(part.X[part.train], part.y[part.train])
    for name, by in (("likes", "like"), ("any", "interaction")):
        items = model.recommend(np.arange(part.all.shape[0]), 10, rank_by=by).items.astype(np.int64)
        out[name] = user_ndcgs(items, sparse.csr_array(part.held[name]), 10)
    return out


def measured(whole: Part, inner: Part) -> Iterator[tuple[str, str, dict[str, np.ndarray], dict[str, Settings], float]]:
    """Yield each method, whose it is, its values of users, the settings chosen, and seconds of a fit and scores."""
    began = time.perf_counter()
    yield "Recommender", "cofactor", recommender(whole), {}, time.perf_counter() - began
    for name, (whose, _, settings) in METHODS.items():
        tried = [{m: np.nanmean(v) for m, v in inner.values(inner.scores(name, one)).items()} for one in settings]
        chosen = {m: settings[int(np.argmax([found[m] for found in tried]))] for m in ("likes", "any")}
        values = {}
        for m, one in chosen.items():
            began = time.perf_counter()
            scores = whole.scores(name, one)
            seconds = time.perf_counter() - began
            values[m] = whole.values(scores)[m]
        print(name, {m: round(float(np.nanmean(v)), 4) for m, v in values.items()}, chosen, file=sys.stderr, flush=True)
        yield name, whose, values, chosen, seconds


def run(data: str) -> None:
    given = load_ratings(data)
    users, items = (np.unique(column, return_inverse=True) for column in given.X.T)
    X, y = np.column_stack([users[1], items[1]]), given.y
    shape = len(users[0]), len(items[0])
    train, test = next(PerUserHoldout(0.2, n_splits=1, random_state=SEED).split(X))
    a, b = next(PerUserHoldout(0.2, n_splits=1, random_state=SEED + 1).split(X[train]))
    whole, inner = Part(X, y, train, test, shape), Part(X, y, train[a], train[b], shape)
    found = list(measured(whole, inner))
    best = {m: max(found, key=lambda one, m=m: np.nanmean(one[2][m]))[2][m] for m in ("likes", "any")}
    rows = []
    for name, whose, values, chosen, seconds in sorted(found, key=lambda one: -np.nanmean(one[2]["likes"])):
        cells = []
        for m in ("likes", "any"):
            gap = user_mean(values[m] - best[m])
            cells += [f"{np.nanmean(values[m]):.4f}", "–" if gap.mean == 0 else f"{gap.mean:+.4f} ± {gap.error:.4f}"]
        said = json.dumps(chosen.get("likes", {})).strip("{}").replace('"', "") or "defaults"
        rows.append([name, whose, *cells, f"{seconds:.2f}", said])
    header = ["method", "whose", "nDCG@10 likes", "to the best", "nDCG@10 any", "to the best", "s", "settings (likes)"]
    publish(f"recommender peers, {DATA[data]}", table(header, rows))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for data in sys.argv[1:] or DATA:
        run(data)
