"""ARFF: header, rows, which attributes are labels, and every message for what cannot be read."""

import gzip
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import issparse
from tests.together import together

from cofactor.datasets import read_arff, read_label_names
from cofactor.datasets.readers import arff
from cofactor.datasets.readers.arff import read_header
from cofactor.schema import truth_of

HEAD = (
    "@relation 'r: -C -2'\n@attribute a numeric\n@attribute b {0,1}\n@attribute l1 {0,1}\n@attribute l2 {0,1}\n@data\n"
)


@pytest.fixture
def write(tmp_path):
    def write(text, name="file.arff"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def dense(X):
    return X.toarray() if issparse(X) else X


def test_dense_and_sparse_rows_say_the_same(write):
    rows = [(1.5, 0, 1, 0), (0.0, 1, 0, 0), (-2e-3, 1, 1, 1), (0, 0, 0, 0)]
    text = HEAD + "".join(",".join(map(str, row)) + "\n" for row in rows)
    packed = "".join("{" + ", ".join(f"{j} {v}" for j, v in enumerate(row) if v) + "}\n" for row in rows)
    one, two = read_arff(write(text)), read_arff(write(HEAD + packed, "sparse.arff"))
    expected = np.array(rows, dtype=float)
    for data in (one, two):
        np.testing.assert_array_equal(dense(data.X), expected[:, :2])
        np.testing.assert_array_equal(data.Y.toarray(), expected[:, 2:])
        assert data.Y.dtype == np.int32
        assert (data.feature_names, data.label_names) == (("a", "b"), ("l1", "l2"))


PLAIN = ["0", "1", "1.5", "-2e-3", "1e22", "01", " 1 ", ".5"]
ODD = ["+1", "", "?", "nan", "-inf", "1e400", "1_0", "0x1F", "x", "'1'", '"0"', "1 2", "1,1", "{0 1}", "%", "\u0663"]
DECLARED = r"""a,b,'c d',"e,f",'\'g\'',?,'',%,1"""
WORDS = ["a", "b", " a ", "c d", "'c d'", "c", "'e,f'", "'a'", '"a"', "'g'", r"'\'g\''", "?", "", "%", "1", "01"]
ODD_PAIRS = ["4 1", "0 1", "-1 1", "x 1", "0x1 1", "1", "", " 3  1", "+3 1"]


@given(
    rows=st.lists(st.lists(st.none() | st.sampled_from(PLAIN), min_size=4, max_size=4), min_size=1, max_size=5),
    odd=st.none() | st.sampled_from(ODD),
    odd_pair=st.none() | st.sampled_from(ODD_PAIRS),
    sparse=st.booleans(),
    blank=st.sampled_from(["", " "]),
    words=st.lists(st.sampled_from(WORDS), min_size=1, max_size=3) | st.sampled_from([["a"], ["b", "a"]]),
)
@settings(max_examples=80)
def test_arrow_and_the_library_agree(rows, odd, odd_pair, sparse, blank, words, tmp_path_factory):
    """A cell which is None is left out of a sparse row; odd ones are at the end."""
    words = [words[k % len(words)] for k in range(len(rows))]
    rows[-1][-1] = rows[-1][-1] if odd is None else odd
    if sparse:
        pairs = [[f"{j} {cell}" for j, cell in enumerate(row) if cell is not None] for row in rows]
        pairs[-1] += [] if odd_pair is None else [odd_pair]
        lines = ["{" + f",{blank}".join(row) + "}" for row in pairs]
    else:
        lines = [
            f",{blank}".join([word, *(cell or "0" for cell in row)]) for word, row in zip(words, rows, strict=True)
        ]
    head = "@relation r\n" + f"@attribute w {{{DECLARED}}}\n" * (not sparse)
    head += "".join(f"@attribute a{j} real\n" for j in range(4)) + "@data\n"
    path = tmp_path_factory.getbasetemp() / "agree.arff"
    path.write_text(head + "\n".join(lines), encoding="utf-8")

    def outcome():
        try:
            return read_arff(path, (), sparse=False).X.tobytes()
        except ValueError as error:
            return str(error)

    usual = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(arff, "dense_columns", lambda rows, values: None)
        patch.setattr(arff, "sparse_numbers", lambda rows, n: None)
        assert outcome() == usual


@pytest.mark.parametrize("rows", ["1.5,0,1,0\n0,1,1,1\n", " 1 , 0,0, 1", "{0 1.5,2 1}\n{}\n{3 1}\n", "{0 2, 3 1}"])
def test_rows_of_plain_numbers_are_read_by_arrow(write, monkeypatch, rows):
    expected = read_arff(write(HEAD + rows))
    monkeypatch.setattr(arff, "_Stream", None)
    np.testing.assert_array_equal(dense(read_arff(write(HEAD + rows)).X), dense(expected.X))


def test_form_of_x(write):
    zeros = HEAD + "1,0,0,1\n" + "0,0,1,0\n" * 9
    full = HEAD + "{0 1,1 1}\n" * 3
    assert issparse(read_arff(write(zeros)).X)  # 1 of 20 numbers, in a dense file
    assert not issparse(read_arff(write(full)).X)  # all numbers, in a sparse file
    assert issparse(read_arff(write(full), sparse=True).X)
    assert not issparse(read_arff(write(zeros), sparse=False).X)
    with pytest.raises(ValueError, match="sparse='yes': not known"):
        read_arff(write(full), sparse="yes")


def test_gzip_comments_blank_lines_cases_and_line_ends(tmp_path):
    text = "% c\r\n\r\n@RELATION 'r: -C 1'\r\n% d\r\n@Attribute l\t{0,1}\r\n@ATTRIBUTE\tx   REAL % r\r\n"
    text += "@DATA\r\n\r\n% e\r\n 1 , 2 \r\n"
    path = tmp_path / "odd.arff.gz"
    path.write_bytes(gzip.compress(text.encode()))
    data = read_arff(path)
    assert (data.X.tolist(), data.Y.toarray().tolist(), data.label_names) == ([[2.0]], [[1]], ("l",))


@together(
    ("declared", "name"),
    [
        ("'sea, sun'", "sea, sun"),
        ('"it\'s"', "it's"),
        (r"'it\'s \"new\"'", 'it\'s "new"'),
        ("'50 % {x}'", "50 % {x}"),
        (r"'back\\slash'", "back\\slash"),
        ("TAG_c#", "TAG_c#"),
        (r"TAG_m\'usica", r"TAG_m\'usica"),
        ("'\u00fcber'", "\u00fcber"),
    ],
)
def test_names_with_commas_quotes_and_escapes(write, declared, name):
    text = f"@relation r\n@attribute x numeric\n@attribute {declared} {{0,1}}\n@data\n1,1\n"
    data = read_arff(write(text), [name])
    assert data.label_names == (name,)
    assert data.Y.toarray().tolist() == [[1]]


@given(names=st.lists(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1), min_size=2, unique=True))
@settings(max_examples=30)
def test_any_name_survives_quoting(names):
    lines = ["@relation r"]
    for name in names:
        escaped = name.replace("\\", "\\\\").replace("'", "\\'")
        lines.append(f"@attribute '{escaped}' {{0,1}}")
    numbered = iter(enumerate([*lines, "@data"], start=1))
    assert [a.name for a in read_header(numbered, "file").attributes] == names


