"""What an experiment is: cells to measure, and what their results are held against.

A published table becomes `Row`: a printed number beside ours. A published picture, whose numbers are not printed,
becomes `Claim`: what the source says it shows, and whether that holds here. Both come with pictures.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TYPE_CHECKING, Literal

from cofactor.evaluation.running import Cell
from cofactor.evaluation.store import Result
from cofactor.metrics import greater_is_better
from cofactor.published import METRICS, SOURCES, load
from cofactor.text import without_zero

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EXTENTS", "WORKS", "Claim", "Experiment", "Extent", "Origin", "Outcome", "Picture", "Row", "Sample"]

Extent = Literal["quick", "normal", "full"]
"""How much of an experiment runs: one fold of smaller sets in less than a minute; all but the heaviest sets; all."""

EXTENTS: tuple[Extent, ...] = ("quick", "normal", "full")

WORKS: Mapping[str, str] = {
    "thesis": SOURCES["kumar"],
    "omf": SOURCES["otalora"],
    "mnmtf": SOURCES["kimura"],
    "li": SOURCES["li"],
}
"""The sources, by the word with which the names of their experiments begin."""

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
    def spread(self) -> float | None:
        """Standard deviation of the difference: one that is not known counts as the other; None where neither is."""
        if self.published is None or self.here is None:
            return None
        stds = [std for std in (self.published.std, self.here.std) if std is not None]
        return math.hypot(stds[0], stds[-1]) if stds else None

    @property
    def difference(self) -> float | None:
        """Ours less the published one."""
        return None if self.published is None or self.here is None else self.here.mean - self.published.mean

    @property
    def outside(self) -> bool:
        """Whether the two are further apart than two standard deviations of their difference, or than rounding."""
        if self.difference is None:
            return False
        limit = self.tolerance
        if limit is None:
            limit = math.inf if self.spread is None else 2 * self.spread
        return abs(self.difference) > max(limit, _ROUNDING)

    @property
    def verdict(self) -> str:
        """``"agrees"``, ``"better"``, ``"worse"``, ``"differs"``, or ``"unknown"`` where no deviation is known.

        It is empty where one of the two numbers is missing, and ``"differs"`` where the published one cannot be right.
        """
        if self.difference is None:
            return ""
        if self.misprint:
            return "differs"
        if self.spread is None and self.tolerance is None:
            return "unknown"
        if not self.outside:
            return "agrees"
        direction = _better(self.metric)
        if self.tolerance is not None or not direction:
            return "differs"
        return "better" if (self.difference > 0) == (direction == "higher") else "worse"


def _better(metric: str) -> str:
    """Return which direction is better; empty for what is no measure of methods."""
    if metric in METRICS:
        return METRICS[metric].better
    return "higher" if greater_is_better(metric) else "lower"


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
class Picture:
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
    pictures: Sequence[Picture] = ()
    notes: Sequence[str] = ()


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A published table or figure, declared: what to measure, and what to hold it against.

    Parameters
    ----------
    name : str
        Such as ``"thesis-table-3.19"``: a key of `WORKS`, and the place there.
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
    """

    name: str
    title: str
    cells: Callable[[Extent], Sequence[Cell]]
    outcome: Callable[[Sequence[Result]], Outcome]
    missing: Sequence[str] = ()
    tables: Sequence[str] = ()

    @property
    def place(self) -> str:
        """Where it is in its source, such as ``"table 3.19"``."""
        return " ".join(self.name.split("-")[1:])

    @property
    def source(self) -> str:
        """Where it is published."""
        work = self.name.partition("-")[0]
        return f"{WORKS.get(work, work)}, {self.place}"

    @property
    def misprints(self) -> list[str]:
        """What cannot be right in its tables, in words."""
        found = []
        for name in self.tables:
            number = "" if name == self.tables[0] else f"table {name.partition('-')[2]}: "
            found += [f"{number}{error}" for error in load(name).errors]
        return found
