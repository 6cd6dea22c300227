"""The code of the how-tos runs from top to bottom of each page."""

import re
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "docs" / "how-to"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_runs(page: str, little_movielens: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cofactor.ratings import OrdinalProbit
    from cofactor.ratings.ranking import recommender

    monkeypatch.chdir(tmp_path)
    few = {"n_sweeps": 12, "burn_in": 6}  # the code runs, whatever it finds
    monkeypatch.setattr(recommender, "_SWEEPS", few)
    defaults = OrdinalProbit.__init__.__kwdefaults__
    monkeypatch.setattr(OrdinalProbit.__init__, "__kwdefaults__", {**defaults, **few})
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for part in re.split(r"(?m)^## ", text):
        for code in re.findall(r"```python\n(.*?)```", part, re.S):
            exec(compile(code, f"{page}.md: {part.splitlines()[0]}", "exec"), names)
    assert {"data", "model"} <= set(names)


def test_every_page_is_in_the_list() -> None:
    listed = (FOLDER / "index.md").read_text(encoding="utf-8").split("maxdepth: 2")[1].split("```")[0].split()
    assert sorted(listed) == PAGES
