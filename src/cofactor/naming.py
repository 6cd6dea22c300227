"""Names that people type: compared without regard to their spelling, and hints for those that are not known."""

from __future__ import annotations

import re
from collections.abc import Iterable
from difflib import get_close_matches

__all__ = ["did_you_mean", "folded", "nearest"]


def folded(name: str) -> str:
    """Return a name in lower case without spaces, hyphens and underscores.

    Examples
    --------
    >>> folded("Ordinal-Probit") == folded("ordinal_probit")
    True
    """
    return re.sub(r"[-_ ]", "", name).lower()


def nearest(name: object, known: Iterable[str]) -> list[str]:
    """Return at most three of the known names: those that a name is part of, then those it is like, the likest first.

    Examples
    --------
    >>> nearest("mirco_f1", ["mae", "macro_f1", "micro_f1"])
    ['micro_f1', 'macro_f1']
    """
    plain, typed = {folded(one): one for one in known}, folded(str(name))
    parts = [one for one in plain if typed in one] if len(typed) > 2 else []
    return [plain[one] for one in dict.fromkeys([*parts, *get_close_matches(typed, plain, n=3)])][:3]


def did_you_mean(name: object, known: Iterable[str], otherwise: str = "") -> str:
    """Return the hint that belongs to a name that is not known.

    Parameters
    ----------
    name : str
        What was typed.
    known : iterable of str
        What could have been meant.
    otherwise : str, optional
        The hint where nothing is like it; by default the list of all known names.

    Examples
    --------
    >>> did_you_mean("mea", ["mae", "rmse"])
    'did you mean mae?'
    >>> did_you_mean("speed", ["mae", "rmse"])
    'expected one of mae, rmse'
    """
    names = list(known)
    near = nearest(name, names)
    return f"did you mean {', '.join(near)}?" if near else otherwise or f"expected one of {', '.join(names)}"
