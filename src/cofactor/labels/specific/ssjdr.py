"""SSJDR-MLL: codes of instances and classifiers of them, learned together; alike instances have alike codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.checks import AUTO, number, whole
from cofactor.labels.adaptation.neighbours import nearest_rows, warn_of_neighbours
from cofactor.labels.base import Capabilities, CheckedFeatures, TrainingData
from cofactor.labels.embedding.leml import LEML
from cofactor.labels.penalty import penalty
from cofactor.model.estimator import learned, param
from cofactor.penalties import L2, GraphL2, Penalty

_GAMMA = 0.1  #: beside the penalty of U, searched on parts of the training instances


class SSJDR(LEML):
    r"""Joint dimension reduction and multi-label learning: alike instances get alike codes.

    .. math:: \min_{U, V, b} \; \sum_{il} h\bigl(z_{il} (x_i U v_l + b_l)\bigr)
        + \frac{\gamma}{2} \sum_{ij} e_{ij} \|x_i U - x_j U\|^2
        + \frac{\alpha_u}{2} \|U\|_F^2 + \frac{\alpha}{2} \|V\|_F^2, \qquad z_{il} = 2 y_{il} - 1

    with the smooth hinge h, and :math:`e_{ij} = 1` where one of the instances i and j is among the nearest of the
    other, else 0. It is minimised by L-BFGS over all at once. Without the graph, γ = 0, it is `LEML` with
    ``loss="smooth-hinge"``.

    Parameters
    ----------
    n_components : int or float, default=100
        Number d of components, or its share of the number of labels, in (0, 1]; more than labels add nothing.
    alpha : float or "auto", default="auto"
        Weight of the penalty of V, above 0; "auto" as in `LEML`. `paper` takes 1.
    gamma : float or "auto", default="auto"
        Weight of the graph, at least 0. "auto" takes a tenth of `alpha_u` where the squared differences of connected
        instances sum to 1 for each feature on average, and as much less as they are larger. `paper` takes 1.
    alpha_u : float or "auto", default="auto"
        Weight of the penalty of U, above 0; "auto" takes that of V. `paper` takes 0.002.
    n_neighbors : int, default=5
        How many nearest other instances an instance is connected with at least; all, if there are not so many.
    max_iter : int, default=500
        Largest number of iterations.
    tol : float, default=1e-5
        Converged when the objective falls by less than this share of itself per iteration, over five iterations.
    {scale}
    {missing}
    {threshold}
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned.
    {callback}
    {verbose}

    Attributes
    ----------
    gamma_, alpha_u_ : float
        Weights of the graph and of the penalty of U.
    alpha_, U_, V_, intercept_, objective_, history_, certificate_, n_iter_
        See `LEML`.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If the solver stopped at `max_iter`.

    Notes
    -----
    The thesis leaves open how instances are connected, which hinge it is, and what keeps U from growing where the
    graph says nothing of it: without a penalty of U the objective has no minimum, since V may shrink meanwhile. It
    takes d = 100 and γ = 1, and fits V by LIBSVM; here V and U are fitted together. Instances without any known label
    are left out.

    On held-out quarters of training parts of emotions, scene, yeast, cal500 and medical the graph did not help: with
    the weights of "auto" accuracy was within .01 of that without it, with ten times the weight it was lower.

    Finding the neighbours takes O(n² D), or less for sparse X; nothing of shape (n, n) is dense.

    References
    ----------
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, equation (5.15), which is after T. Yu & W. Zhang, "Semisupervised multilabel learning with joint
    dimensionality reduction", IEEE Signal Processing Letters 23(6), 2016, pages 795-799.

    Examples
    --------
    >>> X = np.arange(8.0)[:, None]
    >>> Y = np.hstack([X > 3, X > 3, X < 4])
    >>> SSJDR(2, 0.1, n_neighbors=1).fit(X, Y).predict([[0.0], [7.0]]).astype(int)
    array([[0, 0, 1],
           [1, 1, 0]])
    """

    n_components: int | float = param(default=100)
    gamma: float | str = param(penalty(), default="auto", kw_only=False)
    alpha_u: float | str = param(penalty(inclusive=False), default="auto")
    n_neighbors: int = param(whole(), default=5)

    gamma_: float = learned(check=number(low=0))
    alpha_u_: float = learned(check=number(low=0))

    _paper: ClassVar[Mapping[str, Any]] = {"n_components": 100, "gamma": 1.0, "alpha_u": 0.002}
    loss = "smooth-hinge"
    solver = "lbfgs"
    fit_intercept = True

    def _capabilities(self) -> Capabilities:
        return replace(super()._capabilities(), weights="whole")  # repeated instances are neighbours of each other

    def _penalties(self, data: TrainingData, ridge: L2) -> dict[str, Penalty]:
        X = data.features
        warn_of_neighbours(self, data.n_instances)
        laplacian = graph_laplacian(X, int(self.n_neighbors))
        self.alpha_u_ = self.alpha_ if self.alpha_u == AUTO else float(self.alpha_u)
        if self.gamma == AUTO:
            spread = float((X * (laplacian @ X)).sum())
            self.gamma_ = _GAMMA * self.alpha_u_ * X.shape[1] / spread if spread > 0 else 0.0
        else:
            self.gamma_ = float(self.gamma)
        return {"U": GraphL2(self.alpha_u_, self.gamma_, X, laplacian), "V": ridge}

    def _resolved_params(self) -> dict[str, Any]:
        return {**super()._resolved_params(), "gamma": self.gamma_, "alpha_u": self.alpha_u_}


def graph_laplacian(X: CheckedFeatures, n_neighbors: int) -> sparse.csr_array:
    """Return diag(E 1) - E, where E connects each row with its nearest others, and with those it is nearest to.

    Examples
    --------
    >>> graph_laplacian(np.array([[0.0], [1.0], [3.0]]), 1).toarray()
    array([[ 1., -1.,  0.],
           [-1.,  2., -1.],
           [ 0., -1.,  1.]])
    """
    n = X.shape[0]
    k = min(n_neighbors, n - 1)
    near = nearest_rows(X, X, k, exclude_self=True)
    E = sparse.csr_array((np.ones(n * k), near.ravel(), np.arange(0, n * k + 1, k or 1)[: n + 1]), shape=(n, n))
    E = E.maximum(E.T)
    degree: NDArray[Any] = np.asarray(E.sum(axis=1)).ravel()
    return sparse.csr_array(sparse.diags_array(degree) - E)
