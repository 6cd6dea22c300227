"""Decision trees that all labels share, and forests of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from joblib import delayed
from numpy.typing import NDArray

from cofactor.checks import AUTO, check_jobs, make_generator, number, one_of, size, whole
from cofactor.chunked import is_sparse
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.learners.base import check_label_learners
from cofactor.labels.learners.trees import GrownTree, TreeData, TreeSettings, TreesLearner, grow_tree
from cofactor.labels.training_data import PARTS
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import in_workers, n_parallel

#: Least numbers of instances in a leaf among which "auto" chooses.
_LEAVES = (1, 2, 5, 10)
_LARGEST_SEED = np.iinfo(np.int32).max


class TreeModel(LabelModel):
    """A model of trees which split for all labels at once.

    A subclass says which trees (`_trees`).

    Attributes
    ----------
    learners_ : TreesLearner
        The trees, with shares of the labels in their leaves.
    """

    criterion: str = param(one_of(["entropy", "gini"]), default="entropy")
    max_depth: int | None = param(whole(also=[None]), default=None)
    min_samples_leaf: int | str = param(whole(), default=1, grid=list(_LEAVES))

    learners_: TreesLearner = learned(kind=TreesLearner)

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), scales=("none",))  # splits move with the scale of a feature

    def _fit_bytes(self, data: TrainingData) -> int:
        X: Any = data.features
        return 8 * int(X.nnz if is_sparse(X) else X.size) + 200 * data.n_instances  # features by columns; nodes

    def _seed(self) -> int:
        """Return the seed of scikit-learn's trees: the number that was given, if it is one."""
        if isinstance(self.random_state, int | np.integer):
            return int(self.random_state)
        return int(make_generator(self.random_state).integers(_LARGEST_SEED))

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        return self.learners_.scores(X)

    def _check_learned(self) -> None:
        super()._check_learned()
        check_label_learners(self.learners_, self._n_varying, self.n_features_in_)


class MLDecisionTree(TreeModel):
    r"""A decision tree for all labels at once: ML-DT (Clare & King 2001).

    A split is the one with the least weighted impurity of its two sides, where a node has the impurity

    .. math:: \sum_l h(p_l), \qquad h(p) = -p \log p - (1 - p) \log (1 - p),

    and :math:`p_l` is the share of its instances with label l. An instance has the shares of the leaf it comes to as
    its probabilities; the score is :math:`p_l - \tfrac12`, so a label is on if more than half of the leaf have it.

    Parameters
    ----------
    criterion : {"entropy", "gini"}, default="entropy"
        h above; "gini" is 2 p (1 - p).
    max_depth : int, optional
        Largest number of splits on the way to a leaf; by default any.
    min_samples_leaf : int or "auto", default="auto"
        Least number of instances in a leaf. "auto" takes that one of 1, 2, 5 and 10 whose shares have the least squared
        error on a quarter of the instances, which is held out. The paper prunes as C4.5 does, which binary splits of
        scikit-learn do not have; `paper` takes 1.
    ccp_alpha : float, default=0.0
        At least 0: splits which lower the mean impurity of the labels by less for each leaf are taken back, as
        scikit-learn does. On held-out training instances of emotions 0.01 lowered the squared error of the shares from
        .29 to .19 without `min_samples_leaf`, and from .22 to .18 with leaves of 5.
    {scale}
        Here "auto" is "none": splits move with the scale of a feature.
    {threshold}
    {decide_for}
    {random_state}
        It decides between splits that are equally good, and draws the instances that are held out. A number gives the
        tree that scikit-learn grows with it.
    {callback}
        This fit is direct: it has no steps to report.
    {verbose}

    Attributes
    ----------
    min_samples_leaf_ : int
        The least number of instances in a leaf.
    learners_
        See `TreeModel`.

    Notes
    -----
    The tree is that of ``DecisionTreeClassifier`` with a table of labels, grown from the labels that are on, so that
    many labels take little time and memory; it is kept as plain numbers, with shares that are not 0 alone. Weights of
    instances must be whole numbers: an instance is repeated as often.

    References
    ----------
    A. Clare & R. D. King, "Knowledge discovery in multi-label phenotype data", PKDD 2001,
    doi:10.1007/3-540-44794-6_4.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X < 2])
    >>> MLDecisionTree.paper().fit(X, Y).predict([[0.0], [3.0], [7.0]])
    array([[False,  True],
           [False, False],
           [ True, False]])
    """

    criterion: str = param(default="entropy", kw_only=False)
    min_samples_leaf: int | str = param(whole(also=[AUTO]), default="auto")
    ccp_alpha: float = param(number(low=0), default=0.0)

    min_samples_leaf_: int = learned(check=whole())

    _paper: ClassVar[Mapping[str, Any]] = {"min_samples_leaf": 1}

    def _tree(self, data: TrainingData, smallest: int, seed: int) -> TreesLearner:
        D = data.features.shape[1]
        settings = TreeSettings(self.criterion, D, self.max_depth, smallest, self.ccp_alpha)
        return TreesLearner.of_grown([grow_tree(TreeData.of(data.features, data.labels), settings, seed)], D)

    def _fit(self, data: TrainingData) -> None:
        seed = self._seed()
        chosen = isinstance(self.min_samples_leaf, str)
        self.min_samples_leaf_ = self._chosen_leaf(data, seed) if chosen else int(self.min_samples_leaf)
        self.learners_ = self._tree(data, self.min_samples_leaf_, seed)

    def _chosen_leaf(self, data: TrainingData, seed: int) -> int:
        """Return the least number of instances in a leaf with the least squared error on a quarter of them."""
        n = data.n_instances
        if n < PARTS:
            return 1
        train, test = data.without_quarter(np.random.default_rng(seed))
        truth, asked = data.labels[test].toarray(), data.features[test]
        errors = [
            np.square(self._tree(train, smallest, seed).probabilities(asked) - truth).sum() for smallest in _LEAVES
        ]
        return _LEAVES[int(np.argmin(errors))]

    def _resolved_params(self) -> dict[str, Any]:
        return {"min_samples_leaf": self.min_samples_leaf_}


