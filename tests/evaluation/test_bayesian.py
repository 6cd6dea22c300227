"""Bayesian comparisons of two methods: cases known exactly, symmetry, limits."""

import numpy as np
import pytest
from scipy import integrate, stats
from tests.together import together

from cofactor.evaluation import Scores, correlated_t, signed_rank

NOISE = 0.01  # four standard errors of a probability from 50,000 draws


def with_gains(*gains, greater_is_better=True):
    sign = 1 if greater_is_better else -1
    return Scores([[1 + sign * z, 1.0] for z in gains], ["new", "old"], greater_is_better=greater_is_better)


def probabilities(outcome):
    return outcome.p_first, outcome.p_rope, outcome.p_second


# --- signed ranks -------------------------------------------------------------------------------------------


def test_two_equal_gains_far_beyond_the_rope():
    """The weight of the pseudo-observation is Beta(s, 2), and equality has its square: it must stay below a half."""
    for s in (0.5, 1.0, 3.0):
        outcome = signed_rank(with_gains(9, 9), rope=1, prior_strength=s)
        assert outcome.p_first == pytest.approx(stats.beta.cdf(np.sqrt(0.5), s, 2), abs=NOISE)
        assert outcome.p_second == 0


def test_two_equal_gains_just_beyond_the_rope():
    """A gain between r and 2r needs another gain beside it: (1 - w0)² must be above a half."""
    outcome = signed_rank(with_gains(1.5, 1.5), rope=1)
    assert outcome.p_first == pytest.approx(stats.beta.cdf(1 - np.sqrt(0.5), 0.5, 2), abs=NOISE)


def test_a_small_gain_against_a_large_loss():
    """Without prior, w1 is uniform and its square must be above a half."""
    outcome = signed_rank(with_gains(1, -2), prior_strength=1e-9)
    assert probabilities(outcome) == pytest.approx((1 - np.sqrt(0.5), 0, np.sqrt(0.5)), abs=NOISE)


@together("rope", [0, 0.4])
def test_three_gains_by_quadrature(rope):
    """Integrate over the weights of gains 1, -0.5, 0.3 with prior strength 1: uniform on the simplex."""
    z = np.array([0, 1, -0.5, 0.3])
    sums = z[:, None] + z
    sides = [(sums > 2 * rope) + 0.5 * (sums == 0) * (rope == 0), (sums < -2 * rope) + 0.5 * (sums == 0) * (rope == 0)]
    grid = (np.arange(60) + 0.5) / 60
    a, b, c = np.meshgrid(grid, grid, grid, indexing="ij")  # stick breaking
    w = np.stack([a, (1 - a) * b, (1 - a) * (1 - b) * c, (1 - a) * (1 - b) * (1 - c)])
    density = 6 * (1 - a) ** 2 * (1 - b)
    first, second = (np.einsum("i...,ij,j...->...", w, side, w) for side in sides)
    rest = 1 - first - second if rope else -1
    exact = [np.mean(density * won) for won in ((first > second) & (first > rest), (second > first) & (second > rest))]
    outcome = signed_rank(with_gains(1, -0.5, 0.3), rope, prior_strength=1)
    assert (outcome.p_first, outcome.p_second) == pytest.approx(exact, abs=NOISE)


def test_sides_mirror_each_other_to_the_bit():
    gains = np.random.default_rng(0).normal(0.1, 1, size=11)
    there, back = (signed_rank(with_gains(*z), rope=0.1) for z in (gains, -gains))
    assert there.p_first == back.p_second
    assert there.p_second == back.p_first
    errors = signed_rank(with_gains(*gains, greater_is_better=False), rope=0.1)
    assert probabilities(errors) == pytest.approx(probabilities(there), abs=1e-12)


def test_limits_of_the_signed_rank_test():
    assert probabilities(signed_rank(with_gains(0, 0, 0))) == (0.5, 0, 0.5)
    assert probabilities(signed_rank(with_gains(0.1, -0.1, 0.05), rope=1)) == (0, 1, 0)
    assert signed_rank(with_gains(*np.full(20, 0.1))).p_first == 1
    many = signed_rank(with_gains(*np.random.default_rng(1).normal(1, 1, size=30)), rope=0.1)
    assert many.p_first > 0.999


