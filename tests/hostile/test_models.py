"""Models read from damaged and forged files: refused, or they work; no crash, no hang, no foreign error.

The suite forges a sample; ``COFACTOR_HOSTILE=10000`` forges so many, ``COFACTOR_HOSTILE_FIRST`` is the first seed.
Under ``NUMBA_BOUNDSCHECK=1`` (with a ``NUMBA_CACHE_DIR`` of its own) an index out of bounds is an error as well.
"""

from __future__ import annotations

import os
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.hostile.forgeries import damaged_arrays, damaged_json
from tests.hostile.models import ask, fitted
from tests.hostile.mutations import failures, mutated

import cofactor
from cofactor.errors import InvalidInputError, InvalidTypeError
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.ratings import MMMF, Ensemble

N_TRIALS = int(os.environ.get("COFACTOR_HOSTILE", "100"))
FIRST = int(os.environ.get("COFACTOR_HOSTILE_FIRST", "0"))


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a file of every model."""
    folder = tmp_path_factory.mktemp("models")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, (_, model) in enumerate(fitted()):
            cofactor.save(model, folder / f"{number:02}.cofactor")
    return folder


def forge(folder: Path, seed: int) -> None:
    """Damage a model in some ways, load it and ask it everything."""
    warnings.simplefilter("ignore")
    random = np.random.default_rng(seed)
    files = sorted(folder.glob("*.cofactor"))
    file, forged = files[seed % len(files)], folder / "forged"
    with suppress(InvalidInputError, InvalidTypeError):
        if random.random() < 0.05:
            forged.write_bytes(mutated(file.read_bytes(), random))
        else:
            header, arrays = read_model(file)
            for _ in range(int(random.integers(1, 4))):
                if random.random() < 0.5:
                    header = damaged_json(header, random)
                else:
                    damaged_arrays(arrays, random)
            write_model(forged, header, arrays)
        ask(cofactor.load(forged), folder)


@pytest.mark.timeout(120 + N_TRIALS)
@pytest.mark.processes
def test_forged_models_are_refused_or_work(whole: Path) -> None:
    found = failures(partial(forge, whole), range(FIRST, FIRST + N_TRIALS))
    assert not found, "\n".join(found)


def test_estimators_nested_deeply_are_refused(tmp_path: Path) -> None:
    """To show them would take twice as long for each."""
    members = Ensemble(MMMF(1, max_iter=1), 2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        members.fit([(0, 0), (0, 1), (1, 0)], [1, 2, 2]).save(tmp_path / "model")
    header, arrays = read_model(tmp_path / "model")
    for _ in range(40):
        header["params"] = {"estimator": {"class": "Ensemble", "params": header["params"]}}
    write_model(tmp_path / "forged", header, arrays)
    with pytest.raises(ModelFileError, match="nested more than 8 deep"):
        repr(cofactor.load(tmp_path / "forged"))
