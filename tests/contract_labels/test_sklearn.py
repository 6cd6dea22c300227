"""Label models behave as scikit-learn's estimators do."""

import copy
import inspect
import itertools
import pickle
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.exceptions import NotFittedError
from sklearn.metrics import f1_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import type_of_target
from tests.estimators import OF_THE_BASE, check_all

from cofactor.labels import MODELS, LabelModel

from .models import CASES, CLASSES, bits, data, every, every_class, fitted, fresh, overriding, probed

# Some of these data have nothing to learn from, so no label may be predicted.
pytestmark = pytest.mark.filterwarnings("ignore:OMF predicts")


def of_two_classes(model: Any) -> Any:
    """Return the model as a classifier of two classes given as one column, as in most checks of scikit-learn.

    Tables of labels are not changed. One column becomes a table of one label, and its predictions become classes.
    """
    parent = type(model)

    def learned(method: Any) -> Any:
        def fit(self: Any, X: Any, y: Any, sample_weight: Any = None, classes: Any = None) -> Any:
            y = y if y is None else np.asarray(y)
            if y is None or y.ndim != 1 or y.dtype.kind == "c" or not len(y):
                return method(self, X, y, sample_weight)
            if y.dtype.kind == "f" and not np.isfinite(y).all():
                return method(self, X, y[:, None])
            kinds = type_of_target(y, raise_unknown=True)
            if kinds not in ("binary", "multiclass"):
                raise ValueError(f"Unknown label type: {kinds}")
            values = np.unique(y if classes is None else classes)
            if len(values) > 2:
                raise ValueError("Only binary classification is supported. The type of the target is multiclass.")
            method(self, X, (y == values[-1])[:, None], sample_weight)
            self.values_ = values
            return self

        return fit

    class Adapted(parent):  # type: ignore[misc, valid-type]
        def __sklearn_tags__(self) -> Any:
            tags = super().__sklearn_tags__()
            tags.target_tags.single_output = True
            return tags

        def predict(self, X: Any) -> Any:
            on = super().predict(X)
            return self.values_[on[:, 0] - len(self.values_)] if hasattr(self, "values_") else on

        def decision_function(self, X: Any) -> Any:
            scores = super().decision_function(X)
            return scores[:, 0] if hasattr(self, "values_") else scores

        @property
        def classes_(self) -> Any:
            return self.values_ if hasattr(self, "values_") else super().classes_

        def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
            return float(np.mean(self.predict(X) == y))

    if parent._probabilities is not LabelModel._probabilities:

        @available_if(lambda model: model.capabilities.probabilities)
        def predict_proba(self: Any, X: Any) -> Any:
            p = parent.predict_proba.__get__(self)(X)
            return np.column_stack([1 - p[:, 0], p[:, 0]]) if hasattr(self, "values_") else p

        Adapted.predict_proba = predict_proba
    Adapted.fit = learned(parent.fit)
    if hasattr(parent, "partial_fit"):
        Adapted.partial_fit = learned(parent.partial_fit)
    Adapted.__init__ = parent.__init__  # type: ignore[method-assign]
    Adapted.__name__ = Adapted.__qualname__ = parent.__name__
    globals()[parent.__name__] = Adapted  # where pickle looks for it
    return Adapted(**model.get_params(deep=False))


def test_models_are_at_most_four_classes_deep():
    """But for those that are another model with a paper's settings, and so hold no function."""
    for model in MODELS.values():
        ours = [
            kind.__name__
            for kind in model.__mro__
            if kind.__module__.startswith("cofactor.")
            and any(inspect.isfunction(value) for name, value in vars(kind).items() if name != "__init__")  # it is made
        ]
        assert len(ours) <= 4, ours


def test_every_model_is_under_contract():
    assert {type(model) for model in CASES.values()} == set(MODELS.values())
    assert all(name == model.__name__ for name, model in MODELS.items())


_BY_LABEL = {"check_class_weight_classifiers": "its class_weight is by label, and not by the two classes of one"}

#: Checks that a model may fail, and why.
DECLARED = {"LabelRidge": _BY_LABEL, "BinaryRelevance": _BY_LABEL}

#: Checks of what tests of this folder say of every class, on the data that the other tests are fitted to.
SAID_HERE = {
    "check_classifiers_train",  # better than guessing, predictions are scores above the threshold; errors by the base
    "check_estimators_fit_returns_self",  # fitting again starts anew
    "check_estimators_overwrite_params",  # the same
    "check_fit_idempotent",  # the same
    "check_fit2d_1feature",  # odd input is taken
    "check_fit2d_1sample",  # nothing but constant labels
    "check_readonly_memmap_input",  # the data are read-only
    "check_sample_weight_equivalence_on_dense_data",  # weight 2 is an instance twice and weight 0 none
    "check_sample_weight_equivalence_on_sparse_data",
}


#: Models on which all is checked, for all classes that inherit these methods.
WHOLE = overriding("fit", "predict", "decision_function", "score", "_receive", "_features", "__sklearn_tags__")


@every_class
def test_check_estimator(name):
    left_out = set() if name in WHOLE else OF_THE_BASE | SAID_HERE
    failed, passed = check_all(of_two_classes(fresh(name)), DECLARED.get(name, ()), left_out)
    assert not failed, "\n".join(failed)
    assert len(passed) >= (50 if name in WHOLE else 18)


@every_class
def test_constructors_take_what_all_models_take(name):
    common = {"scale", "threshold", "decide_for", "random_state", "callback", "verbose"}
    missing = common - set(fresh(name).get_params(deep=False))
    assert not missing, f"{type(CASES[name]).__name__}.__init__ must take {', '.join(sorted(missing))} too"


