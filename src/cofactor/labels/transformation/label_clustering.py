"""Clusters of correlated labels, each with a label model of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from cofactor.checks import check_flag, make_generator, number, one_of, whole
from cofactor.chunked import is_sparse
from cofactor.correlation import (
    MEASURES,
    disjoint_clusters,
    measured,
    normalized_cut_clusters,
    overlapping_clusters,
    random_clusters,
)
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels.base import Capabilities, CheckedFeatures, LabelModel, TrainingData
from cofactor.labels.decisions import JOINT
from cofactor.labels.transformation.powersets import VOTING, LabelPowerset, set_table, sets_in
from cofactor.model.estimator import learned, param

#: How labels are grouped.
CLUSTERINGS = ("disjoint", "overlapping", "normalized-cut", "random")


def _check_model(name: str, value: Any) -> None:
    """Refuse what is no label model, or one whose parameters are not valid; None stands for the default."""
    if value is not None and not isinstance(value, LabelModel):
        raise InvalidTypeError("expected a label model, such as LabelPowerset()", argument=name, found=value)
    if value is not None:
        value.check_params()


class LabelClustering(LabelModel):
    r"""A label model for each cluster of correlated labels.

    Labels that go together are put into clusters of limited size, and a copy of a model learns the labels of each. So
    methods whose cost rises steeply with the number of labels learn from many of them. Clusters may overlap; then

    .. math:: f_l(x) = \frac{1}{|S_l|} \sum_{s \in S_l} f_l^{(s)}(x)

    with the clusters :math:`S_l` that hold label l, and the scores of their models. By "hard" voting it is the share of
    the models that predict the label, less ½, as in `RAkEL`: half of them are enough.

    Parameters
    ----------
    estimator : LabelModel, optional
        Model of the labels of a cluster; by default `LabelPowerset`. It decides nothing by itself: only its scores are
        used, or, with ``threshold="joint"``, its label sets.
    clustering : {"disjoint", "overlapping", "normalized-cut", "random"}, default="disjoint"
        How labels are grouped: by `disjoint_clusters`, `overlapping_clusters`, `normalized_cut_clusters` or
        `random_clusters` of `cofactor.correlation`.
    measure : str, default="chi-squared"
        By which measure of `cofactor.correlation.MEASURES` labels go together; random clusters look at none.
    max_size : int, default=10
        Most labels in a cluster, at least 1 (a model for each label); with all labels or more, one cluster can hold
        them all.
    least : float, optional
        Labels with a smaller similarity are not joined, for "disjoint" and "overlapping"; by default all are.
    wait : bool, default=True
        For "disjoint": whether clusters that are too large to be joined wait while others still are. Otherwise the
        first of them ends all.
    voting : {"soft", "hard"}, default="soft"
        Whether scores are averaged or votes are counted, for "overlapping".
    {scale}
        With an estimator that is given, "auto" is "none": it scales features by itself.
    {set_threshold}
        "joint" predicts the label sets of the models, and labels that at least half of the models of overlapping
        clusters predict.
    {decide_for}
    {random_state}
        It draws random clusters, a seed for each model, and the quarter of the instances on which probabilities are
        learned.
    {callback}
        A step is a cluster. Those that are still to be learned after a stop get one iteration each.
    {verbose}

    Attributes
    ----------
    clusters_ : csr_array of shape (m, L')
        Ones where a cluster holds a label, of the L' labels that vary in training.
    models_ : list of LabelModel
        The model of each cluster.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Notes
    -----
    If the probabilities of the estimator are exact, so are those of this model: it averages them over clusters.

    References
    ----------
    C.-X. Li, "Exploiting label correlations for multi-label classification", master's thesis, University of California,
    San Diego, 2011, section 5.4.

    Examples
    --------
    >>> X = np.arange(9.0)[:, None]
    >>> y = np.hstack([X > 2, X % 3 > 1, X > 3, X % 3 > 1])
    >>> model = LabelClustering.paper(max_size=2).fit(X, y)
    >>> model.clusters_.toarray().astype(int)
    array([[1, 0, 1, 0],
           [0, 1, 0, 1]])
    >>> model.predict([[0.0], [8.0]])[:, ::2]
    array([[False, False],
           [ True,  True]])
    """

    estimator: LabelModel | None = param(_check_model, default=None, kw_only=False)
    clustering: str = param(one_of(CLUSTERINGS), default="disjoint", grid=["disjoint", "overlapping"])
    measure: str = param(one_of(MEASURES), default="chi-squared")
    max_size: int = param(whole(), default=10, grid=[3, 6, 10])
    least: float | None = param(number(low=-np.inf, also=[None]), default=None)
    wait: bool = param(check_flag, default=True)
    voting: str = param(one_of(VOTING), default="soft")

    clusters_: sparse.csr_array = learned("clusters labels", dtype=None)
    models_: list[LabelModel] = learned()

    _paper: ClassVar[Mapping[str, Any]] = {"voting": "hard", "estimator": lambda *_: LabelPowerset.paper()}

    def _model(self) -> LabelModel:
        """Return the model of a cluster, before its fit."""
        if self.estimator is None:
            return LabelPowerset(scale="none", threshold=0)
        return clone(self.estimator)

    def _capabilities(self) -> Capabilities:
        one, own = self._model().capabilities, super()._capabilities()
        scales = own.scales if self.estimator is None else ("none",)  # one that was given sees them as they are
        return replace(
            own, weights=one.weights, scales=scales, probabilities=one.probabilities, label_sets=one.label_sets
        )

    def _fit_bytes(self, data: TrainingData) -> int:
        L = data.labels.shape[1]
        size = min(self.max_size, L)
        n_clusters = -(-L // size)
        one = self._model()._fit_bytes(data.of_labels(np.arange(size)))
        return n_clusters * one + (0 if self.clustering == "random" else 3 * 8 * L * L)

    def _fit(self, data: TrainingData) -> None:
        generator, L = make_generator(self.random_state), data.labels.shape[1]
        clusters = self._clusters(data, generator)
        self.clusters_, self.models_ = set_table(clusters, L), []
        for k, labels in enumerate(clusters):
            model = self._model()
            model.disable_threshold()
            if self.threshold == JOINT:
                model.threshold = JOINT
            stop = (lambda progress: True) if data.monitor.stopped else None
            given = {"callback": stop, "verbose": 0, "random_state": int(generator.integers(np.iinfo(np.int32).max))}
            model.set_params(**{name: value for name, value in given.items() if name in model.get_params(deep=False)})
            with config_context(assume_finite=True):  # checked already, and warned of
                try:
                    self.models_.append(model.fit(data.features, data.labels[:, labels], data.weights))
                except InvalidInputError as error:
                    where = f"{type(model).__name__} of a cluster of {len(labels)} labels, of {L}"
                    raise InvalidInputError(f"{where}: {error}") from error
            data.monitor.note("clusters of labels", k + 1, len(clusters), float(len(clusters) - k - 1))

    def _clusters(self, data: TrainingData, generator: np.random.Generator) -> list[NDArray[np.int64]]:
        """Return the labels of each cluster."""
        if self.clustering == "random":
            return random_clusters(data.labels.shape[1], self.max_size, generator)
        C = measured(self.measure, data.features, data.labels, data.weights)
        if self.clustering == "disjoint":
            return disjoint_clusters(C, self.max_size, wait=self.wait, least=self.least)
        if self.clustering == "overlapping":
            return overlapping_clusters(C, self.max_size, least=self.least)
        return normalized_cut_clusters(C, self.max_size)

    # ---------------------------------------------------------------- what the models of clusters say together

    def _mean(self, X: CheckedFeatures, method: str) -> NDArray[np.float64]:
        """Return what a method of the models says of each label, its mean over the clusters that hold the label."""
        n_labels = self.clusters_.shape[1]
        total = np.zeros((X.shape[0], n_labels))
        for model, labels in zip(self.models_, sets_in(self.clusters_), strict=True):
            total[:, labels] += getattr(model, method)(model.scaling_.apply(X))
        return total / np.bincount(self.clusters_.indices, minlength=n_labels)

    def _scores(self, X: CheckedFeatures) -> NDArray[Any]:
        if self.voting == "soft" or self.clustering != "overlapping":
            return self._mean(X, "_all_scores")
        n_votes = np.bincount(self.clusters_.indices, minlength=self.clusters_.shape[1])
        return self._mean(X, "_decoded") - 0.5 + 0.25 / n_votes

    def _probabilities(self, X: CheckedFeatures) -> NDArray[Any]:
        return self._mean(X, "_all_probabilities")

    def _label_sets(self, X: CheckedFeatures) -> NDArray[np.bool_]:
        return np.asarray(self._mean(X, "_decoded") >= 0.5)

    def _check_learned(self) -> None:
        super()._check_learned()
        models = self.models_
        kind = type(self._model())
        if not isinstance(models, list) or not models or not all(type(one) is kind for one in models):
            raise InvalidInputError(f"expected a list of models, each a {kind.__name__}")
        if not is_sparse(self.clusters_) or self.clusters_.shape[0] != len(models):
            raise InvalidInputError(f"expected {len(models)} clusters of labels")
        if not np.bincount(self.clusters_.indices, minlength=self.clusters_.shape[1]).all():
            raise InvalidInputError("each label must be in a cluster")
        for model, labels in zip(models, sets_in(self.clusters_), strict=True):
            if not len(labels) or (np.diff(labels) <= 0).any() or len(model.label_names_) != len(labels):
                raise InvalidInputError("a model does not fit the labels of its cluster")
            if model.n_features_in_ != self.n_features_in_:
                raise InvalidInputError(f"expected models of {self.n_features_in_} features")
