"""
Cold users and items
====================

A user who was not in training is folded in within milliseconds. An item without ratings is known by its features.
"""

# %%
# Ratings of 400 users. The last 100 of them are not in training.

import numpy as np

from cofactor.datasets import make_ratings
from cofactor.metrics import mean_absolute_error
from cofactor.ratings import ALS, OrdinalProbit

data = make_ratings(400, 120, density=0.4, random_state=0)
new = data.X[:, 0] >= 300
model = OrdinalProbit(5, n_sweeps=100, burn_in=50, random_state=0).fit(data.X[~new], data.y[~new])

# %%
# ``fold_in`` returns a model for the new users; nothing else is learned again. How many of their ratings does it need?

rng = np.random.default_rng(0)
position = np.empty(new.sum(), dtype=int)  # of a rating among those of its user, in random order
users = data.X[new, 0]
for user in np.unique(users):
    rows = np.flatnonzero(users == user)
    position[rows] = rng.permutation(len(rows))
X, y, tested = data.X[new], data.y[new], position >= 20

given, errors = [1, 2, 5, 10, 20], []
for n in given:
    folded = model.fold_in(X[position < n], y[position < n])
    errors.append(mean_absolute_error(y[tested], folded.predict(X[tested])))

# %%
# Each rating helps, the first ones most.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(given, errors, "o-")
ax.set(xlabel="ratings of each new user", ylabel="mean absolute error", xticks=given, title="Users who were folded in")
fig.tight_layout()

# %%
# New items: a model that was fitted with features of items predicts what nobody rated. Features are numbers, words or
# both; here two numbers from which the ratings are made.

style = rng.normal(size=(60, 2))
taste = rng.normal(size=(200, 2))
pairs = np.argwhere(rng.random((200, 60)) < 0.3)
stars = np.clip(np.round(3 + (taste[pairs[:, 0]] * style[pairs[:, 1]]).sum(axis=1)), 1, 5)
old = pairs[:, 1] < 50
features = (np.arange(50), style[:50])
by_style = ALS(4, 3, random_state=0).fit(pairs[old], stars[old], item_features=features)

later = by_style.fold_in_items(item_features=(np.arange(50, 60), style[50:]))
guess = later.predict(pairs[~old])
plain = np.full(len(guess), np.median(stars[old]))
print(
    f"MAE {mean_absolute_error(stars[~old], guess):.2f}, without features {mean_absolute_error(stars[~old], plain):.2f}"
)
