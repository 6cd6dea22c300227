"""How labels go together: measures for each pair of them, and trees, chains and clusters that follow from these.

Measures return an array of shape (L, L). `cosine`, `pearson` and `jaccard` have ones on the diagonal; the measures
below have zeros there. A label that is constant has 0 with all others, never NaN.

=======================  ==============================================================================
`squared_pearson`        the square of Pearson's correlation of two labels
`mutual_information`     how much one label tells about the other, in nats
`chi_squared`            the statistic of the test of independence
`feature_correlation`    whether the same features tell about both labels
`partial_correlation`    whether predictions of both labels from the features err together
`likelihood_gain`        what a model of both labels explains beyond one model of each
=======================  ==============================================================================

`measured` computes one by its name. `maximum_spanning_tree`, `greedy_chain` and `random_chain` connect labels;
`disjoint_clusters`, `overlapping_clusters`, `normalized_cut_clusters` and `random_clusters` group them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.correlation.conditional import (
        LABEL_MEASURES,
        MEASURES,
        feature_correlation,
        likelihood_gain,
        measured,
        partial_correlation,
    )
    from cofactor.correlation.similarities import (
        chi_squared,
        co_occurrence,
        cosine,
        jaccard,
        mutual_information,
        normalized,
        pearson,
        squared_pearson,
    )
    from cofactor.correlation.structures import (
        disjoint_clusters,
        greedy_chain,
        maximum_spanning_tree,
        normalized_cut_clusters,
        normalized_inversions,
        overlapping_clusters,
        positive_part,
        random_chain,
        random_clusters,
        self_tuning_affinity,
        spectral_groups,
    )

__all__ = [
    "LABEL_MEASURES",
    "MEASURES",
    "chi_squared",
    "co_occurrence",
    "cosine",
    "disjoint_clusters",
    "feature_correlation",
    "greedy_chain",
    "jaccard",
    "likelihood_gain",
    "maximum_spanning_tree",
    "measured",
    "mutual_information",
    "normalized",
    "normalized_cut_clusters",
    "normalized_inversions",
    "overlapping_clusters",
    "partial_correlation",
    "pearson",
    "positive_part",
    "random_chain",
    "random_clusters",
    "self_tuning_affinity",
    "spectral_groups",
    "squared_pearson",
]

__getattr__, __dir__ = exports(__name__)
