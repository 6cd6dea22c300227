"""The same seed gives the same bits: for any number of threads, any carrier of parallel tasks, any order of rows."""

from functools import lru_cache

import joblib
import numpy as np
import pytest

from cofactor.kernels.threads import thread_limit
from cofactor.ratings import RatingModel

from .models import CASES, all_pairs, bits, data, every, fitted, fresh, having, planted

parallel = pytest.mark.parametrize("name", [n for n, case in CASES.items() if hasattr(case.model, "n_jobs")])


@lru_cache
def large_data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return data of several blocks for every parallel loop: 60,000 ratings, 600 users, 300,000 pairs."""
    return planted(CASES[name].scale, 600, 500, 0.2)


@lru_cache
def large_model(name: str, threads: int) -> RatingModel:
    with thread_limit(threads):
        return fresh(name, tol=0.05).fit(*large_data(name))


@every
def test_same_seed_same_bits(name):
    model = fresh(name)
    assert bits(model.fit(*data(name))) == bits(fitted(name))
    assert bits(model.fit(*data(name))) == bits(fitted(name))  # fitting again starts anew


@every
def test_another_seed_another_model(name):
    assert bits(fresh(name).set_params(random_state=1).fit(*data(name))) != bits(fitted(name))


@every
@pytest.mark.parametrize("make", [np.random.default_rng, np.random.RandomState, np.int64])
def test_every_kind_of_random_state(name, make):
    first, second = (fresh(name).set_params(random_state=make(3)).fit(*data(name)) for _ in range(2))
    assert bits(first) == bits(second)


@every
@pytest.mark.parametrize("threads", [2, 3])
def test_threads_do_not_change_a_bit(name, threads):
    one, more = large_model(name, 1), large_model(name, threads)
    assert bits(one) == bits(more)
    X, _ = large_data(name)
    pairs, new = all_pairs(one), X[:, 0] < 250
    assert len(pairs) > 1 << 18
    results, folded = [], []
    for model, limit in ((one, 1), (more, threads)):
        with thread_limit(limit):
            folded.append(model.fold_in(X[new], large_data(name)[1][new]))
            results.append(
                [
                    model.predict(pairs), model.decision_function(pairs), model.margins(pairs), model.complete(),
                    *model.recommend(model.users_.ids, 7), *model.recommend(model.users_.ids, 7, exclude_seen=False),
                    folded[-1].predict(X[new]), folded[-1].recommend(folded[-1].users_.ids, 7)[0],
                ]
            )  # fmt: skip
    assert bits(folded[0]) == bits(folded[1])
    for a, b in zip(*results, strict=True):
        assert np.array_equal(a, b)


@parallel
@pytest.mark.parametrize("backend", ["threading", "loky", "sequential"])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_carriers_of_parallel_tasks_do_not_change_a_bit(name, backend, n_jobs):
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        assert bits(fresh(name).fit(*data(name))) == bits(fitted(name))


@parallel
@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_n_jobs_does_not_change_a_bit(name, n_jobs):
    assert bits(fresh(name).set_params(n_jobs=n_jobs).fit(*data(name))) == bits(fitted(name))


@parallel
def test_callbacks_stay_at_home_when_processes_carry_the_tasks(name):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        model = fresh(name).set_params(callback=[].append, verbose=1).fit(*data(name))
    assert bits(model) == bits(fitted(name))


@every
def test_order_of_rows_does_not_change_a_bit(name):
    X, y = data(name)
    order = np.random.default_rng(5).permutation(len(y))
    assert bits(fresh(name).fit(X[order], y[order])) == bits(fitted(name))


@every
def test_names_in_the_same_order_change_nothing_but_names(name):
    X, y = data(name)
    texts = [(f"user {u:04d}", f"item {i:04d}") for u, i in X.tolist()]
    numbers = X * [3, 10] - [5000, 7]
    for renamed in (texts, numbers):
        model = fresh(name).fit(renamed, y)
        assert np.array_equal(model.predict(renamed), fitted(name).predict(X))
        assert np.array_equal(model.decision_function(renamed), fitted(name).decision_function(X))
        learned = {key: value for key, value in bits(model).items() if "learned." in key}
        assert learned == {key: value for key, value in bits(fitted(name)).items() if "learned." in key}


@having("dtype")
def test_single_and_double_precision_agree(name):
    X, _ = data(name)
    single, double = (fresh(name, dtype=t).fit(*data(name)) for t in ("float32", "float64"))
    assert bits(single) == bits(fitted(name))
    a, b = single.decision_function(X), double.decision_function(X)
    assert b.dtype == np.float64
    assert np.abs(a - b).max() < 0.05 * b.std()
    assert np.mean(single.predict(X) != double.predict(X)) < 0.01
