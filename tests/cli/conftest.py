"""Small ratings, models fitted to them, and ways to run the command."""

from __future__ import annotations

import base64
import io
import json
import re
import sys
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack
from csv import DictReader
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import pytest
from tests.children import Command

from cofactor.cli import main
from cofactor.datasets import RatingDataset, make_ratings, write_table
from cofactor.kernels.cache import user_folder
from cofactor.progress import on_compile


@dataclass
class Outcome:
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What standard output says in JSON."""
        return json.loads(self.out)

    @property
    def json_lines(self) -> list[Any]:
        """What each line on standard output says in JSON."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def rows(self) -> list[dict[str, str]]:
        """The table on standard output, written as CSV."""
        return list(DictReader(io.StringIO(self.out)))

    @property
    def said(self) -> str:
        """What standard error says, as one line."""
        return " ".join(self.err.split())

    @property
    def error(self) -> str:
        """The one line on standard error."""
        (line,) = self.err.splitlines()
        assert line.startswith("cofactor: error: ")
        assert self.status == 2
        assert self.out == ""
        return line.removeprefix("cofactor: error: ")


Run = Callable[..., Outcome]
PNG = b"\x89PNG\r\n\x1a\n"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run a command inside this process."""

    def run(*arguments: object, stdin: bytes = b"") -> Outcome:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with on_compile(lambda: None):  # whether kernels were compiled before is chance
            status = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return Outcome(status, captured.out, captured.err)

    return run


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Command]]:
    """Start a command as a process of its own, in a folder of its own."""
    with ExitStack() as started:

        def start(*arguments: object, prepare: Callable[[], object] | None = None, **environment: str) -> Command:
            given = [str(argument) for argument in arguments]
            return started.enter_context(Command(given, tmp_path, {"COLUMNS": "80", **environment}, prepare))

        yield start


@pytest.fixture
def process(start: Callable[..., Command]) -> Run:
    """Run a command as a process of its own, to its end."""

    def process(*arguments: object, stdin: bytes = b"", **environment: str) -> Outcome:
        child = start(*arguments, **environment)
        out, err = child.communicate(stdin, timeout=120)
        assert child.returncode is not None
        return Outcome(child.returncode, out.decode(), err.decode())

    return process


@pytest.fixture(scope="session")
def data() -> RatingDataset:
    return make_ratings(60, 40, 3, density=0.4, random_state=0)


@pytest.fixture
def csv(data: RatingDataset, tmp_path: Path) -> Path:
    """The ratings with integer ids, as CSV with header."""
    path = tmp_path / "ratings.csv"
    write_table(path, {"user": data.X[:, 0], "item": data.X[:, 1], "rating": data.y})
    return path


@pytest.fixture
def named_csv(data: RatingDataset, tmp_path: Path) -> Path:
    """The same ratings with names for users, and other names of columns in another order."""
    path = tmp_path / "named.tsv"
    users = np.array([f"user {u:02}" for u in data.X[:, 0]], dtype=object)
    write_table(path, {"stars given": data.y, "film": data.X[:, 1], "who": users})
    return path


@pytest.fixture
def fit_once(run: Run, fits: dict[tuple[object, ...], bytes]) -> Callable[..., Path]:
    """Run ``fit`` with arguments and ``--out``; a fit of the same data that was run before is only written anew."""

    def fit_once(*arguments: object, out: Path) -> Path:
        key = tuple(argument.read_bytes() if isinstance(argument, Path) else argument for argument in arguments)
        if key in fits:
            out.write_bytes(fits[key])
        else:
            outcome = run("fit", *arguments, "--out", out)
            assert outcome.status == 0, outcome.err
            fits[key] = out.read_bytes()
        return out

    return fit_once


@pytest.fixture(scope="session")
def fits() -> dict[tuple[object, ...], bytes]:
    """Return the files of models that `fit_once` has fitted."""
    return {}


@pytest.fixture
def model(csv: Path, tmp_path: Path, fit_once: Callable[..., Path]) -> Path:
    return fit_once(csv, "--alpha", 3, "--factors", 5, out=tmp_path / "model.cofactor")


def _without_data(folder: Path) -> dict[str, str]:
    """Return the environment of a machine without data sets and without a network, but with its fonts and kernels."""
    dead, fonts = "http://127.0.0.1:9", matplotlib.get_cachedir()
    cache, data = str(folder / ".cache"), str(folder / ".data")
    kernels = folder / ".cache" / "cofactor" / "kernels"
    kernels.parent.mkdir(parents=True)
    user_folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    kernels.symlink_to(user_folder())
    places = {"COFACTOR_DATA": data, "XDG_CACHE_HOME": cache, "MPLCONFIGDIR": fonts}
    return {**places, "https_proxy": dead, "HTTPS_PROXY": dead}


class Page(HTMLParser):
    """Collects what a page refers to and shows, and checks that its tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.addresses: list[str] = []
        self.pictures: list[bytes] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "link", "img"):
            self.open.append(tag)
        for name, value in attrs:
            if name in ("src", "href", "action", "data", "srcset"):
                self.addresses.append(value or "")
        source = dict(attrs).get("src") or ""
        if tag == "img":
            self.pictures.append(base64.b64decode(source.removeprefix("data:image/png;base64,"), validate=True))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def _check_report(folder: Path, pictures: set[str], others: Collection[str] = ()) -> tuple[dict, Page]:
    """Check files, pictures and page; return results and page."""
    assert {path.name for path in folder.iterdir()} == pictures | {"report.html", "results.json", *others}
    text = (folder / "report.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.addresses
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert not re.search(r"url\(|@import|<script", text)
    assert 'name="viewport"' in text
    files = [(folder / name).read_bytes() for name in pictures]
    assert all(content.startswith(PNG) and content.endswith(b"IEND\xaeB`\x82") for content in files)
    assert sorted(page.pictures) == sorted(files)
    return json.loads((folder / "results.json").read_text()), page


@pytest.fixture
def without_data() -> Callable[[Path], dict[str, str]]:
    """Return the environment of a machine without data sets and without a network, whose home is a folder."""
    return _without_data


@pytest.fixture
def check_report() -> Callable[..., tuple[dict, Page]]:
    """Check the files, pictures and page of a report; return results and page."""
    return _check_report
