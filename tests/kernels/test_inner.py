"""Inner products of all rows of two tables against NumPy, and in any company."""

import numpy as np
from tests.together import together

from cofactor.kernels.cooccurrences import inner_products


@together("dtype", [np.float32, np.float64])
@together(("n", "m", "d"), [(9, 7, 3), (1, 5, 16), (6, 1, 37), (4, 8, 0), (0, 3, 2), (11, 30, 64)])
def test_products_are_numpy_s_and_have_the_same_bits_in_any_company(n: int, m: int, d: int, dtype: type) -> None:
    rng = np.random.default_rng([n, m, d])
    A, B = (rng.normal(size=(k, d)).astype(dtype) for k in (n, m))
    out = np.empty((n, m), dtype)
    inner_products(A, B, 0, len(B), out)
    exact = A.astype(float) @ B.T.astype(float)
    size = np.abs(A).astype(float) @ np.abs(B.T).astype(float)
    assert (np.abs(out - exact) <= (d + 1) * np.finfo(dtype).eps * size).all()
    for i in range(n):
        for j in range(m):
            alone = np.empty((1, m), dtype)
            inner_products(A[i : i + 1], B, j, len(B), alone)
            assert np.array_equal(alone[0, j:], out[i, j:])
