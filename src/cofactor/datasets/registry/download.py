"""Download an archive, check it, and put its files in place; a failure leaves no files."""

import logging
import os
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Protocol

# Seconds to connect, and between two parts of the answer: a server which does not answer must not look like a long
# download.
TIMEOUT = (4.0, 8.0)


class Progress(Protocol):
    """A progress bar of a download, in the form which pooch needs."""

    total: int

    def update(self, n: int, /) -> Any:
        """Report n more bytes."""

    def reset(self) -> Any:
        """Start again."""

    def close(self) -> Any:
        """Finish."""


class DownloadError(OSError):
    """A download failed; the message holds the address and the reason."""


def download_archive(
    url: str,
    sha256: str,
    member_folder: str,
    target: Path,
    last: tuple[str, ...],
    progress: Progress | None = None,
) -> None:
    """Download a zip archive and move the files of its folder `member_folder` into `target`.

    The files named in `last` are moved last: if they are there, the others are there too.
    """
    made = _make_folder(target.parent)
    try:
        with tempfile.TemporaryDirectory(prefix=".download-", dir=target.parent) as temporary:
            archive = _retrieve(url, sha256, Path(temporary), progress)
            unpacked = Path(temporary, "unpacked")
            _unpack(archive, unpacked, member_folder, url)
            _move_files(unpacked, target, last)
    except BaseException:
        for folder in reversed(made):
            if not any(folder.iterdir()):
                folder.rmdir()
        raise


def _make_folder(folder: Path) -> list[Path]:
    """Make a folder with its parents, and return those which were not there, outermost first."""
    missing = [f for f in (folder, *folder.parents) if not f.exists()][::-1]
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DownloadError(f"the folder {folder} cannot be made ({error.strerror})") from None
    return missing


def _retrieve(url: str, sha256: str, folder: Path, progress: Progress | None) -> Path:
    import pooch
    import requests

    downloader = pooch.HTTPDownloader(timeout=TIMEOUT, progressbar=progress or False, chunk_size=1 << 16)
    path = folder / "archive.zip"
    try:
        with _quiet(pooch.get_logger()):
            downloader(url, str(path), None)
    except requests.exceptions.RequestException as error:
        raise DownloadError(f"{url}: {_reason(error)}") from None
    found = pooch.file_hash(str(path), alg="sha256")
    if found != sha256:
        size = path.stat().st_size
        raise DownloadError(
            f"{url}: the archive has sha256 {found} ({size} bytes), expected {sha256}; "
            "it was changed at the source or on the way, and nothing of it was kept"
        )
    return path


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _reason(error: Exception) -> str:
    """Reason of a network error in a few words."""
    import requests

    if isinstance(error, requests.exceptions.HTTPError) and error.response is not None:
        return f"the server answered {error.response.status_code} {error.response.reason}"
    if isinstance(error, requests.exceptions.Timeout):
        return f"no answer within {max(TIMEOUT):g} seconds"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke before the archive was complete"
    if isinstance(error, requests.exceptions.ConnectionError):
        return "no connection to the server"
    return f"{type(error).__name__}: {error}"


def _unpack(archive: Path, folder: Path, member_folder: str, url: str) -> None:
    try:
        with zipfile.ZipFile(archive) as source:
            for info in source.infolist():
                parts = PurePosixPath(info.filename).parts
                if info.is_dir() or parts[:1] != (member_folder,) or len(parts) != 2 or ".." in parts:
                    continue
                folder.mkdir(exist_ok=True)
                with source.open(info) as packed, (folder / parts[1]).open("xb") as plain:
                    shutil.copyfileobj(packed, plain)
    except zipfile.BadZipFile as error:
        raise DownloadError(f"{url}: not a readable zip archive ({error})") from None
    if not folder.is_dir():
        raise DownloadError(f"{url}: the archive holds no files in a folder {member_folder!r}")


def _move_files(source: Path, target: Path, last: tuple[str, ...]) -> None:
    target.mkdir(exist_ok=True)
    for path in sorted(source.iterdir(), key=lambda p: (p.name in last, p.name)):
        os.replace(path, target / path.name)
