"""Pictures of recommended lists: what they show, and what they refuse."""

import numpy as np
import pytest
from tests.together import together

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.evaluation.recommendations import RecommendationScores
from cofactor.metrics import interaction_calibration_bins, share_interval
from cofactor.plots import (
    plot_coverage_tradeoff,
    plot_interaction_reliability,
    plot_popularity,
    plot_reasons,
    plot_recall_curves,
    plot_recommendations,
)
from cofactor.ratings import Reasons

from .pixels import check_drawn_and_whole


def test_recall_curves_are_in_order_of_length() -> None:
    ax = plot_recall_curves({"EASE": ([20, 5, 10], [0.4, 0.2, 0.3])}, title="ml-100k")
    assert ax.lines[0].get_xydata().tolist() == [[5, 0.2], [10, 0.3], [20, 0.4]]
    assert (ax.get_ylabel(), ax.get_title(loc="left")) == ("recall", "ml-100k")
    assert ax.get_ylim()[0] == 0


def test_scores_of_an_evaluation_are_refused_with_where_they_hold_what_is_drawn() -> None:
    scores = RecommendationScores({"EASE": {"recall@5": np.ones(2)}}, {}, np.arange(2), {"at": [5]})
    for draw, name in (
        (plot_recall_curves, "curves"),
        (plot_coverage_tradeoff, "points"),
        (plot_interaction_reliability, "bins"),
        (lambda s: plot_popularity([1.0], s), "recommended"),
    ):
        with pytest.raises(
            InvalidTypeError, match="must be a mapping from names to .* RecommendationScores s pass"
        ) as told:
            draw(scores)
        assert told.value.argument == name
    s, at = scores, scores.facts["at"]  # what the first of them advises
    ax = plot_recall_curves({name: (at, [s.mean(name, f"recall@{k}").mean for k in at]) for name in s.methods})
    assert ax.lines[0].get_xydata().tolist() == [[5, 1]]
    with pytest.raises(InvalidTypeError, match="found list"):
        plot_interaction_reliability([])


def test_coverage_tradeoff() -> None:
    ax = plot_coverage_tradeoff({"popularity": (0.03, 0.18), "EASE": (0.2, 0.37)})
    assert [line.get_xydata().tolist() for line in ax.lines] == [[[0.03, 0.18]], [[0.2, 0.37]]]
    ax.figure.canvas.draw()
    check_drawn_and_whole(ax)


def test_popularity_by_groups() -> None:
    rng = np.random.default_rng(0)
    rated = rng.random(100)
    lists = rated / 2 + 0.5
    rated[3], lists[5] = np.nan, np.nan
    ax = plot_popularity(rated, {"m": lists}, n_groups=7)
    diagonal, points = ax.lines[0].get_xydata(), ax.lines[1].get_xydata()
    assert (diagonal[:, 0] == diagonal[:, 1]).all()
    known = np.delete(np.arange(100), [3, 5])
    groups = np.array_split(known[np.argsort(rated[known])], 7)
    np.testing.assert_allclose(points, [[rated[g].mean(), lists[g].mean()] for g in groups])


def test_reliability_of_taking() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 6, 5000)
    bins = interaction_calibration_bins(p, rng.random(5000) < p)
    ax = plot_interaction_reliability({"model": bins, "none": interaction_calibration_bins([0.1], [0])})
    (bars,) = ax.containers
    np.testing.assert_allclose(bars[0].get_xydata(), np.column_stack([bins.predicted, bins.observed]))
    low, high = share_interval(bins)
    ends = np.array([segment[:, 1] for segment in bars[2][0].get_segments()])
    np.testing.assert_allclose(ends, np.column_stack([low, high]))
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")


def test_a_list_with_both_probabilities() -> None:
    interactions, likes = [0.04, 0.02, 0.01], [0.5, 1.0, 0.75]
    ax = plot_recommendations(["Alien", "Up", "Heat"], interactions, likes, title="user 7")
    below, above = ([bar.get_width() for bar in bars] for bars in ax.containers)
    np.testing.assert_allclose(below, interactions)
    np.testing.assert_allclose(np.array(above) / ax.get_xlim()[1], likes)  # the axis above goes from 0 to 1
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Alien", "Up", "Heat"]
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the best is at the top
    ax.figure.canvas.draw()
    check_drawn_and_whole(ax)


@together(
    ("picture", "message"),
    [
        (lambda: plot_recommendations([], [], []), "p_interact must be one-dimensional and not empty"),
        (lambda: plot_recommendations(["a"], [0.1, 0.2], [0.1, 0.2]), "found 1 names and 2"),
        (lambda: plot_recommendations(["a"], [0.1], [0.1, 0.2]), "p_like"),
        (lambda: plot_recall_curves({}), "curves is empty"),
        (lambda: plot_recall_curves({"a": ([1, 2], [1.0])}), "equally long"),
        (lambda: plot_coverage_tradeoff({}), "points is empty"),
        (lambda: plot_coverage_tradeoff({"a": (1.0, np.nan)}), "must be finite"),
        (lambda: plot_coverage_tradeoff({"a": (1.0, 2.0, 3.0)}), "coverage and accuracy, found 3"),
        (lambda: plot_popularity([0.1], {}), "recommended is empty"),
        (lambda: plot_popularity([0.1], {"a": [0.1, 0.2]}), "equally long"),
        (lambda: plot_popularity([np.nan], {"a": [0.1]}), "no user whose"),
        (lambda: plot_interaction_reliability(interaction_calibration_bins([0.1], [0])), "nothing to draw"),
    ],
)
def test_bad_data(picture, message) -> None:
    with pytest.raises(ValueError, match=message):
        picture()


def test_reasons_are_bars_from_what_raises_to_what_lowers() -> None:
    items, own = np.array([7, 8]), np.array([1, 2, 3, 4])
    contributions = np.array([[0.1, -0.5, 0.3, 0.01], [0.0, 0.0, 0.0, 1.0]])
    why = Reasons(5, items, np.zeros(2), own, np.array([4.0, 1.0, 5.0, 3.0]), contributions, None, "rating")
    ax = plot_reasons(why, n=3, names={3: "Up", 7: "Alien"})
    assert [text.get_text() for text in ax.get_yticklabels()] == ["Up (5)", "1 (4)", "2 (1)"]
    assert [bar.get_width() for bar in ax.patches] == pytest.approx([0.3, 0.1, -0.5])
    assert ax.get_legend_handles_labels()[1] == ["raises", "lowers"]
    assert "why Alien for user 5" in ax.get_title(loc="left")
    assert plot_reasons(why, 8, n=1).get_yticklabels()[0].get_text() == "4 (3)"
    with pytest.raises(InvalidInputError, match="none of the items that were explained"):
        plot_reasons(why, 9)
    with pytest.raises(InvalidInputError, match="n"):
        plot_reasons(why, n=0)
