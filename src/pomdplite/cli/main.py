"""The command line. Each command has a module of its own; here they are assembled, and errors become one line."""

import logging
import os
import signal
import sys
from typing import Annotated, Any

import typer

import pomdplite
from pomdplite.cli.bench import bench
from pomdplite.cli.check import check
from pomdplite.cli.compare import compare
from pomdplite.cli.console import err
from pomdplite.cli.encoding import use_fallbacks
from pomdplite.cli.export import export
from pomdplite.cli.list import list_
from pomdplite.cli.report import report
from pomdplite.cli.run import run
from pomdplite.cli.show import show
from pomdplite.cli.solve import solve
from pomdplite.cli.theory import theory
from pomdplite.cli.tune import tune
from pomdplite.cli.watch import watch
from pomdplite.compile.interrupts import is_interrupt, raise_on
from pomdplite.errors import PomdpLiteError, UsageError

_INTERRUPTED = 130  # exit codes as shells report them: Ctrl-C,
_READER_GONE = 141  # and a pipe whose reader has gone

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
app.command("list")(list_)
for command in (show, check, run, compare, solve, watch, bench, report, tune, theory, export):
    app.command()(command)


def _print_version(value: bool) -> None:
    if value:
        print(pomdplite.__version__)
        raise typer.Exit


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Plan under uncertainty when the hidden part of the world is fixed or changes deterministically."""
    if context.invoked_subcommand is None:
        print(context.get_help())


# Typer bundles its own copy of click, or uses the installed one; either way this is the base of its errors.
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main() -> None:
    """Run the command line: errors in one line, exit code 2 for bad arguments and 1 for other errors."""
    use_fallbacks()
    raise_on(signal.SIGINT, signal.SIGTERM)  # batch systems stop a job with SIGTERM; treat it like Ctrl-C
    _announce_compilation()
    code = execute(sys.argv[1:])
    try:
        sys.stdout.flush()
    except OSError as error:
        code = _output_lost(error)
    sys.exit(code)


def execute(arguments: list[str]) -> int:
    """Run a command; return its exit code, after reporting an error in one line."""
    command = typer.main.get_command(app)
    try:
        # Not command.main(), which would turn KeyboardInterrupt into an exit without a word.
        with command.make_context("pomdplite", arguments) as context:
            command.invoke(context)
    except _ClickException as error:
        return _failed(error.format_message(), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _failed("interrupted", _INTERRUPTED)
    except SystemError as error:  # Ctrl-C inside a compiled function surfaces like this
        if not is_interrupt(error):
            raise
        return _failed("interrupted", _INTERRUPTED)
    except typer.Exit as stop:
        return stop.exit_code
    except UsageError as error:
        return _failed(str(error), 2)
    except PomdpLiteError as error:
        return _failed(str(error), 1)
    except MemoryError as error:
        return _failed(f"out of memory: {error}" if str(error) else "out of memory", 1)
    except OSError as error:
        if error.filename is None:
            return _output_lost(error)
        return _failed(f"{error.filename}: {error.strerror}", 1)
    return 0


def _output_lost(error: OSError) -> int:
    """The exit code when nothing more can be printed: the reader of a pipe has gone, or the disk is full."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that Python does not try again as it ends
    if isinstance(error, BrokenPipeError):
        return _READER_GONE
    return _failed(f"cannot write the output: {error.strerror or error}", 1)


def _failed(message: str, code: int) -> int:
    _print_error(message)
    return code


def _print_error(message: str) -> None:
    print(f"pomdplite: {' '.join(message.split())}", file=sys.stderr)


def _announce_compilation() -> None:
    """Compilation takes seconds and happens once: tell the user when it starts."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        announced = False

        def on_start(self, occurrence: Any) -> None:
            if not self.announced:
                err.print("[dim]compiling (the first time only; cached on disk for later runs)[/dim]")
                Listener.announced = True

        def on_end(self, occurrence: Any) -> None:
            """Nothing to announce."""

    event.register("numba:compile", Listener())
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("pomdplite: %(message)s"))
    logging.getLogger("pomdplite").addHandler(handler)
    logging.getLogger("pomdplite").setLevel(logging.INFO if err.is_terminal else logging.WARNING)
