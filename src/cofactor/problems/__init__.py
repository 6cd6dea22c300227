"""Objectives: a loss plus penalties over a factor structure, packed into one flat vector of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.problems.base import Layout as Layout
    from cofactor.problems.base import PartialProblem as PartialProblem
    from cofactor.problems.base import PenalizedProblem as PenalizedProblem
    from cofactor.problems.joint import JointLeastSquaresProblem as JointLeastSquaresProblem
    from cofactor.problems.joint import LinkedProblem as LinkedProblem
    from cofactor.problems.label_sets import LabelSetProblem as LabelSetProblem
    from cofactor.problems.least_squares import LeastSquaresProblem as LeastSquaresProblem
    from cofactor.problems.lowrank import LowRankProblem as LowRankProblem
    from cofactor.problems.lowrank import ReducedRankProblem as ReducedRankProblem
    from cofactor.problems.nonnegative import NonnegativeProblem as NonnegativeProblem
    from cofactor.problems.nonnegative import NonnegativeTableProblem as NonnegativeTableProblem
    from cofactor.problems.nonnegative import TriFactorizationProblem as TriFactorizationProblem
    from cofactor.problems.observed import ObservedProblem as ObservedProblem
    from cofactor.problems.profiles import AttitudeProblem as AttitudeProblem
    from cofactor.problems.profiles import ProfileProblem as ProfileProblem
    from cofactor.problems.regression import GroupEmbeddingProblem as GroupEmbeddingProblem
    from cofactor.problems.regression import RegressionProblem as RegressionProblem
    from cofactor.problems.singular import PatchedMatrix as PatchedMatrix
    from cofactor.problems.singular import SingularProblem as SingularProblem


__getattr__, __dir__, __all__ = exports(__name__)
