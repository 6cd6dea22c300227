"""Random requests to a served model, each answer compared with the library's, number by number.

What a request must get is made of the methods of the model alone (`recommend`, `predict`, `fold_in`, ...), for the same
batch: known users of a request in one call, new ones folded in together. A number in single precision must be the
shortest decimal that is that number, as Python prints it.
"""

import json
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import quote, urlencode

import numpy as np
from scipy.sparse import csr_array

from cofactor.ratings import Recommender


@dataclass(frozen=True)
class Asked:
    """A request, and the status and the content of the answer that it must get; None of one that is refused."""

    operation: str
    method: str
    path: str
    body: Any
    status: int
    expected: Any


def numbers(values: Any) -> Any:
    """Return numbers as JSON must have them."""
    values = np.asarray(values)
    if values.dtype != np.float32:
        return values.tolist()
    return np.array([float(str(one)) for one in values.ravel()]).reshape(values.shape).tolist()


def reasons(found: Any, what: str, names: Any = None) -> list[dict[str, Any]]:
    """Return what an explanation says, in the words of answers."""
    made = []
    for group in found.groups():
        one: dict[str, Any] = {what: group[what], "score": group["score"], "reasons": []}
        for term in group["terms"]:
            kind, name = term["kind"], term["term"]
            if kind == "intercept":
                one["intercept"] = term["contribution"]
            elif kind == "rest":
                one["rest"] = {"reasons": name, "contribution": term["contribution"]}
            else:
                of_value = {"feature": "value", "rating": "rating"}[kind]
                called = names[name] if kind == "feature" and not isinstance(name, str) else name
                parts = {key: term[key] for key in ("contribution", "interaction", "like") if term.get(key) is not None}
                one["reasons"].append(
                    {"feature" if kind == "feature" else "item": called, of_value: term["value"]} | parts
                )
        made.append(one)
    return made


