"""Users as lines and items as points: where lines, arrows and names stand."""

import itertools

import numpy as np
import pytest
from tests.together import together

from cofactor import published
from cofactor.plots import plot_hyperplanes


def test_hyperplanes_have_a_line_and_an_arrow_for_each_user() -> None:
    U, V = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([[-1.0, 1.0], [1.0, -1.0], [0.5, 0.5]])
    ax = plot_hyperplanes(U, V, threshold=0.5)
    for line, user in zip(ax.lines, U, strict=True):
        np.testing.assert_allclose(line.get_xydata() @ user, 0.5, atol=1e-9)
    texts = {text.get_text(): text for text in ax.texts}
    assert set(texts) >= {"$U_{1}$", "$U_{3}$", "$V_{1}$"}
    for k, user in enumerate(U, 1):  # the arrow ends on the upper side
        assert np.dot(texts[f"$U_{{{k}}}$"].xy, user) > 0.5


@together(
    ("U", "V", "message"),
    [
        ([[1.0, 0.0], [0.0, 0.0]], [[1.0, 1.0]], "U must have no row of zeros, found row 1"),
        ([[1.0, 0.0, 0.0]], [[1.0, 1.0]], r"U must have shape \(n, 2\)"),
        ([[1.0, np.nan]], [[1.0, 1.0]], "U must be finite"),
        ([[1.0, 0.0]], [1.0, 1.0], r"V must have shape \(n, 2\)"),
    ],
)
def test_factors_that_are_not_in_the_plane_are_refused(U: list, V: list, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        plot_hyperplanes(U, V)


def test_names_in_the_plane_lie_apart() -> None:
    """The factors of table 3.2, whose arrows once stood on items and on each other."""
    U, V = published.matrix("thesis-3.2-U"), published.matrix("thesis-3.2-V")
    ax = plot_hyperplanes(U, V, threshold=0.1)
    ax.figure.canvas.draw()
    places = {text.get_text(): text.get_window_extent() for text in ax.texts if text.get_text()}
    assert len(places) == len(U) + len(V)
    for (first, one), (second, other) in itertools.combinations(places.items(), 2):
        assert not one.overlaps(other), (first, second)
    feet = np.array([arrow.xyann for arrow in ax.texts if not arrow.get_text()])
    assert len(feet) == len(U)
    assert np.linalg.norm(feet[:, None] - V, axis=2).min() > 0.15  # so that no arrow seems to belong to an item
