"""Results in one file, kept as they end, which several processes may share.

The file is an SQLite database with a write-ahead log: what `ResultStore.put` has returned from survives ``kill -9``.
Who computes a cell claims it first. A claim ends with its process, so nothing has to be cleared away after a crash.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from cofactor.errors import Argument, InputWarning, InvalidInputError, Place
from cofactor.evaluation.run.cells import Cell, Result
from cofactor.evaluation.run.rows import COLUMNS, check, digest, readable, result_of, row_of, text
from cofactor.files import PathLike
from cofactor.text import counted

__all__ = ["DamagedStoreError", "ResultStore", "StoreError"]

_Taken = TypeVar("_Taken")

#: Kept in the file. 1 had keys that did not change with the code, 2 no digests of rows; higher ones are newer.
SCHEMA = 3
_APPLICATION = int.from_bytes(b"cofa", "big")
_TABLES = """
CREATE TABLE results (
    number INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, method TEXT NOT NULL, data TEXT NOT NULL, split TEXT NOT NULL,
    seed INTEGER NOT NULL, parameters TEXT NOT NULL, checksum TEXT NOT NULL, measure TEXT NOT NULL,
    version TEXT NOT NULL, status TEXT NOT NULL, measures TEXT NOT NULL, error TEXT NOT NULL, seconds REAL NOT NULL,
    code TEXT NOT NULL, digest TEXT NOT NULL
);
CREATE TABLE workers (
    id TEXT PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL, beat REAL NOT NULL
);
CREATE TABLE claims (
    key TEXT PRIMARY KEY, worker TEXT NOT NULL REFERENCES workers (id) ON DELETE CASCADE
);
"""

_PATIENCE = 60.0  #: seconds to wait for a file which another process holds
_BEAT = 15.0  #: seconds between two signs of life
_SILENCE = 60.0  #: seconds without one after which a process of another machine counts as dead

_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full; what was stored is kept, and a new start goes on from there",
    sqlite3.SQLITE_IOERR: "reading or writing it failed (disk full?); what was stored is kept",
    sqlite3.SQLITE_NOTADB: "is no store of results (not an SQLite database): give another name",
    sqlite3.SQLITE_READONLY: "cannot be written: allow writing to the file and to its folder, or give another name",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened or made: its folder must exist, and one must be allowed to write there",
    sqlite3.SQLITE_BUSY: f"another program has kept it locked for {_PATIENCE:g} seconds",
}
#: What SQLite reports of a damaged file: its pages, the text of its tables, or the kind or size of a value.
_DAMAGE = {
    *(sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR, sqlite3.SQLITE_INTERNAL, sqlite3.SQLITE_FORMAT),
    *(sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_MISMATCH, sqlite3.SQLITE_NOMEM),
}


class StoreError(OSError):
    """A store which cannot be read or written; the message says why, and what to do.

    Examples
    --------
    >>> from cofactor.evaluation import ResultStore, StoreError
    >>> issubclass(StoreError, OSError)
    True
    """


class DamagedStoreError(StoreError, InvalidInputError):
    """A store which is not as it was written.

    Examples
    --------
    >>> from cofactor.evaluation import DamagedStoreError
    >>> str(DamagedStoreError(Path("results"), "the index is not there")).split(";")[0]
    'results: is damaged (the index is not there)'
    """

    def __init__(self, path: Path, why: str) -> None:
        rescue = Argument("rescue", True)
        advice = (
            *("open it with ", rescue, " to keep the results that are as they were written, or move it away; "),
            "the others are computed again",
        )
        InvalidInputError.__init__(self, f"is damaged ({why})", advice=advice, place=Place(os.fspath(path)))
        self.path, self.why = path, why

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.why)


class ResultStore:
    """Results of cells in a file, kept as they end.

    Several processes may use one file at a time, on a file system of the machine itself.

    Parameters
    ----------
    path : str or path-like
        The file; it is made if it does not exist.
    rescue : bool, default=False
        Whether to go on from a damaged file with the results in it that are as they were written. The file is kept,
        with ``.damaged`` at the end of its name, and a warning says how many results could not be read. No other
        process may use the store meanwhile.

    Raises
    ------
    StoreError
        If the file is no store, was written by a newer version, or cannot be written. It is left as it was.
    DamagedStoreError
        If the file is not as it was written: each opening checks its pages, and a digest of each result.

    Notes
    -----
    A machine that loses power may lose the last results, and so may a log (the file with ``-wal`` at the end of its
    name, which stays after ``kill -9``) that is damaged: they count as not computed.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.evaluation import Cell, ResultStore, run_cells
    >>> folder = tempfile.TemporaryDirectory()
    >>> cells = [Cell(work=lambda: {"mae": 0.7}, method="HMF", data="ml-100k", split="weak 1/3")]
    >>> with ResultStore(pathlib.Path(folder.name, "results.sqlite")) as store:
    ...     results = run_cells(cells, store)
    ...     store.get(cells[0].key).measures, [result.method for result in store.results(data="ml-100k")]
    ({'mae': 0.7}, ['HMF'])
    >>> folder.cleanup()
    """

    def __init__(self, path: PathLike, *, rescue: bool = False) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()  # cells are claimed in whatever thread hands them out
        self._worker = uuid.uuid4().hex
        self._identity = (_host(), os.getpid(), _started(os.getpid()))
        self._heart: threading.Thread | None = None
        self._closed = threading.Event()
        try:
            self._open()
        except DamagedStoreError:
            if not rescue:
                raise
            self._rescue()
            self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        return int(self._query("SELECT count(*) FROM results")[0][0])

    def __repr__(self) -> str:
        return f"ResultStore({os.fspath(self.path)!r})"

    def close(self) -> None:
        """Give claims back and close the file."""
        if self._closed.is_set():
            return
        self._closed.set()
        self.release()
        with self._lock:
            self._connection.close()

    def get(self, key: str) -> Result | None:
        """Return the result of the cell with this key, None where there is none.

        Parameters
        ----------
        key : str
            `Cell.key`.
        """
        rows = self._query(f"SELECT {', '.join(COLUMNS)} FROM results WHERE key = ?", key)
        return self._each(result_of, rows)[0] if rows else None

    def results(
        self, *, method: str | None = None, data: str | None = None, split: str | None = None, status: str | None = None
    ) -> list[Result]:
        """Return the results, in the order in which they ended.

        Parameters
        ----------
        method, data, split, status : str, optional
            Only those of this one.
        """
        wanted = {"method": method, "data": data, "split": split, "status": status}
        given = {name: value for name, value in wanted.items() if value is not None}
        where = " AND ".join(f"{name} = ?" for name in given)
        query = f"SELECT {', '.join(COLUMNS)} FROM results {'WHERE ' + where if where else ''} ORDER BY number"
        return self._each(result_of, self._query(query, *given.values()))

    def put(self, *results: Result) -> None:
        """Keep results, in place of earlier ones of the same cells, all or none; claims on them end.

        Parameters
        ----------
        *results : Result
        """
        rows = [row_of(result) for result in results]
        marks = ", ".join("?" * len(COLUMNS))
        with self._transaction() as connection:
            connection.executemany(f"INSERT OR REPLACE INTO results ({', '.join(COLUMNS)}) VALUES ({marks})", rows)
            connection.executemany("DELETE FROM claims WHERE key = ?", [(result.key,) for result in results])

    def claim(self, cell: Cell) -> bool:
        """Claim a cell, so that no other process computes it.

        Parameters
        ----------
        cell : Cell

        Returns
        -------
        bool
            False if it has a result, or a process that lives has claimed it.
        """
        return bool(self.claim_all([cell]))

    def claim_all(self, cells: Iterable[Cell]) -> list[Cell]:
        """Claim cells; return those that have no result and that no process that lives has claimed.

        Parameters
        ----------
        cells : iterable of Cell
        """
        with self._transaction() as connection:
            free = [cell for cell in cells if self._is_free(connection, cell.key)]
            if free:
                # The row is missing before the first claim. It is also missing if this process was stopped for so long
                # that another one took it for dead.
                connection.execute(
                    "INSERT OR IGNORE INTO workers VALUES (?, ?, ?, ?, ?)", (self._worker, *self._identity, time.time())
                )
                rows = [(cell.key, self._worker) for cell in free]
                connection.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?)", rows)
        if free and self._heart is None:
            self._heart = threading.Thread(target=self._beat, name="cofactor store", daemon=True)
            self._heart.start()
        return free

    def _is_free(self, connection: sqlite3.Connection, key: str) -> bool:
        if connection.execute("SELECT 1 FROM results WHERE key = ?", (key,)).fetchone():
            return False
        row = connection.execute(
            "SELECT id, host, pid, started, beat FROM claims JOIN workers ON id = worker WHERE key = ?", (key,)
        ).fetchone()
        return row is None or _Worker(*row).id == self._worker or not _Worker(*row).lives()

    def release(self) -> None:
        """Give all claims of this store object back; after an error of the disk they end with the process instead."""
        with contextlib.suppress(StoreError), self._transaction() as connection:
            rows = connection.execute("SELECT id, host, pid, started, beat FROM workers").fetchall()
            gone = [(one.id,) for one in map(_Worker._make, rows) if one.id == self._worker or not one.lives()]
            connection.executemany("DELETE FROM workers WHERE id = ?", gone)

    def forget(self, keys: Iterable[str]) -> None:
        """Delete the results of cells, so that they are computed again.

        Parameters
        ----------
        keys : iterable of str
            `Cell.key` of each.
        """
        with self._transaction() as connection:
            connection.executemany("DELETE FROM results WHERE key = ?", [(key,) for key in keys])

    def _open(self) -> None:
        with self._explained():
            self._connection = sqlite3.connect(
                self.path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False
            )
        self._connection.text_factory = text
        try:
            self._prepare()
        except BaseException:
            self._connection.close()
            raise

    def _rescue(self) -> None:
        """Put a store with the results that can be read in the place of a damaged one, which is kept."""
        aside, whole = (Path(f"{self.path}.{end}") for end in ("damaged", "rescued"))
        if aside.exists():
            raise StoreError(f"{aside}: is there already, so {self.path} cannot be kept under this name: move it away")
        results, lost = readable(self.path)
        whole.unlink(missing_ok=True)
        with ResultStore(whole) as store:
            store.put(*results)
        log, new_log = (Path(f"{path}-wal") for path in (self.path, aside))
        os.replace(self.path, aside)
        if log.exists() and log.stat().st_size:
            os.replace(log, new_log)
        for end in ("wal", "shm"):  # they would be taken for those of the new file
            Path(f"{self.path}-{end}").unlink(missing_ok=True)
        os.replace(whole, self.path)
        warnings.warn(
            InputWarning(
                f"{self.path}: was damaged: {counted(len(results), 'result', form=',')} kept, {lost:,} or more that "
                f"could not be read will be computed again; the damaged file is {aside}"
            ),
            stacklevel=3,
        )

    def _prepare(self) -> None:
        """Make the tables of a new file; refuse a file which is none of ours, or damaged."""
        with self._explained():
            version = self._version()
            if version:
                self._check_pages()
            # A switch to the log does not always wait for other processes that make it at the same time.
            until = time.monotonic() + _PATIENCE
            while True:
                try:
                    self._connection.execute("PRAGMA journal_mode = WAL")
                    break
                except sqlite3.OperationalError as error:
                    if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                        raise
                    time.sleep(0.01)
            self._connection.execute("PRAGMA synchronous = NORMAL")
            self._connection.execute("PRAGMA foreign_keys = ON")
        if version < SCHEMA:
            with self._transaction() as connection:
                version = self._version()  # another process may have been faster
                if version == 0:
                    for statement in _TABLES.split(";"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {_APPLICATION}")
                elif version < SCHEMA:
                    self._add_digests(connection)
                connection.execute(f"PRAGMA user_version = {SCHEMA}")
        self._each(check, self._query(f"SELECT {', '.join(COLUMNS)} FROM results"))

    def _check_pages(self) -> None:
        (found,) = self._connection.execute("PRAGMA integrity_check(1)").fetchone()
        if found != "ok":
            raise DamagedStoreError(self.path, " ".join(found.removeprefix("*** in database main ***").split()))

    def _add_digests(self, connection: sqlite3.Connection) -> None:
        """Change a file of version 2, whose rows have no digests."""
        connection.execute("ALTER TABLE results ADD COLUMN digest TEXT NOT NULL DEFAULT ''")
        for number, *values, _ in connection.execute(f"SELECT number, {', '.join(COLUMNS)} FROM results").fetchall():
            connection.execute("UPDATE results SET digest = ? WHERE number = ?", (digest(values), number))

    def _each(self, take: Callable[[tuple[Any, ...]], _Taken], rows: Iterable[tuple[Any, ...]]) -> list[_Taken]:
        """Return what a function makes of each row, all of which must be as they were written."""
        try:
            return [take(row) for row in rows]
        except ValueError as error:
            raise DamagedStoreError(self.path, str(error)) from None

    def _version(self) -> int:
        """Return the version of the tables, 0 where there are none."""
        # In one statement: between two of them another process may make the tables.
        version, application, tables = self._connection.execute(
            "SELECT user_version, application_id, (SELECT count(*) FROM sqlite_master) "
            "FROM pragma_user_version, pragma_application_id"
        ).fetchone()
        if application != _APPLICATION and (version or tables or application):
            raise StoreError(f"{self.path}: is no store of results, but a database of another program")
        if version == 1:
            raise StoreError(
                f"{self.path}: was written by an earlier version of cofactor, whose keys did not change with the code, "
                "so that its results may be those of other code: move it away, or give another name, and compute anew; "
                "the file was left as it is"
            )
        if version > SCHEMA:
            raise StoreError(
                f"{self.path}: was written by a newer version of cofactor (its tables have version {version}, this one "
                f"knows {SCHEMA}): update cofactor, or give another name; the file was left as it is"
            )
        return version

    def _query(self, query: str, *values: Any) -> list[Any]:
        with self._explained(), self._lock:
            return self._connection.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Do all of the block, or nothing."""
        with self._explained(), self._lock:
            try:  # here, since Ctrl-C may come right after the beginning
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:  # a full disk may have rolled it back already
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Say in words what SQLite reports."""
        try:
            yield
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_MISUSE) & 0xFF
            if code in _DAMAGE:
                raise DamagedStoreError(self.path, str(error)) from error
            raise StoreError(f"{self.path}: {_REASONS.get(code, str(error))}") from error

    def _beat(self) -> None:
        while not self._closed.wait(_BEAT):
            with contextlib.suppress(StoreError), self._transaction() as connection:
                connection.execute("UPDATE workers SET beat = ? WHERE id = ?", (time.time(), self._worker))


def _host() -> str:
    """Name where a process number means one process: the machine, since when it has been up, and the container."""
    parts = [socket.gethostname()]
    with contextlib.suppress(OSError):
        parts.append(Path("/proc/sys/kernel/random/boot_id").read_text().strip())
        parts.append(os.readlink("/proc/self/ns/pid"))
    return " ".join(parts)


def _started(pid: int) -> str:
    """Return when a process of this machine was started, in its clock ticks; empty if that cannot be found out.

    Process numbers are given again, but not with the same start.
    """
    try:
        state, *rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state in "ZX" else rest[18]  # killed, but its parent has not taken notice yet


class _Worker(NamedTuple):
    """What a process has noted about itself in the store."""

    id: str
    host: str
    pid: int
    started: str
    beat: float  #: when it last said that it lives

    def lives(self) -> bool:
        """Return whether the process lives still, as far as can be found out from here."""
        try:
            if self.started and self.host == _host():
                return _started(self.pid) == self.started
            return time.time() - self.beat < _SILENCE
        except (TypeError, ValueError):  # a damaged row
            return False
