"""Ratings and labels from files, from the known public sets, and from generators.

============================  ======================================================================
`load_ratings`                a known set by name: ml-100k, ml-1m, ml-latest-small, jester-1
`load_movielens`              MovieLens 100K, 1M, latest-small, with titles
`load_jester`                 Jester 1, continuous or binned
`read_ratings`, `read_pairs`  any CSV, TSV, ``::``-separated or Parquet file; `read_timed_pairs`
`read_interactions`           who clicked, played or bought what, how often, from any such file
`read_side_features`          what is known of users, or of items, in any such file
`load_side_features`          what MovieLens knows of its users and films
`write_table`                 a table to CSV, TSV or Parquet, completely or not at all; `write_blocks` block by block
`bin_ratings`, `bin_edges`    continuous ratings, or counts, to levels
`RatingScale`                 what the levels of binned ratings, or of words, stand for
`make_movies`                 invented films with titles, and ratings like those of MovieLens 100K
`make_ratings`                synthetic ratings whose complete matrix is known
`make_events`                 made-up views, carts and purchases of a shop
`make_interactions`           synthetic interactions, of millions of users, whose probabilities are known
`load_labels`                 a known multi-label set by name (emotions, bibtex, ...), or any file below
`read_arff`                   Mulan and MEKA ARFF, dense and sparse; `read_label_names` its XML
`read_libsvm`                 libsvm multi-label and extreme-classification text; `write_libsvm`
`read_mat`                    the MATLAB layouts in which multi-label sets circulate
`read_label_table`            CSV, TSV and Parquet with columns of labels
`Schema`                      how columns became features and labels, to read other files alike
`LabelChunks`                 libsvm and Parquet in chunks, for data larger than memory; `write_chunks`
`make_labels`                 synthetic labels with known groups
`make_articles`               synthetic news articles with tags, as real ones have them
`open_data`                   what a file is, by its beginning; a query of SQLite, DuckDB or PostgreSQL
`available`, `locate`,        the registry: which sets there are, where they are, download them,
`fetch`, `verify`             compare checksums
============================  ======================================================================

Loaders and readers of ratings return a `RatingDataset`: ``X`` (user and item ids), ``y`` (ratings), ``scale`` (the
possible ratings, None if continuous), titles and times; `read_interactions` returns an `InteractionDataset`, whose
``y`` are counts. Those of labels return a `LabelDataset`: ``X`` (features), ``Y`` (labels, sparse), names of both, and
the official split if there is one.

Known sets are looked for in ``$COFACTOR_DATA``, then in the user's cache, then downloaded with a verified
checksum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cofactor.lazy import exports

if TYPE_CHECKING:
    from cofactor.datasets.chunks import LabelChunks as LabelChunks
    from cofactor.datasets.chunks import write_chunks as write_chunks
    from cofactor.datasets.formats import open_data as open_data
    from cofactor.datasets.levels import bin_edges as bin_edges
    from cofactor.datasets.levels import bin_ratings as bin_ratings
    from cofactor.datasets.load import load_jester as load_jester
    from cofactor.datasets.load import load_labels as load_labels
    from cofactor.datasets.load import load_movielens as load_movielens
    from cofactor.datasets.load import load_ratings as load_ratings
    from cofactor.datasets.load import load_side_features as load_side_features
    from cofactor.datasets.readers.arff import read_arff as read_arff
    from cofactor.datasets.readers.arff import read_label_names as read_label_names
    from cofactor.datasets.readers.features import read_side_features as read_side_features
    from cofactor.datasets.readers.label_tables import read_label_table as read_label_table
    from cofactor.datasets.readers.matlab import read_mat as read_mat
    from cofactor.datasets.readers.ratings import read_interactions as read_interactions
    from cofactor.datasets.readers.ratings import read_pairs as read_pairs
    from cofactor.datasets.readers.ratings import read_ratings as read_ratings
    from cofactor.datasets.readers.ratings import read_timed_pairs as read_timed_pairs
    from cofactor.datasets.readers.svmlight import read_libsvm as read_libsvm
    from cofactor.datasets.readers.svmlight import write_libsvm as write_libsvm
    from cofactor.datasets.registry import DatasetNotFoundError as DatasetNotFoundError
    from cofactor.datasets.registry import DatasetStatus as DatasetStatus
    from cofactor.datasets.registry import FileCheck as FileCheck
    from cofactor.datasets.registry import Verification as Verification
    from cofactor.datasets.registry import available as available
    from cofactor.datasets.registry import fetch as fetch
    from cofactor.datasets.registry import find_file as find_file
    from cofactor.datasets.registry import locate as locate
    from cofactor.datasets.registry import verify as verify
    from cofactor.datasets.synthetic import InteractionTruth as InteractionTruth
    from cofactor.datasets.synthetic import LabelTruth as LabelTruth
    from cofactor.datasets.synthetic import make_events as make_events
    from cofactor.datasets.synthetic import make_interactions as make_interactions
    from cofactor.datasets.synthetic import make_labels as make_labels
    from cofactor.datasets.synthetic import make_ratings as make_ratings
    from cofactor.datasets.synthetic_articles import Articles as Articles
    from cofactor.datasets.synthetic_articles import make_articles as make_articles
    from cofactor.datasets.synthetic_movies import make_movies as make_movies
    from cofactor.datasets.types import InteractionDataset as InteractionDataset
    from cofactor.datasets.types import LabelDataset as LabelDataset
    from cofactor.datasets.types import RatingDataset as RatingDataset
    from cofactor.datasets.write import write_blocks as write_blocks
    from cofactor.datasets.write import write_table as write_table
    from cofactor.files import cache_dir as cache_dir
    from cofactor.rating_scale import RatingScale as RatingScale
    from cofactor.schema import Schema as Schema


__getattr__, __dir__, __all__ = exports(__name__)
