"""Fits to chunks: what fits to all instances at once learn, from any chunks of them."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, issparse
from sklearn import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import LinearSVC

from cofactor.datasets import LabelChunks, write_chunks
from cofactor.errors import InvalidInputError
from cofactor.labels import (
    CPLST,
    CSSP,
    LEML,
    MODELS,
    OMF,
    PLST,
    BinaryRelevance,
    CompressedSensing,
    FAiE,
    FeatureLabelCCA,
    LabelRidge,
)
from cofactor.labels.training_data import read_chunks

N, D, L = 220, 12, 6


class Chunks:
    """Tables cut into chunks at some rows; it counts how often they are read."""

    def __init__(self, X, Y, at=(0, 1, 90, 90, 200), forms=(np.asarray,)):
        self.X, self.Y, self.at, self.forms, self.n_passes = X, Y, [*at, X.shape[0]], forms, 0

    def __iter__(self):
        self.n_passes += 1
        for k, (start, stop) in enumerate(zip(self.at, self.at[1:], strict=False)):
            table = self.X[start:stop]
            yield (table if issparse(table) else self.forms[k % len(self.forms)](table)), self.Y[start:stop]


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(0)
    X = rng.normal(3, [1.0, 5.0, 0.2] * (D // 3), size=(N, D))
    Y = (X @ rng.normal(size=(D, L)) / 5 + rng.normal(size=(N, L)) > 0.3 * np.arange(L)).astype(int)
    Y[:, 0] = 0  # never on
    return X, Y


@pytest.fixture(scope="module")
def texts():
    """Sparse features, of more than 100 columns."""
    rng = np.random.default_rng(1)
    X = csr_array(np.where(rng.random((N, 120)) < 0.06, 1.0 + rng.integers(3, size=(N, 120)), 0.0))
    Y = (X @ rng.normal(size=(120, L)) + rng.normal(size=(N, L)) > np.arange(L) - 2).astype(int)
    Y[:, 0] = 1  # always on
    return X, Y


def assert_alike(model, other, X, tolerance=1e-9):
    scores = model.decision_function(X)
    np.testing.assert_allclose(other.decision_function(X), scores, rtol=tolerance, atol=tolerance)
    if model.decision_.calibration is not None:
        np.testing.assert_allclose(other.predict_proba(X), model.predict_proba(X), rtol=0, atol=tolerance)
    np.testing.assert_array_equal(other.constant_, model.constant_)


EXACT = [
    LabelRidge(),
    LabelRidge(kernel="linear", n_components=2, threshold="global"),
    PLST(),
    PLST(3, alpha=0, scale="none", threshold=0),
    CPLST(3, fit_intercept=False),
    FeatureLabelCCA(3),
    CSSP(3),
    CSSP(3, coding="0/1"),
    CompressedSensing(),
    LEML(3),
    BinaryRelevance(Ridge(), scale="rows"),
]


@pytest.mark.parametrize(
    ("model", "form"), [(model, "tables") for model in EXACT] + [(model, "texts") for model in EXACT[::3]], ids=repr
)
def test_chunks_teach_what_all_instances_teach(request, model, form):
    X, Y = request.getfixturevalue(form)
    model.set_params(random_state=0)
    expected = clone(model).fit(X, Y)
    for chunks in (Chunks(X, Y), Chunks(X, Y, at=[0]))[: 1 if form == "tables" else 2]:  # one chunk: for some models
        assert_alike(expected, clone(model).fit(chunks), X)
        assert chunks.n_passes > 1


def test_weights_and_forms_of_chunks(texts):
    X, Y = texts
    weights = np.random.default_rng(2).integers(0, 3, N)
    expected = PLST(random_state=0).fit(X, Y, weights)
    assert_alike(expected, PLST(random_state=0).fit(Chunks(X, csr_array(Y)), sample_weight=weights), X)
    mixed = Chunks(X.toarray(), csr_array(Y), forms=(csr_array, np.asarray, lambda part: part.tolist()))
    assert_alike(expected, PLST(random_state=0).fit(mixed, sample_weight=weights), X)


def test_many_chunks_and_rows_that_stay_in_chunks(tables, monkeypatch):
    """Small limits, so that small data go the ways of large ones: parts of chunks, sketches, landmarks, few rows."""
    X, Y = tables
    monkeypatch.setattr("cofactor.labels.leave_one_out._MANY", 3)
    monkeypatch.setattr("cofactor.labels.ridge.EXACT", 100)
    monkeypatch.setattr("cofactor.labels.ridge._LANDMARKS", 120)
    models = [LabelRidge(random_state=0), BinaryRelevance(Ridge(), random_state=0), PLST(random_state=0)]
    expected = [clone(model).fit(X, Y) for model in models]
    monkeypatch.setattr("cofactor.labels.training_data.CHUNK_CELLS", 20 * D)
    monkeypatch.setattr("cofactor.labels.training_data._READ_AT_ONCE", 20)
    for model, other in zip(models, expected, strict=True):
        assert_alike(other, clone(model).fit(Chunks(X, Y)), X)
    assert expected[0].kernel_share_ > 0


@pytest.mark.parametrize("model", [PLST(2), CPLST(2), FeatureLabelCCA(2)], ids=repr)
@pytest.mark.parametrize("limit", ["_EAGER", "LARGEST_CHUNKED"])
def test_features_that_are_not_decomposed(texts, monkeypatch, model, limit):
    """Beyond the first limit they are inverted, beyond the second conjugate gradients take a pass a step."""
    X, Y = texts
    model.set_params(random_state=0, alpha=3.0, threshold=0)
    expected = clone(model).fit(X, Y)
    monkeypatch.setattr(f"cofactor.labels.regression.{limit}", 5)
    assert_alike(expected, clone(model).fit(Chunks(X, Y)), X, 1e-8)


def test_conjugate_gradients_of_label_ridge(texts, monkeypatch):
    X, Y = texts
    expected = LabelRidge(alpha=3.0, kernel="linear", threshold=0).fit(X, Y)
    monkeypatch.setattr("cofactor.labels.regression.LARGEST_CHUNKED", 5)
    model = LabelRidge(alpha=3.0, kernel="linear", threshold=0).fit(Chunks(X, Y))
    assert_alike(expected, model, X, 1e-4)  # they end at a relative residual of 1e-5
    assert LabelRidge().fit(Chunks(X, Y)).alpha_ == pytest.approx(LabelRidge(kernel="linear").fit(X, Y).alpha_)


@pytest.mark.parametrize("estimator", [LinearSVC(C=0.3), LogisticRegression(C=0.3), None], ids=repr)
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_learners_come_to_the_minimum(texts, estimator, weighted):
    X, Y = texts
    weights = np.random.default_rng(2).uniform(0.5, 2, N) if weighted else None
    model = BinaryRelevance(estimator, threshold=0, random_state=0)
    found = clone(model).fit(Chunks(X, Y), sample_weight=weights)
    expected = clone(model).fit(X, Y, weights)
    assert (found.cost_ is None) == (estimator is not None)
    seen = found.scaling_.apply(X)
    cost, heavy = found.cost_ or 0.3, np.ones((N, 1)) if weights is None else weights[:, None]
    signs = 2.0 * Y[:, found.constant_ == 0] - 1

    def objective(model):
        margins = signs * (seen @ model.coef_ + model.intercept_)
        if isinstance(estimator, LogisticRegression):
            return (model.coef_**2).sum(axis=0) / 2 + cost * (heavy * np.logaddexp(0, -margins)).sum(axis=0)
        squares = (model.coef_**2).sum(axis=0) + model.intercept_**2
        return squares / 2 + cost * (heavy * np.maximum(0, 1 - margins) ** 2).sum(axis=0)

    assert (objective(found) <= objective(expected) * (1 + 1e-5)).all()  # both stop near the minimum


def test_names_of_frames_and_files(tables, tmp_path):
    X, Y = tables
    features, labels = pd.DataFrame(X, columns=list("abcdefghijkl")), pd.DataFrame(Y, columns=list("uvwxyz"))
    pairs = [(features[:100], labels[:100]), (features[100:], labels[100:][list("zyxwvu")])]
    expected = PLST(random_state=0).fit(features, labels)
    model = PLST(random_state=0).fit(pairs)
    assert_alike(expected, model, features)
    assert (model.feature_names_in_.tolist(), model.label_names_.tolist()) == (list("abcdefghijkl"), list("uvwxyz"))
    assert model.predict(features).columns.tolist() == list("uvwxyz")
    write_chunks(
        tmp_path / "rows.parquet", [(X[:100], csr_array(Y[:100])), (X[100:], csr_array(Y[100:]))], label_names="uvwxyz"
    )
    expected = PLST(random_state=0).fit(X, Y)
    of_file = PLST(random_state=0).fit(LabelChunks(tmp_path / "rows.parquet", 70))
    assert of_file.label_names_.tolist() == list("uvwxyz")
    assert_alike(expected, of_file, X)


def test_which_models_take_chunks(tables):
    able = {name for name, kind in MODELS.items() if kind().capabilities.chunks}
    assert able == {
        "LabelRidge", "PLST", "LabelPCA", "CPLST", "FeatureLabelCCA", "CSSP", "CompressedSensing", "LEML",
        "BinaryRelevance",
    }  # fmt: skip
    for model, name in (
        (FAiE(), "FAiE"),
        (OMF(), "OMF"),
        (BinaryRelevance(LinearSVC(loss="hinge")), "BinaryRelevance with these settings"),
        (LEML(loss="logistic"), "LEML with these settings"),
    ):
        with pytest.raises(InvalidInputError, match=rf"^{name} learns from all .*CPLST.*LabelRidge.*OMF.partial_fit"):
            model.fit(Chunks(*tables))
        assert not hasattr(model, "n_features_in_")


def test_chunks_that_are_refused(tables):
    X, Y = tables
    model = PLST()
    with pytest.raises(InvalidInputError, match="a generator can be read only once; give a list, a LabelChunks"):
        model.fit((X, Y) for _ in range(2))
    for chunks in ([(X, Y), (X, Y)], [X, X]):
        with pytest.raises(InvalidInputError, match="chunks hold their labels; .* leave y out"):
            model.fit(chunks, Y)
    with pytest.raises(InvalidInputError, match="a fit to chunks takes no mask"):
        model.fit(Chunks(X, Y), mask=np.ones_like(Y))
    with pytest.raises(InvalidInputError, match="a fit to chunks takes no class_weight"):
        LabelRidge(class_weight="balanced").fit(Chunks(X, Y))
    with pytest.raises(InvalidInputError, match="a fit to chunks takes 5,000 features at most"):
        BinaryRelevance(threshold=0).fit([(csr_array((2, 5001)), [[1], [0]])] * 2)
    hole = X[:9].copy()
    hole[4, 2] = np.nan
    wide, narrow = np.ones((3, D + 1)), Y[:3, 1:]
    frame = pd.DataFrame(X[:9], columns=list("abcdefghijkl"))
    for chunks, message in (
        ([(X[:9], Y[:9]), (wide, Y[:3])], f"^chunk 2: X has {D + 1} features, that of the first chunk {D}"),
        ([(X[:9], Y[:9]), (wide[:0], Y[:0])], f"^chunk 2: X has {D + 1} features"),
        ([(csr_array(X[:9]), Y[:9]), (csr_array(wide), Y[:3])], f"^chunk 2: X has {D + 1} features"),
        ([(X[:9], Y[:9]), (X[:3], narrow)], "^chunk 2: y has 5 labels, that of the first chunk 6"),
        ([(X[:9], Y[:9]), (hole, Y[:9])], r"^chunk 2: X holds NaN \(row 4, column 2\)"),
        ([(X[:9], Y[:9]), (X[:8], Y[:9])], "^chunk 2: X has 8 rows and y has 9"),
        ([(X[:9], Y[:9]), (X[:9], Y[:9] + 0.5)], "^chunk 2: y "),
        ([(X[:9], Y[:9]), (X[:9],)], "^chunk 2: expected features and labels, a pair"),
        ([(frame, Y[:9]), (frame[list("bacdefghijkl")], Y[:9])], "^chunk 2: X has the column 'b' where .*has 'a'"),
        ([(X[:0], Y[:0])], "the chunks hold no instances"),
        ([(X[:9] * 0 + 1e-20, Y[:9])], "nothing further from 0 than 1e-20"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            model.fit(chunks)
    assert not hasattr(model, "n_features_in_")


def test_chunks_that_change_between_passes(tables):
    class Growing(Chunks):
        def __iter__(self):
            yield from super().__iter__()
            if self.n_passes > 2:
                yield self.X[:1], self.Y[:1]

    with pytest.raises(InvalidInputError, match=rf"first pass over the chunks gave {N} instances.*a later one did not"):
        PLST().fit(Growing(*tables))


def test_lists_of_numbers_are_no_chunks():
    with pytest.raises(InvalidInputError, match="requires y"):
        PLST().fit([[0.0, 1.0], [1.0, 0.0]])
    assert read_chunks([(np.eye(2), [[1], [-1]]), (np.eye(2), [[1], [1]])]).form.signs
