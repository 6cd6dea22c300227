"""A reproduction on the terminal: claims, published and measured numbers, and what was not run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from cofactor.cli.board import duration
from cofactor.cli.output import human_console

if TYPE_CHECKING:
    from rich.console import Console, JustifyMethod

    from cofactor.experiments.reproduction import Origin, Reproduction, Row

__all__ = ["show_lines", "show_reproduction"]

_HOLDS = {True: "[green]✓ holds[/green]", False: "[red]✗ does not hold[/red]", None: "[dim]? cannot be told[/dim]"}

_ORIGIN: dict[Origin, str] = {"source": "", "print": "by the printed numbers: ", "ours": "not in the source: "}


def show_reproduction(one: Reproduction) -> None:
    """Print the claims of an experiment, and published and measured numbers beside each other."""
    from rich.markup import escape
    from rich.padding import Padding

    console, outcome = human_console(), one.outcome
    console.print(f"\n[bold]{escape(one.experiment.name)}[/bold]  {escape(one.experiment.title)}")
    ran = f"{len(one.results)} of {one.n_cells} cells, {duration(one.seconds)} of computing"
    console.print(f"[dim]{escape(one.experiment.source)}; {ran if one.results else 'nothing was run'}[/dim]")
    for origin, words in _ORIGIN.items():
        for claim in (claim for claim in outcome.claims if claim.origin == origin):
            console.print(f"{_HOLDS[claim.holds]}  {words}{escape(claim.statement)}")
            if claim.measured:
                console.print(Padding(f"[dim]{escape(claim.measured)}[/dim]", (0, 0, 0, 3)))
    for protocol, metric in dict.fromkeys((row.protocol, row.metric) for row in outcome.rows):
        _show_table(console, [row for row in outcome.rows if (row.protocol, row.metric) == (protocol, metric)])
    for line in _lines(one):
        console.print(f"[dim]– {escape(line)}[/dim]")


def _show_table(console: Console, rows: Sequence[Row]) -> None:
    """Print *published | here | difference* of one metric, and below it the numbers that are only published."""
    from rich.markup import escape

    from cofactor.experiments.document import columns_of, digits_of, printed_only, reasons_of, title_of

    title, digits = title_of(rows[0].metric, rows[0].protocol), digits_of(rows)
    measured, rest = [row for row in rows if row.here is not None], [row for row in rows if row.here is None]
    if measured:
        reasons = reasons_of(measured)
        lines = [list(columns_of(row, reasons, digits).values()) for row in measured]
        header = ["diff" if name == "difference" else name for name in columns_of(measured[0], reasons, digits)]
        show_lines(console, title, header, lines, n_names=2, folded=("method", 16))
        for reason, mark in reasons.items():
            console.print(f"[dim]{escape(mark)} {escape(reason)}[/dim]")
    if rest:
        header, *lines = printed_only(rest)
        show_lines(console, f"{title}, published only", header, lines, n_names=1)


def show_lines(
    console: Console,
    title: str,
    header: Sequence[str],
    lines: Sequence[Sequence[str]],
    n_names: int,
    folded: tuple[str, int] = ("", 0),
) -> None:
    """Print a table. One column may be folded; if there is still no room, each row becomes a sentence."""
    from rich import box
    from rich.markup import escape
    from rich.measure import Measurement
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD, title=escape(title) or None, title_justify="left", pad_edge=False, collapse_padding=True
    )
    for k, name in enumerate(header):
        side: JustifyMethod = "right" if name and k >= n_names else "left"
        # A column that may be folded is measured as narrow as it can be.
        narrow = folded[1] if name == folded[0] else None
        table.add_column(escape(name), justify=side, no_wrap=narrow is None, max_width=narrow, overflow="fold")
    for line in lines:
        table.add_row(*map(escape, line))
    if Measurement.get(console, console.options.update(max_width=1000), table).maximum <= console.width:
        for column in table.columns:
            column.max_width = None
        console.print(table)
        return
    console.print(f"\n[italic]{escape(title)}[/italic]" if title else "")
    for line in lines:
        names = ", ".join(filter(None, line[:n_names]))
        pairs = zip(header[n_names:], line[n_names:], strict=True)
        values = ", ".join(f"{name} {value}".strip() for name, value in pairs if value)
        console.print(f"{escape(names)}: {escape(values)}" if names else escape(values))


def _lines(one: Reproduction) -> Iterator[str]:
    tally = one.tally
    if tally.compared:
        yield (
            f"{tally.compared} printed numbers compared: {tally.agree} agree, ours is "
            f"better than {tally.better} and worse than {tally.worse}; {tally.differ} cannot be right"
            + (f", {tally.unjudged} have no deviation" if tally.unjudged else "")
        )
    yield from (f"not run: {line}" for line in one.experiment.missing)
    yield from (f"misprint: {line}" for line in one.experiment.misprints)
    yield from one.outcome.notes  # among them what failed
