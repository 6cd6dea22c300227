"""Results made up for claims, tables and pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cofactor.evaluation import Cell, Run


def result(method: str, data: str, measures: Mapping[str, Any], *, error: str = "", **parameters: Any) -> Run:
    """Return what a cell with these parameters measured, or the error that stopped it."""
    return result_of(Cell(work=dict, method=method, data=data, parameters=parameters, code="made up"), measures, error)


def result_of(cell: Cell, measures: Mapping[str, Any] | None = None, error: str = "") -> Run:
    """Return what a cell measured, or the error that stopped it."""
    return Run(
        key=cell.key, method=cell.method, data=cell.data, split=cell.split, seed=cell.seed, parameters=cell.parameters,
        checksum="", measure=cell.measure, version="", status="failed" if error else "done", measures=measures or {},
        error=error, seconds=1.0,
    )  # fmt: skip
