"""A demo for tests of what is around it."""

from __future__ import annotations

from functools import partial
from typing import Any

from cofactor.datasets import make_movies
from cofactor.experiments.demos import ratings as demo
from cofactor.ratings import EASE, OrdinalProbit, Recommender


def brief_demo() -> None:
    """Let the demo of this process fit few ratings, and briefly: what it finds is not looked at."""

    def sampler(**settings: Any) -> OrdinalProbit:
        return OrdinalProbit(2, n_sweeps=6, burn_in=2, **settings)

    def recommender(random_state: int) -> Recommender:
        return Recommender(EASE(100.0), sampler(), random_state=random_state)

    demo.make_movies = partial(make_movies, 100, 200, 4000)  # type: ignore[attr-defined]
    demo.OrdinalProbit = sampler  # type: ignore[attr-defined]
    demo.Recommender = recommender  # type: ignore[attr-defined]
