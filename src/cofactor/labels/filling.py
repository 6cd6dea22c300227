r"""Ridge regression of labels of which some are not known.

With :math:`K_{il} = 1` where label l of instance i is known, each label has a regression of its own,

.. math:: \min_{w_l, b_l} \sum_i K_{il} (y_{il} - x_i w_l - b_l)^2 + \alpha \|w_l\|^2

so one decomposition of the features does not serve all labels. It still is a good preconditioner: conjugate gradients
in principal coordinates of the features, scaled as if the unknown labels of each column were spread evenly, converge
in about ten steps, for all labels at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cofactor.chunked import as_dense, batches, is_sparse
from cofactor.labels.class_weights import ClassWeights
from cofactor.labels.leave_one_out import least_error
from cofactor.labels.regression import FeatureSpace
from cofactor.solvers.linear import solve_positive

#: Relative residual at which the regression of a label has converged.
_TOLERANCE = 1e-8

#: For the choice of a penalty: share of the known labels that is hidden, most labels, residual, most steps of 2.2.
_HIDDEN, _CHOOSING, _ROUGH, _FURTHEST = 0.2, 256, 1e-3, 12

_BLOCK = 1 << 23  # numbers of a block of a table


def known_ridge(
    space: FeatureSpace,
    T: Any,
    known: NDArray[np.bool_],
    alpha: float,
    *,
    classes: ClassWeights | None = None,
    tol: float = _TOLERANCE,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Regress each target on the features of the instances for which it is known.

    Parameters
    ----------
    space : FeatureSpace
        The features, with weights of the instances.
    T : ndarray or csr_array of shape (n, k)
        Targets; what they say where they are not known does not count.
    known : ndarray of shape (n, k), bool
        Where targets are known.
    alpha : float
        Weight of the penalty, at least 0.
    classes : ClassWeights, optional
        Weights of instances by target, which then is 0 or 1, beside those of the space.
    tol : float, default=1e-8
        Relative residual of the normal equations at the end.

    Returns
    -------
    coef : ndarray of shape (D, k)
    intercept : ndarray of shape (k,)

    Examples
    --------
    >>> space = FeatureSpace(np.arange(5.0)[:, None])
    >>> T = np.array([[0.0], [2.0], [4.0], [0.0], [8.0]])
    >>> coef, intercept = known_ridge(space, T, np.array([[True], [True], [True], [False], [True]]), 1e-9)
    >>> coef.round(6), intercept.round(6)
    (array([[2.]]), array([0.]))
    """
    (n, D), L = space.shape, T.shape[1]
    root = np.ones(n) if space.weights is None else np.sqrt(space.weights)
    forward, back, squares = space.coordinates()
    penalty = np.full(len(squares), float(alpha))
    if space.fit_intercept:
        forward, back = _with_constant(forward, back, root)
        squares, penalty = np.append(squares, root @ root), np.append(penalty, 0.0)

    def block(some: NDArray[Any], targets: NDArray[np.float64]) -> NDArray[np.float64]:
        shares = (some.T @ root**2) / (root @ root)
        scale = 1 / np.sqrt(np.maximum(np.outer(squares, shares) + penalty[:, None], np.finfo(float).tiny))

        def apply(A: NDArray[np.float64]) -> NDArray[np.float64]:
            A = scale * A
            return np.asarray(scale * (back(forward(A) * some) + penalty[:, None] * A))

        return scale * solve_positive(apply, scale * back(some * np.where(some, targets, 0.0)), tol=tol)

    coef, constant = np.empty((D, L)), np.zeros(L)
    columns = T.tocsc() if is_sparse(T) else T
    for part in _blocks(space, L):
        targets = as_dense(columns[:, part])
        some = known[:, part] if classes is None else known[:, part] * classes.of(targets, part)
        found = block(some, targets * root[:, None])
        if space.fit_intercept:
            constant[part] = found[-1]
        coef[:, part] = space.lift_coordinates(found[: len(found) - space.fit_intercept])
    return coef, constant - space.mean @ coef


def _blocks(space: FeatureSpace, n_labels: int) -> Iterator[slice]:
    """Yield blocks of labels, so that no dense table of all instances and labels is in memory."""
    yield from batches(n_labels, max(1, _BLOCK // max(space.shape)))


def _with_constant(
    forward: Callable[..., Any], back: Callable[..., Any], root: NDArray[np.float64]
) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return the two products with one more coordinate, the last: the intercept."""
    return (
        lambda A: forward(A[:-1]) + np.multiply.outer(root, A[-1]),
        lambda R: np.vstack([back(R), root @ R]),
    )


def known_penalty(
    space: FeatureSpace,
    labels: sparse.csr_array,
    known: NDArray[np.bool_],
    start: float,
    classes: ClassWeights | None = None,
) -> float:
    """Return the penalty with the least squared error on known labels that are hidden, a fifth of them.

    Steps by a factor of 4.6, then of 2.2, are taken from `start` for as long as the error falls. The hidden labels are
    drawn with a fixed seed, of at most 256 labels. A penalty chosen where unknown labels are filled in is too large, or
    too small: what is filled in has less signal, or no noise.

    Parameters
    ----------
    space : FeatureSpace
    labels : csr_array of shape (n, L)
    known : ndarray of shape (n, L), bool
    start : float
        Penalty to begin with, above 0.
    classes : ClassWeights, optional
        As in `known_ridge`; the error is weighted by them too.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> labels = sparse.csr_array((X[:, :1] > 0).astype(float))
    >>> known_penalty(FeatureSpace(X), labels, np.ones((100, 1), dtype=bool), start=1e3) < 100
    True
    """
    rng = np.random.default_rng(0)
    columns = np.sort(rng.permutation(labels.shape[1])[:_CHOOSING])
    labels, known = labels[:, columns], known[:, columns]
    hidden = known & (rng.random(known.shape) < _HIDDEN)
    table = labels.toarray()
    truth = table[hidden]
    if not len(truth):
        return start
    weights = None
    if classes is not None:
        classes = ClassWeights(classes.off[columns], classes.on[columns])
        weights = classes.of(table, slice(None))[hidden]

    def error(place: int) -> float:
        found = known_ridge(space, labels, known & ~hidden, start * 10 ** (place / 3), classes=classes, tol=_ROUGH)
        return float(np.average((space.predict(*found)[hidden] - truth) ** 2, weights=weights))

    return float(start * 10 ** (least_error(error, 0, (-_FURTHEST - 1, _FURTHEST + 1), (2, 1)) / 3))


def fill_labels(
    space: FeatureSpace, labels: sparse.csr_array, known: NDArray[np.bool_], alpha: float
) -> sparse.csr_array:
    """Return labels in which those that are not known are what ridge regression on the known ones says.

    A ridge regression of the result with the same alpha finds the coefficients of `known_ridge` again, since what was
    filled in has no error. It is where filling in and fitting by turns would end.

    Parameters
    ----------
    space : FeatureSpace
    labels : csr_array of shape (n, L)
    known : ndarray of shape (n, L), bool
    alpha : float
        Weight of the penalty.

    Returns
    -------
    csr_array of shape (n, L), float64
        Ones where a label is on, other numbers where it is not known.
    """
    coef, intercept = known_ridge(space, labels, known, alpha)
    parts = []
    for part in _blocks(space, labels.shape[1]):
        filled = space.predict(coef[:, part], intercept[part])
        filled[known[:, part]] = 0
        parts.append(sparse.csr_array(filled))
    return sparse.csr_array(sparse.hstack(parts, format="csr") + labels)
