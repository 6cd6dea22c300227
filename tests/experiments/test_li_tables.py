"""Li's tables: measures, cells on CAL500, claims on made-up results."""

import numpy as np
import pytest

from cofactor.evaluation.store import Run
from cofactor.experiments import experiments
from cofactor.experiments.li_work import (
    LEARNERS,
    MEASURES,
    _chain_measures,
    _parts,
    chains_split,
    label_measures,
    learned_split,
)
from cofactor.experiments.papers.li import EMOTIONS, INVERSIONS, PAPER, claims_of, inversion_claims, whole_cells
from cofactor.experiments.reproduction import Sample
from cofactor.labels import ChainCRFEnsemble

NAMED = experiments()
LINEAR, LOGISTIC = "BinaryRelevance (linear SVM)", "BinaryRelevance (logistic regression)"
PRINTED, NEAREST = "CCA (printed decoding)", "the nearest neighbour"
ROWS = PAPER.facts["rows"]
CLUSTERINGS = {row["method"]: row for row in ROWS["7.7"]}
#: A cell of the first split; what differs follows.
GIVEN = {"method": "", "data": "cal500", "split": "holdout 1/50", "seed": 0}


def result(method, parameters=None, **measures):
    return Run(
        key="", method=method, data="cal500", split="", seed=0, parameters=parameters or {}, checksum="", measure="",
        version="", status="done", measures=measures, error="", seconds=1.0,
    )  # fmt: skip


def found(**by_method):
    """Return the same value of every measure for each method."""
    return {metric: {name: Sample(value) for name, value in by_method.items()} for metric in MEASURES}


def verdicts(claims):
    return [claim.holds for claim in claims]


def test_macro_f1_leaves_out_labels_with_nothing():
    assert label_measures([[1, 0], [1, 0]], [[1, 0], [1, 0]])["macro_f1"] == 1


def test_label_pca_is_regression_on_principal_components():
    """With as many components as labels, label PCA is least squares of each label, cut at one half."""
    columns = EMOTIONS[:3]
    X, Y, test, truth = _parts("holdout 1/50", 0, columns)
    settings = {"n_components": 3}
    measured = learned_split(
        **GIVEN, learner="LabelPCA", scales=["rescaled"], grid={}, settings=settings, columns=columns
    )
    assert LEARNERS["LabelPCA"].n_components != 3  # the next cell takes its own settings
    design = [np.column_stack([part, np.ones(len(part))]) for part in (X, test)]
    scores = design[1] @ np.linalg.lstsq(design[0], Y, rcond=None)[0]
    assert len(test) == 50
    assert measured["micro_f1"] == pytest.approx(label_measures(truth, scores > 0.5)["micro_f1"])


def test_normalization_and_parameters_are_chosen():
    choices = {"scales": ["L1", "z-score"], "grid": {"n_neighbors": [1, 15]}, "settings": {}}
    measured = learned_split(**GIVEN, learner="kNN", columns=[1, 5], **choices)
    scale, neighbours = measured["chosen"].split(", n_neighbors ")
    assert scale in ("L1", "z-score")
    assert neighbours in ("1", "15")


def test_random_claims():
    rates = {f"random ({rate})": value for rate, value in zip((0, 0.25, 0.5, 0.75, 1), range(5), strict=True)}
    good = found(**rates, **{"random (label frequency)": 9})
    good["label_accuracy"] = {name: Sample(-value.mean) for name, value in good["label_accuracy"].items()}
    good["expected_label_accuracy"] = good["label_accuracy"]
    good["micro_mcc"] = {name: Sample(0.001) for name in rates} | {"random (label frequency)": Sample(0.2)}
    assert verdicts([*claims_of("li-table-7.2", good), *claims_of("li-table-7.3", good)]) == [True] * 5
    bad = found(**{name: -value for name, value in rates.items()}, **{"random (label frequency)": -9})
    bad["label_accuracy"] = {name: Sample(value) for name, value in rates.items()}
    bad["expected_label_accuracy"] = {name: Sample(0.5) for name in bad["label_accuracy"]}
    assert verdicts([*claims_of("li-table-7.2", bad), *claims_of("li-table-7.3", bad)]) == [False] * 5


