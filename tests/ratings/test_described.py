"""The contract of models that take features: cold users and items, new rows, files, seeds, and what is refused."""

from __future__ import annotations

from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import cofactor
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.kernels.threads import thread_limit
from cofactor.penalties import RegressedL2
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.ratings import ALS, BPMF, EASE, MMMF, MODELS, OrdinalProbit, RatingModel, RatingSVD, Rules
from cofactor.ratings.features import FeatureTable
from cofactor.ratings.side_information import RowPattern

from ..contract.models import bits

SAMPLED: dict[str, Any] = {"n_sweeps": 24, "burn_in": 8, "random_state": 0}
CASES: dict[str, RatingModel] = {
    "ALS": ALS(3, 1.0, random_state=0),
    "ALS by cg, no biases": ALS(3, 1.0, alpha_bias=None, solver="cg", dtype="float64", random_state=0),
    "MMMF": MMMF(3, 1.0, random_state=0),
    "MMMF of the thesis": MMMF(3, 1.0, alpha_bias=None, alpha_thresholds=0, random_state=0),
    "BPMF": BPMF(3, **SAMPLED),
    "OrdinalProbit": OrdinalProbit(3, n_implicit=3, **SAMPLED),
}
every = pytest.mark.parametrize("name", CASES)
N, M = 50, 40
OLD = 30  #: items in training; the others are cold


def columns(numbers: np.ndarray, kinds: np.ndarray, chosen: slice = slice(None)) -> dict[str, np.ndarray]:
    return {"a": numbers[chosen, 0], "b": numbers[chosen, 1], "kind": kinds[chosen]}


