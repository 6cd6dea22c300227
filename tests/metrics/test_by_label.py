"""Measures of each label, against scikit-learn, a count by hand, and the measures of all labels together."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics import average_precision_score, log_loss, precision_recall_fscore_support
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.metrics import LabelTable, LabelTally, by_label, report_by_label

NAMES = ["rock, hard", "été", "plain", "a\nb", "never", "silent"]


def planted(n: int = 200, n_labels: int = 6, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return truth, predictions and probabilities; the last label but one never occurs, the last is never predicted."""
    rng = np.random.default_rng(seed)
    p = rng.random((n, n_labels)).round(2)  # rounded, so that there are ties
    Y = rng.random((n, n_labels)) < p**2
    Y[:, -2] = False
    found = p > 0.6
    found[:, -1] = False
    return Y, found, p


def binned_error(y: np.ndarray, p: np.ndarray, n_bins: int) -> float:
    """Return the expected calibration error of one label, bin by bin."""
    edges = np.linspace(0, 1, n_bins + 1)
    inside = [(low < p) & (p <= high) for low, high in pairwise(edges)]
    inside[0] |= p == 0
    return sum(part.mean() * abs(p[part].mean() - y[part].mean()) for part in inside if part.any())


def by_name(table: LabelTable) -> dict[str, dict[str, object]]:
    return {row["label"]: row for row in table.records()}


def test_measures_are_those_of_scikit_learn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_label, "_CELLS", 2 * 200)  # two labels at a time
    Y, found, p = planted()
    table = report_by_label(sparse.csr_matrix(Y), found, 3 * p - 7, p, label_names=NAMES)
    rows = by_name(table)
    precision, recall, f1, support = precision_recall_fscore_support(Y, found, zero_division=np.nan)
    for k, name in enumerate(NAMES):
        row = rows[name]
        assert row["support"] == support[k] == Y[:, k].sum()
        assert row["predicted"] == found[:, k].sum()
        assert row["errors"] == (Y[:, k] != found[:, k]).sum()
        for key, values in (("precision", precision), ("recall", recall), ("f1", f1)):
            value = None if np.isnan(values[k]) else pytest.approx(values[k])
            assert row[key] == value
        assert row["log_loss"] == pytest.approx(log_loss(Y[:, k], p[:, k], labels=[0, 1]))
        assert row["calibration_error"] == pytest.approx(binned_error(Y[:, k], p[:, k], 15))
    for k in range(6):
        expected = None if k == 4 else pytest.approx(average_precision_score(Y[:, k], p[:, k]))
        assert rows[NAMES[k]]["average_precision"] == expected


def test_the_calibration_error_by_hand() -> None:
    """Two bins: mean .3, of which half came true; mean .9, of which none did."""
    table = report_by_label([[1], [0], [0]], [[1], [0], [1]], None, [[0.5], [0.1], [0.9]], n_bins=2)
    assert table.columns["calibration_error"][0] == pytest.approx((2 * abs(0.3 - 0.5) + 0.9) / 3)


def test_most_confused_is_counted_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(by_label, "_CELLS", 1)
    Y, found, _ = planted(60, 5, seed=3)
    rows = by_name(report_by_label(Y, found))
    for k in range(5):
        instead = [
            sum(Y[i, k] and not found[i, k] and found[i, j] and not Y[i, j] for i in range(60)) for j in range(5)
        ]
        assert rows[k]["confused"] == max(instead)
        assert rows[k]["confused_with"] == (instead.index(max(instead)) if any(instead) else None)


def test_the_labels_that_cost_most_come_first() -> None:
    Y, found, p = planted()
    table = report_by_label(Y, found, p, p, label_names=NAMES)
    errors, f1 = table.columns["errors"], np.nan_to_num(table.columns["f1"])
    assert list(zip(-errors, f1, strict=True)) == sorted(zip(-errors, f1, strict=True))
    for by, falling in (("f1", False), ("average_precision", False), ("log_loss", True), ("support", True)):
        values = table.sort(by).columns[by].astype(float)
        known = values[~np.isnan(values)]
        assert np.array_equal(known, np.sort(known)[:: -1 if falling else 1])
        assert np.isnan(values[len(known) :]).all()
    assert table.sort("label").columns["label"].tolist() == sorted(NAMES)
    assert table.sort("confused_with").columns["confused_with"][-1] is None or table.columns["confused"].all()
    assert table.sort("f1", descending=True).columns["f1"][0] == np.nanmax(table.columns["f1"])
    with pytest.raises(InvalidInputError, match="by='supprt': did you mean support"):
        table.sort("supprt")


@together("frame", [pd.DataFrame, pl.DataFrame])
def test_names_are_those_of_frames(frame: Any) -> None:
    Y, found, _ = planted()
    table, sets = (frame(dict(zip(NAMES, labels.T, strict=True))) for labels in (Y, found))
    expected = report_by_label(Y, found, label_names=NAMES).columns["label"].tolist()
    for given in ((table, sets), (table, found), (Y, sets)):
        assert report_by_label(*given).columns["label"].tolist() == expected
    own = [f"my {name}" for name in NAMES]
    assert set(report_by_label(table, sets, label_names=own).columns["label"]) == set(own)
    with pytest.raises(InvalidInputError, match="the columns of predicted must be those of Y, in the same order: "):
        report_by_label(table, sets[NAMES[::-1]])


