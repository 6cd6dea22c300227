"""What may be concluded from scores: the tests which make sense for them, and why the others do not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cofactor.evaluation.stats.applicability import what_applies
from cofactor.evaluation.stats.bayesian import Posterior, correlated_t, signed_rank
from cofactor.evaluation.stats.rank_tests import Friedman, Nemenyi, Wilcoxon, friedman, nemenyi, wilcoxon_holm
from cofactor.evaluation.stats.scores import Scores
from cofactor.pages.escaping import one_line

__all__ = ["Conclusions", "conclude"]

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
    signed_rank : Posterior or None
        How probable it is that one of two methods is better on a further data set.
    correlated_t : dict of str to Posterior
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
    signed_rank: Posterior | None = None
    correlated_t: Mapping[str, Posterior] = field(default_factory=dict)
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
