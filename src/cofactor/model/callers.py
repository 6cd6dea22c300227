"""Whose code a warning belongs to."""

from __future__ import annotations

import sys

__all__ = ["callers_level"]

_PASSED_OVER = ("cofactor", "joblib")


def callers_level() -> int:
    """Return the ``stacklevel`` with which the function that asks warns about the code of the user.

    Frames of this package, and those of joblib between them, are passed over.
    """
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _PASSED_OVER:
        frame, level = frame.f_back, level + 1
    return level
