"""Figures 3.9, 3.12 and 4.2 of Kumar's thesis: errors along the weight of the penalty."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cofactor.evaluation.running import Cell
from cofactor.evaluation.store import Result
from cofactor.experiments.base.cells import rating_cell
from cofactor.experiments.base.experiment import Claim, Experiment, Extent, Outcome, Picture, Sample
from cofactor.experiments.base.rating_work import THESIS, errors_at_stage, errors_on_rest
from cofactor.experiments.base.series import done, facet, groups, means, points
from cofactor.plots.curves import plot_tradeoff, plot_validation
from cofactor.plots.figures import new_panels, share_legend

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["EXPERIMENTS"]

_STAGES = (1, 2, 3, 4)


# ---------------------------------------------------------------- figure 3.9: validation error


def _validation_cells(extent: Extent) -> list[Cell]:
    """MovieLens 100K for every extent; MovieLens 1M, the source's, with every fourth candidate or with all."""
    small = {"quick": range(4, 41, 3), "normal": range(4, 41), "full": range(4, 41)}[extent]
    large = {"quick": (), "normal": range(4, 41, 4), "full": range(4, 41)}[extent]
    n_small = 1 if extent == "quick" else 3
    n_large = 3 if extent == "full" else 1
    places = [("ml-100k", k, i) for k in range(n_small) for i in small]
    places += [("ml-1m", k, i) for k in range(n_large) for i in large]
    return [
        rating_cell(
            errors_at_stage,
            method="BinaryMMMF",
            data=data,
            split=f"weak {seed}",
            seed=seed,
            stage=stage,
            exponent=exponent,
            settings=THESIS["BinaryMMMF"],
        )
        for data, seed, exponent in places
        for stage in _STAGES
    ]


def _validation_outcome(results: Sequence[Result]) -> Outcome:
    claims, pictures = [], []
    for (data,), ones in groups(results, "data").items():
        curves = {stage: _along_alpha(ones, stage) for stage in sorted({facet(one, "stage") for one in ones})}
        claims.append(_claim_interior(data, curves))
        claims.append(_claim_own_alpha(data, curves))
        name = "thesis-figure-3.9-" + data
        caption = f"Zero-one error of each stage of HMF on one held-out rating of each user, {data}"
        pictures.append(Picture(name, caption, partial(_draw_validation, curves)))
    return Outcome(claims=claims, pictures=pictures)


def _along_alpha(results: Iterable[Result], stage: int) -> dict[float, Sample]:
    found = means(done(results, stage=stage), "zero_one", "exponent")
    return {10 ** (exponent / 16): sample for (exponent,), sample in found.items()}


def _best(curve: Mapping[float, Sample]) -> float:
    return min(curve, key=lambda alpha: curve[alpha].mean)


def _claim_interior(data: str, curves: Mapping[int, Mapping[float, Sample]]) -> Claim:
    ends = [_best(curve) in (min(curve), max(curve)) for curve in curves.values()]
    measured = ", ".join(
        f"stage {stage}: {curve[min(curve)].mean:.3f}, {curve[_best(curve)].mean:.3f} at {_best(curve):.1f}, "
        f"{curve[max(curve)].mean:.3f}"
        for stage, curve in curves.items()
    )
    return Claim(
        f"{data}: at every stage the validation error is least between the ends of the candidates for λ",
        not any(ends),
        measured,
    )


def _claim_own_alpha(data: str, curves: Mapping[int, Mapping[float, Sample]]) -> Claim:
    best = [_best(curve) for curve in curves.values()]
    measured = "best λ by stage: " + ", ".join(f"{alpha:.1f}" for alpha in best)
    holds = max(best) > min(best) if len(best) > 1 else None
    return Claim(f"{data}: λ is to be chosen for each stage: the best differs", holds, measured)


def _draw_validation(curves: Mapping[int, Mapping[float, Sample]]) -> list[Axes]:
    panels = new_panels(len(curves), 3.6 * len(curves) + 1.8, 3.6)
    for ax, (stage, curve) in zip(panels, curves.items(), strict=True):
        plot_validation(*points(curve), _best(curve), ax, parameter="λ", title=f"stage {stage}")
    share_legend(panels)
    return panels


# ---------------------------------------------------------------- figures 3.12 and 4.2: test against training error


def _tradeoff_cells(
    methods: Iterable[str],
    exponents: Iterable[int],
    seeds: Iterable[int],
    data: str,
    made: Mapping[str, Any] | None = None,
) -> list[Cell]:
    recipe = {} if made is None else {"made": dict(made)}
    return [
        rating_cell(
            errors_on_rest,
            method=method,
            data=data,
            split=f"holdout {seed}",
            seed=seed,
            settings=THESIS[method] | {"alpha": 10 ** (exponent / 16)},
            **recipe,
        )
        for seed in seeds
        for exponent in exponents
        for method in methods
    ]


Curves = Mapping[str, tuple[NDArray[Any], NDArray[Any]]]


def tradeoff(results: Iterable[Result], metric: str) -> Curves:
    """Return training and test errors of each method, in the order of alpha; means over splits."""

    def along(ones: Iterable[Result], measure: str) -> NDArray[Any]:
        return np.array([sample.mean for sample in means(ones, measure, "settings.alpha").values()])

    return {
        str(method): (along(ones, f"train_{metric}"), along(ones, metric))
        for (method,), ones in groups(results, "method").items()
    }


