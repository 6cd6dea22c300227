"""AdaBoost.MH and .MR against their definitions, one cut, one label and one pair at a time."""

import itertools

import numpy as np
import pytest
from scipy import sparse

from cofactor.kernels.boosting import step_terms
from cofactor.kernels.threads import thread_limit
from cofactor.labels import AdaBoostMH, AdaBoostMR
from cofactor.labels.adaptation.boosting import best_cuts_of
from cofactor.metrics.labels import hamming_loss, ranking_loss


def toy(n: int = 24, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Features below, at and above 0, with ties; labels none of which is constant, and some sets that are empty."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, (n, 4)) * [1.0, 0.5, 2.0, 1.0] + [0.0, 0.0, 7.0, -5.0]  # two columns without a 0
    Y = X @ rng.normal(size=(4, 3)) + rng.normal(size=(n, 3))
    return X, (np.quantile(Y, [0.5, 0.6, 0.7], axis=0).diagonal() < Y).astype(int)


def cuts_of(X: np.ndarray) -> list[tuple[int, float]]:
    """All features with all places between two values of theirs."""
    return [(f, (a + b) / 2) for f in range(X.shape[1]) for a, b in itertools.pairwise(np.unique(X[:, f]))]


def boosted_by_hand(X: np.ndarray, Y: np.ndarray, n_rounds: int) -> tuple[np.ndarray, list[float]]:
    """AdaBoost.MH from section 4 of BoosTexter: scores, and the exponential loss after each round."""
    n, L = Y.shape
    z, D, F, losses = 2 * Y - 1, np.full(Y.shape, 1 / (n * L)), np.zeros(Y.shape), []

    def sums(above: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        return [tuple((D * (z == sign) * (above == side)[:, None]).sum(axis=0) for sign in (1, -1)) for side in (0, 1)]

    for _ in range(n_rounds):
        found = {(f, t): sums(X[:, f] > t) for f, t in cuts_of(X)}
        best = min(found, key=lambda cut: round(sum(np.sqrt(p * q).sum() for p, q in found[cut]), 12))
        c = [0.5 * np.log((p + 1 / (n * L)) / (q + 1 / (n * L))) for p, q in found[best]]
        h = np.where((X[:, best[0]] > best[1])[:, None], c[1], c[0])
        F += h
        D *= np.exp(-z * h)
        D /= D.sum()
        losses.append(float(np.exp(-z * F).mean()))
    return F, losses


def ranked_by_hand(X: np.ndarray, Y: np.ndarray, n_rounds: int) -> tuple[np.ndarray, list[float]]:
    """AdaBoost.MR pair by pair."""
    used = [i for i in range(len(Y)) if 0 < Y[i].sum() < Y.shape[1]]
    pairs = [(i, on, off) for i in used for on in np.flatnonzero(Y[i]) for off in np.flatnonzero(Y[i] == 0)]
    first = np.array([1 / (len(used) * Y[i].sum() * (1 - Y[i]).sum()) for i, _, _ in pairs])
    i, on, off = np.array(pairs).T
    F, losses = np.zeros(Y.shape), []
    for _ in range(n_rounds):
        D = first * np.exp((F[i, off] - F[i, on]) / 2)
        D /= D.sum()
        g = np.zeros(Y.shape)
        np.add.at(g, (i, on), D / 2)
        np.add.at(g, (i, off), -D / 2)
        sides = {(f, t): [g[X[:, f] <= t].sum(axis=0), g[X[:, f] > t].sum(axis=0)] for f, t in cuts_of(X)}
        best = max(sides, key=lambda cut: round(np.abs(sides[cut]).sum(), 12))
        gains = np.where(np.abs(sides[best]) > 1e-12, sides[best], 0.0)
        r = np.abs(gains).sum()
        F += 0.5 * np.log((1 + r) / (1 - r)) * np.sign(gains)[(X[:, best[0]] > best[1]).astype(int)]
        losses.append(float(first @ np.exp((F[i, off] - F[i, on]) / 2)))
    return F, losses


@pytest.mark.parametrize(("kind", "by_hand"), [(AdaBoostMH, boosted_by_hand), (AdaBoostMR, ranked_by_hand)])
@pytest.mark.parametrize("seed", range(2))
def test_every_cut_of_every_feature(kind, by_hand, seed):
    X, Y = toy(seed=seed)
    expected, losses = by_hand(X, Y, 6)
    for form in (np.asarray, sparse.csr_array):
        model = kind.paper(6, threshold=0).fit(form(X), Y)
        np.testing.assert_allclose(model.history_, losses, rtol=1e-9)
        np.testing.assert_allclose(model.decision_function(form(X)), expected, atol=1e-9)


def test_losses_fall_and_bound_the_errors_of_training() -> None:
    X, Y = toy(60)
    for kind, error in ((AdaBoostMH, lambda m: hamming_loss(Y, m.predict(X))), (AdaBoostMR, None)):
        model = kind.paper(40, threshold=0).fit(X, Y)
        assert (np.diff(model.history_) < 0).all()
        some = (Y.sum(axis=1) > 0) & (Y.sum(axis=1) < Y.shape[1])
        found = error(model) if error else ranking_loss(Y[some], model.decision_function(X[some]))
        assert found <= model.history_[-1]


def test_presence_of_words() -> None:
    """How often a word occurs does not matter then."""
    rng = np.random.default_rng(0)
    X = sparse.csr_array((rng.random((60, 120)) < 0.1) * rng.integers(1, 5, (60, 120)).astype(float))
    Y = (X[:, :3].toarray() > 0).astype(int)
    words = AdaBoostMH(20, threshold=0, scale="none").fit(X, Y)
    assert words.presence_
    once = X.copy()
    once.data[:] = 1
    assert np.array_equal(words.decision_function(once), words.decision_function(X))
    np.testing.assert_allclose(
        AdaBoostMH(20, threshold=0, stumps="threshold").fit(once, Y).decision_function(once),
        words.decision_function(X),
    )
    assert np.array_equal(words.predict(X), Y)


def test_the_number_of_rounds_is_chosen_on_instances_that_are_held_out() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 5))
    Y = (X[:, :2] + 2 * rng.normal(size=(400, 2)) > 0).astype(int)  # mostly noise
    for kind in (AdaBoostMH, AdaBoostMR):
        model = kind(random_state=0).fit(X, Y)
        assert model.n_iter_ in (25, 50)
        assert (np.abs(model.predict_proba(X) - 0.5) < 0.5).all()


