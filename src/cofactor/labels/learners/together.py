"""Fitting linear learners of many labels on the same dense features together, a block of labels at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from joblib import delayed
from numpy.typing import NDArray
from scipy import sparse

from cofactor.kernels.threads import library_limit
from cofactor.model.parallel import in_workers, n_side_by_side
from cofactor.solvers.lbfgs import ManyProblems, lbfgs_each

__all__ = ["Together", "is_worth_turning", "solve_blocks", "solve_whole", "together_bytes"]

_LABELS_PER_BLOCK = 64
_MOST_FEATURES, _MOST_CELLS = 3000, 1 << 27
_FEWEST_LABELS = 32  #: with fewer there is little to gain, and those of scikit-learn are known to all
_TURN = 8  #: squared features for a number of the table of scores, up to which it pays to turn the features


class Together(NamedTuple):
    """Coefficients of labels, shape (D, L), intercepts, and how many labels were not finished after the last step."""

    coef: NDArray[np.float64]
    intercept: NDArray[np.float64]
    n_unfinished: int


class _Block(ManyProblems, Protocol):
    """The problems of a block of labels, which know where to start."""

    def start(self) -> NDArray[np.float64]:
        """Return a starting point of each."""


def is_worth_turning(shape: tuple[int, ...], n_labels: int) -> bool:
    """Whether labels are many enough, and the table of features small enough, to turn it and fit labels together."""
    n, D = shape
    return D <= _MOST_FEATURES and n * D <= _MOST_CELLS and _TURN * n * n_labels >= D * D and n_labels >= _FEWEST_LABELS


def together_bytes(shape: tuple[int, ...]) -> int:
    """Return what a fit takes beside the result: the table of features thrice while it is turned."""
    n, D = shape
    return 24 * n * D + 16 * D * D


def solve_blocks(
    made: Callable[[NDArray[np.float64]], _Block],
    labels: sparse.csr_array,
    *,
    max_iter: int,
    tol: float,
    n_jobs: int | None,
    on_label: Callable[[int], object],
    stopped: Callable[[], bool],
) -> tuple[NDArray[np.float64], int]:
    """Return the minimisers of the labels, a row for each, and how many labels were not finished.

    Parameters
    ----------
    made : callable
        Makes problems of a block of labels, (n, B), 0 and 1.
    labels : csr_array of shape (n, L)
    max_iter, tol
        See `lbfgs_each`.
    n_jobs : int, optional
        Number of threads, as in joblib; by default as many as kernels may use.
    on_label, stopped : callable
        Is told how many labels are fitted; says whether those that remain get a single step.
    """
    L, columns = labels.shape[1], sparse.csc_array(labels)
    rows, n_unfinished, done = [], 0, 0

    def tasks() -> Iterator[Any]:
        for lo in range(0, L, _LABELS_PER_BLOCK):
            block = made(columns[:, lo : lo + _LABELS_PER_BLOCK].toarray().astype(np.float64))
            yield delayed(_solved)(block, 1 if stopped() else max_iter, tol)

    with library_limit(1):  # with several threads, sums would depend on the order in which these end
        blocks = n_side_by_side(-(-L // _LABELS_PER_BLOCK), n_jobs)
        for theta, solved in in_workers(tasks(), blocks, backend="threading"):
            rows.append(theta)
            n_unfinished += int(np.count_nonzero(~solved))
            for _ in range(len(theta)):
                done += 1
                on_label(done)
    return np.concatenate(rows), n_unfinished


def solve_whole(
    problem: _Block, *, max_iter: int, tol: float, on_label: Callable[[int], object], stopped: Callable[[], bool]
) -> tuple[NDArray[np.float64], int]:
    """Return what `solve_blocks` returns, of the problems of all labels as one block: where a step takes a pass."""
    theta, solved = _solved(problem, 1 if stopped() else max_iter, tol)
    on_label(len(theta))
    return theta, int(np.count_nonzero(~solved))


def _solved(block: _Block, max_iter: int, tol: float) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return the minimisers of a block, and which labels are finished."""
    theta, _, solved = lbfgs_each(block, block.start(), max_iter=max_iter, tol=tol)
    return theta, solved
