"""Options which several commands share, and those which tasks declare."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from cofactor.cli.interrupts import loading
from cofactor.errors import InvalidInputError
from cofactor.files import display_name, is_database
from cofactor.service import TASKS, Option, check_file, sniff, task_named
from cofactor.service.models import WITH_OPTION
from cofactor.service.options import names_in, parse_alpha, parse_factors
from cofactor.service.results import Settings

if TYPE_CHECKING:
    from cofactor.service.base import ModelService, Task

Command = TypeVar("Command", bound=Callable[..., None])

MODEL_HELP = (
    "For ratings recommender (the default: it recommends and predicts), mmmf (the default with --alpha or --factors), "
    "ordinal-probit (the most accurate, with probabilities), als (least squares), hmf, pmmmf, ensemble, binary-mmmf "
    "for two levels, and others; for clicks, plays and purchases recommender, ease, implicit-als, logistic-mf, "
    "item-knn, popularity and others; for labels label-ridge (the default), plst, cplst, cssp, faie, leml, omf, "
    "mlchmf, grople, mlknn, binary-relevance, and others; an unknown name lists all"
)


def task_name(text: str | None) -> str | None:
    """Return the name of a task that was typed, or refuse it.

    Parameters
    ----------
    text : str, optional
        What was typed.
    """
    if text is not None and text not in TASKS:
        raise InvalidInputError(f"task {text}: expected one of {', '.join(map(repr, TASKS))}")
    return text


TASK_NAMES = "|".join(TASKS)

DataFile = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="Ratings, or clicks, plays or purchases: CSV, TSV, '::' or Parquet; or features and labels: ARFF, libsvm, "
        "MATLAB, or a table with --labels; plain or gzip; - for standard input; or a database, sqlite:///shop.db, "
        "duckdb:///shop.duckdb or postgresql://user@host/shop, with --query; or the name of a known data set such as "
        "ml-100k or emotions (see cofactor datasets list).",
    ),
]
TaskOption = Annotated[
    str | None,
    typer.Option(
        "--task",
        metavar=TASK_NAMES,
        callback=task_name,
        help="What FILE holds; by default found out. A table holds ratings unless --labels says.",
    ),
]
ModelFile = Annotated[
    str, typer.Argument(metavar="MODEL", help="A model written by cofactor fit; - for standard input.")
]
Alpha = Annotated[
    str,
    typer.Option(
        metavar="X|auto",
        help="Weight of the penalty; auto chooses it, and for labels what else matters, by validation; for hmf also "
        "one for each stage: 8,12,12,9.",
    ),
]
Factors = Annotated[
    str | None,
    typer.Option(metavar="N|auto", help="Number of factors, auto where the model can choose; by default its own."),
]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed: the same one gives the same result.")]
Params = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        metavar="NAME=VALUE",
        help="Any other parameter of the model, such as margin=logistic, or a list with commas: order=2,0,1; repeat.",
    ),
]
Threads = Annotated[
    int | None,
    typer.Option(
        metavar="N", min=1, help="Threads to use; by default all cores. It changes the time, never the result."
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON for machines on standard output.")]
Models = Annotated[
    list[str] | None, typer.Option("--model", "-m", metavar="NAME", help=MODEL_HELP + "; repeat for several.")
]
Titles = Annotated[
    str | None,
    typer.Option(metavar="NAME|FILE", help="Titles: a known data set such as ml-100k, or a table of id and title."),
]
Host = Annotated[
    str, typer.Option(metavar="ADDRESS", help="Address to bind to; by default this machine alone can ask.")
]
Offline = Annotated[bool, typer.Option("--offline", help="Do not try to download MovieLens 100K where it is missing.")]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", metavar="N", help="Number of cells at a time; -1: one for each core.")
]
Retry = Annotated[bool, typer.Option("--retry", help="Run cells again that failed.")]
Out = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        metavar="FILE",
        help="Where the table goes: .csv, .tsv or .parquet; - for CSV on standard output; or a database, with --table. "
        "By default a table on a terminal, CSV in a pipe.",
    ),
]


SafeCsv = Annotated[
    bool,
    typer.Option(
        "--safe-csv",
        help="Write CSV for spreadsheets, which take text such as =1+1 for a formula: such text gets an apostrophe "
        "before it. By default text is written as it is, so that it can be read back.",
    ),
]


# ---------------------------------------------------------------- what tasks declare


def with_task_options(command: Command, verb: str) -> Command:
    """Add to a command the options that tasks declare; the command takes them as ``**options``.

    Parameters
    ----------
    command : callable
        A command, with ``**options`` as its last parameter.
    verb : str
        What it does: "fit", "predict", ...
    """
    signature = inspect.signature(command, eval_str=True)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    if len(own) == len(signature.parameters):
        return command
    declared = {option.name: option for entry in TASKS.values() for option in entry.options.get(verb, ())}
    taken = {one.name for one in own}
    added = [_parameter(option) for option in declared.values() if option.name not in taken]
    return _taking(command, [*own, *added])


def _taking(command: Command, parameters: Sequence[inspect.Parameter]) -> Command:
    """Say that a command takes these parameters; return it."""
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {one.name: one.annotation for one in parameters}
    return command


def _parameter(option: Option) -> inspect.Parameter:
    """Return an option as a parameter that typer understands."""
    flags = option.flags or (f"--{option.name.replace('_', '-')}",)
    if option.opposite:
        flags = (f"{flags[0]}/--{option.opposite.replace('_', '-')}",)
    unit = option.unit or "|".join(option.choices)
    extra: dict[str, Any] = {"metavar": unit} if unit else {}
    described = typer.Option(
        *flags, help=option.help, rich_help_panel=option.group or None, min=option.low, max=option.high, **extra
    )
    kind: Any = list[str] if option.many else option.kind
    default: Any = option.default if option.default != () else None
    if kind is str and isinstance(default, float):
        default = f"{default:g}"
    return inspect.Parameter(
        option.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind if default is not None else kind | None, described],
    )


_Query = Annotated[
    str | None,
    typer.Option(
        metavar="SQL", help="What to read of a database: a query, or the name of a table; also after # in its address."
    ),
]
_Table = Annotated[
    str | None, typer.Option(metavar="NAME", help="Where --out is a database: the table that is written there.")
]
_IfExists = Annotated[
    str | None,
    typer.Option(
        metavar="fail|append|replace",
        help="What becomes of the rows of a --table that exists; by default it is an error.",
    ),
]
#: Commands that read data, which may be in a database.
_READING = ("fit", "predict", "explain", "recommend", "update", "evaluate", "compare")


def with_database_options(command: Command, verb: str) -> Command:
    """Add to a command ``--query``, ``--table`` and ``--if-exists``, which become parts of the address of a database.

    Parameters
    ----------
    command : callable
        A command, as `with_task_options` returns it.
    verb : str
        Its name.
    """
    signature = inspect.signature(command, eval_str=True)
    kinds = {"query": _Query} if verb in _READING else {}
    kinds |= (
        {"table": _Table, "if_exists": _IfExists} if "safe_csv" in signature.parameters and verb != "compare" else {}
    )
    if not kinds:
        return command

    def run(**given: Any) -> None:
        query, table, mode = (given.pop(name, None) for name in ("query", "table", "if_exists"))
        if query is not None:
            given = _with_query(given, query)
        out = given.get("out")
        if table is not None or mode is not None:
            if out is None or not is_database(out):
                option = "--table" if table is not None else "--if-exists"
                raise InvalidInputError(
                    f"{option} is for a database", advice="give its address: --out sqlite:///shop.db"
                )
            base, hash_, rest = out.partition("#")
            sign = "&" if "?" in base else "?"
            base += "" if mode is None else f"{sign}if_exists={mode}"
            given["out"] = base + hash_ + rest if table is None else f"{base}#{table}"
        command(**given)

    added = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in kinds.items()
    ]
    run.__doc__, run.__name__ = command.__doc__, verb
    return _taking(run, [*signature.parameters.values(), *added])  # type: ignore[return-value]


def _with_query(given: Mapping[str, Any], query: str) -> dict[str, Any]:
    """Return the arguments of a command with a query after the address of the one database that is read."""
    whole = dict(given)
    found = [
        (name, one)
        for name, value in given.items()
        if name != "out"
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, str) and is_database(one) and "#" not in one
    ]
    if len(found) != 1:
        each = (
            "write each after #: sqlite:///shop.db#ratings" if found else "give the address of one: sqlite:///shop.db"
        )
        raise InvalidInputError("--query is for one database", advice=each)
    name, address = found[0]
    with_it = f"{address}#{query}"
    value = whole[name]
    whole[name] = [with_it if one == address else one for one in value] if isinstance(value, list) else with_it
    return whole


def task_for(
    context: typer.Context, verb: str, file: str, asked: str | None, options: Mapping[str, Any]
) -> tuple[Task, dict[str, Any]]:
    """Return the task for a file, and its options as Python takes them.

    Parameters
    ----------
    context : Context
        Of the command.
    verb : str
        Name of the command.
    file : str
        Path, ``-``, or name of a data set.
    asked : str or None
        The option ``--task``.
    options : mapping from str to object
        The options that tasks declare, as the command got them.
    """
    with loading():
        check_file(file)
        name = choose_task(context, verb, file, asked, asked or sniff(file))
        task = task_named(name)
    return task, values_of(task, verb, options)


def values_for(context: typer.Context, verb: str, service: ModelService, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a command about a model, as Python takes them; refuse those of other models.

    Parameters
    ----------
    context : Context
        Of the command.
    verb : str
        Name of the command.
    service : ModelService
        Of the model.
    options : mapping from str to object
        The options that tasks declare, as the command got them.
    """
    choose_task(context, verb, service.called, service.kind, None)
    return values_of(task_named(service.kind), verb, options)


