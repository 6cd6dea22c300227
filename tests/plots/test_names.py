"""Texts of the caller in pictures: drawn as they are, with room for them, and beside the data."""

import io
import logging
import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.text import Text
from tests.together import together

from cofactor import plots
from cofactor.evaluation import Scores, nemenyi
from cofactor.metrics import interaction_calibration_bins
from cofactor.plots.figures import draw, legend, new_axes
from cofactor.ratings import Reasons
from cofactor.samplers import Chain

from .pixels import check_drawn_and_whole

#: Not a formula of matplotlib, and one that would be drawn in italics without its dollar signs; and both.
NAMES = ("ALS, $k=5^$", "cost $5$ and $6$")
BOTH = "$5$, $k^$"
CHAINS = [Chain(k, 7, log_likelihood=[-60.0, -50, -41 - k, -43, -40, -42, -41, -40]) for k in (0, 1)]
NODES = [{"id": 0, "parent": None, "depth": 0, "n": 3, "n_retained": 3, "children": []}]
RANKS = [[1, 2, 3]] * 6
Y = np.array([[1, 0, 1], [0, 1, 1]])
CURVE = ([0.1, 0.5, 1.0], [0.3, 0.2, 0.4])
DRIFTING = SimpleNamespace(
    past_=SimpleNamespace(indptr=[0, 3], seconds=np.array([0.0, 60, 7200])),
    users_=SimpleNamespace(index=lambda users: [0]),
    samples_={"drift_time": [[20.0, 3600, 86400 * 50]] * 2, "drift_scale": [[0.4, 0.3, 0.2]] * 2},
    drift=lambda users, times: (np.sin(times), 0.1 + np.zeros(len(times))),
)
INTERACTED = interaction_calibration_bins([0.1, 0.2, 0.3], [0, 1, 1], edges=[0, 1])


def levelled(n):
    return nemenyi(Scores(RANKS, [n, "b", "c" + n], greater_is_better=False))


def lines(n):
    return {n: (*CURVE, [0.1, 0.1, 0.1]), "other": (*CURVE, None)}


#: Each function with its number of texts of the caller, all of which hold the name n.
PICTURES = {
    "confusion": (1, lambda n: plots.plot_confusion([[1, 2], [3, 4]], [1, 2], title=n)),
    "convergence": (2, lambda n: plots.plot_convergence({n: CURVE}, gap=True, title=n)),
    "cooccurrence": (7, lambda n: plots.plot_cooccurrence(Y, names=[n, n, n], title=n)),
    "correlations": (8, lambda n: plots.plot_correlations(np.eye(3), names=[n, n, n], measure=n, title=n)),
    "critical_difference": (3, lambda n: plots.plot_critical_difference(levelled(n), title=n)),
    "drift": (1, lambda n: plots.plot_drift(DRIFTING, "ann", title=n)),
    "drift_times": (1, lambda n: plots.plot_drift_times(DRIFTING, title=n)),
    "error_by_level": (4, lambda n: plots.plot_error_by_level({n: [1, 2]}, [1, 2], unit=n, title=n)),
    "group_sparsity": (4, lambda n: plots.plot_group_sparsity(Y, [0, 1, 1], names=[n, n, n], title=n)),
    "label_reliability": (4, lambda n: plots.plot_label_reliability(Y, 0.9 * Y, names=[n, n, n], title=n)),
    "label_structure": (4, lambda n: plots.plot_label_structure([1, 0, 2], np.eye(3), names=[n, n, n], title=n)),
    "label_tree": (1, lambda n: plots.plot_label_tree(NODES, title=n)),
    "learning_curves": (3, lambda n: plots.plot_learning_curves(lines(n), error=n, title=n, logarithmic=True)),
    "likelihood": (2, lambda n: plots.plot_likelihood({n: [3.0, 2.0]}, title=n)),
    "marginals": (4, lambda n: plots.plot_marginals([0.1, 0.2, 0.3], [0, 1, 1], names=[n, n, n], title=n)),
    "parameter_lines": (4, lambda n: plots.plot_parameter_lines(lines(n), parameter=n, measure=n, title=n)),
    "parameter_map": (
        6,
        lambda n: plots.plot_parameter_map([[1]], [n], [n], row_name=n, column_name=n, measure=n, title=n),
    ),
    "coverage_tradeoff": (4, lambda n: plots.plot_coverage_tradeoff({n: (0.1, 0.2)}, measure=n, coverage=n, title=n)),
    "popularity": (2, lambda n: plots.plot_popularity([0.1, 0.2], {n: [0.3, 0.4]}, title=n)),
    "recall_curves": (3, lambda n: plots.plot_recall_curves({n: CURVE}, measure=n, title=n)),
    "reasons": (2, lambda n: plots.plot_reasons(why_of(n), n, names={n: n, 1: n}, title=n)),
    "recommendations": (2, lambda n: plots.plot_recommendations([n], [0.1], [0.5], title=n)),
    "interaction_reliability": (2, lambda n: plots.plot_interaction_reliability({n: INTERACTED}, title=n)),
    "reliability": (1, lambda n: plots.plot_reliability([1], [[0.2, 0.8]], [1, 2], title=n)),
    "scaling": (2, lambda n: plots.plot_scaling([1, 2], {n: [1, 2]}, size=n)),
    "splits": (3, lambda n: plots.plot_splits({n: [1, 2]}, metric=n, title=n)),
    "threshold_curves": (3, lambda n: plots.plot_threshold_curves({n: CURVE}, {n: 0.5}, measure=n, title=n)),
    "trace": (1, lambda n: plots.plot_trace(SimpleNamespace(chains_=CHAINS, burn_in=2), title=n)),
    "tradeoff": (4, lambda n: plots.plot_tradeoff({n: CURVE}, error=n, title=n)),
    "validation": (4, lambda n: plots.plot_validation(*CURVE, None, best=1, score=n, parameter=n, title=n)),
}
WORDLESS = {"embedding", "hyperplanes"}  # they take numbers only


