"""
First tags
==========

From features and known labels to labels of new instances, with their probabilities.
"""

# %%
# ``emotions`` has 593 pieces of music with six moods. Where the data set is not here, similar data are made.

from cofactor.datasets import DatasetNotFoundError, load_labels, make_labels

try:
    data = load_labels("emotions")
except DatasetNotFoundError:
    data, _ = make_labels(600, 72, 6, random_state=0)
data

# %%
# `LabelRidge` needs no settings: it chooses them by exact leave-one-out errors.

from sklearn.model_selection import train_test_split

from cofactor.labels import LabelRidge

X, X_new, Y, Y_new = train_test_split(data.X, data.Y, test_size=100, random_state=0)
model = LabelRidge(random_state=0).fit(X, Y, label_names=data.label_names)

# %%
# ``predict`` returns labels in the form they had in training, here a sparse matrix of 0 and 1.

tags = model.predict(X_new)
[data.label_names[label] for label in tags[[0]].indices]

# %%
# ``predict_proba`` says how probable each label is. Probabilities are calibrated: of all labels that get 0.7, seven of
# ten are right.

from cofactor.plots import plot_marginals

chances = model.predict_proba(X_new[:1])[0]
plot_marginals(chances, tags[[0]].toarray()[0], truth=Y_new[[0]].toarray()[0], names=data.label_names)

# %%
# How good is it on all 100 new instances?

from cofactor.metrics import hamming_loss, micro_f1

print(f"micro-F1 {micro_f1(Y_new, tags):.3f}, Hamming loss {hamming_loss(Y_new, tags):.3f}")
