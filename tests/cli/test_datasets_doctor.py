"""datasets and doctor."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from cofactor.cli import doctor
from cofactor.kernels import cache
from cofactor.labels import PLST


def test_list(run, data_dir: Path) -> None:
    found = {status["name"]: status for status in run("datasets", "list", "--json").json}
    assert found["ml-100k"]["path"] == str(data_dir / "movielens" / "ml-100k")
    text = run("datasets", "list").out
    assert "ml-100k  here" in text
    assert str(data_dir / "movielens" / "ml-100k") in text


def test_path(run, data_dir: Path) -> None:
    assert run("datasets", "path", "ml-1m").out == f"{data_dir / 'movielens' / 'ml-1m'}\n"
    assert run("datasets", "path", "ml-9").error.startswith("data set 'ml-9' is not known; expected one of ml-100k")


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without data sets and without a network."""
    for name, value in nowhere_variables(tmp_path).items():
        monkeypatch.setenv(name, value)
    return tmp_path


def nowhere_variables(folder: Path) -> dict[str, str]:
    dead = "http://127.0.0.1:9"
    return {
        "COFACTOR_DATA": str(folder / "data"),
        "XDG_CACHE_HOME": str(folder / "cache"),
        "https_proxy": dead,
        "HTTPS_PROXY": dead,
    }


@pytest.mark.parametrize("command", ["path", "fetch"])
def test_a_missing_set_says_what_to_put_where(run, nowhere: Path, command: str) -> None:
    error = run("datasets", command, "ml-100k").error
    assert "put u.data and u.item (plain or .gz) from" in error
    assert str(nowhere / "data" / "movielens" / "ml-100k") in error
    assert "demo-report/movies.csv" in error
    assert ("download failed" in error) == (command == "fetch")
    assert list(nowhere.iterdir()) == []


def test_fetch_of_what_is_here(run, data_dir: Path) -> None:
    outcome = run("datasets", "fetch", "ml-100k")
    assert outcome.out == f"{data_dir / 'movielens' / 'ml-100k'}\n"
    assert "research use" in outcome.err


def test_verify(run, data_dir: Path, nowhere: Path) -> None:
    folder = nowhere / "data" / "ml-100k"
    folder.mkdir(parents=True)
    assert run("datasets", "verify").out.startswith("No known data set is on this machine")
    for name in ("u.data.gz", "u.item"):
        shutil.copy(data_dir / "movielens" / "ml-100k" / name, folder / name)
    good = run("datasets", "verify", "ml-100k", "--json")
    assert (good.status, good.json[0]["ok"]) == (0, True)
    with (folder / "u.item").open("ab") as stream:
        stream.write(b"x")
    bad = run("datasets", "verify")
    assert bad.status == 1
    assert "u.item: different" in bad.out
    assert "expected sha256 553841ebc7de3a0f" in bad.out


@pytest.mark.evidence
@pytest.mark.processes
def test_doctor_finds_all_well(process) -> None:
    outcome = process("doctor")
    assert outcome.status == 0, outcome.out
    assert "objective 406.3068, expected 406.3068" in outcome.out
    assert "same to the bit with 1 and 2 threads" in outcome.out
    assert "All is well." in outcome.out


def test_doctor_for_machines(run) -> None:
    found = run("doctor", "--json").json
    assert found["ok"] is True
    names = {(check["group"], check["name"]) for check in found["checks"]}
    assert {
        ("Versions", "numba"),
        ("Caches", "compiled kernels"),
        ("Data sets", "ml-1m"),
        ("Self-test", "fit"),
    } <= names


def test_doctor_finds_what_is_broken(run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "SELF_TEST_OBJECTIVE", 400.0)
    monkeypatch.setattr(doctor, "_NEEDED", ("numpy", "a-package-that-is-not-there"))
    monkeypatch.setenv("NUMBA_DISABLE_JIT", "1")
    outcome = run("doctor", "--json")
    broken = {check["name"]: check["advice"] for check in outcome.json["checks"] if check["status"] == "broken"}
    assert outcome.status == 1
    assert broken["a-package-that-is-not-there"] == "pip install a-package-that-is-not-there"
    assert set(broken) == {"a-package-that-is-not-there", "Numba", "fit"}
    assert all(broken.values())


@pytest.mark.processes
def test_a_mistyped_data_folder_is_told(run, process, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COFACTOR_DATA", "/mistyped")
    fault = "COFACTOR_DATA is /mistyped, which is no folder"
    for options in ([], ["--json"]):
        assert run("datasets", "list", *options).err == f"cofactor: warning: {fault}\n"
    (check,) = [check for check in doctor._data_sets() if check.status == "broken"]
    assert (check.name, check.found, check.advice) == ("COFACTOR_DATA", fault, "correct COFACTOR_DATA, or unset it")


@pytest.mark.evidence
@pytest.mark.processes
def test_doctor_and_a_wrong_number_of_threads(process) -> None:
    outcome = process("doctor", COFACTOR_NUM_THREADS="many")
    assert outcome.status == 1
    assert "COFACTOR_NUM_THREADS='many': expected a whole number of at least 1" in outcome.out
    assert "broken" in outcome.out


def test_a_cache_folder_that_cannot_be_written(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    check = doctor._folder("Caches", "data sets", blocked / "inside", "advice")
    assert (check.status, check.advice) == ("broken", "advice")
    assert doctor._folder("Caches", "x", tmp_path / "new", "advice").status == "ok"


def test_doctor_compiles_ahead(run, monkeypatch: pytest.MonkeyPatch) -> None:
    from cofactor.warming import WarmUpResult

    monkeypatch.setattr("cofactor.warming.warm_up", lambda **_: WarmUpResult(3, 21.4))
    assert run("doctor", "--compile").out == "All kernels are compiled: 3 models in 21 s.\n"
    assert run("doctor", "--compile", "--json").json == {"models": 3, "seconds": 21.4}
    monkeypatch.setattr("cofactor.warming.warm_up", lambda **_: WarmUpResult(0, 0.1))
    assert run("doctor", "--compile").out == "All kernels were compiled before: nothing to do.\n"


def test_doctor_clears_what_no_version_here_uses(run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    PLST(1.0, alpha=0.1).fit([[0.0], [1.0], [2.0]], [[0], [1], [1]])  # which has kernels
    kernels = next(one.path for one in cache.stored() if one.current and one.path.suffix == ".kernel")
    monkeypatch.setenv("COFACTOR_CACHE", str(tmp_path))
    folder = tmp_path / "kernels"
    folder.mkdir(mode=0o700)
    shutil.copy(kernels, folder)
    header, _, contents = kernels.read_bytes().partition(b"\n")
    other = json.loads(header) | {"name": "another", "compiler": {"Numba": "0.1"}}
    (folder / "another.kernel").write_bytes(json.dumps(other).encode() + b"\n" + contents)
    (folder / "notes.txt").touch()  # not one of ours
    (check,) = [one for one in run("doctor", "--json").json["checks"] if one["name"] == "compiled kernels"]
    assert "1 file of this version" in check["found"]
    assert "--clear" in check["advice"]
    assert run("doctor", "--clear", "--json").json == {
        "removed": 1,
        "bytes": len(json.dumps(other)) + 1 + len(contents),
    }
    assert sorted(path.name for path in folder.iterdir()) == sorted([kernels.name, "notes.txt"])
    assert run("doctor", "--clear").out == "Removed 0 files of other versions, 0.0 MB.\n"