def excess(curves: Curves, other: str, method: str) -> NDArray[Any]:
    """Return how far the test error of one method lies above another's, along the training errors which both reach.

    Between the points the curves are taken as straight. Empty where they have no training error in common.

    Examples
    --------
    >>> curves = {"MMMF": ([0.1, 0.3], [0.8, 0.7]), "HMF": ([0.2, 0.4], [0.7, 0.7])}
    >>> excess(curves, "MMMF", "HMF")[[0, -1]].round(2).tolist()
    [0.05, 0.0]
    """
    if other not in curves or method not in curves:
        return np.empty(0)
    pair = [np.array(curves[name], dtype=float) for name in (other, method)]
    # Where several alphas leave no training error at all, the largest of them begins the curve.
    pair = [curve[:, np.argsort(curve[0], kind="stable")] for curve in pair]
    low, high = max(train[0] for train, _ in pair), min(train[-1] for train, _ in pair)
    if not low < high:
        return np.empty(0)
    at = np.linspace(low, high, 101)
    first, second = (np.interp(at, train, test) for train, test in pair)
    return np.asarray(first - second)


def claim_lower(curves: Curves, method: str, others: Sequence[str], metric: str, where: str) -> Claim:
    """Return the claim that, on average along the curve, a method has the lower test error at a training error."""
    gaps = {other: excess(curves, other, method) for other in others}
    measured = "; ".join(
        f"{other} {gap.mean():+.3f} {metric.upper()} on average, above {method} on {np.mean(gap > 0):.0%} of the range"
        for other, gap in gaps.items()
        if gap.size
    )
    holds = all(gap.mean() > 0 for gap in gaps.values()) if all(gap.size for gap in gaps.values()) else None
    names = " and ".join(others)
    return Claim(f"{where}: at the same training error {method} has a lower test error than {names}", holds, measured)


def _tradeoff_100k(extent: Extent) -> list[Cell]:
    steps = {"quick": range(4, 41, 4), "normal": range(4, 41, 2), "full": range(4, 41)}[extent]
    return _tradeoff_cells(("MMMF", "HMF"), steps, range(1 if extent == "quick" else 3), "ml-100k")


def _outcome_100k(results: Sequence[Result]) -> Outcome:
    curves = tradeoff(results, "nmae")
    picture = Picture(
        "thesis-figure-3.12",
        "Test against training NMAE along λ, MovieLens 100K, d = 100",
        partial(plot_tradeoff, curves, error="NMAE"),
    )
    return Outcome(
        claims=[claim_lower(curves, "HMF", ["MMMF"], "nmae", "MovieLens 100K")],
        pictures=[picture] if curves else [],
    )


_DENSITIES = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)
_PANELS = "abcdef"
_COMPARED = ("PMMMF", "MMMF", "ALS")


def _tradeoff_made(extent: Extent) -> list[Cell]:
    densities = {"quick": (0.05, 0.15), "normal": _DENSITIES, "full": _DENSITIES}[extent]
    seeds = range(3 if extent == "full" else 1)
    cells: list[Cell] = []
    for density in densities:
        made = {"n_users": 1000, "n_items": 1000, "density": density}
        cells += _tradeoff_cells(_COMPARED, range(1, 26, 4), seeds, "synthetic-1000x1000", made)
    return cells


def _outcome_made(results: Sequence[Result]) -> Outcome:
    claims, pictures = [], []
    for (density,), ones in groups(results, "made.density").items():
        curves, percent = tradeoff(ones, "mae"), round(100 * density)
        panel = _PANELS[_DENSITIES.index(density)]
        claims.append(claim_lower(curves, "PMMMF", ["MMMF", "ALS"], "mae", f"({panel}) {percent} % observed"))
        caption = f"Test against training MAE along λ, synthetic 1000 × 1000 with {percent} % observed, d = 100"
        draw = partial(_draw_made, curves, f"({panel}) {percent} % observed")
        pictures.append(Picture(f"thesis-figure-4.2{panel}", caption, draw))
    return Outcome(claims=claims, pictures=pictures, notes=[_MADE])


def _draw_made(curves: Curves, title: str) -> list[Axes]:
    """Draw the whole curves and, beside them, the training errors that all methods reach: there the claim lies."""
    panels = new_panels(2, 11.6, 4.2)
    shared = min(float(train.max()) for train, _ in curves.values())
    whole, near = (
        plot_tradeoff(curves, ax, title=words)
        for ax, words in zip(panels, (title, f"training MAE up to {shared:.2g}, which all reach"), strict=True)
    )
    inside = np.concatenate([_within(train, test, shared) for train, test in curves.values()])
    margin = np.maximum(0.06 * np.array([shared, np.ptp(inside)]), 1e-3)
    near.set_xlim(-margin[0], shared + margin[0])
    near.set_ylim(inside.min() - margin[1], inside.max() + margin[1])
    share_legend(panels)
    return [whole, near]


def _within(train: NDArray[Any], test: NDArray[Any], end: float) -> NDArray[Any]:
    """Return the test errors up to a training error, and where the curve passes it."""
    order = np.argsort(train, kind="stable")
    return np.append(test[train <= end], np.interp(end, train[order], test[order]))


_MADE = (
    "How many factors make the synthetic matrix, and how it begins, is not printed: here five, begun from factors "
    "(see make_ratings), so that all five levels remain."
)

EXPERIMENTS = (
    Experiment(
        name="thesis-figure-3.9",
        title="Validation error along λ at each stage of HMF",
        cells=_validation_cells,
        outcome=_validation_outcome,
        missing=("EachMovie (figure 3.10): no longer distributed",),
    ),
    Experiment(
        name="thesis-figure-3.12",
        title="Test error against training error, HMF and MMMF",
        cells=_tradeoff_100k,
        outcome=_outcome_100k,
    ),
    Experiment(
        name="thesis-figure-4.2",
        title="Test error against training error, PMMMF, MMMF and ALS on synthetic ratings",
        cells=_tradeoff_made,
        outcome=_outcome_made,
    ),
)
