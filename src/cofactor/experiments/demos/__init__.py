"""Demos: what one declares, and the one way to run it and to write its page.

A demo is a comparison of methods on data, measured as ``cofactor evaluate`` and ``cofactor compare`` measure, beside
published figures, with examples of what the best method predicts, and pictures. It prints nothing: a `Reporter` shows
what happens, and a `Finding` holds what came out. The words are in ``texts.toml``.
"""

from __future__ import annotations

import tomllib
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, median
from typing import Any, ClassVar, NamedTuple, Protocol

from cofactor.kernels.cache import fault
from cofactor.metrics import greater_is_better
from cofactor.model.selection.search import Search
from cofactor.pages import Html, Section, document, fold, measured, paragraph, section, strong, table
from cofactor.plots import save_figure
from cofactor.progress import COMPILING
from cofactor.published import METRICS, value
from cofactor.reports import demo as parts
from cofactor.service import task_named
from cofactor.service.results import Loaded
from cofactor.version import __version__
from cofactor.warming import compiling

__all__ = [
    "Demo",
    "Extent",
    "Finding",
    "Method",
    "MethodResult",
    "Picture",
    "Reporter",
    "Trial",
    "results_of",
    "run_demo",
    "write_report",
]

TEXTS: Mapping[str, Mapping[str, Any]] = tomllib.loads(Path(__file__).with_name("texts.toml").read_text("utf-8"))
Figures = Mapping[str, float]


@dataclass(frozen=True)
class Extent:
    """How much of a demo is wanted.

    Parameters
    ----------
    full : bool, default=False
        More models, more values of their parameters, more pictures: minutes instead of seconds.
    seed : int, default=0
        Of splits, models and synthetic data.
    offline : bool, default=False
        Download nothing.
    download : object, optional
        Progress bar of a download, as `cofactor.datasets.fetch` takes it.
    """

    full: bool = False
    seed: int = 0
    offline: bool = False
    download: Any = None


@dataclass(frozen=True)
class Method:
    """A method of a comparison.

    Parameters
    ----------
    search : Search or estimator
        The model, with what is tried for its parameters, or as it is.
    prepare : callable, optional
        From data and training rows to the data as the method takes them.
    """

    search: Any
    prepare: Callable[[Any, Any], Any] = lambda data, train: data


@dataclass(frozen=True)
class MethodResult:
    """What was measured of a method, means over splits.

    Attributes
    ----------
    name : str
        Of the method.
    measures : mapping from str to mapping
        For each way to decide ("" where there is but one) the measures.
    seconds : float, optional
        Time of one fit with the parameters chosen; None of a rule that is not fitted.
    published : mapping from str to float
        Published measures; empty without any.
    chosen : mapping from str to dict
        For each way to decide the parameters which the first split chose; empty where there was nothing to choose.
    fitted : Search or estimator, optional
        What the first split fitted.
    extra : mapping from str to object
        What else the demo knows of it.
    """

    name: str
    measures: Mapping[str, Figures]
    seconds: float | None = None
    published: Figures = field(default_factory=dict)
    chosen: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    fitted: Any = None
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Trial:
    """A comparison on one data set.

    Attributes
    ----------
    data : RatingDataset or LabelDataset
        The data.
    parts : list
        Training and test rows of each split, as the task takes them.
    methods : mapping from str to Method
        What is compared.
    rows : list of MethodResult
        What was found, in the same order; baselines at the end.
    """

    data: Any
    parts: list[Any]
    methods: Mapping[str, Method]
    rows: list[MethodResult] = field(default_factory=list)

    def row(self, name: str) -> MethodResult:
        """Return what was found of a method."""
        return next(row for row in self.rows if row.name == name)

    def prepared(self, name: str) -> Any:
        """Return the data of the first split as a method takes them."""
        return self.methods[name].prepare(self.data, self.parts[0][0])


@dataclass(frozen=True)
class Picture:
    """A picture in the report: the name of its file, and what it shows."""

    file: str
    caption: str


@dataclass
class Finding:
    """All that a demo found."""

    extent: Extent
    trials: list[Trial] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  #: why data sets are not here
    examples: dict[str, Any] = field(default_factory=dict)
    pictures: list[Picture] = field(default_factory=list)
    seconds: float = 0.0
    machine: str = ""
    folder: str = "demo-report"  #: where the report goes, as commands name it
    next_steps: list[tuple[str, str]] = field(default_factory=list)

    def base(self) -> dict[str, Any]:
        """Return what the JSON of every demo holds."""
        return {
            "full": self.extent.full,
            "seed": self.extent.seed,
            "pictures": {picture.file: picture.caption for picture in self.pictures},
            "seconds": self.seconds,
            "machine": self.machine,
            "next_steps": [command for command, _ in self.next_steps],
        }


