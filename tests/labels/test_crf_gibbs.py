"""Conditional random fields by Gibbs sampling: what they converge to, when they stop, and odd data."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.labels import CML, CMLF
from cofactor.labels.crf.gibbs import GibbsField

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 3))
NOISE = rng.logistic(size=(60, 1)) + 0.3 * rng.logistic(size=(60, 6))  # labels go together, whatever the features
Y = (X @ rng.normal(size=(3, 6)) + NOISE > 0).astype(int)
GIBBS = {"inference": "gibbs", "stopping": "none", "max_iter": 20, "n_sweeps": 60, "random_state": 0}


@together("kind", [CML, CMLF])
def test_marginals_and_likeliest_sets_are_those_of_enumeration(kind):
    exact = kind.paper(5.0, inference="exact").fit(X, Y)
    weights, new = exact._weights(), X[:20]
    fields = [GibbsField(exact._field(), 50, 10, 4, seed, "expectation", "none") for seed in range(8)]
    found = np.array([field.marginals(new, weights) for field in fields])
    errors = found.mean(axis=0) - exact._field().marginals(new, weights)
    standard = found.std(axis=0, ddof=1) / np.sqrt(len(fields))
    assert np.sqrt(np.mean((errors / standard) ** 2)) < 1.7  # 1.18 for a t distribution of 7 degrees of freedom
    assert np.abs(errors).max() < 0.1
    np.testing.assert_array_equal(fields[0].likeliest(new, weights), exact._field().likeliest(new, weights))


@together(("kind", "pairs"), [(CML, "two-state"), (CMLF, "four-state")])
def test_steps_by_expectations_go_to_the_maximum_of_the_likelihood(kind, pairs):
    exact = kind.paper(2.0, pairs=pairs, inference="exact", tol=1e-10).fit(X, Y[:, :3])
    found = kind.paper(2.0, pairs=pairs, **{**GIBBS, "max_iter": 40}, n_chains=16).fit(X, Y[:, :3])
    ends = [np.concatenate([part.ravel() for part in model._weights()]) for model in (exact, found)]
    assert np.linalg.norm(ends[1] - ends[0]) < 0.05 * np.linalg.norm(ends[0])


def test_steps_by_the_likeliest_sets_learn_labels_without_noise():
    Z = X[np.abs(X).min(axis=1) > 0.2]
    labels = np.column_stack([Z[:, 0] > 0, Z[:, 1] > 0, (Z[:, 0] > 0) & (Z[:, 1] > 0)])
    model = CML.paper(0.01, update="perceptron", threshold="joint", **GIBBS).fit(Z, labels)
    np.testing.assert_array_equal(model.predict(Z), labels)
    with pytest.raises(AttributeError, match="has no predict_proba with threshold='joint'"):
        model.predict_proba(Z)


@together("stopping", ["likelihood", "f1"])
def test_the_epoch_of_the_least_held_out_loss_counts(stopping):
    model = CML.paper(**{**GIBBS, "stopping": stopping, "max_iter": 100}).fit(X, Y)
    assert model.objective_ == min(model.history_)
    assert model.history_.index(model.objective_) == model.n_iter_ - 1
    assert model.n_iter_ < len(model.history_) < 100
    known = CML.paper(**{**GIBBS, "max_iter": model.n_iter_}).fit(X, Y)
    np.testing.assert_array_equal(model.coef_, known.coef_)


def test_an_instance_is_predicted_as_among_others(monkeypatch):
    model = CMLF.paper(5.0, **{**GIBBS, "max_iter": 2}).fit(X, Y)
    np.testing.assert_allclose(model.predict_proba(X)[7:9], model.predict_proba(X[7:9]), atol=1e-12)
    before = model.predict_proba(X)
    monkeypatch.setattr("cofactor.labels.crf.gibbs._CELLS", 500)
    np.testing.assert_allclose(model.predict_proba(X), before, atol=1e-12)


@together("kind", [CML, CMLF])
def test_odd_labels(kind):
    labels = np.column_stack([Y[:, 0], Y[:, 0], np.ones(60)])
    found = kind.paper(**GIBBS, threshold="joint").fit(X, labels).predict(X)
    assert (found[:, 0] == found[:, 1]).mean() > 0.9
    assert found[:, 2].all()
    one = kind.paper(**GIBBS).fit(X, Y[:, :1])
    exact = kind.paper().fit(X, Y[:, :1])
    np.testing.assert_allclose(one.predict_proba(X), exact.predict_proba(X), atol=0.05)


@together(
    ("model", "data", "message"),
    [
        (CML(update="mean"), (X, Y), "update='mean'"),
        (CML(stopping="tol"), (X, Y), "stopping='tol'"),
        (CML(n_sweeps=10, burn_in=10), (X, Y), "n_sweeps=10.*burn_in=10"),
        (CML(n_chains=0), (X, Y), "n_chains"),
        (
            CMLF(inference="gibbs", scale="none"),
            (sparse.random_array((60, 300), rng=rng, format="csr"), rng.random((60, 1500)) < 0.5),
            r"CMLF: a fit on 60 instances, 300 features, 1,500 labels would take at least 2\d\.\d GiB",
        ),
    ],
)
def test_refusals(model, data, message):
    with pytest.raises(InvalidInputError, match=message):
        model.fit(*data)


def test_a_file_without_a_seed_is_refused():
    model = CML.paper(**GIBBS).fit(X, Y)
    del model.seed_
    with pytest.raises(InvalidInputError, match="seed"):
        CML._from_state(*model._to_state())


def test_stochastic_gradients_warn_of_features_far_from_0():
    X = np.random.default_rng(0).normal(size=(20, 2))
    settings = {"inference": "gibbs", "stopping": "none", "max_iter": 1, "random_state": 0}
    for kind, far in ((CMLF, 2.0), (CML, 5.0)):
        kind.paper(**settings).fit(X + far, X > 0)
    with pytest.warns(ConvergenceWarning, match="scale='standard', or inference='supported'"):
        CMLF.paper(**settings).fit(X + 5, X > 0)
