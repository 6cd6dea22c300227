"""Synthetic labels whose groups, correlations and low-rank structure are known."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from cofactor.checks import check_number, make_generator
from cofactor.datasets.readers.matrices import generic_names, small_indices
from cofactor.datasets.types import LabelDataset
from cofactor.errors import Argument, InvalidInputError
from cofactor.typing import LABEL_DTYPE, RandomState

__all__ = ["LabelTruth", "make_labels"]


@dataclass(frozen=True, eq=False)
class LabelTruth:
    """What `make_labels` knows about its labels.

    Parameters
    ----------
    groups : ndarray of shape (L,), int64
        Group of each label.
    correlations : ndarray of shape (L, L), float64
        Correlation of the scores of two labels before noise; 0 between groups.
    coef : ndarray of shape (D, L), float64
        Linear map from features to scores, of rank ``n_groups * n_factors``.
    thresholds : ndarray of shape (L,), float64
        Label l is on where ``(X @ coef)[:, l]``, with noise, exceeds ``thresholds[l]``.

    Examples
    --------
    >>> from cofactor.datasets import make_labels
    >>> data, truth = make_labels(50, 12, 4, n_groups=2, random_state=0)
    >>> truth.groups.tolist()
    [0, 1, 0, 1]
    """

    groups: NDArray[np.int64]
    correlations: NDArray[np.float64]
    coef: NDArray[np.float64]
    thresholds: NDArray[np.float64]


def make_labels(
    n_instances: int = 1000,
    n_features: int = 100,
    n_labels: int = 20,
    *,
    n_groups: int = 4,
    n_factors: int = 3,
    correlation: float = 0.6,
    cardinality: float = 2.0,
    tail: float = 0.0,
    noise: float = 0.1,
    density: float = 1.0,
    random_state: RandomState = None,
) -> tuple[LabelDataset, LabelTruth]:
    r"""Sample features, and labels which depend on them through few factors, in groups.

    .. math::
        S = \sqrt{1-\nu}\, X A B + \sqrt{\nu}\, E, \qquad Y_{il} = 1 \iff S_{il} > \theta_l

    where A maps the features to uncorrelated factors of variance 1, ``n_factors`` for each group of labels, E is
    standard normal, and column l of B is :math:`\sqrt{\rho}\, c_g + \sqrt{1-\rho}\, e_l`, with :math:`c_g` the first
    factor of the group of l and :math:`e_l` a random unit vector in the other ones. So scores of labels of one group
    have the correlation :math:`\rho + (1-\rho)\, e_l \cdot e_m`, those of different groups are independent, and XAB has
    rank ``n_groups * n_factors``.

    Parameters
    ----------
    n_instances, n_features, n_labels : int, default 1000, 100, 20
        N, D and L.
    n_groups : int, default 4
        Number of groups; label l is in group ``l % n_groups``, so that sizes differ by 1 at most.
    n_factors : int, default 3
        Factors of each group; ``n_groups * n_factors`` must not exceed D. With 1, all labels of a group have the same
        score before noise.
    correlation : float, default 0.6
        ρ, 0 to 1.
    cardinality : float, default 2.0
        Mean number of labels of an instance.
    tail : float, default 0.0
        Frequencies fall as (rank of the label)^-tail, as in texts, where many labels are rare; with 0 all are equal.
        The ranks of the labels are random.
    noise : float, default 0.1
        ν, share of the variance of S which features do not explain, 0 to 1.
    density : float, default 1.0
        Share of nonzeros in X. Below 1, X is a CSR array of independent entries, uniform on (0, 1) where they are not
        0; with 1 it is dense, of standard normal entries.
    random_state : int, Generator, RandomState or None
        Seed; the same seed gives the same data for a fixed number of BLAS threads.

    Returns
    -------
    data : LabelDataset
        Each label is on in the ``round(N * frequency)`` instances with the highest scores.
    truth : LabelTruth
        Groups, correlations, coefficients and thresholds.

    Raises
    ------
    TypeError, ValueError
        If an argument is no integer or out of range.

    Examples
    --------
    >>> from cofactor.datasets import make_labels
    >>> data, truth = make_labels(200, 30, 6, n_groups=2, random_state=0)
    >>> data
    LabelDataset('synthetic': 200 instances, 30 features, 6 labels, 2.010 labels per instance, dense)
    >>> truth.groups.tolist()
    [0, 1, 0, 1, 0, 1]
    """
    _check(n_instances, n_features, n_labels, n_groups, n_factors)
    _check_shares(correlation, noise, density)
    rng = make_generator(random_state)
    frequencies = _frequencies(rng, n_labels, cardinality, tail)
    X, deviation = _features(rng, n_instances, n_features, density)
    groups = np.arange(n_labels) % n_groups
    A = np.linalg.qr(rng.standard_normal((n_features, n_groups * n_factors)))[0]
    B = _directions(rng, groups, n_groups, n_factors, correlation)
    coef = A @ B / deviation
    scores = np.asarray(X @ coef)
    scores -= scores.mean(axis=0)
    noisy = np.sqrt(1 - noise) * scores + np.sqrt(noise) * rng.standard_normal(scores.shape)
    Y, cuts = _highest(noisy, np.rint(n_instances * frequencies).astype(np.int64))
    shift = np.asarray(X @ coef).mean(axis=0)
    data = LabelDataset(
        name="synthetic",
        X=X,
        Y=Y,
        feature_names=generic_names("x", n_features),
        label_names=generic_names("y", n_labels),
        description=f"synthetic, {n_groups} groups of labels, of rank {n_groups * n_factors}",
    )
    # Noise has mean 0, so a cut of S is a cut of the scores without noise, up to their scale.
    thresholds = cuts / np.sqrt(1 - noise) + shift if noise < 1 else np.full(n_labels, np.inf)
    return data, LabelTruth(groups, B.T @ B, coef, thresholds)


def _features(rng: np.random.Generator, n: int, D: int, density: float) -> tuple[Any, float]:
    """X with independent entries, and their standard deviation."""
    if density == 1:
        return rng.standard_normal((n, D)), 1.0
    counts = rng.binomial(D, density, size=n)
    columns = [np.sort(rng.choice(D, size=k, replace=False)) for k in counts.tolist()]
    indptr = np.concatenate([[0], np.cumsum(counts)])
    indices = np.concatenate(columns).astype(np.int64)
    X = small_indices(csr_array((1.0 - rng.random(len(indices)), indices, indptr), (n, D)))
    return X, float(np.sqrt(density / 3 - density**2 / 4))


def _directions(
    rng: np.random.Generator, groups: NDArray[np.int64], n_groups: int, k: int, correlation: float
) -> NDArray[np.float64]:
    """Return B: unit columns, where each group of labels has its own rows."""
    B = np.zeros((n_groups, k, len(groups)))
    own = rng.standard_normal((k - 1, len(groups)))
    own /= np.linalg.norm(own, axis=0) if k > 1 else 1.0
    labels = np.arange(len(groups))
    B[groups, 0, labels] = np.sqrt(correlation) if k > 1 else 1.0
    for j in range(1, k):
        B[groups, j, labels] = np.sqrt(1 - correlation) * own[j - 1]
    return B.reshape(n_groups * k, len(groups))


def _frequencies(rng: np.random.Generator, n_labels: int, cardinality: float, tail: float) -> NDArray[np.float64]:
    check_number("tail", tail, low=0)
    weights = np.arange(1.0, n_labels + 1) ** -tail
    frequencies: NDArray[np.float64] = cardinality * weights / weights.sum()
    if cardinality <= 0 or frequencies.max() > 1:
        raise InvalidInputError(
            ("with ", Argument("tail", tail), f" asks for a label in {frequencies.max():.2f} of the instances"),
            argument="cardinality",
            found=cardinality,
            advice="expected a cardinality above 0, and no frequency above 1",
        )
    return rng.permutation(frequencies)


def _highest(scores: NDArray[np.float64], counts: NDArray[np.int64]) -> tuple[csr_array, NDArray[np.float64]]:
    """Labels that are on in the rows with the highest scores, label l in `counts[l]` rows; and the cuts below them."""
    n = len(scores)
    order = np.sort(scores, axis=0)
    labels = np.arange(scores.shape[1])
    below = order[np.clip(n - counts - 1, 0, n - 1), labels]
    above = order[np.clip(n - counts, 0, n - 1), labels]
    cuts = np.where(counts == 0, order[-1], np.where(counts == n, np.nextafter(order[0], -np.inf), (below + above) / 2))
    return small_indices(csr_array((scores > cuts).astype(LABEL_DTYPE))), cuts


def _check(n_instances: int, n_features: int, n_labels: int, n_groups: int, n_factors: int) -> None:
    given = {
        "n_instances": n_instances,
        "n_features": n_features,
        "n_labels": n_labels,
        "n_groups": n_groups,
        "n_factors": n_factors,
    }
    for name, value in given.items():
        check_number(name, value, low=1, whole=True)
    if n_groups > n_labels:
        raise InvalidInputError(
            ("must not exceed ", Argument("n_labels", n_labels)), argument="n_groups", found=n_groups
        )
    if n_groups * n_factors > n_features:
        raise InvalidInputError(
            (f"n_groups * n_factors = {n_groups * n_factors} must not exceed ", Argument("n_features", n_features)),
            argument="n_features",
        )


def _check_shares(correlation: float, noise: float, density: float) -> None:
    for name, value in (("correlation", correlation), ("noise", noise)):
        check_number(name, value, low=0, high=1)
    check_number("density", density, low=0, inclusive=False, high=1)
