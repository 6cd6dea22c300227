"""Objectives: a loss plus penalties over a factor structure, packed into one flat vector of parameters."""

from cofactor.problems.layout import Layout
from cofactor.problems.least_squares import LeastSquaresProblem
from cofactor.problems.lowrank import LowRankProblem
from cofactor.problems.observed import ObservedProblem

__all__ = ["Layout", "LeastSquaresProblem", "LowRankProblem", "ObservedProblem"]
