"""What ratings and interactions come in: tables and streams of Arrow, relations, lazy frames, cursors, categoricals."""

import datetime as dt
import sqlite3
from collections.abc import Callable
from copy import copy
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset
import pytest
from sklearn.base import clone
from tests.needs import LackingError
from tests.together import together

import cofactor
from cofactor.errors import InvalidInputError
from cofactor.evaluation import evaluate
from cofactor.ratings import ALS, BPMF, EASE, Recommender, Rules, as_ratings
from cofactor.ratings.ranking import as_interactions

from .reference import planted

PAIRS, RATINGS = planted(20, 15)
COLUMNS = {
    "item": [f"film {i}" for i in PAIRS[:, 1]],
    "user": PAIRS[:, 0],
    "rating": RATINGS,
    "time": 1e9 + PAIRS[:, 0],
}
TABLE = pa.table(COLUMNS)
NAMES = ["bad", "ok", "good", "great", "best"]


def database() -> sqlite3.Connection:
    connection = sqlite3.connect(":memory:")
    connection.execute("CREATE TABLE rated (item, user, rating, time)")
    rows = zip(*(np.asarray(column, dtype=object) for column in COLUMNS.values()), strict=True)
    connection.executemany("INSERT INTO rated VALUES (?, ?, ?, ?)", list(rows))
    return connection


def select(what: str = "*") -> sqlite3.Cursor:
    return database().execute(f"SELECT {what} FROM rated")


def duck_connection() -> Any:
    try:
        import duckdb
    except ImportError:
        raise LackingError("DuckDB (pip install duckdb)") from None
    connection = duckdb.connect()
    connection.register("rated", TABLE)
    return connection


def duck(what: str = "*") -> Any:
    return duck_connection().sql(f"SELECT {what} FROM rated")