@given(
    rows=st.lists(
        st.tuples(st.floats(allow_nan=False, allow_infinity=False), st.sampled_from(["p", "it's", "q,r", " "])),
        min_size=3,
        max_size=20,
    )
)
@settings(max_examples=30)
def test_numbers_and_quoted_values_survive(rows, tmp_path_factory):
    values = {"p": "p", "it's": r"'it\'s'", "q,r": '"q,r"', " ": "' '"}
    head = (
        f"@relation r\n@attribute x real\n@attribute n {{{','.join(values.values())},unused}}\n@attribute l {{0,1}}\n"
    )
    text = head + "@data\n" + "".join(f"{x!r},{values[n]},1\n" for x, n in rows)
    path = tmp_path_factory.getbasetemp() / "quoted.arff"
    path.write_text(text)
    data = read_arff(path, ["l"], sparse=False)
    np.testing.assert_array_equal(data.X[:, 0], [x for x, _ in rows])
    assert data.feature_names[1:] == ("n=p", "n=it's", "n=q,r", "n= ", "n=unused")
    assert [data.feature_names[1 + k] for k in data.X[:, 1:].argmax(axis=1)] == [f"n={n}" for _, n in rows]
    assert (data.X[:, 1:].sum(axis=1) == 1).all()


# ---------------------------------------------------------------------------------------------- nominal


