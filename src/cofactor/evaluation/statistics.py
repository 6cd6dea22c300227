r"""Are the differences between methods more than chance? Tests over several data sets.

One score of each method on each data set, `Scores`, goes in. With three or more methods, `friedman` asks whether they
differ at all, and `nemenyi` which of them do; `wilcoxon_holm` compares them in pairs. For two methods
`cofactor.evaluation.bayesian` says how probable it is that one of them is better. `what_applies` tells which of these
make sense.

The procedure is that of J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of
Machine Learning Research 7 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import factorial, inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from cofactor.evaluation.scores import Scores

__all__ = ["Friedman", "Nemenyi", "Pair", "Wilcoxon", "friedman", "holm", "nemenyi", "what_applies", "wilcoxon_holm"]


@dataclass(frozen=True, kw_only=True)
class Friedman:
    """Outcome of Friedman's test and of its refinement by Iman and Davenport.

    Attributes
    ----------
    methods, average_ranks : tuple
        The methods and the average rank of each, 1 for the best.
    n_data : int
        Number of data sets with a score of every method.
    left_out : tuple of str
        The other data sets.
    chi_squared, chi_squared_p : float
        Friedman's statistic, and its p-value with one degree of freedom less than there are methods.
    f : float
        The statistic of Iman and Davenport; infinite where all data sets agree.
    degrees : (int, int)
        Degrees of freedom of f.
    p : float
        Probability of so large an f, or a larger one, if the methods are equally good.
    critical_value : float
        The methods differ at level `alpha` if f is larger than this.
    alpha : float
        Level of significance.
    """

    methods: tuple[str, ...]
    average_ranks: tuple[float, ...]
    n_data: int
    left_out: tuple[str, ...]
    chi_squared: float
    chi_squared_p: float
    f: float
    degrees: tuple[int, int]
    p: float
    critical_value: float
    alpha: float

    @property
    def differ(self) -> bool:
        """Whether the methods differ at level alpha."""
        return self.f > self.critical_value

    def lines(self) -> list[str]:
        """Say it in words."""
        order = np.argsort(self.average_ranks, kind="stable")
        ranks = ", ".join(f"{self.methods[k]} {self.average_ranks[k]:.3f}" for k in order)
        verdict = "the methods differ" if self.differ else "no difference between the methods is shown"
        k, within = self.degrees
        f = f"Iman–Davenport: F_F = {self.f:.3f}, F({k}, {within}), {_p(self.p)}"
        return [
            f"Average ranks over {self.n_data} data sets: {ranks}",
            *said(self.left_out),
            f"Friedman: chi² = {self.chi_squared:.3f}, {k} degrees of freedom, {_p(self.chi_squared_p)}",
            f"{f}, critical value {self.critical_value:.3f} at alpha = {self.alpha:g}: {verdict}",
        ]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True, kw_only=True)
class Nemenyi:
    """Outcome of Nemenyi's test: which methods differ.

    Attributes
    ----------
    methods, average_ranks : tuple
        The methods from the best to the worst, and the average rank of each.
    n_data : int
        Number of data sets with a score of every method.
    left_out : tuple of str
        The other data sets.
    q : float
        Quantile of the studentized range, divided by √2.
    critical_difference : float
        Two methods differ at level `alpha` if their average ranks do by at least this.
    groups : tuple of tuple of str
        The largest groups of methods among which no difference is shown, each from the best to the worst; methods that
        differ from all others are in none.
    p_values : tuple of tuple of float
        p-value of each pair, in the order of `methods`.
    alpha : float
        Level of significance, for all pairs together.
    """

    methods: tuple[str, ...]
    average_ranks: tuple[float, ...]
    n_data: int
    left_out: tuple[str, ...]
    q: float
    critical_difference: float
    groups: tuple[tuple[str, ...], ...]
    p_values: tuple[tuple[float, ...], ...] = field(repr=False)
    alpha: float

    def lines(self) -> list[str]:
        """Say it in words."""
        groups = [f"No difference is shown among {', '.join(group)}" for group in self.groups]
        rule = (
            f"Nemenyi: methods differ at alpha = {self.alpha:g} if their average ranks do by the critical difference "
            f"CD = {self.critical_difference:.3f} (q = {self.q:.3f}, {self.n_data} data sets)"
        )
        return [rule, *said(self.left_out), *(groups or ["All methods differ"])]

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True, kw_only=True)
class Pair:
    """Two methods compared by Wilcoxon's signed-rank test.

    Attributes
    ----------
    first, second : str
        The methods.
    better : str
        The one whose ranks sum to more, or nothing if both sums agree.
    wins : (int, int)
        Number of data sets on which the first, and the second, is better.
    statistic : float
        The smaller sum of ranks.
    p : float
        p-value of this pair alone, two-sided.
    p_holm : float
        The same, corrected by Holm for all pairs.
    """

    first: str
    second: str
    better: str
    wins: tuple[int, int]
    statistic: float
    p: float
    p_holm: float


@dataclass(frozen=True, kw_only=True)
class Wilcoxon:
    """Outcome of Wilcoxon's test for all pairs of methods: `pairs`, from the smallest p-value on, at level `alpha`."""

    pairs: tuple[Pair, ...]
    n_data: int
    left_out: tuple[str, ...]
    alpha: float

    @property
    def differing(self) -> tuple[Pair, ...]:
        """The pairs that differ at level alpha, after Holm's correction."""
        return tuple(pair for pair in self.pairs if pair.p_holm <= self.alpha)

    def lines(self) -> list[str]:
        """Say it in words."""
        return [
            f"Wilcoxon signed-rank tests over {self.n_data} data sets, corrected by Holm, alpha = {self.alpha:g}:",
            *said(self.left_out),
            *(self._line(pair) for pair in self.pairs),
        ]

    def _line(self, pair: Pair) -> str:
        verdict = f"{pair.better} is better" if pair in self.differing else "no difference is shown"
        return (
            f"  {pair.first} – {pair.second}: better on {pair.wins[0]} – {pair.wins[1]}, W = {pair.statistic:g}, "
            f"{_p(pair.p)}, corrected {_p(pair.p_holm)}: {verdict}"
        )

    def __str__(self) -> str:
        return "\n".join(self.lines())


