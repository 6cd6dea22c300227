"""``cofactor fit``: learn a model from ratings, or from features and labels."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.label_fit import fit_labels
from cofactor.cli.label_reading import LabelOptions
from cofactor.cli.models import build_model, iterations, note_factors
from cofactor.cli.progress import Download, fit_progress, limited_threads
from cofactor.cli.reading import TableOptions, check_target, ratings_of, read_ratings_from, save_model
from cofactor.cli.tables import join_numbers, print_facts, print_json
from cofactor.cli.tasks import Task, choose_task

if TYPE_CHECKING:
    from cofactor.datasets import RatingDataset
    from cofactor.ratings import RatingModel


def fit(
    context: typer.Context,
    file: options.DataFile,
    model: Annotated[str | None, typer.Option("--model", "-m", metavar="NAME", help=options.MODEL_HELP + ".")] = None,
    out: Annotated[
        str, typer.Option("--out", "-o", metavar="FILE", help="Where the model goes; - for standard output.")
    ] = "model.cofactor",
    task: options.TaskOption = None,
    alpha: options.Alpha = "auto",
    factors: options.Factors = None,
    param: options.Params = None,
    duplicates: options.DuplicateRatings = options.Duplicates.ERROR,
    seed: options.Seed = 0,
    threads: options.Threads = None,
    json: options.Json = False,
    user: options.UserColumn = None,
    item: options.ItemColumn = None,
    rating: options.RatingColumn = None,
    sep: options.Separator = None,
    header: options.Header = None,
    encoding: options.Encoding = "utf-8",
    levels: options.Levels = None,
    bins: options.Bins = None,
    labels: options.LabelColumns = None,
    xml: options.LabelXml = None,
    drop: options.DropColumns = None,
    threshold: options.Threshold = "0",
    format: options.FileFormat = None,
    aligned: options.AlignedLabels = None,
    zero_based: options.ZeroBased = None,
) -> None:
    """Learn a model from ratings, or from features and labels, and save it.

    [bold]cofactor fit ratings.csv[/bold] is enough where the columns are called user, item and rating (in many
    spellings), or stand in this order. The model keeps the ratings, so that recommend can leave out what users know.

    [bold]cofactor fit tags.arff[/bold] learns to predict labels; of a table say which columns they are:
    [bold]--labels tag_[/bold].
    """
    check_target(out, file, xml)
    if choose_task(context, file, task) is Task.LABELS:
        fit_labels(
            file,
            model,
            out,
            LabelOptions(labels, xml, drop, format, aligned, zero_based, sep, header, encoding),
            {"alpha": alpha, "factors": factors, "params": param, "seed": seed, "threshold": threshold},
            threads,
            json,
        )
        return
    table = TableOptions(user, item, rating, sep, header, encoding, levels, bins)
    data = read_ratings_from(file, table, progress=Download(file, quiet=json))
    estimator = build_model(
        model or "mmmf",
        alpha=alpha,
        factors=factors,
        seed=seed,
        params=param,
        levels=data.scale,
        duplicates=duplicates.value,
    )
    ratings = ratings_of(data, file, duplicates.value)
    note_factors(factors, [estimator], *ratings.shape)
    with fit_progress(f"fitting {type(estimator).__name__}", quiet=json) as callback, limited_threads(threads):
        estimator.set_params(callback=callback)
        began = time.perf_counter()
        estimator.fit(ratings)
        seconds = time.perf_counter() - began
        estimator.set_params(callback=None)
        facts = _facts(estimator, data, seconds)
        save_model(estimator, out)
    facts["out"] = out
    if json and out != "-":
        print_json(facts)
    else:
        _show(facts, stderr=out == "-")


def _facts(model: RatingModel, data: RatingDataset, seconds: float) -> dict[str, Any]:
    from cofactor.evaluation.protocols import chosen_alpha

    assert model.ratings_ is not None
    return {
        "model": type(model).__name__,
        "data": data.name,
        "users": len(model.users_),
        "items": len(model.items_),
        "ratings": model.ratings_.n_ratings,
        "levels": model.scale_.tolist(),
        "seconds": round(seconds, 3),
        **_effort(model),
        "alpha": chosen_alpha(model),
        "train_mae": -model.score(data.X, data.y),
    }


def _effort(model: Any) -> dict[str, Any]:
    """Return iterations; of a model drawn from its posterior sweeps, and what its samples take."""
    samples = getattr(model, "samples_", None)
    if samples is None:
        return {"iterations": iterations(model)}
    return {
        "sweeps": int(model.n_iter_),
        "burn_in": int(model.burn_in),
        "chains": len(model.chains_),
        "samples": len(next(iter(samples.values()))),
        "sample_bytes": sum(array.nbytes for array in samples.values()),
    }


def _show(facts: dict[str, Any], *, stderr: bool) -> None:
    size = "" if stderr else f" ({Path(facts['out']).stat().st_size / 1e3:,.0f} kB)"
    print_facts(
        f"{facts['model']} fitted to {facts['data']}",
        {
            "users": f"{facts['users']:,}",
            "items": f"{facts['items']:,}",
            "ratings": f"{facts['ratings']:,}",
            "levels": join_numbers(facts["levels"], "g"),
            "seconds": f"{facts['seconds']:.2f}",
            **_effort_in_words(facts),
            "training MAE": f"{facts['train_mae']:.4f}",
            "model file": "standard output" if stderr else facts["out"] + size,
        },
        stderr=stderr,
    )


def _effort_in_words(facts: Mapping[str, Any]) -> dict[str, str]:
    words = {}
    if "sweeps" in facts:
        chains = "" if facts["chains"] == 1 else f" of {facts['chains']} chains"
        words["sweeps"] = f"{facts['sweeps']:,}{chains}, the first {facts['burn_in']:,} burn-in"
        words["samples kept"] = f"{facts['samples']:,} ({facts['sample_bytes'] / 1e6:,.1f} MB of memory)"
    else:
        words["iterations"] = join_numbers(facts["iterations"], ",")
    alpha = facts["alpha"]
    if alpha is not None:  # not every model has a penalty
        words["alpha"] = join_numbers(alpha, ".4g") if isinstance(alpha, list) else f"{alpha:.4g}"
    return words
