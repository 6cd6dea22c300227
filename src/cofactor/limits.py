"""Limits which readers, measures and models share."""

from typing import Final

__all__ = ["MAX_LEVELS"]

#: Largest number of levels of a rating scale, that of a scale from 0 to 100; more distinct ratings are continuous.
MAX_LEVELS: Final = 101
