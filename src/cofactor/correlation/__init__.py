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
    from cofactor.correlation.conditional import LABEL_MEASURES as LABEL_MEASURES
    from cofactor.correlation.conditional import MEASURES as MEASURES
    from cofactor.correlation.conditional import feature_correlation as feature_correlation
    from cofactor.correlation.conditional import likelihood_gain as likelihood_gain
    from cofactor.correlation.conditional import measured as measured
    from cofactor.correlation.conditional import partial_correlation as partial_correlation
    from cofactor.correlation.similarities import chi_squared as chi_squared
    from cofactor.correlation.similarities import co_occurrence as co_occurrence
    from cofactor.correlation.similarities import cosine as cosine
    from cofactor.correlation.similarities import jaccard as jaccard
    from cofactor.correlation.similarities import mutual_information as mutual_information
    from cofactor.correlation.similarities import normalized as normalized
    from cofactor.correlation.similarities import pearson as pearson
    from cofactor.correlation.similarities import squared_pearson as squared_pearson
    from cofactor.correlation.structures import disjoint_clusters as disjoint_clusters
    from cofactor.correlation.structures import greedy_chain as greedy_chain
    from cofactor.correlation.structures import maximum_spanning_tree as maximum_spanning_tree
    from cofactor.correlation.structures import normalized_cut_clusters as normalized_cut_clusters
    from cofactor.correlation.structures import normalized_inversions as normalized_inversions
    from cofactor.correlation.structures import overlapping_clusters as overlapping_clusters
    from cofactor.correlation.structures import positive_part as positive_part
    from cofactor.correlation.structures import random_chain as random_chain
    from cofactor.correlation.structures import random_clusters as random_clusters
    from cofactor.correlation.structures import self_tuning_affinity as self_tuning_affinity
    from cofactor.correlation.structures import spectral_groups as spectral_groups


__getattr__, __dir__, __all__ = exports(__name__)
