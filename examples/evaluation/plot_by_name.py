"""
Everything by name
==================

Models, metrics, protocols and measures are registered: a loop over all of them is one line.
"""

# %%
# Every model of the package, by its class name. `RatingModel`, `ImplicitModel` and `LabelModel` are their bases.

from cofactor import __version__, labels, ratings

families = {
    "ratings": ratings.MODELS,
    "interactions": ratings.ranking.MODELS,
    "labels": labels.MODELS,
    "features": labels.TRANSFORMERS,
}
print("cofactor", __version__)
for family, models in families.items():
    print(f"{family:12} {', '.join(list(models)[:6])} ...")

# %%
# Metrics say what they take and which direction is better; comparisons and searches take their names.

from cofactor.evaluation import LABEL_PROTOCOLS, METRICS, PROTOCOLS, SCALINGS
from cofactor.metrics import LABEL_METRICS, PROBABILITY_METRICS, RATING_METRICS

print("ratings:", *RATING_METRICS, *PROBABILITY_METRICS)
print("labels:", *LABEL_METRICS)
print("lists, and all others:", len(METRICS))
print("splits of ratings:", *PROTOCOLS)
print("splits of labels:", *LABEL_PROTOCOLS)
print("scalings of features:", *SCALINGS)

# %%
# Measures of labels that go together, losses, solvers, and the published tables that can be run again.

from cofactor.correlation import LABEL_MEASURES, MEASURES
from cofactor.experiments import experiments
from cofactor.losses import MARGIN_LOSSES
from cofactor.solvers import SOLVERS

print(*MEASURES, "of which without features:", *LABEL_MEASURES)
print(*MARGIN_LOSSES)
print(*SOLVERS)
print(*list(experiments())[:4], "...")

# %%
# The same data for every model of interactions, with the settings that each has by default.

import numpy as np

from cofactor.datasets import make_interactions
from cofactor.evaluation import evaluate_recommendations

X, _ = make_interactions(300, 100, 5000, tail=0.0, random_state=0)
quick = {name: kind() for name, kind in ratings.ranking.MODELS.items() if name not in ("Recommender", "LogisticMF")}
scores = evaluate_recommendations(quick, np.stack(X.nonzero(), axis=1))

# %%
import matplotlib.pyplot as plt

from cofactor.plots import OKABE_ITO

found = {name: scores.mean(name, "ndcg@10").mean for name in quick}
worst_first = sorted(found, key=found.get)
fig, ax = plt.subplots(figsize=(6, 3.2))
ax.barh(worst_first, [found[name] for name in worst_first], color=OKABE_ITO[0])
ax.set(xlabel="nDCG of the first ten items")
fig.tight_layout()
