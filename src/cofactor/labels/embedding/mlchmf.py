"""A tree of piecewise-linear embeddings: MLC-HMF."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import AUTO, check_flag, check_jobs, number, one_of, resolve_size, size, whole
from cofactor.chunked import is_sparse
from cofactor.errors import InvalidInputError
from cofactor.kernels.threads import library_limit
from cofactor.labels.adaptation.neighbours import nearest_rows, warn_of_neighbours
from cofactor.labels.base import CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.embedding import tree
from cofactor.labels.explaining import ScoreParts, VotePart
from cofactor.labels.penalty import penalty, ridge_penalty
from cofactor.losses import MARGIN_LOSSES
from cofactor.model.convergence import callers_level
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import run_parallel

_SMOOTH = tuple(name for name, loss in MARGIN_LOSSES.items() if loss.smooth)
_LARGEST_WEIGHT = 1e20  #: of the penalty: nodes are fitted in single precision, where gradients of more overflow


class MLCHMF(LabelModel):
    r"""Multi-label classification by a hierarchy of embeddings of the features (MLC-HMF).

    A tree is grown. k-means splits the instances into clusters, the nodes below the root. For the instances S of each
    node an embedding is learned, which minimises

    .. math:: J(U, V) = \sum_{i \in S} \sum_{l=1}^{L} h(y_{il} \, x_i U V_l) + \frac{\alpha}{2} (\|U\|^2 + \|V\|^2),

    with y = ±1, the smooth hinge h, U of shape (D, d), V of shape (d, L). The node retains those instances of S for
    which at most a share `tolerance` of the labels is wrong. The others are split again, down to `max_depth` or until
    fewer than `min_size` are left. For a new instance x, its nearest retained instances vote: each with the signs of
    x U V, U and V being those of the node that retained it. The score of a label is the mean vote in [-1, 1]. A tie
    has the score 0, so the label is off.

    Parameters
    ----------
    {n_components}
        A share is one of the labels that vary in training, rounded up. Kumar takes half of them.
    alpha : float or "auto", default="auto"
        Weight of the penalty of both factors (Kumar's λ), above 0. The losses are summed over instances, so more
        instances and larger features need a larger alpha: 0.3 to 3 suits binary text, 50 suits emotions with features
        of standard deviation 1. "auto" takes :math:`2 \sqrt{\alpha^*}`, and :math:`\sqrt{\alpha^*}` as the constant
        feature, where :math:`\alpha^*` is the weight with the least exact leave-one-out error of ridge regression of
        the labels; for the 2 see `cofactor.labels.penalty`. `paper` takes 3.
    tolerance : float, default=0.02
        Kumar's T: a node retains an instance if at most this share of its labels is wrong, 0 to 1. The share is a
        multiple of 1/L, so all values below 1/L mean the same (corrections.md, C23).
    max_depth : int, default=5
        Depth of the deepest nodes; the root, which has no embedding, has depth 0. With two clusters at most
        2^(max_depth + 1) - 2 nodes are trained.
    min_size : int, default=5
        A cluster with fewer instances becomes a leaf: nothing is trained, and its instances are not used.
    n_clusters : int, default=2
        Number of clusters into which instances are split; with 1 the tree is a chain.
    n_neighbors : int, default=5
        Number of retained instances that vote; all of them if there are fewer. An odd number avoids ties.
    voting : {"sign", "margin"}, default="margin"
        With "margin" neighbours vote with their scores, limited to [-1, 1], instead of the signs. This is not in the
        thesis; it ranks labels better, so that a cut can be learned.
    fit_intercept : bool, default=True
        Whether embeddings see a constant feature (corrections.md, C26); distances never do.
    margin : {"smooth-hinge", "modified-square", "logistic"}, default="smooth-hinge"
        The loss h.
    {scale}
    {threshold}
    {decide_for}
    n_jobs : int, optional
        Number of nodes of one depth that are trained at the same time, by joblib; by default the number of threads
        (`COFACTOR_NUM_THREADS`). The result does not depend on it.
    max_iter : int, default=500
        Largest number of iterations of L-BFGS at a node.
    tol : float, default=1e-4
        A node has converged when its objective falls by less than this share of itself per iteration.
    dtype : {"float32", "float64"}, default="float32"
        Precision of embeddings and retained instances.
    {random_state}
        It draws only the quarter of the instances on which probabilities are learned: k-means starts from cuts across
        the longest axes, the embeddings from singular vectors (`LowRankProblem.start`).
    {callback}
        Several threads may call it at the same time.
    {verbose}

    Attributes
    ----------
    alpha_ : float
        Weight of the penalty: the parameter `alpha`, or the one that was chosen.
    tree_ : list of dict
        The nodes by number, the root first, level by level: `id`; `parent` (None for the root); `depth`; `n`, the
        number of its instances; `n_retained`, the number of those that it retained; `children` (numbers of nodes).
    embeddings_ : list of dict
        The embedding of each node that retained instances: `node`; `features`, the columns that occurred there (D is
        the constant feature); `U`, with a row for each of these; `V`. If no node retained any instance, there is one
        embedding of all instances, at the root.
    retained_ : ndarray or csr_array of shape (n, D)
        The retained instances, scaled as `scaling_` says.
    owners_ : ndarray of shape (n,)
        Position in `embeddings_` of the node that retained each instance.
    instances_ : ndarray of shape (n,)
        Rows of the retained instances in what `fit` was given.
    instance_ids_ : ndarray of shape (n,) or None
        Their ids, if it was a data set with ids.
    n_iter_ : int
        Largest number of iterations of a node.

    Warns
    -----
    ConvergenceWarning
        If nodes stopped at `max_iter`.

    Notes
    -----
    Weights of instances must be whole numbers: an instance is repeated as often.

    The thesis is corrected as ``docs/corrections.md`` says, C21 to C26:

    - The gradients (5.21) and (5.22) have the shapes of U and V (C21).
    - A small cluster does not end the work on its siblings; the depth is counted, and d is handed on (C22).
    - Instances with a Hamming loss of *at most* T are retained (C23).
    - Only nodes that retain instances are kept, and a leaf retains none. If no node retains any instance, one embedding
      of all instances predicts (C24).
    - Neighbours are searched among retained instances only. An embedding has a vote for each neighbour that its node
      retained (C25).
    - Embeddings have a constant feature (C26).

    A sparse X stays sparse. The model holds d (D' + L) numbers for each embedding, where D' is the number of features
    that occur at its node, and all retained instances. `predict` makes a float64 copy of these, and blocks of 16 MB.

    Micro-F1 and Hamming loss on ten folds with fixed parameters (in brackets the thesis): emotions .682, .188
    (.682, .182) with alpha=50 and scale="standard"; genbase .991, .0008 (.978, .002) and medical .796, .0107
    (.775, .011) with alpha=1.

    References
    ----------
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, chapter 5, algorithm 5.

    Examples
    --------
    Two groups of instances, in which the same feature has opposite effects: no single linear map fits both.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-1, 1, (60, 3))
    >>> X[:30, 0] += 5
    >>> means = np.where(X[:, :1] > 2, X[:, 1:], -X[:, 1:])
    >>> Y = (means > 0).astype(int)
    >>> model = MLCHMF(n_components=2, alpha=0.01).fit(X, Y)
    >>> model.print_tree()
    60 instances
    ├─ 1: 30 instances, 30 retained
    └─ 2: 30 instances, 30 retained
    >>> model.predict([[5.0, 0.5, -0.5], [0.0, 0.5, -0.5]])
    array([[1, 0],
           [0, 1]])
    """

    n_components: int | float = param(size(), default=0.5, kw_only=False)
    alpha: float | str = param(
        penalty(inclusive=False, high=_LARGEST_WEIGHT), default="auto", kw_only=False, grid=[1.0, 3.0, 10.0, 50.0]
    )
    tolerance: float = param(number(low=0, high=1), default=0.02)
    max_depth: int = param(whole(), default=5)
    min_size: int = param(whole(), default=5)
    n_clusters: int = param(whole(), default=2)
    n_neighbors: int = param(whole(), default=5)
    voting: str = param(one_of(["sign", "margin"]), default="margin")
    fit_intercept: bool = param(check_flag, default=True)
    margin: str = param(one_of(_SMOOTH), default="smooth-hinge")
    n_jobs: int | None = param(check_jobs, default=None)
    max_iter: int = param(whole(), default=500)
    tol: float = param(number(low=0), default=1e-4)
    dtype: str = param(one_of(["float32", "float64"]), default="float32")

    alpha_: float = learned(check=number(low=0))
    tree_: list[dict[str, Any]] = learned()
    embeddings_: list[tree.Embedding] = learned()
    retained_: Any = learned("instances features")
    owners_: NDArray[np.int64] = learned("instances", dtype=int)
    instances_: NDArray[np.int64] = learned("instances", dtype=int)
    instance_ids_: NDArray[Any] | None = learned("instances", dtype=object, optional=True)
    n_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 3.0, "voting": "sign"}

    # ---------------------------------------------------------------- learning

    def _fit_bytes(self, data: TrainingData) -> int:
        return 8 * super()._fit_bytes(data)  # vectors of L-BFGS

    def _fit(self, data: TrainingData) -> None:
        X, Y, monitor = data.features, data.labels, data.monitor
        warn_of_neighbours(self, data.n_instances)
        points: Any = X.astype(self.dtype, copy=False)
        constant = self._choose_penalty(data)
        features = _with_constant(points, constant) if self.fit_intercept else points
        growth = self._growth(Y.shape[1], self.alpha_)
        self.tree_ = [_record(0, None, 0, points.shape[0])]
        self.embeddings_ = []
        owners = np.full(points.shape[0], -1)
        n_unfinished, self.n_iter_ = 0, 0
        with library_limit(1):
            clusters = tree.cluster(points, np.arange(points.shape[0]), growth)
        level = self._add_children(0, clusters)
        while level:
            tasks = [
                (features, Y, points, rows, growth, node, may_split, monitor.stage(f"node {node}"))
                for node, rows, may_split in level
            ]
            with library_limit(1):  # of the process: set here, since nodes restore what was set before them
                grown = run_parallel(tree.grow, tasks, len(tasks), self.n_jobs)
            parents, level = level, []
            for (node, rows, _), result in zip(parents, grown, strict=True):
                self.tree_[node]["n_retained"] = int(np.count_nonzero(result.retained))
                if result.embedding is not None:
                    owners[rows[result.retained]] = len(self.embeddings_)
                    self.embeddings_.append(result.embedding)
                n_unfinished += result.unfinished
                self.n_iter_ = max(self.n_iter_, result.n_iter)
                level += self._add_children(node, result.clusters)
        if not self.embeddings_:
            with library_limit(1):
                embedding, only = tree.embed(features, Y, growth, monitor.stage("node 0"))
            self.embeddings_ = [embedding | {"node": 0}]
            n_unfinished += only.unfinished
            self.n_iter_ = max(self.n_iter_, only.n_iter)
        for embedding in self.embeddings_:  # from here on the constant feature is 1
            embedding["U"][embedding["features"] == points.shape[1]] *= constant
        retained = np.flatnonzero(owners >= 0)
        self.retained_, self.owners_ = points[retained], owners[retained]
        self.instances_, self.instance_ids_ = data.instance_ids(retained)
        if n_unfinished:
            warnings.warn(
                f"{n_unfinished} of {len(self.tree_)} nodes of MLCHMF stopped at max_iter={self.max_iter} before their "
                "objective settled: raise max_iter or tol, or alpha",
                ConvergenceWarning,
                stacklevel=callers_level(),
            )

    def _growth(self, n_labels: int, alpha: float) -> tree.Growth:
        same = ("tolerance", "min_size", "n_clusters", "margin", "max_iter", "tol", "dtype")
        d = resolve_size(self.n_components, n_labels)
        return tree.Growth(d, alpha=alpha, **{name: getattr(self, name) for name in same})

    def _choose_penalty(self, data: TrainingData) -> float:
        """Set `alpha_`, and return the constant feature that goes with it."""
        if self.alpha != AUTO:
            self.alpha_ = float(self.alpha)
            return 1.0
        unit = math.sqrt(ridge_penalty(data))
        self.alpha_ = 2 * unit
        return unit

    def _add_children(self, parent: int, clusters: list[tree.Rows]) -> list[tuple[int, tree.Rows, bool]]:
        """Add clusters to the tree; return the nodes to train: number, instances, whether it may be split again."""
        trained = []
        depth = self.tree_[parent]["depth"] + 1
        for rows in clusters:
            node = len(self.tree_)
            self.tree_.append(_record(node, parent, depth, len(rows)))
            self.tree_[parent]["children"].append(node)
            if len(rows) >= self.min_size:
                trained.append((node, rows, depth < self.max_depth))
        return trained

    # ---------------------------------------------------------------- scoring

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        points: Any = X.astype(self.dtype, copy=False)
        counts = self._voters(points)
        votes = np.zeros((X.shape[0], self.embeddings_[0]["V"].shape[1]))
        for e, embedding in enumerate(self.embeddings_):
            rows = np.flatnonzero(counts[:, e])
            if len(rows):
                votes[rows] += counts[rows, e, None] * self._vote(tree.scores(points[rows], embedding))
        return votes / counts.sum(axis=1, keepdims=True)

    def _score_parts(self, X: CheckedFeatures) -> ScoreParts:
        if not len(self.owners_):  # the embedding of all instances has the only vote
            return ScoreParts((), self._scores(X))
        points: Any = X.astype(self.dtype, copy=False)
        neighbours = self._neighbours(points)
        owners = self.owners_[neighbours]
        rows = {int(e): np.flatnonzero((owners == e).any(axis=1)) for e in np.unique(owners)}
        votes = {e: self._vote(tree.scores(points[here], self.embeddings_[e])) for e, here in rows.items()}

        def weigh(label: int, row: int) -> NDArray[np.float64]:
            mine = [votes[e][np.searchsorted(rows[e], row), label] for e in owners[row].tolist()]
            return np.array(mine) / len(mine)

        names = self.instances_ if self.instance_ids_ is None else self.instance_ids_
        return ScoreParts((VotePart(neighbours, weigh),), np.zeros(self.embeddings_[0]["V"].shape[1]), names)

    def _neighbours(self, X: Any) -> NDArray[np.int64]:
        """Return the positions, among the retained instances, of those that vote."""
        return nearest_rows(self.retained_, X, min(self.n_neighbors, len(self.owners_)))

    def _voters(self, X: Any) -> NDArray[np.int64]:
        """Return, for each instance and each embedding, how many of its neighbours the embedding's node retained."""
        counts = np.zeros((X.shape[0], len(self.embeddings_)), dtype=np.int64)
        if not len(self.owners_):  # no instance was retained: there is one embedding, which has the only vote
            counts[:, 0] = 1
            return counts
        np.add.at(counts, (np.arange(X.shape[0])[:, None], self.owners_[self._neighbours(X)]), 1)
        return counts

    def _vote(self, scores: NDArray[Any]) -> NDArray[Any]:
        return np.where(scores > 0, 1.0, -1.0) if self.voting == "sign" else np.clip(scores, -1, 1)

    # ---------------------------------------------------------------- saving

    def _check_learned(self) -> None:
        super()._check_learned()
        tree.check_nodes(self.tree_)
        tree.check_embeddings(self.embeddings_, self.n_features_in_, self._n_varying)
        if not ((self.owners_ >= 0) & (self.owners_ < len(self.embeddings_))).all():
            raise InvalidInputError(f"owners_ must name the embeddings of {len(self.owners_)} instances")

    # ---------------------------------------------------------------- the tree as text

    def tree_text(self) -> str:
        """Return the tree as text: the number of each node, how many instances it has, how many of them it retained."""
        check_is_fitted(self)
        if not hasattr(self, "tree_"):
            return "no tree: all labels were constant in training"
        return tree.draw(self.tree_)

    def print_tree(self) -> None:
        """Print the tree."""
        print(self.tree_text())


def _record(node: int, parent: int | None, depth: int, n: int) -> dict[str, Any]:
    return {"id": node, "parent": parent, "depth": depth, "n": n, "n_retained": 0, "children": []}


def _with_constant(X: Any, value: float) -> Any:
    """Return features with a constant feature at the end."""
    ones = np.full((X.shape[0], 1), value, X.dtype)
    if is_sparse(X):
        return sparse.csr_array(sparse.hstack([X, sparse.csr_array(ones)], format="csr"))
    return np.hstack([X, ones])