class Reporter(Protocol):
    """Shows what a demo does."""

    def heading(self, text: str) -> None:
        """Begin a new part."""

    def say(self, text: str, *, soft: bool = False) -> None:
        """Show a line."""

    def steps(self, total: int) -> AbstractContextManager[None]:
        """Within the block, count so many steps."""

    def step(self, text: str) -> None:
        """Show that a step begins."""

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]], *, soft: Sequence[int] = ()) -> None:
        """Show a table; cells with a star are the best of their columns, soft rows matter less."""


class Demo(ABC):
    """A declared demo; subclasses say what is compared, and what else is shown.

    The attributes below, but for the first two, are those of ``texts.toml`` under the name of the demo.

    Attributes
    ----------
    name, task : str
        Of the demo, and of its task.
    title : str
        Of the report.
    metrics : mapping from str to str
        Measures to show, and their headings.
    tables : list of str
        Names of the published tables (`cofactor.published`) whose figures stand beside them.
    about : mapping from str to str
        What methods are, in a few words.
    ways : mapping from str to str
        Ways to decide, and the captions of their tables.
    words, captions, steps : mapping from str to str
        What it says; captions of all pictures which a report may have, by the names of their files; commands to go on
        with, each with what it does.
    slow_to_compile : list of str
        Models whose kernels are compiled side by side before the comparison, if they are not on disk.
    """

    name: ClassVar[str]
    task: ClassVar[str]
    title: str
    metrics: Mapping[str, str]
    tables: Sequence[str]
    words: Mapping[str, str]
    captions: Mapping[str, str]
    steps: Mapping[str, str]
    about: Mapping[str, str] = {}
    ways: Mapping[str, str] = {"": ""}
    slow_to_compile: Sequence[str] = ()

    def __init__(self) -> None:
        vars(self).update(TEXTS[self.name])

    @abstractmethod
    def data(self, extent: Extent, report: Reporter) -> tuple[list[Any], list[str]]:
        """Return the data sets, and why others are missing; synthetic data where none is here."""

    @abstractmethod
    def methods(self, data: Any, extent: Extent) -> dict[str, Method]:
        """Return what is compared, by name."""

    @abstractmethod
    def parts(self, data: Any, extent: Extent) -> list[Any]:
        """Return the parts of each split, as `Task.measure` takes them."""

    def published(self, data: Any, method: str) -> Figures:
        """Return the published figures of a method on a data set, as far as there are any."""
        names = [metric for metric in self.metrics if metric in METRICS]
        found = {metric: value(self.tables, method, metric, data=data.name) for metric in names}
        return {metric: number for metric, number in found.items() if number is not None}

    def heading(self, trial: Trial) -> str:
        """Return the heading of a comparison."""
        return str(trial.data.name)

    def opening(self, trial: Trial) -> str:
        """Return the text about the data that stands before the comparison."""
        return f"{trial.data.description}."

    def extra(self, trial: Trial, name: str, fitted: Any) -> dict[str, Any]:
        """Return what to keep of a fitted method besides its measures."""
        return {}

    def summary(self, row: MethodResult) -> str:
        """Return the line to show when a method is done; empty for none."""
        return ""

    def baselines(self, trial: Trial) -> Iterator[MethodResult]:
        """Yield rules without a model."""
        yield from ()

    @abstractmethod
    def notes(self, finding: Finding) -> list[str]:
        """Return what must be known to read the tables."""

    @abstractmethod
    def show_examples(self, finding: Finding, report: Reporter, number: int) -> None:
        """Make examples of what a good method predicts, and show them; headings count from `number`."""

    def write_data(self, finding: Finding, place: Path) -> None:
        """Write data that are made up into a folder, for the commands to go on with; by default there are none."""
        return

    @abstractmethod
    def draw(self, finding: Finding, place: Path, report: Reporter) -> Iterator[Picture]:
        """Draw pictures into a folder."""

    def drawn(self, axes: Any, path: Path, **words: Any) -> Picture:
        """Save a picture, and return it with its caption, in which these words stand."""
        save_figure(axes, path)
        return Picture(path.name, self.captions[path.name].format(**words))

    @abstractmethod
    def next_steps(self, finding: Finding) -> list[tuple[str, str]]:
        """Return commands to go on with, each with what it does."""

    def commands(self, **words: str) -> list[tuple[str, str]]:
        """Return the declared commands, in which these words stand, each with what it does."""
        return [(command.format(**words), meaning) for command, meaning in self.steps.items()]

    @abstractmethod
    def as_json(self, finding: Finding) -> dict[str, Any]:
        """Return the finding as JSON can hold it."""

    @abstractmethod
    def sections(self, finding: Finding) -> list[Html | Section]:
        """Return the parts of the page between the tables and the pictures."""

    def lead(self, finding: Finding) -> list[Html]:
        """Return the parts of the page before the tables."""
        return []


