"""Conditional random fields whose labels form a chain or a tree, and ensembles of chains that vote.

A chain is a tree: how a tree is drawn, chosen and read is here once for both.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import cache, partial
from itertools import combinations, product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order
from scipy.special import logit
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from cofactor.checks import check_choice, check_jobs, make_generator, number, one_of, whole
from cofactor.correlation import MEASURES, greedy_chain, maximum_spanning_tree, measured, random_chain
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.kernels.threads import thread_limit
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.crf.base import CRF, LEAST, TreeField, chosen_alpha, strongest_edges, table_of_all
from cofactor.labels.decisions import JOINT
from cofactor.labels.penalty import penalty
from cofactor.labels.transformation.chains import check_order, label_places, order_of
from cofactor.model.convergence import callers_level, with_unfinished
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import run_parallel
from cofactor.problems.random_fields import LabelTree
from cofactor.text import plural

BY_CORRELATION, BY_LIKELIHOOD = "sampled-correlation", "sampled-likelihood"
SAMPLED = (BY_CORRELATION, BY_LIKELIHOOD)  #: how the best of some random trees is told


def chain_tree(order: NDArray[np.int64]) -> LabelTree:
    """Return a chain as a tree, whose root is the first label.

    Examples
    --------
    >>> chain_tree(np.array([2, 0, 1]))
    LabelTree(order=array([2, 0, 1]), parents=array([ 2,  0, -1]))
    """
    parents = np.empty(len(order), dtype=np.int64)
    parents[order] = np.append(-1, order[:-1])
    return LabelTree(order, parents)


def tree_of_edges(edges: NDArray[np.int64], n_labels: int) -> LabelTree:
    """Return edges, shape (L - 1, 2), as a tree whose root is label 0.

    Examples
    --------
    >>> tree_of_edges(np.array([[0, 2], [1, 2]]), 3)
    LabelTree(order=array([0, 2, 1]), parents=array([-1,  2,  0]))
    """
    graph = sparse.csr_array((np.ones(len(edges)), (edges[:, 0], edges[:, 1])), shape=(n_labels, n_labels))
    order, before = breadth_first_order(graph, 0, directed=False)
    return LabelTree(order.astype(np.int64), np.where(before < 0, -1, before).astype(np.int64))


def drawn_chain(n_labels: int, generator: np.random.Generator) -> LabelTree:
    """Return a random chain."""
    return chain_tree(random_chain(n_labels, generator))


def drawn_tree(n_labels: int, generator: np.random.Generator) -> LabelTree:
    """Return the maximum spanning tree of random numbers."""
    table = generator.random((n_labels, n_labels))
    return tree_of_edges(maximum_spanning_tree(table + table.T), n_labels)


def best_drawn(
    model: Any, by: str, data: TrainingData, draw: Callable[[int, np.random.Generator], LabelTree]
) -> LabelTree:
    """Return the best of the trees that a model draws, of equally good ones the first.

    Parameters
    ----------
    model : ChainCRF or TreeCRF
    by : {"sampled-correlation", "sampled-likelihood"}
        Whether the best one has the largest sum of a measure over its edges, or the least objective.
    data : TrainingData
        With the labels that vary.
    draw : callable
        Makes a random tree of so many labels.
    """
    generator = make_generator(model.random_state)
    trees = [draw(data.labels.shape[1], generator) for _ in range(model.n_samples)]
    if by == BY_CORRELATION:
        table = measured(model.measure, data.features, data.labels, data.weights)
        return max(trees, key=lambda tree: float(table[tuple(tree.edges().T)].sum()))
    learning = model.alpha_, model.max_iter, model.tol
    return min(distinct(trees).values(), key=lambda tree: TreeField(tree).learn(data, *learning)[0].objective)


def greedy_tree(data: TrainingData, learning: tuple[float, int, float]) -> LabelTree:
    """Return the tree grown edge by edge, each the one that makes the labels of training likeliest.

    Trees that no edge joins yet are independent, so that objectives add up, and those of an edge are fits of the two
    trees that it joins alone.

    Parameters
    ----------
    data : TrainingData
        With the labels that vary.
    learning : tuple
        Penalty, iterations and tolerance of a fit.
    """

    @cache
    def objective(labels: tuple[int, ...], edges: tuple[tuple[int, int], ...]) -> float:
        places = np.searchsorted(labels, np.array(edges, dtype=np.int64).reshape(-1, 2))
        part = data.of_labels(np.array(labels))
        return TreeField(tree_of_edges(places, len(labels))).learn(part, *learning)[0].objective

    Grown = tuple[tuple[int, ...], tuple[tuple[int, int], ...]]
    trees: list[Grown] = [((label,), ()) for label in range(data.labels.shape[1])]
    while len(trees) > 1:
        found: list[tuple[float, Grown, Grown, Grown]] = []
        for one, other in combinations(trees, 2):
            for edge in product(one[0], other[0]):
                both = tuple(sorted(one[0] + other[0])), (*one[1], *other[1], edge)
                found.append((objective(*both) - objective(*one) - objective(*other), both, one, other))
        _, both, one, other = min(found)
        trees = [*(tree for tree in trees if tree not in (one, other)), both]
    return tree_of_edges(np.array(trees[0][1], dtype=np.int64).reshape(-1, 2), data.labels.shape[1])


def tree_bytes(data: TrainingData) -> int:
    """Return how many bytes a fit takes at least."""
    (n, D), L = data.features.shape, data.labels.shape[1]
    return 8 * (5 * n * L + 25 * D * L + L * L)


def undirected(tree: LabelTree) -> frozenset[frozenset[int]]:
    """Return the edges of a tree without a direction.

    Trees that have the same are one model, such as a chain and its reverse.

    Examples
    --------
    >>> undirected(chain_tree(np.array([2, 0, 1]))) == undirected(chain_tree(np.array([1, 0, 2])))
    True
    """
    return frozenset(map(frozenset, tree.edges().tolist()))


def distinct(trees: Iterable[LabelTree]) -> dict[frozenset[frozenset[int]], LabelTree]:
    """Return the trees that are different models, by their edges: of few labels, many that are drawn are the same."""
    found: dict[frozenset[frozenset[int]], LabelTree] = {}
    for tree in trees:
        found.setdefault(undirected(tree), tree)
    return found


def of_varying(tree: LabelTree, constant: NDArray[np.int8]) -> LabelTree:
    """Return a tree of all labels as one of those that vary, of which there is one at least.

    What hangs on a constant label hangs on the next label above it that varies; without one, on the new root.

    Examples
    --------
    >>> of_varying(chain_tree(np.array([3, 0, 1, 2])), np.array([0, 1, 0, 0]))
    LabelTree(order=array([2, 0, 1]), parents=array([ 2,  0, -1]))
    """
    varies, above = constant == 0, tree.parents.copy()
    for label in tree.order[1:]:
        if not varies[above[label]]:
            above[label] = above[above[label]]
    order = tree.order[varies[tree.order]]
    above[above < 0] = order[0]
    above[order[0]] = -1
    place = np.append(np.cumsum(varies) - 1, -1)  # the last one for "no label", -1
    return LabelTree(place[order], place[above[varies]])


def check_tree(order: NDArray[np.int64], parents: NDArray[np.int64], n_labels: int) -> None:
    """Refuse what is no tree of the labels, such as in a file: kernels do not check."""
    if np.array_equal(np.sort(order), np.arange(n_labels)) and parents.shape == order.shape:
        place, above = np.argsort(order), parents[order[1:]]
        root = parents[order[0]] == -1
        if root and np.all((above >= 0) & (above < n_labels)) and np.all(place[above] < np.arange(1, n_labels)):
            return
    raise InvalidInputError("expected a tree of the labels, in which each comes after its parent")


class ChainCRF(CRF):
    r"""A conditional random field in which each label goes with the next one of a chain.

    The model of `TreeCRF`, whose tree is a chain: a random one, the greedy one of a measure, or the best of some random
    ones.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        See `CML`.
    order : str or array-like of shape (L,), default="random"
        "random"; "given"; a measure of `cofactor.correlation.MEASURES`, by which each label is followed by the one
        that is most like it; "sampled-correlation" or "sampled-likelihood": of `n_samples` random chains the one whose
        pairs have the largest sum of `measure`, or that makes the labels of training likeliest; or positions or names
        of the labels in their order (whole numbers are positions, whatever labels are called). The source found random
        chains as good as those of any measure, so that is the default.
    n_samples : int, default=11
        How many chains are drawn. The source took 1,001; each of the likelihood costs a fit.
    measure : str, default="chi-squared"
        The measure of "sampled-correlation".
    max_iter, tol, set_sizes
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws chains, and the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    order_, parents_, alpha_, coef_, intercept_, pair_coef_, objective_, history_, certificate_, n_iter_, set_sizes_
        See `TreeCRF`.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> ChainCRF.paper(order=[2, 0, 1]).fit(X, y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    order: str | ArrayLike = param(partial(check_order, also=SAMPLED), default="random")
    n_samples: int = param(whole(), default=11)
    measure: str = param(one_of(MEASURES), default="chi-squared")

    order_: NDArray[np.int64] = learned("labels", dtype=int)
    parents_: NDArray[np.int64] = learned("labels", dtype=int)

    def _fit_bytes(self, data: TrainingData) -> int:
        return tree_bytes(data)

    def _field(self) -> TreeField:
        return TreeField(LabelTree(self.order_, self.parents_))

    def _check_field(self) -> None:
        check_tree(self.order_, self.parents_, self._n_varying)

    def _choose(self, data: TrainingData) -> None:
        name = self.order if isinstance(self.order, str) else ""
        if name in SAMPLED:
            tree = best_drawn(self, name, data, drawn_chain)
        elif name in MEASURES:
            tree = chain_tree(greedy_chain(measured(name, data.features, data.labels, data.weights)))
        else:
            tree = chain_tree(order_of(self, data, make_generator(self.random_state)))
        self.order_, self.parents_ = tree

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "order": self.order_}


