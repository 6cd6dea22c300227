"""``cofactor doctor``: check an installation, and say what to do if something is wrong."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from cofactor.cli import options
from cofactor.cli.output import human_console, print_json
from cofactor.text import plural

if TYPE_CHECKING:
    from rich.console import Console

    from cofactor.kernels.cache import StoredKernel

_NEEDED = (
    *("numpy", "scipy", "scikit-learn", "numba", "llvmlite", "joblib", "threadpoolctl"),
    *("narwhals", "pyarrow", "safetensors", "pooch", "typer", "rich"),
)
_OPTIONAL = {
    "matplotlib": 'pictures of cofactor demo: pip install "cofactor[plots]"',
    "scikit-posthocs": 'critical-difference diagrams: pip install "cofactor[stats]"',
    "arviz": 'diagnostics of sampled models: pip install "cofactor[bayes]"',
    "pandas": "data frames in Python, if you use them: pip install pandas",
    "polars": "data frames in Python, if you use them: pip install polars",
}

#: Objective that the self-test must reach: measured in float64; three solvers from two starts agree to 1e-8.
SELF_TEST_OBJECTIVE = 406.306816


Status: TypeAlias = Literal["ok", "note", "broken"]
#: What a fit of a broken installation may raise.
_MISHAPS = (ArithmeticError, ImportError, LookupError, OSError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True)
class Check:
    """One finding."""

    group: str
    name: str
    status: Status
    found: str
    advice: str = ""


def doctor(
    json: options.Json = False,
    compile_all: Annotated[
        bool,
        typer.Option(
            "--compile", help="Compile all kernels ahead, so that no first fit or recommendation waits for it."
        ),
    ] = False,
    clear: Annotated[
        bool,
        typer.Option(
            "--clear", help="Remove compiled kernels that this version does not use. Others compile them anew."
        ),
    ] = False,
) -> None:
    """Check the installation: versions, threads, caches, data sets, extras, and a timed fit with a known result.

    Exit status 1 if something is broken; each finding says what to do. With --compile or --clear, do that instead.
    """
    if clear:
        _clear(json)
        return
    if compile_all:
        _compile_all(json)
        return
    checks: list[Check] = []
    console = human_console()
    for check in examine():
        checks.append(check)
        if not json:
            _show(console, check, new_group=len(checks) < 2 or checks[-2].group != check.group)
    broken = sum(check.status == "broken" for check in checks)
    if json:
        print_json({"ok": not broken, "checks": [asdict(check) for check in checks]})
    elif broken:
        found = f"\n[bold red]{broken} broken:[/bold red]"
        console.print(found, "do what stands beside the crosses, then run this again.")
    else:
        console.print("\n[bold green]All is well.[/bold green]", "cofactor demo shows what it can do.")
    if broken:
        raise typer.Exit(1)


def _compile_all(json: bool) -> None:
    """Compile, with a line of progress and a total."""
    import cofactor

    console = human_console()
    with console.status("compiling", spinner="line") as status:
        warmth = cofactor.warm_up(
            n_jobs=-1, callback=lambda done, total, name: status.update(f"compiling: {done} of {total}, {name}")
        )
    if json:
        print_json({"models": warmth.n_models, "seconds": round(warmth.seconds, 3)})
    elif warmth.n_models:
        console.print(f"All kernels are compiled: {warmth.n_models} models in {warmth.seconds:.0f} s.")
    else:
        console.print("All kernels were compiled before: nothing to do.")


def examine() -> Iterator[Check]:
    """Yield the findings, quick ones first."""
    yield from _versions()
    yield from _threads()
    yield from _caches()
    yield from _data_sets()
    yield from _self_test()


def _versions() -> Iterator[Check]:
    import cofactor

    group = "Versions"
    place = Path(cofactor.__file__).parent
    yield Check(group, "cofactor", "ok", f"{cofactor.__version__} in {place}")
    machine = f"{platform.platform(terse=True)}, {platform.machine()}"
    yield Check(group, "Python", "ok", f"{platform.python_version()} on {machine}")
    for name in _NEEDED:
        yield _package(group, name, "broken", f"pip install {name}")
    for name, use in _OPTIONAL.items():
        yield _package("Extras", name, "note", use)


def _package(group: str, name: str, lacking: Status, advice: str) -> Check:
    from importlib import metadata

    try:
        return Check(group, name, "ok", metadata.version(name))
    except metadata.PackageNotFoundError:
        return Check(group, name, lacking, "not installed", advice)


def _threads() -> Iterator[Check]:
    group = "Threads"
    from threadpoolctl import threadpool_info

    from cofactor.kernels.threads import n_threads

    setting = os.environ.get("COFACTOR_NUM_THREADS")
    try:
        used = n_threads()
    except ValueError as error:
        yield Check(group, "kernels", "broken", str(error))
        return
    origin = "from COFACTOR_NUM_THREADS" if setting else "all cores this process may use"
    yield Check(group, "kernels", "ok", f"{used}, {origin} ({os.cpu_count()} in the machine)")
    import scipy.linalg  # noqa: F401  loads the BLAS that SciPy uses

    for pool in threadpool_info():
        name = pool["internal_api"]
        version = pool.get("version") or "version unknown"
        yield Check(group, f"{pool['user_api']}: {name}", "ok", f"{version}, {pool['num_threads']} threads")


def _caches() -> Iterator[Check]:
    group = "Caches"
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0"):
        found = "NUMBA_DISABLE_JIT is set: everything is a hundred times slower"
        yield Check(group, "Numba", "broken", found, "unset NUMBA_DISABLE_JIT")
    yield _kernels(group)
    from cofactor.datasets import cache_dir

    advice = "set COFACTOR_CACHE to a folder of your own, or put data sets into $COFACTOR_DATA"
    yield _folder(group, "data sets", cache_dir(), advice, "note")


def _folder(group: str, name: str, folder: Path, advice: str, bad: Status = "broken") -> Check:
    """Check that a folder, or the nearest one above it that exists, can be written to."""
    nearest = next(place for place in (folder, *folder.parents) if place.exists())
    if nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK):
        return Check(group, name, "ok", f"{folder}" if folder.exists() else f"{folder} (made when needed)")
    return Check(group, name, bad, f"{folder} cannot be written to", advice)


def _kernels(group: str) -> Check:
    """Tell of the kernels that are kept on disk."""
    from cofactor.kernels import cache

    found = list(cache.stored())
    old = [one for one in found if not one.current]
    folder, fault = cache.user_folder(), cache.fault()
    if fault:
        advice = "set COFACTOR_CACHE to a folder of your own; else every start compiles for some ten seconds"
        return Check(group, "compiled kernels", "note", f"not kept: {folder}: {fault}", advice)
    shown = f"{folder}: {plural(len(found) - len(old), 'file')} of this version, {_megabytes(found, old)}"
    if (prebuilt := cache.prebuilt_folder()) is not None:
        shown += f"; {len(list(prebuilt.iterdir()))} built ahead in {prebuilt}"
    if not old:
        return Check(group, "compiled kernels", "ok", shown)
    shown += f"; {plural(len(old), 'other')}, {_megabytes(old)}"
    return Check(
        group, "compiled kernels", "ok", shown, "cofactor doctor --clear removes those that this version does not use"
    )


def _megabytes(found: Sequence[StoredKernel], without: Sequence[StoredKernel] = ()) -> str:
    return f"{(sum(one.size for one in found) - sum(one.size for one in without)) / 1e6:.1f} MB"


def _clear(json: bool) -> None:
    """Remove kernels which this version does not use, and tell how many."""
    from cofactor.kernels import cache

    removed = cache.clear()
    if json:
        print_json({"removed": len(removed), "bytes": sum(one.size for one in removed)})
    else:
        human_console().print(f"Removed {plural(len(removed), 'file')} of other versions, {_megabytes(removed)}.")


def _data_sets() -> Iterator[Check]:
    from cofactor.datasets import available
    from cofactor.datasets.registry import data_variable_fault

    fault = data_variable_fault()
    if fault:
        yield Check("Data sets", "COFACTOR_DATA", "broken", fault, "correct COFACTOR_DATA, or unset it")
    for status in available("ratings"):
        found = str(status.path) if status.path else "not here"
        how = "fetch" if status.downloadable else "path"
        advice = "" if status.path else f"if you want it: cofactor datasets {how} {status.name}"
        yield Check("Data sets", status.name, "ok" if status.path else "note", found, advice)
    labels = available("labels")
    here = [status.name for status in labels if status.path]
    found = f"{len(here)} of {len(labels)} here" + (f": {', '.join(here[:6])}, ..." if len(here) > 6 else "")
    advice = "" if here else "if you want one: cofactor datasets path emotions says what to put where"
    yield Check("Data sets", "sets of labels", "ok" if here else "note", found, advice)


def _self_test() -> Iterator[Check]:
    """Fit a small model twice: its objective is known, and the number of threads must not matter."""
    group = "Self-test"
    advice = "reinstall cofactor, with its dependencies, in a new virtual environment; if that does not help, report it"
    began = time.perf_counter()
    try:
        first, second = _fit(1), _fit(2)
    except _MISHAPS as error:
        yield Check(group, "fit", "broken", f"{type(error).__name__}: {error}", advice)
        return
    seconds = time.perf_counter() - began
    again = time.perf_counter()
    _fit(2)
    warm = time.perf_counter() - again
    wrong = abs(first - SELF_TEST_OBJECTIVE) > 1e-6 * SELF_TEST_OBJECTIVE
    found = f"objective {first:.4f}, expected {SELF_TEST_OBJECTIVE:.4f}"
    yield Check(group, "fit", "broken" if wrong else "ok", found, advice if wrong else "")
    same = first == second
    found = "same to the bit with 1 and 2 threads" if same else f"{first!r} with 1 thread, {second!r} with 2"
    yield Check(group, "threads", "ok" if same else "broken", found, "" if same else advice)
    yield _label_test(group, advice)
    found = f"{1000 * warm:.0f} ms for a fit; {seconds:.1f} s for the first two, compiling included"
    yield Check(group, "time", "ok", found)
    from cofactor.kernels import cache

    of = cache.counts()
    found = f"{of.prebuilt} built ahead, {of.cached} from the cache, {of.compiled} compiled"
    yield Check(group, "kernels", "ok", found)


def _fit(threads: int) -> float:
    """Return the objective of a small model, on ratings which follow a formula."""
    from cofactor.kernels.threads import thread_limit
    from cofactor.ratings import MMMF

    X = [(u, i) for u in range(40) for i in range(30) if (u + 2 * i) % 3]
    y = [1 + (u * u + 3 * u * i + 2 * i) % 11 % 5 for u, i in X]
    with thread_limit(threads):
        model = MMMF(30, 2.0, dtype="float64", tol=1e-12, max_iter=5000, random_state=0).fit(X, y)
    return float(model.objective_)


def _label_test(group: str, advice: str) -> Check:
    """Fit a label model to labels that are linear in the features: it must predict all of them."""
    import numpy as np

    from cofactor.labels import PLST

    X = np.array([[(3 * i + 5 * j + i * j) % 7 - 3.0 for j in range(5)] for i in range(60)])
    Y = np.column_stack([X[:, 0] > 0, X[:, 1] > 0, X[:, 0] <= 0])
    try:
        right = PLST(n_components=1.0, alpha=0.1).fit(X, Y).score(X, Y)
    except _MISHAPS as error:
        return Check(group, "labels", "broken", f"{type(error).__name__}: {error}", advice)
    found = f"micro-F1 {right:.4f}, expected 1.0000"
    return Check(group, "labels", "ok" if right == 1 else "broken", found, "" if right == 1 else advice)


def _show(console: Console, check: Check, *, new_group: bool) -> None:
    from rich.markup import escape

    if new_group:
        console.print(f"\n[bold]{check.group}[/bold]")
    mark = {"ok": "[green]✓[/green]", "note": "[yellow]–[/yellow]", "broken": "[bold red]✗[/bold red]"}[check.status]
    console.print(f"  {mark} {check.name}: {escape(check.found)}", soft_wrap=True)
    if check.advice:
        colour = "red" if check.status == "broken" else "dim"
        console.print(f"      [{colour}]{escape(check.advice)}[/{colour}]", soft_wrap=True)
