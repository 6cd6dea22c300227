"""Pictures of fits and of results, for reports and notebooks; they need the extra ``cofactor[plots]``.

==============================  =========================================================================
`plot_convergence`              objective of several solvers against seconds or iterations
`plot_likelihood`               log-likelihood of several models against iterations
`plot_confusion`                which level was predicted for which, as a matrix
`plot_reliability`              how often predictions came true against how probable they were called
`plot_label_reliability`        the same of labels: of all together, and of single ones
`plot_trace`                    log-likelihood of every sweep of chains, with their R-hat
`plot_drift`                    how the scores of a user drift with time, with a band
`plot_drift_times`              how long each process of the drift lasts, and how far it goes
`plot_tradeoff`                 test error against training error along alpha, for several methods
`plot_validation`               validation error along alpha, with its spread and the chosen alpha
`plot_splits`                   score of each method on each split, with the mean
`plot_critical_difference`      average ranks of methods, and which of them do not differ (``cofactor[stats]``)
`plot_error_by_level`           error for each true level of the ratings, for several methods
`plot_learning_curves`          test error against the share of the training data, for several methods
`plot_scaling`                  seconds against size, log–log, with a reference slope
`plot_embedding`                items in the plane, with the thresholds of one user as parallel lines
`plot_hyperplanes`              items in the plane, and each user as the line that separates them
`plot_cooccurrence`             which labels go together, as they come or sorted by group
`plot_correlations`             how labels go together by any measure, by cluster
`plot_label_structure`          a tree or chain of labels, with the weights of its edges
`plot_marginals`                how probable each label of one instance is, and its likeliest label set
`plot_group_sparsity`           which labels use which latent factor
`plot_threshold_curves`         micro-F1 against the cut of the scores, with the learned cut
`plot_parameter_map`            a measure for each pair of values of two parameters
`plot_parameter_lines`          a measure along a parameter, for several settings, with its spread
`plot_label_tree`               the tree of MLC-HMF: instances that reach each node, and stay there
`plot_recall_curves`            recall of lists of items against their length, for several methods
`plot_coverage_tradeoff`        accuracy against how many items are recommended at all, by method
`plot_popularity`               popularity of what is recommended against that of what users rated
`plot_recommendations`          what is recommended to a user, with P(interact) and P(like) as bars
`plot_interaction_reliability`  how often users interacted with items, against the probability of it
`plot_reasons`                  which own ratings raise and lower the score of an item
`prediction_table`              predicted labels beside the true ones, as text or HTML
`save_figure`                   a picture to a PNG, SVG or PDF file, whole or not at all
==============================  =========================================================================

Each ``plot_`` function takes data, draws into `ax` or into a new figure, and returns the Axes. New figures are made
without ``matplotlib.pyplot``: they need no display, are not shown automatically, and are freed like any other object.
Names are drawn as they are: a ``$`` begins no formula. Legends stand to the right of the data; a figure of your own
makes room for them if its ``layout`` is ``"constrained"``. Readers with any kind of colour vision can distinguish the
colours, `OKABE_ITO`, and each series also has a marker or a line style of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.plots.comparison import plot_critical_difference as plot_critical_difference
    from cofactor.plots.comparison import plot_error_by_level as plot_error_by_level
    from cofactor.plots.comparison import plot_learning_curves as plot_learning_curves
    from cofactor.plots.comparison import plot_splits as plot_splits
    from cofactor.plots.correlations import plot_correlations as plot_correlations
    from cofactor.plots.correlations import plot_label_structure as plot_label_structure
    from cofactor.plots.curves import plot_convergence as plot_convergence
    from cofactor.plots.curves import plot_drift as plot_drift
    from cofactor.plots.curves import plot_drift_times as plot_drift_times
    from cofactor.plots.curves import plot_likelihood as plot_likelihood
    from cofactor.plots.curves import plot_parameter_lines as plot_parameter_lines
    from cofactor.plots.curves import plot_parameter_map as plot_parameter_map
    from cofactor.plots.curves import plot_scaling as plot_scaling
    from cofactor.plots.curves import plot_tradeoff as plot_tradeoff
    from cofactor.plots.curves import plot_validation as plot_validation
    from cofactor.plots.figures import OKABE_ITO as OKABE_ITO
    from cofactor.plots.figures import save_figure as save_figure
    from cofactor.plots.labels import plot_cooccurrence as plot_cooccurrence
    from cofactor.plots.labels import plot_group_sparsity as plot_group_sparsity
    from cofactor.plots.labels import plot_marginals as plot_marginals
    from cofactor.plots.labels import plot_threshold_curves as plot_threshold_curves
    from cofactor.plots.labels import prediction_table as prediction_table
    from cofactor.plots.probabilities import plot_label_reliability as plot_label_reliability
    from cofactor.plots.probabilities import plot_reliability as plot_reliability
    from cofactor.plots.probabilities import plot_trace as plot_trace
    from cofactor.plots.ratings import plot_confusion as plot_confusion
    from cofactor.plots.ratings import plot_embedding as plot_embedding
    from cofactor.plots.ratings import plot_hyperplanes as plot_hyperplanes
    from cofactor.plots.recommendations import plot_coverage_tradeoff as plot_coverage_tradeoff
    from cofactor.plots.recommendations import plot_interaction_reliability as plot_interaction_reliability
    from cofactor.plots.recommendations import plot_popularity as plot_popularity
    from cofactor.plots.recommendations import plot_reasons as plot_reasons
    from cofactor.plots.recommendations import plot_recall_curves as plot_recall_curves
    from cofactor.plots.recommendations import plot_recommendations as plot_recommendations
    from cofactor.plots.trees import plot_label_tree as plot_label_tree


__getattr__, __dir__, __all__ = exports(__name__)
