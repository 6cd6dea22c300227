"""Labels without a value in tables and ARFF files, from the file to what is learned, predicted and measured."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cofactor
from cofactor.datasets import load_labels
from cofactor.errors import InvalidInputError
from cofactor.evaluation import compare, evaluate_labels
from cofactor.labels import PLST, LabelRidge

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 3)).round(3)
Y = (X @ rng.normal(size=(3, 3)) + 0.3 * rng.normal(size=(90, 3)) > 0.2).astype(int)
KNOWN = rng.random(Y.shape) < 0.8
KNOWN[0] = True
GAPS = ["", "?", "NA", "nan"]
OPTIONS = ["--labels", "l_", "--missing", "ignore"]


def words(gaps: list[str]) -> list[list[str]]:
    """Return the labels as they stand in a file."""
    return [
        [str(label) if known else gaps[(i + j) % len(gaps)] for j, (label, known) in enumerate(zip(*row, strict=True))]
        for i, row in enumerate(zip(Y, KNOWN, strict=True))
    ]


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "gaps.csv"
    rows = (",".join([*map(str, x), *y]) for x, y in zip(X, words(GAPS), strict=True))
    path.write_text("\n".join(["a,b,c,l_x,l_y,l_z", *rows]) + "\n")
    return path


def arff(folder: Path, sparse: bool) -> Path:
    """Write the labels first: two nominal ones, one that needs text, and a number; those of sparse rows are not 0."""
    kinds = ["{0,1}", "{no,yes}" if not sparse else "{1,0}", "numeric"]
    rows = []
    for x, y in zip(X, words(["?"]), strict=True):
        cells = [*y, *map(str, x)]
        if not sparse:
            cells[1] = {"0": "no", "1": "yes"}.get(cells[1], cells[1])
        pairs = ",".join(f"{j} {cell}" for j, cell in enumerate(cells) if cell != "0" or j == 1)
        rows.append(f"{{{pairs}}}" if sparse else ",".join(cells))
    header = [f"@attribute l_{name} {kind}" for name, kind in zip("xyz", kinds, strict=True)]
    header += [f"@attribute {name} numeric" for name in "abc"]
    path = folder / "gaps.arff"
    path.write_text("\n".join(["@relation gaps", *header, "@data", *rows]) + "\n")
    return path


@pytest.mark.parametrize("form", ["csv", "arff", "sparse arff", "frame", "parquet"])
def test_every_file_says_which_labels_are_known(form: str, table: Path, tmp_path: Path) -> None:
    source: object = table
    if "arff" in form:
        source = arff(tmp_path, "sparse" in form)
    elif form != "csv":
        source = pd.read_csv(table, na_values=GAPS)
    if form == "parquet":
        pd.read_csv(table, na_values=GAPS).to_parquet(tmp_path / "gaps.parquet")
        source = tmp_path / "gaps.parquet"
    data = load_labels(source, "l_", missing="ignore")
    np.testing.assert_array_equal(data.known, KNOWN)
    np.testing.assert_array_equal(data.Y.toarray(), Y * KNOWN)
    np.testing.assert_array_equal(data.take(np.arange(5)).targets, np.where(KNOWN, Y, np.nan)[:5])
    with pytest.raises(InvalidInputError, match="has no value|found (no value|'.*')") as refused:
        load_labels(source, "l_")
    assert "missing='ignore' learns from the labels that are known" in str(refused.value)
    if form == "csv":
        model = LabelRidge(missing="ignore").fit(data)
        expected = LabelRidge().fit(data.X, Y, mask=KNOWN)
        np.testing.assert_allclose(model.decision_function(data), expected.decision_function(X))
        assert not compare({"ridge": model}, data, n_splits=3).failed


def test_commands_learn_from_known_labels_and_measure_on_them(run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cofactor"
    refused = run("fit", table, *OPTIONS[:2], "-o", out)
    assert refused.status == 2
    assert "write 0 if it is off; --missing ignore learns from the labels that are known" in refused.err
    told = run("fit", table, *OPTIONS, "-o", out)
    n = np.count_nonzero(~KNOWN)
    assert f"{n} of 270 labels ({n / 270:.1%}) are not known: models learn from the others, and" in told.err
    expected = LabelRidge(random_state=0).fit(X, Y, mask=KNOWN).predict(X)
    np.testing.assert_array_equal(cofactor.load(out).predict(X).toarray(), expected)
    assert run("predict", out, table).out.count("\n") == 91
    assert run("predict", out, arff(tmp_path, False)).out.count("\n") == 91  # labels of new instances count for nothing
    measured = run("evaluate", table, *OPTIONS, "-m", "plst", "--folds", 2, "--by-label")
    assert (measured.status, "are not known" in measured.err) == (0, True), measured.err
    supports = [int(line.split()[1]) for line in measured.out.splitlines() if line.strip().startswith("l_")]
    assert sum(supports) == np.count_nonzero(Y * KNOWN)
    many = run("compare", table, *OPTIONS, "-m", "plst", "-m", "leml", "--splits", 2, "--metric", "micro_f1")
    assert (many.status, "are not known" in many.err) == (0, True), many.err
    alone = run("fit", table, *OPTIONS, "-m", "mlknn", "-o", out)
    assert (alone.status, "MLkNN needs all labels; take LabelRidge" in alone.err) == (2, True), alone.err


def test_labels_that_a_training_part_does_not_know_are_left_out_of_its_measures(run, table: Path) -> None:
    frame = pd.read_csv(table, na_values=GAPS)
    frame["l_z"] = np.where(frame.index == 50, 0, np.nan)  # not among the rows of the warm-up
    frame.to_csv(table, index=False)
    told = run("evaluate", table, *OPTIONS, "-m", "plst", "--folds", 2, "--by-label")
    assert told.status == 0, told.err
    split = re.search(r"the training part of split (\d) knows nothing of 'l_z': its measures leave it out", told.err)
    assert split, told.err
    assert re.search(r"l_z +0 ", told.out)
    known = evaluate_labels(PLST(missing="ignore", random_state=0), X, frame[["l_x", "l_y", "l_z"]], 2)
    fewer = evaluate_labels(PLST(missing="ignore", random_state=0), X, frame[["l_x", "l_y"]], 2)
    fold = int(split[1]) - 1
    assert [row["left_out"] for row in known] == [["l_z"] if k == fold else [] for k in range(2)]
    assert known[fold]["macro_f1"] == fewer[fold]["macro_f1"]
    loaded = run("evaluate", table, *OPTIONS, "-m", "plst", "--folds", 2, "--json").json
    assert loaded["results"]["PLST"][fold]["macro_f1"] == pytest.approx(fewer[fold]["macro_f1"])


def test_missing_labels_that_make_no_sense(run, table: Path, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="missing='drop': expected 'error' or 'ignore'"):
        load_labels(table, "l_", missing="drop")
    tags = tmp_path / "tags.csv"
    tags.write_text("a,tags\n1,x|y\n2,\n")
    told = run("fit", tags, "--labels", "tags", "--label-sep", "|", "--missing", "ignore")
    assert "--missing ignore is for a column for each label: an empty cell of tags means none" in told.err
    empty = pd.read_csv(table, na_values=GAPS).assign(l_y=np.nan)
    empty.to_csv(table, index=False)
    told = run("fit", table, *OPTIONS)
    assert (told.status, "label 'l_y' is known for no instance; leave it out" in told.err) == (2, True), told.err
    svm = tmp_path / "x.svm"
    svm.write_text("0 0:1\n1 1:1\n")
    with pytest.raises(InvalidInputError, match="missing='ignore' is for ARFF|missing is for ARFF"):
        load_labels(svm, missing="ignore")


def test_weights_and_recorded_shares(run, tmp_path: Path) -> None:
    weights = rng.integers(0, 3, 90)
    frame = pd.DataFrame(np.column_stack([X, Y, weights]), columns=["a", "b", "c", "l_x", "l_y", "l_z", "w"])
    frame.to_csv(tmp_path / "w.csv", index=False)
    out = tmp_path / "m.cofactor"
    options = ["--labels", "l_", "--weights", "w", "--param", "kernel=linear", "-o", out]
    told = run("fit", tmp_path / "w.csv", *options, "--recorded", 0.6)
    assert told.status == 0, told.err
    expected = LabelRidge(kernel="linear", random_state=0).fit(X, Y, weights, recorded=0.6)
    np.testing.assert_allclose(cofactor.load(out).predict_proba(X), expected.predict_proba(X), atol=1e-9)
    assert run("predict", out, tmp_path / "w.csv").out.count("\n") == 91  # the schema leaves the column out
    data = load_labels(tmp_path / "w.csv", "l_", weights="w")
    np.testing.assert_array_equal(data.take(np.arange(9)).weights, weights[:9])
    model = LabelRidge(kernel="linear", random_state=0).fit(data)
    np.testing.assert_allclose(model.coef_, expected.coef_)
    path = tmp_path / "w.arff"
    header = [f"@attribute {name} numeric" for name in frame.columns]
    path.write_text("\n".join(["@relation w", *header, "@data", frame.to_csv(index=False, header=False)]))
    np.testing.assert_array_equal(load_labels(path, "l_", weights="w").weights, weights)
    told = run("fit", tmp_path / "w.csv", *options, "--recorded", 1e-9)
    assert (told.status, "--recorded 1e-09: label 'l_" in told.err) == (2, True), told.err
    told = run("fit", tmp_path / "w.csv", "--labels", "l_", "--weights", "v", "-o", out)
    assert (told.status, "has no column 'v', which --weights names" in told.err) == (2, True), told.err
    frame.assign(w=-1).to_csv(tmp_path / "w.csv", index=False)
    told = run("fit", tmp_path / "w.csv", *options)
    assert (told.status, "sample_weight holds -1 (instance 0)" in told.err) == (2, True), told.err
