"""Pictures of drift: the data in the artists, and what is refused."""

from types import SimpleNamespace

import numpy as np
import pytest

from cofactor.plots import plot_drift, plot_drift_times
from cofactor.ratings import MMMF

DAY = 86400.0
MOMENTS = np.array([0.0, 60, 10 * DAY])
SAMPLES = {
    "drift_time": np.array([[20.0, 3600, 50 * DAY], [30.0, 1800, 60 * DAY], [25.0, 2700, 55 * DAY]]),
    "drift_scale": np.array([[0.4, 0.3, 0.2], [0.5, 0.3, 0.1], [0.45, 0.3, 0.3]]),
}


def known(indptr=(0, 3, 3)):
    return SimpleNamespace(
        past_=SimpleNamespace(indptr=indptr, seconds=MOMENTS),
        users_=SimpleNamespace(index=lambda users: [{"ann": 0, "bob": 1}.get(users[0], -1)]),
        drift=lambda users, times: (np.cos(times / DAY), np.where(np.isin(times, MOMENTS), 0.1, 0.2)),
        samples_=SAMPLES,
    )


PICTURES = {"drift": (plot_drift, (known(), "ann")), "drift times": (plot_drift_times, (known(),))}


def test_drift_has_its_band_and_its_moments():
    ax = plot_drift(known(), "ann", title="ann")
    mean, _, moments = ax.lines
    x, y = mean.get_xydata().T
    np.testing.assert_allclose(y, np.cos(x))
    assert set(np.array([0, 60, 10 * DAY]) / DAY) <= set(x)
    np.testing.assert_allclose(moments.get_xdata(), MOMENTS / DAY)
    band = ax.collections[0].get_paths()[0].vertices
    assert band[:, 1].max() == pytest.approx(y.max() + 0.392, abs=0.01)
    assert moments.get_ydata().max() < band[:, 1].min()
    assert ax.get_xlabel() == "days since the first rating"


def test_processes_are_clouds_of_samples():
    ax = plot_drift_times(known())
    for k in range(3):
        cloud, cross = ax.lines[2 * k : 2 * k + 2]
        np.testing.assert_array_equal(cloud.get_xydata(), np.column_stack([a[:, k] for a in SAMPLES.values()]))
        assert cross.get_xydata().tolist() == [[np.median(a[:, k]) for a in SAMPLES.values()]]
    assert [text.get_text() for text in ax.get_legend().get_texts()][2] == "55 days (50 days to 60 days)"
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1 s", "1 min", "1 h", "1 day", "1 year"]


def test_what_is_refused():
    for user in ("bob", "eve"):
        with pytest.raises(ValueError, match=f"user '{user}' has no ratings in this model"):
            plot_drift(known(), user)
    for plot in (lambda model: plot_drift(model, "ann"), plot_drift_times):
        with pytest.raises(TypeError, match=r"must be a fitted OrdinalProbit\(time=True\), found MMMF"):
            plot(MMMF())
        with pytest.raises(ValueError, match="model does not know time: fit it with time=True"):
            plot(SimpleNamespace(past_=None))
