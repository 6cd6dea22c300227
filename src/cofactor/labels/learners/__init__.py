"""Learners inside label models: fitted estimators of scikit-learn, kept as plain numbers.

`fit_learner` fits any classifier or regressor of scikit-learn to classes and returns a `Learner`. It has scores,
perhaps probabilities, and a state of JSON values and arrays from which `learner_from_state` rebuilds it. Linear models,
naive Bayes, trees, forests and nearest neighbours have such a state. Every number of it is checked when it is read,
since a file may be forged. Code of this package computes their scores from plain arrays, so a file does not depend on
the version of scikit-learn; only the index of nearest neighbours is built again, from the training instances. Any other
estimator can be fitted too, but not saved.

`LabelLearners` hold a learner for each of many labels, for binary relevance and pairs of labels; `ChainLearners` hold
learners of which each sees the labels before it. `fit_tasks` fits many of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import Registry, exports

if TYPE_CHECKING:
    from cofactor.labels.learners.base import Learner
    from cofactor.labels.learners.chain import (
        ChainLearners,
        LinearChain,
        SeparateChain,
        chain_of,
        uncertain,
        with_labels,
    )
    from cofactor.labels.learners.fitting import (
        SAVABLE,
        Fitted,
        check_estimator,
        check_savable,
        fit_learner,
        is_savable,
        learner_from_state,
        takes_sparse,
    )
    from cofactor.labels.learners.gaussian import GaussianLearner
    from cofactor.labels.learners.label_trees import GrownTree, TreeData, TreeLabelLearners, TreeSettings, grow_tree
    from cofactor.labels.learners.linear import LinearLearner
    from cofactor.labels.learners.neighbours import NeighbourIndex, NeighboursLearner
    from cofactor.labels.learners.opaque import OpaqueLearner
    from cofactor.labels.learners.per_label import (
        LabelLearners,
        LinearLabelLearners,
        NeighbourLabelLearners,
        SeparateLabelLearners,
        check_label_learners,
        fit_label_learners,
        stacked,
        takes_passes,
    )
    from cofactor.labels.learners.tasks import Task, fit_tasks, warn_of_stopped
    from cofactor.labels.learners.together import machine_bytes, suits_logistics, together_bytes
    from cofactor.labels.learners.trees import TreesLearner

#: Learners that a model file may hold, by class name.
LEARNERS: Registry[type[Learner] | type[LabelLearners] | type[ChainLearners]] = Registry.of(
    __name__,
    "LinearLearner",
    "GaussianLearner",
    "TreesLearner",
    "NeighboursLearner",
    "LinearLabelLearners",
    "NeighbourLabelLearners",
    "SeparateLabelLearners",
    "TreeLabelLearners",
    "LinearChain",
    "SeparateChain",
)

__all__ = [
    "LEARNERS",
    "SAVABLE",
    "ChainLearners",
    "Fitted",
    "GaussianLearner",
    "GrownTree",
    "LabelLearners",
    "Learner",
    "LinearChain",
    "LinearLabelLearners",
    "LinearLearner",
    "NeighbourIndex",
    "NeighbourLabelLearners",
    "NeighboursLearner",
    "OpaqueLearner",
    "SeparateChain",
    "SeparateLabelLearners",
    "Task",
    "TreeData",
    "TreeLabelLearners",
    "TreeSettings",
    "TreesLearner",
    "chain_of",
    "check_estimator",
    "check_label_learners",
    "check_savable",
    "fit_label_learners",
    "fit_learner",
    "fit_tasks",
    "grow_tree",
    "is_savable",
    "learner_from_state",
    "machine_bytes",
    "stacked",
    "suits_logistics",
    "takes_passes",
    "takes_sparse",
    "together_bytes",
    "uncertain",
    "warn_of_stopped",
    "with_labels",
]

__getattr__, __dir__ = exports(__name__)
