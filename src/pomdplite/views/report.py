"""A study's tables as text: for the terminal, LaTeX, Markdown and CSV, all from one grid of what is shown."""

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape as html_escape
from typing import NamedTuple

from rich import box
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from pomdplite.experiments.statistics import LEVEL
from pomdplite.experiments.studies.published import Published
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import Column, StudyTable, parameter_text, records, study_tables

TEST = "two-sided sign-flip test on the returns of common episodes, Holm's correction over all pairs of the column"
CLOCKS = {"wall": "on the wall's clock", "cpu": "of processor time"}
SUCCESS = "success"  # heads a column that belongs to the problem on its left
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Shown(NamedTuple):
    """What stands at one place of a table."""

    text: str
    best: bool = False
    equal: bool = False  # not distinguishable from the best
    reason: int | None = None  # the number of the reason why there is nothing
    cited: bool = False  # published by others


@dataclass(frozen=True)
class Grid:
    """A table as it is shown, whatever the format."""

    title: str
    header: tuple[str, ...]  # above the entries; the labels of the rows have no heading
    labels: tuple[str, ...]
    lines: tuple[tuple[Shown, ...], ...]  # one per label
    notes: tuple[str, ...]  # what the numbers are, and what is missing
    reasons: tuple[str, ...]  # numbered from 1
    compared: bool  # whether there is a best among several


def grid(table: StudyTable, results: Results) -> Grid:
    """What is shown of a table."""
    reasons = table.reasons
    header: list[str] = []
    for column in table.columns:
        header += [column.problem, SUCCESS] if column.success else [column.problem]
    labels: list[str] = []
    lines: list[tuple[Shown, ...]] = []
    for i, row in enumerate(table.rows):
        labels.append(row.label)
        lines.append(tuple(shown for column in table.columns for shown in _shown(column, i, reasons)))
        last = i + 1 == len(table.rows) or table.rows[i + 1].planner != row.planner
        cited = [results.published.get(column.problem, {}).get(row.planner) for column in table.columns]
        if last and any(cited):
            labels.append(results.publication)
            pairs = zip(table.columns, cited, strict=True)
            lines.append(tuple(shown for column, published in pairs for shown in _cited(column, published)))
    compared = any(len(column.played) > 1 for column in table.columns)
    title = results.title + (f": {budget_text(table, results)}" if table.budget else "")
    return Grid(
        title, tuple(header), tuple(labels), tuple(lines), tuple(_notes(table, results)),
        tuple(reasons), compared,
    )  # fmt: skip


def budget_text(table: StudyTable, results: Results) -> str:
    """The budget of a table's entries in words."""
    assert table.budget is not None
    name, value = table.budget
    return f"{parameter_text(name, value)} per step" + (f" {CLOCKS[results.clock]}" if name == "time" else "")


def number_text(mean: float, stderr: float, digits: int) -> str:
    """Mean ± standard error, which a single episode does not have."""
    return f"{mean:.{digits}f}" + (f" ± {stderr:.{digits}f}" if stderr < float("inf") else "")


def legend(best: str) -> str:
    """What the marks mean; `best` is how the format sets the best apart."""
    return f"{best}: the highest mean of a column; †: not distinguishable from it at {100 * LEVEL:g} % ({TEST})."


def _shown(column: Column, i: int, reasons: list[str]) -> list[Shown]:
    """One row's places in a column: the return, and success where it is shown."""
    entry = column.entries[i]
    if entry is None:
        return [Shown("")] * (2 if column.success else 1)
    e = entry.evaluation
    if e is None:
        reason = entry.result.reason
        place = Shown("…") if reason is None else Shown("–", reason=1 + reasons.index(reason))
        return [place, Shown("")] if column.success else [place]
    text = number_text(e.mean, e.stderr, column.digits) + ("" if entry.finished else f" ({len(e.episodes)})")
    places = [Shown(text, entry.best and len(column.played) > 1, entry.equal)]
    if column.success:
        places.append(Shown("" if e.success_rate is None else _rate(e.success_rate)))
    return places


