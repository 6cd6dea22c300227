"""Table 2 and figure 2 of Kimura et al.: ML-kNN on all features, and on those that MNMTF and others make of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from cofactor import published
from cofactor.evaluation.running import Cell
from cofactor.evaluation.significance import Scores
from cofactor.evaluation.store import Run
from cofactor.experiments.papers import Paper, label_cell, samples
from cofactor.experiments.reproduction import Claim, Drawing, Extent, Outcome
from cofactor.experiments.results import (
    PRINTED,
    Curves,
    best_rank,
    both_tests,
    curves,
    groups,
    measured_scores,
    methods_differ,
    points,
    printed_scores,
)
from cofactor.plots.curves import plot_parameter_lines
from cofactor.published import METRICS, Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER = Paper("mnmtf")
FEATURES: Mapping[str, int] = PAPER.facts["features"]
PROJECTIONS = ("MLDA", "MLSI", "MDDM")
PRINTED_RULE = "update as printed"


def _cell(method: str, data: str, draw: int, share: float | None = 1.0, **way: Any) -> Cell:
    """Return a cell: `share` is J as a share of the features (None: one for each label)."""
    steps: list[list[Any]] = []
    if method == "MNMTF":
        steps = [["MNMTF", {"n_components": share, "alpha": 0.1, **way.pop("reduction", {})}]]
    elif method == "NMF":
        steps = [["NMF", {"n_components": round((share or 1.0) * FEATURES[data]), "init": "random", "max_iter": 200}]]
    elif method in PROJECTIONS:
        steps = [[method, {"n_components": share, "scale": "none"}]]
    split = f"holdout {draw + 1}/0.6"
    return label_cell(method, data, split, model="MLkNN", steps=steps, ranking=True, dimensions=share, **way)


# ---------------------------------------------------------------- table 2


def _table_cells(extent: Extent) -> list[Cell]:
    """Quick: one draw of Arts; normal and full: five draws of all three."""
    places = [("yahoo-arts", 0)] if extent == "quick" else list(product(FEATURES, range(5)))
    ways: list[tuple[str, float | None, dict[str, Any]]] = [
        ("MLkNN", 1.0, {}),
        *((method, 0.3, {}) for method in (*PROJECTIONS, "NMF", "MNMTF")),
        ("MNMTF", 0.3, {"reduction": {"rule": "printed"}, "variant": PRINTED_RULE}),
        ("MNMTF", None, {"variant": "one dimension for each label"}),
    ]
    return [_cell(method, *place, share, **way) for place in places for method, share, way in ways]


def _table_outcome(results: Sequence[Run]) -> Outcome:
    table = published.load("mnmtf-2")
    sources: dict[tuple[str, str], Scores | None] = {}
    for metric in table.metrics:
        sources[metric, PRINTED] = printed_scores(table, metric)
        sources[metric, "our numbers"] = measured_scores(table, results, metric, table.methods)
    tests = both_tests(sources)
    claims = [*better_than_all_features(table, results), *best_rank(tests, "MNMTF"), worst_of_all(table, results)]
    rows = PAPER.rows("mnmtf-table-2", results)
    return Outcome(rows=rows, claims=[*claims, *methods_differ(tests, "ours")])


def better_than_all_features(table: Published, results: Sequence[Run]) -> list[Claim]:
    """Return, for each data set, the claim that ML-kNN does at least as well after MNMTF as on all features.

    Once for the update which does not depend on the scale of the factors, and once for the one that is printed.
    """
    here = samples(results, table.metrics)
    claims = []
    for rule, data in product(("", PRINTED_RULE), table.data):
        places = {metric: [(data, "", method, metric) for method in ("MLkNN", "MNMTF")] for metric in table.metrics}
        pairs = {name: (here.get(a, {}).get(""), here.get(b, {}).get(rule)) for name, (a, b) in places.items()}
        known = {METRICS[name]: (a.mean, b.mean) for name, (a, b) in pairs.items() if a and b}
        name = f"MNMTF ({rule})" if rule else "MNMTF"
        claims.append(
            Claim(
                f"On {data} ML-kNN is at least as good after {name} as on all features, by each of the four measures.",
                all(b >= a if one.better == "higher" else b <= a for one, (a, b) in known.items()) if known else None,
                ", ".join(f"{one.title} {a:.4f} → {b:.4f}" for one, (a, b) in known.items()),
            )
        )
    return claims


def worst_of_all(table: Published, results: Sequence[Run], loser: str = "MLDA") -> Claim:
    """Return the claim that one of the methods is the worst of all on every data set, by every measure."""
    every = [measured_scores(table, results, metric, table.methods) for metric in table.metrics]
    place = table.methods.index(loser)
    lost = [ranks[place] == len(table.methods) for scores in every if scores for ranks in scores.ranks]
    return Claim(
        f"{loser} is the worst of the six on each data set, by each of the four measures.",
        all(lost) if lost else None,
        f"worst in {sum(lost)} of {len(lost)} comparisons",
    )


# ---------------------------------------------------------------- figure 2: Hamming loss along J


def _figure_cells(extent: Extent) -> list[Cell]:
    """Quick: two dimensions, one draw of Arts; normal: four, two draws; full: the eight of the source, five draws."""
    shares = {"quick": (0.1, 0.3), "normal": (0.1, 0.3, 0.5, 0.8), "full": [k / 10 for k in range(1, 9)]}[extent]
    draws = range({"quick": 1, "normal": 2, "full": 5}[extent])
    reduced = list(product(shares, ("NMF", "MLSI", "MDDM", "MNMTF")))
    return [
        _cell(method, data, draw, share)
        for data in (("yahoo-arts",) if extent == "quick" else ("yahoo-arts", "yahoo-business"))
        for draw in draws
        for share, method in [(1.0, "MLkNN"), *reduced]
    ]


def _figure_outcome(results: Sequence[Run]) -> Outcome:
    # ML-kNN on all features has one number, at the share 1.
    losses = {
        data: curves(ones, "hamming", "method", "dimensions") for (data,), ones in groups(results, "data").items()
    }
    pictures = [
        Drawing(
            f"mnmtf-figure-2-{data}",
            f"Hamming loss of ML-kNN along the share of dimensions that are left, {data}",
            partial(_draw, of_data),
        )
        for data, of_data in losses.items()
    ]
    return Outcome(claims=no_gain_by_nmf(losses), pictures=pictures)


def no_gain_by_nmf(losses: Mapping[str, Curves]) -> list[Claim]:
    """Return the claims of figure 2: MNMTF gains at most dimensions, NMF and MLSI do not."""
    words = {
        "MNMTF": "MNMTF lowers the Hamming loss of ML-kNN at more dimensions than it raises it.",
        "NMF": "NMF, which sees no labels, lowers the Hamming loss at no more dimensions than it raises it.",
        "MLSI": "MLSI lowers the Hamming loss at no more dimensions than it raises it.",
    }
    claims = []
    for method, statement in words.items():
        gains = {
            f"{data} at {share:g}": methods["MLkNN"][1.0].mean - sample.mean
            for data, methods in losses.items()
            if "MLkNN" in methods
            for share, sample in methods.get(method, {}).items()
        }
        mostly_lower = 2 * sum(gain > 0 for gain in gains.values()) > len(gains)
        measured = ", ".join(f"{place} {gain:+.4f}" for place, gain in gains.items())
        claims.append(Claim(statement, mostly_lower == (method == "MNMTF") if gains else None, measured))
    return claims


def _draw(curves: Curves) -> Axes:
    """Draw the losses; that on all features is drawn at every dimension, as a level."""
    shares = sorted({share for curve in curves.values() for share in curve})
    lines = {}
    for method, curve in curves.items():
        level = method == "MLkNN"
        places, means, deviations = points(dict.fromkeys(shares, curve[1.0]) if level else curve)
        lines["all features" if level else method] = (places, means, None if level else deviations)
    return plot_parameter_lines(lines, parameter="dimensions as a share of the features", measure="Hamming loss")


EXPERIMENTS = (
    PAPER.experiment("mnmtf-table-2", _table_cells, _table_outcome),
    PAPER.experiment("mnmtf-figure-2", _figure_cells, _figure_outcome),
)
