"""Li's tables: measures, cells on CAL500, claims on made-up results."""

import numpy as np
import pytest

from cofactor.evaluation.run.cells import Result
from cofactor.experiments.base.experiment import Sample
from cofactor.experiments.li.tables import (
    CLUSTERINGS,
    EXPERIMENTS,
    MEASURES,
    PRINTED,
    clustering_claims,
    dimension_claims,
    frequency_claims,
    random_claims,
    small_claims,
    whole_claims,
)
from cofactor.experiments.li.work import label_measures, learned_split

NAMED = {experiment.name: experiment for experiment in EXPERIMENTS}
SVM, LOGISTIC = "BinaryRelevance (linear SVM)", "BinaryRelevance (logistic regression)"


def found(**by_method):
    """Return the same value of every measure for each method."""
    return {metric: {name: Sample(value) for name, value in by_method.items()} for metric in MEASURES}


def verdicts(claims):
    return [claim.holds for claim in claims]


def test_macro_f1_leaves_out_labels_with_nothing():
    assert label_measures([[1, 0], [1, 0]], [[1, 0], [1, 0]])["macro_f1"] == 1


def test_label_pca_is_regression_on_principal_components():
    """With as many components as labels, label PCA is least squares of each label, cut at one half."""
    from cofactor.experiments.li.tables import EMOTIONS
    from cofactor.experiments.li.work import _parts

    columns, split = EMOTIONS[:3], "holdout 1/50"
    X, Y, test, truth = _parts(split, 0, columns)
    given = {"learner": "PLST", "scales": ["rescaled"], "grid": {}, "settings": {"n_components": 3}}
    measured = learned_split("PLST (3)", "cal500", split, 0, columns=columns, **given)
    design = [np.column_stack([part, np.ones(len(part))]) for part in (X, test)]
    scores = design[1] @ np.linalg.lstsq(design[0], Y, rcond=None)[0]
    assert len(test) == 50
    assert measured["micro_f1"] == pytest.approx(label_measures(truth, scores > 0.5)["micro_f1"])


def test_normalization_and_parameters_are_chosen():
    measured = learned_split(
        "kNN", "cal500", "holdout 1/50", 0, scales=["L1", "z-score"], grid={"n_neighbors": [1, 15]}, columns=[1, 5]
    )
    scale, neighbours = measured["chosen"].split(", n_neighbors ")
    assert scale in ("L1", "z-score")
    assert neighbours in ("1", "15")


def test_random_claims():
    rates = {f"random ({rate})": value for rate, value in zip((0, 0.25, 0.5, 0.75, 1), range(5), strict=True)}
    good = found(**rates, **{"random (label frequency)": 9})
    good["label_accuracy"] = {name: Sample(-value.mean) for name, value in good["label_accuracy"].items()}
    good["expected_label_accuracy"] = good["label_accuracy"]
    good["micro_mcc"] = {name: Sample(0.001) for name in rates} | {"random (label frequency)": Sample(0.2)}
    assert verdicts([*random_claims(good), *frequency_claims(good)]) == [True] * 5
    bad = found(**{name: -value for name, value in rates.items()}, **{"random (label frequency)": -9})
    bad["label_accuracy"] = {name: Sample(value) for name, value in rates.items()}
    bad["expected_label_accuracy"] = {name: Sample(0.5) for name in bad["label_accuracy"]}
    assert verdicts([*random_claims(bad), *frequency_claims(bad)]) == [False] * 5


def test_claims_on_learners():
    assert verdicts(small_claims(found(**{SVM: 0.6, LOGISTIC: 0.6, "RBF SVM": 0.6, "kNN": 0.5}))) == [True, True]
    assert verdicts(small_claims(found(**{SVM: 0.5, LOGISTIC: 0.6, "RBF SVM": 0.6, "kNN": 0.5}))) == [False, False]
    good = {SVM: 0.4, LOGISTIC: 0.45, "RBF SVM": 0.4, "PLST": 0.44, "feature/label CCA": 0.4, PRINTED: 0.3}
    assert verdicts(whole_claims(found(**good))) == [True] * 3
    assert verdicts(whole_claims(found(**good | {SVM: 0.5, "PLST": 0.4, PRINTED: 0.39}))) == [False] * 3
    assert verdicts(whole_claims(found(PLST=0.4))) == [None] * 3


def test_claims_on_dimensions():
    rising = {f"PLST ({d})": 0.3 + d / 2000 for d in (1, 5, 10, 20, 50, 100, 150)}
    falling = {name: 0.6 - 2 * value for name, value in rising.items()}
    mixed = {**found(**falling), "macro_f1": found(**rising)["macro_f1"]}
    assert verdicts(dimension_claims(mixed)) == [True, True, True]
    assert verdicts(dimension_claims({**found(**rising), "macro_f1": mixed["micro_f1"]})) == [
        False, False, True,
    ]  # fmt: skip


def test_what_is_not_here_stands_beside_with_its_reason():
    result = Result(
        key="", method="PLST", data="cal500", split="", seed=0, parameters={}, checksum="", measure="", version="",
        status="done", measures=dict.fromkeys(MEASURES, 0.4), error="", seconds=1.0,
    )  # fmt: skip
    rows = NAMED["li-table-7.4"].outcome([result]).rows
    here = {row.method for row in rows if row.here is not None}
    absent = {row.method for row in rows if row.reason == "not in this package"}
    assert here == {"PLST"}
    assert len(absent) == 7
    assert {"supported CML", "chain ensembles", "random chain"} <= absent
    assert NAMED["li-table-7.5"].cells("full") == []
    assert {row.reason for row in NAMED["li-table-7.5"].outcome([]).rows} == {"not in this package"}


def test_clusters_of_labels():
    """Rows of table 7.7 are cells, and chi2 and Pearson's correlation are one method."""
    rows = {row.method for row in NAMED["li-table-7.7"].outcome([]).rows}
    assert rows == {cell.method for cell in NAMED["li-table-7.7"].cells("quick")} == set(CLUSTERINGS)
    given = {"learner": "label clustering", "scales": ["rescaled"], "grid": {}, "columns": list(range(12))}
    measured = [
        learned_split(name, "cal500", "holdout 1/50", 0, settings=CLUSTERINGS[name] | {"max_size": 3}, **given)
        for name in ("chi2 clustering", "Pearson clustering", "random clustering")
    ]
    assert measured[0] == measured[1] != measured[2]
    good = dict.fromkeys(CLUSTERINGS, 0.42) | {"chi2 clustering": 0.425, "Pearson clustering": 0.425}
    assert verdicts(clustering_claims(found(**good))) == [True] * 3
    bad = good | {"Pearson clustering": 0.41, "random clustering": 0.4}
    assert verdicts(clustering_claims(found(**bad))) == [False] * 3


def test_picture_has_the_printed_numbers_too():
    results = [
        Result(
            key="", method=f"PLST ({d})", data="cal500", split="", seed=0, parameters={}, checksum="", measure="",
            version="", status="done", measures=dict.fromkeys(MEASURES, 0.4), error="", seconds=1.0,
        )
        for d in (1, 5, 10, 20, 50, 100, 150)
    ]  # fmt: skip
    (picture,) = NAMED["li-table-7.6"].outcome(results).pictures
    assert "micro-F1, printed" in picture.draw().get_legend_handles_labels()[1]
