"""What readers of chunks share: chunks, sources of chunks, and options."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from scipy.sparse import csr_array

from cofactor.datasets.readers.matrices import stacked
from cofactor.datasets.readers.svm_layout import Base

__all__ = ["Chunk", "ChunkOptions", "ChunkSource", "joined"]

#: Features and labels of some instances.
Chunk: TypeAlias = tuple[Any, csr_array]


@dataclass(frozen=True)
class ChunkOptions:
    """How to read a file; the parameters are those of `cofactor.datasets.LabelChunks`."""

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
        """Yield X and Y of some rows at a time, if possible of at most `chunk_rows`."""


def joined(parts: list[Chunk]) -> Chunk:
    """Some chunks as one."""
    X, Y = (stacked(part) for part in zip(*parts, strict=True))
    return X, Y
