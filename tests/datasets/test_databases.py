"""Queries of SQLite, DuckDB and PostgreSQL, and tables written there; with a real server where initdb is found."""

import glob
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from tests.needs import LackingError
from tests.together import together

from cofactor.cli import main
from cofactor.datasets import load_labels, open_data, read_interactions, read_ratings, write_blocks, write_table
from cofactor.errors import InvalidInputError

SECRET = "s3cret@#x/"
WORD = "s3cret"
KINDS = ("sqlite", "duckdb", "postgresql")


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """Run a private PostgreSQL, and yield its address without password; a server may not run as root."""
    found = shutil.which("initdb") or next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))), None)
    if found is None:
        raise LackingError("PostgreSQL (on Debian, apt-get install postgresql)")
    who: dict[str, Any] = {"user": "postgres"} if os.getuid() == 0 else {}
    with tempfile.TemporaryDirectory(prefix="cofactor-pg-") as name:
        folder = Path(name)
        (folder / "password").write_text(SECRET)
        for path in (folder, folder / "password"):
            shutil.chown(path, **who) if who else None

        def run(program: str, *arguments: str) -> None:
            command = [str(Path(found or "").with_name(program)), *arguments]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL, cwd=folder, **who)

        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port = one.getsockname()[1]
        run("initdb", "-D", "data", "-A", "scram-sha-256", "-U", "shop", "--pwfile=password", "-N")
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        run("pg_ctl", "-D", "data", "-o", options, "-l", "log", "-w", "start")
        yield f"postgresql://shop@127.0.0.1:{port}/postgres"
        run("pg_ctl", "-D", "data", "-m", "immediate", "-w", "stop")


