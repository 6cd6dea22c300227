"""``cofactor demo serve``: a page on which to rate films, and see what is recommended."""

from __future__ import annotations

import logging
import os
import sys
import webbrowser
from functools import partial
from typing import Annotated

import typer

from cofactor.cli import options
from cofactor.cli.datasets import warn_of_data_variable
from cofactor.cli.demo import TerminalReporter
from cofactor.cli.interrupts import loading
from cofactor.cli.output import Download, limited_threads
from cofactor.cli.serving import server_for


def demo_serve(
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Address to bind to; by default this machine alone can ask.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port; with 0 a free one.")] = 8000,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page, where there is a screen.")] = (
        True
    ),
    seed: options.Seed = 0,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not try to download MovieLens 100K where it is missing.")
    ] = False,
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
        from cofactor.tasks import answers_of

    report = TerminalReporter(quiet=False)
    extent = Extent(False, seed, offline, Download("MovieLens 100K", quiet=False))
    with limited_threads(threads):
        (data,), _ = RatingDemo().data(extent, report)
        report.say(f"{data.description}.")
        model = fitted_recommender(data, slice(None), extent, report)
        report.say("A Recommender was fitted; its code is made ready.")
        titles = {str(item): title for item, title in data.item_names.items()}
        served = {"default": server.Served("default", answers_of(model, titles))}
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
