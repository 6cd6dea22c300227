"""Items whose scores are alike over all users, users whose scores are alike over all items, and vectors of both."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_choice, check_number
from cofactor.errors import Argument, InvalidInputError, Text
from cofactor.files import PathLike, replacing
from cofactor.kernels.threads import library_limit
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import Appended, IdMap
from cofactor.ratings.updates import Updates
from cofactor.typing import Ids, SideName

__all__ = [
    "Alike",
    "Arrangeable",
    "Factored",
    "Vectors",
    "covariance",
    "directions",
    "directions_of_takes",
    "directions_of_users",
    "refuse_fold_in",
    "similar_rows",
]

SIMILARITY, SCORES = "similarity", "scores"

#: Share of the largest variance of the other side's factors, below which a direction is no more than rounding.
_RANK = 1e-12

#: Rows of factors that are turned to float64 at a time.
_ROWS = 1 << 18

_N_DIRECTIONS = 64

#: Of takes that were asked about, as long as they live: a server asks for every list.
_DIRECTIONS: WeakKeyDictionary[Ratings, dict[SideName, NDArray[np.float64]]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Vectors:
    """Vectors of users or of items, for other software.

    The methods ``user_vectors`` and ``item_vectors`` of models of ratings and of takes return them.

    Attributes
    ----------
    ids : ndarray of shape (n,)
        Ids of users, or of items.
    values : ndarray of shape (n, k), float32
        The vector of each id.

    Examples
    --------
    >>> import tempfile
    >>> from cofactor.ratings import ALS
    >>> model = ALS(2, 1.0, random_state=0).fit([("ann", "Up"), ("ann", "Alien"), ("bob", "Up")], [5, 2, 4])
    >>> vectors = model.item_vectors("scores")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     vectors.save(f"{folder}/items.npy")
    ...     np.load(f"{folder}/items.ids.npy"), np.load(f"{folder}/items.npy").shape[0]
    (array(['Alien', 'Up'], dtype='<U5'), 2)
    """

    ids: NDArray[Any]
    values: NDArray[np.float32]

    def save(self, path: PathLike) -> None:
        """Write the vectors as ``.npy``, ids beside them as ``.ids.npy``; or both as columns of a ``.parquet`` file.

        Parameters
        ----------
        path : path-like
            A file that is there is replaced, when the new one is whole.

        Raises
        ------
        InvalidInputError
            If the name ends in neither.
        """
        target = Path(path)
        if target.suffix == ".npy":
            with replacing(target) as file, replacing(target.with_suffix(".ids.npy")) as beside:
                np.save(file, self.values, allow_pickle=False)
                np.save(beside, _plain(self.ids), allow_pickle=False)
        elif target.suffix == ".parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            flat = pa.array(self.values.ravel())
            columns = {"id": _plain(self.ids), "vector": pa.FixedSizeListArray.from_arrays(flat, self.values.shape[1])}
            with replacing(target) as file:
                pq.write_table(pa.table(columns), file)
        else:
            raise InvalidInputError("expected a name that ends in .npy or .parquet", argument="path", found=str(path))


class Arrangeable:
    """A model whose lists can be arranged by rules: it knows how many took each item, and which items are alike."""

    users_: IdMap
    items_: IdMap
    updates_: Updates | None

    def _require_ratings(self, otherwise: Any) -> Ratings:
        raise NotImplementedError

    def _support(self) -> tuple[NDArray[Any], int]:
        """Return how many users took, or rated, each item in training, and how many users there were."""
        refuse_fold_in(self, "user", advice=(Argument("candidates"), " can leave out items instead"))
        return self._require_ratings(()).item_counts, len(self.users_)

    def _item_directions(self) -> NDArray[np.float64]:
        """Return vectors of items, of length 1 or 0, whose inner products say how alike items are."""
        refuse_fold_in(self, "user")
        return directions_of_takes(self._require_ratings(()))


class Alike:
    """Similar items, and vectors of items, of a model that knows which items are alike."""

    items_: IdMap
    _item_directions: Callable[[], NDArray[np.float64]]  #: see `Arrangeable`

    def similar_items(
        self, items: Ids, n: int = 10, *, candidates: Iterable[Any] | None = None, min_ratings: int = 5
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        r"""Find the items that the same users like, or take.

        Of a model with factors they are those whose scores go together most over all users:

        .. math:: s_{jk} = \frac{v_j^\top C v_k}{\sqrt{v_j^\top C v_j} \sqrt{v_k^\top C v_k}}, \qquad
            C = \frac{1}{n} \sum_i (u_i - \bar u) (u_i - \bar u)^\top

        This is the correlation over users of :math:`u_i \cdot v_j` with :math:`u_i \cdot v_k`. Unlike the cosine of
        :math:`v_j` and :math:`v_k`, it is the same for all factors that predict the same (Steck, Ekanadham & Kallus
        2024). Biases do not count: items that all users like are not similar for that. Of other models of takes it is
        the correlation of who took the items, by the 64 leading singular vectors of the takes; a `Recommender` asks its
        first exposure model with factors.

        Parameters
        ----------
        items : array-like of shape (k,)
            Item ids.
        n : int, default=10
            Number of similar items for each.
        candidates : array-like or iterable, optional
            Ids of the items to choose from; by default all.
        min_ratings : int, default=5
            Fewest ratings, or takes, in training of the items to choose from: what is known of items with few is mostly
            chance. Other values than 0 need a model with its ratings.

        Returns
        -------
        ids : ndarray of shape (k, n)
            Item ids, the most similar first, never the item itself. Where fewer are left, there is None.
        similarities : ndarray of shape (k, n)
            From -1 to 1; -inf where the id is None, and 0 with an item whose factors are 0.

        Raises
        ------
        InvalidInputError
            If an item was not in training, or a rating model comes from a fold-in, whose users are too few to compare
            by.

        References
        ----------
        H. Steck, C. Ekanadham & N. Kallus, "Is cosine-similarity of embeddings really about similarity?", WWW 2024,
        doi:10.1145/3589335.3651526.

        Examples
        --------
        >>> from cofactor.ratings import ALS, ItemKNN
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> model.similar_items([0], 2)[0].tolist()
        [[2, 4]]
        >>> model = ItemKNN().fit([(u, i) for u, i in X if u % 2 == i % 2])
        >>> model.similar_items([0], 2, min_ratings=0)[0].tolist()
        [[2, 4]]
        """
        return similar_rows(self, "item", self._item_directions, items, n, candidates, min_ratings)

    def item_vectors(self, for_: str = SIMILARITY) -> Vectors:
        """Return a vector of length 1 of each item, whose inner products are the similarities of `similar_items`.

        Parameters
        ----------
        for_ : {"similarity"}, default="similarity"
            Scores of this model are no inner products of vectors.

        Returns
        -------
        Vectors
            0 for an item without direction.

        Examples
        --------
        >>> from cofactor.ratings import ItemKNN
        >>> model = ItemKNN().fit([(u, i) for u in range(8) for i in range(6) if u % 2 == i % 2])
        >>> model.item_vectors().values.shape[0]
        6
        """
        check_is_fitted(self)
        if for_ == SCORES:
            raise InvalidInputError(
                f"scores of {type(self).__name__} are no inner products of vectors",
                argument="for_",
                found=for_,
                advice="take a model with factors, such as ImplicitALS or LogisticMF, or leave it out for similarities",
            )
        check_choice("for_", for_, (SIMILARITY,))
        return Vectors(self.items_.ids, self._item_directions().astype(np.float32))


class Factored(Alike):
    """Similar items and users, and vectors, of a model whose scores are U_i·V_j + b_i + c_j.

    Attributes
    ----------
    U_, V_ : ndarray of shape (n_users, d) and (n_items, d)
    item_bias_ : ndarray of shape (n_items,)
        c.
    """

    U_: Any
    V_: Any
    item_bias_: Any

    def _item_directions(self) -> NDArray[np.float64]:
        """See `Arrangeable`."""
        refuse_fold_in(self, "item")
        return _of_rows(self, "item")

    def similar_users(
        self, users: Ids, n: int = 10, *, candidates: Iterable[Any] | None = None, min_ratings: int = 5
    ) -> tuple[NDArray[Any], NDArray[np.float64]]:
        r"""Find the users who like alike: whose scores go together most over all items, but for biases.

        The similarity of two users is the correlation over items of :math:`u_i \cdot v_j` with
        :math:`u_k \cdot v_j`. That most users like some items more than others does not count.

        Parameters
        ----------
        users : array-like of shape (k,)
            User ids.
        n, candidates, min_ratings
            As in `similar_items`, of users.

        Returns
        -------
        ids : ndarray of shape (k, n)
            User ids, the most similar first, never the user themselves. Where fewer are left, there is None.
        similarities : ndarray of shape (k, n)
            See `similar_items`.

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> sorted(model.similar_users([1], 3)[0][0].tolist())
        [3, 5, 7]
        """
        return similar_rows(self, "user", lambda: directions_of_users(self), users, n, candidates, min_ratings)

    def item_vectors(self, for_: str = SIMILARITY) -> Vectors:
        r"""Return a vector of each item, for software that searches nearest neighbours.

        Parameters
        ----------
        for_ : {"similarity", "scores"}, default="similarity"
            "similarity": unit vectors, whose inner products are those of `similar_items`. "scores": :math:`(v_j, c_j)`,
            whose inner product with the :math:`(u_i, 1)` of `user_vectors` is the score of the pair up to a number
            that is the same for all items of a user. Of models drawn from a posterior these are means, see
            `cofactor.ratings.OrdinalProbit`; the scores of the model itself rank a little better.

        Returns
        -------
        Vectors

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> users, items = model.user_vectors("scores"), model.item_vectors("scores")
        >>> rest = model.decision_function(X).reshape(8, 6) - users.values @ items.values.T
        >>> np.allclose(rest, rest[:, :1], atol=1e-5)
        True
        """
        return _vectors(self, "item", for_)

    def user_vectors(self, for_: str = SIMILARITY) -> Vectors:
        """Return a vector of each user; see `item_vectors`.

        Parameters
        ----------
        for_ : {"similarity", "scores"}, default="similarity"

        Returns
        -------
        Vectors

        Examples
        --------
        >>> from cofactor.ratings import ALS
        >>> X = [(u, i) for u in range(8) for i in range(6)]
        >>> model = ALS(2, 0.1, random_state=0).fit(X, [5 if u % 2 == i % 2 else 1 for u, i in X])
        >>> model.user_vectors("scores").values.shape
        (8, 3)
        """
        return _vectors(self, "user", for_)


def _vectors(model: Any, side: SideName, for_: str) -> Vectors:
    check_is_fitted(model)
    check_choice("for_", for_, (SIMILARITY, SCORES))
    ids = (model.users_ if side == "user" else model.items_).ids
    if for_ == SIMILARITY:
        found = model._item_directions() if side == "item" else directions_of_users(model)
        return Vectors(ids, found.astype(np.float32))
    U, V, c = model.U_, model.V_, model.item_bias_
    last = np.ones(len(U)) if side == "user" else c
    return Vectors(ids, np.column_stack([U if side == "user" else V, last]).astype(np.float32))


def directions_of_users(model: Any) -> NDArray[np.float64]:
    """Return vectors of users whose inner products are the correlations of their scores over all items."""
    return _of_rows(model, "user")


def similar_rows(
    model: Any,
    side: SideName,
    vectors_of: Callable[[], NDArray[np.float64]],
    asked: Ids,
    n: int,
    candidates: Iterable[Any] | None,
    min_ratings: int,
    new_items: IdMap | None = None,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the most similar ids of training, and how similar they are; the last vectors are those of new items."""
    from cofactor.ratings.best import Hidden, Ranking, best_items, ids_of
    from cofactor.ratings.blocks import pairs_per_block
    from cofactor.ratings.exclusion import Excluded
    from cofactor.ratings.lookup import Lookup

    check_is_fitted(model)
    check_number("n", n, low=1, whole=True)
    check_number("min_ratings", min_ratings, low=0, whole=True)
    known = model.users_ if side == "user" else model.items_
    lookup = Lookup(model.users_, model.items_)
    items: Any = model.items_ if new_items is None else Appended(model.items_, new_items)
    rows, columns = Lookup(model.users_, items).known(asked, side), lookup.candidates(candidates, side)
    vectors = vectors_of()  # first: some need ratings, however few others may have
    if min_ratings:
        ratings = model._require_ratings(("pass ", Argument("min_ratings", 0), ", or "))
        counts = ratings.user_counts if side == "user" else ratings.item_counts
        columns = columns[counts[columns] >= min_ratings]

    def block(ours: NDArray[Any], others: NDArray[Any]) -> NDArray[Any]:
        found = np.einsum("ad,bd->ab", vectors[ours], vectors[others])
        found[ours[:, None] == others] = -np.inf
        return found

    nothing = Hidden(None, Excluded.of(lookup, None))
    places, similarities = best_items(Ranking(block, pairs_per_block(1)), rows, columns.astype(np.int32), n, nothing)
    places[np.isneginf(similarities)] = -1  # the item itself, where nothing else is left
    return ids_of(known, places), similarities


