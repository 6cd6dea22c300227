"""Pictures of the experiments on ratings: what they draw of the results, and what they leave out."""

import numpy as np
import pytest
from tests.experiments.results import result_of

from cofactor.experiments import experiment as named
from cofactor.plots import OKABE_ITO


def test_factors_that_missed_the_training_error_are_not_drawn() -> None:
    experiment = named("thesis-figure-3.11")

    def drawn(missed: set[tuple[str, int]]) -> dict[str, list[float]]:
        results = []
        for cell in experiment.cells("quick"):
            reached = float((cell.method, cell.parameters["settings"]["n_factors"]) not in missed)
            results.append(result_of(cell, {"nmae": 0.43, "reached": reached, "train_nmae": 0.07}))
        outcome = experiment.outcome(results)
        assert [note.endswith("The picture leaves these out.") for note in outcome.notes] == [True] * bool(missed)
        if not outcome.pictures:
            return {}
        ax = outcome.pictures[0].draw()
        return {str(one.get_label()): one.lines[0].get_xdata().tolist() for one in ax.containers}

    assert drawn(set()) == {"HMF": [20, 60, 100], "MMMF": [20, 60, 100]}
    assert drawn({("MMMF", 20)}) == {"HMF": [20, 60, 100], "MMMF": [60, 100]}
    assert drawn({("MMMF", d) for d in (20, 60, 100)}) == {"HMF": [20, 60, 100]}
    assert drawn({(method, d) for method in ("HMF", "MMMF") for d in (20, 60, 100)}) == {}


@pytest.mark.parametrize("number", ["3.11", "3.12", "3.13"])
def test_hmf_and_mmmf_keep_their_colours(number: str) -> None:
    experiment = named(f"thesis-figure-{number}")
    measures = {"nmae": 0.4, "train_nmae": 0.1, "reached": 1.0, "fit_seconds": 2.0, "n_iter": 5}
    outcome = experiment.outcome([result_of(cell, measures) for cell in experiment.cells("quick")])
    ax = outcome.pictures[0].draw()
    handles, labels = ax.get_legend_handles_labels()
    named_lines = zip(labels, (getattr(one, "lines", [one])[0] for one in handles), strict=True)
    colours = {label.split()[0]: line.get_color() for label, line in named_lines}
    assert (colours["HMF"], colours["MMMF"]) == OKABE_ITO[:2]


def test_tradeoff_is_drawn_again_where_all_methods_are() -> None:
    """PMMMF reaches training errors up to .03 only: there differences of .01 must be seen."""
    experiment = named("thesis-figure-4.2")
    reach = {"PMMMF": 0.03, "MMMF": 0.4, "ALS": 0.8}
    results = []
    for cell in experiment.cells("quick"):
        share = np.log10(cell.parameters["settings"]["alpha"]) * 16 / 25
        train = reach[cell.method] * share
        results.append(result_of(cell, {"train_mae": train, "mae": 0.02 + train + 0.01 * (cell.method == "PMMMF")}))
    whole, near = experiment.outcome(results).pictures[0].draw()
    assert whole.get_xlim()[1] > 0.8
    assert 0.03 < near.get_xlim()[1] < 0.033
    low, high = near.get_ylim()
    assert 0.028 < low < 0.02 + 0.01 + 0.03 / 25  # PMMMF at the least λ
    assert 0.06 < high < 0.065
    assert whole.get_legend() is None
    assert [text.get_text() for text in near.get_legend().get_texts()][:3] == ["ALS", "MMMF", "PMMMF"]
    flat = [result_of(cell, {"train_mae": 0.0, "mae": 0.02}) for cell in experiment.cells("quick")]
    assert len(experiment.outcome(flat).pictures[0].draw()) == 2


def test_validation_panels_share_a_legend_and_say_lambda() -> None:
    experiment = named("thesis-figure-3.9")
    results = [
        result_of(cell, {"zero_one": abs(cell.parameters["exponent"] - 16)}) for cell in experiment.cells("quick")
    ]
    panels = experiment.outcome(results).pictures[0].draw()
    assert [ax.get_title("left") for ax in panels] == [f"stage {stage}: chosen λ = 10" for stage in (1, 2, 3, 4)]
    assert {ax.get_xlabel() for ax in panels} == {"λ (weight of the penalty)"}
    assert [ax.get_legend() is not None for ax in panels] == [False, False, False, True]
