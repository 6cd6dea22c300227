"""The joint distribution of a chain, beside the product of what scikit-learn says of each label."""

from itertools import product

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC

from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels import ClassifierChain, ProbabilisticChain

rng = np.random.default_rng(0)
X = rng.normal(size=(70, 4))
Y = (X @ rng.normal(size=(4, 4)) + rng.normal(size=(70, 1)) + 0.5 * rng.normal(size=(70, 4)) > 0.2).astype(int)
ORDER = [2, 0, 3, 1]
ALL = np.array(list(product([0, 1], repeat=4)))


def joint(estimator):
    """Return P(y | x) of each instance and each of all label sets."""
    chances = np.ones((len(X), len(ALL)))
    for t, label in enumerate(ORDER):
        fitted = estimator.fit(np.hstack([X, Y[:, ORDER[:t]]]), Y[:, label])
        for k, one in enumerate(ALL):
            told = np.hstack([X, np.tile(one[ORDER[:t]], (len(X), 1))])
            chances[:, k] *= fitted.predict_proba(told)[:, one[label]]
    return chances


@pytest.mark.parametrize("estimator", [LogisticRegression(C=3.0), GaussianNB()])
def test_all_label_sets(estimator):
    chances = joint(estimator)
    assert np.allclose(chances.sum(axis=1), 1)
    model = ProbabilisticChain.paper(estimator, order=ORDER, threshold="joint").fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X), np.clip(chances @ ALL, 1e-6, 1 - 1e-6), atol=1e-9)
    assert np.array_equal(model.predict(X), ALL[np.argmax(chances, axis=1)])
    assert np.array_equal(model.set_params(best_for="hamming").predict(X), chances @ ALL > 0.5)
    total = ALL.sum(axis=1)[:, None] + ALL.sum(axis=1)
    f1 = chances @ np.divide(2 * ALL @ ALL.T, total, out=np.ones(total.shape), where=total > 0)
    found = model.set_params(best_for="example").predict(X) @ (1 << np.arange(4)[::-1])
    np.testing.assert_allclose(f1[np.arange(70), found], f1.max(axis=1), atol=1e-9)


def test_beams():
    exact = ProbabilisticChain.paper(order=ORDER, threshold="joint").fit(X, Y)
    wide = ProbabilisticChain.paper(order=ORDER, threshold="joint", inference="beam", beam_width=16).fit(X, Y)
    np.testing.assert_allclose(wide.predict_proba(X), exact.predict_proba(X), atol=1e-9)
    assert np.array_equal(wide.predict(X), exact.predict(X))
    narrow = ProbabilisticChain.paper(order=ORDER, threshold="joint", inference="beam", beam_width=1).fit(X, Y)
    greedy = ClassifierChain.paper(narrow.estimator, order=ORDER).fit(X, Y)
    assert np.array_equal(narrow.predict(X), greedy.predict(X))
    assert not np.array_equal(narrow.predict(X), exact.predict(X))


def test_draws_come_near():
    exact = ProbabilisticChain.paper(order=ORDER).fit(X, Y)
    drawn = ProbabilisticChain.paper(order=ORDER, inference="monte-carlo", n_draws=1000, random_state=0).fit(X, Y)
    p = drawn.predict_proba(X)
    assert np.abs(p - exact.predict_proba(X)).max() < 0.03
    assert np.array_equal(drawn.predict_proba(X[5:6]), p[5:6])
    for best_for in ("subset", "example"):
        settings = {"threshold": "joint", "best_for": best_for}
        sets = drawn.set_params(**settings).fit(X, Y).predict(X)
        assert np.mean(sets != exact.set_params(**settings).fit(X, Y).predict(X)) < 0.03


def test_refusals():
    with pytest.raises(InvalidTypeError, match=r"estimator=LinearSVC\(\): expected a classifier with probabilities"):
        ProbabilisticChain(LinearSVC()).fit(X, Y)
    many = np.random.default_rng(0).integers(2, size=(70, 13))
    with pytest.raises(InvalidInputError, match=r"13 labels have 2\*\*13 label sets.*'beam' or 'monte-carlo'"):
        ProbabilisticChain(inference="exact").fit(X, many)
    assert ProbabilisticChain.paper(GaussianNB()).fit(X, many)._way() == "monte-carlo"
