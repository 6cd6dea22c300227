"""Pictures of similarities, trees and chains of labels: what is drawn, where, and what is refused."""

from functools import partial

import numpy as np
import pytest
from matplotlib.colors import to_hex
from scipy import sparse
from tests.together import together

from cofactor.correlation import greedy_chain, maximum_spanning_tree
from cofactor.labels import CML, CMLF, ChainCRF, ChainCRFEnsemble, TreeCRF
from cofactor.plots import OKABE_ITO, plot_correlations, plot_label_structure, plot_likelihood, plot_marginals

rng = np.random.default_rng(0)
C = rng.random((10, 10)).round(2)
C = np.triu(C, 1) + np.triu(C, 1).T
NAMES = [f"label number {k}" for k in range(10)]
CLUSTERS = [[0, 3, 9], [1, 2, 4, 5], [6], [7, 8]]
PICTURES = {
    "correlations": (partial(plot_correlations, names=NAMES), (C - 0.5, CLUSTERS)),
    "tree": (partial(plot_label_structure, names=NAMES), (maximum_spanning_tree(C), C)),
    "chain": (partial(plot_label_structure, names=NAMES), (greedy_chain(C), C)),
    "marginals": (partial(plot_marginals, names=NAMES), (C[0], C[1] > 0.5)),
}


def test_labels_of_a_cluster_stand_together():
    ax = plot_correlations(C, CLUSTERS)
    order = np.concatenate(CLUSTERS)
    np.testing.assert_array_equal(ax.images[0].get_array().filled(0), C[np.ix_(order, order)])
    assert [(patch.get_x(), patch.get_width()) for patch in ax.patches] == [(-0.5, 3), (2.5, 4), (6.5, 1), (7.5, 2)]
    same = np.zeros((10, 10), dtype=bool)
    for one in CLUSTERS:
        same[np.ix_(one, one)] = True
    within, between = C[same & ~np.eye(10, dtype=bool)].mean(), C[~same].mean()
    assert ax.get_title(loc="left") == f"mean {within:.3f} within groups, {between:.3f} between"


def test_sparse_similarities_are_dense_ones():
    C = np.array([[0.0, 0.1, 0.9], [0.1, 0.0, 0.0], [0.9, 0.0, 0.0]])
    shown = [plot_correlations(form(C)).images[0].get_array().tolist() for form in (np.asarray, sparse.csr_array)]
    assert shown[0] == shown[1]


def test_negative_similarities_have_another_colour():
    image = plot_correlations(np.array([[0, -0.2], [-0.2, 0]])).images[0]
    assert (image.norm.vmin, image.norm.vmax) == (-0.2, 0.2)
    red, _, blue, _ = image.cmap(image.norm(-0.2))
    assert red > blue


def drawn_edges(ax):
    """Return the ends of each line."""
    return {frozenset(map(tuple, line.get_xydata().tolist())): line for line in ax.lines}


@pytest.mark.parametrize("name", ["tree", "chain"])
def test_edges_join_the_places_of_their_labels(name):
    _, (structure, _) = PICTURES[name]
    signed = C - 0.5
    ax = plot_label_structure(structure, signed)
    texts = {text.get_text(): text.get_position() for text in ax.texts}
    places = [texts[str(k)] for k in range(10)]
    assert len(set(places)) == 10
    edges = structure if name == "tree" else np.column_stack([structure[:-1], structure[1:]])
    lines = drawn_edges(ax)
    assert len(lines) == 9
    for i, j in edges:
        line = lines[frozenset([places[i], places[j]])]
        assert to_hex(line.get_color()).upper() == OKABE_ITO[int(signed[i, j] < 0)]
        assert f"{signed[i, j]:.3g}" in texts
    assert ax.get_title(loc="left").endswith(f"sum of weights {signed[edges[:, 0], edges[:, 1]].sum():.4g}")


def test_a_chain_turns_at_the_end_of_a_row():
    ax = plot_label_structure(np.arange(10), C)
    places = [text.get_position() for text in ax.texts if text.get_text() in map(str, range(10))]
    assert places[:2] == [(0, 0), (1, 0)]
    assert places[7:] == [(7, 0), (7, 1), (6, 1)]


def test_many_labels_and_one():
    many = np.ones((60, 60))
    assert len(plot_label_structure(maximum_spanning_tree(many), many).texts) == 60  # names without weights
    assert plot_label_structure([0], [[0.0]]).get_title(loc="left") == "tree of 1 label, sum of weights 0"
    assert plot_correlations([[0.0]]).images


X = rng.normal(size=(30, 2))
Y = (X @ rng.normal(size=(2, 3)) + rng.normal(size=(30, 3)) > 0).astype(int)


