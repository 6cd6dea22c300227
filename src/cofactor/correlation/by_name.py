"""Measures of how labels go together, by the names that estimators take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from cofactor.checks import check_choice
from cofactor.correlation.checks import Floats, as_labels
from cofactor.correlation.conditional import likelihood_gain, partial_correlation
from cofactor.correlation.dependence import chi_squared, mutual_information, squared_pearson
from cofactor.correlation.relevance import feature_correlation
from cofactor.correlation.similarities import cosine, jaccard, pearson
from cofactor.errors import InvalidInputError
from cofactor.weights import as_weights, relative_weights

__all__ = ["LABEL_MEASURES", "MEASURES", "measured"]

#: Measures that look at labels alone.
LABEL_MEASURES: dict[str, Callable[..., Floats]] = {
    "pearson": pearson,
    "cosine": cosine,
    "jaccard": jaccard,
    "squared-pearson": squared_pearson,
    "mutual-information": mutual_information,
    "chi-squared": chi_squared,
}

#: Measures that look at the features too.
_CONDITIONAL: dict[str, Callable[..., Floats]] = {
    "feature-correlation": feature_correlation,
    "partial-correlation": partial_correlation,
    "likelihood-gain": likelihood_gain,
}

#: Names of all measures.
MEASURES: tuple[str, ...] = (*LABEL_MEASURES, *_CONDITIONAL)


def measured(measure: str, X: Any, Y: Any, sample_weight: ArrayLike | None = None) -> Floats:
    """Return a measure of each pair of labels, by its name.

    Parameters
    ----------
    measure : str
        One of `MEASURES`.
    X : array-like, or sparse array or matrix, of shape (n, D)
        Features, for those measures that look at them; others take None.
    Y : array-like, or sparse array or matrix, of shape (n, L)
        0 and 1.
    sample_weight : array-like of shape (n,), optional
        Weights of the instances, at least 0, of which only the ratios count: the penalties of those measures that have
        one stand beside weights of mean 1.

    Returns
    -------
    ndarray of shape (L, L)

    Examples
    --------
    >>> import numpy as np
    >>> measured("chi-squared", None, np.array([[0, 0], [1, 1], [0, 0], [1, 1]]))
    array([[0., 4.],
           [4., 0.]])
    """
    check_choice("measure", measure, MEASURES)
    if measure in LABEL_MEASURES:
        return LABEL_MEASURES[measure](as_labels(Y), sample_weight)
    if X is None:
        raise InvalidInputError(f"{measure!r} looks at the features of the instances", argument="X", found=None)
    if sample_weight is not None:
        sample_weight = relative_weights(as_weights(sample_weight, as_labels(Y).shape[0]))
    return _CONDITIONAL[measure](X, Y, sample_weight=sample_weight)
