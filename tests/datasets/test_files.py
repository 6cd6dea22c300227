"""Reading ratings and pairs from files of any layout."""

import gzip
import io
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.together import together

from cofactor.datasets import read_pairs, read_ratings, read_timed_pairs
from cofactor.datasets.readers import text
from cofactor.datasets.readers.ratings import read_ratings_or_interactions
from cofactor.errors import InputWarning
from cofactor.limits import MAX_LEVELS


@pytest.fixture
def save(tmp_path):
    def write(content, name="ratings.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


ROWS = [[1, 10], [1, 20], [2, 10]]


@together(
    "text",
    [
        "1,10,4\n1,20,3\n2,10,5\n",
        "1,10,4\n1,20,3\n2,10,5",  # no line end at the end
        "1,10,4\r\n1,20,3\r\n2,10,5\r\n",
        "1,10,4\r1,20,3\r2,10,5\r",
        "\n\n1,10,4\n\n1,20,3\n2,10,5\n\n\n",
        "1\t10\t4\n1\t20\t3\n2\t10\t5\n",
        "1::10::4\n1::20::3\n2::10::5\n",
        "1;10;4\n1;20;3\n2;10;5\n",
        "1|10|4\n1|20|3\n2|10|5\n",
        "1 10 4\n1  20 3\n2 10  5\n",
        " 1 , 10 , 4\n1, 20, 3\n2,10,5.0\n",
        '"1","10","4"\n"1","20","3"\n"2","10","5"\n',
        "user,item,rating\n1,10,4\n1,20,3\n2,10,5\n",
        "\ufeffuser,item,rating\n1,10,4\n1,20,3\n2,10,5\n",
        "\ufeff1,10,4\n1,20,3\n2,10,5\n",
        "userId,movieId,rating,timestamp\n1,10,4,7\n1,20,3,8\n2,10,5,9\n",
        "rating,Movie ID,User_ID\n4,10,1\n3,20,1\n5,10,2\n",
        "stars;noise;film;uid\n4;x;10;1\n3;y;20;1\n5;z;10;2\n",
        ",user,item,rating\n0,1,10,4\n1,1,20,3\n2,2,10,5\n",  # a pandas index in front
        "wer,was,stars\n1,10,4\n1,20,3\n2,10,5\n",  # one known name in its usual place
    ],
)
def test_same_ratings_from_every_layout(text, save):
    data = read_ratings(save(text))
    assert data.X.tolist() == ROWS
    assert data.X.dtype == np.int64
    assert data.y.tolist() == [4, 3, 5]
    assert data.scale.tolist() == [3, 4, 5]
    assert read_pairs(save(text)).tolist() == ROWS


@pytest.mark.parametrize("names", ["wer,was,wie", "wer,movie,wie", "user,item,price", "user,item,total"])
def test_a_third_column_of_another_name_is_a_guess(names, save):
    path, name = save(f"{names}\n1,10,4\n1,20,3\n2,10,5\n"), names.split(",")[2]
    with pytest.warns(InputWarning, match=f"{path.name}: column '{name}' is read as ratings, .* rating='{name}' says"):
        data = read_ratings(path)
    assert (data.X.tolist(), data.y.tolist()) == (ROWS, [4, 3, 5])
    assert read_ratings(path, rating=name).y.tolist() == [4, 3, 5]
    assert read_pairs(path).tolist() == ROWS


@pytest.mark.parametrize("content", [bytes(8) + b"DUCK" + bytes(20), b"SQLite format 3\0" + bytes(20)])
def test_databases_are_no_text(content, save):
    for read in (read_ratings, read_pairs):
        with pytest.raises(ValueError, match="is a database, expected text; give its address"):
            read(save(content))


def test_gzip_is_known_by_its_content(save):
    packed = gzip.compress(b"1,10,4\n1,20,3\n2,10,5\n")
    for name in ("r.csv.gz", "r.csv", "r"):
        assert read_ratings(save(packed, name)).X.tolist() == ROWS


@pytest.mark.parametrize("packed", [False, True])
def test_standard_input(packed, monkeypatch):
    content = b"user,item,rating\n1,10,4\n1,20,x\n"
    stream = io.BytesIO(gzip.compress(content) if packed else content)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=stream))
    with pytest.raises(ValueError, match="standard input, line 3, column 'rating': expected a number"):
        read_ratings("-")
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(b"1,10,4\n")))
    data = read_ratings("-")
    assert (data.name, data.X.tolist()) == ("stdin", [[1, 10]])


