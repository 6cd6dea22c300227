"""Ratings and IdMap: what they accept, what they refuse, and that rows and columns agree with the input."""

import datetime
import gzip
import json
import pickle
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from tests.ratings.same import assert_same
from tests.together import together

from cofactor.datasets import RatingDataset
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.data import as_labels
from cofactor.labels.features import as_features
from cofactor.ratings.data import Ratings, as_ratings
from cofactor.ratings.ids import IdMap, saved_ids
from cofactor.ratings.ranking import EASE

STARS = [1, 2, 3, 4, 5]
PAIRS = [("bob", 20), ("ann", 10), ("bob", 10), ("eve", 30)]
VALUES = [3, 5, 1, 4]


def dense(ratings: Ratings) -> np.ndarray:
    """Table of ratings, 0 where there is none, read from the rows."""
    table = np.zeros(ratings.shape)
    for user in range(ratings.shape[0]):
        for k in range(ratings.indptr[user], ratings.indptr[user + 1]):
            table[user, ratings.indices[k]] = ratings.scale[ratings.levels[k] - 1]
    return table


def dense_by_columns(ratings: Ratings) -> np.ndarray:
    table = np.zeros(ratings.shape)
    for item in range(ratings.shape[1]):
        for k in range(ratings.col_indptr[item], ratings.col_indptr[item + 1]):
            table[ratings.col_indices[k], item] = ratings.values[ratings.to_csr[k]]
    return table


EXPECTED = np.array([[5, 0, 0], [1, 3, 0], [0, 0, 4]])  # ann, bob, eve × 10, 20, 30


# ------------------------------------------------------------------------------------------- accepted input


@together(
    "X",
    [
        PAIRS,
        tuple(PAIRS),
        [list(pair) for pair in PAIRS],
        np.array(PAIRS, dtype=object),
        pd.DataFrame(PAIRS, columns=["user", "item"]),
        pd.DataFrame(PAIRS, columns=["X", "y"]),
        pd.DataFrame(PAIRS),
        pd.DataFrame(PAIRS, columns=["user", "item"]).astype({"user": "category"}),
        pl.DataFrame(PAIRS, schema=["user", "item"], orient="row"),
        pl.DataFrame(PAIRS, schema={"user": pl.Categorical, "item": pl.Float32}, orient="row"),
    ],
    ids=str.split("pairs tuple lists object pandas pandas-Xy pandas-unnamed pandas-category polars polars-category"),
)
@together("series", [list, np.array, pd.Series, pl.Series, lambda y: np.array(y, dtype=np.float32)])
def test_every_form_of_pairs_gives_the_same_ratings(X, series):
    ratings = as_ratings(X, series(VALUES), scale=STARS)
    assert ratings.users.ids.tolist() == ["ann", "bob", "eve"]
    assert ratings.items.ids.tolist() == [10, 20, 30]
    assert ratings.items.ids.dtype == np.int64
    np.testing.assert_array_equal(dense(ratings), EXPECTED)
    np.testing.assert_array_equal(dense_by_columns(ratings), EXPECTED)


@together("dtype", [np.int16, np.uint8, np.int64, np.uint64, np.float32, np.float64, object])
def test_whole_numbers_of_any_type_are_integer_ids(dtype):
    ratings = as_ratings(np.array([[7, 2], [3, 2]], dtype=dtype), [1, 2])
    assert ratings.users.ids.dtype == np.int64
    assert ratings.users.ids.tolist() == [3, 7]


def test_string_arrays_keep_strings():
    ratings = as_ratings(np.array([["10", "2"], ["9", "2"]]), [1, 2])
    assert ratings.users.ids.tolist() == ["10", "9"]
    assert type(ratings.users.ids[0]) is str


@together("form", ["csr", "csc", "coo", "lil", "dok"])
@together("kind", ["array", "matrix"])
def test_sparse_equals_pairs(form, kind):
    make = getattr(sparse, f"{form}_{kind}")
    ratings = as_ratings(make(EXPECTED), scale=STARS)
    np.testing.assert_array_equal(dense(ratings), EXPECTED)
    np.testing.assert_array_equal(dense_by_columns(ratings), EXPECTED)
    assert ratings.users == IdMap.of_range(3)