def test_words_for_off_and_on_in_any_order(write):
    text = "@relation 'r: -C -1'\n@attribute a {YES,NO}\n@attribute b {0,1}\n@attribute c {1,-1}\n"
    text += "@attribute l {true,false}\n"
    data = read_arff(write(text + "@data\nNO,1,1,true\nYES,0,-1,false\nNO,0,-1,false\n"))
    assert data.feature_names == ("a", "b", "c")
    assert dense(data.X).tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0]]
    assert data.Y.toarray().ravel().tolist() == [1, 0, 0]


def test_left_out_in_a_sparse_row_is_the_value_listed_first(write):
    text = "@relation 'r: -C -1'\n@attribute a {YES,NO}\n@attribute b {1,0}\n@attribute c {x,y,z}\n"
    text += "@attribute l {0,1}\n@data\n"
    data = read_arff(write(text + "{3 1}\n{0 NO,1 0,2 z}\n{}\n"), sparse=False)
    assert data.feature_names == ("a", "b", "c=x", "c=y", "c=z")
    assert data.X.tolist() == [[1, 1, 1, 0, 0], [0, 0, 0, 0, 1], [1, 1, 1, 0, 0]]
    assert data.nominal == ("c",)


@pytest.mark.parametrize(
    ("values", "truth"),
    [
        (("0", "1"), (0, 1)),
        (("No", "YES"), (0, 1)),
        (("1",), (1,)),
        (("0", "1", "2"), None),
        (("a",), None),
        ((), None),
    ],
)
def test_which_values_are_off_and_on(values, truth):
    assert truth_of(values) == truth


def test_row_names_are_refused_and_dropped(write):
    ids = [f"p{k}" for k in range(20)]
    head = f"@relation 'r: -C -1'\n@attribute id {{{','.join(ids)}}}\n@attribute x real\n@attribute l {{0,1}}\n@data\n"
    text = head + "".join(f"{name},1,0\n" for name in ids)
    with pytest.raises(ValueError, match="'id' is text with 20 different values.*drop=\\['id'\\]"):
        read_arff(write(text))
    assert read_arff(write(text), max_values=20).n_features == 21
    named = read_arff(write(text), id="id")
    assert (named.feature_names, named.ids.tolist()) == (("x",), ids)
    again = read_arff(write(text), (), schema=named.schema)
    assert (again.feature_names, again.ids.tolist(), again.n_labels) == (("x",), ids, 0)
    assert read_arff(write(text), drop=["id"]).feature_names == ("x",)


def test_a_value_unseen_in_training_is_all_zeros_with_a_warning(write):
    head = "@relation 'r: -C -1'\n@attribute x real\n@attribute sky {%s}\n@attribute l {0,1}\n@data\n"
    train = read_arff(write(head % "grey,blue" + "1,grey,1\n2,blue,0\n1,blue,0\n"), sparse=False)
    test = read_arff(write(head % "blue,red" + "5,blue,1\n6,red,0\n"), sparse=False)
    with pytest.warns(UserWarning, match="'sky=red' did not occur in training; all columns of this feature are 0"):
        X = test.align(train.feature_names)
    assert X.tolist() == [[5, 0, 1], [6, 0, 0]]
    with pytest.warns(UserWarning, match="sky=red"):
        sparse = read_arff(write(head % "blue,red" + "5,blue,1\n6,red,0\n"), sparse=True).align(train.feature_names)
    assert sparse.toarray().tolist() == X.tolist()
    with pytest.raises(ValueError, match="no feature 'z'; expected 2 features"):
        test.align(["x", "z"])
    with pytest.raises(ValueError, match="'x' was not there in training"):
        test.align(["sky=blue", "sky=red"])


