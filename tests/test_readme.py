"""The commands and code of the README and of the guides are what CI and users run."""

import re
from pathlib import Path
from typing import Any

import pytest

from cofactor import datasets

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()
RATINGS, LABELS = ((ROOT / "docs" / "guide" / f"{name}.md").read_text() for name in ("ratings", "labels"))
RUNNING = (ROOT / "docs" / "how-to" / "running.md").read_text()


def blocks(language: str, page: str = README) -> list[str]:
    return re.findall(rf"```{language}(?: not-run)?\n(.*?)```", page, re.S)


def test_the_readme_is_short() -> None:
    assert len(README.splitlines()) < 150


def test_ci_runs_the_test_commands_of_the_readme() -> None:
    commands = next(block for block in blocks("sh") if "pytest" in block).splitlines()
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    missing = [command for command in commands if not any(line.startswith(command) for line in lines)]
    assert missing == []  # CI runs all tests: it adds an option


def test_commands_and_options_exist() -> None:
    from typer.testing import CliRunner

    from cofactor.cli.app import app

    pages = [block for page in (README, RATINGS, LABELS) for block in blocks("sh", page)]
    commands = {line.split()[1] for line in "".join(pages).splitlines() if line.startswith("cofactor ")}
    assert commands >= {"fit", "predict", "recommend", "evaluate", "datasets", "doctor"}
    for command in commands:
        assert CliRunner().invoke(app, [command, "--help"]).exit_code == 0, command


def test_python_example(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = blocks("python")[0]
    monkeypatch.chdir(tmp_path)
    quick = code.replace("Probit(random_state=0)", "Probit(n_sweeps=20, burn_in=10, random_state=0)")
    assert quick != code
    names: dict[str, object] = {}
    exec(compile(quick, "README.md", "exec"), names)
    assert (tmp_path / "model.cofactor").stat().st_size > 0
    assert names["items"].shape == (1, 10)  # type: ignore[attr-defined]


def test_an_example_of_labels_that_go_together() -> None:
    from cofactor.datasets import make_labels

    (code,) = (block for block in blocks("python", LABELS) if "cofactor.correlation" in block)
    names: dict[str, object] = {"data": make_labels(30, 4, 3, n_groups=2, n_factors=2, random_state=0)[0]}
    exec(compile(code, "README.md", "exec"), names)
    assert names["sets"].shape == (5, 3)  # type: ignore[attr-defined]


def test_a_fit_that_goes_on(tmp_path: Path) -> None:
    from cofactor.datasets import make_ratings
    from cofactor.ratings import OrdinalProbit

    (settings,) = re.findall(r"`OrdinalProbit\((warm_start=True, .*?)\)`", RUNNING)
    data = make_ratings(9, 7, 2, density=0.8, random_state=0)
    quick = settings.replace("=200", "=20")
    assert quick != settings
    model = eval(f"OrdinalProbit({quick}, burn_in=5)", {"OrdinalProbit": OrdinalProbit})
    assert model.fit(data.X, data.y).fit(data.X, data.y).n_sweeps == 20


def test_labels_in_chunks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from cofactor.datasets import make_labels, write_chunks

    monkeypatch.chdir(tmp_path)
    data = make_labels(60, 5, 3, n_groups=1, n_factors=2, random_state=0)[0]
    pairs = [(data.X, data.Y.toarray())]
    write_chunks("rows.parquet", pairs, label_names=["tag_a", "tag_b", "tag_c"])
    page = (ROOT / "docs" / "how-large.md").read_text(encoding="utf-8")
    (code,) = (block for block in blocks("python", page) if "LabelChunks" in block)
    names: dict[str, Any] = {"pairs": pairs}
    exec(compile(code, "how-large.md", "exec"), names)
    assert names["model"].predict(data.X[:2]).shape == (2, 3)


def test_commands_that_can_be_pasted(little_movielens: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first commands name a known data set only, so that they run as they are."""
    from cofactor.cli import main

    monkeypatch.chdir(tmp_path)
    section = README.split("## On the command line\n")[1]
    commands = re.findall(r"```sh\n(.*?)```", section, re.S)[0].splitlines()
    fast = [command.split()[1:] for command in commands if command.split()[1] in ("fit", "recommend", "predict")]
    assert len(fast) == 4
    for setting in ("n_sweeps=30", "burn_in=10", "interactions=ease"):  # a fit by the defaults takes some ten seconds
        fast[0] += ["--param", setting]
    for arguments in fast:
        assert main(arguments) == 0
    assert (tmp_path / "predictions.csv").stat().st_size > 0


def test_python_example_of_recommendations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from types import SimpleNamespace

    monkeypatch.chdir(tmp_path)

    (code,) = (block for block in blocks("python", RATINGS) if "Recommender" in block)
    quick = code.replace("Recommender(", "Recommender(ratings=OrdinalProbit(2, n_sweeps=20, burn_in=10), ")
    X = [(user, item) for user in range(190, 202) for item in (50, 172, *range(15)) if (user + item) % 3]
    ratings = "from cofactor.ratings import OrdinalProbit\n"
    names: dict[str, Any] = {"data": SimpleNamespace(X=X, y=[1 + (u * i) % 5 for u, i in X])}
    exec(compile(ratings + quick, "README.md", "exec"), names)
    assert names["found"].p_like.shape == (1, 10)
    assert (tmp_path / "lists.parquet").stat().st_size > 0
    (code,) = (block for block in blocks("python", RATINGS) if "explain" in block)
    exec(compile(code, "ratings.md", "exec"), names)
    assert set(names["why"].parts) >= {"interaction", "like"}


def test_python_example_of_labels(data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    little = datasets.load_labels("medical").take(range(300))
    monkeypatch.setattr(datasets, "load_labels", lambda name: {"medical": little}[name])
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    (code,) = (block for block in blocks("python") if "LabelRidge" in block)
    exec(compile(code, "README.md", "exec"), names)
    assert (tmp_path / "tags.cofactor").stat().st_size > 0
    assert names["tags"].shape == names["chances"].shape == (5, 45)  # type: ignore[attr-defined]
