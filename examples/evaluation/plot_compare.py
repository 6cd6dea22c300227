"""
Compare methods on your data
============================

Methods × data sets × splits, in one table, with tests of significance.
"""

# %%
# Four data sets, each with labels of its own kind. Yours may be arrays, data sets, or names of known ones.

from cofactor.datasets import make_labels
from cofactor.evaluation import compare
from cofactor.labels import MLkNN, PLST, BinaryRelevance, LabelRidge

data = {
    f"made {k}": (made.X, made.Y)
    for k in range(4)
    for made, _ in [make_labels(300, 40, 8, correlation=0.3 * k, noise=0.2 + 0.1 * k, random_state=k)]
}
methods = {
    "LabelRidge": LabelRidge(random_state=0),
    "PLST": PLST(random_state=0),
    "BinaryRelevance": BinaryRelevance(random_state=0),
    "MLkNN": MLkNN(random_state=0),
}
comparison = compare(methods, data, n_splits=2, metrics=["micro_f1", "hamming"])
print(comparison.table("micro_f1"))

# %%
# What can be concluded from it, in words.

print(comparison.statistics("micro_f1"))

# %%
# Average ranks; a bar joins methods among which no difference is shown.

from cofactor.plots import plot_critical_difference

plot_critical_difference(comparison.statistics("micro_f1").nemenyi)

# %%
# ``compare(..., store="results")`` keeps each result as it ends, so that a run which was killed goes on. On the command
# line: ``cofactor compare emotions scene -m plst -m mlknn --out report`` writes a report with all of this.