class OfRatings:
    """Random questions to a model of ratings."""

    def __init__(self, model: Any, seed: int = 0) -> None:
        self.model, self.rng = model, np.random.default_rng(seed)
        self.recommends = isinstance(model, Recommender)
        self.ratings = model.rating_model_ if self.recommends else model
        self.is_probable = hasattr(self.ratings, "predict_proba")
        self.can_explain = self.recommends or self.is_probable
        self.users, self.items = model.users_.ids.tolist(), model.items_.ids.tolist()
        self.scale = model.scale_.tolist()

    def __iter__(self) -> Iterator[Asked]:
        kinds = (self._of_one, self._of_one, self._of_some, self._of_pairs, self._similar, self._why, self._by_id)
        while True:
            yield kinds[self.rng.integers(len(kinds))]()

    def _some(self, ids: list[Any], most: int) -> list[Any]:
        places = self.rng.choice(len(ids), self.rng.integers(1, most + 1), replace=False)
        return [ids[place] for place in places.tolist()]

    def _new(self) -> list[tuple[Any, float]]:
        items = self._some(self.items, 30)
        return list(zip(items, self.rng.choice(self.scale, len(items)).tolist(), strict=True))

    def _folded(self, users: list[list[tuple[Any, float]]]) -> tuple[Any, list[str]]:
        names = [f"new {k:03}" for k in range(len(users))]
        X = [(name, item) for name, rated in zip(names, users, strict=True) for item, _ in rated]
        return self.model.fold_in(X, [rating for rated in users for _, rating in rated]), names

    def _how(self) -> dict[str, Any]:
        rng = self.rng
        how: dict[str, Any] = {"n": int(rng.integers(1, 51)), "exclude_seen": bool(rng.random() < 0.7)}
        if rng.random() < 0.3:
            how["candidates"] = self._some(self.items, 100)
        ways: list[dict[str, Any]] = [{}]
        if self.recommends:
            ways += [{"rank_by": way} for way in ("like", "interaction", "gain", "rating")]
        if self.is_probable:
            level = self.scale[rng.integers(1, len(self.scale))]
            ways += [{"at_least": level}, {"rank_by": "rating", "at_least": level}]
            ways.append({"rank_by": "rating", "quantile": round(float(rng.uniform(0.05, 0.95)), 3)})
        return how | ways[rng.integers(len(ways))]

    def _lists(self, model: Any, users: list[Any], how: dict[str, Any]) -> list[list[dict[str, Any]]]:
        """Return what the library recommends, as answers have it."""
        given = dict(how)
        ratings = model.rating_model_ if self.recommends else model
        if given.get("rank_by") == "rating":
            model = ratings
            del given["rank_by"]
        found = model.recommend(users, **given)
        items, scores = found
        parts = {name: getattr(found, name, None) for name in ("p_interact", "p_like")}
        lists = []
        for row, user in enumerate(users):
            there = np.isfinite(scores[row])
            ids = items[row][there].tolist()
            columns = {"item": ids, "score": numbers(scores[row][there])}
            columns |= {k: numbers(np.float32(v[row][there])) for k, v in parts.items() if v is not None}
            columns["prediction"] = ratings.predict([(user, item) for item in ids]).tolist() if ids else []
            lists.append([dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)])
        return lists

    def _of_one(self) -> Asked:
        (user,), how = self._some(self.users, 1), self._how()
        query = urlencode({k: str(v).lower() if isinstance(v, bool) else v for k, v in how.items()}, doseq=True)
        (rows,) = self._lists(self.model, [user], how)
        path = f"/v1/users/{quote(str(user), safe='')}/recommendations?{query}"
        return Asked("recommendations, one user", "GET", path, None, 200, {"user": user, "items": rows})

    def _of_some(self) -> Asked:
        known, how = self._some(self.users, 8), self._how()
        new = [self._new() for _ in range(self.rng.integers(0, 4))]
        made = [(user, user, items) for user, items in zip(known, self._lists(self.model, known, how), strict=True)]
        if new:
            model, names = self._folded(new)
            made += [(_rated(own), None, items) for own, items in zip(new, self._lists(model, names, how), strict=True)]
        # New ones stand among known ones, each kind in its order.
        places = np.argsort(self.rng.permutation([*[0] * len(known), *[1] * len(new)]), kind="stable")
        users, lists = [None] * len(made), [{}] * len(made)
        for place, (given, user, items) in zip(places.tolist(), made, strict=True):
            users[place], lists[place] = given, {"user": user, "items": items}
        return Asked(
            "recommendations, batch", "POST", "/v1/recommendations", {"users": users, **how}, 200, {"lists": lists}
        )

    def _of_pairs(self) -> Asked:
        new = [self._new() for _ in range(self.rng.integers(0, 3))]
        users = [*self._some(self.users, 5), *range(-len(new), 0)]  # those below 0 are new
        n = self.rng.integers(1, 31)
        chosen = [users[k] for k in self.rng.integers(len(users), size=n).tolist()]
        new_of = {user: new[user] for user in dict.fromkeys(chosen) if user < 0}
        pairs = [
            (user, self.items[k]) for user, k in zip(chosen, self.rng.integers(len(self.items), size=n), strict=True)
        ]
        rows: dict[int, dict[str, Any]] = {}
        for kind in (False, True):
            places = [k for k, (user, _) in enumerate(pairs) if (user in new_of) is kind]
            if not places:
                continue
            model, called = self.model, {}
            if kind:
                model, names = self._folded(list(new_of.values()))
                called = dict(zip(new_of, names, strict=True))
            model = model.rating_model_ if self.recommends else model
            asked = [(called.get(pairs[k][0], pairs[k][0]), pairs[k][1]) for k in places]
            found = {"prediction": model.predict(asked)}
            found["level"] = np.searchsorted(self.scale, found["prediction"]) + 1
            found["score"] = model.decision_function(asked)
            if self.is_probable:
                found["probabilities"] = model.predict_proba(asked)
            found = {name: numbers(column) for name, column in found.items()}
            for place, values in zip(places, zip(*found.values(), strict=True), strict=True):
                user, item = pairs[place]
                rows[place] = {"user": None if kind else user, "item": item, **dict(zip(found, values, strict=True))}
        given = [{"user": _rated(new_of[user]) if user in new_of else user, "item": item} for user, item in pairs]
        expected = {"levels": self.scale, "predictions": [rows[k] for k in range(len(pairs))]}
        return Asked("predictions", "POST", "/v1/predictions", {"pairs": given}, 200, expected)

    def _similar(self) -> Asked:
        (item,), n = self._some(self.items, 1), int(self.rng.integers(1, 51))
        least = int(self.rng.integers(0, 50))
        items, similarities = self.model.similar_items([item], n, min_ratings=least)
        there = np.isfinite(similarities[0])
        rows = zip(items[0][there].tolist(), numbers(similarities[0][there]), strict=True)
        expected = {"item": item, "similar": [{"item": one, "similarity": likeness} for one, likeness in rows]}
        path = f"/v1/items/{quote(str(item), safe='')}/similar?n={n}&min_ratings={least}"
        return Asked("similar items", "GET", path, None, 200, expected)

    def _why(self) -> Asked:
        (user,), items, n = self._some(self.users, 1), self._some(self.items, 4), int(self.rng.integers(1, 11))
        new = self._new() if self.rng.random() < 0.5 else None
        body = {"user": user if new is None else _rated(new), "items": items, "n": n}
        if not self.can_explain:
            return Asked("explanations", "POST", "/v1/explanations", body, 422, None)
        model, (called,) = (self.model, [user]) if new is None else self._folded([new])
        expected = {"explanations": reasons(model.explain(called, items).explanation(n), "item")}
        return Asked("explanations", "POST", "/v1/explanations", body, 200, expected)

    def _by_id(self) -> Asked:
        items = self._some(self.items, 20)
        counts = self.model.ratings_.item_counts[self.model.items_.index(items)].tolist()
        expected = {"items": [{"item": one, "ratings": count} for one, count in zip(items, counts, strict=True)]}
        return Asked("items", "GET", f"/v1/items?{urlencode({'ids': items}, doseq=True)}", None, 200, expected)


