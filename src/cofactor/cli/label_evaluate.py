"""What ``cofactor evaluate`` does with features and labels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cofactor.cli.errors import InputError
from cofactor.cli.label_models import DEFAULT, build_label_model, grid_of, parameter_names, rules_of
from cofactor.cli.label_reading import LabelOptions, read_labels_from
from cofactor.cli.progress import describe, limited_threads, make_bar
from cofactor.cli.reading import about
from cofactor.cli.results import Results, show_results, summarize
from cofactor.cli.tables import print_json

if TYPE_CHECKING:
    from cofactor.datasets import LabelDataset

#: Key in the results, heading, digits.
COLUMNS = (
    ("hamming", "Hamming", 3),
    ("accuracy", "accur.", 3),
    ("subset_accuracy", "subset", 3),
    ("example_f1", "ex. F1", 3),
    ("macro_f1", "macro", 3),
    ("micro_f1", "micro", 3),
    ("seconds", "s", 2),
)
BASELINE = "frequent labels"
_FEW = 40  #: instances of a fit whose time does not count


class Given:
    """A splitter which yields one given split."""

    def __init__(self, *parts: Any) -> None:
        self.parts = parts

    def split(self, X: Any, y: Any = None) -> Iterator[tuple[Any, ...]]:
        """Yield it."""
        yield self.parts


def evaluate_label_models(
    file: str,
    names: Sequence[str] | None,
    protocol: str,
    splits: int,
    test_size: float,
    reading: LabelOptions,
    settings: dict[str, Any],
    threads: int | None,
    json: bool,
) -> None:
    """Measure label models and a baseline on the same splits."""
    from cofactor.text import counted

    models: dict[str, Any] = {}
    for name in names or [DEFAULT]:
        model = build_label_model(name, **settings)
        models[type(model).__name__] = selecting(model, settings)
    data = read_labels_from(file, reading)
    models[BASELINE] = _baseline(settings)
    parts = list(_parts(data, protocol, splits, settings["seed"], test_size))
    with limited_threads(threads), about(file, parameter_names(settings["params"])):
        warm_up(models.values(), data)
        results = _run(models, data, parts, json)
    if json:
        facts = {"data": data.name, "protocol": protocol, "splits": len(parts), "seed": settings["seed"]}
        print_json({**facts, "summary": summarize(results, COLUMNS), "results": results})
        return
    title = f"{data.name}: {protocol}, {counted(len(parts), 'split')}, seed {settings['seed']}"
    show_results(results, COLUMNS, title, best="micro_f1", highest=True)


def selecting(model: Any, settings: Mapping[str, Any]) -> Any:
    """Return the model, or one which chooses the parameters of its grid in each training part."""
    grid = grid_of(model, settings["params"], settings["factors"]) if settings["alpha"] == "auto" else {}
    if not grid or not (isinstance(model.threshold, str) or model.threshold == 0):
        return model
    from cofactor.evaluation import Search

    rules = tuple(dict.fromkeys(("plain", *rules_of(model))))
    return Search(model, grid, thresholds=rules, random_state=settings["seed"])


def _baseline(settings: Mapping[str, Any]) -> Any:
    from cofactor.cli.baselines import LabelFrequencies
    from cofactor.cli.label_models import parse_threshold

    return LabelFrequencies(threshold=parse_threshold(settings["threshold"]), random_state=settings["seed"])


def _parts(data: LabelDataset, protocol: str, splits: int, seed: int, test_size: float) -> Iterator[tuple[Any, Any]]:
    """Yield training and test rows of each split."""
    import numpy as np
    from sklearn.model_selection import KFold, ShuffleSplit

    n = data.n_instances
    if protocol == "official":
        if data.train_rows is None:
            raise InputError(f"{data.name} has no official split: use --protocol kfold")
        yield np.flatnonzero(data.train_rows), np.flatnonzero(~data.train_rows)
        return
    if protocol not in ("kfold", "holdout"):
        raise InputError(f"--protocol {protocol}: is for ratings; labels have kfold, holdout and official")
    if protocol == "kfold" and not 2 <= splits <= n:
        raise InputError(f"--splits (or --folds) {splits}: kfold needs from 2 to {n} folds")
    if n < 2:
        raise InputError(f"{data.name}: holds {n} instance, too few to hold some out")
    kfold = KFold(max(splits, 2), shuffle=True, random_state=seed)
    holdout = ShuffleSplit(splits, test_size=test_size, random_state=seed)
    yield from (kfold if protocol == "kfold" else holdout).split(np.zeros(n))


def _run(models: Mapping[str, Any], data: LabelDataset, parts: list[tuple[Any, Any]], quiet: bool) -> Results:
    """Measure every model on every split: a row for each way of deciding, by "MODEL" and "MODEL + learned"."""
    from cofactor.evaluation import evaluate_labels

    results: Results = {}
    bar = make_bar(quiet=quiet, counted=True)
    with bar:
        task = bar.add_task("", total=len(parts) * len(models), detail="")

        def callback(progress: Any) -> None:
            part, detail = describe(progress)
            bar.update(task, detail=f"{part}: {detail}" if part else detail)

        for k, part in enumerate(parts, 1):
            for name, model in models.items():
                bar.update(task, description=f"{name}, split {k}", detail="")
                listen(model, callback)
                for row in evaluate_labels(model, data.X, data.Y, Given(*part)):
                    kind = row["decoding"]
                    shown = name if kind == "plain" else f"{name} + {kind}"
                    results.setdefault(shown, []).append(row | {"fold": k - 1})
                bar.advance(task)
    return results


def listen(model: Any, callback: Any) -> None:
    """Let a model, or the one inside a selection or at the end of a pipeline, report its progress."""
    inner = inside(model)
    if "callback" in inner.get_params(deep=False):
        inner.set_params(callback=callback)


def inside(model: Any) -> Any:
    """Return the model whose parameters a selection chooses, or the model itself."""
    from cofactor.evaluation import Search

    return model.estimator if isinstance(model, Search) else model


def warm_up(models: Any, data: LabelDataset) -> None:
    """Load and compile whatever the models run, so that no fit that is measured does it."""
    from sklearn.base import clone

    few = data.take(slice(0, min(_FEW, data.n_instances)))  # type: ignore[arg-type]
    for model in models:
        inner = clone(inside(model))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            inner.fit(few.X, few.Y).predict(few.X)
