"""Frames and series of pandas, polars and Arrow, told apart from all else, and what can be read as one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from cofactor.checks import check_choice
from cofactor.errors import Argument, InvalidInputError
from cofactor.text import first_repeated
from cofactor.typing import Frame

#: Most of what models are given. Narwhals, which looks for all libraries that it knows, is not asked about these: that
#: takes a third of the time of a single prediction.
_PLAIN = (np.ndarray, list, tuple)
_FETCHED = 100_000  #: rows that a cursor gives at a time


def as_frame(value: Any, argument: str = "the frame") -> nw.DataFrame[Any] | None:
    """Return a frame that has its data in memory, in the form of narwhals; None if it is no frame.

    Parameters
    ----------
    value : object
    argument : str
        What messages call it.

    Examples
    --------
    >>> as_frame([("ann", "Up")]) is None
    True
    """
    if isinstance(value, _PLAIN):
        return None
    try:
        frame = nw.from_native(value, eager_only=True, pass_through=True)
    except nw.exceptions.DuplicateError:
        raise _repeated(getattr(value, "column_names", None) or value.columns, argument) from None
    return frame if isinstance(frame, nw.DataFrame) else None


def _repeated(names: Iterable[Any], argument: str = "the frame") -> InvalidInputError:
    return InvalidInputError(
        f"two columns of {argument} are called {first_repeated(map(str, names))!r}",
        advice="rename one of them, in a query with AS",
    )


def as_series(value: Any) -> nw.Series[Any] | None:
    """Return a series, in the form of narwhals; None if it is none.

    Parameters
    ----------
    value : object

    Examples
    --------
    >>> as_series([4.0, 5.0]) is None
    True
    """
    if isinstance(value, _PLAIN):
        return None
    if hasattr(value, "__arrow_c_array__") and not hasattr(value, "__arrow_c_stream__"):
        import pyarrow as pa

        value = pa.chunked_array([value]) if isinstance(value, pa.Array) else value
    series = nw.from_native(value, series_only=True, pass_through=True)
    return series if isinstance(series, nw.Series) else None


def as_array(column: nw.Series[Any]) -> NDArray[Any]:
    """Return the values of a column, decimals as numbers.

    Examples
    --------
    >>> import pyarrow as pa
    >>> words = pa.chunked_array([pa.array(["Up", None, "Heat"]).dictionary_encode()])
    >>> as_array(nw.from_native(words, series_only=True)).tolist()
    ['Up', None, 'Heat']
    """
    kind = column.dtype
    if isinstance(kind, nw.Decimal):
        column = column.cast(nw.Int64 if getattr(kind, "scale", None) == 0 else nw.Float64)
    native: Any = column.to_native()
    if isinstance(kind, nw.Categorical) and hasattr(native, "chunks"):  # of Arrow, which fills its nulls with others
        return native.cast(native.type.value_type).to_numpy()
    return column.to_numpy()


def ordered_codes(value: Any) -> tuple[list[Any], NDArray[Any]] | None:
    """Return the categories of an ordered categorical, and the place of each value among them, -1 for none.

    Parameters
    ----------
    value : object
        An ordered categorical of pandas, an Enum of polars, or an ordered dictionary of Arrow; None for anything else.

    Examples
    --------
    >>> import polars as pl
    >>> ordered_codes(pl.Series(["ok", "bad", None], dtype=pl.Enum(["bad", "ok", "good"])))
    (['bad', 'ok', 'good'], array([ 1,  0, -1]))
    """
    if hasattr(value, "categories") and hasattr(value, "codes"):  # of pandas, outside a series
        return (list(value.categories), np.asarray(value.codes)) if value.ordered else None
    series = as_series(value)
    if series is None or not isinstance(series.dtype, nw.Categorical | nw.Enum):
        return None
    column: Any = series.to_arrow()
    column = column.combine_chunks() if hasattr(column, "combine_chunks") else column
    if not column.type.ordered and not isinstance(series.dtype, nw.Enum):
        return None
    return column.dictionary.to_pylist(), column.indices.cast("int64").fill_null(-1).to_numpy(zero_copy_only=False)


def collect(X: Any, argument: str = "X") -> Any:
    """Return what gives a table when it is asked for as one in memory; anything else as it is.

    Parameters
    ----------
    X : object
        A lazy frame, which is collected; anything with ``__arrow_c_stream__``, such as a reader of record batches or a
        relation of DuckDB; a record batch or a data set of pyarrow; or a cursor of a database (DB-API) on which a query
        was executed.
    argument : str, default="X"
        What it was given as, for messages.

    Raises
    ------
    InvalidInputError
        If it cannot be read, or gives its rows once and has given them.

    Examples
    --------
    >>> import sqlite3
    >>> found = sqlite3.connect(":memory:").execute("SELECT 'ann' AS user, 'Up' AS item, 4 AS rating")
    >>> collect(found).to_pydict()
    {'user': ['ann'], 'item': ['Up'], 'rating': [4]}
    >>> collect([("ann", "Up")])
    [('ann', 'Up')]
    """
    if isinstance(X, _PLAIN) or as_frame(X, argument) is not None or as_series(X) is not None:
        return X
    kind = type(X).__name__
    is_cursor = hasattr(X, "fetchmany") and hasattr(X, "description")
    again = f"{'execute the query' if is_cursor else 'open it, or run its query,'} again, and pass what that returns"
    try:
        table = _table_of_cursor(X, argument) if is_cursor else _table_of(X)
    except (InvalidInputError, MemoryError):
        raise
    except Exception as error:  # of whatever library it is
        reason = next(iter(str(error).splitlines()), "") or type(error).__name__
        raise InvalidInputError(
            f"{argument} is a {kind} that cannot be read: {reason}", argument=argument, advice=again
        ) from error
    if table is None:
        return X
    gives_once = is_cursor or kind.endswith("Reader")
    if gives_once and not len(table):
        problem = f"{argument} is a {kind} without rows: it gives them once, and may have been read before"
        raise InvalidInputError(problem, argument=argument, advice=again)
    return table


def _table_of(X: Any) -> Any:
    """Return a table, or None for what is none."""
    if hasattr(X, "__arrow_c_stream__"):
        import pyarrow as pa

        reader = pa.RecordBatchReader.from_stream(X)
    elif hasattr(X, "__arrow_c_array__"):
        import pyarrow as pa

        return pa.Table.from_batches([pa.record_batch(X)])
    elif type(X).__module__.startswith("pyarrow") and hasattr(X, "to_batches"):  # a data set, or a scanner
        reader = (X.scanner() if hasattr(X, "scanner") else X).to_reader()
    else:
        lazy = nw.from_native(X, pass_through=True)
        return lazy.collect().to_native() if isinstance(lazy, nw.LazyFrame) else None
    import pyarrow as pa

    columns = [_Column(field.type) for field in reader.schema]
    for batch in reader:
        for column, piece in zip(columns, batch.columns, strict=True):
            column.add(piece)
    schema = reader.schema
    arrays = [pa.chunked_array(column.pieces(), field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


class _Column:
    """A column that comes in pieces: without nulls, numbers and times lie in one buffer, which grows where it is."""

    def __init__(self, kind: Any) -> None:
        import pyarrow.types as types

        self._kind, self._n, self._pieces = kind, 0, list[Any]()
        fixed = types.is_primitive(kind) and kind.bit_width in (8, 16, 32, 64)
        self._bits = f"uint{kind.bit_width}" if fixed else ""
        self._buffer = np.empty(0, dtype=self._bits or "uint8")

    def add(self, piece: Any) -> None:
        if self._bits and not piece.null_count:
            stop = self._n + len(piece)
            if stop > len(self._buffer):
                self._buffer.resize(max(stop, self._n + self._n // 8), refcheck=False)
            self._buffer[self._n : stop] = piece.view(self._bits).to_numpy()
            self._n = stop
            return
        self._pieces, self._bits = self.pieces(), ""
        self._pieces.append(piece)

    def pieces(self) -> list[Any]:
        """Return all that has come."""
        if not self._bits:
            return self._pieces
        import pyarrow as pa

        self._buffer.resize(self._n, refcheck=False)
        return [pa.array(self._buffer).view(self._kind)]


def _table_of_cursor(cursor: Any, argument: str) -> Any:
    """Return the rest of the rows of a cursor."""
    import pyarrow as pa

    if hasattr(cursor, "fetch_arrow_table"):  # those of ADBC and DuckDB
        return cursor.fetch_arrow_table()
    if cursor.description is None:
        raise InvalidInputError(
            f"{argument} is a {type(cursor).__name__} without a result",
            argument=argument,
            advice="execute a query that selects user, item and rating first"
            if argument == "X"
            else "execute a query first",
        )
    names = [column[0] for column in cursor.description]
    if first_repeated(names) is not None:
        raise _repeated(names)
    parts = [_table_of_rows(rows, names, argument) for rows in _fetched(cursor)]
    return pa.concat_tables(parts, promote_options="permissive") if parts else pa.table({name: [] for name in names})


def _fetched(cursor: Any) -> Iterator[list[Any]]:
    while rows := cursor.fetchmany(_FETCHED):
        yield rows


def _table_of_rows(rows: list[Any], names: list[str], argument: str) -> Any:
    import pyarrow as pa

    columns, plain = [], [tuple(row.values()) if isinstance(row, dict) else tuple(row) for row in rows]
    for name, values in zip(names, zip(*plain, strict=True), strict=True):
        try:
            columns.append(pa.array(values))
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0]
            raise InvalidInputError(
                f"column {name!r} of {argument} holds values of several kinds, or of an unknown one ({reason})",
                argument=argument,
                advice="cast it in the query, such as CAST(x AS TEXT)",
            ) from error
    return pa.Table.from_arrays(columns, names)


def frame_of(columns: Mapping[str, NDArray[Any]], kind: str) -> Frame:
    """Return columns as a frame, or table, of pandas, polars or pyarrow.

    Raises
    ------
    InvalidInputError
        If a column of polars or pyarrow, which has one type, were to hold several, such as ids of numbers and of texts.

    Examples
    --------
    >>> frame_of({"item": np.array(["Up"]), "score": np.array([2.0])}, "polars").columns
    ['item', 'score']
    """
    check_choice("kind", kind, ("pandas", "polars", "pyarrow"))
    plain = {name: column.tolist() for name, column in columns.items()}
    try:
        return nw.from_dict(plain, backend=cast(Any, kind)).to_native()
    except (TypeError, ValueError, OverflowError) as error:
        types = {
            name: sorted({type(one).__name__ for one in values if one is not None}) for name, values in plain.items()
        }
        found = (f"{name!r} holds {' and '.join(some)}" for name, some in types.items() if len(some) > 1)
        reason = next(found, next(iter(str(error).splitlines()), ""))
        raise InvalidInputError(
            f"a column of {kind} has one type, and {reason}",
            argument="kind",
            advice=(Argument("kind", "pandas"), " takes values of several; or give ids of one type to the fit"),
        ) from error
