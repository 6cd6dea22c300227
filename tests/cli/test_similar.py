"""similar: what the library finds, users, titles, and what is refused."""

from pathlib import Path

import pytest

import cofactor
from cofactor.datasets import make_labels
from cofactor.labels import KNNVote
from cofactor.ratings import URP


def test_it_is_what_the_library_finds(run, model: Path, tmp_path: Path) -> None:
    (tmp_path / "titles.csv").write_text("id,title\n3,Up\n7,Alien\n")
    found = run("similar", model, "-i", 3, "--item", 7, "-n", 2, "--titles", tmp_path / "titles.csv", "--json").json
    ids, similarities = cofactor.load(model).similar_items([3, 7], 2)
    assert [row["item"] for row in found] == [3, 3, 7, 7]
    assert [row["similar"] for row in found] == ids.ravel().tolist()
    assert [row["similarity"] for row in found] == pytest.approx(similarities.ravel().tolist(), rel=1e-6)
    assert {row["title"] for row in found} <= {"Up", "Alien", ""}
    users = run("similar", model, "--user", 5, "-n", 3, "--json").json
    assert [row["similar"] for row in users] == cofactor.load(model).similar_users([5], 3)[0][0].tolist()


def test_what_is_refused(run, model: Path, data, tmp_path: Path) -> None:
    assert "--item 999: was not in training" in run("similar", model, "--item", 999).err
    assert run("similar", model, "--item", 999).status == 2
    for none in ((), ("--item", 3, "--user", 5)):
        assert "--item ID, or --user ID" in run("similar", model, *none).err
    assert "--titles names items" in run("similar", model, "--user", 3, "--titles", "ml-100k").err
    URP(2, tol=0.1).fit(data.X, data.y).save(tmp_path / "urp")
    assert "URP has no factors by which items are similar" in run("similar", tmp_path / "urp", "--item", 3).err
    made, _ = make_labels(80, 20, random_state=0)
    KNNVote(threshold=0).fit(made.X, made.Y).save(tmp_path / "tags")
    assert "is a model of labels, which has no similar items" in run("similar", tmp_path / "tags", "--item", 3).err