def test_columns_by_name_and_position(save):
    path = save("a,b,c,d\n1,2,3,4\n5,6,7,3\n")
    data = read_ratings(path, user="d", item="b", rating="a", timestamp="c")
    assert data.X.tolist() == [[4, 2], [3, 6]]
    assert data.y.tolist() == [1, 5]
    assert data.timestamps.tolist() == [3, 7]
    assert read_ratings(path, user=3, item=1, rating=0).X.tolist() == [[4, 2], [3, 6]]
    assert read_pairs(path, user="c", item="a").tolist() == [[3, 1], [7, 5]]


def test_times(save):
    assert read_ratings(save("1,2,3,99\n")).timestamps.tolist() == [99]
    assert read_ratings(save("1,2,3,99,a\n")).timestamps is None
    named = "time,user,item,rating,x\n11,1,2,3,a\n"
    assert read_ratings(save(named)).timestamps.tolist() == [11]
    dated = "user,item,rating,date\n1,2,3,1970-01-02\n1,3,3,1970-01-01T00:00:01.9Z\n1,4,3,1970-01-02 00:00:00+01:00\n"
    assert read_ratings(save(dated)).timestamps.tolist() == [86400, 1, 82800]
    # other text: no times, which is told, and an error if the column was asked for
    other = "user,item,rating,date\n1,2,3,2020-01-01\n1,3,3,yesterday\n"
    with pytest.warns(InputWarning, match="line 3, column 'date': .* found 'yesterday', so that no times are used"):
        assert read_ratings(save(other)).timestamps is None
    with pytest.raises(ValueError, match="line 3, column 'date': a time must be .* such as 2020-12-31 .*found 'yester"):
        read_ratings(save(other), timestamp="date")
    pairs, times = read_timed_pairs(save(dated))
    assert (pairs.tolist(), times.tolist()) == ([[1, 2], [1, 3], [1, 4]], [86400, 1, 82800])
    assert read_timed_pairs(save("user,item\n1,2\n"))[1] is None
    with pytest.warns(InputWarning, match="line 2, column 'time': .* found an empty cell, so that no times are used"):
        assert read_ratings(save("user,item,rating,time\n1,2,3,\n")).timestamps is None
    assert read_ratings(save("1,2,3,a\n")).timestamps is None  # nobody called it a time
    parts = "user,item,rating,time\n1,2,3,883603013.5\n1,3,3,7\n1,4,3,-0.5\n"
    assert read_ratings(save(parts)).timestamps.tolist() == [883603013, 7, -1]


def test_text_ids_stay_text_in_their_column_only(save):
    data = read_ratings(save("ann,10,4\nbob,7,3\n"))
    assert data.X.tolist() == [["ann", 10], ["bob", 7]]
    assert data.X.dtype == object
    assert read_ratings(save("10,ann,4\nx,bob,3\n")).X.tolist() == [["10", "ann"], ["x", "bob"]]


def test_a_column_with_the_name_of_something_else_is_not_taken_by_position(save):
    for header, missing in (("user,rating", "item"), ("user,time,rating", "item"), ("customer,score", "item")):
        path = save(f"{header}\n1,2,3\n")
        with pytest.raises(ValueError, match=f"cannot tell which column holds the {missing}"):
            read_pairs(path)
    with pytest.raises(ValueError, match="cannot tell which column holds the rating"):
        read_ratings(save("user,item,date\n1,2,3\n"))
    assert read_pairs(save("user,what\n1,2\n")).tolist() == [[1, 2]]


