"""Lives of models at random: whatever happens between steps, a model is what its steps make it.

A life is a fit and some steps that change the model: updates, refits, ``partial_fit``, another threshold. Between them
it is saved, loaded, pickled and copied, asked, given what it refuses, and changed by processes that are killed with -9
while they write. Lives of folders of shards are likewise: ratings are appended, by processes that are killed.

The suite tries a few; ``COFACTOR_HOSTILE=5000`` tries so many, ``COFACTOR_HOSTILE_FIRST`` is the first seed.
"""

from __future__ import annotations

import gc
import os
import pickle
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable
from contextlib import suppress
from copy import copy, deepcopy
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from tests.hostile.models import FEATURES, LABELS, LEVELS, PAIRS, small
from tests.hostile.mutations import failures
from tests.hostile.shards import MODELS as OF_SHARDS
from tests.ratings.sharding.files import rows, write

import cofactor
from cofactor import labels, ratings
from cofactor.errors import InvalidInputError
from cofactor.ratings import OrdinalProbit, ShardedRatings, append_files, shard_files

N_TRIALS = int(os.environ.get("COFACTOR_HOSTILE", "12"))
FIRST = int(os.environ.get("COFACTOR_HOSTILE_FIRST", "0"))
SCALE = [0.5, 1, 1.5, 2, 2.5]

Step = Callable[[Any], Any]
"""What is done to a model or a folder."""


class Killing:
    """Counts calls of Python functions and of C within the block, and kills the process at one of them."""

    def __init__(self, at: int = 0) -> None:
        self.at, self.count = at, 0

    def __enter__(self) -> Killing:
        sys.setprofile(self.called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def called(self, *_: object) -> None:
        self.count += 1
        if self.count == self.at:
            os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], object], at: int) -> bool:
    """Do some work in a process of its own that is killed at a call, or ends before it; return whether it was."""
    child = os.fork()
    if child == 0:
        try:
            with Killing(at):
                work()
        finally:
            os._exit(0 if sys.exc_info()[0] is None else 1)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status in (0, -signal.SIGKILL), status
    return status != 0


class Life:
    """A model, the steps that made it, and a file.

    Parameters
    ----------
    seed : int
    folder : Path
        Empty.
    """

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = np.random.default_rng(seed)
        self.file, self.other = folder / "model", folder / "other"
        self.model, self.fit, self.steps, self.questions, self.refused = _kinds()[seed % len(_kinds())](self.random)
        self.unfitted, self.done = clone(self.model), [self.fit]
        self.model = self.fit(self.model)

    def live(self) -> None:
        for _ in range(int(self.random.integers(2, 7))):
            before = self.content()
            happening = self.random.choice([self.change, self.change_and_be_killed, self.be_stored, self.be_asked])
            happening()
            if happening not in (self.change, self.change_and_be_killed):
                assert self.content() == before, happening.__name__
        again = self.unfitted
        for step in self.done:
            again = step(again)
        assert self.content(again) == self.content(), "another model came of the same steps"

    def content(self, model: Any = None) -> bytes:
        """Return all that a model is: its file."""
        cofactor.save(self.model if model is None else model, self.other)
        return self.other.read_bytes()

    def step(self) -> Step:
        return self.steps[self.random.integers(len(self.steps))](self.random)

    def change(self) -> None:
        step = self.step()
        self.model = step(self.model)
        self.done.append(step)

    def change_and_be_killed(self) -> None:
        """Let a process change the model and store it; what is there afterwards is the old one or the new one."""
        step = self.step()
        cofactor.save(self.model, self.file)
        old, changed = self.file.read_bytes(), step(deepcopy(self.model))
        with Killing() as calls:
            new = self.content(changed)

        def work() -> None:
            cofactor.save(changed, self.file)

        died = killed(work, int(self.random.integers(1, calls.count)))
        found = self.file.read_bytes()
        assert found in ((old, new) if died else (new,)), "neither the old nor the new model"
        self.model = cofactor.load(self.file)
        if found == new != old:
            self.done.append(step)
        for left in self.file.parent.glob(".*.part"):
            assert died
            left.unlink()

    def be_stored(self) -> None:
        how = int(self.random.integers(4))
        if how == 0:
            cofactor.save(self.model, self.file)
            self.model = cofactor.load(self.file)
        else:
            self.model = [copy, deepcopy, lambda one: pickle.loads(pickle.dumps(one))][how - 1](self.model)

    def be_asked(self) -> None:
        with suppress(InvalidInputError):  # of items which it does not know
            self.questions[self.random.integers(len(self.questions))](self.model, self.random)
        for refused in self.refused:
            with pytest.raises(InvalidInputError):
                refused(self.model)


