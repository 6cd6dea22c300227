"""How probable is it that one of two methods is better? Bayesian comparisons, which need no level of significance.

`signed_rank` answers for a further data set, given one score of each method on each of several data sets;
`correlated_t` for one data set, given the scores on its folds. Both give three probabilities: that the first method is
better, that the second is, and that they are equal for all practical purposes, that is, closer than `rope`, the
region of practical equivalence.

A. Benavoli, G. Corani, J. Demšar & M. Zaffalon, "Time for a change: a tutorial for comparing multiple classifiers
through Bayesian analysis", Journal of Machine Learning Research 18 (2017).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.utils import check_random_state

from cofactor.errors import InvalidInputError
from cofactor.evaluation.stats.applicability import checked, left_out_lines
from cofactor.evaluation.stats.scores import Scores

__all__ = ["Posterior", "correlated_t", "signed_rank"]

_LEAST = 1e-100  # scale of gains that are all equal: the posterior is a point


@dataclass(frozen=True, kw_only=True)
class Posterior:
    """Probabilities that one of two methods is better.

    Attributes
    ----------
    first, second : str
        The methods.
    p_first, p_rope, p_second : float
        Probability that the first method is better, that both are equal within `rope`, that the second is better.
    rope : float
        Differences up to this, in the unit of the scores, do not count.
    test : str
        Name of the test.
    n : int
        Number of data sets, or of splits, with a score of both methods.
    left_out : tuple of str
        The other ones.

    Examples
    --------
    >>> from cofactor.evaluation import Scores, signed_rank
    >>> errors = [[0.1 + k / 100, 0.2 + k / 50] for k in range(8)]
    >>> type(signed_rank(Scores(errors, ["HMF", "MMMF"], greater_is_better=False))).__name__
    'Posterior'
    """

    first: str
    second: str
    p_first: float
    p_rope: float
    p_second: float
    rope: float
    test: str
    n: int
    left_out: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the outcome in words, line by line."""
        equal = f", equal within {self.rope:g} {self.p_rope:.3f}" if self.rope else ""
        over = "data sets" if self.test == "Bayesian signed-rank test" else "splits"
        better = f"{self.first} is better {self.p_first:.3f}, {self.second} {self.p_second:.3f}"
        return [f"{self.test} over {self.n} {over}: probability that {better}{equal}", *left_out_lines(self.left_out)]

    def __str__(self) -> str:
        return "\n".join(self.lines())


def signed_rank(
    scores: Scores,
    rope: float = 0.0,
    *,
    prior_strength: float = 0.5,
    n_samples: int = 50_000,
    random_state: Any = 0,
) -> Posterior:
    r"""Compare two methods over several data sets by the Bayesian signed-rank test.

    The gains :math:`z_1, \dots, z_N` of the first method over the second, and a pseudo-observation :math:`z_0 = 0`, get
    random weights :math:`w \sim \mathrm{Dirichlet}(s, 1, \dots, 1)`, a draw from the posterior of a Dirichlet process.
    Under it the first method is better by more than r, in the sense of signed ranks, with probability

    .. math:: \theta_1 = \sum_{i, j} w_i w_j \, [z_i + z_j > 2 r],

    the second likewise with :math:`z_i + z_j < -2 r`, and the rest goes to equality. The test returns how often each of
    the three is the largest. With r = 0 sums of exactly 0 go half to each method.

    Parameters
    ----------
    scores : Scores
        Scores of two methods on two or more data sets. Data sets that miss one are left out.
    rope : float, default=0.0
        Gains up to this, r, do not count; in the unit of the scores.
    prior_strength : float, default=0.5
        Weight s of the pseudo-observation, that of a data set being 1.
    n_samples : int, default=50000
        Number of draws; with these, the standard error of a probability is below 0.0023.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If there are not two methods, or less than two data sets; or rope is negative, or another setting not positive.

    References
    ----------
    A. Benavoli, F. Mangili, G. Corani, M. Zaffalon & F. Ruggeri, "A Bayesian Wilcoxon signed-rank test based on the
    Dirichlet process", ICML 2014.

    Examples
    --------
    >>> errors = [[0.70, 0.74], [0.66, 0.68], [0.91, 0.90], [0.80, 0.85], [0.73, 0.78]]
    >>> print(signed_rank(Scores(errors, ["HMF", "MMMF"], greater_is_better=False), rope=0.01))
    Bayesian signed-rank test over 5 data sets: probability that HMF is better 0.942, MMMF 0.000,
        equal within 0.01 0.058
    """
    for name, value in (("prior_strength", prior_strength), ("n_samples", n_samples)):
        if not value > 0:
            raise InvalidInputError(f"{name} must be positive, found {value!r}", argument=name)
    gains = _gains(scores, rope, "signed_rank")
    z = np.concatenate([[0.0], gains])
    sums = np.round(z[:, None] + z, scores.decimals)
    tied = 0.5 * (sums == 0) if rope == 0 else 0.0
    shape = [prior_strength, *np.ones(len(gains))]
    w = check_random_state(random_state).dirichlet(shape, n_samples)
    # einsum's own loops, unlike BLAS, add in the same order on any number of threads.
    first, second = (np.einsum("si,ij,sj->s", w, side + tied, w) for side in (sums > 2 * rope, sums < -2 * rope))
    decided = np.maximum(first, second) > (1 - first - second if rope else 0)
    ahead = 0.5 * (1 + np.sign(first - second))
    p_first, p_second = (float(np.mean(decided * share)) for share in (ahead, 1 - ahead))
    return _posterior("Bayesian signed-rank test", scores, rope, p_first, p_second)