def _of_rows(model: Any, side: SideName) -> NDArray[np.float64]:
    """Return vectors of length 1, or 0, whose inner products are the correlations of scores over the other side."""
    refuse_fold_in(model, side)
    U, V = model.U_, model.V_
    own, other = (U, V) if side == "user" else (V, U)
    return directions(own, covariance(other))


def refuse_fold_in(model: Any, side: SideName, advice: Text = "ask the model that was fitted") -> None:
    """Refuse to compare by the few that a fold-in knows."""
    if model.updates_ is None:
        raise InvalidInputError(
            f"this {type(model).__name__} comes from a fold-in, and knows too few {side}s to compare by", advice=advice
        )


def covariance(factors: NDArray[Any]) -> NDArray[np.float64]:
    """Return the covariance (d, d) of factors over those who have any, as users or items without ratings have not."""
    starts = range(0, len(factors), _ROWS)
    there = sum(int(factors[k : k + _ROWS].any(axis=1).sum()) for k in starts)
    mean = sum(factors[k : k + _ROWS].sum(axis=0, dtype=np.float64) for k in starts) / max(there, 1)
    total = np.zeros((factors.shape[1],) * 2)
    with library_limit(1, "blas"):
        for k in starts:
            some = factors[k : k + _ROWS]
            some = some[some.any(axis=1)].astype(np.float64) - mean
            total += some.T @ some
        return np.asarray(total / max(there, 1))


