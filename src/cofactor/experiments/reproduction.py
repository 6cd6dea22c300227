"""Run published tables and figures again, and count what holds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from cofactor.evaluation.cells import Result
from cofactor.evaluation.running import run_cells
from cofactor.experiments.experiment import Experiment, Extent, Outcome, Row
from cofactor.experiments.published import METRICS
from cofactor.metrics import greater_is_better

if TYPE_CHECKING:
    from cofactor.evaluation.store import ResultStore

__all__ = ["Reproduction", "Tally", "reproduce", "stored", "verdict"]


@dataclass(frozen=True)
class Tally:
    """How many numbers of a reproduction agree with the printed ones, and how many claims hold.

    Parameters
    ----------
    compared : int
        Numbers that are printed and were measured; the five after it add up to it.
    agree : int
        Not further apart than two standard deviations.
    better, worse : int
        Further apart, ours the better, or the worse.
    differ : int
        Recomputed from what is printed, and not equal to it.
    untold : int
        Neither deviation is known.
    claims, held, unknown : int
        Claims, those that hold, and those that cannot be told from what was run.
    failed : int
        Cells that failed.
    """

    compared: int
    agree: int
    better: int
    worse: int
    differ: int
    untold: int
    claims: int
    held: int
    unknown: int
    failed: int


@dataclass(frozen=True)
class Reproduction:
    """An experiment and what came out of its cells; those that have not run are not among the results."""

    experiment: Experiment
    extent: Extent
    n_cells: int
    results: Sequence[Result]

    @cached_property
    def outcome(self) -> Outcome:
        """What the results show."""
        return self.experiment.outcome(self.results)

    @property
    def seconds(self) -> float:
        """Computing time of all cells that ran, one after the other."""
        return sum(result.seconds for result in self.results)

    @cached_property
    def tally(self) -> Tally:
        """How much agrees."""
        verdicts = [verdict(row) for row in self.outcome.rows if row.difference is not None]
        held = [claim.holds for claim in self.outcome.claims]
        return Tally(
            compared=len(verdicts),
            agree=verdicts.count("agrees"),
            better=verdicts.count("better"),
            worse=verdicts.count("worse"),
            differ=verdicts.count("differs"),
            untold=verdicts.count("unknown"),
            claims=len(held),
            held=held.count(True),
            unknown=held.count(None),
            failed=sum(result.status == "failed" for result in self.results),
        )


def verdict(row: Row) -> str:
    """Return ``"agrees"``, ``"better"``, ``"worse"``, ``"differs"``, or ``"unknown"`` where no deviation is known.

    It is empty where one of the two numbers is missing.

    Examples
    --------
    >>> from cofactor.experiments.experiment import Sample
    >>> here, published = Sample(0.3928, 0.0085), Sample(0.4302, 0.0022)
    >>> verdict(Row(data="ml-1m", method="HMF", metric="nmae", published=published, here=here))
    'better'
    """
    if row.difference is None:
        return ""
    if row.spread is None and not row.exact:
        return "unknown"
    if not row.outside:
        return "agrees"
    better = "" if row.exact else _better(row.metric)
    return "differs" if not better else "better" if (row.difference > 0) == (better == "higher") else "worse"


def _better(metric: str) -> str:
    """Return which direction is better; empty for what is no measure of methods."""
    if metric in METRICS:
        return METRICS[metric].better
    return "higher" if greater_is_better(metric) else "lower"


def reproduce(
    experiments: Iterable[Experiment], extent: Extent = "normal", *, store: ResultStore | None = None, **options: Any
) -> list[Reproduction]:
    """Run experiments; what the store holds is not run again.

    Parameters
    ----------
    experiments : iterable of Experiment
        Cells that two of them share run once.
    extent : {"quick", "normal", "full"}, default="normal"
        How much of each to run.
    store : ResultStore, optional
        Where results are kept, and found.
    **options
        Of `cofactor.evaluation.run_cells`.
    """
    cells = {experiment.name: (experiment, list(experiment.cells(extent))) for experiment in experiments}
    distinct = {cell.key: cell for _, ones in cells.values() for cell in ones}
    results = {result.key: result for result in run_cells(list(distinct.values()), store, **options)}
    return [
        Reproduction(experiment, extent, len(ones), [results[cell.key] for cell in ones if cell.key in results])
        for experiment, ones in cells.values()
    ]


def stored(experiments: Iterable[Experiment], extent: Extent, store: ResultStore) -> list[Reproduction]:
    """Return what a store holds of experiments, and run nothing."""
    found = []
    for experiment in experiments:
        cells = list(experiment.cells(extent))
        results = [result for cell in cells if (result := store.get(cell.key)) is not None]
        found.append(Reproduction(experiment, extent, len(cells), results))
    return found
