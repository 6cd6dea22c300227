"""Sets of the largest expected F1, beside all sets of labels one by one."""

from itertools import product

import numpy as np
import pytest

from cofactor.errors import InvalidInputError
from cofactor.labels.decisions import f1_sets_of_draws

ALL = np.array(list(product([0, 1], repeat=5)))


def expected_f1(chances: np.ndarray) -> np.ndarray:
    """Return the expected F1 of each of all sets, shape (n, 32), from the probability of each."""
    total = ALL.sum(axis=1)[:, None] + ALL.sum(axis=1)
    f1 = np.divide(2 * ALL @ ALL.T, total, out=np.ones(total.shape), where=total > 0)
    return np.asarray(chances @ f1)


def reached(on: np.ndarray, values: np.ndarray) -> np.ndarray:
    return np.take_along_axis(values, (on @ (1 << np.arange(5)[::-1]))[:, None], axis=1)[:, 0]


def test_the_best_set_of_a_joint_distribution():
    chances = np.random.default_rng(0).dirichlet(np.full(len(ALL), 0.2), size=60)
    chances[0] = np.eye(len(ALL))[0]
    values = expected_f1(chances)
    on = f1_sets_of_draws(np.tile(ALL, (60, 1, 1)), chances)
    np.testing.assert_allclose(reached(on, values), values.max(axis=1), atol=1e-12)
    assert not on[0].any()


def test_what_are_no_draws():
    with pytest.raises(InvalidInputError, match=r"sets has shape \(2, 3\)"):
        f1_sets_of_draws(np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="weights has shape"):
        f1_sets_of_draws(np.ones((2, 3, 4)), np.ones((2, 2)))
