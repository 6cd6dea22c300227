"""
Rules for lists
===============

Lists that are varied, that hold something new, and that keep to quotas.
"""

# %%
# Interactions, and a genre for each item.

import numpy as np

from cofactor.datasets import make_interactions
from cofactor.ratings import EASE, Rules

X, _ = make_interactions(800, 200, 16_000, random_state=0)
genre = {item: ("drama", "comedy", "crime")[item % 3] for item in range(200)}
model = EASE(alpha=100.0).fit(X)

# %%
# At most four of a genre, at least two crime stories, nothing that fewer than twenty users interacted with.

rules = Rules(min_support=20, groups=genre, at_most=4, at_least={"crime": 2})
items, _ = model.recommend([0], n=10, rules=rules)
[genre[item] for item in items[0]]

# %%
# Diversity costs score: a list of unlike items is not a list of the best ones. The curve says how much. Vectors of
# users and items give the scores without rules, and how unlike items are.

from cofactor.ratings import ImplicitALS

factors = ImplicitALS(10, random_state=0).fit(X)
users, vectors = factors.user_vectors("scores"), factors.item_vectors("scores")
place = {item: k for k, item in enumerate(vectors.ids)}
weights, unlike, total = [0.0, 0.2, 0.4, 0.6, 0.8], [], []
for weight in weights:
    items, _ = factors.recommend(users.ids, n=10, rules=Rules(diversity=weight))
    lists = vectors.values[np.vectorize(place.get)(items)]
    total.append(np.einsum("uf,uif->", users.values, lists))
    lists = lists / np.linalg.norm(lists, axis=-1, keepdims=True)
    cosines = np.einsum("uid,ujd->uij", lists, lists)
    unlike.append(1 - (cosines.sum() - 10 * len(lists)) / (90 * len(lists)))

# %%
# Each point is a value of ``diversity``. Items of these lists are less alike at a loss of one or two hundredths.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(unlike, np.array(total) / total[0], "o-")
for weight, x, y in zip(weights, unlike, np.array(total) / total[0], strict=True):
    ax.annotate(str(weight), (x, y), textcoords="offset points", xytext=(6, 4))
ax.set(xlabel="mean distance of the items of a list", ylabel="share of the best scores")
fig.tight_layout()
