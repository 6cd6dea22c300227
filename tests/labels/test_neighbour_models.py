"""BR-kNN and IBLR against counting by hand and scikit-learn; one neighbour graph for all models of neighbours."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

import cofactor
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels import IBLR, BRkNN, FeatureSpace, KNNVote, MLkNN
from cofactor.labels.adaptation import neighbours
from cofactor.metrics import micro_f1

from .test_mlknn import toy


def votes_of(X: np.ndarray, Y: np.ndarray, x: np.ndarray, k: int) -> np.ndarray:
    return Y[np.argsort(((X - x) ** 2).sum(axis=1), kind="stable")[:k]].sum(axis=0)


def sets_by_hand(X: np.ndarray, Y: np.ndarray, new: np.ndarray, k: int, extension: str | None) -> np.ndarray:
    """One instance after another, labels in the order of votes, then of their share, then of their number."""
    found = np.zeros((len(new), Y.shape[1]), dtype=int)
    for row, x in zip(found, new, strict=True):
        votes = votes_of(X, Y, x, k)
        order = sorted(range(len(votes)), key=lambda j: (-votes[j], -Y[:, j].sum(), j))
        row[votes >= k / 2] = 1
        if extension == "a" and not row.any():
            row[order[0]] = 1
        if extension == "b":
            row[:] = 0
            row[order[: int(np.floor(votes.sum() / k + 0.5))]] = 1
    return found


@pytest.mark.parametrize("extension", [None, "a", "b"])
@pytest.mark.parametrize("k", [1, 4, 5])
def test_votes_by_hand(k: int, extension: str | None) -> None:
    X, Y, new = toy(seed=k)
    Y[:, 2] &= Y[:, 0] ^ 1  # some neighbourhoods agree on nothing
    expected = sets_by_hand(X, Y, new, k, extension)
    for form in (np.asarray, sparse.csr_array):
        model = BRkNN.paper(k, extension=extension).fit(form(X), Y)
        assert np.array_equal(model.predict(form(new)), expected)


def test_an_odd_number_of_votes_is_scikit_learns() -> None:
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(60, 3)), rng.normal(size=(30, 3))
    Y = (X @ rng.normal(size=(3, 4)) > 0).astype(int)
    theirs = KNeighborsClassifier(7).fit(X, Y)
    ours = BRkNN.paper(7).fit(X, Y)
    assert np.array_equal(ours.predict(new), theirs.predict(new))
    shares = np.column_stack([p[:, 1] for p in theirs.predict_proba(new)])
    np.testing.assert_allclose(ours.decision_function(new), shares + 0.25 / 7 - 0.5, atol=1e-12)
    vote = KNNVote(7, scale="none", threshold=0).fit(X, Y)
    assert np.array_equal(vote.decision_function(new), ours.decision_function(new))
    with pytest.raises(InvalidInputError, match="n_neighbors=4: with an even number of neighbours.*BRkNN"):
        KNNVote(4).fit(X, Y)


def test_the_number_of_votes_is_chosen_by_leaving_out() -> None:
    X, Y, _ = toy(seed=3)
    found = {}
    for k in (1, 3):  # an eighth of 30 instances
        left = [votes_of(np.delete(X, i, axis=0), np.delete(Y, i, axis=0), x, k) > k / 2 for i, x in enumerate(X)]
        found[k] = micro_f1(Y, left)
    model = KNNVote(scale="none", threshold=0).fit(X, Y)
    assert model.n_neighbors_ == max(found, key=found.__getitem__)
    assert KNNVote(scale="none").fit(X, Y).n_neighbors_ in (1, 3)
    with pytest.warns(InputWarning, match="n_neighbors=9 is more than the 6 other training instances"):
        few = KNNVote(9, scale="none", threshold=0).fit(X[:7], Y[:7])
    assert few.n_neighbors_ == 5  # no tie among the six others


def test_extension_a_fills_no_set_that_a_constant_label_fills() -> None:
    X, Y, new = toy()
    wide = np.hstack([np.ones((len(Y), 1), int), Y])
    assert np.array_equal(
        BRkNN.paper(5, extension="a").fit(X, wide).predict(new)[:, 1:], BRkNN.paper(5).fit(X, Y).predict(new)
    )
    assert np.array_equal(
        BRkNN.paper(5, extension="b").fit(X, wide).predict(new)[:, 1:],
        BRkNN.paper(5, extension="b").fit(X, Y).predict(new),
    )


def test_where_all_are_equally_near_the_shares_decide() -> None:
    """Rows of one length, and an instance without features: it got the votes of the first rows."""
    X = np.eye(4)[[0, 1, 2, 3, 0, 1]]
    Y = np.array([[0, 1], [0, 1], [1, 0], [1, 0], [1, 0], [1, 0]])
    model = BRkNN.paper(2).fit(X, Y)
    assert model.predict(np.zeros((1, 4))).tolist() == [[1, 0]]
    assert model.predict(X[:1]).tolist() == [[1, 1]]
    explained = model.explain(np.zeros((1, 4)), labels=[0])
    assert explained.columns["contribution"].sum() == pytest.approx(explained.columns["score"][0])
    assert BRkNN.paper(2).fit(X * [[1], [2], [1], [1], [1], [1]], Y).predict(np.zeros((1, 4))).tolist() == [[1, 1]]


def test_an_extension_decides_label_sets(tmp_path) -> None:  # type: ignore[no-untyped-def]
    X, Y, new = toy()
    with pytest.raises(InvalidInputError, match="extension='b': an extension makes label sets.*threshold='joint'"):
        BRkNN(extension="b").fit(X, Y)
    with pytest.raises(InvalidInputError, match="extension='c'"):
        BRkNN.paper(extension="c").fit(X, Y)
    model = BRkNN.paper(3, extension="b").fit(X, Y)
    model.save(tmp_path / "model")
    assert np.array_equal(cofactor.load(tmp_path / "model").predict(new), model.predict(new))


@pytest.mark.parametrize("with_features", [False, True])
def test_iblr_is_scikit_learns_regression_on_shares(with_features: bool) -> None:
    rng = np.random.default_rng(1)
    X, new = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    Y = (X @ rng.normal(size=(3, 3)) + 0.3 * rng.normal(size=(50, 3)) > 0).astype(int)
    k, regression = 4, LogisticRegression(C=2.0)
    shares = np.array([votes_of(np.delete(X, i, axis=0), np.delete(Y, i, axis=0), X[i], k) for i in range(50)]) / k
    asked = np.array([votes_of(X, Y, x, k) for x in new]) / k
    if with_features:
        shares, asked = np.hstack([shares, X]), np.hstack([asked, new])
    expected = np.column_stack([regression.fit(shares, y).predict_proba(asked)[:, 1] for y in Y.T])
    model = IBLR.paper(k, estimator=LogisticRegression(C=2.0), with_features=with_features).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(new), expected, atol=1e-5)
    if not with_features:  # so few columns are dense where the estimator wants that
        bayes = IBLR.paper(k, estimator=GaussianNB()).fit(sparse.csr_array(X), Y).predict_proba(new)
        np.testing.assert_allclose(bayes[:, 0], GaussianNB().fit(shares, Y[:, 0]).predict_proba(asked)[:, 1], atol=1e-9)


def test_labels_speak_for_each_other() -> None:
    """The second label is on where the neighbours have the first one, though they rarely have the second."""
    rng = np.random.default_rng(0)
    X = rng.random((300, 1))
    first = X[:, 0] > 0.7
    Y = np.column_stack([first, first & (rng.random(300) < 0.3)]).astype(int)
    model = IBLR(10, random_state=0).fit(X, Y)
    assert model.cost_ > 0
    assert model.learners_.coef[0, 1] > 0


def test_models_fitted_to_one_space_search_once(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, new = toy()
    alone = [kind.paper(k).fit(X, Y).decision_function(new) for kind, k in ((MLkNN, 5), (IBLR, 3), (BRkNN, 5))]
    calls = []
    search = neighbours.nearest_rows
    monkeypatch.setattr(neighbours, "nearest_rows", lambda *a, **k: calls.append(k) or search(*a, **k))
    space = FeatureSpace(X)
    models = [kind.paper(k).fit(space, Y) for kind, k in ((MLkNN, 5), (IBLR, 3), (BRkNN, 5))]
    assert calls == [{"exclude_self": True}]
    for model, expected in zip(models, alone, strict=True):
        np.testing.assert_array_equal(model.decision_function(new), expected)


@pytest.mark.parametrize("estimator", [SVC(), DecisionTreeClassifier(random_state=0)], ids=["svc", "tree"])
def test_learners_that_take_narrow_indices_only(estimator: object) -> None:
    X, Y, new = toy()
    assert IBLR(3, estimator=estimator, threshold=0).fit(X, Y).predict(new).shape == (len(new), Y.shape[1])
