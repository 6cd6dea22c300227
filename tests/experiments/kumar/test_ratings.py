"""Rating experiments: what their cells measure, and when their claims hold."""

from dataclasses import replace

import numpy as np
import pytest
from tests.experiments.results import result_of

from cofactor import published
from cofactor.evaluation.running import Cell
from cofactor.experiments import experiment as named
from cofactor.experiments.base.rating_work import THESIS, errors_of_groups, errors_tuned, load, recovery_errors
from cofactor.experiments.base.reproduction import Reproduction
from cofactor.experiments.base.series import means, unfinished
from cofactor.experiments.kumar import curves
from cofactor.experiments.kumar.plane import convergence

MADE = {"n_users": 60, "n_items": 50, "n_factors": 2, "density": 0.4}


# ---------------------------------------------------------------- cells


def test_tuned_errors_meet_the_window_and_look_at_no_test_rating() -> None:
    errors = errors_tuned(
        "ALS", "made", "", 0, settings=THESIS["ALS"] | {"n_factors": 5}, metric="mae", low=0.2, high=0.4, made=MADE
    )
    assert errors["reached"] == 1.0
    assert 0.2 <= errors["train_mae"] <= 0.4
    assert errors["mae"] > errors["train_mae"]


def test_a_window_no_model_reaches_is_said_so() -> None:
    settings = {"n_factors": 1, "alpha_bias": None, "tol": 0.01}
    errors = errors_tuned("ALS", "made", "", 0, settings=settings, metric="mae", low=0.0, high=1e-9, made=MADE)
    assert errors["reached"] == 0.0
    assert errors["train_mae"] > 1e-3


def test_groups_measure_known_and_new_users_of_one_fit(monkeypatch) -> None:
    source = load("made", 0, MADE)
    monkeypatch.setattr("cofactor.experiments.base.rating_work.load", lambda *args: source)
    errors = errors_of_groups("ALS", "made", "", 0, settings={"alpha": 2.0}, new_users=10)
    assert {"weak:nmae", "strong:nmae", "fit_seconds"} <= set(errors)
    # Better than guessing the mean level, for both.
    guess = np.abs(source.y - 3).mean() / 1.6
    assert errors["weak:nmae"] < guess
    assert errors["strong:nmae"] < guess


def test_recovery_counts_only_entries_not_seen_and_copies_the_others() -> None:
    made = {"n_users": 60, "n_items": 50, "n_factors": 2}
    errors = recovery_errors("ALS", "made", "", 0, share=0.75, settings={"alpha": 1.0}, made=made)
    # All entries are four times as many, and the seen ones have no error; squares of levels are about the same.
    assert errors["whole_fre"] == pytest.approx(errors["fre"] / 2, rel=0.05)


def test_convergence_starts_differ_and_fall() -> None:
    settings = {"n_factors": 2, "alpha": 0.1, "alpha_bias": None, "solver": "gd", "tol": 0.0, "max_iter": 30}
    first, second = (
        convergence("BinaryMMMF", "thesis-3.1", "", seed, settings=settings)["objective"] for seed in (0, 1)
    )
    assert first[0] != second[0]
    assert np.all(np.diff(first) <= 0)


def test_examples_are_printed_right() -> None:
    """The smooth hinge losses of the printed factors add up to those of table 3.5 with its column 7 put right."""
    Y, U, V = (published.matrix(f"thesis-{name}") for name in ("3.1", "3.2-U", "3.2-V"))
    margin = (Y * (U @ V.T))[Y != 0]
    loss = np.where(margin <= 0, 0.5 - margin, np.where(margin < 1, (1 - margin) ** 2 / 2, 0.0))
    assert np.round(loss, 2).sum() == pytest.approx(1.57)
    # How often each level stands in table 3.6.
    assert np.bincount(published.matrix("thesis-3.6").astype(int).ravel()).tolist() == [10, 17, 18, 19, 19, 17]


def test_regions_draw_levels_as_often_as_asked() -> None:
    cell = named("thesis-figure-3.6").cells("quick")[1]
    measures = cell.work()
    counts = np.sum([user["counts"] for user in measures["users"]], axis=0)
    assert counts[2] < counts[1] / 2
    assert counts[1] < counts[0] / 2
    drawn = measures["drawn"]
    assert len(drawn["V"]) == len(drawn["levels"])
    assert len(drawn["thresholds"]) == 4


