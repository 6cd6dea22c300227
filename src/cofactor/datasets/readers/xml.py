"""The XML file of a Mulan data set, which names the attributes that are labels."""

import codecs
from xml.etree import ElementTree

from cofactor.errors import InvalidInputError, Place
from cofactor.files import PathLike, display_name, read_bytes

__all__ = ["read_label_names"]


def read_label_names(path: PathLike) -> tuple[str, ...]:
    """Read the names of the labels from a Mulan XML file.

    A hierarchy (labels inside labels) is flattened in the order of the file, inner labels after the outer one.

    Parameters
    ----------
    path : str or path-like
        File with a root element ``labels`` and elements ``<label name="...">``, plain or gzip-compressed.

    Returns
    -------
    tuple of str

    Raises
    ------
    FileNotFoundError, IsADirectoryError
        If there is no such file.
    ValueError
        If it is no such file, names no label, names one twice, or has a label without a name.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from cofactor.datasets import read_label_names
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "beach.xml")
    >>> _ = path.write_text('<labels><label name="sea"><label name="surf"/></label><label name="sun"/></labels>')
    >>> read_label_names(path)
    ('sea', 'surf', 'sun')
    >>> folder.cleanup()
    """
    name = display_name(path)
    try:
        root = ElementTree.fromstring(read_bytes(path))
    except (ElementTree.ParseError, LookupError, ValueError) as error:  # the latter two of an unknown encoding
        raise InvalidInputError(f"is not a well-formed XML file ({error})", place=Place(name)) from None
    if _local(root.tag) != "labels":
        raise InvalidInputError(
            f"expected a root element 'labels' as in Mulan, found {_local(root.tag)!r}", place=Place(name)
        )
    names: list[str] = []
    seen: set[str] = set()
    for element in root.iter():
        if _local(element.tag) != "label":
            continue
        label = element.get("name")
        if not label:
            raise InvalidInputError(f"label number {len(names) + 1} has no name", place=Place(name))
        if label in seen:
            raise InvalidInputError(f"the label {label!r} is named twice", place=Place(name))
        seen.add(label)
        names.append(label)
    if not names:
        raise InvalidInputError("names no label", place=Place(name))
    return tuple(names)


def looks_like_mulan(start: bytes) -> bool:
    """Whether a file which begins like this is a Mulan XML file."""
    text = start.removeprefix(codecs.BOM_UTF8).lstrip()
    return text.startswith(b"<") and b"<labels" in text


def _local(tag: str) -> str:
    """Name of an element without its namespace."""
    return tag.rpartition("}")[2]
