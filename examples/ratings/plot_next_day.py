"""
The next day's ratings
======================

New ratings, new users and new items come in without a new fit.
"""

# %%
# Two weeks of ratings. The first one is there, the others come day by day.

import numpy as np

from cofactor.datasets import make_ratings
from cofactor.metrics import mean_absolute_error
from cofactor.ratings import ALS

data = make_ratings(600, 150, density=0.25, random_state=0)
day = np.random.default_rng(0).integers(0, 14, len(data.y))
fit = ALS(5, alpha=3, random_state=0)
old = fit.fit(data.X[day < 7], data.y[day < 7])

# %%
# ``update`` learns the rows of users and items with new ratings, and leaves all others as they are, to the bit. Each
# day is predicted before it is learned.

import copy
import time

model, kept, updated, seconds = copy.deepcopy(old), [], [], []
for today in range(7, 14):
    X, y = data.X[day == today], data.y[day == today]
    kept.append(mean_absolute_error(y, old.predict(X)))
    updated.append(mean_absolute_error(y, model.predict(X)))
    began = time.perf_counter()
    model = model.update(X, y)
    seconds.append(time.perf_counter() - began)
print(f"an update took {1000 * np.median(seconds):.0f} ms; a new fit is due: {model.refit_due_}")

# %%
# The updated model stays ahead of the old one.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(range(8, 15), kept, "o--", label="fitted once, a week ago")
ax.plot(range(8, 15), updated, "o-", label="updated every night")
ax.set(xlabel="day", ylabel="mean absolute error of this day")
ax.legend()
fig.tight_layout()

# %%
# When a tenth of the ratings came after the fit, a new one is due. The model has all ratings.

again = ALS(5, alpha=3, random_state=0).fit(model.ratings_)
print(again.ratings_)

# %%
# On the command line: ``cofactor update model.cofactor today.csv``.
