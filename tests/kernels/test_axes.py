"""Principal axes and rotations against NumPy."""

import numpy as np
from tests.together import together

from cofactor.kernels.axes import principal_axes, rotate
from cofactor.kernels.threads import thread_limit


def skewed(n: int, lengths: np.ndarray, seed: int, dtype: type = np.float64) -> np.ndarray:
    """Random rows whose spread differs by direction, none of which is a coordinate."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(len(lengths), len(lengths))))[0]
    return (rng.normal(size=(n, len(lengths))) * lengths @ Q).astype(dtype)


@together("dtype", [np.float32, np.float64])
def test_axes_of_different_lengths_are_the_eigenvectors(dtype: type) -> None:
    A = skewed(2000, np.array([8.0, 4.0, 2.0, 1.0]), 0, dtype)
    axes = principal_axes((A[:700], A[700:]))
    np.testing.assert_allclose(axes.T @ axes, np.eye(4), atol=1e-12)
    exact = np.linalg.eigh(A.astype(float).T @ A.astype(float))[1][:, ::-1]
    np.testing.assert_allclose(np.abs(np.sum(axes * exact, axis=0)), 1, atol=2e-2)


@together("rank", [0, 1, 3])
def test_axes_are_orthogonal_for_any_rank(rank: int) -> None:
    lengths = np.zeros(12)
    lengths[:rank] = 1.0
    axes = principal_axes((skewed(50, lengths, 1), skewed(30, lengths, 1)))
    np.testing.assert_allclose(axes.T @ axes, np.eye(12), atol=1e-10)


@together("n", [1, 511, 513, 40_000])
def test_rotation_in_place(n: int) -> None:
    A = skewed(n, np.linspace(1, 2, 7), 2)
    axes = principal_axes((A,))
    expected = A @ axes
    rotate(A, axes)
    np.testing.assert_allclose(A, expected, atol=1e-12)


def test_bits_do_not_depend_on_threads() -> None:
    A = skewed(5000, np.linspace(1, 3, 20), 3, np.float32)
    results = []
    for threads in (1, 2, 3):
        with thread_limit(threads):
            axes, B = principal_axes((A, A[:77])), A.copy()
            rotate(B, axes)
        results.append((axes, B))
    for axes, B in results[1:]:
        assert np.array_equal(axes, results[0][0])
        assert np.array_equal(B, results[0][1])