def friedman(scores: Scores, alpha: float = 0.05, *, correct_ties: bool = True) -> Friedman:
    r"""Test whether any of several methods differ over several data sets.

    With :math:`R_j` the average rank of method j of K over N data sets,

    .. math::
        \chi^2_F = \frac{12 N}{K (K + 1)} \Bigl(\sum_j R_j^2 - \frac{K (K + 1)^2}{4}\Bigr), \qquad
        F_F = \frac{(N - 1) \chi^2_F}{N (K - 1) - \chi^2_F},

    which, for equally good methods, follow :math:`\chi^2_{K - 1}` and :math:`F_{K - 1,\,(K - 1)(N - 1)}` nearly.
    Where all data sets agree, :math:`F_F` is infinite and its p is exact, :math:`K!^{1 - N}`.

    Parameters
    ----------
    scores : Scores
        One score of each method on each data set. Data sets that miss one are left out.
    alpha : float, default=0.05
        Level of significance.
    correct_ties : bool, default=True
        Divide :math:`\chi^2_F` by :math:`1 - \sum (t^3 - t) / (N K (K^2 - 1))`, the sum over all groups of t tied
        methods, as scipy does. Most papers print the plain value.

    Returns
    -------
    Friedman

    Raises
    ------
    ValueError
        If there are less than three methods, or so few data sets that no outcome could be significant.

    References
    ----------
    M. Friedman, JASA 32 (1937); R. L. Iman & J. M. Davenport, Communications in Statistics A9 (1980).

    Examples
    --------
    >>> errors = [[0.10, 0.20, 0.30], [0.12, 0.18, 0.25], [0.31, 0.28, 0.40], [0.15, 0.19, 0.22]]
    >>> print(friedman(Scores(errors, ["HMF", "MMMF", "ALS"], greater_is_better=False)))
    Average ranks over 4 data sets: HMF 1.250, MMMF 1.750, ALS 3.000
    Friedman: chi² = 6.500, 2 degrees of freedom, p = 0.039
    Iman–Davenport: F_F = 13.000, F(2, 6), p = 0.0066, critical value 5.143 at alpha = 0.05: the methods differ
    """
    ranks = checked(scores, "friedman", alpha).ranks
    n, k = ranks.shape
    average = ranks.mean(axis=0)
    chi_squared = 12 * n / (k * (k + 1)) * float((average**2).sum() - k * (k + 1) ** 2 / 4)
    untied = 1 - sum(_ties(row) for row in ranks) / (n * k * (k**2 - 1))
    if correct_ties:
        chi_squared = chi_squared / untied if untied > 0 else 0.0
    # Where all data sets agree the sum of squares within them is 0, but for rounding.
    within = n * (k - 1) - chi_squared
    f = (n - 1) * chi_squared / within if within > 1e-9 else inf
    degrees = (k - 1, (k - 1) * (n - 1))
    return Friedman(
        methods=scores.methods,
        average_ranks=tuple(average.tolist()),
        n_data=n,
        left_out=scores.left_out,
        chi_squared=chi_squared,
        chi_squared_p=float(stats.chi2.sf(chi_squared, k - 1)),
        f=f,
        degrees=degrees,
        p=float(stats.f.sf(f, *degrees)) if f < inf else float(factorial(k)) ** (1 - n),
        critical_value=float(stats.f.isf(alpha, *degrees)),
        alpha=alpha,
    )


