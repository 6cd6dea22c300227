"""Texts of messages: plurals, numbers, and hints for unknown names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

#: Line breaks, and all other characters that a terminal or a table obeys instead of showing them.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029]+")

#: All of these but line breaks and tabs.
_OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029]")

#: Similarity from which a name may be a slip of the finger, as "mea" is for "mae" (0.67); 1 is the name itself.
_NEAR = 0.65


def normalize_name(name: str) -> str:
    """Return a name in lower case without spaces, hyphens and underscores.

    Examples
    --------
    >>> normalize_name("Ordinal-Probit") == normalize_name("ordinal_probit")
    True
    """
    return re.sub(r"[-_ ]", "", name).lower()


def nearest(name: object, known: Iterable[str]) -> list[str]:
    """Return at most three of the known names: first those which contain the name, then the most similar ones.

    Examples
    --------
    >>> nearest("mirco_f1", ["mae", "macro_f1", "micro_f1"])
    ['micro_f1', 'macro_f1']
    """
    plain, typed = {normalize_name(one): one for one in known}, normalize_name(str(name))
    parts = [one for one in plain if typed in one] if len(typed) > 2 else []
    return [plain[one] for one in dict.fromkeys([*parts, *get_close_matches(typed, plain, n=3, cutoff=_NEAR)])][:3]


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return the hint for an unknown name.

    Parameters
    ----------
    name : str
        What was typed.
    known : iterable of str
        What could have been meant.
    otherwise : str, optional
        The hint if no known name is similar; by default the list of all known names.

    Examples
    --------
    >>> did_you_mean("mea", ["mae", "rmse"])
    'did you mean mae?'
    >>> did_you_mean("speed", ["mae", "rmse"])
    'expected one of mae, rmse'
    >>> did_you_mean("nonsense", ["alpha", "n_components"])
    'expected one of alpha, n_components'
    """
    names = list(known)
    near = nearest(name, names)
    return f"did you mean {', '.join(near)}?" if near else otherwise or f"expected one of {', '.join(names)}"


def is_number(cell: str) -> bool:
    """Whether a text is a number; nan and inf are.

    Examples
    --------
    >>> is_number(" -3.5e2"), is_number("1_000"), is_number("")
    (True, False, False)
    """
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


def seconds_of_date(cell: str) -> float:
    """Return the seconds since 1970 of a date of ISO 8601, which is of UTC where it names no zone.

    Examples
    --------
    >>> seconds_of_date("1970-01-02"), seconds_of_date("1970-01-01T02:00:00+01:00")
    (86400.0, 3600.0)
    """
    date = datetime.fromisoformat(cell)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def first_repeated(names: Iterable[str]) -> str | None:
    """Return the first name which was there before; None if all are different.

    Examples
    --------
    >>> first_repeated(["sea", "sun", "sea"])
    'sea'
    """
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None


def plural(n: int | np.integer, one: str, many: str = "", form: str = "") -> str:
    """Write a number with its noun, for messages: 1 rating, 2 ratings."""
    return f"{n:{form}} {one if n == 1 else many or one + 's'}"


def without_zero(value: float, digits: int = 3) -> str:
    """Write a number with this many digits after the point, and without the zero before it.

    Examples
    --------
    >>> without_zero(0.4019), without_zero(-0.05, 2), without_zero(10.5, 1)
    ('.402', '-.05', '10.5')
    """
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if text.startswith(("0.", "-0.")) else text


def literal(value: Any) -> str:
    """Write a value as Python does, a number of NumPy as the number.

    Examples
    --------
    >>> import numpy as np
    >>> literal(np.int64(3)), literal("3"), literal(np.float32(0.5))
    ('3', "'3'", '0.5')
    """
    is_scalar = type(value).__module__ == "numpy" and getattr(value, "shape", None) == ()
    return repr(value.item() if is_scalar else value)


def shorten(names: Sequence[Any]) -> str:
    """Write the first three of some names, for messages.

    Examples
    --------
    >>> shorten(["a", "b", "c", "d", "e"])
    "'a', 'b', 'c' and 2 more"
    """
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(map(literal, names[:3])) + more


def some_of(values: NDArray[Any], most: int = 5) -> str:
    """Write the first few values of an array, for messages."""
    shown = ", ".join(f"{v:g}" if isinstance(v, float) else repr(v) for v in values[:most].tolist())
    return shown if len(values) <= most else f"{shown}, ... ({len(values)} in all)"


def one_line(text: str) -> str:
    r"""Return a text in one line, without control characters.

    Examples
    --------
    >>> one_line("two\nlines, \x1b[31mred")
    'two lines,  [31mred'
    """
    return _CONTROL.sub(" ", text)


def without_controls(text: str) -> str:
    r"""Return a text of any number of lines without control characters.

    Examples
    --------
    >>> without_controls("two\nlines, \x1b[31mred")
    'two\nlines,  [31mred'
    """
    return _OBEYED.sub(" ", text)
