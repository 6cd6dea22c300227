"""explain and recommend --why of ratings: what the library finds, titles, and what is refused."""

from pathlib import Path

import pytest

import cofactor
from cofactor.ratings import ALS


@pytest.fixture
def als(data, tmp_path: Path) -> Path:
    ALS(2, 1.0, random_state=0).fit(data.X, data.y).save(tmp_path / "als")
    return tmp_path / "als"


def test_reasons_are_what_the_library_finds(run, als: Path, tmp_path: Path) -> None:
    (tmp_path / "titles.csv").write_text("id,title\n3,Up\n7,Alien\n")
    titles = ("--titles", tmp_path / "titles.csv")
    why = cofactor.load(als).explain(5, [3, 7])
    rows = run("explain", als, "--user", 5, "--item", 3, "-i", 7, *titles).rows
    found = why.explanation(10).columns
    assert [float(row["contribution"]) for row in rows] == found["contribution"].tolist()
    assert [row["term"] for row in rows] == ["" if term is None else str(term) for term in found["term"]]
    assert {row["title"] for row in rows} == {"Up", "Alien"}
    lines = run("explain", als, "-u", 5, "-i", 3, "-i", 7, "--json").json_lines
    assert [(line["user"], line["item"]) for line in lines] == [(5, 3), (5, 7)]
    for line, score in zip(lines, why.scores, strict=True):
        assert sum(term["contribution"] for term in line["terms"]) == pytest.approx(line["score"])
        assert line["score"] == pytest.approx(score)


def test_lists_say_why(run, als: Path, tmp_path: Path) -> None:
    listed = run("recommend", als, "--user", 5, "--user", 6, "-n", 2, "--why", "--json").json
    model = cofactor.load(als)
    for row in listed:
        why = model.explain(row["user"], [row["item"]])
        names = [f"{why.own_items[k]} (rated {why.own_ratings[k]:g})" for k in why.raising(3)[0]]
        assert row["because"] == "; ".join(names)
    own = listed[0]["because"].split(" ")[0]
    (tmp_path / "titles.csv").write_text(f"{own},Up\n7,Alien\n")
    titled = run("recommend", als, "-u", 5, "-n", 1, "--why", "--titles", tmp_path / "titles.csv", "--json").json
    assert titled[0]["because"].startswith("Up (")


def test_what_is_refused(run, als: Path, model: Path) -> None:
    assert "say what to explain, with --user and --item" in run("explain", als).err
    assert "--user 999: was not in training" in run("explain", als, "-u", 999, "-i", 3).err
    assert "--item 999: was not in training" in run("explain", als, "-u", 5, "-i", 999).err
    assert "--label does not go with" in run("explain", als, "-u", 5, "-i", 3, "--label", "x").err
    cofactor.load(als).save(als.with_name("lean"), ratings=False)
    lean = als.with_name("lean")
    assert "saved without its ratings" in run("explain", lean, "-u", 5, "-i", 3).err
    assert "saved without its ratings" in run("recommend", lean, "-u", 5, "--include-seen", "--why").err
    refused = run("recommend", model, "-u", 5, "--why")
    assert (refused.status, "can be explained" in refused.err) == (2, True)
