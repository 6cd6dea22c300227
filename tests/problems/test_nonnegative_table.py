"""Non-negative factorization of a table: derivatives, descent, and the start."""

import numpy as np
from scipy import sparse

from cofactor.problems import NonnegativeTableProblem


def test_gradient_value_and_descent() -> None:
    T = np.random.default_rng(0).random((9, 6))
    for table in (T, T.T, sparse.csr_array(T)):
        problem = NonnegativeTableProblem(table, 3)
        x = problem.start()
        problem.update(x)
        arrays, slope = problem.layout.views(x), np.empty_like(x)
        value = problem.value_gradient(x, slope)
        dense = table.toarray() if sparse.issparse(table) else table
        np.testing.assert_allclose(value, np.linalg.norm(dense - arrays["H"] @ arrays["B"]) ** 2)
        for k, one in enumerate(1e-5 * np.eye(len(x))):
            sides = [problem.value_gradient(x + sign * one, np.empty_like(x)) for sign in (1, -1)]
            assert abs((sides[0] - sides[1]) / 2e-5 - slope[k]) < 1e-6
        problem.update(x)
        assert problem.value_gradient(x, slope) < value
        assert (x >= 0).all()


def test_the_start_has_no_more_bases_than_the_rank() -> None:
    T = np.outer(np.arange(1.0, 5), np.arange(1.0, 4))
    problem = NonnegativeTableProblem(T, 3)
    assert problem.layout.shapes["B"] == (1, 3)
    x = problem.start()
    problem.update(x)
    assert problem.value_gradient(x, np.empty_like(x)) < 1e-9
