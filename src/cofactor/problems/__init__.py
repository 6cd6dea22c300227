"""Objectives: a loss plus penalties over a factor structure, packed into one flat vector of parameters."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.problems.attitudes import AttitudeProblem
    from cofactor.problems.group_embedding import GroupEmbeddingProblem
    from cofactor.problems.joint import JointLeastSquaresProblem
    from cofactor.problems.label_sets import LabelSetProblem
    from cofactor.problems.layout import Layout
    from cofactor.problems.least_squares import LeastSquaresProblem
    from cofactor.problems.linked import LinkedProblem
    from cofactor.problems.lowrank import LowRankProblem
    from cofactor.problems.nonnegative import NonnegativeProblem
    from cofactor.problems.nonnegative_table import NonnegativeTableProblem
    from cofactor.problems.observed import ObservedProblem
    from cofactor.problems.part import PartialProblem
    from cofactor.problems.penalized import PenalizedProblem
    from cofactor.problems.profiles import ProfileProblem
    from cofactor.problems.reduced_rank import ReducedRankProblem
    from cofactor.problems.regression import RegressionProblem
    from cofactor.problems.singular import PatchedMatrix, SingularProblem
    from cofactor.problems.tri_factorization import TriFactorizationProblem

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