def directions(own: NDArray[Any], metric: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return vectors of length 1, or 0, whose inner products are the cosines of the rows of `own` in a metric."""
    with library_limit(1, "blas"):
        variances, axes = np.linalg.eigh(metric)
        kept = variances > _RANK * variances.max(initial=0)
        vectors = own.astype(np.float64) @ (axes[:, kept] * np.sqrt(variances[kept]))
    return _of_length_one(vectors)


def directions_of_takes(ratings: Ratings, side: SideName = "item") -> NDArray[np.float64]:
    """Return vectors of length 1, or 0, of items, whose inner products are correlations of who rated, or took, them.

    They lie in the space of the 64 leading singular vectors of the centred table, all of it where it is small. Those of
    users are rows of it: that most users take some items more than others does not count.

    Examples
    --------
    >>> from scipy import sparse
    >>> table = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    >>> vectors = directions_of_takes(Ratings.from_sparse(sparse.csr_array(table), scale=[0, 1]))
    >>> np.allclose(vectors @ vectors.T, np.corrcoef(table.T))
    True
    """
    known = _DIRECTIONS.setdefault(ratings, {})
    if side not in known:
        from cofactor.problems.singular import PatchedMatrix, leading_vectors

        n, m = ratings.shape
        means = ratings.item_counts[:, None] / max(n, 1)
        centred = PatchedMatrix(ratings, np.ones(ratings.n_ratings), -np.ones((n, 1)), means)
        with library_limit(1, "blas"):
            V, squares = leading_vectors(centred.squared_times, (n, m), _N_DIRECTIONS)
            known[side] = _of_length_one(V * np.sqrt(squares) if side == "item" else centred.times(V))
    return known[side]


def _of_length_one(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)


def _plain(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids as numbers or text, which files hold."""
    if ids.dtype.kind != "O":
        return ids
    values = ids.tolist()
    same = {type(one) for one in values}
    return np.array(values if len(same) == 1 and same <= {str, int, float} else [str(one) for one in values])
