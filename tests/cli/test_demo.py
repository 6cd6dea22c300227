"""demo: on real data, without data, interrupted, and its report."""

from __future__ import annotations

import json
import re
import signal
from dataclasses import replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.request import urlopen

import numpy as np
import pytest
from sklearn.base import clone
from tests.brief import brief_demo

from cofactor.cli.demo import TerminalReporter, move_report
from cofactor.datasets import load_ratings, make_movies, make_ratings
from cofactor.experiments.demos import Extent, Finding, Trial, run_demo
from cofactor.experiments.demos import ratings as demo_of_ratings
from cofactor.experiments.demos.ratings import RatingDemo
from cofactor.ratings import OrdinalProbit
from cofactor.ratings.ranking import EASE, Recommender

#: Two candidates for alpha, so that each is an end of the grid; smaller ones take longer to fit.
ENDS = [10**1.25, 10**1.5]


@pytest.fixture
def brief(monkeypatch: pytest.MonkeyPatch) -> None:
    """What samples, recommends and is only drawn is fitted briefly."""

    def recommender(random_state: int) -> Recommender:
        return Recommender(EASE(100.0), sampler(), random_state=random_state)

    def sampler(**settings: Any) -> OrdinalProbit:
        return OrdinalProbit(4, n_sweeps=20, burn_in=8, **settings)

    monkeypatch.setattr(demo_of_ratings, "Recommender", recommender)
    monkeypatch.setattr(demo_of_ratings, "OrdinalProbit", sampler)
    monkeypatch.setattr(demo_of_ratings, "_SOLVERS", [("ALS", "exact", "exact half steps")])  # the fastest


def check_table(results: dict, text: str) -> None:
    """Check that the lowest errors have a star."""
    table = text.partition("zero-one")[2].partition("* The best of its column.")[0]
    for key in ("mae", "rmse", "zero_one"):
        assert f"{min(row['errors'][key] for row in results['rows']):.3f}*" in table


def check_lists(results: dict, text: str, page: Any) -> None:
    """Check ten films by title for a known user, and for a new one, with chances and reasons, and what is shown."""
    for key, shown in (("known_user", 10), ("new_user", 5)):
        films, liked = results[key]["recommended"], results[key]["liked"]
        assert len({film["title"] for film in films}) == 10
        assert all(re.search(r"\(\d{4}\)$", film["title"]) for film in films)
        assert all(0 < film["p_interact"] < 1 and 0 < film["p_like"] < 1 for film in films)
        assert any(film["because"] for film in films)
        assert not {film["title"] for film in films} & {film["title"] for film in liked}
        for film in films[:shown]:
            assert film["title"] in text
            assert film["title"] in page.text
            assert all(title in page.text for title in film["because"])
    assert "because you liked" in text
    assert "because you liked" in page.text
    new = results["new_user"]
    good = {film["title"] for film in new["liked"] if film["rating"] >= 4}
    assert (len(new["liked"]), len(good)) == (5, 3)
    assert {title for film in new["recommended"] for title in film["because"]} <= good
    assert 0 < new["milliseconds"] < 5000


def check_chances(results: dict) -> None:
    """Check that predicted chances of good ratings hold."""
    found = results["chances"]
    assert sum(one["n"] for one in found) == results["data"]["test"]
    assert [(one["low"], one["high"]) for one in found] == list(pairwise((0, 0.2, 0.4, 0.6, 0.8, 1)))
    for one in found:
        assert one["low"] <= one["predicted"] <= one["high"]
        assert one["share"] == pytest.approx(one["predicted"], abs=0.1)


@pytest.mark.evidence
def test_demo_on_movielens(
    run, data_dir: Path, brief: None, tmp_path: Path, check_report, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "--out", "report")
    assert outcome.status == 0
    assert re.fullmatch(r"(cofactor: .+ \(\d+ s\)\n)*", outcome.err)  # progress, on a slow machine
    assert max(map(len, outcome.out.splitlines())) <= 80
    results, page = check_report(tmp_path / "report", {"confusion.png", "reliability.png"})
    assert results["data"]["ratings"] == 100_000
    rows = {row["name"]: row for row in results["rows"]}
    assert list(rows) == ["OrdinalProbit", "MMMF", "HMF", "ALS", "most frequent", "user median"]
    for name in ("MMMF", "HMF", "ALS"):
        assert rows[name]["errors"]["mae"] < 0.69  # .664, .679, .677 at seed 0
    assert rows["user median"]["errors"]["mae"] == pytest.approx(0.786, abs=0.01)
    # The published figures stand below the measured ones, and nothing where there is none.
    assert {
        name: (row["published"]["mae"], row["published"]["rmse"]) for name, row in rows.items() if row["published"]
    } == {"MMMF": (0.7355, 1.0426), "ALS": (0.7899, 1.0838)}
    assert re.search(r"^ MMMF .*\n +published +0.736 +1.043", outcome.out, re.MULTILINE)
    assert not re.search(r"^ HMF .*\n +published", outcome.out, re.MULTILINE)
    check_table(results, outcome.out)
    check_lists(results, outcome.out, page)
    assert {film["title"]: film["rating"] for film in results["new_user"]["liked"]}["Alien (1979)"] == 4
    check_chances(results)
    last = outcome.out.partition("What next:")[2]
    assert [line.strip() for line in last.splitlines() if line.strip().startswith("cofactor ")] == results["next_steps"]


