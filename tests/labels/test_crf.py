"""Conditional random fields of labels: what they are equal to, what they decode, and what they refuse."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

from cofactor.correlation import chi_squared, pearson
from cofactor.errors import InvalidInputError
from cofactor.labels import CML, CMLF, ChainCRF, ChainCRFEnsemble, TreeCRF
from cofactor.labels.crf.base import SetField, TreeField, Weights
from cofactor.labels.crf.trees import chain_tree, check_tree, drawn_chain, drawn_tree, of_varying, undirected
from cofactor.problems.random_fields import TWO_STATES, LabelTree, PairForm, tree_best, tree_best_of_sizes

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
NOISE = rng.logistic(size=(60, 1)) + 0.3 * rng.logistic(size=(60, 4))  # labels go together, whatever the features
Y = (X @ rng.normal(size=(3, 4)) + NOISE > 0).astype(int)
EXACT = {"alpha": 0.7, "tol": 1e-13, "max_iter": 2000}


def test_one_label_is_logistic_regression():
    other = LogisticRegression(C=1 / 0.7, tol=1e-10, max_iter=1000).fit(X, Y[:, 0])
    for kind in (CML, CMLF, TreeCRF, ChainCRF):
        model = kind.paper(**EXACT).fit(X, Y[:, :1])
        np.testing.assert_allclose(model.coef_[:, 0], other.coef_[0], atol=1e-5)
        np.testing.assert_allclose(model.intercept_, other.intercept_, atol=1e-5)


def test_two_labels_are_one_model_in_all_classes():
    expected = CML.paper(**EXACT).fit(X, Y[:, :2]).predict_proba(X)
    for kind in (TreeCRF, ChainCRF):
        np.testing.assert_allclose(kind.paper(**EXACT).fit(X, Y[:, :2]).predict_proba(X), expected, atol=1e-5)
    calibrated = CML.paper(**EXACT, threshold="auto").fit(X, Y[:, :2])
    np.testing.assert_allclose(expit(calibrated.decision_function(X)), expected, atol=1e-12)


def test_labels_that_go_together_get_weights_above_0_and_make_sets_likelier():
    apart, together = CML.paper(1e6).fit(X, Y), CML.paper(0.7).fit(X, Y)
    assert (together.pair_coef_ > 0).all()
    assert np.abs(apart.pair_coef_).max() < 1e-3
    both = together.predict_proba(X)[:, :2].min(axis=1)
    assert (both >= 0).all()


@pytest.mark.parametrize("kind", [CML, CMLF])
def test_sets_of_training_are_those_of_exact_inference_where_all_occur(kind):
    sets = np.array(list(itertools.product((0, 1), repeat=4)))
    table, labels = np.vstack([X, X[:16]]), np.vstack([Y, sets])
    exact = kind.paper(**EXACT, inference="exact", threshold="joint").fit(table, labels)
    supported = kind.paper(**EXACT, inference="supported", threshold="joint").fit(table, labels)
    np.testing.assert_allclose(exact.predict_proba(X), supported.predict_proba(X), atol=1e-5)
    np.testing.assert_array_equal(exact.predict(X), supported.predict(X))


def test_a_label_set_that_training_lacks_is_not_predicted_by_supported_inference():
    labels = Y.copy()
    labels[labels[:, 0] == 0, 1] = 0
    seen = {tuple(row) for row in labels}
    found = CML.paper(threshold="joint", inference="supported").fit(X, labels).predict(3 * X)
    assert {tuple(row) for row in found.astype(int)} <= seen


def by_hand(weights: Weights, pairs: PairForm) -> np.ndarray:
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    alike = sets[:, pairs.first] == sets[:, pairs.second]
    return softmax(weights.scores(X) @ sets.T + alike @ weights.V[0, 0], axis=1)


@pytest.mark.parametrize("form", ["sets", "chain"])
def test_marginals_and_likeliest_sets_are_those_of_enumeration(form):
    sets = np.array(list(itertools.product((0.0, 1.0), repeat=4)))
    tree = chain_tree(np.array([2, 0, 3, 1]))
    model = CML.paper(inference="exact").fit(X, Y)
    field = SetField(model.sets_, PairForm.of_all(TWO_STATES, 4), False) if form == "sets" else TreeField(tree)
    weights = Weights(rng.normal(size=(3, 4)), rng.normal(size=4), rng.normal(size=(1, 1, len(field.pairs.first))))
    chances = by_hand(weights, field.pairs)
    np.testing.assert_allclose(field.marginals(X, weights), chances @ sets, atol=1e-10)
    np.testing.assert_array_equal(field.likeliest(X, weights), sets[chances.argmax(axis=1)] > 0)


@pytest.mark.parametrize("kind", [CML, TreeCRF, ChainCRF])
@pytest.mark.parametrize("sizes", [(0, 1), (2, 2), (3, 5), "training"])
def test_likeliest_sets_of_some_sizes_are_those_of_enumeration(kind, sizes):
    """Li's thesis, section 6.1.1; a label that all have counts."""
    wide = np.column_stack([Y[:, :2], np.ones(60, dtype=int), Y[:, 2:]])
    model = kind.paper(set_sizes=sizes, random_state=0).fit(X, wide)
    found = model.predict(3 * X).astype(bool)
    counts = wide.sum(axis=1)
    least, most = sizes if sizes != "training" else (
        np.floor(counts.mean() - counts.std()), np.ceil(counts.mean() + counts.std())
    )  # fmt: skip
    sets = np.array(list(itertools.product((0, 1), repeat=4)))
    sets = sets[(sets.sum(axis=1) + 1 >= least) & (sets.sum(axis=1) + 1 <= most)]
    pairs = np.zeros((len(X), len(sets)))
    weights = model.pair_weights()[np.ix_([0, 1, 3, 4], [0, 1, 3, 4])]
    for j, k in itertools.combinations(range(4), 2):
        pairs += weights[j, k] * (sets[:, j] == sets[:, k])
    scores = (3 * X @ model.coef_ + model.intercept_) @ sets.T + pairs
    np.testing.assert_array_equal(found[:, [0, 1, 3, 4]], sets[scores.argmax(axis=1)] > 0)
    assert found[:, 2].all()