def why_of(item: str) -> Reasons:
    """Return reasons for an item with such a name."""
    own = np.array([1], dtype=object), np.array([4.0])
    return Reasons("ann", np.array([item], dtype=object), np.ones(1), *own, np.ones((1, 1)), None, "rating", {})


def plain(ax):
    """Save a picture as a caller may who does not know save_figure."""
    ax.figure.savefig(io.BytesIO(), format="png")


def test_every_plot_function_is_here():
    assert {f"plot_{name}" for name in PICTURES.keys() | WORDLESS} == {n for n in plots.__all__ if n.startswith("plot")}


@together(("picture", "name"), [*((p, BOTH) for p in PICTURES), *(("confusion", n) for n in NAMES)])
def test_names_are_drawn_as_they_are(picture, name):
    number, function = PICTURES[picture]
    ax = function(name)
    ax.figure.set_layout_engine(None)  # which takes most of the time, and makes no texts
    ax.figure.draw_without_rendering()  # and the texts are still the same once they are drawn
    texts = [text for text in ax.figure.findobj(Text) if name in text.get_text() and text.get_visible()]
    assert len(texts) == number
    assert not any(text.get_parse_math() for text in texts)
    if picture == "confusion":  # all pictures are drawn by the same code
        assert all(draw(ax, form) for form in (("png", "svg") if name == BOTH else ("svg",)))


def test_formulas_of_others_are_left_alone():
    """Powers of ten at a logarithmic axis, and texts of the caller's own."""
    ax = new_axes(None)
    ax.set_yscale("log")
    own = ax.text(1, 1, "$x^2$")
    plots.plot_parameter_lines({"a": ([1, 2], [1e-3, 1e3], None)}, ax, parameter="K")
    plain(ax)
    assert own.get_parse_math()
    ticks = [text for text in ax.get_yticklabels() if text.get_text().startswith("$")]
    assert ticks
    assert all(text.get_parse_math() for text in ticks)


# --- room ---------------------------------------------------------------------------------------------------


@together(
    ("picture", "name"),
    [("splits", "n" * 60), *((one, "W" * 120) for one in ("critical_difference", "splits", "tradeoff"))],
)
def test_long_names_leave_room_for_the_data(picture, name):
    ax = {
        "critical_difference": lambda n: plots.plot_critical_difference(levelled(n)),
        "splits": lambda n: plots.plot_splits({n: [1, 2]}),
        "tradeoff": lambda n: plots.plot_tradeoff({n: CURVE}),
    }[picture](name)
    plain(ax)  # a warning that the axes have collapsed would be an error
    check_drawn_and_whole(ax)
    assert ax.get_window_extent().width / ax.figure.dpi > 1


def test_a_long_name_in_the_legend_is_whole():
    name = "hierarchical maximum-margin matrix factorization, d = 100"
    ax = plots.plot_tradeoff({name: CURVE})
    first = ax.get_legend().get_texts()[0].get_text()
    assert max(map(len, first.split("\n"))) <= 32
    assert first.replace("\n", "") == name


@together("picture", ["confusion", "tradeoff"])  # with a bar of colours, and with a legend
def test_a_picture_drawn_twice_is_the_same(picture):
    """Its layout has settled at the first time; a label would be cut off otherwise."""
    ax = PICTURES[picture][1]("HMF")
    first = draw(ax, "svg")
    assert draw(pickle.loads(pickle.dumps(ax.figure)), "svg") == first


# --- letters without a glyph --------------------------------------------------------------------------------

CHINESE = "矩阵分解"


@pytest.fixture
def without_chinese(monkeypatch):
    """As on a machine that has no such font."""
    monkeypatch.setattr("cofactor.plots.figures._cjk_fonts", tuple)


@pytest.mark.usefixtures("without_chinese")
@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_letters_without_a_glyph_are_named_once(form, caplog):
    ax = plots.plot_splits({CHINESE: [1, 2], "分": [2, 3]}, title=CHINESE)
    with caplog.at_level(logging.WARNING), warnings.catch_warnings():
        warnings.simplefilter("error")
        assert draw(ax, form)
    (record,) = caplog.records
    assert all(letter in record.getMessage() for letter in CHINESE)


def test_other_warnings_of_a_drawing_are_passed_on(monkeypatch):
    ax = plots.plot_splits({"HMF": [1, 2]})
    savefig = ax.figure.savefig

    def warned(*args, **kwargs):
        warnings.warn("look out", RuntimeWarning, stacklevel=1)
        savefig(*args, **kwargs)

    monkeypatch.setattr(ax.figure, "savefig", warned)
    with pytest.warns(RuntimeWarning, match="look out"):
        draw(ax, "png")


def test_fonts_for_chinese_follow_the_usual_ones(monkeypatch):
    monkeypatch.setattr("cofactor.plots.figures._cjk_fonts", lambda: ("Noto Sans CJK JP",))
    ax = new_axes(None)
    ax.plot([1, 2], label=CHINESE)
    ax.plot([2, 1], label="plain")
    legend(ax)
    chinese, ascii_only = ax.get_legend().get_texts()
    assert chinese.get_fontfamily() == ["sans-serif", "Noto Sans CJK JP"]
    assert ascii_only.get_fontfamily() == ["sans-serif"]
