"""evaluate on features and labels: the same numbers as the library, a baseline worked out by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.model_selection import KFold

from cofactor.datasets import load_labels, make_labels, write_libsvm
from cofactor.evaluation import GroupedLabelKFold, Holdout, StratifiedLabelKFold, evaluate_labels, fold_means
from cofactor.labels import PLST, BinaryRelevance
from cofactor.metrics import label_report

MEASURES = ("hamming", "accuracy", "subset_accuracy", "example_f1", "macro_f1", "micro_f1")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    data, _ = make_labels(90, 8, 5, n_groups=2, n_factors=2, random_state=1)
    path = tmp_path / "tags.svm"
    write_libsvm(path, data.X, data.Y)
    return path


@pytest.mark.parametrize("protocol", ["kfold", "holdout"])
def test_results_equal_the_library(run, file: Path, protocol: str) -> None:
    from cofactor.datasets import read_libsvm

    data = read_libsvm(file, sparse="auto")
    outcome = run(
        *("evaluate", file, "-m", "plst", "-p", protocol, "--folds", 3, "--seed", 4, "--alpha", 2),
        *("--threshold", "global", "--json"),
    )
    found = outcome.json
    assert list(found["results"]) == ["PLST", "PLST + learned", "frequent labels", "frequent labels + learned"]
    holdout = Holdout(0.2, 3, random_state=4)
    splitter = KFold(3, shuffle=True, random_state=4) if protocol == "kfold" else holdout
    model = PLST(alpha=2.0, threshold="global", random_state=4)
    means = fold_means(evaluate_labels(model, data.X, data.Y, splitter))
    for key in MEASURES:
        for shown, kind in (("PLST", "plain"), ("PLST + learned", "learned")):
            assert found["summary"][shown][key]["mean"] == pytest.approx(means[kind][key][0])
            assert found["summary"][shown][key]["std"] == pytest.approx(means[kind][key][1])


def test_splits_for_labels(run, tmp_path: Path) -> None:
    """Folds with equal shares of labels, and with whole groups, are those of the library."""
    data, _ = make_labels(60, 4, 3, n_groups=2, n_factors=2, random_state=1)
    patients, Y = np.arange(60) % 7, data.Y.toarray()
    lines = [",".join(["patient", *(f"x{k}" for k in range(4)), *(f"y{k}" for k in range(3))])]
    lines += [
        ",".join(map(repr, [int(p), *x, *y])) for p, x, y in zip(patients, data.X.tolist(), Y.tolist(), strict=True)
    ]
    path = tmp_path / "visits.csv"
    path.write_text("\n".join(lines))
    told = ("evaluate", path, "--labels", "y", "--folds", 3, "--threshold", 0, "--alpha", 1, "-m", "plst")
    for protocol, splitter in (
        ("stratified", StratifiedLabelKFold(3, random_state=0)),
        ("grouped", GroupedLabelKFold(3, groups=patients, random_state=0)),
    ):
        found = run(*told, "--id", "patient", "-p", protocol, "--json").json["results"]["PLST"]
        assert [row["n_test"] for row in found] == [len(test) for _, test in splitter.split(data.X, Y)], protocol
    refused = run(*told, "-p", "grouped").error
    assert "visits.csv has no ids that say which instances are of one group; --id names the column" in refused


def test_parameters_are_chosen_inside_the_training_folds(run, file: Path) -> None:
    from cofactor.datasets import read_libsvm

    data = read_libsvm(file, sparse="auto")
    found = run("evaluate", file, "-m", "plst", "--folds", 2, "--json").json["results"]["PLST"]
    direct = evaluate_labels(PLST(random_state=0), data.X, data.Y, KFold(2, shuffle=True, random_state=0))
    assert [row["parameters"] for row in found] == [row["parameters"] for row in direct]
    assert [row["micro_f1"] for row in found] == [row["micro_f1"] for row in direct]


def test_baseline(run, file: Path) -> None:
    """Labels which more than half of the training instances have, for everyone."""
    from cofactor.datasets import read_libsvm

    Y = read_libsvm(file).Y.toarray()
    asked = ["-m", "mlknn", "--alpha", "auto", "--threshold", 0, "--folds", 2, "--json"]
    found = run("evaluate", file, *asked).json
    for row, (train, test) in zip(
        found["results"]["frequent labels"], KFold(2, shuffle=True, random_state=0).split(Y), strict=True
    ):
        guess = np.tile(Y[train].mean(axis=0) > 0.5, (len(test), 1))
        assert row["hamming"] == label_report(Y[test], guess)["hamming"]


def test_official_split_of_real_data(run, data_dir: Path) -> None:
    found = run("evaluate", "emotions", "-m", "binary-relevance", "-p", "official", "--json").json
    (row,) = found["results"]["BinaryRelevance"]
    assert (row["n_train"], row["n_test"]) == (391, 202)
    train, test = load_labels("emotions").split()
    model = BinaryRelevance(random_state=0).fit(train.X, train.Y)
    assert row["micro_f1"] == label_report(test.Y, model.predict(test.X))["micro_f1"]
    assert row["micro_f1"] > 0.65


def test_table(run, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    outcome = run("evaluate", file, "-m", "plst", "--alpha", 1, "--threshold", "global", "--folds", 2)
    lines = [line for line in outcome.out.splitlines() if line.strip()]
    assert max(map(len, lines)) <= 80
    assert "…" not in outcome.out
    assert lines[0].rstrip() == "tags.svm: kfold, 2 splits, seed 0"
    assert sum("±" in line for line in lines) == 4


def test_refusals(run, file: Path, csv: Path) -> None:
    assert "--protocol weak is not for labels; these have kfold, holdout," in run("evaluate", file, "-p", "weak").error
    assert run("evaluate", file, "-p", "official").error == (
        "data set tags.svm has no official split; choose --protocol kfold or holdout"
    )
    assert "--splits (or --folds) 91: expected a whole number from 2 to" in run("evaluate", file, "--folds", 91).error
    assert run("evaluate", file, "--test-users", 0.2).error == f"--test-users is for ratings, but {file} holds labels"
    assert "--protocol official is not for ratings; these have holdout," in run("evaluate", csv, "-p", "official").error