# ---------------------------------------------------------------- run


def run_demo(demo: Demo, extent: Extent, report: Reporter) -> Finding:
    """Run the comparisons of a demo.

    Parameters
    ----------
    demo : Demo
        What to run.
    extent : Extent
        How much of it.
    report : Reporter
        Shows what happens.

    Returns
    -------
    Finding
        Without examples and pictures: see `Demo.show_examples` and `Demo.draw`.
    """
    with _compiled(demo.slow_to_compile, report):
        sets, missing = demo.data(extent, report)
    finding = Finding(extent, missing=missing)
    for number, data in enumerate(sets, 1):
        trial = Trial(data, demo.parts(data, extent), demo.methods(data, extent))
        report.heading(f"{number}  {demo.heading(trial)}")
        report.say(demo.opening(trial))
        _compare(demo, trial, report)
        trial.rows += demo.baselines(trial)
        finding.trials.append(trial)
        for way, caption in demo.ways.items():
            if caption:
                report.say(f"\n{caption}")
            _show_table(demo, lines_of(demo, trial, way), report)
    for text in ("* The best of its column.", *demo.notes(finding)):
        report.say(text, soft=True)
    return finding


@contextmanager
def _compiled(models: Sequence[str], report: Reporter) -> Iterator[None]:
    """Compile the kernels of models within the block, in a process for each core, and wait for them at its end."""
    if not models or fault():  # what processes compile would be lost
        yield
        return
    with compiling(n_jobs=-1, models=models, plain=True) as steps:
        yield
        with report.steps(len(models)):
            report.step(COMPILING)
            with suppress(Exception):  # whatever keeps processes from working: kernels are compiled where they are used
                for _, _, name in steps:
                    report.step(f"{COMPILING}: {name} is ready")


def _show_table(demo: Demo, lines: Sequence[TableLine], report: Reporter) -> None:
    """Show a table on a terminal; a star marks the best."""
    rows = [
        [f"  {line.name}" if line.published else line.name]
        + [f"{text}*" if best else f"{text} " for text, best in line.measures]
        + [line.seconds]
        for line in lines
    ]
    soft = [k for k, line in enumerate(lines) if line.soft]
    report.table(["", *demo.metrics.values(), "seconds"], rows, soft=soft)


def _compare(demo: Demo, trial: Trial, report: Reporter) -> None:
    """Measure every method on every split; keep what the first split fitted."""
    task = task_named(demo.task)
    plain = [method for method in trial.methods.values() if not isinstance(method.search, Search)]
    with report.steps(len(trial.methods) * len(trial.parts) + len(plain)):
        for method in plain:  # a search has fitted its model before the fit whose time is taken
            report.step("loading or compiling code")
            task.warm_up([method.search], Loaded(trial.data.name, method.prepare(trial.data, trial.parts[0][0])))
        for name, method in trial.methods.items():
            runs: list[Mapping[str, dict[str, Any]]] = []
            kept: list[Any] = []
            for k, part in enumerate(trial.parts):
                split = f", split {k + 1} of {len(trial.parts)}" if len(trial.parts) > 1 else ""
                report.step(f"{name}{split}")
                loaded = Loaded(trial.data.name, method.prepare(trial.data, part[0]))
                with warnings.catch_warnings():
                    # Candidates at the ends of the grid may stop early; they are judged by what they predict.
                    warnings.simplefilter("ignore")
                    runs.append(task.measure(method.search, loaded, part, kept.append))
            trial.rows.append(_row(demo, trial, name, runs, kept))
            summary = demo.summary(trial.rows[-1])
            if summary:
                report.say(summary)


def _row(
    demo: Demo, trial: Trial, name: str, runs: list[Mapping[str, dict[str, Any]]], kept: list[Any]
) -> MethodResult:
    first = kept[0]
    measures = {
        way: {key: fmean(run[way][key] for run in runs) for key in demo.metrics if key in runs[0][way]}
        for way in demo.ways
        if way in runs[0]
    }
    if isinstance(first, Search):
        seconds = [fitted.seconds_[_key(fitted, "")] for fitted in kept]
        chosen = {way: dict(first.choices_[_key(first, way)].parameters) for way in demo.ways}
    else:
        seconds, chosen = [run[""]["fit_seconds"] for run in runs], {}
    published, extra = demo.published(trial.data, name), demo.extra(trial, name, first)
    return MethodResult(name, measures, median(seconds), published, chosen, first, extra)


