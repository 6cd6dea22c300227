"""Every form of ratings is taken, and every bad input refused with a message which says what to do."""

from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from tests.together import together

from cofactor.datasets import RatingDataset
from cofactor.errors import InputWarning, InvalidInputError, InvalidTypeError
from cofactor.ratings import BPMF, RatingModel, Ratings, as_ratings
from cofactor.solvers import SolverMismatchError

from .models import (
    CASES,
    all_pairs,
    bits,
    data,
    every,
    every_class,
    fitted,
    fresh,
    overriding,
    planted,
    probed,
    simple_models,
)

HALF_STARS = tuple(np.arange(1, 11) / 2)
UNEVEN = (-3.0, 0.0, 1.0, 10.0)

# ---------------------------------------------------------------- forms


@lru_cache
def folded(name: str) -> RatingModel:
    """Return the case's model with all users folded in; not to be changed."""
    return fitted(name).fold_in(*data(name), known="replace")


@lru_cache
def of_positions(name: str) -> RatingModel:
    """Return the case's model, fitted to pairs of positions as those of a matrix; not to be changed."""
    return fresh(name).fit(*planted(CASES[name].scale))


@probed("fit", "fold_in", "predict", "decision_function")
@pytest.mark.parametrize(
    "form",
    [
        lambda X, y: ([tuple(pair) for pair in X.tolist()], pd.Series(y)),
        lambda X, y: (pd.DataFrame(X, columns=["user", "item"], index=np.arange(len(y))[::-1]), pd.Series(y)),
        lambda X, y: (pl.DataFrame(X, schema=["user", "item"]), pl.Series(y)),
        lambda X, y: (zip(*X.T.tolist(), strict=True), (value for value in y)),
        lambda X, y: ((given := dict(zip(map(tuple, X.tolist()), y, strict=True))).keys(), given.values()),
        lambda X, y: (as_ratings(X, y), None),
        lambda X, y: (RatingDataset("tiny", X, y, np.unique(y)), None),
    ],
    ids=["tuples", "pandas", "polars", "generators", "dict views", "Ratings", "RatingDataset"],
)
def test_forms_of_pairs(name, form):
    X, y = data(name)
    model = fresh(name).fit(*form(X, y))
    assert bits(model) == bits(fitted(name))
    if not isinstance(form(X, y)[0], Ratings | RatingDataset):
        assert np.array_equal(model.predict(form(X, y)[0]), fitted(name).predict(X))
        assert np.array_equal(model.decision_function(form(X, y)[0]), fitted(name).decision_function(X))
    assert bits(model.fold_in(*form(X, y), known="replace")) == bits(folded(name))


@probed("fit", "fold_in", "complete")
@pytest.mark.parametrize("form", ["csr_array", "coo_matrix"])
def test_forms_of_sparse_matrices(name, form):
    X, y = planted(CASES[name].scale)
    matrix = getattr(sparse, form)(sparse.coo_array((y, X.T)))
    model, other = fresh(name).fit(matrix), of_positions(name)
    assert bits(model) == bits(other)
    assert np.array_equal(model.complete(), other.complete())
    some = np.isin(X[:, 0], [0, 1, 2])
    # Rows of a matrix have no ids, so they are new users.
    assert bits(model.fold_in(matrix.tocsr()[:3])) == bits(model.fold_in(X[some], y[some], known="replace"))
    for known in ("merge", "replace"):
        with pytest.raises(ValueError, match=f"known='{known}' finds nobody; pass pairs"):
            model.fold_in(matrix.tocsr()[:3], known=known)


@pytest.mark.filterwarnings("ignore:none of the .* users was in training")
@pytest.mark.filterwarnings("ignore:.*all factors are zero")
@every_class
def test_empty_rows_and_columns_are_users_and_items_without_ratings(name):
    X, y = planted(CASES[name].scale)
    matrix = sparse.csr_array((y, (2 * X[:, 0], X[:, 1])), shape=(60, 26))
    model = fresh(name).fit(matrix)
    assert (len(model.users_), len(model.items_)) == (60, 26)
    complete = model.complete()
    assert np.isin(complete, model.scale_).all()
    cold = [(u, i) for u in (-1, -2) for i in range(26)]
    unrated = model.predict([(u, i) for u in (1, 59) for i in range(26)])
    assert np.array_equal(unrated, model.predict(cold))  # nothing is known of either
    assert np.isfinite(model.decision_function(all_pairs(model))).all()


