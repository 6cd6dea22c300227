"""Queries of SQLite, DuckDB and PostgreSQL, read as tables of Arrow in batches, and tables that are written there.

An address such as ``sqlite:///shop.db#ratings`` names a table, or has a query, after its ``#``. What is written becomes
a temporary table first; it takes its place in one short transaction, which fails as a whole.
"""

from __future__ import annotations

import os
import re
import sqlite3
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pyarrow import compute

from cofactor.datasets.readers.parquet import arrow_table
from cofactor.datasets.table import ArrowTable, TableOptions, numpy_of
from cofactor.errors import Argument, InvalidInputError, MissingPackageError, Place
from cofactor.files import IF_EXISTS, display_name, with_password
from cofactor.schema import Words
from cofactor.text import first_repeated

MODES = ("fail", "append", "replace")
_ROWS = 1 << 14  #: of a batch
_TEMPORARY = "cofactor_rows"
_STEP = 1 << 18  #: rows by which a column grows
_INT32 = 1 << 31
#: What SQLite may do for a query.
_READS = (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE)


class _Database(ABC):
    """A connection: what the three kinds of databases do in their own ways."""

    tables = "select table_name from information_schema.tables where table_schema not like '%_catalog' and "
    tables += "table_schema <> 'information_schema' order by 1"
    begin: tuple[str, ...] = ("begin",)  #: how the short transaction begins
    lock: tuple[str, ...] = ()  #: what lets nobody else write to a table, from here to the end of the transaction

    def __init__(self, connection: Any) -> None:
        self.connection = connection

    def run(self, statement: str) -> list[Any]:
        """Run a statement, and return its rows."""
        return list(self.connection.execute(statement).fetchall())

    def has(self, table: str) -> bool:
        """Return whether there is a table."""
        with suppress(*_errors()):
            self.run(f"select 1 from {table} where 1=0")
            return True
        self.rollback()  # PostgreSQL goes on only then
        return False

    def rollback(self) -> None:
        """End a transaction, if there is one."""
        with suppress(*_errors()):
            self.connection.rollback()

    @abstractmethod
    def batches(self, query: str) -> Iterable[Any]:
        """Return the rows of a query as record batches."""

    @abstractmethod
    def fill(self, rows: Any, *, first: bool) -> None:
        """Append a table of Arrow to the temporary one, which the first makes."""


class _Sqlite(_Database):
    tables = "select name from sqlite_master where type in ('table', 'view') order by name"
    begin = ("begin immediate",)

    def __init__(self, address: str, write: bool) -> None:
        uri = f"file:{quote(_path_of(address, write))}?mode={'rwc' if write else 'ro'}"
        super().__init__(sqlite3.connect(uri, uri=True, isolation_level=None))
        if not write:  # a connection for reading may still make other files
            allowed = dict.fromkeys(_READS, sqlite3.SQLITE_OK)
            self.connection.set_authorizer(lambda action, *_: allowed.get(action, sqlite3.SQLITE_DENY))

    def batches(self, query: str) -> Iterator[Any]:
        cursor = self.connection.execute(query)
        names = [column[0] for column in cursor.description or ()]
        while rows := cursor.fetchmany(_ROWS):
            columns = map(_column, names, zip(*rows, strict=True))
            yield pa.RecordBatch.from_arrays(list(columns), names)

    def fill(self, rows: Any, *, first: bool) -> None:
        of = pa.types
        if first:
            kinds = [
                "integer" if of.is_integer(kind) or of.is_boolean(kind) else "real" if of.is_floating(kind) else "text"
                for kind in rows.schema.types
            ]
            columns = ", ".join(map(" ".join, zip(map(_quoted, rows.schema.names), kinds, strict=True)))
            self.run(f"create temp table {_TEMPORARY} ({columns})")
        marks = ", ".join("?" * rows.num_columns)
        cells = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        self.connection.executemany(f"insert into {_TEMPORARY} values ({marks})", cells)


