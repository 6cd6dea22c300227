"""Proximal maximum margin matrix factorization: objective, planes, boundaries."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.together import together

from cofactor.ratings import PMMMF
from cofactor.ratings.factors.pmmmf import boundaries

from ..reference import MARGINS, planes_of, planted, proximal_objective

X, Y = planted()


def picky() -> tuple[np.ndarray, np.ndarray]:
    """Return data in which user i never uses some levels: those whose bits are 0 in the number of the user, 1..31."""
    pairs, y = planted(31, 40, density=0.7)
    used = (pairs[:, 0] + 1) >> (y.astype(int) - 1) & 1 == 1
    return pairs[used], y[used]


@together("margin", MARGINS)
@together("alpha_bias", [None, 0.7])
@together(("dtype", "precision"), [("float32", 1e-5), ("float64", 1e-12)])
def test_objective(margin, alpha_bias, dtype, precision):
    model = PMMMF(5, 1.0, margin=margin, alpha_bias=alpha_bias, dtype=dtype, random_state=0).fit(X, Y)
    assert model.objective_ == pytest.approx(proximal_objective(model), rel=precision)
    assert np.all(np.diff(model.history_) <= 0)


def test_objective_where_users_never_used_some_levels():
    """corrections.md, C17."""
    model = PMMMF(5, 1.0, dtype="float64", random_state=0).fit(*picky())
    assert model.objective_ == pytest.approx(proximal_objective(model), rel=1e-12)
    assert np.isnan(model.planes_).sum() > 60


@together("data", [(X, Y), picky()], ids=["all levels", "some levels"])
def test_the_solution_is_stationary_with_the_planes_moving_along(data):
    """corrections.md, C16: derivatives of (4.2) by U and V go through the planes; here by differences."""
    model = PMMMF(4, 1.0, alpha_bias=0.7, dtype="float64", tol=1e-13, max_iter=20000, random_state=0).fit(*data)
    assert model.certificate_ < 1e-2
    rng = np.random.default_rng(0)
    for name in ("U_", "V_", "item_bias_"):
        array = getattr(model, name)
        direction = rng.normal(size=array.shape)
        direction /= np.linalg.norm(direction)
        values = []
        for step in (1e-4, -1e-4):
            setattr(model, name, array + step * direction)
            values.append(proximal_objective(model))
        setattr(model, name, array)
        assert abs(values[0] - values[1]) / 2e-4 < 1e-2
        assert min(values) > model.objective_ - 1e-7


def test_planes_are_the_mean_scores_of_the_levels():
    model = PMMMF(5, 1.0, dtype="float64", random_state=0).fit(*picky())
    np.testing.assert_allclose(model.planes_, planes_of(model), atol=1e-12)
    folded = model.fold_in(*picky(), known="replace")
    np.testing.assert_allclose(folded.planes_, planes_of(folded), atol=1e-12)


def boundary_rule(planes: list[float], counts: list[int], score: float) -> int:
    """Decode one score by the rule of corrections.md, C18, in plain Python."""
    used = [r for r, n in enumerate(counts) if n]
    theta, highest = [], -math.inf
    for r in used:
        highest = max(highest, planes[r])
        theta.append(highest)
    level = used[0]
    for k in range(len(used) - 1):
        n, m = counts[used[k]], counts[used[k + 1]]
        if score > theta[k] + n / (n + m) * (theta[k + 1] - theta[k]):
            level = used[k + 1]
    return level + 1


@given(
    st.lists(
        st.tuples(st.integers(-8, 8), st.integers(0, 4)), min_size=2, max_size=7
    ).filter(lambda pairs: any(n for _, n in pairs)),
    st.lists(st.integers(-40, 40), min_size=1, max_size=20),
)  # fmt: skip
def test_boundaries_by_brute_force(levels, scores):
    """On quarters, so that sums are exact unless counts divide badly; a score near a boundary is left out."""
    planes, counts = [p / 2 for p, _ in levels], [n for _, n in levels]
    table = np.where(np.array(counts) > 0, planes, np.nan)[None]
    found = boundaries(table, np.array(counts)[None])[0]
    assert np.all(found[1:] >= found[:-1])
    for score in scores:
        x = score / 4
        if np.abs(found - x).min() < 1e-5:
            continue
        level = 1 + int((x > found).sum())
        assert level == boundary_rule(planes, counts, x)
        assert counts[level - 1] > 0


def test_boundaries_lie_nearer_to_the_rarer_level():
    """b = θ_k + n_k / (n_k + n_{k+1}) (θ_{k+1} - θ_k)."""
    found = boundaries(np.array([[0.0, 4.0, 2.0, 6.0]]), np.array([[3, 1, 1, 7]]))
    assert found.tolist() == [[3.0, 4.0, 4.25]]  # the running maximum lifts the third plane to 4


def test_levels_that_a_user_never_used_are_never_predicted_for_him():
    pairs, y = picky()
    model = PMMMF(5, 0.3, random_state=0).fit(pairs, y)
    full = model.predict(np.argwhere(np.ones((31, 40)))).reshape(31, 40)
    for user in range(31):
        used = set(y[pairs[:, 0] == user])
        assert set(full[user]) <= used or not used
    assert np.mean(model.predict(pairs) == y) > 0.9


def test_a_level_that_nobody_used():
    model = PMMMF(5, 1.0, levels=[1, 2, 3, 4, 5, 6], random_state=0).fit(X, Y)
    assert set(model.predict([(i, j) for i in (-1, *range(40)) for j in range(30)])) == {1, 2, 3, 4, 5}
    assert np.isposinf(model.common_thresholds_[-1])
    lowest = PMMMF(5, 1.0, levels=[0, 1, 2, 3, 4, 5], random_state=0).fit(X, Y)
    assert np.isneginf(lowest.common_thresholds_[0])


def test_thresholds_of_unknown_users_are_means_of_finite_ones():
    model = PMMMF(5, 1.0, dtype="float64", random_state=0).fit(*picky())
    finite = np.where(np.isfinite(model.thresholds_), model.thresholds_, np.nan)
    np.testing.assert_allclose(model.common_thresholds_, np.maximum.accumulate(np.nanmean(finite, axis=0)))


def test_every_start_reaches_the_same_optimum_when_there_are_enough_factors():
    """The loss is convex in the scores: the planes are linear in them."""
    models = [
        PMMMF(30, 1.0, dtype="float64", tol=1e-12, max_iter=20000, random_state=seed).fit(X, Y) for seed in range(3)
    ]
    objectives = [model.objective_ for model in models]
    assert max(objectives) == pytest.approx(min(objectives), rel=1e-6)


def test_a_score_where_all_planes_coincide_gets_the_median_level():
    planes, counts = np.zeros((3, 3)), np.array([[3, 1, 1], [1, 3, 1], [2, 0, 3]])
    levels = 1 + (boundaries(planes, counts) < 0).sum(axis=1)
    assert levels.tolist() == [1, 2, 3]


def test_factors_of_zero_predict_median_levels():
    model = PMMMF(3, 1e5, alpha_bias=None, random_state=0)
    with pytest.warns(UserWarning, match="PMMMF: all factors are zero"):
        model.fit(X, Y)
    users = np.unique(X[:, 0])
    medians = [np.sort(own)[len(own) // 2] for own in (Y[X[:, 0] == user] for user in users)]
    assert model.predict([(user, 0) for user in users]).tolist() == medians
    assert model.fold_in([("new", 1), ("new", 2), ("new", 3)], [2, 4, 5]).predict([("new", 7)]) == [4]
