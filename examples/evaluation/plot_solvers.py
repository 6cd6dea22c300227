"""
Losses, penalties, solvers
==========================

An objective is a loss plus penalties; a solver minimises it and proves how close it came.
"""

# %%
# The objective of ridge regression, as a solver sees one: a value with its gradient.

import numpy as np

from cofactor.penalties import L2

rng = np.random.default_rng(0)
A, b = rng.normal(size=(200, 50)) * np.logspace(0, -1.5, 50), rng.normal(size=200)
penalty = L2(0.1)


class Ridge:
    """½ ‖A x - b‖² + penalty: all that a solver needs of a smooth objective."""

    dtype, smooth, size = np.dtype(float), True, 50

    def value_gradient(self, x, gradient):
        """Return the value at x, and write its gradient."""
        rest = A @ x - b
        gradient[:] = A.T @ rest
        return 0.5 * float(rest @ rest) + penalty.add_gradient(x, gradient)

    def nonsmooth_value(self, x):
        """Return the part without a gradient: there is none."""
        return 0.0

    def certificate(self, x, gradient):
        """Return the distance from stationarity."""
        return float(np.abs(gradient).max())


# %%
from cofactor.solvers import Problem, Progress, Result, conjugate_gradient, gradient_descent, lbfgs

problem: Problem = Ridge()
results: dict[str, Result] = {
    name: solver(problem, np.zeros(50), max_iter=300, tol=1e-10)
    for name, solver in {
        "L-BFGS": lbfgs,
        "conjugate gradients": conjugate_gradient,
        "gradient descent": gradient_descent,
    }.items()
}
for name, result in results.items():
    print(f"{name:18} {result.objective:.6f} after {result.n_iter} iterations, {result.message}")

# %%
import matplotlib.pyplot as plt

best = min(result.objective for result in results.values())
fig, ax = plt.subplots(figsize=(6, 3.5))
for name, result in results.items():
    ax.semilogy(np.maximum(np.asarray(result.history) - best, 1e-12), label=name)
ax.set(xlabel="iterations", ylabel="objective above the best")
ax.legend()
fig.tight_layout()

# %%
# A callback sees how far a solver is, and ends it by returning True.


def enough(progress: Progress) -> bool:
    """End after ten iterations."""
    return progress.iteration >= 10


print(lbfgs(problem, np.zeros(50), callback=enough).message)

# %%
# A penalty without a gradient needs proximal steps. With them most of the coefficients are 0.

from cofactor.penalties import L1
from cofactor.solvers import SolverMismatchError, alternating_least_squares, proximal_gradient

sparse = L1(1.0)


class Lasso(Ridge):
    """½ ‖A x - b‖² + ½ · 0.1 ‖x‖² + ‖x‖₁."""

    smooth = False

    def nonsmooth_value(self, x):
        """Return the part without a gradient."""
        return sparse.value(x)

    def prox(self, x, step, out):
        """Write its proximal map."""
        out[:] = sparse.prox(x, step)


found = proximal_gradient(Lasso(), np.zeros(50))
print(f"{np.count_nonzero(found.x)} of 50 coefficients are not 0")

# %%
# Solvers say what they need before the first iteration.

try:
    alternating_least_squares(Lasso(), np.zeros(50))
except SolverMismatchError as error:
    print(error)