def test_cuts_of_instances_are_a_regression_on_their_scores() -> None:
    X, Y = toy()
    ranked = AdaBoostMR.paper(6, threshold=0).fit(X, Y).decision_function(X)
    known = np.column_stack([ranked, np.ones(len(X))])
    cut = known @ np.linalg.lstsq(known, best_cuts_of(ranked, Y > 0), rcond=None)[0]
    model = AdaBoostMR(6, threshold=0).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), ranked - cut[:, None], atol=1e-9)
    found = model.explain(X[:3], range(Y.shape[1])).columns
    np.testing.assert_allclose(
        np.bincount(found["instance"], found["contribution"]), model.decision_function(X[:3]).sum(axis=1), atol=1e-9
    )


def test_threads_change_nothing() -> None:
    X, Y = toy(40)
    with thread_limit(1):
        one = AdaBoostMH.paper(10).fit(X, Y).decision_function(X)
    with thread_limit(3):
        assert np.array_equal(AdaBoostMH.paper(10).fit(X, Y).decision_function(X), one)


def test_nothing_to_gain() -> None:
    """Constant features leave the shares of the labels; sets that are all or nothing have no pairs to rank."""
    Y = np.array([[1, 0], [1, 0], [1, 1], [0, 0]])
    model = AdaBoostMH.paper(5).fit(np.ones((4, 1)), Y)
    assert model.predict(np.zeros((1, 1))).tolist() == [[1, 0]]
    none = AdaBoostMR.paper(5, threshold=0).fit(
        np.arange(4.0)[:, None], Y[[0, 0, 0, 0]] * [[1], [0], [1], [0]] @ [[1, 1], [0, 0]]
    )
    assert none.n_iter_ == 0
    assert not none.decision_function(np.ones((2, 1))).any()
    X, Y = toy()
    one, same = (kind.paper(5, threshold=0).fit(X, Y[:, :1]) for kind in (AdaBoostMH, AdaBoostMR))
    assert np.array_equal(one.decision_function(X), same.decision_function(X))


def test_terms_of_pairs_stay_in_range_where_scores_go_far() -> None:
    rng = np.random.default_rng(0)
    labels = sparse.csr_array([[1, 0, 0, 1, 0], [0, 1, 0, 0, 0]])
    on = labels.toarray() > 0
    terms, sums, scores = np.ones((2, 5)), np.empty((2, 2)), np.zeros((2, 5))
    for _ in range(120):
        outputs = np.array([[5.0, 5, 5, 4.6, 5], [-5, -5, -5, -5, -4.7]]) + 0.1 * rng.normal(size=(2, 5))
        pointers = labels.indptr.astype(np.int64), labels.indices.astype(np.int64)
        step_terms(np.array([0, 1], np.uint8), np.exp(0.5 * outputs), terms, *pointers, sums)
        scores += outputs
    shifted = scores - scores.mean(axis=1, keepdims=True)
    expected = np.where(on, 0, np.exp(0.5 * shifted)).sum(axis=1) * np.where(on, np.exp(-0.5 * shifted), 0).sum(axis=1)
    np.testing.assert_allclose(sums[:, 0] * sums[:, 1], expected, rtol=1e-10)
    assert np.all((terms > 0) & (terms < 1e101))