@probed("fit", "predict", "recommend", "fold_in")
@pytest.mark.parametrize(
    ("user", "item"),
    [
        (lambda u: u if u % 2 else str(u), lambda i: -i),
        (lambda u: np.datetime64("2020-01-01") + u, lambda i: frozenset([i])),
    ],
    ids=["mixed", "dates and sets"],
)
def test_ids_of_any_hashable_type(name, user, item):
    X, y = data(name)
    pairs = [(user(u), item(i)) for u, i in X.tolist()]
    model = fresh(name).fit(pairs, y)
    assert (len(model.users_), len(model.items_)) == (len(fitted(name).users_), len(fitted(name).items_))
    assert np.mean(model.predict(pairs) == y) > 0.5
    items, _ = model.recommend([pairs[0][0]], 3, exclude_seen=False)
    known = {pair[1] for pair in pairs}
    assert all(found in known for found in items[0].tolist())
    folded = model.fold_in([("newcomer", pairs[0][1]), ("newcomer", pairs[1][1])], y[:2])
    assert folded.predict([("newcomer", pairs[2][1])])[0] in model.scale_


# ---------------------------------------------------------------- scales


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        *((name, UNEVEN) for name in every_class.args[1]),
        *((name, scale) for name in overriding("fit") for scale in (HALF_STARS, (0.1, 0.2, 0.7))),
    ],
)
def test_any_increasing_scale(name, scale):
    if len(CASES[name].scale) == 2:
        scale = scale[:2]
    X, y = planted(scale)
    model = fresh(name).fit(X, y)
    assert model.scale_.tolist() == list(scale)
    found = model.predict(all_pairs(model))
    assert np.isin(found, scale).all()
    assert len(np.unique(found)) > 1
    assert -model.score(X, y) < np.mean(np.abs(y - np.median(y)))


@every_class
def test_values_of_a_scale_do_not_matter_to_models_of_ranks(name):
    scale = CASES[name].scale
    X, y = planted(scale)
    stretched = np.array(UNEVEN[:2] if len(scale) == 2 else (-3.0, 0.0, 1.0, 10.0, 11.0))
    model = fresh(name).fit(X, y)
    other = fresh(name).fit(X, stretched[np.searchsorted(scale, y)])
    same = np.array_equal(other.predict(X), stretched[np.searchsorted(scale, model.predict(X))])
    # Estimates of ratings depend on their values; those of BPMF are estimates of levels.
    assert same != (hasattr(model, "boundaries_") and not isinstance(model, BPMF))


@every_class
def test_levels_that_nobody_used(name):
    scale = CASES[name].scale
    X, y = data(name)
    if len(scale) == 2:
        y = np.full(len(y), scale[0])
        with pytest.warns(InputWarning, match="all ratings are -1, so that models predict nothing else"):
            model = fresh(name, alpha_bias=0.1).set_params(levels=scale).fit(X, y)
        assert np.array_equal(model.predict(X), y)
        return
    model = fresh(name).set_params(levels=[0, *scale, 6, 7]).fit(X, y)
    assert model.scale_.tolist() == [0, *scale, 6, 7]
    assert np.isin(model.predict(all_pairs(model)), model.scale_).all()
    assert np.mean(model.predict(X) == y) > 0.5
    assert np.isfinite(model.decision_function(all_pairs(model))).all()


# ---------------------------------------------------------------- small and constant data


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
@every_class
@pytest.mark.parametrize("turned", [False, True], ids=["one user", "one item"])
def test_one_user_or_one_item(name, turned):
    scale = np.array(CASES[name].scale)
    X = np.array([(0, k) for k in range(2 * len(scale))])[:, :: -1 if turned else 1]
    y = np.tile(scale, 2)
    model = fresh(name).fit(X, y)
    assert np.isin(model.predict(X), scale).all()
    items, scores = model.recommend(model.users_.ids, 3, exclude_seen=False)
    assert items.shape == scores.shape == (len(model.users_), 3)
    folded = model.fold_in([("new", X[0, 1])], scale[:1])
    assert folded.predict([("new", X[0, 1])])[0] in scale
    assert np.array_equal(model.complete()[model.ratings_.pairs()], model.ratings_.values)


