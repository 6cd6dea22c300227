"""Label models and their parameters as they are typed: names, lists, and label sets that a model decodes as a whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import cofactor
from cofactor.datasets import make_labels, write_table
from cofactor.service.labels import LabelTask

OPTIONS = ("--labels", "tag")
SETS = ("-m", "label-powerset", "--threshold", "joint")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    data, _ = make_labels(40, 4, 3, n_groups=2, n_factors=2, random_state=0)
    columns = {f"f{j}": column for j, column in enumerate(np.asarray(data.X).T)}
    path = tmp_path / "tags.csv"
    write_table(path, columns | {f"tag {name}": data.Y.toarray()[:, k] for k, name in enumerate("abc")})
    return path


def test_names_of_papers_lead_to_models(run, table: Path) -> None:
    meant = {"clr": "calibrated-label-ranking", "ECC": "ensemble-of-chains", "multi-class": "label-powerset"}
    for name, suggested in (meant | {"ada-boost": "ada-boost-mh, ada-boost-mr"}).items():
        assert f"(did you mean {suggested}?)" in run("fit", table, *OPTIONS, "-m", name).error
    assert set(LabelTask.other_names.values()) <= set(LabelTask().models())


@pytest.mark.parametrize("order", ["2,0,1", '["tag c", "tag a", "tag b"]', "tag c,tag a,tag b"])
def test_lists_as_parameters(run, table: Path, tmp_path: Path, order: str) -> None:
    chain = ("-m", "classifier-chain", "--threshold", 0, "--param", f"order={order}", "-o", tmp_path / "chain")
    assert run("fit", table, *OPTIONS, *chain).status == 0
    assert cofactor.load(tmp_path / "chain").order_.tolist() == [2, 0, 1]
    error = run("fit", table, *OPTIONS, *chain[:4], "--param", "order=tag a,tag b,tag d").error
    assert error.startswith("--param order='tag a,tag b,tag d': no label is called 'tag d'; did you mean tag ")


def test_label_sets_of_a_model_that_decodes_them(run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "sets"
    facts = run("fit", table, *OPTIONS, *SETS, "-o", out, "--json").json
    assert facts["threshold"] is None
    model = cofactor.load(out)
    del model.feature_names_in_
    found = run("predict", out, table, "--form", "table").rows
    data = np.loadtxt(table, delimiter=",", skiprows=1)
    predicted = model.predict(data[:, :4]).toarray()
    assert [[int(row[f"tag {name}"]) for name in "abc"] for row in found] == predicted.tolist()
    assert "fit it with --threshold auto" in run("predict", out, table, "--coverage", 0.9).error


def test_label_sets_beside_a_model_that_decides_label_by_label(run, table: Path) -> None:
    error = run("fit", table, *OPTIONS, *SETS[2:], "-m", "plst").error
    assert error.startswith("--threshold joint: PLST does not decode label sets by itself; these do: brknn, ")
    both = run("evaluate", table, *OPTIONS, *SETS, "-m", "plst", "--folds", 2, "--json")
    assert "--threshold joint does not concern PLST, which decides as with --threshold auto" in both.err
    assert list(both.json["results"]) == ["LabelPowerset", "LabelPowerset + joint", "PLST", "frequent labels"]
