"""Pictures of label models: what is drawn, where, and what is refused."""

import numpy as np
import pytest
from matplotlib.patches import Rectangle
from scipy import sparse
from tests.together import together

from cofactor.correlation import jaccard
from cofactor.labels import GroPLE
from cofactor.plots import (
    plot_cooccurrence,
    plot_group_sparsity,
    plot_label_tree,
    plot_threshold_curves,
    prediction_table,
)
from cofactor.plots.figures import shortened
from cofactor.plots.trees import tree_positions

from .pixels import check_draws

Y = np.array([[1, 0, 1, 0, 0], [1, 0, 1, 0, 0], [0, 1, 0, 1, 0], [0, 1, 1, 1, 0]])
GROUPS = [4, 2, 4, 2, 7]
V = np.array([[0, 2, 0, -1, 0], [3, 0, 0.5, 0, 0], [0, 0, 0, 0, 1.0]])
NODES = [
    {"id": 0, "parent": None, "depth": 0, "n": 20, "n_retained": 8, "children": [1, 2]},
    {"id": 1, "parent": 0, "depth": 1, "n": 7, "n_retained": 7, "children": []},
    {"id": 2, "parent": 0, "depth": 1, "n": 5, "n_retained": 1, "children": [3, 4, 5]},
    {"id": 3, "parent": 2, "depth": 2, "n": 2, "n_retained": 2, "children": []},
    {"id": 4, "parent": 2, "depth": 2, "n": 1, "n_retained": 0, "children": []},
    {"id": 5, "parent": 2, "depth": 2, "n": 1, "n_retained": 0, "children": []},
]
CURVES = {"PLST": ([0.0, -0.2, 0.2], [0.4, 0.6, 0.2]), "OMF": ([-0.1, 0.1], [0.5, 0.7])}
PICTURES = {
    "grouped cooccurrence": (plot_cooccurrence, (Y, GROUPS)),
    "group sparsity": (plot_group_sparsity, (V, GROUPS)),
    "threshold curves": (plot_threshold_curves, (CURVES, {"PLST": -0.2})),
    "tree": (plot_label_tree, (NODES,)),
}


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# --- co-occurrence ----------------------------------------------------------------------------------------------


def test_cooccurrence_as_it_comes():
    ax = plot_cooccurrence(Y)
    drawn = ax.images[0].get_array()
    assert drawn.mask.tolist() == np.eye(5, dtype=bool).tolist()
    np.testing.assert_array_equal(drawn.filled(1), jaccard(Y))
    signs = plot_cooccurrence(sparse.csr_array(2 * Y - 1))
    np.testing.assert_array_equal(signs.images[0].get_array().filled(1), jaccard(Y))
    assert not ax.patches
    assert not ax.get_title(loc="left")


def test_cooccurrence_by_group():
    ax = plot_cooccurrence(Y, GROUPS)
    placed = [1, 3, 0, 2, 4]
    drawn = ax.images[0].get_array()
    np.testing.assert_array_equal(drawn.filled(1), jaccard(Y)[np.ix_(placed, placed)])
    frames = [(patch.get_x(), patch.get_width()) for patch in ax.patches if isinstance(patch, Rectangle)]
    assert frames == [(-0.5, 2), (1.5, 2), (3.5, 1)]
    # Pairs within groups: (0, 2) 2/3 and (1, 3) 1. Between: only (1, 2) and (2, 3) overlap, in 1 row of 4.
    assert ax.get_title(loc="left") == f"mean {(2 / 3 + 1) / 2:.3f} within groups, {0.5 / 8:.3f} between"


def test_order_and_names_of_labels():
    ax = plot_cooccurrence(Y, order=[4, 3, 2, 1, 0], names=["a", "b", "c", "d" * 30, "e, f"])
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["e, f", "d" * 21 + "…", "c", "b", "a"]
    many = np.eye(41)
    assert len(plot_cooccurrence(many, names=range(41)).get_xticks()) == 0
    assert shortened("short") == "short"


def test_one_label_and_labels_that_never_meet():
    assert "within" not in plot_cooccurrence([[1], [0]]).get_title(loc="left")
    assert plot_cooccurrence([[1], [0]], [0]).get_title(loc="left") == "mean – within groups, – between"
    check_draws(plot_cooccurrence(np.eye(3), [0, 0, 1]))


