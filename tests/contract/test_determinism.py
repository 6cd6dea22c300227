"""The same seed gives the same bits: for any number of threads, any carrier of parallel tasks, any order of rows."""

import re
import sys
from collections.abc import Callable
from copy import copy
from functools import lru_cache

import joblib
import numpy as np
import pytest

from cofactor.kernels.threads import parallel_for, thread_limit
from cofactor.ratings import RatingModel

from .models import (
    CASES,
    all_pairs,
    bits,
    data,
    every,
    every_class,
    every_class_having,
    fitted,
    fresh,
    having,
    planted,
    probed,
)

#: The first case of each class that has tasks side by side, and one whose tasks have tasks.
parallel = pytest.mark.parametrize(
    "name", [*(n for n in every_class.args[1] if hasattr(CASES[n].model, "n_jobs")), "Ensemble of HMF, bagging"]
)


#: Sizes of the blocks that threads take, made so small that the data of a test has several of each. Kernels are
#: compiled with the sizes they know: those stay.
SMALL_BLOCKS = {
    "ratings.blocks.BLOCK_BYTES": 16_000,
    "ratings.blocks._COLUMNS": 7,
    "ratings.sampled.fold_in._ENTRIES": 100,
    "ratings.profiles.attitudes._URP_ENTRIES": 100,
    "ratings.profiles.attitudes._ATTITUDE_ENTRIES": 100,
    "ratings.profiles.gplvm._ENTRIES_PER_BLOCK": 100,
    "problems.profiles._ENTRIES_PER_TASK": 100,
    "problems.max_entropy._ENTRIES_PER_BLOCK": 100,
    "problems.least_squares.ENTRIES_PER_BLOCK": 100,
    "problems.observed.ENTRIES_PER_BLOCK": 100,
    "problems.priors._BLOCK": 16,
    "problems.profiles._ENTRIES_PER_BLOCK": 100,
    "problems.rows._ENTRIES": 100,
    "problems.rows._DRAWN": 8,
    "problems.singular._ENTRIES_PER_BLOCK": 100,
    "problems.priors._ENTRIES": 100,
    "kernels.axes._ROWS": 16,
    "kernels.regression._BLOCK": 16,
}


@lru_cache
def blocks_data(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return data of several small blocks for every parallel loop: 1,500 ratings, 60 users, 3,000 pairs."""
    return planted(CASES[name].scale, 60, 50, 0.5)


def shrink_blocks(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Make blocks small; return the most blocks that each parallel loop had, in which they are counted from now on."""
    for place, size in SMALL_BLOCKS.items():
        monkeypatch.setattr(f"cofactor.{place}", size)
    most: dict[str, int] = {}

    def counted(task: Callable[[int], object], n_tasks: int) -> None:
        where = f"{task.__module__}.{task.__qualname__}"
        most[where] = max(most.get(where, 0), n_tasks)
        parallel_for(task, n_tasks)

    for module in [
        m for key, m in sys.modules.items() if key.startswith("cofactor.") and key != parallel_for.__module__
    ]:
        if hasattr(module, "parallel_for"):
            monkeypatch.setattr(module, "parallel_for", counted)
    return most


@every_class
def test_a_new_user_beside_others_is_as_alone_to_the_bit(name):
    model, scale = fitted(name), CASES[name].scale
    items = model.items_.ids
    rated = {"ann": items[:3], "bob": items[2:19], "cat": items[::5], "dan": items[:1]}
    X = [(user, item) for user, own in rated.items() for item in own]
    y = np.resize(scale, len(X))
    together = model.fold_in(X, y)
    for user in rated:
        here = [k for k, (other, _) in enumerate(X) if other == user]
        alone = model.fold_in([X[k] for k in here], y[here])
        pairs = [(user, item) for item in items]
        assert np.array_equal(together.decision_function(pairs), alone.decision_function(pairs))
        assert np.array_equal(together.margins(pairs), alone.margins(pairs))


@every_class_having("random_state")
def test_another_seed_another_model(name):
    assert bits(fresh(name).set_params(random_state=1).fit(*data(name))) != bits(fitted(name))


@probed("fit")
@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng, np.int64])
def test_every_kind_of_random_state(name, make):
    first, second = (fresh(name).set_params(random_state=make(3)).fit(*data(name)) for _ in range(2))
    assert bits(first) == bits(second)


