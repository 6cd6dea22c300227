"""Answers of a fitted model of ratings to questions that come without files, as those to a server."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.ratings.facts import facts_of, predicts_ratings
from cofactor.tasks.catalogue import Catalogue
from cofactor.tasks.matching import IdsByText
from cofactor.tasks.model_answers import ModelAnswers, told
from cofactor.tasks.plain import Request
from cofactor.tasks.rating_facts import rating_model_of
from cofactor.tasks.reasons import reasons
from cofactor.tasks.recommending import Lists, at_latest, latest_times, with_meaning
from cofactor.tasks.similarity import similar_columns, with_similar
from cofactor.tasks.words import shortest
from cofactor.text import some_of

__all__ = ["NewUser", "RatingAnswers"]

_ADVICE = {"user": "give the ratings of a new user instead, who is then folded in", "item": "leave it out"}


@dataclass(frozen=True)
class NewUser:
    """A user who was not in training.

    Attributes
    ----------
    ratings : sequence of tuple
        Id of an item, and its rating; None as rating where the model was fitted to interactions.
    """

    ratings: Sequence[tuple[Any, float | None]]


class RatingAnswers(ModelAnswers):
    """What a server may ask a fitted model of ratings, or of interactions.

    Ids are those of training, or texts that read like these.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    titles : mapping from str to str, optional
        Titles of items by the text of their ids.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> from cofactor.tasks.plain import Request
    >>> X, y = [(1, "Up"), (1, "Cars"), (2, "Up"), (2, "Heat"), (3, "Heat")], [5, 4, 4, 1, 2]
    >>> answers = RatingAnswers(ALS(n_factors=1, alpha=1.0, random_state=0).fit(X, y))
    >>> lists = answers.recommend(["3", NewUser([("Heat", 1)])], Request(n=2, include_seen=False))
    >>> [[row["item"] for row in rows] for rows in lists]
    [['Up', 'Cars'], ['Up', 'Cars']]
    """

    kind = "ratings"

    def __init__(self, model: Any, titles: Mapping[str, str] | None = None) -> None:
        self.model = model
        self.users, self.items = IdsByText(model.users_), IdsByText(model.items_)
        self.catalogue = Catalogue(model.items_.ids.tolist(), _counts_of_items(model), titles or {})
        if titles and not self.catalogue.n_titled:
            found = f"{next(iter(titles))!r}, and the model knows {some_of(model.items_.ids)}"
            warnings.warn(
                InputWarning(f"no item has one of the {len(titles):,} titles: they are of {found}"), stacklevel=2
            )
        self._levels = frozenset(model.scale_.tolist()) if predicts_ratings(model) else frozenset()

    def recommend(
        self, users: Sequence[Any], request: Request, candidates: Sequence[Any] | None = None
    ) -> list[list[dict[str, Any]]]:
        """Return a list of items for each user, best first.

        All known users are answered in one batch, and all new ones are folded in together.

        Parameters
        ----------
        users : sequence of id or NewUser
            To whom.
        request : Request
            What is asked for: n, include_seen, at_least, quantile and rank_by.
        candidates : sequence of ids, optional
            The only items to recommend.

        Returns
        -------
        list of list of dict
            Each row has item and score; of a `Recommender` p_interact and p_like; prediction where ratings are
            predicted; title where it is known.

        Raises
        ------
        NotInTrainingError
            If a user or an item was not in training.
        InvalidInputError
            If the model cannot rank so.
        """
        allowed = None
        if candidates is not None:
            allowed = [self._item(one, f"candidates[{k}]") for k, one in enumerate(candidates)]
        new = {k: user for k, user in enumerate(users) if isinstance(user, NewUser)}
        known = {k: self._user(one, f"users[{k}]") for k, one in enumerate(users) if k not in new}
        made: dict[int, list[dict[str, Any]]] = {}
        if known:
            made |= zip(known, _lists(self.model, list(known.values()), request, allowed), strict=True)
        if new:
            folded, ids = self._folded_in({f"users[{k}]": user for k, user in new.items()})
            made |= zip(new, _lists(folded, ids, request, allowed), strict=True)
        return [self.catalogue.titled(made[k]) for k in range(len(users))]

    def predict(self, pairs: Sequence[tuple[Any, Any]]) -> dict[str, Any]:
        """Return the columns of predictions for pairs of user and item.

        Parameters
        ----------
        pairs : sequence of tuple
            User, by id or as a `NewUser`, and item of each. Users with the same ratings are folded in once.

        Returns
        -------
        dict
            user (None of a new one), item, prediction, meaning where levels have one, level (from 1), score, and of a
            model with probabilities those of all levels. Of such a model the score is the expected rating.
        """
        rating_model_of(self.model)  # there is one, or the request is refused
        items = [self._item(item, f"pairs[{k}].item") for k, (_, item) in enumerate(pairs)]
        new = {k: user for k, (user, _) in enumerate(pairs) if isinstance(user, NewUser)}
        known = [k for k in range(len(pairs)) if k not in new]
        parts = []
        if known:
            users = [self._user(pairs[k][0], f"pairs[{k}].user") for k in known]
            parts.append((known, _predictions(self.model, users, [items[k] for k in known])))
        if new:
            of_ratings: dict[Any, int] = {}
            first = {k: of_ratings.setdefault(tuple(user.ratings), k) for k, user in new.items()}
            folded, ids = self._folded_in({f"pairs[{k}].user": new[k] for k in of_ratings.values()})
            called = dict(zip(of_ratings.values(), ids, strict=True))
            found = _predictions(folded, [called[k] for k in first.values()], [items[k] for k in new])
            parts.append((list(new), found | {"user": [None] * len(new)}))
        order = np.argsort([k for places, _ in parts for k in places]).tolist()
        joined = {name: [one for _, columns in parts for one in columns[name]] for name in parts[0][1]} if parts else {}
        return {name: [column[k] for k in order] for name, column in joined.items()}

    def similar(self, item: Any, n: int, min_ratings: int = 5) -> list[dict[str, Any]]:
        """Return the items most like one, with their similarity.

        Parameters
        ----------
        item : id
            In training.
        n : int
            How many.
        min_ratings : int, default=5
            Fewest ratings of those that are returned.
        """
        model = with_similar(self.model, "item")
        columns = similar_columns(model, [self._item(item, "id")], n, "item", min_ratings)
        return self.catalogue.titled(_rows({"item": columns["similar"], "similarity": columns["similarity"]}))

    def items_of(self, ids: Sequence[Any]) -> list[dict[str, Any]]:
        """Return items by id, with their number of ratings and title; those which are not known are left out.

        Parameters
        ----------
        ids : sequence of id
            Which.
        """
        return self.catalogue.of(map(self.items.match, ids))

    def explain(self, user: Any, items: Sequence[Any], n: int) -> list[dict[str, Any]]:
        """Return which of a user's own ratings raise and lower the scores of items, the strongest reasons first.

        Parameters
        ----------
        user : id or NewUser
            Whose; a new one is folded in.
        items : sequence of ids
            In training.
        n : int
            Number of reasons for each; the others are added up.

        Returns
        -------
        list of dict
            item, score, reasons, rest, and intercept where they sum to the score; see `RatingModel.explain`.

        Raises
        ------
        InvalidInputError
            If the scores of the model cannot be explained, or the user has no ratings.
        """
        wanted = [self._item(one, f"items[{k}]") for k, one in enumerate(items)]
        if isinstance(user, NewUser):
            model, (asked,) = self._folded_in({"user": user})
        else:
            model, asked = self.model, self._user(user, "user")
        found = told(reasons(model, asked, list(dict.fromkeys(wanted))).explanation(n), "item")
        by_item = {one["item"]: one for one in found}
        return [by_item[one] for one in wanted]

    def facts(self) -> Mapping[str, Any]:
        """Return class, sizes and levels of the model, and whether it has probabilities of levels."""
        probable = bool(self._levels) and hasattr(rating_model_of(self.model), "predict_proba")
        return {**facts_of(self.model).values, "probabilities": probable}

    def example(self) -> dict[str, Any]:
        """Return a user, an item and a rating that the model knows; None as rating where it knows none."""
        rating = float(self.model.scale_[-1]) if self._levels else None
        user, item = (ids.ids[:1].tolist()[0] for ids in (self.model.users_, self.model.items_))
        return {"kind": self.kind, "user": user, "item": item, "rating": rating}

    def rehearse(self) -> None:
        """Answer one question of each kind that the model can answer, so that all it needs is compiled."""
        _, user, item, rating = self.example().values()
        self.recommend([user], Request(n=1))
        self.recommend([NewUser([(item, rating)])], Request(n=1))
        self.describe()

    def questions(self) -> Mapping[str, Callable[[], object]]:
        """Return small questions that not every model answers, by name."""
        _, user, item, rating = self.example().values()
        new = NewUser([(item, rating)])
        return {
            "predictions": lambda: self.predict([(user, item)]),
            "similar": lambda: self.similar(item, 1, 0),
            "explanations": lambda: self.explain(new, [item], 1),
        }

    def _user(self, one: Any, argument: str) -> Any:
        return self.users.found(one, argument, _ADVICE["user"])

    def _item(self, one: Any, argument: str) -> Any:
        return self.items.found(one, argument, _ADVICE["item"])

    def _folded_in(self, users: Mapping[str, NewUser]) -> tuple[Any, list[str]]:
        """Return a model of new users, by their places, and what they are called there, in their order.

        To a model that knows times they give their ratings at the latest one that it knows, for which it answers too.
        """
        called = [f"new user {k:09}" for k in range(len(users))]
        pairs: list[tuple[str, Any]] = []
        ratings: list[float | None] = []
        for (place, user), name in zip(users.items(), called, strict=True):
            pairs += [(name, item) for item in self._rated(user, f"{place}.ratings")]
            ratings += [rating for _, rating in user.ratings]
        X = np.empty((len(pairs), 2), dtype=object)
        X[:] = pairs
        if not self._levels:
            return self.model.fold_in(X, known="replace"), called
        times = latest_times(rating_model_of(self.model), len(pairs))
        return self.model.fold_in(X, np.array(ratings, dtype=np.float64), time=times, known="replace"), called

    def _rated(self, user: NewUser, where: str) -> list[Any]:
        """Return the items that a new user rated; refuse ratings that the model does not take."""
        if not user.ratings:
            raise InvalidInputError("is empty", argument=where, found=[], advice="give at least one rating")
        items: list[Any] = []
        seen: set[Any] = set()
        for j, (one, rating) in enumerate(user.ratings):
            item, argument = self._item(one, f"{where}[{j}].item"), f"{where}[{j}].rating"
            if item in seen:
                raise InvalidInputError(
                    "is rated twice", argument=f"{where}[{j}].item", found=one, advice="give it once"
                )
            if self._levels and rating not in self._levels:
                expected = f"expected one of {', '.join(format(level, 'g') for level in sorted(self._levels))}"
                raise InvalidInputError(expected, argument=argument, found=rating)
            if not self._levels and rating is not None:
                advice = "leave ratings out: the model was fitted to interactions"
                raise InvalidInputError("says nothing to the model", argument=argument, found=rating, advice=advice)
            seen.add(item)
            items.append(item)
        return items


def _predictions(model: Any, users: Sequence[Any], items: Sequence[Any]) -> dict[str, list[Any]]:
    """Return the columns of predictions for pairs of user and item that a model knows."""
    model = rating_model_of(model)
    X = np.empty((len(users), 2), dtype=object)
    X[:] = list(zip(users, items, strict=True))
    asked = at_latest(model, X)
    found = model.predict(asked)
    columns = {
        "user": X[:, 0],
        "item": X[:, 1],
        **with_meaning(model, found),
        "level": np.searchsorted(model.scale_, found) + 1,
        "score": shortest(model.decision_function(asked)),
    }
    if hasattr(model, "predict_proba"):
        columns["probabilities"] = shortest(model.predict_proba(asked))
    return {name: _listed(column) for name, column in columns.items()}


def _counts_of_items(model: Any) -> NDArray[Any]:
    """Return how many ratings items have; none where the ratings are there no more."""
    return np.zeros(len(model.items_), dtype=np.int64) if model.ratings_ is None else model.ratings_.item_counts


def _lists(model: Any, ids: Sequence[Any], request: Request, allowed: Sequence[Any] | None) -> list[Any]:
    """Return for each user of a model a list of rows."""
    columns, lengths = Lists.asked(request, allowed, None, {})(model, ids)
    shown = {name: column for name, column in columns.items() if name not in ("user", "rank")}
    rows, ends = _rows(shown), np.cumsum(lengths).tolist()
    return [rows[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _rows(columns: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return columns as rows."""
    names, listed = tuple(columns), [_listed(column) for column in columns.values()]
    return [dict(zip(names, values, strict=True)) for values in zip(*listed, strict=True)]


def _listed(column: NDArray[Any] | list[Any]) -> list[Any]:
    return column.tolist() if isinstance(column, np.ndarray) else column
