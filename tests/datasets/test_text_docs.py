"""The page on text and tables runs as it stands."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from cofactor.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "text-and-tables.md"


def test_the_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```(python|sh)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.S)
    assert [language for language, _ in blocks] == ["python", "sh", "python", "python"]
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for language, code in blocks:
        if language == "python":
            exec(compile(code, PAGE.name, "exec"), names)
            continue
        for line in code.splitlines():
            assert main(shlex.split(line)[1:]) == 0, line
    assert capsys.readouterr().out.count("\n") > 9
    assert (names["predicted"] != names["data"].Y).nnz <= 2
    assert names["tags"].shape == (1, 3)
