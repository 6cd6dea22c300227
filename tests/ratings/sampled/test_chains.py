"""Chains of a fit: interrupted at any time, together, and gone on with; which sweeps were kept; in files."""

import copy
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning, NotFittedError

import cofactor
from cofactor.datasets import make_ratings
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.ratings import BPMF, GibbsMMMF, OrdinalProbit, RatingModel
from cofactor.solvers.result import Progress

DATA = make_ratings(30, 20, 2, density=0.5, random_state=0)
SETTINGS: dict[str, Any] = {"n_sweeps": 20, "burn_in": 8, "thin": 2, "random_state": 0}
MODELS = [OrdinalProbit(2, n_implicit=3, **SETTINGS), BPMF(2, **SETTINGS), GibbsMMMF(2, **SETTINGS)]
of_each = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def fit(model: Any, **params: Any) -> Any:
    """Return a copy of a model, fitted."""
    return type(model)(**(model.get_params() | params)).fit(DATA.X, DATA.y)


def stop_at(sweep: int, how: Callable[[], None], stage: str = "chain 1") -> Callable[[Progress], None]:
    def callback(progress: Progress) -> None:
        if progress.iteration == sweep and progress.stage == stage:
            how()

    return callback


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture(autouse=True)
def _signals_count() -> Iterator[None]:
    """Let SIGINT interrupt, as it does in a terminal; processes that pytest-xdist starts ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press_ctrl_c() -> None:
    """What a terminal does: the main thread gets the signal, wherever chains are."""
    signal.raise_signal(signal.SIGINT)


def same(a: Any, b: Any) -> bool:
    return all(np.array_equal(a.samples_[name], b.samples_[name]) for name in b.samples_) and all(
        (one.kept_sweeps, one.log_likelihood) == (other.kept_sweeps, other.log_likelihood)
        for one, other in zip(a.chains_, b.chains_, strict=True)
    )


@of_each
def test_an_interrupt_before_the_first_sample_can_be_gone_on_from(model):
    whole = fit(model)
    part = type(model)(**model.get_params()).set_params(callback=stop_at(5, interrupt))
    words = "interrupted after 5 sweeps, none of which is kept yet: warm_start=True goes on from here"
    with pytest.raises(KeyboardInterrupt, match=words):
        part.fit(DATA.X, DATA.y)
    with pytest.raises(NotFittedError):
        part.predict(DATA.X)
    part.set_params(callback=None, warm_start=True, n_sweeps=15).fit(DATA.X, DATA.y)
    assert same(part, whole)
    assert part.n_iter_ == 20
    part.fit(DATA.X, DATA.y)  # from the end of the last fit, not from the interrupt
    assert part.n_iter_ == 35


def test_too_little_time_can_be_gone_on_from():
    model = OrdinalProbit(2, n_implicit=3, **(SETTINGS | {"max_seconds": 1e-9}))
    with pytest.raises(ValueError, match=r"no sample was kept in 1 sweep, with burn_in=8.* goes on from"):
        model.fit(DATA.X, DATA.y)
    model.set_params(warm_start=True)
    with pytest.raises(ValueError, match="no sample was kept in 2 sweeps"):
        model.fit(DATA.X, DATA.y)
    model.set_params(max_seconds=None, n_sweeps=18).fit(DATA.X, DATA.y)
    assert same(model, fit(MODELS[0]))


def test_a_fitted_model_stays_as_it_was_and_each_fit_can_be_gone_on_with():
    model = fit(MODELS[0])
    half = DATA.X[:, 0] < 15
    before, p = dict(model.__dict__), model.predict_proba(DATA.X)
    model.set_params(callback=stop_at(3, interrupt))
    with pytest.raises(KeyboardInterrupt):
        model.fit(DATA.X[half], DATA.y[half])
    changed = {name for name, value in model.__dict__.items() if value is not before.get(name)}
    assert changed == {"callback", "_unfinished"}
    assert np.array_equal(model.predict_proba(DATA.X), p)
    model.set_params(callback=None, warm_start=True, n_sweeps=17)
    with pytest.raises(ValueError, match="since then the ratings changed"):
        model.fit(DATA.X[~half], DATA.y[~half])
    other = OrdinalProbit(**model.get_params()).set_params(warm_start=False, n_sweeps=20)
    whole = fit(other, n_sweeps=37)
    assert same(copy.copy(model).fit(DATA.X, DATA.y), whole)
    assert same(model.fit(DATA.X[half], DATA.y[half]), other.fit(DATA.X[half], DATA.y[half]))


@pytest.mark.parametrize(
    ("n_jobs", "how", "stage"),
    [(1, press_ctrl_c, "chain 2"), (2, press_ctrl_c, "chain 1"), (2, interrupt, "chain 2")],
)
@pytest.mark.evidence
def test_an_interrupt_ends_all_chains(n_jobs, how, stage):
    """One after the other, or side by side; and nothing goes on behind the scenes."""
    heard: list[str] = []
    stop = stop_at(30, how, stage)

    def note(progress: Progress) -> None:
        heard.append(progress.stage)
        stop(progress)

    model = OrdinalProbit(2, implicit=None, n_chains=3, n_jobs=n_jobs, callback=note, random_state=0)
    n_sweeps = 45 if n_jobs == 1 else 120  # side by side no other chain comes to its end before this one is stopped
    model.set_params(n_sweeps=n_sweeps, burn_in=3, thin=6)
    with pytest.warns(ConvergenceWarning, match=r"interrupted after \d+ to \d+ sweeps: the \d+ samples kept so far"):
        model.fit(DATA.X, DATA.y)
    n_heard = len(heard)
    done = [chain.n_sweeps for chain in model.chains_]
    assert sum(done) == n_heard
    assert done[2] == 0 if n_jobs == 1 or stage == "chain 1" else done[1] >= 30
    model.set_params(callback=None, warm_start=True, n_sweeps=5).fit(DATA.X, DATA.y)
    assert len(heard) == n_heard
    assert [chain.n_sweeps for chain in model.chains_] == [max(done) + 5] * 3
    assert not any(chain.interrupted for chain in model.chains_)


@pytest.mark.processes
def test_chains_in_other_processes_do_the_same():
    with joblib.parallel_config(backend="loky", n_jobs=2):
        assert same(fit(MODELS[0], n_chains=2), fit(MODELS[0], n_chains=2, n_jobs=1))


@of_each
def test_kept_sweeps(model, tmp_path: Path):
    fitted = fit(model)
    assert fitted.chains_[0].kept_sweeps == [10, 12, 14, 16, 18, 20]
    fitted.set_params(warm_start=True, burn_in=0, thin=3, n_sweeps=8).fit(DATA.X, DATA.y)
    kept = [12, 18, 21, 24, 27]  # what a chain keeps now: of the earlier ones every third, not every second
    assert fitted.chains_[0].kept_sweeps == kept
    assert len(fitted.samples_["U"]) == len(kept)
    fitted.save(tmp_path / "model")
    assert same(cofactor.load(tmp_path / "model"), fitted)


@pytest.mark.parametrize(
    "kept", [[10, 12], [12, 10, 14, 16, 18, 20], [10, 12, 14, 16, 18, 21], [0, 2, 4, 6, 8, 9], "all"]
)
def test_kept_sweeps_of_crafted_files(kept, tmp_path: Path):
    fit(MODELS[0]).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    header["learned"]["chains_"][0]["map"]["kept_sweeps"] = kept
    write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="kept.sweeps|chains have 2 samples"):
        cofactor.load(tmp_path / "model")


def test_what_a_warm_start_compares_is_no_array(tmp_path: Path):
    fit(MODELS[0]).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    header["learned"]["target_"]["map"]["n_factors"] = header["learned"]["scale_"]
    write_model(tmp_path / "model", header, arrays)
    with pytest.raises(ModelFileError, match="target_ holds what no parameter has"):
        cofactor.load(tmp_path / "model")


@pytest.mark.parametrize("model", [*MODELS, GibbsMMMF(2, implicit="low-rank", n_implicit=3, **SETTINGS)], ids=repr)
def test_nothing_is_left_of_what_only_the_fit_needs(model):
    fitted: RatingModel = fit(model)
    assert {name for name in fitted.__dict__ if name.startswith("_")} <= {"_described", "_subset", "_unfinished"}
