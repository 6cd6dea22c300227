"""Fit models, let them recommend, and measure the lists against what was held out, user by user."""

from __future__ import annotations

import inspect
import math
import time as clock
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import _num_samples

from cofactor.checks import check_number
from cofactor.datasets import InteractionDataset
from cofactor.errors import Argument, InvalidInputError, InvalidTypeError
from cofactor.evaluation.protocols import check_lengths, features_by_name
from cofactor.evaluation.significance import Scores, holm
from cofactor.evaluation.store import Run
from cofactor.evaluation.tables import TableCell, aligned_lines, side_by_side
from cofactor.interrupts import propagate_interrupt
from cofactor.metrics import catalogue, topn
from cofactor.metrics.directions import greater_is_better
from cofactor.metrics.probabilities import CalibrationBins
from cofactor.metrics.ranking import divided
from cofactor.metrics.user_means import UserMean, user_difference, user_mean
from cofactor.model.named_splits import by_times, kind_of, parts_of, splitter_of
from cofactor.model.splits import Parts
from cofactor.model.times import pairs_for, timed_pairs
from cofactor.problems.choice import inclusion_probabilities
from cofactor.ratings.base import RatingModel
from cofactor.ratings.features import FeatureTable, new_rows, takes_features
from cofactor.ratings.ids import IdMap
from cofactor.ratings.interactions import as_numbers, read_pairs, split_xy
from cofactor.ratings.ranking.base import ImplicitModel
from cofactor.ratings.ranking.counts import counts_apart
from cofactor.ratings.ranking.popularity import Popularity
from cofactor.text import did_you_mean, plural, without_zero
from cofactor.typing import RandomState, SideFeatures

Table = sparse.csr_array

HIGHEST = 10  #: ratings up to this are exponents of gains as they are


