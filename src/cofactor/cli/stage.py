"""What the demos share: steps told on the terminal, a folder for the report, and what to do next."""

from __future__ import annotations

import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.output import human_console, make_bar, note

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["Stage", "Tale", "escape"]

#: Pictures of all demos: those of an earlier run, which a new report does not show, are taken away.
PICTURES = {
    *("confusion.png", "convergence.png", "tradeoff.png"),
    *("labels.png", "groups.png", "sparsity.png", "thresholds.png", "tree.png"),
}


@dataclass
class Tale:
    """What a demo found out, for the terminal and for the report."""

    quick: bool
    seed: int
    pictures: dict[str, str] = field(default_factory=dict)  #: file name and caption
    seconds: float = 0.0
    machine: str = ""
    next_steps: list[tuple[str, str]] = field(default_factory=list)


class Stage:
    """The terminal, the bar, and the folder."""

    def __init__(self, tale: Tale, quiet: bool) -> None:
        self.tale, self.quiet = tale, quiet
        self.console: Console = human_console(stderr=quiet)
        self.console.quiet = quiet
        self.bar = make_bar(quiet=quiet, counted=True)
        self.task: Any = None
        self.began = time.perf_counter()
        tale.machine = (
            f"{_cores()} cores, {platform.machine()}, {platform.system()}, Python {platform.python_version()}"
        )

    def heading(self, text: str) -> None:
        """Begin a part."""
        self.console.print(f"\n[bold blue]{escape(text)}[/bold blue]")

    @contextmanager
    def counting(self, total: int) -> Iterator[None]:
        """Show a bar for so many steps."""
        with make_bar(quiet=self.quiet, counted=True) as self.bar:
            self.task = self.bar.add_task("", total=total, detail="")
            yield

    def say(self, text: str) -> None:
        """Show the step that begins; the one before is done."""
        task = self.bar.tasks[0]
        self.bar.update(self.task, description=text, advance=1 if task.description else 0)

    @contextmanager
    def workplace(self, folder: Path) -> Iterator[Path]:
        """Yield a folder for files in the making, on the same disk."""
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}-", dir=folder.absolute().parent) as temporary:
            yield Path(temporary)

    def can_draw(self) -> bool:
        """Whether there will be pictures; says what is missing."""
        from importlib.util import find_spec

        if find_spec("matplotlib") is not None:
            return True
        self.console.print('[yellow]No pictures:[/yellow] matplotlib is not installed; pip install "cofactor\\[plots]"')
        return False

    def finish(self, place: Path, folder: Path, write: Callable[[Path], object]) -> None:
        """Write the report to `place`, move everything to the folder, and say so."""
        self.tale.seconds = time.perf_counter() - self.began
        write(place)
        folder.mkdir(exist_ok=True)
        # The page comes last: who finds it finds its pictures too.
        for path in sorted(place.iterdir(), key=lambda path: (path.suffix == ".html", path.name)):
            shutil.move(path, folder / path.name)
        for name in PICTURES - set(self.tale.pictures):
            (folder / name).unlink(missing_ok=True)  # of an earlier run, which this report does not show
        files = ", ".join(
            sorted(path.name for path in folder.iterdir() if path.name in (*self.tale.pictures, "results.json"))
        )
        self.console.print(
            f"[green]✓[/green] [bold]{escape(str(folder / 'report.html'))}[/bold], with {files}", soft_wrap=True
        )

    def what_next(self, folder: Path) -> None:
        """Name commands to go on with."""
        self.console.print(f"\n[bold]Done in {self.tale.seconds:.0f} s. What next:[/bold]")
        for command, meaning in self.tale.next_steps:
            self.console.print(f"  [cyan]{escape(command)}[/cyan]\n      [dim]{escape(meaning)}[/dim]", soft_wrap=True)
        if self.quiet:
            note(f"report: {folder / 'report.html'}")


def escape(text: str) -> str:
    """Return text for the terminal in which brackets are brackets."""
    from rich.markup import escape

    return escape(text)


def _cores() -> int:
    from cofactor.kernels.threads import n_threads

    return n_threads()
