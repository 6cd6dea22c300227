"""What Li's thesis says of its tables 7.1 to 7.7, as rules about means over the splits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cofactor import published
from cofactor.experiments.base.experiment import Claim, Sample
from cofactor.experiments.li.cells import CLUSTERINGS, INVERSIONS, LINEAR, LOGISTIC, NEAREST, PRINTED, RATES
from cofactor.experiments.li.work import MEASURES
from cofactor.text import without_zero

Found = Mapping[str, Mapping[str, Sample]]
"""Means over the splits, by measure and method; a variant stands behind the method and a comma."""

_F1 = ("micro_f1", "macro_f1", "example_f1")
_BUT_MACRO = tuple(metric for metric in MEASURES if metric != "macro_f1")


def small_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.1."""
    relevance = (LINEAR, "RBF SVM", LOGISTIC)
    simple = (*relevance, "kNN", "multi-class")
    return [
        _all_better(
            "CML is better than all other methods, by every measure.",
            found,
            [(metric, "CML", name) for metric in MEASURES for name in (*simple, "CMLF")],
        ),
        _all_better(
            "CMLF, too, is better than binary relevance, kNN and multi-class by micro-F1 and macro-F1.",
            found,
            [(metric, "CMLF", name) for metric in ("micro_f1", "macro_f1") for name in simple],
        ),
        _all_better(
            "kNN is worse than every binary relevance method, by every measure.",
            found,
            [(metric, name, "kNN") for metric in MEASURES for name in relevance],
        ),
        _all_better(
            "Multi-class is worse than every binary relevance method, by every measure but macro-F1.",
            found,
            [(metric, name, "multi-class") for metric in _BUT_MACRO for name in relevance],
        ),
        _all_better(
            "The RBF kernel does not improve on linear classifiers (by micro-F1, more than .01).",
            found,
            [("micro_f1", LINEAR, "RBF SVM")],
            margin=-0.01,
        ),
        _all_better(
            "Label sets of training do for CML: less than .01 micro-F1 below all 256.",
            found,
            [("micro_f1", "CML, supported", "CML")],
            margin=-0.01,
            origin="ours",
        ),
    ]


def random_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.2."""
    rates = [f"random ({rate:g})" for rate in RATES]
    steps = list(zip(rates[1:], rates, strict=False))
    ours, expected = found["label_accuracy"], found["expected_label_accuracy"]
    gap = max((abs(ours[name].mean - expected[name].mean) for name in ours), default=float("nan"))
    largest = max((abs(found["micro_mcc"][name].mean) for name in rates if name in found["micro_mcc"]), default=1.0)
    return [
        _all_better(
            "The higher the rate of random predictions, the lower the accuracy per label.",
            found,
            [("label_accuracy", low, high) for high, low in steps],
        ),
        _all_better(
            "The higher the rate, the higher every F1.",
            found,
            [(metric, high, low) for metric in MEASURES[1:4] for high, low in steps],
        ),
        Claim(
            "With one rate for all labels the correlation is 0, but for chance (below .02).",
            largest < 0.02 if found["micro_mcc"] else None,
            f"at most {largest:.4f}" if found["micro_mcc"] else "",
        ),
        Claim(
            "The simulated accuracies per label are those which follow from the probabilities (within .005).",
            gap < 0.005 if ours else None,
            f"largest difference {gap:.4f}" if ours else "",
            origin="ours",
        ),
    ]


def frequency_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.3."""
    return [
        _all_better(
            "With the frequency of each label, random predictions are better than with any one rate, by all measures "
            "but the accuracy per label and macro-F1.",
            found,
            [(metric, "random (label frequency)", f"random ({rate:g})") for metric in _UNLIKE for rate in RATES],
        ),
    ]


_UNLIKE = ("micro_f1", "example_f1", "micro_mcc", "example_mcc")