@dataclass(frozen=True)
class RecommendationData:
    """Data and settings of an evaluation; users and items as numbers."""

    X: Any
    y: NDArray[np.float64]
    times: Any
    lengths: tuple[int, ...]
    likes: float | None
    auc: bool
    undefined: Literal[0, "skip"]
    ranking: Mapping[str, Any] = field(default_factory=dict)
    counts: NDArray[np.float64] | None = None  #: interactions of each pair, where there are no ratings
    features: Mapping[str, FeatureTable] = field(default_factory=dict)  #: of users and items, for models that take them

    def __post_init__(self) -> None:
        if self.likes is not None:
            check_number("likes", self.likes, low=-np.inf)
            if not (self.y >= self.likes).any():
                raise InvalidInputError("no rating is that high", argument="likes", found=self.likes)

    @cached_property
    def _columns(self) -> tuple[Any, Any]:
        return read_pairs(self.X)[:2]

    @cached_property
    def users(self) -> IdMap:
        """Ids of all users."""
        return IdMap(self._columns[0])

    @cached_property
    def items(self) -> IdMap:
        """Ids of all items."""
        return IdMap(self._columns[1])

    @cached_property
    def pairs(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """User and item number of each rating."""
        return self.users.index(self._columns[0]), self.items.index(self._columns[1])

    def ids_of(self, rows: NDArray[Any]) -> NDArray[Any]:
        """Return user id and item id of some ratings."""
        pairs = np.empty((len(rows), 2), dtype=object)
        for column, ids in enumerate(self._columns):
            pairs[:, column] = np.asarray(_safe_indexing(ids, rows))
        return pairs

    @cached_property
    def gains(self) -> NDArray[np.float64]:
        """Gain of each rating."""
        low, high = self.y.min(), self.y.max()
        if low <= 0 or high > HIGHEST:
            return np.exp2(1 + 4 * (self.y - low) / max(high - low, 1e-12)) - 1
        return np.exp2(self.y) - 1

    def table(self, rows: NDArray[Any], values: NDArray[np.float64]) -> Table:
        """Return the values of some ratings, users × items; of a pair that occurs twice the last one counts."""
        of_users, of_items = (part[rows] for part in self.pairs)
        keys = of_users.astype(np.int64) * len(self.items) + of_items
        kept = len(rows) - 1 - np.unique(keys[::-1], return_index=True)[1]
        shape = len(self.users), len(self.items)
        return Table((values[rows][kept], (of_users[kept], of_items[kept])), shape=shape)

    def split(self, parts: Parts) -> Split:
        """Return what all models are measured against on a split."""
        train, fold_in, test = parts
        ones = np.ones(len(self.y))
        training = self.table(train, ones)
        seen = training if fold_in is None else self.table(fold_in, ones)
        held_out = self.table(test, self.gains)
        held_out = Table(held_out - held_out.multiply(seen))  # an item seen before cannot be recommended
        held_out.eliminate_zeros()
        tested, known = np.diff(held_out.indptr) > 0, np.diff(seen.indptr) > 0
        users = np.flatnonzero(tested & known)
        if not users.size:
            raise InvalidInputError("no user of the test part is known from another part", argument="protocol")
        anything = Table(held_out[users])
        liked = self.table(test, (self.y >= (-np.inf if self.likes is None else self.likes)).astype(np.float64))
        relevant = Table(liked[users].multiply(anything.sign()))
        relevant.eliminate_zeros()
        if not relevant.nnz:
            raise InvalidInputError("nothing in the test part is rated so high", argument="likes", found=self.likes)
        return Split(parts, users, relevant, anything, Table(seen[users]), training, int((tested & ~known).sum()))


@dataclass(frozen=True)
class Split:
    """A split, and tables of its test users × items."""

    parts: Parts
    users: NDArray[Any]
    relevant: Table
    anything: Table  #: all held-out items, with their gains
    seen: Table  #: the items that users have before
    training: Table  #: of all users
    n_left_out: int

    @cached_property
    def popularity(self) -> NDArray[np.float64]:
        """Share of the training users who interacted with each item."""
        return np.diff(sparse.csc_array(self.training).indptr) / self.n_training_users

    @cached_property
    def n_training_users(self) -> int:
        """Users with something in training."""
        return int((np.diff(self.training.indptr) > 0).sum())

    @cached_property
    def n_items(self) -> int:
        """Items that can be recommended."""
        return int((self.popularity > 0).sum())

    @cached_property
    def vectors(self) -> Table:
        """The users of each item."""
        return Table(self.training.T)


POPULARITY = "popularity"
"""What results call the plain ranking by the number of users, which stands beside all models."""

_OF_ALL_LISTS = ("distinct", "coverage")  # measures without a value for each user

EDGES = (0.0, 0.02, 0.05, 0.1, 0.2, 0.4, 1.0)
"""Edges of the bins in which P(interact) is compared with what was held out."""


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
        (`cofactor.problems.choice.inclusion_probabilities`), and how many were, with errors over users.
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
            kind = name.partition("@")[0]
            if name not in known and kind in _OF_ALL_LISTS:
                what = "is of the lists of all users together, in of_lists, or in the table of a comparison"
                raise InvalidInputError(what, argument=argument, found=name)
            if name not in known and kind in topn.LIST_MEASURES:
                lengths = ", ".join(dict.fromkeys(one.partition("@")[2] for one in known if "@" in one))
                what = f"was measured for lists of {lengths} items; at= of the evaluation says of which lengths"
                raise InvalidInputError(what, argument=argument, found=name)
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
            shown = "corrected p < .001" if chance < 0.001 else f"corrected p = {without_zero(float(chance))}"
            spread = f"{without_zero(above.mean)} ± {without_zero(1.96 * above.error)}"
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
        users, better = [str(user) for user in self.users[kept]], greater_is_better(metric)
        return Scores(table[kept], self.methods, users, greater_is_better=better)

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
        grid = [list(map(TableCell, row)) for row in zip(*self._columns(), strict=True)]
        parts = [grid] if width is None else side_by_side(grid, width)
        lines = [line for part in parts for line in ("", *aligned_lines(part))]
        below = (
            "mean ± 1.96 standard errors over users\n"
            "↑ ↓ above or below popularity by more than twice the error of the difference"
        )
        n = self.facts.get("users_left_out", 0)
        left_out = (
            [f"{plural(n, 'user', form=',')} of test parts, whom training does not know, are left out"] if n else []
        )
        return "\n".join(
            [*lines[1:], "", below, *left_out, *self._pairs_in_words(self.metrics[0]), *self._interactions_in_words()]
        )

    def _interactions_in_words(self) -> Iterator[str]:
        """Yield a line for each method with P(interact): what it says of items, and how many were held out."""
        for method, bins in self.interactions.items():
            full = np.flatnonzero(bins.counts)
            parts = [f"{without_zero(bins.predicted[k])} / {without_zero(bins.observed[k])}" for k in full]
            yield f"P(interact) of {method}, to be among the held-out items, predicted / observed: {', '.join(parts)}"

    def _pairs_in_words(self, metric: str) -> Iterator[str]:
        for a, b, above in self.pairs(metric):
            if above.n > 1:
                verdict = "more than" if above.is_clear else "not more than"
                spread = f"{without_zero(above.mean)} ± {without_zero(1.96 * above.error)}"
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
            mark = ("↑ " if above.mean > 0 else "↓ ") if above.is_clear else ""
        spread = "" if np.isnan(found.error) else f" ± {without_zero(1.96 * found.error)}"
        return f"{mark}{without_zero(found.mean)}{spread}"


def of_results(results: Iterable[Run], data: str) -> RecommendationScores:
    """Return the scores of a comparison on one of its data sets: each user's mean over the splits and seeds.

    Parameters
    ----------
    results : iterable of Run
        Of a comparison of recommendations.
    data : str
        Name of the data set.
    """
    tables = [
        (one.method, one.measures["of_users"]) for one in results if one.data == data and "of_users" in one.measures
    ]
    users = sorted({user for _, table in tables for user in table["users"]})
    place = {user: k for k, user in enumerate(users)}
    rows: dict[str, list[_Row]] = {}
    for method, table in tables:
        values = {name: np.array(found, dtype=np.float64) for name, found in table.items() if name != "users"}
        rows.setdefault(method, []).append(_Row(np.array([place[user] for user in table["users"]]), values))
    found = {name: _by_user(ones, len(users)) for name, ones in rows.items()}
    return RecommendationScores(found, {}, np.array(users, dtype=object))


def _without_nan(value: Any) -> Any:
    """Return a value in which None stands for what is not known."""
    if isinstance(value, dict):
        return {key: _without_nan(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_nan(one) for one in value]
    return None if isinstance(value, float) and np.isnan(value) else value


def _plain(name: str, values: Sequence[float]) -> str:
    mean = float(np.mean(values))
    return f"{mean:,.0f}" if name.startswith("distinct@") else without_zero(mean)


OnFit = Callable[[str, int, int], None]

_RANKED = 1 << 22  #: pairs of users and items that are ranked together for the AUC
_GIVEN = {"users", "n", "exclude_seen"}  #: what `recommend` is told in any case
_LIKELY = 100  #: items of each user of which P(interact) is compared with what was held out


def evaluate_recommendations(
    model: Any,
    X: Any,
    y: ArrayLike | None = None,
    protocol: Any = "per-user",
    n_splits: int = 1,
    random_state: RandomState = 0,
    *,
    at: int | Sequence[int] = 10,
    likes: float | None = None,
    auc: bool = False,
    undefined: Literal[0, "skip"] = "skip",
    ranking: Mapping[str, Any] | None = None,
    test_size: float = 0.2,
    test_users: float = 0.1,
    time: ArrayLike | None = None,
    counts: ArrayLike | None = None,
    user_features: SideFeatures | None = None,
    item_features: SideFeatures | None = None,
    progress: OnFit | None = None,
) -> RecommendationScores:
    """Measure the lists that models recommend to users, beside what is popular.

    Seen items are left out, all others are ranked, and none is sampled. An item is relevant if the user interacted with
    it in the test part and, with `likes`, rated it so high. Models whose ``recommend`` knows ``at_least``, and which
    have probabilities of levels, then rank by the probability of such a rating.

    Parameters
    ----------
    model : estimator, or mapping of str to estimator
        With ``fit(X, y)`` and ``recommend(users, n)``, which returns ids and scores and leaves out seen items; where
        users are new, with ``fold_in(X, y)``. It is cloned, and not changed.
    X : array of shape (n, 2), list of pairs, frame, sparse matrix, or data set
        User id and item id of each rating; perhaps with times in a third column. Without y a frame with columns for
        user, item and rating too, or of counts (plays, clicks, ...), a sparse matrix of counts, or a data set such as
        `load_ratings` returns, of ratings or of interactions. A matrix whose numbers look like stars is refused: not
        many different ones, at most 10, the lowest one rare.
    y : array-like of shape (n,), or None
        The ratings; None for interactions alone, such as clicks, or where X holds them.
    protocol : str, splitter or list, default="per-user"
        As in `evaluate`: "per-user" holds out a random part of each user, "user-last" the last one, "time" what came
        after a moment, "new-users" users who are folded in from a part of their ratings.
    n_splits : int, default=1
        Number of splits; a user's value is the mean over them.
    random_state : int, RandomState instance or None, default=0
        Seed of the splits. Models have their own.
    at : int or sequence of int, default=10
        Lengths of lists at which to measure, the most important first.
    likes : float, optional
        The least rating of an item that is liked; by default every item of the test part is relevant.
    auc : bool, default=False
        Measure the AUC too, for which all items are ranked for each user: slow for models drawn from a posterior.
    undefined : {"skip", 0}, default="skip"
        Leave users out who have no relevant item in the test part, or count them as 0 in all measures of hits.
    ranking : mapping of str to object, optional
        More arguments of ``recommend``, such as ``{"at_least": 4}``, for the models whose ``recommend`` knows them.
    test_size, test_users, time
        As in `evaluate`.
    counts : array-like of shape (n,), optional
        How often each user interacted with each item, where there are no ratings, and y is None: models are fitted to
        an `InteractionDataset`.
    user_features, item_features : mapping, frame, or tuple, optional
        What else is known of users and of items, for the models whose ``fit`` takes it; by default the ``features`` of
        a data set. A `Recommender` then ranks items which occur in the test part alone among the others.
    progress : callable, optional
        Called before each fit with the name of the model, the number of fits that are done, and that of all.

    Returns
    -------
    RecommendationScores
        For every model, and for "popularity", at each k: ``ndcg``, ``precision``, ``recall``, ``capped_recall`` (hits /
        min(k, relevant)), ``map``, ``mrr``, ``hit_rate``, ``any_ndcg`` (with `likes`: all items of the test part
        are relevant), ``graded_ndcg`` (all items, gain 2^r - 1), ``novelty``, ``diversity``, ``popularity_lift``, one
        value for each user; ``distinct`` items and ``coverage`` over all users; ``auc`` if asked for. Of a
        `Recommender` also how P(interact) agrees with what was held out, see `RecommendationScores.interactions`.

    Raises
    ------
    InvalidInputError
        If no user of a test part is known, or nothing there is liked.
    InvalidTypeError
        If a model cannot recommend, or fold in where it must.

    Notes
    -----
    Users of the test part who are in no other are left out, and counted in ``facts``: a model that does not know them
    cannot recommend anything to them in particular. Items that are in the test part alone cannot be recommended, but
    for a `Recommender` with features of them, and count as relevant all the same.

    The gain of a rating r is 2^r - 1 where the scale lies in (0, 10]; other scales are first brought linearly to 1..5.
    Novelty, popularity and diversity go by the interactions in training; the vector of an item are its users. The first
    fit of a process also loads, or compiles, machine code: where seconds matter, fit once before.

    Examples
    --------
    >>> from cofactor.datasets import make_ratings
    >>> from cofactor.ratings import ALS
    >>> data = make_ratings(60, 40, 3, density=0.4, random_state=0)
    >>> found = evaluate_recommendations(ALS(3, 1.0, random_state=0), data.X, data.y, at=5, likes=4)
    >>> found.methods
    ('popularity', 'ALS')
    >>> found.mean("ALS", "hit_rate@5").n <= 60
    True
    """
    features = features_by_name(X, user_features, item_features)
    if y is None and counts is None:
        interactions_alone = isinstance(X, InteractionDataset)
        X, counts, time = counts_apart(X, time)
        if counts is None:
            X, y, time = split_xy(X, time)
            y = None if y is None else as_numbers(y)
        if interactions_alone:
            y, counts = None, y
    if counts is not None and y is not None:
        raise InvalidInputError("there are ratings already", argument="counts", advice="give one of them")
    if y is None and likes is not None:
        raise InvalidInputError(
            "there are no ratings, some of which would be liked",
            argument="likes",
            found=likes,
            advice=(
                "give them as ",
                Argument("y"),
                ", or leave it out: then every item with an interaction is relevant",
            ),
        )
    y = np.ones(_num_samples(X)) if y is None else y
    check_lengths(X, y)
    interactions = None if counts is None else np.asarray(counts, dtype=np.float64)
    models = dict(model) if isinstance(model, Mapping) else {type(model).__name__: model}
    lengths = checked_lengths(at)
    X, times = timed_pairs(X, time)
    y = np.asarray(y, dtype=np.float64)
    asked = RecommendationData(X, y, times, lengths, likes, auc, undefined, ranking or {}, interactions, features)
    splitter = splitter_of(
        protocol,
        n_splits=n_splits,
        random_state=random_state,
        test_size=test_size,
        test_users=test_users,
        n_rows=len(asked.y),
        times=times,
    )
    _check_models(models, folding=hasattr(splitter, "split_fold_in"))
    _check_ranking(models, asked.ranking)
    _check_features(models, {"user_features": user_features, "item_features": item_features})
    everyone = {POPULARITY: Popularity(), **models}
    parts = list(parts_of(splitter, X, asked.y))
    rows: dict[str, list[_Row]] = {name: [] for name in everyone}
    n_left_out = 0
    with propagate_interrupt():
        for k, part in enumerate(parts):
            split = asked.split(part)
            n_left_out += split.n_left_out
            for j, (name, one) in enumerate(everyone.items()):
                if progress is not None:
                    progress(name, k * len(everyone) + j, len(parts) * len(everyone))
                rows[name].append(_measure(one, asked, split, by_times(splitter)))
    facts = {"protocol": kind_of(protocol), "splits": len(parts), "at": list(lengths), "likes": likes}
    return RecommendationScores(
        values={name: _by_user(found, len(asked.users)) for name, found in rows.items()},
        of_lists={
            name: {measure: tuple(row.of_lists[measure] for row in found) for measure in found[0].of_lists}
            for name, found in rows.items()
        },
        users=asked.users.ids,
        facts=facts | {"users_left_out": n_left_out},
        interactions={name: found for name, found in map(_calibration, rows.items()) if found is not None},
    )


def recommendation_measures(
    model: Any,
    X: Any,
    y: Any,
    times: Any,
    features: Mapping[str, FeatureTable],
    parts: Parts,
    at: Sequence[int],
    likes: float | None,
    interactions: bool = False,
) -> dict[str, Any]:
    """Fit a model on one split, let it recommend, and return the means over the users of the test part.

    Parameters
    ----------
    model : estimator
        Cloned, and not changed.
    X, y, times, features
        Pairs, ratings, their times or None, and features of users and items, for models that take them.
    parts : tuple
        Rows for training, fold-in (or None) and test.
    at, likes
        As in `evaluate_recommendations`.
    interactions : bool, default=False
        Whether there are counts in the place of ratings.

    Returns
    -------
    dict
        Also, as ``of_users``, the values of each user, by the name of the measure, and the users themselves.
    """
    y = np.asarray(y, dtype=np.float64)
    counts, y = (y, np.ones(len(y))) if interactions else (None, y)
    asked = RecommendationData(X, y, times, tuple(at), likes, False, "skip", {}, counts, features)
    row = _measure(model, asked, asked.split(parts))
    means = {name: user_mean(values).mean for name, values in row.of_users.items()}
    one_by_one = {name: _without_nan(np.round(values, 6).tolist()) for name, values in row.of_users.items()}
    one_by_one["users"] = [str(one) for one in asked.users.ids[row.users].tolist()]
    return {**means, **row.of_lists, "n_train": parts[0].size, "n_test": parts[2].size, "of_users": one_by_one}


@dataclass
class _Row:
    """What was measured of a model on a split."""

    users: NDArray[Any]
    of_users: dict[str, NDArray[np.float64]]
    of_lists: dict[str, float] = field(default_factory=dict)
    #: P(interact) of each listed item, whether it was held out, and the user.
    of_interactions: tuple[NDArray[Any], ...] | None = None


def _measure(model: Any, asked: RecommendationData, split: Split, ordered: bool = False) -> _Row:
    """Fit a copy of a model, let it recommend, and measure; `ordered`: the test part comes after all else."""
    train, fold_in, _ = split.parts
    features = asked.features if takes_features(model) else {}
    began = clock.perf_counter()
    fitted = clone(model).fit(**_given(model, asked, train), **features)
    seconds = {"fit_seconds": clock.perf_counter() - began}
    if fold_in is not None:
        new_users = {name: table for name, table in features.items() if name == "user_features"}
        fitted = fitted.fold_in(**_given(model, asked, fold_in), **new_users)
    how, n_items = _how(fitted, asked), split.n_items
    if (new := _new_items(fitted, asked, features)) is not None:
        how, n_items = how | {"new_items": new}, n_items + len(new.ids)
    ids = asked.users.ids[split.users]
    began = clock.perf_counter()
    recommended = fitted.recommend(ids, max(asked.lengths), **how)
    seconds["recommend_seconds"] = clock.perf_counter() - began
    lists = _numbers(asked.items, recommended[0])
    of_users, of_lists = _measures_of_lists(lists, split, asked, n_items)
    of_interactions = None
    if getattr(recommended, "p_interact", None) is not None:
        likely = _most_likely(fitted, ids, recommended, new)
        of_interactions = _chances(likely, asked, split, ordered)
    if asked.auc:
        of_users["auc"] = _aucs(fitted, ids, asked, split, how, n_items)
    if asked.undefined == 0:
        hits = [name for name in of_users if name.partition("@")[0] not in ("novelty", "diversity", "popularity_lift")]
        of_users |= {name: np.nan_to_num(of_users[name]) for name in hits}
    return _Row(split.users, of_users, of_lists | seconds, of_interactions)


def _given(model: Any, asked: RecommendationData, rows: NDArray[Any]) -> dict[str, Any]:
    """Return what a model is given of some ratings: all, or the pairs alone where it learns from interactions."""
    if asked.counts is not None:
        times = None if asked.times is None else asked.times[rows]
        return {"X": InteractionDataset("interactions", asked.ids_of(rows), asked.counts[rows], None, timestamps=times)}
    X = pairs_for(model, asked.X, asked.times)
    ratings = {} if isinstance(model, ImplicitModel) else {"y": asked.y[rows]}
    return {"X": _safe_indexing(X, rows), **ratings}


def _new_items(model: Any, asked: RecommendationData, features: Mapping[str, FeatureTable]) -> FeatureTable | None:
    """Return features of the items that were not in training, if the model can recommend such."""
    table = features.get("item_features")
    if table is None:
        return None
    new = table.select(new_rows(model.items_, table) & (asked.items.index(table.ids.ids) >= 0))
    return new if len(new.ids) else None


def _measures_of_lists(
    lists: NDArray[np.int64], split: Split, asked: RecommendationData, n_items: int
) -> tuple[dict[str, NDArray[np.float64]], dict[str, float]]:
    """Return the measures of lists at each length: those with a value for each user, and those of all lists."""
    of_users: dict[str, NDArray[np.float64]] = {}
    of_lists: dict[str, float] = {}
    relevant, anything, popularity = split.relevant, split.anything, split.popularity
    for k in asked.lengths:
        found = {
            **{name: measure(lists, relevant, k) for name, measure in topn.LIST_MEASURES.items()},
            **({} if asked.likes is None else {"any_ndcg": topn.user_ndcgs(lists, anything, k)}),
            "graded_ndcg": topn.user_ndcgs(lists, anything, k, gains="given"),
            "novelty": catalogue.user_novelties(lists, popularity, k, n_users=split.n_training_users),
            "diversity": catalogue.user_diversities(lists, split.vectors, k),
            "popularity_lift": catalogue.user_popularity_lifts(lists, split.seen, k, popularity=popularity),
        }
        of_users |= {f"{name}@{k}": values for name, values in found.items()}
        n_distinct = catalogue.distinct_items(lists, len(asked.items), k)
        of_lists |= {f"distinct@{k}": float(n_distinct), f"coverage@{k}": n_distinct / n_items}
    return of_users, of_lists


def _most_likely(model: Any, ids: Any, recommended: Any, new: FeatureTable | None) -> Any:
    """Return lists by P(interact) alone, if a model can rank so: liked items have more interactions than it says.

    Otherwise what was recommended.
    """
    if "rank_by" not in inspect.signature(model.recommend).parameters:
        return recommended
    return model.recommend(ids, min(_LIKELY, len(model.items_)), rank_by="interaction", new_items=new)


def _chances(found: Any, asked: RecommendationData, split: Split, ordered: bool) -> tuple[NDArray[Any], ...]:
    """Return, for each item of lists, how likely it is held out of its user, whether it is, and the user."""
    lists = _numbers(asked.items, found.items)
    rows, places = np.nonzero(lists >= 0)
    held_out = np.asarray(split.anything[rows, lists[rows, places]]).ravel() > 0
    chances = inclusion_probabilities(np.nan_to_num(found.p_interact), np.diff(split.anything.indptr), ordered)
    return chances[rows, places], held_out, split.users[rows]


def _aucs(
    model: Any, ids: Any, asked: RecommendationData, split: Split, how: Mapping[str, Any], n_items: int
) -> NDArray[np.float64]:
    """Return the AUC of each user, from the ranks of all items that a model recommends; seen ones do not count."""
    step = max(1, _RANKED // n_items)
    found = []
    for start in range(0, len(ids), step):
        rows = slice(start, start + step)
        ranking, scores = model.recommend(ids[rows], n_items, exclude_seen=False, **how)
        numbers = _numbers(asked.items, ranking)
        found.append(topn.user_aucs(numbers, split.relevant[rows], scores=scores, seen=split.seen[rows]))
    return np.concatenate(found)


def _how(model: Any, asked: RecommendationData) -> dict[str, Any]:
    """Return what else to tell a model that is to recommend: what is liked, if it has probabilities of that."""
    known = inspect.signature(model.recommend).parameters
    wanted = dict(asked.ranking)
    knows = not isinstance(model, RatingModel) or hasattr(model, "predict_proba")
    if asked.likes is not None and asked.likes > asked.y.min() and knows and "quantile" not in wanted:
        wanted = {"at_least": asked.likes} | wanted
    return {name: value for name, value in wanted.items() if name in known}


def _numbers(items: IdMap, ids: NDArray[Any]) -> NDArray[np.int64]:
    """Return the numbers of items, -1 for None."""
    ids = np.asarray(ids)
    if ids.dtype != object:
        return items.index(ids.ravel()).reshape(ids.shape).astype(np.int64)
    there = np.array([one is not None for one in ids.ravel().tolist()]).reshape(ids.shape)
    found = np.full(ids.shape, -1, dtype=np.int64)
    found[there] = items.index(ids[there])
    return found


def _by_user(rows: Sequence[_Row], n_users: int) -> dict[str, NDArray[np.float64]]:
    """Return the values of all users, the mean over the splits in which they have one, NaN for those who have none."""
    found = {}
    for name in rows[0].of_users:
        sums, counts = np.zeros(n_users), np.zeros(n_users)
        for row in rows:
            values = row.of_users[name]
            there = ~np.isnan(values)
            sums[row.users[there]] += values[there]
            counts[row.users[there]] += 1
        found[name] = divided(sums, counts)
    return found


def _calibration(row: tuple[str, Sequence[_Row]]) -> tuple[str, CalibrationBins | None]:
    """Return the name of a method, and how P(interact) agrees with what was held out."""
    name, rows = row
    parts = [one.of_interactions for one in rows if one.of_interactions is not None and one.of_interactions[0].size]
    if not parts:
        return name, None
    p, held_out, users = (np.concatenate(found) for found in zip(*parts, strict=True))
    return name, catalogue.interaction_calibration_bins(p, held_out, edges=EDGES, users=users)


def checked_lengths(at: Any) -> tuple[int, ...]:
    """Return lengths of lists, each once, or refuse them."""
    lengths = list(at) if np.iterable(at) and not isinstance(at, str) else [at]
    if not lengths:
        raise InvalidInputError("give at least one length of lists", argument="at")
    for k in lengths:
        check_number("at", k, low=1, whole=True)
    return tuple(dict.fromkeys(int(k) for k in lengths))


def _check_models(models: Mapping[str, Any], *, folding: bool) -> None:
    if POPULARITY in models:
        raise InvalidInputError(f"{POPULARITY!r} stands beside all models: give yours another name", argument="model")
    for name, model in models.items():
        if isinstance(model, type):
            kind = model.__name__
            raise InvalidTypeError(f"{kind} is a class, expected a model of it, such as {kind}()", argument="model")
        for method in ("fit", "recommend", *(["fold_in"] if folding else [])):
            if not hasattr(model, method):
                raise InvalidTypeError(f"{name} has no method {method}, which is needed here", argument="model")


def _check_ranking(models: Mapping[str, Any], ranking: Mapping[str, Any]) -> None:
    """Refuse arguments of `recommend` that are given here already, or that no model knows."""
    known = {name for model in models.values() for name in inspect.signature(model.recommend).parameters} - _GIVEN
    for name in ranking:
        if name not in known:
            hint = "this is said by the evaluation itself" if name in _GIVEN else did_you_mean(name, sorted(known))
            raise InvalidInputError(f"no model takes {name!r}", argument="ranking", advice=hint)


def _check_features(models: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse features that are given where no model takes any."""
    for name, table in given.items():
        if table is not None and not any(map(takes_features, models.values())):
            none = "takes" if len(models) == 1 else "take"
            raise InvalidTypeError(f"{', '.join(models)} {none} no features", argument=name, advice="leave them out")
