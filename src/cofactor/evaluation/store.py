"""Results, and the store that keeps them: a folder with one file a cell.

A file is named by the key of its cell and written whole or not at all, so nothing has to be cleared away after a crash,
and several processes may write to one folder.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal

from cofactor.errors import InputWarning
from cofactor.files import PathLike, is_full, replacing
from cofactor.text import plural

Measures = Mapping[str, Any]
"""What a cell measures, by name: numbers, strings, lists of them."""

_MARK = "cofactor-results-"  #: a file of this name, with the version of the format, says that a folder is a store
_FORMAT = 1
_FILE = re.compile(r"([0-9a-f]{64})\.json")


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came out of a cell: its measures, or the error that stopped it.

    Attributes
    ----------
    key, method, data, split, seed, parameters, checksum, measure, code
        As in `Cell`.
    version : str
        Of this package.
    status : {"done", "failed"}
        Whether the cell has measures, or an error.
    measures : mapping of str to object
        Numbers, strings or lists by name; empty where the cell failed.
    error : str
        Type and message in the first line, the last places of the traceback below; empty where there was none.
    seconds : float
        Time of the work.

    Examples
    --------
    >>> from cofactor.evaluation import cell, run_cells
    >>> def measure(**where):
    ...     return {"mae": 0.7}
    >>> (result,) = run_cells([cell(measure, method="HMF", data="toy")])
    >>> result.status, result.measures["mae"]
    ('done', 0.7)
    """

    key: str
    method: str
    data: str
    split: str
    seed: int
    parameters: Mapping[str, Any]
    checksum: str
    measure: str
    version: str
    status: Literal["done", "failed"]
    measures: Measures
    error: str
    seconds: float
    code: str = ""


class StoreError(OSError):
    """A store which cannot be read or written; the message says why, and what to do.

    Examples
    --------
    >>> from cofactor.evaluation import ResultStore, StoreError
    >>> issubclass(StoreError, OSError)
    True
    """


class ResultStore:
    """Results of cells in a folder, one file each, kept as they end.

    Several processes may use one folder at a time. They may compute a cell twice, but each file is whole.

    Parameters
    ----------
    path : str or path-like
        The folder; it is made if it does not exist.

    Raises
    ------
    StoreError
        If it is no store, was written by a newer version, or cannot be made. It is left as it was.

    Notes
    -----
    A file that is not as it was written counts as not there, and a warning says so: the cell is computed again.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.evaluation import Cell, ResultStore, run_cells
    >>> folder = tempfile.TemporaryDirectory()
    >>> cells = [Cell(work=lambda: {"mae": 0.7}, method="HMF", data="ml-100k", split="weak 1/3")]
    >>> store = ResultStore(pathlib.Path(folder.name, "results"))
    >>> results = run_cells(cells, store)
    >>> store.get(cells[0].key).measures, [result.method for result in store.results(data="ml-100k")]
    ({'mae': 0.7}, ['HMF'])
    >>> folder.cleanup()
    """

    def __init__(self, path: PathLike) -> None:
        self.path = Path(path)
        if self.path.is_file():
            with self.path.open("rb") as file:
                old = file.read(16) == b"SQLite format 3\0"
            what = "a store of an earlier version of cofactor, which this one does not read" if old else "a file"
            raise StoreError(f"{self.path}: is {what}: a store is a folder now; give another name")
        try:
            self.path.mkdir(exist_ok=True)
            names = os.listdir(self.path)
            versions = [int(name.removeprefix(_MARK)) for name in names if re.fullmatch(rf"{_MARK}\d+", name)]
            if not versions and all(name.startswith(".") for name in names):
                (self.path / f"{_MARK}{_FORMAT}").touch()
                versions = [_FORMAT]
        except OSError as error:
            raise self._error(error) from error
        if not versions:
            raise StoreError(f"{self.path}: is no store of results, but holds other files: give another name")
        if max(versions) > _FORMAT:
            raise StoreError(
                f"{self.path}: was written by a newer version of cofactor (format {max(versions)}, this one knows "
                f"{_FORMAT}): update cofactor, or give another name"
            )

    def __len__(self) -> int:
        return len(self._keys())

    def __repr__(self) -> str:
        return f"ResultStore({os.fspath(self.path)!r})"

    def get(self, key: str) -> Run | None:
        """Return the result of the cell with this key, None where there is none.

        Parameters
        ----------
        key : str
            `Cell.key`.
        """
        return self.find([key]).get(key)

    def find(self, keys: Iterable[str]) -> dict[str, Run]:
        """Return the results of cells that are there, by key.

        Parameters
        ----------
        keys : iterable of str
            `Cell.key` of each.
        """
        found: dict[str, Run] = {}
        damaged: list[str] = []
        for key in keys:
            path = self._file(key)
            try:
                found[key] = _result(json.loads(path.read_bytes()), key)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise self._error(error) from error
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                damaged.append(path.name)
        if damaged:
            warnings.warn(
                InputWarning(
                    f"{self.path}: {plural(len(damaged), 'result', form=',')} not as written, and computed again; "
                    f"the first is {damaged[0]}"
                ),
                stacklevel=3,
            )
        return found

    def results(
        self, *, method: str | None = None, data: str | None = None, split: str | None = None, status: str | None = None
    ) -> list[Run]:
        """Return the results, in the order in which they ended.

        Parameters
        ----------
        method, data, split, status : str, optional
            Only those of this one.
        """
        wanted = {"method": method, "data": data, "split": split, "status": status}
        return [
            result
            for result in self.find(self._keys()).values()
            if all(value is None or getattr(result, name) == value for name, value in wanted.items())
        ]

    def put(self, result: Run) -> None:
        """Keep a result, in place of an earlier one of the same cell.

        Parameters
        ----------
        result : Run
        """
        facts = vars(result)
        try:
            with replacing(self._file(result.key)) as stream:
                stream.write(json.dumps({**facts, "digest": _digest(facts)}).encode())
        except OSError as error:
            raise self._error(error) from error

    def forget(self, keys: Iterable[str]) -> None:
        """Delete the results of cells, so that they are computed again.

        Parameters
        ----------
        keys : iterable of str
            `Cell.key` of each.
        """
        try:
            for key in keys:
                self._file(key).unlink(missing_ok=True)
        except OSError as error:
            raise self._error(error) from error

    def _file(self, key: str) -> Path:
        return self.path / f"{key}.json"

    def _keys(self) -> list[str]:
        """Return the keys of all files, in the order in which they were written."""
        try:
            with os.scandir(self.path) as entries:
                files = [
                    (entry.stat().st_mtime_ns, found[1]) for entry in entries if (found := _FILE.fullmatch(entry.name))
                ]
                return [key for _, key in sorted(files)]
        except OSError as error:
            raise self._error(error) from error

    def _error(self, error: OSError) -> StoreError:
        """Say what an error of the system means."""
        if is_full(error):
            why = "the disk is full; what was stored is kept, and a new start goes on from there"
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            why = "cannot be read or written: allow both in this folder, or give another name"
        elif isinstance(error, FileNotFoundError | NotADirectoryError):
            why = "cannot be made or found: its folder must exist"
        elif isinstance(error, IsADirectoryError):
            return StoreError(f"{error.filename}: is a folder, expected a result")
        else:
            why = f"{error.strerror or error}; what was stored is kept"
        return StoreError(f"{self.path}: {why}")


