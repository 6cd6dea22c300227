"""Alternating least squares where an update raises the objective."""

import numpy as np
import pytest

from cofactor.solvers import alternating_least_squares

from .problems import Function


class Broken(Function):
    """½‖x‖², whose updates multiply x by a factor."""

    def __init__(self, factor: float) -> None:
        super().__init__(3, lambda x: (0.5 * x @ x, x))
        self.factor = factor

    def update_rows(self, x: np.ndarray) -> None:
        x *= self.factor

    def update_columns(self, x: np.ndarray) -> None:
        """Nothing is left to do."""


@pytest.mark.parametrize("factor", [2.0, np.nan])
def test_a_first_round_which_raises_the_objective_is_no_convergence(factor: float) -> None:
    result = alternating_least_squares(Broken(factor), np.ones(3))
    assert not result.converged
    assert "ill-conditioned" in result.message
    assert (result.x.tolist(), result.history, result.certificate) == ([1, 1, 1], [1.5], pytest.approx(np.sqrt(3)))


def test_a_rise_by_rounding_is() -> None:
    result = alternating_least_squares(Broken(1 + 1e-12), np.ones(3))
    assert result.converged
    assert result.message == "no update lowers the objective: working precision reached"
