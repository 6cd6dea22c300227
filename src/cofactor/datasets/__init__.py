"""Ratings from files, from the known public sets, and from a generator.

============================  ======================================================================
`load_dataset`                a known set by name: ml-100k, ml-1m, ml-latest-small, jester-1
`load_movielens`              MovieLens 100K, 1M, latest-small, with titles
`load_jester`                 Jester 1, continuous or binned
`read_ratings`, `read_pairs`  any CSV, TSV, ``::``-separated or Parquet file
`write_table`                 a table to CSV, TSV or Parquet, whole or not at all
`bin_ratings`                 continuous ratings to levels
`make_ratings`                synthetic ratings whose complete matrix is known
`available`, `locate`,        the registry: what there is, where it is, download it,
`fetch`, `verify`             compare checksums
============================  ======================================================================

Loaders and readers return a `RatingDataset`: ``X`` (user and item ids), ``y`` (ratings), ``scale`` (the
possible ratings, None if continuous), titles and times.

Known sets are looked for in ``$COFACTOR_DATA``, then in the user's cache, then downloaded with a verified
checksum.
"""

from cofactor.datasets._load import load_dataset
from cofactor.datasets._types import RatingDataset
from cofactor.datasets.files import read_pairs, read_ratings, write_table
from cofactor.datasets.jester import bin_ratings, load_jester
from cofactor.datasets.movielens import load_movielens
from cofactor.datasets.registry import (
    DatasetNotFoundError,
    DatasetStatus,
    FileCheck,
    Verification,
    available,
    cache_dir,
    fetch,
    find_file,
    locate,
    verify,
)
from cofactor.datasets.synthetic import make_ratings

__all__ = [
    "DatasetNotFoundError",
    "DatasetStatus",
    "FileCheck",
    "RatingDataset",
    "Verification",
    "available",
    "bin_ratings",
    "cache_dir",
    "fetch",
    "find_file",
    "load_dataset",
    "load_jester",
    "load_movielens",
    "locate",
    "make_ratings",
    "read_pairs",
    "read_ratings",
    "verify",
    "write_table",
]
