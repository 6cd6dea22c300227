"""The known data sets: where they are, how they are downloaded, whether their files are the right ones.

Each set is looked for in

1. ``$COFACTOR_DATA/<folder>``, then ``$COFACTOR_DATA/<last part of the folder>``,
2. ``<cache>/<folder>``, where the cache is the one of the operating system (`cache_dir`),

with folders such as ``movielens/ml-100k``. Files may be plain or gzip-compressed. `fetch` downloads a set which is in
neither place into the cache, if it can be downloaded.
"""

from cofactor.datasets.registry.places import (
    DATA_VARIABLE,
    KNOWN,
    DatasetNotFoundError,
    DatasetStatus,
    FileCheck,
    Verification,
    available,
    cache_dir,
    data_variable_fault,
    fetch,
    find_file,
    locate,
    verify,
)

__all__ = [
    "DATA_VARIABLE",
    "KNOWN",
    "DatasetNotFoundError",
    "DatasetStatus",
    "FileCheck",
    "Verification",
    "available",
    "cache_dir",
    "data_variable_fault",
    "fetch",
    "find_file",
    "locate",
    "verify",
]
