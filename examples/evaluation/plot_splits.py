"""
Which split?
============

The same model, four questions: new ratings of known users, one of each, new users, the future.
"""

# %%
from cofactor.datasets import DatasetNotFoundError, load_ratings, make_movies
from cofactor.evaluation import evaluate
from cofactor.ratings import ALS

try:
    data = load_ratings("ml-latest-small", download=False)
except DatasetNotFoundError:
    data, _ = make_movies(500, 600, 30_000, random_state=0)

# %%
# ``holdout`` holds out ratings by chance, ``weak`` one rating of each user, ``strong`` folds in users who are not in
# training, ``user-last`` the last part of each user, and ``time`` what came last of all.

protocols = ["holdout", "weak", "strong", "user-last", "time"]
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
