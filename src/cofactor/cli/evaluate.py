"""``cofactor evaluate``: measure models on ratings held out, beside two baselines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cofactor.cli import options
from cofactor.cli.errors import InputError
from cofactor.cli.models import build_model, note_factors
from cofactor.cli.progress import Download, describe, limited_threads, make_bar
from cofactor.cli.reading import TableOptions, ratings_of, read_ratings_from
from cofactor.cli.tables import human_console, print_json

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
_WIDE = 116
_FEW_RATINGS = 200  #: for a fit whose time does not count

Results = dict[str, list[dict[str, float]]]


class Protocol(StrEnum):
    """How to split ratings into training and test part."""

    HOLDOUT = "holdout"
    WEAK = "weak"
    STRONG = "strong"
    KFOLD = "kfold"


def evaluate(
    file: options.RatingsFile,
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model", "-m", metavar="NAME", help=options.MODEL_HELP + "; repeat for several. [default: mmmf]"
        ),
    ] = None,
    protocol: Annotated[
        Protocol,
        typer.Option(
            "--protocol",
            "-p",
            help="holdout: a random part of the ratings; weak: one rating of each user; strong: users held out, "
            "folded in from all their ratings but one; kfold: each rating held out once.",
        ),
    ] = Protocol.HOLDOUT,
    splits: Annotated[int, typer.Option(metavar="N", min=1, help="Number of splits, or folds.")] = 3,
    test_size: Annotated[
        float, typer.Option(metavar="X", min=0.0, max=1.0, help="Part of the ratings held out (holdout).")
    ] = 0.2,
    test_users: Annotated[
        float, typer.Option(metavar="X", min=0.0, max=1.0, help="Part of the users held out (strong).")
    ] = 0.1,
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
) -> None:
    """Measure models on ratings held out: mean ± standard deviation over splits.

    All models and both baselines (the most frequent level; each user's median) see the same splits. Seconds are those
    of one fit, the choice of alpha included; what is compiled at a first call is compiled before.
    """
    from cofactor.metrics.ratings import counted

    data = read_ratings_from(
        file, TableOptions(user, item, rating, sep, header, encoding, levels, bins), progress=Download(file, quiet=json)
    )
    if not 0 < test_size < 1 or not 0 < test_users < 1:
        raise InputError("--test-size and --test-users must lie between 0 and 1")
    settings = {"alpha": alpha, "factors": factors, "params": param, "seed": seed}
    names = list(dict.fromkeys(model or ["mmmf"]))
    models: dict[str, Any] = {}
    for name in names:
        estimator = build_model(name, levels=data.scale, duplicates=duplicates.value, **settings)  # type: ignore[arg-type]
        models[type(estimator).__name__] = estimator
    models |= _baselines(data)
    note_factors(factors, *ratings_of(data, file, duplicates.value).shape)
    with limited_threads(threads):
        _warm_up(models, data)
        results = _run(models, data, _parts(data, protocol.value, splits, seed, test_size, test_users), splits, json)
    if json:
        print_json(_summary(results, data, protocol.value, splits, seed))
        return
    _show(results, f"{data.name}: {protocol.value}, {counted(splits, 'split')}, seed {seed}")


def _baselines(data: RatingDataset) -> dict[str, Any]:
    from cofactor.cli.baselines import MostFrequentLevel, UserMedian

    return {"most frequent": MostFrequentLevel(data.scale), "user median": UserMedian(data.scale)}


class _Given:
    """A splitter which yields one given split."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def split(self, X: Any, y: Any = None) -> Iterator[tuple[Any, ...]]:
        yield self.parts


class _GivenStrong(_Given):
    split_fold_in = _Given.split


def _parts(
    data: RatingDataset, protocol: str, splits: int, seed: int, test_size: float, test_users: float
) -> Iterator[_Given]:
    from cofactor.evaluation import Holdout, KFold, StrongGeneralization, WeakGeneralization

    if protocol == "strong":
        strong = StrongGeneralization(test_users, splits, seed)
        yield from (_GivenStrong(*parts) for parts in strong.split_fold_in(data.X, data.y))
        return
    if protocol == "kfold" and not 2 <= splits <= data.n_ratings:
        raise InputError(f"--splits {splits}: kfold needs from 2 to {data.n_ratings} folds")
    splitter = {
        "holdout": Holdout(test_size, splits, seed),
        "weak": WeakGeneralization(splits, seed),
        "kfold": KFold(max(splits, 2), shuffle=True, random_state=seed),
    }[protocol]
    yield from (_Given(*parts) for parts in splitter.split(data.X, data.y))


def _run(
    models: Mapping[str, Any], data: RatingDataset, splits: Iterator[_Given], n_splits: int, quiet: bool
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
            measure(clone(model).set_params(**alphas), data.X, data.y, _Given(few, few), 1, scale=data.scale)


def _mean_std(values: Sequence[float]) -> tuple[float, float]:
    from statistics import fmean, stdev

    return fmean(values), stdev(values) if len(values) > 1 else 0.0


def _column(results: Sequence[Mapping[str, float]], key: str) -> list[float]:
    return [result["fit_seconds" if key == "seconds" else key] for result in results]


def _summary(results: Results, data: RatingDataset, protocol: str, splits: int, seed: int) -> dict[str, Any]:
    summary = {
        name: {key: dict(zip(("mean", "std"), _mean_std(_column(runs, key)), strict=True)) for key, _, _ in _COLUMNS}
        for name, runs in results.items()
    }
    about = {"data": data.name, "protocol": protocol, "splits": splits, "seed": seed}
    return {**about, "summary": summary, "results": results}


def _show(results: Results, title: str) -> None:
    from rich import box
    from rich.table import Table

    console = human_console()
    wide = console.width >= _WIDE
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", title_style="bold", padding=(0, 1, 0, 0))
    table.add_column("model", no_wrap=True)
    for _, heading, _ in _COLUMNS:
        table.add_column(heading, justify="right", no_wrap=True)
    best = min(results, key=lambda name: _mean_std(_column(results[name], "mae"))[0])
    for name, runs in results.items():
        cells = []
        for key, _, digits in _COLUMNS:
            mean, std = _mean_std(_column(runs, key))
            joint = " " if wide else "\n"
            cells.append(f"{mean:.{digits}f}" + (f"{joint}[dim]± {std:.{digits}f}[/dim]" if len(runs) > 1 else ""))
        table.add_row(name, *cells, style="bold" if name == best else None)
    console.print(table)
