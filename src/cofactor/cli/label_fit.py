"""What ``cofactor fit`` does with features and labels."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cofactor.cli.label_models import DEFAULT, build_label_model, grid_of, parameter_names, rules_of
from cofactor.cli.label_reading import LabelOptions, read_labels_from
from cofactor.cli.progress import fit_progress, limited_threads
from cofactor.cli.reading import about, save_model
from cofactor.cli.tables import note, print_facts, print_json

if TYPE_CHECKING:
    from collections.abc import Callable

    from cofactor.datasets import LabelDataset
    from cofactor.labels import LabelModel


def fit_labels(
    file: str,
    name: str | None,
    out: str,
    reading: LabelOptions,
    settings: dict[str, Any],
    threads: int | None,
    json: bool,
) -> None:
    """Learn a label model, and save it."""
    model = build_label_model(name or DEFAULT, **settings)
    data = read_labels_from(file, reading)
    grid = grid_of(model, settings["params"], settings["factors"]) if settings["alpha"] == "auto" else {}
    with fit_progress(f"fitting {type(model).__name__}", quiet=json) as callback, limited_threads(threads):
        began = time.perf_counter()
        with about(file, parameter_names(settings["params"])):
            fitted, chosen = learn(model, data, grid, callback)
        seconds = time.perf_counter() - began
        save_model(fitted, out)
    facts = _facts(fitted, data, chosen, seconds) | {"out": out}
    if json and out != "-":
        print_json(facts)
    else:
        _show(facts, stderr=out == "-")
    if not facts["train_micro_f1"] and not isinstance(model.threshold, str):
        note("cofactor: note: no label of a training instance is found; try --threshold global, which learns a cut")


def learn(
    model: LabelModel, data: LabelDataset, grid: dict[str, list[Any]], callback: Callable[..., None] | None = None
) -> tuple[LabelModel, dict[str, Any]]:
    """Choose parameters of a grid on a fifth of the instances, then fit to all of them.

    Returns
    -------
    model : LabelModel
        Fitted; it knows the names of labels and features.
    chosen : dict
        The parameters chosen.
    """
    import numpy as np
    from sklearn.base import clone

    from cofactor.model.convergence import NothingPredictedWarning
    from cofactor.model.selection.grid import select_parameters

    listens = {"callback": callback} if "callback" in model.get_params(deep=False) else {}
    chosen: dict[str, Any] = {}
    if grid and data.n_instances > 4:
        first, *_ = select_parameters(
            clone(model).set_params(**listens), data.X, data.Y, grid, thresholds=rules_of(model), random_state=0
        )
        chosen = first.parameters
    fitted: LabelModel = clone(model).set_params(**chosen, **listens)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingPredictedWarning)  # the command says so in its own words
        fitted.fit(data.X, data.Y, label_names=data.label_names)
    fitted.set_params(**dict.fromkeys(listens))
    # As if X had been a frame: the file of the model keeps the names, so that predict can match columns by them.
    fitted.feature_names_in_ = np.array(data.feature_names, dtype=object)
    return fitted, chosen


def _facts(model: LabelModel, data: LabelDataset, chosen: dict[str, Any], seconds: float) -> dict[str, Any]:
    from cofactor.cli.label_predict import without_names

    return {
        "model": type(model).__name__,
        "data": data.name,
        "instances": data.n_instances,
        "features": data.n_features,
        "labels": data.n_labels,
        "cardinality": data.cardinality,
        "constant_labels": [str(n) for n in model.label_names_[model.constant_ != 0]],
        "seconds": round(seconds, 3),
        "chosen": chosen,
        "threshold": model.threshold_,
        "train_micro_f1": without_names(model).score(data.X, data.Y),
    }


def _show(facts: dict[str, Any], *, stderr: bool) -> None:
    import numpy as np

    size = "" if stderr else f" ({Path(facts['out']).stat().st_size / 1e3:,.0f} kB)"
    cuts = np.atleast_1d(facts["threshold"])
    constant = facts["constant_labels"]
    shown = {
        "instances": f"{facts['instances']:,}",
        "features": f"{facts['features']:,}",
        "labels": f"{facts['labels']:,}, {facts['cardinality']:.2f} for each instance",
        "constant labels": ", ".join(constant[:5]) + (f", ... ({len(constant)})" if len(constant) > 5 else ""),
        "seconds": f"{facts['seconds']:.2f}",
        "chosen": ", ".join(f"{name} {value}" for name, value in facts["chosen"].items()),
        "threshold": f"{cuts[0]:.3g}" if len(cuts) == 1 else f"{cuts.min():.3g} to {cuts.max():.3g}, one a label",
        "training micro-F1": f"{facts['train_micro_f1']:.4f}",
        "model file": "standard output" if stderr else facts["out"] + size,
    }
    print_facts(f"{facts['model']} fitted to {facts['data']}", {k: v for k, v in shown.items() if v}, stderr=stderr)
