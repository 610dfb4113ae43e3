"""A study's tables for the terminal, notebooks, papers (LaTeX) and GitHub (Markdown), and its numbers as CSV."""

import csv
import io
import json
from collections.abc import Sequence

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from pomdplite.errors import UsageError
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import records, study_tables
from pomdplite.views import jinja
from pomdplite.views.grid import SUCCESS, GridCell, TableText, grid
from pomdplite.views.latex import latex_table
from pomdplite.views.terminal import plain_text

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def tables(results: Results) -> "ResultTables":
    """The tables of a study, in the layout of the paper's Table I.

    Print them, show them in a notebook, or call .latex() or .markdown().
    """
    if not isinstance(results, Results):
        raise UsageError(f"tables() takes the Results of a study, not {type(results).__name__}.")
    return ResultTables(results)


class ResultTables:
    """A study's tables, as a terminal and a notebook show them."""

    def __init__(self, results: Results) -> None:
        self.grids = [grid(table, results) for table in study_tables(results)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """For rich: as many columns side by side as fit."""
        yield from (_terminal(g, options.max_width) for g in self.grids)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """For rich: the width with all columns side by side."""
        return Measurement(1, max(_width(g) for g in self.grids))

    def __str__(self) -> str:
        """Plain text, as wide as it needs to be."""
        return plain_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str | None:
        """For notebooks; without Jinja2 they show plain text."""
        return jinja.render("tables.html.j2", grids=self.grids) if jinja.is_installed() else None

    def markdown(self) -> str:
        """GitHub-flavoured Markdown."""
        return "\n".join(_markdown(g) for g in self.grids)

    def latex(self) -> str:
        """LaTeX for a paper, with the packages booktabs and graphicx."""
        return "\n".join(latex_table(g) for g in self.grids)


def _width(g: TableText, columns: Sequence[int] | None = None) -> int:
    """Characters that the row labels and these columns (None: all) need."""
    chosen = range(len(g.header)) if columns is None else columns
    needed = [max(cell_len(g.header[c]), *(cell_len(line[c].text) + 1 for line in g.lines)) + 3 for c in chosen]
    return 4 + max(map(cell_len, g.labels)) + sum(needed)


def _terminal(g: TableText, width: int) -> RenderableType:
    """The columns in one table, or in several below one another if the width requires it; then the notes."""
    parts: list[list[int]] = []
    for column, name in enumerate(g.header):
        if name == SUCCESS:
            continue
        problem = [column, column + 1] if g.header[column + 1 : column + 2] == (SUCCESS,) else [column]
        if parts and _width(g, parts[-1] + problem) <= width:
            parts[-1] += problem
        else:
            parts.append(problem)
    notes = [*g.explanations("Bold with *"), *_footnotes(g)]
    return Group(
        Text(g.title, style="bold"),
        *(_part(g, columns) for columns in parts),
        *(Text(note, style="dim") for note in notes),
        Text(""),
    )


def _part(g: TableText, columns: Sequence[int]) -> Table:
    """Some columns of a table, without rows that have nothing in them."""
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("", overflow="fold")
    for column in columns:
        table.add_column(escape(g.header[column]), justify="right", overflow="fold")
    for label, line in zip(g.labels, g.lines, strict=True):
        if any(line[column].text for column in columns):
            table.add_row(escape(label), *(_terminal_cell(line[column]) for column in columns))
    return table


def _terminal_cell(cell: GridCell) -> Text:
    mark = "*" if cell.best else "†" if cell.equal else _superscript(cell) or " "
    return Text(cell.text + mark, style="bold" if cell.best else "italic" if cell.cited else "")


def _superscript(cell: GridCell) -> str:
    return "" if cell.reason is None else str(cell.reason).translate(_SUPERSCRIPT)


def _footnotes(g: TableText) -> list[str]:
    return [f"{str(i).translate(_SUPERSCRIPT)} {reason}" for i, reason in enumerate(g.reasons, 1)]


def _markdown(g: TableText) -> str:
    def safe(text: str) -> str:
        for character in "\\`*_{}[]<>#|~":
            text = text.replace(character, "\\" + character)
        return " ".join(text.split())

    def entry(cell: GridCell) -> str:
        if cell.best or (cell.cited and cell.text):
            return f"**{cell.text}**" if cell.best else f"*{cell.text}*"
        return cell.text + ("†" if cell.equal else _superscript(cell))

    lines = [f"### {safe(g.title)}", ""]
    lines.append("| | " + " | ".join(map(safe, g.header)) + " |")
    lines.append("|---|" + "---:|" * len(g.header))
    for label, line in zip(g.labels, g.lines, strict=True):
        lines.append(f"| {safe(label)} | " + " | ".join(map(entry, line)) + " |")
    notes = [*g.explanations("Bold"), *_footnotes(g)]
    return "\n".join([*lines, "", *(f"{safe(note)}  " for note in notes), ""])


def csv_text(results: Results) -> str:
    """One line per entry of the study, with all its numbers."""
    lines = records(results)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        texts = {name: json.dumps(line[name], ensure_ascii=False) for name in ("parameters", "chosen")}
        writer.writerow(line | texts)
    return text.getvalue()