class MLForest(TreeModel):
    r"""A forest of decision trees, each for all labels at once: random forest or extra trees.

    A tree is that of `MLDecisionTree`, but looks at a random part of the features in each node. Probabilities are means
    over the trees; the score is the probability less ½.

    Parameters
    ----------
    n_estimators : int, default=100
        Number of trees.
    trees : {"random-forest", "extra-trees"}, default="random-forest"
        Trees of a random forest learn from as many instances as there are, drawn with replacement, and take the best
        split. Extra trees learn from all, and take the best of splits at random places, one for each feature.
    criterion : {"entropy", "gini"}, default="entropy"
        As in `MLDecisionTree`.
    max_depth : int, optional
        Largest number of splits on the way to a leaf; by default any.
    min_samples_leaf : int, default=1
        Least number of instances in a leaf.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Number of features that a node looks at, or its share of all features.
    n_jobs : int, optional
        Number of threads, as in joblib; by default as many as kernels may use.
    {scale}
        Here "auto" is "none": splits move with the scale of a feature.
    {threshold}
    {decide_for}
    {random_state}
        It draws features, instances and splits. A number gives the forest that scikit-learn grows with it.
    {callback}
        A step is a tree; its objective is the number of trees that are not grown yet. A fit that it ends has fewer.
    {verbose}

    Attributes
    ----------
    learners_
        See `TreeModel`.

    Notes
    -----
    The forest is that of ``RandomForestClassifier`` or ``ExtraTreesClassifier`` with a table of labels, grown as
    `MLDecisionTree` grows its tree. Shares that are not 0 alone are kept of each tree, so that many labels take little
    memory: a tree holds at most as many as there are labels of instances. Weights of instances must be whole numbers:
    an instance is repeated as often.

    References
    ----------
    L. Breiman, "Random forests", Machine Learning 45, 2001, doi:10.1023/A:1010933404324. P. Geurts, D. Ernst & L.
    Wehenkel, "Extremely randomized trees", Machine Learning 63, 2006, doi:10.1007/s10994-006-6226-1. D. Kocev, C. Vens,
    J. Struyf & S. Džeroski, "Ensembles of multi-objective decision trees", ECML 2007, doi:10.1007/978-3-540-74958-5_61.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X < 2])
    >>> MLForest.paper(20, random_state=0).fit(X, Y).predict([[0.0], [7.0]])
    array([[False,  True],
           [ True, False]])
    """

    n_estimators: int = param(whole(), default=100, kw_only=False)
    trees: str = param(one_of(["random-forest", "extra-trees"]), default="random-forest")
    max_features: str | int | float | None = param(size(also=["sqrt", "log2", None]), default="sqrt")
    n_jobs: int | None = param(check_jobs, default=None)

    def _fit_bytes(self, data: TrainingData) -> int:
        kept = 12 * self.n_estimators * int(data.labels.nnz)  # a share and its place for each label of an instance
        return super()._fit_bytes(data) + kept

    def _fit(self, data: TrainingData) -> None:
        (n, D), T = data.features.shape, self.n_estimators
        random_forest = self.trees == "random-forest"
        settings = TreeSettings(
            self.criterion, self._n_looked_at(D), self.max_depth, int(self.min_samples_leaf), 0.0, not random_forest
        )
        given = TreeData.of(data.features, data.labels)

        def tasks() -> Iterator[Any]:  # seeded as scikit-learn seeds those of a forest
            for seed in np.random.RandomState(self._seed()).randint(_LARGEST_SEED, size=T):
                counts = np.bincount(np.random.RandomState(seed).randint(0, n, n), minlength=n)
                yield delayed(grow_tree)(given, settings, int(seed), counts if random_forest else None)

        grown: list[GrownTree] = []
        for tree in in_workers(tasks(), n_parallel(T, self.n_jobs), prefer="threads"):
            grown.append(tree)
            if data.monitor.note("trees", len(grown), T, float(T - len(grown))):
                break
        self.learners_ = TreesLearner.of_grown(grown, D)

    def _n_looked_at(self, n_features: int) -> int:
        """Return the number of features that a node looks at."""
        asked = self.max_features
        if asked is None:
            return n_features
        if isinstance(asked, str):
            return max(1, int(np.sqrt(n_features) if asked == "sqrt" else np.log2(n_features)))
        return max(1, int(asked * n_features)) if isinstance(asked, float) else min(int(asked), n_features)
