"""Free text and lists of tags on the command line: from the fit to predictions, with one file of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cofactor
from cofactor.labels import PLST
from cofactor.persistence import ModelFileError, read_model, write_model
from cofactor.service import service_of, task_named
from cofactor.service.results import Settings

FAST = ["-m", "plst", "--alpha", 1, "--threshold", 0]
OPTIONS = ["--labels", "tags", "--label-sep", "|", "--text", "body", "--id", "id"]
TOPICS = {"sea; sand": "wave beach tide boat salt", "sun": "heat light burn shade noon", "ski": "snow slope lift ice"}


def notes(n: int = 90) -> pd.DataFrame:
    """Notes whose words come from their topics, which are their tags; ages with gaps, and a column of words."""
    rng = np.random.default_rng(0)
    rows = []
    for k in range(n):
        tags = [tag for tag in TOPICS if rng.random() < 0.4]
        words = [*rng.choice(["the", "of", "and", "day", "we", "went", "was", "good"], 5)]
        words += [word for tag in tags for word in rng.choice(TOPICS[tag].split(), 3)]
        age = np.nan if k % 9 == 3 else rng.normal(40, 9)
        rows.append((f"n{k}", " ".join(words) + "!", age, rng.choice(["red", "blue"]), "|".join(tags)))
    return pd.DataFrame(rows, columns=["id", "body", "age", "sky", "tags"])


AGE = f"{notes()['age'].median():g}"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "notes.csv"
    notes().to_csv(path, index=False)
    return path


@pytest.fixture
def model(fit_once, table: Path, tmp_path: Path) -> Path:
    return fit_once(table, *OPTIONS, *FAST, out=tmp_path / "notes.cofactor")


def test_notes_are_tagged(run, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.cofactor"
    told = run("fit", table, *OPTIONS, *FAST, "-o", out)
    assert told.err.splitlines() == [
        "cofactor: note: 1 column of text became tf-idf of words: 'body' (22)",
        "cofactor: note: 1 column of text became one feature for each of the values: 'sky' (2)",
        f"cofactor: note: 10 cells without a value were filled: 'age' (10, by the median {AGE})",
    ]
    new = tmp_path / "new.csv"
    new.write_text(
        'sky,age,body\nred,,"The TIDE on the beach, a wave and a boat"\nblue,30,"snow ice, lift; zebra slope"\n'
    )
    told = run("predict", out, new)
    assert [line.split("|")[0] for line in told.out.splitlines()] == ["instance,labels", "1,sea; sand", "2,ski"]
    assert f"1 cell without a value was filled: 'age' (1, by the median {AGE})" in told.err
    lines = run("predict", out, table).out.splitlines()
    truth = notes()
    assert lines[0] == "id,labels"
    found = [set(line.split(",")[1].split("|")) for line in lines[1:]]
    hits = [tags == set(row.split("|")) for tags, row in zip(found, truth["tags"], strict=True)]
    assert np.mean(hits) >= 0.85


def test_evaluation_and_comparison_take_the_same_options(run, table: Path, tmp_path: Path) -> None:
    told = run("evaluate", table, *OPTIONS, *FAST, "--splits", 2, "--json")
    assert told.status == 0
    assert '"micro_f1": 0.9' in told.out or '"micro_f1": 1' in told.out


def test_options_that_do_not_fit(run, table: Path) -> None:
    for options, message in [
        ([*OPTIONS[:4], "--id", "id"], "make features of its words with --text body, leave it out with --drop body"),
        ([*OPTIONS[:2], "--text", "body"], "if cells list tags, say what parts them with --label-sep"),
        ([*OPTIONS, "--ngrams", 9], "--ngrams"),
        ([*OPTIONS[:6], "--drop", "id,body"], "column 'body' is among those of --text and of --drop"),
        (
            [*OPTIONS[:4], "--text", "age"],
            "column 'age': holds numbers, which are a feature as they are; leave it out of --text",
        ),
    ]:
        told = run("fit", table, *options, *FAST)
        assert told.status == 2
        assert message in told.err


def test_a_forged_vocabulary_is_refused(model: Path, tmp_path: Path) -> None:
    header, arrays = read_model(model)
    header.pop("crc32", None)
    known = header["recipe"]["vocabularies"]["body"]
    for change in ({"idf": known["idf"][1:]}, {"words": known["words"][1:], "idf": known["idf"][1:]}, {"ngrams": 99}):
        schema = {**header["recipe"], "vocabularies": {"body": {**known, **change}}}
        write_model(tmp_path / "forged", {**header, "recipe": schema}, arrays)
        with pytest.raises(ModelFileError, match="a vocabulary|the schema of columns makes other features"):
            cofactor.load(tmp_path / "forged")


def test_a_stream_is_read_by_the_schema(tmp_path: Path) -> None:
    """Options had to be said again, and a vocabulary was learned of one row."""
    task, data = task_named("labels"), notes()
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    data[:80].to_csv(first, index=False)
    data[80:].iloc[:, ::-1].to_csv(second, index=False)
    options = task.values("fit", {"labels": "tags,", "label_sep": "|", "text": "body", "id": "id"})
    settings = Settings(alpha=0.1, factors=2, options=options)
    fitted, _ = task.fit(task.build("omf", settings).model, task.read(str(first), options), settings)
    loaded = service_of(fitted).read_more(str(second), task.values("update", {}))
    assert loaded.data.schema == fitted.schema_
    updated = service_of(fitted).update(loaded, {})
    assert updated.n_rows_seen_ == 90
    assert updated.schema_ == fitted.schema_
    one = tmp_path / "one.csv"
    data[80:81].to_csv(one, index=False)
    service = service_of(updated)
    assert service.update(service.read_more(str(one), task.values("update", {})), {}).n_rows_seen_ == 91


def test_a_model_without_names_of_features(run, table: Path, tmp_path: Path) -> None:
    """It said only that other features are expected, and not of which file."""
    rng = np.random.default_rng(0)
    model, new = tmp_path / "m.cofactor", tmp_path / "new.csv"
    PLST(1.0).fit(rng.random((20, 3)), rng.random((20, 2)) < 0.5).save(model)
    new.write_text("a,b\n1,2\n")
    assert run("predict", model, new).error == (
        "new.csv: has 2 features ('a', 'b'), but the model was fitted to 3, without names; fit it to a frame, so that "
        "it knows which are missing"
    )