def _digest(facts: Mapping[str, Any]) -> str:
    """Return what changes if anything in a file does."""
    return hashlib.blake2b(json.dumps(facts, sort_keys=True).encode(), digest_size=16).hexdigest()


def _result(facts: dict[str, Any], key: str) -> Run:
    """Return the result that a file holds; one of several errors if it is not as it was written."""
    if facts.pop("digest") != _digest(facts) or facts["key"] != key:
        raise ValueError("not as it was written")
    return Run(**facts)


def tidy(results: Iterable[Run]) -> list[dict[str, Any]]:
    """Return one record for each number that was measured; of a failed cell one record without a number.

    Parameters
    ----------
    results : iterable of Run

    Returns
    -------
    list of dict
        ``method``, ``data``, ``split``, ``seed``, ``parameters`` (JSON), ``chosen`` (JSON: parameters that the fit
        chose), ``metric``, ``value``, ``status``, ``error``, ``seconds`` (of the whole cell), ``version``,
        ``checksum``. Measures which are no numbers are left out.

    Examples
    --------
    >>> from cofactor.evaluation import cell, run_cells, tidy
    >>> def measure(**where):
    ...     return {"mae": 0.7, "rmse": 0.9}
    >>> [(row["metric"], row["value"]) for row in tidy(run_cells([cell(measure, method="HMF")]))]
    [('mae', 0.7), ('rmse', 0.9)]
    """
    records = []
    for result in results:
        numbers: dict[str, float | None] = {
            name: float(value) for name, value in result.measures.items() if isinstance(value, Real)
        }
        facts = {name: getattr(result, name) for name in ("method", "data", "split", "seed")}
        how = {"parameters": result.parameters, "chosen": result.measures.get("parameters", {})}
        facts |= {name: json.dumps(value, sort_keys=True, ensure_ascii=False) for name, value in how.items()}
        rest = {name: getattr(result, name) for name in ("status", "error", "seconds", "version", "checksum")}
        for metric, value in (numbers or {"": None}).items():
            records.append({**facts, "metric": metric, "value": value, **rest})
    return records