@pytest.mark.evidence
def test_full_demo_chooses_alpha(
    run, data_dir: Path, brief: None, tmp_path: Path, check_report, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = load_ratings("ml-100k")
    some = data.X[:, 0] < 60  # users
    little = replace(data, X=data.X[some], y=data.y[some], timestamps=data.timestamps[some])
    monkeypatch.setattr(RatingDemo, "data", lambda *_: ([little], []))
    monkeypatch.setattr(RatingDemo, "alphas", lambda *_: ENDS)
    monkeypatch.setattr(demo_of_ratings, "_TRADEOFF", ("PMMMF",))
    outcome = run("demo", "--full", "--offline", "--out", tmp_path / "report")
    assert outcome.status == 0
    pictures = {f"{name}.png" for name in ("confusion", "convergence", "recommendations", "reliability", "tradeoff")}
    results, _ = check_report(tmp_path / "report", pictures)
    rows = {row["name"]: row for row in results["rows"]}
    assert list(rows)[:6] == ["OrdinalProbit", "Ensemble", "MMMF", "HMF", "PMMMF", "ALS"]
    assert rows["OrdinalProbit"]["alpha"] is None
    assert rows["PMMMF"]["published"]["mae"] == 0.7138
    for name in list(rows)[1:6]:
        row = rows[name]
        assert row["alpha"] == min(row["validation"], key=lambda point: point["mae"])["alpha"]
        assert row["alpha_at_end"]
        assert f"{name}: alpha {row['alpha']:.3g} (end of the grid)" in outcome.out
        assert f"{name} ({row['alpha']:.3g})" in outcome.out.partition("a better alpha may lie beyond:")[2]


def test_which_alphas_are_at_an_end() -> None:
    tried = dict.fromkeys((1.0, 2.0, 4.0), 0.7)
    ends = [
        demo_of_ratings.at_end(SimpleNamespace(extra={"alpha": one, "validation": tried})) for one in (None, *tried)
    ]
    assert ends == [False, True, False, True]


@pytest.mark.evidence
def test_the_commands_at_the_end_work(
    run, little_movielens: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    trial = Trial(SimpleNamespace(name="ml-100k"), [], {})
    for command, _ in RatingDemo().next_steps(Finding(Extent(), [trial])):
        if "serve" not in command:
            assert run(*command.split()[1:]).status == 0, command


@pytest.mark.evidence
@pytest.mark.filterwarnings("default:COFACTOR_DATA")
def test_demo_without_data_invents_films(
    run, brief: None, tmp_path: Path, check_report, without_data, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(demo_of_ratings, "make_movies", partial(make_movies, 300, 400, 25_000))
    for name, value in without_data(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    outcome = run("demo", "--json")
    assert outcome.err.startswith(f"cofactor: warning: COFACTOR_DATA is {tmp_path / '.data'}, which is no folder\n")
    results = outcome.json
    assert results["data"]["name"] == "synthetic movies"
    assert "download failed" in results["data"]["reason"]
    pictures = {"confusion.png", "reliability.png"}
    report, page = check_report(tmp_path / "demo-report", pictures, {"movies.csv"})
    assert report == results
    assert "invented" in page.text
    assert "published" not in page.text.lower()
    rows = {row["name"]: row["errors"]["mae"] for row in results["rows"]}
    assert max(rows["OrdinalProbit"], rows["MMMF"], rows["ALS"], rows["HMF"]) < 0.71
    assert min(rows["most frequent"], rows["user median"]) > 0.8
    check_lists(results, page.text, page)
    check_chances(results)
    assert {path.name for path in tmp_path.iterdir()} == {".cache", "demo-report"}
    # The ratings lie beside the report, for the commands that it names.
    fit, recommend, *_ = results["next_steps"]
    assert run(*fit.split()[1:], "-m", "als", "--alpha", "13").status == 0
    found = run(*recommend.split()[1:])
    assert len(re.findall(r"\(\d{4}\)", found.out)) >= 10


def test_an_offline_demo_says_why_there_are_no_data(
    run, tmp_path: Path, without_data, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object) -> None:  # the rest of the demo is the same
        raise KeyboardInterrupt

    for name, value in without_data(tmp_path).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("cofactor.experiments.demos.ratings.RatingDemo.methods", stop)
    outcome = run("demo", "--offline", "--seed", 3, "--out", tmp_path / "report")
    assert outcome.status == 130
    text = " ".join(outcome.out.split())
    assert "trying to download" not in text
    assert "Invented films instead of MovieLens 100K: data set 'ml-100k' was not found: put u.data and u.item" in text


@pytest.mark.evidence
@pytest.mark.processes
def test_an_interrupted_demo_leaves_nothing_behind(start, data_dir: Path, tmp_path: Path) -> None:
    child = start("demo")
    child.let_work()
    assert child.poll() is None
    child.send_signal(signal.SIGINT)
    _, err = child.communicate(timeout=240)
    assert (child.returncode, err) == (130, b"cofactor: interrupted; no file was left half-written\n")
    assert list(tmp_path.iterdir()) == []


def test_bad_folders(run, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    assert run("demo", "--out", file).error == f"{file}: is a file, expected a folder for the report"
    assert "does not exist" in run("demo", "--out", tmp_path / "a" / "b").error


def test_other_files_in_the_folder_stay_and_stale_pictures_go(tmp_path: Path) -> None:
    folder, place = tmp_path / "report", tmp_path / "place"
    for path in (folder, place):
        path.mkdir()
    (folder / "mine.txt").write_text("mine")
    (folder / "tradeoff.png").write_text("old")
    (place / "report.html").write_text("new")
    move_report(RatingDemo(), Finding(Extent()), place, folder)
    assert sorted(path.name for path in folder.iterdir()) == ["mine.txt", "report.html"]


def test_without_matplotlib_there_are_no_pictures_but_a_hint(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cofactor.cli.demo.find_spec", lambda name: None)
    assert not TerminalReporter(quiet=False).can_draw()
    assert 'pip install "cofactor[plots]"' in " ".join(capsys.readouterr().out.split())


class Small(RatingDemo):
    """A demo of two models on few ratings."""

    def data(self, extent, report):
        return [make_ratings(60, 50, 2, density=0.4, random_state=0)], []

    def alphas(self, data, extent):
        return [1.0, 10.0]

    def methods(self, data, extent):
        return {name: method for name, method in super().methods(data, extent).items() if name in ("MMMF", "ALS")}


def test_nothing_is_chosen_on_the_test_part() -> None:
    """The figures of a method are those of a choice which saw a part of the training part only."""
    demo = Small()
    (trial,) = run_demo(demo, Extent(full=True), TerminalReporter(quiet=True)).trials
    data, (train, _, test) = trial.data, trial.parts[0]
    assert sorted(np.concatenate([train, test]).tolist()) == list(range(1200))
    assert (len(train), len(test)) == (960, 240)
    ((part, held_out),) = trial.methods["ALS"].search.validation.split(train)
    assert len(held_out) == 96
    row, model = trial.row("ALS"), trial.methods["ALS"].search.estimator
    errors = {}
    for alpha in (1.0, 10.0):
        fitted = clone(model).set_params(alpha=alpha).fit(data.X[train][part], data.y[train][part])
        errors[alpha] = -fitted.score(data.X[train][held_out], data.y[train][held_out])
    assert row.extra["validation"] == errors
    assert row.extra["alpha"] == min(errors, key=lambda alpha: errors[alpha])
    assert row.fitted.best_estimator_.ratings_.n_ratings == 960
    again = clone(model).set_params(alpha=row.extra["alpha"]).fit(data.X[train], data.y[train])
    assert row.measures[""]["mae"] == -again.score(data.X[test], data.y[test])


@pytest.mark.evidence
@pytest.mark.processes
def test_a_demo_that_serves_tells_where_its_page_is(start, tmp_path: Path, without_data) -> None:
    """Without data on invented films; the log of requests is left out."""
    arguments = ("demo", "serve", "--offline", "--no-browser", "--port", "0")
    child = start(*arguments, prepare=brief_demo, PYTHONUNBUFFERED="1", **without_data(tmp_path))
    lines = iter(lambda: child.stdout.readline().decode(), "")
    address = next(found[1] for line in lines if (found := re.search(r"rate films: (http://\S+)", line)))
    with urlopen(f"{address}v1/items?n=1") as answer:
        assert len(json.load(answer)["items"]) == 1
    with urlopen(address) as answer:
        assert b"/page.js" in answer.read()
    child.send_signal(signal.SIGINT)
    out, err = child.communicate(timeout=240)
    assert b"cofactor serve model.cofactor" in out
    assert b'"event"' not in err
    assert {path.name for path in tmp_path.iterdir()} <= {".cache", ".data"}
