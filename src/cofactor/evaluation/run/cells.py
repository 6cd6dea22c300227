"""Cells: what a comparison measures, one at a time, and what came out.

A cell is one method on one split of one data set with one seed. It says what it is in plain JSON, which makes its key;
its `work` is a function of no arguments, which measures.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from numbers import Real
from typing import Any, Literal

from cofactor.evaluation.run.code import code_digest
from cofactor.evaluation.run.keys import function_name
from cofactor.version import __version__

__all__ = ["Cell", "Measures", "Result", "cell", "tidy"]

Measures = Mapping[str, Any]
"""What a cell measures, by name: numbers, strings, lists of them."""


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One thing to measure.

    Parameters
    ----------
    work : callable
        Takes nothing and returns the measures: numbers, strings or lists by name. It must be picklable where cells
        run in other processes.
    method, data, split : str
        Names of the method, the data set and the split: ``"HMF"``, ``"ml-100k"``, ``"kfold 3/10"``.
    seed : int, default=0
        Seed of split and method.
    parameters : mapping
        What else distinguishes this cell from others, as JSON can hold it.
    checksum : str
        Of the data.
    measure : str
        What is measured: the qualified name of a function.
    code : str
        Digest of the code which takes part, see `code_digest`; without it the version of this package stands there.

    Examples
    --------
    >>> from cofactor.evaluation import cell
    >>> def measure(**where):
    ...     return {"mae": 0.7}
    >>> cell(measure, method="HMF", data="toy", split="fold 1").name
    'HMF, toy, fold 1'
    """

    work: Callable[[], Measures] = field(compare=False, repr=False)
    method: str
    data: str = ""
    split: str = ""
    seed: int = 0
    parameters: Mapping[str, Any] = field(default_factory=dict)
    checksum: str = ""
    measure: str = ""
    code: str = ""

    @cached_property
    def key(self) -> str:
        """SHA-256 of all that says what the cell is."""
        facts = [self.measure, self.method, self.data, self.checksum, self.split, self.seed, self.parameters]
        text = json.dumps([self.code or __version__, *facts], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def name(self) -> str:
        """One line for people."""
        return ", ".join(part for part in (self.method, self.data, self.split) if part)


@dataclass(frozen=True, kw_only=True)
class Result:
    """What came out of a cell: its measures, or the error that stopped it.

    Attributes
    ----------
    key, method, data, split, seed, parameters, checksum, measure, code
        As in `Cell`.
    version : str
        Of this package.
    status : {"done", "failed"}
        Whether the cell has measures, or an error.
    measures : mapping of str to object
        Numbers, strings or lists by name; empty where the cell failed.
    error : str
        Type and message in the first line, the last places of the traceback below; empty where there was none.
    seconds : float
        Time of the work.

    Examples
    --------
    >>> from cofactor.evaluation import cell, run_cells
    >>> def measure(**where):
    ...     return {"mae": 0.7}
    >>> (result,) = run_cells([cell(measure, method="HMF", data="toy")])
    >>> result.status, result.measures["mae"]
    ('done', 0.7)
    """

    key: str
    method: str
    data: str
    split: str
    seed: int
    parameters: Mapping[str, Any]
    checksum: str
    measure: str
    version: str
    status: Literal["done", "failed"]
    measures: Measures
    error: str
    seconds: float
    code: str = ""


def cell(
    function: Callable[..., Measures],
    *,
    method: str,
    data: str = "",
    split: str = "",
    seed: int = 0,
    checksum: str = "",
    version: str = "",
    uses: Iterable[type] | None = None,
    **parameters: Any,
) -> Cell:
    """Return the cell that calls a module's function with these arguments.

    Parameters
    ----------
    function : callable
        ``function(method=..., data=..., split=..., seed=..., **parameters)`` returns the measures. The source of its
        module, and of all that it imports, is part of the key.
    method, data, split, seed, checksum
        As in `Cell`.
    version : str, default=""
        Stands for the source of a function of yours, where it has none, or changes of it are not to count.
    uses : iterable of type, optional
        The models which the function takes from a registry such as `cofactor.ratings.MODELS`; by default the sources
        of all models of the registry are part of the key.
    **parameters
        Further arguments of the function, as JSON can hold them.

    Raises
    ------
    IndescribableError
        If the function has no name by which it can be imported.
    UnsourcedError
        If it has no source file, and there is no version.

    Examples
    --------
    >>> def guess(method, data, split, seed, level):
    ...     return {"mae": abs(level - 3)}
    >>> one = cell(guess, method="constant", data="toy", split="holdout 0", level=5)
    >>> one.name, one.parameters, one.work()
    ('constant, toy, holdout 0', {'level': 5}, {'mae': 2})
    """
    work = partial(function, method=method, data=data, split=split, seed=seed, **parameters)
    models = () if uses is None else tuple(uses)
    modules = (function.__module__, *(model.__module__ for model in models))
    return Cell(
        work=work,
        method=method,
        data=data,
        split=split,
        seed=seed,
        parameters=parameters,
        checksum=checksum,
        measure=function_name(function),
        code=code_digest(modules, version, registries=uses is None),
    )


def tidy(results: Iterable[Result]) -> list[dict[str, Any]]:
    """Return one record for each number that was measured; of a failed cell one record without a number.

    Parameters
    ----------
    results : iterable of Result

    Returns
    -------
    list of dict
        ``method``, ``data``, ``split``, ``seed``, ``parameters`` (JSON), ``chosen`` (JSON: parameters that the fit
        chose), ``metric``, ``value``, ``status``, ``error``, ``seconds`` (of the whole cell), ``version``,
        ``checksum``. Measures which are no numbers are left out.

    Examples
    --------
    >>> from cofactor.evaluation import cell, run_cells, tidy
    >>> def measure(**where):
    ...     return {"mae": 0.7, "rmse": 0.9}
    >>> [(row["metric"], row["value"]) for row in tidy(run_cells([cell(measure, method="HMF")]))]
    [('mae', 0.7), ('rmse', 0.9)]
    """
    records = []
    for result in results:
        numbers: dict[str, float | None] = {
            name: float(value) for name, value in result.measures.items() if isinstance(value, Real)
        }
        for metric, value in (numbers or {"": None}).items():
            records.append(
                {
                    "method": result.method,
                    "data": result.data,
                    "split": result.split,
                    "seed": result.seed,
                    "parameters": json.dumps(result.parameters, sort_keys=True, ensure_ascii=False),
                    "chosen": json.dumps(result.measures.get("parameters", {}), sort_keys=True, ensure_ascii=False),
                    "metric": metric,
                    "value": value,
                    "status": result.status,
                    "error": result.error,
                    "seconds": result.seconds,
                    "version": result.version,
                    "checksum": result.checksum,
                }
            )
    return records
