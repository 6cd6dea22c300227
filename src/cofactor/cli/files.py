"""Models and tables on their way in and out of commands, standard streams included."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from cofactor.cli.interrupts import loading
from cofactor.errors import InvalidInputError, LostRatingsWarning
from cofactor.files import display_name, exists, is_database
from cofactor.headers import begins_as_model
from cofactor.service import service_of
from cofactor.service.base import ModelService


def load_model(file: str, data: memoryview | None = None) -> Any:
    """Load a model from a file, or from standard input.

    It is not warned of ratings that are there no more: what needs them is refused, which says the same.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    data : memoryview, optional
        All that is in the file, if it was read already.
    """
    import cofactor

    if file == "-":
        file, data = display_name(file), memoryview(bytearray(sys.stdin.buffer.read()))
    elif data is None:
        _refuse_folder(file)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LostRatingsWarning)
        # The first file loads what models need. Who reads another one, as a server does, must end in order.
        with nullcontext() if "sklearn" in sys.modules else loading():
            return cofactor.load(file, data)


def load_service(file: str) -> ModelService:
    """Return the service of the model in a file.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    """
    model = load_model(file)
    with loading():
        return service_of(model, file)


def _refuse_folder(file: str) -> None:
    """Refuse a folder of sharded ratings where a model belongs, and say how to make one."""
    if not os.path.isdir(file):
        return
    with loading():
        from cofactor.service.sharding import holds_shards
    if holds_shards(file):
        raise InvalidInputError(
            f"{file}: is a folder of sharded ratings, and no model",
            advice=f"fit one to it: cofactor fit {file} --model als --alpha 5 --out model.cofactor",
        )


def save_model(model: Any, file: str) -> None:
    """Save a model to a file, whole or not at all, or to standard output.

    Parameters
    ----------
    model : estimator
        Fitted.
    file : str
        Path, or ``-``.
    """
    if file != "-":
        model.save(file)
        return
    with tempfile.TemporaryDirectory(prefix="cofactor-") as folder:
        path = Path(folder, "model.cofactor")
        model.save(path)
        sys.stdout.buffer.write(path.read_bytes())
        sys.stdout.buffer.flush()


def place_of(file: str) -> str:
    """Return where a model was saved, and how large its file is, as people read it.

    Parameters
    ----------
    file : str
        Path, or ``-``.
    """
    return "standard output" if file == "-" else f"{file} ({Path(file).stat().st_size / 1e3:,.0f} kB)"


def inputs_of(own: Mapping[str, Any]) -> dict[str, str | None]:
    """Return the files which options of tasks name, by these options.

    Parameters
    ----------
    own : mapping of str to object
        Options that tasks declare, as a command takes them.
    """
    return {f"--{name.replace('_', '-')}": own.get(name) for name in ("xml", "user_features", "item_features")}


def check_sources(inputs: Mapping[str, str | None]) -> None:
    """Refuse to read two files from standard input.

    Parameters
    ----------
    inputs : mapping of str to str or None
        Files that are read, by the names of their arguments and options in the command.

    Examples
    --------
    >>> check_sources({"MODEL": "-", "FILE": "new.csv", "--item-features": "-"})
    Traceback (most recent call last):
    cofactor.errors.InvalidInputError: MODEL and --item-features cannot both be standard input: give one of them as a
    file
    """
    standard = [name for name, file in inputs.items() if file == "-"]
    if len(standard) > 1:
        two = " and ".join(standard[:2])
        raise InvalidInputError(f"{two} cannot both be standard input: give one of them as a file")


def check_target(file: str | None, *inputs: str | None) -> None:
    """Refuse a file that cannot be written, or that is one of the inputs, before the work begins.

    Parameters
    ----------
    file : str, optional
        What is to be written; ``-`` is not checked.
    *inputs : str, optional
        Files that are read.
    """
    if file is None or file == "-":
        return
    if is_database(file):
        with loading():
            from cofactor.datasets.readers.databases import check_target as check_table
        check_table(file)
        return
    path = Path(file)
    if path.is_file() and any(name and os.path.exists(name) and path.samefile(name) for name in inputs):
        message = f"{file}: is read by this command, so nothing can be written there; take another name"
        raise InvalidInputError(message)
    if path.is_dir():
        raise InvalidInputError(f"{file}: is a folder, expected the name of a file to write")
    _check_writable(path)


def check_model_target(file: str | None, *inputs: str | None) -> None:
    """Refuse a file to write a model to, as `check_target` does, and one that holds something else, such as data."""
    if file is not None and is_database(file):
        raise InvalidInputError(f"{display_name(file)}: is a database, and a model is a file; take another name")
    check_target(file, *inputs)
    if file is not None and os.path.isfile(file) and not begins_as_model(file):
        raise InvalidInputError(f"{file}: holds something else than a model; take another name")


def check_there(*files: str | None) -> None:
    """Refuse files that are not there, before the work begins; ``-`` and names of data sets are not checked."""
    from cofactor.datasets.registry import KNOWN

    for file in files:
        if file is not None and not exists(file) and file not in KNOWN:
            raise FileNotFoundError(f"{file}: no such file")


def check_table_suffix(out: str | None, safe_csv: bool) -> None:
    """Refuse a table that cannot be written, before the work begins.

    Parameters
    ----------
    out : str, optional
        File; ``-`` is standard output.
    safe_csv : bool
        Whether it is for spreadsheets.
    """
    if out is not None:
        from cofactor.datasets.write import check_suffix

        check_suffix(out, safe_csv=safe_csv)


def check_folder(out: str) -> Path:
    """Return a folder for a report; refuse one that cannot be made or written to.

    Parameters
    ----------
    out : str
        Path.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InvalidInputError(f"{out}: is a file, expected a folder for the report")
    _check_writable(folder)
    return folder


def _check_writable(path: Path) -> None:
    """Refuse a file or folder that cannot be made or written to."""
    parent = path.absolute().parent
    if not parent.is_dir():
        raise InvalidInputError(f"{path}: the folder {path.parent} does not exist; make it first")
    if not os.access(path if path.exists() else parent, os.W_OK):
        raise InvalidInputError(f"{path}: cannot be written there (permission denied)")