# ----------------------------------------------------------------------------------- which are the labels


def test_meka_labels_of_either_sign(write):
    body = "@attribute a {0,1}\n@attribute b {0,1}\n@attribute c {0,1}\n@data\n1,0,0\n"
    assert read_arff(write("@relation 'r: -C 2'\n" + body)).label_names == ("a", "b")
    assert read_arff(write("@relation 'r: -C -2'\n" + body)).label_names == ("b", "c")
    assert read_arff(write("@relation 'r: -C 2'\n" + body), -1).label_names == ("c",)
    for n in (3, -3, 0):
        with pytest.raises(ValueError, match=f"{n} labels among 3 attributes; expected 1 to 2"):
            read_arff(write(f"@relation 'r: -C {n}'\n" + body))
    with pytest.raises(ValueError, match="a filter changed the attributes after that.*labels"):
        read_arff(write("@relation 'r: -C 1-weka.filters.unsupervised.attribute.Remove-R1'\n" + body))


def test_mulan_xml(write):
    xml = '<?xml version="1.0"?><labels xmlns="http://mulan.sourceforge.net/labels">{}</labels>'
    arff = write(HEAD + "1,0,1,0\n", "set-train-sparse.arff")
    write(xml.format('<label name="l2"></label><label name="b"/>'), "set.xml")
    data = read_arff(arff)
    assert (data.label_names, data.feature_names) == (("b", "l2"), ("a", "l1"))  # in the order of the file
    nested = write(xml.format('<label name="l1"><label name="l2"><label name="b"/></label></label>'), "nested.xml")
    assert read_label_names(nested) == ("l1", "l2", "b")
    assert read_arff(arff, nested).label_names == read_arff(arff, str(nested)).label_names == ("b", "l1", "l2")
    wrong = write(xml.format('<label name="l1"/><label name="snow, ice"/>'), "wrong.xml")
    with pytest.raises(
        ValueError, match=r"set-train-sparse.arff: has no attribute 'snow, ice', which .*wrong\.xml names"
    ):
        read_arff(arff, wrong)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("<labels><label name='a'></labels>", "not a well-formed XML"),
        ("<html/>", "expected a root element 'labels' as in Mulan, found 'html'"),
        ("<labels/>", "names no label"),
        ("<labels><label name='a'/><label name='a'/></labels>", "the label 'a' is named twice"),
        ("<labels><label/></labels>", "label number 1 has no name"),
    ],
)
def test_odd_xml(write, content, message):
    with pytest.raises(ValueError, match=f"odd.xml: .*{message}"):
        read_label_names(write(content, "odd.xml"))


def test_attributes_that_are_dropped_are_no_labels(write):
    meka = write(HEAD + "1,0,1,0\n0,1,1,1\n")
    assert read_arff(meka, drop=["l2"]).label_names == ("l1",)  # -C counts all attributes
    assert read_arff(meka, -1, drop=["l2"]).label_names == ("l1",)
    assert read_arff(meka, "l", drop=["l1"]).label_names == ("l2",)
    xml = write('<labels><label name="l1"/><label name="l2"/></labels>', "some.xml")
    assert read_arff(meka, xml, drop=["l1"], id="a").label_names == ("l2",)
    with pytest.raises(ValueError, match="attribute 'l1' cannot be both label"):
        read_arff(meka, ["l1", "l2"], drop=["l1"])


def test_labels_by_prefix_names_or_none(write):
    path = write(HEAD.replace(": -C -2", "") + "1,0,1,0\n0,1,1,1\n")
    assert read_arff(path, "l").label_names == ("l1", "l2")
    assert read_arff(path, ["l2", "b"]).label_names == ("l2", "b")
    assert read_arff(path, ["l2", "b"]).Y.toarray().tolist() == [[0, 0], [1, 1]]
    assert read_arff(path, ()).Y.shape == (2, 0)
    for labels, message in [
        (None, "cannot tell which attributes are labels"),
        ("tag", "no attribute begins with labels='tag'"),
        ("", "no attribute begins"),
        (["l1", "snow"], "has no attribute 'snow', which labels names"),
        (["l1", "l1"], "labels names 'l1' twice"),
    ]:
        with pytest.raises(ValueError, match=message):
            read_arff(path, labels)
    with pytest.raises(ValueError, match="has no attribute 'id', which drop names"):
        read_arff(path, "l", drop=["id"])


