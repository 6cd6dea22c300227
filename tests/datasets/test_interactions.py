"""Files of interactions: which are recognised, and what is read of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cofactor.datasets import InteractionDataset, RatingDataset, read_interactions
from cofactor.datasets.readers.ratings import read_ratings_or_interactions
from cofactor.errors import InvalidInputError
from cofactor.ratings.ranking import as_interactions


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("1,2\n1,3\n", "no column beside users and items"),
        ("ann,Up\nbob,Heat\n", "no column beside users and items"),
        ("user,item\nann,Up\nbob,Heat\n", "no column beside users and items"),
        ("ann\tUp\t881250949\nbob\tHeat\t881250950\n", "no column beside users, items and times"),
        ("ann,Up,2020-12-31\nbob,Heat,2021-01-01\n", "no column beside users, items and times"),
        ("userId,movieId,timestamp\n1,2,3\n2,2,4\n", "no column beside users, items and times"),
        ("who,what,Play_Count\nann,Up,3\nbob,Up,7\n", "a column 'Play_Count', and none of ratings"),
        ("user,item,time,clicks\n1,2,5,3\n2,2,6,1\n", "a column 'clicks', and none of ratings"),
        ("user,item,rating\n1,2,5\n2,2,5\n", "all ratings are 5"),
        # these are ratings
        ("1,2,5\n2,2,4\n", ""),
        ("user,item,rating,plays\n1,2,5,9\n2,2,4,1\n", ""),
        ("1,2,5,881250949\n2,2,4,881250949\n", ""),
        ("user,item,stars\n1,2,5\n2,2,4\n", ""),
    ],
)
def test_what_is_recognised(tmp_path: Path, text: str, why: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(text)
    data, found = read_ratings_or_interactions(path)
    assert (type(data), bool(found)) == (InteractionDataset if why else RatingDataset, bool(why))
    assert why in found
    assert len(data) == 2


def test_counts_times_and_repeats(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    table = {"customer": ["ann", "bob", "ann"], "product": [7, 7, 7], "quantity": [2, 1, 0.5], "date": [9, 8, 12]}
    pq.write_table(pa.table(table), path)
    data = read_interactions(path)
    assert (data.X.tolist(), data.y.tolist()) == ([["ann", 7], ["bob", 7], ["ann", 7]], [2, 1, 0.5])
    assert (data.timestamps.tolist(), data.scale) == ([9, 8, 12], None)
    assert repr(data) == "InteractionDataset('x.parquet': 3 interactions, 2 users, 1 item, counts 0.5 to 2)"
    interactions = as_interactions(data)
    assert (interactions.weights.tolist(), interactions.times.tolist()) == ([2.5, 1], [12, 8])
    doubled = as_interactions(data, sample_weight=[2, 2, 2])
    assert doubled.weights.tolist() == [5, 2]
    other = read_interactions(path, count="date")
    assert (other.y.tolist(), other.timestamps) == ([9, 8, 12], None)


@pytest.mark.parametrize("header", ["user,item,stars,seen\n", ""])
def test_an_item_that_was_rated_again_is_taken_once(tmp_path: Path, header: str) -> None:
    path = tmp_path / "x.csv"
    path.write_text(header + "ann,7,5,20\nann,7,2,10\nbob,7,3,5\n")
    data = read_interactions(path, timestamp="seen" if header else 3)
    assert (data.X.tolist(), data.y.tolist(), data.n_dropped) == ([["ann", 7], ["bob", 7]], [1, 1], 1)
    assert data.timestamps.tolist() == [20, 5]
    assert as_interactions(data).weights is None
    path.write_text("user,item,page\nann,7,5\nann,7,2\nbob,7,3\n")  # visits, each of which is an interaction
    assert as_interactions(read_interactions(path)).weights.tolist() == [2, 1]


def test_counts_which_look_like_ratings_are_told_by_their_column(tmp_path: Path) -> None:
    stars = np.repeat([1, 2, 3, 4, 5], [6, 11, 27, 34, 22])
    rows = [f"{k % 20},{k},{value}" for k, value in enumerate(stars.tolist())]
    path = tmp_path / "x.csv"
    path.write_text("\n".join(["user,item,plays", *rows]))
    assert read_interactions(path).y.tolist() == stars.tolist()  # its name says that these are counts
    path.write_text("\n".join(["user,item,stars", *rows]))
    assert read_interactions(path).y.tolist() == [1] * 100  # ratings say nothing here
    with pytest.raises(InvalidInputError, match="column 'stars': these look like ratings, not counts: 1, 2, 3, 4, 5"):
        read_interactions(path, count="stars")
    path.write_text("\n".join(rows))
    with pytest.raises(InvalidInputError, match="column 3: these look like ratings"):
        read_interactions(path, count=2)
    path.write_text("1,2,nan\n1,3,4\n")
    with pytest.raises(InvalidInputError, match="line 1, column 3: the count is nan, expected a number of at least 0"):
        read_interactions(path, count=2)


def test_row_labels_of_pandas_are_no_counts(tmp_path: Path) -> None:
    frame = pd.DataFrame({"user": list("aabbc"), "item": [1, 2, 1, 3, 2]}, index=[7, 3, 9, 1, 5])
    frame.to_parquet(tmp_path / "interactions.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "interactions.parquet").names
    interactions = read_interactions(tmp_path / "interactions.parquet")
    assert len(interactions.X) == 5
    assert set(interactions.y.tolist()) == {1.0}
