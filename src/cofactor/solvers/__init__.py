"""Solvers: each minimises a problem, knows nothing of ratings or labels, and never prints.

A problem has `value_gradient(x, gradient)`, `certificate(x, gradient)`, `size`, `dtype`, `smooth` and, for solvers with
proximal steps, `nonsmooth_value(x)` and `prox(x, step, out)`. It may have `inverse_curvatures(x)`, which solvers scale
their steps by, and `rotate(x)`, which moves to coordinates where this works better. All solvers are called alike:
`solver(problem, x0, max_iter=..., tol=..., callback=...) -> Result`.
"""

from collections.abc import Callable

from cofactor.solvers.apg import proximal_gradient
from cofactor.solvers.descent import alternating_least_squares
from cofactor.solvers.gradient import conjugate_gradient, gradient_descent
from cofactor.solvers.lbfgs import lbfgs
from cofactor.solvers.result import Problem, Progress, Result, SolverMismatchError

#: Solvers for problems in one flat vector, by the names that estimators take.
SOLVERS: dict[str, Callable[..., Result]] = {
    "lbfgs": lbfgs,
    "cg": conjugate_gradient,
    "gd": gradient_descent,
    "apg": proximal_gradient,
}

__all__ = [
    "SOLVERS",
    "Problem",
    "Progress",
    "Result",
    "SolverMismatchError",
    "alternating_least_squares",
    "conjugate_gradient",
    "gradient_descent",
    "lbfgs",
    "proximal_gradient",
]
