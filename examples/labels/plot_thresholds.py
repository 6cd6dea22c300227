"""
From scores to labels
=====================

Where to cut scores changes F1 more than the choice of a method does.
"""

# %%
# Labels of which most are off: a score above 0 is rare, although the ranking is good.

from sklearn.model_selection import train_test_split

from cofactor.datasets import make_labels
from cofactor.labels import PLST, micro_f1_curve
from cofactor.metrics import label_report, micro_f1

data, _ = make_labels(800, 60, 15, cardinality=1.5, noise=0.5, random_state=0)
X, X_new, Y, Y_new = train_test_split(data.X, data.Y, test_size=300, random_state=0)

# %%
# The plain cut at 0, a cut that is learned out of fold, and the default: probabilities, decided for micro-F1.

found = {}
for threshold in (0.0, "global", "per-label", "top-k", "cardinality", "auto"):
    model = PLST(threshold=threshold, random_state=0).fit(X, Y)
    found[threshold] = label_report(Y_new, model.predict(X_new))
for threshold, report in found.items():
    print(f"{threshold!s:12} micro-F1 {report['micro_f1']:.3f}  Hamming loss {report['hamming']:.3f}")

# %%
# Micro-F1 along all cuts of the same scores. The learned one is near the top; 0 is not.

from cofactor.plots import plot_threshold_curves

plain = PLST(threshold="global", random_state=0).fit(X, Y)
plot_threshold_curves(
    {"PLST": micro_f1_curve(plain.decision_function(X_new), Y_new)}, {"PLST": float(plain.threshold_)}
)

# %%
# Say what the decision is for: with ``decide_for`` the same probabilities are cut for another measure.

for aim in ("micro", "macro", "example", "hamming"):
    tags = PLST(decide_for=aim, random_state=0).fit(X, Y).predict(X_new)
    print(f"{aim:8} {micro_f1(Y_new, tags):.3f}, labels of an instance: {tags.sum() / len(X_new):.2f}")
