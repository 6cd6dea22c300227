"""``cofactor evaluate``: measure models on what was held out, beside baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import naming
from cofactor.cli.files import check_sources, check_target, inputs_of
from cofactor.cli.output import (
    Download,
    limited_threads,
    print_result,
    show_measured,
    show_notes,
    show_ranked,
    write_by_label,
)
from cofactor.errors import InvalidInputError
from cofactor.progress import Display, describe
from cofactor.service.results import Protocol, RankedResult

if TYPE_CHECKING:
    from cofactor.service.results import EvaluationProgress


def evaluate(
    context: typer.Context,
    file: options.DataFile,
    model: options.Models = None,
    protocol: Annotated[
        str | None,
        typer.Option(
            "--protocol",
            "-p",
            metavar="NAME",
            help="holdout (for ratings the default): a random part; kfold (for labels): each rating or instance held "
            "out once; weak: one rating of each user; strong: users held out, folded in from all their ratings but "
            "one; time: train on what came before, test on what came next; user-last: the last part of each user, by "
            "time; per-user: a random part of each user; new-users: users held out, folded in from a part of their "
            "ratings, tested on the others. "
            "Of labels also official: the published split; stratified: folds with equal shares of every label "
            "(stratified-pairs: of every pair of labels); grouped: rows with the same --id stay together; time: train "
            "on the rows before, test on the next, in the order of the file.",
        ),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option("--splits", "--folds", metavar="N", min=1, help="Number of splits, or folds; by default 3."),
    ] = None,
    test_size: Annotated[
        float,
        typer.Option(
            metavar="X", min=0.0, max=1.0, help="Part held out (holdout, time, user-last, per-user, new-users)."
        ),
    ] = 0.2,
    task: options.TaskOption = None,
    alpha: options.Alpha = "auto",
    factors: options.Factors = None,
    param: options.Params = None,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    json: options.Json = False,
    out: Annotated[
        str | None,
        typer.Option(
            "--out",
            "-o",
            metavar="FILE",
            help="Where the table of --by-label goes: .html, .csv, .tsv or .parquet; - for CSV on standard output.",
        ),
    ] = None,
    safe_csv: options.SafeCsv = False,
    **own: Any,
) -> None:
    """Measure models on ratings, or on instances with labels, held out: mean ± standard deviation over splits.

    All models and the baselines (the most frequent level; each user's median; or the most frequent labels) see the
    same splits. Seconds are those of one fit, the choice of alpha included; what is compiled at a first call is
    compiled before. A rule by which a cut of scores is learned has a row of its own, beside that of the plain cut at 0.
    Models that give levels probabilities have their log-loss and calibration error (ECE) too; a dash stands for models
    without.

    With [bold]--rank[/bold], lists of recommendations are measured instead, beside what is popular: mean ± 1.96
    standard errors over users.

    Of labels, [bold]--by-label[/bold] shows which ones are bad: those that cost most come first.
    """
    if not 0 < test_size < 1 or not 0 < own.get("test_users", 0.5) < 1:
        raise InvalidInputError("--test-size and --test-users must lie between 0 and 1")
    if out is not None and not own.get("by_label"):
        raise InvalidInputError("--out writes the table of --by-label: give --by-label too")
    inputs = {"FILE": file, **inputs_of(own)}
    check_target(out, *inputs.values())
    check_sources(inputs)
    chosen, reading = options.task_for(context, "evaluate", file, task, own)
    params = options.parse_params(param)
    settings = options.settings_of(alpha, factors, seed, reading, params=params, lenient=len(model or []) > 1)
    names = model or chosen.default_models(settings, ranked=bool(own.get("rank")))
    with naming({**options.names_of(params), "n_splits": "--splits (or --folds)"}):
        models, notes = chosen.contestants(names, settings)
        loaded = chosen.read(file, reading, progress=Download(file, quiet=json))
        split = Protocol(protocol, splits, seed, test_size, reading)
        ranks = chosen.ranks(loaded, reading)
        options.check_ranking(context, {"rank": ranks})
        with limited_threads(threads), Display(quiet=json, counted=True) as display:

            def show(progress: EvaluationProgress) -> None:
                part, detail = ("", "") if progress.inner is None else describe(progress.inner)
                shown = f"{part}: {detail}" if part else detail
                title = f"{progress.model}, split {progress.split}"
                display.show(detail=shown, text=title, done=progress.done, total=progress.total)

            work = chosen.rank if ranks else chosen.evaluate
            measured = work(models, loaded, split, settings, show)
    notes = (*notes, *measured.notes)
    show_notes(notes)
    if isinstance(measured, RankedResult):
        show_ranked(measured, notes, as_json=json)
        return
    by_label = bool(measured.by_label)
    if json:
        about = {"summary": measured.summary(), "chosen": measured.chosen(), "results": measured.results}
        about |= {"by_label": {name: table.records() for name, table in measured.by_label.items()}} if by_label else {}
        print_result({**measured.facts, **about}, notes)
    elif out != "-":
        show_measured(measured)
    if by_label:
        write_by_label(measured, out, shown=not json, safe_csv=safe_csv)
