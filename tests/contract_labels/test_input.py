"""Bad input is refused with a message which says what to do, and odd input has a documented result."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from .models import CASES, data, every, fitted, fresh, probed

BAD_LABELS = {
    "fractions": (lambda Y: Y * 0.5, r"y holds 0\.5 \(row \d+, label \d+\): labels must be 0 and 1"),
    "NaN": (lambda Y: np.where(np.arange(6) == 2, np.nan, Y), r"y holds nan \(row 0, label 2\).*none missing"),
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
    "missing": (lambda Y: None, "requires y to be passed"),
}

# What has nothing to learn from, or is scored by the plain cut, is no fault here.
pytestmark = pytest.mark.filterwarnings("ignore:OMF predicts no label")


@probed("fit", "_receive")
@pytest.mark.parametrize("bad", BAD_LABELS)
def test_bad_labels(name, bad):
    X, Y = data()
    change, message = BAD_LABELS[bad]
    with pytest.raises(ValueError, match=message):
        fresh(name).fit(X, change(Y))


BAD_FEATURES = {
    "NaN": (lambda X: np.where(X > 0.9, np.nan, X), "NaN"),
    "infinity": (lambda X: np.where(X > 0.9, np.inf, X), "infinity"),
    "sparse NaN": (lambda X: sparse.csr_array(X * np.nan), "NaN"),
    "text": (lambda X: np.full(X.shape, "a"), "could not convert|dtype"),
    "one dimension": (lambda X: X[:, 0], "2D array"),
    "transposed": (lambda X: X.T, "X seems to be transposed|both must have one row"),
    "no rows": (lambda X: X[:0], "0 sample"),
    "no features": (lambda X: X[:, :0], "0 feature"),
}


@probed("fit", "_receive", "_features")
@pytest.mark.parametrize("bad", BAD_FEATURES)
def test_bad_features(name, bad):
    X, Y = data()
    change, message = BAD_FEATURES[bad]
    with pytest.raises(ValueError, match=message):
        fresh(name).fit(change(X), Y)


@probed("predict", "_features")
def test_features_of_another_number_at_prediction(name):
    X, _ = data()
    with pytest.raises(ValueError, match="X has 5 features, but .* is expecting 7 features"):
        fitted(name).predict(X[:, :5])
    with pytest.raises(ValueError, match="transposed"):
        fitted(name).predict(X.T)
    with pytest.raises(ValueError, match="NaN"):
        fitted(name).predict(np.full_like(X, np.nan))


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
]


@pytest.mark.parametrize(
    ("name", "params", "error"),
    [(name, *bad) for name in CASES for bad in BAD_PARAMETERS if set(bad[0]) <= set(CASES[name].get_params())],
)
def test_bad_parameters(name, params, error):
    (key,) = params
    with pytest.raises(error, match=key):
        fresh(name, **params).fit(*data())


@probed("fit", "predict", "_receive")
def test_names_of_labels(name):
    X, Y = data()
    with pytest.raises(ValueError, match="'a' stands twice"):
        fresh(name).fit(X, Y, label_names=list("abcdea"))
    with pytest.raises(ValueError, match="there are 2 label names for 6 labels"):
        fresh(name).fit(X, Y, label_names=["a", "b"])
    assert fitted(name).label_names_.tolist() == list(range(6))
    frame = pd.DataFrame(Y, columns=[3, 1, 4, 15, 9, 2])
    assert list(fresh(name).fit(X, frame).predict(X).columns) == [3, 1, 4, 15, 9, 2]


@every
@pytest.mark.parametrize(
    "change",
    [
        lambda X, Y: (X, np.vstack([np.zeros_like(Y[:9]), Y[9:]])),
        lambda X, Y: (np.vstack([np.zeros_like(X[:9]), X[9:]]), Y),
        lambda X, Y: (sparse.csr_array(np.vstack([np.zeros_like(X[:9]), X[9:]])), Y),
        lambda X, Y: (np.hstack([X, X]), Y),
        lambda X, Y: (np.hstack([X, 0 * X[:, :1], 0 * X[:, :1] + 3]), Y),
        lambda X, Y: (X, np.hstack([Y, Y])),
        lambda X, Y: (np.vstack([X[:40], X[:40]]), np.vstack([Y[:40], Y[:40]])),
        lambda X, Y: (X[:5], Y[:5]),
        lambda X, Y: (X[:2], Y[:2]),
        lambda X, Y: (X[:, :1], Y),
        lambda X, Y: (X, Y[:, :1]),
        lambda X, Y: (0 * X, Y),
    ],
    ids=[
        "instances without labels", "instances without features", "sparse instances without features",
        "features twice", "constant features", "labels twice", "instances twice", "five instances",
        "two instances", "one feature", "one label", "no information",
    ],
)  # fmt: skip
def test_odd_input_is_taken(name, change):
    X, Y = change(*data())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = fresh(name).fit(X, Y)
    assert model.predict(X).shape == Y.shape
    assert np.isfinite(model.decision_function(X)).all()
    assert np.isfinite(model.decision_function(sparse.csr_array(X))).all()


@pytest.mark.parametrize("name", [name for name in CASES if "n_components" in CASES[name].get_params()])
def test_more_components_than_labels(name):
    X, Y = data()
    for many in (Y.shape[1], 50):
        model = fresh(name, n_components=many).fit(X, Y)
        assert np.isfinite(model.decision_function(X)).all()
        assert np.mean(model.predict(X) != Y) < 0.3