@together(
    ("options", "message"),
    [
        ({"groups": [0, 1]}, r"groups must hold one value for each of the 5 labels, found shape \(2,\)"),
        ({"order": [0, 1, 2, 3, 3]}, "order must hold each of the numbers 0 to 4 once"),
        ({"order": [0, 1]}, "order must hold each"),
        ({"names": ["a"]}, "names must hold one value for each of the 5 labels"),
    ],
)
def test_bad_cooccurrence(options, message):
    with pytest.raises(ValueError, match=message):
        plot_cooccurrence(Y, **options)


# --- group sparsity ---------------------------------------------------------------------------------------------


def test_group_sparsity():
    ax = plot_group_sparsity(V, GROUPS)
    # Groups 2 (labels 1, 3), 4 (0, 2), 7 (4); factor 0 serves the first, 1 the second, 2 the third.
    drawn = ax.images[0].get_array()
    assert drawn.filled(0).tolist() == [[2, 1, 0, 0, 0], [0, 0, 3, 0.5, 0], [0, 0, 0, 0, 1]]
    assert drawn.mask.sum() == 10
    assert [line.get_xdata()[0] for line in ax.lines] == [1.5, 3.5]
    assert ax.get_title(loc="left") == "67 % of the rows of groups are zero"


def test_labels_constant_in_training_are_left_out():
    whole = plot_group_sparsity(V, GROUPS, names=list("abcde"))
    constant = plot_group_sparsity(V, [4, -1, 2, 4, 2, 7, -1], names=list("aXbcdeY"))
    np.testing.assert_array_equal(*(ax.images[0].get_array().filled(0) for ax in (whole, constant)))
    assert [t.get_text() for t in whole.get_xticklabels()] == [t.get_text() for t in constant.get_xticklabels()]
    random = np.random.default_rng(0)
    labels = random.random((40, 7)) < 0.4
    labels[:, 2] = False
    model = GroPLE.paper(n_components=3, n_groups=2, random_state=0).fit(random.normal(size=(40, 5)), labels)
    assert model.groups_[2] == -1
    plot_group_sparsity(model.V_, model.groups_)


def test_factors_are_sorted_by_the_group_that_uses_them_most():
    mixed = V[[2, 0, 1]]
    np.testing.assert_array_equal(
        plot_group_sparsity(mixed, GROUPS).images[0].get_array().filled(0),
        plot_group_sparsity(V, GROUPS).images[0].get_array().filled(0),
    )
    dense = plot_group_sparsity(np.ones((2, 3)), [0, 0, 1])
    assert dense.get_title(loc="left").startswith("0 %")
    check_draws(plot_group_sparsity(np.zeros((2, 3)), [0, 0, 1]))


@together(
    ("matrix", "groups", "error", "message"),
    [
        ([1, 2], [0, 1], ValueError, "V must be a non-empty matrix"),
        ([[1, np.nan]], [0, 1], ValueError, "V must be finite"),
        ([["a", "b"]], [0, 1], TypeError, "V must be a matrix of numbers"),
        ([[1, 2]], [0], ValueError, "groups must hold one value for each of the 2 labels"),
    ],
)
def test_bad_factors(matrix, groups, error, message):
    with pytest.raises(error, match=message):
        plot_group_sparsity(matrix, groups)


# --- threshold curves -------------------------------------------------------------------------------------------


