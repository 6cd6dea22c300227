"""Pictures: the data in the artists, labels, files, and what is refused."""

import os
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from tests.together import together

from cofactor.metrics import confusion_matrix
from cofactor.plots import (
    OKABE_ITO,
    figures,
    plot_confusion,
    plot_convergence,
    plot_embedding,
    plot_reliability,
    plot_scaling,
    plot_trace,
    plot_tradeoff,
    plot_validation,
)
from cofactor.samplers import Chain

from .pixels import check_draws

HISTORIES = {"L-BFGS": ([0.0, 0.1, 0.3], [90.0, 40.0, 35.0]), "CG": ([0.0, 0.2], [90.0, 38.0])}
CURVES = {"HMF": ([0.1, 0.3, 0.5], [0.75, 0.70, 0.73]), "MMMF": ([0.1, 0.4], [0.80, 0.78])}
COUNTS = np.array([[6, 2, 0], [1, 3, 0], [0, 0, 0]])
V = np.array([[-2.0, 0.0], [-1.0, 1.0], [1.0, 1.0], [2.0, -1.0], [0.0, -1.5]])
P = [[0.8, 0.2], [0.8, 0.2], [0.2, 0.8], [0.4, 0.6]]
SAMPLED = SimpleNamespace(
    burn_in=4, chains_=[Chain(k, 7, log_likelihood=[-900.0, -60, -52, -50 + k, -41, -43, -40 - k, -42]) for k in (0, 1)]
)
PICTURES = {
    "convergence": (plot_convergence, (HISTORIES,)),
    "confusion": (plot_confusion, (COUNTS, [1, 2, 3])),
    "tradeoff": (plot_tradeoff, (CURVES,)),
    "validation": (plot_validation, ([1, 10, 100], [0.3, 0.2, 0.4], [0.01, 0.02, 0.03], 10)),
    "scaling": (plot_scaling, ([100, 200, 400], [1.0, 2.0, 4.0])),
    "reliability": (plot_reliability, ([1, 1, 2, 1], P, [1, 2])),
    "trace": (plot_trace, (SAMPLED,)),
    "embedding": (plot_embedding, (V, [1.0, 0.0], [-1.5, 0.5], [1, 2, 3, 3, 2])),
}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def luminance(colour):
    """Relative luminance of WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


def contrast(first, second):
    low, high = sorted([luminance(first), luminance(second)])
    return (high + 0.05) / (low + 0.05)


@pytest.mark.evidence
def test_pictures_do_not_touch_pyplot_or_settings(tmp_path):
    code = """
import os, sys, warnings
from pathlib import Path
warnings.simplefilter("error")
for name in ("DISPLAY", "MPLBACKEND"):
    os.environ.pop(name, None)
import cofactor.plots as plots
assert "matplotlib" not in sys.modules, "importing cofactor.plots must not import matplotlib"
import matplotlib
before = matplotlib.rcParams.copy()  # dict() would import pyplot to find a backend
ax = plots.plot_tradeoff({"a": ([1, 2], [3, 4])})
plots.save_figure(ax, Path(sys.argv[1], "a.png"))
assert "matplotlib.pyplot" not in sys.modules, "no pyplot"
assert matplotlib.rcParams.copy() == before, "settings are as they were"
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True)
    assert not done.returncode, done.stderr
    assert sorted(os.listdir(tmp_path)) == ["a.png"]


def test_palette_is_that_of_okabe_and_ito():
    published = {(0, 0, 0), (230, 159, 0), (86, 180, 233), (0, 158, 115)}
    published |= {(240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167)}
    assert {tuple(round(255 * c) for c in to_rgb(colour)) for colour in OKABE_ITO} == published
    styles = [tuple(figures.series_style(index).items()) for index in range(56)]
    assert len(set(styles)) == 56
    assert all(contrast(figures.series_style(index)["color"], "white") > 2 for index in range(56))


# --- convergence --------------------------------------------------------------------------------------------


