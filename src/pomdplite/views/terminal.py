"""Printing tables and drawings: in a terminal as wide as it is, into a pipe or file as wide as they need to be."""

import io

from rich.console import Console, RenderableType
from rich.measure import Measurement

_PLAIN_WIDTH = 100  # at which notes wrap, unless a table is wider
_UNLIMITED = 10_000


def print_in_full(console: Console, content: RenderableType) -> None:
    """Print to a terminal, or without colours and without a limit on the width to a pipe or file.

    Rich would take a pipe for 80 columns wide, and cut off what does not fit.
    """
    if console.is_terminal:
        console.print(content)
    else:
        console.file.write(plain_text(content))


def plain_text(content: RenderableType) -> str:
    """Text without colours, as wide as the content needs."""
    console = Console(file=io.StringIO(), width=_UNLIMITED)
    console.width = max(_PLAIN_WIDTH, Measurement.get(console, console.options, content).maximum)
    with console.capture() as captured:
        console.print(content)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
