"""Gibbs sampling in place of sums over label sets, and training by the stochastic gradients which it estimates."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logit
from sklearn.exceptions import ConvergenceWarning

from cofactor.chunked import batches
from cofactor.labels.crf.base import SetField, Sizes, Weights
from cofactor.labels.features import CheckedFeatures, column_means, squared_lengths
from cofactor.labels.training_data import TrainingData
from cofactor.metrics.labels import micro_f1
from cofactor.model.convergence import callers_level
from cofactor.penalties import L2
from cofactor.problems.random_fields import (
    Chains,
    Floats,
    LabelInteractions,
    PairForm,
    SampledLikelihoodProblem,
    climbed,
)
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
    data: TrainingData,
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
    data : TrainingData
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
class EarlyStopping:
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

    def run(self, steps: Iterator[Epoch], data: TrainingData, max_iter: int, stage: str) -> EarlyStopping:
        """Take up epochs, and return this course."""
        began = time.perf_counter()
        for done, epoch in zip(range(1, max_iter + 1), steps, strict=False):
            loss = epoch.wrong if self.judge is None else self.judge(epoch.x)
            if self.judge is None or loss < min(self.losses, default=np.inf) or done == 1:
                self.x, self.slope, self.n_iter = epoch.x.copy(), epoch.slope, done
            self.losses.append(loss)
            self.seconds.append(time.perf_counter() - began)
            self.stopped = data.monitor.note(stage, done, max_iter, loss)
            if self.stopped or self.converged:
                break
        return self

    @property
    def converged(self) -> bool:
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
            converged=self.judge is None or self.converged,
            certificate=self.slope,
            message="the loss has settled" if self.converged else "max_iter reached before the loss settled",
            stopped=self.stopped,
        )


LIKELIHOOD, F1, NONE = STOPPINGS = ("likelihood", "f1", "none")

_CELLS = 1 << 21  # log-odds, or what labels add to them, in memory at a time
#: Means of features in units of their spread from which steps are too short: of 60 instances with 4 features three took
#: ten times as many epochs as none, and with five nothing was learned.
_FAR = 4.0


@dataclass(frozen=True)
class GibbsField:
    """All label sets, of which some are drawn, and weights of all pairs.

    A sweep of a chain draws every label of an instance in turn, given the features and the other labels. Chains that
    predict take the same random numbers for all instances, so that no instance depends on those beside it.

    Parameters
    ----------
    seen : SetField
        The label sets of training, over which the likelihood of held-out instances is taken.
    n_sweeps, burn_in, n_chains : int
        Of chains that predict; as many chains train.
    seed : int
    update : {"expectation", "perceptron"}
        See `epochs`.
    stopping : {"likelihood", "f1", "none"}
        Which held-out loss tells when to stop.
    """

    seen: SetField
    n_sweeps: int
    burn_in: int
    n_chains: int
    seed: int
    update: str
    stopping: str

    @property
    def pairs(self) -> PairForm:
        """Return the pairs."""
        return self.seen.pairs

    @property
    def with_features(self) -> bool:
        """Return whether a pair has a weight for each feature, beside a constant one."""
        return self.seen.with_features

    def learn(self, data: TrainingData, alpha: float, max_iter: int, tol: float) -> tuple[Result, Weights]:
        """Return what stochastic gradients lead to, after as many epochs as a held-out part asks for."""
        if self.with_features:
            _warn_of_far(data.features)
        if self.stopping == NONE:
            return self._trained(data, alpha, max_iter, "epochs")
        train, test = data.without_quarter(np.random.default_rng(self.seed))
        result, weights = self._trained(train, alpha, max_iter, "epochs of a part", data.rows(test))
        if result.stopped:
            return result, weights
        whole, weights = self._trained(data, alpha, result.n_iter, "epochs")
        return replace(result, x=whole.x, certificate=whole.certificate, stopped=whole.stopped), weights

    def _trained(
        self, data: TrainingData, alpha: float, max_iter: int, stage: str, held_out: TrainingData | None = None
    ) -> tuple[Result, Weights]:
        """Return what epochs lead to: the best for held-out instances, or the last."""
        penalties, truth = {"W": L2(alpha), "V": L2(alpha)}, data.labels.toarray() > 0
        problem = SampledLikelihoodProblem(
            data.features, truth, self.pairs, penalties, with_features=self.with_features
        )
        generator = np.random.default_rng(self.seed)
        steps = epochs(problem, data, self.pairs, alpha, self.update, self.n_chains, generator)
        judge = None if held_out is None else self._judge(problem, held_out)
        result = EarlyStopping(judge).run(steps, data, max_iter, stage).result()
        return result, Weights(**problem.arrays(result.x))

    def _judge(self, problem: SampledLikelihoodProblem, held_out: TrainingData) -> Judge:
        """Return the loss of parameters on held-out instances."""
        quick = replace(self, n_sweeps=self.burn_in + max(1, (self.n_sweeps - self.burn_in) // 10))

        def loss(x: Floats) -> float:
            weights = Weights(**problem.arrays(x))
            if self.stopping == LIKELIHOOD:
                return self.seen.mean_loss(held_out, weights)
            return 1 - float(micro_f1(held_out.labels, quick.marginals(held_out.features, weights) > 0.5))

        return loss

    def marginals(self, X: CheckedFeatures, weights: Weights) -> Floats:
        """Return the probability of each label, shape (n, L): the mean of those given the other labels."""
        found = []
        for interactions in self._blocks(X, weights):
            total = sum(chains.chances.sum(axis=0) for chains in self._swept(interactions))
            found.append(total / ((self.n_sweeps - self.burn_in) * self.n_chains))
        return np.concatenate(found)

    def likeliest(self, X: CheckedFeatures, weights: Weights, sizes: Sizes = None) -> NDArray[np.bool_]:
        """Return the likeliest of the sets drawn, bettered until no change of one label does, shape (n, L)."""
        found = []
        for interactions in self._blocks(X, weights):
            most, best = np.full(len(interactions.base), -np.inf), np.zeros(interactions.base.shape, dtype=bool)
            for chains in self._swept(interactions):
                for scores, on in zip(chains.scores(), chains.on, strict=True):
                    better = scores > most
                    most[better], best[better] = scores[better], on[better]
            found.append(climbed(interactions, best))
        return np.concatenate(found)

    def _blocks(self, X: CheckedFeatures, weights: Weights) -> Iterator[LabelInteractions]:
        """Yield the log-odds of blocks of instances."""
        L = self.pairs.n_labels
        for rows in batches(X.shape[0], max(1, _CELLS // (L * (L if self.with_features else self.n_chains)))):
            yield LabelInteractions.of(X[rows], self.pairs, *weights)

    def _swept(self, interactions: LabelInteractions) -> Iterator[Chains]:
        """Yield chains after each sweep that is kept."""
        generator, (n, L) = np.random.default_rng(self.seed), interactions.base.shape
        start = generator.random((self.n_chains, 1, L)) < 0.5
        chains = Chains(interactions, np.repeat(start, n, axis=1))
        for k in range(self.n_sweeps):
            chains.sweep(np.repeat(generator.random((L, self.n_chains)), n, axis=1))
            if k >= self.burn_in:
                yield chains


def _warn_of_far(X: CheckedFeatures) -> None:
    """Warn of features too far from 0 for stochastic gradients of weights that each feature gives a pair."""
    mean = column_means(X, None)
    square = float(mean @ mean)
    if square > _FAR**2 * (float(squared_lengths(X).mean()) - square):
        warnings.warn(
            "stochastic gradients hardly learn the weights of pairs from features that are far from 0 beside their "
            "spread: take scale='standard', or inference='supported'",
            ConvergenceWarning,
            stacklevel=callers_level(),
        )
