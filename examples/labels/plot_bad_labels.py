"""
Which labels are bad?
=====================

One row for each label: those that cost most first, with the label they are taken for.
"""

# %%
from sklearn.model_selection import cross_val_predict

from cofactor.datasets import DatasetNotFoundError, load_labels, make_labels
from cofactor.labels import LabelRidge
from cofactor.metrics import report_by_label

try:
    data = load_labels("emotions")
except DatasetNotFoundError:
    data, _ = make_labels(600, 60, 6, noise=0.5, random_state=0)

# %%
# Predictions of instances that were held out.

tags = cross_val_predict(LabelRidge(random_state=0), data.X, data.Y.toarray(), cv=3)
table = report_by_label(data.Y, tags, label_names=data.label_names)
print(table)

# %%
# Which labels are predicted instead? Errors of the worst ones.

import matplotlib.pyplot as plt
import numpy as np

truth = data.Y.toarray()
missed, false = (truth & ~tags.astype(bool)).sum(axis=0), ((1 - truth) & tags).sum(axis=0)
order = np.argsort(missed + false)
names = np.array(data.label_names)[order]
fig, ax = plt.subplots(figsize=(7, 3.5))
ax.barh(names, missed[order], label="missed")
ax.barh(names, false[order], left=missed[order], label="predicted in vain")
ax.set(xlabel="instances on which the label is wrong")
ax.legend()
fig.tight_layout()

# %%
# On the command line: ``cofactor evaluate emotions --by-label``.
