"""Many small cases in one test: each test of its own costs some milliseconds, which is more than such a case takes."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest


def together(
    names: str | Sequence[str], cases: Iterable[Any], ids: Sequence[str] | None = None
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Run a test for all cases at once; it fails with all that failed, each with a note that names its case.

    Takes what ``pytest.mark.parametrize`` takes, and like that stands below another to run for all combinations.
    """
    keys, rows = names.split(",") if isinstance(names, str) else list(names), list(cases)
    assert rows, f"there are no cases of {names}"

    def wrap(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def all_of_them(**given: Any) -> None:
            failures: list[BaseException] = []
            for k, row in enumerate(rows):
                values = dict(zip(keys, row if len(keys) > 1 else (row,), strict=True))
                try:
                    test(**given, **values)
                except (Exception, pytest.fail.Exception) as failure:
                    failure.add_note(f"case: {ids[k] if ids else values}")
                    failures.append(failure)
            if len(failures) == 1:
                raise failures[0]
            if failures:
                raise BaseExceptionGroup(f"{len(failures)} of {len(rows)} cases", failures)

        signature = inspect.signature(test)
        kept = [value for key, value in signature.parameters.items() if key not in keys]
        assert len(kept) == len(signature.parameters) - len(keys), f"the test takes no {names}"
        all_of_them.__signature__ = signature.replace(parameters=kept)  # type: ignore[attr-defined]
        return all_of_them

    return wrap