MATRICES = [
    "user,Alien,Up,Brazil,Heat\nann,1,,3,4\nbob,2,2,,\n",
    "user,1,2,3,4\n1,1,,3,4\n",
    ",10,20,30,40\n1,1,,3,4.5\n",
    "Alien;Up;Brazil;Heat;Jaws\n1;2;3;4;5\n",
    "1,5,4,3,2\n2,5,4,3,2\n",
]


@pytest.mark.parametrize("text", MATRICES)
def test_a_matrix_is_not_read_as_triplets(text, save):
    path = save(text)
    for read in (read_ratings, read_pairs):
        with pytest.raises(
            ValueError, match=r"ratings.csv: looks like a matrix, .* \(5 columns\).*melt\(.*take with user, item"
        ):
            read(path)


def test_columns_that_were_asked_for_are_believed(save):
    assert read_pairs(save(MATRICES[-1]), user=0, item=1).tolist() == [[1, 5], [2, 5]]


@pytest.mark.parametrize(
    "text",
    [
        "1,2,3,881250949,7\n",
        "user,item,stars,a,b\n1,2,3,4,5\n",
        "ann,Alien,5,great film,x\n",
        "1,2,3,4\n",
    ],
)
def test_a_long_table_with_further_columns_is_no_matrix(text, save):
    assert len(read_ratings(save(text))) == 1


@pytest.mark.parametrize("name", ["", "Unnamed: 0"])
def test_the_index_of_a_frame_is_no_column_of_users(save, name):
    path = save(f"{name},who,what,stars\n0,ann,Up,4\n1,ann,Heat,3\n3,bob,Up,5\n")
    with pytest.warns(InputWarning, match="ratings.csv: the first column has no name .* as pandas writes its index"):
        data = read_ratings(path)
    assert (data.X.tolist(), data.y.tolist()) == ([["ann", "Up"], ["ann", "Heat"], ["bob", "Up"]], [4, 3, 5])
    assert read_ratings(path, user="who", item="what", rating=3).X.tolist() == data.X.tolist()
    data, why = read_ratings_or_interactions(save(f"{name},user,item\n0,ann,Up\n1,bob,Up\n"))
    assert (data.X.tolist(), why) == ([["ann", "Up"], ["bob", "Up"]], "there is no column beside users and items")
    _, why = read_ratings_or_interactions(save(f"{name},user,item,n_plays\n0,ann,Up,3\n1,bob,Up,1\n"))
    assert "there is a column 'n_plays'" in why
    table = save(f"{name},Up,Heat,Jaws,Cars\nann,1,2,,4\nbob,1,2,,4\n")  # users are its rows
    with pytest.raises(ValueError, match="looks like a matrix"):
        read_ratings(table)


def test_a_column_of_another_role_is_named(save):
    path = save("user,item\n1,2\n")
    with pytest.raises(
        ValueError, match="rating='user' names the column of the users; the columns are user, item; name"
    ):
        read_ratings(path, rating="user")


def test_a_matrix_in_parquet(tmp_path):
    pq = pytest.importorskip("pyarrow.parquet")
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"user": ["a"], **{name: [2.0] for name in ("Up", "Alien", "Heat", "Jaws")}}), path)
    with pytest.raises(ValueError, match="looks like a matrix"):
        read_ratings(path)


def test_the_description_tells_which_columns_were_taken(save):
    path = save("stars,who,film\n1,2,3\n")
    data = read_ratings(path, user="who", item=2, rating="stars")
    columns = "user from column 'who', item from column 'film', rating from column 'stars'"
    assert data.description == f"1 rating read from {path}, {columns}"
    assert read_ratings(save("1,2,3\n")).description.endswith(
        "user from column 0, item from column 1, rating from column 2"
    )


@together("odd", ["007", "-0", "+7", "7.0", "1e3", "9223372036854775808", "1_0", "0x1", "٣"])
def test_what_only_resembles_an_integer_is_text(odd, save):
    data = read_ratings(save(f"{odd},1,4\n5,1,4\n"))
    assert data.X.tolist() == [[odd, 1], ["5", 1]]
    assert read_ratings(save(f"1,{odd},4\n"), ids="each").X.tolist() == [[1, odd]]
    with pytest.raises(ValueError, match="line 2, column 2: the item id must be an integer, found"):
        read_ratings(save(f"1,1,4\n1,{odd},4\n"), ids="int")


