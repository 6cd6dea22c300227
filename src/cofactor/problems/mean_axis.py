"""Coordinates of weights of features and a constant one, in which features are centred and penalties are the same."""

import numpy as np

from cofactor.problems.pairs import Floats


class MeanAxis:
    r"""The reflection that turns the mean of features, with a constant one, to the axis of the constant one.

    A penalty of squares, of the constant one's weight too, does not see it. Weights v of features and c of the constant
    one give the scores :math:`x v + c = (x - \bar x) v + l c'` with c' the reflected c, and l the `length` of
    :math:`(\bar x, 1)`: what all instances share is in c' alone, however far from 0 the features are.

    Parameters
    ----------
    mean : ndarray of shape (D,)
        Of the features.

    Examples
    --------
    >>> axis = MeanAxis(np.array([3.0]))
    >>> weights, constant = axis.reflected(np.array([[2.0]]), np.array([1.0]))
    >>> bool(np.isclose(3.0 * 2.0 + 1.0, axis.length * constant[0]))
    True
    """

    def __init__(self, mean: Floats) -> None:
        square = float(mean @ mean)
        self.length = float(np.sqrt(1 + square))
        mirror = np.append(mean, -square / (1 + self.length))  # the mean less the axis, times the length
        size = float(np.linalg.norm(mirror))
        self._mirror = mirror / size if size > 0 else mirror

    def reflected(self, of_features: Floats, of_constant: Floats) -> tuple[Floats, Floats]:
        """Return the reflection of weights (D, r) and (r,); that of the reflection is they themselves."""
        twice = 2 * (self._mirror[:-1] @ of_features + self._mirror[-1] * of_constant)
        return of_features - np.outer(self._mirror[:-1], twice), of_constant - self._mirror[-1] * twice
