"""Run published tables and figures again, and count what holds."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cofactor.evaluation.running import Cell, run_cells
from cofactor.evaluation.store import Result, ResultStore
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
    n_other_code: int = 0  #: results of other code than that at hand

    @cached_property
    def outcome(self) -> Outcome:
        """What the results show; its notes end with those on the published table, and on cells that failed."""
        found = self.experiment.outcome(self.results)
        of_table = load(self.experiment.tables[0]).notes if self.experiment.tables else ()
        other = f"{self.n_other_code} of {len(self.results)} results were computed by other code of cofactor"
        notes = [*found.notes, *of_table, *unfinished(self.results), *([other] if self.n_other_code else [])]
        return replace(found, notes=notes)

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

    Results on data sets that are not on this machine are found too. Where a result of the code at hand is missing, the
    last one of other code stands for it, and a note says so.
    """
    kept = {result.key: result for result in store.results()}
    last = {_facts(result): result for result in kept.values()}
    found = []
    for experiment in experiments:
        cells = list(experiment.cells(extent))
        pairs = [(cell, kept.get(cell.key) or last.get(_facts(cell))) for cell in cells]
        there = [(cell, one) for cell, one in pairs if one and cell.checksum in ("", one.checksum)]
        n_other = sum(cell.code != one.code for cell, one in there)
        found.append(Reproduction(experiment, extent, len(cells), [one for _, one in there], n_other))
    return found


def _facts(one: Cell | Result) -> str:
    """Return what a cell is, but for the code and the files of the data."""
    return json.dumps([one.measure, one.method, one.data, one.split, one.seed, one.parameters], sort_keys=True)
