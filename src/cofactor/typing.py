"""Names for the types of what public functions take, so that a signature says more than ``Any``.

They are wide: a function takes arrays, lists and frames of pandas or polars, and checks what it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse

#: A sparse matrix or array of SciPy.
SparseTable: TypeAlias = sparse.sparray | sparse.spmatrix

#: A frame of pandas or polars, or anything else that `cofactor.frames` reads: Arrow, a lazy frame, a cursor.
Frame: TypeAlias = Any

#: User and item id of each rating, shape (n, 2): an array, a list of pairs, a frame; or all ratings at once, as a
#: sparse table of users × items or as `cofactor.ratings.Ratings`.
Pairs: TypeAlias = ArrayLike | Sequence[tuple[Any, Any]] | SparseTable | Frame

#: One rating for each pair, shape (n,), or None where the ratings came with the pairs.
RatingValues: TypeAlias = ArrayLike | None

#: Ids of users or of items, of any hashable type.
Ids: TypeAlias = ArrayLike | Iterable[Any]

#: Features of users, or of items: a mapping from ids, a frame, or ids with an array of a row for each, or with columns.
SideFeatures: TypeAlias = Mapping[Any, Sequence[Any]] | tuple[Ids, ArrayLike | Mapping[str, ArrayLike]] | Frame

#: Whether users or items are meant.
SideName = Literal["user", "item"]

#: Features of instances, shape (n, D): dense, sparse, or a frame.
Features: TypeAlias = ArrayLike | SparseTable | Frame

#: Which labels instances have, shape (n, L): 0 and 1, False and True, or -1 and 1; dense, sparse, or a frame.
Labels: TypeAlias = ArrayLike | SparseTable | Frame

#: The dtype of tables of labels which this package makes. In int8 counts such as ``Y.T @ Y`` overflow beyond 127; so do
#: the numbers that scikit-learn gives to labels, in the dtype of the labels.
LABEL_DTYPE = np.int32

#: What scikit-learn calls a random state, with NumPy's generators.
RandomState: TypeAlias = int | np.random.RandomState | np.random.Generator | None

#: Called with progress; True ends what it tells of.
Listener: TypeAlias = Callable[[Any], object]