@every
def test_one_rating(name):
    scale = CASES[name].scale
    model = fresh(name).set_params(levels=scale).fit([("ann", "Up")], [scale[1]])
    assert model.predict([("ann", "Up"), ("bob", "Up"), ("ann", "Alien")]).shape == (3,)
    assert model.recommend(["ann"])[0][0].tolist() == [None] * 10


@every
def test_users_whose_ratings_are_all_equal(name):
    scale = np.array(CASES[name].scale)
    X, y = planted(CASES[name].scale)
    constant = np.array([(1000 + level, i) for level in range(len(scale)) for i in range(0, 24, 2)])
    ratings = scale[constant[:, 0] - 1000]
    model = fresh(name, alpha=0.3).fit(np.vstack([X, constant]), np.concatenate([y, ratings]))
    # A mixture has no parameters that only one user bears on: such users join those most like them.
    assert np.mean(model.predict(constant) == ratings) > (0.4 if name.startswith("URP") else 0.8)
    pairs = all_pairs(model)
    assert np.isfinite(model.decision_function(pairs)).all()
    assert np.isin(model.predict(pairs), scale).all()
    if name == "PMMMF":  # other levels have no plane for such a user
        others = pairs[pairs[:, 0] >= 1000]
        assert np.array_equal(model.predict(others), scale[others[:, 0] - 1000])


@every_class
def test_more_factors_than_the_matrix_has_rows_or_columns(name):
    if not all("U_" in vars(simple) for simple in simple_models(fitted(name))):  # not drawn from a posterior
        return
    most = fresh(name, n_factors=1000).fit(*data(name))
    assert {simple.U_.shape[1] for simple in simple_models(most)} == {24}
    enough = fresh(name, n_factors=24).fit(*data(name))
    assert [s.V_.tobytes() for s in simple_models(most)] == [s.V_.tobytes() for s in simple_models(enough)]


# ---------------------------------------------------------------- duplicates


