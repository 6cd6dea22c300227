"""Figures 3.1, 3.5, 3.6 and 4.1 of Kumar's thesis: users as lines and items as points of the plane."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from cofactor.evaluation.running import Cell, cell
from cofactor.evaluation.store import Result
from cofactor.experiments.base.cells import printed_cell
from cofactor.experiments.base.experiment import Claim, Experiment, Extent, Outcome, Picture
from cofactor.experiments.base.rating_work import IN_PLANE
from cofactor.experiments.base.series import done
from cofactor.experiments.kumar.plane import published_factors, regions, sides
from cofactor.plots.ratings import plot_embedding, plot_hyperplanes

__all__ = ["EXPERIMENTS"]


# ---------------------------------------------------------------- figure 3.1: two levels


def _cells_of_sides(extent: Extent) -> list[Cell]:
    return [printed_cell(sides, "BinaryMMMF", "thesis-3.1", threshold=0.1, alpha=0.1)]


def _outcome_of_sides(results: Sequence[Result]) -> Outcome:
    claims = [claim for result in done(results) for claim in _claims_of_sides(result.measures)]
    caption = "The printed factors of table 3.2: users as lines at the threshold 0.1, items as points"
    draw = partial(plot_hyperplanes, *published_factors(), threshold=0.1)
    return Outcome(claims=claims, pictures=[Picture("thesis-figure-3.1", caption, draw)])


def _claims_of_sides(measures: Mapping[str, Any]) -> list[Claim]:
    score = np.array(measures["scores"])
    third, second = score[2, 3], score[1, [2, 4, 6]]
    right, ours = float(measures["printed_right"]), float(measures["fitted_right"])
    return [
        Claim("Item 4 lies on the positive side of user 3", bool(third > 0), f"U₃·V₄ - 0.1 = {third:+.2f}"),
        Claim(
            "Items 3 and 5 lie on the positive side of user 2, item 7 on the negative one",
            bool((second[:2] > 0).all() and second[2] < 0),
            "scores less 0.1: " + ", ".join(f"{value:+.2f}" for value in second),
        ),
        Claim(
            "The lines separate what each user likes from what they dislike",
            right == 1.0,
            f"{right:.0%} of the entries on their side with the printed factors, {ours:.0%} with factors fitted here",
        ),
    ]


# ---------------------------------------------------------------- figures 3.5, 3.6 and 4.1: levels as regions

_MADE = {"n_users": 5, "n_items": 1000, "n_factors": 2}


def _cells_of_regions(method: str, share: float, frequencies: Sequence[float], extent: Extent) -> list[Cell]:
    return [
        cell(
            regions,
            method=method,
            data="synthetic-5x1000",
            split=f"sample {seed}",
            seed=seed,
            made=_MADE,
            share=share,
            frequencies=list(frequencies),
            settings=IN_PLANE[method] | {"alpha": 0.1, "max_iter": 3000},
        )
        for seed in range(2 if extent == "quick" else 8)
    ]


def _outcome_of_regions(name: str, caption: str, claims_of: Any, results: Sequence[Result]) -> Outcome:
    found = [result.measures for result in done(results)]
    users = [user for measures in found for user in measures["users"]]
    drawn = [measures["drawn"] for measures in found if measures["drawn"]]
    # The picture is of the user whose rarest level is the least rare.
    best = max(drawn, key=lambda one: min(map(one["levels"].count, range(1, 6))), default=None)
    pictures = [Picture(name, caption, partial(plot_embedding, **best))] if best else []
    return Outcome(claims=claims_of(found, users), pictures=pictures, notes=[_SAMPLED])


_SAMPLED = (
    "The matrix is drawn anew for each sample; users who have ratings of all levels are looked at, of five in each."
)

Users = Sequence[Mapping[str, Any]]


def _claim_inside(found: Sequence[Mapping[str, Any]], users: Users) -> Claim:
    right = [float(measures["right"]) for measures in found]
    perfect = sum(share == 1.0 for share in right)
    measured = f"so in {perfect} of {len(right)} samples; {min(right):.1%} of the items at least" if right else ""
    holds = perfect > len(right) / 2 if right else None
    statement = "The embedding is learned perfectly: all rated items lie in their region, in most samples"
    return Claim(statement, holds, measured)


def _claims_even(found: Sequence[Mapping[str, Any]], users: Users) -> list[Claim]:
    """The margin asked for is 1; what the penalty takes of it is small."""
    margins = np.concatenate([user["margin"] for user in users]) if users else np.empty(0)
    wide = [max(user["gaps"]) / min(user["gaps"]) for user in users if min(user["gaps"]) > 0]
    return [
        _claim_inside(found, users),
        Claim(
            "They keep the margin: distances of 0.9 at least from the lines, for nine of ten items",
            bool(np.quantile(margins, 0.1) >= 0.9) if margins.size else None,
            f"nine of ten are farther than {np.quantile(margins, 0.1):.2f}" if margins.size else "",
        ),
        Claim(
            "With levels equally frequent, regions are equally wide: the widest at most 1.5 times the narrowest",
            bool(np.median(wide) <= 1.5) if wide else None,
            f"{np.median(wide):.2f} times as wide, median of {len(wide)} users" if wide else "",
        ),
    ]


def _claims_uneven(found: Sequence[Mapping[str, Any]], users: Users) -> list[Claim]:
    """Regions 2 to 4 lie between two lines; of the levels drawn, 3 is the rarest."""
    narrowest = [2 + int(np.argmin(user["gaps"])) for user in users]
    rarest = [2 + int(np.argmin(user["counts"][1:4])) for user in users]
    agree = sum(a == b for a, b in zip(narrowest, rarest, strict=True))
    wide = [max(user["gaps"]) / min(user["gaps"]) for user in users if min(user["gaps"]) > 0]
    measured = f"so for {agree} of {len(users)} users"
    if wide:
        measured += f"; the widest region is {np.median(wide):.2f} times the narrowest"
    return [
        Claim(
            "Margins are not equal: for most users lines come closer around a level with few ratings, whose region is "
            "the narrowest",
            agree > len(users) / 2 if users else None,
            measured if users else "",
        ),
    ]


def _claims_proximal(found: Sequence[Mapping[str, Any]], users: Users) -> list[Claim]:
    """Items and planes: each nearest to its own."""
    nearest = [float(user["nearest"]) for user in users]
    gaps = [min(user["gaps"]) for user in users]
    return [
        _claim_inside(found, users),
        Claim(
            "Each item lies in the proximity of the plane of its rating: nearest to it of all planes",
            min(nearest) == 1.0 if nearest else None,
            f"true of {np.mean(nearest):.1%} of the items, {len(nearest)} users" if nearest else "",
        ),
        Claim(
            "The planes of all levels lie in the order of the levels, apart from each other",
            min(gaps) > 0 if gaps else None,
            f"smallest distance of two neighbours {min(gaps):.2f}, {len(gaps)} users" if gaps else "",
        ),
    ]


_EVEN, _UNEVEN = (1, 1, 1, 1, 1), (1, 0.3, 0.1, 0.3, 1)
_REGIONS = (
    ("3.5", "MMMF", 0.1, _EVEN, _claims_even, "MMMF in the plane, levels equally frequent"),
    ("3.6", "MMMF", 0.2, _UNEVEN, _claims_uneven, "MMMF in the plane, middle levels rare"),
    ("4.1", "PMMMF", 0.1, _EVEN, _claims_proximal, "PMMMF in the plane, levels equally frequent"),
)

EXPERIMENTS = (
    Experiment(
        name="thesis-figure-3.1",
        title="Users as lines, items as points: bi-level factors in the plane",
        cells=_cells_of_sides,
        outcome=_outcome_of_sides,
    ),
    *(
        Experiment(
            name=f"thesis-figure-{number}",
            title=title,
            cells=partial(_cells_of_regions, method, share, frequencies),
            outcome=partial(
                _outcome_of_regions,
                f"thesis-figure-{number}",
                f"{title}: the items of one user, and their lines; synthetic 5 × 1000, {share:.0%} observed",
                claims,
            ),
        )
        for number, method, share, frequencies, claims, title in _REGIONS
    ),
)
