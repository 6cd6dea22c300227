"""What a notebook shows of a fitted model."""

import re
from typing import Any

import numpy as np
import pytest
from sklearn import config_context

from cofactor.datasets import make_labels, make_ratings
from cofactor.labels import GroPLE, LabelModel, LabelRidge
from cofactor.ratings import ALS, EASE, OrdinalProbit, Recommender

RATINGS, (LABELS, _) = make_ratings(20, 15, 2, density=0.5, random_state=0), make_labels(60, 12, 4, random_state=0)


def fitted(model: Any) -> Any:
    if isinstance(model, LabelModel):
        return model.fit(LABELS.X, LABELS.Y)
    return model.fit(RATINGS.X) if isinstance(model, EASE) else model.fit(RATINGS.X, RATINGS.y)


def test_a_model_shows_what_it_learned_and_how_it_got_there() -> None:
    page = fitted(ALS(2, alpha=1.0, random_state=0))._repr_html_()
    assert "<td>U_</td><td>20 × 2, float32</td>" in page
    assert "<td>ratings_</td><td>20 × 15</td>" in page
    points = re.search(r'<polyline points="([^"]+)"', page)[1].split()  # type: ignore[index]
    heights = [float(point.split(",")[1]) for point in points]
    assert heights == sorted(heights)  # the objective falls, and y grows downwards
    assert "objective along the fit" in page


def test_labels_have_a_bar_each() -> None:
    page = fitted(LabelRidge(random_state=0))._repr_html_()
    assert page.split("cofactor-learned")[1].count("<rect ") == 4


@pytest.mark.parametrize(
    "model",
    [
        EASE(),
        GroPLE(4, 2, random_state=0),
        Recommender([EASE()], OrdinalProbit(2, n_sweeps=8, burn_in=4), random_state=0),
    ],
    ids=lambda model: type(model).__name__,
)
def test_all_kinds_are_shown_in_notebooks(model: Any) -> None:
    assert "cofactor-learned" not in model._repr_mimebundle_()["text/html"]
    page = fitted(model)._repr_mimebundle_()["text/html"]
    assert "cofactor-learned" in page


def test_what_was_learned_cannot_write_into_the_page() -> None:
    model = fitted(ALS(2, alpha=1.0, random_state=0))
    model.note_ = "<script>"
    assert "<script>" not in model._repr_html_().split("cofactor-learned")[1]


def test_who_wants_text_gets_text() -> None:
    model = fitted(ALS(2, alpha=1.0, random_state=0))
    with config_context(display="text"):
        assert not hasattr(model, "_repr_html_")
        assert "text/html" not in model._repr_mimebundle_()
    assert np.isfinite(model.objective_)
