"""Weights of penalties: those that follow from ridge regression of the labels, and how large they may be."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.labels import (
    LLSF,
    MLCHMF,
    MME,
    MODELS,
    PLST,
    SSJDR,
    TRANSFORMERS,
    LabelRidge,
    TrainingData,
    leave_one_out,
    scaling,
)
from cofactor.labels.leave_one_out import BestAlpha, ridge_problem
from cofactor.labels.penalty import LARGEST_WEIGHT, exact_penalty, ridge_penalty
from cofactor.labels.scaling import compared_scalings


def words(n=240, D=120, seed=0):
    """Return sparse counts and labels of some words."""
    rng = np.random.default_rng(seed)
    X = sparse.csr_array(rng.poisson(0.15, size=(n, D)).astype(float))
    return X, sparse.csr_array(np.column_stack([X[:, k : k + 12].sum(axis=1) > 2 for k in (0, 12, 24)]), dtype=float)


@pytest.mark.parametrize("few", [1200, 100])
def test_the_penalty_found_with_the_scale_is_the_one_that_a_search_finds(few, monkeypatch):
    monkeypatch.setattr(scaling, "_ROWS", few)
    X, Y = words()
    chosen, best = compared_scalings(X, Y)
    anew, found = TrainingData(chosen.apply(X), Y), TrainingData(X, Y).scaled(chosen, best)
    assert ridge_penalty(found) == ridge_penalty(anew)
    problem = ridge_problem(found.features)
    assert exact_penalty(found, problem) == exact_penalty(anew, problem)
    assert found.rows(np.arange(50)).ridge is best  # settings of the whole are those of its parts


def test_it_is_not_taken_for_another_regression():
    X, Y = words(60)
    wrong = BestAlpha(123.0, 9, 1.0)
    assert ridge_penalty(TrainingData(X, Y, ridge=wrong)) == 123.0
    assert ridge_penalty(TrainingData(X, Y, ridge=wrong), fit_intercept=False) != 123.0
    assert ridge_penalty(TrainingData(X, Y, np.arange(1.0, 61.0), ridge=wrong)) != 123.0


@pytest.mark.parametrize(
    ("model", "n_more"), [(PLST(), 1), (LabelRidge(), 1), (MLCHMF(max_iter=2, tol=1.0, random_state=0), 0)]
)
@pytest.mark.filterwarnings("ignore")
def test_nothing_is_inverted_twice_for_scale_and_penalty(model, n_more, monkeypatch):
    X, Y = words(150)
    model.fit(X, Y)  # compares the scales, which are known for other models of the same data
    calls = []
    inverse = leave_one_out._inverse
    monkeypatch.setattr(leave_one_out, "_inverse", lambda *args: calls.append(1) or inverse(*args))
    model.fit(X, Y)
    assert len(calls) == n_more  # leave-one-out scores


@together("name", ["alpha", "beta", "gamma", "alpha_u", "alpha_v", "alpha_r", "alpha_z", "alpha_predict"])
def test_no_model_takes_weights_of_which_squares_overflow(name):
    kinds = [kind for kind in (MODELS | TRANSFORMERS).values() if name in kind().get_params(deep=False)]
    assert kinds
    for kind in kinds:
        with pytest.raises(InvalidInputError, match=rf"{name}=1e\+200: expected .* at most "):
            kind(**{name: 1e200}).check_params()


@together(
    "model",
    [
        LLSF(LARGEST_WEIGHT, LARGEST_WEIGHT),
        MME(2, LARGEST_WEIGHT),
        SSJDR(2, LARGEST_WEIGHT, LARGEST_WEIGHT, alpha_u=LARGEST_WEIGHT),
        MLCHMF(alpha=1e20),
    ],
)
def test_the_largest_weights_overflow_nowhere(model):
    X, Y = words(40, 30)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)
        model.set_params(scale="none", threshold=0, random_state=0, max_iter=5).fit(X, Y)
    assert np.isfinite(model.decision_function(X)).all()
