"""
Ranking against rating
======================

The best prediction of ratings makes poor lists: what people watch and what they then like are two things.
"""

# %%
# A small MovieLens if it is here, invented films otherwise.

from cofactor.datasets import DatasetNotFoundError, load_ratings, make_movies

try:
    data = load_ratings("ml-latest-small", download=False)
except DatasetNotFoundError:
    data, _ = make_movies(500, 600, 30_000, random_state=0)

# %%
# Three ways to make lists: by predicted ratings, by interactions, and by both. A random fifth of the ratings of each
# user is held out, and all items that are not in training are ranked. Plain popularity is added to every table.

from cofactor.evaluation import evaluate_recommendations
from cofactor.ratings import ALS, EASE, OrdinalProbit, Recommender

ratings = OrdinalProbit(10, n_sweeps=40, burn_in=20, random_state=0)
models = {
    "ALS, by rating": ALS(10, alpha=10, random_state=0),
    "EASE, by interaction": EASE(alpha=500.0),
    "both": Recommender([EASE(alpha=500.0)], ratings, random_state=0),
}
scores = evaluate_recommendations(models, data.X, data.y, at=10, likes=4)
print(scores.text())

# %%
# nDCG of the best ten against the share of items that anybody gets to see.

from cofactor.plots import plot_coverage_tradeoff

points = {name: (scores.of_lists[name]["coverage@10"][0], scores.mean(name, "ndcg@10").mean) for name in scores.methods}
plot_coverage_tradeoff(points)
