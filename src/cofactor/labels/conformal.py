r"""Sets of labels with a stated coverage, by conformal prediction.

The labels of an instance whose calibrated probability is at least a cut t form a set. With m held-out instances, i of
which has the labels :math:`y_i` on, t is the largest cut with

.. math:: \frac{1}{m + 1} \Bigl(1 + \sum_i \ell_i(t)\Bigr) \le 1 - \text{coverage}

where :math:`\ell_i` is 1 if a label of :math:`y_i` is below t, or the share of its labels that are. For a new
instance drawn like these, :math:`\ell` is then at most 1 - coverage on average. A label that is on for held-out
instances alone counts as missed by any cut, as labels of new instances are of which the training data have none.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.errors import Argument, InvalidInputError
from cofactor.labels.decoding import AUTO, FAR

__all__ = ["COVERS", "STEPS", "learn_set_cuts", "require_set_cuts"]

#: What a set may cover, in the order of the rows of cuts.
COVERS = ("all", "share")

#: Cuts are learned for shares 0, 1 / STEPS, ... 1 of what may be missed.
STEPS = 1000

_EVERY = FAR / 2  # beyond all logits but those of constant labels


def learn_set_cuts(logits: NDArray[Any], on: sparse.csr_array, w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the cuts of logits by what the sets cover and how much they may miss, shape (2, STEPS + 1).

    Parameters
    ----------
    logits : ndarray of shape (n, L)
        Calibrated, of held-out instances; ±1e9 for labels that were constant where the model learned.
    on : csr_array of shape (n, L)
        1 where a label is on. Where that is not known, the chance that it is; losses are expected ones then, as if
        these labels were independent.
    w : ndarray of shape (n,)
        Weights of the instances, of mean 1.

    Examples
    --------
    >>> logits, on = np.linspace(-3, 3, 99)[:, None], sparse.csr_array(np.ones((99, 1)))
    >>> learn_set_cuts(logits, on, np.ones(99))[:, 100].round(2)  # nine of the 99 may be missed
    array([-2.45, -2.45])
    """
    n = len(logits)
    rows = np.repeat(np.arange(n), np.diff(on.indptr))
    z = np.clip(logits[rows, on.indices].astype(np.float64), -_EVERY, _EVERY)
    order = np.lexsort((z, rows))
    z, p = z[order], on.data[order].astype(np.float64)
    left = np.log(np.maximum(1 - p, 1e-300))
    before = np.cumsum(left) - left
    before -= before[on.indptr[rows]]  # of the labels of the row whose logits are lower
    missed_first = w[rows] * np.exp(before) * p
    share = w[rows] * p / np.bincount(rows, p, n)[rows]
    return np.array([_cuts(z, missed_first, w), _cuts(z, share, w)])


def _cuts(z: NDArray[np.float64], loss: NDArray[np.float64], w: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest cuts for what may be missed, where all z below a cut are missed, each with its loss."""
    order = np.argsort(z, kind="stable")
    z, missed = np.append(z[order], _EVERY), np.cumsum(loss[order])
    heaviest = float(w.max(initial=0.0))  # the new instance may weigh as much
    allowed = np.arange(STEPS + 1) / STEPS * (float(w.sum()) + heaviest) - heaviest
    cuts = z[np.searchsorted(missed, allowed * (1 + 1e-12), side="right")]
    return np.where(allowed < 0, -_EVERY, cuts)


def require_set_cuts(model: Any, argument: str) -> None:
    """Refuse a fitted model that has learned no cuts for sets of a stated coverage."""
    if np.all(model.constant_):
        raise InvalidInputError("all labels were constant in training, so that no sets were learned", argument=argument)
    if model.calibration_ is None or model.calibration_.set_cuts is None:
        raise InvalidInputError(
            f"this {type(model).__name__} has learned no probabilities from held-out instances",
            argument=argument,
            advice=("fit it with ", Argument("threshold", AUTO)),
        )