def test_extreme_integers(save):
    path = save("9223372036854775807,-9223372036854775808,4\n0,-1,4\n")
    assert read_ratings(path).X.tolist() == [[2**63 - 1, -(2**63)], [0, -1]]


def test_id_modes(save):
    path = save("1,2,4\nx,3,5\n")
    assert read_pairs(path).tolist() == [["1", 2], ["x", 3]]
    assert read_pairs(path, ids="each").tolist() == [[1, 2], ["x", 3]]
    assert read_pairs(path, ids="str").tolist() == [["1", "2"], ["x", "3"]]
    with pytest.raises(ValueError, match="ids='float': not known"):
        read_pairs(path, ids="float")


def test_unicode_ids_and_quotes(save):
    data = read_ratings(save('user,item,rating\n"Søren, ""S""",Čapek,4\n'))
    assert data.X.tolist() == [['Søren, "S"', "Čapek"]]


def test_encoding(save):
    path = save("user,item,rating\nJosé,1,4\nRené,2,5\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"line 2, byte 4: 0xe9 is not valid utf-8; .*encoding='latin-1'"):
        read_ratings(path)
    assert read_ratings(path, encoding="latin-1").X[:, 0].tolist() == ["José", "René"]
    with pytest.raises(ValueError, match="encoding='klingon': not known"):
        read_ratings(path, encoding="klingon")
    wide = save("user,item,rating\n1,2,3\n".encode("utf-16"))
    with pytest.raises(ValueError, match="starts with a UTF-16 mark.*encoding='utf-16'"):
        read_ratings(wide)
    assert read_ratings(wide, encoding="utf-16").X.tolist() == [[1, 2]]


def test_scale_is_inferred_or_given(save):
    path = save("1,1,2\n1,2,4\n")
    assert read_ratings(path).scale.tolist() == [2, 4]
    assert read_ratings(path, scale=[1, 2, 3, 4, 5]).scale.tolist() == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="line 2, column 3: the rating 4 is not on the scale 1, 2, 3"):
        read_ratings(path, scale=[1, 2, 3])
    with pytest.raises(ValueError, match="increasing"):
        read_ratings(path, scale=[2, 1])
    percent = save("".join(f"1,{k},{k}\n" for k in range(101)))
    assert len(read_ratings(percent).scale) == 101 == MAX_LEVELS
    continuous = save("".join(f"1,{k},{k / 7}\n" for k in range(102)))
    assert read_ratings(continuous).scale is None


def test_duplicates_and_order_are_kept(save):
    data = read_ratings(save("2,1,3\n1,1,4\n2,1,5\n"))
    assert data.X.tolist() == [[2, 1], [1, 1], [2, 1]]
    assert data.y.tolist() == [3, 4, 5]


