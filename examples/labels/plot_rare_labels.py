"""
Rare labels
===========

What helps labels of which there are few instances, and how to split so that each fold has some.
"""

# %%
# Labels with a long tail: the first ones are frequent, the last ones rare.

import numpy as np

from cofactor.datasets import make_labels

data, _ = make_labels(1500, 60, 20, tail=1.0, cardinality=2.0, noise=0.3, random_state=0)
counts = np.asarray(data.Y.sum(axis=0)).ravel()
print(np.sort(counts)[::-1])

# %%
# `StratifiedLabelKFold` gives each fold its share of every label.

from cofactor.evaluation import StratifiedLabelKFold

train, test = next(iter(StratifiedLabelKFold(3, random_state=0).split(data.X, data.Y)))
X, Y, X_new, Y_new = data.X[train], data.Y[train], data.X[test], data.Y[test]

# %%
# Three ways: as it is; deciding for macro-F1, in which each label counts the same; and weights for rare labels.

from cofactor.labels import LabelRidge
from cofactor.metrics import macro_f1, micro_f1

models = {
    "default": LabelRidge(random_state=0),
    'decide_for="macro"': LabelRidge(decide_for="macro", random_state=0),
    'class_weight="balanced"': LabelRidge(class_weight="balanced", decide_for="macro", random_state=0),
}
tables = {}
for name, model in models.items():
    tags = model.fit(X, Y).predict(X_new)
    tables[name] = tags
    print(f"{name:26} micro-F1 {micro_f1(Y_new, tags):.3f}  macro-F1 {macro_f1(Y_new, tags):.3f}")

# %%
# F1 of the five most frequent labels, of the next five, and so on. What helps, helps the rare ones.

import matplotlib.pyplot as plt
from sklearn.metrics import f1_score

fives = np.argsort(-counts).reshape(4, 5)
fig, ax = plt.subplots(figsize=(7, 3.5))
for k, (name, tags) in enumerate(tables.items()):
    f1 = f1_score(Y_new.toarray(), tags.toarray(), average=None, zero_division=0)
    ax.bar(np.arange(4) + 0.27 * (k - 1), f1[fives].mean(axis=1), width=0.25, label=name)
ax.set_xticks(range(4), ["most frequent", "frequent", "rare", "rarest"])
ax.set(xlabel="labels, five at a time", ylabel="mean F1")
ax.legend()
fig.tight_layout()
