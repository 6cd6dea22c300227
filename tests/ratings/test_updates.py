"""Updates: rows solved by brute force, what is merged and refused, times, features, and when a fit is due."""

from contextlib import nullcontext
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import cofactor
from cofactor.errors import InputWarning
from cofactor.ratings import (
    ALS,
    EASE,
    MMMF,
    PMMMF,
    Ensemble,
    IdMap,
    OrdinalProbit,
    Popularity,
    RatingModel,
    RatingSVD,
    Recommender,
    as_ratings,
)
from cofactor.ratings.data import restrict
from cofactor.ratings.interaction_model import FitInput, RowMerge, Updates

from .reference import planted

X, Y = planted()
LATE = np.arange(len(X)) % 9 == 0
FAST = {"n_sweeps": 30, "burn_in": 15, "random_state": 0}


def ridge(features: np.ndarray, targets: np.ndarray, alpha: float, alpha_bias: float) -> np.ndarray:
    """Return weights, and the bias last."""
    F = np.column_stack([features, np.ones(len(features))])
    penalty = np.diag([alpha] * features.shape[1] + [alpha_bias])
    return np.linalg.solve(F.T @ F + penalty, F.T @ targets)


def test_als_by_brute_force() -> None:
    """Items with new ratings given users, then users with new ratings given items."""
    old = ~LATE & (X[:, 0] != 7) & (X[:, 1] != 4)
    new = LATE | ((X[:, 0] == 7) & (X[:, 1] < 20)) | (X[:, 1] == 4)
    new &= (X[:, 0] % 3 == 1) & (X[:, 1] % 2 == 0)
    before = ALS(3, 2.0, dtype="float64", random_state=0).fit(X[old], Y[old])
    model = copy(before).update(X[new], Y[new])
    both, mu = X[old | new], before.mean_
    targets = Y[old | new] - mu
    U = {user: np.append(before.U_[k], before.user_bias_[k]) for k, user in enumerate(before.users_.ids)}
    V = {item: np.append(before.V_[k], before.item_bias_[k]) for k, item in enumerate(before.items_.ids)}

    def solve(own: dict, other: dict, ids: np.ndarray, side: int) -> None:
        solved = {}
        for one in ids:
            mine = (both[:, side] == one) & np.isin(both[:, 1 - side], list(other))
            rows = np.array([other[each] for each in both[mine, 1 - side]])
            solved[one] = ridge(rows[:, :-1], targets[mine] - rows[:, -1], 2.0, 3.0)
        own.update(solved)

    assert 7 not in before.users_.ids
    solve(U, V, np.array([7]), 0)
    solve(V, U, np.unique(X[new, 1]), 1)
    solve(U, V, np.unique(X[new, 0]), 0)
    assert 0 < len(np.unique(X[new, 0])) < len(U)
    for rows, biases, ids, found in (
        (model.U_, model.user_bias_, model.users_.ids, U),
        (model.V_, model.item_bias_, model.items_.ids, V),
    ):
        np.testing.assert_allclose(np.column_stack([rows, biases]), [found[one] for one in ids], atol=1e-9)


@pytest.mark.parametrize("kind", [MMMF, PMMMF])
def test_items_minimise_the_objective_of_their_ratings(kind: type[RatingModel]) -> None:
    """No step of an item's own row lowers it, users held fixed, and the planes of a level that they have."""
    before = kind(2, 2.0, dtype="float64", tol=1e-10, max_iter=5000, random_state=0).fit(X[~LATE], Y[~LATE])
    ratings = restrict(as_ratings(X, Y), items=before.items_, users=before.users_)
    part = before.items_folded_in(FitInput(ratings))
    rng = np.random.default_rng(0)
    for j in range(4):
        here = slice(*ratings.col_indptr[j : j + 2])
        users, levels = ratings.col_indices[here], ratings.levels[ratings.to_csr[here]].astype(int)
        least = _loss_of_item(before, kind, users, levels, part.V_[j], part.item_bias_[j])
        assert least < _loss_of_item(before, kind, users, levels, before.V_[j], before.item_bias_[j])
        for _ in range(20):
            step = 0.05 * rng.normal(size=3)
            other = _loss_of_item(before, kind, users, levels, part.V_[j] + step[:2], part.item_bias_[j] + step[2])
            assert other > least - 1e-6


