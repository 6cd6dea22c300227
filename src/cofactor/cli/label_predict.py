"""What ``cofactor predict`` does with a label model."""

from __future__ import annotations

import copy
import json as jsonlib
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from cofactor.cli.errors import InputError
from cofactor.cli.label_reading import LabelOptions, read_features_for
from cofactor.cli.progress import limited_threads
from cofactor.cli.tables import write_rows

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from cofactor.labels import LabelModel


class Form(StrEnum):
    """How predicted labels are written."""

    TAGS = "tags"
    TABLE = "table"


def predict_labels(
    model: LabelModel,
    file: str,
    out: str | None,
    reading: LabelOptions,
    form: Form,
    scores: bool,
    top: int | None,
    threads: int | None,
    json: bool,
) -> None:
    """Predict the labels of the instances of a file, and write them."""
    if top is not None and (scores or form is Form.TABLE):
        raise InputError(f"--top {top} writes labels with their scores: leave out {'--scores' if scores else '--form'}")
    X, _ = read_features_for(file, model, reading)
    names = [str(name) for name in model.label_names_]
    plain = without_names(model)
    with limited_threads(threads):
        values = plain.decision_function(X)
    if json and out is None:
        _write_lines(_records(plain, values, names, scores, top))
    else:
        write_rows(_columns(plain, values, names, form, scores, top), out, as_json=json, title="Predicted labels")


def without_names(model: LabelModel) -> LabelModel:
    """Return the model for features without names, which have been matched already."""
    plain = copy.copy(model)
    if hasattr(plain, "feature_names_in_"):
        del plain.feature_names_in_
    return plain


def _columns(
    model: LabelModel, values: NDArray[Any], names: list[str], form: Form, scores: bool, top: int | None
) -> dict[str, Any]:
    """Return the columns of a table; instances count from 1."""
    import numpy as np

    from cofactor.cli.tables import shortest

    numbers = np.arange(1, len(values) + 1)
    if top is not None:
        best = _best(values, top)
        return {
            "instance": np.repeat(numbers, best.shape[1]),
            "rank": np.tile(np.arange(1, best.shape[1] + 1), len(values)),
            "label": np.array(names, dtype=object)[best].ravel(),
            "score": shortest(np.take_along_axis(values, best, axis=1).ravel()),
        }
    if scores:
        return {"instance": numbers} | {name: shortest(values[:, j]) for j, name in enumerate(names)}
    on = model.decision_.apply(values)
    if form is Form.TABLE:
        return {"instance": numbers} | {name: on[:, j].astype(np.int8) for j, name in enumerate(names)}
    odd = next((name for name in names if ";" in name), None)
    if odd is not None:
        raise InputError(f"the label name {odd!r} holds a semicolon, which parts labels: use --form table or --json")
    return {"instance": numbers, "labels": [";".join(tags) for tags in _tags(on, names)]}


def _tags(on: NDArray[np.bool_], names: list[str]) -> Iterator[list[str]]:
    import numpy as np

    return ([names[j] for j in np.flatnonzero(row)] for row in on)


def _best(values: NDArray[Any], top: int) -> NDArray[np.int64]:
    """Return the labels with the highest scores of each row, the lower number first where they are equal."""
    import numpy as np

    return np.argsort(-values, axis=1, kind="stable")[:, :top]


def _records(
    model: LabelModel, values: NDArray[Any], names: list[str], scores: bool, top: int | None
) -> Iterator[dict[str, Any]]:
    """Yield an object for each instance."""
    best = None if top is None else _best(values, top)
    tags = _tags(model.decision_.apply(values), names)
    for k, row in enumerate(values):
        record: dict[str, Any] = {"instance": k + 1, "labels": next(tags)}
        if best is not None:
            record = {"instance": k + 1, "top": [{"label": names[j], "score": _short(row[j])} for j in best[k]]}
        elif scores:
            record["scores"] = {name: _short(score) for name, score in zip(names, row, strict=True)}
        yield record


def _short(score: Any) -> float:
    return float(str(score))


def _write_lines(records: Iterator[dict[str, Any]]) -> None:
    """Write an object in each line."""
    for record in records:
        sys.stdout.write(jsonlib.dumps(record, ensure_ascii=False) + "\n")
