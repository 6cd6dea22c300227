"""Conditional random fields: unusual input, which gives documented models, and forged files, which give none."""

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.labels import CML, CMLF, ChainCRF, TreeCRF

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
Y = (X @ rng.normal(size=(3, 4)) + rng.logistic(size=(40, 4)) > 0).astype(int)
KINDS: dict[str, type[Any]] = {kind.__name__: kind for kind in (CML, CMLF, TreeCRF, ChainCRF)}


@together("kind", KINDS.values(), ids=KINDS)
def test_penalties_of_any_size(kind: type[Any]) -> None:
    """Without one, weights still are numbers; under a huge one, only the share of each label is learned."""
    free, bound = kind.paper(1e-300), kind.paper(1e100)
    assert np.isfinite(free.fit(X, Y).predict_proba(X)).all()
    np.testing.assert_allclose(bound.fit(X, Y).predict_proba(X), np.tile(Y.mean(axis=0), (40, 1)), atol=1e-4)


@together("kind", KINDS.values(), ids=KINDS)
def test_constant_labels_and_instances_without_weight_are_left_out(kind: type[Any]) -> None:
    weights = np.arange(40) % 4 > 0
    wide = np.column_stack([np.ones(40), Y, np.zeros(40)]).astype(int)
    wide[~weights, 5] = 1  # where no instance counts
    model = kind.paper(threshold="joint", random_state=0)
    other = kind.paper(threshold="joint", random_state=0).fit(X[weights], Y[weights])
    model.fit(sparse.csr_array(X), sparse.csr_array(wide), weights.astype(float))
    np.testing.assert_allclose(model.predict_proba(X)[:, 1:5], other.predict_proba(X), atol=1e-6)
    assert model.pair_weights()[1:5, 1:5].any()
    predicted = model.predict(X).toarray()
    assert predicted[:, 0].all()
    assert not predicted[:, 5].any()


def test_label_sets_that_training_lacks_can_be_true() -> None:
    """They are never predicted, and the score counts them as any others."""
    model = CML.paper(inference="supported", threshold="joint").fit(X, Y)
    assert 0 < model.score(X, 1 - Y) < model.score(X, Y)


@together("kind", [CML, CMLF])
def test_fifteen_labels_are_too_many_for_all_sets(kind: type[Any]) -> None:
    many = rng.random((40, 15)) < 0.5
    with pytest.raises(InvalidInputError, match=r"15 labels have 2\*\*15 label sets, .* 14 labels at most; take"):
        kind(inference="exact").fit(X, many)
    assert kind.paper().fit(X, many).sets_.shape[0] <= 40  # by itself it looks at those of training
