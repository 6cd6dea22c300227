"""Where the shards of ratings come from: memory, a folder, or the bi-level ratings of other shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from cofactor.coding import Coding
from cofactor.ratings import shard_folder
from cofactor.ratings.checked_files import IDS, load_ids, verify_file
from cofactor.ratings.data import Ratings
from cofactor.ratings.ids import IdMap
from cofactor.ratings.shard_folder import Manifest

__all__ = ["AtBoundary", "InFolder", "InMemory", "Shards"]


class Shards(Protocol):
    """Where the shards of ratings come from."""

    @property
    def key(self) -> str:
        """What tells these ratings from any others."""

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""

    def n_bytes(self) -> int:
        """Return the size of all files; 0 in memory."""

    def verify(self) -> None:
        """Read everything that is in files, and refuse what is not as it was written."""


@dataclass(frozen=True, eq=False)
class InMemory:
    """Shards which are there."""

    shards: Sequence[Ratings]

    @property
    def key(self) -> str:
        """Nothing: they are not worked on later."""
        return ""

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        return self.shards[k]

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""
        return self.shards[k].users

    def n_bytes(self) -> int:
        """Return 0."""
        return 0

    def verify(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, eq=False)
class AtBoundary:
    """Shards whose ratings say on which side of a boundary they are."""

    shards: Shards
    level: int

    @property
    def key(self) -> str:
        """What tells these ratings from any others."""
        return f"{self.shards.key} at {self.level}"

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        return self.shards.ratings(k).at_boundary(self.level)

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""
        return self.shards.users(k)

    def n_bytes(self) -> int:
        """Return the size of all files."""
        return self.shards.n_bytes()

    def verify(self) -> None:
        """Verify the shards."""
        self.shards.verify()


class InFolder:
    """Shards in files. Ids of users are kept once they are read, arrays are not: each would hold a file open.

    What a shard holds is checked when it is first opened.
    """

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self.folder, self.manifest = folder, manifest
        place = folder / manifest.items.folder
        self.items = load_ids(place / IDS, "items", manifest.items.n_items)
        self.scale = np.array(manifest.scale, dtype=np.float64)
        self.coding = None if manifest.coding is None else Coding.of_state(manifest.coding)
        self._users: dict[int, IdMap] = {}
        self._checked: set[int] = set()
        self.key = str([shard.files for shard in manifest.shards])

    def ratings(self, k: int) -> Ratings:
        """Return the ratings of a shard."""
        stored = self.manifest.shards[k]
        found = shard_folder.load_shard(self.folder, stored, self.users(k), self.items, self.scale, self.coding)
        if k not in self._checked:
            shard_folder.check_shard(self.folder / stored.folder, found)
            self._checked.add(k)
        return found

    def users(self, k: int) -> IdMap:
        """Return the users of a shard."""
        if k not in self._users:
            stored = self.manifest.shards[k]
            path = self.folder / stored.folder / IDS
            self._users[k] = load_ids(path, "users", stored.n_users)
        return self._users[k]

    def n_bytes(self) -> int:
        """Return the size of all files."""
        return sum(stored.bytes for _, stored in self.manifest.all_files())

    def verify(self) -> None:
        """Compare all files with their checksums, and look whether arrays are those of ratings."""
        for name, stored in self.manifest.all_files():
            verify_file(self.folder / name, stored)
        self._checked.clear()
        for k in range(len(self.manifest.shards)):
            self.ratings(k)