def _kinds() -> list[Callable[[np.random.Generator], tuple[Any, Step, list[Any], list[Any], list[Any]]]]:
    """Return what begins a life, for each kind: a model, its fit, steps, questions, and what it refuses."""
    of_ratings = [partial(_rating, kind) for kind in ratings.MODELS.values()]
    of_interactions = [partial(_taking, kind) for kind in ratings.ranking.MODELS.values()]
    of_labels = [partial(_labelling, kind) for kind in (labels.MODELS | labels.TRANSFORMERS).values()]
    return [*of_ratings, *of_interactions, *of_labels]


def some_pairs(random: np.random.Generator, first_user: int = 0) -> np.ndarray:
    """Return different pairs of users and items, known and new ones."""
    chosen = random.permutation(12 * 9)[: int(random.integers(1, 12))]
    return np.column_stack([chosen // 9 + first_user, chosen % 9])


def _rating(kind: type[Any], random: np.random.Generator) -> tuple[Any, Step, list[Any], list[Any], list[Any]]:
    scale = np.array([-1.0, 1.0] if kind.__name__ == "BinaryMMMF" else [1.0, 2.0, 3.0, 4.0, 5.0])
    y = scale[(LEVELS - 1).astype(int) % len(scale)]

    def update(random: np.random.Generator) -> Step:
        X = some_pairs(random)
        y = random.choice(scale, len(X))
        return lambda model: model.update(X, y)

    def refit(random: np.random.Generator) -> Step:
        return lambda model: model.fit(model.ratings_)

    def fold_in(model: Any, random: np.random.Generator) -> None:
        X = some_pairs(random, 100)
        model.fold_in(X, random.choice(scale, len(X))).recommend(n=3)

    def merge(model: Any, random: np.random.Generator) -> None:
        X = some_pairs(random)
        known = ["merge", "replace"][random.integers(2)]
        model.fold_in(X, random.choice(scale, len(X)), known=known).predict(X)

    questions = [
        *(fold_in, merge),
        lambda model, random: model.predict(some_pairs(random)),
        lambda model, random: model.recommend(n=2),
        lambda model, random: model.complete(),
    ]
    refused: list[Step] = [
        lambda model: model.update([(0, 0)], [77]),
        lambda model: model.update([(0, 0), (0, 0)], [scale[0], scale[1]]),
        lambda model: model.fold_in([(0, 0)], [scale[0]]),
        lambda model: model.fit(PAIRS, y[:-1]),
    ]
    return small(kind), lambda model: model.fit(PAIRS, y), [update, update, refit], questions, refused


def _taking(kind: type[Any], random: np.random.Generator) -> tuple[Any, Step, list[Any], list[Any], list[Any]]:
    rated = kind.__name__ == "Recommender"
    given = {"ratings": small(OrdinalProbit)} if rated else {}

    def of(X: np.ndarray, random: np.random.Generator) -> tuple[Any, ...]:
        return (X, random.integers(1, 6, len(X)).astype(float)) if rated else (X,)

    def update(random: np.random.Generator) -> Step:
        new = of(some_pairs(random), random)
        return lambda model: model.update(*new)

    def fold_in(model: Any, random: np.random.Generator) -> None:
        model.fold_in(*of(some_pairs(random, 100), random)).recommend(n=3)

    def merge(model: Any, random: np.random.Generator) -> None:
        model.fold_in(*of(some_pairs(random), random), known="merge").recommend(n=3)

    questions = [fold_in, merge, lambda model, random: model.recommend(n=2)]
    refused: list[Step] = [lambda model: model.update(np.zeros((0, 2))), lambda model: model.fit(PAIRS, [1.0])]
    return small(kind, **given), lambda model: model.fit(*of(PAIRS, random_of(7))), [update], questions, refused


def random_of(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def _labelling(kind: type[Any], random: np.random.Generator) -> tuple[Any, Step, list[Any], list[Any], list[Any]]:
    def refit(random: np.random.Generator) -> Step:
        some = random.permutation(len(FEATURES))[:20]
        return lambda model: model.fit(FEATURES[some], LABELS[some])

    def partial_fit(random: np.random.Generator) -> Step:
        some = random.permutation(len(FEATURES))[:5]
        return lambda model: model.partial_fit(FEATURES[some], LABELS[some])

    def fit_threshold(random: np.random.Generator) -> Step:
        rule = str(random.choice(["per-label", "top-k"]))
        return lambda model: model.fit_threshold(FEATURES, LABELS, rule)

    asked = [name for name in ("predict", "predict_proba", "decision_function", "transform") if hasattr(kind, name)]
    questions = [lambda model, random, name=name: getattr(model, name)(FEATURES) for name in asked]
    changes = [refit] + [partial_fit] * 3 * hasattr(kind, "partial_fit")
    changes += [fit_threshold] * issubclass(kind, labels.LabelModel)
    refused: list[Step] = [
        lambda model: model.fit(FEATURES * np.nan, LABELS),
        lambda model: getattr(model, asked[0])(FEATURES[:, :2]),
    ]
    return small(kind), lambda model: model.fit(FEATURES, LABELS), changes, questions, refused


def live(folder: Path, seed: int) -> None:
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory(dir=folder) as place:
        if seed % 10 == 9:
            _of_a_folder(seed, Path(place))
        else:
            Life(seed, Path(place)).live()


def _of_a_folder(seed: int, folder: Path) -> None:
    """Make a folder of shards and append to it, in processes that are killed: it holds what an undisturbed one does."""
    random, big, right = random_of(seed), folder / "big", folder / "right"
    file = write(folder / "0.csv", rows(seed, 120))
    with Killing() as calls:
        shard_files(file, right, 3, scale=SCALE)
    if killed(lambda: shard_files(file, big, 3, scale=SCALE), random.integers(1, calls.count)):
        with suppress(InvalidInputError):  # it was whole already
            shard_files(file, big, 3, scale=SCALE)
    for day in range(1, 4):
        file = write(folder / f"{day}.csv", rows(seed + day, int(random.integers(1, 40))))
        old = ShardedRatings.open(big).n_ratings
        with Killing() as calls:
            new = append_files(file, right, duplicates="last").n_ratings
        died = killed(lambda file=file: append_files(file, big, duplicates="last"), random.integers(1, calls.count))
        found = ShardedRatings.open(big)
        found.verify()
        assert found.n_ratings in ((old, new) if died else (new,))
        if found.n_ratings == old:
            append_files(file, big, duplicates="last")
    del found
    _check_equal(big, right, OF_SHARDS[seed // 10 % len(OF_SHARDS)], folder / "model")
    gc.collect()  # who reads keeps old shards
    append_files(write(folder / "last.csv", rows(seed + 9, 5)), big, duplicates="last")
    shards = {path.name for path in (big / "shards").iterdir()}
    assert len(shards) == len(ShardedRatings.open(big)), "a shard is left"
    assert not [path for path in big.iterdir() if path.name.startswith(".")]


def _check_equal(big: Path, right: Path, kind: Callable[[], Any], path: Path) -> None:
    both = [ShardedRatings.open(where) for where in (big, right)]
    first, second = (one.to_ratings() for one in both)
    for name in ("levels", "indices", "indptr"):
        assert np.array_equal(getattr(first, name), getattr(second, name)), name
    assert len({_saved(kind().fit(one), path) for one in both}) == 1


def _saved(model: Any, path: Path) -> bytes:
    model.save(path, ratings=False)
    return path.read_bytes()


@pytest.mark.timeout(300 + N_TRIALS)
@pytest.mark.processes
@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are forked here")
def test_models_are_what_their_steps_make_them(tmp_path: Path) -> None:
    found = failures(partial(live, tmp_path), range(FIRST, FIRST + N_TRIALS), seconds=60)
    assert not found, "\n".join(found)
