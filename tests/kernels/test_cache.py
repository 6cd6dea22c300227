"""Compiled kernels on disk: shared where they are the same, and never wrong, whatever lies in the folder.

Each program here is a process of its own, which finds a copy of the package with two kernels more: one calls the other,
which is in another file.
"""

import json
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import cofactor

pytestmark = [
    pytest.mark.processes,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks, not to import Numba for each program"),
]

CALLEE = """
from cofactor.kernels.compile import kernel
@kernel
def multiple(x):
    return {factor} * x
"""
CALLER = """
import time
from cofactor.kernels.callee import multiple
from cofactor.kernels.compile import exact, kernel
@{decorator}
def one_more(x):
    return multiple(x) + 1
def times(n):
    @kernel
    def product(x):
        return n * x
    return product
def work(seconds):
    began = time.perf_counter()
    for n in range(2, 1000):
        if time.perf_counter() - began < seconds:
            times(n)(2.0)
"""
#: A program of one kernel; that of `run` has two.
ONE = "caller.times(3)(2)"
#: Of which processor kernels are that come with the package.
BUILT_FOR = {"NUMBA_CPU_NAME": "x86-64-v3", "NUMBA_CPU_FEATURES": ""}
#: Runs programs, each in a fork of itself, as it is told by lines of JSON.
SERVER = """
import json, os, resource, sys, tempfile
from contextlib import nullcontext
import numba, numpy
sys.dont_write_bytecode = True  # Python compares seconds: it would not see a source that is written twice in one
numba.njit(lambda x: x + 1)(1)  # begins with what every first kernel takes
for line in sys.stdin:
    task = json.loads(line)
    output, errors = tempfile.TemporaryFile("w+"), tempfile.TemporaryFile("w+")
    children = []
    for _ in range(task["copies"]):
        children.append(os.fork())
        if children[-1] == 0:
            os.environ.clear()
            os.environ.update(task["environment"])
            os.dup2(errors.fileno(), 2)
            if task["largest"] is not None:
                resource.setrlimit(resource.RLIMIT_FSIZE, (task["largest"], task["largest"]))
            numba.config.reload_config()
            sys.path.insert(0, task["package"])
            from cofactor import progress
            from cofactor.kernels import cache, caller
            with nullcontext() if task["told"] else progress.on_compile(lambda: None):
                value = eval(task["program"])
            os.write(output.fileno(), (json.dumps([value, *cache.counts()]) + "\\n").encode())
            os._exit(0)
    status = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    output.seek(0), errors.seek(0)
    print(json.dumps([status, [json.loads(one) for one in output], errors.read()]), flush=True)
"""


@dataclass
class Copy:
    """A copy of the package, and programs that use it."""

    folder: Path
    kept: Path
    server: Any

    def write(self, *, factor: int = 2, decorator: str = "kernel") -> None:
        kernels = self.folder / "cofactor" / "kernels"
        (kernels / "callee.py").write_text(CALLEE.format(factor=factor))
        (kernels / "caller.py").write_text(CALLER.format(decorator=decorator))

    def run_all(
        self, program: str, copies: int = 1, *, told: bool = False, largest: int | None = None, **environment: str
    ) -> tuple[list[list[Any]], str]:
        """Return what each of several equal programs, at once, has found, and what they have said."""
        task = {
            "package": str(self.folder),
            "program": program,
            "copies": copies,
            "told": told,
            "largest": largest,
            "environment": {"PATH": os.environ["PATH"], "COFACTOR_CACHE": str(self.kept), **environment},
        }
        print(json.dumps(task), file=self.server.stdin, flush=True)
        status, found, errors = json.loads(self.server.stdout.readline())
        assert status == [0] * copies, errors
        return found, errors

    def run(self, program: str = "caller.one_more(3)", **options: Any) -> tuple[Any, dict[str, int], str]:
        """Return the value of an expression, how many kernels came from where, and what was said."""
        (found,), errors = self.run_all(program, **options)
        value, prebuilt, cached, compiled = found
        return value, {"cached": prebuilt + cached, "compiled": compiled}, errors


