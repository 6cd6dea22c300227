"""Pictures that compare methods: what is drawn where, labels, files, and what is refused."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib.colors import to_hex
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.evaluation import Scores, nemenyi
from cofactor.metrics import error_by_level
from cofactor.plots import OKABE_ITO, plot_critical_difference, plot_error_by_level, plot_learning_curves

from .pixels import check_drawn_and_whole

# Average ranks 1.05, 1.95, 3.05, 3.95: at N = 10 the critical difference is 1.483.
RANKS = [[1, 2, 3, 4]] * 9 + [[2, 2, 3, 3]]
OUTCOME = nemenyi(Scores(RANKS, ["HMF", "MMMF", "ALS", "NMF"], greater_is_better=False))
ERRORS = {"HMF": [[1.2, 0.4, np.nan], [1.4, 0.6, np.nan]], "mean": [1.9, 0.2, 1.1]}
CURVES = {"HMF": ([1, 0.1, 0.5], [0.70, 0.9, 0.75], [0.01, 0.02, 0.01]), "ALS": ([0.1, 1], [0.95, 0.72], None)}
PICTURES = {
    "critical difference": (plot_critical_difference, (OUTCOME,)),
    "error by level": (plot_error_by_level, (ERRORS, [1, 2, 3], [10, 7000, 0])),
    "learning curves": (plot_learning_curves, (CURVES,)),
}


def named(ax, gid):
    return [line for line in ax.lines if line.get_gid() == gid]


# --- critical differences -----------------------------------------------------------------------------------


def test_a_bar_for_each_group():
    """Each bar reaches from the best to the worst of its group, at another height than those it touches."""
    ranks = dict(zip(OUTCOME.methods, OUTCOME.average_ranks, strict=True))
    bars = named(plot_critical_difference(OUTCOME), "group")
    ends = sorted((min(bar.get_xdata()), max(bar.get_xdata())) for bar in bars)
    assert ends == sorted((ranks[group[0]], ranks[group[-1]]) for group in OUTCOME.groups)
    assert len(ends) == 3
    middle = next(bar for bar in bars if min(bar.get_xdata()) == ranks["MMMF"])
    assert all(bar is middle or bar.get_ydata()[0] != middle.get_ydata()[0] for bar in bars)
    assert {to_hex(bar.get_color()).upper() for bar in bars} == {OKABE_ITO[0]}


def test_bars_are_drawn_alike_in_every_process():
    """scikit-posthocs hands over the members of a group as they come out of a set."""
    values = np.random.default_rng(0).normal(size=(4, 9))
    outcome = nemenyi(Scores(values, list("abcdefghi"), greater_is_better=True))
    (bar,) = named(plot_critical_difference(outcome), "group")
    assert list(bar.get_xdata()) == [min(outcome.average_ranks), max(outcome.average_ranks)]


def test_bar_of_the_critical_difference():
    ax = plot_critical_difference(OUTCOME)
    (bar,) = named(ax, "critical difference")
    start, end = bar.get_xdata()
    assert (start, end - start) == (1, pytest.approx(OUTCOME.critical_difference))
    assert bar.get_ydata()[0] > 0  # above the axis of the ranks
    (words,) = [text for text in ax.texts if text.get_text() == f"CD = {OUTCOME.critical_difference:.3f}"]
    assert start < words.get_position()[0] < end


def test_methods_are_labelled_best_on_the_left():
    ax = plot_critical_difference(OUTCOME, title="MAE")
    places = {text.get_text().strip(): text.get_position() for text in ax.texts if "CD" not in text.get_text()}
    assert list(places) == ["HMF (1.05)", "MMMF (1.95)", "(3.95) NMF", "(3.05) ALS"]
    left, right = [place[0] for place in list(places.values())[:2]], [place[0] for place in list(places.values())[2:]]
    assert max(left) < 1.05
    assert min(right) > 3.95
    heights = [place[1] for place in places.values()]
    assert heights[0] > heights[1]
    assert max(heights) < min(bar.get_ydata()[0] for bar in named(ax, "group"))
    points = sorted(float(dots.get_offsets()[0][0]) for dots in ax.collections)
    assert points == pytest.approx(sorted(OUTCOME.average_ranks))
    assert ax.get_xlabel() == "average rank over 10 data sets (1 = best)"
    assert ax.get_title(loc="left") == "MAE"


def test_methods_at_the_ends_of_the_axis_are_joined_to_their_names():
    """Average ranks of exactly 1 and K: nothing of lines and marks is clipped, and the lines reach the names."""
    outcome = nemenyi(Scores([[1, 2, 3]] * 4, list("abc"), greater_is_better=False))
    assert list(outcome.average_ranks) == [1, 2, 3]
    ax = plot_critical_difference(outcome)
    low, high = ax.get_xlim()
    ends = {}
    for line in ax.lines:
        assert low <= min(line.get_xdata())
        assert max(line.get_xdata()) <= high
        if line.get_gid() is None:
            ends[line.get_xdata()[1]] = (line.get_xdata()[0], line.get_ydata()[0])
    names = {text.get_text().strip(): text.get_position() for text in ax.texts}
    assert [ends[rank] for rank in (1, 2, 3)] == [names["a (1.00)"], names["b (2.00)"], names["(3.00) c"]]
    ax.figure.canvas.draw()
    width = ax.get_window_extent().width * 72 / ax.figure.dpi
    assert min(1 - low, high - 3) * width / (high - low) > 4  # points: half a mark, or the round end of a bar
    assert ends[1][0] < 1
    assert ends[3][0] > 3


def test_names_alike_when_shortened():
    names = [f"{'long ' * 20}{k}" for k in range(3)]
    ax = plot_critical_difference(nemenyi(Scores([[1, 2, 3]] * 4, names, greater_is_better=False)))
    assert sorted(text.get_text().count("…") for text in ax.texts) == [0, 1, 1, 1]


def test_no_bar_where_all_differ():
    values = np.tile(np.arange(3.0), (40, 1))
    assert named(plot_critical_difference(nemenyi(Scores(values, list("abc"), greater_is_better=True))), "group") == []


def test_a_long_bar_and_long_names_have_room():
    scores = np.random.default_rng(0).normal(size=(3, 3))
    outcome = nemenyi(Scores(scores, [f"hierarchical maximum margin {k}" for k in range(3)], greater_is_better=True))
    ax = plot_critical_difference(outcome)
    assert ax.get_xlim()[1] >= 1 + outcome.critical_difference
    ax.figure.canvas.draw()
    check_drawn_and_whole(ax)


def test_scikit_posthocs_leaves_no_figure_of_pyplot_and_no_settings():
    before = matplotlib.rcParams.copy()  # dict() would import pyplot to find a backend
    plot_critical_difference(OUTCOME)
    from matplotlib import pyplot  # scikit-posthocs imports it

    assert pyplot.get_fignums() == []
    assert [key for key in before if key != "backend" and matplotlib.rcParams[key] != before[key]] == []


def test_without_scikit_posthocs(monkeypatch):
    monkeypatch.setitem(sys.modules, "scikit_posthocs", None)
    with pytest.raises(ImportError, match=r"pip install 'cofactor\[stats\]'"):
        plot_critical_difference(OUTCOME)


# --- errors by level ----------------------------------------------------------------------------------------


def test_errors_of_each_level():
    ax = plot_error_by_level(ERRORS, [1, 2, 3], [10, 7000, 0])
    drawn = {container.get_label(): container for container in ax.containers}
    line, _, (bars,) = drawn["HMF"]
    np.testing.assert_allclose(line.get_ydata(), [1.3, 0.5, np.nan])
    reach = [segment[1][1] - segment[0][1] for segment in bars.get_segments()[:2]]
    np.testing.assert_allclose(reach, 2 * np.sqrt(0.02))
    np.testing.assert_allclose(drawn["mean"].lines[0].get_ydata(), ERRORS["mean"])
    assert [label.get_text() for label in ax.get_xticklabels()] == ["1\nn = 10", "2\nn = 7,000", "3\nn = 0"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("true rating (stars)", "MAE (stars)")
    assert ax.get_ylim()[0] == 0


def test_error_by_level_parts_the_mean_absolute_error():
    rng = np.random.default_rng(0)
    true, predicted = rng.integers(1, 5, size=200) / 2, rng.normal(1.5, 1, size=200)
    found = error_by_level(true, predicted, [0.5, 1, 1.5, 2, 2.5])
    assert np.isnan(found[4])
    counts = [np.sum(true == level) for level in (0.5, 1, 1.5, 2)]
    assert found[:4] @ counts / 200 == pytest.approx(np.abs(true - predicted).mean(), rel=1e-12)


@together(
    ("errors", "counts", "message"),
    [
        ({}, None, "errors is empty"),
        ({"HMF": [1, 2]}, None, r"errors\['HMF'\] must have one number for each of 3 levels, found \(1, 2\)"),
        ({"HMF": [1, 2, -1]}, None, "finite and not negative"),
        ({"HMF": [1, 2, 3]}, [1, 2], "counts must have one number for each of 3 levels, found 2"),
    ],
)
def test_errors_by_level_that_are_refused(errors, counts, message):
    with pytest.raises(ValueError, match=message):
        plot_error_by_level(errors, [1, 2, 3], counts)


# --- learning curves ----------------------------------------------------------------------------------------


def test_learning_curves_are_in_percent_and_in_order():
    ax = plot_learning_curves(CURVES, error="MAE (stars)")
    drawn = {container.get_label(): container for container in ax.containers}
    assert drawn["HMF"].lines[0].get_xdata().tolist() == [10, 50, 100]
    assert drawn["HMF"].lines[0].get_ydata().tolist() == [0.9, 0.75, 0.7]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("share of the training data (%)", "test MAE (stars)")
    ax = plot_learning_curves(CURVES, logarithmic=True)
    ax.figure.canvas.draw()
    assert "100" in [label.get_text() for label in ax.get_xticklabels()]


@together("share", [0, 1.5, 50])
def test_shares_are_shares(share):
    with pytest.raises(ValueError, match="shares of 'HMF' must be"):
        plot_learning_curves({"HMF": ([0.5, share], [1, 1], None)})


@together(
    ("curves", "message"),
    [
        ({}, "curves is empty: give at least one name"),
        ([1], "curves must be a mapping from names"),
        ({"HMF": ([1], [1])}, r"curves\['HMF'\] must hold \(shares, means, deviations\)"),
        ({"HMF": 3}, r"curves\['HMF'\] must hold \(shares, means, deviations\)"),
    ],
)
def test_learning_curves_of_another_form_are_refused(curves, message):
    with pytest.raises(InvalidInputError, match=message):
        plot_learning_curves(curves)