def test_convergence_in_seconds_and_iterations():
    ax = plot_convergence(HISTORIES)
    assert len(ax.lines) == 2
    np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[0, 90], [0.1, 40], [0.3, 35]])
    np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[0, 90], [0.2, 38]])
    assert [line.get_markevery() for line in ax.lines] == [[2], [1]]
    assert legend(ax) == ["L-BFGS", "CG"]
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_yscale()) == ("time (seconds)", "objective J", "linear")
    ax = plot_convergence(HISTORIES, x="iterations")
    np.testing.assert_array_equal(ax.lines[0].get_xdata(), [0, 1, 2])
    assert ax.get_xlabel() == "iterations"
    assert all(tick == int(tick) for tick in ax.get_xticks())


def test_convergence_as_gap():
    ax = plot_convergence(HISTORIES, gap=True)
    assert ax.get_yscale() == "log"
    np.testing.assert_array_equal(ax.lines[0].get_ydata(), [55, 5, np.nan])
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [55, 3])
    assert [line.get_markevery() for line in ax.lines] == [[1], [1]]
    assert "35" in ax.get_ylabel()


def test_gap_of_a_flat_history():
    ax = plot_convergence({"flat": ([0.0, 1.0], [5.0, 5.0])}, gap=True)
    assert np.isnan(ax.lines[0].get_ydata()).all()
    check_draws(ax)


@together("function", [plot_convergence, plot_tradeoff])
@together(
    ("curves", "error", "message"),
    [
        ({}, ValueError, "is empty"),
        ([([0], [1])], TypeError, "must be a mapping from names to .* found list"),
        ({"a": [1, 2, 3]}, ValueError, r"\['a'\] must hold"),
        ({"a": 3}, ValueError, r"\['a'\] must hold"),
        ({"a": ([0, 1], [1])}, ValueError, r"\['a'\].* must be equally long, found 2 and 1"),
        ({"a": ([], [])}, ValueError, r"\['a'\] must be one-dimensional and not empty, found shape \(0,\)"),
        ({"a": ([[0]], [[1]])}, ValueError, r"found shape \(1, 1\)"),
        ({"a": ([0, 1], [1, np.nan])}, ValueError, r"\['a'\] must be finite, found nan at position 1"),
        ({"a": ([0, "x"], [1, 2])}, TypeError, r"\['a'\] must be numbers"),
    ],
)
def test_bad_curves(function, curves, error, message):
    with pytest.raises(error, match=message):
        function(curves)


def test_bad_axis():
    with pytest.raises(ValueError, match="x='time': expected one of 'seconds', 'iterations'"):
        plot_convergence(HISTORIES, x="time")


# --- trade-off and validation -------------------------------------------------------------------------------


