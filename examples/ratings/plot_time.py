"""
Ratings that change with time
=============================

The same user rates differently on another day. A model can learn how.
"""

# %%
# Each user's mood drifts over a year: a slow wave is added to what they think of an item.

import numpy as np

rng = np.random.default_rng(0)
n_users, n_items, n = 60, 40, 6000
users, items = rng.integers(0, n_users, n), rng.integers(0, n_items, n)
X, first = np.unique(np.stack([users, items], axis=1), axis=0, return_index=True)
times = rng.uniform(0, 365 * 86400, n)[first]
mood = 1.2 * np.sin(times / (365 * 86400) * 2 * np.pi + X[:, 0])
quality = rng.normal(size=n_items)[X[:, 1]]
y = np.clip(np.round(3 + quality + mood + 0.5 * rng.normal(size=len(X))), 1, 5)

# %%
# ``time=True`` learns drifts within seconds, hours and months; ratings then have times, and so have questions.

from cofactor.metrics import mean_absolute_error
from cofactor.ratings import OrdinalProbit

test = rng.random(len(X)) < 0.2
settings = dict(n_factors=3, implicit=None, n_sweeps=100, burn_in=50, random_state=0)
still = OrdinalProbit(**settings).fit(X[~test], y[~test])
drifting = OrdinalProbit(time=True, **settings).fit(X[~test], y[~test], time=times[~test])
print(f"MAE without time {mean_absolute_error(y[test], still.predict(X[test])):.3f}")
print(f"MAE with time    {mean_absolute_error(y[test], drifting.predict(X[test], time=times[test])):.3f}")

# %%
# What it learned of one user: the wave that was put in.

from cofactor.plots import plot_drift

plot_drift(drifting, user=0)

# %%
# A random split is kind to models of time: a rating of the same hour may be in training. For what they gain about the
# future use `TimeSplit` or `UserLast`, or ``evaluate(..., "user-last", time=times)``.

from cofactor.evaluation import evaluate

quick = OrdinalProbit(time=True, **settings | {"n_sweeps": 60, "burn_in": 30})
evaluate(quick, X, y, "user-last", n_splits=1, time=times)[0]["mae"]
