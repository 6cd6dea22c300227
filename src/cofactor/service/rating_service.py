"""What a fitted model of ratings, or of interactions, can be asked from outside."""

from __future__ import annotations

import copy
import json
import re
import unicodedata
import warnings
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import Argument, InputWarning, InvalidInputError, Place, Text
from cofactor.model.explanations import Explanation
from cofactor.model.facts import Facts
from cofactor.model.times import pairs_for
from cofactor.ratings import MODELS, Embeddings, IdSelection, ImplicitModel, Reasons, Recommender, Rules, ranking
from cofactor.ratings.facts import facts_of
from cofactor.ratings.features import FeatureTable, PairQuery, new_rows
from cofactor.service import rating_files as files
from cofactor.service.base import ModelService, about, explanation_to_json
from cofactor.service.clusters import block_by_block
from cofactor.service.models import short_names
from cofactor.service.rating_files import SIDES, IdsByText, match_ids, only_new, side_features
from cofactor.service.results import RANKINGS, AnswerTable, Built, Loaded, shortest
from cofactor.text import plural, shorten, some_of
from cofactor.typing import SideName

#: Items in lists that are made before they are written: some hundred megabytes as objects of Python.
_ITEMS_PER_BLOCK = 500_000
#: Pairs that are predicted before they are written: a few megabytes to send to a worker.
_PAIRS_PER_BLOCK = 100_000
_MOST_RULES = 4  #: that are kept, with what was looked up for them
_FEW_REASONS = 3  #: own items that are named beside a recommendation

#: A user who was not in training: ids of items with their ratings; None as rating of a model of interactions.
NewUser: TypeAlias = list[tuple[Any, float | None]]


