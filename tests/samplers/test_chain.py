"""Chains: what is kept of them, how they go on, and how they end before their time."""

import itertools
import pickle
from collections.abc import Mapping

import numpy as np
import pytest
from tests.together import together

from cofactor.errors import InvalidInputError
from cofactor.samplers import Chain, DivergedError, Key, State, Step, run
from cofactor.solvers.result import Progress


class Walk:
    """Two steps on two arrays: a random walk, and the distance it went; `at` says what happens at some sweeps."""

    kept = ("x", "total")

    def __init__(self, at: Mapping[int, str] | None = None) -> None:
        self.at, self.n_initialized = at or {}, 0
        self.steps: Mapping[str, Step] = {"walk": self.walk, "sum": self.sum}

    def start(self, key: Key) -> State:
        return {"x": key.generator().normal(size=3), "total": np.zeros(()), "reach": np.ones(1)}

    def initialize(self, state: State) -> None:
        state["x"] += 10
        self.n_initialized += 1

    def walk(self, state: State, key: Key) -> None:
        event = self.at.get(key.sweep)
        if event == "interrupt":
            raise KeyboardInterrupt
        state["x"] += state["reach"] * key.generator().normal(size=3)
        if event == "nan":
            state["x"][1] = np.nan
        self.value = np.inf if event == "infinite" else float(state["x"].sum())

    def sum(self, state: State, key: Key) -> None:
        state["total"] += np.abs(state["x"]).sum() + key.generator().random()

    def log_likelihood(self, state: State) -> float:
        return self.value

    def tune(self, state: State, sweep: int) -> None:
        state["reach"] *= 0.9


def same(a: Chain, b: Chain) -> bool:
    """Whether two chains have the same states, samples and likelihoods, to the bit."""
    return (
        all(np.array_equal(a.state[name], b.state[name]) for name in a.state)
        and all(np.array_equal(a.samples[name], b.samples[name]) for name in a.samples)
        and (a.log_likelihood, a.kept_sweeps) == (b.log_likelihood, b.kept_sweeps)
    )


@together(
    "change",
    [
        {"x": np.zeros(2)},
        {"x": np.zeros((3, 1))},
        {"reach": np.ones(1, dtype=np.float32)},
        {"total": None},
        {"other": np.ones(1)},
    ],
)
def test_a_state_of_another_posterior_is_refused(change):
    chain = run(Walk(), Chain(0, 7), 2)
    chain.state = {name: array for name, array in {**chain.state, **change}.items() if array is not None}
    with pytest.raises(InvalidInputError, match=f"another posterior: {next(iter(change))} would"):
        run(Walk(), chain, 1)


def test_only_a_new_chain_is_initialized():
    first, second = Walk(), Walk()
    chain = run(first, Chain(0, 7), 2)
    assert first.n_initialized == 1
    assert np.all(chain.state["x"] > 3)
    run(second, chain, 2)
    assert second.n_initialized == 0


@together("parts", [(5, 15), (1, 1, 18), (13, 7), (6, 0, 14)])
@together(("burn_in", "thin"), [(0, 1), (6, 3), (7, 2), (13, 5)])
def test_going_on_is_one_longer_run_to_the_bit(parts, burn_in, thin):
    whole = run(Walk(), Chain(0, 7), 20, burn_in=burn_in, thin=thin)
    chain = Chain(0, 7)
    for n in parts:
        before = chain.n_sweeps
        assert run(Walk(), chain, n, burn_in=burn_in, thin=thin) is chain
        assert chain.n_sweeps == before + n
    assert same(chain, whole)
    assert np.all(np.diff(chain.seconds) > 0)
    assert len(chain.seconds) == 20


@together("n_sweeps", [1, 2, 7, 12])
@together("burn_in", [0, 1, 6, 11, 12, 30])
@together("thin", [1, 2, 5, 40])
def test_kept_are_the_sweeps_thin_apart_after_burn_in(n_sweeps, burn_in, thin):
    posterior, tuned = Walk(), []
    every = run(Walk(), Chain(2, 1), n_sweeps).samples["total"]
    assert every.shape == (n_sweeps,)
    posterior.tune = lambda state, sweep: tuned.append(sweep)  # type: ignore[method-assign]
    chain = run(posterior, Chain(2, 1), n_sweeps, burn_in=burn_in, thin=thin)
    expected = [sweep for sweep in range(1, n_sweeps + 1) if sweep > burn_in and (sweep - burn_in) % thin == 0]
    assert chain.kept_sweeps == expected
    assert chain.n_samples == len(expected)
    assert chain.samples["x"].shape == (len(expected), 3)
    assert chain.samples["x"].dtype == np.float32
    assert chain.samples["total"].tolist() == [every[sweep - 1] for sweep in expected]
    assert tuned == list(range(1, min(burn_in, n_sweeps) + 1))


def test_samples_are_of_the_state_at_their_sweep():
    chain = Chain(0, 3)
    for _ in range(4):
        run(Walk(), chain, 2, burn_in=2, thin=2)
        if chain.n_samples:
            assert np.array_equal(chain.samples["x"][-1], chain.state["x"].astype(np.float32))
    assert chain.n_samples == 3
    assert len(np.unique(chain.samples["total"])) == 3


def test_seed_and_number_make_another_chain_and_nothing_else_does():
    first = run(Walk(), Chain(0, 7), 5)
    assert same(run(Walk(), Chain(0, 7), 5), first)
    totals = {float(run(Walk(), chain, 5).state["total"]) for chain in (first, Chain(1, 7), Chain(0, 8))}
    assert len(totals) == 3


