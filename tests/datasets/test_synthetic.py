"""The synthetic generator: its fixed point, its seeds, its sample."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from tests.together import together
from threadpoolctl import threadpool_info, threadpool_limits

from cofactor.datasets import make_ratings, synthetic
from cofactor.datasets.synthetic import _stabilise, _start_from_factors


def test_default_sizes():
    data, complete = make_ratings(random_state=0, return_complete=True)
    assert complete.shape == (1000, 1000)
    assert data.n_ratings == 100_000
    assert data.scale.tolist() == [1, 2, 3, 4, 5]
    assert set(np.unique(complete)) == {1, 2, 3, 4, 5}
    # all levels stay in use, and users' means explain next to nothing
    assert min(data.level_counts()) > 5000
    assert complete.mean(axis=1).var() < 0.05 * complete.var()


@given(
    n=st.integers(1, 30),
    m=st.integers(1, 30),
    d=st.integers(1, 6),
    levels=st.integers(2, 7),
    density=st.floats(0.01, 1),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=40)
def test_sample_agrees_with_the_complete_matrix(n, m, d, levels, density, seed):
    d = min(d, n, m)
    data, complete = make_ratings(n, m, d, levels, density, random_state=seed, return_complete=True)
    assert complete.shape == (n, m)
    assert np.isin(complete, np.arange(1, levels + 1)).all()
    np.testing.assert_array_equal(complete[data.X[:, 0], data.X[:, 1]], data.y)
    assert len(np.unique(data.X, axis=0)) == len(data.X) == max(1, round(density * (n * m)))
    order = np.lexsort((data.X[:, 1], data.X[:, 0]))
    np.testing.assert_array_equal(order, np.arange(len(order)))


def printed_steps(Y, U, n_levels):
    """The steps of the source, with inverses, until a whole round changes nothing."""
    for _ in range(3000):
        V = Y.T @ U @ np.linalg.inv(U.T @ U)
        Y1 = np.clip(np.round(U @ V.T), 1, n_levels)
        U = Y1 @ V @ np.linalg.inv(V.T @ V)
        Y2 = np.clip(np.round(U @ V.T), 1, n_levels)
        if (Y1 == Y).all() and (Y2 == Y1).all():
            return Y2
        Y = Y2
    raise AssertionError("no fixed point")


@together("start", ["factors", "uniform"])
@together("seed", range(12))
def test_result_is_that_of_the_printed_steps(start, seed):
    n, m, d, n_levels = 40, 30, 4, 5
    _, complete = make_ratings(n, m, d, n_levels, start=start, random_state=seed, return_complete=True)
    rng = np.random.default_rng(seed)
    if start == "factors":
        Y, U = _start_from_factors(rng, n, m, d, n_levels)
    else:
        Y = rng.integers(1, n_levels + 1, size=(n, m)).astype(float)
        U = rng.random((n, d))
    np.testing.assert_array_equal(complete, printed_steps(Y, U, n_levels))


def test_a_change_in_the_second_step_counts():
    """Stable means that neither step changes the matrix; here the first one alone leaves it as it is."""
    rng = np.random.default_rng(43)
    U = np.column_stack((np.ones(6), rng.standard_normal((6, 2))[:, 1]))
    for _ in range(1000):
        Y = np.clip(np.rint(U @ (rng.standard_normal((2, 5)) + np.array([[3.0], [0.0]]))), 1, 5)
        V_t = np.linalg.pinv(U) @ Y
        first = np.clip(np.rint(U @ V_t), 1, 5)
        second = np.clip(np.rint(Y @ np.linalg.pinv(V_t) @ V_t), 1, 5)
        if (first == Y).all() and not (second == Y).all():
            break
    assert (first == Y).all()
    assert not (second == Y).all()
    assert _stabilise(Y, U, 5, 1) == (1, False)
    np.testing.assert_array_equal(Y, second)


def test_stable_matrix_is_left_alone():
    Y = np.add.outer(np.arange(3.0), np.ones(4))
    before = Y.copy()
    rounds, stable = _stabilise(Y, np.column_stack((np.ones(3), np.arange(3.0))), 3, 5)
    assert (rounds, stable) == (1, True)
    np.testing.assert_array_equal(Y, before)


def test_seeds():
    first, again, other = (make_ratings(50, 40, 3, random_state=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.X, again.X)
    np.testing.assert_array_equal(first.y, again.y)
    assert not np.array_equal(first.y, other.y)
    a = make_ratings(50, 40, 3, random_state=np.random.default_rng(1))
    np.testing.assert_array_equal(first.y, a.y)
    b, c = (make_ratings(50, 40, 3, random_state=np.random.RandomState(5)) for _ in range(2))
    np.testing.assert_array_equal(b.X, c.X)
    np.testing.assert_array_equal(b.y, c.y)


def test_result_does_not_depend_on_the_number_of_blas_threads():
    results = set()
    for threads in (1, 2, 3):
        with threadpool_limits(limits=threads):
            data, complete = make_ratings(400, 300, 4, random_state=3, return_complete=True)
        results.add(complete.tobytes() + data.X.tobytes() + data.y.tobytes())
    assert len(results) == 1


def test_blas_works_with_one_thread(monkeypatch):
    seen = []

    def spy(*args):
        seen.extend(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
        return _stabilise(*args)

    monkeypatch.setattr(synthetic, "_stabilise", spy)
    with threadpool_limits(limits=2, user_api="blas"):
        make_ratings(10, 10, 2, random_state=0)
    assert seen
    assert set(seen) == {1}


def test_full_density_and_tiny_density():
    data, complete = make_ratings(6, 7, 2, density=1.0, random_state=0, return_complete=True)
    np.testing.assert_array_equal(data.y, complete.ravel())
    assert make_ratings(6, 7, 2, density=1e-9, random_state=0).n_ratings == 1


def test_unfinished_matrix_warns():
    with pytest.warns(ConvergenceWarning, match="max_iter=1 rounds; raise max_iter"):
        _, complete = make_ratings(50, 50, 5, max_iter=1, random_state=0, return_complete=True)
    assert set(np.unique(complete)) <= {1, 2, 3, 4, 5}


@together(
    ("kwargs", "error", "message"),
    [
        ({"n_users": 0}, ValueError, "n_users=0: expected a whole number of at least 1"),
        ({"n_items": 2.5}, TypeError, "n_items=2.5: expected a whole number"),
        ({"n_users": True}, TypeError, "n_users=True: expected a whole number"),
        ({"n_factors": 11, "n_users": 10}, ValueError, r"n_factors=11: must not exceed .* = 10"),
        ({"n_levels": 1}, ValueError, "n_levels=1: expected a whole number of at least 2"),
        ({"density": 0}, ValueError, "density=0: expected a number above 0 and at most 1"),
        ({"density": float("nan")}, ValueError, "density=nan: expected a number above 0"),
        ({"start": "x"}, ValueError, "start='x': expected one of 'factors', 'uniform'"),
        ({"max_iter": 0}, ValueError, "max_iter=0: expected a whole number of at least 1"),
    ],
)
def test_bad_arguments(kwargs, error, message):
    with pytest.raises(error, match=message):
        make_ratings(**kwargs)
