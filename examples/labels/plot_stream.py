"""
Labels in a stream
==================

Instances arrive in chunks. Each is decided before it is learned.
"""

# %%
# `OMF` puts features and labels into one latent space, and learns from a chunk at a time.

from cofactor.datasets import make_labels
from cofactor.labels import OMF
from cofactor.metrics import micro_f1

data, _ = make_labels(4000, 50, 10, random_state=0)
model, errors = OMF(20, alpha=0.05, random_state=0), []
for first in range(0, 4000, 200):
    X, Y = data.X[first : first + 200], data.Y[first : first + 200]
    if first:
        errors.append(micro_f1(Y, model.predict(X)))
    model.partial_fit(X, Y)
print(f"{model.n_rows_seen_} instances seen")

# %%
# Micro-F1 of each chunk, predicted before it was learned.

import matplotlib.pyplot as plt

fig, ax = plt.subplots(figsize=(6, 3.5))
ax.plot(range(200, 4000, 200), errors, "o-", markersize=4)
ax.set(xlabel="instances seen", ylabel="micro-F1 of the next 200")
fig.tight_layout()

# %%
# Where the newest instances are the ones that count, learn the cut from them.

recent = slice(3000, 4000)
model.fit_threshold(data.X[recent], data.Y[recent], "global")
print(f"cut {float(model.threshold_):.3f}")
