"""Likelihoods of label sets with weights of pairs: derivatives, brute force, and one maximum of both forms."""

import itertools
from functools import partial

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import logsumexp, softmax
from tests.together import together

from cofactor.penalties import L2
from cofactor.problems.random_fields import (
    FORMS,
    FOUR_STATES,
    TWO_STATES,
    LabelTree,
    PairForm,
    PairLikelihoodProblem,
    SetLikelihoodProblem,
    TreeLikelihoodProblem,
    pair_scores,
    tree_best,
    tree_sums,
    with_context,
)
from cofactor.solvers import lbfgs

rng = np.random.default_rng(0)
N, D, L = 40, 3, 4
X = rng.normal(size=(N, D)) + np.array([0.0, 1.0, -2.0])
SETS = np.array(list(itertools.product((0.0, 1.0), repeat=L)))
OWN = rng.integers(0, len(SETS), N)
WEIGHTS = rng.random(N) + 0.5
TREE = LabelTree(np.array([2, 0, 3, 1]), np.array([2, 3, -1, 2]))
RIDGE = {"W": L2(0.3), "V": L2(0.2)}


def of_sets(form: str, with_features: bool = False, X=X, penalties=RIDGE) -> SetLikelihoodProblem:
    pairs = PairForm.of_all(form, L)
    return SetLikelihoodProblem(X, SETS, OWN, pairs, penalties, with_features=with_features, weights=WEIGHTS)


def of_tree(X=X) -> TreeLikelihoodProblem:
    return TreeLikelihoodProblem(X, sparse.csr_array(SETS[OWN]), TREE, RIDGE, weights=WEIGHTS)


def evaluated(problem: PairLikelihoodProblem, x: np.ndarray) -> tuple[float, np.ndarray]:
    gradient = np.empty_like(x)
    return problem.value_gradient(x, gradient), gradient


PROBLEMS = {
    **{f"sets, {form}": of_sets(form) for form in FORMS},
    **{f"sets, {form}, features": of_sets(form, True) for form in FORMS},
    "tree": of_tree(),
}


@together("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_the_gradient_is_that_of_differences(problem):
    x = rng.normal(size=problem.size)
    _, gradient = evaluated(problem, x)
    expected = approx_fprime(x, lambda at: evaluated(problem, at)[0], 1e-6)
    np.testing.assert_allclose(gradient, expected, atol=1e-5 * np.abs(expected).max())


def indicators(form: str, first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return the indicators of all sets, shape (states, sets, pairs)."""
    t, u = SETS[:, first], SETS[:, second]
    if form == TWO_STATES:
        return (t == u)[None].astype(float)
    return np.array([(1 - t) * (1 - u), t * (1 - u), (1 - t) * u, t * u])


@together("form", FORMS)
@together("with_features", [False, True])
def test_the_likelihood_of_sets_is_that_of_indicators(form, with_features):
    problem = of_sets(form, with_features)
    x = rng.normal(size=problem.size)
    W, b, V = problem.arrays(x).values()
    z = np.column_stack([X, np.ones(N)])[:, -len(V) :]
    pairs = PairForm.of_all(form, L)
    scores = (X @ W + b) @ SETS.T + np.einsum("im,mqp,qsp->is", z, V, indicators(form, pairs.first, pairs.second))
    losses = logsumexp(scores, axis=1) - scores[np.arange(N), OWN]
    penalty = 0.15 * (W**2).sum() + 0.1 * (V**2).sum()
    assert evaluated(problem, x)[0] == pytest.approx(WEIGHTS @ losses + penalty)
    found = (X @ W + b) @ SETS.T + with_context(X, pair_scores(V, SETS, pairs))
    np.testing.assert_allclose(softmax(found, axis=1), softmax(scores, axis=1), atol=1e-12)


def test_sums_over_a_tree_are_those_over_all_sets():
    problem = of_tree()
    x = 2 * rng.normal(size=problem.size)
    W, b, V = problem.arrays(x).values()
    pairs = TREE.pairs()
    states = np.einsum("qp,qsp->s", V[0], indicators(TWO_STATES, pairs.first, pairs.second))
    scores = (X @ W + b) @ SETS.T + states
    losses = logsumexp(scores, axis=1) - scores[np.arange(N), OWN]
    penalty = 0.15 * (W**2).sum() + 0.1 * (V**2).sum()
    assert evaluated(problem, x)[0] == pytest.approx(WEIGHTS @ losses + penalty)
    a, first, second = pairs.parts(V[0])
    F = X @ W + b + pairs.by_label(first, second)
    _, chances, both = tree_sums(F, TREE, TREE.of_edges(a), WEIGHTS)
    of_sets = softmax(scores, axis=1)
    np.testing.assert_allclose(chances, of_sets @ SETS, atol=1e-10)
    joint = WEIGHTS @ of_sets @ (SETS[:, pairs.first] * SETS[:, pairs.second])
    np.testing.assert_allclose(both[pairs.first], joint, atol=1e-10)
    np.testing.assert_array_equal(tree_best(F, TREE, TREE.of_edges(a)), SETS[scores.argmax(axis=1)] > 0)


def test_scores_of_a_thousand_do_not_overflow():
    F = np.array([[1e3, -1e3, 500.0, 0.0]])
    total, chances, both = tree_sums(F, TREE, np.array([900.0, -900.0, 0.0, 0.0]), np.ones(1))
    assert total == pytest.approx(2400 + np.log(2))
    np.testing.assert_allclose(chances, [[1, 0, 1, 0.5]])
    np.testing.assert_allclose(both, [1, 0, 0, 0.5])


@together("problem", PROBLEMS.values(), ids=PROBLEMS)
def test_two_starts_meet(problem):
    ends = [lbfgs(problem, start, max_iter=2000, tol=1e-14).objective for start in rng.normal(size=(2, problem.size))]
    assert ends[0] == pytest.approx(ends[1], rel=1e-8)


def least(form: str, alpha: float) -> float:
    problem = of_sets(form, penalties={"W": L2(0.3), "V": L2(alpha)})
    return lbfgs(problem, np.zeros(problem.size), max_iter=2000, tol=1e-13).objective


def test_both_forms_have_one_minimum():
    assert least(FOUR_STATES, 0.5) == pytest.approx(least(TWO_STATES, 0.5), rel=1e-8)


@together("make", [partial(of_sets, TWO_STATES, True), of_tree])
def test_sparse_features_are_dense_ones(make):
    dense, from_sparse = make(), make(X=sparse.csr_array(X))
    x = rng.normal(size=dense.size)
    for one, other in zip(evaluated(dense, x), evaluated(from_sparse, x), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-10)
