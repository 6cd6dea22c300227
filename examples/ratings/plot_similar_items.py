"""
Similar items, and an index
===========================

Items that go together, and vectors for an index of approximate nearest neighbours.
"""

# %%
# Interactions of 1,000 users, made from ten tastes.

from cofactor.datasets import make_interactions

X, truth = make_interactions(1000, 200, 20_000, random_state=0)

# %%
# Items are similar if their scores go together over all users.

from cofactor.ratings import LogisticMF

model = LogisticMF(16, random_state=0).fit(X)
items, similarities = model.similar_items([3, 8], n=5)
print(items, similarities.round(2), sep="\n")

# %%
# Do they share a taste? The numbers which the data were made from know.

import matplotlib.pyplot as plt
import numpy as np

everything = np.arange(100)
neighbours = model.similar_items(everything, n=5)[0].astype(int)
tastes = truth.items.T
directions = tastes / np.linalg.norm(tastes, axis=1, keepdims=True)
found = (directions[everything, None] * directions[neighbours]).sum(axis=-1).ravel()
chance = (
    (directions[everything, None] * directions[np.random.default_rng(0).permutation(neighbours)]).sum(axis=-1).ravel()
)
fig, ax = plt.subplots(figsize=(6, 3.5))
bins = np.linspace(0, 1, 21)
ax.hist(found, bins, alpha=0.6, label="five most similar items")
ax.hist(chance, bins, alpha=0.6, label="items by chance")
ax.set(xlabel="cosine of the true tastes", ylabel="number of pairs of items")
ax.legend()
fig.tight_layout()

# %%
# For millions of items an index answers faster than a pass over all of them. Take the vectors, whose inner products
# rank items as the model does, and add them to an index for inner products, such as that of usearch, Faiss or hnswlib.

users, vectors = model.user_vectors("scores"), model.item_vectors("scores")
best = vectors.ids[np.argsort(users.values[0] @ vectors.values.T)[::-1][:5]]
print(best, model.recommend([0], n=5, exclude_seen=False)[0][0])

# %%
# ``vectors.save("items.npy")`` or ``.save("items.parquet")`` writes them for an index elsewhere.