def values_of(task: Task, verb: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return those options of a command that a task has; the pieces of a repeated one are one list with commas."""
    declared = {option.name for option in task.options.get(verb, ())}
    joined = {name: (",".join(one) or None) if isinstance(one, list) else one for name, one in options.items()}
    return task.values(verb, {name: one for name, one in joined.items() if name in declared})


def choose_task(context: typer.Context, verb: str, file: str, asked: str | None, found: str | None) -> str:
    """Return the name of the task, as asked for, as found, or as the options imply; refuse options of other tasks.

    Parameters
    ----------
    context : Context
        Of the command.
    verb : str
        Name of the command.
    file : str
        What messages call what is read.
    asked, found : str or None
        The task that was asked for, and the one that the file has.
    """
    known = {name: [option.name for option in entry.options.get(verb, ())] for name, entry in TASKS.items()}
    everywhere = set.intersection(*(set(names) for names in known.values() if names))
    special = {name: given(context, [one for one in names if one not in everywhere]) for name, names in known.items()}
    implied = [name for name, odd in special.items() if odd]
    if asked is None and len(implied) > 1:
        one, other = implied[:2]
        both = f"{special[one][0]} is for {one} and {special[other][0]} for {other}"
        raise InvalidInputError(f"{both}: leave one out")
    task = asked or found or [*implied, *TASKS][0]
    for name, names in known.items():
        odd = given(context, [one for one in names if one not in known[task]])
        if odd:
            raise InvalidInputError(f"{odd[0]} is for {name}, but {display_name(file)} holds {task}")
    return task


def given(context: typer.Context, names: Iterable[str]) -> list[str]:
    """Return those of these parameters that stand on the command line, as options."""
    options = {parameter.name: max(parameter.opts, key=len) for parameter in context.command.params}
    return [
        options[name]
        for name in names
        if name in options and getattr(context.get_parameter_source(name), "name", "") == "COMMANDLINE"
    ]


def check_ranking(context: typer.Context, own: Mapping[str, Any]) -> None:
    """Refuse options of lists of recommendations where these are not measured.

    Parameters
    ----------
    context : typer.Context
        Of the command.
    own : mapping from str to object
        Options of tasks, as typer gives them.
    """
    odd = [] if own.get("rank") else given(context, ("at", "likes", "auc"))
    if odd:
        raise InvalidInputError(f"{odd[0]} is for lists of recommendations: give --rank too")


# ---------------------------------------------------------------- settings of models


def settings_of(alpha: str, factors: str | None, seed: int | None, values: Mapping[str, Any], **more: Any) -> Settings:
    """Return which settings a model is to have, as ``--alpha``, ``--factors``, and options of its task say."""
    return Settings(parse_alpha(alpha), parse_factors(factors), seed, options=values, **more)


def parse_params(texts: Sequence[str] | None) -> dict[str, Any]:
    """Return the parameters of ``--param``, each NAME=VALUE.

    Parameters
    ----------
    texts : sequence of str, optional
        As they were typed.

    Examples
    --------
    >>> parse_params(["max_iter=200", "margin=logistic", "alpha_bias=None"])
    {'max_iter': 200, 'margin': 'logistic', 'alpha_bias': None}
    >>> parse_params(["max_iter=1e3", "n_components=1.0"])  # all components, not one
    {'max_iter': 1000, 'n_components': 1.0}
    >>> parse_params(["order=2,0,1"]), parse_params(["order=sea,sun"]), parse_params(['order=["sea, or not", "sun"]'])
    ({'order': [2, 0, 1]}, {'order': ['sea', 'sun']}, {'order': ['sea, or not', 'sun']})
    """
    params: dict[str, Any] = {}
    for text in texts or ():
        name, equals, value = text.partition("=")
        key = name.strip()
        if not equals or not key:
            raise InvalidInputError(f"--param {text}: expected NAME=VALUE, such as max_iter=200")
        if key in params:
            raise InvalidInputError(f"--param {text}: {key} is given twice; give it once")
        params[key] = _value(value.strip())
    return params


def _value(text: str) -> Any:
    """Return a number, a truth value, None, a list of these, or the text."""
    words = {"none": None, "true": True, "false": False}
    if text.lower() in words:
        return words[text.lower()]
    with suppress(ValueError):
        return json.loads(text, parse_float=_number)
    listed = "," in text and not text.startswith(("[", "{"))
    return [_value(part) for part in names_in(text)] if listed else text


def _number(text: str) -> int | float:
    """Return a number that has a point or an exponent; one without a point is a whole number, if it can be: 1e3."""
    value = float(text)
    return int(value) if "." not in text and value.is_integer() and abs(value) < 2**53 else value


def names_of(params: Mapping[str, Any]) -> dict[str, str]:
    """Return the names which messages use for parameters that were given by ``--param``, and have no option else.

    Parameters
    ----------
    params : mapping from str to object
        As `parse_params` returns them.

    Examples
    --------
    >>> names_of({"n_components": 3})
    {'n_components': '--param n_components='}
    """
    return {key: f"--param {key}=" for key in params if key not in WITH_OPTION}