def whole_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.4, of the methods that are here."""
    vote, likeliest = "chain ensembles, 51 chains", "sampled ML chain, 51 chains"
    by_measure = ("chi2 chain", "chi2 tree", "sampled chi2 chain")
    one = (*by_measure, "random chain", likeliest)
    relevance = (LINEAR, "RBF SVM", LOGISTIC)
    others = (
        *("kNN", "multi-class", "supported CML", *one, vote),
        *("chi2 clustering", "random clustering", "LabelPCA", "FeatureLabelCCA"),
    )
    return [
        _all_better(
            "Of the binary relevance methods logistic regression is best by micro-F1, example-based F1 and accuracy.",
            found,
            [
                (metric, LOGISTIC, name)
                for metric in ("label_accuracy", "micro_f1", "example_f1")
                for name in (LINEAR, "RBF SVM")
            ],
        ),
        _all_better(
            "Binary relevance has a better accuracy per label than any method that looks at label correlations.",
            found,
            [("label_accuracy", name, other) for name in relevance for other in others],
        ),
        _all_better(
            "Supported CML is better than all other methods by every F1.",
            found,
            [
                (metric, "supported CML", name)
                for metric in _F1
                for name in (*relevance, *others)
                if name != "supported CML"
            ],
        ),
        _all_better(
            "The chi2 tree is better than the chi2 chain, by all measures but macro-F1.",
            found,
            [(metric, "chi2 tree", "chi2 chain") for metric in _BUT_MACRO],
        ),
        _all_better(
            "The chi2 chain that is built greedily is better than the best of sampled ones.",
            found,
            [(metric, "chi2 chain", "sampled chi2 chain") for metric in MEASURES],
        ),
        _all_better(
            "The likeliest of sampled chains is better than chains and trees by chi2, by micro-F1 and example-based "
            "F1.",
            found,
            [(metric, likeliest, name) for metric in ("micro_f1", "example_f1") for name in by_measure],
        ),
        _all_better(
            "A random chain is as good as the likeliest: less than .01 micro-F1 below it.",
            found,
            [("micro_f1", "random chain", likeliest)],
            margin=-0.01,
        ),
        _all_better(
            "The vote of random chains is better than any chain or tree by every F1 and both correlations.",
            found,
            [(metric, vote, name) for metric in MEASURES[1:] for name in one],
        ),
        _all_better(
            "Clusters of labels are better than multi-class on all labels at once, by all measures but macro-F1.",
            found,
            [
                (metric, name, "multi-class")
                for metric in _BUT_MACRO
                for name in ("chi2 clustering", "random clustering")
            ],
        ),
        _all_better(
            "Where every label set of training is another one, multi-class is the nearest neighbour.",
            found,
            [(metric, *pair) for metric in MEASURES for pair in ((NEAREST, "multi-class"), ("multi-class", NEAREST))],
            margin=-1e-12,
        ),
        _all_better(
            "Label PCA with 50 of 174 dimensions is about as good as the others: less than .02 micro-F1 below logistic "
            "regression.",
            found,
            [("micro_f1", "LabelPCA", LOGISTIC)],
            margin=-0.02,
        ),
        _all_better(
            "Feature/label CCA is decoded wrongly in print: what inverts its code gains more than .02 "
            "micro-F1, and macro-F1.",
            found,
            [(metric, "FeatureLabelCCA", PRINTED) for metric in ("micro_f1", "macro_f1")],
            margin=0.02,
            origin="ours",
        ),
    ]


def inversion_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.5, on 1,001 chains of one split where these were run, else on 51."""
    shares = found["normalized_inversions"]
    known = {row: shares.get(row) or shares.get(f"{row}, 51 chains") for row in INVERSIONS}
    means = {row: sample.mean for row, sample in known.items() if sample is not None}
    whole = len(means) == len(INVERSIONS)
    words = ", ".join(f"{row} {without_zero(mean, 4)}" for row, mean in means.items())
    return [
        Claim(
            "No measure tells which chains are likelier: the share of pairs out of order is within .05 of one half.",
            all(0.45 < mean < 0.55 for mean in means.values()) if whole else None,
            words,
        ),
        Claim(
            "Mutual information and the gain in likelihood of its pairs tell which chain is likelier, as follows from "
            "theory where labels do not depend on features: less than .1 and .01 out of order.",
            means["mutual information"] < 0.1 and means["log-likelihood gain"] < 0.01 if whole else None,
            words,
            origin="ours",
        ),
        Claim(
            "Pearson's correlation and chi2 order chains alike.",
            abs(means["chi2"] - means["Pearson correlation"]) < 1e-3 if whole else None,
            words,
        ),
    ]


def dimension_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.6."""
    few, many = "LabelPCA (5)", "LabelPCA (150)"
    return [
        _all_better(
            "Macro-F1 rises with the number of dimensions: from 1 to 5, 20 and 100.",
            found,
            [("macro_f1", f"LabelPCA ({b})", f"LabelPCA ({a})") for a, b in ((1, 5), (5, 20), (20, 100))],
        ),
        _all_better(
            "By accuracy per label and both correlations few dimensions (5) are better than many (150).",
            found,
            [(metric, few, many) for metric in ("label_accuracy", "micro_mcc", "example_mcc")],
        ),
        _all_better(
            "A single component is acceptable: less than .05 micro-F1 below 50.",
            found,
            [("micro_f1", "LabelPCA (1)", "LabelPCA (50)")],
            margin=-0.05,
        ),
    ]


def clustering_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.7."""
    best = ("Pearson clustering", "chi2 clustering")
    others = [name for name in CLUSTERINGS if name not in (*best, "random clustering")]
    return [
        _all_better(
            "Clusters by Pearson's correlation and by chi2 are better than by the other measures, by micro-F1.",
            found,
            [("micro_f1", name, other) for name in best for other in others],
        ),
        _all_better(
            "Random clusters are as good: less than .01 micro-F1 below those by any measure.",
            found,
            [("micro_f1", "random clustering", name) for name in CLUSTERINGS if name != "random clustering"],
            margin=-0.01,
        ),
        _all_better(
            "The printed rows of Pearson and chi2 differ, but chi2 is N times the squared correlation: both make the "
            "same clusters.",
            found,
            [(metric, *pair) for metric in MEASURES for pair in (best, best[::-1])],
            margin=-1e-12,
            origin="ours",
        ),
    ]


def _all_better(
    statement: str, found: Found, pairs: Sequence[tuple[str, str, str]], margin: float = 0.0, **about: Any
) -> Claim:
    """Return the claim that in each (metric, first, second) the first is larger by more than the margin."""
    known = [pair for pair in pairs if pair[1] in found[pair[0]] and pair[2] in found[pair[0]]]
    if not pairs or len(known) < len(pairs):
        return Claim(statement, None, "not all of these methods were run", **about)
    gains = {pair: found[pair[0]][pair[1]].mean - found[pair[0]][pair[2]].mean for pair in pairs}
    worst = min(gains, key=lambda pair: gains[pair])
    metric, first, second = worst
    held = sum(gain > margin for gain in gains.values())
    words = (
        f"{held} of {len(pairs)} comparisons; the closest: {published.METRICS[metric].title}, {first} "
        f"{found[metric][first].text(4)}, {second} {found[metric][second].text(4)}"
    )
    return Claim(statement, held == len(pairs), words, **about)