def test_tradeoff():
    ax = plot_tradeoff(CURVES, error="MAE (stars)")
    hmf, hmf_best, mmmf, mmmf_best, key = ax.lines
    np.testing.assert_array_equal(hmf.get_xydata(), [[0.1, 0.75], [0.3, 0.70], [0.5, 0.73]])
    np.testing.assert_array_equal(hmf_best.get_xydata(), [[0.3, 0.70]])
    np.testing.assert_array_equal(mmmf.get_xydata(), [[0.1, 0.80], [0.4, 0.78]])
    np.testing.assert_array_equal(mmmf_best.get_xydata(), [[0.4, 0.78]])
    assert key.get_xydata().size == 0
    assert hmf.get_marker() != mmmf.get_marker()
    assert legend(ax) == ["HMF", "MMMF", "lowest test error"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("training MAE (stars)", "test MAE (stars)")


def test_validation_sorts_and_marks_the_best():
    ax = plot_validation([10, 1, 100], [0.2, 0.3, 0.4], [0.02, 0.01, 0.03], best=10.0)
    mean, chosen = ax.lines
    np.testing.assert_array_equal(mean.get_xydata(), [[1, 0.3], [10, 0.2], [100, 0.4]])
    np.testing.assert_array_equal(chosen.get_xdata(), [10, 10])
    (band,) = ax.collections
    corners = {(x, round(y, 6)) for x, y in band.get_paths()[0].vertices}
    assert corners == {(1, 0.29), (1, 0.31), (10, 0.18), (10, 0.22), (100, 0.37), (100, 0.43)}
    assert (ax.get_xscale(), ax.get_ylabel()) == ("log", "validation zero-one error")
    assert legend(ax) == ["± one standard deviation", "mean", "chosen alpha"]
    assert (ax.get_title("left"), ax.get_xlabel()) == ("chosen alpha = 10", "alpha (weight of the penalty)")
    ax = plot_validation([10, 1], [0.2, 0.3], None, best=10.0, parameter="λ", title="stage 1")
    assert (ax.get_title("left"), ax.get_xlabel()) == ("stage 1: chosen λ = 10", "λ (weight of the penalty)")


def test_validation_without_spread():
    ax = plot_validation([4], [0.2], None, best=4, score="MAE (stars)")
    assert not ax.collections
    assert ax.get_ylabel() == "validation MAE (stars)"
    check_draws(ax)


@together(
    ("arguments", "message"),
    [
        (([0, 1], [1, 1], [0, 0], 1), "alphas must be positive and finite, found 0.0 at position 0"),
        (([1, 2], [1], [0, 0], 1), "alphas and scores_mean must be equally long, found 2 and 1"),
        (([1, 2], [1, 1], [0], 1), "alphas and scores_std must be equally long, found 2 and 1"),
        (([1, 2], [1, 1], [0, -1], 1), "scores_std must not be negative, found -1"),
        (([1, 2], [1, np.inf], None, 1), "scores_mean must be finite, found inf at position 1"),
        (([1, 2], [1, 1], None, -1), "best must be positive and finite, found -1.0"),
        (([1, 2], [1, 1], None, np.nan), "best must be positive and finite, found nan"),
    ],
)
def test_bad_validation(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_validation(*arguments)


# --- scaling ------------------------------------------------------------------------------------------------


def test_scaling_measures_the_slope():
    sizes = np.array([400.0, 100.0, 200.0])
    ax = plot_scaling(sizes, {"HMF": 3e-3 * sizes**1.25, "ALS": [1.0, 1.0, 1.0]})
    hmf, als, reference = ax.lines
    np.testing.assert_array_equal(hmf.get_xdata(), [100, 200, 400])
    np.testing.assert_allclose(hmf.get_ydata(), 3e-3 * np.array([100, 200, 400]) ** 1.25)
    assert als.get_ydata().tolist() == [1, 1, 1]
    assert legend(ax) == ["HMF (slope 1.25)", "ALS (slope 0.00)", "slope 1"]
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("number of ratings", "time (seconds)")
    np.testing.assert_array_equal(reference.get_xdata(), [100, 400])
    middle = 3e-3 * 200**1.25
    np.testing.assert_allclose(reference.get_ydata(), [middle / 2, middle * 2])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["100", "200", "400"]


def test_scaling_with_another_slope_and_many_sizes():
    sizes = np.geomspace(1e3, 1e6, 13)
    ax = plot_scaling(sizes, sizes**2, slope=2, size="number of users")
    assert legend(ax) == ["measured (slope 2.00)", "slope 2"]
    np.testing.assert_allclose(ax.lines[1].get_ydata(), [1e6, 1e12])
    ax.figure.canvas.draw()
    shown = {tick.get_text() for tick in ax.get_xticklabels()}
    assert {"1k", "10k", "100k", "1M"} <= shown


@together(
    ("arguments", "message"),
    [
        (([100, 200], [1, 0]), "seconds must be positive and finite, found 0.0 at position 1"),
        (([0, 200], [1, 1]), "sizes must be positive"),
        (([100, 100], [1, 2]), "sizes must hold at least two different sizes, found only 100"),
        (([100, 200], [1]), "sizes and seconds must be equally long, found 2 and 1"),
        (([100, 200], {"HMF": [1, -2]}), r"seconds\['HMF'\] must be positive"),
        (([100, 200], {}), "seconds is empty"),
    ],
)
def test_bad_scaling(arguments, message):
    with pytest.raises(ValueError, match=message):
        plot_scaling(*arguments)


# --- confusion ----------------------------------------------------------------------------------------------


def test_confusion():
    ax = plot_confusion(COUNTS, [0.5, 1, 1.5])
    (image,) = ax.images
    np.testing.assert_allclose(image.get_array(), [[75, 25, 0], [25, 75, 0], [0, 0, 0]])
    assert image.get_clim() == (0, 80)
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    assert cells[1, 0] == "25 %\n2"  # x is the predicted level, y the true one
    assert cells[0, 1] == "25 %\n1"
    assert cells[0, 0] == "75 %\n6"
    assert cells[2, 0] == "0 %\n0"
    assert [cells[column, 2] for column in range(3)] == ["–"] * 3
    assert len(cells) == 9
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0.5", "1", "1.5"]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0.5", "1", "1.5"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("predicted rating", "true rating")
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the lowest level on top, as in the matrix
    assert ax.get_title(loc="left") == "75.0 % exact, 100.0 % at most one level off"


def test_confusion_takes_the_matrix_of_the_metrics():
    counts = confusion_matrix([1, 1, 2, 3, 3, 3], [1, 3, 2, 3, 3, 1], scale=[1, 2, 3])
    ax = plot_confusion(counts, [1, 2, 3])
    cells = {text.get_position(): text.get_text() for text in ax.texts}
    assert cells[2, 0] == "50 %\n1"
    assert cells[0, 2] == "33 %\n1"
    assert ax.get_title(loc="left") == "66.7 % exact, 66.7 % at most one level off"


def test_text_can_be_read_on_every_colour():
    counts = np.zeros((25, 25))
    counts[:, 0] = np.linspace(0, 1000, 25)
    counts[:, 1] = 1000 - counts[:, 0]
    ax = plot_confusion(counts, range(25))
    (image,) = ax.images
    shares = image.get_array()
    assert len(np.unique(shares.round(6))) == 25
    for text in ax.texts:
        column, line = text.get_position()
        assert contrast(text.get_color(), image.to_rgba(shares[line, column])[:3]) >= 4.5


def test_many_levels_have_less_text():
    ten = plot_confusion(np.eye(10, dtype=int), np.arange(1, 11) / 2)
    assert sorted({text.get_text() for text in ten.texts}) == ["", "100"]
    forty = plot_confusion(np.eye(40), np.arange(40))
    assert len(forty.texts) == 0
    assert [tick.get_text() for tick in forty.get_xticklabels()][:3] == ["0", "2", "4"]
    check_draws(forty)


@together(
    ("counts", "scale", "error", "message"),
    [
        (np.ones((2, 3)), [1, 2], ValueError, r"for each of the 2 levels of scale, found shape \(2, 3\)"),
        (np.ones((2, 2)), [1, 2, 3], ValueError, r"each of the 3 levels of scale, found shape \(2, 2\)"),
        ([[1, -1], [0, 1]], [1, 2], ValueError, "counts must be finite and not negative"),
        ([[1, np.nan], [0, 1]], [1, 2], ValueError, "counts must be finite"),
        (np.zeros((2, 2)), [1, 2], ValueError, "counts is all zero"),
        ([["a", "b"], ["c", "d"]], [1, 2], TypeError, "counts must be a matrix of numbers"),
        (np.ones((2, 2)), [2, 1], ValueError, "scale"),
    ],
)
def test_bad_confusion(counts, scale, error, message):
    with pytest.raises(error, match=message):
        plot_confusion(counts, scale)


# --- embedding ----------------------------------------------------------------------------------------------


def test_embedding():
    ax = plot_embedding(V, [2.0, 0.0], [-3.0, 1.0], [1, 2, 3, 3, 0], scale=[0.5, 1, 1.5])
    points = {scatter.get_label(): scatter.get_offsets().tolist() for scatter in ax.collections}
    assert points == {
        "not rated": [[0.0, -1.5]],
        "0.5": [[-2.0, 0.0]],
        "1": [[-1.0, 1.0]],
        "1.5": [[1.0, 1.0], [2.0, -1.0]],
    }
    assert [line.get_xdata().tolist() for line in ax.lines] == [[-1.5, -1.5], [0.5, 0.5]]
    assert [line.get_ydata().tolist() for line in ax.lines] == [list(ax.get_ylim())] * 2
    assert legend(ax) == ["not rated", "0.5", "1", "1.5"]
    assert ax.get_legend().get_title().get_text() == "rating"
    assert ax.get_aspect() == 1  # so that the lines stand at right angles to u
    names = [text.get_text() for text in ax.texts]
    assert names == ["$\\theta_{1}$", "$\\theta_{2}$", "", "$u$"]


@together("u", [[1.0, 0.0], [0.0, -2.0], [0.7, 0.1], [-0.3, 0.4], [1e-9, -1e-9], [300.0, 1.0]])
def test_threshold_lines_solve_their_equation(u):
    u = np.array(u)
    thresholds = np.array([-0.5, 0.0, 0.5]) * np.linalg.norm(u)
    ax = plot_embedding(V, u, thresholds, [1, 2, 3, 3, 2])
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert len(ax.lines) == 3
    for line, threshold in zip(ax.lines, thresholds, strict=True):
        ends = line.get_xydata()
        np.testing.assert_allclose(ends @ u, threshold, atol=1e-12 * np.linalg.norm(u))
        # Both ends lie on the frame.
        distance = np.minimum(np.abs(ends[:, 0, None] - [left, right]), np.abs(ends[:, 1, None] - [bottom, top]))
        np.testing.assert_allclose(distance.min(axis=1), 0, atol=1e-9)
        assert np.linalg.norm(ends[1] - ends[0]) > 1


def test_lines_outside_the_picture_are_left_out():
    ax = plot_embedding(V, [1.0, 1.0], [-50.0, 0.0, 50.0], [1, 2, 3, 3, 2])
    assert len(ax.lines) == 1
    assert ax.texts[0].get_text() == "$\\theta_{2}$"
    flat = plot_embedding(V, [0.0, 1.0], [9.0], [1, 1, 1, 1, 1])
    assert len(flat.lines) == 0
    check_draws(flat)
    check_draws(plot_embedding([[0.0, 0.0]], [1, 1], [0], [0]))


def test_levels_have_colours_and_markers_of_their_own():
    for n_levels in (2, 5, 7, 8, 10, 20):
        points = np.random.default_rng(0).standard_normal((n_levels, 2))
        ax = plot_embedding(points, [1, 1], [0], np.arange(1, n_levels + 1))
        colours = {tuple(scatter.get_facecolor()[0]) for scatter in ax.collections}
        assert len(colours) == n_levels
        if n_levels <= 7:
            assert colours == {(*to_rgb(colour), 1.0) for colour in OKABE_ITO[:n_levels]}


@together(
    ("arguments", "error", "message"),
    [
        ((np.ones((4, 3)), [1, 1], [0], [1] * 4), ValueError, r"V must have shape \(n, 2\).*\(4, 3\)"),
        ((np.ones((0, 2)), [1, 1], [0], []), ValueError, r"V must have shape"),
        (([["a", "b"]], [1, 1], [0], [1]), TypeError, "V must be a matrix of numbers"),
        (([[np.nan, 0]], [1, 1], [0], [1]), ValueError, "V must be finite"),
        ((V, [0, 0], [0], [1] * 5), ValueError, "U_row must be two numbers, not both zero"),
        ((V, [1, 1, 1], [0], [1] * 5), ValueError, "U_row must be two numbers"),
        ((V, [1, 1], [np.inf], [1] * 5), ValueError, "thresholds must be finite"),
        ((V, [1, 1], [], [1] * 5), ValueError, "thresholds must be one-dimensional and not empty"),
        ((V, [1, 1], [0], [1] * 4), ValueError, "one level for each of the 5 items, found 4"),
        ((V, [1, 1], [0], [1, 2, 3, 1, 1.5]), ValueError, "whole numbers from 0 to 3, found 1.5: give ranks"),
        ((V, [1, 1], [0], [1, 2, 3, 1, -1]), ValueError, "whole numbers from 0 to 3, found -1"),
    ],
)
def test_bad_embedding(arguments, error, message):
    with pytest.raises(error, match=message):
        plot_embedding(*arguments)


def test_level_beyond_the_scale():
    with pytest.raises(ValueError, match="whole numbers from 0 to 2, found 3"):
        plot_embedding(V, [1, 1], [0], [1, 2, 3, 1, 1], scale=[1, 2])


def test_panels_share_a_figure():
    left, right = figures.new_panels(2)
    plot_convergence(HISTORIES, left)
    plot_convergence(HISTORIES, right)
    assert left.figure is right.figure
    assert (len(left.lines), len(right.lines)) == (2, 2)
    figures.share_legend([left, right])
    assert left.get_legend() is None
    assert right.get_legend() is not None
