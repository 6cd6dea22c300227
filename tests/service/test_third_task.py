"""A third task is declared in one place, and the commands run it as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from sklearn.dummy import DummyRegressor

from cofactor.cli import main
from cofactor.model.facts import Facts
from cofactor.persistence import write_model
from cofactor.service import TASKS, Entry
from cofactor.service.base import ModelService, Task
from cofactor.service.results import Built, Column, Loaded, Protocol, Settings


class Guess(DummyRegressor):
    """A model that can be saved."""

    def save(self, path: Any) -> None:
        Path(path).write_text(str(self.constant_))


class NumberService(ModelService):
    """It can be asked nothing."""

    kind = "numbers"


class Numbers(Task):
    """Guesses numbers, one in a line of a file."""

    service = NumberService
    name, one_model, many_models = "numbers", "guess", "guesses"
    default_model, best = "constant", "error"

    def elsewhere(self) -> tuple[str, Iterable[str]]:
        return "model of ratings", ["als"]

    def read(self, file: str, options: Mapping[str, Any], progress: Any = None) -> Loaded:
        y = np.array(Path(file).read_text().split(), dtype=float)
        return Loaded(file, SimpleNamespace(name=Path(file).name, y=y))

    def models(self) -> dict[str, type[Any]]:
        return {"constant": Guess}

    def owns(self, model: object) -> bool:
        return isinstance(model, Guess)

    def build(self, name: str, settings: Settings) -> Built:
        return Built(self.find(name)(**settings.params))

    def fit(self, model: Any, loaded: Loaded, settings: Settings, listen: Any = None) -> tuple[Any, Facts]:
        fitted = model.fit(np.zeros((len(loaded.data.y), 1)), loaded.data.y)
        return fitted, Facts("a guess", {"guess": float(fitted.constant_[0, 0])}, {"guess": "a number"})

    def metrics(self, models: Mapping[str, Any]) -> tuple[Column, ...]:
        return (Column("error", "error", 2),)

    def splits(self, loaded: Loaded, protocol: Protocol) -> list[Any]:
        n = len(loaded.data.y) // 2
        return [(slice(0, n), slice(n, None))]

    def measure(
        self, model: Any, loaded: Loaded, parts: Any, keep: Callable[[Any], object] | None = None
    ) -> Mapping[str, dict[str, Any]]:
        train, test = (loaded.data.y[part] for part in parts)
        model.fit(np.zeros((len(train), 1)), train)
        return {"": {"error": float(np.abs(model.predict(np.zeros((len(test), 1))) - test).mean())}}


@pytest.fixture
def numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setitem(TASKS, "numbers", Entry({}, Numbers))
    path = tmp_path / "numbers.txt"
    path.write_text("1 2 3 4 6 6\n")
    return path


def test_evaluate(numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["evaluate", str(numbers), "--task", "numbers", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["summary"] == {"Guess": {"error": {"mean": pytest.approx(10 / 3), "std": 0.0}}}
    assert main(["evaluate", str(numbers), "--task", "numbers", "-m", "constant"]) == 0
    assert "numbers.txt: holdout, 1 split, seed 0" in " ".join(capsys.readouterr().out.split())


def test_fit(numbers: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = numbers.with_suffix(".model")
    assert main(["fit", str(numbers), "--task", "numbers", "--param", "strategy=median", "--json", "-o", str(out)]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["guess"], found["out"]) == (3.5, str(out))
    assert out.exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--task", "numbers", "--bins", "3"], "--bins is for ratings, but FILE holds numbers"),
        (["--task", "numbers", "-m", "als"], "--model als: is a model of ratings; guesses are constant"),
        (["--task", "number"], "task number: expected one of 'ratings', 'labels', 'numbers'"),
    ],
)
def test_what_it_does_not_have_is_refused(
    numbers: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert main(["fit", str(numbers), *arguments]) == 2
    assert message.replace("FILE", str(numbers)) in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["recommend", "x", "--all"], "x: is a model of numbers, which recommends no items"),
        (["predict", "x", "y"], "x: is a model of numbers, which predicts nothing for files"),
    ],
)
def test_commands_ask_what_the_task_can(
    numbers: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(numbers.parent)
    write_model("x", {}, {})
    Path("y").touch()
    monkeypatch.setattr("cofactor.cli.files.load_model", lambda file: Guess())
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
