"""Frames that hold ratings beside ids: which columns are what, and what is said where that is not clear."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cofactor.ratings import ALS, OrdinalProbit, Ratings, as_ratings

from .reference import planted

PAIRS, RATINGS = planted(20, 15)


def table(kind: type, **names: str) -> object:
    """Return the ratings as a frame, with a column of times, in an unusual order."""
    names = {"user": "userId", "item": "movieId", "rating": "stars"} | names
    columns = {
        "timestamp": np.arange(len(RATINGS)),
        names["rating"]: RATINGS,
        names["item"]: PAIRS[:, 1],
        names["user"]: PAIRS[:, 0],
    }
    return kind(columns)


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_a_frame_is_enough_to_fit_and_fold_in(kind: type) -> None:
    frame = table(kind)
    model = ALS(3, 1.0, random_state=0).fit(frame)
    expected = ALS(3, 1.0, random_state=0).fit(PAIRS, RATINGS)
    assert np.array_equal(model.decision_function(PAIRS), expected.decision_function(PAIRS))
    folded, other = model.fold_in(frame, known="replace"), expected.fold_in(PAIRS, RATINGS, known="replace")
    assert np.array_equal(folded.decision_function(PAIRS), other.decision_function(PAIRS))
    ratings = as_ratings(frame)
    assert isinstance(ratings, Ratings)
    assert np.array_equal(ratings.levels, as_ratings(PAIRS, RATINGS).levels)
    assert np.array_equal(Ratings.from_pairs(frame).levels, ratings.levels)


def test_a_frame_of_new_items() -> None:
    model = OrdinalProbit(2, implicit=None, n_sweeps=12, burn_in=5, random_state=0).fit(PAIRS, RATINGS)
    new = pd.DataFrame({"user": PAIRS[:9, 0], "item": ["new"] * 9, "rating": RATINGS[:9]}).drop_duplicates("user")
    model.set_params(duplicates="last")
    assert model.fold_in_items(new).items_.ids.tolist() == ["new"]


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
@pytest.mark.parametrize(
    ("names", "message"),
    [
        ({"user": "who"}, "found timestamp, stars, movieId, who; give them these names, or pass"),
        (
            {"rating": "liked"},
            "not clear which columns .* user, item and rating; found timestamp, liked",
        ),
    ],
)
def test_unclear_columns_are_named(kind: type, names: dict[str, str], message: str) -> None:
    for call in (ALS(3, 1.0).fit, as_ratings):
        with pytest.raises(ValueError, match=message):
            call(table(kind, **names))


def test_two_columns_need_ratings() -> None:
    with pytest.raises(ValueError, match="y is missing, and it is not clear which columns .* found user, item"):
        ALS(3, 1.0).fit(pd.DataFrame({"user": [1, 2], "item": [3, 4]}))
