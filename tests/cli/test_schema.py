"""Columns of text, of ids and without use: what is said of them, and what a model keeps of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array

import cofactor
from cofactor.datasets import load_labels, make_labels, write_chunks
from cofactor.errors import InvalidInputError
from cofactor.persistence import ModelFileError, read_model, write_model

FAST = ["-m", "plst", "--alpha", 1]
SKY = ("blue", "grey", "red")


def beach(n: int = 60, *, sky: tuple[str, ...] = SKY, remark: str = "remark") -> str:
    """A table with ids, numbers, words, words for off and on, remarks and two labels."""
    rng = np.random.default_rng(0)
    lines = ["beach,wind,sky,rain,remark,is_sea,is_sun"]
    for k in range(n):
        wind, look, rain = rng.normal(), sky[k % len(sky)], "yes" if k % 4 else "no"
        lines.append(f"b{k:03},{wind:.3f},{look},{rain},{remark} {k},{int(wind > 0)},{int(look == 'blue')}")
    return "\n".join(lines) + "\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "beach.csv"
    path.write_text(beach())
    return path


@pytest.fixture
def model(fit_once, table: Path, tmp_path: Path) -> Path:
    options = ["--labels", "is_", "--drop", "remark", "--id", "beach"]
    return fit_once(table, *options, *FAST, out=tmp_path / "beach.cofactor")


def test_free_text_is_refused_with_a_way_out(run, table: Path, tmp_path: Path) -> None:
    """5,000 titles were 5,000 features, without a word."""
    out = tmp_path / "m.cofactor"
    assert run("fit", table, "--labels", "is_", "--drop", "beach", *FAST, "-o", out).error == (
        f"{table}, column 'remark': 'remark' is text with 60 different values in 60 rows (nearly every row has another "
        "one), each of which would be a feature; make features of its words with --text remark, leave it out with "
        "--drop remark, name the rows by it with --id remark,"
        " or take all values with --max-values 60"
    )
    assert not out.exists()
    options = ["--labels", "is_", "--drop", "beach", "--max-values", 60]
    assert run("fit", table, *options, *FAST, "-o", out).status == 0
    assert cofactor.load(out).n_features_in_ == 1 + 3 + 1 + 60
    assert "(more than 2)" in run("fit", table, *options[:4], "--max-values", 2, *FAST, "-o", out).error


def test_all_free_text_is_named_at_once(run, table: Path, tmp_path: Path) -> None:
    """Each fit named one column more."""
    expected = (
        f"{table}: 'beach', 'remark' are text with up to 60 different values in 60 rows (nearly every row has another "
        "one), each of which would be a feature; make features of their words with --text beach,remark, "
        "leave them out with --drop beach,remark, name the rows by one with "
        "--id beach, or take all values with --max-values 60"
    )
    assert run("fit", table, "--labels", "is_", *FAST).error == expected
    path = tmp_path / "a.arff"
    path.write_text(
        "@relation a\n@attribute s string\n@attribute x real\n@attribute 't, u' string\n@attribute l {0,1}\n"
        "@data\na,1,b,1\nb,2,c,0\n"
    )
    assert (
        "'s', 't, u' are strings, which cannot be features; leave them out with --drop 's,\"t, u\"'"
        in run("fit", path, "--labels", -1, *FAST).error
    )


def test_labels_of_a_table_in_an_xml_file(run, table: Path, tmp_path: Path) -> None:
    """It was a TypeError."""
    xml = tmp_path / "labels.xml"
    xml.write_text("<labels><label name='is_sea'/></labels>")
    assert run("fit", table, "--xml", xml).error == (
        f"{table}: {xml}: a file that names labels goes with ARFF files only; say which columns are labels with "
        "--labels"
    )


def test_options_with_names_add_up(run, table: Path, tmp_path: Path) -> None:
    """The last --drop counted, and the others were forgotten."""
    out = tmp_path / "m.cofactor"
    options = ["--drop", "beach", "--drop", "remark,rain", "--labels", "is_sun", "--labels", "is_sea"]
    assert run("fit", table, *options, *FAST, "-o", out).status == 0
    model = cofactor.load(out)
    assert model.schema_.drop == ("beach", "remark", "rain")
    assert model.label_names_.tolist() == ["is_sun", "is_sea"]


def test_a_table_of_features_is_none_of_ratings(run, table: Path) -> None:
    """Its first three columns were users, items and ratings."""
    for options in ([], ["--alpha", 1]):
        assert run("fit", table, *options).error == (
            f"{table}: looks like a table of features: it has 7 columns, none of which is called user, item, rating or "
            "the like (beach, wind, sky, rain, ...); if it is a long table, say which columns to take with --user, "
            "--item, --rating; or, if it holds features and labels, which are labels with --labels"
        )


@pytest.mark.parametrize(("name", "gap"), [("views", "7"), ("views", ""), ("score", "7")])
def test_a_table_of_texts_with_counts_is_none_of_interactions(run, tmp_path: Path, name: str, gap: str) -> None:
    """Numbers were users and titles items, each once: the model knew nothing, or a gap among counts was the fault."""
    path = tmp_path / "posts.csv"
    rows = [f"{k},post {k},{k if k % 5 else gap},some words {k},a|b" for k in range(1, 31)]
    path.write_text("\n".join([f"id,title,{name},text,tags", *rows]) + "\n")
    error = run("fit", path, "-o", tmp_path / "m.cofactor").error
    assert "looks like a table of features" in error
    assert "which are labels with --labels" in error
    path.write_text(path.read_text().replace("some words", "some more words of text"))
    options = ["--labels", "tags", "--label-sep", "|", "--text", "text", "--id", "id"]
    told = run("fit", path, "-o", tmp_path / "m.cofactor").error
    assert told.endswith("if it holds texts with tags, add --labels tags --label-sep '|' --text text --id id")
    assert run("fit", path, *options, "--drop", "title", "-o", tmp_path / "m.cofactor").status == 0
    if gap:
        named = run("fit", path, "--user", "id", "--item", "title", "--implicit", "-o", tmp_path / "m.cofactor")
        assert named.status == 0


def test_a_fit_says_what_became_of_text(run, table: Path, tmp_path: Path) -> None:
    options = ["--labels", "is_", "--drop", "remark,beach"]
    expected = [
        "cofactor: note: 1 column of text became one feature for each of the values: 'sky' (3)",
        "cofactor: note: 1 column of text became 0 and 1: 'rain' (no, yes)",
    ]
    assert run("fit", table, *options, *FAST, "-o", tmp_path / "m.cofactor").err.splitlines() == expected
    measured = run("evaluate", table, *options, *FAST, "--splits", 2, "--json")
    assert measured.err.splitlines() == expected
    named = run("evaluate", table, *options[:3], "remark", "--id", "beach", *FAST, "--splits", 2, "--json")
    first, second = (one.json["results"]["PLST"][0]["micro_f1"] for one in (measured, named))
    assert first == second  # ids are no feature


def test_a_model_needs_no_option_twice(run, table: Path, model: Path, tmp_path: Path) -> None:
    """The columns that were left out had to be named again, and ids were lost."""
    found = run("predict", model, table)
    assert (found.status, found.err) == (0, "")
    lines = found.out.splitlines()
    assert lines[0] == "beach,labels"
    assert [line.split(",")[0] for line in lines[1:]] == [f"b{k:03}" for k in range(60)]
    new = tmp_path / "new.csv"  # in another order, labels without values, nothing that is no feature
    rows = [line.split(",") for line in table.read_text().splitlines()]
    new.write_text("\n".join(",".join([row[2], row[5] if k == 0 else "", row[3], row[0], row[1]])
                             for k, row in enumerate(rows)))  # fmt: skip
    assert run("predict", model, new).out == found.out


def test_ids_stand_in_every_form_of_output(run, table: Path, model: Path, tmp_path: Path) -> None:
    first = {
        ("--top", 2): "beach,rank,label,score",
        ("--scores",): "beach,is_sea,is_sun",
        ("--form", "table"): "beach,is_sea,is_sun",
    }
    for options, heading in first.items():
        lines = run("predict", model, table, *options).out.splitlines()
        assert lines[0] == heading
        assert lines[1].startswith("b000,")
    assert lines[-1].startswith("b059,")
    assert [line[:4] for line in run("predict", model, table, "--top", 2).out.splitlines()[1:4]] == ["b000"] * 2 + [
        "b001"
    ]
    records = run("predict", model, table, "--json").json_lines
    assert [record["beach"] for record in records[:2]] == ["b000", "b001"]
    numbered = tmp_path / "numbered.csv"
    numbered.write_text(table.read_text().replace("beach,", "place,").replace("\nb", "\n"))
    found = run("predict", model, numbered, "--id", "place").out.splitlines()
    assert found[0] == "place,labels"
    assert found[1].startswith("000,")
    without = tmp_path / "without.csv"
    without.write_text("\n".join(line.split(",", 1)[1] for line in table.read_text().splitlines()))
    told = run("predict", model, without)
    assert told.out.startswith("instance,labels\n1,")
    assert told.err == (
        "cofactor: note: there is no column 'beach', which named the rows in training: rows are numbered\n"
    )


def test_columns_that_a_model_needs(run, table: Path, model: Path, tmp_path: Path) -> None:
    """It said that there is no feature of this name, and expected more features than columns."""
    for option, value, expected in [
        ("--id", "wind", "'wind' is a feature of the model, so that it cannot be --id"),
        ("--drop", "sky", "'sky' is a feature of the model, which needs all of them: leave it out of --drop"),
    ]:
        assert run("predict", model, table, option, value).error == f"{table}: {expected}"
    lines = table.read_text().splitlines()
    new = tmp_path / "new.csv"
    new.write_text("\n".join(",".join(line.split(",")[:2]) for line in lines))
    assert run("predict", model, new).error == (
        f"{new}: no column 'sky', 'rain'; the model was trained on 3 columns; add such a column: empty cells are "
        "filled as in training"
    )
    new.write_text(
        "\n".join(f"{','.join(line.split(',')[:2])},{',' if k else 'sky,rain'}" for k, line in enumerate(lines))
    )
    assert run("predict", model, new).status == 0
    new.write_text("\n".join(lines[1:]))
    assert run("predict", model, new).error == (
        f"{new}: no column 'wind', 'sky', 'rain'; the model was trained on 3 columns; its first line does not name the "
        "columns: put their names there"
    )


def test_a_schema_of_a_model_reads_files_in_python(table: Path, model: Path, tmp_path: Path) -> None:
    """A file without labels was refused."""
    fitted = cofactor.load(model)
    data = load_labels(table, labels=[], schema=fitted.schema_, sparse=False)
    predicted = fitted.predict(pd.DataFrame(data.X, columns=data.feature_names))
    assert predicted.shape == (60, 2)
    new = tmp_path / "new.csv"
    new.write_text("\n".join(line.rsplit(",", 2)[0] for line in table.read_text().splitlines()))
    bare = load_labels(new, schema=fitted.schema_, sparse=False)
    assert (bare.n_labels, bare.X.tolist()) == (0, data.X.tolist())
    new.write_text("\n".join(line.rsplit(",", 1)[0] for line in table.read_text().splitlines()))
    with pytest.raises(InvalidInputError, match="has no column 'is_sun', which labels names"):
        load_labels(new, schema=fitted.schema_)


@pytest.mark.filterwarnings("default")  # which the command shows
def test_words_that_training_did_not_have(run, model: Path, tmp_path: Path) -> None:
    new = tmp_path / "new.csv"
    new.write_text(beach(sky=("blue", "green")))
    told = run("predict", model, new)
    assert told.status == 0
    assert told.err == (
        f"cofactor: warning: {new}, column 'sky': 'green' did not occur in training; all columns of this feature are 0 "
        "in 30 rows\n"
    )
    new.write_text(beach().replace(",no,", ",maybe,"))
    expected = f"{new}, line 2, column 'rain': expected no or yes as in training, found 'maybe'"
    assert run("predict", model, new).error == expected
    new.write_text("wind,sky,rain\nstrong,blue,no\n")
    assert run("predict", model, new).error == f"{new}, line 2, column 'wind': expected a number, found 'strong'"
    new.write_text("wind,sky,rain,waves\n1,blue,no,3\n")
    assert run("predict", model, new).error == (
        f"{new}: column 'waves' was not there in training; leave out what is no feature with --drop waves"
    )
    assert run("predict", model, new, "--drop", "waves").status == 0


def test_words_stay_words_where_all_of_them_are_numbers(run, tmp_path: Path) -> None:
    """Grades 1, 2 and 2+ are words; a file that has only 1 and 2 held numbers then, and was refused."""
    train, new, out = tmp_path / "a.csv", tmp_path / "b.csv", tmp_path / "m.cofactor"
    grades = ("1", "2", "2+")
    train.write_text("grade,x,l\n" + "".join(f"{grades[k % 3]},{k % 5},{int(k % 3 == 0)}\n" for k in range(30)))
    new.write_text("grade,x\n1,0\n2,0\n")
    assert run("fit", train, "--labels", "l,", *FAST, "-o", out).status == 0
    (first, second) = run("predict", out, new, "--scores").out.splitlines()[1:]
    assert first.split(",")[1] != second.split(",")[1]


def test_how_a_text_file_is_written_is_kept(run, table: Path, tmp_path: Path) -> None:
    odd, out = tmp_path / "odd.txt", tmp_path / "m.cofactor"
    odd.write_text(table.read_text().replace("grey", "gräu").replace(",", "|"), encoding="latin-1")
    options = ["--labels", "is_", "--drop", "remark,beach", "--sep", "|", "--encoding", "latin-1"]
    assert run("fit", odd, *options, *FAST, "-o", out).status == 0
    assert run("predict", out, odd).err == ""
    assert "not valid utf-8" in run("predict", out, odd, "--encoding", "utf-8").error


def test_ids_of_arff(run, tmp_path: Path) -> None:
    path, out = tmp_path / "a.arff", tmp_path / "m.cofactor"
    head = "@relation 'r: -C -1'\n@attribute name string\n@attribute x numeric\n@attribute l {0,1}\n@data\n"
    path.write_text(head + "".join(f"'s {k}',{k % 7},{int(k % 7 > 3)}\n" for k in range(30)))
    assert "--drop name, or name the rows by it with --id name" in run("fit", path, *FAST, "-o", out).error
    assert run("fit", path, "--id", "name", *FAST, "-o", out).status == 0
    lines = run("predict", out, path).out.splitlines()
    assert (lines[0], lines[1].split(",")[0], lines[30].split(",")[0]) == ("name,labels", "s 0", "s 29")


def test_model_files_without_a_schema_and_with_a_wrong_one(run, table: Path, model: Path, tmp_path: Path) -> None:
    header, arrays = read_model(model)
    header.pop("crc32", None)
    schema = header.pop("recipe")
    old, wrong = tmp_path / "old.cofactor", tmp_path / "wrong.cofactor"
    write_model(old, header, arrays)
    told = run("predict", old, table, "--drop", "remark", "--id", "beach")
    assert told.out == run("predict", model, table).out
    for change in ({"words": {}}, {"id": 3}, {"labels": "is_"}, {"features": ["wind"]}, {"text": {"sep": 3}}):
        write_model(wrong, {**header, "recipe": {**schema, **change}}, arrays)
        with pytest.raises(ModelFileError, match="schema of columns"):
            cofactor.load(wrong)


def test_parquet_with_columns_of_lists_is_predicted(run, tmp_path: Path) -> None:
    """Without labels it counted as a table whose features are lists."""
    data, _ = make_labels(40, 6, 4, n_groups=2, n_factors=2, random_state=0)
    path, out = tmp_path / "lists.parquet", tmp_path / "m.cofactor"
    write_chunks(path, [(csr_array(data.X), data.Y)])
    assert run("fit", path, *FAST, "-o", out).status == 0
    found = run("predict", out, path, "--form", "table").out
    assert found.startswith("instance,y0,y1,y2,y3\n1,")
    assert len(found.splitlines()) == 41