def _cited(column: Column, published: Published | None) -> list[Shown]:
    """What others published, in the places of a column."""
    if published is None:
        return [Shown("")] * (2 if column.success else 1)
    rate = "" if published.success_rate is None else _rate(published.success_rate)
    text = number_text(published.mean, published.stderr, column.digits)
    return [Shown(text, cited=True)] + ([Shown(rate, cited=True)] if column.success else [])


def _rate(rate: float) -> str:
    return f"{100 * rate:.3g} %"


def _notes(table: StudyTable, results: Results) -> list[str]:
    counts = sorted({e.result.cell.episodes for e in table.entries})
    wanted = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    wanted += " episodes" if counts != [1] else " episode"
    notes = [f"Mean discounted return ± standard error over {wanted}, seed {results.seed}."]
    if any(column.success for column in table.columns):
        notes.append("success: share of episodes that reached the problem's goal.")
    if table.unfinished:
        notes.append(
            f"The study is unfinished: {table.unfinished} of {len(table.entries)} entries lack episodes. "
            "In brackets, how many there are so far; …: none yet."
        )
    return [*notes, *results.notes]


class Tables:
    """A study's tables, as a terminal and a notebook show them."""

    def __init__(self, results: Results) -> None:
        self.grids = [grid(table, results) for table in study_tables(results)]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """For rich: as many columns side by side as fit."""
        yield from (_terminal(g, options.max_width) for g in self.grids)

    def __str__(self) -> str:
        """Without colours, as wide as it needs to be."""
        console = Console(file=io.StringIO(), width=max(100, *(_width(g) for g in self.grids)))
        console.print(self, end="")
        return console.file.getvalue()  # type: ignore[attr-defined]

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """For notebooks."""
        from pomdplite.views.page import table_html

        return "".join(f"<p><b>{html_escape(g.title)}</b></p>{table_html(g)}" for g in self.grids)

    def markdown(self) -> str:
        """Tables as GitHub shows them."""
        return "\n".join(_markdown(g) for g in self.grids)

    def latex(self) -> str:
        """Tables for a paper; they need the packages booktabs and graphicx."""
        return "\n".join(_latex(g) for g in self.grids)


def _width(g: Grid, columns: Sequence[int] | None = None) -> int:
    """Characters that these columns need, with the labels."""
    chosen = range(len(g.header)) if columns is None else columns
    needed = [max(cell_len(g.header[c]), *(cell_len(line[c].text) + 1 for line in g.lines)) + 3 for c in chosen]
    return 4 + max(map(cell_len, g.labels)) + sum(needed)


def _terminal(g: Grid, width: int) -> RenderableType:
    """The columns in as many tables, one below the other, as the width asks for; then the notes."""
    parts: list[list[int]] = []
    for column, name in enumerate(g.header):
        if name == SUCCESS:
            continue
        problem = [column, column + 1] if g.header[column + 1 : column + 2] == (SUCCESS,) else [column]
        if parts and _width(g, parts[-1] + problem) <= width:
            parts[-1] += problem
        else:
            parts.append(problem)
    tables = [_part(g, columns) for columns in parts]
    notes = [*g.notes, *([legend("Bold with *")] if g.compared else []), *_numbered(g)]
    return Group(Text(g.title, style="bold"), *tables, *(Text(note, style="dim") for note in notes), Text(""))


def _part(g: Grid, columns: Sequence[int]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1))
    table.add_column("", no_wrap=True)
    for column in columns:
        table.add_column(escape(g.header[column]), justify="right", no_wrap=True)
    for label, line in zip(g.labels, g.lines, strict=True):
        table.add_row(escape(label), *(_terminal_entry(line[column]) for column in columns))
    return table


def _terminal_entry(shown: Shown) -> Text:
    mark = "*" if shown.best else "†" if shown.equal else _superscript(shown) or " "
    return Text(shown.text + mark, style="bold" if shown.best else "italic" if shown.cited else "")


def _superscript(shown: Shown) -> str:
    return "" if shown.reason is None else str(shown.reason).translate(_SUPERSCRIPT)


def _numbered(g: Grid) -> list[str]:
    return [f"{str(i).translate(_SUPERSCRIPT)} {reason}" for i, reason in enumerate(g.reasons, 1)]