class Stream:
    """Anything that gives an Arrow stream."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return TABLE.__arrow_c_stream__(requested_schema)


DOORS: dict[str, Callable[[], Any]] = {
    "pandas": lambda: pd.DataFrame(COLUMNS),
    "polars": lambda: pl.DataFrame(COLUMNS),
    "lazy": lambda: pl.LazyFrame(COLUMNS),
    "table": lambda: TABLE,
    "batch": lambda: TABLE.to_batches()[0],
    "reader": lambda: TABLE.to_reader(max_chunksize=7),
    "data set": lambda: pa.dataset.dataset(TABLE),
    "scanner": lambda: pa.dataset.dataset(TABLE).scanner(),
    "stream": Stream,
    "chunks": lambda: pa.concat_tables([TABLE[:5], TABLE[5:]]),
    "dictionary": lambda: TABLE.set_column(0, "item", TABLE["item"].dictionary_encode()),
    "cursor": select,
    "relation": duck,
    "relation, arrow": lambda: duck().arrow(),
    "connection": lambda: duck_connection().execute("SELECT * FROM rated"),
}
doors = together("door", DOORS)
FAST = Recommender(EASE(1.0), BPMF(1, n_sweeps=2, burn_in=1), random_state=0)


@doors
def test_every_door_gives_the_same_ratings(door: str) -> None:
    expected = as_ratings(pd.DataFrame(COLUMNS))
    found = as_ratings(DOORS[door]())
    assert found.items == expected.items
    for name in ("indptr", "indices", "levels", "times"):
        assert np.array_equal(getattr(found, name), getattr(expected, name))
    assert np.array_equal(as_interactions(DOORS[door]()).indices, as_interactions(pd.DataFrame(COLUMNS)).indices)


@doors
def test_models_fit_predict_and_grow_by_every_door(door: str) -> None:
    model = ALS(2, 1.0, random_state=0).fit(DOORS[door]())
    assert len(clone(FAST).fit(DOORS[door]()).items_) == 15
    if door != "connection":
        assert model.score(DOORS[door]()) == model.score(pd.DataFrame(COLUMNS))
    if door in ("reader", "relation"):
        assert len(evaluate(model, DOORS[door]())) == 3
    folded = model.fold_in(DOORS[door](), known="replace")
    assert np.array_equal(folded.items_.ids, model.items_.ids)
    assert np.array_equal(model.update(DOORS[door](), again=True).items_.ids, folded.items_.ids)


@together(
    "pairs",
    [lambda: select("user, item"), lambda: TABLE.select(["user", "item"]).to_reader(), lambda: duck("user, item")],
)
def test_pairs_come_by_every_door(pairs: Callable[[], Any]) -> None:
    expected = ALS(2, 1.0, random_state=0).fit(pd.DataFrame(COLUMNS))
    model = ALS(2, 1.0, random_state=0).fit(pairs(), pa.array(RATINGS), time=TABLE["time"])
    assert np.array_equal(model.predict(pairs()), expected.predict(pd.DataFrame(COLUMNS)[["user", "item"]]))


def relation(table: pa.Table) -> Any:
    connection = duck_connection()
    connection.register("given", table)
    return connection.sql("SELECT * FROM given")


def cursor(table: pa.Table) -> sqlite3.Cursor:
    connection, marks = sqlite3.connect(":memory:"), ", ".join("?" * table.num_columns)
    connection.execute(f"CREATE TABLE given ({', '.join(table.column_names)})")
    connection.executemany(f"INSERT INTO given VALUES ({marks})", [tuple(row.values()) for row in table.to_pylist()])
    return connection.execute("SELECT * FROM given")


SIDE_DOORS: dict[str, Callable[[pa.Table], Any]] = {
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "table": lambda table: table,
    "batch": lambda table: table.to_batches()[0],
    "reader": lambda table: table.to_reader(),
    "data set": pa.dataset.dataset,
    "cursor": cursor,
    "relation": relation,
}
side_doors = together("door", SIDE_DOORS.values(), ids=SIDE_DOORS)


@side_doors
def test_features_come_by_every_door(door: Callable[[pa.Table], Any]) -> None:
    names = [f"film {i}" for i in range(17)]
    table = pa.table({"item": names, "year": np.arange(17.0), "genre": ["ab"[i % 2] for i in range(17)]})
    known, new = table[:15], table[15:]
    pairs = pd.DataFrame(COLUMNS)[["user", "item"]]
    models = [
        ALS(2, 1.0, random_state=0).fit(pairs, RATINGS, item_features=f) for f in (door(known), known.to_pandas())
    ]
    lists = [model.recommend(new_items=f) for model, f in zip(models, (door(new), new.to_pandas()), strict=True)]
    assert np.array_equal(lists[0].items, lists[1].items)
    similar = [models[0].similar_items(["film 16"], 3, new_items=f)[0] for f in (door(new), new.to_pandas())]
    assert np.array_equal(*similar)
    assert np.array_equal(
        models[0].fold_in_items(item_features=door(new)).V_, models[0].fold_in_items(item_features=new.to_pandas()).V_
    )


@side_doors
def test_rules_and_ids_come_by_every_door(door: Callable[[pa.Table], Any]) -> None:
    items = [f"film {i}" for i in range(15)]
    genres = pa.table({"item": items, "genre": ["ab"[i % 2] for i in range(15)]})
    boosts = pa.table({"boost": np.arange(15.0), "item": items})
    model = EASE(random_state=0).fit(pd.DataFrame(COLUMNS)[["user", "item"]])

    def lists(of: Callable[[pa.Table], Any]) -> list[Any]:
        some = pa.table({"item": items[3:9]})
        return [
            model.recommend(rules=Rules(groups=of(genres), at_most=1)),
            model.recommend(rules=Rules(boost=of(boosts))),
            model.recommend(of(pa.table({"user": [3, 1]})), candidates=of(some)),
            model.recommend([1], exclude=of(some), exclude_seen=False),
            model.similar_items(of(some), 2),
        ]

    for found, expected in zip(lists(door), lists(lambda table: table.to_pandas()), strict=True):
        assert np.array_equal(found[0], expected[0])
    with pytest.raises(InvalidInputError, match="candidates has the columns item, genre, expected one of ids"):
        model.recommend(candidates=door(genres))
    if door is not pa.dataset.dataset:
        with pytest.raises(InvalidInputError, match="with the columns boost, item, more"):
            Rules(boost=door(boosts.append_column("more", boosts["boost"])))


def test_ids_may_be_an_array_of_arrow() -> None:
    """Its cells, which are objects, were taken for other ids, and nothing was left out."""
    model = EASE(random_state=0).fit([(u, i) for u in range(9) for i in range(6) if (u * i) % 4])
    for given in ([1, 2, 3], pa.array([1, 2, 3]), pl.Series([1, 2, 3]), {1: pa.array([1, 2, 3])}):
        assert model.recommend([1], 5, exclude=given, exclude_seen=False)[0].tolist() == [[5, None, None, None, None]]


def test_a_reader_may_have_nulls_in_late_batches() -> None:
    batches = [
        pa.record_batch({"user": [1], "item": [k], "rating": pa.array([r], pa.int64())})
        for k, r in enumerate([1, 2, None, 4])
    ]
    with pytest.raises(InvalidInputError, match="NaN or infinite, the first in row 2"):
        as_ratings(pa.RecordBatchReader.from_batches(batches[0].schema, batches))
    assert as_ratings(pa.RecordBatchReader.from_batches(batches[0].schema, batches[:2])).n_ratings == 2


# ------------------------------------------------------------------------------------------- ordered categoricals


def graded(levels: np.ndarray, names: list[Any]) -> dict[str, Any]:
    codes = pa.array(levels.astype(np.int32) - 1)
    return {
        "pandas": pd.Series(pd.Categorical.from_codes(levels.astype(int) - 1, names, ordered=True)),
        "a categorical": pd.Categorical.from_codes(levels.astype(int) - 1, names, ordered=True),
        "arrow": pa.chunked_array([pa.DictionaryArray.from_arrays(codes, pa.array(names), ordered=True)]),
        **({"polars": pl.Series([names[int(k) - 1] for k in levels], dtype=pl.Enum(names))} if names == NAMES else {}),
    }


@pytest.mark.parametrize("kind", ["pandas", "a categorical", "arrow", "polars"])
def test_an_ordered_categorical_is_a_scale_in_its_order(kind: str, tmp_path: Any) -> None:
    levels = np.minimum(RATINGS, 4)  # nobody rates "best"
    y = graded(levels, NAMES)[kind]
    model = ALS(2, 1.0, random_state=0).fit(PAIRS, y)
    assert model.scale_.tolist() == [1, 2, 3, 4, 5]
    assert np.array_equal(model.ratings_.levels, as_ratings(PAIRS, levels, scale=range(1, 6)).levels)
    model.save(tmp_path / "model.cofactor")
    assert cofactor.load(tmp_path / "model.cofactor").rating_scale_.names() == NAMES
    assert model.score(PAIRS, y) == model.score(PAIRS, levels)
    assert len(evaluate(model, PAIRS, y)) == 3
    with pytest.raises(InvalidInputError, match="stand for a, b, c, d, e, but those of training for bad"):
        model.update(PAIRS, pd.Categorical.from_codes(levels.astype(int) - 1, list("abcde"), ordered=True))


@together("kind", ["pandas", "a categorical", "arrow"])
def test_categories_that_are_increasing_numbers_are_the_scale(kind: str) -> None:
    found = as_ratings(PAIRS, graded(RATINGS, [0.5, 1.0, 2.0, 4.0, 8.0, 9.0])[kind])
    assert found.scale.tolist() == [0.5, 1, 2, 4, 8, 9]
    assert found.rating_scale is None


def test_a_frame_with_a_categorical_column() -> None:
    frame = pd.DataFrame({**COLUMNS, "rating": graded(RATINGS, NAMES)["a categorical"]})
    for form in (frame, pl.from_pandas(frame).with_columns(pl.col("rating").cast(pl.Enum(NAMES))), pa.table(frame)):
        assert as_ratings(form).rating_scale.names() == NAMES
    with pytest.raises(InvalidInputError, match="NaN or infinite, the first in row 0"):
        as_ratings(frame.assign(rating=frame["rating"].where(frame.index > 0)))
    with pytest.raises(InvalidInputError, match="must hold numbers .* ordered=True"):
        as_ratings(frame.assign(rating=frame["rating"].cat.as_unordered()))


# ------------------------------------------------------------------------------------------- kinds of columns


def test_decimals_are_numbers_and_zones_are_converted() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    table = pa.table(
        {
            "user": pa.array([Decimal(1), Decimal(2)]),
            "item": pa.array([Decimal(2**60 + 1), Decimal(2**60)]),
            "rating": pa.array([Decimal("1.5"), Decimal("2.5")]),
            "time": pa.array([dt.datetime(1970, 1, 1, 3, tzinfo=zone)] * 2, pa.timestamp("us", "Europe/Berlin")),
        }
    )
    for form in (table, pl.from_arrow(table), table.to_reader()):
        found = as_ratings(form)
        assert found.users.ids.tolist() == [1, 2]
        assert found.items.ids.tolist() == [2**60, 2**60 + 1]
        assert found.scale.tolist() == [1.5, 2.5]
        assert found.times.tolist() == [3600, 3600]


@together(
    ("columns", "message"),
    [
        ({"user": pa.array([1, None])}, "user ids of X hold 1 value that is NaN"),
        ({"item": pa.array(["Up", None])}, "item ids of X hold a missing"),
        ({"item": pa.array(["Up", None]).dictionary_encode()}, "item ids of X hold a missing"),
        ({"item": pa.array([[1], [2]])}, "item ids of X are lists, in column 'item'; give one id"),
        ({"item": pa.array([{"id": 1}, {"id": 2}])}, "item ids of X are structs"),
        ({"rating": pa.array([[1], [2]])}, r"y must hold numbers \(found List"),
        ({"rating": pa.array([1, None])}, "NaN or infinite, the first in row 1"),
    ],
)
def test_columns_that_cannot_be_read_are_named(columns: dict[str, Any], message: str) -> None:
    table = pa.table({"user": [1, 2], "item": ["Up", "Heat"], "rating": [1, 2]} | columns)
    for form in (table, table.to_reader()):
        with pytest.raises(InvalidInputError, match=message):
            as_ratings(form)


def test_what_gives_its_rows_once_says_so() -> None:
    reader, cursor, closed = TABLE.to_reader(), select(), select()
    for once in (reader, cursor):
        as_ratings(once)
        with pytest.raises(InvalidInputError, match="without rows: it gives them once, .* again") as error:
            ALS(2).fit(once)
        assert error.value.argument == "X"
    closed.connection.close()
    with pytest.raises(InvalidInputError, match="Cursor that cannot be read: .* closed"):
        ALS(2).fit(closed)
    with pytest.raises(InvalidInputError, match="Cursor without a result"):
        Recommender().fit(database().cursor())
    twice = pa.Table.from_arrays(TABLE.columns, ["item", "user", "rating", "user"])
    for named in (twice, twice.to_reader(), twice.to_pandas(), select("item, user, rating, time AS user")):
        with pytest.raises(InvalidInputError, match="two columns of (X|the frame) are called 'user'; rename one"):
            as_ratings(named)
    with pytest.raises(InvalidInputError, match="column 'item' of X holds values of several kinds"):
        as_ratings(database().execute("SELECT user, item, rating FROM rated UNION ALL SELECT 1, 2, 3"))


def test_an_empty_relation_is_empty() -> None:
    with pytest.raises(InvalidInputError, match="X is empty"):
        ALS(2).fit(duck("*").filter("rating > 99"))
    with pytest.raises(InvalidInputError, match="X is empty"):
        EASE().fit(pl.LazyFrame(COLUMNS).filter(pl.col("rating") > 99))


@together("words", [["good", "great"], ["great"], ["great", "good", "ok", "bad"]])
def test_words_are_those_of_the_model_whatever_categories_come(words: list[str]) -> None:
    """In updates, fold-ins of users and of items, and measures: other days have other words, perhaps not all."""
    scale, rng = ["bad", "ok", "good", "great"], np.random.default_rng(0)
    pairs = np.argwhere(rng.random((12, 9)) < 0.7)
    codes = rng.integers(0, 4, len(pairs))

    def frame(users: Any, items: Any, places: Any, categories: list[str]) -> pd.DataFrame:
        of = pd.Categorical([scale[k] for k in places], categories=categories, ordered=True)
        return pd.DataFrame({"user": users, "item": items, "rating": of})

    model = ALS(2, 1.0, random_state=0).fit(frame(*pairs.T, codes, scale))
    assert model.fold_in(frame([99], [3], [3], words)).ratings_.values.tolist() == [4]
    assert model.fold_in_items(frame([3], [99], [3], words)).ratings_.values.tolist() == [4]
    assert copy(model).update(frame([99], [3], [3], words)).ratings_.values[-1] == 4
    great = codes == 3
    some = [frame(*pairs[great].T, codes[great], categories) for categories in (scale, words)]
    assert model.score(some[0]) == model.score(some[1])
    with pytest.raises(InvalidInputError, match="stand for super, but those of training for bad, ok"):
        model.fold_in(frame([99], [3], [3], words).assign(rating=pd.Categorical(["super"], ordered=True)))
    numbers = ALS(2, 1.0, random_state=0).fit(pairs, codes + 1)
    with pytest.raises(InvalidInputError, match="the ratings are the words"):
        numbers.fold_in(frame([99], [3], [3], words))