def test_claims_on_learners():
    names = dict.fromkeys((LINEAR, LOGISTIC, "RBF SVM"), 0.6)
    good = names | {"kNN": 0.5, "multi-class": 0.5, "CML": 0.8, "CMLF": 0.7, "CML, supported": 0.8}
    assert verdicts(claims_of("li-table-7.1", found(**good))) == [True] * 6
    bad = good | {LINEAR: 0.45, "CML": 0.55, "CMLF": 0.5, "CML, supported": 0.5}
    assert verdicts(claims_of("li-table-7.1", found(**bad))) == [False] * 6
    assert verdicts(claims_of("li-table-7.1", found(**names))) == [None] * 4 + [True, None]


def test_claims_on_all_labels():
    steps = (
        *("CCA (printed decoding)", "FeatureLabelCCA", "multi-class", "kNN", "sampled chi2 chain", "chi2 chain"),
        *("chi2 tree", "random chain", "sampled ML chain, 51 chains", "chain ensembles, 51 chains", "LabelPCA"),
        *("random clustering", "chi2 clustering", "supported CML", "RBF SVM", LINEAR, LOGISTIC),
    )
    values = {name: 0.3 + 0.005 * k for k, name in enumerate(steps)}
    values |= {NEAREST: values["multi-class"], "LabelPCA": values[LOGISTIC] - 0.015, PRINTED: 0.2}
    good = found(**values)
    for metric in ("micro_f1", "macro_f1", "example_f1"):
        good[metric]["supported CML"] = Sample(0.9)
    assert verdicts(claims_of("li-table-7.4", good)) == [True] * 12
    bad = found(**{name: -value for name, value in values.items()})
    bad["micro_f1"][NEAREST] = Sample(0.0)
    assert (
        verdicts(claims_of("li-table-7.4", bad)).count(False) == 10
    )  # the random chain, and label PCA, are no worse than others
    assert verdicts(claims_of("li-table-7.4", found(LabelPCA=0.4))) == [None] * 12


def test_claims_on_inversions():
    shares = dict.fromkeys(INVERSIONS, Sample(0.48))
    assert verdicts(inversion_claims({"normalized_inversions": shares})) == [True, False, True]
    few = {f"{row}, 51 chains": Sample(0.005) for row in INVERSIONS} | {"chi2, 51 chains": Sample(0.5)}
    assert verdicts(inversion_claims({"normalized_inversions": few})) == [False, True, False]
    assert verdicts(inversion_claims({"normalized_inversions": {}})) == [None] * 3


def test_claims_on_dimensions():
    rising = {f"LabelPCA ({d})": 0.3 + d / 2000 for d in (1, 5, 10, 20, 50, 100, 150)}
    falling = {name: 0.6 - 2 * value for name, value in rising.items()}
    mixed = {**found(**falling), "macro_f1": found(**rising)["macro_f1"]}
    assert verdicts(claims_of("li-table-7.6", mixed)) == [True, True, True]
    assert verdicts(claims_of("li-table-7.6", {**found(**rising), "macro_f1": mixed["micro_f1"]})) == [
        False, False, True,
    ]  # fmt: skip


