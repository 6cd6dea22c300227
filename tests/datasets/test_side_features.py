"""Features of users and items from files, and those that MovieLens has."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cofactor.datasets import DatasetNotFoundError, load_ratings, load_side_features, read_side_features
from cofactor.errors import InvalidInputError


def test_numbers_and_words(tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text("who,age,zip,trade\n7,25,08544,poet\n3,31.5,10001,\n9,1e1,94110,cook\n")
    ids, columns = read_side_features(path)
    assert ids.tolist() == [7, 3, 9]
    assert {name: column.tolist() for name, column in columns.items()} == {
        "age": [25, 31.5, 10],
        "zip": [8544, 10001, 94110],
        "trade": ["poet", None, "cook"],
    }
    path.write_text("7,25,poet\n3,31,cook\n")
    ids, columns = read_side_features(path, ids="str")
    assert ids.tolist() == ["7", "3"]
    assert {name: column.tolist() for name, column in columns.items()} == {"c1": [25, 31], "c2": ["poet", "cook"]}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("id,age\nann,25\nbob,x", "line 3, column 'age': expected a number as in other rows, found 'x'"),
        ("id,age\nann,25\nbob,", "line 3, column 'age': expected a number, found no value; fill it in"),
        ("id,age\nann,25\nbob,inf", "line 3, column 'age': expected a finite number, found inf"),
        ("id\nann", "has a single column, expected ids in the first one and features in the others"),
        ("id,age\n,25", "line 2, column 'id': the id is empty"),
    ],
)
def test_what_is_refused(lines: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "users.csv"
    path.write_text(lines + "\n")
    with pytest.raises(InvalidInputError, match=words):
        read_side_features(path)


def test_typed_columns(tmp_path: Path) -> None:
    pl = pytest.importorskip("polars")
    path = tmp_path / "users.parquet"
    frame = pl.DataFrame({"id": [1, 2], "zip": ["08544", None], "age": [3, 4], "member": [True, False]})
    frame.with_columns(pl.col("zip").cast(pl.Categorical)).write_parquet(path)
    _, columns = read_side_features(path)
    assert columns["zip"].tolist() == ["08544", None]
    assert columns["age"].tolist() == [3, 4]


@pytest.mark.parametrize(("name", "n_users"), [("ml-100k", 943), ("ml-1m", 6040), ("ml-latest-small", None)])
def test_movielens(name: str, n_users: int | None) -> None:
    users, (films, about) = load_side_features(name)
    rated = np.unique(load_ratings(name).X[:, 1]) if name != "ml-1m" else films
    assert np.isin(rated, films).all()
    assert about["year"][films == 1].tolist() == [1995]
    assert all(np.isfinite(column).all() and len(column) == len(films) for column in about.values())
    assert all(set(column.tolist()) == {0.0, 1.0} for key, column in about.items() if key != "year")
    assert [key for key in ("Comedy", "Drama", "Horror", "Western") if key not in about] == []
    assert not {"unknown", "(no genres listed)"} & set(about)
    if n_users is None:
        assert users is None
        return
    assert users is not None
    ids, columns = users
    assert ids.tolist() == list(range(1, n_users + 1))
    assert set(columns) == {"age", "gender", "occupation"}
    assert set(columns["gender"].tolist()) == {"M", "F"}
    assert columns["age"].dtype == np.float64


def test_sets_without_features(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="no data set with features of users and items"):
        load_side_features("jester-1")
    (tmp_path / "u.data").write_text("1\t1\t3\t0\n")
    with pytest.raises(DatasetNotFoundError, match=r"data set 'ml-100k': no u\.user in .*; put it there"):
        load_side_features("ml-100k", tmp_path)
    (tmp_path / "u.user").write_text("1|24|M|technician|85711\n2|53\n")
    with pytest.raises(InvalidInputError, match=r"u\.user, line 2: expected an id and 3 more columns"):
        load_side_features("ml-100k", tmp_path)
