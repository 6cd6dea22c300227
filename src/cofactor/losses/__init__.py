"""Losses between a target and a real-valued score: pointwise mathematics, nothing else.

Three families (Kumar's thesis, section 2.2): `binary` (margin losses of z = y·x, y = ±1), `ordinal` (levels 1..R, by
thresholds on the real line) and `real` (squared error and divergences). Every loss states its properties as attributes:
`smooth`, `convex`, `curvature_bound` (a bound of the second derivative, None where there is none) and `target` ("sign",
"ordinal", "real", "nonneg").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.losses.base import EntryLoss, Work
    from cofactor.losses.binary import (
        MARGIN_LOSSES,
        Hinge,
        Logistic,
        MarginLoss,
        ModifiedSquare,
        SmoothHinge,
        ZeroOne,
    )
    from cofactor.losses.ordinal import AllThreshold, ImmediateThreshold, Proximal, ToPlanes
    from cofactor.losses.real import BetaDivergence, ItakuraSaito, KullbackLeibler, LogisticSquared, Squared

__all__ = [
    "MARGIN_LOSSES",
    "AllThreshold",
    "BetaDivergence",
    "EntryLoss",
    "Hinge",
    "ImmediateThreshold",
    "ItakuraSaito",
    "KullbackLeibler",
    "Logistic",
    "LogisticSquared",
    "MarginLoss",
    "ModifiedSquare",
    "Proximal",
    "SmoothHinge",
    "Squared",
    "ToPlanes",
    "Work",
    "ZeroOne",
]

__getattr__, __dir__ = exports(__name__)
