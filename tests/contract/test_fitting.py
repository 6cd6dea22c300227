"""What happens during a fit: progress, exceptions, warnings; and what of its input a model keeps."""

import gc
import logging
import re
import time
import weakref
from copy import copy
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from cofactor.errors import InvalidInputError
from cofactor.ratings import RatingModel
from cofactor.ratings.sampled.base import SampledModel
from cofactor.solvers import Progress

from .models import (
    PROBE,
    STEPS,
    bits,
    data,
    every,
    every_class,
    every_class_having,
    fitted,
    fresh,
    having,
    overriding,
    probed,
    simple_models,
    takes,
    with_chosen_alpha,
)


class StopError(Exception):
    """Raised by a callback."""


def stop(progress: Progress) -> None:
    if progress.iteration >= 2:
        raise StopError(progress.stage)


@every
def test_callback_gets_progress(name):
    seen: list[Progress] = []
    model = fresh(name).set_params(callback=seen.append).fit(*data(name))
    assert bits(model) == bits(fitted(name))
    if not takes(name, *STEPS):  # a direct fit reports no progress
        assert (seen, model.iterations()) == ([], [])
        return
    assert all(type(p) is Progress and p.stage and p.elapsed >= 0 for p in seen)
    stages = {stage: [p for p in seen if p.stage == stage] for stage in {p.stage for p in seen}}
    assert len(stages) == len(simple_models(model))
    sampled = isinstance(model, SampledModel)
    for steps in stages.values():
        assert [p.iteration for p in steps] == list(range(1, len(steps) + 1))
        assert sampled or np.all(np.diff([p.objective for p in steps]) <= 0)
        assert len(steps) <= steps[0].max_iter
        assert {p.max_iter for p in steps} == {steps[0].max_iter}
    simple = simple_models(model)[0]
    history = [-value for value in model.chains_[0].log_likelihood] if sampled else simple.history_[1:]
    assert any([p.objective for p in steps] == history for steps in stages.values())


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_class
def test_callback_is_told_about_validation(name):
    if not hasattr(simple_models(fitted(name))[0], "validation_"):
        return
    _, seen = with_chosen_alpha(name)
    tried = [p for p in seen if "validation" in p.stage]
    assert tried
    assert all(0 <= p.objective <= 1 for p in tried)


@every_class_having(*STEPS)
def test_an_exception_in_the_callback_comes_out_and_changes_nothing(name):
    model = fresh(name).set_params(callback=stop)
    with pytest.raises(StopError):
        model.fit(*data(name))
    with pytest.raises(NotFittedError):
        model.predict(data(name)[0])
    model.set_params(callback=None).fit(*data(name))
    assert bits(model) == bits(fitted(name))
    X, y = data(name)
    some = X[:, 0] > 110
    with pytest.raises(StopError):  # a model fitted before is still the one it was
        model.set_params(callback=stop).fit(X[some], y[some])
    assert bits(model) == bits(fitted(name))
    assert np.array_equal(model.predict(X), fitted(name).predict(X))


@every_class_having(*STEPS)
def test_a_callback_that_returns_true_ends_the_fit(name):
    """No warning says that it ended too early."""
    seen: list[Progress] = []

    def enough(progress: Progress) -> bool:
        seen.append(progress)
        return progress.iteration >= 3

    model = fresh(name, tol=0.0, burn_in=1).set_params(callback=enough).fit(*data(name))
    assert {p.iteration for p in seen} == {1, 2, 3}
    parts = simple_models(model)
    assert {part.n_iter_ for part in parts} <= {1, 2, 3}  # what follows the end does one step
    assert max(part.n_iter_ for part in parts) == 3
    assert all(len(part.history_) == part.n_iter_ + 1 for part in parts if hasattr(part, "history_"))
    assert model.score(*data(name)) < 0


@pytest.mark.parametrize("answer", [1, "go on", [True], False])
def test_nothing_but_true_ends_a_fit(answer):
    assert bits(fresh(PROBE).set_params(callback=lambda progress: answer).fit(*data(PROBE))) == bits(fitted(PROBE))


@having("burn_in")
def test_a_sampler_that_ends_within_burn_in_can_go_on(name):
    model = fresh(name, warm_start=True).set_params(callback=lambda progress: progress.iteration == 5)
    with pytest.raises(InvalidInputError, match="no sample .* 5 sweeps, with burn_in=8, where the callback ended the"):
        model.fit(*data(name))
    whole = fresh(name).fit(*data(name))
    model.set_params(n_sweeps=whole.n_sweeps - 5, callback=None).fit(*data(name))
    assert model.n_iter_ == whole.n_iter_
    assert np.array_equal(model.predict(data(name)[0]), whole.predict(data(name)[0]))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@every_class
def test_a_callback_ends_the_choice_of_alpha(name):
    if not hasattr(simple_models(fitted(name))[0], "validation_"):
        return
    model = fresh(name, alpha="auto").set_params(callback=lambda progress: True).fit(*data(name))
    chosen = [part.validation_ for part in simple_models(model) if part.validation_ is not None]
    assert all(len(validation.alphas) == 1 for validation in chosen)
    assert {part.n_iter_ for part in simple_models(model)} == {1}


