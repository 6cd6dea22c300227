"""What loaders and readers return: ratings, and features with labels."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from cofactor.datasets.levels import BinBy, Bins, bin_edges, bin_ratings, warn_of_empty
from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.rating_scale import RatingScale
from cofactor.schema import Schema
from cofactor.text import plural, shorten

#: What a file holds: ratings, features with labels, only the names of labels, or a model.
Holds: TypeAlias = Literal["ratings", "labels", "names of labels", "model"]


def _n_distinct(ids: NDArray) -> int:
    return len(set(ids.tolist())) if ids.dtype == object else len(np.unique(ids))


@dataclass(frozen=True, eq=False, repr=False)
class RatingDataset:
    """Ratings as in a file: pairs of ids, one number for each pair, and the scale.

    Every estimator of ratings takes these parts, ``model.fit(data.X, data.y)``.

    Parameters
    ----------
    name : str
        Name of the data set, or of the file it was read from.
    X : ndarray of shape (n, 2)
        User id and item id of each rating; int64 where all ids are integers, otherwise object.
    y : ndarray of shape (n,), float64
        The ratings.
    scale : ndarray of shape (R,), float64, or None
        The possible ratings in increasing order; None for continuous ratings.
    item_names : mapping from item id to str
        Titles; empty where none are known. May name items without ratings.
    timestamps : ndarray of shape (n,), int64, or None
        Time of each rating, in seconds since 1970 where the source says so.
    description : str
        Origin and peculiarities, in a sentence or two.
    rating_scale : RatingScale, optional
        What the levels stand for, where the ratings were cut into bins, or are words. A model that is fitted to the
        data set keeps it.
    n_dropped : int, default=0
        How many ratings `without` has left out, or `read_interactions` since their item was rated again.
    features : mapping from str to object, default={}
        What is known of users and items beside the ratings, as ``user_features`` and ``item_features``, for models that
        take it: ``model.fit(data)`` is ``model.fit(data.X, data.y, **data.features)`` of them, and evaluations and
        comparisons give it to such models.

    Raises
    ------
    ValueError
        If the shapes do not fit together or the scale does not increase.

    Examples
    --------
    >>> import numpy as np
    >>> from cofactor.datasets import RatingDataset
    >>> RatingDataset("tiny", np.array([[1, 7], [2, 7]]), np.array([4.0, 5.0]), np.arange(1.0, 6.0))
    RatingDataset('tiny': 2 ratings, 2 users, 1 item, scale 1 to 5 in 5 levels)
    """

    name: str
    X: NDArray
    y: NDArray[np.float64]
    scale: NDArray[np.float64] | None
    item_names: Mapping[Any, str] = field(default_factory=dict)
    timestamps: NDArray[np.int64] | None = None
    description: str = ""
    rating_scale: RatingScale | None = None
    n_dropped: int = 0
    features: Mapping[str, Any] = field(default_factory=dict)

    #: Whether there are interactions, and no ratings.
    holds_interactions: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.X.ndim != 2 or self.X.shape[1] != 2:
            raise InvalidInputError(
                (Argument("X"), f" must have shape (n, 2), a user id and an item id for each; found {self.X.shape}"),
                argument="X",
            )
        if self.y.shape != (len(self.X),):
            raise InvalidInputError(
                (Argument("y"), f" must have shape ({len(self.X)},), one rating for each row; found {self.y.shape}"),
                argument="y",
            )
        if self.timestamps is not None and self.timestamps.shape != self.y.shape:
            raise InvalidInputError(
                (Argument("timestamps"), f" must have shape {self.y.shape}; found {self.timestamps.shape}"),
                argument="timestamps",
            )
        if self.scale is not None and (self.scale.ndim != 1 or not np.all(np.diff(self.scale) > 0)):
            raise InvalidInputError((Argument("scale"), " must be a 1-d array of increasing ratings"), argument="scale")

    def __len__(self) -> int:
        return len(self.y)

    @property
    def n_ratings(self) -> int:
        """Number of ratings."""
        return len(self.y)

    @property
    def n_users(self) -> int:
        """Number of users with at least one rating."""
        return _n_distinct(self.X[:, 0])

    @property
    def n_items(self) -> int:
        """Number of items with at least one rating."""
        return _n_distinct(self.X[:, 1])

    def level_counts(self) -> NDArray[np.int64]:
        """Count the ratings of each level of the scale.

        Returns
        -------
        ndarray of shape (R,), int64

        Raises
        ------
        ValueError
            If the ratings are continuous (``scale`` is None).

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor.datasets import RatingDataset
        >>> X, y = np.array([[1, 7], [2, 7]]), np.array([3.0, 3.0])
        >>> data = RatingDataset("tiny", X, y, np.arange(1.0, 4.0))
        >>> data.level_counts().tolist()
        [0, 0, 2]
        """
        if self.scale is None:
            raise InvalidInputError(
                f"data set {self.name!r} is continuous", advice="bin it first (RatingDataset.binned)"
            )
        return np.bincount(np.searchsorted(self.scale, self.y), minlength=len(self.scale))

    def binned(self, bins: Bins, bin_by: BinBy = "auto", *, limits: tuple[float, float] | None = None) -> RatingDataset:
        """Cut continuous ratings, or counts, into levels 1..R; the edges stay with the data, and with models.

        Parameters
        ----------
        bins, bin_by, limits
            As in `cofactor.datasets.bin_edges`.

        Returns
        -------
        RatingDataset
            On the scale 1..R; its ``rating_scale`` says what the levels stand for.

        Raises
        ------
        InvalidInputError
            As in `cofactor.datasets.bin_ratings`.

        Warns
        -----
        InputWarning
            If a level holds no rating, and neither edges nor `limits` were given.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor.datasets import RatingDataset
        >>> X, plays = np.array([[1, 7], [1, 8], [2, 7], [2, 9]]), np.array([1.0, 1.0, 6.0, 900.0])
        >>> data = RatingDataset("plays", X, plays, None).binned(3, "quantile")
        >>> data.y.tolist(), data.rating_scale.names()
        ([1.0, 1.0, 2.0, 3.0], ['[1, 6)', '[6, 453)', '[453, 900]'])
        """
        edges = bin_edges(self.y, bins, bin_by, limits=limits)
        y, scale = bin_ratings(self.y, edges)
        rating_scale = RatingScale(tuple(scale.tolist()), edges=tuple(edges.tolist()))
        if np.ndim(bins) == 0 and limits is None:  # edges that were given may be those of other ratings
            warn_of_empty(rating_scale, y)
        return replace(self, y=y, scale=scale, rating_scale=rating_scale)

    def without(self, ratings: float | Sequence[float]) -> RatingDataset:
        """Leave out ratings that mean that there is none, such as 0 in data whose scale begins with 1.

        Parameters
        ----------
        ratings : float or sequence of float
            Which ones.

        Returns
        -------
        RatingDataset
            Without them, on a scale without them.

        Raises
        ------
        InvalidInputError
            If all ratings are among these.

        Warns
        -----
        InputWarning
            If none is.

        Examples
        --------
        >>> import numpy as np
        >>> from cofactor.datasets import RatingDataset
        >>> X = np.array([[1, 7], [1, 8], [2, 7]])
        >>> data = RatingDataset("tiny", X, np.array([0.0, 7.0, 9.0]), np.array([0.0, 7.0, 9.0])).without(0)
        >>> data, data.n_dropped
        (RatingDataset('tiny': 2 ratings, 2 users, 2 items, scale 7 to 9 in 2 levels), 1)
        """
        out = np.isin(self.y, ratings)
        if out.all():
            raise InvalidInputError("all ratings are among these", argument="drop_rating", found=ratings)
        if not out.any():
            warnings.warn(InputWarning((Argument("drop_rating", ratings), ": no rating is left out")), stacklevel=3)
        scale = None if self.scale is None else self.scale[~np.isin(self.scale, ratings)]
        times = None if self.timestamps is None else self.timestamps[~out]
        n = self.n_dropped + int(out.sum())
        return replace(self, X=self.X[~out], y=self.y[~out], scale=scale, timestamps=times, n_dropped=n)

    def __repr__(self) -> str:
        if self.scale is None:
            scale = "continuous"
        else:
            scale = f"scale {self.scale[0]:g} to {self.scale[-1]:g} in {len(self.scale)} levels"
        return (
            f"RatingDataset({self.name!r}: {plural(self.n_ratings, 'rating')}, {plural(self.n_users, 'user')}, "
            f"{plural(self.n_items, 'item')}, {scale})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class InteractionDataset(RatingDataset):
    """Interactions as in a file: who clicked, played or bought what, how often, and when; there are no ratings.

    ``y`` says how often each pair occurred, ``scale`` is None. Models of interactions are fitted to the data set
    itself, ``model.fit(data)``; models of ratings refuse it. ``kinds`` has the kind of each event, such as view, cart
    or purchase, where there are several.

    Examples
    --------
    >>> import numpy as np
    >>> InteractionDataset("plays", np.array([[1, 7], [2, 7]]), np.array([4.0, 1.0]), None)
    InteractionDataset('plays': 2 interactions, 2 users, 1 item, counts 1 to 4)
    """

    kinds: NDArray | None = None

    holds_interactions = True

    def __repr__(self) -> str:
        counts = f", counts {self.y.min():g} to {self.y.max():g}" if self.n_ratings and (self.y != 1).any() else ""
        return (
            f"InteractionDataset({self.name!r}: {plural(self.n_ratings, 'interaction')}, "
            f"{plural(self.n_users, 'user')}, {plural(self.n_items, 'item')}{counts})"
        )


@dataclass(frozen=True, eq=False, repr=False)
class LabelDataset:
    """Features and labels of instances.

    Label models are fitted to the data set itself, ``model.fit(data)``, any estimator of labels to its parts,
    ``fit(data.X, data.Y)``; where some labels are not known, to ``fit(data.X, data.targets)``: in Y they are off.

    Parameters
    ----------
    name : str
        Name of the data set, or of the file it was read from.
    X : ndarray of shape (n, D), float64, or csr_array
        Features. A nominal one with words for off and on (0/1, no/yes, ...) is one column of 0 and 1, any other
        nominal one a column of 0 and 1 for each value, named ``feature=value``; free text a column of tf-idf values for
        each word, named ``feature:word``.
    Y : csr_array of shape (n, L), int32
        Labels: a stored 1 where a label is on.
    feature_names, label_names : tuple of str
        Names of the columns of X and Y.
    train_rows : ndarray of shape (n,), bool, or None
        The training part of an official split; None where there is none.
    nominal : tuple of str
        Names of the nominal features which became columns ``feature=value``.
    description : str
        Origin and peculiarities, in a sentence or two.
    ids : ndarray of shape (n,) or None
        What the rows are called, int64 where all are integers, otherwise object; None where no column says so.
    schema : Schema or None
        How columns of a table, or of an ARFF file, became features and labels; other files can be read alike by it.
    filled : mapping from str to int
        How many cells of a column had no value, and were filled as the schema says; by the name of the column.
    known : ndarray of shape (n, L), bool, or None
        Which labels are known; None if all are. The others are off in Y, and NaN in `targets`.
    weights : ndarray of shape (n,) or None
        Weights of the instances, with which models learn; None where no column says so.

    Raises
    ------
    ValueError
        If the shapes do not fit together.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.sparse import csr_array
    >>> from cofactor.datasets import LabelDataset
    >>> Y = csr_array(np.array([[1, 0, 1], [0, 1, 0]], dtype=np.int32))
    >>> LabelDataset("tiny", np.eye(2), Y, ("x0", "x1"), ("sea", "sun", "snow"))
    LabelDataset('tiny': 2 instances, 2 features, 3 labels, 1.500 labels per instance, dense)
    """

    name: str
    X: Any
    Y: csr_array
    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    train_rows: NDArray[np.bool_] | None = None
    nominal: tuple[str, ...] = ()
    description: str = ""
    ids: NDArray[Any] | None = None
    schema: Schema | None = None
    filled: Mapping[str, int] = field(default_factory=dict)
    known: NDArray[np.bool_] | None = None
    weights: NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        n = self.X.shape[0]
        if self.X.shape != (n, len(self.feature_names)):
            raise InvalidInputError(
                (Argument("X"), f" has shape {self.X.shape}, but there are {len(self.feature_names)} feature names"),
                argument="X",
            )
        if self.Y.shape != (n, len(self.label_names)):
            raise InvalidInputError(
                (
                    Argument("Y"),
                    (
                        f" has shape {self.Y.shape}, but there are {plural(n, 'instance')} "
                        f"and {len(self.label_names)} label names"
                    ),
                ),
                argument="Y",
            )
        if self.known is not None and self.known.shape != self.Y.shape:
            raise InvalidInputError((Argument("known"), f" must have shape {self.Y.shape}; found {self.known.shape}"))
        for name, rows in (("train_rows", self.train_rows), ("ids", self.ids), ("weights", self.weights)):
            if rows is not None and rows.shape != (n,):
                raise InvalidInputError((Argument(name), f" must have shape ({n},); found {rows.shape}"), argument=name)

    def __len__(self) -> int:
        return self.n_instances

    @property
    def n_instances(self) -> int:
        """Number of rows of X and Y."""
        return int(self.X.shape[0])

    @property
    def n_features(self) -> int:
        """Number of columns of X."""
        return len(self.feature_names)

    @property
    def n_labels(self) -> int:
        """Number of columns of Y."""
        return len(self.label_names)

    @property
    def cardinality(self) -> float:
        """Mean number of labels of an instance."""
        return self.Y.nnz / max(self.n_instances, 1)

    @property
    def targets(self) -> Any:
        """Labels as models and measures take them: `Y`, or an array with NaN where they are not known."""
        return self.Y if self.known is None else np.where(self.known, self.Y.toarray(), np.nan)

    def take(self, rows: NDArray) -> LabelDataset:
        """Select instances.

        Parameters
        ----------
        rows : ndarray of int or bool
            Positions, or a mask.

        Returns
        -------
        LabelDataset
            Without an official split.
        """
        parts = {name: getattr(self, name) for name in ("ids", "known", "weights")}
        some: dict[str, Any] = {name: None if part is None else part[rows] for name, part in parts.items()}
        return replace(self, X=self.X[rows], Y=self.Y[rows], train_rows=None, **some)

    def split(self) -> tuple[LabelDataset, LabelDataset]:
        """Training part and test part of the official split.

        Returns
        -------
        train, test : LabelDataset

        Raises
        ------
        ValueError
            If the data set has none.

        Examples
        --------
        >>> from cofactor.datasets import load_labels
        >>> train, test = load_labels("emotions").split()
        >>> len(train), len(test)
        (391, 202)
        """
        if self.train_rows is None:
            raise InvalidInputError(
                f"data set {self.name!r} has no official split", advice="use folds (sklearn.model_selection.KFold)"
            )
        return self.take(self.train_rows), self.take(~self.train_rows)

    def align(self, feature_names: Sequence[str]) -> Any:
        """X with the columns of another data set, for example of the one a model was trained on.

        A value of a nominal feature may occur in only one of the two data sets. If it is missing in this one, its
        column is zero; if it is missing in the other one, an instance with this value has zeros in all columns of the
        feature, with a warning.

        Parameters
        ----------
        feature_names : sequence of str
            Names of the wanted columns, in the wanted order.

        Returns
        -------
        ndarray or csr_array of shape (n, len(feature_names))

        Raises
        ------
        ValueError
            If a wanted feature is missing, or there is one which is not wanted; the message names it.

        Warns
        -----
        UserWarning
            If an instance has a value of a nominal feature which is not among the wanted columns.
        """
        if tuple(feature_names) == self.feature_names:
            return self.X
        position = {name: k for k, name in enumerate(self.feature_names)}
        prefixes = tuple(f"{name}=" for name in self.nominal)
        missing = [name for name in feature_names if name not in position and not name.startswith(prefixes)]
        if missing:
            raise InvalidInputError(
                f"no feature {shorten(missing)}; expected {plural(len(feature_names), 'feature')} as trained",
                place=Place(self.name),
            )
        wanted = set(feature_names)
        spread = tuple(prefix for prefix in prefixes if any(name.startswith(prefix) for name in feature_names))
        unseen = [name for name in self.feature_names if name not in wanted]
        extra = [name for name in unseen if not name.startswith(spread)] if spread else unseen
        if extra:
            raise InvalidInputError(f"feature {shorten(extra)} was not there in training", place=Place(self.name))
        columns = np.array([position.get(name, len(position)) for name in feature_names])
        self._warn_of_unseen([name for name in unseen if self.X[:, [position[name]]].sum()])
        if is_sparse(self.X):
            padded = csr_array((self.X.data, self.X.indices, self.X.indptr), (self.n_instances, len(position) + 1))
            return csr_array(padded[:, columns])
        return np.hstack([self.X, np.zeros((self.n_instances, 1), self.X.dtype)])[:, columns]

    def _warn_of_unseen(self, names: list[str]) -> None:
        if names:
            warnings.warn(
                f"{self.name}: {shorten(names)} did not occur in training; all columns of this feature are 0 for it",
                UserWarning,
                stacklevel=3,
            )

    def __repr__(self) -> str:
        form = "sparse" if is_sparse(self.X) else "dense"
        sizes = (
            plural(self.n_instances, "instance"),
            plural(self.n_features, "feature"),
            plural(self.n_labels, "label"),
        )
        return f"LabelDataset({self.name!r}: {', '.join(sizes)}, {self.cardinality:.3f} labels per instance, {form})"


def is_sparse(X: Any) -> bool:
    """Whether an array is one of SciPy's sparse arrays or matrices."""
    return bool(issparse(X))