def nemenyi(scores: Scores, alpha: float = 0.05) -> Nemenyi:
    r"""Find which methods differ over several data sets, once `friedman` has shown that some do.

    Two methods differ if their average ranks do by the critical difference

    .. math:: \mathrm{CD} = q_\alpha \sqrt{\frac{K (K + 1)}{6 N}}

    or more, where :math:`q_\alpha \sqrt 2` is the upper quantile of the studentized range of K normal variables.

    Parameters
    ----------
    scores : Scores
        One score of each method on each data set. Data sets that miss one are left out.
    alpha : float, default=0.05
        Level of significance, for all pairs together.

    Returns
    -------
    Nemenyi

    Raises
    ------
    ValueError
        As `friedman`.

    Notes
    -----
    Demšar's table of :math:`q_{0.05}` has 2.949 for K = 7, where the quantile is 2.9483.

    Examples
    --------
    >>> errors = [[0.10, 0.20, 0.30], [0.12, 0.18, 0.25], [0.31, 0.28, 0.40], [0.15, 0.19, 0.22]]
    >>> outcome = nemenyi(Scores(errors, ["HMF", "MMMF", "ALS"], greater_is_better=False))
    >>> round(outcome.critical_difference, 3), outcome.groups
    (1.657, (('HMF', 'MMMF'), ('MMMF', 'ALS')))
    """
    ranks = checked(scores, "nemenyi", alpha).ranks
    n, k = ranks.shape
    average = ranks.mean(axis=0)
    order = np.argsort(average, kind="stable")
    best_first, names = average[order], [scores.methods[j] for j in order]
    unit = float(np.sqrt(k * (k + 1) / (6 * n)))
    q = float(stats.studentized_range.isf(alpha, k, np.inf) / np.sqrt(2))
    apart = np.abs(best_first[:, None] - best_first)
    p_values = stats.studentized_range.sf(apart / unit * np.sqrt(2), k, np.inf)
    return Nemenyi(
        methods=tuple(names),
        average_ranks=tuple(best_first.tolist()),
        n_data=n,
        left_out=scores.left_out,
        q=q,
        critical_difference=q * unit,
        groups=tuple(tuple(names[start:end]) for start, end in _intervals(best_first, q * unit)),
        p_values=tuple(map(tuple, p_values.tolist())),
        alpha=alpha,
    )


def wilcoxon_holm(scores: Scores, alpha: float = 0.05) -> Wilcoxon:
    """Compare all pairs of methods over several data sets by Wilcoxon's signed-rank test, corrected by Holm.

    Data sets on which both methods are equal count half for each. The p-values are exact, given the ranks: the part of
    all choices of signs that gives so uneven sums of ranks.

    Parameters
    ----------
    scores : Scores
        One score of each method on each data set. Data sets that miss one are left out.
    alpha : float, default=0.05
        Level of significance, for all pairs together.

    Returns
    -------
    Wilcoxon

    Raises
    ------
    ValueError
        If there is one method, or so few data sets that no outcome could be significant: less than six at 0.05.

    References
    ----------
    F. Wilcoxon, Biometrics 1 (1945); S. Holm, Scandinavian Journal of Statistics 6 (1979).

    Examples
    --------
    >>> accuracy = [[0.81, 0.80], [0.70, 0.67], [0.64, 0.60], [0.93, 0.91], [0.55, 0.50], [0.77, 0.71]]
    >>> print(wilcoxon_holm(Scores(accuracy, ["CML", "BSVM"], greater_is_better=True)))
    Wilcoxon signed-rank tests over 6 data sets, corrected by Holm, alpha = 0.05:
      CML – BSVM: better on 6 – 0, W = 0, p = 0.031, corrected p = 0.031: CML is better
    """
    complete = checked(scores, "wilcoxon_holm", alpha)
    names = list(combinations(complete.methods, 2))
    gains = [complete.gains(first, second) for first, second in names]
    tests = [_signed_ranks(each) for each in gains]
    corrected = holm([p for *_, p in tests]).tolist()
    pairs = [
        Pair(
            first=first,
            second=second,
            better=first if plus > minus else second if minus > plus else "",
            wins=(int((gain > 0).sum()), int((gain < 0).sum())),
            statistic=min(plus, minus),
            p=p,
            p_holm=p_holm,
        )
        for (first, second), gain, (plus, minus, p), p_holm in zip(names, gains, tests, corrected, strict=True)
    ]
    return Wilcoxon(
        pairs=tuple(sorted(pairs, key=lambda pair: pair.p)),
        n_data=len(complete.data),
        left_out=scores.left_out,
        alpha=alpha,
    )


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Return p-values of several tests, corrected so that together they hold the level: Holm's step-down procedure.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty_like(p)
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1)))
    return corrected