@contextmanager
def serving(**environment: str) -> Iterator[Any]:
    """Start a server, for a processor that Numba takes from the environment."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", SERVER], text=True, env=os.environ | environment, **pipes) as process:
        yield process
        process.stdin.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    with serving() as process:
        yield process


@pytest.fixture
def new_copy(tmp_path: Path, server: Any) -> Callable[[str], Copy]:
    def make(name: str) -> Copy:
        source = Path(cofactor.__file__).parent
        for part in ("kernels", "__pycache__", "*.py"):  # with their times, by which Python knows what is compiled
            for path in source.glob(part):
                target = tmp_path / name / "cofactor" / path.name
                if path.is_dir():
                    shutil.copytree(path, target, ignore=shutil.ignore_patterns("prebuilt"))
                else:
                    shutil.copy2(path, target)
        copy = Copy(tmp_path / name, tmp_path / "kept", server)
        copy.write()
        return copy

    return make


@pytest.fixture
def copy(new_copy: Callable[[str], Copy]) -> Copy:
    return new_copy("one")


@pytest.fixture(scope="module")
def building() -> Iterator[Any]:
    with serving(**BUILT_FOR) as process:
        yield process


@pytest.fixture
def prebuilt(copy: Copy, building: Any) -> Path:
    """Put kernels into the package, as a wheel has them."""
    folder = copy.folder / "cofactor" / "kernels" / "prebuilt"
    Copy(copy.folder, copy.kept, building).run(ONE, **BUILT_FOR)
    (copy.kept / "kernels").rename(folder)
    return folder


def files_of(copy: Copy) -> list[Path]:
    return sorted((copy.kept / "kernels").iterdir())


def test_clones_share_what_is_the_same(new_copy: Callable[[str], Copy]) -> None:
    one, other = new_copy("one"), new_copy("other")
    assert one.run() == (7, {"cached": 0, "compiled": 2}, "")
    assert other.run() == (7, {"cached": 1, "compiled": 0}, "")


def test_a_changed_callee_or_option_compiles_anew(copy: Copy) -> None:
    copy.run()
    copy.write(factor=5)  # in another file than the kernel that is called
    assert copy.run() == (16, {"cached": 0, "compiled": 2}, "")
    copy.write(factor=5, decorator="exact")
    assert copy.run()[:2] == (16, {"cached": 1, "compiled": 1})  # the callee is the same
    copy.write()
    assert copy.run()[:2] == (7, {"cached": 1, "compiled": 0})
    assert copy.run(ONE)[1] == {"cached": 0, "compiled": 1}
    for options in ({"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "1"}):
        assert copy.run(ONE, **options)[:2] == (6, {"cached": 0, "compiled": 1})


def test_kernels_of_one_factory_keep_apart(copy: Copy) -> None:
    for n in (2, 3):  # each is the first one of its process
        assert copy.run(f"caller.times({n})(2)")[0] == 2 * n
    assert copy.run("[caller.times(n)(2) for n in (2, 3, 2)]") == ([4, 6, 4], {"cached": 2, "compiled": 0}, "")


def test_many_processes_at_once(copy: Copy) -> None:
    found, errors = copy.run_all(ONE, copies=4)
    assert ([value for value, *_ in found], errors) == ([6] * 4, "")
    assert len(files_of(copy)) == 1
    assert copy.run(ONE)[1] == {"cached": 1, "compiled": 0}


def test_a_damaged_file_is_compiled_anew(copy: Copy) -> None:
    copy.run("caller.times(2)(2)")
    (other,) = files_of(copy)
    copy.run(ONE)
    (path,) = set(files_of(copy)) - {other}
    own = path.read_bytes()
    middle = len(own) // 2
    changed = own[:middle] + bytes([own[middle] ^ 1]) + own[middle + 1 :]
    harms = {"cut": own[:middle], "changed": changed, "empty": b"", "header": b"\xff" + own}
    for harm, contents in {**harms, "swapped": other.read_bytes()}.items():
        path.write_bytes(contents)
        value, counts, errors = copy.run(ONE)
        assert (value, counts) == (6, {"cached": 0, "compiled": 1}), harm
        assert len(errors.splitlines()) == 1
        assert str(path) in errors
        assert errors.strip().endswith("it is that of another kernel" if harm == "swapped" else "it is damaged")
        assert copy.run(ONE)[1:] == ({"cached": 1, "compiled": 0}, "")


def test_the_folder_is_the_one_that_was_asked_for(copy: Copy, tmp_path: Path) -> None:
    numba, home = tmp_path / "numba", tmp_path / "home"
    copy.run(ONE, COFACTOR_CACHE="", NUMBA_CACHE_DIR=str(numba))
    copy.run(ONE, COFACTOR_CACHE="", HOME=str(home), XDG_CACHE_HOME=str(home / "caches"))
    copy.run(ONE)
    for folder in (numba / "cofactor", home / "caches" / "cofactor" / "kernels", copy.kept / "kernels"):
        assert len(list(folder.iterdir())) == 1
    assert not list(copy.folder.rglob("*.nbi"))


@pytest.mark.parametrize("where", ["not there", "a file"])
def test_without_a_folder_each_process_compiles(copy: Copy, tmp_path: Path, where: str) -> None:
    (tmp_path / "file").touch()
    home = {"not there": "/proc/nowhere", "a file": str(tmp_path / "file")}[where]
    for _ in range(2):
        value, counts, errors = copy.run(ONE, COFACTOR_CACHE="", HOME=home, XDG_CACHE_HOME="")
        assert (value, counts) == (6, {"cached": 0, "compiled": 1})
        assert len(errors.splitlines()) == 1
        assert home in errors
        assert "COFACTOR_CACHE" in errors


def test_a_full_disk_leaves_nothing_behind(copy: Copy) -> None:
    value, counts, errors = copy.run(ONE, largest=1000)
    assert (value, counts, len(errors.splitlines())) == (6, {"cached": 0, "compiled": 1}, 1)
    assert files_of(copy) == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can give files away")
def test_what_others_may_have_written_is_not_read(copy: Copy) -> None:
    copy.run(ONE)
    folder, others = copy.kept / "kernels", 12345
    for forged in ("folder", "file", "open folder"):
        given = [folder] if forged == "folder" else files_of(copy) if forged == "file" else []
        for path in given:
            os.chown(path, others, others)
        folder.chmod(0o777 if forged == "open folder" else 0o700)
        value, counts, errors = copy.run(ONE)
        assert (value, counts) == (6, {"cached": 0, "compiled": 1}), forged
        assert len(errors.splitlines()) == 1
        assert str(folder) in errors
        for path in given:
            os.chown(path, os.geteuid(), os.getegid())


@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels are built ahead for these")
@pytest.mark.usefixtures("prebuilt")
def test_kernels_that_came_with_the_package(copy: Copy) -> None:
    assert copy.run_all(ONE) == ([[6, 1, 0, 0]], "")
    assert list(copy.kept.iterdir()) == []
    assert copy.run_all(ONE, COFACTOR_PREBUILT="0") == ([[6, 0, 0, 1]], "")
    assert copy.run_all(ONE, NUMBA_CPU_NAME="nehalem", NUMBA_CPU_FEATURES="") == ([[6, 0, 0, 1]], "")
    assert copy.run_all("[caller.times(n)(2) for n in (2, 3)]") == ([[[4, 6], 1, 0, 1]], "")  # kernel by kernel


@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels are built ahead for these")
def test_a_damaged_kernel_of_the_package_is_compiled_once(copy: Copy, prebuilt: Path) -> None:
    (path,) = prebuilt.glob("*.kernel")
    path.write_bytes(path.read_bytes()[:-1])
    for kept in ([6, 0, 0, 1], [6, 0, 1, 0]):
        found, errors = copy.run_all(ONE)
        assert found == [kept]
        assert str(path) in errors
        assert len(errors.splitlines()) == 1


@pytest.mark.skipif(platform.machine() != "x86_64", reason="kernels are built ahead for these")
def test_kernels_of_another_compiler_are_compiled_here(copy: Copy, prebuilt: Path) -> None:
    (path,) = prebuilt.glob("*.kernel")
    header, _, contents = path.read_bytes().partition(b"\n")
    about = json.loads(header)
    about["compiler"]["Numba"], about["name"] = "0.1", "other"
    (prebuilt / "other.kernel").write_bytes(json.dumps(about).encode() + b"\n" + contents)
    path.unlink()
    value, counts, errors = copy.run(ONE)
    assert (value, counts) == (6, {"cached": 0, "compiled": 1})
    assert len(errors.splitlines()) == 1
    assert "Numba 0.1" in errors


def test_compilation_is_told_once_it_takes_a_second(copy: Copy) -> None:
    assert copy.run("caller.times(2)(2)", told=True)[0] == 4
    _, counts, errors = copy.run("caller.work(1.8)", told=True)
    assert counts["compiled"] > 0
    assert 1 <= len(errors.splitlines()) < 4
    assert "cofactor doctor --compile" in errors.splitlines()[0]
