"""One run of the program: its command, its messages and its exit status."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Sequence
from functools import cache
from typing import Any, NoReturn

from typer.main import get_command

from cofactor.cli import errors
from cofactor.cli.app import app
from cofactor.cli.interrupts import interrupted, loading, not_lost, working
from cofactor.cli.output import showing_warnings
from cofactor.interrupts import ending_all

__all__ = ["run"]


def run(arguments: Sequence[str] | None) -> int:
    """Run a command; see `cofactor.cli.main`."""
    in_main = threading.current_thread() is threading.main_thread()
    # By default SIGTERM ends the process at once, which would leave temporary files behind.
    handler = signal.signal(signal.SIGTERM, _terminate) if in_main else None
    try:
        with showing_warnings(), not_lost(), ending_all(), loading():  # to read the arguments, typer loads more
            status = _program()(args=arguments, prog_name="cofactor", standalone_mode=False)
        sys.stdout.flush()
    except (SystemExit, BrokenPipeError) as stop:
        # rich and typer turn a broken pipe into an exit of their own.
        if BrokenPipeError in (type(stop), type(stop.__context__)):
            errors.silence_stdout()
            return 0
        return stop.code if isinstance(stop, SystemExit) and isinstance(stop.code, int) else 1
    except KeyboardInterrupt:
        return interrupted()
    except errors.EXPLAINED as error:
        if errors.is_abort(error):
            return interrupted()
        message = errors.explain(error)
        if message is None:
            raise
        if message:
            print(f"cofactor: error: {message}", file=sys.stderr)
        return 2
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, handler)
    if status == 130:
        return interrupted()
    return status if isinstance(status, int) else 0


@cache
def _program() -> Any:
    """Return the program; each of its commands begins to work only when its arguments are read."""
    program = get_command(app)
    groups: list[Any] = [program]
    for group in groups:
        for command in group.commands.values():
            if hasattr(command, "commands"):
                groups.append(command)
            else:
                command.callback = working()(command.callback)
    return program


def _terminate(number: int, frame: Any) -> NoReturn:
    raise SystemExit(128 + number)
