"""
Factors that can be read
========================

Non-negative factors add up and take nothing away, so each of them is a part of a taste.
"""

# %%
# Three groups of users, each of which likes one kind of items.

import numpy as np

rng = np.random.default_rng(0)
liked = np.repeat(np.arange(3), 10)  # the kind of each item
group = rng.integers(0, 3, 90)
X = np.argwhere(rng.random((90, 30)) < 0.6)
y = np.clip(np.where(group[X[:, 0]] == liked[X[:, 1]], 5, 2) + rng.integers(-1, 2, len(X)), 1, 5)

# %%
from cofactor.ratings import RatingNMF

model = RatingNMF(3, alpha=1.0, random_state=0).fit(X, y)

# %%
# Columns are items, rows are factors: each factor belongs to one kind.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(7, 2.4))
image = ax.imshow(model.V_.T, aspect="auto", cmap="Blues")
ax.set(xlabel="item", ylabel="factor", yticks=range(3))
fig.colorbar(image, label="weight")
fig.tight_layout()

# %%
# `URP` and `Attitude` read users instead: as mixtures of a few attitudes.

from cofactor.ratings import URP

attitudes = URP(3, random_state=0).fit(X, y)
print(attitudes.predict_proba(X[:2]).round(2))
