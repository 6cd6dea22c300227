"""Tables 5.9 to 5.11 and figures 5.4 and 5.5: claims and statistics on made-up results."""

import numpy as np
import pytest
from tests.experiments.results import result

from cofactor import published
from cofactor.experiments import experiments
from cofactor.experiments.papers.kumar_labels import (
    LARGE,
    MLCHMF,
    REALIGNED,
    SMALL,
    better_on_more_sets,
    here_in_place,
    mlchmf_cells,
    one_penalty,
    realignment,
)
from cofactor.experiments.reproduction import Sample

BY_NAME = experiments()
TABLE = published.load("thesis-5.9")


def as_printed(sets=SMALL + LARGE, swap=()):
    """Return results as printed; of two methods in `swap` each has the numbers of the other."""
    other = dict(zip(swap, reversed(swap), strict=True))
    return [
        result(
            method, data, {metric: TABLE.get(data, other.get(method, method), metric).mean for metric in TABLE.metrics}
        )
        for data in sets
        for method in MLCHMF
    ]


def test_every_data_set_is_run_and_rcv1_also_realigned():
    cells = mlchmf_cells("normal")
    assert {cell.data for cell in cells} == set(TABLE.data)
    ways = {(cell.parameters.get("aligned"), cell.parameters.get("variant")) for cell in cells if "rcv1" in cell.data}
    assert ways == {("published", None), ("realigned", REALIGNED)}
    assert [cell.parameters.get("empty") for cell in cells if cell.data == "llog"] == [0] * 3 * len(MLCHMF)
    finer = [cell for cell in mlchmf_cells("full") if cell.parameters.get("variant") == "all tolerances"]
    assert {cell.data for cell in finer} == set(TABLE.data)


def test_duels_hold_as_printed_and_fail_when_columns_are_exchanged():
    claims = better_on_more_sets(TABLE, as_printed())
    assert len(claims) == 18
    assert all(claim.holds for claim in claims)
    exchanged = better_on_more_sets(TABLE, as_printed(swap=("MLCHMF", "MLkNN")))
    assert [claim.holds for claim in exchanged if "MLkNN" in claim.statement] == [False] * 3
    assert {claim.holds for claim in better_on_more_sets(TABLE, as_printed(SMALL))} == {None}  # 5 of 12 tell little


def test_realignment():
    def both(after):
        shifted = result("MLkNN", "rcv1-sample2", {"accuracy": 0.2}, aligned="published")
        return [shifted, result("MLkNN", "rcv1-sample2", {"accuracy": after}, aligned="realigned", variant=REALIGNED)]

    assert realignment(both(0.4), "accuracy").holds
    assert realignment(both(0.1), "accuracy").holds is False
    assert realignment(both(0.4)[:1], "accuracy").holds is None


def test_ours_stand_in_place_of_the_printed_columns():
    results = [result("MLkNN", "emotions", {"hamming": value}) for value in (0.1802, 0.1804)]
    scores = here_in_place(TABLE, "hamming", results)
    row = scores.data.index("emotions")
    assert scores.values[row, scores.methods.index("MLkNN")] == 0.18
    assert np.isnan(scores.values[row, scores.methods.index("MLCHMF")])


def test_statistics_of_our_numbers_are_those_of_the_printed_ones_where_they_agree():
    outcome = BY_NAME["thesis-table-5.11"].outcome(as_printed())
    values = {(row.method, row.metric, row.variant): row.here.mean for row in outcome.rows}
    for metric in TABLE.metrics:
        assert values["F_F", metric, "ours in place"] == values["F_F", metric, "printed numbers"]
    assert values["critical value", "", "printed numbers"] == pytest.approx(2.239, abs=5e-4)
    assert outcome.claims[0].holds is False  # no printed F_F follows from the printed numbers
    assert "F_F Hamming loss: printed 5.730, follows 8.393" in outcome.claims[0].measured


def test_without_results_the_printed_numbers_are_tested():
    outcome = BY_NAME["thesis-figure-5.5"].outcome([])
    assert len(outcome.pictures) == len(outcome.claims) == 6
    assert all(claim.holds for claim in outcome.claims)
    texts = {word for text in outcome.pictures[0].draw().texts for word in text.get_text().split()}
    assert {"MLCHMF", "LLSF"} <= texts


def test_every_printed_method_has_a_row_beside_it():
    rows = BY_NAME["thesis-table-5.9"].outcome(as_printed(["emotions"])).rows
    assert set(MLCHMF) == set(TABLE.methods)
    found = [row for row in rows if row.data == "emotions"]
    assert [row.difference for row in found] == [0.0] * 3 * len(MLCHMF)


def test_one_penalty():
    def curves(few, all_of_them):
        losses = {0.25: few, 1.0: all_of_them}
        return {
            share: {a: Sample(x, 0.01, 3) for a, x in zip((1, 10, 100), y, strict=True)} for share, y in losses.items()
        }

    assert one_penalty(curves((0.25, 0.22, 0.225), (0.24, 0.195, 0.19))).holds
    assert one_penalty(curves((0.20, 0.25, 0.30), (0.30, 0.25, 0.20))).holds is False
    single = {share: {1: Sample(0.2), 10: Sample(0.3)} for share in (0.25, 1.0)}
    assert one_penalty(single).holds is None


def test_figure_of_the_penalty():
    results = [
        result("MLCHMF", "emotions", {"hamming": 0.2 + 0.01 * draw}, share=share, settings={"alpha": alpha})
        for share in (0.25, 1.0)
        for alpha in MLCHMF["MLCHMF"]["grid"]["alpha"]
        for draw in range(2)
    ]
    outcome = BY_NAME["thesis-figure-5.4"].outcome(results)
    ax = outcome.pictures[0].draw()
    assert ax.get_legend_handles_labels()[1] == ["25% of the training instances", "100% of the training instances"]
    assert ax.get_xlabel() == "λ"
    assert BY_NAME["thesis-figure-5.4"].outcome([]).claims[0].holds is None
