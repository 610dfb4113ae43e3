"""The command line: its commands are in commands/; here they are put together, and errors become one line."""

import logging
import signal
import sys
from typing import Annotated, Any

import typer

import pomdplite
from pomdplite.cli.bench import bench
from pomdplite.cli.compare import compare
from pomdplite.cli.console import err
from pomdplite.cli.report import report
from pomdplite.cli.run import run
from pomdplite.cli.show import check, list_, show
from pomdplite.cli.solve import solve
from pomdplite.cli.tune import tune
from pomdplite.cli.watch import watch
from pomdplite.errors import PomdpLiteError, UsageError

app = typer.Typer(add_completion=False, no_args_is_help=True, rich_markup_mode="rich",
                  help="Plan when something is hidden but does not change by chance.")  # fmt: skip
app.command("list")(list_)
for command in (show, check, run, compare, solve, watch, bench, report, tune):
    app.command()(command)


def _version(value: bool) -> None:
    if value:
        typer.echo(pomdplite.__version__)
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="and no more")] = False,
) -> None:
    """Plan when something is hidden but does not change by chance."""


# Typer carries its own copy of click, or uses the installed one; either way this is the base of its errors.
_ClickException: Any = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def main() -> None:
    """Run the command line: errors in one line, exit code 2 for bad arguments and 1 for a bad model."""
    _say_what_is_compiled()
    signal.signal(signal.SIGTERM, _interrupt)  # a batch system's way of saying Ctrl-C
    code = 0
    try:
        code = app(standalone_mode=False) or 0
    except _ClickException as error:
        _complain(error.format_message())
        code = 2
    except SystemError as error:  # how Ctrl-C comes out of a compiled function
        if not isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise
        _complain("interrupted")
        code = 130
    except (KeyboardInterrupt, typer.Abort):
        _complain("interrupted")
        code = 130
    except typer.Exit as stop:
        code = stop.exit_code
    except UsageError as error:
        _complain(str(error))
        code = 2
    except PomdpLiteError as error:
        _complain(str(error))
        code = 1
    sys.exit(code)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _complain(message: str) -> None:
    print(f"pomdplite: {' '.join(message.split())}", file=sys.stderr)


def _say_what_is_compiled() -> None:
    """Compiling takes seconds and happens once: say so while it does."""
    from numba.core import event

    class Listener(event.Listener):  # type: ignore[misc]
        said = False

        def on_start(self, occurrence: Any) -> None:
            if not self.said:
                err.print("[dim]compiling (the first time only; kept on disk for later runs)[/dim]")
                Listener.said = True

        def on_end(self, occurrence: Any) -> None:
            """Nothing to say."""

    event.register("numba:compile", Listener())
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("pomdplite: %(message)s"))
    logging.getLogger("pomdplite").addHandler(handler)
    logging.getLogger("pomdplite").setLevel(logging.INFO if err.is_terminal else logging.WARNING)
