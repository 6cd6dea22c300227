"""The report of `cofactor demo labels`: one page, and the numbers as JSON."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.pages import Html, Section, document, paragraph, scrolling, section, strong, table
from cofactor.reports import demo

if TYPE_CHECKING:
    from cofactor.cli.label_demo import LabelStory
    from cofactor.cli.label_showcase import LabelTable

__all__ = ["results", "write"]


def results(story: LabelStory) -> dict[str, Any]:
    """Return the story as JSON can hold it."""
    import cofactor
    from cofactor.cli.label_demo import as_plain
    from cofactor.cli.label_showcase import METRICS

    plain = as_plain(story)
    for measured in plain["tables"]:
        for row in measured["rows"]:
            row["published"] = row["published"] and dict(zip(METRICS, row["published"], strict=True))
    del plain["example"]["html"], plain["example"]["text"]
    plain["next_steps"] = [command for command, _ in story.next_steps]
    return {"cofactor": cofactor.__version__, **plain}


def write(story: LabelStory, folder: Path) -> None:
    """Write report.html and results.json beside the pictures, which are there already."""
    demo.write_files(folder, results(story), page(story, folder))


def page(story: LabelStory, folder: Path) -> str:
    """Return the page, with the pictures of the folder inside."""
    from cofactor.cli.label_demo import notes

    example = story.example
    return document(
        "cofactor demo labels",
        paragraph(f"Seed {story.seed}; {demo.run(story.machine, story.seconds)}.", soft=True),
        *(paragraph(reason, soft=True) for reason in story.missing),
        *map(_results_on, story.tables),
        section(
            "How to read the tables",
            *(paragraph(text, soft=True) for text in ("Bold: the best of its column.", *notes(story))),
        ),
        section(
            "Predictions",
            paragraph(f"Five instances of the test part of {example.data}, by {example.model}."),
            scrolling(example.html, "Predictions"),
        ),
        *demo.pictures(folder, story.pictures),
        demo.how_to_go_on(story.next_steps),
    )


def _results_on(measured: LabelTable) -> Section:
    return section(
        measured.name,
        paragraph(f"{measured.description}."),
        _table(measured, "plain", "Plain cut at 0"),
        _table(measured, "learned", "Learned threshold"),
    )


def _table(measured: LabelTable, kind: str, caption: str) -> Html:
    from cofactor.cli.label_demo import published_cells, value_cells
    from cofactor.cli.label_showcase import METRICS

    rows: list[list[object]] = []
    soft = []
    for row, values in zip(measured.rows, value_cells(measured, kind), strict=True):
        cells = [strong(text) if best else text for text, best in values]
        rows.append([row.name, *cells, f"{row.seconds:.2f}", row.chosen[kind]])
        if kind == "plain" and row.published is not None:
            soft.append(len(rows))
            rows.append(["\u2003published", *published_cells(row), "", ""])
    heads = ["", *METRICS.values(), "seconds", "chosen in the first fold"]
    return table(heads, rows, caption=caption, text=[len(heads) - 1], soft=soft)
