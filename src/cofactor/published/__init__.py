"""The published numbers of this field, transcribed by hand, with what is known to be wrong in them.

Every number that is compared with a published one comes from here, so that it is typed once: `value` looks one up,
`load` returns a whole table. The tables are files: ``tables/NAME.csv`` holds the numbers and ``index.toml`` says what
they are, where they come from, and which of them cannot be right.
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
