"""Rating models behave as scikit-learn's estimators do."""

import copy
import inspect
import pickle

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_validate
from tests.estimators import OF_THE_BASE, check_all

from cofactor.evaluation import FoldInScorer, Holdout, KFold, StrongGeneralization, WeakGeneralization
from cofactor.ratings import MODELS

from .models import CASES, PROBE, bits, data, every, every_class, fitted, fresh, overriding, probed

#: Checks of scikit-learn that a model of pairs cannot pass, by the reason.
EXPECTED_FAILURES = {
    "its X is a feature matrix of another width, where ours holds two columns of ids, and perhaps times": [
        "check_all_zero_sample_weights_error",
        "check_complex_data",
        "check_dtype_object",
        "check_estimators_dtypes",
        "check_estimators_empty_data_messages",
        "check_fit2d_1feature",
        "check_fit2d_1sample",
        "check_fit2d_predict1d",
        "check_n_features_in_after_fitting",
        "check_positive_only_tag_during_fit",
        "check_sample_weight_equivalence_on_dense_data",
    ],
    "its X repeats pairs": ["check_sample_weights_not_overwritten", "check_sample_weights_shape"],
    "ids are no features: there is no n_features_in_": ["check_n_features_in"],
    "a sparse X is a matrix of ratings and comes without y": [
        "check_estimator_sparse_array",
        "check_estimator_sparse_matrix",
        "check_estimator_sparse_tag",
    ],
}
#: Of a model that takes no weights.
REFUSES_WEIGHTS = {"check_sample_weights_list": "its objective is no sum over ratings: it takes no weights but ones"}
REASONS = {check: reason for reason, checks in EXPECTED_FAILURES.items() for check in checks}


def test_every_model_is_under_contract():
    cases = {type(case.model) for case in CASES.values()}
    assert cases == set(MODELS.values()), "each model needs a case in CASES of tests/contract/models.py"
    assert all(name == model.__name__ for name, model in MODELS.items())


#: Models on which all is checked, for all classes that inherit these methods.
WHOLE = overriding("fit", "learn", "predict", "decision_function", "score", "read", "__sklearn_tags__")


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
@pytest.mark.filterwarnings("ignore:none of the .* users was in training")
@every_class
def test_check_estimator(name):
    model = fresh(name, n_sweeps=4, burn_in=2)  # what is checked is how it is called
    expected = REASONS if model.can("weights") else REASONS | REFUSES_WEIGHTS
    left_out = set() if name in WHOLE else OF_THE_BASE
    failed, passed = check_all(model, expected, left_out)
    assert not failed, failed
    assert len(passed) >= (26 if name in WHOLE else 15)
    assert not passed & set(expected)  # what was expected to fail


@every
def test_parameters_are_kept_as_given(name):
    model = fresh(name)
    names = list(inspect.signature(type(model)).parameters)
    assert sorted(model.get_params(deep=False)) == sorted(names)
    marks = {key: object() for key in names}
    built = type(model)(**marks)
    assert all(getattr(built, key) is mark for key, mark in marks.items())
    assert all(fresh(name).set_params(**{key: mark}).get_params(deep=False)[key] is mark for key, mark in marks.items())
    with pytest.raises(ValueError, match="has no parameter"):
        model.set_params(colour="red")


@every_class
def test_clone_is_unfitted_and_fits_the_same(name):
    model = fitted(name)
    copied = clone(model)
    with pytest.raises(NotFittedError):
        copied.predict(data(name)[0])
    assert bits(copied.fit(*data(name))) == bits(model)


@every_class
def test_nothing_works_before_fit(name):
    model, X = fresh(name), data(name)[0]
    for call in (
        lambda: model.predict(X),
        lambda: model.decision_function(X),
        lambda: model.margins(X),
        lambda: model.recommend([X[0, 0]]),
        lambda: model.fold_in(X, np.ones(len(X))),
        lambda: model.complete(),
        lambda: model.save("never-written"),
    ):
        with pytest.raises(NotFittedError):
            call()


@every_class
def test_score_is_minus_the_mean_absolute_error(name):
    X, y = data(name)
    model = fitted(name)
    assert model.score(X, y) == -np.mean(np.abs(model.predict(X) - y))
    assert model.score(X, y) > -np.mean(np.abs(np.median(y) - y))


@pytest.mark.parametrize(
    ("name", "cv"),
    [
        *((name, WeakGeneralization(2, 0)) for name in overriding("fit", "predict", "score")),
        *((PROBE, cv) for cv in (Holdout(0.2, 2, 0), KFold(2, shuffle=True, random_state=0))),
    ],
)
def test_cross_validate(name, cv):
    X, y = data(name)
    result = cross_validate(fresh(name), X, y, cv=cv, return_indices=True, return_estimator=True)
    for k, (train, test) in enumerate(zip(*result["indices"].values(), strict=True)):
        model = fresh(name).fit(X[train], y[train])
        assert bits(model) == bits(result["estimator"][k])
        assert result["test_score"][k] == -np.mean(np.abs(model.predict(X[test]) - y[test]))


@probed("fit", "fold_in", "predict", "score")
def test_strong_generalization_in_cross_validate(name):
    X, y = data(name)
    cv = StrongGeneralization(0.2, 2, 0)
    result = cross_validate(fresh(name), X, y, cv=cv, scoring=FoldInScorer(X, y))
    for score, (train, fold_in, test) in zip(result["test_score"], cv.split_fold_in(X), strict=True):
        folded = fresh(name).fit(X[train], y[train]).fold_in(X[fold_in], y[fold_in])
        assert score == -np.mean(np.abs(folded.predict(X[test]) - y[test]))


@pytest.mark.filterwarnings("ignore:.*all factors are zero")
@pytest.mark.parametrize("name", [PROBE, "Ensemble"])
def test_grid_search(name):
    X, y = data(name)
    key = "alpha" if "alpha" in fresh(name).get_params() else "estimator__alpha"
    search = GridSearchCV(fresh(name), {key: [0.5, 100.0]}, cv=Holdout(0.2, 1, 0)).fit(X, y)
    scores = search.cv_results_["mean_test_score"]
    assert search.best_params_ == {key: 0.5 if scores[0] >= scores[1] else 100.0}
    assert bits(search.best_estimator_) == bits(fresh(name, **search.best_params_).fit(X, y))


@every_class
def test_copies_by_pickle_joblib_and_copy(name, tmp_path):
    X, _ = data(name)
    model = fitted(name)
    joblib.dump(model, tmp_path / "model.joblib")
    for copied in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib"), copy.deepcopy(model)):
        assert bits(copied) == bits(model)
        assert np.array_equal(copied.predict(X), model.predict(X))
        assert np.array_equal(copied.recommend([X[0, 0]])[0], model.recommend([X[0, 0]])[0])