# ---------------------------------------------------------------- claims


def test_excess_compares_at_the_same_training_error() -> None:
    drawn = {"A": (np.array([0.0, 0.2]), np.array([0.5, 0.3])), "B": (np.array([0.1, 0.4]), np.array([0.3, 0.3]))}
    np.testing.assert_allclose(curves.excess(drawn, "A", "B")[[0, -1]], [0.1, 0.0], atol=1e-12)
    assert curves.excess(drawn, "A", "C").size == 0
    assert curves.claim_lower(drawn, "B", ["A"], "mae", "here").holds is True
    assert curves.claim_lower(drawn, "A", ["B"], "mae", "here").holds is False
    assert curves.claim_lower(drawn, "A", ["B", "C"], "mae", "here").holds is None


@pytest.mark.parametrize(("better", "holds"), [("HMF", True), ("MMMF", False)])
def test_tradeoff_claim_follows_the_results(better: str, holds: bool) -> None:
    experiment = named("thesis-figure-3.12")
    results = [
        result_of(
            cell, {"train_nmae": cell.parameters["settings"]["alpha"], "nmae": 0.4 + 0.1 * (cell.method != better)}
        )
        for cell in experiment.cells("quick")
    ]
    outcome = experiment.outcome(results)
    assert [claim.holds for claim in outcome.claims] == [holds]
    assert outcome.pictures[0].draw().get_ylabel() == "test NMAE"


def test_validation_claims_need_an_inner_minimum() -> None:
    experiment = named("thesis-figure-3.9")
    cells = experiment.cells("quick")
    valley = [
        result_of(cell, {"zero_one": abs(cell.parameters["exponent"] - 4 * cell.parameters["stage"] - 3)})
        for cell in cells
    ]
    assert [claim.holds for claim in experiment.outcome(valley).claims] == [True, True]
    slope = [result_of(cell, {"zero_one": float(cell.parameters["exponent"])}) for cell in cells]
    assert [claim.holds for claim in experiment.outcome(slope).claims] == [False, False]
    assert len(experiment.outcome(valley).pictures[0].draw()) == 4


@pytest.mark.parametrize(("hmf_falls_behind", "holds"), [(0.01, [True, True]), (0.2, [False, False])])
def test_factor_claims(hmf_falls_behind: float, holds: list[bool]) -> None:
    experiment = named("thesis-figure-3.11")

    def error(cell: Cell) -> float:
        few = cell.parameters["settings"]["n_factors"] == 20
        return 0.43 + few * (hmf_falls_behind if cell.method == "HMF" else 0.1)

    results = [result_of(cell, {"nmae": error(cell), "reached": 1.0}) for cell in experiment.cells("quick")]
    outcome = experiment.outcome(results)
    assert [claim.holds for claim in outcome.claims] == holds
    assert not outcome.notes
    outcome.pictures[0].draw()


def test_factors_with_which_a_method_cannot_be_trained_so_far_count_for_none() -> None:
    experiment = named("thesis-figure-3.11")
    results = []
    for cell in experiment.cells("quick"):
        few = cell.parameters["settings"]["n_factors"] == 20
        reached = not (few and cell.method == "MMMF")
        nmae = 0.43 if not few else 0.44 if reached else 0.9
        measures = {"nmae": nmae, "reached": float(reached), "train_nmae": 0.07 if reached else 0.3}
        results.append(result_of(cell, measures))
    outcome = experiment.outcome(results)
    assert "d = 20" not in outcome.claims[0].measured  # which is about both
    assert outcome.claims[1].measured == "+2% from d = 100 to d = 20"
    assert outcome.claims[1].holds
    assert "MMMF 0.300 at d = 20" in outcome.notes[0]
    assert "d = 20" not in experiment.outcome(results[:2]).claims[0].measured


