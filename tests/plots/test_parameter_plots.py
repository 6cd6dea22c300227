"""Pictures of a measure over parameters: what is drawn, where, and what is refused."""

from functools import partial

import numpy as np
import pytest
from tests.together import together

from cofactor.plots import plot_parameter_lines, plot_parameter_map

VALUES = [[0.7, 0.6, np.nan], [0.5, -0.4, 0.3]]
MAP = {"rows": [0.1, 1], "columns": [1, 10, "all"], "row_name": "weight of U", "column_name": "weight of V"}
LINES = {"d = 20": ([10, 1, 40], [0.3, 0.2, 0.4], [0.01, 0.02, 0.0]), "d = 60": ([1, 10], [0.31, 0.33], None)}
PICTURES = {
    "map": (partial(plot_parameter_map, **MAP), (VALUES,)),
    "lines": (partial(plot_parameter_lines, parameter="groups K"), (LINES,)),
}


def test_map_shows_every_number_where_it_belongs():
    ax = plot_parameter_map(VALUES, **MAP, measure="accuracy")
    written = {tuple(map(int, text.get_position())): text.get_text() for text in ax.texts}
    assert written == {(0, 0): ".700", (1, 0): ".600", (0, 1): ".500", (1, 1): "-.400", (2, 1): ".300"}
    assert ax.images[0].get_array().mask.tolist() == [[False, False, True], [False, False, False]]
    assert [text.get_text() for text in ax.get_xticklabels()] == ["1", "10", "all"]
    assert [text.get_text() for text in ax.get_yticklabels()] == ["0.1", "1"]
    assert (ax.get_xlabel(), ax.child_axes[0].get_ylabel()) == ("weight of V", "accuracy")


def test_map_refuses_what_does_not_fit():
    with pytest.raises(ValueError, match="2 rows and 3 columns"):
        plot_parameter_map(np.transpose(VALUES), **MAP)
    with pytest.raises(ValueError, match="no finite number"):
        plot_parameter_map(np.full((2, 3), np.nan), **MAP)


def test_lines_are_sorted_and_have_their_spread():
    ax = plot_parameter_lines(LINES, parameter="groups K", measure="accuracy")
    sorted_line, spread, _ = ax.containers[0].lines
    assert sorted_line.get_xydata().tolist() == [[1, 0.2], [10, 0.3], [40, 0.4]]
    ends = np.sort([cap.get_ydata() for cap in spread], axis=0)
    np.testing.assert_allclose(ends, [[0.18, 0.29, 0.4], [0.22, 0.31, 0.4]])
    assert not ax.containers[1].lines[1]  # a single measurement has no spread
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("groups K", "accuracy")
    assert plot_parameter_lines(LINES, parameter="K", logarithmic=True).get_xscale() == "log"


@together(
    ("line", "message"),
    [
        (([1, 2], [0.1], None), "equally long"),
        (([1, 2], [0.1, 0.2], [0.1]), "equally long"),
        (([1, 2], [0.1, 0.2], [0.1, -1]), "must not be negative"),
        (([1, 2], [0.1, 0.2]), "values, means, deviations"),
    ],
)
def test_lines_refuse_what_does_not_fit(line, message):
    with pytest.raises(ValueError, match=message):
        plot_parameter_lines({"a": line}, parameter="K")
    with pytest.raises(ValueError, match="at least one name"):
        plot_parameter_lines({}, parameter="K")
