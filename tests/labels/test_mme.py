"""MME: its costs against repeated instances, its derivatives, and the choice of costs."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from cofactor.errors import InvalidInputError
from cofactor.labels import LEML, MME
from cofactor.losses import SmoothHinge, Squared
from cofactor.penalties import L2
from cofactor.problems import LabelSetProblem, LowRankProblem


def made(n: int = 40) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 4))
    return X, (X @ rng.normal(size=(4, 3)) + 0.5 * rng.normal(size=(n, 3)) > [0.0, 1.0, 2.0]).astype(int)


def test_gradient_of_costs_and_refusal() -> None:
    X, Y = made(12)
    weights = {"loss": SmoothHinge(), "n_factors": 2, "penalties": {"U": L2(0.3), "V": L2(0.3)}}
    problem = LowRankProblem(
        X, sparse.csr_array(Y), **weights, fit_intercept=True, dtype=np.float64,
        positive_weights=np.array([1.0, 3.0, 0.5]), scores_per_block=9,
    )  # fmt: skip
    x = np.random.default_rng(1).normal(size=problem.start().size)
    gradient, other = np.empty_like(x), np.empty_like(x)
    problem.value_gradient(x, gradient)
    for k, one in enumerate(1e-5 * np.eye(len(x))):
        slope = (problem.value_gradient(x + one, other) - problem.value_gradient(x - one, other)) / 2e-5
        assert abs(slope - gradient[k]) < 1e-6
    with pytest.raises(InvalidInputError, match="for margin losses"):
        LowRankProblem(X, sparse.csr_array(Y), Squared(), 2, {}, positive_weights=np.ones(3))


def test_unit_costs_are_leml_and_root_costs_are_instances_twice() -> None:
    X, Y = made()
    settings = {"alpha": 1.0, "scale": "none", "threshold": 0, "tol": 1e-9}
    unit = MME(3, cost="unit", **settings).fit(X, Y)
    same = LEML(3, loss="smooth-hinge", **settings).fit(X, Y)
    np.testing.assert_allclose(unit.decision_function(X), same.decision_function(X), atol=1e-6)
    one = np.arange(50) % 5 == 0  # four times as many without the label, so those with it cost twice as much
    features = np.random.default_rng(2).normal(size=(50, 4)) + one[:, None]
    rows = np.concatenate([np.arange(50), np.flatnonzero(one)])
    root = MME(1, cost="root", **settings).fit(features, one[:, None])
    twice = MME(1, cost="unit", **settings).fit(features[rows], one[rows][:, None])
    np.testing.assert_allclose(root.decision_function(features), twice.decision_function(features), atol=1e-4)


def test_costs_are_chosen_and_refused() -> None:
    X, Y = made(80)
    model = MME.paper(3, random_state=0).fit(X, Y)
    assert model.cost_ in ("unit", "root")
    assert model._resolved_params()["cost"] == model.cost_
    unit, root = (MME(3, cost=cost, threshold=0, tol=1.0).fit(X, Y) for cost in ("unit", "root"))
    assert root.alpha_ == pytest.approx(2 * unit.alpha_)
    with pytest.raises(InvalidInputError, match="cost='high'"):
        MME(cost="high").fit(X, Y)


def pair_losses(scores: np.ndarray, Y: np.ndarray, sets: np.ndarray) -> float:
    """Return the sum of the largest violations, by the definition."""
    return sum(max(np.sum(y != t) + f @ (t - y) for t in sets) for f, y in zip(scores, Y, strict=True))


def test_pairs_are_those_of_the_definition_and_their_gradient_is_right() -> None:
    rng = np.random.default_rng(0)
    X, sets = rng.normal(size=(9, 4)), np.array([[1, 0, 0], [0, 1, 1], [1, 1, 0], [0, 0, 0]])
    own = rng.integers(4, size=9)
    ridge = {"U": L2(0.3), "V": L2(0.3)}
    for temperature, weights in ((1.0, None), (1e-4, None), (0.5, rng.random(9))):
        problem = LabelSetProblem(X, sparse.csr_array(sets), own, 2, ridge, temperature=temperature, weights=weights)
        x = rng.normal(size=problem.size)
        slope, other = np.empty_like(x), np.empty_like(x)
        value = problem.value_gradient(x, slope)
        arrays = problem.layout.views(x)
        exact = pair_losses(X @ arrays["U"] @ arrays["V"] + arrays["c"], sets[own], sets)
        exact += 0.15 * (np.sum(arrays["U"] ** 2) + np.sum(arrays["V"] ** 2))
        if weights is None:
            assert exact - 1e-9 <= value <= exact + 9 * temperature * np.log(4)
        if temperature == 1e-4:
            continue
        for k, one in enumerate(1e-5 * np.eye(len(x))):
            numeric = (problem.value_gradient(x + one, other) - problem.value_gradient(x - one, other)) / 2e-5
            assert abs(numeric - slope[k]) < 1e-6


def test_pairs_decide_for_the_best_label_set_of_training() -> None:
    X, Y = made(60)
    model = MME.paper(3, form="pairs", random_state=0).fit(X, Y)
    scores = X @ model.U_ @ model.V_ + model.intercept_
    sets = model.sets_.toarray().astype(int)
    best = sets[np.argmax([[f @ t for t in sets] for f in scores], axis=1)]
    np.testing.assert_array_equal(model.predict(X), best)
    assert np.mean(best == Y) > 0.85
    assert not hasattr(model, "explain")
    with pytest.raises(InvalidInputError, match="pairs of label sets need all labels"):
        MME.paper(3, form="pairs").fit(X, Y, mask=np.arange(180).reshape(60, 3) % 7 > 0)


def test_pairs_of_sparse_weighted_and_saved() -> None:
    X, Y = made()
    weights = np.random.default_rng(1).integers(0, 3, len(X))
    model = MME(2, 1.0, form="pairs", scale="none", threshold=0, tol=1e-12, max_iter=2000)
    repeated = clone(model).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0)).decision_function(X)
    given = sparse.csr_array(X)
    weighted = clone(model).fit(given, sparse.csr_array(Y), weights).decision_function(given)
    np.testing.assert_allclose(weighted, repeated, atol=2e-3 * repeated.std())
    header, arrays = model.fit(X, Y)._to_state()
    np.testing.assert_array_equal(MME._from_state(header, arrays).decision_function(X), model.decision_function(X))
    model.sets_ = model.sets_.minimum(0)
    with pytest.raises(InvalidInputError, match="each label must be in some of the label sets"):
        MME._from_state(*model._to_state())