@lru_cache
def data() -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Return pairs, ratings, and features of users and items that tell most of what they like."""
    rng = np.random.default_rng(4)
    F, G = rng.normal(size=(N, 2)), rng.normal(size=(M, 2))
    trades, genres = rng.choice(["cook", "poet"], N), rng.choice(["drama", "noir", "western"], M)
    score = F @ G.T + (genres == "noir") + 0.7 * (trades == "cook")[:, None] + 0.3 * rng.normal(size=(N, M))
    y = 1.0 + (score[..., None] > [-1.2, -0.4, 0.4, 1.2]).sum(axis=2)
    X = rng.permutation(np.argwhere(rng.random(y.shape) < 0.4))
    return X, y[X[:, 0], X[:, 1]], columns(30 + 7 * F, trades), columns(G, genres)


@lru_cache
def fitted(name: str) -> Any:
    """Return a model fitted to the ratings of all users for the old items, with features; not to be changed."""
    X, y, users, items = data()
    old = X[:, 1] < OLD
    given = {"user_features": (range(N), users), "item_features": (range(M), items)}
    return clone(CASES[name]).fit(X[old], y[old], **given)


def some(table: dict[str, np.ndarray], rows: Any, ids: Any = None) -> tuple[Any, dict[str, np.ndarray]]:
    return (rows if ids is None else ids), {name: column[list(rows)] for name, column in table.items()}


def test_these_are_the_models_that_take_features():
    taking = {name for name, kind in MODELS.items() if kind().can("features")}
    assert taking == {type(model).__name__ for model in CASES.values()}


@every
def test_features_tell_of_cold_items_and_users(name):
    X, y, users, items = data()
    old, m = X[:, 1] < OLD, fitted(name)
    plain = clone(CASES[name]).fit(X[old], y[old])
    cold = m.fold_in_items(item_features=some(items, range(OLD, M)))
    assert cold.items_.ids.tolist() == list(range(OLD, M))
    error = {one: np.abs(one.predict(X[~old]) - y[~old]).mean() for one in (plain, cold)}
    assert error[cold] < error[plain] - 0.25
    twins = m.fold_in(user_features=some(users, range(N), [f"like {k}" for k in range(N)]))
    pairs = [(f"like {i}", j) for i, j in X[old].tolist()]
    assert np.corrcoef(twins.decision_function(pairs), y[old])[0, 1] > 0.7
    # Both are new, in either order.
    pairs = [(f"like {i}", j) for i, j in X[~old].tolist()]
    both = twins.fold_in_items(item_features=some(items, range(OLD, M)))
    other = cold.fold_in(user_features=some(users, range(N), [f"like {k}" for k in range(N)]))
    assert np.corrcoef(both.decision_function(pairs), y[~old])[0, 1] > 0.6
    assert np.corrcoef(both.decision_function(pairs), other.decision_function(pairs))[0, 1] > 0.97
    assert len(twins.recommend(["like 3"], 5)[0][0]) == 5


@every
def test_new_rows_with_ratings_are_known_by_both(name):
    """Ratings count beside features: what features say is kept where there are none, and moved by those there are."""
    X, _, _, items = data()
    m, of_noir = fitted(name), some(items, [OLD], ["film"])
    likers = X[(X[:, 1] == 3)][:, 0]
    quiet = m.fold_in_items(item_features=of_noir)
    rated = [(i, "film") for i in likers.tolist()]
    high, low = (m.fold_in_items(rated, [r] * len(rated), item_features=of_noir) for r in (5, 1))
    pairs = [(i, "film") for i in range(N)]
    means = [one.decision_function(pairs).mean() for one in (low, quiet, high)]
    assert means[0] < means[1] < means[2]
    without = m.fold_in_items(rated, [5] * len(rated))  # features as on the average
    assert np.isfinite(without.decision_function(pairs)).all()
    of_new = (["new", "quiet"], {"a": [30.0, 31], "b": [30, 28], "kind": ["poet", None]})
    users = m.fold_in([("new", 3)], [4.0], user_features=of_new)
    assert users.users_.ids.tolist() == ["new", "quiet"]
    assert np.isfinite(users.decision_function([("quiet", 3), ("new", 4)])).all()


@every
def test_files_seeds_threads_and_the_order_of_rows_change_nothing(name, tmp_path: Path):
    X, y, users, items = data()
    m, old, order = fitted(name), X[:, 1] < OLD, np.random.default_rng(0).permutation(N)
    with thread_limit(1):
        again = clone(CASES[name])
        again.fit(X[old], y[old], user_features=some(users, order), item_features=(range(M), items))
    assert bits(again) == bits(m)
    m.save(tmp_path / "model")
    loaded = cofactor.load(tmp_path / "model")
    assert bits(loaded) == bits(m)
    for fold, other, given in (
        (m.fold_in, loaded.fold_in, {"user_features": some(users, range(4), ["a", "b", "c", "d"])}),
        (m.fold_in_items, loaded.fold_in_items, {"item_features": some(items, range(4), ["a", "b", "c", "d"])}),
    ):
        whole = fold(**given)
        assert bits(other(**given)) == bits(whole)
        ((argument, (ids, table)),) = given.items()
        alone = fold(**{argument: (ids[2:3], {key: column[2:3] for key, column in table.items()})})
        of_users = argument == "user_features"
        pairs = [("c", j) if of_users else (j, "c") for j in range(9)]
        np.testing.assert_array_equal(alone.decision_function(pairs), whole.decision_function(pairs))


@every
def test_features_that_say_nothing_leave_the_model_as_it_is(name):
    X, y, _, _ = data()
    plain = clone(CASES[name]).fit(X, y)
    with pytest.warns(UserWarning, match="column 0 is the same for all in training: dropped"):
        dull = clone(CASES[name]).fit(X, y, user_features=dict.fromkeys(range(N), "cook"))
    np.testing.assert_array_equal(dull.decision_function(X), plain.decision_function(X))
    with pytest.warns(InputWarning, match="'poet' of column 0 did not occur in training"):
        dull.fold_in(user_features={"new": "poet"})


@every
def test_what_is_refused(name):
    X, y, _, items = data()
    plain = clone(CASES[name]).fit(X, y)
    with pytest.raises(InvalidInputError, match="user_features was not given in training"):
        plain.fold_in(user_features={"new": [1.0]})
    with pytest.raises(InvalidInputError, match="item_features was not given in training"):
        plain.fold_in_items(item_features={"new": [1.0]})
    with pytest.raises(InvalidInputError, match="X is missing"):
        plain.fold_in_items()
    m = fitted(name)
    before = bits(m)
    with pytest.raises(InvalidInputError, match="has the columns a, b, but those of training were a, b, kind"):
        m.fold_in(user_features=(["new"], {"a": [1.0], "b": [2.0]}))
    with pytest.raises(InvalidInputError, match="no row for any of the 50 ids"):
        clone(m).fit(X, y, user_features={"ann": [1.0]})
    with pytest.raises(InvalidInputError, match="several rows for 0"):
        m.fit(X, y, item_features=([0, 0], [1.0, 2.0]))
    with pytest.raises(InvalidInputError, match="1 item is known to this model, such as 3"):
        m.fold_in_items(item_features=some(items, [3]))
    assert bits(m) == before


def test_a_warm_start_needs_the_same_features():
    X, y, users, items = data()
    given = {"user_features": (range(N), users), "item_features": (range(M), items)}
    long = BPMF(3, **SAMPLED | {"n_sweeps": 30}).fit(X, y, **given)
    m = BPMF(3, **SAMPLED).fit(X, y, **given).set_params(warm_start=True, n_sweeps=6)
    with pytest.raises(ValueError, match="since then the features of items changed"):
        m.fit(X, y, user_features=given["user_features"])
    assert bits(m.fit(X, y, **given)) == bits(long)


def test_als_minimises_its_objective_over_factors_and_weights():
    """With the weights of the regression as variables too, the gradient vanishes, and the objective never rises."""
    X, y, users, items = data()
    given = {"user_features": (range(N), users), "item_features": (range(M), items)}
    m = ALS(2, 0.8, alpha_bias=2.0, dtype="float64", tol=0, max_iter=1000, random_state=0)
    m.fit(X, y, **given)
    assert np.all(np.diff(m.history_) <= 1e-12 * m.history_[0])
    tables = [link.link.features(side, table) for link, side, table in _with_tables(m, given)]
    F, H = (table[:-1] for table in tables)
    weights = [link.weights for link in m.links_]
    rest = {"U": m.U_ - F @ weights[0]["U"], "V": m.V_ - H @ weights[1]["V"]}
    J = sum(0.8 * ((rest[k] ** 2).sum() + (weights[s][k] ** 2).sum()) for s, k in enumerate("UV"))
    for s, (k, table, bias) in enumerate((("b", F, m.user_bias_), ("c", H, m.item_bias_))):
        J += 2.0 * (((bias - table @ weights[s][k]) ** 2).sum() + (weights[s][k] ** 2).sum())
    x = m.mean_ + np.einsum("kf,kf->k", m.U_[X[:, 0]], m.V_[X[:, 1]]) + m.user_bias_[X[:, 0]] + m.item_bias_[X[:, 1]]
    assert m.objective_ == pytest.approx(J + ((y - x) ** 2).sum(), rel=1e-10)
    np.testing.assert_allclose(weights[0]["U"], F.T @ rest["U"], atol=1e-9)  # the gradient by G
    for i in (0, 7):
        here = X[:, 0] == i
        slope = -((y - x)[here] @ m.V_[X[here, 1]]) + 0.8 * rest["U"][i]
        np.testing.assert_allclose(slope, 0, atol=1e-3)


def _with_tables(m: Any, given: dict[str, Any]) -> Any:
    sides = (RowPattern.users(m.ratings_), RowPattern.items(m.ratings_))
    for link, side, (argument, table) in zip(m.links_, sides, given.items(), strict=True):
        yield link, side, FeatureTable.read(table, argument)


def test_the_penalty_is_that_of_rows_whose_covariance_the_features_give():
    """Least over G, α/2 (‖A - F G‖² + ‖G‖²) is α/2 tr(Aᵀ (I + F Fᵀ)⁻¹ A)."""
    rng = np.random.default_rng(0)
    F = np.linalg.qr(rng.normal(size=(9, 3)))[0] * [2.0, 1.0, 0.3]
    A = rng.normal(size=(9, 2))
    inverse = np.linalg.inv(np.eye(9) + F @ F.T)
    penalty = RegressedL2(1.7, F)
    assert penalty.value(A) == pytest.approx(0.85 * np.trace(A.T @ inverse @ A))
    gradient = np.zeros_like(A)
    penalty.add_gradient(A, gradient)
    np.testing.assert_allclose(gradient, 1.7 * inverse @ A)


def test_a_model_that_knows_time_takes_features_too(tmp_path: Path):
    X, y, users, items = data()
    time = np.random.default_rng(0).integers(0, 10**7, len(X))
    m = OrdinalProbit(2, n_implicit=3, time=True, **SAMPLED)
    old = X[:, 1] < OLD
    given = {"user_features": (range(N), users), "item_features": (range(M), items)}
    m.fit(X[old], y[old], time=time[old], **given)
    cold = m.fold_in_items(item_features=some(items, range(OLD, M)))
    assert np.corrcoef(cold.decision_function(X[~old], time=time[~old]), y[~old])[0, 1] > 0.6
    m.save(tmp_path / "model")
    of_twins = some(users, range(N), [f"like {k}" for k in range(N)])
    twins = cofactor.load(tmp_path / "model").fold_in(user_features=of_twins)
    pairs = [(f"like {i}", j) for i, j in X[old].tolist()]
    assert np.corrcoef(twins.decision_function(pairs, time=time[old]), y[old])[0, 1] > 0.6


@pytest.mark.parametrize("name", ["ALS", "MMMF", "BPMF", "OrdinalProbit"])
def test_links_of_crafted_files_are_refused(name, tmp_path: Path):
    fitted(name).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    keys = [key for key in arrays if "links_" in key or "weights" in key]
    assert keys
    for key in keys:
        for change in (lambda a: a[1:], lambda a: a[..., None]):
            write_model(tmp_path / "crafted", header, arrays | {key: np.ascontiguousarray(change(arrays[key]))})
            with pytest.raises(ModelFileError):
                cofactor.load(tmp_path / "crafted")


def test_features_of_known_items_alone_are_refused_with_advice() -> None:
    X = [(user, item) for user in range(12) for item in range(8) if (user + item) % 3]
    features = (np.arange(8), np.eye(8)[:, :3])
    model = ALS(2, 3.0, random_state=0).fit(X, [1 + (u * i) % 5 for u, i in X], item_features=features)
    with pytest.raises(InvalidInputError, match="no ratings of them; give the features of new items alone"):
        model.fold_in_items(item_features=features)


@every
def test_new_items_are_recommended_among_the_others(name: str) -> None:
    """With the scores of both models; rules and candidates see them all, and a fold-in of users does too."""
    model, items = fitted(name), data()[3]
    new = (range(OLD, M), {key: column[OLD:] for key, column in items.items()})
    part = model.fold_in_items(item_features=new)
    users = model.users_.ids[:3]
    found = model.recommend(users, M, exclude_seen=False, new_items=new)
    for user, row, scores in zip(users, found.items, found.scores, strict=True):
        assert sorted(row) == list(range(M))
        assert (np.diff(scores) <= 0).all()
        of = dict(zip(row.tolist(), scores.tolist(), strict=True))
        for known, some in ((model, range(OLD)), (part, range(OLD, M))):
            assert [of[i] for i in some] == pytest.approx(known.decision_function([(user, i) for i in some]), rel=1e-5)
    assert set(model.recommend(users, M, new_items=new, rules=Rules(min_support=1)).items.ravel()) <= {
        *range(OLD),
        None,
    }
    assert model.recommend(users, 2, candidates=[OLD], new_items=new).items.tolist() == [[OLD, None]] * 3
    alone = model.fold_in([("me", 0), ("me", 1)], [5, 1]).recommend(["me"], 3, candidates=[0, 1, OLD], new_items=new)
    assert alone.items.tolist() == [[OLD, None, None]]


@pytest.mark.parametrize("ask", ["recommend", "similar_items"])
def test_errors_call_new_items_by_their_name(ask: str) -> None:
    model, new = ALS(2, 1.0, random_state=0), {"new": [1.0]}
    model.fit([(u, i) for u in range(6) for i in range(4)], [1 + (u + i) % 3 for u in range(6) for i in range(4)])
    answer = partial(model.recommend, [1]) if ask == "recommend" else partial(model.similar_items, ["new"])
    with pytest.raises(InvalidInputError, match="^new_items was not given in training"):
        answer(new_items=new)
    model.fit(
        [(u, i) for u in range(6) for i in range(4)], model.ratings_.values, item_features={i: [i] for i in range(4)}
    )
    for wrong in ({"new": [1.0, 2.0]}, {"new": ["drama"]}, {"new": [np.nan]}):
        with pytest.raises((InvalidInputError, TypeError), match="^new_items"):
            answer(new_items=wrong)


def test_models_that_know_no_new_items_say_which_do() -> None:
    X, y, _, items = data()
    for model in (RatingSVD(2, random_state=0), EASE(1.0)):
        model.fit(X, y) if isinstance(model, RatingSVD) else model.fit(X)
        with pytest.raises(InvalidInputError, match="takes no features .*; ALS, .*MMMF, .* Recommender do"):
            model.recommend(new_items=(range(M, M + 1), {key: column[:1] for key, column in items.items()}))
    with pytest.raises(InvalidInputError, match="new_items holds no item that is new"):
        fitted("ALS").recommend(new_items=(range(1), {key: column[:1] for key, column in items.items()}))
