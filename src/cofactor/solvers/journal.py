"""What an algorithm in parts has done so far, in a folder: it goes on from there after it was killed."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save_file

from cofactor.files import is_full

__all__ = ["Journal"]

Arrays = Mapping[str, NDArray[Any]]


#: How safetensors says which error of the system it met.
_SYSTEM = re.compile(r"\(os error (\d+)\)")


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
        return dict(load_file(path)) if path.exists() else None

    def write(self, number: int, answer: Arrays) -> None:
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


def write_state(folder: Path, k: int, state: Arrays) -> None:
    """Write the state of part k."""
    _save(folder / f"part-{k}.safetensors", state)


def read_state(folder: Path, k: int) -> dict[str, NDArray[Any]]:
    """Return the state of part k."""
    return dict(load_file(folder / f"part-{k}.safetensors"))


def _save(path: Path, arrays: Arrays) -> None:
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
