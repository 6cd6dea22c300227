"""Label models behave as scikit-learn's estimators do."""

import copy
import inspect
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from cofactor.labels import MODELS

from .models import CASES, bits, data, every, fitted, fresh

# What has nothing to learn from, or is scored by the plain cut, is no fault here.
pytestmark = pytest.mark.filterwarnings("ignore:OMF predicts no label")


def of_numbers(model: Any) -> Any:
    """Return the model with methods that make a label of any numbers: scikit-learn's checks know classes and reals."""
    parent = type(model)

    def label(y: Any) -> Any:
        if y is None or np.asarray(y).dtype.kind == "c" or not np.isfinite(np.asarray(y, dtype=float)).all():
            return y
        y = np.asarray(y)
        return (y > np.median(y)).reshape(len(y), -1) if len(y) else y

    def labelled(method: Any) -> Any:
        def call(self: Any, X: Any, y: Any) -> Any:
            return method(self, X, label(y))

        return call

    methods = {
        name: labelled(getattr(parent, name)) for name in ("fit", "partial_fit", "score") if hasattr(parent, name)
    }
    kind: Any = type(parent.__name__, (parent,), {**methods, "__init__": parent.__init__, "__module__": __name__})
    globals()[parent.__name__] = kind  # where pickle looks for it
    return kind(**model.get_params(deep=False))


def test_every_model_is_under_contract():
    assert {type(model) for model in CASES.values()} == set(MODELS.values())
    assert all(name == model.__name__ for name, model in MODELS.items())


#: Checks that expect one column of probabilities for each class of a single label, where ours have one for each label.
OF_CLASSES = ("check_estimator_sparse_array", "check_estimator_sparse_matrix")


@every
def test_check_estimator(name):
    model = fresh(name)
    declared = dict.fromkeys(OF_CLASSES, "probabilities are of labels") if hasattr(model, "predict_proba") else {}
    results = check_estimator(of_numbers(model), on_fail=None, on_skip=None, expected_failed_checks=declared)
    failed = [f"{r['check_name']}: {r['exception']!r}" for r in results if r["status"] == "failed"]
    assert not failed, "\n".join(failed)
    assert sum(r["status"] == "passed" for r in results) >= 35


@every
def test_parameters_are_kept_as_given(name):
    model = fresh(name)
    names = list(inspect.signature(type(model)).parameters)
    assert sorted(model.get_params(deep=False)) == sorted(names)
    marks = {key: object() for key in names}
    built = type(model)(**marks)
    assert all(getattr(built, key) is mark for key, mark in marks.items())
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(colour="red")


@every
def test_clone_is_unfitted_and_fits_the_same(name):
    copied = clone(fitted(name))
    for call in (copied.predict, copied.decision_function, lambda X: copied.save("never-written")):
        with pytest.raises(NotFittedError):
            call(data()[0])
    assert bits(copied.fit(*data())) == bits(fitted(name))


@every
def test_score_is_micro_f1(name):
    X, Y = data()
    assert fitted(name).score(X, Y) == pytest.approx(f1_score(Y, fitted(name).predict(X), average="micro"))


@every
def test_cross_validation_and_pipelines(name):
    X, Y = data()
    cv = KFold(2, shuffle=True, random_state=0)
    scores = cross_val_score(fresh(name), X, Y, cv=cv)
    for score, (train, test) in zip(scores, cv.split(X), strict=True):
        assert score == fresh(name).fit(X[train], Y[train]).score(X[test], Y[test])
    assert np.allclose(scores, cross_val_score(fresh(name), X, Y, cv=cv, scoring="f1_micro"))
    assert make_pipeline(StandardScaler(with_mean=False), fresh(name)).fit(X, Y).score(X, Y) > 0.6


@every
def test_grid_search(name):
    X, Y = data()
    search = GridSearchCV(fresh(name), {"threshold": [0.0, 1e6]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"threshold": 0.0}
    assert bits(search.best_estimator_) == bits(fitted(name))


@every
def test_copies_by_pickle_and_copy(name):
    X, _ = data()
    for copied in (pickle.loads(pickle.dumps(fitted(name))), copy.deepcopy(fitted(name))):
        assert bits(copied) == bits(fitted(name))
        assert np.array_equal(copied.predict(X), fitted(name).predict(X))


def test_cross_val_predict_gives_scores() -> None:
    X, Y = data()
    scores = cross_val_predict(MODELS["PLST"](), X, Y, method="decision_function", cv=3)
    assert scores.shape == Y.shape
    with pytest.raises(NotFittedError):
        _ = MODELS["PLST"]().classes_


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("GroPLE", {"verbose": "x"}, "verbose='x': expected a whole number of at least 0"),
        ("MLCHMF", {"n_jobs": "a"}, "n_jobs='a': expected None or a whole number other than 0"),
        ("BinaryRelevance", {"n_jobs": 0}, "n_jobs=0: expected None or a whole number other than 0"),
        ("PLST", {"n_components": "abc"}, "n_components='abc': expected a whole number of at least 1, or a share"),
        ("LEML", {"n_components": 1.5}, r"n_components=1\.5: expected a whole number of at least 1, or a share"),
    ],
)
def test_odd_parameters(name: str, settings: dict[str, Any], message: str) -> None:
    X, Y = data()
    with pytest.raises((TypeError, ValueError), match=message):
        MODELS[name](**settings).fit(X, Y)
