"""Names that people type, and hints for those that are not known."""

from tests.together import together

from cofactor.text import did_you_mean, nearest, normalize_name


@together("typed", ["BinaryMMMF", "binary-mmmf", "Binary_MMMF", "binary mmmf"])
def test_spelling_does_not_matter(typed):
    assert normalize_name(typed) == "binarymmmf"
    assert nearest(typed, ["PMMMF", "BinaryMMMF", "HMF"])[0] == "BinaryMMMF"


def test_hints_give_names_as_they_are_written():
    assert did_you_mean("ml100", ["ml-100k", "jester-1"]) == "did you mean ml-100k?"


def test_at_most_three():
    assert len(nearest("name 1", (f"name {k}" for k in range(10)))) == 3


def test_what_is_said_where_nothing_is_like_it():
    assert did_you_mean("xyz", iter(["mae", "rmse"])) == "expected one of mae, rmse"
    assert did_you_mean("xyz", ["mae"], "see the manual") == "see the manual"


@together("typed", [3, None, ""])
def test_what_is_no_name_is_like_nothing(typed):
    assert nearest(typed, ["mae", "rmse"]) == []
