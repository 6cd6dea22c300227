"""Ids that are known under no name: of another kind, in swapped columns, from wrong columns."""

import re
import warnings

import pandas as pd
import polars as pl
import pytest
from tests.together import together

from cofactor.errors import InputWarning
from cofactor.evaluation import WeakGeneralization
from cofactor.ratings import ALS
from cofactor.ratings.data import as_ratings
from cofactor.text import plural

PAIRS = [(u, i) for u in range(1, 7) for i in range(11, 16)]
STARS = [1 + (u + i) % 3 for u, i in PAIRS]


def fitted(kind: type) -> ALS:
    return ALS(2, 1.0, random_state=0).fit([(kind(u), kind(i)) for u, i in PAIRS], STARS)


@together(
    ("kind", "other", "model", "given"),
    [
        (int, str, "numbers from 1 to 6", "text such as '1', '2'"),
        (str, int, "text such as '1', '2'", "numbers from 1 to 6"),
    ],
)
@together("method", ["predict", "decision_function", "margins"])
def test_ids_of_another_kind_are_warned_of_where_none_is_known(kind, other, model, given, method) -> None:
    pairs = [(other(u), other(i)) for u, i in PAIRS]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        getattr(fitted(kind), method)(pairs)
    users, items = (str(warning.message) for warning in caught)
    assert users == f"no user id is known: the model has {model}, but the ids given are {given}; convert them"
    assert items.startswith("no item id is known")
    assert {warning.filename for warning in caught} == {__file__}
    with pytest.warns(UserWarning, match="no user id is known"):
        getattr(fitted(kind), method)([(other(1), kind(11)), (other(2), kind(11))])


def test_someone_new_is_no_reason_to_warn() -> None:
    model = fitted(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict([("new", 11), ("new", 12)])  # one new user, whatever the name
        model.predict([("new", 11), (1, 11)])
        model.predict([(100, 200)])  # of the kind that is known
        model.predict([])


@together("frame", [pd.DataFrame, pl.DataFrame])
@together("names", [("item", "user"), ("movieId", "User_ID")])
def test_names_of_columns_must_not_contradict_their_order(frame, names) -> None:
    swapped = frame({names[0]: [i for _, i in PAIRS], names[1]: [u for u, _ in PAIRS]})
    match = rf"users come first; pass X\[\['{names[1]}', '{names[0]}'\]\]"
    for use in (lambda: fitted(int).predict(swapped), lambda: as_ratings(swapped, STARS)):
        with pytest.raises(ValueError, match=match):
            use()
    with pytest.raises(ValueError, match=match):
        next(WeakGeneralization(1).split(swapped))
    right = swapped[[names[1], names[0]]]
    assert as_ratings(right, STARS).shape == (6, 5)


def test_many_duplicates_make_columns_suspicious() -> None:
    with pytest.raises(ValueError, match="25 ratings repeat .* check that the columns of X are user ids and item ids"):
        as_ratings([(1, i) for _, i in PAIRS], STARS)
    with pytest.raises(ValueError, match="1 rating repeats .* duplicates='mean'$"):
        as_ratings([*PAIRS, PAIRS[0]], [*STARS, 1])


def test_singular_and_plural() -> None:
    assert [plural(n, "rating") for n in (0, 1, 2)] == ["0 ratings", "1 rating", "2 ratings"]
    assert plural(1200, "row is", "rows are", ",") == "1,200 rows are"


@together(("kind", "user", "other"), [(int, "1", 1), (int, " 1.0", 1), (str, 1, "1")])
def test_new_users_that_read_as_known_ones_are_warned_of(kind, user, other) -> None:
    model = fitted(kind)
    text = re.escape(f"{user!r} is not {other!r}, which this model knows: 1 such user counts as new; convert")
    with pytest.warns(InputWarning, match=text) as caught:
        folded = model.fold_in([(user, kind(11)), ("new", kind(11))], [1, 2])
    assert len(folded.users_) == 2
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fold_in([(kind(100), kind(11)), ("nan", kind(11)), ((1,), kind(11)), ("1_0", kind(11))], [1, 2, 3, 1])


def test_whole_floats_are_known_integers() -> None:
    assert fitted(int).fold_in([(1.0, 11)], [2], known="merge").users_.ids.tolist() == [1]