def _loss_of_item(model, kind, users, levels, v, c) -> float:
    def hinge(z):
        return np.where(z >= 1, 0.0, np.where(z <= 0, 0.5 - z, (1 - z) ** 2 / 2))

    x = model.U_[users] @ v + c
    penalty = 1.0 * v @ v + 1.5 * c * c
    if kind is MMMF:
        sign = np.where(np.arange(1, 5) >= levels[:, None], 1.0, -1.0)
        return hinge(sign * (model.thresholds_[users] - x[:, None])).sum() + penalty
    planes = model.planes_[users]
    own = planes[np.arange(len(x)), levels - 1]
    has = np.isfinite(own)
    sign = np.where(np.arange(1, 6) < levels[:, None], 1.0, -1.0)
    margins = hinge(sign * (x[:, None] - planes))
    margins[(np.arange(1, 6) == levels[:, None]) | ~np.isfinite(planes) | ~has[:, None]] = 0
    return ((x - own)[has] ** 2).sum() + margins.sum() + penalty


def test_a_new_rating_takes_the_place_of_an_earlier_one() -> None:
    model = ALS(2, 2.0, random_state=0).fit(X, Y)
    user, item = X[0]
    other = 1.0 if Y[0] > 3 else 5.0
    model.update([(user, item)], [other])
    assert model.ratings_.n_ratings == len(X)
    assert other in model.ratings_.values[model.ratings_.indptr[0] : model.ratings_.indptr[1]]
    kept = Y.copy()
    kept[0] = other
    assert np.array_equal(np.sort(model.ratings_.values), np.sort(kept))
    assert model.updates_.n_new == 1


def test_a_new_user_of_a_new_item_alone() -> None:
    several = Ensemble(OrdinalProbit(2, n_implicit=3, **FAST), 2)
    for kind in (
        several,
        ALS(2, 2.0),
        MMMF(2, 2.0, tol=1e-3),
        PMMMF(2, 2.0, tol=1e-3),
        RatingSVD(2),
        OrdinalProbit(2, **FAST),
    ):
        model = kind.set_params(random_state=0).fit(X, Y)
        model.update([("new", "film")], [5])
        assert np.isfinite(model.decision_function([("new", "film"), ("new", 3), (3, "film")])).all()


def test_what_is_refused_leaves_the_model_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    model = ALS(2, 2.0, random_state=0).fit(X, Y)
    before = dict(vars(model))
    with pytest.raises(ValueError, match=r"not on the scale 1, 2, 3, 4, 5, found 10; correct them"):
        model.update([(0, 0)], [10])
    with pytest.raises(ValueError, match=r"X has the scale 1, 2 but 1, 2, 3, 4, 5 is required"):
        model.update(as_ratings([(0, 0), (0, 1)], [1, 2], [1, 2]))
    with pytest.raises(ValueError, match=r"repeats .*set_params\(duplicates='last'\)"):
        model.update([(0, 0), (0, 0)], [1, 2])
    with pytest.raises(ValueError, match="comes from a fold-in.*update the model that was fitted"):
        model.fold_in([("new", 1)], [3]).update([("new", 2)], [3])
    with pytest.raises(ValueError, match="user_features was not given in training"):
        model.update([(0, 0)], [1], user_features={0: [1]})
    with pytest.warns(InputWarning, match="'0' is not 0, which this model knows"):
        copy(model).update([("0", 0)], [1])

    merge_rows = ALS._merge_rows

    def fail(self: ALS, part: ALS, merge: RowMerge) -> None:
        merge_rows(self, part, merge)
        if merge.whole is not None:
            raise RuntimeError

    monkeypatch.setattr(ALS, "_merge_rows", fail)
    with pytest.raises(RuntimeError):
        model.update(X[:5], Y[:5])
    assert all(vars(model)[name] is value for name, value in before.items())


def test_forms_of_input_are_those_of_fit() -> None:
    fitted = ALS(2, 2.0, random_state=0).fit(sparse.csr_array((Y[~LATE], X[~LATE].T)))
    frame = pd.DataFrame({"user": X[LATE, 0], "item": X[LATE, 1], "rating": Y[LATE]})
    matrix = sparse.csr_array((Y[LATE], X[LATE].T), shape=(len(fitted.users_), len(fitted.items_)))
    wanted = copy(fitted).update(X[LATE], Y[LATE])
    for given in (frame, matrix, as_ratings(X[LATE], Y[LATE], fitted.scale_)):
        assert np.array_equal(copy(fitted).update(given).U_, wanted.U_)
    named = ALS(2, 2.0, random_state=0).fit(X + 5, Y)
    with pytest.raises(ValueError, match="rows and columns of a sparse matrix .* such as 5.*pass pairs"):
        named.update(matrix)


