"""Measures of recommended lists: each against a loop over users and places, and scikit-learn's where it has one."""

from __future__ import annotations

import itertools
import math
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import ndcg_score, roc_auc_score
from sklearn.metrics.pairwise import cosine_similarity
from tests.together import together

from cofactor import metrics
from cofactor.errors import InvalidInputError
from cofactor.metrics import topn

N, M, K = 40, 25, 8


@pytest.fixture(scope="module")
def world():
    """Lists of different lengths, relevant items with values, and users without any."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(N, M))
    seen = rng.random((N, M)) < 0.25
    relevant = np.where((rng.random((N, M)) < 0.2) & ~seen, rng.integers(1, 6, (N, M)), 0)
    relevant[3] = 0
    seen[5] = np.arange(M) > 1  # two items are left for this user
    relevant[5] = 0
    relevant[5, 1] = 4
    lists = np.full((N, M), -1)
    for u in range(N):
        unseen = [j for j in np.argsort(-scores[u]) if not seen[u, j]]
        lists[u, : len(unseen)] = unseen
    return scores, seen, relevant, lists


def by_loop(lists, relevant, k, measure):
    values = []
    for user_list, row in zip(lists[:, :k].tolist(), relevant.tolist(), strict=True):
        wanted = {j: value for j, value in enumerate(row) if value > 0}
        values.append(measure([j for j in user_list if j >= 0], wanted, k) if wanted else math.nan)
    return values


def average_precision(listed, wanted, k):
    hits, total = 0, 0.0
    for place, j in enumerate(listed, 1):
        if j in wanted:
            hits += 1
            total += hits / place
    return total / min(k, len(wanted))


def ndcg(gain):
    def measure(listed, wanted, k):
        dcg = sum(gain(wanted[j]) / math.log2(i + 2) for i, j in enumerate(listed) if j in wanted)
        best = sorted(map(gain, wanted.values()), reverse=True)[:k]
        return dcg / sum(g / math.log2(i + 2) for i, g in enumerate(best))

    return measure


LOOPS = {
    "precision": (topn.user_precisions, {}, lambda listed, wanted, k: len(set(listed) & set(wanted)) / k),
    "recall": (topn.user_recalls, {}, lambda listed, wanted, k: len(set(listed) & set(wanted)) / len(wanted)),
    "capped recall": (
        topn.user_recalls,
        {"capped": True},
        lambda listed, wanted, k: len(set(listed) & set(wanted)) / min(k, len(wanted)),
    ),
    "ndcg": (topn.user_ndcgs, {}, ndcg(lambda r: 1)),
    "graded ndcg": (topn.user_ndcgs, {"gains": "exponential"}, ndcg(lambda r: 2**r - 1)),
    "given ndcg": (topn.user_ndcgs, {"gains": "given"}, ndcg(lambda r: r)),
    "map": (topn.user_average_precisions, {}, average_precision),
    "mrr": (
        topn.user_reciprocal_ranks,
        {},
        lambda listed, wanted, k: next((1 / (i + 1) for i, j in enumerate(listed) if j in wanted), 0.0),
    ),
    "hit rate": (topn.user_hits, {}, lambda listed, wanted, k: float(any(j in wanted for j in listed))),
}


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("k", [1, 3, K])
def test_by_a_loop(world, name, k) -> None:
    _, _, relevant, lists = world
    function, options, measure = LOOPS[name]
    found = function(lists, sparse.csr_matrix(relevant), k, **options)
    np.testing.assert_allclose(found, by_loop(lists, relevant, k, measure), atol=1e-12)
    assert np.isnan(found[3])


def test_ndcg_is_that_of_scikit_learn(world) -> None:
    scores, _, relevant, _ = world
    lists = np.argsort(-scores, axis=1)
    kept = relevant.any(axis=1)
    gains = relevant[kept]
    for how, truth in (("given", gains), ("binary", gains > 0), ("exponential", np.where(gains, 2.0**gains - 1, 0))):
        mine = topn.user_ndcgs(lists, relevant, K, gains=how)[kept].mean()
        assert mine == pytest.approx(ndcg_score(truth, scores[kept], k=K))


@pytest.mark.parametrize("ties", [False, True])
def test_auc_is_that_of_scikit_learn_over_all_unseen_items(world, ties) -> None:
    scores, seen, relevant, lists = world
    scores = np.round(scores) if ties else scores
    order = np.argsort(-scores, axis=1, kind="stable")
    placed = np.take_along_axis(scores, order, axis=1)
    found = topn.user_aucs(order, relevant, scores=placed, seen=seen)
    for u in range(N):
        truth = relevant[u][~seen[u]] > 0
        if truth.any() and not truth.all():
            assert found[u] == pytest.approx(roc_auc_score(truth, scores[u][~seen[u]]))
        else:
            assert np.isnan(found[u])
    if not ties:
        np.testing.assert_allclose(topn.user_aucs(lists, relevant), found)


def test_relevant_items_that_are_not_ranked_are_the_last() -> None:
    assert topn.user_aucs([[0, 1, -1]], [[1, 0, 1]]).tolist() == [0.5]
    assert topn.user_recalls([[0, 1, -1]], [[1, 0, 1]]).tolist() == [0.5]


def test_means_over_users() -> None:
    values = np.array([0.0, 1.0, 1.0, np.nan])
    found = metrics.user_mean(values)
    assert (found.mean, found.n) == (pytest.approx(2 / 3), 3)
    assert found.error == pytest.approx(np.std([0, 1, 1], ddof=1) / np.sqrt(3))
    low, high = found.interval
    assert high - low == pytest.approx(2 * 1.96 * found.error, rel=1e-3)
    assert metrics.user_mean(values, 0).mean == 0.5
    alone, none = metrics.user_mean([1.0]), metrics.user_mean([np.nan])
    assert alone.n == 1
    assert np.isnan(alone.error)
    assert not alone.is_clear
    assert none.n == 0
    paired = metrics.user_difference([1.0, 3.0, np.nan], [0.0, 2.0, 5.0])
    assert (paired.mean, paired.error, paired.n) == (1.0, 0.0, 2)
    with pytest.raises(InvalidInputError, match="2 users and 1"):
        metrics.user_difference([1.0, 2.0], [1.0])


def test_the_interval_covers_the_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(1)
    draws = rng.random((400, 60)) < 0.3
    inside = [low <= 0.3 <= high for low, high in (metrics.user_mean(row).interval for row in draws)]
    assert 0.91 < np.mean(inside) < 0.98


def test_the_catalogue_by_loops(world) -> None:
    _, seen, _, lists = world
    interactions = sparse.csr_array(seen.astype(float))
    popularity = metrics.item_popularity(interactions)
    np.testing.assert_allclose(popularity, seen.mean(axis=0))
    shown = [[j for j in row if j >= 0] for row in lists[:, :K].tolist()]
    assert metrics.distinct_items(lists, M, K) == len({j for row in shown for j in row})
    novelty = [np.mean([-math.log2(max(popularity[j], 1 / N)) for j in row]) for row in shown]
    np.testing.assert_allclose(metrics.user_novelties(lists, popularity, K, n_users=N), novelty)
    lifts = [np.mean(popularity[row]) / np.mean(popularity[seen[u]]) - 1 for u, row in enumerate(shown)]
    np.testing.assert_allclose(metrics.user_popularity_lifts(lists, interactions, K), lifts)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_diversity_by_a_loop(world, form, monkeypatch) -> None:
    _, seen, _, lists = world
    vectors = seen.T.astype(float)
    vectors[4] = 0  # is like no other
    cosines = cosine_similarity(vectors)
    shown = [[j for j in row if j >= 0] for row in lists[:, :K].tolist()]
    expected = [1 - np.mean([cosines[a, b] for a, b in itertools.combinations(row, 2)]) for row in shown]
    np.testing.assert_allclose(metrics.user_diversities(lists, form(vectors), K), expected)
    monkeypatch.setattr("cofactor.metrics.catalogue._BLOCK", 3 * N)
    np.testing.assert_allclose(metrics.user_diversities(lists, form(vectors), K), expected)
    assert np.isnan(metrics.user_diversities([[0, -1]], form(vectors))[0])


def test_calibration_of_interactions() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 6, size=(300, 50))
    interactions = rng.random(p.shape) < p
    bins = metrics.interaction_calibration_bins(p, interactions)
    assert len(bins.counts) == 6
    assert np.ptp(bins.counts) <= 1
    low, high = metrics.share_interval(bins)
    assert ((low < bins.predicted) & (bins.predicted < high)).all()
    given = metrics.interaction_calibration_bins(p, interactions, edges=[0, 0.1, 0.5, 1])
    inside = (p > 0.1) & (p <= 0.5)
    assert given.counts[1] == inside.sum()
    assert given.predicted[1] == pytest.approx(p[inside].mean())
    assert given.observed[1] == pytest.approx(interactions[inside].mean())
    doubled = metrics.interaction_calibration_bins(p / 2, interactions)
    assert (metrics.share_interval(doubled)[0][1:] > doubled.predicted[1:]).all()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        empty = metrics.interaction_calibration_bins([0.2], [1], edges=[0, 0.1, 1])
        assert np.isnan(metrics.share_interval(empty)[0][0])


@together(
    ("lists", "k", "message"),
    [
        ([[0, 1]], 3, "k=3: lists have 2 places"),
        ([[0, 1]], 0, "expected a whole number of at least 1"),
        ([[0, 0]], None, "holds an item twice"),
        ([[-1, 0]], None, "goes on after -1"),
        ([[0, 4]], None, "from 0 to 2"),
        ([[0.0, 1.0]], None, "expected numbers of items"),
        ([[0, 1], [1, 2]], None, "2 users and relevant 1"),
    ],
)
def test_bad_lists(lists, k, message) -> None:
    with pytest.raises(InvalidInputError, match=message):
        topn.user_precisions(lists, [[1, 0, 0]], k)


def test_bad_values() -> None:
    with pytest.raises(InvalidInputError, match="NaN or infinite"):
        topn.user_hits([[0]], [[np.inf]])
    with pytest.raises(InvalidInputError, match="expected one of 'binary'"):
        topn.user_ndcgs([[0]], [[1]], gains="linear")
    with pytest.raises(InvalidInputError, match="undefined"):
        metrics.user_mean([1.0], undefined=1)
    with pytest.raises(InvalidInputError, match="between 0 and 1"):
        metrics.interaction_calibration_bins([2.0], [1])
    with pytest.raises(InvalidInputError, match="increase from 0 to 1"):
        metrics.interaction_calibration_bins([0.2], [1], edges=[0, 0.5])
    with pytest.raises(InvalidInputError, match="as many of both"):
        metrics.interaction_calibration_bins([0.2], [1, 0])


def test_negative_values_are_not_relevant_and_nothing_is_changed() -> None:
    relevant = sparse.csr_array(np.array([[1.0, -1.0, 0.0]]))
    assert topn.user_recalls([[1, 0]], relevant).tolist() == [1.0]
    assert relevant.data.tolist() == [1.0, -1.0]
    assert np.isnan(topn.user_recalls([[1, 0]], np.zeros((1, 3)))).all()


def test_gains_of_high_values_do_not_overflow() -> None:
    low, high = (
        topn.user_ndcgs([[2, 0, 1]], [[top, top - 1, 0, top]], k=2, gains="exponential") for top in (60.0, 5000.0)
    )
    assert high == pytest.approx(low)


def test_errors_of_bins_are_over_users() -> None:
    """Users who interact more, or less, than is said of all: what their pairs say hangs together."""
    rng = np.random.default_rng(0)
    p = np.full((200, 50), 0.3)
    users = np.broadcast_to(np.arange(200)[:, None], p.shape)
    means, errors, alone = [], [], []
    for _ in range(200):
        own = rng.choice([0.1, 0.5], size=(200, 1))
        interactions = rng.random(p.shape) < own
        bins = metrics.interaction_calibration_bins(p, interactions, edges=[0, 1], users=users)
        means.append(bins.observed[0])
        errors.append(bins.errors[0])
        low, high = metrics.share_interval(bins)
        assert high[0] - low[0] == pytest.approx(2 * 1.96 * errors[-1], rel=0.02)
        low, high = metrics.share_interval(metrics.interaction_calibration_bins(p, interactions, edges=[0, 1]))
        alone.append((high[0] - low[0]) / (2 * 1.96))
    assert np.mean(errors) == pytest.approx(np.std(means), rel=0.1)
    assert np.mean(alone) < 0.4 * np.std(means)
    with pytest.raises(InvalidInputError, match="one for each probability"):
        metrics.interaction_calibration_bins(p, interactions, users=[0])
