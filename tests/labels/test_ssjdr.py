"""SSJDR against its objective by hand, and against LEML, which it is without the graph."""

import numpy as np
import pytest
from scipy import sparse

from cofactor.labels import LEML, SSJDR
from cofactor.labels.specific.ssjdr import graph_laplacian
from cofactor.penalties import GraphL2

from .test_mlknn import toy


def connected(X: np.ndarray, k: int) -> np.ndarray:
    """Which instances are among the k nearest of each other, ties to the lower number."""
    n = len(X)
    E = np.zeros((n, n))
    for i in range(n):
        others = [j for j in range(n) if j != i]
        for j in sorted(others, key=lambda j: (round(float(np.sum((X[i] - X[j]) ** 2)), 6), j))[:k]:
            E[i, j] = E[j, i] = 1
    return E


@pytest.mark.parametrize("k", [1, 5, 40])
def test_neighbours_are_connected_both_ways(k: int) -> None:
    X, _, _ = toy()
    E = connected(X, k)
    for given in (X, sparse.csr_array(X)):
        np.testing.assert_allclose(graph_laplacian(given, k).toarray(), np.diag(E.sum(axis=1)) - E)


def test_objective_by_hand_and_its_gradient() -> None:
    X, Y, _ = toy()
    model = SSJDR.paper(2, 0.7, 0.05, alpha_u=0.3, tol=1e-10).fit(X, Y)
    scores = X @ model.U_ @ model.V_ + model.intercept_
    margins = np.where(Y > 0, scores, -scores)
    hinge = np.where(margins >= 1, 0, np.where(margins <= 0, 0.5 - margins, (1 - margins) ** 2 / 2))
    codes, E = X @ model.U_, connected(X, 5)
    pairs = sum(E[i, j] * np.sum((codes[i] - codes[j]) ** 2) for i in range(len(X)) for j in range(len(X)))
    penalties = 0.05 / 2 * pairs + 0.3 / 2 * np.sum(model.U_**2) + 0.7 / 2 * np.sum(model.V_**2)
    assert model.objective_ == pytest.approx(hinge.sum() + penalties)
    slopes = np.where(Y > 0, 1, -1) * np.clip(margins - 1, -1, 0)
    spread = 2 * X.T @ (np.diag(E.sum(axis=1)) - E) @ codes
    for slope in (
        X.T @ slopes @ model.V_.T + 0.05 * spread + 0.3 * model.U_,
        codes.T @ slopes + 0.7 * model.V_,
        slopes.sum(axis=0),
    ):
        np.testing.assert_allclose(slope, 0, atol=1e-3)
    penalty, step = GraphL2(0.3, 0.05, X, graph_laplacian(X, 5)), 1e-6
    gradient = np.zeros_like(model.U_)
    penalty.add_gradient(model.U_, gradient)
    for where in np.ndindex(gradient.shape):
        move = np.zeros_like(gradient)
        move[where] = step
        slope = (penalty.value(model.U_ + move) - penalty.value(model.U_ - move)) / (2 * step)
        assert gradient[where] == pytest.approx(slope, abs=1e-7)


def test_without_the_graph_it_is_leml() -> None:
    X, Y, new = toy()
    plain = LEML.paper(3, 2.0, loss="smooth-hinge").fit(X, Y)
    model = SSJDR.paper(3, 2.0, 0.0, alpha_u=2.0).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(new), plain.decision_function(new), atol=1e-9)


def test_a_heavy_graph_gives_neighbours_like_codes() -> None:
    X, Y, _ = toy()
    codes = [X @ SSJDR.paper(2, 1.0, gamma).fit(X, Y).U_ for gamma in (0.0, 10.0)]
    L = graph_laplacian(X, 5)
    spread = [float(np.sum(c * (L @ c)) / np.sum((c - c.mean(axis=0)) ** 2)) for c in codes]
    assert spread[1] < spread[0]