@together(
    ("text", "message"),
    [
        ("", "the file is empty, expected lines with a user, an item and a rating"),
        ("\n \n", "the file is empty"),
        ("user,item,rating\n", r"only a header \('user,item,rating'\), expected lines with data"),
        ("1,2\n3,4\n", r"no column for the rating; found 2 columns?; check the separator"),
        ("1\n2\n", r"no column for the item; found 1 columns?"),
        ("a,b\n1,2\n", r"no column for the rating; found 2 columns? \(a, b\)"),
        ("1,2,3\n1,2\n", "line 2: expected 3 columns as in line 1, found 2"),
        ("user,item,rating\n1,2,3,4\n", "line 2: expected 3 columns as in line 1, found 4"),
        ("1,2,3,4\n1,2\n1,2,3,4,5,6\n", "line 2: expected 4 columns as in line 1, found 2"),
        ("1,2,3\n\n\n4,5,good\n", "line 4, column 3: expected a number, found 'good'"),
        ("user,item,rating\n1,2,3\n \n\n4,5,3\n   \n6,7,nan\n8,9,3\n", "line 7, column 'rating': the rating is nan"),
        ("\n\n1,2,3\n4,5,good\n", "line 4, column 3: expected a number, found 'good'"),
        ("\nuser,item,rating\n\n4,5,good\n", "line 4, column 'rating': expected a number, found 'good'"),
        (
            "user,item,stars\n1,2,3\n4,5,\n",
            "line 3, column 'stars': expected a number, found an empty cell",
        ),
        ("1;2;3,5\n", r"line 1, column 3: expected a number, found '3,5' \(write decimals with a point\)"),
        ("user,item,rating\n1,2,1_0\n", "line 2, column 'rating': expected a number, found '1_0'"),
        ("1,2,3\n1,2,nan\n", "line 2, column 3: the rating is nan, expected a finite number"),
        ("user,item,rating\n1,2,-inf\n", "line 2, column 'rating': the rating is -inf, expected a finite number"),
        ("a,2,3\nb,2,Infinity\n", "line 2, column 3: the rating is inf, expected a finite number"),
        ("1,2,3\n,2,3\n", "line 2, column 1: the user id is empty"),
        ("1,2,3\n1, ,3\n", "line 2, column 2: the item id is empty"),
        ('1,2,3\n1,"2,3\n1,2,3\n', "line 2: .*quotation mark"),
        ('1,2,3\n1,"2"x,3\n', "line 2: .*quotation mark"),
        (
            "who,movie_title,x,user\na,b,3,c\n",
            "cannot tell which column holds the item and the rating; .*item, rating",
        ),
        ("PK\x03\x04...", "is a zip archive or a spreadsheet"),
    ],
)
def test_bad_files_name_the_file_and_the_line(text, message, save):
    with pytest.raises(ValueError, match=rf"ratings\.csv.*{message}") as caught:
        read_ratings(save(text))
    assert "\n" not in str(caught.value)


@together(
    ("kwargs", "message"),
    [
        ({"user": "kunde"}, r"no column 'kunde' \(user\); the columns are user, item, rating"),
        ({"rating": 3}, "rating=3 is out of range; the file has 3 columns"),
        ({"rating": -1}, "rating=-1 is out of range"),
        ({"user": "item", "item": "item"}, "user and item name the same column"),
        ({"header": False}, "line 1, column 3: expected a number, found 'rating'"),
        ({"header": False, "user": "user"}, "names a column, but the file has no header"),
        ({"sep": ";"}, r"no column for the item; found 1 columns?"),
        ({"sep": ""}, "sep='': cannot separate columns"),
        ({"sep": '"'}, "cannot separate columns"),
    ],
)
def test_bad_options(kwargs, message, save):
    with pytest.raises(ValueError, match=message):
        read_ratings(save("user,item,rating\n1,2,3\n"), **kwargs)


def test_explicit_separator_and_header(save):
    assert read_ratings(save("1--2--3\n"), sep="--").X.tolist() == [[1, 2]]
    assert read_ratings(save("1\t2\t3\n"), sep="\\t").X.tolist() == [[1, 2]]
    assert read_ratings(save("1,2,3\n4,5,1\n"), header=True).X.tolist() == [[4, 5]]


def test_missing_file_and_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv: no such file"):
        read_ratings(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match="is a folder, expected a file"):
        read_pairs(tmp_path)


@pytest.mark.parametrize("cut", [1, 9, 40])
def test_truncated_gzip(cut, save):
    packed = gzip.compress("".join(f"{k},{k},3\n" for k in range(200)).encode())
    with pytest.raises(ValueError, match=r"r\.csv\.gz: the gzip file is cut short \(\d+ bytes"):
        read_ratings(save(packed[:-cut], "r.csv.gz"))


def test_damaged_gzip(save):
    packed = bytearray(gzip.compress("".join(f"{k},{k},3\n" for k in range(200)).encode()))
    packed[-6] ^= 0xFF  # part of the checksum
    with pytest.raises(ValueError, match=r"r\.csv\.gz: the gzip file is damaged"):
        read_ratings(save(bytes(packed), "r.csv.gz"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user,item\nann,x\n", [["ann", "x"]]),
        ("ann,x\nbob,y\n", [["ann", "x"], ["bob", "y"]]),  # no header: no known name, no number below
        ("wer,was\n1,x\n", [[1, "x"]]),
        ("1,2\n", [[1, 2]]),
        ("rating,item,user\n5,2,1\n", [[1, 2]]),
        ("user,item,rating\n1,2,\n", [[1, 2]]),  # the rating is what is asked for
    ],
)
def test_pairs(text, expected, save):
    assert read_pairs(save(text)).tolist() == expected


