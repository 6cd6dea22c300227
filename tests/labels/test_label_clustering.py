"""Label models of clusters of labels, against the same models fitted by hand."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

import cofactor
from cofactor.correlation import chi_squared, measured, normalized_cut_clusters, overlapping_clusters
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.labels import BinaryRelevance, ChainCRF, LabelClustering, LabelPowerset, LabelRidge, ProbabilisticChain

rng = np.random.default_rng(0)
X = rng.normal(size=(80, 4))
Y = (X @ rng.normal(size=(4, 5)) + 0.5 * rng.normal(size=(80, 5)) > 0.4).astype(int)
POWERSET = LabelPowerset.paper()


def clusters_of(model: LabelClustering) -> list[list[int]]:
    return [np.flatnonzero(row).tolist() for row in model.clusters_.toarray()]


def test_disjoint_clusters_are_models_of_their_own() -> None:
    model = LabelClustering.paper(max_size=3).fit(X, Y)
    found = clusters_of(model)
    assert sorted(label for one in found for label in one) == list(range(5))
    assert max(map(len, found)) <= 3
    for labels in found:
        alone = LabelPowerset.paper(random_state=0).fit(X, Y[:, labels])
        np.testing.assert_allclose(model.decision_function(X)[:, labels], alone.decision_function(X))
        np.testing.assert_array_equal(model.predict(X)[:, labels], alone.predict(X))


def test_overlapping_clusters_vote() -> None:
    """Half of the votes are enough, as for joint decoding."""
    found = [one.tolist() for one in overlapping_clusters(chi_squared(Y), 3)]
    votes, scores, counts = np.zeros(Y.shape), np.zeros(Y.shape), np.zeros(5)
    for labels in found:
        alone = LabelPowerset.paper().fit(X, Y[:, labels])
        votes[:, labels] += alone.predict(X)
        scores[:, labels] += alone.decision_function(X)
        counts[labels] += 1
    assert (counts > 1).any()
    for threshold in (0, "joint"):
        model = LabelClustering.paper(POWERSET, clustering="overlapping", max_size=3, threshold=threshold).fit(X, Y)
        assert clusters_of(model) == found
        np.testing.assert_array_equal(model.predict(X), votes >= counts / 2)
    soft = LabelClustering.paper(POWERSET, clustering="overlapping", max_size=3, voting="soft").fit(X, Y)
    np.testing.assert_allclose(soft.decision_function(X), scores / counts)


@pytest.mark.parametrize("measure", ["likelihood-gain", "jaccard"])
def test_clusters_by_another_measure(measure: str) -> None:
    model = LabelClustering.paper(POWERSET, clustering="normalized-cut", measure=measure, max_size=2).fit(X, Y)
    assert clusters_of(model) == [one.tolist() for one in normalized_cut_clusters(measured(measure, X, Y), 2)]


def test_exact_probabilities_of_the_models_are_those_of_the_labels() -> None:
    inner = ProbabilisticChain.paper(LogisticRegression(), order="given")
    model = LabelClustering.paper(inner, max_size=2).fit(X, Y)
    for labels in clusters_of(model):
        alone = ProbabilisticChain.paper(LogisticRegression(), order="given").fit(X, Y[:, labels])
        np.testing.assert_allclose(model.predict_proba(X)[:, labels], alone.predict_proba(X))
    assert not hasattr(LabelClustering.paper(threshold=0), "predict_proba")


def test_one_label_sizes_beyond_all_labels_and_constant_and_equal_labels(tmp_path) -> None:  # type: ignore[no-untyped-def]
    """One cluster of all is the model itself, clusters of one label are binary relevance."""
    whole = LabelClustering.paper(POWERSET, max_size=50).fit(X, Y)
    np.testing.assert_array_equal(whole.predict(X), LabelPowerset.paper().fit(X, Y).predict(X))
    single = LabelClustering.paper(BinaryRelevance.paper(random_state=0), max_size=1).fit(X, Y)
    assert clusters_of(single) == [[k] for k in range(5)]
    table = np.column_stack([np.zeros(80), Y, np.ones(80), Y[:, 2]]).astype(int)
    for clustering in ("disjoint", "overlapping", "normalized-cut", "random"):
        model = LabelClustering.paper(clustering=clustering, max_size=2, random_state=0).fit(X, sparse.csr_array(table))
        predicted = model.predict(X).toarray()
        assert not predicted[:, 0].any()
        assert predicted[:, 6].all()
        assert clustering == "random" or [2, 5] in clusters_of(model)  # of the labels that vary
        model.save(tmp_path / "model")
        np.testing.assert_array_equal(cofactor.load(tmp_path / "model").predict(X).toarray(), predicted)
    one = LabelClustering(threshold=0).fit(X, Y[:, :1])
    assert clusters_of(one) == [[0]]


def test_random_clusters_follow_the_seed() -> None:
    found = [
        clusters_of(LabelClustering.paper(clustering="random", max_size=2, random_state=s).fit(X, Y)) for s in (0, 0, 1)
    ]
    assert found[0] == found[1] != found[2]


def test_what_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidTypeError, match="expected a label model"):
        LabelClustering(LogisticRegression()).fit(X, Y)
    with pytest.raises(InvalidInputError, match="max_size=0"):
        LabelClustering(max_size=0).fit(X, Y)
    with pytest.raises(InvalidInputError, match="'likelihood-gain'"):
        LabelClustering(measure="covariance").fit(X, Y)
    with pytest.raises(InvalidInputError, match="threshold='joint'"):
        LabelClustering(LabelRidge(), threshold="joint").fit(X, Y)
    with pytest.raises(InvalidInputError, match="ChainCRF of a cluster of 3 labels, of 5: .*it has 5 of 3 labels"):
        LabelClustering(ChainCRF.paper(order=[0, 1, 2, 3, 4]), max_size=3).fit(X, Y)
    with pytest.raises((InvalidInputError, InvalidTypeError), match="SVC"):
        LabelClustering.paper(LabelPowerset(SVC())).fit(X, Y).save(tmp_path / "model")
