"""The contract of every rating model: predict, recommend, fold in, complete, score, save."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from cofactor import persistence
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.kernels.threads import parallel_for
from cofactor.metrics.ratings import as_scale, mean_absolute_error
from cofactor.model.checks import check_callback, check_choice, check_number
from cofactor.model.progress import Monitor
from cofactor.model.state import from_plain, member, plain
from cofactor.ratings.data import Ratings, as_ratings
from cofactor.ratings.ids import IdMap, pair_columns, saved_ids
from cofactor.text import counted

_PAIRS_PER_BLOCK = 1 << 18
_USERS_PER_BLOCK = 256


class RatingModel(BaseEstimator, ABC):
    """A model of users' ratings of items on a discrete scale.

    Subclasses say how to learn (`_fit_ratings`), how far a pair's score lies above each boundary between levels
    (`_margins`), the scores to rank by (`_scores`, `_score_block`), and how to find the state of users who were not
    there in training, items held fixed (`_fold_in_ratings`). All else is here.

    Attributes
    ----------
    users_, items_ : IdMap
        Ids of users and items.
    scale_ : ndarray of shape (R,)
        The values a rating can take.
    ratings_ : Ratings or None
        The ratings the model was fitted on, for `recommend` and `complete`; None if it was saved without.
    """

    #: Parameters in the constructor of every model, with what they mean, for the registry and the documentation.
    levels: ArrayLike | None
    duplicates: str
    unknown: str

    users_: IdMap
    items_: IdMap
    scale_: NDArray[np.float64]
    ratings_: Ratings | None

    _learned: ClassVar[tuple[str, ...]] = ()

    # ---------------------------------------------------------------- what a subclass provides

    @abstractmethod
    def _fit_ratings(self, ratings: Ratings, monitor: Monitor) -> None:
        """Learn from checked ratings."""

    @abstractmethod
    def _fold_in_ratings(self, ratings: Ratings) -> None:
        """Replace what belongs to users by what the given users' ratings say; items stay."""

    @abstractmethod
    def _margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n, R-1): how far each pair's score lies above each boundary. Index -1 is someone unknown."""

    @abstractmethod
    def _scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """Return (n,): the score of each pair; it ranks the items of a user."""

    @abstractmethod
    def _score_block(self, users: NDArray[Any]) -> NDArray[Any]:
        """Return the scores (len(users), n_items) of all items for some users."""

    def _check_params(self) -> None:
        """Refuse parameters out of their range."""
        check_choice("duplicates", self.duplicates, ("error", "last", "mean"))
        check_choice("unknown", self.unknown, ("fallback", "error"))
        check_callback(getattr(self, "callback", None))
        if self.levels is not None:
            try:
                as_scale(self.levels)
            except ValueError as error:
                raise InvalidInputError(f"{error}", argument="levels", found=self.levels) from error

    def _decode(self, margins: NDArray[Any]) -> NDArray[np.int64]:
        """Return levels 1..R from margins: one more than the boundaries below the score."""
        return 1 + np.count_nonzero(margins > 0, axis=1)

    # ---------------------------------------------------------------- the contract

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from ratings.

        Parameters
        ----------
        X : array of shape (n, 2), frame of two columns, list of pairs, scipy sparse matrix, or Ratings
            User id and item id of each rating; or a sparse matrix of users × items whose stored entries are the
            ratings, in which case user and item ids are row and column numbers.
        y : array-like of shape (n,), optional
            The ratings, where X holds pairs of ids.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If parameters, ids or ratings are not valid; the message says what was found and what to do.
        """
        self._check_params()
        ratings = as_ratings(X, y, scale=self.levels, duplicates=self.duplicates)  # type: ignore[arg-type]
        fitted = copy.copy(self)  # a fit which fails, or is interrupted, leaves this model as it was
        fitted.users_, fitted.items_, fitted.scale_ = ratings.users, ratings.items, ratings.scale
        fitted.ratings_ = ratings
        with Monitor(getattr(self, "callback", None), bool(getattr(self, "verbose", 0))) as monitor:
            fitted._fit_ratings(ratings, monitor)
        self.__dict__.update(fitted.__dict__)
        return self

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predict ratings.

        An unknown user counts as the average one and an unknown item as a neutral one, unless ``unknown="error"``.
        Where none of several users was in training, or all ids are unknown because they are numbers and those of
        training text or the reverse, a warning says so.

        Parameters
        ----------
        X : array of shape (n, 2), frame of two columns, or list of pairs
            User id and item id of each pair.

        Returns
        -------
        ndarray of shape (n,), float64
            Ratings on the original scale.
        """
        users, items = self._indices(X)
        levels = np.empty(len(users), dtype=np.int64)

        def block(k: int) -> None:
            here = slice(k * _PAIRS_PER_BLOCK, (k + 1) * _PAIRS_PER_BLOCK)
            levels[here] = self._decode(self._margins(users[here], items[here]))

        parallel_for(block, -(-len(users) // _PAIRS_PER_BLOCK))
        return np.asarray(self.scale_[levels - 1])

    def decision_function(self, X: Any) -> NDArray[Any]:
        """Return real-valued scores of pairs; for one user, a higher score means a better liked item.

        Parameters
        ----------
        X : array of shape (n, 2), frame of two columns, or list of pairs
            User id and item id of each pair.

        Returns
        -------
        ndarray of shape (n,)
        """
        return self._scores(*self._indices(X))

    def margins(self, X: Any) -> NDArray[Any]:
        """Return how far the score of each pair lies above each boundary between two levels.

        Parameters
        ----------
        X : array of shape (n, 2), frame of two columns, or list of pairs
            User id and item id of each pair.

        Returns
        -------
        ndarray of shape (n, R - 1)
            Column r - 1 belongs to the boundary between the levels r and r + 1.
        """
        return self._margins(*self._indices(X))

    def recommend(
        self,
        users: Any,
        n: int = 10,
        *,
        exclude_seen: bool = True,
        candidates: Any = None,
    ) -> tuple[NDArray[Any], NDArray[Any]]:
        """Recommend the items with the highest scores.

        Works in blocks of users, so all users × all items never stand in memory.

        Parameters
        ----------
        users : array-like of shape (k,)
            User ids.
        n : int, default=10
            Number of items for each user.
        exclude_seen : bool, default=True
            Leave out the items that a user rated in training.
        candidates : array-like, optional
            Ids of the items to choose from; by default all.

        Returns
        -------
        items : ndarray of shape (k, n)
            Item ids, best first; None (so dtype object) where a user has no item left.
        scores : ndarray of shape (k, n)
            Their scores; -inf where there is no item.
        """
        check_is_fitted(self)
        check_number("n", n, low=1, whole=True)
        if exclude_seen and self.ratings_ is None:
            raise InvalidInputError(
                f"this {type(self).__name__} was saved without its ratings and does not know what users have seen: "
                "pass exclude_seen=False, or save it with ratings=True"
            )
        rows = self._known_users(users)
        columns = self._candidates(candidates)
        n_best = min(n, len(columns))
        best = np.full((len(rows), n), -1, dtype=np.int64)
        scores = np.full((len(rows), n), -np.inf)

        def block(k: int) -> None:
            here = slice(k * _USERS_PER_BLOCK, (k + 1) * _USERS_PER_BLOCK)
            table = self._score_block(rows[here])
            if exclude_seen and self.ratings_ is not None:
                indptr, seen, _ = self.ratings_.rows(rows[here])
                table[np.repeat(np.arange(len(table)), np.diff(indptr)), seen] = -np.inf
            table = table if candidates is None else table[:, columns]
            found, value = _largest(table, n_best)
            best[here, :n_best] = np.where(np.isneginf(value), -1, columns[found])
            scores[here, :n_best] = value

        parallel_for(block, -(-len(rows) // _USERS_PER_BLOCK))
        ids = self.items_.ids[best]
        if (best < 0).any():
            ids = ids.astype(object)
            ids[best < 0] = None
        return ids, scores

    def fold_in(self, X: Any, y: Any = None) -> Self:
        """Return a model for users who were not there in training, items held fixed.

        Parameters
        ----------
        X, y
            Ratings of the new users, as in `fit`; ids of users are free. Ratings of items that were not in training
            say nothing to the model and are left out, unless ``unknown="error"``; a user who rated no others counts as
            the average one. Where no item at all is known, ids are likely to be wrong, and an error says so.

        Returns
        -------
        RatingModel
            Of the same class, with the same methods, knowing the new users only.
        """
        check_is_fitted(self)
        if sparse.issparse(X):
            self._check_columns(X)
        ratings = as_ratings(
            X,
            y,
            scale=self.scale_,
            duplicates=self.duplicates,  # type: ignore[arg-type]
            items=self.items_,
            unknown_items="error" if self.unknown == "error" else "drop",
        )
        new = copy.copy(self)
        new.users_, new.ratings_ = ratings.users, ratings
        new._fold_in_ratings(ratings)
        return new

    def complete(self) -> NDArray[np.float32]:
        """Return the full matrix of ratings: observed entries as they are, predictions elsewhere.

        Returns
        -------
        ndarray of shape (n_users, n_items), float32
            It takes 4 bytes for each user and item.
        """
        check_is_fitted(self)
        if self.ratings_ is None:
            raise InvalidInputError(
                f"this {type(self).__name__} was saved without its ratings: save it with ratings=True"
            )
        n, m = len(self.users_), len(self.items_)
        full = np.empty((n, m), dtype=np.float32)
        every = np.arange(m, dtype=np.int32)
        rows = max(1, _PAIRS_PER_BLOCK // m)

        def block(k: int) -> None:
            some = np.arange(k * rows, min((k + 1) * rows, n), dtype=np.int32)
            levels = self._decode(self._margins(np.repeat(some, m), np.tile(every, len(some))))
            full[some] = self.scale_[levels - 1].reshape(len(some), m)

        parallel_for(block, -(-n // rows))
        full[self.ratings_.pairs()] = self.ratings_.values
        return full

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return minus the mean absolute error of `predict`, so that higher is better as scikit-learn expects."""
        return -mean_absolute_error(y, self.predict(X))

    def save(self, path: str | Path, *, ratings: bool = True) -> None:
        """Write the model to a file, which `cofactor.load` reads; nothing in it is ever executed.

        Parameters
        ----------
        path : str or Path
            The file; written whole or not at all.
        ratings : bool, default=True
            Whether to keep the training ratings, which `recommend(exclude_seen=True)` and `complete` need.
        """
        check_is_fitted(self)
        if ratings or self.ratings_ is None:
            persistence.save(path, self)
            return
        lean = copy.copy(self)
        lean.ratings_ = None
        persistence.save(path, lean)

    # ---------------------------------------------------------------- ids

    def _check_columns(self, X: Any) -> None:
        """Refuse a sparse matrix whose columns are not the model's items."""
        m = len(self.items_)
        if X.shape[1] != m:
            turned = ": the matrix seems to be transposed" if X.shape[0] == m else ""
            raise InvalidInputError(
                f"X has {X.shape[1]} columns but the model knows {m} items{turned}; "
                "rows are users and columns are items"
            )
        if self.items_ != IdMap.of_range(m):
            raise InvalidInputError(
                f"the columns of a sparse matrix are the items 0 to {m - 1}, but the model was fitted on items with "
                "other ids: pass pairs of user id and item id"
            )

    def _indices(self, X: Any) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
        """Return user and item indices of pairs, -1 for ids that are not known."""
        check_is_fitted(self)
        if sparse.issparse(X) or isinstance(X, Ratings):
            raise InvalidTypeError(
                f"X is a {type(X).__name__}, expected pairs of user id and item id; complete() predicts every entry"
            )
        user_ids, item_ids = pair_columns(X)
        users, items = self.users_.index(user_ids), self.items_.index(item_ids)
        missing = (users < 0) | (items < 0)
        if not missing.any():
            return users, items
        nothing_known = bool((users < 0).all() and (items < 0).all())
        if nothing_known and self._swapped(user_ids, item_ids):
            raise InvalidInputError(
                "no user id and no item id of X is known, but with its columns exchanged all are: "
                "the first column must hold users and the second items"
            )
        if self.unknown == "error":
            k = int(np.flatnonzero(missing)[0])
            word, ids = ("user", user_ids) if users[k] < 0 else ("item", item_ids)
            bad = ids[k : k + 1].tolist()[0]
            raise InvalidInputError(
                f"{counted(int(missing.sum()), 'pair of X holds', 'pairs of X hold')} ids that were not in training, "
                f"the first is {word} {bad!r}: "
                "leave them out, fold new users in with fold_in, or set unknown='fallback'"
            )
        for known, found, ids, role in ((self.users_, users, user_ids, "user"), (self.items_, items, item_ids, "item")):
            # A single id beside others that are known is someone new, under whatever name.
            if (found < 0).all() and (nothing_known or len(set(ids.tolist())) > 1):
                if known.warn_if_other_kind(ids, role, stacklevel=3) or role == "item":
                    continue
                n_users = len(set(ids.tolist()))
                if n_users > 1:
                    warnings.warn(
                        f"none of the {n_users:,} users was in training, so each counts as the average one: "
                        "fold them in with fold_in, or evaluate with FoldInScorer",
                        UserWarning,
                        stacklevel=3,
                    )
        return users, items

    def _swapped(self, user_ids: NDArray[Any], item_ids: NDArray[Any]) -> bool:
        return bool((self.users_.index(item_ids) >= 0).all() and (self.items_.index(user_ids) >= 0).all())

    def _known_users(self, users: Any) -> NDArray[np.int32]:
        ids = np.atleast_1d(np.asarray(users)) if not isinstance(users, list | tuple) else users
        rows = self.users_.index(ids)
        if (rows < 0).any():
            bad = np.asarray(ids, dtype=object)[rows < 0].tolist()[0]
            raise InvalidInputError(f"user {bad!r} was not in training: fold new users in with fold_in(X, y) first")
        return rows

    def _candidates(self, candidates: Any) -> NDArray[np.int64]:
        if candidates is None:
            return np.arange(len(self.items_))
        columns = self.items_.index(candidates)
        if (columns < 0).any() or not len(columns):
            bad = [c for c, k in zip(candidates, columns, strict=True) if k < 0][:5]
            raise InvalidInputError(f"candidates holds no items, or items that were not in training: {bad}")
        return np.unique(columns).astype(np.int64)

    # ---------------------------------------------------------------- saving

    def _parts(self) -> list[RatingModel]:
        """Return the models this one is made of; they share its users and items."""
        return []

    def _set_parts(self, parts: list[RatingModel]) -> None:
        """Take the models that `_parts` returned when this one was saved."""

    def _to_state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return a header which JSON can hold, and arrays."""
        header, arrays = self._own_state("")
        header["ids"] = {}
        for name, ids in (("users", self.users_), ("items", self.items_)):
            columns, header["ids"][name] = ids.to_state()
            arrays |= {f"{name}.{key}": column for key, column in columns.items()}
        if self.ratings_ is not None:
            arrays |= {f"ratings.{name}": getattr(self.ratings_, name) for name in ("indptr", "indices", "levels")}
        return header, arrays

    def _own_state(self, prefix: str) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return parameters and what was learned, without users, items and ratings."""
        params = {k: plain(v) for k, v in self.get_params(deep=False).items() if k != "callback"}
        learned: dict[str, Any] = {}
        arrays: dict[str, NDArray[Any]] = {}
        for name in ("scale_", *self._learned):
            value = getattr(self, name)
            if isinstance(value, np.ndarray):
                arrays[f"{prefix}learned.{name}"] = value
            else:
                learned[name] = plain(value)
        parts = []
        for k, part in enumerate(self._parts()):
            header, more = part._own_state(f"{prefix}part{k}.")
            parts.append(header)
            arrays |= more
        return {"class": type(self).__name__, "params": params, "learned": learned, "parts": parts}, arrays

    @classmethod
    def _from_state(
        cls, header: dict[str, Any], arrays: dict[str, NDArray[Any]], models: Mapping[str, Any] | None = None
    ) -> Self:
        """Rebuild a model from what `_to_state` returned; whatever does not fit together is refused.

        `models` has the classes of models that this one may hold, by name.
        """
        users, items = (saved_ids(header, arrays, name) for name in ("users", "items"))
        model = cls._rebuild(header, arrays, "", users, items, models or {})
        if "ratings.indptr" in arrays:
            rows = (arrays[f"ratings.{name}"] for name in ("indptr", "indices", "levels"))
            model.ratings_ = Ratings.from_csr(users, items, model.scale_, *rows)
        return model

    @classmethod
    def _rebuild(
        cls,
        header: dict[str, Any],
        arrays: dict[str, NDArray[Any]],
        prefix: str,
        users: IdMap,
        items: IdMap,
        models: Mapping[str, Any],
    ) -> Self:
        model = cls(**{k: from_plain(v, models) for k, v in member(header, "params", dict).items()})
        model._check_params()
        model.users_, model.items_, model.ratings_ = users, items, None
        learned = member(header, "learned", dict)
        for name in ("scale_", *cls._learned):
            key = f"{prefix}learned.{name}"
            setattr(model, name, arrays[key] if key in arrays else learned[name])
        parts = [
            models[part["class"]]._rebuild(part, arrays, f"{prefix}part{k}.", users, items, models)
            for k, part in enumerate(member(header, "parts", list))
        ]
        model._set_parts(parts)
        model._check_learned()
        return model

    def _check_learned(self) -> None:
        """Refuse what was read from a file if it does not fit together: kernels do not check indices."""
        self.scale_ = as_scale(self.scale_)


def _largest(table: NDArray[Any], n: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return column and value of the n largest entries of each row, best first, ties by column."""
    if n < table.shape[1]:
        part = np.argpartition(table, table.shape[1] - n, axis=1)[:, table.shape[1] - n :]
        worst = np.take_along_axis(table, part, axis=1).min(axis=1)
        tied = np.count_nonzero(table >= worst[:, None], axis=1) > n  # then a partition takes any of them
        part[tied] = np.argsort(-table[tied], axis=1, kind="stable")[:, :n]
        part.sort(axis=1)
    else:
        part = np.broadcast_to(np.arange(table.shape[1]), table.shape)
    values = np.take_along_axis(table, part, axis=1)
    order = np.argsort(-values, axis=1, kind="stable")
    return np.take_along_axis(part, order, axis=1), np.take_along_axis(values, order, axis=1)
