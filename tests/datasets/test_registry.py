"""The registry: where sets are found, checksums, and downloads from a real server on this machine."""

import gzip
import hashlib
import io
import os
import shutil
import socket
import threading
import zipfile
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cofactor.datasets import (
    DatasetNotFoundError,
    available,
    cache_dir,
    fetch,
    find_file,
    load_movielens,
    locate,
    registry,
    verify,
)

RATINGS = b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n"
TITLES = "242|Kolya (1996)|x\n302|L.A. Confidential (1997)|x\n".encode("latin-1")


def make_zip(members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return buffer.getvalue()


GOOD_ZIP = make_zip({"ml-100k/": "", "ml-100k/u.data": RATINGS, "ml-100k/u.item": TITLES, "ml-100k/README": "terms"})


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.path)
        if self.path == "/hang.zip":
            self.server.release.wait(10)
            return
        body = self.server.files.get(self.path)
        if body is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if self.path == "/cut.zip" else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        running.files = {"/good.zip": GOOD_ZIP, "/cut.zip": GOOD_ZIP}
        running.requests = []
        running.release = threading.Event()
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.release.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """Empty cache, and no other place with data."""
    folder = tmp_path / "cache" / "cofactor"
    monkeypatch.setattr(registry, "cache_dir", lambda: folder)
    monkeypatch.delenv("COFACTOR_DATA", raising=False)
    return folder


@pytest.fixture
def source(monkeypatch):
    """Let ml-100k come from another address."""

    def set_source(url, archive=GOOD_ZIP):
        entry = replace(registry.KNOWN["ml-100k"], url=url, archive_sha256=hashlib.sha256(archive).hexdigest())
        monkeypatch.setitem(registry.KNOWN, "ml-100k", entry)

    return set_source


def address(server, path):
    return f"http://127.0.0.1:{server.server_port}{path}"


def leftovers(cache):
    """Files and folders below the parent of the cache, which does not exist before a test."""
    root = cache.parent
    return sorted(str(p.relative_to(root)) for p in root.rglob("*")) if root.exists() else []


# ------------------------------------------------------------------------------------------- local copies


def test_known_sets_verify(data_dir):
    for status in available():
        result = verify(status.name, data_dir)
        assert result.ok
        assert [f.status for f in result.files] == ["ok"] * len(result.files)


def test_md5_published_for_u_data(data_dir):
    path = find_file("ml-100k", "ratings", locate("ml-100k", data_dir))
    content = gzip.decompress(path.read_bytes())
    assert hashlib.md5(content).hexdigest() == "6e47046882bad158b0efbb84cd5cb987"
    assert hashlib.sha256(content).hexdigest() == registry.KNOWN["ml-100k"].files[0].sha256["u.data"]


def test_order_of_places(cache, tmp_path, monkeypatch):
    def put(folder):
        folder.mkdir(parents=True)
        (folder / "u.data").write_bytes(RATINGS)
        return folder

    root = tmp_path / "data"
    monkeypatch.setenv("COFACTOR_DATA", str(root))
    in_cache = put(cache / "movielens" / "ml-100k")
    assert locate("ml-100k") == in_cache == fetch("ml-100k")
    short = put(root / "ml-100k")
    assert locate("ml-100k") == short
    full = put(root / "movielens" / "ml-100k")
    assert locate("ml-100k") == full == fetch("ml-100k")
    assert {s.name: s.path for s in available()}["ml-100k"] == full


