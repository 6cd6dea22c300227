"""The report by label: which labels are bad, and what they are taken for."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from cofactor.errors import InvalidInputError
from cofactor.files import PathLike
from cofactor.metrics import LabelTable
from cofactor.metrics.by_label import heading, written
from cofactor.pages import Html, Section, attachment, document, fold, highlights, paragraph, section, table, write_page
from cofactor.text import plural

_SHOWN = 50  # labels that are shown at once; the others are folded
_MOST = 2_000  # more rows would make the page slow to open: the others are in the attachment
_WIDEST = 60  # characters of a name
_MEANING = (
    "Errors are the instances in which a label is missed or wrong: (support + predicted) times (1 - F1), so how bad a "
    "label is times how much it matters. The label it is confused with is the one most often predicted and not true "
    "where it is true and not predicted."
)


def write_label_report(
    path: PathLike, tables: Mapping[str, LabelTable], *, title: str = "Labels", lead: str = ""
) -> None:
    """Write the report by label to a file, whole or not at all; see `label_page`.

    Parameters
    ----------
    path : str or path-like
        Ends in ``.html``.
    tables : mapping from str to LabelTable
        By name of the model.
    title : str, default="Labels"
        Of the page.
    lead : str, default=""
        How it was measured, below the title.
    """
    write_page(path, label_page(tables, title=title, lead=lead))


def label_page(tables: Mapping[str, LabelTable], *, title: str = "Labels", lead: str = "") -> str:
    """Return a page on the measures of each label, which needs no other files and no network.

    The labels that cost most come first; from the 51st on they are folded, and from the 2,001st on they are only in the
    CSV file inside the page.

    Parameters
    ----------
    tables : mapping from str to LabelTable
        By name of the model: what `cofactor.metrics.report_by_label` returns.
    title : str, default="Labels"
        Of the page.
    lead : str, default=""
        How it was measured, below the title.

    Returns
    -------
    str
        HTML.

    Raises
    ------
    InvalidInputError
        If there is no table.

    Examples
    --------
    >>> from cofactor.metrics import report_by_label
    >>> page = label_page({"PLST": report_by_label([[1, 0], [1, 1]], [[0, 1], [1, 1]])}, title="Toy")
    >>> "<h1>Toy</h1>" in page, 'download="labels.csv"' in page
    (True, True)
    """
    if not tables:
        raise InvalidInputError("there are no tables to report", argument="tables")
    several = len(tables) > 1
    parts = [_section(name, one, f"labels of {name}.csv" if several else "labels.csv") for name, one in tables.items()]
    return document(title, paragraph(lead) if lead else "", paragraph(_MEANING, soft=True), *parts)


def _section(name: str, measured: LabelTable, file_name: str) -> Section:
    shown = table(*_cells(measured.head(_SHOWN)), name=f"Labels by {name}", text=_words(measured))
    rest: list[Html] = []
    if len(measured) > _SHOWN:
        others = LabelTable({key: values[_SHOWN:_MOST] for key, values in measured.columns.items()}, measured.n_rows)
        more = table(*_cells(others), name=f"More labels by {name}", text=_words(measured))
        rest.append(fold(f"{plural(len(others), 'more label', form=',')}", more))
    if len(measured) > _MOST:
        rest.append(paragraph(f"{plural(len(measured) - _MOST, 'label', form=',')} are only in the file.", soft=True))
    saved = paragraph(attachment("All labels as CSV", file_name, _csv(measured)))
    return section(name, _highlights(measured), shown, *rest, saved)


def _highlights(measured: LabelTable) -> Html:
    columns = measured.columns
    support, predicted, errors = columns["support"], columns["predicted"], columns["errors"]
    never = int(((support > 0) & (predicted == 0)).sum())
    total = int(errors.sum())
    half = int((errors.cumsum() * 2 < total).sum()) + 1 if total else 0
    return highlights(
        [
            (f"{len(measured):,}", f"labels, on {plural(measured.n_rows, 'instance', form=',')}"),
            (f"{half:,}", f"{'labels make' if half != 1 else 'label makes'} half of all {total:,} errors"),
            (f"{never:,}", "labels that occur are never predicted"),
        ]
    )


def _words(measured: LabelTable) -> list[int]:
    """Return the columns that hold words, apart from the first one, which names the rows."""
    return [k for k, values in enumerate(measured.columns.values()) if values.dtype == object and k]


def _cells(measured: LabelTable) -> tuple[list[str], list[Sequence[str]]]:
    columns = [written(values, _WIDEST) for values in measured.columns.values()]
    return [heading(name) for name in measured.columns], list(zip(*columns, strict=True))


def _csv(measured: LabelTable) -> str:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(measured.columns), lineterminator="\n")
    writer.writeheader()
    writer.writerows(measured.records())
    return stream.getvalue()
