"""The report of `cofactor demo labels`: one page, and the numbers as JSON."""

from __future__ import annotations

from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.report import document, figure, how_to_go_on, run, write_files

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
    for table in plain["tables"]:
        for row in table["rows"]:
            row["published"] = row["published"] and dict(zip(METRICS, row["published"], strict=True))
    del plain["example"]["html"], plain["example"]["text"]
    plain["next_steps"] = [command for command, _ in story.next_steps]
    return {"cofactor": cofactor.__version__, **plain}


def write(story: LabelStory, folder: Path) -> None:
    """Write report.html and results.json beside the pictures, which are there already."""
    write_files(folder, results(story), page(story, folder))


def page(story: LabelStory, folder: Path) -> str:
    """Return the page, with the pictures of the folder inside."""
    from cofactor.cli.label_demo import notes

    example = story.example
    texts = ["Bold: the best of its column.", *notes(story)]
    parts = [
        "<h1>cofactor demo labels</h1>",
        f'<p class="soft">Seed {story.seed}; {run(story)}.</p>',
        *(f'<p class="soft">{escape(reason)}</p>' for reason in story.missing),
        *(part for table in story.tables for part in _results_on(table)),
        *(f'<p class="soft">{escape(text)}</p>' for text in texts),
        "<h2>Predictions</h2>",
        f"<p>Five instances of the test part of {escape(example.data)}, by {escape(example.model)}.</p>",
        f'<div class="scroll">{example.html}</div>',
        "<h2>Pictures</h2>" if story.pictures else "",
        *(figure(folder / name, caption) for name, caption in story.pictures.items()),
        *how_to_go_on(story),
    ]
    return document(parts)


def _results_on(table: LabelTable) -> list[str]:
    return [
        f"<h2>{escape(table.name)}</h2><p>{escape(table.description)}.</p>",
        f"<h3>Plain cut at 0</h3>{_table(table, 'plain')}",
        f"<h3>Learned threshold</h3>{_table(table, 'learned')}",
    ]


def _table(table: LabelTable, kind: str) -> str:
    from cofactor.cli.label_demo import published_cells, value_cells
    from cofactor.cli.label_showcase import METRICS

    lines = []
    for row, values in zip(table.rows, value_cells(table, kind), strict=True):
        cells = "".join(f"<td><b>{text}</b></td>" if best else f"<td>{text}</td>" for text, best in values)
        chosen = f'<td class="text">{escape(row.chosen[kind])}</td>'
        lines.append(f"<tr><td>{escape(row.name)}</td>{cells}<td>{row.seconds:.2f}</td>{chosen}</tr>")
        if kind == "plain" and row.published is not None:
            figures = "".join(f"<td>{text}</td>" for text in published_cells(row))
            lines.append(f'<tr class="rule"><td>&emsp;published</td>{figures}<td></td><td></td></tr>')
    heads = "".join(f"<th>{escape(name)}</th>" for name in (*METRICS.values(), "seconds"))
    head = f'<th></th>{heads}<th class="text">chosen in the first fold</th>'
    return f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
