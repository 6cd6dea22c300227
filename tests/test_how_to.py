"""The code of the how-tos runs from top to bottom of each page."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.estimators import set_defaults

FOLDER = Path(__file__).parents[1] / "docs" / "how-to"
PAGES = sorted(path.stem for path in FOLDER.glob("*.md") if path.stem != "index")


@pytest.fixture
def little_emotions(data_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave of emotions the first 60 songs: a fit of all takes several times as long."""
    from cofactor import datasets

    load_labels = datasets.load_labels
    little = load_labels("emotions").take(np.arange(60))
    monkeypatch.setattr(
        datasets, "load_labels", lambda name, **options: little if name == "emotions" else load_labels(name, **options)
    )


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.usefixtures("little_movielens", "little_emotions")
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cofactor.labels import RAkEL
    from cofactor.ratings import OrdinalProbit
    from cofactor.ratings.ranking import recommender

    monkeypatch.chdir(tmp_path)
    few = {"n_sweeps": 12, "burn_in": 6}  # the code runs, whatever it finds
    monkeypatch.setattr(recommender, "_SWEEPS", few)
    for model, settings in ((OrdinalProbit, few), (RAkEL, {"n_estimators": 2})):
        set_defaults(monkeypatch, model, **settings)
    text = (FOLDER / f"{page}.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    for part in re.split(r"(?m)^## ", text):
        for code in re.findall(r"```python\n(.*?)```", part, re.S):
            exec(compile(code, f"{page}.md: {part.splitlines()[0]}", "exec"), names)
    assert {"data", "model"} <= set(names)


def test_every_page_is_in_the_list() -> None:
    listed = (FOLDER / "index.md").read_text(encoding="utf-8").split("maxdepth: 2")[1].split("```")[0].split()
    assert sorted(listed) == PAGES
