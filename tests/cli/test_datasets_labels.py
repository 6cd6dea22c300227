"""datasets list, path and verify for sets of labels."""

from __future__ import annotations

from pathlib import Path


def test_list_shows_both_kinds(run, data_dir: Path) -> None:
    text = run("datasets", "list").out
    assert text.index("Ratings") < text.index("ml-100k  here") < text.index("Labels") < text.index("emotions  here")
    assert str(data_dir / "multilabel" / "emotions") in text
    only = run("datasets", "list", "--task", "labels").out
    assert "ml-100k" not in only
    assert "rcv1subset5  here" in only
    found = run("datasets", "list", "--task", "labels", "--json").json
    assert {status["task"] for status in found} == {"labels"}
    assert len(found) == 37
    assert "'films' is neither 'ratings' nor 'labels'" in run("datasets", "list", "--task", "films").err


def test_path_and_verify(run, data_dir: Path) -> None:
    assert run("datasets", "path", "yahoo-arts").out == f"{data_dir / 'multilabel' / 'yahoo'}\n"
    checked = run("datasets", "verify", "scene")
    assert checked.status == 0
    for name in ("scene-train.arff.gz: ok", "scene-test.arff.gz: ok", "scene.xml: ok"):
        assert name in checked.out
