"""Training of a conditional random field by stochastic gradients, which Gibbs sampling estimates."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.special import logit

from cofactor.labels.features import column_means
from cofactor.labels.fit_input import FitInput
from cofactor.passes import batches
from cofactor.problems.random_fields import Chains, Floats, LabelInteractions, PairForm, SampledLikelihoodProblem
from cofactor.solvers.result import Result

EXPECTATION, PERCEPTRON = UPDATES = ("expectation", "perceptron")

BATCH = 128  #: most instances of one step
_PATIENCE = 5  # epochs that may pass before a loss is lower
_OBVIOUS = 1e-3  # share of the loss by which it must be lower then

#: Returns a loss of parameters.
Judge = Callable[[Floats], float]


class Epoch(NamedTuple):
    """What an epoch led to: mean parameters, share of labels that are drawn wrong, and norm of the mean gradient."""

    x: Floats
    wrong: float
    slope: float


def epochs(
    problem: SampledLikelihoodProblem,
    data: FitInput,
    pairs: PairForm,
    alpha: float,
    update: str,
    n_chains: int,
    generator: np.random.Generator,
) -> Iterator[Epoch]:
    r"""Descend along stochastic gradients, and yield what each epoch led to.

    A step for m instances, of which t were before it, is

    .. math:: x \leftarrow x - \frac{m}{N} \eta_t \Bigl[\frac{N}{m} \sum_i \bigl(\bar f(x_i) - f(x_i, y_i)\bigr)
        + \nabla p(x)\Bigr], \qquad \eta_t = \frac{1}{\lambda (t + t_0)}, \quad \lambda = \frac{\alpha}{N}

    with features :math:`\bar f` of label sets that are drawn by one sweep of each chain, or of the likeliest one of
    them. Chains begin at the true labels and go on in the next epoch, so that they need no burn-in. The first step has
    the length that is right for the mean over all later ones (Bach & Moulines 2013): λ t₀ is the trace of the Hessian
    for independent labels by instance. Twice as many instances as there are labels make a step, so that it is stable:
    the trace is that many times the curvature in any direction, roughly. Parameters are the mean of all steps, a later
    one weighing more (Lacoste-Julien, Schmidt & Bach 2012).

    Parameters
    ----------
    problem : SampledLikelihoodProblem
    data : FitInput
        What the problem was made of.
    pairs : PairForm
    alpha : float
    update : {"expectation", "perceptron"}
    n_chains : int
    generator : Generator
    """
    (n, L), X = data.labels.shape, data.features
    truth = data.labels.toarray() > 0
    states = np.repeat(truth[None], n_chains, axis=0)
    x, gradient = np.zeros(problem.size), np.empty(problem.size)
    problem.layout.views(x)["b"][...] = logit(np.clip(column_means(data.labels, None), 0.5 / n, 1 - 0.5 / n))
    t, mean, n_steps = float(np.sum(1 / problem.inverse_curvatures(x))) / alpha, x.copy(), 0
    while True:
        order, total, wrong = generator.permutation(n), np.zeros_like(x), 0.0
        for batch in batches(n, min(2 * L, BATCH)):
            rows = order[batch]
            m = len(rows)
            chains = Chains(LabelInteractions.of(X[rows], pairs, **problem.arrays(x)), states[:, rows])
            chains.sweep(generator.random((L, n_chains * m)))
            states[:, rows] = chains.on
            drawn = chains.on if update == EXPECTATION else chains.likeliest()[None]
            wrong += m * float(np.mean(drawn != truth[rows]))
            problem.gradient(x, rows, drawn, gradient)
            total += m / n * gradient
            x -= m / (alpha * t) * gradient
            t += m
            n_steps += 1
            mean += 2 / (n_steps + 1) * (x - mean)
        yield Epoch(mean, wrong / n, float(np.linalg.norm(total)))


@dataclass
class Course:
    """Epochs until the loss settles, the best of which counts; or a number of them, the last of which counts.

    Parameters
    ----------
    judge : callable or None
        The loss; without one it is the share of labels that are drawn wrong.
    """

    judge: Judge | None
    losses: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    n_iter: int = 0
    x: Floats = field(default_factory=lambda: np.empty(0))
    slope: float = 0.0
    stopped: bool = False

    def run(self, steps: Iterator[Epoch], data: FitInput, max_iter: int, stage: str) -> Course:
        """Take up epochs, and return this course."""
        began = time.perf_counter()
        for done, epoch in zip(range(1, max_iter + 1), steps, strict=False):
            loss = epoch.wrong if self.judge is None else self.judge(epoch.x)
            if self.judge is None or loss < min(self.losses, default=np.inf) or done == 1:
                self.x, self.slope, self.n_iter = epoch.x.copy(), epoch.slope, done
            self.losses.append(loss)
            self.seconds.append(time.perf_counter() - began)
            data.monitor.note(stage, done, max_iter, loss)
            self.stopped = data.monitor.stopped
            if self.stopped or self.settled:
                break
        return self

    @property
    def settled(self) -> bool:
        """Whether the last epochs have not lowered the loss obviously."""
        if self.judge is None or len(self.losses) <= _PATIENCE:
            return False
        return min(self.losses[-_PATIENCE:]) > (1 - _OBVIOUS) * min(self.losses[:-_PATIENCE])

    def result(self) -> Result:
        """Return the outcome as solvers do."""
        return Result(
            x=self.x,
            objective=self.losses[self.n_iter - 1],
            history=self.losses,
            seconds=self.seconds,
            n_iter=self.n_iter,
            n_evaluations=len(self.losses),
            converged=self.judge is None or self.settled,
            certificate=self.slope,
            message="the loss has settled" if self.settled else "max_iter reached before the loss settled",
            stopped=self.stopped,
        )