GREEDY = "greedy-likelihood"
STRUCTURES = (*MEASURES, "random", *SAMPLED, GREEDY)


def _check_structure(name: str, structure: Any) -> None:
    """Refuse what is neither the name of a structure, nor pairs of positions or names."""
    if structure is None or isinstance(structure, str):
        check_choice(name, structure, STRUCTURES)
        return
    try:
        pairs = np.asarray(structure)
    except ValueError:  # rows of several lengths
        pairs = np.empty(0)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or pairs.dtype.kind not in "iuU":
        known = ", ".join(map(repr, STRUCTURES))
        problem = f"expected one of {known}, or the edges of a tree, each two positions, or two names, of labels"
        raise InvalidTypeError(problem, argument=name, found=structure)


class TreeCRF(CRF):
    r"""A conditional random field whose pairs of labels form a tree: sums over all label sets are exact, and fast.

    .. math::

        \max_{W, b, V} \; \sum_i \log P(y_i \mid x_i) - \frac{\alpha}{2} (\|W\|_F^2 + \|V\|_F^2), \qquad
        P(t \mid x) \propto \exp\Bigl[(x W + b) \, t^\top + \sum_{(j, k) \in T} v_{jk} \, I(t_j = t_k)\Bigr]

    over all label sets t. T is the maximum spanning tree of a measure of how labels go together, or of random numbers.
    ``threshold="joint"`` predicts the likeliest label set; scores are the log-odds of the marginals.

    Parameters
    ----------
    alpha : float or "auto", default="auto"
        See `CML`.
    structure : str or array-like of shape (L - 1, 2), default="chi-squared"
        A measure of `cofactor.correlation.MEASURES`; "random"; "sampled-correlation" or "sampled-likelihood": of
        `n_samples` random trees the one whose edges have the largest sum of `measure`, or that makes the labels of
        training likeliest; "greedy-likelihood", grown by the edge that makes them likeliest, again and again, which
        takes about L³/6 fits of small trees and suits a dozen labels; or the edges of a tree of all labels, each two
        positions or names (whole numbers are positions, whatever labels are called).
    n_samples : int, default=11
        How many trees are drawn. Each of the likelihood costs a fit.
    measure : str, default="chi-squared"
        The measure of "sampled-correlation".
    max_iter, tol, set_sizes
        See `CML`.
    {scale}
    {field_threshold}
    {decide_for}
    {random_state}
        It draws trees, where they are random, and the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    order_ : ndarray of shape (L',)
        The L' labels that vary in training, from the root of the tree on: their positions among these. `edges` has
        positions among all labels.
    parents_ : ndarray of shape (L',)
        The parent of each of them, -1 for the root.
    alpha_, coef_, intercept_, objective_, history_, certificate_, n_iter_, set_sizes_
        See `CML`.
    pair_coef_ : ndarray of shape (1, 1, L' - 1)
        Weights of each label but the root and its parent, in the order of `order_`.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    An evaluation costs O(n D L + n L).

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> TreeCRF.paper().fit(X, y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    structure: str | ArrayLike = param(_check_structure, default="chi-squared")
    n_samples: int = param(whole(), default=11)
    measure: str = param(one_of(MEASURES), default="chi-squared")

    order_: NDArray[np.int64] = learned("labels", dtype=int)
    parents_: NDArray[np.int64] = learned("labels", dtype=int)

    def _fit_bytes(self, data: TrainingData) -> int:
        return tree_bytes(data)

    def _field(self) -> TreeField:
        return TreeField(LabelTree(self.order_, self.parents_))

    def _check_field(self) -> None:
        check_tree(self.order_, self.parents_, self._n_varying)

    def _choose(self, data: TrainingData) -> None:
        L = data.labels.shape[1]
        if not isinstance(self.structure, str):
            places = label_places(self.structure, self.label_names_.tolist(), "structure")
            tree = of_varying(_tree_given(places, len(self.constant_)), self.constant_)
        elif self.structure in SAMPLED:
            tree = best_drawn(self, self.structure, data, drawn_tree)
        elif self.structure == GREEDY:
            tree = greedy_tree(data, (self.alpha_, self.max_iter, self.tol))
        elif self.structure == "random":
            tree = drawn_tree(L, make_generator(self.random_state))
        else:
            table = measured(self.structure, data.features, data.labels, data.weights)
            tree = tree_of_edges(maximum_spanning_tree(table), L)
        self.order_, self.parents_ = tree

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "structure": LabelTree(self.order_, self.parents_).edges()}


def _tree_given(pairs: NDArray[Any], L: int) -> LabelTree:
    """Return the tree of L labels with these edges; refuse edges of none.

    Examples
    --------
    >>> _tree_given(np.array([[0, 1], [2, 1]]), 3)
    LabelTree(order=array([0, 1, 2]), parents=array([-1,  0,  1]))
    """
    if len(pairs) == L - 1 and np.all((pairs >= 0) & (pairs < L)):
        tree = tree_of_edges(pairs, L)
        if len(tree.order) == L:
            return tree
    problem = f"expected {L - 1} pairs of positions from 0 to {L - 1}, or of names, that connect all {L} labels"
    advice = "" if pairs.dtype.kind == "U" else "whole numbers are positions, whatever labels are called"
    raise InvalidInputError(problem, argument="structure", found=pairs, advice=advice)


class ChainCRFEnsemble(LabelModel):
    r"""Conditional random fields of random chains; each label is decided by vote.

    .. math:: \hat P(y_l = 1 \mid x) = \frac{1}{K} \sum_{k=1}^{K} P_k(y_l = 1 \mid x)

    with P_k the distribution of the k-th chain (`ChainCRF`). ``threshold="joint"`` predicts a label that is in more
    than half of the likeliest label sets of the chains.

    Parameters
    ----------
    n_estimators : int, default=51
        Number K of chains. The source took 1,001.
    alpha : float or "auto", default="auto"
        See `CML`; the same for all chains.
    max_iter, tol
        See `CML`.
    {n_jobs}
    {scale}
    {set_threshold}
        "joint" takes the vote of label sets, "auto" cuts probabilities of single labels. These are the means of
        marginals with "joint" or a number, calibrated else.
    {decide_for}
    {random_state}
        It draws the chains, and the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    models_ : list of ChainCRF
        The chains. One that was drawn again, or the other way round, is the same model, and was fitted once.
    alpha_ : float
        The penalty that was taken.
    n_iter_ : int
        The largest number of iterations of a chain.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, section 4.4.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.arange(8.0)[:, None]
    >>> y = np.hstack([X > 3, X < 4, X > 5])
    >>> model = ChainCRFEnsemble.paper(5, random_state=0).fit(X, y)
    >>> model.predict([[0.0], [7.0]]).astype(int)
    array([[0, 1, 0],
           [1, 0, 1]])
    """

    n_estimators: int = param(whole(), default=51, kw_only=False)
    alpha: float | str = param(penalty(inclusive=False), default="auto", kw_only=False)
    max_iter: int = param(whole(), default=2000)
    tol: float = param(number(low=0), default=1e-6)
    n_jobs: int | None = param(check_jobs, default=None)

    models_: list[ChainCRF] = learned(kind=ChainCRF, many=True)
    alpha_: float = learned(check=number(low=0))
    n_iter_: int = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"alpha": 1.0, "n_estimators": 1001, "threshold": JOINT}

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), weights="any")

    def _fit_bytes(self, data: TrainingData) -> int:
        return ChainCRF()._fit_bytes(data) + 8 * self.n_estimators * (data.features.shape[1] + 4) * data.labels.shape[1]

    def _fit(self, data: TrainingData) -> None:
        self.alpha_ = chosen_alpha(self.alpha, data)
        generator = make_generator(self.random_state)
        drawn = [drawn_chain(data.labels.shape[1], generator) for _ in range(self.n_estimators)]
        chains = distinct(drawn)
        orders = [chain.order for chain in chains.values()]

        def fitted(k: int, n_threads: int) -> ChainCRF:
            stage = data.monitor.stage(f"chain {k + 1}")
            chain = ChainCRF(
                self.alpha_, order=orders[k], max_iter=self.max_iter, tol=self.tol, scale="none",
                threshold=JOINT, callback=(lambda progress: True) if data.monitor.stopped else stage,
            )  # fmt: skip
            with config_context(assume_finite=True), thread_limit(n_threads):  # checked already, and warned of
                return chain.fit(data.features, data.labels, data.weights)

        tasks = [(k,) for k in range(len(orders))]
        models, unfinished = with_unfinished(lambda: run_parallel(fitted, tasks, len(tasks), self.n_jobs))
        if unfinished:
            text = f"{len(unfinished)} of {plural(len(tasks), 'chain')} ended too early, such as: {unfinished[0]}"
            warnings.warn(text, ConvergenceWarning, stacklevel=callers_level())
        of_kind = dict(zip(chains, models, strict=True))
        self.models_ = [of_kind[undirected(chain)] for chain in drawn]
        self.n_iter_ = max(model.n_iter_ for model in self.models_)

    def pair_weights(self) -> NDArray[np.float64]:
        """Return the mean of what the chains say that each pair of labels adds to the score of a label set.

        Returns
        -------
        ndarray of shape (L, L)
            See `CML.pair_weights`.
        """
        check_is_fitted(self)
        return table_of_all(self._pair_table(), self.constant_)

    def edges(self) -> NDArray[np.int64]:
        """Return the edges of the tree of the weightiest pairs; see `CML.edges`.

        Returns
        -------
        ndarray of shape (L' - 1, 2)
            Pairs of positions among all labels.
        """
        check_is_fitted(self)
        varying = np.flatnonzero(self.constant_ == 0)
        return varying[strongest_edges(self._pair_table())] if len(varying) else np.empty((0, 2), dtype=np.int64)

    def _pair_table(self) -> NDArray[np.float64]:
        """Return the mean weights of pairs of the labels that vary, shape (L', L')."""
        none = np.zeros((0, 0))
        return none if self.constant_.all() else np.mean([model._pair_table() for model in self.models_], axis=0)

    def _resolved_params(self) -> dict[str, Any]:
        return {"alpha": self.alpha_}

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return np.asarray(logit(self._probabilities(X)))

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        total = np.zeros((X.shape[0], self._n_varying))
        for model in self.models_:
            total += model._probabilities(X)
        return np.clip(total / len(self.models_), LEAST, 1 - LEAST)

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        votes = np.zeros((X.shape[0], self._n_varying))
        for model in self.models_:
            votes += model._label_sets(X)
        return np.asarray(votes > len(self.models_) / 2)

    def _check_learned(self) -> None:
        super()._check_learned()
        n_labels = self._n_varying
        models = self.models_
        if not models:
            raise InvalidInputError("expected at least one chain")
        for model in models:
            if model.n_features_in_ != self.n_features_in_ or len(model.label_names_) != n_labels:
                raise InvalidInputError(f"expected chains of {n_labels} labels and {self.n_features_in_} features")
            if np.any(model.constant_ != 0):
                raise InvalidInputError("expected chains of labels that vary")