CELLS = [
    "1",
    "20",
    "0",
    "-3",
    " 4 ",
    "007",
    "-0",
    "+5",
    "1.0",
    "",
    "  ",
    "nan",
    "inf",
    "1e3",
    "0.5",
    ".05",
    "05",
]
CELLS += [
    "9223372036854775807",
    "9223372036854775808",
    "a",
    "é",
    '"6"',
    '"6',
    "1_0",
    "\x0b7",
    "٣",
    "-0.5",
    "::",
    "#1",
    "2020-01-01",
    "12:30:00",
    "0x1F",
    '"a"b',
    'a"b',
    '""',
    '"a""b"',
    '" 6 "',
    "true",
    "1 2",
]


@given(
    rows=st.lists(st.lists(st.sampled_from(CELLS), min_size=2, max_size=5), min_size=1, max_size=5),
    width=st.sampled_from([None, 3, 4]),
    sep=st.sampled_from([",", "\t", "::", ";", " "]),
    end=st.sampled_from(["\n", "\n\n", "\n  \n", "\n\n \n"]),
    last=st.booleans(),
)
@example(  # the right number of commas, in all
    rows=[["1", "2", "3"], ["1", "2"], ["1", "2", "3", "4"]], width=None, sep=",", end="\n", last=False
)
@example(rows=[["1", "1", "0x1F"]], width=None, sep=",", end="\n", last=False)
@example(rows=[["1"] * 4, ["1"] * 5, ["1"] * 3], width=None, sep=",", end="\n", last=False)
@example(rows=[["1"] * 3, ["1"] * 3, ["1", "1", "x"]], width=None, sep=",", end="\n  \n", last=True)
@example(  # quotation marks in pairs, but not of one cell
    rows=[["1"] * 4, ["1"] * 4, ["1", "1", "1", '"6', '" 6 "'], ["1", "1", "1", '"6']],
    width=None,
    sep=",",
    end="\n",
    last=False,
)
@example(rows=[["1", '"6"', "1"], ["1", '" 6 "', "1"]], width=None, sep=",", end="\n", last=False)
@settings(max_examples=120)
@pytest.mark.filterwarnings("ignore:.*blanks around cells are left out:cofactor.errors.InputWarning")
def test_fast_and_careful_way_agree(rows, width, sep, end, last, tmp_path_factory):
    rows = [(row * 3)[:width] if width else row for row in rows]
    path = tmp_path_factory.getbasetemp() / "agree.csv"
    path.write_text(end.join(sep.join(row) for row in rows) + (end if last else ""))

    def outcome():
        try:
            data = read_ratings(path, sep=sep, header=False)
        except ValueError as error:
            return str(error)
        times = None if data.timestamps is None else data.timestamps.tolist()
        return data.X.tolist(), data.X.dtype, data.y.tolist(), times

    usual = outcome()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text, "_prepared", lambda body: None)
        assert outcome() == usual


def test_the_fast_way_is_taken_for_plain_numbers(save, monkeypatch):
    def fail(*args):
        raise AssertionError("the careful way was taken")

    monkeypatch.setattr(text, "_by_cells", fail)
    plain = ("1,10,4\n2,20,3.5\n", "1::10::4::99\n", "user\titem\trating\n100\t10\t0.5\n", "1 2 3\n4 5 6")
    for content in (
        *plain,
        "ann,Čapek,4\n007,12,3\n",
        '"user","item","rating"\n"a, b","c",4\n',
        "a,2020-01-01,3\nb,7,4",
        "\nuser,item,rating\n\n1,10,4\n\n\n2,20,3.5\n  \n3,30,1\n   ",
        "1::10::4\n\n2::20::3",
    ):
        assert len(read_ratings(save(content))) > 0