def test_a_fit_is_due_after_a_tenth() -> None:
    model = ALS(2, 2.0, random_state=0).fit(X, Y)
    n = len(X) // 9 + 1
    model.update(X[: n // 2], Y[: n // 2])
    assert (model.refit_due_, model.updates_.n_updates) == (False, 1)
    model.update(X[n // 2 : n], Y[n // 2 : n])
    assert (model.refit_due_, model.updates_.n_updates) == (True, 2)
    assert not model.fit(model.ratings_).refit_due_
    assert not model.fold_in([("new", 1)], [3]).refit_due_
    with pytest.raises(AttributeError):
        _ = ALS().refit_due_


def test_what_came_before_is_not_taken_in_twice(tmp_path: Path) -> None:
    """Whatever its order, in a model that was saved meanwhile, and in another class of models; unless asked."""
    rows = np.random.default_rng(0).permutation(np.flatnonzero(LATE))
    model = ALS(2, 2.0, random_state=0).fit(X[~LATE], Y[~LATE]).update(X[LATE], Y[LATE])
    model.save(tmp_path / "model.cofactor")
    later = cofactor.load(tmp_path / "model.cofactor")
    for one in (model, later):
        before = one.decision_function(X)
        with pytest.warns(InputWarning, match="an earlier update took in.* again=True does it"):
            one.update(X[rows], Y[rows])
        assert one.updates_.n_updates == 1
        assert np.array_equal(one.decision_function(X), before)
        assert one.update(X[rows], Y[rows], again=True).updates_.n_updates == 2
        assert one.update(X[rows[:-1]], Y[rows[:-1]]).updates_.n_updates == 3


@pytest.mark.parametrize("kind", [EASE, Recommender, ALS])
def test_what_the_fit_took_in_is_not_taken_in_twice(kind: type[Any], tmp_path: Path) -> None:
    """Whatever its order; also after other updates, and in a model that was saved between."""
    rows = np.random.default_rng(0).permutation(len(X))
    y: tuple[Any, ...] = (Y,) if kind in (Recommender, ALS) else ()
    model = kind(**({"interactions": Popularity(), "ratings": OrdinalProbit(2, **FAST)} if kind is Recommender else {}))
    model.fit(X, *y)
    for day in range(2):
        model.save(tmp_path / "model.cofactor")
        model, n_updates, key = cofactor.load(tmp_path / "model.cofactor"), model.updates_.n_updates, model.ratings_.key
        with pytest.warns(
            InputWarning, match=f"{len(X)} (interaction|rating)s are what the fit took in.* again=True does it"
        ):
            model.update(X[rows], *(one[rows] for one in y))
        assert (model.updates_.n_updates, model.ratings_.key) == (n_updates, key)
        model.update([(f"new on day {day}", 1)], *([4] for _ in y))
    assert model.update(X[rows], *(one[rows] for one in y), again=True).updates_.n_updates == 3


@pytest.mark.parametrize("model", [EASE(1.0), Recommender(Popularity(), None)], ids=["EASE", "Recommender"])
def test_all_interactions_once_more_beside_new_ones_are_warned_of(model: Any) -> None:
    """As when a file that grows is taken in each day: counts of what was there double."""
    model.fit(X)
    with pytest.warns(
        InputWarning, match=f"the update holds all {len(X)} interactions that the model has, and counts add up"
    ):
        copy(model).update([*X.tolist(), ("new", 1)])
    copy(model).update([*X.tolist(), ("new", 1)], again=True)
    copy(model).update([*X[1:].tolist(), ("new", 1), ("new", 2)])


def test_files_from_before_updates_knew_their_fit() -> None:
    """They load, and go on without it."""
    new, all_ratings = as_ratings(X[LATE], Y[LATE]), as_ratings(X, Y)
    state = Updates(len(X)).after(new, all_ratings).to_state()
    del state["fitted_key"]
    old = Updates.from_state(state)
    assert (old.source(new, all_ratings), old.source(all_ratings, all_ratings)) == ("an earlier update", "")


def test_a_rating_that_goes_back_is_taken_in() -> None:
    """Though the same came before: it changes what the model knows now."""
    pair = [(X[0, 0], X[0, 1])]
    for model in (ALS(2, 2.0, random_state=0), Recommender(Popularity(), OrdinalProbit(2, **FAST), random_state=0)):
        model.fit(X, Y)
        for value in (5, 1, 5):
            rows, columns = model.update(pair, [value]).ratings_.pairs()
            at = (model.users_.ids[rows] == pair[0][0]) & (model.items_.ids[columns] == pair[0][1])
            assert model.ratings_.values[at].tolist() == [value]


@pytest.mark.parametrize("again", [False, True])
def test_clicks_count_once_where_a_job_runs_twice(again: bool) -> None:
    clicks, counts = [("ann", "Up"), ("bob", "Heat")], [2, 1]
    for model in (EASE(1.0, random_state=0), Recommender(Popularity(), None)):
        fitted = model.fit([(u, i) for u in ("ann", "bob", "eve") for i in ("Up", "Heat") if (u, i) != ("bob", "Up")])
        fitted.update(clicks, counts)
        total = fitted.ratings_.weights.sum()
        with (
            nullcontext()
            if again
            else pytest.warns(InputWarning, match="2 interactions are what an earlier update took in")
        ):
            fitted.update(clicks[::-1], counts[::-1], again=again)
        assert fitted.ratings_.weights.sum() == total + 3 * again


@pytest.mark.parametrize("state", [{"n_fitted": 0}, {"n_new": -1}, {"n_updates": 1.5}, {"n_new": "3"}])
def test_numbers_that_no_update_leaves_are_refused(state: dict[str, object]) -> None:
    with pytest.raises((ValueError, TypeError), match="must not be negative|expected int"):
        Updates.from_state(Updates(9, 1, 2).to_state() | state)


def test_times_are_kept_and_a_model_that_knows_them_needs_them() -> None:
    days = np.random.default_rng(0).integers(0, 40, len(X)) * 86400.0
    model = OrdinalProbit(2, n_implicit=3, time=True, **FAST).fit(X[~LATE], Y[~LATE], time=days[~LATE])
    now = model.past_.now
    with pytest.raises(ValueError, match="this OrdinalProbit was fitted with times, and the new ratings have none"):
        model.update(X[LATE], Y[LATE])
    plain = ALS(2, 2.0, random_state=0).fit(X[~LATE], Y[~LATE], time=days[~LATE])
    with pytest.warns(InputWarning, match="the update forgets all times, since the new ratings have none"):
        plain.update(X[LATE], Y[LATE])
    drift, users = model.samples_["drift"], np.setdiff1d(X[:, 0], X[LATE, 0])
    later = copy(model).update(X[LATE][:40], Y[LATE][:40], time=days[LATE][:40] + 50 * 86400)
    assert later.past_.now > now
    assert later.ratings_.times is not None
    kept = np.setdiff1d(model.users_.ids, X[LATE][:40, 0])
    assert len(users) < len(kept)
    for user in kept:  # moments and draws of others are where their offsets now say
        here, there = (slice(*m.past_.indptr[int(m.users_.index([user])[0]) :][:2]) for m in (model, later))
        assert np.array_equal(model.past_.seconds[here], later.past_.seconds[there])
        assert np.array_equal(drift[:, here], later.samples_["drift"][:, there])
    assert np.isfinite(later.predict_proba(X[:5], time=days[:5])).all()
    assert np.diff(later.past_.indptr)[-1] == 0


def test_features_have_to_be_given_again() -> None:
    groups = {user: [user % 2, user / 40] for user in range(40)}
    model = OrdinalProbit(2, n_implicit=3, **FAST).fit(X[~LATE], Y[~LATE], user_features=groups)
    with pytest.raises(ValueError, match="fitted with features of users, and does not keep them.*with new ratings"):
        model.update(X[LATE], Y[LATE])
    with pytest.raises(ValueError, match="user_features has no row for any of the .* ids .*; it has rows for '0'"):
        model.update(X[LATE], Y[LATE], user_features={str(user): row for user, row in groups.items()})
    model.update([("new", 1), (3, "film")], [1, 5], user_features=groups | {"new": [1, 0.5]})
    assert model.fold_in(user_features={"other": [1, 0.5]}).predict([("other", "film")]).shape == (1,)


def test_shadow_users_become_users() -> None:
    model = OrdinalProbit(2, implicit="low-rank", n_implicit=3, **FAST)
    own = X[:, 0] < 30
    model.fit(X[own], Y[own], shadow=(X[~own], Y[~own]))
    model.update([(35, 2), ("new", 2)], [1, 5])
    assert not model.is_shadow_.any()
    assert len(model.links_[1].projection) == len(model.users_) == 41
    assert np.isfinite(model.predict_proba([(35, 2), (36, 2)])).all()


def test_rows_of_several_lengths_are_joined() -> None:
    joint = RowMerge("user", IdMap([1, 2, 3, 4]), np.array([0, 2, 3]), np.array([1, 2]))
    ours = np.array([0, 2, 3, 5]), np.array([10, 11, 30, 40, 41])
    theirs = np.array([0, 1, 4]), np.array([20, 31, 32, 33])
    indptr, entries = joint.ragged(ours, theirs)
    assert indptr.tolist() == [0, 2, 3, 6, 8]
    assert entries.tolist() == [10, 11, 20, 31, 32, 33, 40, 41]
