"""Frames that hold ratings beside ids: which columns are what, and what is said where that is not clear."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from tests.together import together

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.ratings import ALS, EASE, OrdinalProbit, as_ratings
from cofactor.ratings.ranking import as_interactions

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


def test_a_frame_of_new_items() -> None:
    model = OrdinalProbit(2, implicit=None, n_sweeps=12, burn_in=5, random_state=0).fit(PAIRS, RATINGS)
    new = pd.DataFrame({"user": PAIRS[:9, 0], "item": ["new"] * 9, "rating": RATINGS[:9]}).drop_duplicates("user")
    model.set_params(duplicates="last")
    assert model.fold_in_items(new).items_.ids.tolist() == ["new"]


@together("kind", [pd.DataFrame, pl.DataFrame])
@together(
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


@together("kind", [pd.DataFrame, pl.DataFrame])
def test_a_guess_by_the_order_of_columns_is_told(kind: type) -> None:
    frame = kind({"a": PAIRS[:, 0], "b": PAIRS[:, 1], "c": RATINGS})
    with pytest.warns(InputWarning, match="columns a, b, c of X .* as user, item, rating; rename"):
        assert np.array_equal(as_ratings(frame).levels, as_ratings(PAIRS, RATINGS).levels)
    with pytest.warns(InputWarning, match="columns a, b of X .* as user, item; rename"):
        EASE().fit(kind({"a": PAIRS[:, 0], "b": PAIRS[:, 1], "plays": RATINGS}))


@together(
    ("names", "roles"),
    [
        (("sku_id", "shopper", "val"), "iur"),
        (("shopper", "sku_id", "val"), "uir"),
        (("Client ID", "stars", "video"), "uri"),
    ],
)
def test_names_say_which_column_is_which(names: tuple[str, ...], roles: str) -> None:
    columns = {"u": PAIRS[:, 0], "i": PAIRS[:, 1], "r": RATINGS}
    found = as_ratings(pd.DataFrame({name: columns[role] for name, role in zip(names, roles, strict=True)}))
    expected = as_ratings(PAIRS, RATINGS)
    assert found.users == expected.users
    assert np.array_equal(found.levels, expected.levels)


@together("names", ["movie_id who", "what user", "sku_id who val", "what user x"])
def test_names_that_contradict_the_order_are_an_error(names: str) -> None:
    frame = pd.DataFrame(dict.fromkeys(names.split(), PAIRS[:, 0]))
    for fit in (as_ratings, as_interactions):
        with pytest.raises(InvalidInputError, match="users come first|not clear which columns|cannot tell which"):
            fit(frame)
    if len(frame.columns) == 2:
        with pytest.raises(InvalidInputError, match="users come first"):
            as_ratings(frame, RATINGS)


@together("name", ["n_clicks", "click_count", "plays", "qty", "quantity", "count", "TotalOrders"])
def test_counts_are_known_by_their_names(name: str) -> None:
    frame = pd.DataFrame({"user": PAIRS[:, 0], "item": PAIRS[:, 1], name: RATINGS})
    assert np.array_equal(as_interactions(frame).weights, as_interactions(PAIRS, sample_weight=RATINGS).weights)
    with pytest.warns(InputWarning, match=f"column '{name}' of X is read as ratings"):
        as_ratings(frame)


@together("more", [{}, {"qty": 1}])
@together("name", ["price", "amount", "total"])
def test_a_third_column_of_another_name_is_a_guess(name: str, more: dict[str, int]) -> None:
    frame = pd.DataFrame({"user": PAIRS[:, 0], "item": PAIRS[:, 1], name: RATINGS, **more})
    with pytest.warns(InputWarning, match=f"column '{name}' of X is read as ratings, by its place"):
        as_ratings(frame)
