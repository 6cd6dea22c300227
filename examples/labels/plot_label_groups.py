"""
Groups of labels
================

`GroPLE` lets groups of related labels share latent factors. The groups can be read.
"""

# %%
# Labels of three groups; those of a group occur together.

from cofactor.datasets import make_labels

data, truth = make_labels(600, 40, 12, n_groups=3, n_factors=4, correlation=0.9, cardinality=3.0, random_state=0)
print(truth.groups)

# %%
from cofactor.labels import GroPLE

model = GroPLE(n_components=12, n_groups=3, random_state=0).fit(data.X, data.Y)
print(model.groups_)

# %%
# How often two labels occur together, sorted by the groups that were found.

from cofactor.plots import plot_cooccurrence, plot_group_sparsity

plot_cooccurrence(data.Y, model.groups_, names=data.label_names)

# %%
# Which factors serve which group: a column that is empty in a group costs it nothing.

plot_group_sparsity(model.V_, model.groups_, names=data.label_names)