def test_parts_add_up() -> None:
    """Counts and calibration of two parts are those of the whole; with one part so is the average precision."""
    Y, found, p = planted()
    whole = by_name(report_by_label(Y, found, p, p))
    tally = LabelTally()
    for part in (slice(0, 70), slice(70, None)):
        tally.add(Y[part], found[part], p[part], p[part])
    parts = by_name(tally.table())
    for label, row in parts.items():
        for key, value in row.items():
            if key == "average_precision":
                continue
            assert value == (pytest.approx(whole[label][key]) if isinstance(value, float) else whole[label][key])
        scores = [(Y[part, label].sum(), average_precision_score(Y[part, label], p[part, label]) if Y[part, label].any()
                   else 0) for part in (slice(0, 70), slice(70, None))]  # fmt: skip
        weights = sum(n for n, _ in scores)
        expected = sum(n * value for n, value in scores) / weights if weights else None
        assert row["average_precision"] == (None if expected is None else pytest.approx(expected))


def test_what_is_not_known_does_not_count() -> None:
    """Each label has the measures of the rows in which it is known."""
    Y, found, p = planted()
    hidden = np.random.default_rng(1).random(Y.shape) < 0.3
    rows = by_name(report_by_label(np.where(hidden, np.nan, Y), found, p, p))
    for k in range(6):
        known = ~hidden[:, [k]].ravel()
        alone = report_by_label(Y[known, k : k + 1], found[known, k : k + 1], p[known, k : k + 1], p[known, k : k + 1])
        for name, value in alone.records()[0].items():
            if name not in ("label", "confused_with", "confused"):
                assert rows[k][name] == (pytest.approx(value) if isinstance(value, float) else value)
    assert report_by_label([[np.nan, 1.0]], [[1, 1]], None, [[0.5, 0.5]]).records()[1]["log_loss"] is None


def test_it_becomes_frames_and_text() -> None:
    Y, found, p = planted()
    table = report_by_label(Y, found, p, p, label_names=NAMES)
    for frame in (pd.DataFrame(table.columns), pd.DataFrame(table.records())):
        assert frame["label"].tolist() == table.columns["label"].tolist()
        assert frame["support"].sum() == Y.sum()
    assert pl.DataFrame(table.records())["errors"].to_list() == table.columns["errors"].tolist()
    lines = str(table).splitlines()
    assert len(lines) == 1 + len(NAMES)
    assert re.fullmatch(r"label .* F1 +AP +ECE +log-loss +confused with +confused", lines[0])
    assert any(line.startswith("a b ") for line in lines)
    assert table.text(2).splitlines()[-1] == "... and 4 more labels"
    wide = report_by_label(Y, found, label_names=["x" * 50, *NAMES[1:]])
    assert max(map(len, wide.text().splitlines())) < 120


@together(
    ("changes", "message"),
    [
        ({"label_names": ["a"]}, "label_names holds 1 name for 6 labels"),
        ({"n_bins": 0}, "n_bins=0: expected a whole number of at least 1"),
        ({"probabilities": np.full((200, 6), 1.5)}, "probabilities must lie between 0 and 1, found 1.5"),
        ({"probabilities": np.full((200, 6), np.nan)}, "probabilities holds 1200 NaNs"),
        ({"scores": np.zeros((200, 5))}, r"Y has shape \(200, 6\) but scores has \(200, 5\)"),
        ({"predicted": np.zeros((200, 5))}, r"Y has shape \(200, 6\) but predicted has \(200, 5\)"),
        ({"Y": np.full((200, 6), 0.5)}, "Y must hold labels"),
    ],
)
def test_bad_input(changes: dict[str, object], message: str) -> None:
    Y, found, _ = planted()
    with pytest.raises(InvalidInputError, match=message):
        report_by_label(**{"Y": Y, "predicted": found, **changes})


def test_parts_must_fit_together() -> None:
    Y, found, p = planted()
    tally = LabelTally()
    with pytest.raises(InvalidInputError, match="there are no rows"):
        tally.table()
    tally.add(Y, found, p)
    with pytest.raises(InvalidInputError, match="for all parts, or for none"):
        tally.add(Y, found)
    with pytest.raises(InvalidInputError, match="this part has 5 labels, those before 6"):
        tally.add(Y[:, 1:], found[:, 1:], p[:, 1:])


def test_many_sparse_labels_stay_sparse() -> None:
    """A dense table of these labels would take 80 GB."""
    rng = np.random.default_rng(0)
    n, L = 100_000, 100_000
    Y = sparse.csr_array((np.ones(n, np.int8), (np.arange(n), rng.integers(300, size=n))), shape=(n, L))
    found = sparse.csr_array((np.ones(n, np.int8), (np.arange(n), rng.integers(300, size=n))), shape=(n, L))
    table = report_by_label(Y, found)
    assert len(table) == L
    assert table.columns["support"].sum() == n
    assert table.columns["errors"][0] == max(table.columns["errors"])
