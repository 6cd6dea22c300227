"""The invented films of `make_movies` beside MovieLens 100K: marginals, and how hard ratings are to predict.

python benchmarks/movies.py     # a table into docs/benchmarks; means over the seeds 0, 1, 2
"""

import numpy as np
from common import SEEDS, holdout_errors, publish, split_80_20, table
from sklearn.base import clone

from cofactor.datasets import RatingDataset, load_ratings, make_movies
from cofactor.evaluation import evaluate_recommendations
from cofactor.ratings import ALS, HMF, MMMF, OrdinalProbit, Recommender

SHARES = (10, 50, 90, 100)
MODELS = {
    "OrdinalProbit": OrdinalProbit(),
    "OrdinalProbit, implicit=None": OrdinalProbit(implicit=None),
    "MMMF, alpha 20": MMMF(alpha=20.0),
    "HMF, alpha 15": HMF(alpha=15.0),
    "ALS, alpha 13": ALS(alpha=13.0),
}


def mean_by(keys: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return keys, how often each comes, and the mean of its values."""
    ids, places, counts = np.unique(keys, return_inverse=True, return_counts=True)
    return ids, counts, np.bincount(places, values) / counts


def error_of_means(data: RatingDataset, column: int, seed: int) -> float:
    """Return the RMSE of the mean rating of each user or item, and of all where there is none."""
    train, test = split_80_20(len(data.y), seed)
    ids, _, means = mean_by(data.X[train, column], data.y[train])
    places = np.searchsorted(ids, data.X[test, column]).clip(max=len(ids) - 1)
    known = ids[places] == data.X[test, column]
    predicted = np.where(known, means[places], data.y[train].mean())
    return float(np.sqrt(np.mean((predicted - data.y[test]) ** 2)))


def figures(data: RatingDataset, seed: int) -> dict[str, np.ndarray]:
    """Return the rows of the table for one data set, each one number or several."""
    (_, of_user, user_means), (_, of_item, item_means) = (mean_by(column, data.y) for column in data.X.T)
    order = np.lexsort((data.timestamps, data.X[:, 0]))
    pauses = (np.diff(data.timestamps[order]) > 3600) & (np.diff(data.X[order, 0]) == 0)
    rows = {
        "shares of the ratings 1 to 5": np.bincount(data.y.astype(int), minlength=6)[1:] / len(data.y),
        f"ratings of a user, percentiles {', '.join(map(str, SHARES))}": np.percentile(of_user, SHARES),
        f"ratings of an item, percentiles {', '.join(map(str, SHARES))}": np.percentile(of_item, SHARES),
        "standard deviation of the means of users": user_means.std(),
        "standard deviation of the means of items with 20 ratings or more": item_means[of_item >= 20].std(),
        "correlation of an item's mean with the logarithm of its number of ratings": np.corrcoef(
            item_means, np.log(of_item)
        )[0, 1],
        "sessions of a user, an hour or more apart": 1 + pauses.sum() / len(of_user),
        "RMSE of user means": error_of_means(data, 0, seed),
        "RMSE of item means": error_of_means(data, 1, seed),
    }
    for name, model in MODELS.items():
        report = holdout_errors(clone(model).set_params(random_state=seed), data.X, data.y, seed)
        rows[f"MAE, RMSE of {name}"] = np.array([report["mae"], report["rmse"]])
    scores = evaluate_recommendations(Recommender(random_state=seed), data.X, data.y, random_state=seed, likes=4)
    for name in scores.methods:
        rows[f"nDCG@10 of {name}"] = scores.mean(name, "ndcg@10").mean
    return {name: np.atleast_1d(value) for name, value in rows.items()}


def shown(values: np.ndarray) -> str:
    """Write numbers with three digits after the point, and large ones without."""
    return ", ".join(f"{value:.0f}" if abs(value) >= 5 else f"{value:.3f}" for value in values)


def main() -> None:
    real, sets = load_ratings("ml-100k"), [make_movies(random_state=seed)[0] for seed in SEEDS]
    found = [[figures(data, seed) for data, seed in zip(several, SEEDS, strict=True)] for several in ([real] * 3, sets)]
    means = [{name: np.mean([one[name] for one in runs], axis=0) for name in runs[0]} for runs in found]
    rows = [(name, *(shown(one[name]) for one in means)) for name in means[0]]
    publish("invented films beside MovieLens 100K", table(("", "MovieLens 100K", "make_movies"), rows))


if __name__ == "__main__":
    main()
