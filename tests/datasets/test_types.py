"""RatingDataset."""

import dataclasses

import numpy as np
import pytest
from tests.together import together

from cofactor.datasets import RatingDataset

X = np.array([[1, 7], [2, 7], [2, 8]])
Y = np.array([1.0, 3.0, 3.0])
SCALE = np.array([1.0, 2.0, 3.0])


def test_counts():
    data = RatingDataset("t", X, Y, SCALE)
    assert (len(data), data.n_ratings, data.n_users, data.n_items) == (3, 3, 2, 2)
    assert data.level_counts().tolist() == [1, 0, 2]
    assert dict(data.item_names) == {}
    mixed = RatingDataset("t", np.array([["a", 1], ["b", "1"]], dtype=object), Y[:2], SCALE)
    assert (mixed.n_users, mixed.n_items) == (2, 2)


def test_frozen():
    data = RatingDataset("t", X, Y, SCALE)
    with pytest.raises(dataclasses.FrozenInstanceError):
        data.name = "other"


def test_continuous():
    data = RatingDataset("t", X, Y, None)
    assert repr(data) == "RatingDataset('t': 3 ratings, 2 users, 2 items, continuous)"
    with pytest.raises(ValueError, match="'t' is continuous; bin it first"):
        data.level_counts()


@together(
    ("change", "message"),
    [
        ({"X": X[:, 0]}, r"X must have shape \(n, 2\).*found \(3,\)"),
        ({"X": X.T}, r"X must have shape \(n, 2\).*found \(2, 3\)"),
        ({"y": Y[:2]}, r"y must have shape \(3,\).*found \(2,\)"),
        ({"timestamps": np.arange(2)}, r"timestamps must have shape \(3,\); found \(2,\)"),
        ({"scale": SCALE[::-1]}, "scale must be a 1-d array of increasing ratings"),
    ],
)
def test_parts_must_fit(change, message):
    with pytest.raises(ValueError, match=message):
        RatingDataset(**({"name": "t", "X": X, "y": Y, "scale": SCALE} | change))
