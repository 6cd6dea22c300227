"""The methods of tables 7.1 to 7.7 of Li's thesis, and the cells in which they are measured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from cofactor.evaluation import SCALINGS
from cofactor.evaluation.running import Cell, cell
from cofactor.experiments.base.cells import checksum
from cofactor.experiments.base.experiment import EXTENTS, Extent
from cofactor.experiments.li.work import chains_split, learned_split, random_split

#: The eight labels of table 7.1, counted from 0.
EMOTIONS = [1, 5, 11, 21, 23, 31, 33, 35]
RATES = (0.0, 0.25, 0.5, 0.75, 1.0)
DIMENSIONS = (1, 5, 10, 20, 50, 100, 150)
LINEAR, LOGISTIC = "BinaryRelevance (linear SVM)", "BinaryRelevance (logistic regression)"
PRINTED, NEAREST = "CCA (printed decoding)", "the nearest neighbour"

# ---------------------------------------------------------------- methods

_ALL, _COLUMNS, _SOME = list(SCALINGS), ["rescaled", "z-score"], ["rescaled", "L2"]
_RESCALED, _LENGTH = ["rescaled"], ["L2"]


@dataclass(frozen=True)
class Method:
    """A row of a table: what learns (`LEARNERS`), its settings, and what is chosen from, normalizations included.

    Parameters
    ----------
    row, learner : str
    grid, settings : mapping
    scales : list of str
    variant : str
        How the row is measured, where that is another way than in the source.
    drawn : bool
        Whether it has a seed of its own for each split.
    extent : {"quick", "normal", "full"}
        The smallest extent that it belongs to.
    """

    row: str
    learner: str
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    settings: Mapping[str, Any] = field(default_factory=dict)
    scales: Sequence[str] = tuple(_RESCALED)
    variant: str = ""
    drawn: bool = False
    extent: Extent = "quick"


_PLAIN = {"threshold": 0}
_NEIGHBOURS = {"n_neighbors": [1, 3, 5, 7, 9, 15, 25]}
_COSTS, _SOFT = {"estimator__C": [0.01, 0.1, 1.0]}, {"estimator__C": [0.1, 1.0, 10.0]}
_RBF = {"estimator__C": [10.0], "estimator__gamma": [0.01, 0.1]}
_PRIORS, _HEAVY = {"alpha": [0.1, 1.0, 10.0, 100.0]}, {"alpha": [1.0, 10.0, 100.0, 1000.0]}
_SAMPLED = {"order": "sampled-correlation", "n_samples": 1001}

SMALL = (
    Method(LINEAR, "linear SVM", _COSTS, scales=_COLUMNS),
    Method("RBF SVM", "RBF SVM", _RBF, scales=_COLUMNS),
    Method(LOGISTIC, "logistic regression", _SOFT, scales=_COLUMNS),
    Method("kNN", "kNN", _NEIGHBOURS, scales=_ALL),
    Method("multi-class", "multi-class", _SOFT, scales=_SOME, extent="normal"),
    Method("CML", "CML", _PRIORS, scales=_COLUMNS),
    Method("CML", "CML", _PRIORS, _PLAIN, scales=_COLUMNS, variant="marginals"),
    Method("CML", "CML", _PRIORS, {"inference": "supported"}, variant="supported"),
    Method("CML", "CML", {"alpha": [1.0, 10.0]}, {"inference": "gibbs"}, variant="Gibbs", drawn=True),
    Method("CMLF", "CMLF", _PRIORS),
    Method("CMLF", "CMLF", _PRIORS, _PLAIN, variant="marginals"),
)
"""The rows of table 7.1, with all label sets where nothing else is said."""

WHOLE = (
    Method(LINEAR, "linear SVM", _COSTS, extent="normal"),
    Method("RBF SVM", "RBF SVM", _RBF, extent="normal"),
    Method(LOGISTIC, "logistic regression", _SOFT),
    Method("kNN", "kNN", _NEIGHBOURS, scales=_ALL),
    Method("multi-class", "multi-class", scales=_LENGTH),
    Method(NEAREST, "kNN", {"n_neighbors": [1]}, scales=_LENGTH),
    Method("supported CML", "CML", _HEAVY),
    Method("supported CML", "CML", _PRIORS, _PLAIN, variant="marginals", extent="normal"),
    Method("chi2 chain", "chain", _PRIORS, {"order": "chi-squared"}),
    Method("chi2 tree", "tree", _PRIORS, {"structure": "chi-squared"}),
    Method("chi2 tree", "tree", _PRIORS, {"structure": "chi-squared", **_PLAIN}, variant="marginals", extent="normal"),
    Method("sampled chi2 chain", "chain", _PRIORS, _SAMPLED, drawn=True, extent="normal"),
    Method("random chain", "chain", _PRIORS, drawn=True),
    Method("random chain", "chain", _PRIORS, _PLAIN, variant="marginals", drawn=True, extent="normal"),
    Method("LabelPCA", "LabelPCA"),
    Method("FeatureLabelCCA", "FeatureLabelCCA"),
    Method(PRINTED, "FeatureLabelCCA", settings={"decoding": "printed"}),
)
"""The rows of table 7.4 but for many chains, and clusters; multi-class is the nearest neighbour for any cost."""

CLUSTERINGS = {
    "Pearson clustering": Method("Pearson clustering", "clustering", settings={"measure": "squared-pearson"}),
    "mutual information clustering": Method(
        "mutual information clustering", "clustering", settings={"measure": "mutual-information"}
    ),
    "chi2 clustering": Method("chi2 clustering", "clustering", settings={"measure": "chi-squared"}),
    "feature correlation clustering": Method(
        "feature correlation clustering", "clustering", settings={"measure": "feature-correlation"}
    ),
    "partial correlation clustering": Method(
        "partial correlation clustering", "clustering", settings={"measure": "partial-correlation"}
    ),
    "random clustering": Method("random clustering", "clustering", settings={"clustering": "random"}),
}
"""The rows of table 7.7: clusters of ten labels at most, "large ones wait"."""

INVERSIONS = {
    "Pearson correlation": "squared-pearson",
    "mutual information": "mutual-information",
    "chi2": "chi-squared",
    "feature correlation": "feature-correlation",
    "partial correlation": "partial-correlation",
    "log-likelihood gain": "likelihood-gain",
}
"""The rows of table 7.5."""

DRAWS = {"quick": 1, "normal": 3, "full": 10}

# ---------------------------------------------------------------- cells


def _splits(count: int) -> list[str]:
    return [f"holdout {draw + 1}/50" for draw in range(count)]


def _cell(function: Callable[..., Any], method: str, split: str, **parameters: Any) -> Cell:
    found = checksum("cal500")
    return cell(function, method=method, data="cal500", split=split, checksum=found, **parameters)


def _cells(methods: Iterable[Method], count: int, extent: Extent, columns: Sequence[int] | None = None) -> list[Cell]:
    """Return the cells of methods on so many splits."""
    return [
        _cell(
            learned_split,
            method.row,
            split,
            learner=method.learner,
            scales=list(method.scales),
            grid=method.grid,
            settings={**method.settings, **({"random_state": draw} if method.drawn else {})},
            variant=method.variant,
            columns=columns,
        )
        for draw, split in enumerate(_splits(count))
        for method in methods
        if EXTENTS.index(method.extent) <= EXTENTS.index(extent)
    ]


def small_cells(extent: Extent) -> list[Cell]:
    """Return the cells of table 7.1."""
    return _cells(SMALL, DRAWS[extent], extent, EMOTIONS)


def random_cells(extent: Extent) -> list[Cell]:
    """Return the cells of tables 7.2 and 7.3."""
    rates = {f"random ({rate:g})": rate for rate in RATES} | {"random (label frequency)": None}
    return [
        _cell(random_split, method, split, rate=rate)
        for split in _splits({"quick": 10, "normal": 30, "full": 100}[extent])
        for method, rate in rates.items()
    ]


def whole_cells(extent: Extent) -> list[Cell]:
    """Return the cells of table 7.4, but quick without many chains, which take as long as all others: 7.5 has them."""
    clusterings = [CLUSTERINGS[name] for name in ("chi2 clustering", "random clustering")]
    chains = [] if extent == "quick" else chains_cells(extent)
    return [*_cells([*WHOLE, *clusterings], DRAWS[extent], extent), *chains]


def chains_cells(extent: Extent) -> list[Cell]:
    """Return the cells of table 7.5: 51 random chains on each split, in full also 1,001 on the first.

    The many have a prior of variance 1, since their fits would take several times as long with a weaker one.
    """
    numbers = [(51, draw) for draw in range(DRAWS[extent])] + ([(1001, 0)] if extent == "full" else [])
    return [
        _cell(
            chains_split,
            "random chains",
            f"holdout {draw + 1}/50",
            n_chains=n_chains,
            grid={} if n_chains == 1001 else _PRIORS,
            settings={"random_state": draw},
            by=INVERSIONS if draw == 0 else {},
            variant="" if n_chains == 1001 else f"{n_chains} chains",
        )
        for n_chains, draw in numbers
    ]


def clustering_cells(extent: Extent) -> list[Cell]:
    """Return the cells of table 7.7."""
    return _cells(CLUSTERINGS.values(), DRAWS[extent], extent)


def dimension_cells(extent: Extent) -> list[Cell]:
    """Return the cells of table 7.6."""
    methods = [Method(f"LabelPCA ({d})", "LabelPCA", settings={"n_components": d}) for d in DIMENSIONS]
    return _cells(methods, {"quick": 3, "normal": 10, "full": 30}[extent], extent)