def test_sparse_keeps_empty_rows_and_columns_and_stored_zeros():
    matrix = sparse.csr_array((np.array([0.0, 2.0]), (np.array([1, 3]), np.array([0, 0]))), shape=(5, 2))
    ratings = as_ratings(matrix)
    assert ratings.shape == (5, 2)
    assert ratings.scale.tolist() == [0, 2]
    assert ratings.user_counts.tolist() == [0, 1, 0, 1, 0]
    assert ratings.item_counts.tolist() == [2, 0]


def test_sparse_does_not_add_up_entries_stored_twice():
    matrix = sparse.coo_array((np.array([1.0, 3.0]), (np.array([0, 0]), np.array([1, 1]))), shape=(2, 2))
    with pytest.raises(ValueError, match=r"1 rating repeats .* \(0, 1\)"):
        as_ratings(matrix)
    assert as_ratings(matrix, duplicates="mean", scale=STARS).values.tolist() == [2]
    assert as_ratings(matrix, duplicates="last").values.tolist() == [3]


def test_ratings_pass_through_and_datasets_bring_their_scale():
    dataset = SimpleNamespace(X=np.array([[1, 2], [2, 2]]), y=np.array([3.0, 4.0]), scale=np.array(STARS))
    ratings = as_ratings(dataset)
    assert ratings.n_levels == 5
    assert as_ratings(dataset, scale=[3, 4]).n_levels == 2
    assert as_ratings(ratings) is ratings
    assert as_ratings(ratings, scale=STARS, items=IdMap([2])) is ratings
    with pytest.raises(ValueError, match=r"X has the scale 1, 2, 3, 4, 5 but 3, 4 is required"):
        as_ratings(ratings, scale=[3, 4])
    with pytest.raises(ValueError, match="other items"):
        as_ratings(ratings, items=IdMap([2, 3]))


def test_input_is_neither_changed_nor_kept():
    X, y, scale = np.array([[2, 1], [1, 1]]), np.array([1.0, 2.0]), np.array([1.0, 2.0])
    ratings = as_ratings(X, y, scale)
    X[:], y[:], scale[:] = 9, 9, 9
    assert ratings.users.ids.tolist() == [1, 2]
    assert ratings.values.tolist() == [2, 1]


def test_a_given_scale_allows_ratings_of_one_level():
    assert as_ratings([(1, 1)], [5], scale=STARS).levels.tolist() == [5]


# ------------------------------------------------------------------------------------------- properties

id_kinds = st.sampled_from(["int", "float", "str", "tuple", "mixed"])
MAKE_ID = {
    "int": lambda k: 1000 - 7 * k,
    "float": lambda k: 0.5 - k,
    "str": lambda k: f"id{k}",
    "tuple": lambda k: (k % 3, str(k)),
    "mixed": lambda k: k if k % 2 else f"id{k}",
}


@given(
    entries=st.dictionaries(
        st.tuples(st.integers(0, 8), st.integers(0, 8)), st.integers(1, 5), min_size=1, max_size=40
    ),
    kinds=st.tuples(id_kinds, id_kinds),
    seed=st.integers(0, 99),
)
def test_rows_columns_and_input_agree_in_any_order(entries, kinds, seed):
    user_of, item_of = MAKE_ID[kinds[0]], MAKE_ID[kinds[1]]
    rows = [(user_of(u), item_of(i), value) for (u, i), value in entries.items()]
    first = as_ratings([row[:2] for row in rows], [row[2] for row in rows], STARS)
    shuffled = [rows[k] for k in np.random.default_rng(seed).permutation(len(rows))]
    second = as_ratings([row[:2] for row in shuffled], [row[2] for row in shuffled], STARS)
    for name in ("scale", "indptr", "indices", "levels", "col_indptr", "col_indices", "to_csr"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.users == second.users
    assert first.items == second.items
    users, items = first.pairs()
    back = zip(first.users.ids[users].tolist(), first.items.ids[items].tolist(), first.values, strict=True)
    assert {(u, i): v for u, i, v in back} == {(u, i): v for u, i, v in rows}
    assert all((np.diff(first.indices[a:b]) > 0).all() for a, b in zip(first.indptr, first.indptr[1:], strict=False))
    np.testing.assert_array_equal(dense(first), dense_by_columns(first))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from([0.5, 1, 2, 4])), min_size=1))
