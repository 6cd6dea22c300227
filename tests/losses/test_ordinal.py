"""Losses on levels against brute force: sums written out from (2.7), (2.8) and (4.2)."""

from functools import partial
from itertools import pairwise

import numpy as np
import pytest
from tests.together import together

from cofactor.losses import (
    AllThreshold,
    Hinge,
    ImmediateThreshold,
    Logistic,
    LossArrays,
    MarginLoss,
    Proximal,
    SmoothHinge,
)

from .reference import MARGINS, Function, gradient, proximal_loss, threshold_loss

CONSTRUCTIONS = {"all": AllThreshold, "immediate": ImmediateThreshold}
N_LEVELS = 5
#: Step and accuracy of differences. The logistic margin is smooth of every order; the second derivative of
#: the smooth hinge jumps, so a difference over a small step is off by about that step.
ACCURACY = {Logistic: (1e-3, 1e-9), SmoothHinge: (1e-6, 1e-5)}


def random_users(rng: np.random.Generator, n: int = 8) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Users with 0, 1 and more entries; some never use some levels; thresholds not always sorted."""
    counts = np.concatenate([[0, 1, 2], rng.integers(3, 12, size=n - 3)])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    levels = rng.integers(1, N_LEVELS + 1, size=indptr[-1]).astype(np.uint8)
    levels[indptr[3] : indptr[4]] = 3  # a user all of whose ratings are equal
    scores = rng.normal(size=indptr[-1])
    return indptr, levels, scores, rng.normal(size=(n, N_LEVELS - 1))


def of_user(loss: str, h: Function, levels: np.ndarray, scores: np.ndarray, theta: np.ndarray) -> float:
    return sum(threshold_loss(h, int(y), x, theta, loss) for y, x in zip(levels, scores, strict=True))


def run(loss, indptr, levels, scores, theta, lo=0, hi=None):  # type: ignore[no-untyped-def]
    n = len(indptr) - 1
    d_scores, d_theta = np.full(scores.shape, 77, scores.dtype), np.full(theta.shape, 77, scores.dtype)
    losses = np.full(n, 77.0)
    loss.evaluate(lo, n if hi is None else hi, LossArrays(indptr, levels, scores, theta, d_scores, d_theta, losses))
    return losses, d_scores, d_theta


@together("construction", CONSTRUCTIONS)
@together("margin", [Logistic, SmoothHinge])
@together("seed", [0, 1, 2])
def test_thresholded_losses_equal_brute_force(construction: str, margin: type[MarginLoss], seed: int) -> None:
    indptr, levels, scores, theta = random_users(np.random.default_rng(seed))
    losses, d_scores, d_theta = run(CONSTRUCTIONS[construction](margin()), indptr, levels, scores, theta)
    step, accuracy = ACCURACY[margin]
    for i, (start, end) in enumerate(pairwise(indptr)):  # derivatives by one user need no losses of others
        own = slice(start, end)
        loss = partial(of_user, construction, MARGINS[margin][0], levels[own])
        np.testing.assert_allclose(losses[i], loss(scores[own], theta[i]), rtol=1e-12)
        by_score = gradient(partial(loss, theta=theta[i]), scores[own], step)
        by_theta = gradient(partial(loss, scores[own]), theta[i], step)
        np.testing.assert_allclose(d_scores[own], by_score, atol=accuracy)
        np.testing.assert_allclose(d_theta[i], by_theta, atol=accuracy)


@together("margin", [Logistic, SmoothHinge])
@together("seed", [0, 1, 2])
def test_proximal_loss_equals_brute_force(margin: type[MarginLoss], seed: int) -> None:
    """The derivative includes that of θ*, and unused levels have no term (corrections.md, C15, C16, C17)."""
    indptr, levels, scores, _ = random_users(np.random.default_rng(seed))
    losses, d_scores, _ = run(
        Proximal(margin(), n_levels=N_LEVELS), indptr, levels, scores, np.empty((len(indptr) - 1, 0))
    )
    step, accuracy = ACCURACY[margin]
    for i, (start, end) in enumerate(pairwise(indptr)):
        own = slice(start, end)
        loss = partial(proximal_loss, MARGINS[margin][0], levels[own], n_levels=N_LEVELS)
        np.testing.assert_allclose(losses[i], loss(scores[own]), rtol=1e-12, atol=1e-12)
        np.testing.assert_allclose(d_scores[own], gradient(loss, scores[own], step), atol=10 * accuracy)


def test_proximal_derivative_needs_the_path_through_the_planes() -> None:
    """With the planes held fixed (corrections.md, C16) the derivative would be another one, by order 1."""
    rng = np.random.default_rng(5)
    levels = np.array([1, 1, 2, 2, 2, 3], np.uint8)
    scores = rng.normal(size=6)
    _, d_scores, _ = run(Proximal(n_levels=3), np.array([0, 6]), levels, scores, np.empty((1, 0)))
    theta = np.array([scores[levels == r].mean() for r in (1, 2, 3)])

    def with_fixed_planes(x: np.ndarray) -> float:
        total = np.sum((x - theta[levels - 1]) ** 2)
        for r in (1, 2, 3):
            sign = np.where(r < levels, 1, -1)[levels != r]
            total += MARGINS[SmoothHinge][0](sign * (x - theta[r - 1])[levels != r]).sum()
        return float(total)

    assert np.abs(d_scores - gradient(with_fixed_planes, scores, 1e-6)).max() > 0.5


def test_proximal_loss_of_a_user_with_one_level_is_squares_only() -> None:
    scores = np.array([0.0, 1.0, 5.0])
    losses, d_scores, _ = run(
        Proximal(n_levels=4), np.array([0, 3]), np.array([2, 2, 2], np.uint8), scores, np.empty((1, 0))
    )
    np.testing.assert_allclose(losses, [14.0])  # 4 + 1 + 9 around the mean 2
    np.testing.assert_allclose(d_scores, [-4.0, -2.0, 6.0])


@together("name", ["all", "immediate", "proximal"])
def test_a_range_of_rows_gives_the_same_bits_and_leaves_the_rest_alone(name: str) -> None:
    indptr, levels, scores, theta = random_users(np.random.default_rng(3))
    loss = Proximal(n_levels=N_LEVELS) if name == "proximal" else CONSTRUCTIONS[name]()
    if name == "proximal":
        theta = theta[:, :0]
    whole = run(loss, indptr, levels, scores, theta)
    part = run(loss, indptr, levels, scores, theta, lo=2, hi=6)
    entries = slice(indptr[2], indptr[6])
    assert np.array_equal(part[0][2:6], whole[0][2:6])
    assert np.array_equal(part[1][entries], whole[1][entries])
    assert np.array_equal(part[2][2:6], whole[2][2:6])
    assert np.all(np.delete(part[0], slice(2, 6)) == 77)
    assert np.all(np.delete(part[1], entries) == 77)
    assert np.all(np.delete(part[2], slice(2, 6), axis=0) == 77)


@together("construction", CONSTRUCTIONS)
def test_single_precision_agrees(construction: str) -> None:
    indptr, levels, scores, theta = random_users(np.random.default_rng(4))
    loss = CONSTRUCTIONS[construction]()
    double = run(loss, indptr, levels, scores, theta)
    single = run(loss, indptr, levels, scores.astype(np.float32), theta.astype(np.float32))
    for a, b in zip(single, double, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


@together("construction", CONSTRUCTIONS)
@together("score", [-1e20, 1e20])
@together("dtype", [np.float32, np.float64])
def test_extreme_scores(construction: str, score: float, dtype: type) -> None:
    """At ±1e20 every threshold on the wrong side costs 1e20."""
    theta = np.tile(np.array([-1, 0, 1, 2], dtype), (N_LEVELS, 1))
    levels = np.arange(1, N_LEVELS + 1, dtype=np.uint8)
    scores = np.full(N_LEVELS, score, dtype)
    losses, d_scores, d_theta = run(CONSTRUCTIONS[construction](), np.arange(N_LEVELS + 1), levels, scores, theta)
    wrong = np.arange(N_LEVELS) if score < 0 else np.arange(N_LEVELS)[::-1]
    if construction == "immediate":
        wrong = np.minimum(wrong, 1)
    np.testing.assert_allclose(losses, wrong * 1e20, rtol=1e-6)
    assert np.array_equal(d_scores, wrong * np.sign(score))
    assert np.array_equal(d_theta.sum(axis=1), -wrong * np.sign(score))


def test_infinite_thresholds_are_never_crossed() -> None:
    losses, d_scores, d_theta = run(
        AllThreshold(),
        np.array([0, 1]),
        np.array([2], np.uint8),
        np.array([0.3]),
        np.array([[-np.inf, np.inf]]),
    )
    assert losses[0] == 0
    assert not d_scores.any()
    assert not d_theta.any()


def test_one_level_only_has_no_loss() -> None:
    """With R = 1 there is no threshold: no margin, no loss, no slope."""
    for loss in (AllThreshold(Logistic()), ImmediateThreshold(Logistic())):
        losses, d_scores, _ = run(
            loss, np.array([0, 2]), np.array([1, 1], np.uint8), np.array([3.0, 4.0]), np.empty((1, 0))
        )
        assert losses[0] == 0
        assert np.array_equal(d_scores, [0, 0])


@together("construction", CONSTRUCTIONS)
@together("margin", [Hinge, Logistic, SmoothHinge])
def test_declared_convexity_on_chords(construction: str, margin: type[MarginLoss]) -> None:
    """Convex in scores and thresholds together."""
    loss = CONSTRUCTIONS[construction](margin())
    assert loss.convex
    rng = np.random.default_rng(6)
    indptr, levels, a, theta_a = random_users(rng)
    for _ in range(30):
        b, theta_b = 3 * rng.normal(size=a.shape), 3 * rng.normal(size=theta_a.shape)
        t = rng.uniform()
        ends = [run(loss, indptr, levels, *point)[0].sum() for point in ((a, theta_a), (b, theta_b))]
        inner = run(loss, indptr, levels, t * a + (1 - t) * b, t * theta_a + (1 - t) * theta_b)[0].sum()
        assert inner <= t * ends[0] + (1 - t) * ends[1] + 1e-9


def test_proximal_is_convex_in_the_scores() -> None:
    """Planes are means, linear in the scores, so square and margins are convex functions of the scores."""
    assert Proximal().convex
    rng = np.random.default_rng(7)
    indptr, levels, a, _ = random_users(rng)
    none = np.empty((len(indptr) - 1, 0))
    for _ in range(100):
        b, t = 3 * rng.normal(size=a.shape), rng.uniform()
        at_a, at_b, inner = (run(Proximal(), indptr, levels, x, none)[0] for x in (a, b, t * a + (1 - t) * b))
        assert np.all(inner <= t * at_a + (1 - t) * at_b + 1e-9)


@together("construction", CONSTRUCTIONS)
@together("level", range(1, N_LEVELS + 1))
def test_value_of_one_entry(construction: str, level: int) -> None:
    theta = [-0.61, -0.18, 0.51, 1.21]
    expected = threshold_loss(MARGINS[SmoothHinge][0], level, 0.37, np.array(theta), construction)
    assert CONSTRUCTIONS[construction]().value(level, 0.37, theta) == pytest.approx(expected, rel=1e-14)


def test_facts_follow_the_margin_loss() -> None:
    assert AllThreshold().smooth
    assert isinstance(AllThreshold().margin, SmoothHinge)
    assert not AllThreshold(Hinge()).smooth
    assert not Proximal(Hinge()).smooth
    assert AllThreshold().target == ImmediateThreshold().target == Proximal().target == "ordinal"