@probed("fit", "fold_in")
def test_duplicates(name):
    X, y = data(name)
    scale = np.array(CASES[name].scale)
    again = scale[::-1][np.searchsorted(scale, y[:40])]
    X2, y2 = np.vstack([X, X[:40]]), np.concatenate([y, again])
    with pytest.raises(ValueError, match=r"40 ratings repeat .* duplicates='last'"):
        fresh(name).fit(X2, y2)
    last = fresh(name).set_params(duplicates="last").fit(X2, y2)
    assert bits(last) == bits(fresh(name).fit(X, np.concatenate([again, y[40:]])))
    mean = fresh(name).set_params(duplicates="mean").fit(X2, y2)
    middle = np.where(len(scale) % 2, scale[len(scale) // 2], scale[-1])
    assert bits(mean) == bits(fresh(name).fit(X, np.concatenate([np.full(40, middle), y[40:]])))
    with pytest.raises(ValueError, match="repeat"):
        fitted(name).fold_in(X2, y2)


# ---------------------------------------------------------------- unknown ids


@every_class
def test_unknown_ids_fall_back(name):
    model = fitted(name)
    user, item = model.users_.ids[3], model.items_.ids[5]
    items = model.items_.ids.tolist()
    first, second = (model.predict([(who, i) for i in items]) for who in ("nobody", -1))
    assert np.array_equal(first, second)
    assert np.isin(first, model.scale_).all()
    scores = model.decision_function([(user, -1), (user, "x"), (-1, item), ("x", item), (-1, -1), ("x", "x")])
    assert np.array_equal(scores[::2], scores[1::2])
    known = model.predict([(user, item)])
    assert np.array_equal(model.predict([(user, item), (-1, -1)])[:1], known)


@probed("predict", "decision_function", "margins")
def test_unknown_ids_are_an_error_on_request(name):
    X, y = data(name)
    model = fresh(name).set_params(unknown="error").fit(X, y)
    assert np.array_equal(model.predict(X), fitted(name).predict(X))
    for pair, word in (((-1, 7), "user -1"), ((100, "Alien"), "item 'Alien'")):
        for method in (model.predict, model.decision_function, model.margins):
            with pytest.raises(ValueError, match=f"1 pair .* the first is {word}: .*fold_in"):
                method([(100, 7), pair])


@probed("predict", "fold_in")
def test_exchanged_columns_are_noticed(name):
    with pytest.raises(ValueError, match="columns exchanged"):
        fitted(name).predict([(7, 101), (14, 100)])
    with pytest.raises(ValueError, match="items which the model does not know"):
        fitted(name).fold_in([(7, 101), (14, 100)], CASES[name].scale[:2])


@probed("recommend")
def test_users_and_items_that_recommend_does_not_know(name):
    with pytest.raises(ValueError, match=r"user -5 was not in training: fold new users in"):
        fitted(name).recommend([100, -5])
    with pytest.warns(InputWarning, match="^candidates holds 2 items that were not in training, left out: -1, 1000$"):
        some = fitted(name).recommend([100], 3, candidates=[7, -1, 14, 1000])
    for found, expected in zip(some, fitted(name).recommend([100], 3, candidates=[7, 14]), strict=True):
        assert np.array_equal(found, expected)
    with pytest.raises(InvalidInputError, match="^candidates holds no items of training: -1, 1000$"):
        fitted(name).recommend([100], candidates=[-1, 1000])
    with pytest.raises(InvalidInputError, match="^candidates holds no items$"):
        fitted(name).recommend([100], candidates=[])
    for n in (0, -1, 2.5, "3", None):
        with pytest.raises((ValueError, TypeError), match="n="):
            fitted(name).recommend([100], n)


@probed("fit", "fold_in", "predict", "recommend")
def test_what_has_no_order_is_refused_by_its_name(name):
    X, y = data(name)
    model, ratings = fitted(name), dict(zip(map(tuple, X.tolist()), y, strict=True))
    with pytest.raises(InvalidTypeError, match="^users is a set, which has no order; list it in the order"):
        model.recommend({100, 101})
    with pytest.raises(InvalidTypeError, match="^users is a dict with values; pass its keys"):
        model.recommend({100: 1})
    for method in (model.predict, lambda pairs: model.fold_in(pairs, y), lambda pairs: fresh(name).fit(pairs, y)):
        with pytest.raises(InvalidTypeError, match="^X is a set, which has no order"):
            method(set(ratings))
        with pytest.raises(InvalidTypeError, match="^X is a dict; if it holds columns, pass"):
            method(ratings)
    with pytest.raises(InvalidTypeError, match="^y is a set, which has no order"):
        fresh(name).fit(X, set(y))
    with pytest.raises(InvalidInputError, match="users must be one-dimensional"):
        model.recommend(X)
    with pytest.raises(InvalidInputError, match="candidates must be one-dimensional"):
        model.recommend([100], candidates="7")


@probed("fit", "fold_in", "predict")
def test_matrices_the_wrong_way_round(name):
    X, y = planted(CASES[name].scale)
    model = fresh(name).fit(sparse.csr_array((y, X.T)))
    with pytest.raises(ValueError, match="transposed"):
        model.fold_in(sparse.csr_array((y, X.T[::-1])))
    with pytest.raises(ValueError, match="X has 23 columns but the model knows 24 items"):
        model.fold_in(sparse.csr_array((y, X.T))[:, :23])
    with pytest.raises(ValueError, match="fitted on items with other ids"):
        fitted(name).fold_in(sparse.csr_array((y, X.T)))  # its items are 0, 7, 14, ...
    with pytest.raises(TypeError, match=r"expected pairs .* complete\(\)"):
        model.predict(sparse.csr_array((y, X.T)))


# ---------------------------------------------------------------- bad ratings and ids

NAN, INF = float("nan"), float("inf")


def changed(array: np.ndarray, row: int, value: Any) -> np.ndarray:
    copy = array.astype(object if isinstance(value, str | None) else float)
    copy[row] = value
    return copy


#: A few of what `as_ratings` refuses (see tests/ratings/test_data.py), and what only a table may be.
BAD_DATA = {
    "NaN rating": (lambda X, y: (X, changed(y, 3, NAN)), "1 rating that is NaN or infinite, the first in row 3"),
    "no ratings": (lambda X, y: (X, None), "y is missing"),
    "dense matrix": (lambda X, y: (np.ones((4, 9)), None), "y is missing"),
    "empty": (lambda X, y: (X[:0], y[:0]), "X is empty"),
    "missing id": (lambda X, y: (changed(X, (2, 1), None), y), "item ids of X hold a missing"),
}


@probed("fit")
@together("bad", BAD_DATA)
def test_bad_data(name, bad):
    change, message = BAD_DATA[bad]
    with pytest.raises((ValueError, TypeError), match=message):
        fresh(name).fit(*change(*data(name)))


@probed("fit", "fold_in")
def test_ratings_off_the_scale(name):
    X, y = data(name)
    scale = CASES[name].scale
    with pytest.raises(ValueError, match=r"1 rating is not on the scale .*, found 2\.5"):
        fresh(name).set_params(levels=scale).fit(X, changed(y, 7, 2.5))
    with pytest.raises(ValueError, match=r"1 rating is not on the scale .*, found 2\.5"):
        fitted(name).fold_in(X, changed(y, 7, 2.5), known="replace")
    with pytest.raises(ValueError, match=r"X has the scale .* is required"):
        fitted(name).fold_in(as_ratings(X[:2], [0, 1]))


# ---------------------------------------------------------------- bad parameters

#: For every parameter of every model, values it must not have.
BAD_VALUES: dict[str, list[Any]] = {
    "n_factors": [0, -1, 2.5, "3", None, True],
    "alpha": [0, -1.0, NAN, INF, "best", None, True],
    "loss": ["absolute", None],
    "fill": ["zero", None],
    "damping": [-1.0, NAN, None],
    "beta": [-1.0, NAN, "1", None],
    "origin": ["low", NAN, 1.5],
    "weighted": ["yes", None, 1],
    "link": ["probit", None],
    "eta0": [0, -1.0, NAN, None],
    "alpha_bias": [0, -1.0, NAN, "1"],
    "alpha_thresholds": [-1.0, NAN, None],
    "item_prior": ["none", None],
    "width": [0, -1.0, NAN, INF, "1", None],
    "concentration": [0, -1.0, NAN, INF, "1", None],
    "decision": ["best", None],
    "implicit": ["dense", 1],
    "n_implicit": [0, -1, 2.5, "3", None, True],
    "hinge_weight": [0, -1.0, NAN, INF, "1", None],
    "biases": ["yes", None, 1],
    "time": ["yes", None, 1],
    "prior": ["none", None],
    "precision": [0, -2.0, np.nan, "auto", None],
    "n_sweeps": [0, -1, 2.5, "3", None, True],
    "burn_in": [-1, 2.5, "3", None, True],
    "thin": [0, -1, 2.5, "3", None, True],
    "n_chains": [0, -1, 2.5, "3", None, True],
    "max_seconds": [0, -1.0, NAN, "1"],
    "warm_start": ["yes", None, 1],
    "kernel": ["matern", None],
    "momentum": [-0.1, 1.0, NAN, None],
    "early_stopping": ["yes", None, 1],
    "max_iter": [0, 1.5, None],
    "tol": [-1e-3, NAN, INF, "1"],
    "threshold": ["0", NAN, None],
    "dtype": ["float16", np.float32, None],
    "margin": ["absolute", None, np.arange(3)],
    "solver": ["newton", None],
    "construction": ["some", None],
    "decoding": ["last", None],
    "method": ["boosting"],
    "n_members": [0, 2.5],
    "max_samples": [0, 1.1, None],
    "estimator": ["MMMF", 3],
    "n_jobs": ["two", 0, 1.5],
    "levels": [[3, 1], [1], [1, 1], [1, NAN], "stars", 5],
    "duplicates": ["first", None],
    "unknown": ["ignore", None],
    "random_state": ["a", -1, 0.5],
    "callback": [3, "print"],
}


@every_class
def test_bad_parameters(name):
    X, y = data(name)
    params = set(fresh(name).get_params())
    inner = {key.removeprefix("estimator__") for key in params if key.startswith("estimator__")}
    keys = {key for key in (params | inner) - {"verbose"} if "__" not in key}
    assert keys <= set(BAD_VALUES), f"name values that a fit refuses of {keys - set(BAD_VALUES)}, in BAD_VALUES"
    for key in keys:
        for value in BAD_VALUES[key]:
            model = fresh(name, **{key: value})
            with pytest.raises((InvalidInputError, InvalidTypeError), match=key):
                model.fit(X, y)
            assert not hasattr(model, "users_")


@every_class
def test_margins_without_a_gradient_name_the_way_out(name):
    if "margin" in fresh(name).get_params():
        for margin in ("hinge", "zero-one"):
            with pytest.raises(SolverMismatchError, match="smooth-hinge"):
                fresh(name, margin=margin).fit(*data(name))
