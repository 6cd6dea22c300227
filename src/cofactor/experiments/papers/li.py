"""Tables 7.1 to 7.7 of Li's thesis: CAL500, with all methods of the source, and random predictions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

from cofactor import published
from cofactor.evaluation.running import Cell, cell
from cofactor.evaluation.store import Run
from cofactor.experiments.li_work import MEASURES, chains_split, learned_split, random_split
from cofactor.experiments.papers import Paper, checksum
from cofactor.experiments.reproduction import EXTENTS, Claim, Drawing, Extent, Outcome, Sample
from cofactor.experiments.results import means, points
from cofactor.plots import plot_parameter_lines
from cofactor.text import without_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes

PAPER = Paper("li")
INVERSIONS: Mapping[str, str] = PAPER.facts["inversions"]
RATES = {f"random ({rate:g})": rate for rate in (0.0, 0.25, 0.5, 0.75, 1.0)}
EMOTIONS = [1, 5, 11, 21, 23, 31, 33, 35]
"""The eight labels of table 7.1, counted from 0."""

DRAWS = {"quick": 1, "normal": 3, "full": 10}

# ---------------------------------------------------------------- cells


def _cell(function: Callable[..., Any], method: str, draw: int, **parameters: Any) -> Cell:
    found, split = checksum("cal500"), f"holdout {draw + 1}/50"
    return cell(function, method=method, data="cal500", split=split, checksum=found, **parameters)


def row_cells(
    table: str, extent: Extent, n: Mapping[str, int] = DRAWS, columns: Sequence[int] | None = None
) -> list[Cell]:
    """Return the cells of the rows that are declared for a table, on the first n splits."""
    return [
        _cell(
            *(learned_split, row["method"], draw),
            learner=row["learner"],
            scales=row.get("scales", ["rescaled"]),
            grid=row.get("grid", {}),
            settings=row.get("settings", {}) | ({"random_state": draw} if row.get("drawn") else {}),
            variant=row.get("variant", ""),
            columns=columns,
        )
        for draw in range(n[extent])
        for row in PAPER.facts["rows"][table]
        if EXTENTS.index(row.get("extent", "quick")) <= EXTENTS.index(extent)
    ]


def random_cells(extent: Extent) -> list[Cell]:
    """Return the cells of tables 7.2 and 7.3."""
    return [
        _cell(random_split, method, draw, rate=rate)
        for draw in range({"quick": 10, "normal": 30, "full": 100}[extent])
        for method, rate in {**RATES, "random (label frequency)": None}.items()
    ]


def whole_cells(extent: Extent) -> list[Cell]:
    """Return the cells of table 7.4, but quick without many chains, which take as long as all others: 7.5 has them."""
    return [*row_cells("7.4", extent), *([] if extent == "quick" else chains_cells(extent))]


def chains_cells(extent: Extent) -> list[Cell]:
    """Return the cells of table 7.5: 51 random chains on each split, in full also 1,001 on the first.

    The many have a prior of variance 1, since their fits would take several times as long with a weaker one.
    """
    numbers = [(draw, 51) for draw in range(DRAWS[extent])] + ([(0, 1001)] if extent == "full" else [])
    return [
        _cell(
            *(chains_split, "random chains", draw),
            n_chains=n_chains,
            grid={} if n_chains == 1001 else {"alpha": [0.1, 1.0, 10.0, 100.0]},
            settings={"random_state": draw},
            by={} if draw else INVERSIONS,
            variant="" if n_chains == 1001 else "51 chains",
        )
        for draw, n_chains in numbers
    ]


# ---------------------------------------------------------------- what the tables show

Found = Mapping[str, Mapping[str, Sample]]
"""Means over the splits, by measure and method; a variant stands behind the method and a comma."""


def _outcome(name: str, results: Sequence[Run]) -> Outcome:
    """Return the rows of a table, and claims on the means."""
    results = list(_by_row(results))
    methods = published.load(PAPER.about(name)["tables"][0]).methods
    found = {
        metric: {
            ", ".join(part for part in key if part): sample
            for key, sample in means([r for r in results if metric in r.measures], metric, "method", "variant").items()
        }
        for metric in (*MEASURES, "expected_label_accuracy", "normalized_inversions")
    }
    return Outcome(
        rows=PAPER.rows(name, [result for result in results if result.method in methods]),
        claims=claims_of(name, found),
        pictures=_pictures(found) if name == "li-table-7.6" else (),
    )


def _by_row(results: Iterable[Run]) -> Iterator[Run]:
    """Yield results, those of several rows as one of each row, whose name stands before a stroke."""
    for result in results:
        rows: dict[str, dict[str, Any]] = {}
        for name, value in result.measures.items():
            row, stroke, metric = name.rpartition("/")
            if stroke:
                rows.setdefault(row, {})[metric] = value
        yield from (replace(result, method=row, measures=measures) for row, measures in rows.items())
        if not rows:
            yield result


def _pictures(found: Found) -> list[Drawing]:
    caption = "Label PCA on cal500 by the number of dimensions, with the printed numbers"
    return [Drawing("li-table-7.6", caption, partial(_draw_dimensions, found))] if found["micro_f1"] else []


def _draw_dimensions(found: Found) -> Axes:
    table = published.load("li-7.6")
    rows = {row["settings"]["n_components"]: row["method"] for row in PAPER.facts["rows"]["7.6"]}
    lines: dict[str, Any] = {}
    for words, metric in (("micro-F1", "micro_f1"), ("macro-F1", "macro_f1")):
        lines[f"{words}, here"] = points({d: found[metric][row] for d, row in rows.items()})
        printed = [table.get("cal500", row, metric) for row in rows.values()]
        lines[f"{words}, printed"] = (list(rows), [row.mean for row in printed if row], None)
    return plot_parameter_lines(lines, parameter="dimensions of the labels", measure="F1", logarithmic=True)


# ---------------------------------------------------------------- claims


def claims_of(name: str, found: Found) -> list[Claim]:
    """Return the claims on a table: those that are declared, and those that are not on which method is better."""
    more = {"li-table-7.2": random_claims, "li-table-7.5": inversion_claims}.get(name)
    return [*(_better(found, **facts) for facts in PAPER.about(name)["claims"]), *(more(found) if more else ())]


def _better(
    found: Found,
    statement: str,
    measures: Sequence[str],
    better: Sequence[str] = (),
    worse: Sequence[str] = (),
    pairs: Sequence[Sequence[str]] = (),
    margin: float = 0.0,
    **about: Any,
) -> Claim:
    """Return a claim of ``li.toml``: by each measure, each first method is better by more than the margin."""
    every = [pair for pair in product(_members(better), _members(worse)) if pair[0] != pair[1]]
    places = [(metric, *pair) for metric in _members(measures) for pair in (pairs or every)]
    if not all(name in found[metric] for metric, *names in places for name in names):
        return Claim(statement, None, "not all of these methods were run", **about)
    gains = {(metric, a, b): found[metric][a].mean - found[metric][b].mean for metric, a, b in places}
    metric, first, second = min(gains, key=lambda place: gains[place])
    held = sum(gain > margin for gain in gains.values())
    words = (
        f"{held} of {len(gains)} comparisons; the closest: {published.METRICS[metric].title}, {first} "
        f"{found[metric][first].text(4)}, {second} {found[metric][second].text(4)}"
    )
    return Claim(statement, held == len(gains), words, **about)


def _members(names: Iterable[str]) -> list[str]:
    groups = PAPER.facts["groups"]
    return [member for name in names for member in groups.get(name, [name])]


def random_claims(found: Found) -> list[Claim]:
    """Return what the thesis says of table 7.2, and what follows from the probabilities."""
    ours, expected, micro = (found[name] for name in ("label_accuracy", "expected_label_accuracy", "micro_mcc"))
    gap = max((abs(ours[name].mean - expected[name].mean) for name in ours), default=float("nan"))
    largest = max((abs(micro[name].mean) for name in RATES if name in micro), default=1.0)
    return [
        Claim(
            "With one rate for all labels the correlation is 0, but for chance (below .02).",
            largest < 0.02 if micro else None,
            f"at most {largest:.4f}" if micro else "",
        ),
        Claim(
            "The simulated accuracies per label are those which follow from the probabilities (within .005).",
            gap < 0.005 if ours else None,
            f"largest difference {gap:.4f}" if ours else "",
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


EXPERIMENTS = tuple(
    PAPER.experiment(name, cells, partial(_outcome, name))
    for name, cells in (
        ("li-table-7.1", partial(row_cells, "7.1", columns=EMOTIONS)),
        ("li-table-7.2", random_cells),
        ("li-table-7.3", random_cells),
        ("li-table-7.4", whole_cells),
        ("li-table-7.5", chains_cells),
        ("li-table-7.6", partial(row_cells, "7.6", n={"quick": 3, "normal": 10, "full": 30})),
        ("li-table-7.7", partial(row_cells, "7.7")),
    )
)