def test_keys_of_different_steps_are_different():
    keys = [Key(seed, *rest) for seed in (0, 1, 2**63 - 1) for rest in itertools.product((0, 1), repeat=3)]
    assert len({int(key.rows()) for key in keys}) == len(keys)
    assert len({key.generator().random() for key in keys}) == len(keys)
    assert keys[3].generator().random() == keys[3].generator().random()


def test_time_is_up_after_the_first_sweep_that_ends_too_late():
    chain = run(Walk(), Chain(0, 0), 1000, max_seconds=1e-9)
    assert (chain.n_sweeps, chain.n_samples) == (1, 1)
    assert not chain.interrupted
    run(Walk(), chain, 1000, max_seconds=1e-9)  # time counts from the beginning of each run
    assert (chain.n_sweeps, chain.n_samples) == (2, 2)
    assert same(chain, run(Walk(), Chain(0, 0), 2, max_seconds=1e9))


def test_an_interrupt_keeps_what_there_is():
    chain = run(Walk({8: "interrupt"}), Chain(0, 0), 20, burn_in=3)
    assert chain.interrupted
    assert (chain.n_sweeps, chain.n_samples) == (7, 4)
    assert same(chain, run(Walk(), Chain(0, 0), 7, burn_in=3))
    run(Walk(), chain, 2, burn_in=3)
    assert not chain.interrupted
    assert chain.n_samples == 6


@together("when", ["walk", "sum", "tune", "log_likelihood"])
@together("sweep", [1, 3, 4, 6])
def test_a_sweep_that_was_interrupted_is_done_again_to_the_bit(when, sweep):
    """Wherever in a sweep the interrupt came, the chain goes on from the end of the sweep before."""
    posterior = Walk()
    real, calls = getattr(posterior, when), itertools.count(1)

    def interrupted(*args: object) -> object:
        found = real(*args)
        if next(calls) == sweep:
            raise KeyboardInterrupt
        return found

    setattr(posterior, when, interrupted)
    posterior.steps = {"walk": lambda *args: posterior.walk(*args), "sum": lambda *args: posterior.sum(*args)}
    whole = run(Walk(), Chain(0, 5), 9, burn_in=6, thin=2)
    chain = run(posterior, Chain(0, 5), 9, burn_in=6, thin=2)
    assert (chain.interrupted, chain.n_sweeps, len(chain.seconds)) == (True, sweep - 1, sweep - 1)
    assert same(run(Walk(), chain, 9 - chain.n_sweeps, burn_in=6, thin=2), whole)
    assert chain.kept_sweeps == [8]


def test_a_copy_goes_on_by_itself():
    chain = run(Walk(), Chain(0, 0), 6, burn_in=2)
    before = chain.thinned(0, 1)
    run(Walk(), chain.thinned(0, 1), 4, burn_in=2)
    assert same(chain, before)
    assert same(chain, run(Walk(), Chain(0, 0), 6, burn_in=2))


def test_samples_that_would_not_be_kept_now_are_dropped():
    chain = run(Walk(), Chain(0, 0), 12, burn_in=2)
    later = chain.thinned(5, 3)
    assert later.kept_sweeps == [8, 11]
    assert all(np.array_equal(array, chain.samples[name][[5, 8]]) for name, array in later.samples.items())
    assert chain.kept_sweeps == list(range(3, 13))


def test_an_interrupt_between_two_sweeps_loses_none():
    """A callback that is interrupted comes after its sweep: this is done, and the chain goes on with the next one."""

    def stop(progress: Progress) -> None:
        if progress.iteration == 4:
            raise KeyboardInterrupt

    chain = run(Walk(), Chain(0, 0), 9, callback=stop)
    assert (chain.interrupted, chain.n_sweeps, chain.n_samples) == (True, 4, 4)
    assert same(run(Walk(), chain, 5), run(Walk(), Chain(0, 0), 9))


@together(("event", "words"), [("nan", "total, x are not finite"), ("infinite", "the log-likelihood is not")])
def test_numbers_that_are_not_finite_end_a_chain(event, words):
    chain = Chain(1, 0)
    with pytest.raises(DivergedError, match="chain 2 diverged at sweep 4") as caught:
        run(Walk({4: event}), chain, 20)
    error = caught.value
    assert words in str(error)
    assert (error.chain, error.sweep) == (1, 4)
    assert np.isnan(error.state["x"][1]) == (event == "nan")
    assert isinstance(error, FloatingPointError)
    assert (chain.n_sweeps, chain.n_samples) == (3, 3)
    assert np.isfinite(chain.samples["x"]).all()


def test_the_error_survives_the_way_from_another_process():
    state = {"x": np.array([1.0, np.inf]), "y": np.zeros(2)}
    error = pickle.loads(pickle.dumps(DivergedError(2, 9, state)))
    assert type(error) is DivergedError
    assert (error.chain, error.sweep) == (2, 9)
    assert np.array_equal(error.state["x"], state["x"])
    assert str(error) == str(DivergedError(2, 9, state))
    assert "x is not finite" in str(error)


def test_a_callback_hears_of_every_sweep():
    heard: list[Progress] = []
    chain = run(Walk(), Chain(0, 0), 4, burn_in=2, callback=heard.append)
    run(Walk(), chain, 3, burn_in=2, callback=heard.append)
    assert [p.iteration for p in heard] == [1, 2, 3, 4, 5, 6, 7]
    assert [p.max_iter for p in heard] == [4] * 4 + [7] * 3
    assert [-p.objective for p in heard] == chain.log_likelihood
    assert all(p.elapsed > 0 for p in heard)
