"""
Probabilities of labels
=======================

Probabilities that hold, and sets that hold all labels nine times out of ten.
"""

# %%
from sklearn.model_selection import train_test_split

from cofactor.datasets import make_labels
from cofactor.labels import LabelRidge

data, _ = make_labels(1200, 40, 8, random_state=0)
X, X_new, Y, Y_new = train_test_split(data.X, data.Y, test_size=500, random_state=0)
model = LabelRidge(random_state=0).fit(X, Y, label_names=data.label_names)

# %%
# Calibrated on held-out instances: the points lie on the diagonal.

from cofactor.plots import plot_label_reliability

probabilities = model.predict_proba(X_new)
plot_label_reliability(Y_new, probabilities, names=data.label_names, labels=[0, 1])

# %%
# In numbers: calibration error and logarithmic loss, per label on average.

from cofactor.metrics import label_calibration_error, label_log_loss

print(f"calibration error {label_calibration_error(Y_new, probabilities):.3f}")
print(f"log loss {label_log_loss(Y_new, probabilities):.3f}")

# %%
# ``predict_set`` returns sets that hold all labels of an instance with a given probability.

import matplotlib.pyplot as plt
import numpy as np

wanted, held, sizes = [0.5, 0.7, 0.8, 0.9, 0.95], [], []
for coverage in wanted:
    sets = model.predict_set(X_new, coverage=coverage)
    missed = np.asarray((Y_new.toarray() > sets.toarray()).any(axis=1))
    held.append(1 - missed.mean())
    sizes.append(sets.sum() / len(X_new))
fig, axes = plt.subplots(1, 2, figsize=(7, 3.2))
axes[0].plot([0.5, 1], [0.5, 1], ":", color="grey")
axes[0].plot(wanted, held, "o-")
axes[0].set(xlabel="coverage that was asked for", ylabel="coverage on new instances")
axes[1].plot(wanted, sizes, "o-")
axes[1].set(xlabel="coverage that was asked for", ylabel="labels in a set")
fig.tight_layout()
