"""MME: its costs against repeated instances, its derivatives, and the choice of costs."""

import numpy as np
import pytest
from scipy import sparse

from cofactor.errors import InvalidInputError
from cofactor.labels import LEML, MME
from cofactor.losses import SmoothHinge, Squared
from cofactor.penalties import L2
from cofactor.problems import LowRankProblem


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
    assert model._settled()["cost"] == model.cost_
    with pytest.raises(InvalidInputError, match="cost='high'"):
        MME(cost="high").fit(X, Y)