def test_every_row_of_the_tables_is_measured():
    given = {f"chain ensembles/{name}": 0.4 for name in MEASURES}
    inversions = {f"{row}/normalized_inversions": 0.5 for row in INVERSIONS}
    chains = result("random chains", {"variant": "51 chains"}, **given, **inversions)
    rows = {row.method for row in NAMED["li-table-7.4"].outcome([chains]).rows if row.here is not None}
    assert rows == {"chain ensembles"}
    rows = NAMED["li-table-7.5"].outcome([chains]).rows
    assert [(row.method, row.variant, row.here.mean) for row in rows] == [
        (name, "51 chains", 0.5) for name in INVERSIONS
    ]
    assert {row["method"] for row in ROWS["7.4"]} | {"sampled ML chain", "chain ensembles"} == {
        PRINTED, NEAREST, *(row.method for row in NAMED["li-table-7.4"].outcome([]).rows),
    }  # fmt: skip
    assert {row["method"] for row in ROWS["7.1"]} == {row.method for row in NAMED["li-table-7.1"].outcome([]).rows}
    few, many = whole_cells("quick"), whole_cells("full")
    assert {cell.key for cell in few} <= {cell.key for cell in many}
    seeds = {cell.parameters["settings"]["random_state"] for cell in many if cell.method == "random chain"}
    assert seeds == set(range(10))


def test_random_chains_of_labels():
    settings = {"random_state": 0, "tol": 0.05}
    by = {"chi2": "chi-squared", "Pearson correlation": "squared-pearson"}
    measured = chains_split(**GIVEN, n_chains=3, grid={}, settings=settings, by=by)
    assert measured["chi2/normalized_inversions"] == measured["Pearson correlation/normalized_inversions"]
    assert measured["sampled ML chain/label_accuracy"] > 0.8
    assert measured["chain ensembles/marginals:label_accuracy"] > 0.8


def test_chains_know_the_labels_that_vary_alone():
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(30, 3))
    Y, truth = (np.column_stack([part[:, :1] > 0, part > rng.normal(size=part.shape)]).astype(int) for part in (X, new))
    measured = [
        _chain_measures(
            ChainCRFEnsemble.paper(6, threshold="joint", random_state=0).fit(X, labels),
            *(X, labels, new, there),
            {"chi2": "chi-squared"},
        )
        for labels, there in ((Y, truth), (np.insert(Y, 0, 1, axis=1), np.insert(truth, 0, 1, axis=1)))
    ]
    assert 0 < measured[0]["chi2/normalized_inversions"] == measured[1]["chi2/normalized_inversions"]
    for row in ("sampled ML chain", "chain ensembles"):  # one label more, which all have right
        one, more = (1 - part[f"{row}/label_accuracy"] for part in measured)
        assert 4 * one == pytest.approx(5 * more)


def test_clusters_of_labels():
    """Rows of table 7.7 are cells, and chi2 and Pearson's correlation are one method."""
    rows = {row.method for row in NAMED["li-table-7.7"].outcome([]).rows}
    assert rows == {cell.method for cell in NAMED["li-table-7.7"].cells("quick")} == set(CLUSTERINGS)
    given = {"learner": "clustering", "scales": ["rescaled"], "grid": {}, "columns": list(range(12))}
    measured = [
        learned_split(**GIVEN, settings=CLUSTERINGS[name]["settings"] | {"max_size": 3}, **given)
        for name in ("random clustering", "chi2 clustering", "Pearson clustering")
    ]
    assert measured[0] != measured[1] == measured[2]
    good = dict.fromkeys(CLUSTERINGS, 0.42) | {"chi2 clustering": 0.425, "Pearson clustering": 0.425}
    assert verdicts(claims_of("li-table-7.7", found(**good))) == [True] * 3
    bad = good | {"Pearson clustering": 0.41, "random clustering": 0.4}
    assert verdicts(claims_of("li-table-7.7", found(**bad))) == [False] * 3


def test_picture_has_the_printed_numbers_too():
    results = [result(f"LabelPCA ({d})", **dict.fromkeys(MEASURES, 0.4)) for d in (1, 5, 10, 20, 50, 100, 150)]
    (picture,) = NAMED["li-table-7.6"].outcome(results).pictures
    assert "micro-F1, printed" in picture.draw().get_legend_handles_labels()[1]
