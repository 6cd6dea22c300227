"""Trees and chains by enumeration, and inversions by their definition."""

from itertools import combinations, permutations

import numpy as np
import pytest

from cofactor.correlation import greedy_chain, maximum_spanning_tree, normalized_inversions, random_chain
from cofactor.errors import InvalidInputError


def similarities(L: int = 5, seed: int = 0) -> np.ndarray:
    C = np.random.default_rng(seed).normal(size=(L, L))
    return C + C.T


def connected(edges: list[tuple[int, int]], L: int) -> bool:
    """Whether a path leads from label 0 to all others."""
    reached = {0}
    for _ in range(L):
        reached |= {b for edge in edges for a, b in (edge, edge[::-1]) if a in reached}
    return len(reached) == L


@pytest.mark.parametrize("seed", range(3))
def test_no_tree_is_heavier(seed: int) -> None:
    C = similarities(seed=seed)
    tree = maximum_spanning_tree(C)
    weights = C[tree[:, 0], tree[:, 1]]
    pairs = list(combinations(range(5), 2))
    heaviest = max(sum(C[e] for e in edges) for edges in combinations(pairs, 4) if connected(list(edges), 5))
    assert weights.sum() == pytest.approx(heaviest)
    assert (np.diff(weights) <= 0).all()
    assert (tree[:, 0] < tree[:, 1]).all()


def test_trees_of_equal_and_no_similarities() -> None:
    """Zeros are edges too; of equal ones the first in the table are taken."""
    np.testing.assert_array_equal(maximum_spanning_tree(np.zeros((4, 4))), [[0, 1], [0, 2], [0, 3]])
    assert maximum_spanning_tree([[1.0]]).shape == (0, 2)


def test_greedy_chain_takes_the_most_similar_label_that_is_left() -> None:
    C = similarities(6)
    for start in (None, 4):
        order = greedy_chain(C, start).tolist()
        assert sorted(order) == list(range(6))
        for k in range(5):
            assert C[order[k], order[k + 1]] == max(C[order[k], left] for left in order[k + 1 :])
    assert C[tuple(greedy_chain(C)[:2])] == C[np.triu_indices(6, 1)].max()
    assert greedy_chain(C, 4)[0] == 4
    assert greedy_chain([[0.0]]).tolist() == [0]


def test_random_chains_are_orders_of_all_labels() -> None:
    rng = np.random.default_rng(0)
    seen = {tuple(random_chain(3, rng).tolist()) for _ in range(100)}
    assert seen == set(permutations(range(3)))
    np.testing.assert_array_equal(random_chain(9, 5), random_chain(9, 5))


def test_inversions_by_their_definition() -> None:
    rng = np.random.default_rng(0)
    weights, likelihoods = rng.integers(0, 6, 30), rng.integers(0, 9, 30)
    pairs = list(combinations(range(30), 2))
    inverted = [(weights[a] - weights[b]) * (likelihoods[a] - likelihoods[b]) < 0 for a, b in pairs]
    assert normalized_inversions(weights, likelihoods) == pytest.approx(np.mean(inverted))
    assert normalized_inversions([1, 2, 3], [-3.0, -2.0, -1.0]) == 0
    assert normalized_inversions([3, 2, 1], [-3.0, -2.0, -1.0]) == 1


def test_what_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="as many rows as columns"):
        maximum_spanning_tree(np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match=r"\(i, j\) and \(j, i\)"):
        greedy_chain([[0.0, 1.0], [0.5, 0.0]])
    with pytest.raises(InvalidInputError, match="finite"):
        greedy_chain([[0.0, np.nan], [np.nan, 0.0]])
    with pytest.raises(InvalidInputError, match="start=5: expected a whole number of at least 0 and at most 4"):
        greedy_chain(similarities(), 5)
    for n_labels in (0, -1, 2.5, "a"):
        with pytest.raises(InvalidInputError, match=r"^n_labels=.*: expected a whole number of at least 1"):
            random_chain(n_labels)
    with pytest.raises(InvalidInputError, match="random_state='a'"):
        random_chain(5, "a")
    with pytest.raises(InvalidInputError, match="at least two weights"):
        normalized_inversions([1.0], [1.0])


def test_inversions_of_many_values_with_ties() -> None:
    rng = np.random.default_rng(0)
    for n, k in ((2, 2), (37, 5), (200, 9)):
        weights, likelihoods = rng.integers(0, k, (2, n)).astype(float)
        inverted = (weights[:, None] > weights) & (likelihoods[:, None] < likelihoods)
        assert normalized_inversions(weights, likelihoods) == inverted.sum() / (n * (n - 1) / 2)
    many = np.arange(100_000.0)
    assert normalized_inversions(many, -many) == 1
