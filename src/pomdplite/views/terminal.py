"""Printing tables: on a terminal as wide as the terminal is, into a pipe or file as wide as the table needs."""

import io

from rich.console import Console, RenderableType
from rich.measure import Measurement

_PLAIN_WIDTH = 100  # of plain text, unless a table needs more
_UNLIMITED = 10_000


def print_table(console: Console, table: RenderableType) -> None:
    """Print a table so that nothing is cut off: a terminal wraps what is too wide, a pipe or file has no width."""
    if console.is_terminal:
        console.print(table)
    else:
        console.file.write(plain_text(table))


def plain_text(table: RenderableType) -> str:
    """A table without colours, as wide as it needs to be."""
    console = Console(file=io.StringIO(), width=_UNLIMITED)
    console.width = max(_PLAIN_WIDTH, Measurement.get(console, console.options, table).maximum)
    with console.capture() as captured:
        console.print(table)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