@every_class
def test_parameters_are_kept_as_given(name):
    model = fresh(name)
    names = list(inspect.signature(type(model)).parameters)
    assert sorted(model.get_params(deep=False)) == sorted(names)
    marks = {key: object() for key in names}
    built = type(model)(**marks)
    assert all(getattr(built, key) is mark for key, mark in marks.items())
    with pytest.raises(ValueError, match="has no parameter"):
        model.set_params(colour="red")


@every_class
def test_a_clone_is_unfitted(name):
    copied = clone(fitted(name))
    assert repr(copied) == repr(fitted(name))
    for call in (copied.predict, copied.decision_function, lambda X: copied.save("never-written")):
        with pytest.raises(NotFittedError):
            call(data()[0])


@probed("score", "predict")
def test_score_is_micro_f1(name):
    X, Y = data()
    assert fitted(name).score(X, Y) == pytest.approx(f1_score(Y, fitted(name).predict(X), average="micro"))


@probed("fit", "score", "set_params")
def test_cross_validation_and_pipelines(name):
    X, Y = data()
    cv = KFold(2, shuffle=True, random_state=0)
    scores = cross_val_score(fresh(name), X, Y, cv=cv)
    for score, (train, test) in zip(scores, cv.split(X), strict=True):
        assert score == fresh(name).fit(X[train], Y[train]).score(X[test], Y[test])
    assert np.allclose(scores, cross_val_score(fresh(name), X, Y, cv=cv, scoring="f1_micro"))
    assert cross_val_score(make_pipeline(MaxAbsScaler(), fresh(name)), X, Y, cv=2).min() > 0.4
    assert make_pipeline(StandardScaler(with_mean=False), fresh(name)).fit(X, Y).score(X, Y) > 0.6


@probed("fit", "score", "set_params")
def test_grid_search(name):
    X, Y = data()
    search = GridSearchCV(fresh(name), {"threshold": [0.0, 1e6]}, cv=2).fit(X, Y)
    assert search.best_params_ == {"threshold": 0.0}
    assert bits(search.best_estimator_) == bits(fitted(name))


@every_class
def test_copies_by_pickle_and_copy(name):
    X, _ = data()
    for copied in (pickle.loads(pickle.dumps(fitted(name))), copy.deepcopy(fitted(name))):
        assert bits(copied) == bits(fitted(name))
        assert np.array_equal(copied.predict(X), fitted(name).predict(X))


def test_cross_val_predict_gives_scores() -> None:
    X, Y = data()
    scores = cross_val_predict(MODELS["PLST"].paper(), X, Y, method="decision_function", cv=3)
    assert scores.shape == Y.shape
    with pytest.raises(NotFittedError):
        _ = MODELS["PLST"].paper().classes_


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("GroPLE", {"verbose": "x"}, "verbose='x': expected a whole number of at least 0"),
        ("PLST", {"n_components": "abc"}, "n_components='abc': expected a whole number of at least 1, or a share"),
        ("LEML", {"n_components": 1.5}, r"n_components=1\.5: expected a whole number of at least 1, or a share"),
    ],
)
def test_odd_parameters(name: str, settings: dict[str, Any], message: str) -> None:
    X, Y = data()
    with pytest.raises((TypeError, ValueError), match=message):
        MODELS[name].paper(**settings).fit(X, Y)


def test_numbers_of_jobs_are_checked_before_anything_is_learned() -> None:
    X, Y = data()
    able = [name for name in CLASSES if "n_jobs" in fresh(name).get_params()]
    assert {"BinaryRelevance", "ChainCRFEnsemble", "IBLR", "LIFT", "MLCHMF"} < set(able)
    for name, wrong in itertools.product(able, (0, "a")):
        with pytest.raises((TypeError, ValueError), match=f"n_jobs={wrong!r}: expected a whole number other than 0"):
            fresh(name).set_params(n_jobs=wrong).fit(X, Y)


@every_class
def test_models_are_classifiers_of_many_labels(name: str) -> None:
    tags = get_tags(fresh(name))
    assert is_classifier(fresh(name))
    assert (tags.classifier_tags.multi_label, tags.target_tags.multi_output, tags.target_tags.single_output) == (
        True, True, False,
    )  # fmt: skip


@every
def test_probabilities_only_where_they_are_exact(name: str) -> None:
    has = fresh(name).capabilities.probabilities
    assert hasattr(fresh(name), "predict_proba") == has
    if not has:
        with pytest.raises(AttributeError, match="predict_proba"):
            _ = fresh(name).predict_proba


def test_probabilities_have_a_column_for_each_label() -> None:
    X, Y = data()
    wide = np.column_stack([np.ones(len(Y), int), Y, np.zeros(len(Y), int)])
    p = MODELS["MLkNN"].paper(3).fit(X, wide).predict_proba(X)
    assert p.shape == wide.shape
    assert p.min() >= 0
    assert p.max() <= 1
    assert (p[:, 0] == 1).all()
    assert (p[:, -1] == 0).all()
    assert np.array_equal(p > 0.5, MODELS["MLkNN"].paper(3).fit(X, wide).predict(X) == 1)
    held_out = cross_val_predict(MODELS["MLkNN"].paper(3), X, Y, method="predict_proba", cv=3)
    assert held_out.shape == Y.shape
    assert cross_val_score(MODELS["MLkNN"].paper(3), X, Y, cv=3, scoring="average_precision").min() > 0.5
