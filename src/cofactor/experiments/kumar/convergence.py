"""Figures 3.4 and 3.7 of Kumar's thesis: gradient descent on small matrices, from several starts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cofactor.evaluation.running import Cell
from cofactor.evaluation.store import Result
from cofactor.experiments.base.cells import printed_cell
from cofactor.experiments.base.experiment import Claim, Experiment, Extent, Outcome, Picture
from cofactor.experiments.base.rating_work import IN_PLANE
from cofactor.experiments.base.series import done
from cofactor.experiments.kumar.plane import convergence
from cofactor.plots.curves import plot_convergence

__all__ = ["EXPERIMENTS"]


def _convergence_cells(method: str, data: str, extent: Extent) -> list[Cell]:
    settings = IN_PLANE[method] | {"alpha": 0.1, "solver": "gd", "tol": 0.0, "max_iter": 2000}
    n_starts = {"quick": 3, "normal": 6, "full": 6}[extent]
    return [
        printed_cell(convergence, method, data, split=f"start {seed}", seed=seed, settings=settings)
        for seed in range(n_starts)
    ]


def _convergence_outcome(name: str, results: Sequence[Result]) -> Outcome:
    histories = {f"start {result.seed + 1}": np.array(result.measures["objective"]) for result in done(results)}
    claims = [_claim_falls(histories), _claim_levels(histories)]
    pictures = []
    if histories:
        curves = {start: (np.arange(len(history)), history) for start, history in histories.items()}
        draw = partial(plot_convergence, curves, x="iterations")
        pictures.append(Picture(name, "Objective J in every iteration of gradient descent, from several starts", draw))
    return Outcome(claims=claims, pictures=pictures)


def _claim_falls(histories: Mapping[str, NDArray[Any]]) -> Claim:
    rises = [float(np.diff(history).max()) for history in histories.values() if len(history) > 1]
    measured = f"largest change in one iteration {max(rises):+.2g}, {len(rises)} starts" if rises else ""
    return Claim("J falls in every iteration, from every start", max(rises) <= 0 if rises else None, measured)


def _claim_levels(histories: Mapping[str, NDArray[Any]]) -> Claim:
    """Levelled off: the last tenth of the iterations lowers J by less than a thousandth."""
    shares = [float(1 - history[-1] / history[-1 - len(history) // 10]) for history in histories.values()]
    ends = ", ".join(f"{history[-1]:.4f}" for history in histories.values())
    measured = (
        f"the last tenth of the iterations lowers J by {max(shares):.2%} at most; J ends at {ends}" if ends else ""
    )
    return Claim("J levels off, from every start", max(shares) < 1e-3 if shares else None, measured)


EXPERIMENTS = tuple(
    Experiment(
        name=f"thesis-figure-{number}",
        title=f"Objective of {method} along gradient descent, from several starts",
        cells=partial(_convergence_cells, method, data),
        outcome=partial(_convergence_outcome, f"thesis-figure-{number}"),
    )
    for number, method, data in (("3.4", "BinaryMMMF", "thesis-3.1"), ("3.7", "MMMF", "thesis-3.6"))
)
