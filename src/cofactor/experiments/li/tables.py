"""Tables 7.1 to 7.7 of Li's thesis: CAL500, with the methods that this package has, and random predictions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from cofactor import published
from cofactor.evaluation import SCALINGS
from cofactor.evaluation.run.cells import Cell, Result, cell
from cofactor.experiments.base.beside import Reason, beside
from cofactor.experiments.base.cells import checksum
from cofactor.experiments.base.experiment import Claim, Experiment, Extent, Outcome, Picture, Sample
from cofactor.experiments.base.series import means, points
from cofactor.experiments.li.work import GRIDS, LEARNERS, MEASURES, learned_split, random_split
from cofactor.plots import plot_parameter_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EXPERIMENTS"]

#: The eight labels of table 7.1, counted from 0.
EMOTIONS = [1, 5, 11, 21, 23, 31, 33, 35]
RATES = (0.0, 0.25, 0.5, 0.75, 1.0)
DIMENSIONS = (1, 5, 10, 20, 50, 100, 150)
PRINTED = "CCA (printed decoding)"
#: Settings of label clustering for the rows of table 7.7; clusters of ten labels at most, "large ones wait".
CLUSTERINGS: Mapping[str, Mapping[str, Any]] = {
    "Pearson clustering": {"measure": "squared-pearson"},
    "mutual information clustering": {"measure": "mutual-information"},
    "chi2 clustering": {"measure": "chi-squared"},
    "feature correlation clustering": {"measure": "feature-correlation"},
    "partial correlation clustering": {"measure": "partial-correlation"},
    "random clustering": {"clustering": "random"},
}
DRAWS = {"quick": 1, "normal": 3, "full": 10}

# ---------------------------------------------------------------- cells


def _splits(count: int) -> list[str]:
    return [f"holdout {draw + 1}/50" for draw in range(count)]


def _cell(function: Callable[..., Any], method: str, split: str, **parameters: Any) -> Cell:
    found = checksum("cal500")
    return cell(function, method=method, data="cal500", split=split, checksum=found, uses=(), **parameters)


def _small_cells(extent: Extent) -> list[Cell]:
    return [
        _cell(learned_split, method, split, scales=list(SCALINGS), grid=GRIDS[method], columns=EMOTIONS)
        for split in _splits(DRAWS[extent])
        for method in LEARNERS
        if method not in ("PLST", "feature/label CCA", "label clustering")
    ]


def _random_cells(extent: Extent) -> list[Cell]:
    rates = {f"random ({rate:g})": rate for rate in RATES} | {"random (label frequency)": None}
    return [
        _cell(random_split, method, split, rate=rate)
        for split in _splits({"quick": 10, "normal": 30, "full": 100}[extent])
        for method, rate in rates.items()
    ]


def _whole_cells(extent: Extent) -> list[Cell]:
    slow = ("BinaryRelevance (linear SVM)", "RBF SVM", "multi-class")
    scales = {"kNN": list(SCALINGS)}
    splits = _splits(DRAWS[extent])
    printed = {"learner": "feature/label CCA", "settings": {"decoding": "printed"}}
    return [
        _cell(learned_split, method, split, scales=scales.get(method, ["rescaled"]), grid=GRIDS[method])
        for split in splits
        for method in GRIDS
        if extent != "quick" or method not in slow
    ] + [
        *(_cell(learned_split, PRINTED, split, scales=["rescaled"], grid={}, **printed) for split in splits),
        *(_clustering_cell(method, split) for split in splits for method in ("chi2 clustering", "random clustering")),
    ]


def _clustering_cell(method: str, split: str) -> Cell:
    settings = CLUSTERINGS[method]
    return _cell(
        learned_split, method, split, learner="label clustering", scales=["rescaled"], grid={}, settings=settings
    )


def _clustering_cells(extent: Extent) -> list[Cell]:
    splits = _splits({"quick": 2, "normal": 10, "full": 30}[extent])
    return [_clustering_cell(method, split) for split in splits for method in CLUSTERINGS]


def _dimension_cells(extent: Extent) -> list[Cell]:
    return [
        _cell(
            learned_split,
            f"PLST ({d})",
            split,
            learner="PLST",
            scales=["rescaled"],
            grid={},
            settings={"n_components": d},
        )
        for split in _splits({"quick": 3, "normal": 10, "full": 30}[extent])
        for d in DIMENSIONS
    ]


def _no_cells(extent: Extent) -> list[Cell]:
    return []


# ---------------------------------------------------------------- outcomes

_FEATURES = "features and split of the thesis are not public: here the 68 features of the public file"
_OURS = ("BinaryRelevance*", "RBF SVM", "kNN", "PLST*", "feature/label CCA", "multi-class", "* clustering")
_REASONS = tuple(Reason(_FEATURES, method=name) for name in _OURS)
_ABSENT = (*(Reason("not run", method=name) for name in (*_OURS, "random (*")), Reason("not in this package"))
_SPLITS_NOTE = "Here mean and deviation over several random splits of 452 and 50 songs, in the thesis one split."


Found = Mapping[str, Mapping[str, Sample]]
"""Means over the splits, by measure and method."""


def _outcome(name: str, claims: Callable[[Found], Sequence[Claim]], results: Sequence[Result]) -> Outcome:
    """Return the rows of a table, and claims on the means."""
    table = published.load(name)
    mine = [result for result in results if result.method in table.methods]
    found = {
        metric: {
            method: sample
            for (method,), sample in means([r for r in results if metric in r.measures], metric, "method").items()
        }
        for metric in (*MEASURES, "expected_label_accuracy")
    }
    return Outcome(
        rows=beside(table, mine, reasons=_REASONS, absent=_ABSENT),
        claims=claims(found),
        pictures=_pictures(found["micro_f1"], found["macro_f1"]) if name == "li-7.6" else (),
        notes=[_SPLITS_NOTE] if results else [],
    )


def small_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.1, of the methods that are here."""
    relevance = [name for name in found["micro_f1"] if name != "kNN"]
    return [
        _all_better(
            "kNN is worse than every binary relevance method, by every measure.",
            found,
            [(metric, name, "kNN") for metric in MEASURES for name in relevance],
        ),
        _all_better(
            "The RBF kernel does not improve on linear classifiers (by micro-F1, more than .01).",
            found,
            [("micro_f1", "BinaryRelevance (linear SVM)", "RBF SVM")],
            margin=-0.01,
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
    logistic = "BinaryRelevance (logistic regression)"
    others = [name for name in ("BinaryRelevance (linear SVM)", "RBF SVM") if name in found["micro_f1"]]
    return [
        _all_better(
            "Of the binary relevance methods logistic regression is best by micro-F1, example-based F1 and accuracy.",
            found,
            [(metric, logistic, name) for metric in ("label_accuracy", "micro_f1", "example_f1") for name in others],
        ),
        _all_better(
            "Label PCA with 50 of 174 dimensions is about as good as the others: less than .02 micro-F1 below logistic "
            "regression.",
            found,
            [("micro_f1", "PLST", logistic)],
            margin=-0.02,
        ),
        _all_better(
            "Feature/label CCA is decoded wrongly in print: what inverts its code gains more than .02 "
            "micro-F1, and macro-F1.",
            found,
            [(metric, "feature/label CCA", PRINTED) for metric in ("micro_f1", "macro_f1")],
            margin=0.02,
            origin="ours",
        ),
    ]


def dimension_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.6."""
    few, many = "PLST (5)", "PLST (150)"
    return [
        _all_better(
            "Macro-F1 rises with the number of dimensions: from 1 to 5, 20 and 100.",
            found,
            [("macro_f1", f"PLST ({b})", f"PLST ({a})") for a, b in ((1, 5), (5, 20), (20, 100))],
        ),
        _all_better(
            "By accuracy per label and both correlations few dimensions (5) are better than many (150).",
            found,
            [(metric, few, many) for metric in ("label_accuracy", "micro_mcc", "example_mcc")],
        ),
        _all_better(
            "A single component is acceptable: less than .05 micro-F1 below 50.",
            found,
            [("micro_f1", "PLST (1)", "PLST (50)")],
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


def _nothing(found: Found) -> list[Claim]:
    return []


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


def _pictures(micro: Mapping[str, Sample], macro: Mapping[str, Sample]) -> list[Picture]:
    if not micro:
        return []
    caption = "Label PCA on cal500 by the number of dimensions, with the printed numbers"
    return [Picture("li-table-7.6", caption, partial(_draw_dimensions, micro, macro))]


def _draw_dimensions(micro: Mapping[str, Sample], macro: Mapping[str, Sample]) -> Axes:
    table = published.load("li-7.6")
    lines: dict[str, Any] = {}
    for words, metric, here in (("micro-F1", "micro_f1", micro), ("macro-F1", "macro_f1", macro)):
        lines[f"{words}, here"] = points({d: here[f"PLST ({d})"] for d in DIMENSIONS})
        printed = [table.get("cal500", f"PLST ({d})", metric) for d in DIMENSIONS]
        lines[f"{words}, printed"] = (DIMENSIONS, [row.mean for row in printed if row], None)
    return plot_parameter_lines(lines, parameter="dimensions of the labels", measure="F1", logarithmic=True)


_CRF = "Conditional random fields: not in this package"

EXPERIMENTS = tuple(
    Experiment(
        name=f"li-table-{number}",
        title=published.load(f"li-{number}").title,
        cells=cells,
        outcome=partial(_outcome, f"li-{number}", claims),
        missing=missing,
        tables=(f"li-{number}",),
    )
    for number, cells, claims, missing in (
        ("7.1", _small_cells, small_claims, ("CML, CMLF: not in this package",)),
        ("7.2", _random_cells, random_claims, ()),
        ("7.3", _random_cells, frequency_claims, ()),
        ("7.4", _whole_cells, whole_claims, (_CRF,)),
        ("7.5", _no_cells, _nothing, ("Conditional random fields: not in this package",)),
        ("7.6", _dimension_cells, dimension_claims, ()),
        ("7.7", _clustering_cells, clustering_claims, ()),
    )
)