@pytest.fixture(params=KINDS)
def base(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the address of an empty database."""
    if request.param != "postgresql":
        return f"{request.param}:///{tmp_path}/shop.db"
    monkeypatch.setenv("PGPASSWORD", SECRET)
    address: str = request.getfixturevalue("server")
    execute(address, "drop schema public cascade", "create schema public")
    return address


def execute(address: str, *statements: str) -> list[Any]:
    """Run statements by other means than ours, and return the rows of the last one."""
    if address.startswith("postgresql"):
        from adbc_driver_postgresql import dbapi

        with dbapi.connect(address, autocommit=True) as server, server.cursor() as cursor:
            for one in statements:
                cursor.execute(one)
            return [tuple(row) for row in cursor.fetchall()] if cursor.description else []
    path = address.partition(":///")[2]
    connection: Any = sqlite3.connect(path) if address.startswith("sqlite") else duckdb.connect(path)
    for one in statements:
        rows = connection.execute(one).fetchall()
    if address.startswith("sqlite"):
        connection.commit()
    connection.close()
    return list(rows)


def ratings(address: str) -> None:
    rows = ", ".join(f"('u{u}', {i}, {1 + (u * i) % 5}, {10**6 * (u + 1)})" for u in range(8) for i in range(6))
    execute(
        address,
        'create table ratings (customer varchar(9), film bigint, stars decimal(3, 1), "time" bigint)',
        f"insert into ratings values {rows}",
    )


@pytest.fixture
def stocked(base: str) -> str:
    """Return the address of a database with a table of ratings."""
    ratings(base)
    return base


def test_a_query_is_read_as_a_file_of_it_is(stocked: str) -> None:
    query = 'select customer as "user", film as item, stars as rating, "time" from ratings where stars <> 2'
    data = read_ratings(open_data(stocked, query))
    assert data.X[:2].tolist() == [["u0", 0], ["u0", 1]]
    assert (data.scale.tolist(), data.n_ratings) == ([1, 3, 4, 5], 48 - int((data.y == 2).sum()) - (48 - len(data.y)))
    assert data.timestamps.tolist()[:2] == [10**6] * 2
    whole = read_ratings(f"{stocked}#ratings", rating="stars")
    assert (whole.n_ratings, whole.name.endswith("#ratings")) == (48, True)
    counts = read_interactions(
        open_data(stocked, "select customer as buyer, film as item, film + 1 as plays from ratings")
    )
    assert counts.y.max() == 6


def test_labels_are_columns_of_a_query(base: str) -> None:
    rows = ", ".join(f"({k}, {k % 3}.5, 'note {k % 2}', {k % 2}, null)" for k in range(12))
    kinds = "id integer, size decimal(5, 2), note varchar(20), tag integer, extra varchar(3)"
    execute(base, f"create table songs ({kinds})", f"insert into songs values {rows}")
    data = load_labels(open_data(base, "select id, size, note, tag from songs order by id"), ["tag"], id="id")
    assert data.ids.tolist() == list(range(12))
    assert data.feature_names == ("size", "note") or "size" in data.feature_names
    assert data.Y.toarray().ravel().tolist() == [0, 1] * 6


def test_times_with_a_zone_are_seconds(base: str) -> None:
    kind = {"sqlite": "text"}.get(base.partition(":")[0], "timestamptz")
    execute(
        base,
        f'create table r ("user" integer, item integer, rating integer, "time" {kind})',
        "insert into r values (1, 2, 3, '2024-01-01T01:00:00+02:00'), (2, 2, 4, '2024-01-01T00:00:00+00:00')",
    )
    assert read_ratings(f"{base}#r").timestamps.tolist() == [1704063600, 1704067200]


@together(
    ("query", "problem", "advice"),
    [
        (None, "does not say what to read", "ratings"),
        ("nothing", "nothing", "has ratings"),
        ("select 1 frm", "frm|syntax|1", "shell"),
        ("delete from ratings where film > 1", "(read.?only|not authorized)", "(shell|nothing else)"),
        ("select customer, film, stars from ratings where film < 0", "gives no rows", ""),
        ("select film as item, film as item, stars from ratings", "two columns are called item", "as"),
        (
            "select nullif(customer, 'u1') as \"user\", film as item, stars from ratings",
            "row 7.*no value",
            "is not null",
        ),
    ],
)
def test_what_cannot_be_read_says_what_to_do(stocked: str, query: str | None, problem: str, advice: str) -> None:
    with pytest.raises(InvalidInputError, match=f"(?s){problem}.*{advice}"):
        read_ratings(open_data(stocked, query))
    assert execute(stocked, "select count(*) from ratings") == [(48,)]


def test_a_column_of_several_kinds_is_cast_in_the_query(tmp_path: Path) -> None:
    base = f"sqlite:///{tmp_path}/shop.db"
    rows = ", ".join(f"({u}, {u % 3}, {u % 5}{'.5' if u == 69_000 else ''})" for u in range(70_000))
    execute(base, 'create table r ("user", item, stars)', f"insert into r values {rows}, ('ann', 1, 1), (null, 1, 1)")
    with pytest.raises(InvalidInputError, match="user.*cast"):
        read_ratings(f"{base}#r")
    wide = open_data(base, 'select cast("user" as text) as "user", item, stars from r where "user" is not null')
    assert read_ratings(wide).X[-1].tolist() == ["ann", 1]
    numbers = read_ratings(
        open_data(
            base,
            'select "user" + 3000000000 * ("user" = 7) as who, item, stars from r where typeof("user") = \'integer\'',
        ),
        user="who",
    )
    assert numbers.X[7, 0] == 3_000_000_007
    assert numbers.y[69_000] == 0.5


def test_tables_are_created_appended_to_and_replaced(base: str) -> None:
    table = {"user": ["ann", "bob"], "rank": [1, 2], "score": [0.5, np.nan]}
    write_table(f"{base}#lists", table)
    with pytest.raises(InvalidInputError, match=r"exists.*append.*replace"):
        write_table(f"{base}#lists", table)
    write_table(f"{base}?if_exists=append#lists", table)
    assert execute(base, "select count(*), count(score) from lists") == [(4, 2)]
    n_rows = write_blocks(f"{base}?if_exists=replace#lists", ({"user": [f"u{k}"], "rank": [k]} for k in range(3)))
    assert n_rows == 3
    assert execute(base, 'select "user", score from lists order by 1') == [("u0", None), ("u1", None), ("u2", None)]
    with pytest.raises(InvalidInputError, match=r"p_like.*nothing was written"):
        write_table(f"{base}?if_exists=replace#lists", {"p_like": [0.1]})
    assert execute(base, "select count(*) from lists") == [(3,)]


def test_nothing_is_written_where_the_work_fails(base: str) -> None:
    def failing() -> Iterator[dict[str, Any]]:
        yield {"user": ["ann"], "rank": [1]}
        raise InvalidInputError("the model fails")

    for _ in range(2):
        with pytest.raises(InvalidInputError, match="the model fails"):
            write_blocks(f"{base}#lists", failing())
    if not base.startswith("postgresql"):
        assert not Path(base.partition(":///")[2]).exists()
    write_table(f"{base}#lists", {"user": ["bob"], "rank": [2]})
    with pytest.raises(InvalidInputError, match="the model fails"):
        write_blocks(f"{base}?if_exists=replace#lists", failing())
    assert execute(base, "select * from lists") == [("bob", 2)]


def test_two_writers_of_one_table(base: str) -> None:
    """The second one says that the first one writes; where it had begun before, one of the two wins as a whole."""
    write_table(f"{base}#lists", {"user": ["ann"]})

    def late() -> Iterator[dict[str, Any]]:
        yield {"user": ["first"] * 3}
        if not base.startswith("duckdb"):  # which lets one program write
            write_table(f"{base}?if_exists=replace#lists", {"user": ["second"] * 2})
        yield {"user": ["first"]}

    write_blocks(f"{base}?if_exists=replace#lists", late())
    assert execute(base, "select * from lists") == [("first",)] * 4
    if base.startswith("sqlite"):
        other = sqlite3.connect(base.partition(":///")[2])
        other.execute("begin immediate")
        with pytest.raises(InvalidInputError, match=r"locked.*nothing was written"):
            write_table(f"{base}?if_exists=append#lists", {"user": ["x"]})
        other.close()


def test_a_database_that_may_only_be_read(base: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if base.startswith("duckdb"):
        return  # its files are read-only by the rights of the system alone, which root need not obey
    write_table(f"{base}#lists", {"user": ["ann"]})
    if base.startswith("postgresql"):
        monkeypatch.setenv("PGOPTIONS", "-c default_transaction_read_only=on")
    elif base.startswith("sqlite"):
        monkeypatch.setattr(sqlite3, "connect", _read_only(sqlite3.connect))
    with pytest.raises(InvalidInputError, match=r"read-?only.*nothing was written"):
        write_table(f"{base}?if_exists=append#lists", {"user": ["bob"]})


def _read_only(connect: Callable[..., Any]) -> Callable[..., Any]:
    return lambda name, **options: connect(name.replace("mode=rwc", "mode=ro"), **options)


def test_a_server_that_is_gone_midway(server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", SECRET)
    kill = "select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and usename = 'shop'"

    def dying() -> Iterator[dict[str, Any]]:
        yield {"user": ["first"] * 3}
        execute(server, kill)
        yield {"user": ["first"]}

    write_table(f"{server}#kept", {"user": ["ann"]})
    with pytest.raises(InvalidInputError, match=r"terminating connection.*nothing was written"):
        write_blocks(f"{server}?if_exists=replace#kept", dying())
    assert execute(server, "select * from kept") == [("ann",)]
    dies = "case g when 500000 then pg_terminate_backend(pg_backend_pid()) end"
    query = f'select g as item, g as "user", 1 + g % 5 as rating, {dies} as last from generate_series(1, 900000) g'
    with pytest.raises(InvalidInputError, match="terminat"):
        read_ratings(open_data(server, query))
    with pytest.raises(InvalidInputError, match=r"refused.*PGPASSWORD"):
        read_ratings("postgresql://shop@127.0.0.1:1/postgres#ratings")


def test_passwords_appear_nowhere(server: str, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PGPASSWORD", raising=False)
    written = "s3cret%40%23x%2F"
    address = server.replace("shop@", f"shop:{written}@")
    monkeypatch.setenv("PGPASSWORD", SECRET)
    execute(server, "drop table if exists ratings, top")
    ratings(server)
    monkeypatch.delenv("PGPASSWORD")
    query = ["--query", 'select customer as "user", film as item, stars from ratings']
    assert main(["fit", address, *query, "--model", "als", "--alpha", "1"]) == 0
    assert main(["recommend", "model.cofactor", "--all", "--include-seen", f"--out={address}", "--table", "top"]) == 0
    assert main(["predict", "model.cofactor", address, "--query", "top", "--json"]) == 0
    assert main(["predict", "model.cofactor", f"{address}#nothing"]) == 2
    assert main(["fit", address.replace("s3cret", "wrong"), *query]) == 2
    assert main(["fit", address.replace("%2F", "/"), *query]) == 2
    told = "".join(capsys.readouterr())
    assert "s3cret" not in told
    assert "wrong" not in told
    assert b"s3cret" not in Path("model.cofactor").read_bytes()
    with pytest.raises(InvalidInputError) as error:
        read_ratings(f"{address}#nothing")
    assert "s3cret" not in str(error.value)


def test_commands_read_and_write_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.chdir(tmp_path)
    shop = "sqlite:///shop.db"
    ratings(shop)
    execute(shop, "create table films (film, title)", "insert into films values (1, 'Up'), (2, 'Heat'), (3, 'M')")
    query = ["--query", 'select customer as "user", film as item, stars, "time" from ratings']
    assert main(["fit", shop, *query, "--model", "als", "--alpha", "1"]) == 0
    lists = ["recommend", "model.cofactor", "--all", "-n", "2", "--include-seen", "--out", shop, "--table", "lists"]
    assert main([*lists, "--titles", f"{shop}#films", "--candidates", f"{shop}#select film from films"]) == 0
    assert execute(shop, "select count(*), count(distinct title) from lists")[0][0] == 16
    assert main(lists) == 2
    assert main([*lists, "--if-exists", "replace"]) == 0
    assert main(["predict", "model.cofactor", f"{shop}#lists", "--out", f"{shop}#predicted"]) == 0
    assert execute(shop, "select count(*) from predicted") == [(16,)]
    query[1] = query[1].replace("stars", "6 - stars as stars")  # users have changed their minds
    assert main(["update", "model.cofactor", shop, *query, "--duplicates", "last"]) == 0
    assert main(["evaluate", shop, *query, "--model", "als", "--alpha", "1", "--splits", "1"]) == 0
    assert main(["shard", f"{shop}#ratings", "--out", "big"]) == 2
    assert "copy (select ...)" in capsys.readouterr().err
    for wrong in (
        ["fit", "ratings.csv", *query],
        ["predict", "model.cofactor", "pairs.csv", "--out", "x.csv", "--table", "lists"],
        ["fit", f"{shop}#ratings", "--out", shop],
        ["fit", "sqlite://shop.db#ratings"],
        ["fit", "sqlite:///none.db#ratings"],
        [*lists, "--if-exists", "perhaps"],
    ):
        assert main(wrong) == 2, wrong
        assert "cofactor: error: " in capsys.readouterr().err
    assert not Path("none.db").exists()


@pytest.mark.parametrize(
    ("kind", "query"),
    [
        ("sqlite", "attach 'other.db' as other"),
        ("sqlite", "vacuum into 'other.db'"),
        ("sqlite", "delete from ratings"),
        ("duckdb", "attach 'other.duckdb' as other"),
        ("duckdb", "copy (select 1) to 'other.txt'"),
        ("duckdb", "select 1; select * from ratings"),
    ],
)
def test_a_query_changes_nothing_and_makes_no_file(kind: str, query: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(f"{kind}:///shop.db#ratings", {"user": np.arange(3), "item": np.arange(3), "rating": np.ones(3)})
    with pytest.raises(InvalidInputError):
        read_ratings(open_data(f"{kind}:///shop.db", query))
    assert [path.name for path in tmp_path.iterdir()] == ["shop.db"]
    assert len(read_interactions(open_data(f"{kind}:///shop.db", "select user, item from ratings")).X) == 3


@together("query", ["drop table ratings", "select 1; drop table ratings", "commit; drop table ratings"])
def test_no_query_drops_a_table(stocked: str, query: str) -> None:
    with pytest.raises(InvalidInputError):
        read_ratings(open_data(stocked, query))
    assert execute(stocked, "select count(*) from ratings") == [(48,)]


@pytest.mark.parametrize(
    "address",
    [
        f"POSTGRESQL://ann:{WORD}@host/shop#ratings",
        f"postgresql+psycopg2://ann:{WORD}@host/shop#ratings",
        f"mysql://ann:{WORD}@host/shop#ratings",
        f"postgresql:/ann:{WORD}@host/shop",
        f" postgresql://ann:{WORD}@host/shop",
        f"host=here password={WORD}",
        f"sqlite://ann:{WORD}@/shop.db#ratings",
        f"postgres://ann:s@{WORD}@127.0.0.1:1/shop#ratings",
    ],
)
def test_no_address_shows_its_password_however_it_is_written(address: str) -> None:
    for ask in (read_ratings, open_data, lambda path: write_table(path, {"a": np.arange(3)})):
        with pytest.raises(InvalidInputError) as caught:
            read_ratings(ask(address))
        assert WORD not in f"{caught.value}"


def test_an_option_of_an_address_that_is_not_known(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="ifexists"):
        write_table(f"sqlite:///{tmp_path}/shop.db?ifexists=replace#lists", {"a": np.arange(3)})
    with pytest.raises(InvalidInputError, match="without blanks"):
        write_table(f"sqlite:///{tmp_path}/shop.db#two words", {"a": np.arange(3)})
