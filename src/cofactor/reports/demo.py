"""The parts that the report of every demo has: pictures, recommendations, what to do next; and its two files."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cofactor.files import replacing
from cofactor.pages import (
    Html,
    Section,
    bar,
    code,
    figure,
    good,
    measured,
    paragraph,
    preformatted,
    section,
    side_by_side,
    strong,
    table,
    write_page,
)
from cofactor.version import __version__


@dataclass(frozen=True)
class Recommended:
    """An item that is recommended to a user.

    Attributes
    ----------
    title : str
    p_interact, p_like : float
        How likely the user is to interact with it next, and to like it then.
    predicted : float
        Its predicted rating.
    held_out_rating : float or None
        The true rating, where it is known.
    because : sequence of str
        Titles of what the user liked that raise its score most.
    """

    title: str
    p_interact: float
    p_like: float
    predicted: float
    held_out_rating: float | None = None
    because: Sequence[str] = ()

    def cells(self) -> list[str]:
        """Return title, probabilities and predicted rating as people read them.

        Examples
        --------
        >>> Recommended("Alien", 0.0312, 0.81, 4.0).cells()
        ['Alien', '.031', '.81', '4']
        """
        return [
            self.title,
            f"{self.p_interact:.3f}".lstrip("0"),
            f"{self.p_like:.2f}".lstrip("0"),
            f"{self.predicted:g}",
        ]


def run(machine: str, seconds: float) -> str:
    """Return a line which says which version ran on which machine, and how long it took.

    Examples
    --------
    >>> run("2 cores", 61.2).partition(", ")[2]
    '2 cores; 61 seconds in all'
    """
    return f"cofactor {__version__}, {machine}; {seconds:.0f} seconds in all"


def pictures(folder: Path, captions: Mapping[str, str]) -> list[Section]:
    """Return the part of a page with pictures; nothing if there are none.

    Parameters
    ----------
    folder : Path
        Where the pictures are.
    captions : mapping
        From the names of their files to their captions.
    """
    shown = [figure(folder / name, caption) for name, caption in captions.items()]
    return (
        [section("Pictures", side_by_side(*shown) if len(shown) == 2 else "", *shown if len(shown) != 2 else ())]
        if shown
        else []
    )


def how_to_go_on(steps: Iterable[tuple[str, str]]) -> Section:
    """Return the end of a page: commands, each with what it does.

    Examples
    --------
    >>> how_to_go_on([("cofactor fit ratings.csv", "learn from ratings")]).parts[0]
    Markup('<p>Learn from ratings:</p>')
    """
    shown = [
        part
        for command, meaning in steps
        for part in (paragraph(f"{meaning[:1].upper()}{meaning[1:]}:"), preformatted(command))
    ]
    numbers = paragraph(
        "The numbers of this page are in results.json beside it. ",
        code("cofactor --help"),
        " lists all commands.",
        soft=True,
    )
    return section("How to go on", *shown, numbers)


def recommendations(lead: str, liked: Sequence[tuple[str, float]], recommended: Sequence[Recommended]) -> Html:
    """Return what is recommended to a user, below what they rated; bars are parts of the highest chance of a column.

    Parameters
    ----------
    lead : str
        The words before the items that they rated.
    liked : sequence of (title, rating)
        Some of these.
    recommended : sequence of Recommended
        Without any true rating, that column is left out.

    Examples
    --------
    >>> brazil = Recommended("Brazil", 0.02, 0.7, 4.5)
    >>> shown = recommendations("This user likes", [("Alien", 5.0)], [brazil])
    >>> "<p>This user likes: Alien <b>5</b>.</p>" in shown, "their rating" in shown, "because" in shown
    (True, False, False)
    >>> shown.count("--share: 100%")
    2
    """
    best = [part for name, rating in liked for part in (", ", f"{name} ", strong(f"{rating:g}"))][1:]
    most_likely = max((one.p_interact for one in recommended), default=0) or 1
    most_liked = max((one.p_like for one in recommended), default=0) or 1
    rows: list[list[object]] = []
    for one in recommended:
        why = f"because you liked {' and '.join(one.because)}" if one.because else ""
        title, interact, like, _ = one.cells()
        rows.append(
            [measured(title, why), bar(interact, one.p_interact / most_likely), bar(like, one.p_like / most_liked)]
        )
    heads = ["recommended", "P(interact)", "P(like)"]
    notes = "A bar is a chance as a part of the highest one of its column."
    if any(one.held_out_rating is not None for one in recommended):
        heads.append("their rating")
        for row, one in zip(rows, recommended, strict=True):
            row.append("" if one.held_out_rating is None else good(f"{one.held_out_rating:g}"))
        notes += " Their ratings are from the test part, which the model has not seen."
    shown = table(heads, rows, name=lead, stacked=True)
    return Html("").join([paragraph(f"{lead}: ", *best, "."), shown, paragraph(notes, soft=True)])


def write_files(folder: Path, numbers: Mapping[str, Any], page: str) -> None:
    """Write results.json, and report.html after it, each whole or not at all."""
    with replacing(folder / "results.json") as stream:
        stream.write(json.dumps(numbers, indent=2, ensure_ascii=False).encode())
    write_page(folder / "report.html", page)