def test_trees_and_likelihoods_of_models():
    tree, full = TreeCRF.paper(threshold="joint").fit(X, Y), CML.paper(pairs="four-state").fit(X, Y)
    assert (tree.edges()[:, 1] == tree.parents_[tree.order_[1:]]).all()
    assert (tree.pair_weights() != 0).sum() == 4  # two edges, both ways
    np.testing.assert_allclose(tree.pair_weights()[tuple(tree.edges().T)], tree.pair_coef_[0, 0])
    np.testing.assert_allclose(full.pair_weights(), full.pair_weights().T)
    drawn = plot_label_structure(tree.edges(), tree.pair_weights(), names="abc")
    assert {tuple(line.get_xydata()[0]) for line in drawn.lines} <= {text.get_position() for text in drawn.texts}
    chain = ChainCRF.paper().fit(X, np.zeros_like(Y))  # no label varies
    assert chain.edges().shape == (0, 2)
    assert not chain.pair_weights().any()
    ax = plot_likelihood({"tree": tree.history_, "all pairs": full.history_}, title="Emotions")
    assert [line.get_ydata()[-1] for line in ax.lines] == [-tree.objective_, -full.objective_]


def test_a_constant_label_stands_alone():
    wide = np.insert(Y, 1, 1, axis=1)
    kept = [0, 2, 3]
    for made in (TreeCRF.paper, ChainCRF.paper, CML.paper, CMLF.paper, partial(ChainCRFEnsemble.paper, 3)):
        few, model = (made(random_state=0).fit(X, labels) for labels in (Y, wide))
        weights = model.pair_weights()
        np.testing.assert_array_equal(weights[np.ix_(kept, kept)], few.pair_weights())
        assert not weights[1].any()
        np.testing.assert_array_equal(model.edges(), np.take(kept, few.edges()))
        ax = plot_label_structure(model.edges(), weights, names=model.label_names_)
        places = {text.get_text(): text.get_position() for text in ax.texts}
        assert {frozenset([places[str(i)], places[str(j)]]) for i, j in model.edges()} == set(drawn_edges(ax))
        assert places["1"][1] == max(y for _, y in places.values())
        assert ax.get_title(loc="left").startswith("trees of 4 labels")


def test_where_all_pairs_have_weights_the_weightiest_are_drawn():
    chains = ChainCRFEnsemble.paper(5, random_state=0).fit(X, Y)
    np.testing.assert_allclose(chains.pair_weights(), np.mean([one.pair_weights() for one in chains.models_], axis=0))
    for model in (chains, CML.paper().fit(X, Y), CMLF.paper(pairs="four-state").fit(X, Y)):
        size = np.abs(model.pair_weights())
        left_out = min(size[np.triu_indices(3, 1)])
        assert len(model.edges()) == 2
        assert min(size[tuple(model.edges().T)]) >= left_out
        assert size[tuple(model.edges()[0])] == size.max()
    none = CML.paper().fit(X, np.zeros_like(Y))
    assert none.edges().shape == (0, 2)


def test_bars_of_marginals():
    chances = np.linspace(0, 1, 60)
    ax = plot_marginals(chances, chances < 0.8, truth=chances > 0.9, title="one")
    widths = [bar.get_width() for bar in sorted(ax.patches, key=lambda bar: bar.get_y())]
    assert widths == sorted(chances, reverse=True)[:20]
    filled = [bar.get_width() for bar in ax.patches if to_hex(bar.get_facecolor()).upper() == OKABE_ITO[0]]
    assert filled == [one for one in widths if one < 0.8]
    assert ax.lines[0].get_xdata().tolist() == chances[chances > 0.9].tolist()[::-1]
    assert ax.get_title(loc="left") == "one: 48 of 60 labels predicted, 30 above ½"


@together(
    ("call", "message"),
    [
        (lambda: plot_correlations(C[:3]), "as many rows as columns"),
        (lambda: plot_correlations(np.where(C > 0.5, np.nan, C)), "finite"),
        (lambda: plot_correlations(C, [[0, 1], [1, 2]]), "each of the labels 0 to 9 must be in one"),
        (lambda: plot_correlations(C, names=["a"]), "names"),
        (lambda: plot_label_structure([[0, 10]], C), "pairs of the numbers 0 to 9"),
        (lambda: plot_label_structure([[k, (k + 1) % 9] for k in range(9)], C), "no circle"),
        (lambda: plot_label_structure([[0, 1], [1, 0]], C), "no circle"),
        (lambda: plot_label_structure([[0, 1], [1, 1]], C), "no circle"),
        (lambda: plot_label_structure([0, 1, 2], C), "each of the numbers 0 to 9 once"),
        (lambda: plot_label_structure(np.arange(10), C, names=["a"]), "names must have 10 entries, found 1"),
        (lambda: plot_marginals([0.2, 1.2], [0, 1]), "from 0 to 1"),
        (lambda: plot_marginals([0.2, 0.3], [0, 1, 1]), "label_set must hold one value for each of the 2 labels"),
        (lambda: plot_marginals([0.2, 0.3], [0, 2]), "label_set"),
        (lambda: plot_likelihood({}), "at least one"),
        (lambda: plot_likelihood({"CML": [1.0, np.nan]}), "finite"),
    ],
)
def test_what_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_edges_of_a_fitted_chain_are_called_a_chain():
    C = np.ones((4, 4))
    assert plot_label_structure([[0, 2], [3, 0], [1, 3]], C).get_title(loc="left").startswith("chain of 4 labels")
    assert plot_label_structure([[0, 2], [3, 0], [1, 0]], C).get_title(loc="left").startswith("tree of 4 labels")
