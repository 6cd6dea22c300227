"""Rows, samples and verdicts; every declared experiment."""

from itertools import pairwise

import pytest
from tests.together import together

from cofactor.experiments import experiment, experiments
from cofactor.experiments.reproduction import EXTENTS, Row, Sample
from cofactor.experiments.results import PRINTED

NAMES = sorted(experiments())


def row(published, here, metric="mae"):
    return Row(data="toy", method="HMF", metric=metric, published=published, here=here)


@together(
    ("published", "here", "metric", "expected"),
    [
        (Sample(0.700, 0.003), Sample(0.707, 0.004), "mae", "agrees"),  # 1.4 of their .005
        (Sample(0.700, 0.003), Sample(0.711, 0.004), "mae", "worse"),
        (Sample(0.700, 0.003), Sample(0.689, 0.004), "mae", "better"),
        (Sample(0.700, 0.003), Sample(0.711, 0.004), "micro_f1", "better"),
        (Sample(0.700), Sample(0.711, 0.004), "micro_f1", "agrees"),  # the unknown deviation as the known one
        (Sample(0.700), Sample(0.712, 0.004), "micro_f1", "better"),
        (Sample(0.700), Sample(0.711), "micro_f1", "unknown"),
        (Sample(0.700, 0.003), Sample(0.711, 0.004), "label_accuracy", "better"),
        (Sample(700, 0.003), Sample(711, 0.004), "n_labels", "differs"),
        (Sample(0.700), None, "micro_f1", ""),
        (None, Sample(0.700), "micro_f1", ""),
    ],
)
def test_verdict_weighs_the_difference_by_both_deviations(published, here, metric, expected):
    assert row(published, here, metric).verdict == expected


@together(("here", "expected"), [(7.4703, "agrees"), (7.471, "differs"), (8.393, "differs")])
def test_recomputed_numbers_agree_to_three_digits(here, expected):
    one = Row(data="", method="F_F", metric="micro_f1", published=Sample(7.470), here=Sample(here), tolerance=0.0)
    assert one.verdict == expected


def test_what_cannot_be_right_is_neither_better_nor_worse():
    one = Row(
        data="llog", method="MLkNN", metric="micro_f1", published=Sample(0, 0), here=Sample(0.05, 0.02), misprint=True
    )
    assert one.verdict == "differs"


def test_misprints_of_further_tables_are_told_with_their_number():
    told = experiment("thesis-table-5.9").misprints
    assert told[0] == "human, LLSF, Hamming loss: rank 6 should be 7"
    assert "table 5.8: plant, Instances: 948 should be 978" in told


def test_sample_of_one_value_has_no_deviation():
    assert Sample.of([0.5]) == Sample(0.5, None, 1)
    assert Sample.of([1.0, 3.0]) == Sample(2.0, pytest.approx(2**0.5), 2)


@together("name", NAMES)
def test_extents_nest_and_no_cell_is_there_twice(name):
    """And every cell says which code takes part in it."""
    found = [experiment(name).cells(extent) for extent in EXTENTS]
    assert all(cell.code for cell in found[-1])
    keys = [[cell.key for cell in cells] for cells in found]
    for ones in keys:
        assert len(ones) == len(set(ones))
    for smaller, larger in pairwise(keys):
        assert set(smaller) <= set(larger)


@together("name", NAMES)
def test_outcome_of_no_results_promises_nothing(name):
    """What needs no results is recomputed from what is printed, and not counted as measured."""
    one = experiment(name)
    if one.cells("quick"):
        outcome = one.outcome([])
        assert not [row for row in outcome.rows if row.here is not None and row.variant != PRINTED]
        if name != "thesis-figure-3.1":
            assert all(claim.holds is None for claim in outcome.claims if claim.origin != "print")


def test_unknown_name_tells_the_nearest():
    with pytest.raises(ValueError, match=r"thesis-table-3\.19"):
        experiment("thesis-table-3-19")
