"""Table 2 and figure 2 of the MNMTF paper: claims and pictures on made-up results."""

from dataclasses import replace

import pytest
from tests.experiments.results import result

from cofactor import published
from cofactor.datasets import load_labels
from cofactor.experiments import experiment
from cofactor.experiments.papers.mnmtf import (
    FEATURES,
    PRINTED_RULE,
    better_than_all_features,
    no_gain_by_nmf,
    worst_of_all,
)
from cofactor.experiments.reproduction import Sample

TABLE, FIGURE = experiment("mnmtf-table-2"), experiment("mnmtf-figure-2")
PRINTED = published.load("mnmtf-2")


def as_printed(columns=("MLkNN", "MNMTF"), methods=("MLkNN", "MNMTF")):
    """Return results with the printed numbers of some columns, taken for these methods."""
    return [
        result(method, data, {metric: PRINTED.get(data, column, metric).mean for metric in PRINTED.metrics})
        for data in FEATURES
        for method, column in zip(methods, columns, strict=True)
    ]


def test_as_good_as_all_features():
    ours, as_in_the_source = [True] * 3, [None] * 3  # the update as printed was not run here
    found = better_than_all_features(PRINTED, as_printed())
    assert [claim.holds for claim in found] == ours + as_in_the_source
    worse = better_than_all_features(PRINTED, as_printed(("MLkNN", "MLDA")))
    assert [claim.holds for claim in worse[:3]] == [False] * 3
    printed_rule = [replace(one, parameters={"variant": PRINTED_RULE}) for one in as_printed() if one.method == "MNMTF"]
    both = better_than_all_features(PRINTED, [*as_printed(), *printed_rule])
    assert [claim.holds for claim in both] == [True] * 6
    assert {claim.holds for claim in better_than_all_features(PRINTED, [])} == {None}


def test_gain_along_dimensions():
    def curves(mnmtf, nmf):
        reduced = {
            name: {0.1: Sample(values[0]), 0.3: Sample(values[1])} for name, values in (("MNMTF", mnmtf), ("NMF", nmf))
        }
        return {"yahoo-arts": {"MLkNN": {1.0: Sample(0.06)}, **reduced}}

    assert [claim.holds for claim in no_gain_by_nmf(curves((0.05, 0.055), (0.06, 0.07)))] == [True, True, None]
    assert [claim.holds for claim in no_gain_by_nmf(curves((0.07, 0.06), (0.05, 0.05)))] == [False, False, None]
    assert [claim.holds for claim in no_gain_by_nmf({})] == [None, None, None]


def test_picture_has_a_line_for_each_method():
    places = [("MLkNN", 1.0), *((name, share) for name in ("NMF", "MNMTF") for share in (0.1, 0.3))]
    results = [result(name, "yahoo-arts", {"hamming": 0.06}, dimensions=share) for name, share in places]
    (picture,) = FIGURE.outcome(results).pictures
    assert sorted(picture.draw().get_legend_handles_labels()[1]) == ["MNMTF", "NMF", "all features"]


def test_ranks_and_the_worst():
    claims = TABLE.outcome(as_printed(PRINTED.methods, PRINTED.methods)).claims
    ranks = [claim for claim in claims if "average rank" in claim.statement]
    assert len(ranks) == 8
    assert all(claim.holds for claim in ranks)
    assert worst_of_all(PRINTED, as_printed(PRINTED.methods, PRINTED.methods)).holds
    swapped = [{"MLDA": "NMF", "NMF": "MLDA"}.get(name, name) for name in PRINTED.methods]
    assert worst_of_all(PRINTED, as_printed(swapped, PRINTED.methods)).holds is False
    assert worst_of_all(PRINTED, as_printed()).holds is None


@pytest.mark.parametrize("data", FEATURES)
def test_dimensions_of_nmf_are_a_share_of_the_features(data):
    assert load_labels(data).X.shape[1] == FEATURES[data]
