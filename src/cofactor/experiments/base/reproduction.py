"""Run published tables and figures again, and count what holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cofactor.evaluation.run.cells import Cell, Result
from cofactor.evaluation.run.running import run_cells
from cofactor.evaluation.run.store import ResultStore
from cofactor.experiments.base.experiment import Experiment, Extent, Outcome
from cofactor.experiments.base.series import unfinished
from cofactor.published import load

__all__ = ["Reproduction", "Tally", "reproduce", "stored"]


@dataclass(frozen=True)
class Tally:
    """How many numbers of a reproduction agree with the printed ones, and how many claims hold.

    Parameters
    ----------
    compared : int
        Numbers that are printed and were measured, each once: beside what was measured as there, where there are other
        variants too. The five after it add up to it.
    agree : int
        Not further apart than two standard deviations.
    better, worse : int
        Further apart, ours the better, or the worse.
    differ : int
        Those printed ones that cannot be right: others contradict them.
    unjudged : int
        Those for which neither deviation is known, so that they cannot be judged.
    claims, held, unknown : int
        Claims of the source on what is measured here, those that hold, and those that what was run
        cannot decide.
    failed : int
        Cells that failed.
    """

    compared: int
    agree: int
    better: int
    worse: int
    differ: int
    unjudged: int
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
        """What the results show; its notes end with those on the published table, and on cells that failed."""
        found = self.experiment.outcome(self.results)
        of_table = load(self.experiment.tables[0]).notes if self.experiment.tables else ()
        return replace(found, notes=[*found.notes, *of_table, *unfinished(self.results)])

    @property
    def seconds(self) -> float:
        """Computing time of all cells that ran, one after the other."""
        return sum(result.seconds for result in self.results)

    @property
    def _verdicts(self) -> dict[tuple[str, str, str, str], str]:
        """The verdict on each printed number; variants come after what was measured as in the source."""
        found: dict[tuple[str, str, str, str], str] = {}
        for row in self.outcome.rows:
            if row.difference is not None:
                found.setdefault((row.data, row.protocol, row.method, row.metric), row.verdict)
        return found

    @cached_property
    def tally(self) -> Tally:
        """How much agrees."""
        verdicts = list(self._verdicts.values())
        held = [claim.holds for claim in self.outcome.claims if claim.origin == "source"]
        return Tally(
            compared=len(verdicts),
            agree=verdicts.count("agrees"),
            better=verdicts.count("better"),
            worse=verdicts.count("worse"),
            differ=verdicts.count("differs"),
            unjudged=verdicts.count("unknown"),
            claims=len(held),
            held=held.count(True),
            unknown=held.count(None),
            failed=sum(result.status == "failed" for result in self.results),
        )


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
    """Return what a store holds of experiments, and run nothing.

    Results on data sets that are not on this machine are found too, if the code is the same.
    """
    kept = {result.key: result for result in store.results()}
    elsewhere = {_without_checksum(result): result for result in kept.values()}
    found = []
    for experiment in experiments:
        cells = list(experiment.cells(extent))
        places = [
            kept.get(cell.key) or (None if cell.checksum else elsewhere.get(_without_checksum(cell))) for cell in cells
        ]
        found.append(Reproduction(experiment, extent, len(cells), [result for result in places if result is not None]))
    return found


def _without_checksum(one: Cell | Result) -> str:
    facts = [one.code, one.measure, one.method, one.data, one.split, one.seed, one.parameters]
    return json.dumps(facts, sort_keys=True)
