"""
Labels that are not known
=========================

A label that nobody checked is not off. Say so, and it is left out of what is learned.
"""

# %%
# Six labels of ten were checked, by chance; the others are NaN.

import numpy as np

from cofactor.datasets import make_labels

data, _ = make_labels(900, 40, 8, random_state=0)
rng = np.random.default_rng(0)
known = rng.random(data.Y.shape) < 0.6
Y = np.where(known, data.Y.toarray(), np.nan)
print(Y[:2])

# %%
# Two ways to learn from them: unknown as off, and unknown as unknown.

from cofactor.labels import LabelRidge
from cofactor.metrics import micro_f1

train, test = slice(0, 600), slice(600, 900)
truth = data.Y[test]
off = LabelRidge(random_state=0).fit(data.X[train], np.nan_to_num(Y[train]))
ignored = LabelRidge(missing="ignore", random_state=0).fit(data.X[train], Y[train])
print(f"unknown as off     {micro_f1(truth, off.predict(data.X[test])):.3f}")
print(f"unknown as unknown {micro_f1(truth, ignored.predict(data.X[test])):.3f}")

# %%
# With unknown labels `LabelRidge` is linear: it has no kernel. Where few labels are unknown and features
# are dense, its kernel may be worth more than that: measure both ways on your data.
#
# Probabilities show what happened: those of the first model are too low.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.5))
bins = np.linspace(0, 1, 21)
ax.hist(off.predict_proba(data.X[test])[truth.toarray() == 1], bins, alpha=0.6, label="unknown as off")
ax.hist(ignored.predict_proba(data.X[test])[truth.toarray() == 1], bins, alpha=0.6, label="unknown as unknown")
ax.set(xlabel="probability of labels that are on", ylabel="number of labels")
ax.legend()
fig.tight_layout()
