"""The command line: parsing, progress, tables. No mathematics.

Every command is one file. `main` runs them and turns what users can put right into one line on standard error:

======  =========================================================================
status  meaning
======  =========================================================================
0       done, or the reader of standard output had enough (``| head``)
1       something is broken (`cofactor doctor`), or a bug, with its traceback
2       bad input; one line says which file, which line, what was expected
130     interrupted by Ctrl-C, nothing half-written; where a store is kept, the message says so
143     ended by SIGTERM, nothing half-written
======  =========================================================================

Nothing is imported here before `main` can answer an interruption.
"""

from __future__ import annotations

import sys
from io import TextIOWrapper
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments : sequence of str, optional
        What stands after ``cofactor`` on the command line; by default that of the process.

    Returns
    -------
    int
        Exit status.

    Examples
    --------
    >>> import cofactor
    >>> main(["--version"])
    cofactor 0...
    0
    """
    from cofactor.cli import interrupts
    from cofactor.lazy import gc_disabled

    if arguments is None:
        interrupts.own_the_process()
        if isinstance(sys.stdout, TextIOWrapper) and sys.stdout.errors == "strict":
            sys.stdout.reconfigure(errors="surrogateescape")  # names of files that are no text are printed as they are
    with interrupts.loading(), gc_disabled(lasting=True):
        from cofactor.cli.app import run
    return run(arguments)
