"""The page of a demo: its tables, examples, pictures, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cofactor.experiments.demos.base import Demo, Finding, Line, Trial, lines_of
from cofactor.pages import Html, Section, document, fold, measured, paragraph, section, strong, table
from cofactor.reports import demo as parts
from cofactor.version import __version__

__all__ = ["results_of", "write_report"]


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
    parts.write_files(folder, results_of(demo, finding), _page(demo, finding, folder))


def _page(demo: Demo, finding: Finding, folder: Path) -> str:
    captions = {picture.file: picture.caption for picture in finding.pictures}
    ran = f"Seed {finding.extent.seed}; {parts.run(finding.machine, finding.seconds)}."
    return document(
        demo.title,
        *demo.lead(finding),
        *(_trial(demo, trial) for trial in finding.trials),
        fold("How this was measured", *map(paragraph, demo.notes(finding)), paragraph(ran, soft=True)),
        *demo.sections(finding),
        *parts.pictures(folder, captions),
        parts.how_to_go_on(finding.next_steps),
        contents=len(finding.trials) > 1,
    )


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


def _named(demo: Demo, line: Line) -> Html:
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
