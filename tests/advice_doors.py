"""Further cases of advice, of labels, a shell and HTTP."""

from __future__ import annotations

#: Python for names that calls use.
NAMES: dict[str, str] = {}

FILES: dict[str, str] = {}

#: Calls, and the calls that follow what they advise.
CASES: list[tuple[str, str | list[str]]] = []
