"""``cofactor demo``: everything in a minute or two."""

from __future__ import annotations

from typing import Annotated

import typer

from cofactor.cli import options
from cofactor.cli.files import check_folder
from cofactor.cli.output import limited_threads, print_json


def demo(
    task: Annotated[
        str,
        typer.Argument(
            metavar=f"[{options.TASK_NAMES}]", callback=options.task_name, help="What to show.", show_default=True
        ),
    ] = "ratings",
    out: Annotated[str, typer.Option("--out", "-o", metavar="FOLDER", help="Where the report goes.")] = "demo-report",
    quick: Annotated[
        bool,
        typer.Option(
            "--quick",
            help="In some twenty seconds: fewer values of alpha, no ensemble, fewer pictures; of labels one data set "
            "and one fold.",
        ),
    ] = False,
    seed: options.Seed = 0,
    offline: Annotated[
        bool, typer.Option("--offline", help="Do not try to download MovieLens 100K where it is missing.")
    ] = False,
    threads: options.Threads = None,
    json: options.Json = False,
) -> None:
    """Show what cofactor can do, in a minute: train six models, measure, recommend, fold in, draw.

    On MovieLens 100K where it is here or can be downloaded, else on synthetic ratings. The report, with its pictures,
    goes into a folder: open report.html.

    [bold]cofactor demo labels[/bold] measures every label method against binary relevance, beside published figures,
    in two minutes: on emotions, medical and cal500 where they are here, else on synthetic labels.
    """
    folder = check_folder(out)
    with limited_threads(threads):
        if task == "ratings":
            from cofactor.cli.rating_demo import RatingDemo, Story
            from cofactor.cli.report import results

            found = results(RatingDemo(Story(quick, seed), json).run(folder, offline))
        else:
            from cofactor.cli.label_demo import LabelDemo, LabelStory
            from cofactor.cli.label_report import results as label_results

            found = label_results(LabelDemo(LabelStory(quick, seed), json).run(folder))
    if json:
        print_json(found)
