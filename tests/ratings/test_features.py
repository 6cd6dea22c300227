"""Features of users and items: reading them from all forms, categories, and what training teaches about them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tests.together import together

from cofactor.errors import InputWarning
from cofactor.ratings.features import FeatureTable, Standardization
from cofactor.ratings.ids import IdMap

IDS = [3, 1, 2, 5]
AGES, TRADES = [30.0, 10.0, 20.0, 40.0], ["cook", "poet", None, "cook"]


def read(table: Any) -> FeatureTable:
    return FeatureTable.read(table, "user_features")


def learned(table: Any, ids: Any = IDS) -> Standardization:
    return Standardization.of(read(table), IdMap(ids))


def rows(of: Standardization, table: Any, ids: Any) -> np.ndarray:
    return of.rows(read(table), IdMap(ids))


def test_all_forms_hold_the_same_numbers_and_categories():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    frame = pd.DataFrame({"id": IDS, "age": AGES, "trade": TRADES})
    polars = pl.from_pandas(frame)
    forms = {
        "mapping": dict(zip(IDS, zip(AGES, TRADES, strict=True), strict=True)),
        "columns": (IDS, {"age": AGES, "trade": TRADES}),
        "array": (IDS, np.array([AGES, TRADES], dtype=object).T),
        "rows": (IDS, [list(row) for row in zip(AGES, TRADES, strict=True)]),
        "object": frame,
        "string": frame.astype({"trade": "string"}),
        "categorical": frame.astype({"trade": "category"}),
        "index": frame.set_index("id"),
        "polars": polars,
        "polars categories": polars.cast({"trade": pl.Categorical}),
        "polars enum": pl.DataFrame({"id": IDS, "age": AGES, "trade": TRADES}).cast(
            {"trade": pl.Enum(["poet", "cook"])}
        ),
    }
    for name, form in forms.items():
        table = read(form)
        assert table.ids.ids.tolist() == [1, 2, 3, 5], name
        np.testing.assert_array_equal(table.values, [[10, 1], [20, np.nan], [30, 0], [40, 0]], name)
        assert table.categories == (None, ("cook", "poet")), name
        if "mapping" not in name and "array" not in name and "rows" not in name:
            assert table.names == ("age", "trade"), name
        assert table.checksum == read(forms["mapping"]).checksum, name


def test_categories_that_are_numbers():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"id": IDS, "code": pd.Categorical([7, 4, None, 7])})
    assert read(frame).categories == (("4", "7"),)
    of = learned(frame)
    expected = rows(of, frame, [1, 3])
    np.testing.assert_array_equal(rows(of, (IDS, {"code": ["7", "4", "", "7"]}), [1, 3]), expected)
    np.testing.assert_array_equal(rows(of, (IDS, {"code": [7, 4.0, 4, 7]}), [1, 3]), expected)


def test_numbers_and_categories_are_centred_and_alike_in_size():
    rng = np.random.default_rng(0)
    age, trade = rng.normal(40, 9, 200), rng.choice(["cook", "poet", "judge"], 200, p=[0.7, 0.2, 0.1])
    table = (range(200), {"age": age, "trade": trade})
    of = learned(table, range(200))
    found = rows(of, table, range(200))
    assert of.names == ("age", "trade")
    assert of.categories == (None, ("cook", "judge", "poet"))
    assert (of.n_columns, of.weight) == (4, pytest.approx(np.sqrt(0.5)))
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(found[:, 0], (age - age.mean()) / age.std())
    np.testing.assert_allclose((found[:, 1:] ** 2).sum(axis=1).mean(), 1)
    # Two users differ by as much as their trades do, whichever these are: 1 in each, over a common scale.
    a, b, c = (found[np.flatnonzero(trade == word)[0], 1:] for word in of.categories[1] or ())
    np.testing.assert_allclose([np.linalg.norm(a - b), np.linalg.norm(a - c)], np.linalg.norm(b - c))


def test_what_is_not_known_counts_as_the_mean():
    of = learned((IDS, {"age": AGES, "trade": TRADES}), [*IDS, 9])
    np.testing.assert_array_equal(rows(of, (IDS, {"age": AGES, "trade": TRADES}), [9]), np.zeros((1, 3)))
    quiet = rows(of, ([2], {"age": [20.0], "trade": [None]}), [2])
    assert quiet[0, 1:].tolist() == [0, 0]
    with pytest.warns(InputWarning, match="user_features: 'smith' of trade did not occur in training.*for 2 rows"):
        new = rows(of, ([7, 8, 9], {"age": [20.0, 20, 25], "trade": ["smith", "smith", "poet"]}), [7, 8, 9])
    np.testing.assert_array_equal(new[:2], [quiet[0], quiet[0]])
    assert new[2, 1:].all()


def test_only_categories_of_those_in_training_count():
    table = (IDS, {"trade": ["cook", "poet", "judge", "cook"]})
    assert learned(table, [1, 3, 5]).categories == (("cook", "poet"),)
    with pytest.warns(UserWarning, match="trade is the same for all in training: dropped"):
        of = learned(table, [3, 5, 8])
    assert (of.n_columns, of.weight) == (0, 1.0)
    with pytest.warns(UserWarning, match="trade is the same for all in training: dropped"):
        assert learned((IDS, {"trade": [None] * 4})).n_columns == 0


def test_a_saved_standardization_comes_back():
    table = (IDS, {"age": AGES, "trade": TRADES})
    of = learned(table)
    again = Standardization.from_state(of.to_state())
    np.testing.assert_array_equal(rows(again, table, IDS), rows(of, table, IDS))
    state = of.to_state()
    for bad in ({"categories": [None]}, {"categories": [None, ["poet", "cook"]]}, {"categories": [None, ["cook"]]}):
        with pytest.raises(ValueError, match="categories of features must be|scales of features|means of features"):
            Standardization.from_state(state | bad)


@together(
    ("table", "kind", "words"),
    [
        ({1: [3, "red"], 2: ["blue", "red"]}, TypeError, "column 0 holds 'blue' beside 3, expected numbers throughout"),
        ({0: [1.0, 2.0], 1: [np.inf, 0.0]}, ValueError, "column 0 is inf for 1"),
        ({0: [1.0], 1: [1e200]}, ValueError, r"column 0 is 1e\+200 for 1"),
        ({0: [1.0, 2.0], 1: [0.0]}, ValueError, r"features of shape \(1,\) for 1 but \(2,\) for 0"),
        ({}, ValueError, "holds no features"),
        (([0, 1], np.ones((3, 2))), ValueError, r"2 ids but an array of shape \(3, 2\)"),
        (([0, 1, 0], np.ones((3, 2))), ValueError, "several rows for 0"),
        (7, TypeError, "user_features is a int, expected a mapping"),
        (([0, 1], sparse.eye_array(2).tocsr()), TypeError, r"holds a sparse matrix, expected an array: .*toarray"),
        ({1: [3.0, "red"], 2: [None, "red"]}, ValueError, "column 0 is nan for 2, one of 1 value there that cannot be"),
        ((IDS, {"age": [1, 2]}), ValueError, r"has 4 ids but age of shape \(2,\): expected a value for each"),
        ((IDS, {}), ValueError, "holds no features"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["id", "age", "age"]),
            ValueError,
            "two columns of user_features are called 'age'",
        ),
        ({1: [np.datetime64("2020-01-01")]}, TypeError, "expected numbers, or texts that name categories"),
        (
            (IDS, np.ma.masked_equal([[1.0], [2.0], [3.0], [4.0]], 2)),
            ValueError,
            "masked array without a value in row 1",
        ),
    ],
)
def test_tables_that_are_refused(table, kind, words):
    with pytest.raises(kind, match=words):
        read(table)


def test_tables_that_training_does_not_know():
    of = learned((IDS, {"age": AGES}))
    with pytest.raises(TypeError, match="user_features: age holds 'old', expected numbers as in training"):
        rows(of, (IDS, {"age": ["old", "young", "old", "old"]}), IDS)
    many = [f"street {k}" for k in range(1001)]
    with pytest.raises(ValueError, match=r"street has 1,001 categories, and at most 1,000 are taken"):
        learned((range(1001), {"street": many}), range(1001))
