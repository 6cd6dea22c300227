"""Scales of features: definitions, files, and the choice."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.labels import FeatureSpace, LabelRidge
from cofactor.labels.scaling import SCALES, Scaling, choose_scaling, learn_scaling


def counts(n=60, D=30, seed=0):
    rng = np.random.default_rng(seed)
    return rng.poisson(0.2, size=(n, D)).astype(float)


def test_scales_are_those_of_scikit_learn():
    X = counts() + np.arange(60)[:, None] % 3
    X[:, 4] = 7.0
    standard = np.clip(StandardScaler().fit_transform(X), -4, 4)
    expected = {
        "none": X,
        "rows": normalize(X),
        "tf-idf": TfidfTransformer(smooth_idf=True).fit_transform(sparse.csr_array(X)).toarray(),
        "sd": X / np.where(X.std(axis=0) > 0, X.std(axis=0), 7.0),
        "standard": standard,
        "standard-rows": normalize(standard),
    }
    assert set(expected) == set(SCALES)
    for kind, table in expected.items():
        assert np.allclose(learn_scaling(kind, X).apply(X), table), kind


@together("kind", SCALES)
def test_sparse_is_dense_and_a_weight_counts_rows(kind):
    X = counts()
    X[3] = 0
    X[:, 2] = 0
    weights = 1.0 + np.arange(60) % 3
    repeated = np.repeat(X, weights.astype(int), axis=0)
    by_rows = learn_scaling(kind, repeated)
    table = sparse.csr_array(X)
    before = table.copy()
    for features in (X, table):
        for dtype in (np.float64, np.float32):
            found = learn_scaling(kind, features, weights).apply(features.astype(dtype))
            assert found.dtype == dtype
            assert sparse.issparse(found) == (sparse.issparse(features) and not kind.startswith("standard"))
            dense = found.toarray() if sparse.issparse(found) else found
            assert np.abs(dense - by_rows.apply(X)).max() < (1e-12 if dtype == np.float64 else 1e-5)
    assert (table != before).nnz == 0


def test_extreme_values_stay_finite():
    X = np.array([[1e15, 1e-300, 1e15], [-1e15, 2e-300, 1e15], [1e15, 0.0, 1e15]])
    for kind in SCALES:
        scaling = learn_scaling(kind, X)
        for new in (X, -X, np.full((1, 3), 1e15), np.zeros((1, 3)), np.full((1, 3), 1e-200)):
            assert np.isfinite(scaling.apply(new)).all(), kind
            assert np.isfinite(scaling.apply(sparse.csr_array(new)).sum()), kind
        assert np.isfinite(scaling.apply(np.full((1, 3), 1e15, dtype=np.float32))).all(), kind


def test_a_scaling_comes_back_from_its_parts():
    X = counts()
    for kind in SCALES:
        scaling = learn_scaling(kind, X)
        assert np.array_equal(Scaling.from_state(scaling.to_state()).apply(X), scaling.apply(X))


@together(
    ("changes", "message"),
    [
        ({"kind": "log"}, "log"),
        ({"kind": 3}, "kind of scale"),
        ({"kind": "rows"}, "has no factor"),
        ({"mean": None}, "needs mean"),
        ({"factor": np.ones(29)}, "must have shape"),
        ({"factor": np.ones(30, dtype=int)}, "dtype"),
        ({"factor": [1.0] * 30}, "a list"),
        ({"mean": np.full(30, np.nan)}, "not finite"),
        ({"factor": np.full(30, 1e21)}, "holds 1e\\+21"),
        ({"mean": np.full(30, 1e16)}, "holds 1e\\+16"),
    ],
)
def test_parts_that_do_not_fit_are_refused(changes, message):
    parts = learn_scaling("standard", counts()).to_state() | changes
    with pytest.raises(InvalidInputError, match=message):
        Scaling.from_state(parts).check(30)


def test_the_choice_helps_and_does_not_depend_on_the_form():
    rng = np.random.default_rng(0)
    X = counts(400, 120)
    X *= np.exp(rng.normal(size=(400, 1)))  # long and short documents
    Y = X[:, :3] > 0.25 * np.linalg.norm(X, axis=1)[:, None]
    kinds = {choose_scaling(table, Y.astype(float)).kind for table in (X, sparse.csr_array(X))}
    assert kinds <= {"rows", "tf-idf"}
    assert len(kinds) == 1
    dense = rng.normal(size=(50, 4)) * [1, 10, 100, 1000]
    for table in (dense, sparse.csr_array(dense)):
        assert choose_scaling(table, (dense[:, :1] > 0).astype(float)).kind in ("standard", "standard-rows")
    assert choose_scaling(X, Y, scale="sd").kind == "sd"
    assert choose_scaling(X[:2], Y[:2]).kind == "none"  # too few to choose


def test_a_space_scales_its_features():
    X = counts()
    T = X[:, :2] > 0
    for scale in ("sd", learn_scaling("sd", X)):
        space = FeatureSpace(X, scale=scale)
        assert space.scaling.kind == "sd"
        expected = FeatureSpace(space.scaling.apply(X))
        assert np.allclose(space.ridge(T, 1.0)[0], expected.ridge(T, 1.0)[0])
    with pytest.raises(InvalidInputError, match="scale='auto'"):
        FeatureSpace(X, scale="auto")
    with pytest.raises(InvalidInputError, match="become dense"):
        learn_scaling("standard", sparse.csr_array(([1.0], ([0], [0])), shape=(20_000, 20_000))).apply(
            sparse.csr_array(([1.0], ([0], [0])), shape=(20_000, 20_000))
        )


def test_a_sparse_table_without_any_value() -> None:
    Y = np.arange(40).reshape(20, 2) % 3 > 0
    model = LabelRidge().fit(sparse.csr_array((20, 6)), Y)
    chances = model.predict_proba(sparse.csr_array((2, 6)))
    assert np.array_equal(chances[0], chances[1])
    assert ((chances > 0) & (chances < 1)).all()
