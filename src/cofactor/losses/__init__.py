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
    from cofactor.losses.base import EntryLoss as EntryLoss
    from cofactor.losses.base import LossArrays as LossArrays
    from cofactor.losses.binary import MARGIN_LOSSES as MARGIN_LOSSES
    from cofactor.losses.binary import Hinge as Hinge
    from cofactor.losses.binary import Logistic as Logistic
    from cofactor.losses.binary import MarginLoss as MarginLoss
    from cofactor.losses.binary import ModifiedSquare as ModifiedSquare
    from cofactor.losses.binary import SmoothHinge as SmoothHinge
    from cofactor.losses.binary import ZeroOne as ZeroOne
    from cofactor.losses.ordinal import AllThreshold as AllThreshold
    from cofactor.losses.ordinal import ImmediateThreshold as ImmediateThreshold
    from cofactor.losses.ordinal import Proximal as Proximal
    from cofactor.losses.ordinal import ToPlanes as ToPlanes
    from cofactor.losses.real import BetaDivergence as BetaDivergence
    from cofactor.losses.real import ItakuraSaito as ItakuraSaito
    from cofactor.losses.real import KullbackLeibler as KullbackLeibler
    from cofactor.losses.real import LogisticSquared as LogisticSquared
    from cofactor.losses.real import Squared as Squared


__getattr__, __dir__, __all__ = exports(__name__)
