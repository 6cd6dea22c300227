"""What the server of processes loads before it forks: then runs are short, and much of their time is their work."""

from __future__ import annotations

import warnings

import cofactor.cli.program
import cofactor.experiments.declared
import cofactor.plots
import cofactor.reports.comparison  # noqa: F401
from cofactor.experiments import experiments
from cofactor.ratings import ALS, HMF, OrdinalProbit

experiments()
X, y = (
    [(u, i) for u in range(9) for i in range(9) if (u + i) % 3],
    [1 + (u * i) % 5 for u in range(9) for i in range(6)],
)
with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    for model in (ALS(2, 1.0), HMF(2, 1.0), OrdinalProbit(2, n_sweeps=4, burn_in=1)):
        model.set_params(random_state=0).fit(X, y).predict(X)