def _key(fitted: Search, way: str) -> str:
    """Return what a search calls a way to decide: where there is but one, it is the model's own."""
    return way or ("plain" if "plain" in fitted.choices_ else "own")


class TableLine(NamedTuple):
    """A line of a table: a row, or what is published of the row above."""

    name: str
    measures: list[tuple[str, bool]]  #: each with whether it is the best of its column
    seconds: str = ""
    chosen: Mapping[str, Any] = {}
    soft: bool = True  #: whether it matters less than others
    published: bool = True


def lines_of(demo: Demo, trial: Trial, way: str) -> list[TableLine]:
    """Return the lines of the table for one way to decide; published figures are in the table of the first way.

    Parameters
    ----------
    demo : Demo
        Which measures there are.
    trial : Trial
        What was measured.
    way : str
        To decide.
    """
    rows = [row for row in trial.rows if way in row.measures]
    texts = [[f"{row.measures[way][key]:.3f}" for key in demo.metrics] for row in rows]
    tops = []
    for key, column in zip(demo.metrics, zip(*texts, strict=True), strict=True):
        choose = max if greater_is_better(key) else min
        tops.append(choose(column, key=float) if len(set(column)) > 1 else None)
    lines = []
    for row, numbers in zip(rows, texts, strict=True):
        measures = [(text, text == top) for text, top in zip(numbers, tops, strict=True)]
        seconds = "" if row.seconds is None else f"{row.seconds:.1f}"
        chosen = row.chosen.get(way, {})
        lines.append(TableLine(row.name, measures, seconds, chosen, soft=row.seconds is None, published=False))
        if row.published and way == next(iter(demo.ways)):
            known = [f"{row.published[key]:.3f}" if key in row.published else "" for key in demo.metrics]
            lines.append(TableLine("published", [(text, False) for text in known]))
    return lines


# ---------------------------------------------------------------- the page


def results_of(demo: Demo, finding: Finding) -> dict[str, Any]:
    """Return what a demo found as JSON can hold it.

    Parameters
    ----------
    demo : Demo
        Which one.
    finding : Finding
        What it found.
    """
    return {"cofactor": __version__, **demo.as_json(finding)}


def write_report(demo: Demo, finding: Finding, folder: Path) -> None:
    """Write report.html and results.json beside the pictures, which are there already.

    Parameters
    ----------
    demo : Demo
        Which one.
    finding : Finding
        What it found.
    folder : Path
        Where the pictures are.
    """
    captions = {picture.file: picture.caption for picture in finding.pictures}
    ran = f"Seed {finding.extent.seed}; {parts.run(finding.machine, finding.seconds)}."
    page = document(
        demo.title,
        *demo.lead(finding),
        *(_trial(demo, trial) for trial in finding.trials),
        fold("How this was measured", *map(paragraph, demo.notes(finding)), paragraph(ran, soft=True)),
        *demo.sections(finding),
        *parts.pictures(folder, captions),
        parts.how_to_go_on(finding.next_steps),
        contents=len(finding.trials) > 1,
    )
    parts.write_files(folder, results_of(demo, finding), page)


def _trial(demo: Demo, trial: Trial) -> Section:
    tables = [_table(demo, trial, way, caption) for way, caption in demo.ways.items()]
    best = paragraph("Bold: the best of its column.", soft=True)
    return section(demo.heading(trial), paragraph(demo.opening(trial)), *tables, best)


def _table(demo: Demo, trial: Trial, way: str, caption: str) -> Html:
    lines = lines_of(demo, trial, way)
    rows = [
        [
            f"\u00a0\u00a0\u00a0{line.name}" if line.published else _named(demo, line),
            *(strong(text) if best else text for text, best in line.measures),
            line.seconds,
        ]
        for line in lines
    ]
    heads = ["", *demo.metrics.values(), "seconds"]
    name = "" if caption else f"Results on {trial.data.name}"
    soft = [k for k, line in enumerate(lines) if line.soft]
    return table(heads, rows, caption=caption, name=name, soft=soft, stacked=True)


def _named(demo: Demo, line: TableLine) -> Html:
    """Return the name of a method, and below it what it is, and the parameters that were chosen."""
    chosen = [f"{name.rpartition('__')[2]} {shortened(value)}" for name, value in line.chosen.items()]
    return measured(line.name, "; ".join(filter(None, [demo.about.get(line.name, ""), ", ".join(chosen)])))


def shortened(value: Any) -> str:
    """Write a parameter that was chosen.

    Examples
    --------
    >>> shortened(17.7827941), shortened(1000.0), shortened("global")
    ('17.8', '1000', 'global')
    """
    if not isinstance(value, float):
        return str(value)
    return f"{value:.0f}" if value >= 1000 else f"{value:.3g}"