# --------------------------------------------------------------------------------------------- bad input


@together(
    ("rows", "message"),
    [
        ("1,0,1,0\n1,0\n", "line 8: expected 4 values, found 2; is the line cut short?"),
        ("1,0,1,0\n\n% c\n1,0,1,0,1\n", "line 10: expected 4 values, found 5"),
        ("1,x,1,0\n", "line 7: the attribute 'b' has the value 'x', expected one of 0, 1"),
        ("1,0,1,0\n1,2,1,0\n", "line 8: the attribute 'b' has the value 2, expected one of 0, 1"),
        ("1,0,1,0\n1,0,0.5,0\n", "line 8: the attribute 'l1' has the value 0.5, expected one of 0, 1"),
        ("5%,0,1,0\n", "line 7: expected a number for 'a', found '5%'"),
        ("?,0,1,0\n", "line 7: the attribute 'a' has no value .*'\\?'"),
        ("1,0,?,0\n", "line 7: the label 'l1' has no value .*missing='ignore' learns"),
        ("'1,0,1,0\n", "line 7: expected 4 values, found .*; is a quotation mark missing?"),
        ("1,0,1,0\nnan,0,1,0\n", "line 8: the value nan of 'a' is no finite number"),
        ("{1 1}\n{0 -inf}\n", "line 8: the value -inf of 'a' is no finite number"),
        ("1,0,1,0\n{0 1}\n", "line 8: a sparse row among dense ones"),
        ("{0 1}\n{0 1,2", "line 8: expected a sparse row .*is the line cut short?"),
        ("{0 1}\n{0 1, 1}\n", "line 8: expected 'index value', found '1'"),
        ("{0 1}\n{4 1}\n", "line 8: the index 4 is too large; there are 4 attributes, 0 the first"),
        ("{0 1}\n{0 x}\n", "line 8: expected a number for 'a', found 'x'"),
        ("{0 1}\n{0 1, 0 2}\n", "line 8: an index occurs twice"),
        ("{0 1}\n{1 2}\n", "line 8: the attribute 'b' has the value 2, expected one of 0, 1"),
        ("{0 1}\n{0 ?}\n", "line 8: the attribute 'a' has no value"),
        ("{0 1}\n1,0,1,0\n", "line 8: expected a sparse row"),
        ("", "no rows after @data .line 6.; is the file cut short?"),
    ],
)
def test_faults_in_rows_name_file_and_line(write, rows, message):
    with pytest.raises(ValueError, match=f"file.arff.*{message}"):
        read_arff(write(HEAD + rows))


def test_an_undeclared_nominal_value(write):
    text = "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute sky {grey,blue}\n@data\n1,grey\n0,red\n"
    with pytest.raises(
        ValueError,
        match="line 6: the attribute 'sky' has the value 'red', expected one of those declared in line 3: grey, blue",
    ):
        read_arff(write(text))


