"""The header of an ARFF file: relation, attributes and their types.

We read it ourselves, since liac-arff 2.5 (which reads the rows) leaves backslashes in quoted names, strips quotation
marks that belong to them, refuses tabs, and needs time exponential in the number of values for a nominal list which is
cut short (2.7 s for 24 values, hours for 40).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from cofactor.errors import Argument, InvalidInputError, Place
from cofactor.recipe import truth_of
from cofactor.text import first_repeated

Kind = Literal["numeric", "string", "nominal"]

# Possessive (``*+``): what was taken is never given back, so that time grows with the length of a line and no faster.
_QUOTED = r"""'(?:[^'\\]|\\.)*+'|"(?:[^"\\]|\\.)*+\""""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s{{'\"]\S*?)(?:\s+|(?=\{{))(\S.*)", re.IGNORECASE)
_VALUE = re.compile(rf"\s*+({_QUOTED}|[^,'\"{{}}]*+)\s*+([,}}])")
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r"}
_MEKA = re.compile(r"-C\s+([+-]?\d{1,9})")
_WORD = re.compile(r"@(\w+)")


class Attribute(NamedTuple):
    """One attribute, with its values if it is nominal, and the line which declares it."""

    name: str
    kind: Kind
    values: tuple[str, ...]
    line: int

    @property
    def truth(self) -> tuple[int, ...] | None:
        """What each value says, 0 for off and 1 for on; None if the values say something else."""
        return truth_of(self.values) if self.kind == "nominal" else None


@dataclass(frozen=True)
class Header:
    """Relation and attributes of the file `name`, whose data begin after line `last_line`."""

    name: str
    relation: str
    attributes: tuple[Attribute, ...]
    last_line: int

    def meka_labels(self) -> int | None:
        """Number after ``-C`` in the relation: n > 0 for the first n attributes, n < 0 for the last ones.

        Raises
        ------
        ValueError
            If a filter of Weka changed the attributes afterwards, so that labels may be at other places.
        """
        found = _MEKA.search(self.relation)
        if found is None:
            return None
        if "filters.unsupervised.attribute" in self.relation[found.end() :]:
            raise InvalidInputError(
                f"the relation says {found.group()}, but a filter changed the attributes after that "
                f"({self.relation[found.end() : found.end() + 70].strip()}...)",
                argument="labels",
                advice=("say which are labels with ", Argument("labels")),
                place=Place(self.name),
            )
        return int(found.group(1))


def unquote(token: str) -> str:
    """Name or value which a token stands for: quotation marks removed and escapes resolved."""
    if token[:1] not in ("'", '"'):
        return token
    return _ESCAPE.sub(lambda match: _ESCAPES.get(match.group(1), match.group(1)), token[1:-1])


def read_header(lines: Iterator[tuple[int, str]], name: str) -> Header:
    """Read up to and including ``@data`` from numbered, stripped lines without blank ones and comments."""
    relation: str | None = None
    attributes: list[Attribute] = []
    declared: dict[str, int] = {}
    number = 0
    for number, line in lines:
        word = _WORD.match(line)
        match word.group(1).lower() if word else "":
            case "relation":
                relation = unquote(line[len("@relation") :].strip())
            case "attribute":
                attribute = _attribute(line, name, number)
                if attribute.name in declared:
                    first = declared[attribute.name]
                    raise InvalidInputError(
                        f"the attribute {attribute.name!r} was declared in line {first} already",
                        place=Place(name, number),
                    )
                declared[attribute.name] = number
                attributes.append(attribute)
            case "data":
                if not attributes:
                    raise InvalidInputError("@data without any @attribute before it", place=Place(name, number))
                return Header(name, relation or "", tuple(attributes), number)
            case _:
                raise InvalidInputError(
                    f"expected @relation, @attribute or @data, found {line[:40]!r}",
                    advice="is this an ARFF file?",
                    place=Place(name, number),
                )
    raise InvalidInputError(
        f"no @data up to the end of the file (line {number})", advice="is it cut short?", place=Place(name)
    )


def _attribute(line: str, file: str, number: int) -> Attribute:
    found = _ATTRIBUTE.match(line)
    if found is None:
        raise InvalidInputError(
            f"expected '@attribute name type', found {line[:60]!r}",
            advice="is a quotation mark missing?",
            place=Place(file, number),
        )
    name, kind = unquote(found.group(1)), found.group(2)
    if kind.startswith("{"):
        values = _values(kind, Place(file, number, column=f"values of attribute {name!r}"))
        return Attribute(name, "nominal", values, number)
    word = kind.split("%")[0].strip().lower()
    if word in ("numeric", "real", "integer"):
        return Attribute(name, "numeric", (), number)
    if word == "string":
        return Attribute(name, "string", (), number)
    raise InvalidInputError(
        f"the attribute {name!r} has type {kind[:40]!r}; expected numeric, real, integer, string or "
        "{value, ...} (dates and relational attributes cannot be features or labels)",
        place=Place(file, number),
    )


def _values(text: str, place: Place) -> tuple[str, ...]:
    """Values of a nominal list, which begins with ``{``."""
    values: list[str] = []
    position = 1
    while True:
        found = _VALUE.match(text, position)
        if found is None:
            raise InvalidInputError(
                f"no comma or closing brace after {text[max(position - 20, 0) : position + 20]!r}", place=place
            )
        value = found.group(1).rstrip()
        if value or values or found.group(2) == ",":
            values.append(unquote(value))
        position = found.end()
        if found.group(2) == "}":
            break
    if not values:
        raise InvalidInputError(f"there are none; found {text[:40]!r}", place=place)
    twice = first_repeated(values)
    if twice is not None:
        raise InvalidInputError(f"{twice!r} is listed twice", place=place)
    rest = text[position:].strip()
    if rest and not rest.startswith("%"):
        raise InvalidInputError(f"unexpected {rest[:40]!r} after the closing brace", place=place)
    return tuple(values)
