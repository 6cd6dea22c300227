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
    from cofactor.correlation.by_name import LABEL_MEASURES, MEASURES, measured
    from cofactor.correlation.clusters import (
        disjoint_clusters,
        normalized_cut_clusters,
        overlapping_clusters,
        positive_part,
        random_clusters,
        self_tuning_affinity,
        spectral_groups,
    )
    from cofactor.correlation.conditional import likelihood_gain, partial_correlation
    from cofactor.correlation.dependence import chi_squared, mutual_information, squared_pearson
    from cofactor.correlation.relevance import feature_correlation
    from cofactor.correlation.similarities import co_occurrence, cosine, jaccard, normalized, pearson
    from cofactor.correlation.structures import greedy_chain, maximum_spanning_tree, normalized_inversions, random_chain

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