def test_the_seed_decides():
    scores = with_gains(1, -1, 0.3, 0.2)
    assert signed_rank(scores, random_state=3) == signed_rank(scores, random_state=3)
    assert signed_rank(scores, random_state=3) != signed_rank(scores, random_state=4)


# --- correlated t -------------------------------------------------------------------------------------------


@together("rope", [0, 0.05])
@together("folds", [5, 10])
def test_correlated_t_is_students(folds, rope):
    """Student's t of the standardised mean, with the variance of Nadeau and Bengio."""
    z = np.random.default_rng(folds).normal(0.03, 0.1, size=folds)
    outcome = correlated_t(with_gains(*z), 1 / folds, rope)
    variance = z.var(ddof=1) * (1 / folds + 1 / (folds - 1))  # ρ / (1 - ρ) = 1 / (folds - 1)
    first, second = ((z.mean() - rope) / np.sqrt(variance), (-rope - z.mean()) / np.sqrt(variance))
    assert outcome.p_first == pytest.approx(stats.t.cdf(first, folds - 1), rel=1e-9)
    assert outcome.p_second == pytest.approx(stats.t.cdf(second, folds - 1), rel=1e-9)
    assert sum(probabilities(outcome)) == pytest.approx(1)


def test_correlated_t_is_the_posterior_of_correlated_normal_gains():
    """Integrate likelihood × prior 1 / σ of gains with equal correlations over mean and deviation."""
    z, rho = np.array([0.3, 0.1, 0.4, -0.1]), 0.25
    n = len(z)
    precision = np.linalg.inv((1 - rho) * np.eye(n) + rho)

    def density(sigma, mean):
        residual = z - mean
        return sigma ** -(n + 1.0) * np.exp(-residual @ precision @ residual / (2 * sigma**2))

    above, below = (integrate.dblquad(density, low, high, 0.01, 8, epsabs=1e-4)[0] for low, high in ((0, 8), (-8, 0)))
    assert correlated_t(with_gains(*z), rho).p_first == pytest.approx(above / (above + below), abs=2e-3)


def test_gains_that_are_all_equal():
    for gain, rope, expected in (
        (0.1, 0, (1, 0, 0)),
        (-0.1, 0, (0, 0, 1)),
        (0.1, 0.2, (0, 1, 0)),
        (0, 0, (0.5, 0, 0.5)),
    ):
        assert probabilities(correlated_t(with_gains(*[gain] * 4), 1 / 4, rope)) == pytest.approx(expected, abs=1e-12)


# --- what is refused ----------------------------------------------------------------------------------------


def test_what_makes_no_sense_is_refused():
    three = Scores(np.eye(3), ["a", "b", "c"], greater_is_better=True)
    with pytest.raises(ValueError, match=r"signed_rank: it compares two methods, found 3: choose them by scores\.only"):
        signed_rank(three)
    with pytest.raises(ValueError, match="correlated_t: it compares two methods, found 3"):
        correlated_t(three, 0.1)
    with pytest.raises(ValueError, match="with one data set nothing .* take correlated_t"):
        signed_rank(with_gains(1))
    with pytest.raises(ValueError, match="two splits or more, found 1"):
        correlated_t(with_gains(1), 0.1)


@together(
    ("setting", "message"),
    [
        ({"rope": -0.1}, "rope must be a number not below 0, found -0.1"),
        ({"rope": float("nan")}, "rope must be"),
        ({"prior_strength": 0}, "prior_strength must be positive, found 0"),
        ({"n_samples": 0}, "n_samples must be positive, found 0"),
    ],
)
def test_settings_that_are_refused(setting, message):
    with pytest.raises(ValueError, match=message):
        signed_rank(with_gains(1, 2), **setting)


@together("share", [0, 1, 10])
def test_the_test_share_is_a_share(share):
    with pytest.raises(ValueError, match="test_share must lie between 0 and 1"):
        correlated_t(with_gains(1, 2), share)


def test_gaps_are_said():
    scores = Scores([[1, 2], [3, float("nan")], [2, 1]], ["a", "b"], ["x", "y", "z"], greater_is_better=True)
    outcome = signed_rank(scores, rope=0.1)
    assert (outcome.n, outcome.left_out) == (2, ("y",))
    assert "over 2 data sets" in str(outcome)
    assert "equal within 0.1" in str(outcome)
