"""What the other labels of an instance say of a label; see `cofactor.labels.calibration` for the model."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.calibration import context_sums, log_partition, rows_of_logits
from cofactor.labels.decoding import FAR
from cofactor.labels.platt import COARSE, PART, in_double, subsample

__all__ = ["context_rows", "learn_context"]


def context_rows(logits: NDArray[Any]) -> NDArray[np.float64]:
    """Return what `rows_of_logits` says of each row."""
    rows = np.empty((len(logits), 4))
    for here, part in in_double(logits):
        rows_of_logits(part, FAR, rows[here])
    lonely = rows[:, :2] <= -FAR  # no other label
    rows[:, :2][lonely] = 0.0
    return rows


def learn_context(logits: NDArray[Any], labels: sparse.csr_array, w: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Return the weights of the context, by Newton's method; None if they gain too little."""
    rows = context_rows(logits)
    targets = _context_targets(logits, rows, labels, w)
    none = np.array([1.0, 0.0, 0.0, 0.0])
    start = none
    if logits.size > COARSE:
        part, rows_of_part, targets_of_part, w_part = subsample(PART, logits, rows, targets, w)
        start, _, _ = _context_weights(part, rows_of_part, targets_of_part, w_part, none)
    beta, left, hessian = _context_weights(logits, rows, targets, w, start)
    gains = targets @ (beta - none) - w * (_log_partition(logits, rows, beta) - _log_partition(logits, rows, none))
    gains -= np.einsum("ij,ji->i", left, np.linalg.solve(hessian, left.T))  # what a row added to its own gain
    return beta if gains.sum() > np.sqrt(len(gains)) * gains.std() and beta[0] > 0 else None


def _context_weights(
    logits: NDArray[Any],
    rows: NDArray[np.float64],
    targets: NDArray[np.float64],
    w: NDArray[np.float64],
    beta: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Return the weights of the largest likelihood, from a start; the gradient of each row, (n, 4), and the Hessian."""
    for _ in range(15):
        sums, hessian = np.zeros(targets.shape), 1e-3 * np.eye(4)
        for here, part in in_double(logits):
            context_sums(part, rows[here], w[here], beta, FAR, sums[here], hessian)
        left = targets - sums
        step = np.linalg.solve(hessian, left.sum(axis=0))
        beta = beta + step * min(1.0, 1 / np.abs(step).max(initial=1e-300))
        if np.abs(step).max() < 1e-4:
            break
    return beta, left, hessian


def _context_targets(
    logits: NDArray[Any], rows: NDArray[np.float64], labels: sparse.csr_array, w: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return Σ w x over the labels that are on, of each row."""
    row = np.repeat(np.arange(labels.shape[0]), np.diff(labels.indptr))
    z = logits[row, labels.indices].astype(np.float64)
    kept = np.abs(z) < FAR
    row, column, z = row[kept], labels.indices[kept], z[kept]
    other = np.where(column == rows[row, 2], rows[row, 1], rows[row, 0])
    parts = (z, other, rows[row, 3], np.ones(len(row)))
    return np.column_stack([np.bincount(row, w[row] * x, len(rows)) for x in parts])


def _log_partition(logits: NDArray[Any], rows: NDArray[np.float64], beta: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ log(1 + exp(z)) of each row, with z its logits in context."""
    found = np.empty(len(logits))
    for here, part in in_double(logits):
        log_partition(part, rows[here], beta, FAR, found[here])
    return found
