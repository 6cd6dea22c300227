"""What holds of every picture: it has labels and room for all of it, is drawn into given axes, and leaves its input."""

import sys

import pytest
from matplotlib.figure import Figure
from tests.together import together

from . import test_comparison_plots, test_correlation_plots, test_drift_plots, test_label_plots, test_parameter_plots
from . import test_plots as test_rating_plots
from .pixels import check_drawn_and_whole, check_left_alone_and_freed

MODULES = (
    *(test_comparison_plots, test_correlation_plots, test_drift_plots),
    *(test_label_plots, test_parameter_plots, test_rating_plots),
)
PICTURES = {f"{module.__name__}: {name}": picture for module in MODULES for name, picture in module.PICTURES.items()}


def draw(name, **kwargs):
    function, arguments = PICTURES[name]
    return function(*arguments, **kwargs)


@together("name", PICTURES)
def test_it_has_labels_and_room_for_all_of_it(name):
    """Its legend, if it is not part of the picture, lies beside the data."""
    ax = draw(name)
    assert ax.get_xlabel()
    assert ax.get_ylabel() or "critical" in name
    ax.figure.set_dpi(72)
    ax.figure.canvas.draw()
    check_drawn_and_whole(ax)
    if ax.get_legend():
        assert ax.get_legend().get_window_extent().x0 >= ax.get_window_extent().x1


@together("name", PICTURES)
def test_it_is_drawn_into_given_axes(name):
    left, right = Figure().subplots(1, 2)
    assert draw(name, ax=right) is right
    assert right.has_data()
    assert not left.has_data()


def test_input_is_left_alone_and_figures_are_freed():
    check_left_alone_and_freed(PICTURES)


@together("name", PICTURES)
def test_without_matplotlib(name):
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"pip install 'cofactor\[plots\]'"):
            draw(name)
