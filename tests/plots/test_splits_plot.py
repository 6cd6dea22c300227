"""Scores on splits: what the picture shows, and what it refuses."""

import numpy as np
import pytest

from cofactor.plots import plot_splits


def test_each_split_is_a_point_and_the_mean_a_mark() -> None:
    scores = {"HMF": [0.67, 0.69], "ALS": [0.70, 0.71, 0.75]}
    ax = plot_splits(scores, metric="MAE", title="ml-100k")
    points, means = ax.lines[::2], ax.lines[1::2]
    for row, values in enumerate(scores.values()):
        assert points[row].get_xydata().tolist() == [[value, row] for value in values]
        assert means[row].get_xydata().tolist() == [[np.mean(values), row]]
    assert ax.yaxis_inverted()  # the first method is on top
    assert (ax.get_xlabel(), ax.get_title(loc="left")) == ("MAE; ◆ mean", "ml-100k")


def test_bad_scores() -> None:
    with pytest.raises(ValueError, match="scores is empty"):
        plot_splits({})
    with pytest.raises(ValueError, match=r"scores\['ALS'\] must be finite, found nan at position 1"):
        plot_splits({"ALS": [0.7, float("nan")]})
