r"""Are the differences between methods more than chance? Tests over several data sets.

One score of each method on each data set, `Scores`, goes in. With three or more methods, `friedman` asks whether they
differ at all, and `nemenyi` which of them do; `wilcoxon_holm` compares them in pairs. For two methods
`cofactor.evaluation.stats.bayesian` says how probable it is that one of them is better.
`cofactor.evaluation.what_applies` says which of these make sense.

The procedure is that of J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of
Machine Learning Research 7 (2006).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations
from math import inf

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from cofactor.evaluation.stats.applicability import checked, left_out_lines
from cofactor.evaluation.stats.permutations import chance_of_ranks
from cofactor.evaluation.stats.scores import Scores

__all__ = ["Friedman", "Nemenyi", "Pair", "Wilcoxon", "friedman", "holm", "nemenyi", "wilcoxon_holm"]


_FEW = 10  #: data sets, for which Nemenyi's normal ranks are far from what ranks can be


@dataclass(frozen=True, kw_only=True)
class Friedman:
    """Outcome of Friedman's test, with the statistic of Iman and Davenport that papers print.

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
    f_p, critical_value : float
        Probability of so large an f by the distribution F, and the f for which it is `alpha`. For few data sets the
        distribution is another one.
    p : float
        Probability of average ranks so uneven, or more so, if the methods are equally good. This one decides.
    exact : bool
        Whether p is counted over all orders of the ranks, or nearly that.
    alpha : float
        Level of significance.

    Examples
    --------
    >>> from cofactor.evaluation import Scores, friedman
    >>> found = friedman(Scores([[1, 2, 3]] * 6, ["HMF", "MMMF", "ALS"], greater_is_better=False))
    >>> found.average_ranks
    (1.0, 2.0, 3.0)
    """

    methods: tuple[str, ...]
    average_ranks: tuple[float, ...]
    n_data: int
    left_out: tuple[str, ...]
    chi_squared: float
    chi_squared_p: float
    f: float
    degrees: tuple[int, int]
    f_p: float
    critical_value: float
    p: float
    exact: bool
    alpha: float

    @property
    def differ(self) -> bool:
        """Whether the methods differ at level alpha."""
        return self.p <= self.alpha

    def lines(self) -> list[str]:
        """Return the outcome in words, line by line."""
        order = np.argsort(self.average_ranks, kind="stable")
        ranks = ", ".join(f"{self.methods[k]} {self.average_ranks[k]:.3f}" for k in order)
        verdict = "the methods differ" if self.differ else "no difference between the methods is shown"
        k, within = self.degrees
        f = f"Iman–Davenport: F_F = {self.f:.3f}, F({k}, {within}), {_p(self.f_p)}"
        kind = "exact" if self.exact else "approximate"
        return [
            f"Average ranks over {self.n_data} data sets: {ranks}",
            *left_out_lines(self.left_out),
            f"Friedman: chi² = {self.chi_squared:.3f}, {k} degrees of freedom, {_p(self.chi_squared_p)}",
            f"{f}, critical value {self.critical_value:.3f} at alpha = {self.alpha:g}",
            f"By permutations of the ranks, {kind} {_p(self.p)}: {verdict}",
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

    Examples
    --------
    >>> from cofactor.evaluation import Scores, nemenyi
    >>> found = nemenyi(Scores([[1, 2, 3]] * 6, ["HMF", "MMMF", "ALS"], greater_is_better=False))
    >>> round(found.critical_difference, 2)
    1.35
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
        """Return the outcome in words, line by line."""
        groups = [f"No difference is shown among {', '.join(group)}" for group in self.groups]
        rule = (
            f"Nemenyi: methods differ at alpha = {self.alpha:g} if their average ranks do by the critical difference "
            f"CD = {self.critical_difference:.3f} (q = {self.q:.3f}, {self.n_data} data sets)"
        )
        return [rule, *self._caveat(), *left_out_lines(self.left_out), *(groups or ["All methods differ"])]

    def _caveat(self) -> list[str]:
        """Return what a reader must know where data sets are few."""
        if self.critical_difference > len(self.methods) - 1:
            return [
                f"Average ranks over {self.n_data} data sets cannot differ by so much: this test can show nothing here"
            ]
        if self.n_data < _FEW:
            return ["The critical difference is one for many data sets: with so few, the level holds only roughly"]
        return []

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
    """Outcome of Wilcoxon's test for all pairs of methods.

    Attributes
    ----------
    pairs : tuple of Pair
        The pairs, the smallest p-value first.
    n_data : int
        Number of data sets with a score of every method.
    left_out : tuple of str
        The other data sets.
    alpha : float
        Level of significance, for all pairs together.

    Examples
    --------
    >>> from cofactor.evaluation import Scores, wilcoxon_holm
    >>> errors = [[0.1 + k / 100, 0.2 + k / 50] for k in range(8)]
    >>> found = wilcoxon_holm(Scores(errors, ["HMF", "MMMF"], greater_is_better=False))
    >>> type(found).__name__
    'Wilcoxon'
    """

    pairs: tuple[Pair, ...]
    n_data: int
    left_out: tuple[str, ...]
    alpha: float

    @property
    def differing(self) -> tuple[Pair, ...]:
        """The pairs that differ at level alpha, after Holm's correction."""
        return tuple(pair for pair in self.pairs if pair.p_holm <= self.alpha)

    def lines(self) -> list[str]:
        """Return the outcome in words, line by line."""
        return [
            f"Wilcoxon signed-rank tests over {self.n_data} data sets, corrected by Holm, alpha = {self.alpha:g}:",
            *left_out_lines(self.left_out),
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

    which, for equally good methods and many data sets, follow :math:`\chi^2_{K - 1}` and
    :math:`F_{K - 1,\,(K - 1)(N - 1)}` nearly. Both are there since papers print them, but do not decide: for few data
    sets they are too ready to find a difference. At the level 0.05, three methods would be found to differ on three
    data sets in 19 % of all orders of their ranks, and in 7 % on four. So `Friedman.p` comes from these orders
    themselves: on each data set all that its ranks can have, ties included, are equally probable. They are counted for
    up to 125 data sets with three methods, 26 with four, 9 with five, 4 with six, 2 with seven to nine, and for more
    where methods are tied; beyond that, a beta distribution with the same mean and variance is within some thousandths
    of the true p near 0.05.

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
    M. Friedman, JASA 32 (1937); R. L. Iman & J. M. Davenport, Communications in Statistics A9 (1980);
    E. J. G. Pitman, Biometrika 29 (1938).

    Examples
    --------
    >>> errors = [[0.10, 0.20, 0.30], [0.12, 0.18, 0.25], [0.31, 0.28, 0.40], [0.15, 0.19, 0.22]]
    >>> print(friedman(Scores(errors, ["HMF", "MMMF", "ALS"], greater_is_better=False)))
    Average ranks over 4 data sets: HMF 1.250, MMMF 1.750, ALS 3.000
    Friedman: chi² = 6.500, 2 degrees of freedom, p = 0.039
    Iman–Davenport: F_F = 13.000, F(2, 6), p = 0.0066, critical value 5.143 at alpha = 0.05
    By permutations of the ranks, exact p = 0.042: the methods differ
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
    p, exact = chance_of_ranks(ranks)
    return Friedman(
        methods=scores.methods,
        average_ranks=tuple(average.tolist()),
        n_data=n,
        left_out=scores.left_out,
        chi_squared=chi_squared,
        chi_squared_p=float(stats.chi2.sf(chi_squared, k - 1)),
        f=f,
        degrees=degrees,
        f_p=float(stats.f.sf(f, *degrees)),
        critical_value=float(stats.f.isf(alpha, *degrees)),
        p=p,
        exact=exact,
        alpha=alpha,
    )


def nemenyi(scores: Scores, alpha: float = 0.05) -> Nemenyi:
    r"""Find which methods differ over several data sets, once `friedman` has shown that some do.

    Two methods differ if their average ranks do by the critical difference

    .. math:: \mathrm{CD} = q_\alpha \sqrt{\frac{K (K + 1)}{6 N}}

    or more, where :math:`q_\alpha \sqrt 2` is the upper quantile of the studentized range of K normal variables.

    Average ranks are normal for many data sets only. At the level 0.05 and with equally good methods, some pair differs
    in 3 to 6 % of all orders of the ranks of three methods on three data sets or more, in 0.7 to 5 % for four to six
    methods on three to nine, and never on two data sets, where average ranks cannot be so far apart. Where it is done
    only after `friedman` has shown a difference, as `conclude` does, both together hold the level if all methods are
    equally good.

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
    apart, place = np.unique(np.abs(best_first[:, None] - best_first), return_inverse=True)
    p_values = stats.studentized_range.sf(apart / unit * np.sqrt(2), k, np.inf)[place].reshape(k, k)
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
            better=_better(first, second, plus, minus),
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

    Parameters
    ----------
    p_values : array-like of shape (n,)
        In any order.

    Returns
    -------
    ndarray of shape (n,)
        In the same order; at most 1.

    References
    ----------
    S. Holm, Scandinavian Journal of Statistics 6 (1979).

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


def _better(first: str, second: str, plus: float, minus: float) -> str:
    """Return the method whose ranks sum to more; nothing if both sums agree."""
    if plus == minus:
        return ""
    return first if plus > minus else second


def _intervals(increasing: NDArray[np.float64], width: float) -> list[tuple[int, int]]:
    """Return the maximal runs (start, end) of two or more values that all lie closer together than the width."""
    ends = np.searchsorted(increasing, increasing + width, side="left").tolist()
    before = [0, *ends[:-1]]
    return [
        (start, end) for start, (end, last) in enumerate(zip(ends, before, strict=True)) if end > max(last, start + 1)
    ]


def _p(value: float) -> str:
    return "p < 0.0001" if value < 1e-4 else f"p = {value:.2g}"
