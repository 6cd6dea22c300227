"""LIFT: features of each label's own against distances by hand; its files."""

from pathlib import Path

import joblib
import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

from cofactor.errors import InvalidInputError
from cofactor.labels import LIFT
from cofactor.labels.specific import lift

from .test_mlknn import toy


def seen_by(model: LIFT, label: int, X: np.ndarray) -> np.ndarray:
    """Distances from the centres of a label, one after another."""
    first = int(model.n_centres_[:label].sum())
    centres = model.centres_[first : first + model.n_centres_[label]]
    return np.array([[np.linalg.norm(x - centre) for centre in centres] for x in X])


def test_each_label_sees_distances_from_its_own_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, new = toy()
    learner = LogisticRegression(tol=1e-8)
    model = LIFT.paper(0.2, learner).fit(X, Y)
    for label, y in enumerate(Y.T):
        m = int(np.ceil(0.2 * min(y.sum(), (1 - y).sum())))
        assert model.n_centres_[label] == 2 * m
        expected = learner.fit(seen_by(model, label, X), y).decision_function(seen_by(model, label, new))
        np.testing.assert_allclose(model.decision_function(new)[:, label], expected, atol=1e-4)
    scores = model.decision_function(new)
    monkeypatch.setattr(lift, "_DISTANCES_PER_BLOCK", 4 * len(new))
    np.testing.assert_allclose(model.decision_function(sparse.csr_array(new)), scores, atol=1e-9)
    with joblib.parallel_config(backend="threading", n_jobs=2):
        again = LIFT.paper(0.2, learner).fit(X, Y)
    assert np.array_equal(
        again.decision_function(sparse.csr_array(new)), model.decision_function(sparse.csr_array(new))
    )


def test_few_clusters_are_the_means_of_both_kinds() -> None:
    X, Y, _ = toy()
    centres = LIFT.paper(1e-9).fit(X, Y).centres_
    for label, y in enumerate(Y.T > 0):
        np.testing.assert_allclose(centres[2 * label : 2 * label + 2], [X[y].mean(axis=0), X[~y].mean(axis=0)])


@pytest.mark.parametrize("n_labels", [2, 3])
def test_three_labels_with_as_many_clusters_share_where_these_start(n_labels, monkeypatch: pytest.MonkeyPatch) -> None:
    X, Y, _ = toy()
    calls, k_means = [], lift.k_means

    def noted(rows, m, *, max_iter, start=None):
        calls.append((len(rows), start is not None))
        return k_means(rows, m, max_iter=max_iter, start=start)

    monkeypatch.setattr(lift, "k_means", noted)
    LIFT.paper(0.2).fit(X, np.repeat(Y[:, :1], n_labels, axis=1))
    shares = n_labels == 3
    assert [size for size, _ in calls].count(len(X)) == shares
    assert [started for _, started in calls].count(True) == n_labels * shares


def test_an_only_instance_of_a_label_is_its_own_cluster() -> None:
    X, Y, _ = toy()
    Y[:, 0] = np.arange(len(Y)) == 3
    model = LIFT.paper(1.0).fit(X, Y)
    assert model.n_centres_[0] == 2
    np.testing.assert_allclose(seen_by(model, 0, X[3:4])[0, 0], 0, atol=1e-12)


def test_the_scale_of_features_does_not_count() -> None:
    X, Y, new = toy()
    models = [LIFT(scale="none", threshold=0).fit(factor * X, Y) for factor in (1.0, 1e3)]
    np.testing.assert_allclose(
        *(m.decision_function(f * new) for m, f in zip(models, (1.0, 1e3), strict=True)), atol=1e-3
    )


def test_other_learners_cannot_be_saved(tmp_path: Path) -> None:
    X, Y, _ = toy()
    with pytest.raises(InvalidInputError, match="cannot be saved"):
        LIFT.paper(0.2, SVC()).fit(X, Y).save(tmp_path / "model")
