"""Chains predict what scikit-learn's chain predicts; their orders, and what learners see of the labels before them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain as Theirs
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from cofactor.correlation import pearson
from cofactor.errors import InvalidInputError
from cofactor.labels import BinaryRelevance, ClassifierChain, EnsembleOfChains
from cofactor.labels.learners.base import Subproblem
from cofactor.labels.learners.fitting import fit_tasks

rng = np.random.default_rng(0)
X = rng.normal(size=(90, 5))
Y = (X @ rng.normal(size=(5, 4)) + rng.normal(size=(90, 1)) + 0.3 * rng.normal(size=(90, 4)) > 0.2).astype(int)
ORDER = [2, 0, 3, 1]


@pytest.mark.parametrize("estimator", [LogisticRegression(C=3.0), GaussianNB(), DecisionTreeClassifier(random_state=0)])
@pytest.mark.parametrize(("earlier", "cv"), [("true", None), ("out-of-fold", 3)])
def test_it_is_the_chain_of_scikit_learn(estimator, earlier, cv):
    ours = ClassifierChain.paper(estimator, order=ORDER, earlier=earlier, n_folds=cv or 5).fit(X[:60], Y[:60])
    theirs = Theirs(estimator, order=ORDER, cv=cv).fit(X[:60], Y[:60])
    assert np.array_equal(ours.predict(X), theirs.predict(X))
    if hasattr(estimator, "decision_function"):
        np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_support_vector_machines_are_those_of_liblinear(form):
    ours = ClassifierChain.paper(LinearSVC(C=0.5), order=ORDER).fit(form(X), Y)
    theirs = Theirs(LinearSVC(C=0.5, tol=1e-10, max_iter=100_000), order=ORDER).fit(X, Y)
    np.testing.assert_allclose(ours.decision_function(form(X)), theirs.decision_function(X), atol=1e-5)


def test_learners_that_saw_predictions():
    estimator = LogisticRegression()
    chain = ClassifierChain.paper(estimator, order="given", earlier="predicted").fit(X, Y)
    first = estimator.fit(X, Y[:, 0])
    told = np.column_stack([X, first.predict(X)])
    scores = LogisticRegression().fit(told, Y[:, 1]).decision_function(told)
    np.testing.assert_allclose(chain.decision_function(X)[:, 1], scores, atol=1e-9)
    assert not np.allclose(ClassifierChain.paper(estimator, order="given").fit(X, Y).decision_function(X)[:, 1], scores)


def test_orders():
    def order(given, labels=Y, **params):
        return ClassifierChain.paper(order=given, **params).fit(X, labels).order_.tolist()

    assert order("given") == [0, 1, 2, 3]
    assert order(ORDER) == ORDER
    assert order("pearson") == np.argsort(-np.abs(pearson(Y)).sum(axis=0), kind="stable").tolist()
    assert sorted(order("random", random_state=0)) == [0, 1, 2, 3]
    assert order("random", random_state=0) != order("random", random_state=2)
    wide = np.column_stack([Y[:, :1], np.ones(len(Y), int), Y[:, 1:]])
    assert order([3, 1, 0, 4, 2], wide) == ORDER  # the constant label, 1, has no learner
    named = ClassifierChain.paper(order=["c", "a", "d", "b"]).fit(X, Y, label_names=list("abcd"))
    assert named.order_.tolist() == ORDER


@pytest.mark.parametrize(
    ("order", "message"),
    [
        (
            "by name",
            "expected one of 'given', 'random', 'pearson', 'cosine', .*'likelihood-gain', or a list of the positions",
        ),
        ("chi-square", r"labels; did you mean chi-squared\?"),
        ([0, 1, 2, 2], "each of the numbers 0 to 3 once, but 3 is not there"),
        ([True, 0, 2, 3], "or a list of the positions"),
        ([0, 1, 2], "it has 3 of 4 labels"),
        (["a", "b", "a", "c"], "a is there twice"),
        (["a", "b", "c", "x"], "no label is called 'a'; labels have numbers here"),
        ([0.0, 1.0], "expected one of 'given', 'random', 'pearson'.*; positions are whole numbers"),
        (None, "expected one of 'given', 'random', 'pearson'"),
    ],
)
def test_wrong_orders(order, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ClassifierChain.paper(order=order).fit(X, Y)


def test_one_label_is_binary_relevance():
    expected = BinaryRelevance.paper(LogisticRegression()).fit(X, Y[:, :1]).decision_function(X)
    for model in (ClassifierChain, EnsembleOfChains):
        found = model.paper(LogisticRegression(), **({"voting": "soft"} if model is EnsembleOfChains else {}))
        np.testing.assert_allclose(found.fit(X, Y[:, :1]).decision_function(X), expected, atol=1e-9)


def test_an_ensemble_votes():
    ensemble = EnsembleOfChains.paper(LogisticRegression(), n_estimators=3, random_state=0).fit(X, Y)
    members = [Theirs(LogisticRegression(), order=order.tolist()).fit(X, Y) for order in ensemble.orders_]
    votes = np.mean([one.predict(X) for one in members], axis=0)
    np.testing.assert_allclose(ensemble.decision_function(X), votes - 0.5)
    soft = ensemble.set_params(voting="soft").decision_function(X)
    np.testing.assert_allclose(soft, np.mean([one.decision_function(X) for one in members], axis=0), atol=1e-9)


def test_an_ensemble_too_large_for_memory_is_refused(monkeypatch):
    monkeypatch.setenv("COFACTOR_MAX_FIT", "1000")
    with pytest.raises(InvalidInputError, match="EnsembleOfChains: a fit on 90 instances, 5 features, 4 labels"):
        EnsembleOfChains.paper(n_estimators=1000).fit(X, Y)


def test_tasks_by_newton_are_those_of_liblinear():
    target = rng.integers(3, size=90)
    rows, weights = np.flatnonzero(rng.random(90) > 0.5), rng.integers(3, size=90).astype(float)
    tasks = [Subproblem(target), Subproblem(Y[rows, 0], rows, 3)]
    three, two = fit_tasks(LinearSVC(C=2.0), X, tasks, weights, seeds=[0, 0])
    exact = LinearSVC(C=2.0, dual=False, tol=1e-8)
    np.testing.assert_allclose(three.scores(X), exact.fit(X, target, weights).decision_function(X), atol=1e-6)
    expected = exact.fit(X[rows, :3], Y[rows, 0], weights[rows]).decision_function(X[:, :3])
    np.testing.assert_allclose(two.scores(X[:, :3]), expected, atol=1e-6)
    hinge = LinearSVC(loss="hinge", C=0.01, dual=True, random_state=0)
    (fallen_back,) = fit_tasks(hinge, X, tasks[:1], seeds=[0])
    np.testing.assert_array_equal(fallen_back.scores(X), hinge.fit(X, target).decision_function(X))
