"""Which files of models changed since they were read."""

from __future__ import annotations

from collections.abc import Mapping

from cofactor.tasks.served import Served, Source, Stamp

__all__ = ["Watch"]


class Watch:
    """Looks for files of models that changed.

    A file counts as changed when two looks, some time apart, find it the same, and not as it was, or find none. What
    was found once is not found again, so that a damaged file is refused once.

    Parameters
    ----------
    models : mapping from str to Served
        Those that come from files are watched.
    """

    def __init__(self, models: Mapping[str, Served]) -> None:
        read = {served.source: served.stamp for served in models.values() if served.source is not None}
        self._known: dict[Source, Stamp | None] = read
        self._last = dict(read)

    def changed(self, *, all_of_them: bool = False) -> list[Source]:
        """Return the files that changed.

        Parameters
        ----------
        all_of_them : bool, default=False
            Whether to return all files, because someone asked that they be read again.
        """
        found = []
        for source, known in self._known.items():
            now = Stamp.of(source.file)
            is_new = now == self._last[source] and now != known
            self._last[source] = now
            if is_new or all_of_them:
                found.append(source)
        self._known |= {source: self._last[source] for source in found}
        return found
