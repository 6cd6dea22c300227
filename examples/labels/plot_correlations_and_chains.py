"""
Labels that go together
=======================

Measure which labels do, draw it, and use it: trees, chains and whole label sets.
"""

# %%
from sklearn.model_selection import train_test_split

from cofactor.datasets import DatasetNotFoundError, load_labels, make_labels

try:
    data = load_labels("emotions")
except DatasetNotFoundError:
    data, _ = make_labels(600, 60, 6, n_groups=2, correlation=0.9, random_state=0)
X, X_new, Y, Y_new = train_test_split(data.X, data.Y, test_size=150, random_state=0)

# %%
# Nine measures are there; χ² and the Pearson correlation look at the labels alone.

from cofactor.correlation import chi_squared, disjoint_clusters, maximum_spanning_tree, pearson
from cofactor.plots import plot_correlations, plot_label_structure

C = pearson(Y)
plot_correlations(C, disjoint_clusters(C, 3), names=data.label_names, measure="correlation")

# %%
# The strongest links which make a tree.

weights = chi_squared(Y)
plot_label_structure(maximum_spanning_tree(weights), weights, names=data.label_names)

# %%
# `TreeCRF` learns a weight for each link of such a tree, `ClassifierChain` lets each classifier see the labels before
# it. Where whole sets must be right, ask for the likeliest set.

from cofactor.labels import BinaryRelevance, ClassifierChain, TreeCRF
from cofactor.metrics import micro_f1, subset_accuracy

for name, model in {
    "each label by itself": BinaryRelevance(random_state=0),
    "chain": ClassifierChain(random_state=0),
    "tree": TreeCRF(random_state=0),
    "tree, likeliest sets": TreeCRF(threshold="joint", random_state=0),
}.items():
    tags = model.fit(X, Y).predict(X_new)
    print(f"{name:22} subset accuracy {subset_accuracy(Y_new, tags):.3f}  micro-F1 {micro_f1(Y_new, tags):.3f}")
