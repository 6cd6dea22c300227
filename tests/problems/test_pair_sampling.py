"""Gibbs sampling of label sets: its log-odds, where its chains come to rest, and the gradient it estimates."""

import itertools

import numpy as np
from scipy import sparse
from scipy.optimize import approx_fprime
from scipy.special import logsumexp, softmax
from scipy.stats import chi2
from tests.together import together

from cofactor.penalties import L2
from cofactor.problems.random_fields import (
    FORMS,
    TWO_STATES,
    Chains,
    LabelInteractions,
    PairForm,
    SampledLikelihoodProblem,
    pair_scores,
    with_context,
)

rng = np.random.default_rng(0)
N, D, L = 12, 3, 4
X = rng.normal(size=(N, D))
SETS = np.array(list(itertools.product((False, True), repeat=L)))


def of_form(form: str, with_features: bool, scale: float = 1.0) -> tuple[PairForm, list[np.ndarray], np.ndarray]:
    """Return a form, weights, and the score of each set for each instance."""
    pairs = PairForm.of_all(form, L)
    shapes = (D, L), (L,), (D + 1 if with_features else 1, pairs.n_states, len(pairs.first))
    W, b, V = (scale * rng.normal(size=shape) for shape in shapes)
    table = SETS.astype(float)
    return pairs, [W, b, V], (X @ W + b) @ table.T + with_context(X, pair_scores(V, table, pairs))


@together("form", FORMS)
@together("with_features", [False, True])
def test_log_odds_are_differences_of_scores(form, with_features):
    pairs, weights, scores = of_form(form, with_features)
    interactions = LabelInteractions.of(X, pairs, *weights)
    chains = Chains(interactions, np.repeat(SETS[:, None], N, axis=1))
    np.testing.assert_allclose(chains.scores().T, scores - scores[:, :1], atol=1e-10)
    for label in range(L):
        off, on = (np.flatnonzero(SETS[:, label] == value) for value in (False, True))
        odds = interactions.odds(np.repeat(SETS[on, None], N, axis=1))[..., label]
        np.testing.assert_allclose(odds.T, scores[:, on] - scores[:, off], atol=1e-10)
    chains.sweep(rng.random((L, len(SETS) * N)))  # what it keeps up to date is what it began with
    again = Chains(interactions, chains.on)
    np.testing.assert_allclose(chains.scores(), again.scores(), atol=1e-10)


@together("with_features", [False, True])
def test_chains_come_to_rest_at_the_probabilities_of_sets(with_features):
    pairs, weights, scores = of_form(TWO_STATES, with_features, scale=0.5)
    C = 2000
    chains = Chains(LabelInteractions.of(X[:2], pairs, *weights), np.ones((C, 2, L), dtype=bool))
    for _ in range(25):
        chains.sweep(rng.random((L, 2 * C)))
    for i, chances in enumerate(softmax(scores[:2], axis=1)):
        counts = np.bincount(chains.on[:, i] @ (1 << np.arange(L)[::-1]), minlength=len(SETS))
        assert np.sum((counts - C * chances) ** 2 / (C * chances)) < chi2.ppf(1 - 1e-6, len(SETS) - 1)


def test_the_likeliest_set_is_that_of_enumeration_where_chains_begin_everywhere():
    pairs, weights, scores = of_form(TWO_STATES, False, scale=3.0)
    chains = Chains(LabelInteractions.of(X, pairs, *weights), np.repeat(SETS[:, None], N, axis=1))
    np.testing.assert_array_equal(chains.likeliest(), SETS[scores.argmax(axis=1)])


@together("form", FORMS)
@together("with_features", [False, True])
@together("taken", [np.asarray, sparse.csr_array])
def test_the_gradient_is_that_of_differences_where_all_sets_are_drawn_evenly(form, with_features, taken):
    truth, pairs = SETS[rng.integers(0, len(SETS), N)], PairForm.of_all(form, L)
    problem = SampledLikelihoodProblem(taken(X), truth, pairs, {"V": L2(0.3)}, with_features=with_features)

    def objective(x: np.ndarray) -> float:
        W, b, V = problem.arrays(x).values()
        scores = (X @ W + b) @ SETS.T + with_context(X, pair_scores(V, SETS.astype(float), pairs))
        return float(np.sum(logsumexp(scores, axis=1) - scores[np.arange(N), truth @ (1 << np.arange(L)[::-1])]))

    x, found = np.zeros(problem.size), np.empty((2, problem.size))  # zeros make all sets alike
    for rows, out in zip((np.arange(5, N), np.arange(5)), found, strict=True):
        problem.gradient(x, rows, np.repeat(SETS[:, None], len(rows), axis=1), out)
    mean = (N - 5) / N * found[0] + 5 / N * found[1]
    np.testing.assert_allclose(mean, approx_fprime(x, objective, 1e-6), atol=1e-4)
    problem.gradient(x + 1, rows, np.repeat(SETS[:, None], len(rows), axis=1), mean)
    views = problem.layout.views(mean - out)
    assert {name: np.unique(view.round(12)).tolist() for name, view in views.items()} == {
        "W": [0.0], "b": [0.0], "V": [0.3], **({"F": [0.3]} if with_features else {}),
    }  # fmt: skip
