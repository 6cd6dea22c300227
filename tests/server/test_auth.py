"""Keys, and names of hosts."""

from __future__ import annotations

import pytest

from cofactor.errors import InputWarning, InvalidInputError
from cofactor.server.auth import Keys, served_hosts

FIRST, SECOND = "the first of two keys".replace(" ", "-"), "q2PzN0v7cY4m9XbTnR8k"


def test_a_file_has_a_key_in_each_line(tmp_path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# of Ann\n{FIRST}\n\n  {SECOND}  \r\n")
    file.chmod(0o600)
    keys = Keys.read(str(file))
    assert [keys.has(key) for key in (FIRST, SECOND, "", "# of Ann", FIRST[:-1], "é", "\udcff")] == [True, True] + [
        False
    ] * 5
    assert FIRST not in repr(vars(keys))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# none\n", "holds no key; write one a line"),
        (f"{FIRST}\nshort\n", ", line 2: a key must have at least 16 characters"),
        ("two words are no key", ", line 1: a key may have no spaces"),
        ("schlüssel-schlüssel", ", line 1: a key may have no spaces, and no characters beyond ASCII"),
    ],
)
def test_what_is_no_key_is_refused(tmp_path, text, message) -> None:
    file = tmp_path / "keys"
    file.write_text(text, encoding="utf-8")
    file.chmod(0o600)
    with pytest.raises(InvalidInputError) as error:
        Keys.read(str(file))
    assert message in str(error.value)
    assert not any(word in str(error.value) for word in ("short\n", "words", "schl"))


def test_it_is_warned_of_keys_that_all_may_read(tmp_path) -> None:
    file = tmp_path / "keys"
    file.write_text(FIRST)
    file.chmod(0o644)
    with pytest.warns(InputWarning, match="all users of this machine may read the keys; chmod o-r"):
        Keys.read(str(file))


def test_which_names_are_served() -> None:
    assert served_hosts("127.0.0.1") == {"localhost", "127.0.0.1", "::1"}
    assert served_hosts("0.0.0.0") is served_hosts("127.0.0.1", ["*"]) is None
    ours = {"localhost", "127.0.0.1", "::1", "0.0.0.0"}
    assert served_hosts("0.0.0.0", ["Films.example.org"]) == ours | {"films.example.org"}