def what_applies(n_data: int, n_methods: int, alpha: float = 0.05) -> dict[str, str]:
    """Tell which tests make sense for so many data sets and methods.

    A test makes no sense where even the clearest outcome, all data sets agreeing, is more probable by chance than
    `alpha`.

    Parameters
    ----------
    n_data : int
        Number of data sets with a score of every method.
    n_methods : int
        Number of methods.
    alpha : float, default=0.05
        Level of significance.

    Returns
    -------
    dict of str to str
        For each test the reason why it makes no sense, in words; empty where it does.

    Examples
    --------
    >>> for test, reason in what_applies(n_data=4, n_methods=2).items():
    ...     print(f"{test}: {reason or 'yes'}")
    friedman: it compares three methods or more, found 2: take wilcoxon_holm or signed_rank
    nemenyi: it compares three methods or more, found 2: take wilcoxon_holm or signed_rank
    wilcoxon_holm: 4 data sets are too few: by chance they all agree with probability 0.12, above alpha = 0.05; at
        least 6 are needed
    signed_rank: yes
    correlated_t: yes
    """
    if n_methods < 2:
        alone = "there is only one method: nothing to compare it with"
        return dict.fromkeys(("friedman", "nemenyi", "wilcoxon_holm", "signed_rank", "correlated_t"), alone)
    one = "with one data set nothing can be said about others: take correlated_t over its folds" if n_data < 2 else ""
    few = "it compares three methods or more, found 2: take wilcoxon_holm or signed_rank" if n_methods < 3 else ""
    two = "" if n_methods == 2 else f"it compares two methods, found {n_methods}: choose them by scores.only"
    return {
        "friedman": one or few or _too_few(n_data, factorial(n_methods), alpha),
        "nemenyi": one or few or _too_few(n_data, factorial(n_methods), alpha),
        "wilcoxon_holm": one or _too_few(n_data, 2, alpha, n_methods * (n_methods - 1) // 2),
        "signed_rank": one or two,
        "correlated_t": two,
    }


def _too_few(n_data: int, n_orders: int, alpha: float, n_tests: int = 1) -> str:
    """Say so if n data sets agree by chance with a probability above alpha / tests, there being so many orders."""
    chance = float(n_orders) ** (1 - n_data)
    if chance <= alpha / n_tests:
        return ""
    needed = next(n for n in range(n_data, 10_000) if float(n_orders) ** (1 - n) <= alpha / n_tests)
    limit = f"alpha = {alpha:g}" if n_tests == 1 else f"alpha = {alpha:g} shared by {n_tests} pairs"
    return (
        f"{n_data} data sets are too few: by chance they all agree with probability {chance:.2g}, above {limit}; "
        f"at least {needed} are needed"
    )


def checked(scores: Scores, test: str, alpha: float = 0.05) -> Scores:
    """Return the complete data sets, or say why the test makes no sense."""
    if not 0 < alpha < 1:
        raise ValueError(f"alpha must lie between 0 and 1, found {alpha!r}")
    complete = scores.complete
    reason = what_applies(len(complete.data), len(complete.methods), alpha)[test]
    if reason:
        raise ValueError(f"{test}: {'; '.join([reason, *said(scores.left_out)])}")
    return complete


def _ties(ranks: NDArray[np.float64]) -> int:
    """Return the sum of t³ - t over the groups of t tied methods."""
    sizes = np.unique(ranks, return_counts=True)[1]
    return int((sizes**3 - sizes).sum())


def _signed_ranks(gains: NDArray[np.float64]) -> tuple[float, float, float]:
    """Return the sums of ranks of positive and of negative differences, half of those of zeros to each; and p."""
    ranks = stats.rankdata(np.abs(gains))
    plus, minus, zero = (float(ranks[side].sum()) for side in (gains > 0, gains < 0, gains == 0))
    chances = np.ones(1)  # of each sum of positive ranks, in halves: tied ranks are halves
    for rank in (2 * ranks[gains != 0]).astype(int):
        chances = 0.5 * (np.pad(chances, (0, rank)) + np.pad(chances, (rank, 0)))
    p = min(1.0, 2 * float(chances[: int(2 * min(plus, minus)) + 1].sum()))
    return plus + zero / 2, minus + zero / 2, p


def _intervals(increasing: NDArray[np.float64], width: float) -> list[tuple[int, int]]:
    """Return the maximal runs (start, end) of two or more values that all lie closer together than the width."""
    ends = np.searchsorted(increasing, increasing + width, side="left").tolist()
    before = [0, *ends[:-1]]
    return [
        (start, end) for start, (end, last) in enumerate(zip(ends, before, strict=True)) if end > max(last, start + 1)
    ]


def said(left_out: tuple[str, ...]) -> list[str]:
    """Return the line that names the data sets left out, if there are any."""
    return [f"Left out, as a method has no score there: {', '.join(left_out)}"] if left_out else []


def _p(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"
