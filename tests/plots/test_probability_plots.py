"""Reliability diagrams and traces of chains: the data in the artists."""

from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy.stats import binomtest

from cofactor.errors import InvalidInputError
from cofactor.metrics import calibration_bins, expected_calibration_error
from cofactor.plots import plot_label_reliability, plot_reliability, plot_trace
from cofactor.ratings import ALS
from cofactor.samplers import Chain, split_r_hat

from .pixels import check_draws

STARS = [1, 2, 3, 4, 5]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def predicted(n=2000, seed=0):
    random = np.random.default_rng(seed)
    p = random.dirichlet(np.ones(5), n)
    return 1.0 + (random.random(n)[:, None] > np.cumsum(p, axis=1)).sum(axis=1), p


def sampled(n_chains=2, n_sweeps=40, burn_in=10):
    random = np.random.default_rng(0)
    climb = -1000 * np.exp(-np.arange(n_sweeps))
    values = [(climb + random.normal(size=n_sweeps)).tolist() for _ in range(n_chains)]
    return SimpleNamespace(chains_=[Chain(k, 7, log_likelihood=v) for k, v in enumerate(values)], burn_in=burn_in)


@pytest.mark.parametrize(("over", "name"), [("top", "most probable level"), ("all", "all levels")])
def test_reliability_shows_the_bins_of_the_metric(over, name):
    y, p = predicted()
    ax = plot_reliability(y, p, STARS, n_bins=10, over=over)
    bins = calibration_bins(y, p, STARS, n_bins=10, over=over)
    full = bins.counts > 0
    (points, _, _) = ax.containers[0]
    np.testing.assert_array_equal(points.get_xydata(), np.column_stack([bins.predicted, bins.observed])[full])
    error = expected_calibration_error(y, p, STARS, n_bins=10, over=over)
    assert legend(ax) == ["calibrated", f"{name}: ECE {error:.3f}"]
    assert ax.lines[0].get_xydata().tolist() == [[0, 0], [1, 1]]
    heights = [bar.get_height() for bar in ax.containers[1]]
    np.testing.assert_allclose(np.divide(heights, max(heights)), np.log1p(bins.counts) / np.log1p(bins.counts.max()))
    written = [text.get_text() for text in ax.texts]
    assert len(written) == full.sum()
    assert all(count >= 1000 or str(count) in written for count in bins.counts[full])


def test_intervals_of_frequencies_are_those_of_wilson():
    y = np.r_[np.ones(30), np.full(10, 2.0), np.ones(5)]
    p = np.r_[np.tile([0.7, 0.3], (40, 1)), np.tile([0.95, 0.05], (5, 1))]
    ax = plot_reliability(y, p, [1, 2], n_bins=10)
    _, _, (bars,) = ax.containers[0]
    ends = np.array([segment[:, 1] for segment in bars.get_segments()])
    expected = [binomtest(hits, n).proportion_ci(method="wilson") for hits, n in ((30, 40), (5, 5))]
    np.testing.assert_allclose(ends, expected, atol=1e-5)  # 1.96 is rounded


def test_reliability_with_many_bins_and_many_predictions():
    y, p = predicted(30_000)
    assert len(plot_reliability(y, p, STARS, n_bins=40).texts) == 0
    texts = {text.get_text() for text in plot_reliability(y, p, STARS, n_bins=2, over="all").texts}
    assert all(text.endswith("k") for text in texts)
    check_draws(plot_reliability([1], [[0.0, 1.0]], [1, 2]))


def test_reliability_refuses_what_the_metric_refuses():
    with pytest.raises(ValueError, match="must sum to 1"):
        plot_reliability([1], [[0.5, 0.4]], [1, 2])
    with pytest.raises(ValueError, match="over='each'"):
        plot_reliability([1], [[0.5, 0.5]], [1, 2], over="each")


def test_labels_by_their_names():
    """A name was a bare TypeError."""
    Y, p = [[1, 0], [1, 0]], [[0.8, 0.2], [0.8, 0.1]]
    by_name, by_column = (
        legend(plot_label_reliability(Y, p, names=["rock", "pop"], labels=[label])) for label in ("pop", 1)
    )
    assert by_name == by_column
    for names in (["rock", "pop"], None):
        with pytest.raises(InvalidInputError, match="labels='python': expected columns from 0 to 1"):
            plot_label_reliability(Y, p, names=names, labels=["python"])
    with pytest.raises(InvalidInputError, match="labels=2: expected columns from 0 to 1"):
        plot_label_reliability(Y, p, labels=[2])


def test_trace_has_every_sweep_and_shows_whether_chains_agree():
    model = sampled()
    ax = plot_trace(model)
    for line, chain in zip(ax.lines, model.chains_, strict=True):
        assert line.get_xdata().tolist() == list(range(1, 41))
        assert line.get_ydata().tolist() == chain.log_likelihood
    assert len({(line.get_color(), line.get_linestyle(), line.get_marker()) for line in ax.lines}) == 2
    (shade,) = ax.patches
    assert (shade.get_x(), shade.get_width(), to_hex(shade.get_facecolor())) == (0.5, 10, "#efefef")
    assert legend(ax) == ["burn-in", "chain 1", "chain 2"]
    agreed = split_r_hat([chain.log_likelihood[10:] for chain in model.chains_])
    assert ax.get_legend().get_title().get_text() == f"R-hat {agreed:.2f}"
    assert ax.get_ylim()[0] > -400  # the climb is cut off
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("sweeps", "log-likelihood")


def test_trace_of_one_chain_of_short_chains_and_without_burn_in():
    assert plot_trace(sampled(1)).get_legend().get_title().get_text() == ""
    assert plot_trace(sampled(2, 13)).get_legend().get_title().get_text() == ""
    without = plot_trace(sampled(2, 8, 0))
    assert legend(without) == ["chain 1", "chain 2"]
    assert len(without.patches) == 0
    uneven = sampled(2)
    del uneven.chains_[1].log_likelihood[25:]
    ax = plot_trace(uneven)
    assert [len(line.get_xdata()) for line in ax.lines] == [40, 25]
    assert ax.get_legend().get_title().get_text().startswith("R-hat 1.")
    check_draws(plot_trace(sampled(1, 1, 5)))


def test_trace_of_models_without_chains():
    with pytest.raises(TypeError, match="such as OrdinalProbit, found ALS"):
        plot_trace(ALS())
    with pytest.raises(ValueError, match="model has no chains"):
        plot_trace(SimpleNamespace(chains_=[], burn_in=1))