def test_duplicates_last_and_mean_against_dictionaries(rows):
    X, y, scale = [row[:2] for row in rows], [row[2] for row in rows], np.array([0.5, 1, 2, 4])
    groups = {}
    for user, item, value in rows:
        groups.setdefault((user, item), []).append(value)
    for duplicates in ("last", "mean"):
        ratings = as_ratings(X, y, scale, duplicates)
        users, items = ratings.pairs()
        found = zip(ratings.users.ids[users].tolist(), ratings.items.ids[items].tolist(), strict=True)
        found = dict(zip(found, ratings.values.tolist(), strict=True))
        if duplicates == "last":
            assert found == {pair: values[-1] for pair, values in groups.items()}
            continue
        assert found.keys() == groups.keys()
        for pair, values in groups.items():
            distance = np.abs(scale - np.mean(values))
            nearest = np.flatnonzero(distance <= distance.min() + 1e-12)
            assert found[pair] == scale[nearest[-1]]
    if len(groups) < len(rows):
        with pytest.raises(ValueError, match=f"{len(rows) - len(groups)} ratings? repeat"):
            as_ratings(X, y, scale)


@given(st.data())
def test_subset_and_rows(data):
    mask = np.array(data.draw(st.lists(st.booleans(), min_size=12, max_size=12)))
    table = np.arange(12).reshape(4, 3) % 5 + 1
    ratings = as_ratings(sparse.csr_array(table), scale=STARS)
    kept = ratings.subset(mask)
    np.testing.assert_array_equal(dense(kept), np.where(mask.reshape(4, 3), table, 0))
    np.testing.assert_array_equal(dense_by_columns(kept), dense(kept))
    assert kept.users is ratings.users
    assert kept.items is ratings.items
    chosen = data.draw(st.lists(st.integers(0, 3)))
    indptr, indices, levels = kept.rows(chosen)
    assert indptr.size == len(chosen) + 1
    for k, user in enumerate(chosen):
        part = slice(indptr[k], indptr[k + 1])
        np.testing.assert_array_equal(indices[part], kept.seen(user))
        np.testing.assert_array_equal(indices[part], np.flatnonzero(dense(kept)[user]))
        np.testing.assert_array_equal(kept.scale[levels[part] - 1], dense(kept)[user][kept.seen(user)])


def test_counts_and_types():
    ratings = as_ratings(PAIRS, VALUES, STARS)
    assert ratings.shape == (3, 3)
    assert (ratings.n_ratings, ratings.n_levels) == (4, 5)
    assert ratings.user_counts.tolist() == [1, 2, 1]
    assert ratings.item_counts.tolist() == [2, 1, 1]
    assert ratings.level_counts.tolist() == [1, 0, 1, 1, 1]
    assert ratings.row_of_entry.tolist() == [0, 1, 1, 2]
    names = ("indptr", "indices", "levels", "col_indptr", "col_indices", "to_csr")
    assert [getattr(ratings, name).dtype.str[1:] for name in names] == ["i8", "i4", "u1", "i8", "i4", "i4"]
    copy = pickle.loads(pickle.dumps(ratings))
    np.testing.assert_array_equal(dense(copy), EXPECTED)
    with pytest.raises(AttributeError, match="cannot assign"):
        ratings.levels = copy.levels


def test_subset_refuses_anything_but_a_mask():
    ratings = as_ratings(PAIRS, VALUES, STARS)
    with pytest.raises(ValueError, match=r"boolean of shape \(4,\), found int64 of shape \(2,\)"):
        ratings.subset(np.array([0, 1]))


# ------------------------------------------------------------------------------------------- refused input

GOOD = np.array([[1, 1], [1, 2], [2, 1]])


