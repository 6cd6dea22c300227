"""Parts: each owns a share of the data and answers questions; their answers are summed in a fixed order.

An algorithm in parts goes on in rounds. In each of them all parts are asked the same question, a mapping of names to
arrays and numbers, and the sum of their answers comes back. What a part keeps between rounds stays where the part is.
A journal in a folder has what was done so far: an algorithm goes on from there after it was killed.
"""

from __future__ import annotations

import copy
import os
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cofactor.files import is_full
from cofactor.progress import Pass, report_pass

Question = Mapping[str, Any]
Answer = dict[str, NDArray[Any]]

#: How safetensors says which error of the system it met.
_SYSTEM = re.compile(r"\(os error (\d+)\)")

#: What makes something else, and smaller, of a sum.
Then = Callable[[Answer], Answer]


class Part(Protocol):
    """One share of the data, and what an algorithm keeps there: nothing, in parts that say nothing else."""

    def answer(self, question: Question) -> Answer:
        """Do what its ``op`` names. The arrays are new ones; those of all parts have the same names and shapes."""
        return getattr(self, "_" + question["op"])(question)

    def state(self) -> dict[str, NDArray[Any]]:
        """Return all that earlier questions changed."""
        return {}

    def restore(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Be as the part was whose `state` this is."""
        assert not state


class Parts(Protocol):
    """All parts, wherever they are."""

    def total(self, question: Question, then: Then | None = None) -> Answer:
        """Ask all parts; return the sum of their answers, or what `then` makes of it."""

    def query(self, question: Callable[[], Question]) -> Answer:
        """Ask all parts what changes nothing; return the sum of their answers. Only if needed the question is made."""

    def each(self, question: Question) -> Iterator[Answer]:
        """Ask all parts what changes nothing; return their answers one by one. Arrays may have any shapes."""

    def done(self) -> None:
        """Forget what was kept for going on."""


class TreeSum:
    """The sum of answers by a binary tree over their numbers, so that rounding does not depend on who adds what.

    Node j of level l is the sum of the answers j 2^l to (j + 1) 2^l - 1. Answers, or such nodes, are added in the order
    of their numbers; two neighbours of one level are added as soon as both are there. At the end what is left is added
    from the right.

    Examples
    --------
    >>> import numpy as np
    >>> sums = TreeSum()
    >>> for k in range(3):
    ...     sums.add(k, {"x": np.array([10.0**k])})
    >>> [(first, level) for first, level, _ in sums.nodes]
    [(0, 1), (2, 0)]
    >>> sums.total()
    {'x': array([111.])}
    """

    def __init__(self) -> None:
        self.nodes: list[tuple[int, int, Answer]] = []

    def add(self, first: int, answer: Answer, level: int = 0) -> None:
        """Add an answer, or the node of a level, which begins with number `first`. Its arrays may be overwritten."""
        while self.nodes:
            left, below, other = self.nodes[-1]
            if below != level or left % (2 << level):
                break
            self.nodes.pop()
            first, level, answer = left, level + 1, _sum(other, answer)
        self.nodes.append((first, level, answer))

    def total(self) -> Answer:
        """Return the sum of all that was added."""
        *others, (_, _, result) = self.nodes
        for _, _, answer in reversed(others):
            result = _sum(answer, result)
        return result


def _sum(left: Answer, right: Answer) -> Answer:
    """Add the arrays of two answers; those of the left one are overwritten."""
    for name, array in left.items():
        array += right[name]
    return left


class Journal:
    """Sums of answers, one file for each round, and now and then the states of all parts.

    An algorithm that begins again is told the sums of the rounds it had done, so that it asks the same questions. Parts
    begin with their last states and answer the questions after them; then both are where they were, to the bit.

    Parameters
    ----------
    folder : Path
        Created. Its name must tell all that the algorithm depends on: what is in it belongs to the same one.
    resume : bool
        Whether to go on from what is there; otherwise it is deleted.
    every : float, default=60.0
        Seconds between two times that states are written.
    """

    def __init__(self, folder: Path, resume: bool, every: float = 60.0) -> None:
        self.folder, self.every = folder, every
        if not resume:
            self.remove()
        folder.mkdir(parents=True, exist_ok=True)
        self._saved_at = time.monotonic()

    @property
    def saved_round(self) -> int:
        """The round after which states were written last; 0 if none were."""
        found = [int(path.name[6:]) for path in self.folder.glob("state-*") if path.suffix != ".part"]
        return max(found, default=0)

    @property
    def last_round(self) -> int:
        """The last round whose sum is there; 0 if none is."""
        return max((int(path.stem[6:]) for path in self.folder.glob("round-*")), default=0)

    def read(self, number: int) -> dict[str, NDArray[Any]] | None:
        """Return the sum of the answers in a round; None if it was not done."""
        path = self._round(number)
        return _read(path) if path.exists() else None

    def write(self, number: int, answer: Mapping[str, NDArray[Any]]) -> None:
        """Write the sum of the answers in a round, whole or not at all."""
        _save(self._round(number), answer)

    def due(self) -> bool:
        """Whether it is time to write states."""
        return time.monotonic() - self._saved_at >= self.every

    def begin_states(self, number: int) -> Path:
        """Return a new folder for the states after a round."""
        partial = self._states(number).with_suffix(".part")
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        return partial

    def end_states(self, number: int) -> None:
        """Put the folder of states, into which all parts have written now, in the place of earlier ones."""
        earlier = [path for path in self.folder.glob("state-*") if path.suffix != ".part"]
        os.replace(self._states(number).with_suffix(".part"), self._states(number))
        for path in earlier:
            shutil.rmtree(path, ignore_errors=True)
        self._saved_at = time.monotonic()

    def states(self) -> Path | None:
        """Return the folder with the last states."""
        number = self.saved_round
        return self._states(number) if number else None

    def remove(self) -> None:
        """Delete everything."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _round(self, number: int) -> Path:
        return self.folder / f"round-{number}.safetensors"

    def _states(self, number: int) -> Path:
        return self.folder / f"state-{number}"


class Executor(ABC):
    """Asks parts in numbered rounds, which are written to a journal if there is one.

    Subclasses know where parts are: `_ask` sums their answers, `each` has them one by one, `_save` writes states.
    Parts that are made anew take the last `states` and then answer the questions in `replay`.

    Parameters
    ----------
    n_parts : int
    journal : Journal, optional
    n_ratings : int, default=0
        Of all parts, to tell how fast they are worked through.
    """

    def __init__(self, n_parts: int, journal: Journal | None = None, n_ratings: int = 0) -> None:
        self.n_parts, self.journal, self.n_ratings = n_parts, journal, n_ratings
        self.number = 0
        #: Questions of the rounds after the last states, without that of the present round.
        self.replay: list[Question] = []
        self._saved = 0 if journal is None else journal.saved_round

    @property
    def states(self) -> Path | None:
        """Folder with the last states of parts."""
        return None if self.journal is None else self.journal.states()

    def total(self, question: Question, then: Then | None = None) -> Answer:
        """Ask all parts, unless the journal knows what they answered; return the sum of their answers.

        Parameters
        ----------
        question : mapping
        then : callable, optional
            Makes something else of the sum, which is returned then, and written to the journal.
        """
        answer = self._known_or_asked(lambda: question, then)
        if self.number > self._saved:
            self._keep(question)
            self._save_if_due()
        return answer

    def query(self, question: Callable[[], Question]) -> Answer:
        """Ask all parts what changes nothing, unless the journal knows what they answered; return the sum of that.

        The question is made only if it is asked, and is not kept: it may be large.
        """
        answer = self._known_or_asked(question, None)
        if self.number > self._saved:
            self._save_if_due()
        return answer

    def _known_or_asked(self, question: Callable[[], Question], then: Then | None) -> Answer:
        """Return what the journal knows of the next round, or what comes of asking."""
        answer = None if self.journal is None else self.journal.read(self.number + 1)
        if answer is not None:
            self.number += 1
            return answer
        asked = question()  # which may itself ask, before the round begins
        self.number += 1
        answer = self._ask(asked)
        if then is not None:
            answer = then(answer)
        # As a journal has them: what an algorithm makes of arrays may be rounded by how they lie in memory.
        answer = {name: np.asarray(array, order="C") for name, array in answer.items()}
        if self.journal is not None:
            self.journal.write(self.number, answer)
        return answer

    @abstractmethod
    def each(self, question: Question) -> Iterator[Answer]:
        """Ask all parts what changes nothing; return their answers one by one."""

    def done(self) -> None:
        """Forget what was kept for going on."""
        if self.journal is not None:
            self.journal.remove()

    def _tell(self, began: float, done: int) -> None:
        """Tell how many parts have answered since a round began, if there are several."""
        if self.n_parts > 1:
            report_pass(Pass(done, self.n_parts, time.perf_counter() - began, self.n_ratings))

    def _keep(self, question: Question) -> None:
        """Keep a question that was answered, for parts that are made anew."""
        # Copies: arrays of a question may be views of what the algorithm goes on to change.
        self.replay.append({name: copy.copy(value) for name, value in question.items()})

    def _save_if_due(self) -> None:
        """Write states if it is time for that; what was asked before need not be kept then."""
        if self.journal is not None and self.journal.due() and self._living():
            self._save(self.journal.begin_states(self.number))
            self.journal.end_states(self.number)
            self._saved = self.number
            self.replay.clear()

    @abstractmethod
    def _ask(self, question: Question) -> Answer:
        """Return the sum of the answers of all parts."""

    @abstractmethod
    def _living(self) -> bool:
        """Whether parts are made and have answered all questions."""

    @abstractmethod
    def _save(self, folder: Path) -> None:
        """Write the states of all parts."""


def remake(make: Callable[[int], Part], k: int, states: Path | None, replay: Sequence[Question]) -> Part:
    """Return part k as it is after the questions that followed the last states."""
    part = make(k)
    if states is not None:
        part.restore(read_state(states, k))
    for question in replay:
        part.answer(question)
    return part


class SerialExecutor(Executor):
    """Parts in this process, asked one after the other; an algorithm in memory has one.

    Parameters
    ----------
    make : callable
        ``make(k)`` returns part k.
    n_parts : int
        Number of parts.
    journal : Journal, optional
        Where rounds are written, so that they need not be done again.
    n_ratings : int, default=0
        See `Executor`.
    """

    def __init__(
        self, make: Callable[[int], Part], n_parts: int, journal: Journal | None = None, n_ratings: int = 0
    ) -> None:
        super().__init__(n_parts, journal, n_ratings)
        self.make = make
        self._made: list[Part] = []

    def _parts(self) -> list[Part]:
        if not self._made:
            self._made = [remake(self.make, k, self.states, self.replay) for k in range(self.n_parts)]
            self.replay.clear()
        return self._made

    def _ask(self, question: Question) -> Answer:
        sums, began = TreeSum(), time.perf_counter()
        for k, part in enumerate(self._parts()):
            sums.add(k, part.answer(question))
            self._tell(began, k + 1)
        return sums.total()

    def _keep(self, question: Question) -> None:
        if not self._made:  # once they are, they are not made again in this process
            super()._keep(question)

    def each(self, question: Question) -> Iterator[Answer]:
        """Ask all parts what changes nothing; return their answers one by one."""
        return (part.answer(question) for part in self._parts())

    def _living(self) -> bool:
        return bool(self._made)

    def _save(self, folder: Path) -> None:
        for k, part in enumerate(self._made):
            write_state(folder, k, part.state())


def write_state(folder: Path, k: int, state: Mapping[str, NDArray[Any]]) -> None:
    """Write the state of part k."""
    _save(folder / f"part-{k}.safetensors", state)


def read_state(folder: Path, k: int) -> dict[str, NDArray[Any]]:
    """Return the state of part k."""
    return _read(folder / f"part-{k}.safetensors")


def _read(path: Path) -> dict[str, NDArray[Any]]:
    from safetensors.numpy import load_file  # of fits that keep what they come to: others do without

    return dict(load_file(path))


def _save(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    partial = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        save_file({name: np.asarray(array, order="C") for name, array in arrays.items()}, partial)
        os.replace(partial, path)
    except SafetensorError as error:
        found = _SYSTEM.search(str(error))
        if found is None:
            raise
        number = int(found[1])
        refused = OSError(number, os.strerror(number), os.fspath(path))
        if is_full(refused):
            kept = "what was done is kept, and a fit that resumes goes on when there is room"
            refused.strerror = f"{refused.strerror}; {kept}"
        raise refused from error
    finally:
        partial.unlink(missing_ok=True)
