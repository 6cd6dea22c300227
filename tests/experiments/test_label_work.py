"""Label cells: what they measure, and that they choose within the training part."""

import json

import numpy as np
import pytest
from tests.together import together

from cofactor.evaluation.labels import evaluate_labels
from cofactor.experiments.label_work import label_fold, label_set, model_of, rows_of
from cofactor.experiments.papers import label_cell
from cofactor.labels import MLkNN
from cofactor.metrics import label_report


def test_folds_part_the_rows():
    data = label_set("emotions")
    parts = [rows_of(f"kfold {k}/4", 0, data) for k in range(1, 5)]
    assert sorted(np.concatenate([test for _, test in parts])) == list(range(593))
    for train, test in parts:
        assert not set(train) & set(test)
    train, seen = rows_of("seen 2/4", 0, data)
    np.testing.assert_array_equal(train, seen)
    np.testing.assert_array_equal(train, parts[1][0])


def test_official_split_and_draws():
    data = label_set("emotions")
    train, test = rows_of("official", 0, data)
    assert (len(train), len(test)) == (391, 202)
    first, second = (rows_of(f"holdout {k}/0.1", 0, data)[1] for k in (1, 2))
    assert len(first) == len(second) == 60
    assert set(first) != set(second)
    assert set(first) != set(rows_of("holdout 1/0.1", 1, data)[1])


@together("split", ["kfold", "fold 1/3", "kfold 1/0.5", "holdout 1/0"])
def test_unknown_split(split):
    with pytest.raises(ValueError, match="expected 'kfold"):
        rows_of(split, 0, label_set("emotions"))


def test_a_cell_is_evaluate_labels_on_its_fold():
    data = label_set("emotions")
    found = label_fold("MLkNN", "emotions", "kfold 2/3", ranking=True)
    expected = evaluate_labels(MLkNN.paper(), data.X, data.Y, 3)[1]
    for name in ("hamming", "micro_f1", "average_precision"):
        assert found[name] == expected[name]


def test_steps_are_fitted_to_the_training_part():
    data = label_set("emotions")
    train, test = rows_of("kfold 1/5", 0, data)
    model = model_of("MLkNN", {"n_neighbors": 3}, [("StandardScaler", {})]).fit(data.X[train], data.Y[train])
    report = label_report(data.Y[test], model.predict(data.X[test]))
    found = label_fold("MLkNN", "emotions", "kfold 1/5", settings={"n_neighbors": 3}, steps=[["StandardScaler", {}]])
    assert found["hamming"] == report["hamming"]


def test_both_cuts_of_a_grid_in_a_pipeline():
    found = label_fold(
        "PLST", "emotions", "kfold 1/5", settings={"n_components": 4}, steps=[["StandardScaler", {}]],
        grid={"alpha": [1.0, 1e5]}, thresholds=["plain", "global"],
    )  # fmt: skip
    assert found["chosen"] == found["learned:chosen"] == "alpha 1.0"
    assert found["learned:micro_f1"] > found["micro_f1"]


def test_share_of_the_training_rows():
    whole, part = (label_fold("MLkNN", "emotions", "kfold 1/5", share=share) for share in (1.0, 0.2))
    assert (whole["n_train"], part["n_train"], part["n_test"]) == (474, 95, 119)


@pytest.mark.usefixtures("data_dir")
def test_what_a_cell_says_is_json_and_makes_its_key():
    one = label_cell("MLkNN", "emotions", "kfold 1/5", settings={"n_neighbors": 3})
    assert json.loads(json.dumps(one.parameters)) == {"settings": {"n_neighbors": 3}}
    assert one.key != label_cell("MLkNN", "emotions", "kfold 1/5").key
    assert one.checksum == label_cell("MLCHMF", "emotions", "kfold 2/5").checksum != ""