class _DuckDB(_Database):
    def __init__(self, address: str, write: bool) -> None:
        self.duckdb = _package("duckdb", "DuckDB needs")
        super().__init__(self.duckdb.connect(_path_of(address, write), read_only=not write))
        if not write:  # a connection for reading may still attach, or write, other files
            self.run("set enable_external_access = false")

    def batches(self, query: str) -> Iterable[Any]:
        if len(self.connection.extract_statements(query)) > 1:
            raise self.duckdb.ProgrammingError("there is more than one statement")
        relation = self.connection.sql(query)
        return () if relation is None else pa.RecordBatchReader.from_stream(relation)

    def fill(self, rows: Any, *, first: bool) -> None:
        self.connection.register("cofactor_block", rows)
        begin = f"create temp table {_TEMPORARY} as" if first else f"insert into {_TEMPORARY}"
        self.run(f"{begin} select * from cofactor_block")


class _PostgreSQL(_Database):
    begin = ("set local lock_timeout = '10s'",)  # a transaction is open from the first statement on
    lock = ("lock table {} in share row exclusive mode",)

    def __init__(self, address: str, write: bool) -> None:
        driver = _package("adbc_driver_postgresql.dbapi", "PostgreSQL needs")
        super().__init__(driver.connect(with_password(address)))
        self.cursor = self.connection.cursor()
        if not write:
            self.run("set transaction read only")

    def run(self, statement: str) -> list[Any]:
        self.cursor.execute(statement)
        return list(self.cursor.fetchall()) if self.cursor.description else []

    def batches(self, query: str) -> Iterable[Any]:
        self.cursor.execute(query)
        return self.cursor.fetch_record_batch()

    def fill(self, rows: Any, *, first: bool) -> None:
        self.cursor.adbc_ingest(_TEMPORARY, rows, mode="create" if first else "append", temporary=True)


_KINDS: dict[str, Any] = {"sqlite": _Sqlite, "duckdb": _DuckDB, "postgres": _PostgreSQL, "postgresql": _PostgreSQL}