class RatingService(ModelService):
    """What a fitted model of ratings, or of interactions, can be asked from outside; see `ModelService`.

    In questions without files ids are those of training, or texts that read like these.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    called : str, default="the model"
        What messages call it: its file.
    titles : mapping from str to str, optional
        Titles of items by the text of their ids.

    Examples
    --------
    >>> from cofactor.ratings import ALS
    >>> X, y = [(1, "Up"), (1, "Cars"), (2, "Up"), (2, "Heat"), (3, "Heat")], [5, 4, 4, 1, 2]
    >>> service = RatingService(ALS(n_factors=1, alpha=1.0, random_state=0).fit(X, y))
    >>> lists = service.recommend(["3", [("Heat", 1)]], n=2)
    >>> [[row["item"] for row in rows] for rows in lists]
    [['Up', 'Cars'], ['Up', 'Cars']]
    """

    kind = "ratings"

    def __init__(self, model: Any, called: str = "the model", titles: Mapping[str, str] | None = None) -> None:
        super().__init__(model, called)
        self._given_titles = titles or {}
        if titles and not self.titles.n_titled:
            found = f"{next(iter(titles))!r}, and the model knows {some_of(model.items_.ids)}"
            warnings.warn(
                InputWarning(f"no item has one of the {len(titles):,} titles: they are of {found}"), stacklevel=2
            )

    @cached_property
    def users(self) -> IdsByText:
        """Users of the model by the text of their ids."""
        return IdsByText(self.model.users_)

    @cached_property
    def items(self) -> IdsByText:
        """Items of the model by the text of their ids."""
        return IdsByText(self.model.items_)

    @cached_property
    def titles(self) -> TitleIndex:
        """Items of the model by the words of their titles."""
        ratings, items = self.model.ratings_, self.model.items_
        counts = np.zeros(len(items), dtype=np.int64) if ratings is None else ratings.item_counts
        return TitleIndex(items.ids.tolist(), counts, self._given_titles)

    @cached_property
    def levels(self) -> list[float]:
        """The ratings of all levels; none of a model of interactions."""
        return list(self.model.scale_.tolist()) if self.model.predicts_ratings else []

    def facts(self) -> Facts:
        """Return sizes, scale and effort of the model."""
        return facts_of(self.model)

    # ---------------------------------------------------------------- questions about files

    def predict_file(self, file: str, options: Mapping[str, Any]) -> AnswerTable:
        """Predict the ratings of the pairs in a file; see `ModelService.predict_file`."""
        model = rating_model_of(self.model, self.called)
        if options["proba"]:
            self._require_probabilities(model, "proba")
        if options["scheduler"] is not None:
            self._check_workers(options)
        X, times = files.read_rating_pairs(file, model, options)
        described = any(options[name] is not None for name in SIDES)
        size = len(X) if described else _PAIRS_PER_BLOCK
        blocks = [slice(first, first + size) for first in range(0, len(X), size)]

        def tables() -> Iterator[AnswerTable]:
            n_unknown = 0
            answers = partial(_pair_answers, options)
            with block_by_block(options["scheduler"], "predict", answers, model, self.called) as each:
                made = each((X[here], None if times is None else times[here]) for here in blocks)
                for here, (found, unknown) in zip(blocks, made, strict=True):
                    n_unknown += unknown
                    columns = {
                        "user": X[here, 0],
                        "item": X[here, 1],
                        **_with_meaning(model, found["prediction"]),
                        "score": found["score"],
                    }
                    if options["proba"]:
                        chances = zip(model.scale_.tolist(), found["chances"].T, strict=True)
                        columns |= {f"p_{level:g}": column for level, column in chances}
                    notes = _unknown_pairs(n_unknown, len(X)) if here is blocks[-1] else ()
                    yield AnswerTable("Predictions", columns, notes=notes)

        return AnswerTable.of_blocks(tables())

    def recommend_table(self, users: Sequence[str] | None, options: Mapping[str, Any]) -> AnswerTable:
        """Recommend items to users of the model, or to new ones of a file; see `ModelService.recommend_table`."""
        model = _ranking_model(self.model, options)
        if not isinstance(model, Recommender | ImplicitModel):
            for name in ("at_least", "quantile"):
                if options[name] is not None:
                    self._require_probabilities(model, name)
        encoding, allowed, titles = options["encoding"], None, None
        notes: tuple[Text, ...] = ()
        of_items = side_features(model, "item_features", options)
        new = None if of_items is None else only_new(model, of_items)
        if new is not None and not isinstance(model, Recommender):
            model, new = model.with_new_items(new), None
        if options["candidates"] is not None:
            allowed, notes = files.read_candidates(options["candidates"], model, encoding, new)
        if options["titles"] is not None:
            items = model.items_.ids if new is None else np.append(model.items_.ids, new.ids.ids)
            titles, more = files.titles_of(items, options["titles"], encoding)
            notes = (*notes, *more)
        folding = options["ratings"] is not None or options["user_features"] is not None
        rules = _rules(model, options, folding, new)
        if folding:
            folded = fold_in(model, options["ratings"], options)
            model, notes = folded.model, (*notes, *folded.notes)
        ids: Any = model.users_.ids
        if users is not None:
            ids = np.array([*match_ids(users, model.users_), None], dtype=object)[:-1]
            _check_users(ids.tolist(), model, options["ratings"] or options["user_features"])
        if options["exclude"] is not None:
            rules["exclude"], more = files.read_exclusions(options["exclude"], model, encoding)
            notes = (*notes, *more)
        if options["why"]:
            model.require_ratings(("what raises a score is among them: ",))
        how = {name: options[name] for name in ("n", "rank_by", "at_least", "quantile")}
        how |= {"exclude_seen": not options["include_seen"], "candidates": allowed, "new_items": new, **rules}
        size = max(1, _ITEMS_PER_BLOCK // options["n"])
        firsts = range(0, max(len(ids), 1), size)

        def tables() -> Iterator[AnswerTable]:
            lengths: list[NDArray[Any]] = []
            scheduler = options["scheduler"]
            with block_by_block(scheduler, "recommend", partial(_lists, how), model, self.called) as each:
                made = each(ids[first : first + size].tolist() for first in firsts)
                for first, (columns, own) in zip(firsts, made, strict=True):
                    lengths.append(own)
                    if titles is not None:
                        columns["title"] = [titles.get(str(item), "") for item in columns["item"]]
                    if options["why"]:
                        columns["because"] = _because(model, columns["user"], columns["item"], titles)
                    short = _short_lists(np.concatenate(lengths), options) if first == firsts[-1] else ()
                    yield AnswerTable("Recommendations", columns, notes=short)

        return AnswerTable.of_blocks(tables(), notes)

    def similar_table(
        self,
        ids: Sequence[Any],
        n: int,
        side: SideName = "item",
        min_ratings: int = 5,
        titles: str | None = None,
        encoding: str = "utf-8",
    ) -> AnswerTable:
        """Return similar items, or users; see `ModelService.similar_table`."""
        model = _with_similar(self.model, side)
        known = model.users_ if side == "user" else model.items_
        asked = match_ids(ids, known)
        files.refuse_new(asked, known, f"{side}s")
        columns = _similar_columns(model, asked, n, side, min_ratings)
        notes: tuple[Text, ...] = ()
        if titles is not None:
            by_id, notes = files.titles_of(known.ids, titles, encoding)
            columns["title"] = [by_id.get(str(one), "") for one in columns["similar"]]
        return AnswerTable(f"Similar {side}s", columns, notes=notes)

    def explain_table(self, of: Any, what: Any, n: int, options: Mapping[str, Any]) -> AnswerTable:
        """Return which ratings of a user raise or lower the scores of items; see `ModelService.explain_table`."""
        model, titles = self.model, None
        notes: tuple[Text, ...] = ()
        (user,), items = match_ids([of], model.users_), match_ids(what, model.items_)
        files.refuse_new([user], model.users_, "users")
        files.refuse_new(items, model.items_, "items")
        found = _reasons(model, user, items).explanation(n)
        if options["titles"] is not None:
            titles, notes = files.titles_of(model.items_.ids, options["titles"], options["encoding"] or "utf-8")
        columns = dict(found.columns)
        if titles is not None:
            columns["title"] = _titles(columns["item"], titles)
            columns["term_title"] = np.where(_is_own(found), _titles(columns["term"], titles), "").astype(object)
        return AnswerTable(
            "What raises and lowers scores",
            columns | {"term": np.array(["" if one is None else one for one in columns["term"]], dtype=object)},
            records=lambda: _records(found, titles),
            text=lambda: _titled(found, titles).text(),
            notes=notes,
        )

    def read_more(self, file: str, options: Mapping[str, Any]) -> Loaded:
        """Read new ratings, on the model's scale; see `ModelService.read_more`."""
        return files.read_more(file, self.model, options, interactions=not self.model.predicts_ratings)

    def update(self, loaded: Loaded, options: Mapping[str, Any]) -> Any:
        """Return a copy of the model that has taken in new ratings; see `ModelService.update`."""
        features: dict[str, Any] = dict(files.features_of(loaded.ready, options))
        with about(loaded.file):
            return copy.copy(self.model).update(loaded.ready, again=bool(options.get("again")), **features)

    def _require_probabilities(self, model: Any, option: str) -> None:
        """Refuse a model without probabilities of levels; the message names the models that have them."""
        if not hasattr(model, "predict_proba"):
            known = short_names({**MODELS, **ranking.MODELS})
            having = ", ".join(name for name, kind in known.items() if hasattr(kind(), "predict_proba"))
            kind = f"{self.called} is a model of {type(model).__name__}, without probabilities"
            raise InvalidInputError((Argument(option), f": {kind}; {having} have them"))

    def _check_workers(self, options: Mapping[str, Any]) -> None:
        """Refuse what workers cannot have: features of new users or items, and a model that is no file."""
        for name in SIDES:
            if options[name] is not None:
                why = " exclude each other: those who are new are folded in here, and not by workers"
                raise InvalidInputError((Argument("scheduler"), " and ", Argument(name), why))
        if not Path(self.called).is_file():
            message = f" is for the file of a model, and {self.called} is none"
            raise InvalidInputError((Argument("scheduler"), message))

    # ---------------------------------------------------------------- questions without files

    def recommend(
        self,
        users: Sequence[Any],
        n: int = 10,
        *,
        candidates: Sequence[Any] | IdSelection | None = None,
        exclude: Sequence[Any] | IdSelection | Mapping[Any, Sequence[Any]] | None = None,
        exclude_seen: bool = True,
        rank_by: str | None = None,
        at_least: float | None = None,
        quantile: float | None = None,
        rules: Mapping[str, Any] | None = None,
        new_items: Sequence[Mapping[str, Any]] | None = None,
    ) -> list[list[dict[str, Any]]]:
        """Return a list of items for each user, best first.

        All known users are answered in one batch, all new ones with ratings are folded in together, and so are those
        without. Items that are named and were not in training are left out, with a warning; not those of a selection.

        Parameters
        ----------
        users : sequence of id or NewUser
            To whom.
        n : int, default=10
            Items in each list.
        candidates : sequence of ids or IdSelection, optional
            The only items to recommend; of a selection as `select` returns it.
        exclude : sequence of ids, IdSelection, or mapping from user to such, optional
            Items to leave out: for all, or for each user of training.
        exclude_seen, rank_by, at_least, quantile
            As of the model's own ``recommend``.
        rules : mapping from str to object, optional
            Parameters of `Rules`; groups and boost as `by_item` returns them.
        new_items : sequence of mapping, optional
            Features of new items, each with its id and the columns of training.

        Returns
        -------
        list of list of dict
            Each row has item and score; of a `Recommender` p_interact and p_like; prediction where ratings are
            predicted; title where it is known.

        Raises
        ------
        NotInTrainingError
            If a user, or an item that a new one has, was not in training.
        InvalidInputError
            If the model cannot rank so.
        """
        fresh = None if new_items is None else self._new_items(new_items)
        how: dict[str, Any] = {"n": n, "rank_by": rank_by, "at_least": at_least, "quantile": quantile}
        how |= {"exclude_seen": exclude_seen, "new_items": fresh}
        how["candidates"] = self._items(candidates, "candidates", fresh)
        if isinstance(exclude, Mapping):
            of_each = {self.users.match(user): self._items(items, "exclude", None) for user, items in exclude.items()}
        else:
            how["exclude"], of_each = self._items(exclude, "exclude", fresh), {}
        new = {k: user for k, user in enumerate(users) if isinstance(user, list)}
        known = {k: self._user(one, f"users[{k}]") for k, one in enumerate(users) if k not in new}
        made: dict[int, list[dict[str, Any]]] = {}

        def make(model: Any, places: Iterable[int], ids: Sequence[Any], **more: Any) -> None:
            if rules is not None:
                more["rules"] = self._rules(rules, folding=model is not self.model)
            try:
                columns, lengths = _lists(how | more, model, ids)
            except InvalidInputError as error:
                own = error.argument in _OF_RULES and (error.argument != "at_least" or at_least is None)
                raise (_of_rules(error) if rules is not None and own else error) from None
            rows, ends = _rows(columns, without=("user", "rank")), np.cumsum(lengths).tolist()
            lists = (rows[start:end] for start, end in zip([0, *ends], ends, strict=False))
            made.update(zip(places, lists, strict=True))

        if known:
            make(self.model, known, list(known.values()), **({"exclude": of_each} if of_each else {}))
        for places in _alike(new):
            make(*self._folded_in({k: new[k] for k in places}, "users[{}]"))
        return [self.titles.titled(made[k]) for k in range(len(users))]

    def select(self, items: Sequence[Any]) -> IdSelection:
        """Return items, looked up once for many questions: by id, or by text that reads like one.

        Parameters
        ----------
        items : sequence of ids
        """
        known = self.model.items_
        found: IdSelection = known.select(items, "items")
        if not found.unknown:
            return found
        read = [(one, self.items.match(one)) for one in found.unknown]
        others = known.select([own for one, own in read if own is not one], "items")
        return IdSelection(known, np.union1d(found.places, others.places), [one for one, own in read if own is one])

    def by_item(self, values: Mapping[str, Any], argument: str) -> dict[Any, Any]:
        """Return what is said of items by the text of their ids, by the ids of the model.

        Parameters
        ----------
        values : mapping from str to object
            Groups, or boosts.
        argument : str
            What messages call it.
        """
        found = {self.items.match(one): value for one, value in values.items()}
        if len(found) < len(values):
            first = {self.items.match(one): one for one in reversed(list(values))}
            twice = next(one for one in values if first[self.items.match(one)] != one)
            raise InvalidInputError("has an item twice", argument=argument, found=twice, advice="name it once")
        return found

    def _items(self, items: Any, argument: str, new: FeatureTable | None) -> Any:
        """Return items that a caller names, in the form which the model knows; warn of those that nobody knows."""
        if items is None or (isinstance(items, IdSelection) and new is None):
            return items
        found = items if isinstance(items, IdSelection) else self.select(items)
        unknown: list[Any] = found.unknown
        of_new: list[Any] = []
        if new is not None and unknown:
            ids = IdsByText(new.ids)
            places = new.ids.index([ids.match(one) for one in unknown])
            of_new = new.ids.ids[places[places >= 0]].tolist()
            unknown = [one for one, place in zip(unknown, places.tolist(), strict=True) if place < 0]
        if unknown and not isinstance(items, IdSelection) and (of_new or len(found.places)):
            many = plural(len(unknown), "item that was", "items that were", form=",")
            text = f" holds {many} not in training, left out: {shorten(unknown)}"
            warnings.warn(InputWarning((Argument(argument), text)), stacklevel=2)
        return [*found, *of_new] if of_new else found

    def _rules(self, rules: Mapping[str, Any], *, folding: bool) -> Rules:
        """Return the rules that a caller asks for; errors name them as parts of these."""
        vectors: dict[str, Any] = (
            {"vectors": self._vectors} if folding and rules.get("diversity") and self._vectors else {}
        )
        key = folding, *((name, id(of) if name in ("groups", "boost") else repr(of)) for name, of in rules.items())
        if key not in self._made_rules:
            try:
                made = Rules(**rules, **vectors)
            except InvalidInputError as error:
                raise _of_rules(error) from None
            while len(self._made_rules) >= _MOST_RULES:
                del self._made_rules[next(iter(self._made_rules))]
            self._made_rules[key] = made
        return self._made_rules[key]

    @cached_property
    def _made_rules(self) -> dict[Any, Rules]:
        """The last rules, which hold what they were made of: a filter gives the same groups and boosts again."""
        return {}

    @cached_property
    def _vectors(self) -> Embeddings | None:
        """Vectors of items, by which lists of new users are diverse; see `_vectors_for_new_users`."""
        return _vectors_for_new_users(self.model)

    def _new_items(self, rows: Sequence[Mapping[str, Any]]) -> FeatureTable:
        """Return features of new items that a caller describes."""
        if not rows:
            raise InvalidInputError("is empty, expected at least one item", argument="new_items")
        for k, row in enumerate(rows):
            if "id" not in row or set(row) != set(rows[0]):
                problem = "expected an id, and the same columns as of the first one"
                raise InvalidInputError(problem, argument=f"new_items[{k}]", found=dict(row))
        columns = {name: [row[name] for row in rows] for name in rows[0] if name != "id"}
        table = FeatureTable.read(([self.items.match(row["id"]) for row in rows], columns), "new_items")
        new = new_rows(self.model.items_, table)
        if not new.any():
            raise InvalidInputError("holds only items that were in training", argument="new_items")
        return table.select(new)

    def predict(self, pairs: Sequence[tuple[Any, Any]]) -> list[dict[str, Any]]:
        """Return predictions for pairs of user and item.

        Parameters
        ----------
        pairs : sequence of tuple
            User, by id or as a `NewUser`, and item of each. Users with the same ratings are folded in once.

        Returns
        -------
        list of dict
            user (None of a new one), item, prediction, meaning where levels have one, level (from 1), score, and of a
            model with probabilities those of all levels. Of such a model the score is the expected rating.
        """
        rating_model_of(self.model)  # there is one, or the request is refused
        items = [self._item(item, f"pairs[{k}].item") for k, (_, item) in enumerate(pairs)]
        new = {k: user for k, (user, _) in enumerate(pairs) if isinstance(user, list)}
        known = {k: self._user(user, f"pairs[{k}].user") for k, (user, _) in enumerate(pairs) if k not in new}
        made: dict[int, dict[str, Any]] = {}
        if known:
            made |= zip(known, _predictions(self.model, known.values(), [items[k] for k in known]), strict=True)
        if new:
            firsts: dict[Any, int] = {}
            first_of = {k: firsts.setdefault(tuple(user), k) for k, user in new.items()}
            for places in _alike({k: new[k] for k in firsts.values()}):
                folded, _, ids = self._folded_in({k: new[k] for k in places}, "pairs[{}].user")
                called = dict(zip(places, ids, strict=True))
                own = {k: called[first] for k, first in first_of.items() if first in called}
                found = _predictions(folded, own.values(), [items[k] for k in own])
                made |= zip(own, (row | {"user": None} for row in found), strict=True)
        return [made[k] for k in range(len(pairs))]

    def similar(self, item: Any, n: int, min_ratings: int = 5) -> list[dict[str, Any]]:
        """Return the items most like one, with their similarity; see `similar_table`."""
        model = _with_similar(self.model, "item")
        columns = _similar_columns(model, [self._item(item, "id")], n, "item", min_ratings)
        return self.titles.titled(_rows({"item": columns["similar"], "similarity": columns["similarity"]}))

    def items_of(self, ids: Sequence[Any]) -> list[dict[str, Any]]:
        """Return items by id, with their number of ratings and title; those which are not known are left out."""
        return self.titles.of(map(self.items.match, ids))

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
        if isinstance(user, list):
            model, _, (asked,) = self._folded_in({0: user}, "user")
        else:
            model, asked = self.model, self._user(user, "user")
        found = explanation_to_json(_reasons(model, asked, list(dict.fromkeys(wanted))).explanation(n), "item")
        by_item = {one["item"]: one for one in found}
        return [by_item[one] for one in wanted]

    def about(self) -> Mapping[str, Any]:
        """Return class, sizes and levels of the model, and whether it has probabilities of levels."""
        probable = bool(self.levels) and hasattr(rating_model_of(self.model), "predict_proba")
        return {**self.facts().values, "probabilities": probable}

    def example(self) -> dict[str, Any]:
        """Return a user, an item and a rating that the model knows; None as rating where it knows none."""
        user, item = (ids.ids[:1].tolist()[0] for ids in (self.model.users_, self.model.items_))
        return {"kind": self.kind, "user": user, "item": item, "rating": self.levels[-1] if self.levels else None}

    def warm_up(self) -> None:
        """Answer one question of each kind that the model can answer, so that all it needs is compiled."""
        _, user, item, rating = self.example().values()
        for one in (user, [(item, rating)]):
            self.recommend([one], n=1)
        self.describe()

    def questions(self) -> Mapping[str, Callable[[], object]]:
        """Return small questions that not every model answers, by name."""
        _, user, item, rating = self.example().values()
        return {
            "predictions": lambda: self.predict([(user, item)]),
            "similar": lambda: self.similar(item, 1, 0),
            "explanations": lambda: self.explain([(item, rating)], [item], 1),
        }

    def _user(self, one: Any, argument: str) -> Any:
        return self.users.found(one, argument, "give the ratings of a new user instead, who is then folded in")

    def _item(self, one: Any, argument: str) -> Any:
        return self.items.found(one, argument, "leave it out")

    def _folded_in(self, users: Mapping[int, NewUser], where: str) -> tuple[Any, list[int], list[str]]:
        """Return a model of new users, all with ratings or all without, their places, and what they are called there.

        To a model that knows times they give their ratings at the latest one that it knows, for which it answers too.
        """
        called = [f"new user {k:09}" for k in range(len(users))]
        pairs = [
            (name, item)
            for (place, user), name in zip(users.items(), called, strict=True)
            for item in self._rated(user, f"{where.format(place)}.ratings")
        ]
        X = _pairs(pairs)
        if not self.levels or all(map(_is_unrated, users.values())):
            return self.model.fold_in(X, known="replace"), list(users), called
        ratings = np.array([rating for user in users.values() for _, rating in user], dtype=np.float64)
        times = _latest_times(rating_model_of(self.model), len(pairs))
        return self.model.fold_in(X, ratings, time=times, known="replace"), list(users), called

    def _rated(self, user: NewUser, where: str) -> list[Any]:
        """Return the items that a new user rated; refuse ratings that the model does not take."""

        def refuse(problem: str, place: str, found: Any, advice: str = "") -> NoReturn:
            raise InvalidInputError(problem, argument=f"{where}{place}", found=found, advice=advice)

        if not user:
            refuse("is empty", "", [], "give at least one rating")
        items: dict[Any, None] = {}
        takes_clicks = isinstance(self.model, Recommender)
        is_rated = bool(self.levels) and not (takes_clicks and _is_unrated(user))
        for j, (one, rating) in enumerate(user):
            item = self._item(one, f"{where}[{j}].item")
            if item in items:
                refuse("is rated twice", f"[{j}].item", one, "give it once")
            if is_rated and rating is None:
                advice = f'write {{"item": {json.dumps(one)}, "rating": {self.levels[-1]:g}}}'
                advice += ", or leave out the ratings of all items" if takes_clicks else ""
                refuse("is missing: the model was fitted to ratings", f"[{j}].rating", None, advice)
            if is_rated and rating not in self.levels:
                expected = ", ".join(format(level, "g") for level in sorted(self.levels))
                refuse(f"expected one of {expected}", f"[{j}].rating", rating)
            if not self.levels and rating is not None:
                advice = "leave ratings out: the model was fitted to interactions"
                refuse("says nothing to the model", f"[{j}].rating", rating, advice)
            items[item] = None
        return list(items)


def _is_unrated(user: NewUser) -> bool:
    """Return whether a new user brings items alone."""
    return all(rating is None for _, rating in user)


def _alike(users: Mapping[int, NewUser]) -> list[list[int]]:
    """Return the places of new users who are folded in together: those with ratings, and those without."""
    parts: dict[bool, list[int]] = {}
    for place, user in users.items():
        parts.setdefault(_is_unrated(user), []).append(place)
    return list(parts.values())


def fold_in(model: Any, file: str | None, options: Mapping[str, Any]) -> Built:
    """Return a model for the users of a file, without training again, or for new ones whose features a file has.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted. It is not changed.
    file : str or None
        Path, or ``-``; None where features alone, which an option names, describe the users.
    options : mapping from str to object
        As `Task.values` returns them for "recommend".
    """
    features = side_features(model, "user_features", options)
    if file is None:
        return Built(model.fold_in(user_features=features and only_new(model, features)))
    data, notes = files.read_new_users(file, model, options, interactions=not model.predicts_ratings)
    if data.holds_interactions and not isinstance(model, Recommender | ImplicitModel):
        advice = ("name their column with ", Argument("rating"), "; a recommender also folds in interactions")
        raise InvalidInputError("holds no ratings, which this model needs", advice=advice, place=Place(file))
    with about(file):
        if data.holds_interactions:
            return Built(model.fold_in(data, known=options["known"]), notes)
        more: dict[str, Any] = {} if features is None else {"user_features": features}
        return Built(model.fold_in(data.X, data.y, time=data.timestamps, known=options["known"], **more), notes)


def _ranking_model(model: Any, how: Mapping[str, Any]) -> Any:
    """Return the model that ranks: of a `Recommender` its rating model, where items are to be ranked by that alone."""
    asked, kind = how["rank_by"], type(model).__name__
    if asked is not None and asked not in RANKINGS:
        wanted = f"expected one of {', '.join(map(repr, RANKINGS))}"
        raise InvalidInputError(wanted, argument="rank_by", found=asked)
    of_ratings = [name for name in ("at_least", "quantile") if how[name] is not None]
    if len(of_ratings) > 1:
        named = (Argument("at_least"), " and ", Argument("quantile"))
        raise InvalidInputError((*named, " both say how to rank: give one of them"))
    if isinstance(model, Recommender):
        if asked == "rating" and model.predicts_ratings:
            return model.rating_model_
        if how["quantile"] is not None:
            advice = ("rank by it with ", Argument("rank_by", "rating"))
            raise InvalidInputError(
                "is of the predicted rating", argument="quantile", found=how["quantile"], advice=advice
            )
    if not model.predicts_ratings and (of_ratings or asked not in (None, "interaction")):
        option = of_ratings[0] if of_ratings else "rank_by"
        does = "says who interacts with what" if isinstance(model, ImplicitModel) else "was fitted to interactions"
        problem = f"{kind} {does}, and knows nothing of ratings"
        raise InvalidInputError(problem, argument=option, found=how[option], advice="fit a recommender to ratings")
    if not isinstance(model, Recommender | ImplicitModel) and asked not in (None, "rating"):
        problem = f"{kind} says what users like, and not what they interact with"
        raise InvalidInputError(problem, argument="rank_by", found=asked, advice="fit a recommender")
    return model


def _rules(model: Any, options: Mapping[str, Any], folding: bool, new: FeatureTable | None) -> dict[str, Any]:
    """Return the argument ``rules`` of ``recommend``; nothing where none are asked for."""
    asked = {name: options[name] for name in ("min_support", "diversity", "novelty") if options[name] is not None}
    quotas = {"at_most": options["per_group"], "at_least": options["min_per_group"]}
    if (options["groups"] is None) != all(quota is None for quota in quotas.values()):
        both = (Argument("groups"), " and ", Argument("per_group"), " or ", Argument("min_per_group"))
        raise InvalidInputError((*both, " go together: the group of each item, and how many of each a list may have"))
    if options["groups"] is not None:
        asked |= {"groups": _by_item(options["groups"], options["encoding"], "group", model, new), **quotas}
    if options["boost"] is not None:
        boost = _by_item(options["boost"], options["encoding"], "boost", model, new)
        asked["boost"] = {item: _number(text, item, options["boost"]) for item, text in boost.items()}
    if folding and options["diversity"] and (vectors := _vectors_for_new_users(model)) is not None:
        asked["vectors"] = vectors
    return {"rules": Rules(**asked)} if asked else {}


def _vectors_for_new_users(model: Any) -> Embeddings | None:
    """Return vectors of items of a model that was fitted: once users are folded in, it may compare items otherwise."""
    found: Embeddings | None = None
    if hasattr(model, "item_vectors") and model.updates_ is not None:
        found = model.item_vectors()
    return found


_OF_RULES = frozenset(one.name for one in fields(Rules))


def _of_rules(error: InvalidInputError) -> InvalidInputError:
    """Return an error about one of the rules that names it as a part of them."""
    name = error.argument if error.argument in _OF_RULES else None
    argument = "rules" if name is None else f"rules.{name}"
    return InvalidInputError(error.problem, argument=argument, found=error.found, advice=error.advice)


def _by_item(path: str, encoding: str, what: str, model: Any, new: FeatureTable | None) -> dict[Any, str]:
    """Return what a table says of items that a model knows, or that are ranked among those, by their ids."""
    by_text = files.read_titles(path, encoding, what)
    items = [*model.items_.ids.tolist(), *([] if new is None else new.ids.ids.tolist())]
    found = {item: by_text[str(item)] for item in items if str(item) in by_text}
    if not found:
        raise InvalidInputError(f"has the {what} of no item that was in training", place=Place(path))
    return found


def _number(text: str, item: Any, path: str) -> float:
    """Return a number that a table says of an item."""
    try:
        return float(text)
    except ValueError:
        raise InvalidInputError(f"item {item!r} has the boost {text!r}, expected a number", place=Place(path)) from None


def _check_users(ids: list[Any], model: Any, file: str | None) -> None:
    """Refuse users that a model does not know; those of `file` were folded in."""
    known = model.users_.index(ids)
    if (known < 0).any():
        unknown = ids[int((known < 0).argmax())]
        if file is not None:
            raise InvalidInputError(f"is not in {file}", argument="users", found=unknown)
        advice = (files.hint(unknown, model.users_, "give ratings of new users with "), Argument("ratings"))
        raise InvalidInputError("was not in training", argument="users", found=unknown, advice=advice)


def _lists(how: Mapping[str, Any], model: Any, ids: Sequence[Any]) -> tuple[dict[str, Any], NDArray[Any]]:
    """Return the columns of recommendations for some users, in the form of id which the model knows, and how many
    items each gets.
    """
    model = _ranking_model(model, how)
    n, rank_by, new = how["n"], how["rank_by"], how.get("new_items")
    how = {name: value for name, value in how.items() if name not in ("n", "rank_by", "new_items")}
    how = {name: value for name, value in how.items() if value is not None or name not in ("at_least", "quantile")}
    if isinstance(model, Recommender):
        how |= {"rank_by": rank_by or "auto"}
    if new is not None:
        how["new_items"] = new
    found = model.recommend(ids, n, **how)
    chances = {name: table for name in ("p_interact", "p_like") if (table := getattr(found, name)) is not None}
    there = np.isfinite(found.scores)
    lengths, items = there.sum(axis=1), found.items[there]
    columns = {
        "user": [one for one, own in zip(ids, lengths.tolist(), strict=True) for _ in range(own)],
        "rank": np.nonzero(there)[1] + 1,
        "item": items.tolist(),
        "score": shortest(found.scores[there]),
        **{name: shortest(values[there].astype(np.float32)) for name, values in chances.items()},
        **_predicted(model, ids, lengths, items, new),
    }
    return columns, lengths


def _predicted(
    model: Any, ids: Sequence[Any], lengths: NDArray[Any], items: NDArray[Any], new: FeatureTable | None
) -> dict[str, Any]:
    """Return the column of predicted ratings of some users' lists of items, one after the other, if there are any."""
    if not model.predicts_ratings:
        return {}
    rating_model = rating_model_of(model)
    if not len(items):
        return _with_meaning(rating_model, np.empty(0))
    if new is not None:
        pairs = np.column_stack([np.repeat(np.array([*ids, None], dtype=object)[:-1], lengths), items.astype(object)])
        described = new if rating_model.knows_features("item") else None
        latest = _latest_times(rating_model, len(pairs))
        return _with_meaning(
            rating_model, PairQuery.of(rating_model, pairs, None, described, latest).answers("predict")
        )
    users = np.repeat(rating_model.users_.index(ids), lengths)
    scorer = rating_model.scorer_
    return _with_meaning(rating_model, scorer.ratings(scorer.at(users, scorer.now), rating_model.items_.index(items)))


def _short_lists(lengths: NDArray[Any], options: Mapping[str, Any]) -> tuple[Text, ...]:
    """Say how many users get fewer items than were asked for, and what leaves no more."""
    n = options["n"]
    short, empty = int((lengths < n).sum()), int((lengths == 0).sum())
    if not short:
        return ()
    whom = f"{plural(short, 'user gets', 'users get', form=',')} fewer than {plural(options['n'], 'item', form=',')}"
    none = f", {empty:,} of them none" if empty else ""
    limits: list[Text] = [] if options["include_seen"] else [(Argument("exclude_seen", False), " adds what users know")]
    asked = ("candidates", "exclude", "min_support", "per_group")
    limits += [(Argument(name), " leaves fewer") for name in asked if options[name] is not None]
    why: list[str | Argument] = []
    for limit in limits:
        why += [", " if why else ": ", *limit]
    return ((f"{whom}{none}, since no more are left", *why),)


def _pair_answers(
    options: Mapping[str, Any], model: Any, pairs: tuple[NDArray[Any], NDArray[Any] | None]
) -> tuple[dict[str, NDArray[Any]], int]:
    """Return what a model says of pairs at times, if there are any, and how many pairs it does not know."""
    asking = files.asked(rating_model_of(model), pairs[0], options, pairs[1])
    found = {"prediction": asking.answers("predict"), "score": shortest(asking.answers("decision_function"))}
    if options["proba"]:
        found["chances"] = asking.answers("predict_proba")
    return found, asking.n_unknown()


def _unknown_pairs(n_unknown: int, n_pairs: int) -> tuple[Text, ...]:
    """Say how many pairs a model does not know."""
    if not n_unknown:
        return ()
    share = f"{n_unknown:,} of {n_pairs:,}; they are predicted as for an average one"
    return (f"pairs with a user or an item that was not in training: {share}",)


def _predictions(model: Any, users: Iterable[Any], items: Sequence[Any]) -> list[dict[str, Any]]:
    """Return predictions for pairs of user and item that a model knows, at the latest time that it knows."""
    model = rating_model_of(model)
    X = _pairs(list(zip(users, items, strict=True)))
    asked = pairs_for(model, X, _latest_times(model, len(X)))
    found = model.predict(asked)
    columns = {
        "user": X[:, 0],
        "item": X[:, 1],
        **_with_meaning(model, found),
        "level": np.searchsorted(model.scale_, found) + 1,
        "score": shortest(model.decision_function(asked)),
    }
    if hasattr(model, "predict_proba"):
        columns["probabilities"] = shortest(model.predict_proba(asked))
    return _rows(columns)


def _pairs(pairs: Sequence[tuple[Any, Any]]) -> NDArray[Any]:
    X = np.empty((len(pairs), 2), dtype=object)
    X[:] = pairs
    return X


def _rows(columns: Mapping[str, Any], without: Sequence[str] = ()) -> list[dict[str, Any]]:
    """Return columns as rows."""
    names = [name for name in columns if name not in without]
    listed = (columns[name].tolist() if isinstance(columns[name], np.ndarray) else columns[name] for name in names)
    return [dict(zip(names, values, strict=True)) for values in zip(*listed, strict=True)]


def _latest_times(model: Any, n: int) -> NDArray[Any] | None:
    """Return the latest time that a rating model knows, n times; None where it knows none."""
    now = model.scorer_.now
    return None if now is None else np.full(n, now)


def _with_meaning(model: Any, found: NDArray[Any]) -> dict[str, Any]:
    """Return the columns of predictions: ratings, and what they stand for where the model knows it."""
    meaning = {} if model.rating_scale_ is None else {"meaning": model.rating_scale_.named(found)}
    return {"prediction": found, **meaning}


def rating_model_of(model: Any, called: str = "the model") -> Any:
    """Return what predicts ratings: a model itself, or the part of a recommender.

    Parameters
    ----------
    model : RatingModel, ImplicitModel or Recommender
        Fitted.
    called : str, default="the model"
        What messages call the model.

    Raises
    ------
    InvalidInputError
        If nothing does.
    """
    if not model.predicts_ratings:
        kind = (
            "was fitted to interactions, and" if isinstance(model, Recommender) else "says who interacts with what, and"
        )
        advice = "ask it for recommendations, or predict with a recommender that was fitted to ratings"
        raise InvalidInputError(f"{called}: {type(model).__name__} {kind} predicts no ratings", advice=advice)
    return model.rating_model_ if isinstance(model, Recommender) else model


def _with_similar(model: Any, side: SideName) -> Any:
    """Return a model, or the first part of a recommender, that has similar items or users."""
    parts = [model]
    if isinstance(model, Recommender):
        parts += [part for part in (model.rating_model_, *model.implicit_models_) if part is not None]
    found = next((part for part in parts if hasattr(part, f"similar_{side}s")), None)
    if found is None:
        having = "ALS, MMMF and OrdinalProbit have" + (", and all models of interactions" if side == "item" else "")
        kind = type(model).__name__
        raise InvalidInputError(f"{kind} has no factors by which {side}s are similar: models such as {having}")
    return found


def _similar_columns(model: Any, asked: Sequence[Any], n: int, side: SideName, min_ratings: int) -> dict[str, Any]:
    """Return the columns of items, or users, that are most like each of some."""
    find = model.similar_users if side == "user" else model.similar_items
    found, similarities = find(asked, n, min_ratings=min_ratings)
    there = np.isfinite(similarities)
    return {
        side: [one for one, row in zip(asked, there, strict=True) for _ in range(int(row.sum()))],
        "rank": np.broadcast_to(np.arange(1, n + 1), there.shape)[there],
        "similar": found[there].tolist(),
        "similarity": shortest(similarities[there]),
    }


def _reasons(model: Any, user: Any, items: Sequence[Any]) -> Reasons:
    """Return the reasons of a model for the scores of items; refuse one that has none, and name those that have."""
    model.require("explain")
    found: Reasons = model.explain(user, items)
    return found


def _because(model: Any, users: Sequence[Any], items: Sequence[Any], titles: Mapping[str, str] | None) -> list[str]:
    """Return for each recommended item the own items that raise its score most, with their ratings."""
    starts = [k for k, user in enumerate(users) if k == 0 or user != users[k - 1]]
    words: list[str] = []
    for first, last in zip(starts, [*starts[1:], len(users)], strict=True):
        if not model.ratings_.user_counts[model.users_.index([users[first]])[0]]:  # known by features alone
            words += [""] * (last - first)
            continue
        mine = list(items[first:last])
        known = [item for item, place in zip(mine, model.items_.index(mine), strict=True) if place >= 0]
        raising = _raising(_reasons(model, users[first], known), titles) if known else []
        of_known = dict(zip(known, raising, strict=True))
        words += [of_known.get(item, "") for item in mine]
    return words


def _raising(found: Reasons, titles: Mapping[str, str] | None) -> list[str]:
    """Return for each item the own items that raise its score most."""
    own = found.own_items.tolist()
    rated = [f" (rated {value:g})" if found.kind == "rating" else "" for value in found.own_ratings.tolist()]
    names = [_title(one, titles) + value for one, value in zip(own, rated, strict=True)]
    return ["; ".join(names[k] for k in raising) for raising in found.raising(_FEW_REASONS)]


def _title(item: Any, titles: Mapping[str, str] | None) -> str:
    return (titles or {}).get(str(item)) or str(item)


def _titles(items: NDArray[Any], titles: Mapping[str, str]) -> NDArray[Any]:
    return np.array([titles.get(str(item), "") for item in items], dtype=object)


def _is_own(found: Explanation) -> NDArray[np.bool_]:
    """Return which terms are items of the user."""
    return np.isin(found.columns["kind"], ("rating", "interaction"))


def _titled(found: Explanation, titles: Mapping[str, str] | None) -> Explanation:
    """Return an explanation with titles in place of ids, where there are some."""
    columns = dict(found.columns)
    own = _is_own(found)
    terms = columns["term"].copy()
    terms[own] = [_title(one, titles) for one in terms[own]]
    items = np.array([_title(one, titles) for one in columns["item"]], dtype=object)
    return Explanation({**columns, "item": items, "term": terms})


def _records(found: Explanation, titles: Mapping[str, str] | None) -> Iterator[dict[str, Any]]:
    """Yield an object for each item."""
    for group in found.groups():
        if titles is not None:
            named = {"rating", "interaction"}
            of_terms = [titles.get(str(one["term"]), "") if one["kind"] in named else None for one in group["terms"]]
            group["terms"] = [one | {"title": title} for one, title in zip(group["terms"], of_terms, strict=True)]
            group = {**group, "title": titles.get(str(group["item"]), "")}
        yield group


_WORD = re.compile(r"\w+")
_APOSTROPHES = re.compile("['’]")
_LAST = chr(0x10FFFF)  #: follows all other letters


class TitleIndex:
    """Items, their titles and how many ratings they have; found by words.

    Parameters
    ----------
    ids : sequence of id
        Of all items.
    counts : array-like of shape (n,)
        How many ratings each has.
    titles : mapping from str to str
        By the text of an id. An item without a title is found by its id.

    Examples
    --------
    >>> films = TitleIndex([7, 8, 9], [10, 30, 20], {"7": "Amélie (2001)", "8": "Schindler's List (1993)"})
    >>> films.found("LIST sch", 5)
    [{'item': 8, 'ratings': 30, 'title': "Schindler's List (1993)"}]
    >>> [one["item"] for one in films.found("amel", 5)], [one["item"] for one in films.found("", 2)]
    ([7], [8, 9])
    """

    def __init__(self, ids: Iterable[Any], counts: Any, titles: Mapping[str, str]) -> None:
        ids, counts = list(ids), np.asarray(counts)
        best_first = np.argsort(-counts, kind="stable")
        self._ids, self._counts = [ids[k] for k in best_first.tolist()], counts[best_first]
        self._place_of = {one: place for place, one in enumerate(self._ids)}
        self._titles = {one: titles[str(one)] for one in ids if titles.get(str(one))}
        by_word: dict[str, list[int]] = {}
        for place, one in enumerate(self._ids):
            for word in words_of(self._titles.get(one, str(one))):
                by_word.setdefault(word, []).append(place)
        self._words = sorted(by_word)
        lengths = [len(by_word[word]) for word in self._words]
        self._starts = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
        self._places = np.array([place for word in self._words for place in by_word[word]], dtype=np.int32)

    @property
    def n_titled(self) -> int:
        """How many items have a title."""
        return len(self._titles)

    def found(self, search: str, n: int) -> list[dict[str, Any]]:
        """Return items in whose titles each word of a search begins a word, those with most ratings first.

        Parameters
        ----------
        search : str
            Words; case, accents and apostrophes do not matter. Without any, all items are found.
        n : int
            How many to return at most.
        """
        places = np.arange(len(self._ids), dtype=np.int32)
        for word in words_of(search):
            places = np.intersect1d(places, self._beginning(word), assume_unique=True)
        return [self._row(place) for place in places[:n].tolist()]

    def of(self, ids: Iterable[Any]) -> list[dict[str, Any]]:
        """Return items by id, in the order of the ids; those which are not known are left out.

        Parameters
        ----------
        ids : iterable of id
            As the model has them.
        """
        return [self._row(self._place_of[one]) for one in ids if one in self._place_of]

    def titled(self, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return rows of items, each with its title where that is known.

        Parameters
        ----------
        rows : list of dict
            Each with the id of its item.
        """
        if not self._titles:
            return rows
        return [row | self._title(row["item"]) for row in rows]

    def _beginning(self, word: str) -> NDArray[np.int32]:
        """Return the places of items with a word that begins so, without repetitions."""
        first, last = bisect_left(self._words, word), bisect_left(self._words, word + _LAST)
        return np.unique(self._places[self._starts[first] : self._starts[last]])

    def _row(self, place: int) -> dict[str, Any]:
        one = self._ids[place]
        return {"item": one, "ratings": int(self._counts[place]), **self._title(one)}

    def _title(self, one: Any) -> dict[str, str]:
        return {"title": self._titles[one]} if one in self._titles else {}


def words_of(text: str) -> set[str]:
    """Return the words of a text in lower case, without accents and apostrophes.

    Parameters
    ----------
    text : str

    Examples
    --------
    >>> sorted(words_of("Cité des enfants, La; Schindler's"))
    ['cite', 'des', 'enfants', 'la', 'schindlers']
    """
    if not text.isascii():
        parts = unicodedata.normalize("NFKD", text)
        text = "".join(one for one in parts if not unicodedata.combining(one))
    return set(_WORD.findall(_APOSTROPHES.sub("", text.casefold())))
