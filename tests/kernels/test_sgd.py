"""Stochastic steps on products A M against steps on the dense matrices themselves."""

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.kernels import sgd

D, L, S = 30, 12, 5


def triplets(A: sparse.csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return A.indptr.astype(np.int64), A.indices.astype(np.int32), A.data


def data(n: int, seed: int = 0) -> tuple[sparse.csr_array, sparse.csr_array]:
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.normal(size=(n, D)) * (rng.random((n, D)) < 0.3))
    Y = sparse.csr_array((rng.random((n, L)) < 0.2).astype(float))
    return X, Y


def side(matrix: np.ndarray) -> tuple[np.ndarray, ...]:
    s = matrix.shape[1]
    return matrix.copy(), np.eye(s), np.eye(s), matrix.T @ matrix


def starts(scale: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return scale * rng.normal(size=(D, S)), scale * rng.normal(size=(L, S))


def reference(X, Y, P, Q, order, a, ridge, decay, inverse_step):  # type: ignore[no-untyped-def]
    """corrections.md, C43 to C47 on dense matrices, with the bound on steps."""
    P, Q = P.copy(), Q.copy()
    for i in order:
        x, y = X[[i]].toarray()[0], Y[[i]].toarray()[0]
        system = ridge * np.eye(S) + (1 - a) * P.T @ P + a * Q.T @ Q
        h = np.linalg.solve(system, (1 - a) * P.T @ x + a * Q.T @ y)
        c = 1 - min(decay / inverse_step, 0.5)
        for matrix, row, weight in ((P, x, 1 - a), (Q, y, a)):
            b = min(weight / inverse_step, sgd.LARGEST_SHARE * c / max(h @ h, 1e-300))
            matrix[...] = c * matrix + b * np.outer(row - matrix @ h, h)
        inverse_step += decay
    return P, Q, inverse_step


@together("inverse_step", [0.02, 0.3, 3.0])  # the shortest one runs into the bound on steps
@together("decay", [0.0, 0.01, 5.0])
def test_steps_are_those_on_the_dense_matrices(inverse_step: float, decay: float) -> None:
    X, Y = data(40)
    P, Q = starts()
    order = np.random.default_rng(2).permutation(40)
    features, labels = side(P), side(Q)
    k, final = sgd.sweep(
        order, 0, triplets(X), triplets(Y), features, labels, np.ones(2), 0.7, 0.2, decay, inverse_step, 1e12
    )  # fmt: skip
    assert 0 < k <= 40
    expected = reference(X, Y, P, Q, order[:k], 0.7, 0.2, decay, inverse_step)
    assert final == pytest.approx(expected[2], rel=1e-12)
    for (A, M, N, G), matrix in zip((features, labels), expected[:2], strict=True):
        np.testing.assert_allclose(A @ M, matrix, atol=1e-7)
        np.testing.assert_allclose(M @ N, np.eye(S), atol=1e-6)
        np.testing.assert_allclose(G, matrix.T @ matrix, atol=1e-7)


def test_gram_matrix_drifts_by_rounding_only() -> None:
    """corrections.md, C51a: the rank-two rule over a pass of short steps, during which nothing is formed anew."""
    X, Y = data(2000)
    P, Q = starts()
    features, labels = side(P), side(Q)
    k, _ = sgd.sweep(
        np.arange(2000), 0, triplets(X), triplets(Y), features, labels, np.ones(2), 0.5, 0.5, 1e-4, 50.0, 1e100
    )  # fmt: skip
    assert k == 2000
    for A, M, _, G in (features, labels):
        matrix = A @ M
        assert np.abs(matrix.T @ matrix - G).max() < 1e-12 * np.abs(G).max()


def test_stops_before_the_factor_is_ill_conditioned_and_goes_on_where_it_stopped() -> None:
    X, Y = data(60)
    P, Q = starts()
    order = np.arange(60)
    matrices, k, inverse_step, stops = [P.copy(), Q.copy()], 0, 0.5, 0
    while k < 60:
        sides = [side(matrix) for matrix in matrices]
        k, inverse_step = sgd.sweep(
            order, k, triplets(X), triplets(Y), sides[0], sides[1], np.ones(2), 0.7, 0.2, 0.01, inverse_step, 50.0
        )  # fmt: skip
        for _, M, _, _ in sides:
            assert np.linalg.cond(M) < 50 / (1 - sgd.LARGEST_SHARE)
        matrices = [A @ M for A, M, _, _ in sides]
        stops += 1
    assert stops > 3
    expected = reference(X, Y, P, Q, order, 0.7, 0.2, 0.01, 0.5)
    np.testing.assert_allclose(matrices[0], expected[0], atol=1e-10)
    np.testing.assert_allclose(matrices[1], expected[1], atol=1e-10)


def test_empty_rows_only_shrink() -> None:
    X, Y = sparse.csr_array((1, D)), sparse.csr_array((1, L))
    P, Q = starts()
    features, labels = side(P), side(Q)
    sgd.sweep(np.arange(1), 0, triplets(X), triplets(Y), features, labels, np.ones(2), 0.5, 0.5, 0.1, 1.0, 1e6)
    np.testing.assert_allclose(features[0] @ features[1], 0.9 * P, atol=1e-14)
    np.testing.assert_allclose(labels[0] @ labels[1], 0.9 * Q, atol=1e-14)
