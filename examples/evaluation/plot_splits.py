"""
Which split?
============

The same model, four questions: new ratings of known users, one of each, new users, the future.
"""

# %%
from cofactor.datasets import DatasetNotFoundError, load_ratings, make_ratings
from cofactor.evaluation import evaluate
from cofactor.ratings import ALS

try:
    data = load_ratings("ml-latest-small", download=False)
except DatasetNotFoundError:
    data = make_ratings(500, 200, density=0.15, random_state=0)

# %%
# ``holdout`` holds out ratings by chance, ``weak`` one rating of each user, ``strong`` folds in users who are not in
# training, and ``user-last``, which needs times, the last part of each user.

protocols = ["holdout", "weak", "strong"] + (["user-last", "time"] if data.timestamps is not None else [])
model = ALS(10, alpha=10, random_state=0)
errors = {
    name: [row["mae"] for row in evaluate(model, data.X, data.y, name, n_splits=2, time=data.timestamps)]
    for name in protocols
}

# %%
from cofactor.plots import plot_splits

plot_splits(errors, metric="mean absolute error")

# %%
# The future is harder than chance. Report the protocol with every number.
