"""Which tests between methods make sense for so many data sets and methods, and why the others do not."""

from __future__ import annotations

from math import factorial

from cofactor.errors import InvalidInputError
from cofactor.evaluation.stats.scores import Scores

__all__ = ["checked", "left_out_lines", "what_applies"]


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