@together(
    ("header", "message"),
    [
        ("@relation r\n@attribute a {0,1\n@data\n1\n", "line 2, values of attribute 'a': no comma or closing brace"),
        ("@relation r\n@attribute a {0,0}\n@data\n1\n", "line 2, values of attribute 'a': '0' is listed twice"),
        ("@relation r\n@attribute a {}\n@data\n1\n", "line 2, values of attribute 'a': there are none"),
        ("@relation r\n@attribute a {0} x\n@data\n1\n", "line 2, .*unexpected 'x' after the closing brace"),
        ("@relation r\n@attribute a date 'yyyy'\n@data\n1\n", "line 2: the attribute 'a' has type .*date"),
        ("@relation r\n@attribute 'a numeric\n@data\n1\n", "line 2: expected '@attribute name type'"),
        ("@relation r\n@attribute a\n@data\n1\n", "line 2: expected '@attribute name type'"),
        (
            "@relation r\n@attribute a real\n@attribute a real\n@data\n",
            "line 3: the attribute 'a' was declared in line 2",
        ),
        ("@relation r\n@data\n1\n", "line 2: @data without any @attribute"),
        ("@relation r\n@attribute a real\n", "no @data up to the end of the file .line 2.; is it cut short?"),
        ("1,2,3\n", "line 1: expected @relation, @attribute or @data, found '1,2,3'; is this an ARFF file?"),
        ("", "no @data"),
    ],
)
def test_faults_in_the_header(write, header, message):
    with pytest.raises(ValueError, match=f"file.arff.*{message}"):
        read_arff(write(header), 1)


def test_a_long_list_which_is_cut_short_is_refused_at_once(write):
    text = "@relation r\n@attribute a {" + ",".join(f"v{k}" for k in range(500)) + "\n@data\n1\n"
    with pytest.raises(ValueError, match="no comma or closing brace after"):
        read_arff(write(text), 1)  # the library alone would need years


@pytest.mark.parametrize(
    ("kind", "row", "message"),
    [
        ("{a,b}", "a", "the label 'l' has the values a, b; expected 0/1"),
        ("string", "a", "the label 'l' has type string"),
        ("numeric", "0.5", "labels must be 0/1, -1/.1 or booleans, found 0.5"),
        ("numeric", "2", "found 2"),
    ],
)
def test_labels_which_are_none(write, kind, row, message):
    with pytest.raises(ValueError, match=message):
        read_arff(write(f"@relation 'r: -C 1'\n@attribute l {kind}\n@attribute x real\n@data\n{row},1\n"))


def test_numeric_labels_of_either_code(write):
    text = "@relation 'r: -C 2'\n@attribute l numeric\n@attribute m real\n@attribute x real\n@data\n-1,1,3\n1,1,4\n"
    assert read_arff(write(text)).Y.toarray().tolist() == [[0, 1], [1, 1]]


def test_strings_must_be_dropped(write):
    text = "@relation 'r: -C 1'\n@attribute l {0,1}\n@attribute s string\n@attribute x real\n@data\n1,'a, b',2\n0,?,3\n"
    with pytest.raises(ValueError, match="line 3: the attribute 's' is a string.*drop=\\['s'\\]"):
        read_arff(write(text))
    assert read_arff(write(text), drop=["s"]).X.tolist() == [[2], [3]]


def test_missing_and_wrongly_encoded_files(tmp_path, write):
    with pytest.raises(FileNotFoundError, match="no such file"):
        read_arff(tmp_path / "none.arff")
    path = tmp_path / "latin.arff"
    path.write_bytes("@relation r\n@attribute \u00fc {0,1}\n@attribute x real\n@data\n1,2\n".encode("latin-1"))
    with pytest.raises(ValueError, match="line 2, byte 12: 0xfc is not valid utf-8"):
        read_arff(path, 1)
    assert read_arff(path, 1, encoding="latin-1").label_names == ("\u00fc",)


def test_without_the_library(write, monkeypatch):
    monkeypatch.setitem(sys.modules, "arff", None)
    with pytest.raises(ImportError, match=r"pip install 'cofactor\[arff\]'"):
        read_arff(write(HEAD + "1,0,1,0\n"))


def test_an_xml_file_beside_a_schema_keeps_its_labels(write, tmp_path):
    """They were left out without a word."""
    path = write("@relation r\n@attribute f numeric\n@attribute a {0,1}\n@attribute b {0,1}\n@data\n1,0,1\n2,1,0\n")
    names = tmp_path / "names.xml"
    names.write_text('<labels><label name="b"/><label name="a"/></labels>')
    train = read_arff(path, names)
    for labels in (names, ["a", "b"], -2, None):
        again = read_arff(path, labels, schema=train.schema)
        assert (again.label_names, again.Y.toarray().tolist()) == (("a", "b"), [[0, 1], [1, 0]])
        assert again.feature_names == ("f",)