@together(
    ("X", "y", "message"),
    [
        (GOOD[[0, 1, 2, 2]].T, [1, 2, 3, 3], r"shape \(2, 4\): transpose it"),
        (np.ones((4, 3)), np.ones(4), "holds the ratings; pass the first two columns as X and the ratings as y"),
        (np.ones((4, 5)), np.ones(4), r"shape \(4, 5\). For a table of users × items, pass a scipy sparse"),
        (np.ones(4), np.ones(4), r"shape \(n, 2\).*ndarray of shape \(4,\)"),
        (7, [1], r"found int of shape \(\)"),
        ([(1, 2), (1, 2, 3)], [1, 2], r"pairs, found \(1, 2, 3\)"),
        (["ab", "cd"], [1, 2], "pairs, found 'ab'"),
        ((np.arange(3), np.arange(3)), [1, 2, 3], "tuple of two columns"),
        (pd.DataFrame({"a": [1], "b": [1], "c": [1]}), [1], r"two columns.*\['a', 'b', 'c'\]; select these two"),
        (GOOD, None, "y is missing"),
        (GOOD, [1, 2], "X has 3 rows but y has 2"),
        (GOOD, [[1], [2], [3]], r"y must be one-dimensional, found shape \(3, 1\)"),
        (GOOD, ["1", "2", "3"], "y must hold numbers"),
        (GOOD, [1, None, 2], "y holds 1 rating that is NaN"),
        (GOOD, [1, [2], 3], "y must hold numbers"),
        (GOOD, [1, 2 + 1j, 3], "y must hold numbers"),
        (GOOD, [1, np.nan, np.inf], "y holds 2 ratings that are NaN or infinite, the first in row 1"),
        (GOOD, pl.Series([1, None, 2]), "y holds 1 rating that is NaN"),
        (GOOD, pd.Series([1, None, 2], dtype="Int64"), "y holds 1 rating that is NaN"),
        (GOOD, np.ma.masked_array([1, 2, 3], [False, False, True]), "y is a masked .* in row 2"),
        (np.ma.masked_less(GOOD, 2), [1, 2, 3], "X is a masked array without"),
        ([np.ma.masked_less(pair, 2) for pair in GOOD], [1, 2, 3], "X holds a masked array without"),
        (GOOD[:, :1], [1, 2, 3], r"shape \(n, 2\)"),
        (GOOD, [4, 4, 4], "all ratings are 4"),
        (np.empty((0, 2)), [], "X is empty"),
        ([], [], "X is empty"),
        (pd.DataFrame({"u": [], "i": []}), [], "X is empty"),
        (sparse.csr_array((3, 3)), None, "X is empty"),
        (sparse.csr_array([[1, 2]]), [1, 2], "y must be None where X is a csr_array"),
        (sparse.csr_array([[1, np.nan]]), None, "y holds 1 rating that is NaN"),
        (
            np.array([[1.0, np.nan], [2, 2]]),
            [1, 2],
            "item ids of X hold 1 value that is NaN.*first in row 0",
        ),
        (np.array([[1, 1], [-np.inf, 2]]), [1, 2], "user ids of X hold 1 value that is"),
        ([("a", 1), (None, 2)], [1, 2], "user ids of X hold a missing or infinite value, found None"),
        ([("a", 1), (np.nan, 2)], [1, 2], "found nan"),
        ([("a", 1), (np.inf, 2)], [1, 2], "found inf"),
        (pd.DataFrame({"u": ["a", None], "i": [1, 2]}), [1, 2], "user ids of X hold a missing"),
        (
            pd.DataFrame({"u": pd.array(["a", None], "string"), "i": [1, 2]}),
            [1, 2],
            "user ids of X hold a missing",
        ),
        (pd.DataFrame({"u": pd.array([1, None], "Int64"), "i": [1, 2]}), [1, 2], "user ids of X hold"),
        (pl.DataFrame({"u": ["a", None], "i": [1, 2]}), [1, 2], "user ids of X hold a missing"),
        ([(np.datetime64("NaT"), 1), ("a", 2)], [1, 2], "user ids of X hold a missing"),
        ([(1, 1), (2, 1), (1, 1), (1, 1)], [1, 2, 3, 1], r"2 ratings repeat .* \(1, 1\).*'last' or .*'mean'"),
        (np.column_stack([np.arange(102), np.arange(102)]), np.arange(102) / 7, "bin_ratings or pass levels"),
    ],
)
def test_bad_input_is_refused_at_the_door(X, y, message):
    with pytest.raises(ValueError, match=message):
        as_ratings(X, y)


