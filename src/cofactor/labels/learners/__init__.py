"""Learners inside label models: a backbone, such as linear scores or trees, fitted for a head, as plain numbers.

`fitting` fits any classifier or regressor of scikit-learn: to one task (`fit_learner`), to many (`fit_tasks`), or to
all labels (`fit_label_learners`). What comes out is a `base.Learner` with one of three heads: classes, of which an
instance has one; labels, each of its own; or the labels of a chain, of which each sees those before it.

Linear models, naive Bayes, trees, forests and nearest neighbours are numbers which a file can hold. All of these are
checked when they are read, since a file may be forged. Code of this package computes scores from plain arrays, so a
file does not depend on the version of scikit-learn; only the index of nearest neighbours is built again, from the
training instances. Any other estimator can be fitted too, but not saved.
"""

from typing import Any

from cofactor.lazy import Registry

#: The modules of learners that a model file may hold, and of their parts.
_MODULES = {
    "base": ("SeparateLearners",),
    "linear": ("LinearLearner", "GaussianLearner"),
    "trees": ("TreesLearner", "Nodes"),
    "neighbours": ("NeighboursLearner", "NeighbourIndex"),
    "chain": ("LinearChain", "SeparateChain"),
}

#: The same by class name.
LEARNERS: Registry[Any] = Registry(
    {name: f"{__name__}.{module}" for module, names in _MODULES.items() for name in names}
)
