"""What readers of chunks share: sources of chunks, and what they are told."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.sparse import csr_array, vstack

from cofactor.datasets.readers.svm_layout import Base
from cofactor.datasets.types import is_sparse

__all__ = ["Chunk", "ChunkOptions", "ChunkSource", "joined"]

#: Features and labels of some instances.
Chunk: TypeAlias = tuple[Any, csr_array]


@dataclass(frozen=True)
class ChunkOptions:
    """What `cofactor.datasets.LabelChunks` was told; the parameters are its own."""

    labels: str | Sequence[str] | None = None
    drop: Sequence[str] = ()
    n_features: int | None = None
    n_labels: int | None = None
    zero_based: Base = "auto"


class ChunkSource(Protocol):
    """A file which can be read in pieces, any number of times."""

    feature_names: tuple[str, ...]
    label_names: tuple[str, ...]
    n_rows: int | None

    def pieces(self, chunk_rows: int) -> Iterator[Chunk]:
        """Yield X and Y of some rows at a time, if possible of at most so many."""


def joined(parts: list[Chunk]) -> Chunk:
    """Some chunks as one."""
    if len(parts) == 1:
        return parts[0]
    features = [X for X, _ in parts]
    X: Any = csr_array(vstack(features, format="csr")) if is_sparse(features[0]) else np.vstack(features)
    return X, csr_array(vstack([Y for _, Y in parts], format="csr"))
