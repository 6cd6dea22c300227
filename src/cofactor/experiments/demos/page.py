"""The page of a demo: its tables, examples, pictures, and what to do next."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from cofactor.experiments.demos.base import Demo, Finding, Trial, lines_of
from cofactor.pages import Html, Section, document, paragraph, section, strong, table
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
    notes = ("Bold: the best of its column.", *demo.notes(finding))
    captions = {picture.file: picture.caption for picture in finding.pictures}
    return document(
        demo.title,
        paragraph(f"Seed {finding.extent.seed}; {parts.run(finding.machine, finding.seconds)}.", soft=True),
        *demo.lead(finding),
        *(_trial(demo, trial) for trial in finding.trials),
        section("How to read the tables", *(paragraph(text, soft=True) for text in notes)),
        *demo.sections(finding),
        *parts.pictures(folder, captions),
        parts.how_to_go_on(finding.next_steps),
    )


def _trial(demo: Demo, trial: Trial) -> Section:
    tables = [_table(demo, trial, way, caption) for way, caption in demo.ways.items()]
    return section(trial.data.name, paragraph(demo.opening(trial)), *tables)


def _table(demo: Demo, trial: Trial, way: str, caption: str) -> Html:
    lines = lines_of(demo, trial, way)
    rows = [
        [
            f"\u00a0\u00a0\u00a0{line.name}" if line.published else line.name,
            *(strong(text) if best else text for text, best in line.measures),
            line.seconds,
            ", ".join(f"{name.rpartition('__')[2]} {shortened(value)}" for name, value in line.chosen.items()),
        ]
        for line in lines
    ]
    heads = ["", *demo.metrics.values(), "seconds", "chosen"]
    name = "" if caption else f"Results on {trial.data.name}"
    soft = [k for k, line in enumerate(lines) if line.soft]
    return table(heads, rows, caption=caption, name=name, text=[len(heads) - 1], soft=soft)


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