@together(
    ("scale", "message"),
    [
        ([1, 2, 2], "increasing"),
        ([2, 1], "increasing"),
        ([1, np.inf], "finite"),
        ([1, np.nan], "finite"),
        ([1], "at least two levels"),
        (5, "at least two levels"),
        ("stars", "list of numbers"),
        ([1, 2], r"1 rating is not on the scale 1, 2, found 3"),
        (range(102), "at most 101"),
    ],
)
def test_bad_scales_are_refused(scale, message):
    with pytest.raises(ValueError, match=message):
        as_ratings(GOOD, [1, 2, 3], scale)


def test_off_scale_ratings_are_counted_and_listed():
    with pytest.raises(ValueError, match=r"3 ratings are not on the scale 1, 2, 3, 4, 5, found 0, 2.5"):
        as_ratings([(1, k) for k in range(4)], [0, 2.5, 0, 3], STARS)


def test_hundred_levels_are_allowed():
    X = np.column_stack([np.arange(100), np.zeros(100)])
    assert as_ratings(X, np.arange(100)).levels.tolist() == list(range(1, 101))


def test_float32_ratings_match_a_decimal_scale():
    y = np.array([0.1, 0.3, 0.7], dtype=np.float32)
    assert as_ratings(GOOD, y, np.arange(11) / 10).levels.tolist() == [2, 4, 8]


def test_unknown_option_and_wrong_types():
    with pytest.raises(ValueError, match="duplicates='first': expected 'error', 'last' or 'mean'"):
        as_ratings(GOOD, [1, 2, 3], duplicates="first")
    with pytest.raises(TypeError, match="hashable"):
        as_ratings([([1], 1), ([2], 1)], [1, 2])
    with pytest.raises(TypeError, match="found ndarray"):
        Ratings.from_sparse(np.eye(2))


def test_fixed_items_of_a_model():
    items = IdMap([10, 20, 30, 40])
    ratings = as_ratings([("new", 30), ("new", 10)], [1, 5], STARS, items=items)
    assert ratings.items is items
    assert ratings.indices.tolist() == [0, 2]
    assert ratings.levels.tolist() == [5, 1]
    with pytest.raises(ValueError, match=r"1 rating is of items which the model does not know.*50"):
        as_ratings([("new", 30), ("new", 50)], [1, 5], STARS, items=items)


# ------------------------------------------------------------------------------------------- IdMap


@given(
    st.one_of(
        st.lists(st.integers(-(2**62), 2**62), min_size=1),
        st.lists(st.integers(-50, 50), min_size=1),
        st.lists(st.integers(0, 2**70), min_size=1),
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1),
        st.lists(st.text(), min_size=1),
        st.lists(st.one_of(st.integers(), st.text(), st.floats(-1e6, 1e6)), min_size=1),
    )
)
def test_idmap_inverts_and_survives_saving(ids):
    ids_of = IdMap(ids)
    assert len(ids_of) == len(set(ids))
    assert set(ids_of.ids.tolist()) == set(ids)
    index = ids_of.index(ids)
    assert index.dtype == np.int32
    assert ids_of.ids[index].tolist() == ids
    assert IdMap(ids[::-1]) == ids_of
    arrays, header = ids_of.to_state()
    assert all(array.dtype.kind in "iuf" for array in arrays.values())
    again = IdMap.from_state(arrays, json.loads(json.dumps(header)))
    assert again == ids_of
    assert again.index(ids).tolist() == index.tolist()


@together("step", [1, 10**9])
def test_unknown_ids_are_minus_one(step):
    known = IdMap(np.array([3, 5, 9]) * step)
    assert known.index(np.array([9, 4, -1, 5, 10**3]) * step).tolist() == [2, -1, -1, 1, -1]
    assert known.index([3.0 * step, 3.5, 1e300, -1e300]).tolist() == [0, -1, -1, -1]
    assert known.index(np.array([5.0 * step, 3.5, 1e300, -1e300])).tolist() == [1, -1, -1, -1]
    assert known.index([3 * step, "3", 5 * step]).tolist() == [0, -1, 1]
    assert known.index([2**70, -(2**63), 2**63 - 1, 5 * step]).tolist() == [-1, -1, -1, 1]
    assert known.index([]).tolist() == []
    assert known.index(np.array(["3"])).tolist() == [-1]


