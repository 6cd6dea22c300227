"""Which columns of a frame are user, item and rating."""

import pandas as pd
import polars as pl
import pytest
from tests.together import together

from cofactor.columns import frame_columns

FRAMES = together("frame", [pd.DataFrame, pl.DataFrame])


@FRAMES
def test_columns_are_known_by_their_names(frame):
    table = frame({"Rating": [1.0], "time": [5], "Movie ID": ["x"], "USER_ID": [3]})
    assert frame_columns(table) == {"user": "USER_ID", "item": "Movie ID", "rating": "Rating"}
    assert frame_columns(table, rating=False) == {"user": "USER_ID", "item": "Movie ID"}


@FRAMES
def test_columns_without_known_names_are_the_first_ones(frame):
    assert frame_columns(frame({"a": [1], "b": [2], "c": [3.0]})) == {"user": "a", "item": "b", "rating": "c"}


def test_columns_named_by_numbers_are_the_first_ones():
    assert frame_columns(pd.DataFrame([[1, 2, 3.0]])) == {"user": 0, "item": 1, "rating": 2}


def test_the_index_of_another_frame_is_no_column_of_users():
    table = pd.DataFrame({"Unnamed: 0": [4, 5], "who": ["a", "b"], "what": ["x", "y"], "mark": [1, 2]})
    assert frame_columns(table) == {"user": "who", "item": "what", "rating": "mark"}


@FRAMES
@together(
    ("columns", "message"),
    [
        ({"user": [1], "x": [2], "date": [3]}, "cannot tell which column holds the item and the rating"),
        ({"user": [1], "item": [2]}, "no column for the rating"),
        ({c: [1.0] for c in "abcdef"}, "looks like a matrix"),
    ],
)
def test_frames_that_are_not_clear(frame, columns, message):
    with pytest.raises(ValueError, match=message):
        frame_columns(frame(columns))
