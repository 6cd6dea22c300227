"""What the registry knows of a data set: its files, their checksums and addresses."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

Role = Literal["ratings", "titles", "data", "test", "labels", "offsets"]
Task = Literal["ratings", "labels"]


@dataclass(frozen=True)
class KnownFile:
    """One file of a data set, in the forms in which it circulates (each also with ``.gz`` appended).

    `sha256` has the checksum of the *unpacked* content by file name; a form without a checksum cannot be verified.
    """

    role: Role
    names: tuple[str, ...]
    sha256: Mapping[str, str]
    required: bool = True


@dataclass(frozen=True)
class KnownDataset:
    """A data set of the registry.

    `folder` is its place below $COFACTOR_DATA and below the cache; `url` and `archive_sha256` belong to the zip
    archive that is downloaded, with all files in its folder `member_folder`; `origin` says where people find
    the files. A set is there if the first of its files is.
    """

    name: str
    folder: str
    description: str
    terms: str
    origin: str
    files: tuple[KnownFile, ...]
    url: str | None = None
    archive_sha256: str | None = None
    member_folder: str = ""
    task: Task = "ratings"