def test_threshold_curves_mark_the_cuts():
    ax = plot_threshold_curves(CURVES, {"PLST": -0.1})
    mark, first, second, plain = ax.lines
    np.testing.assert_array_equal(first.get_xydata(), [[-0.2, 0.6], [0, 0.4], [0.2, 0.2]])
    np.testing.assert_array_equal(second.get_xydata(), [[-0.1, 0.5], [0.1, 0.7]])
    np.testing.assert_allclose(mark.get_xydata(), [[-0.1, 0.5]])
    assert plain.get_xdata() == [0, 0]
    assert mark.get_color() == first.get_color() != second.get_color()
    assert legend(ax) == ["PLST: 0.400 at 0, 0.500 at -0.1", "OMF: 0.600 at 0", "plain cut"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("cut of the scores", "micro-F1")


def test_bad_threshold_curves():
    with pytest.raises(ValueError, match="learned has a cut for 'LEML', which is none of the curves"):
        plot_threshold_curves(CURVES, {"LEML": 0.0})
    with pytest.raises(ValueError, match=r"learned\['OMF'\] must be finite"):
        plot_threshold_curves(CURVES, {"OMF": np.nan})
    with pytest.raises(ValueError, match="curves is empty"):
        plot_threshold_curves({})


# --- tree -------------------------------------------------------------------------------------------------------


def test_positions_in_the_tree():
    assert tree_positions(NODES) == {1: (0, 1), 3: (1, 2), 4: (2, 2), 5: (3, 2), 2: (2, 1), 0: (1, 0)}
    assert tree_positions(list(reversed(NODES))) == tree_positions(NODES)


def test_the_tree_shows_instances_and_shares():
    ax = plot_label_tree(NODES)
    (circles,) = ax.collections
    areas = circles.get_sizes()
    np.testing.assert_allclose(areas / areas[0], [1, 7 / 20, 5 / 20, 2 / 20, 1 / 20, 1 / 20])
    np.testing.assert_allclose(circles.get_array(), [40, 100, 20, 100, 0, 0])
    assert len(ax.lines) == 5
    assert [text.get_text() for text in ax.texts] == ["8 / 20", "7 / 7", "1 / 5", "2 / 2", "0 / 1", "0 / 1"]
    assert ax.get_title(loc="left") == "6 nodes, 2 of 20 instances retained by none"
    assert ax.get_ylim()[0] > ax.get_ylim()[1]  # the root is at the top


def test_a_root_alone_and_a_wide_tree():
    root = {"id": 0, "parent": None, "depth": 0, "n": 3, "n_retained": 3, "children": []}
    assert plot_label_tree([root]).get_title(loc="left") == "1 node, 0 of 3 instances retained by none"
    wide = [{**root, "n": 60, "children": list(range(1, 61))}]
    wide += [{**root, "id": k, "parent": 0, "depth": 1, "n": 1, "n_retained": 0} for k in range(1, 61)]
    ax = plot_label_tree(wide)
    assert not ax.texts
    check_draws(ax)


@together(
    ("nodes", "message"),
    [
        ([], "found 0 nodes and 0 roots"),
        ([*NODES, NODES[1]], "distinct ids"),
        (NODES[:3], "node 3 is missing"),
        ([NODES[0] | {"children": [1]}, *NODES[1:]], "node 2 is not reached"),
        ([NODES[0], NODES[1] | {"children": [2]}, *NODES[2:]], "reached twice"),
    ],
)
def test_bad_trees(nodes, message):
    with pytest.raises(ValueError, match=message):
        plot_label_tree(nodes)


# --- predictions ------------------------------------------------------------------------------------------------


def test_predictions_as_text():
    predicted = sparse.csr_array([[1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]])
    lines = prediction_table(Y, predicted, list("abcde")).splitlines()
    assert lines == ["0: ✓ a  ✗ b  – c", "1: ✓ a  ✓ c", "2: – b  – d", "3: ✗ e  – b  – c  – d"]
    assert prediction_table([[0]], [[0]]) == "0: no labels, and none predicted"


def test_predictions_as_html_are_escaped():
    text = prediction_table([[1, 0]], [[1, 1]], ["<b>", 'so "x" & y'], rows=["<script>"], form="html")
    assert '<th scope="row">&lt;script&gt;</th><td>&lt;b&gt;</td><td>so &#34;x&#34; &amp; y</td><td></td></tr>' in text
    assert text.startswith('<table class="words">')
    assert text.endswith("</table>")


@together(
    ("options", "message"),
    [
        ({"names": ["a"]}, "names must have 5 entries, found 1"),
        ({"rows": ["a"]}, "rows must have 4 entries, found 1"),
        ({"form": "latex"}, "form='latex': expected one of 'text', 'html'"),
    ],
)
def test_bad_tables(options, message):
    with pytest.raises(ValueError, match=message):
        prediction_table(Y, Y, **options)