def _package(name: str, purpose: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise MissingPackageError(name.partition(".")[0].replace("_", "-"), purpose, "sql") from None


def _path_of(address: str, write: bool) -> str:
    """Return the path of the file of a database; one that is written may be new."""
    kind, _, rest = IF_EXISTS.sub("", address).partition("://")
    file, mark, option = rest[1:].partition("?")
    path = os.path.expanduser(unquote(file))
    if not rest.startswith("/") or not path:
        example = f"write {kind}:///shop.db, and {kind}:////home/me/shop.db with the whole path"
        raise InvalidInputError("the address names no file after three slashes", advice=example)
    if mark:
        advice = "an address may have ?if_exists=append or ?if_exists=replace"
        raise InvalidInputError(f"not known: ?{option}", advice=advice, place=Place(path))
    if not (os.path.isdir(os.path.dirname(path) or ".") if write else os.path.isfile(path)):
        raise FileNotFoundError(f"{path}: no such {'folder' if write else 'file'}")
    return path


def _errors() -> tuple[type[Exception], ...]:
    """Return what drivers raise, those which are loaded: a connection that fails leaves nothing to ask."""
    drivers = [sys.modules[name].Error for name in ("duckdb", "adbc_driver_manager") if name in sys.modules]
    return (sqlite3.Error, pa.ArrowException, *drivers)


@contextmanager
def _connected(address: str, *, write: bool = False) -> Iterator[_Database]:
    """Connect to a database; what it complains of within the block names it, and says what to do."""
    base, place = address.partition("#")[0], Place(display_name(address))
    database: _Database | None = None
    path = None if base.startswith("postgres") or not write else _path_of(base, write)
    is_new = path is not None and not os.path.exists(path)
    try:
        database = _KINDS[base.partition("://")[0]](IF_EXISTS.sub("", base), write)
        yield database
        is_new = False
    except Exception as error:
        # Errors of a file say themselves what is wrong; that of a stream has no number.
        of_file = isinstance(error, OSError) and (error.errno or isinstance(error, FileNotFoundError))
        if of_file or not isinstance(error, (*_errors(), OSError)):
            raise
        found = re.search(r"(?:ERROR|FATAL):\s+(.*)", str(error)) or re.search("(.*)", str(error))
        reason = found[1] if found is not None else ""
        password = urlsplit(with_password(base)).password
        for secret in (password, unquote(password)) if password else ():
            reason = reason.replace(secret, "***")
        raise InvalidInputError(reason, advice=_advice(error, base, database, write), place=place) from None
    finally:
        if database is not None:
            database.connection.close()
        if path is not None and is_new:
            Path(path).unlink(missing_ok=True)  # nothing is left of what failed


def _advice(error: Exception, base: str, database: _Database | None, write: bool) -> str:
    if database is None and base.startswith("postgres"):
        return "is there such a database? The password of a server may stand in PGPASSWORD or ~/.pgpass"
    if database is None:
        return "is it a file of this kind of database, and does no other program have it open?"
    if re.search("not authorized|authorization denied|Permission Error", str(error)):
        return "a query reads its own database, and does nothing else"
    if re.search("is locked|lock timeout", str(error)):
        return "another program writes to it, and nothing was written: run it again when that has ended"
    if write:
        return "nothing was written: mend that, or name another table or database, and run it again"
    if isinstance(error, pa.ArrowException):
        return "a column must hold values of one kind: make it so in the query, such as cast(item as text) as item"
    tables: list[str] = []
    if re.search("no such table|does not exist", str(error)):
        database.rollback()
        with suppress(*_errors()):
            tables = [row[0] for row in database.run(database.tables)]
    there = f"; the database has {', '.join(tables[:10])}" if tables else ""
    return f"try the query in the shell of the database{there}"


def read_query(address: str, options: TableOptions) -> ArrowTable:
    """Read what a query gives, or a table, in batches.

    Parameters
    ----------
    address : str
        With the query, or the name of a table, after ``#``.
    options : TableOptions
        Only `content` is used.

    Raises
    ------
    InvalidInputError
        If there is no such table, the query or the connection fails, or there are no rows.
    """
    name, query = display_name(address), address.partition("#")[2].strip()
    place = Place(name)
    with _connected(address) as database:
        if not query:
            tables = [row[0] for row in database.run(database.tables)]
            what = f"it has the tables {', '.join(tables[:10])}" if tables else "it has no tables"
            advice = ("give the name of a table after #, or a query with ", Argument("query"), f"; {what}")
            raise InvalidInputError("the address does not say what to read", advice=advice, place=place)
        if not re.search(r"\s", query):
            query = f"select * from {_quoted(query)}"
        columns: dict[str, _Growing] = {}
        for batch in database.batches(query):
            twice = first_repeated(batch.schema.names)
            if twice is not None:
                raise InvalidInputError(f"two columns are called {twice}", advice="rename one with as", place=place)
            for field, column in zip(batch.schema, batch.columns, strict=True):
                columns.setdefault(field.name, _Growing()).append(_plain(field, column))
        table = pa.table({name: columns.pop(name).whole(name) for name in list(columns)})
    if not table.num_rows:
        raise InvalidInputError(f"the query gives no rows, expected rows with {options.content}", place=place)
    return _QueryTable(name, table)


class _Growing:
    """A column that grows: numbers without gaps in one block, of which there is never a second one, others in parts."""

    def __init__(self) -> None:
        self.block: NDArray[Any] = np.empty(0, dtype=np.int32)
        self.parts: list[Any] = []
        self.n = 0

    def append(self, column: Any) -> None:
        """Append an array of Arrow."""
        end = self.n + len(column)
        if self.parts or column.null_count or column.type not in (pa.int32(), pa.int64(), pa.float64()):
            if self.n:
                self.parts, self.n = [self.whole("")], 0
            self.parts.append(column)
            return
        values = numpy_of(column)
        if values.dtype != self.block.dtype:
            self.block = self.block.astype(np.result_type(self.block, values))
        if end > len(self.block):
            self.block.resize(end + _STEP, refcheck=False)  # moves pages, not what is in them
        self.block[self.n : end] = values
        self.n = end

    def whole(self, name: str) -> Any:
        """Return all of it, once."""
        if not self.parts:
            self.block.resize(self.n, refcheck=False)
            return pa.array(self.block)
        tables = [pa.table({name: part}) for part in self.parts]
        return pa.concat_tables(tables, promote_options="permissive").column(0)


class _QueryTable(ArrowTable):
    """Rows of a query, which can be mended there."""

    def ids(self, position: int) -> NDArray[Any] | Words:
        """Return integers as they are, or text."""
        column = self.column(position)
        narrow = pa.types.is_integer(column.type) and column.type != pa.uint64()
        return numpy_of(column) if narrow else super().ids(position)

    def column(self, position: int) -> Any:
        """Return a column without gaps; a missing value is an error."""
        try:
            return super().column(position)
        except InvalidInputError as error:
            advice = f"leave such rows out of the query: where {self.table.schema.names[position]} is not null"
            raise InvalidInputError(error.problem, advice=advice, place=error.place) from None

    def _type_error(self, position: int, expected: str) -> InvalidInputError:
        error = super()._type_error(position, expected)
        return InvalidInputError(error.problem, advice="cast it in the query", place=error.place)


def _column(name: str, cells: tuple[Any, ...]) -> Any:
    """Return cells of SQLite, where each has its own type, as an array."""
    try:
        return pa.array(cells)
    except pa.ArrowException as error:
        raise pa.ArrowInvalid(f"column {name!r}: {error}") from None


def _plain(field: Any, column: Any) -> Any:
    """Return decimals as floats, and integers in 32 bits if they fit."""
    if pa.types.is_decimal(field.type) or (field.metadata or {}).get(b"ADBC:postgresql:typname") == b"numeric":
        return getattr(column, "storage", column).cast(pa.float64())
    if pa.types.is_int64(field.type) and column.null_count < len(column):
        ends = compute.min_max(column).as_py()
        if ends["min"] >= -_INT32 and ends["max"] < _INT32:
            return column.cast(pa.int32())
    return column


def _quoted(name: str) -> str:
    """Return a name, perhaps of a schema and a table in it, as SQL quotes it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in name.split("."))


def _target(address: str) -> tuple[str, str]:
    """Return the table to write to, quoted, and what becomes of one that exists."""
    base, _, table = address.partition("#")
    found = IF_EXISTS.search(base)
    mode = "fail" if found is None else found[1]
    if mode not in MODES:
        expected = f"expected one of {', '.join(map(repr, MODES))}"
        raise InvalidInputError("not known", argument="if_exists", found=mode, advice=expected)
    if not table or re.search(r"\s", table):
        advice = ("name it without blanks, with ", Argument("table"), ", or after #: sqlite:///shop.db#lists")
        raise InvalidInputError("does not say which table to write", advice=advice, place=Place(display_name(base)))
    return _quoted(table), mode


def _exists(database: _Database, table: str, mode: str, address: str) -> bool:
    """Return whether a table exists; refuse one that is to be made."""
    there = database.has(table)
    if there and mode == "fail":
        choices = (Argument("if_exists", "append"), " or ", Argument("if_exists", "replace"))
        advice = ("say what becomes of its rows, ", *choices, ", or name another table")
        raise InvalidInputError("the table exists", advice=advice, place=Place(display_name(address)))
    return there


def check_target(address: str) -> None:
    """Refuse a table that cannot be written, before the work begins."""
    table, mode = _target(address)
    base = address.partition("#")[0]
    if not base.startswith("postgres") and not os.path.exists(_path_of(base, write=True)):
        return  # it is made when there is something to write
    with _connected(address, write=True) as database:
        there = _exists(database, table, mode, address)
        probe = f"delete from {table} where 1=0" if there else f"create table {table} (a integer)"
        for statement in (*database.begin, *(() if there and mode == "append" else (probe,))):
            database.run(statement)
        database.rollback()


def write_blocks(address: str, blocks: Iterable[Mapping[str, NDArray[Any]]]) -> int:
    """Write blocks of rows to a table, in one transaction; return the number of rows.

    Parameters
    ----------
    address : str
        With the name of the table after ``#``, and perhaps ``?if_exists=append`` or ``replace`` before it. Replaced are
        its rows: its columns, rights and indexes stay.
    blocks : iterable of mapping from name to array
        At least one.
    """
    table, mode = _target(address)
    n_rows, schema, columns = 0, None, ""
    with _connected(address, write=True) as database:
        there = _exists(database, table, mode, address)
        for block in blocks:
            rows = arrow_table(block, schema, "a database", nulls=True)
            if schema is None:
                columns = ", ".join(map(_quoted, rows.schema.names))
                if there:
                    wanted = ", ".join(f"{table}.{_quoted(name)}" for name in rows.schema.names)
                    database.run(f"select {wanted} from {table} where 1=0")  # it must have them
            database.fill(rows, first=schema is None)
            n_rows, schema = n_rows + rows.num_rows, rows.schema
        made = (*(one.format(table) for one in database.lock), f"delete from {table}")
        made = made if there else (f"create table {table} as select * from {_TEMPORARY} where 1=0",)
        insert = f"insert into {table} ({columns}) select {columns} from {_TEMPORARY}"
        for statement in (*database.begin, *(made if mode == "replace" or not there else ()), insert):
            database.run(statement)
        database.connection.commit()
    return n_rows
