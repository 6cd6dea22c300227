"""The published numbers of this field, transcribed by hand, with a list of what is known to be wrong in them.

Whenever a result is compared with a published number, that number comes from here, so it is typed only once: `value`
looks one up, `load` returns a whole table. The tables are files: ``tables/NAME.csv`` holds the numbers and
``index.toml`` says what they are, where they come from, and which of them cannot be right.
"""

from cofactor.published.reader import (
    FOLDER,
    METRICS,
    SOURCES,
    Metric,
    Misprint,
    Printed,
    Published,
    load,
    matrices,
    matrix,
    names,
    printed,
    value,
)

__all__ = [
    "FOLDER",
    "METRICS",
    "SOURCES",
    "Metric",
    "Misprint",
    "Printed",
    "Published",
    "load",
    "matrices",
    "matrix",
    "names",
    "printed",
    "value",
]
