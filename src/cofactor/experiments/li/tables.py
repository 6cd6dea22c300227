"""Tables 7.1 to 7.7 of Li's thesis: CAL500, with all methods of the source, and random predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from cofactor import published
from cofactor.evaluation.store import Result
from cofactor.experiments.base.beside import Reason, beside
from cofactor.experiments.base.experiment import Claim, Experiment, Outcome, Picture, Sample
from cofactor.experiments.base.series import means, points
from cofactor.experiments.li import cells, claims
from cofactor.experiments.li.cells import DIMENSIONS
from cofactor.experiments.li.claims import Found
from cofactor.experiments.li.work import MEASURES
from cofactor.plots import plot_parameter_lines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EXPERIMENTS"]

_FEATURES = "features and split of the thesis are not public: here the 68 features of the public file"
_REASONS = (Reason("", method="random (*"), Reason(_FEATURES))
_ABSENT = (Reason("not run"),)
_FIELDS = (
    "A conditional random field predicts the likeliest label set, as in the source; in the rows of marginals the "
    "labels whose probability is above ½, with a penalty that is chosen for that."
)
_SPLITS = "Here mean and deviation over several random splits of 452 and 50 songs, in the thesis one split."
_CHAINS = (
    "Penalties are chosen, for 51 random chains by a single one. 1,001 random chains have a prior of variance 1, and "
    "are one split, so that their numbers have no deviation. The likeliest chain has the least objective."
)
_NORMALIZED = (
    "kNN chooses from all four normalizations, multi-class from rescaling and L2; CMLF and supported CML see rescaled "
    "features; the others choose rescaling or z-scores."
)
_NOTES = {
    "li-7.1": (_SPLITS, _FIELDS, _NORMALIZED),
    "li-7.4": (_SPLITS, _FIELDS, _CHAINS),
    "li-7.5": (_CHAINS,),
}


def _outcome(name: str, claimed: Callable[[Found], Sequence[Claim]], results: Sequence[Result]) -> Outcome:
    """Return the rows of a table, and claims on the means."""
    table = published.load(name)
    results = list(_by_row(results))
    mine = [result for result in results if result.method in table.methods]
    found = {
        metric: {
            ", ".join(part for part in key if part): sample
            for key, sample in means([r for r in results if metric in r.measures], metric, "method", "variant").items()
        }
        for metric in (*MEASURES, "expected_label_accuracy", "normalized_inversions")
    }
    return Outcome(
        rows=beside(table, mine, reasons=_REASONS, absent=_ABSENT),
        claims=claimed(found),
        pictures=_pictures(found["micro_f1"], found["macro_f1"]) if name == "li-7.6" else (),
        notes=list(_NOTES.get(name, (_SPLITS,))) if results else [],
    )


def _by_row(results: Iterable[Result]) -> Iterator[Result]:
    """Yield results, those of several rows as one of each row, whose name stands before a stroke."""
    for result in results:
        rows: dict[str, dict[str, Any]] = {}
        for name, value in result.measures.items():
            row, stroke, metric = name.rpartition("/")
            if stroke:
                rows.setdefault(row, {})[metric] = value
        for row, measures in rows.items():
            yield replace(result, method=row, measures=measures)
        if not rows:
            yield result


def _pictures(micro: Mapping[str, Sample], macro: Mapping[str, Sample]) -> list[Picture]:
    if not micro:
        return []
    caption = "Label PCA on cal500 by the number of dimensions, with the printed numbers"
    return [Picture("li-table-7.6", caption, partial(_draw_dimensions, micro, macro))]


def _draw_dimensions(micro: Mapping[str, Sample], macro: Mapping[str, Sample]) -> Axes:
    table = published.load("li-7.6")
    lines: dict[str, Any] = {}
    for words, metric, here in (("micro-F1", "micro_f1", micro), ("macro-F1", "macro_f1", macro)):
        lines[f"{words}, here"] = points({d: here[f"LabelPCA ({d})"] for d in DIMENSIONS})
        printed = [table.get("cal500", f"LabelPCA ({d})", metric) for d in DIMENSIONS]
        lines[f"{words}, printed"] = (DIMENSIONS, [row.mean for row in printed if row], None)
    return plot_parameter_lines(lines, parameter="dimensions of the labels", measure="F1", logarithmic=True)


EXPERIMENTS = tuple(
    Experiment(
        name=f"li-table-{number}",
        title=published.load(f"li-{number}").title,
        cells=measured,
        outcome=partial(_outcome, f"li-{number}", claimed),
        tables=(f"li-{number}",),
    )
    for number, measured, claimed in (
        ("7.1", cells.small_cells, claims.small_claims),
        ("7.2", cells.random_cells, claims.random_claims),
        ("7.3", cells.random_cells, claims.frequency_claims),
        ("7.4", cells.whole_cells, claims.whole_claims),
        ("7.5", cells.chains_cells, claims.inversion_claims),
        ("7.6", cells.dimension_cells, claims.dimension_claims),
        ("7.7", cells.clustering_cells, claims.clustering_claims),
    )
)
