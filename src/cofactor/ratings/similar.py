"""Vectors of users and of items whose inner products say how alike they are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from cofactor.errors import InvalidInputError
from cofactor.files import PathLike, replacing
from cofactor.kernels.threads import library_limit
from cofactor.ratings.data import Ratings
from cofactor.typing import SideName

#: Share of the largest variance of the other side's factors, below which a direction is no more than rounding.
_RANK = 1e-12

#: Rows of factors that are turned to float64 at a time.
_ROWS = 1 << 18

_N_DIRECTIONS = 64

#: Of interactions that were asked about, as long as they live: a server asks for every list.
_DIRECTIONS: WeakKeyDictionary[Ratings, dict[SideName, NDArray[np.float64]]] = WeakKeyDictionary()


@dataclass(frozen=True, eq=False)
class Embeddings:
    """Vectors of users or of items, for other software.

    The methods ``user_vectors`` and ``item_vectors`` of models of ratings and of interactions return them.

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


def directions_of_interactions(ratings: Ratings, side: SideName = "item") -> NDArray[np.float64]:
    """Return vectors of length 1, or 0, of items, whose inner products are correlations of their interactions.

    They lie in the space of the 64 leading singular vectors of the centred table, all of it where it is small. Those of
    users are rows of it: that most users interact with some items more than with others does not count.

    Examples
    --------
    >>> from scipy import sparse
    >>> table = np.array([[1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    >>> vectors = directions_of_interactions(Ratings.from_sparse(sparse.csr_array(table), scale=[0, 1]))
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
