"""Free text, lists of tags and missing cells in tables and frames."""

from __future__ import annotations

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy.sparse import csr_array
from sklearn.feature_extraction.text import TfidfVectorizer
from tests.together import together

from cofactor.datasets import LabelDataset, load_labels, read_label_table
from cofactor.errors import InputWarning, InvalidInputError
from cofactor.schema import Schema

Write = Callable[..., Path]

BODIES = ["Late flight, late today", "Late meal", "", "A meal today", "flight today"]
FRAME = pd.DataFrame(
    {
        "id": ["p", "q", "r", "s", "t"],
        "body": BODIES,
        "age": [3.0, np.nan, 5, 100, np.nan],
        "sky": ["blue", None, "grey", "blue", "red"],
        "calm": ["no", "yes", None, "yes", "yes"],
        "tags": [" time | trip", "time||time", "", None, "food|time"],
    }
)
OPTIONS: dict[str, Any] = {"label_sep": "|", "text": "body", "id": "id"}


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(text: str | bytes, name: str = "file.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def dense(data: LabelDataset) -> np.ndarray:
    return np.asarray(data.X.toarray() if not isinstance(data.X, np.ndarray) else data.X)


def notes(n: int = 30, end: str = "") -> str:
    """A table with a text that differs in every row."""
    return "body,x,l\n" + "".join(f"word{k} some text{end},{k},{k % 2}\n" for k in range(n))


# ------------------------------------------------------------------------------------------------ features


def test_text_is_tf_idf_as_documented() -> None:
    """And as scikit-learn computes it."""
    data = load_labels(FRAME[["body", "tags"]], "tags", label_sep="|", text="body", sparse=True)
    assert data.feature_names == ("body:flight", "body:late", "body:meal", "body:today")
    expected = TfidfVectorizer(min_df=2, sublinear_tf=True).fit_transform(BODIES)
    np.testing.assert_array_equal(data.X.toarray(), expected.toarray())
    idf = 1 + np.log(6 / (1 + np.array([2, 2, 2, 3])))
    row = np.array([1, 1 + np.log(2), 0, 1]) * idf
    np.testing.assert_allclose(data.X.toarray()[0], row / np.linalg.norm(row), rtol=1e-14)


def test_text_beside_numbers_and_words() -> None:
    data = load_labels(FRAME, "tags", **OPTIONS)
    assert data.feature_names[3:] == ("body:today", "age", "sky=blue", "sky=grey", "sky=red", "calm")
    age = np.array([3, 5, 5, 100, 5.0])  # the median of 3, 5 and 100 fills; beside text numbers are standardized
    np.testing.assert_allclose(dense(data)[:, 4], (age - age.mean()) / age.std())
    assert dense(data)[:, 5:].tolist() == [[1, 0, 0, 0], [0, 0, 0, 1], [0, 1, 0, 1], [1, 0, 0, 1], [0, 0, 1, 1]]
    assert data.filled == {"body": 1, "age": 2, "sky": 1, "calm": 1}
    assert data.schema.fillings(data.filled)[0].startswith(
        "5 cells without a value were filled: 'body' (1, by zeros), 'age' (2, by the median 5), 'sky' (1, by zeros)"
    )
    without = load_labels(FRAME.drop(columns="body"), "tags", label_sep="|", id="id")
    assert dense(without)[:, 0].tolist() == age.tolist()


@pytest.mark.parametrize("kind", ["csv", "parquet", "polars", "pandas"])
def test_a_schema_makes_the_same_features_of_every_form(kind: str, tmp_path: Path) -> None:
    data = load_labels(FRAME, "tags", **OPTIONS)
    schema = Schema.of_json(json.loads(json.dumps(data.schema.as_json())))
    assert schema == data.schema
    turned = FRAME[FRAME.columns[::-1]]
    given: Any = {"pandas": turned, "polars": pl.from_pandas(turned)}.get(kind, tmp_path / f"file.{kind}")
    if kind == "csv":
        turned.to_csv(given, index=False)
    if kind == "parquet":
        turned.to_parquet(given)
    again = load_labels(given, schema=schema)
    np.testing.assert_array_equal(dense(again), dense(data))
    np.testing.assert_array_equal(again.Y.toarray(), data.Y.toarray())
    assert (again.label_names, again.filled, list(again.ids)) == (data.label_names, data.filled, list(data.ids))
    bare = load_labels(given, [], schema=schema)
    assert bare.n_labels == 0


def test_new_texts(write: Write) -> None:
    """Unknown words, empty cells and texts that are numbers are all right when a model is used."""
    schema = load_labels(FRAME[["body", "tags"]], "tags", label_sep="|", text="body").schema
    new = pd.DataFrame({"body": ["Mill stones", None, "LATE", "2024"]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dense(load_labels(new, schema=schema)).tolist() == [[0] * 4, [0] * 4, [0, 1, 0, 0], [0] * 4]
    assert dense(load_labels(pd.DataFrame({"body": [7, 8]}), schema=schema)).tolist() == [[0] * 4] * 2
    assert dense(load_labels(write('body\n"late\n\n meal"\n'), schema=schema))[0].nonzero()[0].tolist() == [1, 2]


@pytest.mark.parametrize("end", ["", ' ""quoted""', '\n\nnext ""lines""'])
@pytest.mark.parametrize("before", ["", '"a word",1\n'])
def test_long_texts(write: Write, before: str, end: str) -> None:
    """Python's reader of CSV refused cells above 131,072 characters."""
    text = f'body,l\n{before}"{"word " * 30_000}{end}",0\n"word",1\n'
    data = load_labels(write(text), ["l"], text="body")
    assert (data.feature_names, data.n_instances) == (("body:word",), 3 if before else 2)
    with pytest.raises(InvalidInputError, match="line 2: .*is a quotation mark missing"):
        load_labels(write('body,l\n"' + text), ["l"], text="body")


def test_number_of_words_and_runs_of_words() -> None:
    frame = pd.DataFrame({"body": ["red sea", "red sea", "red sun", "red"], "l": [0, 1, 0, 1]})
    assert load_labels(frame, ["l"], text="body", max_words=1).feature_names == ("body:red",)
    found = load_labels(frame, ["l"], text="body", ngrams=2)
    assert found.feature_names == ("body:red", "body:red sea", "body:sea")
    again = load_labels(frame, schema=found.schema)
    np.testing.assert_array_equal(dense(again), dense(found))


def test_a_huge_vocabulary_is_limited(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "body,l\n" + "".join(" ".join(f"w{j}" for j in range(5 * k, 5 * k + 90)) + f",{k % 2}\n" for k in range(60))
    assert load_labels(write(text), ["l"], text="body", max_words=50).n_features == 50
    monkeypatch.setenv("COFACTOR_MAX_COLUMNS", "100")
    with pytest.raises(InvalidInputError, match="column 'body': has .* words, and more than 100 columns are refused"):
        load_labels(write(text), ["l"], text="body")


def test_memory_for_runs_of_words(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(notes(2000))
    monkeypatch.setenv("COFACTOR_MAX_FIT", "1000000")
    assert load_labels(path, ["l"], text="body", max_values=2000).n_features == 3
    message = (
        "column 'body': to count their runs of up to 3 words, about 5,815 words .* bytes, and more than 1,000,000 b"
    )
    with pytest.raises(InvalidInputError, match=message):
        load_labels(path, ["l"], text="body", ngrams=3)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "NA", "3", "n/a", ""], [1, 2, 3, 2, 2]),
        (["1", "nan", "?", "null", "None"], [1, 1, 1, 1, 1]),
        (["0", "", "1", "1", "1"], [0, 1, 1, 1, 1]),
    ],
)
def test_missing_numbers(write: Write, cells: list[str], expected: list[float]) -> None:
    data = read_label_table(write("x,l\n" + "".join(f"{cell},{k % 2}\n" for k, cell in enumerate(cells))), ["l"])
    assert data.X.ravel().tolist() == expected
    assert data.filled == {"x": sum(not cell.isdigit() for cell in cells)}


def test_a_word_is_no_missing_number(write: Write) -> None:
    assert read_label_table(write("x,l\nNA,0\nUSA,1\n"), ["l"]).feature_names == ("x=NA", "x=USA")
    assert read_label_table(write("x,y,l\n,a,0\n3,,1\n"), ["l"]).X.tolist() == [[3, 1], [3, 0]]


def test_truth_values_of_a_file_with_types(tmp_path: Path, write: Write) -> None:
    """A text file of the word True said that a number was expected."""
    pd.DataFrame({"b": [True, False], "l": [0, 1]}).to_parquet(tmp_path / "a.parquet")
    schema = read_label_table(tmp_path / "a.parquet", ["l"]).schema
    assert read_label_table(write("b\nTrue\n"), schema=schema).X.tolist() == [[1]]
    assert read_label_table(write("b,l\nFALSE,0\n,1\n"), schema=schema).X.tolist() == [[0], [0.5]]


# -------------------------------------------------------------------------------------------------- tags


def test_tags() -> None:
    """Blanks around tags, repeated ones and empty ones do not count."""
    data = load_labels(FRAME, "tags", **OPTIONS)
    assert data.label_names == ("food", "time", "trip")
    assert data.Y.toarray().tolist() == [[0, 1, 1], [0, 1, 0], [0, 0, 0], [0, 0, 0], [1, 1, 0]]
    assert isinstance(data.Y, csr_array)
    assert data.schema.tags == data.label_names


def test_a_column_is_named_in_full_though_others_begin_so(write: Write) -> None:
    data = load_labels(write("x,tags,tags_old\n1,a;b,c\n2,b,\n"), "tags", label_sep=";", drop=["tags_old"])
    assert data.label_names == ("a", "b")
    assert load_labels(write("x,y,t\n1,2,a b\n2,2,b\n"), -1, label_sep=" ").label_names == ("a", "b")


@pytest.mark.parametrize("kind", ["pandas", "polars", "parquet"])
def test_lists_of_tags(kind: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [1, 2, 3, 4], "tags": [["b|c", "a"], ["a"], [], None]})
    given: Any = {"pandas": frame, "polars": pl.from_pandas(frame)}.get(kind, tmp_path / "file.parquet")
    if kind == "parquet":
        frame.to_parquet(given)
    data = load_labels(given, ["tags"])
    assert (data.label_names, data.schema.label_sep) == (("a", "b|c"), ";")
    assert data.Y.toarray().tolist() == [[1, 1], [1, 0], [0, 0], [0, 0]]
    assert load_labels(given, schema=data.schema).Y.toarray().tolist() == data.Y.toarray().tolist()
    assert load_labels(pd.DataFrame({"x": [1], "tags": ["a;b|c"]}), schema=data.schema).Y.toarray().tolist() == [[1, 1]]
    with pytest.raises(InvalidInputError, match=r"column 'tags': tags hold '\|', which would part them"):
        load_labels(given, ["tags"], label_sep="|")
    for tags, message in (
        ([["a|;", ",", "\t"]], "tags hold all of . ; , and tabs"),
        ([["a", None]], "a tag has no value"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            load_labels(pd.DataFrame({"x": [1], "tags": tags}), ["tags"])


@pytest.mark.parametrize("sep", [",", "|"])
def test_cells_written_as_lists(sep: str, write: Write) -> None:
    """As pandas writes a column of lists to CSV, and others as JSON; brackets and quotes were parts of tags."""
    path = write("")
    tags = [["b, c", "it's"], ["a"], []]
    pd.DataFrame({"x": [1, 2, 3], "tags": tags}).to_csv(path, index=False)
    data = load_labels(path, ["tags"], label_sep=sep)
    assert (data.label_names, data.Y.toarray().tolist()) == (("a", "b, c", "it's"), [[0, 1, 1], [1, 0, 0], [0, 0, 0]])
    pd.DataFrame({"x": [1, 2, 3], "tags": map(json.dumps, tags)}).to_csv(path, index=False)
    assert load_labels(path, schema=data.schema).Y.toarray().tolist() == data.Y.toarray().tolist()


def test_tags_that_training_did_not_have() -> None:
    schema = load_labels(FRAME, "tags", **OPTIONS).schema
    new = FRAME.assign(tags=["sea", "time|sea|sun", "", "time", "trip"])
    with pytest.warns(InputWarning, match="column 'tags': 'sea', 'sun' did not occur in training, and are left out"):
        data = load_labels(new, schema=schema)
    assert data.Y.toarray().tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_another_separator_is_suggested(write: Write) -> None:
    with pytest.warns(InputWarning, match=r"column 't': no cell holds '\|'.* most hold ';': try label_sep=';'"):
        load_labels(write("x,t\n1,a;b\n2,b;c\n3,c\n"), ["t"], label_sep="|")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_labels(write("x,t\n1,a\n2,b\n"), ["t"], label_sep="|")


# ------------------------------------------------------------------------------------------------- bad input


@together(
    ("text", "options", "message"),
    [
        (notes(), {}, "column 'body': 'body' is text with 30 different .*make features of its words with text="),
        (notes(), {"text": "x"}, "column 'x': holds numbers, which are a feature as they are; leave it out of text"),
        (notes(), {"text": ["body", "l"]}, "column 'l' is among those of text and of labels"),
        (notes(), {"text": "body", "drop": ["body"]}, "column 'body' is among those of text and of drop"),
        (notes(), {"text": "body", "id": "body"}, "column 'body' is among those of text and of id"),
        (notes(), {"text": "Body"}, "has no column 'Body', which text names"),
        (notes(), {"text": ["body", "body"]}, "text names 'body' twice"),
        (notes(), {"max_words": 9}, "max_words is for columns of text"),
        (notes(), {"text": "body", "max_words": 0}, "max_words=0: expected a whole number from 1"),
        (notes(), {"text": "body", "max_words": 2.5}, "max_words=2.5: expected a whole number from 1"),
        (notes(), {"text": "body", "ngrams": 9}, "ngrams=9: expected a whole number from 1 to 5"),
        (notes(), {"label_sep": ""}, "label_sep='': expected what parts the tags of a cell"),
        ("body,x,l\n,1,0\n,2,1\n", {"text": "body"}, "column 'body': holds no text, so that no feature"),
        ("body,x,l\na,1,0\n.,2,1\n", {"text": "body"}, "'body': has no word that occurs in 2 rows"),
        ("body,x,l\nsea,1,0\nsun,2,1\n", {"text": "body"}, "'body': has no word that occurs in 2 rows"),
        ("body,x,l\na,,0\nb,,1\n", {}, "column 'x': no row has a value; leave it out with drop="),
        ("body,x,l\na,1,0\nb,inf,1\n", {}, "line 3, column 'x': expected a finite number, found inf"),
        ("body,x,l\na,1,\nb,2,1\n", {}, "line 2, column 'l': expected a label"),
        ("body,x,l\na,1,\nb,2,|\n", {"label_sep": "|"}, "column 'l': no row has a tag"),
        ("body,x,l\na,1,u|v\nb,2,u\n", {}, "line 2, column 'l': expected a label.*label_sep"),
        (
            "body:sea,body,l\n1,sea,1\n2,sea,0\n",
            {"text": "body"},
            "two features are named 'body:sea'; rename a column",
        ),
        (notes(end=" caf\xe9").encode("latin-1"), {"text": "body"}, "line 2, .*not valid utf-8.*encoding='latin-1'"),
    ],
)
def test_what_is_refused(write: Write, text: str | bytes, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        load_labels(write(text), ["l"], **options)


def test_labels_that_are_not_one_column(write: Write) -> None:
    with pytest.raises(InvalidInputError, match="labels are 2 columns, but with label_sep one column lists all tags"):
        load_labels(write("x,a_1,a_2\n1,u,v\n"), "a_", label_sep="|")


def test_the_beginning_of_names_is_not_for_text(write: Write) -> None:
    data = load_labels(write("text,t_1\nsea sun,1\nsea sun,0\n"), "t", text="text")
    assert (data.label_names, data.feature_names) == (("t_1",), ("text:sea", "text:sun"))


def test_options_that_are_for_tables(write: Write) -> None:
    arff = write("@relation 'r: -C -1'\n@attribute x numeric\n@attribute l {0,1}\n@data\n1,0\n2,1\n", "a.arff")
    for options in ({"text": "x"}, {"label_sep": "|"}, {"max_words": 3}):
        with pytest.raises(InvalidInputError, match=f"{next(iter(options))} is for tables: CSV, TSV, Parquet and fr"):
            load_labels(arff, **options)  # type: ignore[arg-type]
    assert load_labels(arff, text=()).n_features == 1
    schema = load_labels(FRAME, "tags", **OPTIONS).schema
    with pytest.raises(InvalidInputError, match="text is for training: the schema says what becomes of text"):
        load_labels(FRAME, schema=schema, text="body")
    with pytest.raises(InvalidInputError, match="format, aligned and data_home are for files"):
        load_labels(FRAME, "tags", format="table", **OPTIONS)


def test_frames_that_cannot_be_read() -> None:
    for frame, message in [
        (pd.DataFrame({"x": [], "l": []}), "the frame: has no rows"),
        (pd.DataFrame([[1, 2, 0]], columns=["x", "x", "l"]), "the frame: two columns are named 'x'"),
        (pd.DataFrame({"x": [1, "a"], "l": [0, 1]}), "the frame: a column holds values of several kinds"),
        (pd.DataFrame({"x": [[1], [2]], "l": [0, 1]}), "the frame, column 'x': has type list.*, expected numbers"),
        (pd.DataFrame({"x": [1.0, np.inf], "l": [0, 1]}), "the frame, row 2, column 'x': expected a finite number"),
    ]:
        with pytest.raises(InvalidInputError, match=message):
            load_labels(frame, ["l"])


def change(**members: Any) -> Callable[[dict[str, Any]], None]:
    return lambda schema: schema.update(members)


def of_body(**members: Any) -> Callable[[dict[str, Any]], None]:
    return lambda schema: schema["vocabularies"]["body"].update(members)


@together(
    "forge",
    [
        of_body(words=[]),
        of_body(words=["a"] * 4),
        of_body(words=["a", "b", "c", 3]),
        of_body(words="abcd"),
        of_body(idf=[1.0] * 3),
        of_body(idf=[1.0, 1.0, 1.0, 0.0]),
        of_body(idf=[1.0, 1.0, 1.0, float("nan")]),
        of_body(idf=[1.0, 1.0, 1.0, float("inf")]),
        of_body(idf=[1.0, 1.0, 1.0, 10**400]),
        of_body(idf=[1.0, 1.0, 1.0, True]),
        of_body(idf=[1.0, 1.0, 1.0, "2"]),
        of_body(ngrams=0),
        of_body(ngrams=1000),
        of_body(ngrams="1"),
        of_body(token_pattern="(a+)+$"),
        change(vocabularies={"body": None}),
        change(vocabularies=[]),
        change(vocabularies={"waves": {"words": ["a"], "idf": [1.0], "ngrams": 1}}),
        change(vocabularies={"sky": {"words": ["a"], "idf": [1.0], "ngrams": 1}}),
        change(fill={"age": float("nan")}),
        change(fill={"age": "5"}),
        change(fill={"body": 5.0}),
        change(fill={"sky": 5.0}),
        change(fill={"waves": 5.0}),
        change(fill=[1]),
        change(scale={"age": [0.0, 0.0]}),
        change(scale={"age": [0.0, -1.0]}),
        change(scale={"age": [0.0, float("inf")]}),
        change(scale={"age": [0.0]}),
        change(scale={"age": 3}),
        change(scale={"calm": [0.0, 1.0]}),
        change(scale="age"),
        change(label_sep=""),
        change(label_sep=3),
        change(label_sep=None),
        change(labels=["tags", "more"]),
        change(tags=["a", "a"]),
        change(tags=["a", 3]),
        change(tags=[""]),
        change(tags="ab"),
        change(more=3),
    ],
)
def test_forged_schemas(forge: Callable[[dict[str, Any]], None]) -> None:
    schema = json.loads(json.dumps(load_labels(FRAME, "tags", **OPTIONS).schema.as_json()))
    forge(schema)
    with pytest.raises(InvalidInputError, match="a (schema|vocabulary) "):
        Schema.of_json(schema)


def test_schemas_of_older_files_are_read() -> None:
    value = {"features": ["x"], "labels": ["l"], "drop": [], "id": None, "words": {}, "text": {}}
    schema = Schema.of_json(value)
    assert schema == Schema(("x",), ("l",))
    with pytest.raises(InvalidInputError, match="the frame, row 2, column 'x': no value"):
        load_labels(pd.DataFrame({"x": [1, None]}), schema=schema)