#: Settings by which a class runs the same loops as by those of its first case.
SAME_LOOPS = {
    *("RatingSVD, item means", "BPMF, precision of the paper", "URP, learned concentration", "GibbsMMMF, fixed prior"),
    *("GibbsIPMMMF, learned prior", "Ensemble of HMF, bagging"),
}


@pytest.mark.parametrize("name", [name for name in CASES if name not in SAME_LOOPS])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_threads_do_not_change_a_bit(name, monkeypatch):
    blocks = shrink_blocks(monkeypatch)
    X, y = blocks_data(name)
    new = X[:, 0] < 25
    results, learned = [], []
    for threads in (1, 3):
        with thread_limit(threads):
            # Few steps, since each runs all loops.
            model = fresh(name, tol=0.05, max_iter=3, n_sweeps=4, burn_in=2).fit(X, y)
            pairs, folded = all_pairs(model), model.fold_in(X[new], y[new], known="replace")
            updated = copy(model).update(X[::3], y[::3])
            learned.append((bits(model), bits(folded), bits(updated)))
            results.append(
                [
                    model.predict(pairs), model.decision_function(pairs), model.margins(pairs), model.complete(),
                    *model.recommend(model.users_.ids, 7), *model.recommend(model.users_.ids, 7, exclude_seen=False),
                    folded.predict(X[new]), folded.recommend(folded.users_.ids, 7)[0],
                ]
            )  # fmt: skip
    single = {loop for loop, n_blocks in blocks.items() if n_blocks < 2 and not loop.startswith("cofactor.kernels.vec")}
    assert not single, f"these loops had one block only, so that threads had nothing to share: {single}"
    assert learned[0] == learned[1]
    for a, b in zip(*results, strict=True):
        assert np.array_equal(a, b)


@parallel
@pytest.mark.parametrize(("n_jobs", "backend"), [(2, "threading"), (2, "loky")])
@pytest.mark.processes
def test_carriers_of_parallel_tasks_do_not_change_a_bit(name, backend, n_jobs):
    with joblib.parallel_config(backend=backend, n_jobs=n_jobs):
        assert bits(fresh(name).fit(*data(name))) == bits(fitted(name))


@parallel
@pytest.mark.parametrize("n_jobs", [1, -1])
def test_n_jobs_does_not_change_a_bit(name, n_jobs):
    assert bits(fresh(name).set_params(n_jobs=n_jobs).fit(*data(name))) == bits(fitted(name))


@parallel
@pytest.mark.processes
def test_callbacks_stay_at_home_when_processes_carry_the_tasks(name):
    with joblib.parallel_config(backend="loky", n_jobs=2):
        model = fresh(name).set_params(callback=[].append, verbose=1).fit(*data(name))
    assert bits(model) == bits(fitted(name))


@every
def test_same_seed_same_bits_in_any_order_of_rows(name):
    X, y = data(name)
    order = np.random.default_rng(5).permutation(len(y))
    assert bits(fresh(name).fit(X[order], y[order])) == bits(fitted(name))


def learned_bits(model: RatingModel) -> dict[str, tuple[str, bytes]]:
    """Return all arrays a model learned, but for the ids of its users and items, which its parts hold too."""
    return {key: a for key, a in bits(model).items() if "learned." in key and not re.search(r"\.(users|items)\.", key)}


@probed("fit", "learn", "predict", "decision_function")
def test_names_in_the_same_order_change_nothing_but_names(name):
    X, y = data(name)
    texts = [(f"user {u:04d}", f"item {i:04d}") for u, i in X.tolist()]
    numbers = X * [3, 10] - [5000, 7]
    for renamed in (texts, numbers):
        model = fresh(name).fit(renamed, y)
        assert np.array_equal(model.predict(renamed), fitted(name).predict(X))
        assert np.array_equal(model.decision_function(renamed), fitted(name).decision_function(X))
        assert learned_bits(model) == learned_bits(fitted(name))


@having("dtype")
def test_single_and_double_precision_agree(name):
    X, _ = data(name)
    single, double = (fresh(name, dtype=t).fit(*data(name)) for t in ("float32", "float64"))
    assert bits(single) == bits(fitted(name))
    a, b = single.decision_function(X), double.decision_function(X)
    assert b.dtype == np.float64
    assert np.abs(a - b).max() < 0.05 * b.std()
    assert np.mean(single.predict(X) != double.predict(X)) < 0.01
