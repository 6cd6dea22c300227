"""Two layers of binary relevance against the same made with scikit-learn."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from tests.contract_labels.models import planted
from tests.together import together

from cofactor.labels import Stacked2BR
from cofactor.labels.features import grouped_folds

X, Y = planted(40, 4, seed=2)
Y = Y[:, :3]


def layer(X, Y, new):
    """Return log-odds of each label; 0 where it is constant."""
    columns = [
        np.zeros(len(new)) if len(set(y)) == 1 else LogisticRegression().fit(X, y).decision_function(new) for y in Y.T
    ]
    return np.column_stack(columns)


@together("with_features", [False, True])
def test_the_second_layer_learns_from_scores_of_other_folds(with_features):
    labels = np.column_stack([Y, np.arange(40) == 7])  # the fourth is constant without the fold that has it
    outer = layer(X, labels, X)
    inner = outer.copy()
    generator = np.random.default_rng(5)
    generator.integers(np.iinfo(np.int32).max, size=4)  # seeds of the first layer
    for test in grouped_folds(X, 3, generator):
        train = np.setdiff1d(np.arange(40), test)
        vary = np.flatnonzero(np.ptp(labels[train], axis=0))
        inner[np.ix_(test, vary)] = layer(X[train], labels[train][:, vary], X[test])
    if with_features:
        inner, outer = np.hstack([X, inner]), np.hstack([X, outer])
    expected = layer(inner, labels, outer)
    model = Stacked2BR.paper(LogisticRegression(), with_features=with_features, n_folds=3, random_state=5)
    np.testing.assert_allclose(model.fit(X, labels).decision_function(X), expected, atol=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), 1 / (1 + np.exp(-expected)), atol=1e-4)
    np.testing.assert_allclose(model.fit(sparse.csr_array(X), labels).decision_function(X), expected, atol=1e-3)


def test_copies_are_dealt_to_one_fold_in_any_order():
    rng = np.random.default_rng(0)
    known = rng.random((30, 5)) * (rng.random((30, 5)) > 0.3)
    rows = np.concatenate([np.arange(30), rng.integers(30, size=25)])
    for form in (np.asarray, sparse.csr_array, lambda X: X.astype(np.float32)):
        sets = [set(rows[part]) for part in grouped_folds(form(known[rows]), 4, np.random.default_rng(1))]
        expected = [set(part) for part in grouped_folds(known, 4, np.random.default_rng(1))]
        assert sets == expected
        assert sorted(map(len, sets)) == [7, 7, 8, 8]
    assert [len(part) for part in grouped_folds(np.ones((5, 2)), 2, rng)] == [5]


@together("n", [4, 12, 60])
def test_few_distinct_instances_do_not_turn_labels_round(n):
    """Rows of one feature have only two directions: folds of copies would hold all instances of one class."""
    x = np.arange(n)[:, None] - (n - 1) / 2
    labels = np.hstack([x > 0, x < 0])
    for threshold in ("auto", 0):
        model = Stacked2BR(scale="standard-rows", threshold=threshold, random_state=0)
        np.testing.assert_array_equal(model.fit(x, labels).predict(x), labels)


def test_few_instances_and_costs_of_each_layer():
    model = Stacked2BR(threshold=0, random_state=0).fit(X[:2], np.array([[1, 0], [0, 1]]))
    assert model.predict(X[:2]).shape == (2, 2)
    model = Stacked2BR(threshold=0, random_state=0).fit(X, Y)
    assert model.cost_ > 0 < model.second_cost_ != model.cost_
    with pytest.raises(ValueError, match="n_folds=1"):
        Stacked2BR(n_folds=1).fit(X, Y)


def test_each_layer_tells_once_that_it_stopped_early():
    with pytest.warns(ConvergenceWarning) as told:
        Stacked2BR.paper(LogisticRegression(max_iter=1)).fit(X, Y)
    assert [str(one.message).partition(" labels of the ")[2].partition(":")[0] for one in told] == [
        "first layer",
        "second layer",
    ]