def test_a_stray_ratings_csv_in_the_root_is_no_data_set(cache, tmp_path, monkeypatch):
    (tmp_path / "ratings.csv").write_text("1,2,3\n")
    monkeypatch.setenv("COFACTOR_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError):
        locate("ml-latest-small")


def test_verify_tells_what_is_wrong(data_dir, tmp_path):
    source_folder = locate("ml-1m", data_dir)
    shutil.copy(source_folder / "ratings_no_timestamp.dat.gz", tmp_path)
    result = verify("ml-1m", tmp_path)
    assert [(f.status, f.required) for f in result.files] == [("ok", True), ("missing", False)]
    assert result.ok
    (tmp_path / "movies.dat").write_bytes((source_folder / "movies.dat").read_bytes()[:-1])
    result = verify("ml-1m", tmp_path)
    assert not result.ok
    titles = result.files[1]
    assert (titles.name, titles.status) == ("movies.dat", "different")
    assert titles.expected == "0140fc2356357c1a851d0f52e893a1e4d3696df632c4141cea8d5bc3d621f0b9" != titles.found


def test_verify_of_truncated_and_unknown_files(tmp_path):
    (tmp_path / "ratings.dat.gz").write_bytes(gzip.compress(b"1::2::3\n" * 50)[:-5])
    result = verify("ml-1m", tmp_path)
    assert not result.ok
    assert result.files[0].status == "unreadable"
    assert "cut short" in result.files[0].detail
    (tmp_path / "ratings.dat.gz").unlink()
    (tmp_path / "ratings.tsv").write_text("1\t2\t3\n")
    result = verify("ml-1m", tmp_path)
    assert (result.ok, result.files[0].status) == (False, "unknown")


def test_unknown_name():
    for function in (locate, fetch, verify):
        with pytest.raises(ValueError, match="'ml-10m' is not known; did you mean ml-1m, ml-100k"):
            function("ml-10m")


def test_missing_file_of_a_folder(tmp_path):
    assert find_file("ml-100k", "titles", tmp_path, required=False) is None
    with pytest.raises(DatasetNotFoundError, match=r"no titles in .*put u\.item \(plain or \.gz\) there"):
        find_file("ml-100k", "titles", tmp_path)


def test_message_names_both_places(cache, tmp_path, monkeypatch):
    with pytest.raises(DatasetNotFoundError) as caught:
        locate("ml-1m")
    text = str(caught.value)
    assert "put ratings.dat and movies.dat (plain or .gz)" in text
    assert "$COFACTOR_DATA/movielens/ml-1m (COFACTOR_DATA is not set)" in text
    assert str(cache / "movielens" / "ml-1m") in text
    assert "https://files.grouplens.org/datasets/movielens/ml-1m.zip" in text
    assert "\n" not in text
    monkeypatch.setenv("COFACTOR_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DatasetNotFoundError, match="nowhere, which is no folder"):
        locate("ml-1m")


def test_what_cannot_be_downloaded_says_so_at_once(cache):
    with pytest.raises(DatasetNotFoundError, match=r"put jester-data-1\.csv .*/jester_dataset_1_1\.zip"):
        fetch("jester-1")
    assert leftovers(cache) == []


def test_cache_follows_the_system_and_what_was_asked_for(monkeypatch, tmp_path):
    monkeypatch.setenv("COFACTOR_CACHE", str(tmp_path))
    assert cache_dir() == tmp_path
    monkeypatch.delenv("COFACTOR_CACHE")
    assert cache_dir().is_absolute()
    if os.name == "posix" and os.uname().sysname == "Linux":
        monkeypatch.setenv("XDG_CACHE_HOME", "/somewhere")
        assert str(cache_dir()) == "/somewhere/cofactor"


# ---------------------------------------------------------------------------------------------- downloads


def test_download(server, source, cache):
    source(address(server, "/good.zip"))
    folder = fetch("ml-100k")
    assert folder == cache / "movielens" / "ml-100k"
    assert (folder / "u.data").read_bytes() == RATINGS
    assert leftovers(cache) == [
        "cofactor",
        "cofactor/movielens",
        "cofactor/movielens/ml-100k",
        "cofactor/movielens/ml-100k/README",
        "cofactor/movielens/ml-100k/u.data",
        "cofactor/movielens/ml-100k/u.item",
    ]
    fetch("ml-100k")
    assert server.requests == ["/good.zip"]  # the second call finds it


def test_ratings_come_last_so_that_a_found_set_is_whole(server, source, cache, monkeypatch):
    moved = []

    def spy(old, new):
        moved.append(os.path.basename(new))
        shutil.move(old, new)

    monkeypatch.setattr(registry.os, "replace", spy)
    source(address(server, "/good.zip"))
    fetch("ml-100k")
    assert moved == ["README", "u.item", "u.data"]


def test_loader_downloads(server, source, cache):
    source(address(server, "/good.zip"))
    with pytest.raises(DatasetNotFoundError):
        load_movielens("100k", download=False)
    assert server.requests == []
    data = load_movielens("100k")
    assert data.X.tolist() == [[196, 242], [186, 302]]
    assert data.item_names[242] == "Kolya (1996)"


def test_progress(server, source, cache):
    class Bar:
        total = 0
        done = 0
        closed = False

        def update(self, n):
            self.done += n

        def reset(self):
            self.done = 0

        def close(self):
            self.closed = True

    bar = Bar()
    source(address(server, "/good.zip"))
    fetch("ml-100k", progress=bar)
    assert (bar.total, bar.done, bar.closed) == (len(GOOD_ZIP), len(GOOD_ZIP), True)


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        (
            "/good.zip",
            r"has sha256 [0-9a-f]{64} \(\d+ bytes\), expected [0-9a-f]{64}; .*nothing of it was kept",
        ),
        ("/cut.zip", "the connection broke before the archive was complete"),
        ("/none.zip", "the server answered 404"),
    ],
)
def test_failed_downloads_leave_nothing(path, reason, server, source, cache):
    source(address(server, path), archive=b"something else")
    with pytest.raises(DatasetNotFoundError, match=f"the download failed .*{reason}.*: put u.data and u.item"):
        fetch("ml-100k")
    assert leftovers(cache) == []
    assert server.requests == [path]


