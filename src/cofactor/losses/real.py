"""Losses between a real target y and its estimate x (Kumar's thesis, section 2.2.3; numbers in brackets are its)."""

from abc import abstractmethod
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import expit

from cofactor.errors import InvalidInputError
from cofactor.losses.base import EntryLoss, LossArrays
from cofactor.losses.binary import row_losses


class _Pointwise(EntryLoss):
    """A loss l(y, x) of one target and one score."""

    smooth = True
    target: ClassVar[Literal["sign", "ordinal", "real", "nonneg"]] = "nonneg"

    @abstractmethod
    def value(self, y: Any, x: Any) -> np.ndarray:
        """Return the loss of targets `y` and scores `x`, elementwise."""

    @abstractmethod
    def derivative(self, y: Any, x: Any) -> np.ndarray:
        """Return the derivative by the score, elementwise."""

    @abstractmethod
    def curvature(self, y: Any, x: Any) -> np.ndarray:
        """Return the second derivative by the score, elementwise."""

    def evaluate(self, lo: int, hi: int, arrays: LossArrays) -> None:
        entries = slice(arrays.indptr[lo], arrays.indptr[hi])
        y, x = arrays.targets[entries], arrays.scores[entries]
        losses, slopes = self.value(y, x), self.derivative(y, x)
        arrays.weigh(lo, hi, losses, slopes)
        arrays.d_scores[entries] = slopes
        row_losses(lo, hi, arrays.indptr, losses, arrays.losses)


class Squared(_Pointwise):
    """Squared loss: l(y, x) = (y - x)² (2.9).

    Examples
    --------
    >>> float(Squared().value(3.0, 1.0))
    4.0
    """

    convex = True
    curvature_bound = 2.0
    target: ClassVar[Literal["sign", "ordinal", "real", "nonneg"]] = "real"

    def value(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        with np.errstate(over="ignore"):  # in float32, above 3.4e38: at +∞ a line search takes a shorter step
            return np.asarray(np.square(np.subtract(y, x)))

    def derivative(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        return np.asarray(2 * np.subtract(x, y))

    def curvature(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        return np.full_like(np.subtract(x, y), 2)


class LogisticSquared(_Pointwise):
    """Squared loss of a score mapped into an interval: l(y, x) = (y - g(x))².

    g(x) = low + (high - low) / (1 + e^-(x + o)). Not convex: far from the target its slope vanishes.

    Parameters
    ----------
    low, high : float
        Ends of the interval.
    offset : float, default=0.0
        The score o that is added before mapping.

    Examples
    --------
    >>> float(LogisticSquared(1.0, 5.0).value(5.0, 0.0))
    4.0
    """

    convex = False
    curvature_bound = None
    target: ClassVar[Literal["sign", "ordinal", "real", "nonneg"]] = "real"

    def __init__(self, low: float, high: float, offset: float = 0.0) -> None:
        if not low < high:
            raise InvalidInputError(f"low={low!r}, high={high!r}: the interval must have a length above 0")
        self.low, self.high, self.offset = float(low), float(high), float(offset)

    def estimate(self, x: Any) -> np.ndarray:
        """Return g(x)."""
        return np.asarray(self.low + (self.high - self.low) * expit(np.add(x, self.offset)))

    def value(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        return np.asarray(np.square(np.subtract(y, self.estimate(x))))

    def derivative(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        return np.asarray(2 * (self.estimate(x) - y) * self._slope(x))

    def curvature(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        p = expit(np.add(x, self.offset))
        slope = self._slope(x)
        return np.asarray(2 * slope * (slope + (self.estimate(x) - y) * (1 - 2 * p)))

    def _slope(self, x: Any) -> np.ndarray:
        p = expit(np.add(x, self.offset))
        return np.asarray((self.high - self.low) * p * (1 - p))


class BetaDivergence(_Pointwise):
    """β-divergence of positive scores from targets which are not negative (2.12).

    l(y, x) = y^β / (β (β - 1)) + x^β / β - y x^(β-1) / (β - 1); its limits are `KullbackLeibler` at β = 1 and
    `ItakuraSaito` at β = 0; β = 2 is half the squared loss. The derivative is x^(β-2) (x - y) for every β.
    A score of 0 or less has the loss +∞, so a line search takes a shorter step.

    Parameters
    ----------
    beta : float, default=1.5
        The order β >= 0.

    Examples
    --------
    >>> float(BetaDivergence(2.0).value(3.0, 1.0))
    2.0
    """

    def __init__(self, beta: float = 1.5) -> None:
        if not beta >= 0:
            raise InvalidInputError(
                "the order of a β-divergence must be a number of at least 0", argument="beta", found=beta
            )
        self.beta = float(beta)
        self.convex = 1 <= beta <= 2  # type: ignore[misc]
        self.curvature_bound = 1.0 if beta == 2 else None

    def value(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        y, x, inside = _positive(y, x)
        with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
            loss = self._formula(y, x)
        # Where powers overflow the loss is +∞, also where it is a difference of two of them.
        return np.where(inside & ~np.isnan(loss), loss, np.inf)

    def _formula(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        if self.beta == 0:
            ratio = y / x
            return np.asarray(ratio - np.log(ratio) - 1)
        if self.beta == 1:  # 0 log 0 = 0
            return np.asarray(y * np.log(np.where(y > 0, y, 1) / x) - y + x)
        b = self.beta
        return np.asarray(y**b / (b * (b - 1)) + x**b / b - y * x ** (b - 1) / (b - 1))

    def derivative(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        y, x, _ = _positive(y, x)
        with np.errstate(over="ignore"):
            return np.asarray(x ** (self.beta - 2) * (x - y))

    def curvature(self, y: Any, x: Any) -> np.ndarray:  # noqa: D102
        y, x, _ = _positive(y, x)
        b = self.beta
        with np.errstate(over="ignore"):
            return np.asarray((b - 1) * x ** (b - 2) - (b - 2) * y * x ** (b - 3))


def _positive(y: Any, x: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return targets, scores raised to at least 1e-12 so that powers stay finite, and where scores are above 0."""
    x = np.asarray(x)
    x = x if x.dtype.kind == "f" else x.astype(float)
    y = np.asarray(y, dtype=x.dtype)
    inside = x > 0
    return y, np.maximum(x, x.dtype.type(1e-12)), inside


class KullbackLeibler(BetaDivergence):
    """Kullback–Leibler divergence: l(y, x) = y ln(y/x) - y + x (2.10), for x > 0.

    Examples
    --------
    >>> float(KullbackLeibler().value(0.0, 2.0))
    2.0
    """

    convex = True

    def __init__(self) -> None:
        super().__init__(1.0)


class ItakuraSaito(BetaDivergence):
    """Itakura–Saito divergence: l(y, x) = y/x - ln(y/x) - 1, for y, x > 0.

    (2.11) and the third case of (2.12) print a factor y before the logarithm; without it the loss is the limit
    β → 0 of the first case, has its minimum 0 at x = y, and does not change when both are scaled.

    Examples
    --------
    >>> float(ItakuraSaito().value(3.0, 3.0))
    0.0
    """

    convex = False

    def __init__(self) -> None:
        super().__init__(0.0)
