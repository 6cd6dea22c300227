"""Interactions that are made up: how many, whose, and of what."""

import numpy as np
import pytest

from cofactor.datasets import make_interactions, synthetic
from cofactor.errors import InvalidInputError


def test_each_item_once_and_as_many_interactions_as_asked() -> None:
    interactions, truth = make_interactions(300, 120, 5000, 4, random_state=0)
    assert interactions.shape == (300, 120)
    assert interactions.nnz == 5000
    assert interactions.has_canonical_format
    assert set(interactions.data.tolist()) == {1.0}
    counts = np.diff(interactions.indptr)
    assert counts.min() >= 1
    assert counts.max() <= 30  # a quarter of the items
    assert counts.max() > 1.8 * np.median(counts)
    np.testing.assert_allclose(truth.users.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(truth.items.sum(axis=1), 1, rtol=1e-5)


def test_items_are_as_frequent_as_the_truth_says() -> None:
    interactions, truth = make_interactions(4000, 1000, 20_000, 3, random_state=1)
    expected = (np.diff(interactions.indptr)[:, None] * (truth.users @ truth.items)).sum(axis=0)
    found = np.bincount(interactions.indices, minlength=1000)
    rare = expected < 60  # a user has a frequent item only once, though the first draws may hit it again
    gap = (found - expected)[rare] / np.sqrt(expected[rare])
    assert abs(gap.mean()) < 0.5
    assert 0.8 < gap.std() < 1.3


def test_few_draws_and_orders_of_all_items_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    shares = []
    for few in (0.0, 1.0):  # all users by an order of all items, or none
        monkeypatch.setattr(synthetic, "_FEW", few)
        interactions, _ = make_interactions(3000, 50, 30_000, 2, random_state=2)
        shares.append(np.bincount(interactions.indices, minlength=50) / 30_000)
    assert np.abs(shares[0] - shares[1]).max() < 0.006


def test_a_seed_gives_the_same_interactions() -> None:
    first, second = (make_interactions(200, 100, 2000, random_state=5)[0] for _ in range(2))
    assert (first != second).nnz == 0


@pytest.mark.parametrize(("n_interactions", "word"), [(5, "n_interactions"), (9000, "n_interactions")])
def test_too_few_or_too_many_interactions_are_refused(n_interactions: int, word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        make_interactions(100, 100, n_interactions)
