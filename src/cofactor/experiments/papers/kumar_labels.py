"""Chapters 5 and 6 of Kumar's thesis: MLC-HMF and GroPLE for labels, beside others on twelve data sets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from cofactor import published
from cofactor.evaluation.running import Cell, cell
from cofactor.evaluation.significance import Scores
from cofactor.evaluation.store import Run
from cofactor.experiments.label_work import folds, group_sparsity
from cofactor.experiments.papers import Paper, checksum, label_cell, samples
from cofactor.experiments.reproduction import Claim, Drawing, Extent, Outcome, Row, Sample
from cofactor.experiments.results import (
    PRINTED,
    Curves,
    Tested,
    best_rank,
    both_tests,
    curves,
    diagrams,
    done,
    facet,
    measured_scores,
    methods_differ,
    points,
    printed_scores,
    statistic_rows,
    wins,
)
from cofactor.plots import plot_group_sparsity, plot_parameter_lines, plot_parameter_map
from cofactor.published import METRICS, Published

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER = Paper("kumar")
MLCHMF: Mapping[str, Mapping[str, Any]] = PAPER.facts["mlchmf"]
GROPLE: Mapping[str, Mapping[str, Any]] = PAPER.facts["grople"]

DECADES = [10.0**power for power in range(-4, 5)]
SHARES = [round(0.1 * k, 1) for k in range(1, 9)]
THESIS_VARIANT = "the thesis' grid"

# ---------------------------------------------------------------- rcv1

REALIGNED = "realigned labels"
"""Variant of the cells whose labels of rcv1 are where they belong."""


def alignments(data: str) -> list[dict[str, Any]]:
    """Return the parameters of cells for the labels of a data set: of rcv1 as published and realigned, else none.

    The published files of rcv1 have shifted labels in half of their rows: docs/corrections.md.

    Examples
    --------
    >>> [way.get("aligned") for way in alignments("rcv1-sample1")], alignments("medical")
    (['published', 'realigned'], [{}])
    """
    if not data.startswith("rcv1"):
        return [{}]
    return [{"aligned": "published"}, {"aligned": "realigned", "variant": REALIGNED}]


def realignment(results: Sequence[Run], metric: str) -> Claim:
    """Return the claim that methods do better on rcv1 once its labels are where they belong."""
    pairs = {
        (data, method): (found[""].mean, found[REALIGNED].mean)
        for (data, _, method, _), found in samples(results, [metric]).items()
        if {"", REALIGNED} <= found.keys()
    }
    title, sign = METRICS[metric].title, 1 if METRICS[metric].better == "higher" else -1
    return Claim(
        f"{title} on rcv1 is better for every method once the labels of all rows stand in their columns.",
        all(sign * b > sign * a for a, b in pairs.values()) if pairs else None,
        "; ".join(f"{data}, {method}: {a:.3f} → {b:.3f}" for (data, method), (a, b) in pairs.items())
        or "rcv1 was not run",
        origin="ours",
    )


# ---------------------------------------------------------------- figure 5.4: Hamming loss along λ


def _penalty_cells(extent: Extent) -> list[Cell]:
    settings, alphas = MLCHMF["MLCHMF"]["settings"], MLCHMF["MLCHMF"]["grid"]["alpha"]
    shares = [0.25, 1.0] if extent == "quick" else [0.25, 0.5, 0.75, 1.0]
    draws = range({"quick": 3, "normal": 10, "full": 30}[extent])
    return [
        label_cell(
            *("MLCHMF", "emotions", f"holdout {draw + 1}/0.1"),
            share=share,
            settings=settings | {"scale": "standard", "alpha": alpha, "tolerance": 0.0},
        )
        for share, alpha, draw in product(shares, alphas, draws)
    ]


def _penalty_outcome(results: Sequence[Run]) -> Outcome:
    by_share = curves(results, "hamming", "share", "settings.alpha")
    caption = "Hamming loss of MLC-HMF along λ on emotions, for several shares of the training instances"
    lines = {f"{share:.0%} of the training instances": points(curve) for share, curve in by_share.items()}
    draw = partial(plot_parameter_lines, lines, parameter="λ", measure="Hamming loss", logarithmic=True)
    pictures = [Drawing("thesis-figure-5.4", caption, draw)] if by_share else []
    return Outcome(claims=[one_penalty(by_share)], pictures=pictures)


def one_penalty(curves: Curves) -> Claim:
    """Return the claim of figure 5.4 on the losses by share and λ."""
    statement = (
        "The share of training instances hardly matters to the choice of λ: the λ that is best at all of them costs, "
        "at each of them, at most one standard deviation more than the one best there."
    )
    if not curves:
        return Claim(statement, None, "nothing was measured")
    common = sorted(set.intersection(*(set(curve) for curve in curves.values())))
    overall = min(common, key=lambda alpha: sum(curve[alpha].mean for curve in curves.values()))
    best = {share: min(common, key=lambda alpha: curve[alpha].mean) for share, curve in curves.items()}
    pairs = [(curve[best[share]], curve[overall]) for share, curve in curves.items()]
    known = len(curves) > 1 and all(least.std is not None for least, _ in pairs)
    holds = all(there.mean - least.mean <= (least.std or 0.0) for least, there in pairs)
    measured = ", ".join(
        f"{share:.0%}: λ = {best[share]:g} ({curve[best[share]]}), at {overall:g} {curve[overall]}"
        for share, curve in curves.items()
    )
    return Claim(statement, holds if known else None, f"best at {measured}")


# ---------------------------------------------------------------- tables 5.9 to 5.11 and figure 5.5: MLC-HMF and others

SMALL = ("cal500", "emotions", "genbase", "plant", "medical")
LARGE = ("llog", "human", "yahoo-education", "yahoo-science", "rcv1-sample2", "rcv1-sample5", "ohsumed")


def mlchmf_cells(extent: Extent) -> list[Cell]:
    """Return what tables 5.9 to 5.11 and figure 5.5 need.

    Quick: one fold of the small data sets. Normal: three folds of the larger ones, ten of the others. Full: ten folds
    of all, MLC-HMF once more with every tolerance of the source, what works with distances or gradients once more on
    the measurements of cal500 as they come, and LLSF on the small ones with the convex objective.
    """
    small, large = {"quick": (1, 0), "normal": (10, 3), "full": (10, 10)}[extent]
    places = [(data, folds(10, n)) for names, n in ((SMALL, small), (LARGE, large)) for data in names]
    cells = [
        _mlchmf_cell(method, data, split, **way)
        for data, splits in places
        for way in alignments(data)
        for method in MLCHMF
        for split in splits
    ]
    if extent == "full":
        tolerances = MLCHMF["MLCHMF"]["grid"] | {"tolerance": [0.0, 0.02, 0.04, 0.06, 0.08, 0.1]}
        finer = {"grid": tolerances, "variant": "all tolerances"}
        unscaled = {"steps": [], "variant": "features as they come"}
        convex = {"settings": MLCHMF["LLSF"]["settings"] | {"correlation": "psd"}, "variant": "positive part of R"}
        again = [("MLCHMF", data, finer | alignments(data)[0]) for data in SMALL + LARGE]
        again += [(method, "cal500", unscaled) for method in ("BPMLL", "LIFT")]
        again += [("LLSF", data, convex) for data in SMALL]
        cells += [_mlchmf_cell(method, data, split, **way) for method, data, way in again for split in folds(10)]
    return cells


def _mlchmf_cell(method: str, data: str, split: str, **way: Any) -> Cell:
    """Return a cell of the comparison; `way` is what it has besides, or instead of, what its method has."""
    declared = {**MLCHMF[method], **way}
    if "grid" in declared:
        declared["metric"] = "hamming"
    if data in ("emotions", "cal500"):
        if method == "MLCHMF":
            declared["settings"] = {**declared["settings"], "scale": "standard"}
        else:
            declared.setdefault("steps", [["StandardScaler", {}]])
    if data == "llog":
        declared["empty"] = 0  # as the source counts, whose subset accuracy is larger than its accuracy
    return label_cell(method, data, split, **declared)


def _comparison_outcome(name: str, results: Sequence[Run]) -> Outcome:
    table = published.load(name.replace("-table", ""))
    claims = [*better_on_more_sets(table, results), realignment(results, table.metrics[-1])]
    return Outcome(rows=PAPER.rows(name, results), claims=claims)


def here_in_place(table: Published, metric: str, results: Sequence[Run]) -> Scores:
    """Return the printed numbers of a metric, with ours in the columns of our methods; NaN where we have none.

    Ours are rounded to the three digits that are printed, so that ties are as likely as there.
    """
    printed, here = printed_scores(table, metric), samples(results, [metric])
    values = printed.values.copy()
    for i, data in enumerate(printed.data):
        for j, method in enumerate(printed.methods):
            if method in MLCHMF:
                measured = here.get((data, "", method, metric), {}).get("")
                values[i, j] = round(measured.mean, 3) if measured else np.nan
    return Scores(values, printed.methods, printed.data, greater_is_better=printed.greater_is_better)


def better_on_more_sets(table: Published, results: Sequence[Run], champion: str = "MLCHMF") -> list[Claim]:
    """Return, for each metric and each other method of ours, the claim that the better one in print is so here.

    Better is who wins on more data sets. Where both win on equally many in print there is no claim; with less than
    half of the data sets it is not decided whether it holds.
    """
    claims = []
    for metric in table.metrics:
        printed, here = printed_scores(table, metric), here_in_place(table, metric, results)
        for other in (name for name in MLCHMF if name != champion):
            lead, behind, _ = wins(printed, champion, other)
            if lead == behind:
                continue
            first, second = (champion, other) if lead > behind else (other, champion)
            won, lost, n = wins(here, first, second)
            claims.append(
                Claim(
                    f"{METRICS[metric].title}: {first} is better than {second} on more data sets than it is worse.",
                    won > lost if 2 * n >= len(here.data) else None,
                    f"printed {max(lead, behind)} – {min(lead, behind)} of {len(printed.data)}, "
                    f"here {won} – {lost} of {n}",
                )
            )
    return claims


def _mlchmf_tests(results: Sequence[Run]) -> list[Tested]:
    """Return the tests of both tables by metric, as printed and with our numbers in place."""
    sources: dict[tuple[str, str], Scores | None] = {}
    for table in map(published.load, ("thesis-5.9", "thesis-5.10")):
        for metric in table.metrics:
            sources[metric, PRINTED] = printed_scores(table, metric)
            sources[metric, "ours in place"] = here_in_place(table, metric, results)
    return both_tests(sources)


def _mlchmf_statistics(results: Sequence[Run]) -> Outcome:
    tests = _mlchmf_tests(results)
    rows = statistic_rows(published.load("thesis-5.11"), tests)
    apart = [row for row in rows if row.outside]
    follow = Claim(
        "The printed statistics, to their digits, are those of the numbers printed in tables 5.9 and 5.10.",
        not apart,
        "; ".join(
            f"{row.method} {METRICS[row.metric].title}: printed {row.published}, follows {row.here}" for row in apart
        ),
        origin="print",
    )
    return Outcome(rows=rows, claims=[follow, *methods_differ(tests)])


def _mlchmf_diagrams(results: Sequence[Run]) -> Outcome:
    tests = _mlchmf_tests(results)
    return Outcome(claims=best_rank(tests, "MLCHMF"), pictures=diagrams(tests, "thesis-figure-5.5"))


# ---------------------------------------------------------------- figure 6.1: groups of factors


def _sparsity_cells(extent: Extent) -> list[Cell]:
    weights = [(0.001, 1.0)] if extent == "quick" else [(0.001, 1.0), (1.0, 1.0), (1.0, 10.0)]
    place: dict[str, Any] = {"method": "GroPLE", "data": "medical", "split": "all", "checksum": checksum("medical")}
    return [cell(group_sparsity, **place, alpha_u=u, alpha_v=v, n_groups=5) for u, v in weights]


def _sparsity_outcome(results: Sequence[Run]) -> Outcome:
    measured = {
        f"λ₁ = {result.parameters['alpha_u']:g}, λ₂ = {result.parameters['alpha_v']:g}": result.measures
        for result in done(results)
    }
    shares = {name: found["zero_rows"] for name, found in measured.items()}
    overlaps = {name: (found["within"], found["between"]) for name, found in measured.items()}
    return Outcome(
        claims=(
            Claim(
                "The part of V of each group is sparse by rows: more than half of the (group, factor) pairs are zero.",
                min(shares.values()) > 0.5 if shares else None,
                "; ".join(f"{name}: {share:.0%}" for name, share in shares.items()),
            ),
            Claim(
                "Labels of one group use the same factors, labels of different groups use others: two labels overlap "
                "by more than .9 within groups, by less than .5 between them.",
                all(within > 0.9 and between < 0.5 for within, between in overlaps.values()) if overlaps else None,
                "; ".join(f"{name}: {a:.2f} within, {b:.2f} between" for name, (a, b) in overlaps.items()),
            ),
        ),
        pictures=[
            Drawing(
                f"thesis-figure-6.1-{number}",
                f"Factors of the labels of medical, sorted by group, with {name}",
                partial(plot_group_sparsity, found["V"], found["groups"], title=name),
            )
            for number, (name, found) in enumerate(measured.items(), 1)
        ],
    )


# ---------------------------------------------------------------- figure 6.2: weights of U and V


def _influence_cells(extent: Extent) -> list[Cell]:
    weights = (1e-3, 1e-1, 10.0) if extent == "quick" else (1e-3, 1e-2, 1e-1, 1.0, 10.0, 100.0)
    grid = {"alpha_r": [0.01, 10.0], "alpha_z": [0.01, 0.1, 1.0]}
    cells = _influences(weights, folds(5, 1 if extent == "quick" else 2), grid)
    if extent == "full":
        cells += _influences(weights, folds(5), {"alpha_r": DECADES, "alpha_z": DECADES}, variant=THESIS_VARIANT)
    return cells


def _influences(weights: Iterable[float], splits: Iterable[str], grid: Any, **named: Any) -> list[Cell]:
    return [
        label_cell(
            *("GroPLE", data, split),
            settings={"n_components": 100, "n_groups": 5, "alpha_u": alpha_u, "alpha_v": alpha_v},
            grid=grid,
            metric="accuracy",
            **named,
        )
        for data, split, alpha_u, alpha_v in product(("medical", "genbase"), splits, weights, weights)
    ]


def _influence_outcome(results: Sequence[Run]) -> Outcome:
    claims, pictures = [], []
    for data, variant in dict.fromkeys((result.data, facet(result, "variant")) for result in done(results)):
        table = curves(done(results, data=data, variant=variant), "accuracy", "settings.alpha_u", "settings.alpha_v")
        title = f"{data}, {variant}" if variant else data
        claims += influence_claims(table, title)
        pictures.append(
            Drawing(
                f"thesis-figure-6.2-{data}{'-full' if variant else ''}",
                f"Accuracy on {title} by the weights of U and V; α and β chosen within the training part",
                partial(_draw_influence, table, title),
            )
        )
    return Outcome(claims=claims, pictures=pictures)


def influence_claims(table: Curves, title: str) -> list[Claim]:
    """Return what the thesis reads from figure 6.2, checked on mean accuracies by λ₁ and λ₂."""
    rows, columns, mean = _as_map(table)
    if np.isnan(mean).any() or len(rows) < 2:
        return [Claim(f"{title}: influence of λ₁ and λ₂", None, f"{np.isfinite(mean).sum()} of the pairs measured")]
    large = np.array(columns) >= 1
    best = mean.max(axis=1)
    spread = float(np.ptp(mean[0, ~large])) if (~large).any() else float("nan")
    harmed = [float(line[~large].max() - line[large].min()) for line in mean] if large.any() and (~large).any() else []
    return [
        Claim(
            f"{title}: a large λ₁ costs accuracy, whatever λ₂.",
            bool(best[-1] < best[0] - 0.01),
            f"best accuracy {best[0]:.3f} at λ₁ = {rows[0]:g}, {best[-1]:.3f} at λ₁ = {rows[-1]:g}",
        ),
        Claim(
            f"{title}: below 1, λ₂ hardly matters (at the smallest λ₁, by less than .02).",
            bool(spread < 0.02) if np.isfinite(spread) else None,
            f"range {spread:.3f} over λ₂ < 1 at λ₁ = {rows[0]:g}",
        ),
        Claim(
            f"{title}: λ₂ of 1 and more often harms (accuracy falls by more than .01 for at least half of the λ₁).",
            bool(np.mean([loss > 0.01 for loss in harmed]) >= 0.5) if harmed else None,
            "loss " + ", ".join(f"{loss:.3f} at λ₁ = {row:g}" for row, loss in zip(rows, harmed, strict=False)),
        ),
    ]


def _as_map(table: Curves) -> tuple[list[float], list[float], Any]:
    """Return the places of rows and columns, and the means; NaN where nothing was measured."""
    columns, unknown = sorted(set().union(*table.values())), Sample(float("nan"))
    return list(table), columns, np.array([[line.get(k, unknown).mean for k in columns] for line in table.values()])


def _draw_influence(table: Curves, title: str) -> Axes:
    rows, columns, values = _as_map(table)
    return plot_parameter_map(
        values, rows, columns, row_name="λ₁ (weight of U)", column_name="λ₂ (weight of the rows of V)", title=title
    )


# ---------------------------------------------------------------- figure 6.3: numbers of groups and of factors


def _size_cells(extent: Extent) -> list[Cell]:
    sizes = (1, 10, 40) if extent == "quick" else (1, 10, 20, 30, 40)
    factors = {"quick": (20, 100), "normal": (20, 60, 100), "full": (20, 40, 60, 80, 100)}[extent]
    splits = folds(5, {"quick": 1, "normal": 2, "full": 5}[extent])
    ways = alignments("rcv1-sample1")[: 1 if extent == "quick" else 2]
    return [
        label_cell(
            *("GroPLE", "rcv1-sample1", split),
            settings={"alpha_u": 0.001, "alpha_v": 1.0, "n_components": d, "n_groups": K},
            grid={"alpha_r": [1.0], "alpha_z": [1.0, 3.0]},
            metric="accuracy",
            thresholds=["plain", "global"],
            **way,
        )
        for way, split, d, K in product(ways, splits, factors, sizes)
    ]


def _size_outcome(results: Sequence[Run]) -> Outcome:
    claims, pictures = [], []
    for variant in dict.fromkeys(facet(result, "variant") for result in done(results)):
        title, tables = variant or "labels as published", []
        for name, words in (("accuracy", "accuracy"), ("macro_f1", "macro-F1")):
            ones = done(results, variant=variant)
            tables.append(curves(ones, f"learned:{name}", "settings.n_components", "settings.n_groups"))
            lines = {f"d = {d}": points(curve) for d, curve in tables[-1].items()}
            pictures.append(
                Drawing(
                    f"thesis-figure-6.3-{name.replace('_', '-')}{'-realigned' if variant else ''}",
                    f"rcv1 sample 1, {title}: {words} against the number of groups K and of factors d, {LEARNED}",
                    partial(plot_parameter_lines, lines, parameter="number of groups K", measure=words, title=title),
                )
            )
        accuracy, macro = tables
        of_labels = size_claims(accuracy, macro, title)
        claims += [replace(claim, origin="ours") for claim in of_labels] if variant else of_labels
    return Outcome(claims=[*claims, realignment(results, "accuracy")], pictures=pictures)


def size_claims(accuracy: Curves, macro: Curves, title: str) -> list[Claim]:
    """Return what the thesis reads from figure 6.3, checked on means along K for each d."""
    few, many = min(accuracy), max(accuracy)
    low, high, rare = (
        {K: sample.mean for K, sample in curve.items()} for curve in (accuracy[few], accuracy[many], macro[many])
    )
    if few == many or min(map(len, (low, high, rare))) < 2:
        return [Claim(f"{title}: influence of K and d", None, "too few points measured")]
    grouped_best = max(value for K, value in high.items() if K > 1)
    texts = [", ".join(f"{value:.3f} at K = {K}" for K, value in sorted(of.items())) for of in (high, rare)]
    return [
        Claim(
            f"{title}: with few factors (d = {few}) the number of groups hardly matters (by less than .02).",
            max(low.values()) - min(low.values()) < 0.02,
            f"accuracy from {min(low.values()):.3f} to {max(low.values()):.3f}",
        ),
        Claim(
            f"{title}: with many (d = {many}) groups help: the best K above 1 gains .005 accuracy on one group.",
            grouped_best - high[1] > 0.005 if 1 in high else None,
            f"accuracy {texts[0]}",
        ),
        Claim(
            f"{title}: with d = {many}, macro-F1 falls again where there are very many groups.",
            rare[max(rare)] < max(rare.values()) - 0.005,
            f"macro-F1 {texts[1]}",
        ),
    ]


# ---------------------------------------------------------------- tables 6.2 and 6.3, figure 6.4: GroPLE and others

MEASURES = ("accuracy", "example_f1", "macro_f1", "micro_f1")
LEARNED, SLOW = "learned threshold", "MetaLabels"
CUTS = {"": "plain cut", LEARNED: LEARNED}
"""Variants of our numbers, in words."""

_SIZES = (
    ("genbase", "medical", "cal500"),
    ("corel5k", "rcv1-sample1", "rcv1-sample2", "rcv1-sample3", "bibtex"),
    ("corel16k001", "delicious"),
)


def grople_cells(extent: Extent) -> list[Cell]:
    """Return what tables 6.2 and 6.3 and figure 6.4 need.

    Quick: one fold of the small data sets. Normal: five folds of these, two of the medium ones. Full: five folds of
    all, and the small ones once more with the grids of the thesis.
    """
    n_folds = {"quick": (1, 0, 0), "normal": (5, 2, 0), "full": (5, 5, 5)}[extent]
    cells = [
        _grople_cell(method, data, split, **way)
        for names, n in zip(_SIZES, n_folds, strict=True)
        for data in names
        for way in alignments(data)
        for split in folds(5, n)
        for method in GROPLE
    ]
    if extent == "full":
        values = {"decades": DECADES, "shares": SHARES}
        cells += [
            _grople_cell(method, data, split, grid=full, variant=THESIS_VARIANT)
            for data in _SIZES[0]
            for split in folds(5)
            for method, grid in PAPER.facts["thesis-grids"].items()
            for full in ({name: values.get(str(of), of) for name, of in grid.items()},)
        ]
    return cells


def _grople_cell(method: str, data: str, split: str, **way: Any) -> Cell:
    steps = {"steps": [["StandardScaler", {}]]} if data == "cal500" else {}
    declared = {**GROPLE[method], "metric": "accuracy", "thresholds": ["plain", "global"], **way, **steps}
    return label_cell(method, data, split, **declared)


def _grople_outcome(results: Sequence[Run]) -> Outcome:
    claims = [lead_claim(results, metric, cut) for metric in MEASURES for cut in CUTS]
    return Outcome(
        rows=with_cut(PAPER.rows("thesis-table-6.2", results)),
        claims=[*claims, *duels(results), threshold_claim(results), realignment(results, "accuracy")],
    )


def with_cut(rows: Sequence[Row]) -> list[Row]:
    """Return the rows; where the plain cut is worse and the learned threshold is not, the reason says so."""

    def place(row: Row) -> tuple[str, ...]:  # what is measured, by which grid and labels, but for the cut
        return row.data, row.method, row.metric, row.variant.removesuffix(LEARNED).removesuffix(", ")

    reached = {place(row) for row in rows if LEARNED in row.variant and row.verdict in ("agrees", "better")}
    return [
        replace(row, reason="reached with a learned threshold")
        if row.verdict == "worse" and LEARNED not in row.variant and place(row) in reached
        else row
        for row in rows
    ]


def scores_here(results: Sequence[Run], metric: str, cut: str = "") -> Scores | None:
    """Return our numbers of a metric by a cut, a key of `CUTS`; see `measured_scores`.

    MetaLabels, whose chains take longest, is among the methods if it has run on all the sets that the others have.
    """
    table, others = published.load("thesis-6.2"), [name for name in GROPLE if name != SLOW]
    every, most = (measured_scores(table, results, metric, methods, cut) for methods in (list(GROPLE), others))
    return every if every is not None and most is not None and every.data == most.data else most


def _printed(metric: str, data: Sequence[str] | None = None, methods: Sequence[str] = tuple(GROPLE)) -> Scores:
    """Return the printed numbers: of all methods on the eleven sets of the test, or of some methods on some sets."""
    scores = printed_scores(published.load("thesis-6.2"), metric)
    if data is None:
        return scores.complete
    ours = scores.only(*methods)
    rows = [ours.data.index(name) for name in data]
    return Scores(ours.values[rows], ours.methods, list(data), greater_is_better=True)


def lead_claim(results: Sequence[Run], metric: str, cut: str) -> Claim:
    """Return the claim that GroPLE is best, or as good as the best, on most data sets, by one metric and cut."""
    statement = f"{METRICS[metric].title}, {CUTS[cut]}: of these methods GroPLE is best on most data sets."
    here = scores_here(results, metric, cut)
    if here is None:
        return Claim(statement, None, "no data set was run with all methods")
    n, (ours, printed) = len(here.data), map(_best_on, (here, _printed(metric, here.data, here.methods)))
    return Claim(statement, ours > n / 2, f"here {ours} of {n}, printed {printed} of the same {n}")


def _best_on(scores: Scores) -> int:
    column = scores.values[:, scores.methods.index("GroPLE")]
    return int((column >= scores.values.max(axis=1)).sum())


def duels(results: Sequence[Run], first: str = SLOW, second: str = "BinaryRelevance") -> list[Claim]:
    """Return, for each metric, the claim that one of two methods is better on more data sets, as it is in print.

    With less than half of the data sets it is not decided whether it holds.
    """
    claims = []
    for metric in MEASURES:
        here = measured_scores(published.load("thesis-6.2"), results, metric, (first, second))
        (ahead, behind, of), (won, lost, n) = wins(_printed(metric), first, second), wins(here, first, second)
        better, worse = (first, second) if ahead > behind else (second, first)
        claims.append(
            Claim(
                f"{METRICS[metric].title}, plain cut: {better} is better than {worse} on more data sets than it is "
                "worse.",
                None if 2 * n < of else (won > lost) if better == first else (lost > won),
                f"{first} – {second}: printed {ahead} – {behind} of {of}, here {won} – {lost} of {n}",
            )
        )
    return claims


def threshold_claim(results: Sequence[Run], large: float = 0.05) -> Claim:
    """Return whether a lead of GroPLE over PLST that is large in print comes from the cut of the scores alone."""
    statement = (
        f"Where GroPLE is printed with {large:g} more accuracy than PLST or more, it comes from the "
        "cut. With the plain cut for both less than half of it remains, and PLST with a learned threshold reaches what "
        "is printed for GroPLE."
    )
    plain, learned = (scores_here(results, "accuracy", cut) for cut in CUTS)
    if plain is None or learned is None:
        return Claim(statement, None, "no data set was run with all methods", origin="ours")
    printed = _printed("accuracy", plain.data)
    leads, target = printed.gains("GroPLE", "PLST"), printed.only("GroPLE").values[:, 0]
    kept, reached = plain.gains("GroPLE", "PLST"), learned.only("PLST").values[:, 0]
    chosen = np.flatnonzero(leads >= large)
    measured = "; ".join(
        f"{plain.data[k]}: lead {leads[k]:.3f} printed, {kept[k]:.3f} here; PLST learned {reached[k]:.3f}, GroPLE "
        f"printed {target[k]:.3f}"
        for k in chosen
    )
    holds = bool(np.all((kept < leads / 2)[chosen] & (reached >= target)[chosen])) if chosen.size else None
    return Claim(statement, holds, measured or "none of these data sets was run", origin="ours")


def _grople_tests(results: Sequence[Run]) -> list[Tested]:
    """Return the tests of table 6.2 by metric: of the printed numbers, and of ours with either cut."""
    sources: dict[tuple[str, str], Scores | None] = {}
    for metric in MEASURES:
        sources[metric, PRINTED] = _printed(metric)
        for cut, words in CUTS.items():
            sources[metric, f"our numbers, {words}"] = scores_here(results, metric, cut)
    return both_tests(sources)


def _grople_statistics(results: Sequence[Run]) -> Outcome:
    tests = _grople_tests(results)
    return Outcome(rows=statistic_rows(published.load("thesis-6.3"), tests), claims=methods_differ(tests))


def _grople_diagrams(results: Sequence[Run]) -> Outcome:
    tests = _grople_tests(results)
    return Outcome(claims=best_rank(tests, "GroPLE"), pictures=diagrams(tests, "thesis-figure-6.4"))


EXPERIMENTS = tuple(
    PAPER.experiment(name, cells, outcome)
    for name, cells, outcome in (
        ("thesis-figure-5.4", _penalty_cells, _penalty_outcome),
        ("thesis-table-5.9", mlchmf_cells, partial(_comparison_outcome, "thesis-table-5.9")),
        ("thesis-table-5.10", mlchmf_cells, partial(_comparison_outcome, "thesis-table-5.10")),
        ("thesis-table-5.11", mlchmf_cells, _mlchmf_statistics),
        ("thesis-figure-5.5", mlchmf_cells, _mlchmf_diagrams),
        ("thesis-figure-6.1", _sparsity_cells, _sparsity_outcome),
        ("thesis-figure-6.2", _influence_cells, _influence_outcome),
        ("thesis-figure-6.3", _size_cells, _size_outcome),
        ("thesis-table-6.2", grople_cells, _grople_outcome),
        ("thesis-table-6.3", grople_cells, _grople_statistics),
        ("thesis-figure-6.4", grople_cells, _grople_diagrams),
    )
)
