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
from cofactor.solvers import gradient_descent, lbfgs

results = {
    "L-BFGS": lbfgs(Ridge(), np.zeros(50), max_iter=300, tol=1e-10),
    "gradient descent": gradient_descent(Ridge(), np.zeros(50), max_iter=300, tol=1e-10),
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
