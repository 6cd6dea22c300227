"""ANMF: labels are factorized without negative numbers, then features with the same coefficients."""

from __future__ import annotations

from typing import Any

import numpy as np

from cofactor.labels.base import CheckedFeatures, FitInput
from cofactor.labels.embedding.nonnegative import NonnegativeModel
from cofactor.labels.features import as_dense
from cofactor.model.estimator import param


class ANMF(NonnegativeModel):
    r"""Non-negative factorization of the labels, then of the features with the same coefficients (asymmetric).

    .. math:: \min_{H, Q \ge 0} \|Y - H Q\|_F^2, \qquad \min_{P \ge 0} \|X - H P\|_F^2, \qquad
        h(x) = \operatorname{argmin}_{h \ge 0} \|x - h P\|^2

    Scores are h(x) Q - ½. `MNMF` factorizes features and labels at once.

    Parameters
    ----------
    n_components : int or float, default=0.5
        Number d of components, or its share of the number of labels, in (0, 1]; at most the rank of the labels. With
        all of them Q is the identity and H is Y: each label has a base of its own. Half of them was more accurate on
        parts of the training instances of emotions and medical.
    max_iter : int, default=300
        Largest number of iterations of the first problem; each goes four times over the coordinates of H, then of Q.
    tol : float, default=1e-4
        Converged when its objective falls by less than this share of itself per iteration, over five iterations.
    {scale}
    {threshold}
        `paper` takes "global".
    {decide_for}
    {random_state}
        It draws the quarter of the instances on which probabilities are learned. The start is not random.
    {callback}
    {verbose}

    Attributes
    ----------
    P_, Q_, shift_, objective_, history_, n_iter_
        See `NonnegativeModel`; the last three are those of the first problem.
    n_features_in_, label_names_, constant_, threshold_
        See `LabelModel`.

    Warns
    -----
    ConvergenceWarning
        If `max_iter` ended the fit, or the coefficients of some instances cannot be found exactly.

    Notes
    -----
    Instances without a label have the coefficients 0, and tell nothing. Scores rank the labels; nothing makes ½ the
    right cut, so a learned one, as by default, does better.

    References
    ----------
    J. C. Caicedo, J. BenAbdallah, F. A. González & O. Nasraoui, "Multimodal representation, indexing, automated
    annotation and retrieval of image collections via non-negative matrix factorization", Neurocomputing 76, 2012,
    doi:10.1016/j.neucom.2011.04.037.

    Examples
    --------
    >>> X = np.repeat([[4.0, 0.0], [0.0, 4.0]], 4, axis=0)
    >>> Y = (X > 1).astype(int)
    >>> ANMF(2, threshold=0, scale="none").fit(X, Y).predict([[3.0, 0.0], [0.0, 5.0]])
    array([[1, 0],
           [0, 1]])
    """

    n_components: int | float = param(default=0.5)

    def _most(self, data: FitInput) -> int:
        return int(data.labels.shape[1])

    def _factorize(self, X: CheckedFeatures, data: FitInput) -> None:
        Y, L = data.labels.astype(np.float64), data.labels.shape[1]
        H: Any = Y
        if self._size(data) == L:
            self.Q_, self.objective_, self.history_, self.n_iter_ = np.eye(L), 0.0, [float(Y.nnz), 0.0], 1
        else:
            H, self.Q_ = self._solved(Y, data)
        self.P_ = self._coefficients(as_dense(H.T @ H), as_dense(X.T @ H)).T.copy()
