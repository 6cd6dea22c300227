"""What all solvers share: the interface of problems, progress, results, and the stopping rule."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from cofactor.errors import InvalidInputError


class SolverMismatchError(InvalidInputError):
    """A solver was given a problem which lacks what it needs."""


class Problem(Protocol):
    """What a solver needs of a problem."""

    dtype: np.dtype
    smooth: bool

    @property
    def size(self) -> int:
        """Number of parameters."""

    def value_gradient(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the smooth part of the objective and write its gradient."""

    def nonsmooth_value(self, x: np.ndarray) -> float:
        """Return the part without a gradient."""

    def prox(self, x: np.ndarray, step: float, out: np.ndarray) -> None:
        """Write the proximal map of the part without a gradient."""

    def certificate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Return the distance from stationarity."""


@dataclass(frozen=True)
class Progress:
    """How far a solver is: what callbacks are given.

    Attributes
    ----------
    iteration, max_iter : int
        Iterations done and allowed; or labels fitted, or candidates tried, and how many there are at most.
    objective : float
        Objective at the current point.
    elapsed : float
        Seconds since the solver began.
    stage : str
        Which problem is being solved, where a fit solves several.
    """

    iteration: int
    max_iter: int
    objective: float
    elapsed: float
    stage: str = ""


#: Called with progress; what returns True asks the solver, or sampler, to stop.
Callback = Callable[[Progress], object]


def asks_to_stop(answer: object) -> bool:
    """Whether a callback returned True: not just anything that counts as true, as what ``file.write`` returns does.

    Examples
    --------
    >>> asks_to_stop(True), asks_to_stop(np.float64(2) > 1), asks_to_stop(None), asks_to_stop(7)
    (True, True, False, False)
    """
    return isinstance(answer, bool | np.bool_) and bool(answer)


@dataclass
class Result:
    """Outcome of a minimisation.

    Attributes
    ----------
    x : ndarray
        The point with the lowest objective found.
    objective : float
        Objective at `x`.
    history : list of float
        Objective at the start and after every iteration; it never rises.
    seconds : list of float
        Seconds since the start, one for each entry of `history`.
    n_iter, n_evaluations : int
        Iterations, and evaluations of value and gradient.
    converged : bool
        Whether the stopping rule was met within `max_iter`.
    certificate : float
        Distance from stationarity at `x`: the norm of the gradient where the problem is smooth.
    message : str
        Why it stopped.
    stopped : bool
        Whether the callback asked for it.
    """

    x: np.ndarray
    objective: float
    history: list[float]
    seconds: list[float]
    n_iter: int
    n_evaluations: int
    converged: bool
    certificate: float
    message: str
    stopped: bool = False

    @property
    def unfinished(self) -> bool:
        """Whether it ended too early, and nobody asked for that."""
        return not (self.converged or self.stopped)


@dataclass
class Trace:
    """History of a run and its stopping rule.

    A run has converged when the objective fell by less than `tol` of itself per iteration, on average over the last
    `window` iterations: single short steps are common in quasi-Newton methods and do not mean that the minimum is near.
    """

    problem: Problem
    max_iter: int
    tol: float
    callback: Callback | None = None
    window: int = 5
    history: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    n_evaluations: int = 0
    message: str = ""
    converged: bool = False
    stopped: bool = False
    _began: float = field(default_factory=time.perf_counter)

    def __post_init__(self) -> None:
        if not (self.max_iter >= 1 and self.tol >= 0):
            raise InvalidInputError(
                f"max_iter={self.max_iter!r}, tol={self.tol!r}: expected max_iter >= 1 and tol >= 0"
            )

    @property
    def n_iter(self) -> int:
        """Iterations done."""
        return len(self.history) - 1

    def evaluate(self, x: np.ndarray, gradient: np.ndarray) -> float:
        """Evaluate the problem and count it."""
        self.n_evaluations += 1
        return self.problem.value_gradient(x, gradient)

    def start(self, objective: float) -> None:
        """Note the objective at the starting point."""
        if not np.isfinite(objective):
            raise InvalidInputError(
                f"the objective is {objective} at the starting point: check the data for huge or invalid values, "
                "and whether the starting point lies in the domain of the loss"
            )
        self._note(objective)

    def done(self, objective: float) -> bool:
        """Note the objective after an iteration and return whether to stop."""
        self._note(objective)
        n_iter = self.n_iter
        progress = Progress(n_iter, self.max_iter, objective, self.seconds[-1])
        asked = self.callback is not None and asks_to_stop(self.callback(progress))
        if not np.isfinite(objective):
            return self.stop(f"the objective is {objective}", converged=False)
        if n_iter >= self.window:
            drop = self.history[-1 - self.window] - objective
            if drop <= self.tol * self.window * max(abs(objective), 1e-30):
                return self.stop("the objective has settled", converged=True)
        if asked:
            self.stopped = True
            return self.stop("the callback returned True", converged=False)
        if n_iter >= self.max_iter:
            return self.stop(f"max_iter={self.max_iter} reached before the objective settled", converged=False)
        return False

    def stop(self, message: str, *, converged: bool) -> bool:
        """End the run for the reason given; return True."""
        self.message, self.converged = message, converged
        return True

    def stop_without_step(self, reason: str, *numbers: float) -> None:
        """End the run because no step lowers the objective: converged, unless a number that showed it is not finite."""
        wrong = [number for number in numbers if not np.isfinite(number)]
        message = f"the objective or its gradient became {wrong[0]}" if wrong else reason
        self.stop(message, converged=not wrong)

    def result(self, x: np.ndarray, gradient: np.ndarray) -> Result:
        """Return the outcome at `x`, whose smooth part has `gradient`."""
        return Result(
            x=x,
            objective=self.history[-1],
            history=self.history,
            seconds=self.seconds,
            n_iter=self.n_iter,
            n_evaluations=self.n_evaluations,
            converged=self.converged,
            certificate=self.problem.certificate(x, gradient),
            message=self.message,
            stopped=self.stopped,
        )

    def _note(self, objective: float) -> None:
        self.history.append(objective)
        self.seconds.append(time.perf_counter() - self._began)


def require_smooth(problem: Problem, solver: str) -> None:
    """Refuse a problem without a gradient, before the first iteration."""
    if not problem.smooth:
        raise SolverMismatchError(
            f"solver {solver!r} needs a gradient everywhere, but the loss (hinge?) or a penalty (l1, l21, "
            "nonnegative?) has none: take solver='apg' for such penalties, and a smooth loss (smooth-hinge, "
            "modified-square, logistic)"
        )


def curvature_scale(problem: Problem, x: np.ndarray) -> np.ndarray:
    """Return the problem's guess of its inverse curvatures near x, one for each parameter; ones where it has none."""
    scale = getattr(problem, "inverse_curvatures", None)
    return np.ones(problem.size, problem.dtype) if scale is None else np.asarray(scale(x), dtype=problem.dtype)
