"""Hierarchical matrix factorization (Kumar 2018)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_jobs, make_generator, one_of
from cofactor.errors import InvalidInputError
from cofactor.model.estimator import learned, param
from cofactor.model.parallel import run_parallel
from cofactor.ratings.base import RatingModel
from cofactor.ratings.factors.bmmmf import BinaryMMMF
from cofactor.ratings.interaction_model import FitInput, Tags
from cofactor.ratings.scoring import Count, FactorScorer, FirstBelow, Scorer
from cofactor.text import plural

#: Parameters that stages have as they are.
_OF_STAGES = "n_factors", "alpha_bias", "margin", "threshold", "solver", "max_iter", "tol", "dtype"


class HMF(RatingModel):
    r"""Hierarchical matrix factorization: one bi-level factorization for each boundary between levels.

    Stage q = 1..R-1 minimises, on the bi-level ratings y^q = -1 where y <= q and +1 where y > q,

    .. math::

        J(U^q, V^q) = \sum_{(i,j) \in \Omega} h(y^q_{ij} (U^q_i V_j^{qT} + b^q_i + c^q_j))
        + \frac{\alpha_q}{2} (\|U^q\|_F^2 + \|V^q\|_F^2) + \frac{\alpha_b}{2} (\|b^q\|^2 + \|c^q\|^2)

    as `BinaryMMMF` does: Kumar's equation (3.17), with biases, which ``alpha_bias=None`` leaves out as Kumar does. A
    rating is the **first** q whose stage says -1, and R if none does: equation (3.18). The printed loops of algorithms
    3 and 4 let later stages overwrite earlier ones, and algorithm 4 leaves out level R (corrections.md, C8 and C9);
    with this rule both are one function of the stages, so they may run one after the other or side by side. Items are
    ranked by the sum of the stages' scores, each cut at ±1.

    Parameters
    ----------
    n_factors : int, default=100
        Number d of factors of each stage; Kumar's.
    alpha : float, "auto", or sequence of R - 1 of these, default="auto"
        Weight of the factors' penalty, at most 1e12, for all stages or for each. "auto" chooses it by validation for
        each stage.
    alpha_bias : float or None, default=3.0
        Weight of the biases' penalty; None for no biases, as Kumar has it.
    decoding : {"first", "count"}, default="first"
        First stage that says -1, as Kumar has it, or one more than the number of stages that say +1.
    margin : {"smooth-hinge", "modified-square", "logistic", "hinge", "zero-one"}, default="smooth-hinge"
        Margin loss h; the last two have no gradient and no solver here takes them.
    threshold : float, default=0.0
        The threshold of Kumar's equation (3.4), for all stages.
    n_jobs : int, optional
        Stages to run side by side through joblib; by default as many as there are threads. With any joblib backend
        (``joblib.parallel_config(backend=...)``) the result is the same to the bit.
    solver : {"lbfgs", "cg", "gd", "apg"}, default="lbfgs"
        Solver.
    max_iter : int, default=500
        Largest number of iterations of a stage.
    {tol}
    {dtype}
    {levels}
    {duplicates}
    {unknown}
    {random_state}
        It is the seed of the starts and of validation splits.
    {callback}
        Stages call it possibly from several threads; those which joblib sends to other processes do not.
    {verbose}

    Attributes
    ----------
    stages_ : list of BinaryMMMF
        The fitted stages, in the order of the boundaries.
    alphas_ : list of float
        The weight used in each stage.
    n_iter_ : int
        Number of iterations of all stages together; each stage has its own.

    References
    ----------
    V. Kumar, "Collaborative Filtering and Multi-Label Classification with Matrix Factorization", PhD thesis, University
    of Hyderabad, 2018, sections 3.4 and 3.5.

    Examples
    --------
    >>> X = [(u, i) for u in range(6) for i in range(6) if (u, i) != (0, 5)]
    >>> y = [1 + 2 * (u % 2 == i % 2) + (i < 3) for u, i in X]
    >>> model = HMF(n_factors=2, alpha=0.1, random_state=0).fit(X, y)
    >>> model.predict([(0, 5), (0, 4), (1, 1)])
    array([1., 3., 4.])
    """

    tags = Tags(weights=True, shards=True)

    n_factors: int = param(default=100, kw_only=False)
    alpha: float | str | Sequence[float | str] = param(default="auto", kw_only=False)
    alpha_bias: float | None = param(default=3.0)
    decoding: str = param(one_of(["first", "count"]), default="first")
    margin: str = param(default="smooth-hinge")
    threshold: float = param(default=0.0)
    n_jobs: int | None = param(check_jobs, default=None)
    solver: str = param(default="lbfgs")
    max_iter: int = param(default=500)
    tol: float = param(default=1e-5)
    dtype: str = param(default="float32")

    stages_: list[BinaryMMMF] = learned(kind=BinaryMMMF, many=True)
    alphas_: list[float] = learned()

    def _check_together(self) -> None:
        for alpha in self._alphas(1):
            self._stage(alpha, 0).check_params()

    def _alphas(self, n_stages: int) -> list[Any]:
        """Return alpha as it was given for each stage, or n_stages times the one given for all."""
        if isinstance(self.alpha, Iterable) and not isinstance(self.alpha, str):
            return list(self.alpha)
        return [self.alpha] * n_stages

    def _stage(self, alpha: Any, seed: int) -> BinaryMMMF:
        """Return the unfitted model of a stage."""
        own = {name: getattr(self, name) for name in _OF_STAGES}
        return BinaryMMMF(alpha=alpha, random_state=seed, **own)

    def _fit(self, given: FitInput) -> None:
        ratings = given.ratings
        n_stages = ratings.n_levels - 1
        alphas = self._alphas(n_stages)
        if len(alphas) != n_stages:
            raise InvalidInputError(
                f"alpha has {plural(len(alphas), 'value')} but the {ratings.n_levels} levels make "
                f"{plural(n_stages, 'stage')}: "
                "pass one number, 'auto', or one value for each stage",
                argument="alpha",
            )
        seeds = make_generator(self.random_state).integers(2**31, size=n_stages)
        tasks = (
            (
                self._stage(alpha, int(seed)),
                partial(ratings.at_boundary, q),
                given.monitor.stage(f"stage {q}"),
                _called(q),
            )
            for q, (alpha, seed) in enumerate(zip(alphas, seeds, strict=True), 1)
        )
        self.stages_ = run_parallel(BinaryMMMF.learn_in_share, tasks, n_stages, self.n_jobs)
        self.alphas_ = [stage.alpha_ for stage in self.stages_]

    @property
    def n_iter_(self) -> int:
        """Number of iterations of all stages together."""
        return sum(stage.n_iter_ for stage in self.stages_)

    def _fold_in(self, given: FitInput) -> None:
        self.stages_ = [stage.folded_in(part).without_ratings() for stage, part in self._parts(given)]

    def _fold_in_items(self, given: FitInput) -> None:
        self.stages_ = [stage.items_folded_in(part).without_ratings() for stage, part in self._parts(given)]

    def _parts(self, given: FitInput) -> Iterator[tuple[BinaryMMMF, FitInput]]:
        """Yield each stage, and what it is given."""
        for q, stage in enumerate(self.stages_, 1):
            yield stage, FitInput(given.ratings.at_boundary(q), name=_called(q))

    @property
    def scorer_(self) -> StageScorer:
        """See `RatingModel`."""
        decision = FirstBelow() if self.decoding == "first" else Count(ties_up=True)
        return StageScorer(self.scale_, decision, [stage.scorer_ for stage in self.stages_], self.threshold)

    def _check_learned(self) -> None:
        super()._check_learned()
        if len(self.stages_) != len(self.scale_) - 1:
            raise InvalidInputError(f"{len(self.scale_)} levels need {len(self.scale_) - 1} parts of class BinaryMMMF")


@dataclass(frozen=True, eq=False)
class StageScorer(Scorer):
    """Scores that are sums of those of stages, each cut off a margin from its threshold.

    Attributes
    ----------
    stages : list of FactorScorer
        One for each boundary between levels.
    threshold : float
    """

    stages: list[FactorScorer]
    threshold: float

    def margins(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return np.column_stack([stage.margins(users, items) for stage in self.stages])

    def scores(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        return np.asarray(np.clip(self.margins(users, items), -1, 1).sum(axis=1))

    def block(self, users: NDArray[Any], items: NDArray[Any]) -> NDArray[Any]:
        """See `Scorer`."""
        parts = (np.clip(stage.block(users, items) - self.threshold, -1, 1) for stage in self.stages)
        total: NDArray[Any] = next(parts)
        for part in parts:
            total += part
        return total


def _called(q: int) -> str:
    """Return what warnings call stage q."""
    return f"HMF, stage {q}"