def test_sizes_of_sets_in_large_trees():
    tree = drawn_tree(9, np.random.default_rng(3))
    F, a = rng.normal(size=(20, 9)), np.append(0, rng.normal(size=8))
    sets = np.array(list(itertools.product((0, 1), repeat=9)))
    both = sets[:, tree.order[1:]] * sets[:, tree.parents[tree.order[1:]]]
    scores = F @ sets.T + both @ tree.of_edges(a[1:])[tree.order[1:]]
    np.testing.assert_array_equal(tree_best(F, tree, tree.of_edges(a[1:])), sets[scores.argmax(axis=1)] > 0)
    for least, most in ((0, 9), (0, 2), (4, 4), (7, 9), (9, 9)):
        inside = (sets.sum(axis=1) >= least) & (sets.sum(axis=1) <= most)
        best = np.where(inside, scores, -np.inf).argmax(axis=1)
        found = tree_best_of_sizes(F, tree, tree.of_edges(a[1:]), least, most)
        np.testing.assert_array_equal(found, sets[best] > 0)


def test_sizes_that_no_set_has_are_refused():
    for model, message in (
        (CML.paper(set_sizes=(5, 6)), "no label set that is possible has so many labels"),
        (TreeCRF.paper(set_sizes=(5, 6)), "sets may have 0 to 4"),
        (TreeCRF.paper(set_sizes=(3, 2)), "the least and the largest number"),
        (TreeCRF.paper(set_sizes="mean"), "training"),
        (CML.paper(set_sizes=(0, 1), inference="gibbs"), "one label at a time"),
        (CML.paper(set_sizes=(0, 1), threshold=0), "the likeliest label set is not asked for"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            model.fit(X, Y)


SETS = np.array(list(itertools.product((0.0, 1.0), repeat=4)))


def set_scores(edges: list[tuple[int, int]], inputs: np.ndarray) -> np.ndarray:
    """Return the scores of all label sets by a plain program of (4.1) to (4.3), with inputs of the weights of pairs."""
    alike = np.array([[row[j] == row[k] for j, k in edges] for row in SETS]).astype(float)
    own = np.array([np.flatnonzero((row == SETS).all(axis=1))[0] for row in Y])

    def scored(w):
        pairs = inputs @ w[16:].reshape(-1, len(edges)) @ alike.T
        return (X @ w[:12].reshape(3, 4) + w[12:16]) @ SETS.T + pairs

    def loss(w):
        """Return the penalized negative log-likelihood and its gradient."""
        scores = scored(w)
        likelihood = scores[np.arange(60), own] - logsumexp(scores, axis=1)
        weights = np.where((np.arange(len(w)) >= 12) & (np.arange(len(w)) < 16), 0, w)  # intercepts are free
        gap = softmax(scores, axis=1) - np.eye(16)[own]
        slopes = X.T @ gap @ SETS, gap.sum(axis=0) @ SETS, inputs.T @ gap @ alike
        return np.sum(weights**2) / 2 - likelihood.sum(), weights + np.concatenate([s.ravel() for s in slopes])

    return scored(minimize(loss, np.zeros(16 + inputs.shape[1] * len(edges)), jac=True, tol=1e-10).x)


def test_papers_decode_by_the_likeliest_set():
    """Li's thesis, (4.4): the sets that a plain program of the equations finds, and not marginals at one half."""
    pairs = list(itertools.combinations(range(4), 2))
    edges_of = {
        CML: pairs, CMLF: pairs, ChainCRF: [(0, 1), (1, 2), (2, 3)],
        TreeCRF: [(0, 1), (0, 2), (0, 3)],
    }  # fmt: skip
    settings = {ChainCRF: {"order": "given"}, TreeCRF: {"structure": [[0, 1], [0, 2], [0, 3]]}}
    for kind, edges in edges_of.items():
        scores = set_scores(edges, np.column_stack([X, np.ones(60)]) if kind is CMLF else np.ones((60, 1)))
        model = kind.paper(**settings.get(kind, {}), tol=1e-12).fit(X, Y)
        np.testing.assert_allclose(model.predict_proba(X), softmax(scores, axis=1) @ SETS, atol=1e-4)
        np.testing.assert_array_equal(model.predict(X), SETS[scores.argmax(axis=1)])
    assert not np.array_equal(model.predict(X), model.predict_proba(X) > 0.5)


def test_the_paper_of_an_ensemble_counts_the_likeliest_sets_of_its_chains():
    model = ChainCRFEnsemble.paper(3, tol=1e-12, random_state=0).fit(X, Y)
    orders = [one.order_.tolist() for one in model.models_]
    assert len({tuple(order) for order in orders}) == 3
    found = [set_scores(list(itertools.pairwise(order)), np.ones((60, 1))) for order in orders]
    mean = np.mean([softmax(scores, axis=1) @ SETS for scores in found], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-4)
    votes = np.sum([SETS[scores.argmax(axis=1)] for scores in found], axis=0)
    np.testing.assert_array_equal(model.predict(X), votes >= 2)


def test_a_tree_grows_by_the_edge_that_makes_labels_likeliest():
    """Every edge is tried, in fits of the forest so far and it, whose trees are independent of each other."""
    edges: list[tuple[int, int]] = []

    def objective(edges):
        total, left = 0.0, set(range(4))
        while left:
            tree = {left.pop()}
            while more := {k for edge in edges if set(edge) & tree for k in edge} - tree:
                tree |= more
            left -= tree
            labels = sorted(tree)
            inside = [[labels.index(j), labels.index(k)] for j, k in edges if j in tree]
            given_ = {"structure": inside} if inside else {}
            total += TreeCRF.paper(tol=1e-12, **given_).fit(X, Y[:, labels]).objective_
        return total

    def joins(edge):
        linked = {edge[0]}
        while more := {k for one in edges if set(one) & linked for k in one} - linked:
            linked |= more
        return edge[1] not in linked

    while len(edges) < 3:
        open_ = [edge for edge in itertools.combinations(range(4), 2) if joins(edge)]
        edges.append(min(open_, key=lambda edge: objective([*edges, edge])))
    model = TreeCRF.paper(structure="greedy-likelihood", tol=1e-12).fit(X, Y)
    assert undirected(LabelTree(model.order_, model.parents_)) == frozenset(map(frozenset, edges))
    assert TreeCRF.paper(structure="greedy-likelihood").fit(X, Y[:, :1]).edges().shape == (0, 2)


def test_orders_of_chains():
    table = chi_squared(Y)
    greedy = ChainCRF.paper(order="chi-squared").fit(X, Y).order_
    i, j = np.unravel_index(np.argmax(np.triu(table, 1)), table.shape)
    assert set(greedy[:2]) == {i, j}
    np.testing.assert_array_equal(ChainCRF.paper(order=[3, 1, 0, 2]).fit(X, Y).order_, [3, 1, 0, 2])


CHAIN_AND_TREE = pytest.mark.parametrize(("kind", "name", "draw"), [
    (ChainCRF, "order", drawn_chain), (TreeCRF, "structure", drawn_tree),
])  # fmt: skip


def given(tree: LabelTree) -> dict[type, dict[str, np.ndarray]]:
    return {ChainCRF: {"order": tree.order}, TreeCRF: {"structure": tree.edges()}}


@CHAIN_AND_TREE
def test_sampled_structures_are_the_best_of_those_drawn(kind, name, draw):
    generator = np.random.default_rng(1)
    trees = [draw(4, generator) for _ in range(6)]
    objectives = [kind.paper(**given(tree)[kind]).fit(X, Y).objective_ for tree in trees]
    table = np.round(chi_squared(Y), 9)
    sums = [sum(table[j, k] for j, k in tree.edges()) for tree in trees]
    for way, best in (("likelihood", np.argmin(objectives)), ("correlation", np.argmax(sums))):
        settings = {name: f"sampled-{way}", "n_samples": 6, "random_state": 1}
        model = kind.paper(**settings).fit(X, Y)
        assert undirected(LabelTree(model.order_, model.parents_)) == undirected(trees[best])
        np.testing.assert_array_equal(kind.paper(**settings).fit(X, Y).order_, model.order_)
    model = kind.paper(**{name: "sampled-correlation", "n_samples": 6, "random_state": 1}, measure="pearson").fit(X, Y)
    sums = [sum(pearson(Y)[j, k] for j, k in tree.edges()) for tree in trees]
    assert undirected(LabelTree(model.order_, model.parents_)) == undirected(trees[np.argmax(sums)])
    one = kind.paper(**{name: "sampled-likelihood", "n_samples": 1}, random_state=3).fit(X, Y)
    np.testing.assert_array_equal(one.edges(), kind.paper(**{name: "random"}, random_state=3).fit(X, Y).edges())


@CHAIN_AND_TREE
@pytest.mark.parametrize("n_labels", [1, 2, 3])
def test_few_labels_have_few_structures_each_fitted_once(kind, name, draw, n_labels, monkeypatch):
    learned, learn = [], TreeField.learn
    monkeypatch.setattr(
        TreeField, "learn", lambda self, *args: learned.append(undirected(self.tree)) or learn(self, *args)
    )
    model = kind.paper(**{name: "sampled-likelihood", "n_samples": 40}, random_state=0).fit(X, Y[:, :n_labels])
    assert len(learned) == (4 if n_labels == 3 else 2)  # each tree, of which there are three or one, and the best again
    orders = [[0, 1, 2], [1, 0, 2], [0, 2, 1]] if n_labels == 3 else [list(range(n_labels))]
    least = min(ChainCRF.paper(order=order).fit(X, Y[:, :n_labels]).objective_ for order in orders)
    assert model.objective_ == pytest.approx(least)


@CHAIN_AND_TREE
def test_parts_of_the_training_data_are_fitted_with_the_structure_of_all(kind, name, draw, monkeypatch):
    learned, learn = [], TreeField.learn
    monkeypatch.setattr(
        TreeField, "learn", lambda self, *args: learned.append(undirected(self.tree)) or learn(self, *args)
    )
    model = kind(**{name: "sampled-likelihood", "n_samples": 5}, random_state=0).fit(X, Y)
    kept = undirected(LabelTree(model.order_, model.parents_))
    n_drawn = len(set(learned))
    assert n_drawn > 1
    assert learned[n_drawn:] == [kept] * (len(learned) - n_drawn)
    assert len(learned) - n_drawn > 1  # the model itself, and parts


def test_a_tree_is_given_by_its_edges():
    model = TreeCRF.paper().fit(X, Y)
    wide = np.column_stack([Y[:, :2], np.ones(60), Y[:, 2:]]).astype(int)
    names = ["a", "b", "constant", "c", "d"]
    edges = np.array(["a", "b", "c", "d"])[model.edges()].tolist()
    child, parent = edges.pop()  # between which the constant label comes
    edges += [[child, "constant"], ["constant", parent]]
    other = TreeCRF.paper(structure=edges).fit(X, wide, label_names=names)
    assert undirected(LabelTree(other.order_, other.parents_)) == undirected(LabelTree(model.order_, model.parents_))
    np.testing.assert_allclose(other.predict_proba(X)[:, [0, 1, 3, 4]], model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("structure", ["chi-squared", "random", [[0, 1], [1, 2], [2, 3], [3, 4]]])
def test_a_decision_is_learned_beside_constant_labels(structure):
    """The parts of its data have the tree of the labels that vary, and a label that is constant in some of them."""
    wide = np.column_stack([Y[:, :2], np.ones(60), Y[:, 2:3], np.arange(60) == 5]).astype(int)
    model = TreeCRF(structure=structure, random_state=0).fit(X, wide)
    assert sorted(np.unique(model.edges()).tolist()) == [0, 1, 3, 4]
    assert model.predict(X)[:, 2].all()


@pytest.mark.parametrize("seed", range(5))
def test_a_tree_stays_one_without_constant_labels(seed):
    generator = np.random.default_rng(seed)
    tree, constant = drawn_tree(9, generator), generator.integers(2, size=9).astype(np.int8)
    constant[seed] = 0
    found, varying = of_varying(tree, constant), np.flatnonzero(constant == 0)
    check_tree(*found, len(varying))
    kept = {frozenset(edge) for edge in undirected(tree) if set(edge) <= set(varying.tolist())}
    assert kept <= {frozenset(varying[list(edge)].tolist()) for edge in undirected(found)}


def test_the_tree_of_a_measure_is_its_maximum_spanning_tree():
    model = TreeCRF.paper().fit(X, Y)
    below = model.order_[1:]
    weight = chi_squared(Y)[below, model.parents_[below]].sum()
    others = [TreeCRF.paper(structure="random", random_state=seed).fit(X, Y) for seed in range(5)]
    for other in others:
        below = other.order_[1:]
        assert chi_squared(Y)[below, other.parents_[below]].sum() <= weight + 1e-9


def test_an_ensemble_is_the_mean_of_its_chains_and_their_vote():
    model = ChainCRFEnsemble.paper(3, random_state=0).fit(X, Y)
    chains = [ChainCRF.paper(order=one.order_).fit(X, Y) for one in model.models_]
    mean = np.mean([chain.predict_proba(X) for chain in chains], axis=0)
    np.testing.assert_allclose(model.predict_proba(X), mean, atol=1e-12)
    votes = np.sum([chain.predict(X) for chain in chains], axis=0)
    np.testing.assert_array_equal(model.predict(X), votes >= 2)
    again = ChainCRFEnsemble.paper(3, random_state=0, n_jobs=2).fit(X, Y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_chains_of_an_ensemble_that_ended_too_early_are_told_once(n_jobs):
    with pytest.warns(ConvergenceWarning, match=r"^5 of 5 chains ended .* raise max_iter, now 2") as found:
        ChainCRFEnsemble(5, max_iter=2, n_jobs=n_jobs, random_state=0).fit(X, Y)
    assert len(found) == 1


@pytest.mark.parametrize(("n_labels", "n_chains"), [(1, 1), (2, 1), (3, 3)])
def test_a_chain_that_is_drawn_again_is_fitted_once(n_labels, n_chains):
    model = ChainCRFEnsemble.paper(30, random_state=0).fit(X, Y[:, :n_labels])
    assert len(model.models_) == 30
    assert len(set(map(id, model.models_))) == n_chains
    one = ChainCRF.paper(order="given").fit(X, Y[:, :n_labels])
    if n_chains == 1:
        np.testing.assert_allclose(model.predict_proba(X), one.predict_proba(X), atol=1e-12)


@pytest.mark.parametrize(
    ("model", "labels", "message"),
    [
        (CML(inference="exact"), rng.random((60, 15)) < 0.5, r"15 labels have 2\*\*15 label sets.*take 'supported'"),
        (CML(inference="loopy"), Y, "inference='loopy'"),
        (CML(pairs="three-state"), Y, "pairs='three-state'"),
        (CML(0.0), Y, "alpha=0.0: expected a number above 0"),
        (TreeCRF(structure="chi"), Y, "structure='chi'"),
        (TreeCRF(structure=3), Y, "structure=3: expected one of .*, or the edges of a tree"),
        (TreeCRF(structure=[[0, 1], [2]]), Y, "or the edges of a tree"),
        (TreeCRF(structure=[[0, 1], [1, 2]]), Y, "expected 3 pairs of positions from 0 to 3, .* connect all 4 labels"),
        (TreeCRF(structure=[[0, 1], [1, 2], [2, 0]]), Y, "connect all 4 labels"),
        (TreeCRF(structure=[[0, 1], [1, 2], [2, 4]]), Y, "positions from 0 to 3"),
        (TreeCRF(structure=[["0", "1"], ["1", "2"], ["2", "3"]]), Y, "no label is called '0'"),
        (TreeCRF(structure="sampled-likelihood", n_samples=0), Y, "n_samples=0: expected a whole number of at least 1"),
        (ChainCRF(n_samples=1.5), Y, "n_samples=1.5"),
        (TreeCRF(measure="random"), Y, "measure='random'"),
        (ChainCRF(order="best"), Y, "sampled-likelihood"),
        (ChainCRF(order=[0, 1, 1, 2]), Y, "each of the numbers 0 to 3 once"),
        (ChainCRF(order=[0, 1, 2]), Y, "it has 3 of 4 labels"),
    ],
)
def test_refusals(model, labels, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(X, labels)


def test_duplicate_labels_are_learned_together():
    twice = np.column_stack([Y[:, 0], Y[:, 0], Y[:, 1]])
    for kind in (CML, CMLF, TreeCRF, ChainCRF):
        found = kind.paper(threshold="joint").fit(X, twice).predict(X)
        assert (found[:, 0] == found[:, 1]).mean() > 0.9


@pytest.mark.parametrize(
    ("order", "parents"),
    [([0, 1, 2], [-1, 0, 3]), ([0, 1, 2], [-1, 2, 0]), ([0, 1, 1], [-1, 0, 0]), ([0, 1, 2], [1, 0, 0])],
)
def test_what_is_no_tree_is_refused(order, parents):
    with pytest.raises(InvalidInputError, match="expected a tree"):
        check_tree(np.array(order), np.array(parents), 3)
    assert isinstance(LabelTree(np.array(order), np.array(parents)), tuple)


@pytest.mark.parametrize("pairs", ["two-state", "four-state"])
def test_features_far_from_0_take_as_many_steps(pairs):
    """Then the weights of pairs for no feature cost next to nothing, so that objectives have a limit."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4))
    Y = X @ rng.normal(size=(4, 5)) + rng.normal(size=(60, 5)) > 0
    model = CMLF.paper(pairs=pairs, tol=1e-9)
    n_steps, *found = [(model.fit(X + far, Y).n_iter_, model.objective_) for far in (0.0, 1e5, 1e6)]
    assert max(n for n, _ in found) < 1.5 * n_steps[0]
    assert found[0][1] == pytest.approx(found[1][1], rel=1e-6)
