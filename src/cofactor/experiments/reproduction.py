"""What an experiment is: cells to measure, and what their results are held against; and how it is run.

A published table becomes `Row`: a printed number beside ours. A published picture, whose numbers are not printed,
becomes `Claim`: what the source says it shows, and whether that holds here. Both come with pictures.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Any, Literal

from cofactor.evaluation.running import Cell, run_cells
from cofactor.evaluation.store import ResultStore, Run
from cofactor.metrics import greater_is_better
from cofactor.published import METRICS, load
from cofactor.text import without_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Extent = Literal["quick", "normal", "full"]
"""How much of an experiment runs: one fold of smaller sets in less than a minute; all but the heaviest sets; all."""

EXTENTS: tuple[Extent, ...] = ("quick", "normal", "full")

_ROUNDING = 0.00051  #: half a unit of the third digit, and of float arithmetic


@dataclass(frozen=True)
class Sample:
    """Mean and standard deviation (n - 1) of n measurements; `std` is None where it is not known.

    Examples
    --------
    >>> print(Sample.of([0.70, 0.72, 0.74]))
    .720 ± .020
    >>> print(Sample(0.4019, 0.0044))
    .402 ± .004
    """

    mean: float
    std: float | None = None
    n: int | None = None

    @classmethod
    def of(cls, values: Sequence[float]) -> Sample:
        """Return mean and standard deviation of at least one value."""
        return cls(fmean(values), stdev(values) if len(values) > 1 else None, len(values))

    def text(self, digits: int = 3) -> str:
        """Return ``mean ± std`` with so many digits, without the zero before the point."""
        spread = "" if self.std is None else f" ± {without_zero(self.std, digits)}"
        return without_zero(self.mean, digits) + spread

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, kw_only=True)
class Row:
    """One number of a published table beside ours.

    Parameters
    ----------
    data, protocol, method, metric : str
        What was measured: names of the registries where there are such, metrics as `rating_report` and `label_report`
        call them.
    published, here : Sample or None
        None: not printed there, or not run here.
    variant : str
        How ours was measured, where there is more than one way: ``"learned threshold"``.
    reason : str
        Why the two differ, or why one is missing, where that is known.
    misprint : bool
        Whether the published number cannot be right.
    tolerance : float or None
        How far apart the two may be where both come from the same numbers, as tests recomputed from a printed table do.

    Examples
    --------
    >>> here, published = Sample(0.3928, 0.0085), Sample(0.4302, 0.0022)
    >>> Row(data="ml-1m", method="HMF", metric="nmae", published=published, here=here).verdict
    'better'
    """

    data: str
    method: str
    metric: str
    published: Sample | None
    here: Sample | None
    protocol: str = ""
    variant: str = ""
    reason: str = ""
    misprint: bool = False
    tolerance: float | None = None

    @property
    def difference(self) -> float | None:
        """Ours less the published one."""
        return None if self.published is None or self.here is None else self.here.mean - self.published.mean

    @property
    def limit(self) -> float | None:
        """How far apart the two may be: the tolerance, else two standard deviations of their difference.

        A deviation that is not known counts as the other one; without either of them the limit is None.
        """
        stds = [one.std for one in (self.published, self.here) if one is not None and one.std is not None]
        limit = self.tolerance if self.tolerance is not None else 2 * math.hypot(stds[0], stds[-1]) if stds else None
        return None if limit is None else max(limit, _ROUNDING)

    @property
    def outside(self) -> bool:
        """Whether the two are further apart than they may be."""
        return self.difference is not None and self.limit is not None and abs(self.difference) > self.limit

    @property
    def verdict(self) -> str:
        """``"agrees"``, ``"better"``, ``"worse"``, ``"differs"``, or ``"unknown"`` where no deviation is known.

        It is empty where one of the two numbers is missing, and ``"differs"`` where the published one cannot be right.
        """
        if self.difference is None:
            return ""
        if self.misprint:
            return "differs"
        if self.limit is None:
            return "unknown"
        if not self.outside:
            return "agrees"
        known = METRICS.get(self.metric)
        direction = known.better if known else "higher" if greater_is_better(self.metric) else "lower"
        if self.tolerance is not None or not direction:
            return "differs"
        return "better" if (self.difference > 0) == (direction == "higher") else "worse"


Origin = Literal["source", "print", "ours"]
"""Who makes a claim, and on which numbers: the source, held against ours or against its own printed ones; or we do."""


@dataclass(frozen=True)
class Claim:
    """A statement about a picture or a table, as a rule of its source, and whether it holds here.

    Parameters
    ----------
    statement : str
        In our words.
    holds : bool or None
        None: cannot be decided by what was run.
    measured : str
        The figures behind the answer.
    origin : {"source", "print", "ours"}
        Whether the source makes it and our numbers answer, or its own printed ones; or whether it is ours.
    """

    statement: str
    holds: bool | None
    measured: str
    origin: Origin = "source"


@dataclass(frozen=True)
class Drawing:
    """A picture that can be drawn: a file name without suffix, a caption, and what draws it."""

    name: str
    caption: str
    draw: Callable[[], Axes | Sequence[Axes]]


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What an experiment shows: numbers beside the published ones, claims that hold or do not, pictures, notes.

    Not among the notes are those on the published table, and on cells that failed: a `Reproduction` adds them.
    """

    rows: Sequence[Row] = ()
    claims: Sequence[Claim] = ()
    pictures: Sequence[Drawing] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published table or figure, declared: what to measure, and what to hold it against.

    Parameters
    ----------
    name : str
        Such as ``"thesis-table-3.19"``: a word for the source, and the place there.
    title : str
        What it shows, in our words.
    cells : callable
        ``cells(extent)`` returns what is measured. The cells of a smaller extent are among those of a larger one, so
        that a store serves all.
    outcome : callable
        ``outcome(results)`` is given the results of these cells, in their order, failed ones included.
    missing : sequence of str
        Data sets and methods of the source that are not run, each with the reason.
    tables : sequence of str
        Names of the published tables behind it (`cofactor.published`): of all of them the misprints are shown, of the
        first also the notes.
    work : str
        Where it is published.
    """

    name: str
    title: str
    cells: Callable[[Extent], Sequence[Cell]]
    outcome: Callable[[Sequence[Run]], Outcome]
    missing: Sequence[str] = ()
    tables: Sequence[str] = ()
    work: str = ""

    @property
    def place(self) -> str:
        """Where it is in its source, such as ``"table 3.19"``."""
        return " ".join(self.name.split("-")[1:])

    @property
    def source(self) -> str:
        """Where it is published, with the place."""
        return f"{self.work}, {self.place}"

    @property
    def misprints(self) -> list[str]:
        """What cannot be right in its tables, in words."""
        found = []
        for name in self.tables:
            number = "" if name == self.tables[0] else f"table {name.partition('-')[2]}: "
            found += [f"{number}{error}" for error in load(name).errors]
        return found


# ---------------------------------------------------------------- run again


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
    results: Sequence[Run]
    n_other_code: int = 0  #: results of other code than that at hand

    @cached_property
    def outcome(self) -> Outcome:
        """What the results show; its notes end with those on the published table, and on cells that failed."""
        found = self.experiment.outcome(self.results)
        of_table = load(self.experiment.tables[0]).notes if self.experiment.tables else ()
        other = f"{self.n_other_code} of {len(self.results)} results were computed by other code of cofactor"
        notes = [*found.notes, *of_table, *self.unfinished, *([other] if self.n_other_code else [])]
        return replace(found, notes=notes)

    @property
    def unfinished(self) -> list[str]:
        """A line on each kind of failure, such as a data set that is not on this machine."""
        failed = Counter((one.data, one.error.partition("\n")[0]) for one in self.results if one.status == "failed")
        return [f"{n} of {len(self.results)} cells failed on {data}: {error}" for (data, error), n in failed.items()]

    @property
    def seconds(self) -> float:
        """Computing time of all cells that ran, one after the other."""
        return sum(result.seconds for result in self.results)

    @cached_property
    def tally(self) -> Tally:
        """How much agrees; of several variants the first counts, which is what was measured as in the source."""
        first: dict[tuple[str, ...], str] = {}
        for row in self.outcome.rows:
            if row.difference is not None:
                first.setdefault((row.data, row.protocol, row.method, row.metric), row.verdict)
        verdicts = list(first.values())
        held = [claim.holds for claim in self.outcome.claims if claim.origin == "source"]
        agree, better, worse, differ, unjudged = map(
            verdicts.count, ("agrees", "better", "worse", "differs", "unknown")
        )
        failed = sum(result.status == "failed" for result in self.results)
        of_claims = (len(held), held.count(True), held.count(None))
        return Tally(len(verdicts), agree, better, worse, differ, unjudged, *of_claims, failed)


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
    cells = [(experiment, list(experiment.cells(extent))) for experiment in experiments]
    distinct = {cell.key: cell for _, ones in cells for cell in ones}
    results = {result.key: result for result in run_cells(list(distinct.values()), store, **options)}
    return [
        Reproduction(experiment, extent, len(ones), [results[cell.key] for cell in ones if cell.key in results])
        for experiment, ones in cells
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


def _facts(one: Cell | Run) -> str:
    """Return what a cell is, but for the code and the files of the data."""
    return json.dumps([one.measure, one.method, one.data, one.split, one.seed, one.parameters], sort_keys=True)