def test_extreme_integers_do_not_wrap_around():
    ids = [-(2**63), 0, 2**63 - 1]
    known = IdMap(ids)
    assert known.index(ids).tolist() == [0, 1, 2]
    large = IdMap(np.array([2**64 - 1, 5], dtype=np.uint64))
    assert large.ids.tolist() == [5, 2**64 - 1]
    assert large.index([-1, 2**64 - 1]).tolist() == [-1, 1]
    near = IdMap([2**63 - 2, 2**63 - 1])
    assert near.index([-(2**63), 2**63 - 1, -1]).tolist() == [-1, 1, -1]


def test_lookup_of_a_missing_id_is_an_error():
    with pytest.raises(ValueError, match="NaN"):
        IdMap([1, 2]).index([1.0, np.nan])
    with pytest.raises(ValueError, match="missing"):
        IdMap(["a", "b"]).index(["a", None])


def test_numbers_and_strings_are_different_ids():
    mixed = IdMap([1, "1", 2, "a"])
    assert len(mixed) == 4
    assert mixed.index(["1", 1, "2"]).tolist() == [3 - 1, 0, -1]


@together("kind", [sparse.csr_array, sparse.csc_matrix, sparse.coo_array])
def test_a_sparse_matrix_that_leads_out_of_itself_is_refused(kind):
    """A product with it would read, or write, memory of others."""
    for name in ("indptr", "indices", "row", "col"):
        for value in (-5, 10**6):
            damaged = kind(np.eye(4))
            if not hasattr(damaged, name):
                continue
            getattr(damaged, name)[2] = value
            with pytest.raises(InvalidInputError, match="is a damaged sparse matrix"):
                as_ratings(damaged)
            with pytest.raises(InvalidInputError, match="is a damaged sparse matrix"):
                EASE().fit(damaged)
            with pytest.raises(InvalidInputError, match="is a damaged sparse matrix"):
                as_features(damaged)
            with pytest.raises(InvalidInputError, match="is a damaged sparse matrix"):
                as_labels(damaged)


def test_arrays_of_any_layout():
    X, y = np.array([(3, 20), (1, 10), (3, 10), (7, 30)]), np.array([3.0, 5, 1, 4])
    still = X.copy(), y.copy()
    for array in still:
        array.setflags(write=False)
    frame = pd.DataFrame(X, columns=["user", "item"])
    for form in (
        still,
        (X.astype(">i8"), y.astype(">f8")),
        (X[::-1].copy()[::-1], y[::-1].copy()[::-1]),
        (np.repeat(X, 2, axis=0)[::2], np.repeat(y, 2)[::2]),
        (np.ma.masked_array(X, mask=False), np.ma.masked_array(y, mask=False)),
        (frame.astype("Int64"), pd.Series(y, dtype="Float64")),
    ):
        assert_same(as_ratings(*form), as_ratings(X, y))
    features, labels = np.arange(6.0).reshape(3, 2), np.eye(3, 2, dtype=int)
    for change in (lambda a: a.astype(a.dtype.newbyteorder(">")), lambda a: a[::-1].copy()[::-1]):
        assert np.array_equal(as_features(change(features)), features)
        assert np.array_equal(as_labels(change(labels))[0].toarray(), labels)


def test_half_a_character_is_no_id():
    for ids in (["Up", "\ud83d\ude00"], ["\ud800", 1], np.array(["Am\udce9lie"])):
        with pytest.raises(InvalidInputError, match=r"ids hold '.*', which has half a character"):
            IdMap(ids)
    repaired = "\ud83d\ude00".encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    assert repaired == "😀"
    saved, header = IdMap(["Up", repaired]).to_state()
    text = saved["text"].tobytes().replace(repaired.encode(), b"\xed\xa0\xbd\x00")
    with pytest.raises(ValueError, match="utf-8"):
        IdMap.from_state(saved | {"text": np.frombuffer(text, np.uint8)}, header)
    with pytest.raises(InvalidInputError, match="half a character"):
        saved_ids({"ids": {"items": {"kind": "mixed", "ids": ["\ud800", 1]}}}, {}, "items")


