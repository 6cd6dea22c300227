"""Objectives: a loss plus penalties over a factor structure, packed into one flat vector of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.problems.base import Layout, PartialProblem, PenalizedProblem
    from cofactor.problems.joint import JointLeastSquaresProblem, LinkedProblem
    from cofactor.problems.label_sets import LabelSetProblem
    from cofactor.problems.least_squares import LeastSquaresProblem
    from cofactor.problems.lowrank import LowRankProblem, ReducedRankProblem
    from cofactor.problems.nonnegative import NonnegativeProblem, NonnegativeTableProblem, TriFactorizationProblem
    from cofactor.problems.observed import ObservedProblem
    from cofactor.problems.profiles import AttitudeProblem, ProfileProblem
    from cofactor.problems.regression import GroupEmbeddingProblem, RegressionProblem
    from cofactor.problems.singular import PatchedMatrix, SingularProblem

__all__ = [
    "AttitudeProblem",
    "GroupEmbeddingProblem",
    "JointLeastSquaresProblem",
    "LabelSetProblem",
    "Layout",
    "LeastSquaresProblem",
    "LinkedProblem",
    "LowRankProblem",
    "NonnegativeProblem",
    "NonnegativeTableProblem",
    "ObservedProblem",
    "PartialProblem",
    "PatchedMatrix",
    "PenalizedProblem",
    "ProfileProblem",
    "ReducedRankProblem",
    "RegressionProblem",
    "SingularProblem",
    "TriFactorizationProblem",
]

__getattr__, __dir__ = exports(__name__)
