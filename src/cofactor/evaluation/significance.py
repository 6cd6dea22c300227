r"""Are the differences between methods more than chance? Tests over several data sets, and Bayesian comparisons.

One score of each method on each data set, `Scores`, goes in. With three or more methods, `friedman` asks whether they
differ at all, and `nemenyi` which of them do; `wilcoxon_holm` compares them in pairs. The procedure is that of
J. Demšar, "Statistical comparisons of classifiers over multiple data sets", Journal of Machine Learning Research 7
(2006).

Of two methods Bayesian comparisons, which need no level of significance, say how probable it is that one is better:
`signed_rank` on a further data set, and `correlated_t` on one data set, given the scores on its folds. Both give three
probabilities: that the first method is better, that the second is, and that they are equal for all practical purposes,
that is, closer than `rope`, the region of practical equivalence; A. Benavoli, G. Corani, J. Demšar & M. Zaffalon, "Time
for a change: a tutorial for comparing multiple classifiers through Bayesian analysis", Journal of Machine Learning
Research 18 (2017).

`what_applies` says which of these make sense, and `conclude` does those that do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from math import factorial, inf, log2, prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from scipy.stats import rankdata
from sklearn.utils import check_random_state

from cofactor.errors import InvalidInputError
from cofactor.text import one_line

_DIGITS = 12  # significant digits that count: sums in another order must not break a tie


class Scores:
    """A table of scores, data sets × methods, and which direction is better.

    Parameters
    ----------
    values : array-like of shape (n_data, n_methods)
        One number for each data set (or split of one data set) and method; NaN where there is none. Numbers that
        agree to 12 significant digits of the largest one are equal.
    methods : sequence of str
        Names of the columns.
    data : sequence of str, optional
        Names of the rows; by default ``"1"``, ``"2"``, ...
    greater_is_better : bool, keyword
        False for errors and losses.

    Attributes
    ----------
    values, methods, data, greater_is_better
        What was given; the values read-only.
    ranks : ndarray of shape (n_data, n_methods)
        Rank of each method on each data set, 1 for the best; tied methods share the average of their ranks. NaN in rows
        that miss a score.

    Raises
    ------
    ValueError
        If the names do not fit the values, a name occurs twice, or a score is infinite.

    Examples
    --------
    >>> errors = [[0.71, 0.74, 0.74], [0.68, 0.66, 0.70], [0.90, float("nan"), 0.80]]
    >>> scores = Scores(errors, ["HMF", "MMMF", "ALS"], ["ml-100k", "ml-1m", "toy"], greater_is_better=False)
    >>> scores.ranks
    array([[1. , 2.5, 2.5],
           [2. , 1. , 3. ],
           [nan, nan, nan]])
    >>> scores.complete.data, scores.left_out
    (('ml-100k', 'ml-1m'), ('toy',))
    """

    def __init__(
        self, values: ArrayLike, methods: Sequence[str], data: Sequence[str] | None = None, *, greater_is_better: bool
    ) -> None:
        table = np.array(values, dtype=np.float64)
        if table.ndim != 2 or not table.size:
            raise InvalidInputError(
                f"values must be a table, data sets × methods, found shape {table.shape}", argument="values"
            )
        names = tuple(methods)
        rows = tuple(data) if data is not None else tuple(str(k + 1) for k in range(len(table)))
        for what, found, n in (("methods", names, table.shape[1]), ("data", rows, len(table))):
            if len(found) != n:
                raise InvalidInputError(
                    f"values has shape {table.shape}, but {what} has {len(found)} names", argument="values"
                )
            if len(set(found)) < n:
                twice = next(name for name in found if found.count(name) > 1)
                raise InvalidInputError(f"{what} must differ, found {twice!r} twice")
        if np.isinf(table).any():
            row, column = np.argwhere(np.isinf(table))[0]
            raise InvalidInputError(f"the score of {names[column]} on {rows[row]} is infinite: leave it out as NaN")
        table.flags.writeable = False
        self.values: NDArray[np.float64] = table
        self.methods: tuple[str, ...] = names
        self.data: tuple[str, ...] = rows
        self.greater_is_better = greater_is_better

    def __repr__(self) -> str:
        return f"Scores({len(self.data)} data sets × {len(self.methods)} methods: {', '.join(self.methods)})"

    @cached_property
    def _gaps(self) -> NDArray[np.bool_]:
        return np.asarray(np.isnan(self.values).any(axis=1))

    @cached_property
    def decimals(self) -> int:
        """Decimals that count, in scores and their differences."""
        largest = np.abs(np.nan_to_num(self.values)).max()
        return _DIGITS - 1 - int(np.floor(np.log10(largest))) if largest > 0 else _DIGITS

    @cached_property
    def ranks(self) -> NDArray[np.float64]:
        """Rank of each method on each data set."""
        losses = np.round(-self.values if self.greater_is_better else self.values, self.decimals)
        return np.asarray(rankdata(losses, axis=1, nan_policy="propagate"))

    @property
    def complete(self) -> Scores:
        """The data sets on which every method has a score."""
        kept = ~self._gaps
        if not kept.any():
            raise InvalidInputError(f"no data set has a score of every method: {', '.join(self.methods)}")
        rows = [name for name, whole in zip(self.data, kept, strict=True) if whole]
        return Scores(self.values[kept], self.methods, rows, greater_is_better=self.greater_is_better)

    @property
    def left_out(self) -> tuple[str, ...]:
        """The other data sets."""
        return tuple(name for name, gap in zip(self.data, self._gaps, strict=True) if gap)

    def only(self, *methods: str) -> Scores:
        """Return the scores of these methods alone, in this order.

        Raises
        ------
        ValueError
            If there is no such method.
        """
        for name in methods:
            if name not in self.methods:
                raise InvalidInputError(f"there is no method {name!r}, only {', '.join(self.methods)}")
        columns = [self.methods.index(name) for name in methods]
        return Scores(self.values[:, columns], methods, self.data, greater_is_better=self.greater_is_better)

    def gains(self, first: str, second: str) -> NDArray[np.float64]:
        """Return how much better the first method is than the second, on each data set."""
        one, other = self.only(first, second).values.T
        gained = one - other if self.greater_is_better else other - one
        return np.round(gained, self.decimals)


def what_applies(n_data: int, n_methods: int, alpha: float = 0.05) -> dict[str, str]:
    """Return which tests make sense for so many data sets and methods.

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
    friedman: it compares three methods or more, found 2
    nemenyi: it compares three methods or more, found 2
    wilcoxon_holm: 4 data sets are too few, since by chance they all agree with probability 0.12, above alpha = 0.05;
        at least 6 are needed
    signed_rank: yes
    correlated_t: yes
    """
    if n_methods < 2:
        alone = "there is only one method, and nothing to compare it with"
        return dict.fromkeys(("friedman", "nemenyi", "wilcoxon_holm", "signed_rank", "correlated_t"), alone)
    one = "with one data set nothing can be said about others" if n_data < 2 else ""
    few = "it compares three methods or more, found 2" if n_methods < 3 else ""
    two = "" if n_methods == 2 else f"it compares two methods, found {n_methods}: choose them by scores.only"
    return {
        "friedman": one or few or _too_few(n_data, factorial(n_methods), alpha),
        "nemenyi": one or few or _too_few(n_data, factorial(n_methods), alpha),
        "wilcoxon_holm": one or _too_few(n_data, 2, alpha, n_methods * (n_methods - 1) // 2),
        "signed_rank": one or two,
        "correlated_t": two,
    }


def _too_few(n_data: int, n_orders: int, alpha: float, n_tests: int = 1) -> str:
    """Return why n data sets are too few: they all agree by chance too often. Empty if they are enough."""
    chance = 1 / n_orders ** (n_data - 1)
    if chance <= alpha / n_tests:
        return ""
    needed = next(n for n in range(n_data, 10_000) if 1 / n_orders ** (n - 1) <= alpha / n_tests)
    limit = f"alpha = {alpha:g}" if n_tests == 1 else f"alpha = {alpha:g} shared by {n_tests} pairs"
    return (
        f"{n_data} data sets are too few, since by chance they all agree with probability {chance:.2g}, above {limit}; "
        f"at least {needed} are needed"
    )


def checked(scores: Scores, test: str, alpha: float = 0.05) -> Scores:
    """Return the scores on the complete data sets; refuse a test that makes no sense for them, and say why."""
    if not 0 < alpha < 1:
        raise InvalidInputError(f"alpha must lie between 0 and 1, found {alpha!r}", argument="alpha")
    complete = scores.complete
    reason = what_applies(len(complete.data), len(complete.methods), alpha)[test]
    if reason:
        one = len(complete.data) < 2 <= len(complete.methods)
        advice = "for two methods take correlated_t over its folds" if one else ""
        raise InvalidInputError(f"{test}: {'; '.join([reason, *left_out_lines(scores.left_out)])}", advice=advice)
    return complete


def left_out_lines(left_out: tuple[str, ...]) -> list[str]:
    """Return the line that names the data sets left out, if there are any."""
    return [f"Left out, as a method has no score there: {', '.join(left_out)}"] if left_out else []


_WORK = 2_000_000  #: vectors of sums that an exact p may take, some tenths of a second

Ints = NDArray[np.int32]


def chance_of_ranks(ranks: NDArray[np.float64]) -> tuple[float, bool]:
    """Return the probability of rank sums so uneven, or more so, by chance; and whether it is exact.

    If all methods are equally good, then on each data set every order of its ranks is as probable as any other,
    whatever ties there are, and the data sets do not depend on one another. As much of this as matters to Friedman's
    statistic is how far the sums of ranks lie from their mean: the sum of squares of these deviations.

    Parameters
    ----------
    ranks : ndarray of shape (n_data, n_methods)
        The ranks on each data set; tied methods share the average of theirs.

    Returns
    -------
    (float, bool)
        Where counting takes too long, the sum of squares is taken for a multiple of a beta variable with the mean and
        the variance that it has. Near 0.05 this is off by a few thousandths, by more only where most methods are tied.

    References
    ----------
    E. J. G. Pitman, "Significance tests which may be applied to samples from any populations III", Biometrika 29
    (1938); M. G. Kendall & B. Babington Smith, Annals of Mathematical Statistics 10 (1939).

    Examples
    --------
    Three data sets of 6³ orders, of which one in 36 is as uneven as the first and one in six as the second:

    >>> chance_of_ranks(np.array([[1.0, 2, 3], [1, 2, 3], [1, 2, 3]]))
    (0.02777777777777..., True)
    >>> chance_of_ranks(np.array([[1.0, 2, 3], [1, 2, 3], [1, 3, 2]]))
    (0.1944444444444..., True)
    """
    deviations = np.rint(2 * ranks).astype(np.int32) - (ranks.shape[1] + 1)  # doubled: ties make halves
    reached = int((deviations.sum(axis=0).astype(np.int64) ** 2).sum())
    rows = sorted((np.sort(row) for row in deviations if row.any()), key=_n_orders, reverse=True)
    exact = _counted(rows, reached)
    return (_approximated(rows, reached), False) if exact is None else (exact, True)


def _counted(rows: Sequence[Ints], reached: int) -> float | None:
    """Return the part of all orders whose sum of squares is at least the one reached; None if they are too many.

    Sums of ranks that are a permutation of one another have equal futures, so they are kept sorted, and each once. For
    the same reason the first row may keep its order.
    """
    if not rows:  # all methods are tied on every data set
        return 1.0
    sums, counts, work = rows[0][None], np.ones(1), 0
    for row in rows[1:]:
        n_orders = _n_orders(row)
        work += len(sums) * n_orders
        if work > _WORK:
            return None
        sums = (sums[:, None] + _orders(row)).reshape(-1, len(row))
        sums.sort(axis=1)
        sums, counts = _merged(sums, np.repeat(counts, n_orders))
    # So little work reaches no count above 1e300; those below 2**53 are exact, so that 1 of 20 is not above 0.05.
    uneven = (sums.astype(np.int64) ** 2).sum(axis=1) >= reached
    return float(counts[uneven].sum() / counts.sum())


def _approximated(rows: Sequence[Ints], reached: int) -> float:
    """Return an approximation by the mean and the variance of the sum of squares."""
    squares = np.array([float(row @ row) for row in rows])
    largest = np.sqrt(squares).sum() ** 2  # if all rows pointed the same way
    mean = squares.sum() / largest
    variance = 2 * (squares.sum() ** 2 - (squares**2).sum()) / (len(rows[0]) - 1) / largest**2
    both = mean * (1 - mean) / variance - 1  # the sum of the two parameters of the beta distribution
    p = float(stats.beta.sf(reached / largest, mean * both, (1 - mean) * both))
    return max(p, 1 / prod(map(_n_orders, rows[1:])))  # the order found is one of so many


def _n_orders(row: Ints) -> int:
    """Return in how many orders the ranks of a row can stand; those of tied methods are the same."""
    return factorial(len(row)) // prod(map(factorial, np.unique(row, return_counts=True)[1].tolist()))


def _orders(row: Ints) -> Ints:
    """Return these orders, each once."""
    values, left = np.unique(row, return_counts=True)
    orders, left = np.empty((1, 0), dtype=row.dtype), left[None]
    for _ in row:
        old, taken = np.nonzero(left)
        orders = np.column_stack([orders[old], values[taken]])
        left = left[old] - np.eye(len(values), dtype=left.dtype)[taken]
    return orders


def _merged(sums: Ints, counts: NDArray[np.float64]) -> tuple[Ints, NDArray[np.float64]]:
    """Return every row of sums once, with the sum of its counts."""
    digits = sums - sums.min()
    base = int(digits.max()) + 1
    width = int(62 / log2(base))  # so many columns are the digits of one integer
    parts = [digits[:, start : start + width] for start in range(0, sums.shape[1], width)]
    keys = [part @ base ** np.arange(part.shape[1], dtype=np.int64) for part in parts]
    order = np.lexsort(keys)
    changes = np.any([np.diff(key[order]) != 0 for key in keys], axis=0)
    starts = np.flatnonzero(np.append(True, changes))
    return sums[order[starts]], np.add.reduceat(counts[order], starts)


_FEW = 10  #: data sets, for which Nemenyi's normal ranks are far from what ranks can be


class _Outcome:
    """What a test found, in words."""

    def lines(self) -> list[str]:
        """Return the outcome in words, line by line."""
        raise NotImplementedError

    def __str__(self) -> str:
        return "\n".join(self.lines())


@dataclass(frozen=True, kw_only=True)
class Friedman(_Outcome):
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


@dataclass(frozen=True, kw_only=True)
class Nemenyi(_Outcome):
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


@dataclass(frozen=True, kw_only=True)
class PairTest:
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
class Wilcoxon(_Outcome):
    """Outcome of Wilcoxon's test for all pairs of methods.

    Attributes
    ----------
    pairs : tuple of PairTest
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

    pairs: tuple[PairTest, ...]
    n_data: int
    left_out: tuple[str, ...]
    alpha: float

    @property
    def differing(self) -> tuple[PairTest, ...]:
        """The pairs that differ at level alpha, after Holm's correction."""
        return tuple(pair for pair in self.pairs if pair.p_holm <= self.alpha)

    def lines(self) -> list[str]:
        """Return the outcome in words, line by line."""
        return [
            f"Wilcoxon signed-rank tests over {self.n_data} data sets, corrected by Holm, alpha = {self.alpha:g}:",
            *left_out_lines(self.left_out),
            *(self._line(pair) for pair in self.pairs),
        ]

    def _line(self, pair: PairTest) -> str:
        verdict = f"{pair.better} is better" if pair in self.differing else "no difference is shown"
        return (
            f"  {pair.first} – {pair.second}: better on {pair.wins[0]} – {pair.wins[1]}, W = {pair.statistic:g}, "
            f"{_p(pair.p)}, corrected {_p(pair.p_holm)}: {verdict}"
        )


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
        PairTest(
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


_LEAST = 1e-100  # scale of gains that are all equal: the posterior is a point


@dataclass(frozen=True, kw_only=True)
class ComparisonPosterior(_Outcome):
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
    'ComparisonPosterior'
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


def signed_rank(
    scores: Scores,
    rope: float = 0.0,
    *,
    prior_strength: float = 0.5,
    n_samples: int = 50_000,
    random_state: Any = 0,
) -> ComparisonPosterior:
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
    ComparisonPosterior

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


def correlated_t(scores: Scores, test_share: float, rope: float = 0.0) -> ComparisonPosterior:
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
    ComparisonPosterior

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


def _posterior(test: str, scores: Scores, rope: float, p_first: float, p_second: float) -> ComparisonPosterior:
    first, second = scores.methods
    return ComparisonPosterior(
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


_NAMES = {
    "friedman": "Friedman's test with Nemenyi's",
    "wilcoxon_holm": "Wilcoxon's test with Holm's correction",
    "signed_rank": "The Bayesian signed-rank test",
}


@dataclass(frozen=True, kw_only=True)
class Conclusions:
    """Outcomes of the tests which make sense; None for the others.

    Attributes
    ----------
    friedman : Friedman or None
        Whether three or more methods differ at all.
    nemenyi : Nemenyi or None
        Which of them do, if so.
    wilcoxon : Wilcoxon or None
        Which pairs differ.
    signed_rank : ComparisonPosterior or None
        How probable it is that one of two methods is better on a further data set.
    correlated_t : dict of str to ComparisonPosterior
        The same for each data set, given its splits.
    refused : dict of str to str
        Tests that were not done, and why.
    absent : dict of str to str
        Methods that are in no test, and why.
    over_users : tuple of str
        Of lists of recommendations, which methods differ over the users of each data set, in words.

    Examples
    --------
    >>> from cofactor.evaluation import Scores, conclude
    >>> found = conclude(Scores([[0.7, 0.8], [0.6, 0.7]], ["HMF", "MMMF"], greater_is_better=False))
    >>> found.friedman is None, len(found.refused)
    (True, 3)
    """

    friedman: Friedman | None = None
    nemenyi: Nemenyi | None = None
    wilcoxon: Wilcoxon | None = None
    signed_rank: ComparisonPosterior | None = None
    correlated_t: Mapping[str, ComparisonPosterior] = field(default_factory=dict)
    refused: Mapping[str, str] = field(default_factory=dict)
    absent: Mapping[str, str] = field(default_factory=dict)
    over_users: tuple[str, ...] = ()

    def lines(self) -> list[str]:
        """Return the outcome in words, line by line."""
        return [*self.outcomes(), *self.refusals(), *(f"{method} {why}" for method, why in self.absent.items())]

    def outcomes(self) -> list[str]:
        """Return in words what the tests show."""
        among = [] if self.friedman is None else self.friedman.lines()
        if self.nemenyi is not None:
            among += self.nemenyi.lines()
        elif among:
            among.append("As no difference is shown, Nemenyi's test does not follow")
        pairs = [] if self.wilcoxon is None else self.wilcoxon.lines()
        two = [] if self.signed_rank is None else self.signed_rank.lines()
        return [
            *self.over_users,
            *among,
            *pairs,
            *two,
            *(f"{data}: {posterior}" for data, posterior in self.correlated_t.items()),
        ]

    def refusals(self) -> list[str]:
        """Return in words which tests make no sense, and why."""
        return [f"{test} is not done: {reason}" for test, reason in self.refused.items()]

    def __str__(self) -> str:
        return "\n".join(map(one_line, self.lines()))


def conclude(
    scores: Scores, folds: Mapping[str, tuple[Scores, float]] | None = None, alpha: float = 0.05
) -> Conclusions:
    """Do the tests which make sense for so many methods and data sets.

    Parameters
    ----------
    scores : Scores
        One score of each method on each data set. Data sets that miss one are left out.
    folds : mapping of str to (Scores, float), optional
        Of two methods, for each data set the scores on its splits, and the share of the data in a test part.
    alpha : float, default=0.05
        Level of significance.

    Examples
    --------
    >>> errors = [[0.70, 0.74], [0.66, 0.68], [0.91, 0.90]]
    >>> print(conclude(Scores(errors, ["HMF", "MMMF"], greater_is_better=False)))
    Friedman's test with Nemenyi's is not done: it compares three methods or more, found 2
    Wilcoxon's test with Holm's correction is not done: 3 data sets are too few, ...
    The Bayesian signed-rank test is not done: 3 data sets are too few, ...
    """
    n_data = len(scores.data) - len(scores.left_out)
    if not n_data:
        return Conclusions(refused=dict.fromkeys(_NAMES.values(), "no data set has a score of every method"))
    reasons = what_applies(n_data, len(scores.methods), alpha)
    # Where a few data sets agree the posterior is certain, though so few cannot show so much.
    reasons["signed_rank"] = reasons["signed_rank"] or reasons["wilcoxon_holm"]
    complete = scores.complete
    among = None if reasons["friedman"] else friedman(scores, alpha)
    two = len(scores.methods) == 2
    return Conclusions(
        friedman=among,
        nemenyi=nemenyi(scores, alpha) if among is not None and among.differ else None,
        wilcoxon=None if reasons["wilcoxon_holm"] else wilcoxon_holm(scores, alpha),
        signed_rank=None if reasons["signed_rank"] else signed_rank(complete),
        correlated_t={
            data: correlated_t(runs.complete, share)
            for data, (runs, share) in (folds or {}).items()
            if two and len(runs.data) - len(runs.left_out) > 1
        },
        refused={
            name: reasons[test] for test, name in _NAMES.items() if reasons[test] and (two or test != "signed_rank")
        },
    )