def _rated(user: list[tuple[Any, float]]) -> dict[str, Any]:
    return {"ratings": [{"item": item, "rating": rating} for item, rating in user]}


class OfLabels:
    """Random questions to a model of labels that learned from features with names."""

    def __init__(self, model: Any, seed: int = 0) -> None:
        self.model, self.rng = model, np.random.default_rng(seed)
        self.features = [str(name) for name in model.feature_names_in_]
        self.labels = [name.item() if isinstance(name, np.generic) else name for name in model.label_names_]

    def __iter__(self) -> Iterator[Asked]:
        while True:
            yield self._why() if self.rng.random() < 0.3 else self._tags()

    def _rows(self, n: int) -> tuple[csr_array, list[dict[str, float]]]:
        lengths = self.rng.integers(0, 60, n)
        columns = [np.sort(self.rng.choice(len(self.features), length, replace=False)) for length in lengths]
        values = [self.rng.choice([1.0, 1.0, 2.0, 0.5, 1 / 3], length) for length in lengths]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        X = csr_array((np.concatenate(values), np.concatenate(columns), indptr), shape=(n, len(self.features)))
        names = [[self.features[j] for j in own.tolist()] for own in columns]
        return X, [dict(zip(own, some.tolist(), strict=True)) for own, some in zip(names, values, strict=True)]

    def _tags(self) -> Asked:
        X, rows = self._rows(int(self.rng.integers(1, 9)))
        body: dict[str, Any] = {"rows": rows}
        chances, scores, on = self.model.predict_proba(X), self.model.decision_function(X), self.model.predict(X)
        on = np.asarray(on.toarray() if hasattr(on, "toarray") else on) > 0
        way = self.rng.integers(3)
        if way == 1:
            body["threshold"] = round(float(self.rng.uniform(0.01, 0.9)), 3)
            on = chances > body["threshold"]
        elif way == 2:
            body["coverage"] = round(float(self.rng.uniform(0.5, 0.99)), 3)
            some = self.model.predict_set(X, coverage=body["coverage"])
            on = np.asarray(some.toarray() if hasattr(some, "toarray") else some) > 0
        tags: list[dict[str, Any]] = [{"labels": [self.labels[j] for j in np.flatnonzero(row)]} for row in on]
        if self.rng.random() < 0.7:
            body["top"] = int(self.rng.integers(1, len(self.labels) + 1))
            for row, tag in enumerate(tags):
                best = np.argsort(-chances[row], kind="stable")[: body["top"]]
                columns = {"label": [self.labels[j] for j in best]}
                columns |= {"score": numbers(scores[row, best]), "probability": numbers(chances[row, best])}
                tag["top"] = [dict(zip(columns, one, strict=True)) for one in zip(*columns.values(), strict=True)]
        return Asked("tags", "POST", "/v1/tags", body, 200, {"tags": tags})

    def _why(self) -> Asked:
        X, (row,) = self._rows(1)
        n, places = (
            int(self.rng.integers(1, 11)),
            self.rng.choice(len(self.labels), self.rng.integers(1, 4), replace=False),
        )
        labels = [self.labels[j] for j in places]
        expected = {"explanations": reasons(self.model.explain(X, labels, n_terms=n), "label", self.features)}
        body = {"row": row, "labels": labels, "n": n}
        return Asked("explanations of labels", "POST", "/v1/explanations", body, 200, expected)


def compare(questions: Iterator[Asked], port: int, n: int) -> tuple[Counter[str], list[tuple[Asked, int, Any]]]:
    """Ask; return how many answers there were by operation, and the requests whose answers are not the library's."""
    counts: Counter[str] = Counter()
    wrong = []
    connection = HTTPConnection("127.0.0.1", port, timeout=120)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that a sparse array has not
        for asked in (next(questions) for _ in range(n)):
            body = None if asked.body is None else json.dumps(asked.body)
            try:
                connection.request(asked.method, asked.path, body)
                response = connection.getresponse()
            except ConnectionError:  # the server closed it meanwhile
                connection.close()
                connection.request(asked.method, asked.path, body)
                response = connection.getresponse()
            answer = json.loads(response.read())
            counts[asked.operation] += 1
            if response.status != asked.status or (asked.expected is not None and answer != asked.expected):
                wrong.append((asked, response.status, answer))
    connection.close()
    return counts, wrong
