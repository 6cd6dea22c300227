"""A fit that ended too early says why, and what helps."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from cofactor.model.convergence import warn_if_unfinished
from cofactor.solvers.result import Result, Trace

MODEL = SimpleNamespace(max_iter=3, tol=1e-4)


def ended(*objectives: float) -> Result:
    """Return the result of a run with these objectives."""
    problem = SimpleNamespace(certificate=lambda x, gradient: 0.5)
    trace = Trace(problem, MODEL.max_iter, MODEL.tol)
    trace.start(objectives[0])
    for objective in objectives[1:]:
        if trace.done(objective):
            break
    return trace.result(np.zeros(1), np.zeros(1))


def test_too_few_iterations() -> None:
    with pytest.warns(ConvergenceWarning, match=r"stopped after 3 iterations before .* raise max_iter, now 3, or tol"):
        warn_if_unfinished(ended(9.0, 7.0, 5.0, 3.0), MODEL)


def test_more_iterations_are_not_advised_where_they_do_not_help() -> None:
    with pytest.warns(ConvergenceWarning, match="PMF stopped after 2 iterations, since the objective is nan") as found:
        warn_if_unfinished(ended(9.0, 7.0, np.nan), MODEL, name="PMF")
    assert "max_iter" not in str(found[0].message)
