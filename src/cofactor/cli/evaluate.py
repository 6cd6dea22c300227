"""``cofactor evaluate``: measure models on ratings, or on instances, held out, beside baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import InputError
from cofactor.cli.label_evaluate import Given, evaluate_label_models
from cofactor.cli.label_reading import LabelOptions
from cofactor.cli.models import build_model, note_factors
from cofactor.cli.progress import Download, describe, limited_threads, make_bar
from cofactor.cli.reading import TableOptions, ratings_of, read_ratings_from
from cofactor.cli.results import Results, show_results, summarize
from cofactor.cli.tables import human_console, print_json
from cofactor.cli.tasks import Task, choose_task

if TYPE_CHECKING:
    from cofactor.datasets import RatingDataset

#: Key in the results, heading, digits.
_COLUMNS = (
    ("mae", "MAE", 4),
    ("nmae", "NMAE", 4),
    ("rmse", "RMSE", 4),
    ("fre", "FRE", 4),
    ("zero_one", "zero-one", 4),
    ("seconds", "seconds", 2),
)
#: Of models that give levels probabilities.
_PROBABILITIES = (("log_loss", "log-loss", 4), ("rps", "RPS", 4), ("ece", "ECE", 4))
_ROOM = 100  #: characters for all measures of models with probabilities
_FEW_RATINGS = 200  #: for a fit whose time does not count


class Protocol(StrEnum):
    """How to split ratings, or instances, into training and test part."""

    HOLDOUT = "holdout"
    WEAK = "weak"
    STRONG = "strong"
    KFOLD = "kfold"
    OFFICIAL = "official"


def evaluate(
    context: typer.Context,
    file: options.DataFile,
    model: Annotated[
        list[str] | None,
        typer.Option("--model", "-m", metavar="NAME", help=options.MODEL_HELP + "; repeat for several."),
    ] = None,
    protocol: Annotated[
        Protocol | None,
        typer.Option(
            "--protocol",
            "-p",
            help="holdout (for ratings the default): a random part; kfold (for labels): each rating or instance held "
            "out once; weak: one rating of each user; strong: users held out, folded in from all their ratings but "
            "one; official: the published split of labels.",
        ),
    ] = None,
    splits: Annotated[
        int | None,
        typer.Option(
            "--splits", "--folds", metavar="N", min=1, help="Number of splits, or folds; by default 3, for labels 5."
        ),
    ] = None,
    test_size: Annotated[float, typer.Option(metavar="X", min=0.0, max=1.0, help="Part held out (holdout).")] = 0.2,
    test_users: Annotated[
        float, typer.Option(metavar="X", min=0.0, max=1.0, help="Part of the users held out (strong).")
    ] = 0.1,
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
    """Measure models on ratings, or on instances with labels, held out: mean ± standard deviation over splits.

    All models and the baselines (the most frequent level; each user's median; or the most frequent labels) see the
    same splits. Seconds are those of one fit, the choice of alpha included; what is compiled at a first call is
    compiled before. A learned threshold has a row of its own, beside that of the plain cut at 0. Models that give
    levels probabilities have their log-loss and calibration error (ECE) too; a dash stands for models without.
    """
    if not 0 < test_size < 1 or not 0 < test_users < 1:
        raise InputError("--test-size and --test-users must lie between 0 and 1")
    settings: dict[str, Any] = {"alpha": alpha, "factors": factors, "params": param, "seed": seed}
    if choose_task(context, file, task) is Task.LABELS:
        reading = LabelOptions(labels, xml, drop, format, aligned, zero_based, sep, header, encoding)
        chosen, settings["threshold"] = protocol or Protocol.KFOLD, threshold
        evaluate_label_models(file, model, chosen.value, splits or 5, test_size, reading, settings, threads, json)
        return
    protocol, splits = protocol or Protocol.HOLDOUT, splits or 3
    if protocol is Protocol.OFFICIAL:
        raise InputError("--protocol official: is for labels; ratings have holdout, weak, strong and kfold")
    from cofactor.text import counted

    data = read_ratings_from(
        file, TableOptions(user, item, rating, sep, header, encoding, levels, bins), progress=Download(file, quiet=json)
    )
    names = list(dict.fromkeys(model or ["mmmf"]))
    models: dict[str, Any] = {}
    for name in names:
        estimator = build_model(
            name, levels=data.scale, duplicates=duplicates.value, where_it_has=len(names) > 1, **settings
        )
        models[type(estimator).__name__] = estimator
    note_factors(factors, models.values(), *ratings_of(data, file, duplicates.value).shape)
    probable = any(hasattr(estimator, "predict_proba") for estimator in models.values())
    models |= _baselines(data)
    with limited_threads(threads):
        _warm_up(models, data)
        results = _run(models, data, _parts(data, protocol.value, splits, seed, test_size, test_users), splits, json)
    if json:
        facts = {"data": data.name, "protocol": protocol.value, "splits": splits, "seed": seed}
        print_json({**facts, "summary": summarize(results, (*_COLUMNS, *_PROBABILITIES)), "results": results})
        return
    title = f"{data.name}: {protocol.value}, {counted(splits, 'split')}, seed {seed}"
    show_results(results, _shown(probable), title, best="mae")


def _shown(probable: bool) -> tuple[tuple[str, str, int], ...]:
    """Return the columns of the table; 80 characters have room for no more."""
    if not probable:
        return _COLUMNS
    narrow = human_console().width < _ROOM
    errors = [column for column in _COLUMNS[:-1] if not (narrow and column[0] in ("nmae", "fre"))]
    chances = [column for column in _PROBABILITIES if column[0] != "rps"]
    return (*errors, *chances, _COLUMNS[-1])


def _baselines(data: RatingDataset) -> dict[str, Any]:
    from cofactor.cli.baselines import MostFrequentLevel, UserMedian

    return {"most frequent": MostFrequentLevel(data.scale), "user median": UserMedian(data.scale)}


class _GivenStrong(Given):
    split_fold_in = Given.split


def _parts(
    data: RatingDataset, protocol: str, splits: int, seed: int, test_size: float, test_users: float
) -> Iterator[Given]:
    from cofactor.evaluation import Holdout, KFold, StrongGeneralization, WeakGeneralization

    if protocol == "strong":
        strong = StrongGeneralization(test_users, splits, seed)
        yield from (_GivenStrong(*parts) for parts in strong.split_fold_in(data.X, data.y))
        return
    if protocol == "kfold" and not 2 <= splits <= data.n_ratings:
        raise InputError(f"--splits (or --folds) {splits}: kfold needs from 2 to {data.n_ratings} folds")
    splitter = {
        "holdout": Holdout(test_size, splits, seed),
        "weak": WeakGeneralization(splits, seed),
        "kfold": KFold(max(splits, 2), shuffle=True, random_state=seed),
    }[protocol]
    yield from (Given(*parts) for parts in splitter.split(data.X, data.y))


def _run(
    models: Mapping[str, Any], data: RatingDataset, splits: Iterator[Given], n_splits: int, quiet: bool
) -> Results:
    from cofactor.evaluation import evaluate as measure

    results: Results = {name: [] for name in models}
    bar = make_bar(quiet=quiet, counted=True)
    with bar:
        task = bar.add_task("", total=n_splits * len(models), detail="")

        def callback(progress: Any) -> None:
            part, detail = describe(progress)
            bar.update(task, detail=f"{part}: {detail}" if part else detail)

        for k, split in enumerate(splits, 1):
            for name, model in models.items():
                bar.update(task, description=f"{name}, split {k}", detail="")
                if "callback" in model.get_params(deep=False):
                    model.set_params(callback=callback)
                (result,) = measure(model, data.X, data.y, split, 1, scale=data.scale)
                results[name].append(result)
                bar.advance(task)
    return results


def _warm_up(models: Mapping[str, Any], data: RatingDataset) -> None:
    """Load and compile whatever the models run, so that no fit that is measured does it."""
    import warnings

    import numpy as np
    from sklearn.base import clone

    from cofactor.evaluation import evaluate as measure

    few = np.arange(min(_FEW_RATINGS, data.n_ratings))
    for model in models.values():
        alphas = {name: 1.0 for name in model.get_params() if name.split("__")[-1] == "alpha"}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            measure(clone(model).set_params(**alphas), data.X, data.y, Given(few, few), 1, scale=data.scale)