def test_dates_are_ids_but_cannot_be_saved():
    days = IdMap([datetime.date(2020, 1, 2), datetime.date(2020, 1, 1)])
    assert days.index([datetime.date(2020, 1, 1)]).tolist() == [0]
    with pytest.raises(TypeError, match="ids of type date cannot be saved.*use integers, floats or strings"):
        days.to_state()
    with pytest.raises(ValueError, match="unknown kind 'pickle'"):
        IdMap.from_state({}, {"kind": "pickle"})


def test_idmap_is_read_only_and_shows_itself():
    ids = IdMap(range(7))
    assert repr(ids) == "IdMap(0, 1, 2, 3, 4, ... (7 in all))"
    assert ids != [0]
    with pytest.raises(ValueError, match="read-only"):
        ids.ids[0] = 3


# ------------------------------------------------------------------------------------------- size, real data


def test_movielens_100k(data_dir):
    with gzip.open(data_dir / "movielens" / "ml-100k" / "u.data.gz") as file:
        table = np.loadtxt(file, dtype=np.int64)
    ratings = as_ratings(table[:, :2], table[:, 2])
    assert ratings.shape == (943, 1682)
    assert ratings.n_ratings == 100_000
    assert ratings.scale.tolist() == STARS
    assert ratings.level_counts.tolist() == [6110, 11370, 27145, 34174, 21201]  # published in its README
    assert ratings.user_counts.min() == 20
    matrix = sparse.coo_array((table[:, 2], (table[:, 0] - 1, table[:, 1] - 1)))
    np.testing.assert_array_equal(dense(ratings), matrix.toarray())
    same = as_ratings(matrix)
    np.testing.assert_array_equal(same.indices, ratings.indices)
    np.testing.assert_array_equal(same.to_csr, ratings.to_csr)


# ---------------------------------------------------------------- the latest of several ratings


@together("kind", ["data set", "pandas", "polars", "times"])
def test_the_last_of_several_ratings_is_the_latest(kind):
    users, items, y = [1, 1, 2, 2, 1], [7, 8, 7, 8, 7], [5.0, 4.0, 1.0, 2.0, 3.0]
    times, X = np.array([30, 10, 10, 5, 20]), np.column_stack([users, items])
    columns = {"user": users, "item": items, "rating": y, "when": times[::-1], "Time": times}
    if kind == "times":
        found = Ratings.from_pairs(X, y, duplicates="last", times=times)
    elif kind == "data set":
        found = as_ratings(RatingDataset("twice", X, np.array(y), None, timestamps=times), duplicates="last")
    else:
        frame = pd.DataFrame(columns) if kind == "pandas" else pl.DataFrame(columns)
        found = as_ratings(frame, duplicates="last")
    assert found.values.tolist() == [5, 4, 1, 2]
    assert as_ratings(X, y, duplicates="last").values.tolist() == [3, 4, 1, 2]  # no times: the last row


def test_dates_tell_the_latest_rating_unless_one_is_missing():
    frame = pd.DataFrame({"user": [1, 1, 2], "item": [7, 7, 8], "rating": [5, 3, 1]})
    days = pd.to_datetime(["2024-05-02", "2024-05-01", "2024-05-01"])
    assert as_ratings(frame.assign(date=days), duplicates="last").values.tolist() == [5, 1]
    with pytest.warns(InputWarning, match="column 'date' of X has no time for 1 rating, so that none is used"):
        assert as_ratings(frame.assign(date=[pd.NaT, *days[1:]]), duplicates="last").values.tolist() == [3, 1]
    with pytest.warns(InputWarning, match="column 'date' of X must hold times, found 'b' in row 0"):
        assert as_ratings(frame.assign(date=["b", "a", "a"]), duplicates="last").values.tolist() == [3, 1]