def correlated_t(scores: Scores, test_share: float, rope: float = 0.0) -> Posterior:
    r"""Compare two methods on one data set by the Bayesian correlated t-test over its splits.

    The training parts of the splits overlap, so that the gains :math:`z_1, \dots, z_n` of the first method over the
    second are correlated; their correlation is taken to be the share :math:`\rho` of the data in a test part. Then the
    posterior of the mean gain is Student's t with n − 1 degrees of freedom, located at the mean :math:`\bar z` of the
    gains, with scale

    .. math:: \sqrt{\left(\frac{1}{n} + \frac{\rho}{1 - \rho}\right) \frac{\sum_k (z_k - \bar z)^2}{n - 1}}.

    Parameters
    ----------
    scores : Scores
        Scores of two methods on two or more splits of one data set; splits take the place of data sets.
    test_share : float
        Share ρ of the data in a test part: 1 / number of folds.
    rope : float, default=0.0
        Mean gains up to this do not count; in the unit of the scores.

    Returns
    -------
    Posterior

    Raises
    ------
    ValueError
        If there are not two methods or less than two splits, test_share is not between 0 and 1, or rope is negative.

    References
    ----------
    G. Corani & A. Benavoli, "A Bayesian approach for comparing cross-validated algorithms on multiple data sets",
    Machine Learning 100 (2015); the correlation is that of C. Nadeau & Y. Bengio, Machine Learning 52 (2003).

    Examples
    --------
    >>> errors = [[0.70, 0.72], [0.69, 0.70], [0.71, 0.74], [0.70, 0.71], [0.68, 0.71]]
    >>> print(correlated_t(Scores(errors, ["HMF", "MMMF"], greater_is_better=False), test_share=1 / 5))
    Bayesian correlated t-test over 5 splits: probability that HMF is better 0.980, MMMF 0.020
    """
    if not 0 < test_share < 1:
        raise InvalidInputError(
            f"test_share must lie between 0 and 1, found {test_share!r}: 1 / number of folds", argument="test_share"
        )
    z = _gains(scores, rope, "correlated_t")
    n = len(z)
    if n < 2:
        raise InvalidInputError(f"correlated_t: it needs the scores of two splits or more, found {n}")
    scale = np.sqrt((1 / n + test_share / (1 - test_share)) * z.var(ddof=1))
    mean_gain = stats.t(n - 1, loc=z.mean(), scale=scale if np.ptp(z) > 0 else _LEAST)
    p_first, p_second = float(mean_gain.sf(rope)), float(mean_gain.cdf(-rope))
    return _posterior("Bayesian correlated t-test", scores, rope, p_first, p_second)


def _gains(scores: Scores, rope: float, test: str) -> NDArray[np.float64]:
    """Return the gains of the first method over the second on the complete rows."""
    if not 0 <= rope < np.inf:
        raise InvalidInputError(f"rope must be a number not below 0, found {rope!r}", argument="rope")
    complete = checked(scores, test)
    return complete.gains(*complete.methods)


def _posterior(test: str, scores: Scores, rope: float, p_first: float, p_second: float) -> Posterior:
    first, second = scores.methods
    return Posterior(
        first=first,
        second=second,
        p_first=p_first,
        p_rope=max(0.0, 1 - p_first - p_second) if rope else 0.0,
        p_second=p_second,
        rope=rope,
        test=test,
        n=len(scores.data) - len(scores.left_out),
        left_out=scores.left_out,
    )
