"""Bad input is refused with a message that says what to do; unusual input is accepted."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from tests.together import together

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.labels.features import LARGEST, SMALLEST

from .models import CASES, CLASSES, NAMES, PROBE, data, every, every_class, fitted, fresh, probed

BAD_LABELS = {
    "fractions": (lambda Y: Y * 0.5, r"y holds 0\.5 \(row \d+, label \d+\): labels must be 0 and 1"),
    "NaN": (lambda Y: np.where(np.arange(6) == 2, np.nan, Y), r"y holds nan \(row 0, label 2\)"),
    "counts": (lambda Y: 2 * Y, r"y holds 2"),
    "sparse fractions": (lambda Y: sparse.csr_array(Y * 0.5), r"y holds 0\.5 \(row \d+, label \d+\)"),
    "sparse NaN": (lambda Y: sparse.csr_array(Y * np.nan), r"y holds nan \(row 0, label 0\)"),
    "signs and 0": (lambda Y: np.where(np.arange(6) == 2, 0, 2 * Y - 1), "y holds -1 and 0"),
    "sparse signs and 0": (lambda Y: -sparse.csr_array(Y), "y holds -1 and 0"),
    "text": (lambda Y: Y.astype(str), "MultiLabelBinarizer"),
    "lists of names": (lambda Y: [["rock"] * int(k) for k in Y.sum(axis=1)], "MultiLabelBinarizer"),
    "one dimension": (lambda Y: Y[:, 0], r"reshape\(-1, 1\)"),
    "three dimensions": (lambda Y: Y[:, :, None], "expected a table"),
    "no labels": (lambda Y: Y[:, :0], "at least one label"),
    "too few rows": (lambda Y: Y[:-1], r"X has 80 rows and y has 79: both must have one row"),
    "transposed": (lambda Y: Y.T, "y seems to be transposed"),
    "masked": (lambda Y: np.ma.masked_array(Y, np.arange(6) == [[2]] * 80), r"y is a masked array .* row 0, column 2"),
    "masked rows": (
        lambda Y: [np.ma.masked_array(row, mask=row == 1) for row in Y],
        r"y holds a masked array without a value in row \d+, column \d: .*fill it in with y\[\d+\]\.filled\(value\)",
    ),
    "sparse and complex": (
        lambda Y: sparse.csr_array(Y.astype(complex)),
        "y has the dtype complex128: labels must be 0",
    ),
    "missing": (lambda Y: None, "requires y to be passed"),
}

#: Models which tell labels apart that are always together: each label has a place, or draws, of its own.
APART = {
    *("BPMLL", "CML", "ChainCRF", "ChainCRFEnsemble", "ClassifierChain", "CompressedSensing", "EnsembleOfChains"),
    *("HOMER", "LabelClustering", "MetaLabels", "ProbabilisticChain", "RAkEL", "TreeCRF"),
}

# Some of these data have nothing to learn from, so no label may be predicted.
pytestmark = pytest.mark.filterwarnings("ignore:OMF predicts")


@probed("fit", "_receive")
@together("bad", BAD_LABELS)
def test_bad_labels(name, bad):
    X, Y = data()
    change, message = BAD_LABELS[bad]
    with pytest.raises(ValueError, match=message):
        fresh(name).fit(X, change(Y))


def with_cell(X, value):
    """Return features as objects, with a value in some cells; the first of them is in row 2 and column 3."""
    table = X.astype(object)
    table[2, 3] = table[2, 5] = table[5, 0] = value
    return table


def frame_with(X, value):
    """Return the same as a frame with an index that does not start at 0."""
    return pd.DataFrame(with_cell(X, value), columns=list("abcdefg"), index=range(100, 100 + len(X)))


def sparse_with(X, value):
    """Return the same as a sparse array which is not in canonical form: column numbers decrease within each row."""
    table = sparse.csr_array(with_cell(X + 1.0, value).astype(float))
    backward = np.arange(table.nnz).reshape(X.shape)[:, ::-1].ravel()
    return sparse.csr_array((table.data[backward], table.indices[backward], table.indptr), shape=X.shape)


BAD_FEATURES = {
    "NaN": (lambda X: with_cell(X, np.nan).astype(float), r"X holds NaN \(row 2, column 3\).*SimpleImputer"),
    "infinity": (lambda X: with_cell(X, np.inf).astype(np.float32), r"X holds infinity \(row 2, column 3\)"),
    "-infinity": (lambda X: with_cell(X, -np.inf).tolist(), r"X holds -infinity \(row 2, column 3\)"),
    "sparse NaN": (lambda X: sparse_with(X, np.nan), r"X holds NaN \(row 2, column 3\)"),
    "sparse infinity": (lambda X: sparse_with(X, np.inf).tocsc(), r"X holds infinity \(row 2, column 3\)"),
    "NaN in a frame": (lambda X: frame_with(X, None).astype("Float64"), r"X holds NaN \(row 2, column 'd'\)"),
    "too large": (lambda X: with_cell(X, 1.1e15).tolist(), r"X holds 1.1e\+15 \(row 2, column 3\).*MaxAbsScaler"),
    "too large in sparse": (lambda X: sparse_with(X, -1e300).tocoo(), r"X holds -1e\+300 \(row 2, column 3\)"),
    "too large in a frame": (lambda X: frame_with(X, 1e100).astype(float), r"X holds 1e\+100 \(row 2, column 'd'\)"),
    "masked": (lambda X: np.ma.masked_greater(X, 0.9), r"X is a masked array without a value in row \d+, column \d"),
    "masked rows": (
        lambda X: tuple(np.ma.masked_greater(row, 0.9) for row in X),
        r"X holds a masked array without a value in row \d+, column \d",
    ),
    "text": (lambda X: np.full(X.shape, "a"), r"X holds 'a' \(row 0, column 0\).*OneHotEncoder"),
    "text among numbers": (lambda X: with_cell(X, "loud").tolist(), r"X holds 'loud' \(row 2, column 3\)"),
    "text in a frame": (lambda X: frame_with(X, "loud"), r"X holds 'loud' \(row 2, column 'd'\)"),
    "a number too large": (lambda X: with_cell(X, 10**400), r"X holds 10+ \(row 2, column 3\).*in its place"),
    "an object": (lambda X: with_cell(X, ()), r"X holds \(\) \(row 2, column 3\): features must be numbers"),
    "one dimension": (lambda X: X[:, 0], "2D array"),
    "transposed": (lambda X: X.T, "X seems to be transposed|both must have one row"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "no features": (lambda X: X[:, :0], "0 feature"),
}


@probed("fit", "_receive", "_features")
@together("bad", BAD_FEATURES)
def test_bad_features(name, bad):
    X, Y = data()
    change, message = BAD_FEATURES[bad]
    with pytest.raises(InvalidInputError, match=message) as refused:
        fresh(name).fit(change(X), Y)
    assert refused.value.argument == ("y" if bad == "transposed" else "X")


@probed("predict", "decision_function", "fit_threshold", "score", "_features")
@pytest.mark.parametrize("bad", [bad for bad in BAD_FEATURES if "X holds" in BAD_FEATURES[bad][1]])
@pytest.mark.filterwarnings("ignore:X has feature names")
def test_bad_features_at_prediction(name, bad):
    X, Y = data()
    change, message = BAD_FEATURES[bad]
    model = fitted(name)
    calls = [model.predict, model.decision_function, lambda X: model.score(X, Y), lambda X: model.fit_threshold(X, Y)]
    for call in calls:
        with pytest.raises(InvalidInputError, match=message):
            call(change(X))


@probed("predict", "_features")
def test_features_of_another_number_at_prediction(name):
    X, _ = data()
    with pytest.raises(ValueError, match="X has 5 features, but .* is expecting 7 features"):
        fitted(name).predict(X[:, :5])
    with pytest.raises(ValueError, match="transposed"):
        fitted(name).predict(X.T)


BAD_PARAMETERS = [
    ({"threshold": "best"}, ValueError),
    ({"threshold": None}, TypeError),
    ({"threshold": True}, TypeError),
    ({"threshold": np.nan}, ValueError),
    ({"random_state": "seed"}, TypeError),
    ({"random_state": -1}, ValueError),
    ({"callback": 3}, TypeError),
    ({"n_components": 0}, ValueError),
    ({"n_components": "many"}, TypeError),
    ({"n_components": 1.5}, (ValueError, TypeError)),
    ({"alpha": -1}, ValueError),
    ({"alpha": "auto?"}, (TypeError, ValueError)),
    ({"fit_intercept": "yes"}, TypeError),
    ({"coding": "±"}, ValueError),
    ({"max_iter": 0}, ValueError),
    ({"tol": -1}, ValueError),
    ({"tol": "tight"}, TypeError),
    ({"n_neighbors": 0}, ValueError),
    ({"estimator": "svm"}, TypeError),
    ({"scale": "l2"}, ValueError),
    ({"decide_for": "accuracy"}, ValueError),
    ({"kernel": "poly"}, ValueError),
    ({"label_weight": 1.0}, ValueError),
    ({"alpha_predict": 0.0}, ValueError),
    ({"solver": "newton"}, ValueError),
    ({"normalize": "l2"}, TypeError),
    ({"eta0": 0.0}, ValueError),
    ({"alpha_u": 0}, ValueError),
    ({"alpha_v": 0.0}, ValueError),
    ({"alpha_z": -1}, ValueError),
    ({"n_groups": 0}, ValueError),
    ({"correlation": "yes"}, ValueError),
    ({"start": "zero"}, ValueError),
    ({"tolerance": 1.1}, ValueError),
    ({"min_size": 0}, ValueError),
    ({"n_clusters": 0}, ValueError),
    ({"voting": "loud"}, ValueError),
    ({"margin": "hinge"}, ValueError),
    ({"dtype": "float16"}, ValueError),
    ({"n_estimators": 0}, ValueError),
    ({"n_estimators": "many"}, TypeError),
    ({"stumps": "deep"}, ValueError),
    ({"trees": "palms"}, ValueError),
    ({"criterion": "mse"}, ValueError),
    ({"max_depth": 0}, ValueError),
    ({"min_samples_leaf": 0.5}, TypeError),
    ({"max_features": "all"}, ValueError),
    ({"max_features": 1.5}, ValueError),
    ({"smoothing": 0}, ValueError),
    ({"smoothing": "1"}, TypeError),
]


@together(
    ("name", "params", "error"),
    [(name, *bad) for name in CLASSES for bad in BAD_PARAMETERS if set(bad[0]) <= set(CASES[name].get_params())],
)
def test_bad_parameters(name, params, error):
    (key,) = params
    with pytest.raises(error, match=key):
        fresh(name, **params).fit(*data())


@probed("fit", "predict", "_receive")
def test_names_of_labels(name):
    X, Y = data()
    with pytest.raises(ValueError, match="'a' occurs twice"):
        fresh(name).fit(X, Y, label_names=list("abcdea"))
    with pytest.raises(ValueError, match="there are 2 label names for 6 labels"):
        fresh(name).fit(X, Y, label_names=["a", "b"])
    with pytest.raises(InvalidInputError, match="label_names=3: expected names"):
        fresh(name).fit(X, Y, label_names=3)
    assert fitted(name).label_names_.tolist() == list(range(6))
    frame = pd.DataFrame(Y, columns=[3, 1, 4, 15, 9, 2])
    assert list(fresh(name).fit(X, frame).predict(X).columns) == [3, 1, 4, 15, 9, 2]


def brief(name):
    """Return an unfitted model of a case, which ends after some steps: where it would end says nothing more."""
    model = fresh(name)
    return model.set_params(max_iter=min(model.max_iter, 30)) if hasattr(model, "max_iter") else model


@pytest.mark.filterwarnings("ignore:n_neighbors=")
@every
@together(
    "change",
    [
        lambda X, Y: (np.vstack([X[:9], 0 * X[9:18], X[18:40], X[:40]]), np.vstack([0 * Y[:9], Y[9:40], Y[:40]])),
        lambda X, Y: (np.hstack([X, X, 0 * X[:, :1], 0 * X[:, :1] + 3]), Y),
        lambda X, Y: (sparse.csr_array(np.vstack([np.zeros_like(X[:9]), X[9:]])), np.hstack([Y[:, :4], Y[:, :4]])),
        lambda X, Y: (X[:5], Y[:5]),
        lambda X, Y: (X[:2], Y[:2]),
        lambda X, Y: (X[:, :1], Y),
        lambda X, Y: (X, Y[:, :1]),
        lambda X, Y: (0 * X, Y),
    ],
    ids=[
        "instances without labels, without features, and twice", "features twice, and constant ones",
        "sparse instances without features, labels twice", "five instances", "two instances", "one feature",
        "one label", "no information",
    ],
)  # fmt: skip
def test_odd_input_is_taken(name, change):
    X, Y = change(*data())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = brief(name).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    scores = model.decision_function(X)
    assert np.isfinite(scores).all()
    assert np.isfinite(model.decision_function(sparse.csr_array(X))).all()
    if Y.shape[1] > len(NAMES) and type(model).__name__ not in APART:  # those that are always together are alike
        np.testing.assert_allclose(*np.hsplit(scores, 2), atol=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES if "n_components" in CASES[name].get_params()])
def test_more_components_than_labels(name):
    X, Y = data()
    for many in (Y.shape[1], 50):
        model = fresh(name, n_components=many).fit(X, Y)
        assert np.isfinite(model.decision_function(X)).all()
        if name != "ANMF":  # with a base for each label nothing makes the plain cut right
            assert np.mean(model.predict(X) != Y) < 0.3


@every
@together("largest", [LARGEST, SMALLEST], ids=["largest", "smallest"])
def test_features_at_the_ends_of_their_range(name, largest):
    X, Y = data()
    X = largest * X / X.max()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = brief(name).fit(X.astype(np.float32 if largest > 1 else np.float64), Y)
        assert np.isfinite(model.decision_function(sparse.csr_array(X))).all()


@every_class
def test_a_cell_that_dwarfs_the_other_features_is_told_once(name):
    X, Y = data()
    X = X.copy()
    X[3, 2] = 1e12
    model = brief(name)
    for given in (X, sparse.csr_array(X)) if name == PROBE else (X,):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(given, Y)
        told = [str(one.message) for one in caught if issubclass(one.category, InputWarning)]
        assert [text.partition(",")[0] for text in told if text.startswith("X holds")] == ["X holds 1e+12 (row 3"]
        assert not any("vary so little" in text for text in told)


@probed("fit", "_receive", "_features")
def test_features_far_beyond_their_range_are_refused_at_once(name):
    X, Y = data()
    for scale in (1e100, 1e300, 1e-16, 1e-100):
        with pytest.raises(InvalidInputError, match="X holds"):
            fresh(name).fit(scale * X, Y)
