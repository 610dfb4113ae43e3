"""The command line. Each command has a module of its own; here they are assembled, and errors become one line."""

import logging
import signal
import sys
from typing import Annotated, Any

import typer

import pomdplite
from pomdplite.cli.bench import bench
from pomdplite.cli.check import check
from pomdplite.cli.compare import compare
from pomdplite.cli.console import err
from pomdplite.cli.list import list_
from pomdplite.cli.report import report
from pomdplite.cli.run import run
from pomdplite.cli.show import show
from pomdplite.cli.solve import solve
from pomdplite.cli.tune import tune
from pomdplite.cli.watch import watch
from pomdplite.errors import PomdpLiteError, UsageError

app = typer.Typer(add_completion=False, rich_markup_mode="rich")
app.command("list")(list_)
for command in (show, check, run, compare, solve, watch, bench, report, tune):
    app.command()(command)


def _print_version(value: bool) -> None:
    if value:
        typer.echo(pomdplite.__version__)
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
        typer.echo(context.get_help())


# Typer bundles its own copy of click, or uses the installed one; either way this is the base of its errors.
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main() -> None:
    """Run the command line: errors in one line, exit code 2 for bad arguments and 1 for other errors."""
    _announce_compilation()
    signal.signal(signal.SIGTERM, _interrupt)  # batch systems stop a job this way; treat it like Ctrl-C
    code = 0
    try:
        code = app(standalone_mode=False) or 0
    except _ClickException as error:
        _print_error(error.format_message())
        code = 2
    except SystemError as error:  # Ctrl-C inside a compiled function surfaces like this
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        _print_error("interrupted")
        code = 130
    except (KeyboardInterrupt, typer.Abort):
        _print_error("interrupted")
        code = 130
    except typer.Exit as stop:
        code = stop.exit_code
    except UsageError as error:
        _print_error(str(error))
        code = 2
    except PomdpLiteError as error:
        _print_error(str(error))
        code = 1
    sys.exit(code)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


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