def _markdown(g: Grid) -> str:
    def safe(text: str) -> str:
        for character in "\\`*_{}[]<>#|~":
            text = text.replace(character, "\\" + character)
        return " ".join(text.split())

    def entry(shown: Shown) -> str:
        if shown.best or (shown.cited and shown.text):
            return f"**{shown.text}**" if shown.best else f"*{shown.text}*"
        return shown.text + ("†" if shown.equal else _superscript(shown))

    lines = [f"### {safe(g.title)}", ""]
    lines.append("| | " + " | ".join(map(safe, g.header)) + " |")
    lines.append("|---|" + "---:|" * len(g.header))
    for label, line in zip(g.labels, g.lines, strict=True):
        lines.append(f"| {safe(label)} | " + " | ".join(map(entry, line)) + " |")
    notes = [*g.notes, *([legend("Bold")] if g.compared else []), *_numbered(g)]
    return "\n".join([*lines, "", *(f"{safe(note)}  " for note in notes), ""])


_GREEK = {
    "α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "ζ": "zeta", "η": "eta", "θ": "theta",
    "ι": "iota", "κ": "kappa", "λ": "lambda", "μ": "mu", "ν": "nu", "ξ": "xi", "π": "pi", "ρ": "rho", "σ": "sigma",
    "τ": "tau", "υ": "upsilon", "φ": "phi", "χ": "chi", "ψ": "psi", "ω": "omega", "Γ": "Gamma", "Δ": "Delta",
    "Θ": "Theta", "Λ": "Lambda", "Ξ": "Xi", "Π": "Pi", "Σ": "Sigma", "Φ": "Phi", "Ψ": "Psi", "Ω": "Omega",
}  # fmt: skip
_LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "[": "{[}", "*": "{*}", '"': "''", "±": r"$\pm$", "−": "$-$", "–": "--", "…": r"\dots{}",
    "†": r"$^\dagger$", "×": r"$\times$", "≤": r"$\leq$", "≥": r"$\geq$", "·": r"$\cdot$", "→": r"$\to$",
    "∞": r"$\infty$", "√": r"$\surd$", **{letter: rf"$\{name}$" for letter, name in _GREEK.items()},
}  # fmt: skip


def latex_text(text: str) -> str:
    """Text with what LaTeX does not know or reads as a command written out; so it reads a [ or * after a row."""
    return "".join(_LATEX.get(character, character) for character in " ".join(text.split()))


def _latex(g: Grid) -> str:
    def entry(shown: Shown) -> str:
        if not shown.text or shown.text in "–…":
            return latex_text(shown.text) + (f"$^{{{shown.reason}}}$" if shown.reason is not None else "")
        number = shown.text.replace("±", r"\pm").replace(" %", r"\,\%")
        if shown.cited:
            return rf"$\mathit{{{number}}}$"
        return rf"$\mathbf{{{number}}}$" if shown.best else f"${number}" + (r"^{\dagger}$" if shown.equal else "$")

    rows = [
        " & ".join([latex_text(label), *map(entry, line)]) + r" \\"
        for label, line in zip(g.labels, g.lines, strict=True)
    ]
    reasons = [f"$^{{{i}}}$ {latex_text(reason)}" for i, reason in enumerate(g.reasons, 1)]
    notes = [*map(latex_text, [*g.notes, *([legend("Bold")] if g.compared else [])]), *reasons]
    return "\n".join(
        [
            r"% needs \usepackage{booktabs,graphicx}",
            r"\begin{table*}",
            r"\centering",
            rf"\caption{{{latex_text(g.title)}}}",
            r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%  made smaller if it is too wide",
            rf"\begin{{tabular}}{{l{'r' * len(g.header)}}}",
            r"\toprule",
            " & ".join(["", *map(latex_text, g.header)]) + r" \\",
            r"\midrule",
            *rows,
            r"\bottomrule",
            r"\end{tabular}}",
            r"\par\smallskip\footnotesize",
            " \\\\\n".join(notes),
            r"\end{table*}",
            "",
        ]
    )


def csv_text(results: Results) -> str:
    """One line per cell, with all its numbers."""
    lines = records(results)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(lines[0]), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow(line | {"parameters": json.dumps(line["parameters"], ensure_ascii=False)})
    return text.getvalue()