def test_server_gone(source, cache):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    source(f"http://127.0.0.1:{port}/good.zip")
    with pytest.raises(DatasetNotFoundError, match="no connection to the server"):
        fetch("ml-100k")
    assert leftovers(cache) == []


def test_silent_server_is_given_up(server, source, cache, monkeypatch):
    monkeypatch.setattr(registry, "TIMEOUT", (0.3, 0.3))
    source(address(server, "/hang.zip"))
    with pytest.raises(DatasetNotFoundError, match=r"no answer within 0\.3 seconds"):
        fetch("ml-100k")
    assert leftovers(cache) == []


def test_timeouts_are_short():
    assert max(registry.TIMEOUT) <= 10


@pytest.mark.parametrize(
    ("archive", "reason"),
    [
        (b"not a zip", "not a readable zip archive"),
        (make_zip({"other/u.data": RATINGS}), "holds no files in a folder 'ml-100k'"),
        (make_zip({"../u.data": RATINGS, "ml-100k/../../u.data": RATINGS}), "holds no files"),
    ],
)
def test_odd_archives(archive, reason, server, source, cache):
    server.files["/odd.zip"] = archive
    source(address(server, "/odd.zip"), archive=archive)
    with pytest.raises(DatasetNotFoundError, match=reason):
        fetch("ml-100k")
    assert leftovers(cache) == []


def test_archive_without_the_ratings(server, source, cache):
    archive = make_zip({"ml-100k/README": "x"})
    server.files["/odd.zip"] = archive
    source(address(server, "/odd.zip"), archive=archive)
    with pytest.raises(DatasetNotFoundError, match="put u.data"):
        fetch("ml-100k")


def test_download_completes_a_folder_with_titles_only(server, source, cache):
    folder = cache / "movielens" / "ml-100k"
    folder.mkdir(parents=True)
    (folder / "u.item").write_text("mine")
    source(address(server, "/good.zip"))
    assert fetch("ml-100k") == folder
    assert (folder / "u.item").read_bytes() == TITLES


def test_cache_which_cannot_be_made(source, server, tmp_path, monkeypatch, cache):
    blocker = tmp_path / "file"
    blocker.write_text("")
    monkeypatch.setattr(registry, "cache_dir", lambda: blocker / "cofactor")
    source(address(server, "/good.zip"))
    with pytest.raises(DatasetNotFoundError, match="cannot be made"):
        fetch("ml-100k")
    assert server.requests == []