def test_recovery_claims_and_map() -> None:
    experiment = named("thesis-figure-3.15")
    better = [
        result_of(cell, {"fre": 0.5 - cell.parameters["share"] + 0.01 * (cell.method == "MMMF")})
        for cell in experiment.cells("quick")
    ]
    outcome = experiment.outcome(better)
    assert [claim.holds for claim in outcome.claims] == [True, True]
    assert len(outcome.pictures[0].draw()) == 2
    worse = [replace(one, measures={"fre": one.parameters["share"] - 0.01 * (one.method == "MMMF")}) for one in better]
    assert [claim.holds for claim in experiment.outcome(worse).claims] == [False, False]
    assert [claim.holds for claim in experiment.outcome([]).claims] == [None, None]


def test_time_claims() -> None:
    experiment = named("thesis-figure-3.13")
    slow = [
        result_of(cell, {"fit_seconds": 1.0 + (cell.method == "HMF"), "n_iter": 40.0 * (1 + (cell.method == "HMF"))})
        for cell in experiment.cells("quick")
    ]
    outcome = experiment.outcome(slow)
    assert [claim.holds for claim in outcome.claims] == [False, True]
    assert [picture.name for picture in outcome.pictures] == ["thesis-figure-3.13-ml-100k"]


# ---------------------------------------------------------------- tables


def weak_and_strong(nmae: float) -> dict[str, float]:
    return {"weak:nmae": nmae, "strong:nmae": nmae + 0.01, "fit_seconds": 1.0}


def test_table_319_has_a_row_for_every_printed_number_and_both_protocols() -> None:
    experiment = named("thesis-table-3.19")
    cells = experiment.cells("full")
    outcome = experiment.outcome([result_of(cell, weak_and_strong(0.40 - 0.001 * k)) for k, cell in enumerate(cells)])
    assert {row.method for row in outcome.rows} >= set(published.load("thesis-3.19").methods) | {"OrdinalProbit"}
    row = next(row for row in outcome.rows if (row.method, row.protocol, row.variant) == ("HMF", "strong", ""))
    assert row.published is not None
    assert row.here is not None
    assert row.here.n == 3
    assert row.published.mean == 0.4032
    everywhere = [row for row in outcome.rows if row.data == "eachmovie"]
    assert len(everywhere) == 20
    assert all(row.here is None and "no longer" in row.reason for row in everywhere)


@pytest.mark.parametrize(("hmf", "combined", "first"), [(0.38, True, True), (0.41, False, False)])
def test_table_319_claims(hmf: float, combined: bool, first: bool) -> None:
    experiment = named("thesis-table-3.19")
    results = [
        result_of(cell, weak_and_strong(hmf if cell.method == "HMF" else 0.40)) for cell in experiment.cells("normal")
    ]
    assert [claim.holds for claim in experiment.outcome(results).claims] == [combined, first]
    some = [result for result in results if result.method in ("HMF", "MMMF", "URP")]
    assert [claim.holds for claim in experiment.outcome(some).claims] == [combined, None]
    assert [claim.holds for claim in experiment.outcome([]).claims] == [None, None]


def test_table_41_orders_and_failures() -> None:
    experiment = named("thesis-table-4.1")
    error = {"PMMMF": 0.69, "MMMF": 0.70, "ALS": 0.74}
    results = [
        result_of(cell, {"mae": error[cell.method], "rmse": 1 - error[cell.method], "train_mae": 0.08})
        for cell in experiment.cells("quick")
    ]
    outcome = experiment.outcome(results)
    assert [claim.holds for claim in outcome.claims] == [True, False]
    gone = [result_of(cell, error="DatasetNotFoundError: not found\nmore") for cell in experiment.cells("quick")]
    outcome = Reproduction(experiment, "quick", len(gone), gone).outcome
    assert outcome.notes[-1] == "3 of 3 cells failed on ml-100k: DatasetNotFoundError: not found"
    assert [claim.holds for claim in outcome.claims] == [None, None]


def test_means_are_over_what_did_not_fail() -> None:
    cells = named("thesis-table-4.1").cells("full")
    results = [result_of(cell, {"mae": float(cell.seed)}) for cell in cells[:-1]] + [result_of(cells[-1], error="x")]
    found = means(results, "mae", "method")
    assert found["MMMF",].mean == 1.0
    assert found["PMMMF",].mean == 0.5
    assert found["PMMMF",].n == 2
    assert unfinished(results) == ["1 of 9 cells failed on ml-100k: x"]
