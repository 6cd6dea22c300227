"""Which files of models changed since they were read, and what is in them now."""

from __future__ import annotations

import time
from collections.abc import Mapping
from threading import Thread

from cofactor.tasks.served import Content, Served, Source, Stamp

__all__ = ["Watch"]

_MOMENT = 0.1  #: seconds in which a disk answers, as a rule


class Watch:
    """Looks for files of models that changed, and reads them.

    A file counts as changed when two looks, some time apart, find it the same, and not as it was, or find none. What
    was found once is not found again, so that a damaged file is refused once.

    Each look is a thread of its own, which a disk that does not answer holds up alone. It does nothing but ask the
    system and compute a checksum, so that this process may fork meanwhile.

    Parameters
    ----------
    models : mapping from str to Served
        Those that come from files are watched.
    patience : float, default=60.0
        Seconds in which a file must have been read. One that comes later is taken nevertheless.
    """

    def __init__(self, models: Mapping[str, Served], patience: float = 60.0) -> None:
        self._files = [_File(one.source, one.stamp, patience) for one in models.values() if one.source is not None]

    def changed(self, *, all_of_them: bool = False) -> list[tuple[Source, Content | Exception]]:
        """Return the files that changed, with what is in them, or why that cannot be known.

        Parameters
        ----------
        all_of_them : bool, default=False
            Whether to read all files, because someone asked for that.
        """
        for one in self._files:
            one.must_read |= all_of_them
            if not one.thread.is_alive():
                one.look()
        if any(one.is_awaited() for one in self._files):
            return []  # those that change together are found together
        return [(one.source, found) for one in self._files if (found := one.taken()) is not None]


class _File:
    """A file as it was seen last.

    Attributes
    ----------
    known, last : Stamp or None
        When it was read, and at the last look.
    """

    def __init__(self, source: Source, known: Stamp | None, patience: float) -> None:
        self.source, self.known, self.last, self.patience = source, known, known, patience
        self.must_read = self.is_late = False
        self.found: Content | Exception | None = None
        self.thread = Thread()

    def look(self) -> None:
        """Begin to look."""
        must_read, self.must_read, self.is_late = self.must_read, False, False
        self.thread = Thread(target=self._look, args=(must_read,), name=self.source.file, daemon=True)
        self.began = time.monotonic()
        self.thread.start()
        self.thread.join(_MOMENT)

    def _look(self, must_read: bool) -> None:
        now, before = Stamp.of(self.source.file), self.last
        self.last = now
        if must_read or now == before != self.known:
            self.known = now
            try:
                self.found = self.source.content()
                self.known = self.last = self.found.stamp  # another one may be there since `now`
            except Exception as error:
                self.found = error

    def is_awaited(self) -> bool:
        """Return whether the end of the look is waited for."""
        return self.thread.is_alive() and time.monotonic() - self.began < self.patience

    def taken(self) -> Content | Exception | None:
        """Return what was found since the last time."""
        if self.thread.is_alive():
            told, self.is_late = self.is_late, True
            problem = f"{self.source.file}: did not come within {self.patience:g} seconds, and is taken when it does"
            return None if told else TimeoutError(problem)
        found, self.found = self.found, None
        return found