@probed("fit", "learn")
def test_verbose_shows_progress_after_a_second_and_changes_nothing(name, monkeypatch, caplog):
    """Off a terminal these are lines of a log."""
    clock = time.perf_counter
    start = clock()
    monkeypatch.setattr("cofactor.solvers.result.time.perf_counter", lambda: start + 1000 * (clock() - start))
    with caplog.at_level(logging.INFO, "cofactor"):
        model = fresh(name).set_params(verbose=1).fit(*data(name))
    assert bits(model) == bits(fitted(name))
    assert re.search(r"(iteration|sweep) \d+.*(objective|log-likelihood)", caplog.text)


@having("max_iter")
def test_too_few_iterations_are_a_warning_with_advice(name):
    model = fresh(name, max_iter=1, tol=0.0)
    with pytest.warns(ConvergenceWarning, match=r"max_iter, now 1, or tol, now 0"):
        model.fit(*data(name))
    assert model.score(*data(name)) < 0
    assert {simple.n_iter_ for simple in simple_models(model)} == {1}


@every_class
def test_fit_does_not_change_its_input(name):
    X, y = (a.copy() for a in data(name))
    model = fresh(name, levels=None)
    before = {k: repr(v) for k, v in model.get_params().items()}
    assert model.fit(X, y) is model
    assert np.array_equal(X, data(name)[0])
    assert np.array_equal(y, data(name)[1])
    assert {k: repr(v) for k, v in model.get_params().items()} == before


def array_of_ids(X: np.ndarray, y: np.ndarray) -> tuple[object, object]:
    return X.copy(), y.copy()


def objects(X: np.ndarray, y: np.ndarray) -> tuple[object, object]:
    return np.array([(f"u{a}", f"i{b}") for a, b in X], dtype=object), y.astype(np.float32)


def frame(X: np.ndarray, y: np.ndarray) -> tuple[object, object]:
    return pd.DataFrame({"user": X[:, 0], "item": X[:, 1]}), pd.Series(y.copy())


def matrix(X: np.ndarray, y: np.ndarray) -> tuple[object, object]:
    return sparse.csr_array((y, (X[:, 0], X[:, 1]))), None


#: One form for every class, all forms for those that read their input otherwise than the probe.
FORMS = dict.fromkeys(
    [
        *((name, array_of_ids) for name in every_class.args[1]),
        *((name, form) for name in overriding("fit", "fold_in") for form in (array_of_ids, objects, frame, matrix)),
    ]
)


@pytest.mark.parametrize(("name", "form"), FORMS)
def test_a_model_keeps_no_reference_to_its_input(name, form):
    """A view of an array would keep the array itself alive."""
    X, y = form(*data(name))
    arrays = [X.data, X.indices, X.indptr] if sparse.issparse(X) else [X, y]
    watched = [weakref.ref(a) for a in arrays if not isinstance(a, memoryview)]
    assert watched
    model = fresh(name).fit(X, y)
    folded = model.fold_in(X, y) if sparse.issparse(X) else model.fold_in(X, y, known="replace")
    del X, y, arrays
    if any(ref() is not None for ref in watched):  # a collection takes half a second: only for what circles keep
        gc.collect()
    assert all(ref() is None for ref in watched)
    assert isinstance(folded, RatingModel)


@every
def test_learned_arrays_own_their_memory(name):
    """A view would keep a larger array alive, such as the whole vector of parameters."""
    for simple in simple_models(fitted(name)):
        for key in simple._learned:
            array = getattr(simple, key)
            if isinstance(array, np.ndarray):
                owner = array if array.base is None else array.base
                assert owner.nbytes == array.nbytes, key


@lru_cache
def warm(name: str) -> RatingModel:
    """Return a model of a case that would go on from where it is; not to be changed."""
    return fresh(name, warm_start=True).fit(*data(name))


@having("warm_start")
def test_a_warm_start_with_more_items_is_refused(name):
    """The ratings are the same, but the chains have no rows for the other items."""
    X, y = data(name)
    table = sparse.coo_array((y, (X[:, 0] - 100, X[:, 1] // 7))).tocsr()
    model = fresh(name, warm_start=True).fit(table)
    before = bits(model)
    wider = sparse.csr_array((table.data, table.indices, table.indptr), shape=(table.shape[0], 1000))
    with pytest.raises(ValueError, match="another posterior: V"):
        model.fit(wider)
    assert bits(model) == before


@having("warm_start")
@pytest.mark.parametrize("change", ["n_factors", "levels", "the ratings", "n_chains"])
def test_a_warm_start_goes_on_with_the_same_posterior_only(name, change):
    """Kernels would read beyond arrays of other shapes, and samples of two posteriors are those of none."""
    X, y = data(name)
    model = copy(warm(name))
    before = bits(model)
    if change == "levels":
        model.set_params(levels=[*model.scale_, model.scale_[-1] + 1])
        change = "the ratings"
    elif change == "the ratings":
        y = y[::-1]
    else:
        model.set_params(**{change: 2})
    with pytest.raises(ValueError, match=f"since then {change} changed"):
        model.fit(X, y)
    assert bits(model) == before
