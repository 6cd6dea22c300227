"""Non-negative least squares of rows against SciPy's active-set method."""

import numpy as np
from scipy.optimize import nnls
from tests.together import together

from cofactor.kernels.nonnegative import nonnegative_rows
from cofactor.kernels.threads import thread_limit
from cofactor.solvers.linear import nonnegative_least_squares


def reference(gram, cross, tol, max_sweeps, out):  # type: ignore[no-untyped-def]
    """The kernel in NumPy: cyclic coordinate descent on ½ v·Gv - q·v over v >= 0."""
    for v, q in zip(out, cross, strict=True):
        for _ in range(max_sweeps):
            worst = 0.0
            for j in np.flatnonzero(np.diag(gram) > 0):
                slope = gram[j] @ v - q[j]
                if v[j] > 0 or slope < 0:
                    worst = max(worst, abs(slope))
                v[j] = max(v[j] - slope / gram[j, j], 0)
            if worst <= tol * np.abs(q).max():
                break


def setting(n: int = 40, D: int = 30, J: int = 12, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((n, D)) * (rng.random((n, D)) < 0.5), rng.random((J, D))


def test_kernel_equals_its_reference() -> None:
    X, B = setting()
    gram, cross = B @ B.T, X @ B.T
    for sweeps in (1, 3, 1000):
        got, expected = np.zeros(cross.shape), np.zeros(cross.shape)
        nonnegative_rows(0, len(cross), gram, cross, 1e-9, sweeps, got)
        reference(gram, cross, 1e-9, sweeps, expected)
        np.testing.assert_allclose(got, expected, atol=1e-9)


@together("seed", range(4))
def test_against_scipy(seed: int) -> None:
    X, B = setting(seed=seed)
    B[2] *= 1e-3  # bases of very different lengths
    V, unfinished = nonnegative_least_squares(B @ B.T, X @ B.T)
    expected = np.array([nnls(B.T, x)[0] for x in X])
    assert unfinished == 0
    assert 0.2 < np.mean(expected == 0) < 0.9
    np.testing.assert_allclose(V, expected, rtol=1e-4, atol=1e-5 * expected.max())
    assert V.min() == 0


def test_bases_which_nearly_depend_on_each_other() -> None:
    """Coefficients may then differ, what they explain may not."""
    X, B = setting()
    B = np.vstack([B, B[0] + 1e-3 * B[1], B[3]])
    V, _ = nonnegative_least_squares(B @ B.T, X @ B.T)
    best = np.array([nnls(B.T, x)[1] for x in X])
    np.testing.assert_allclose(np.linalg.norm(X - V @ B, axis=1), best, rtol=1e-5)


def test_rows_and_bases_of_zeros() -> None:
    X, B = setting()
    X[3], B[2] = 0, 0
    V, unfinished = nonnegative_least_squares(B @ B.T, X @ B.T)
    assert unfinished == 0
    assert not V[3].any()
    assert not V[:, 2].any()


def test_a_limit_is_told() -> None:
    X, B = setting()
    _, unfinished = nonnegative_least_squares(B @ B.T, X @ B.T, max_sweeps=1)
    assert unfinished == len(X)


def test_threads_change_nothing() -> None:
    X, B = setting(n=500)
    results = []
    for threads in (1, 4):
        with thread_limit(threads):
            results.append(nonnegative_least_squares(B @ B.T, X @ B.T)[0])
    assert np.array_equal(*results)
