"""Streaming a second file into a model of labels: what `partial_fit` gives, whatever the order of the columns."""

from __future__ import annotations

import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import cofactor
from cofactor.datasets import LabelDataset, make_labels, write_table
from cofactor.errors import InvalidInputError
from cofactor.labels import OMF, PLST
from cofactor.service import service_of, task_named
from cofactor.service.results import Loaded, Settings

FEATURES, LABELS = [f"f{j}" for j in range(6)], [f"tag {k}" for k in range(4)]
TASK = task_named("labels")


@pytest.fixture
def data() -> LabelDataset:
    return make_labels(90, 6, 4, n_groups=1, n_factors=2, random_state=0)[0]


def written(path: Path, data: LabelDataset, rows: slice, columns: list[str]) -> Loaded:
    """Write instances with these columns, and read them."""
    X, Y = np.asarray(data.X), data.Y.toarray()
    named = dict(zip([*FEATURES, *LABELS], [*X.T, *Y.T], strict=True))
    write_table(path, {name: named.get(name, np.zeros(len(X)))[rows] for name in columns})
    return TASK.read(str(path), TASK.values("fit", {"labels": "tag"}))


@pytest.fixture
def first(tmp_path: Path, data: LabelDataset) -> Loaded:
    return written(tmp_path / "first.csv", data, slice(60), [*FEATURES, *LABELS])


@pytest.fixture
def model(first: Loaded, tmp_path: Path) -> Any:
    """A model that was fitted, saved and loaded."""
    settings = Settings(alpha=0.1, factors=3, options=TASK.values("fit", {}), params={"label_weight": 0.5})
    fitted, _ = TASK.fit(TASK.build("omf", settings).model, first, settings)
    fitted.save(tmp_path / "model.cofactor")
    return cofactor.load(tmp_path / "model.cofactor")


@pytest.mark.parametrize("columns", [[*FEATURES, *LABELS], [*LABELS[::-1], *FEATURES[::-1]]], ids=["same", "reversed"])
def test_equals_partial_fit(first: Loaded, model: Any, data: LabelDataset, tmp_path: Path, columns: list[str]) -> None:
    second = written(tmp_path / "second.csv", data, slice(60, None), columns)
    before = model.Q_.copy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        updated = service_of(model).update(second, {})
    direct = OMF(3, alpha=0.1, random_state=0).fit(first.data.X, first.data.Y)
    direct.partial_fit(np.asarray(data.X)[60:], data.Y[60:])
    assert updated.n_rows_seen_ == 90
    np.testing.assert_array_equal(updated.Q_, direct.Q_)
    np.testing.assert_array_equal(updated.P_, direct.P_)
    assert [str(name) for name in updated.feature_names_in_] == FEATURES
    np.testing.assert_array_equal(model.Q_, before)  # the model given is not changed
    updated.save(tmp_path / "updated.cofactor")
    again = cofactor.load(tmp_path / "updated.cofactor")
    values = TASK.values("predict", {"scores": True})
    table = service_of(again).predict_file(str(tmp_path / "second.csv"), values)
    assert set(table.columns) == {"instance", *LABELS}


def test_labels_without_names_are_matched_by_position(first: Loaded) -> None:
    model = OMF.paper(3, alpha=0.1, random_state=0).fit(first.data.X, first.data.Y)
    updated = service_of(model).update(first, {})
    np.testing.assert_array_equal(updated.Q_, model.partial_fit(first.data.X, first.data.Y).Q_)


def test_labels_named_by_whole_numbers_are_matched_by_name(first: Loaded) -> None:
    model = OMF.paper(3, alpha=0.1, random_state=0).fit(first.data.X, first.data.Y, label_names=[3, 1, 4, 15])
    turned = replace(first, data=replace(first.data, Y=first.data.Y[:, ::-1], label_names=("15", "4", "1", "3")))
    updated = service_of(model).update(turned, {})
    np.testing.assert_array_equal(updated.Q_, model.partial_fit(first.data.X, first.data.Y).Q_)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ([*FEATURES, *LABELS[:3]], "second.csv: no label 'tag 3'"),
        ([*FEATURES, *LABELS, "tag 9"], "second.csv: label 'tag 9' was not there in training"),
        ([*FEATURES[1:], *LABELS], "second.csv: no feature 'f0'"),
        ([*FEATURES, "size", *LABELS], "second.csv: feature 'size' was not there in training"),
    ],
)
def test_columns_that_do_not_fit(
    model: Any, data: LabelDataset, tmp_path: Path, columns: list[str], message: str
) -> None:
    second = written(tmp_path / "second.csv", data, slice(60, None), columns)
    with pytest.raises(InvalidInputError, match=message):
        service_of(model).update(second, {})


def test_models_that_learn_from_all_instances_at_once(first: Loaded) -> None:
    model = PLST.paper(2).fit(first.data.X, first.data.Y)
    with pytest.raises(InvalidInputError, match="PLST learns from all instances at once: fit it again"):
        service_of(model).update(first, {})
