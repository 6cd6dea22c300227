"""Measures of recommended lists of several methods, with their errors over users, and their differences."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.evaluation.stats.rank_tests import holm
from cofactor.evaluation.stats.scores import Scores
from cofactor.evaluation.store import Result
from cofactor.metrics.directions import greater_is_better
from cofactor.metrics.probabilities import CalibrationBins
from cofactor.metrics.ranking import divided
from cofactor.metrics.user_means import UserMean, user_difference, user_mean
from cofactor.text import counted, did_you_mean

__all__ = ["POPULARITY", "RecommendationScores"]

POPULARITY = "popularity"
"""What results call the plain ranking by the number of users, which stands beside all models."""

EDGES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
"""Edges of the bins in which P(interact) is compared with what was held out."""

_WHOLE = ("distinct",)
_ABOVE, _BELOW = "↑", "↓"


@dataclass(frozen=True, eq=False)
class RecommendationScores:
    """Measures of the lists of several methods, user by user.

    Attributes
    ----------
    values : mapping of str to mapping of str to ndarray of shape (n_users,)
        By method and measure: a value for each user, the mean over the splits; NaN for users without one.
    of_lists : mapping of str to mapping of str to tuple of float
        By method and measure: a value for each split, of what the lists of all users are together; and seconds.
    users : ndarray of shape (n_users,)
        Ids of the users.
    facts : mapping of str to object
        How it was measured.
    interactions : mapping of str to CalibrationBins
        Of methods with P(interact), for the 100 likeliest items of each user: how likely each is among the user's
        held-out items, a random part of all items of the user, or where a protocol splits by time the last of them
        (`cofactor.problems.choice.among_the_next`), and how many were, with errors over users.
        `cofactor.plots.plot_interaction_reliability` draws it.

    Examples
    --------
    >>> values = {"popularity": {"ndcg@10": np.array([0.1, 0.2, 0.3])}, "EASE": {"ndcg@10": np.array([0.4, 0.4, 0.6])}}
    >>> found = RecommendationScores(values, {}, np.array(["ann", "bob", "eve"]))
    >>> found.difference("EASE", "ndcg@10").is_clear
    True
    >>> print(found.text())
              popularity           EASE
    -----------------------------------
    ndcg@10  .200 ± .113  ↑ .467 ± .131
    <BLANKLINE>
    mean ± 1.96 standard errors over users
    ↑ ↓ above or below popularity by more than twice the error of the difference
    """

    values: Mapping[str, Mapping[str, NDArray[np.float64]]]
    of_lists: Mapping[str, Mapping[str, Sequence[float]]]
    users: NDArray[Any]
    facts: Mapping[str, Any] = field(default_factory=dict)
    interactions: Mapping[str, CalibrationBins] = field(default_factory=dict)

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods, popularity first."""
        return tuple(self.values)

    @property
    def metrics(self) -> tuple[str, ...]:
        """Names of the measures that have a value for each user."""
        return tuple(next(iter(self.values.values())))

    def of(self, method: str, metric: str) -> NDArray[np.float64]:
        """Return the value of each user.

        Parameters
        ----------
        method, metric : str
            Their names.
        """
        for name, known, argument in ((method, self.methods, "method"), (metric, self.metrics, "metric")):
            if name not in known:
                raise InvalidInputError(did_you_mean(name, known), argument=argument, found=name)
        return self.values[method][metric]

    def mean(self, method: str, metric: str) -> UserMean:
        """Return the mean over users, with its standard error.

        Parameters
        ----------
        method, metric : str
            Their names.
        """
        return user_mean(self.of(method, metric))

    def difference(self, method: str, metric: str, other: str = POPULARITY) -> UserMean:
        """Return by how much a method is above another one over the same users, with the standard error of that.

        Parameters
        ----------
        method, metric : str
            Their names.
        other : str, default="popularity"
            The method to compare with.
        """
        return user_difference(self.of(method, metric), self.of(other, metric))

    def pairs(self, metric: str) -> list[tuple[str, str, UserMean]]:
        """Return all pairs of methods but popularity, the better one first, with the difference of their means.

        Parameters
        ----------
        metric : str
            Name of a measure.

        Examples
        --------
        See `text`, which shows those of the first measure.
        """
        methods = [name for name in self.methods if name != POPULARITY]
        methods.sort(key=lambda name: -np.nan_to_num(self.mean(name, metric).mean))
        return [(a, b, self.difference(a, metric, b)) for a, b in combinations(methods, 2)]

    def tests(self, metric: str, alpha: float = 0.05) -> list[str]:
        """Return in words which methods differ over users, popularity among them, the largest differences first.

        A difference is compared with its standard error over users: its p-value is that of the normal distribution,
        corrected for all pairs by Holm.

        Parameters
        ----------
        metric : str
            Name of a measure.
        alpha : float, default=0.05
            Level of significance, for all pairs together.

        Examples
        --------
        >>> values = {"popularity": {"mrr@10": np.arange(9) / 9}, "EASE": {"mrr@10": np.arange(9) / 9 + 0.1}}
        >>> values["EASE"]["mrr@10"][0] = 0.2
        >>> RecommendationScores(values, {}, np.arange(9)).tests("mrr@10")
        ['EASE – popularity over 9 users: .111 ± .022, corrected p < .001: EASE is better']
        """
        methods = sorted(self.methods, key=lambda name: -np.nan_to_num(self.mean(name, metric).mean))
        pairs = [(a, b, self.difference(a, metric, b)) for a, b in combinations(methods, 2)]
        pairs = [(a, b, above) for a, b, above in pairs if above.n > 1]
        if not pairs:
            return []
        p = holm([math.erfc(abs(one.mean) / max(one.error, 1e-300) / math.sqrt(2)) for *_, one in pairs])
        better = 0 if greater_is_better(metric) else 1
        lines = []
        for (*two, above), chance in sorted(zip(pairs, p, strict=True), key=lambda one: -abs(one[0][2].mean)):
            verdict = f"{two[better]} is better" if chance < alpha else "no difference is shown"
            shown = "corrected p < .001" if chance < 0.001 else f"corrected p = {_three(float(chance))}"
            spread = f"{_three(above.mean)} ± {_three(1.96 * above.error)}"
            lines.append(f"{two[0]} – {two[1]} over {above.n:,} users: {spread}, {shown}: {verdict}")
        return lines

    def scores(self, metric: str) -> Scores:
        """Return users × methods, for tests over users such as `wilcoxon_holm` and `friedman`.

        Parameters
        ----------
        metric : str
            Name of a measure. Users without a value are in none of these tests.
        """
        table = np.column_stack([self.of(method, metric) for method in self.methods])
        kept = ~np.isnan(table).any(axis=1)
        return Scores(
            table[kept],
            self.methods,
            [str(user) for user in self.users[kept]],
            greater_is_better=greater_is_better(metric),
        )

    def summary(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Return, by method and measure, the mean, its error and interval, the number of users, and the difference."""
        found: dict[str, dict[str, dict[str, Any]]] = {}
        for method in self.methods:
            found[method] = {metric: self._summary(method, metric) for metric in self.metrics}
            for name, values in self.of_lists.get(method, {}).items():
                found[method][name] = {"mean": float(np.mean(values)), "splits": list(values)}
            if method in self.interactions:
                bins = self.interactions[method]
                errors = np.full(len(bins.counts), np.nan) if bins.errors is None else bins.errors
                columns = {
                    "predicted": bins.predicted,
                    "observed": bins.observed,
                    "items": bins.counts,
                    "errors": errors,
                }
                table = {name: _without_nan(values.tolist()) for name, values in columns.items()}
                found[method]["p_interact"] = {"mean": bins.error, "edges": bins.edges.tolist(), **table}
        return found

    def _summary(self, method: str, metric: str) -> dict[str, Any]:
        mean = self.mean(method, metric)
        row = {"mean": mean.mean, "error": mean.error, "interval": list(mean.interval), "users": mean.n}
        if method != POPULARITY and POPULARITY in self.values:
            above = self.difference(method, metric)
            row["above_popularity"] = {"mean": above.mean, "error": above.error, "clear": above.is_clear}
        return _without_nan(row)

    def text(self, width: int | None = None) -> str:
        """Return the measures as a table, a column for each method.

        Parameters
        ----------
        width : int, optional
            Where the table would be wider, methods stand below each other in parts.
        """
        names, *columns = self._columns()
        parts = list(_parts([_width(names), *map(_width, columns)], width))
        lines = []
        for part in parts:
            table = [names, *(columns[k] for k in part)]
            widths = list(map(_width, table))
            rows = [
                "  ".join([cells[0].ljust(widths[0]), *map(str.rjust, cells[1:], widths[1:])]).rstrip()
                for cells in zip(*table, strict=True)
            ]
            lines += ["", rows[0], "-" * (sum(widths) + 2 * len(part)), *rows[1:]]
        below = (
            "mean ± 1.96 standard errors over users\n"
            "↑ ↓ above or below popularity by more than twice the error of the difference"
        )
        n = self.facts.get("users_left_out", 0)
        left_out = (
            [f"{counted(n, 'user', form=',')} of test parts, whom training does not know, are left out"] if n else []
        )
        return "\n".join(
            [*lines[1:], "", below, *left_out, *self._pairs_in_words(self.metrics[0]), *self._interactions_in_words()]
        )

    def _interactions_in_words(self) -> Iterator[str]:
        """Yield a line for each method with P(interact): what it says of items, and how many were held out."""
        for method, bins in self.interactions.items():
            full = np.flatnonzero(bins.counts)
            parts = [f"{_three(bins.predicted[k])} / {_three(bins.observed[k])}" for k in full]
            yield f"P(interact) of {method}, to be among the held-out items, predicted / observed: {', '.join(parts)}"

    def _pairs_in_words(self, metric: str) -> Iterator[str]:
        for a, b, above in self.pairs(metric):
            if above.n > 1:
                verdict = "more than" if above.is_clear else "not more than"
                spread = f"{_three(above.mean)} ± {_three(1.96 * above.error)}"
                yield f"{metric}, {a} – {b}: {spread}, {verdict} twice its error"

    def __str__(self) -> str:
        return self.text()

    def _columns(self) -> Iterator[list[str]]:
        """Yield the names of measures, then the cells of each method."""
        beside = list(next(iter(self.of_lists.values()), {}))
        yield ["", *self.metrics, *beside]
        for method in self.methods:
            cells = [self._cell(method, metric) for metric in self.metrics]
            yield [method, *cells, *(_plain(name, self.of_lists[method][name]) for name in beside)]

    def _cell(self, method: str, metric: str) -> str:
        found, mark = self.mean(method, metric), ""
        if not found.n:
            return "–"
        if method != POPULARITY and POPULARITY in self.values:
            above = self.difference(method, metric)
            mark = (f"{_ABOVE} " if above.mean > 0 else f"{_BELOW} ") if above.is_clear else ""
        spread = "" if np.isnan(found.error) else f" ± {_three(1.96 * found.error)}"
        return f"{mark}{_three(found.mean)}{spread}"


def of_users_as_lists(
    places: NDArray[np.int64], ids: NDArray[Any], values: Mapping[str, NDArray[np.float64]]
) -> dict[str, list[Any]]:
    """Return measures of users as JSON holds them: their ids as text, and the values, None where there is none.

    Parameters
    ----------
    places : ndarray of shape (k,)
        Which of the users were measured.
    ids : ndarray of shape (n_users,)
        Ids of all users.
    values : mapping of str to ndarray of shape (k,)
        Values by measure.

    Examples
    --------
    >>> of_users_as_lists(np.array([1]), np.array(["ann", "bob"]), {"ndcg@10": np.array([0.25])})
    {'users': ['bob'], 'ndcg@10': [0.25]}
    """
    measured = {name: _without_nan(np.round(column, 6).tolist()) for name, column in values.items()}
    return {"users": [str(one) for one in ids[places].tolist()], **measured}


def of_results(results: Iterable[Result], data: str) -> RecommendationScores:
    """Return the scores of a comparison on one of its data sets: each user's mean over the splits and seeds.

    Parameters
    ----------
    results : iterable of Result
        Of a comparison of recommendations.
    data : str
        Name of the data set.
    """
    done = [one for one in results if one.data == data and "of_users" in one.measures]
    tables = [(one.method, one.measures["of_users"]) for one in done]
    users = sorted({user for _, table in tables for user in table["users"]})
    place = {user: k for k, user in enumerate(users)}
    metrics = [name for name in tables[0][1] if name != "users"] if tables else []
    found: dict[str, dict[str, NDArray[np.float64]]] = {}
    for method in dict.fromkeys(one for one, _ in tables):
        mine = [table for one, table in tables if one == method]
        found[method] = {}
        for name in metrics:
            sums, counts = np.zeros(len(users)), np.zeros(len(users))
            for table in mine:
                rows = np.array([place[user] for user in table["users"]])
                values = np.array(table[name], dtype=np.float64)
                known = ~np.isnan(values)
                sums[rows[known]] += values[known]
                counts[rows[known]] += 1
            found[method][name] = divided(sums, counts)
    return RecommendationScores(found, {}, np.array(users, dtype=object))


def _without_nan(value: Any) -> Any:
    """Return a value in which None stands for what is not known."""
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def _three(value: float) -> str:
    """Write a number with three digits after the point, and none before it that is 0."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"


def _plain(name: str, values: Sequence[float]) -> str:
    mean = float(np.mean(values))
    return f"{mean:,.0f}" if name.partition("@")[0] in _WHOLE else _three(mean)


def _width(column: Sequence[str]) -> int:
    return max(map(len, column))


def _parts(widths: Sequence[int], width: int | None) -> Iterator[list[int]]:
    """Yield the columns that stand side by side; at least one."""
    first, *others = widths
    part: list[int] = []
    taken = first
    for k, own in enumerate(others):
        if part and width is not None and taken + 2 + own > width:
            yield part
            part, taken = [], first
        part.append(k)
        taken += 2 + own
    yield part
