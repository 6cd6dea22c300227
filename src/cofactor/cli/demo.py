"""``cofactor demo``: everything in a minute or two; ``cofactor demo serve``: a page on which to rate films."""

from __future__ import annotations

import logging
import os
import platform
import shutil
import sys
import tempfile
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.datasets import warn_of_data_variable
from cofactor.cli.files import check_folder
from cofactor.cli.interrupts import loading
from cofactor.cli.output import Download, human_console, limited_threads, note, print_json
from cofactor.cli.serve import server_for
from cofactor.progress import Display
from cofactor.text import plural

if TYPE_CHECKING:
    from cofactor.experiments.demos import Demo, Finding


_PAGE = "report.html"
_NUMBERS = "results.json"
_NARROW = 48  #: characters of a column of words


def demo(
    task: Annotated[
        str,
        typer.Argument(
            metavar=f"[{options.TASK_NAMES}]", callback=options.task_name, help="What to show.", show_default=True
        ),
    ] = "ratings",
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FOLDER",
            help="Where the report goes, by default demo-report, or demo-labels-report of labels.",
        ),
    ] = None,
    full: Annotated[
        bool,
        typer.Option("--full", help="In some minutes: more models, data sets, folds, values of alpha, and pictures."),
    ] = False,
    seed: options.Seed = 0,
    offline: options.Offline = False,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Show what cofactor can do, in seconds: compare models, recommend, know a newcomer, say how sure it is.

    On MovieLens 100K where it is here or can be downloaded, else on invented films. The report, with its pictures,
    goes into a folder: open report.html.

    [bold]cofactor demo labels[/bold] does the like for tags of texts: of the data set medical where it is here, else of
    made-up news. With [bold]--full[/bold] it measures every label method on emotions, medical and cal500.

    [bold]cofactor demo serve[/bold] opens a page on which to rate films, and see what is recommended then.
    """
    folder = check_folder(out or ("demo-labels-report" if task == "labels" else "demo-report"))
    warn_of_data_variable()
    with loading():
        from cofactor.experiments.demos import Extent, results_of, run_demo, write_report

        chosen = _demo_of(task, full)

    report, began = TerminalReporter(quiet=json), time.perf_counter()
    extent = Extent(full, seed, offline, Download("MovieLens 100K", quiet=json))
    with limited_threads(threads), _small_matrices(task):
        finding = run_demo(chosen, extent, report)
        finding.machine = _machine()
        chosen.show_examples(finding, report, len(finding.trials) + 1)
        # Files in the making lie on the same disk as the report.
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.absolute().parent) as temporary:
            place = Path(temporary)
            if report.can_draw():
                report.heading("Pictures and report")
                finding.pictures = list(chosen.draw(finding, place, report))
            chosen.write_data(finding, place)
            finding.folder = str(folder)
            finding.next_steps = chosen.next_steps(finding)
            finding.seconds = time.perf_counter() - began
            write_report(chosen, finding, place)
            move_report(chosen, finding, place, folder)
    report.finish(finding, folder)
    if json:
        print_json(results_of(chosen, finding))


def _demo_of(task: str, full: bool) -> Demo:
    """Return the demo of a task; that of labels is another one in full."""
    from cofactor.experiments.demos.labels import FullLabelDemo, LabelDemo
    from cofactor.experiments.demos.ratings import RatingDemo

    return {kind.task: kind for kind in (RatingDemo, FullLabelDemo if full else LabelDemo)}[task]()


def _small_matrices(task: str) -> AbstractContextManager[Any]:
    """Return what keeps BLAS to one thread for labels: on small matrices several would wait for each other."""
    from cofactor.kernels.threads import library_limit

    return library_limit(1, "blas") if task == "labels" else nullcontext()


def _machine() -> str:
    from cofactor.kernels.threads import n_threads

    return f"{n_threads()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"


def move_report(demo: Demo, finding: Finding, place: Path, folder: Path) -> None:
    """Move a report to its folder, and remove pictures of an earlier run that this one does not show."""
    folder.mkdir(exist_ok=True)
    # The page comes last, so that its pictures are there when it is.
    for path in sorted(place.iterdir(), key=lambda path: (path.suffix == ".html", path.name)):
        shutil.move(path, folder / path.name)
    for name in demo.captions.keys() - {picture.file for picture in finding.pictures}:
        (folder / name).unlink(missing_ok=True)


class TerminalReporter:
    """Shows on the terminal what a demo does.

    Parameters
    ----------
    quiet : bool
        Say nothing but where the report is.
    """

    def __init__(self, *, quiet: bool) -> None:
        self.quiet = quiet
        self.console = human_console(stderr=quiet)
        self.console.quiet = quiet
        self.display = Display(quiet=True)
        self.begun = self.total = 0
        self.last = ""

    def heading(self, text: str) -> None:
        """Print the heading of a part."""
        from rich.markup import escape

        self.console.print(f"\n[bold blue]{escape(text)}[/bold blue]")

    def say(self, text: str, *, soft: bool = False) -> None:
        """Print a line."""
        self.console.print(text, markup=False, style="dim" if soft else None)

    @contextmanager
    def steps(self, total: int) -> Iterator[None]:
        """Show a bar for so many steps."""
        self.begun, self.total = 0, total
        with Display(quiet=self.quiet, counted=True) as self.display:
            yield
            self.display.show(text=self.last, done=self.total, total=self.total)

    def step(self, text: str) -> None:
        """Show the step that begins; the previous one is done."""
        self.last = text
        self.display.show(text=text, done=self.begun, total=self.total)
        self.begun += 1

    def table(self, heads: Sequence[str], rows: Sequence[Sequence[str]], *, soft: Sequence[int] = ()) -> None:
        """Print a table: words left-aligned, numbers right-aligned, cells with a star in bold, soft rows dim."""
        from rich import box
        from rich.markup import escape
        from rich.table import Table

        table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for k, head in enumerate(heads):
            words = head == "title" or k == 0
            table.add_column(
                head,
                justify="left" if words else "right",
                no_wrap=True,
                overflow="ellipsis",
                max_width=_NARROW if words else None,
            )
        for k, row in enumerate(rows):
            # The star marks them in pipes and files, where nothing is bold.
            cells = [f"[bold]{escape(cell)}[/bold]" if cell.endswith("*") else escape(cell) for cell in row]
            # The second line of a cell is a remark.
            cells = [
                "\n".join([first, *(f"[dim]{rest}[/dim]" for rest in more)])
                for first, *more in (cell.split("\n") for cell in cells)
            ]
            table.add_row(*cells, style="dim" if k in soft else None)
        self.console.print(table)

    def can_draw(self) -> bool:
        """Return whether pictures can be drawn; print what is missing if not."""
        if find_spec("matplotlib") is not None:
            return True
        self.say('No pictures: matplotlib is not installed; pip install "cofactor[plots]"')
        return False

    def finish(self, finding: Finding, folder: Path) -> None:
        """Print where the report is, and commands to try next."""
        from rich.markup import escape

        page = folder / _PAGE
        shown = f"with {_NUMBERS} and {plural(len(finding.pictures), 'picture')}"
        self.console.print(f"[green]✓[/green] [bold]{escape(str(page))}[/bold], {shown}", soft_wrap=True)
        self.console.print(f"\n[bold]Done in {finding.seconds:.0f} s. What next:[/bold]")
        for command, meaning in finding.next_steps:
            self.console.print(f"  [cyan]{escape(command)}[/cyan]\n      [dim]{escape(meaning)}[/dim]", soft_wrap=True)
        if self.quiet:
            note(f"report: {page}")


def demo_serve(
    host: options.Host = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port; with 0 a free one.")] = 8000,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page, where there is a screen.")] = (
        True
    ),
    seed: options.Seed = 0,
    offline: options.Offline = False,
    threads: options.Threads = None,
) -> None:
    """Fit a recommender to MovieLens 100K, or to invented films, and serve it: open the page, and rate films.

    It is what cofactor fit and cofactor serve do, in one step. Nothing is written. Ctrl-C ends it.
    """
    server = server_for("cofactor demo serve")
    warn_of_data_variable()
    with loading():
        from cofactor.experiments.demos import Extent
        from cofactor.experiments.demos.ratings import RatingDemo, fitted_recommender
        from cofactor.service import service_of

    report = TerminalReporter(quiet=False)
    extent = Extent(False, seed, offline, Download("MovieLens 100K", quiet=False))
    with limited_threads(threads):
        (data,), _ = RatingDemo().data(extent, report)
        report.say(f"{data.description}.")
        model = fitted_recommender(data, slice(None), extent, report)
        report.say("A Recommender was fitted; its code is made ready.")
        titles = {str(item): title for item, title in data.item_names.items()}
        served = {"default": server.Served("default", service_of(model, titles=titles))}
        begun = partial(_tell, report, opening=browser and _has_screen())
        server.run(served, host, port, begun=begun, log_level=logging.WARNING)
    report.say("\nThe same of your own ratings:")
    for command in ("cofactor fit ratings.csv --out model.cofactor", "cofactor serve model.cofactor"):
        report.say(f"  {command}")


def _tell(report: TerminalReporter, address: str, *, opening: bool) -> None:
    """Tell a person where the page is, and open it."""
    report.say(f"\nA page to rate films: {address} (Ctrl-C ends it)")
    sys.stdout.flush()
    if opening:
        webbrowser.open(address)


def _has_screen() -> bool:
    """Return whether a browser would open a window, and not take the terminal."""
    return sys.platform in ("darwin", "win32") or any(map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY")))
