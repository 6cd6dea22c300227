"""Lists of items by name, such as what is in stock: a folder of files, which all processes of a server read."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

import msgspec

from cofactor.errors import InvalidInputError
from cofactor.files import replacing
from cofactor.headers import open_regular
from cofactor.ratings import IdSelection
from cofactor.server.failures import NotFoundError
from cofactor.server.schemas import FilterItems
from cofactor.service.served import FileVersion
from cofactor.text import did_you_mean

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_SUFFIX = ".json"


class ItemFilter:
    """Items that requests name together; they are looked up once for each model.

    Parameters
    ----------
    name : str
        Of the filter.
    items : list of ids, or mapping from the text of ids
        To their groups, or their boosts.
    """

    def __init__(self, name: str, items: Any) -> None:
        self.name, self.items = name, items
        self._selected: WeakKeyDictionary[Any, IdSelection] = WeakKeyDictionary()
        self._by_item: WeakKeyDictionary[Any, dict[Any, Any]] = WeakKeyDictionary()

    def selected(self, service: Any) -> IdSelection:
        """Return the items that a model knows, and those that it does not.

        Parameters
        ----------
        service : RatingService
            Of the model.
        """
        found: IdSelection | None = self._selected.get(service)
        if found is None:
            found = self._selected[service] = service.select(list(self.items))
        return found

    def by_item(self, service: Any, argument: str) -> dict[Any, Any]:
        """Return what the filter says of items that a model knows, by their ids.

        Parameters
        ----------
        service : RatingService
            Of the model.
        argument : str
            What needs it, for messages.
        """
        if not isinstance(self.items, dict):
            advice = f'put {{"items": {{"ID": VALUE, ...}}}} under /v1/filters/{self.name}'
            raise InvalidInputError("holds ids alone", argument=argument, found=self.name, advice=advice)
        found = self._by_item.get(service)
        if found is None:
            known, places = service.by_item(self.items, argument), self.selected(service)
            unknown = set(places.unknown)
            found = self._by_item[service] = {one: value for one, value in known.items() if one not in unknown}
        return found


class FilterFolder:
    """A folder with a file of JSON for each filter, ``NAME.json`` with ``{"items": [...]}``.

    Every request that names a filter looks whether its file is another one, so that all processes see a change with
    their next request, whoever made it. A file is written aside and renamed: a filter is there whole or not at all.

    Parameters
    ----------
    folder : str
        Path; it is there.
    most : int
        Bytes that a file may have.
    """

    def __init__(self, folder: str, most: int) -> None:
        if not os.path.isdir(folder):
            raise InvalidInputError("is no folder", argument="filters", found=folder, advice="make it first")
        self.folder, self.most = Path(folder), most
        self._known: dict[str, tuple[FileVersion, ItemFilter]] = {}

    def names(self) -> list[str]:
        """Return the names of all filters, sorted."""
        try:
            files = list(self.folder.iterdir())
        except OSError as error:
            problem = f"the folder of filters cannot be read: {error.strerror}"
            raise InvalidInputError(problem, advice="make it again, and put them anew") from error
        found = (one.name.removesuffix(_SUFFIX) for one in files if one.suffix == _SUFFIX)
        return sorted(name for name in found if _NAME.fullmatch(name))

    def get(self, name: str, argument: str) -> ItemFilter:
        """Return a filter as it is now.

        Parameters
        ----------
        name : str
        argument : str
            What of the request names it.
        """
        path = self._path(name, argument)
        stamp, known = FileVersion.of(os.fspath(path)), self._known.get(name)
        if known is not None and known[0] == stamp:
            return known[1]
        self._known.pop(name, None)
        try:
            with open_regular(os.fspath(path)) as stream:
                before = FileVersion.of(stream.fileno())
                data = stream.read(self.most + 1)
                after = FileVersion.of(stream.fileno())
        except FileNotFoundError:
            raise self._missing(name, argument) from None
        except OSError as error:
            raise _damaged(name, argument, str(error.strerror)) from error
        if before is None or before != after:
            raise _damaged(name, argument, "it changed while it was read")
        if len(data) > self.most:
            raise _damaged(name, argument, f"it has more than {self.most:,} bytes")
        try:
            found = ItemFilter(name, msgspec.json.decode(data, type=FilterItems).items)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise _damaged(name, argument, str(error)) from error
        self._known[name] = before, found
        return found

    def put(self, name: str, items: Any) -> None:
        """Keep a filter, in the place of one of this name.

        Parameters
        ----------
        name : str
        items : list of ids, or mapping from the text of ids
        """
        path = self._path(name, "name")
        try:
            with replacing(path) as stream:
                stream.write(msgspec.json.encode(FilterItems(items)))
        except OSError as error:
            raise self._read_only(name, error) from error

    def delete(self, name: str) -> None:
        """Forget a filter.

        Parameters
        ----------
        name : str
        """
        try:
            self._path(name, "name").unlink()
        except FileNotFoundError:
            raise self._missing(name, "name") from None
        except OSError as error:
            raise self._read_only(name, error) from error

    def _path(self, name: str, argument: str) -> Path:
        if not _NAME.fullmatch(name):
            expected = "expected a name of at most 64 letters, digits, points, dashes and underscores, no point first"
            raise InvalidInputError(expected, argument=argument, found=name)
        return self.folder / f"{name}{_SUFFIX}"

    def _missing(self, name: str, argument: str) -> InvalidInputError:
        advice = did_you_mean(name, self.names())
        return NotFoundError("there is no filter of this name", argument=argument, found=name, advice=advice)

    def _read_only(self, name: str, error: OSError) -> InvalidInputError:
        advice = "let the server write into the folder of --filters, or change the file there yourself"
        return InvalidInputError(
            f"nothing was changed: {error.strerror or error}", argument="name", found=name, advice=advice
        )


def _damaged(name: str, argument: str, why: str) -> InvalidInputError:
    """Return the error for a filter whose file cannot be read: no list is better than one of what is not there."""
    advice = f"put it anew, under /v1/filters/{name}; who writes the file writes it aside, and renames it"
    return InvalidInputError(f"the filter cannot be read: {why}", argument=argument, found=name, advice=advice)
