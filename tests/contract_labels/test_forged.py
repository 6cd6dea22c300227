"""What a model learned may be forged in its file: parts that do not fit each other are refused before they are used."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier
from tests.together import together

import cofactor
from cofactor.labels import ClassifierChain, MetaLabels, RAkEL
from cofactor.persistence import ModelFileError, read_model, write_model

from .models import data, fitted

OTHERS = {
    "ClassifierChain of trees": ClassifierChain(DecisionTreeClassifier(max_depth=3), random_state=0),
    "RAkEL of pairs": RAkEL(labelset_size=2, random_state=0),
    "MetaLabels of few features": MetaLabels.paper(gamma=3.0, random_state=0),
}


def first(value):
    """Return a change of the first number of an array."""
    return lambda a: np.concatenate([np.full_like(a[:1], value), a[1:]])


#: Models, arrays of theirs, changes of these, and what the refusal names.
ARRAYS = [
    ("AdaBoostMH", "cut_features_", lambda a: a + 9, None),
    ("AdaBoostMH", "cut_features_", lambda a: a * 1.0, None),
    ("AdaBoostMH", "steps_", lambda a: a[:-1], None),
    ("BPMLL", "cut_coef_", lambda a: a[:2], None),
    ("BPMLL", "coef_", lambda a: a[:, :2], None),
    ("CalibratedLabelRanking", "pairs_.coef", lambda a: a[:, :-1], None),
    ("ClassifierChain", "order_", first(7), None),
    ("ClassifierChain", "order_", lambda a: 0 * a, None),
    ("ClassifierChain", "chain_.label_coef", lambda a: a[:-1], None),
    ("ClassifierChain", "chain_.coef", lambda a: a * np.nan, None),
    ("ClassifierChain of trees", "chain_.learners.1.nodes.feature", lambda a: np.full_like(a, 77), None),
    ("CML", "pair_coef_", lambda a: a[:, :, :-1], r"weights of pairs of shape \(1, 1, 15\)"),
    ("CMLF", "pair_coef_", lambda a: a[:-1], r"weights of pairs of shape \(8, 1, 15\)"),
    ("CML", "coef_", lambda a: a[:-1], "coef_"),
    ("CML", "intercept_", lambda a: a * np.nan, "intercept_"),
    ("CML", "sets_.indices", lambda a: 0 * a, "label"),
    ("CML", "sets_.data", lambda a: 5 * a, "label sets"),
    ("TreeCRF", "order_", lambda a: a[::-1].copy(), "expected a tree"),
    ("TreeCRF", "parents_", lambda a: a + 7, "expected a tree"),
    ("ChainCRF", "parents_", lambda a: a[:-1], "parents_"),
    ("GroPLE", "groups_", lambda a: a[:-1], None),
    ("GroPLE", "group_sparsity_", lambda a: a[..., :-1].copy(), None),
    ("GroPLE", "intercept_", lambda a: a[:-1], None),
    ("HOMER", "parents_", lambda a: a[::-1].copy(), None),
    ("HOMER", "leaves_", lambda a: a + 5, None),
    ("LabelClustering", "clusters_.indices", lambda a: np.r_[a[:1], a[:1], a[2:]], "each label must be in a cluster"),
    ("LabelClustering", "clusters_.indptr", lambda a: np.r_[a[:1], a[1:2] - 1, a[2:]], "cluster"),
    ("LabelPowerset", "sets_.indices", lambda a: 0 * a, None),
    ("LabelPowerset", "learner_.coef", lambda a: a[:, :2].copy(), None),
    ("LIFT", "n_centres_", lambda a: a + 1, r"n_centres_|learner"),
    ("LIFT", "n_centres_", lambda a: a + np.array([1, -1, 0, 0, 0, 0]), r"n_centres_|learner"),
    ("LIFT", "n_centres_", lambda a: a * 1.0, "n_centres_"),
    ("MetaLabels", "order_", lambda a: 0 * a, None),
    ("MetaLabels of few features", "features_.indices", lambda a: 0 * a, None),
    ("RAkEL of pairs", "learners_.0.classes", first(-1), None),
    ("RAkEL of pairs", "learners_.0.classes", lambda a: np.r_[a[:-1], 1 << 40], None),
    ("RAkEL of pairs", "learners_.0.classes", lambda a: 2 * a, None),
    ("MLForest", "learners_.nodes.left", first(2000), None),
    ("MLForest", "learners_.nodes.feature", first(9), None),
    ("MLForest", "learners_.values.indices", first(7), None),
    ("MLForest", "learners_.values.data", first(1.5), None),
    ("MLForest", "learners_.values.data", first(0.0), None),
]


def saved(name, path):
    """Return header and arrays of a fitted model's file."""
    model = OTHERS[name].fit(*data()) if name in OTHERS else fitted(name)
    model.save(path)
    return read_model(path)


@together(("name", "array", "change", "message"), ARRAYS)
def test_arrays(name, array, change, message, tmp_path):
    header, arrays = saved(name, tmp_path / "model")
    changed = change(arrays[f"learned.{array}"])
    write_model(tmp_path / "forged", header, {**arrays, f"learned.{array}": changed})
    with pytest.raises(ModelFileError, match=message):
        cofactor.load(tmp_path / "forged")


def of_chains(change):
    """Return a change of the first chain of an ensemble."""
    return lambda learned: {"models_": [change(learned["models_"][0])]}


#: Models, changes of what their headers hold, and what the refusal names.
HEADERS = [
    ("IBLR", lambda learned: {"n_neighbors_": 81}, None),
    ("IBLR", lambda learned: {"cost_": -1.0}, None),
    ("IBLR", lambda learned: {"learners_": None}, None),
    ("Stacked2BR", lambda learned: {"learners_": learned["first_learners_"]}, "expected learners of 6 labels"),
    ("Stacked2BR", lambda learned: {"first_learners_": learned["learners_"]}, "expected learners of 6 labels"),
    ("ChainCRFEnsemble", lambda learned: {"models_": []}, "at least one chain"),
    (
        "ChainCRFEnsemble",
        of_chains(lambda chain: chain | {"state": chain["state"] | {"n_features": 2}}),
        "coef_ must be finite float of shape",
    ),
    ("ChainCRFEnsemble", of_chains(lambda chain: chain | {"model": "TreeCRF"}), "TreeCRF|ChainCRF"),
    (
        "ProbabilisticChain",
        lambda learned: {"chain_": learned["chain_"] | {"state": learned["chain_"]["state"] | {"link": "none"}}},
        None,
    ),
]


@together(("name", "change", "message"), HEADERS)
def test_headers(name, change, message, tmp_path):
    header, arrays = saved(name, tmp_path / "model")
    learned = header["learned"] | change(header["learned"])
    write_model(tmp_path / "forged", header | {"learned": learned}, arrays)
    with pytest.raises(ModelFileError, match=message):
        cofactor.load(tmp_path / "forged")
