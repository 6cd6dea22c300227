"""
Clicks, plays, purchases
========================

Data of one class: users interact with items, and nobody says what they dislike.
"""

# %%
# A matrix of counts, users × items. Rows are always users.

from cofactor.datasets import make_interactions

X, _ = make_interactions(1500, 300, 30_000, tail=0.0, random_state=0)
X

# %%
# Models of interactions need no ratings. Hold out a fifth of each user's items, and see how many of them are found.

import numpy as np

from cofactor.evaluation import evaluate_recommendations
from cofactor.ratings import BPR, EASE, ImplicitALS, ItemKNN, RP3beta

pairs = np.stack(X.nonzero(), axis=1)
models = {
    "EASE": EASE(alpha=100.0),
    "ImplicitALS": ImplicitALS(10, random_state=0),
    "BPR": BPR(10, random_state=0),
    "ItemKNN": ItemKNN(),
    "RP3beta": RP3beta(),
}
sizes = [5, 10, 20, 50]
scores = evaluate_recommendations(models, pairs, at=sizes)
print(scores.text())

# %%
# The share of the held-out items among the first 5 to 50.

from cofactor.plots import plot_recall_curves

plot_recall_curves({name: (sizes, [scores.mean(name, f"recall@{k}").mean for k in sizes]) for name in scores.methods})

# %%
# Counts weigh: who played something ten times likes it more surely than who played it once. Give them as values of the
# matrix, or in a column called plays, clicks or count. ``cofactor fit plays.csv`` finds that column by itself.

model = EASE(alpha=100.0).fit(X)
model.recommend([0], n=5)[0]
