"""The text of a study's tables, the same in every format: headings, numbers, marks and notes.

experiments/studies/tables.py decides which entries a table has and compares them; here they become words.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pomdplite.experiments.episodes.evaluate import Evaluation
from pomdplite.experiments.statistics import LEVEL
from pomdplite.experiments.studies.published import Published
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import Column, StudyTable, chosen_text, parameter_text

TEST = "two-sided sign-flip test on paired returns, Holm's correction over all pairs of the column"
CLOCKS = {"wall": "wall-clock time", "cpu": "CPU time"}
SUCCESS = "success"  # heading of the success rates of the problem to its left


class GridCell(NamedTuple):
    """One cell of a table."""

    text: str
    best: bool = False
    equal: bool = False  # not significantly worse than the best
    reason: int | None = None  # number of the footnote that says why there is no result
    cited: bool = False  # published elsewhere


@dataclass(frozen=True)
class TableText:
    """A table as text."""

    title: str
    header: tuple[str, ...]  # above the entries; the column of row labels has no heading
    labels: tuple[str, ...]
    lines: tuple[tuple[GridCell, ...], ...]  # one per label
    notes: tuple[str, ...]  # what the numbers are, and what is missing
    reasons: tuple[str, ...]  # footnotes, numbered from 1
    compared: bool  # whether any column has a best among several entries

    def explanations(self, best: str) -> list[str]:
        """The notes, then what the marks mean; `best` says how the format marks the best entry."""
        return [*self.notes, *([marks_text(best)] if self.compared else [])]


def grid(table: StudyTable, results: Results) -> TableText:
    """The text of a table."""
    reasons = table.reasons
    header: list[str] = []
    for column in table.columns:
        header += [column.problem, SUCCESS] if column.success else [column.problem]
    labels: list[str] = []
    lines: list[tuple[GridCell, ...]] = []
    for i, row in enumerate(table.rows):
        labels.append(row.label)
        lines.append(tuple(cell for column in table.columns for cell in _cells(column, i, reasons)))
        last = i + 1 == len(table.rows) or table.rows[i + 1].planner != row.planner
        cited = [results.published.get(column.problem, {}).get(row.planner) for column in table.columns]
        if last and any(cited):
            labels.append(results.publication)
            pairs = zip(table.columns, cited, strict=True)
            lines.append(tuple(cell for column, published in pairs for cell in _cited(column, published)))
    return TableText(
        title=results.title + (f": {budget_text(table, results)}" if table.budget else ""),
        header=tuple(header),
        labels=tuple(labels),
        lines=tuple(lines),
        notes=tuple(_notes(table, results)),
        reasons=tuple(reasons),
        compared=any(len(column.played) > 1 for column in table.columns),
    )


def budget_text(table: StudyTable, results: Results) -> str:
    """The budget that all entries of a table share."""
    assert table.budget is not None
    name, value = table.budget
    return parameter_text(name, value) + (f" of {CLOCKS[results.clock]}" if name == "time" else "") + " per step"


def number_text(mean: float, stderr: float, digits: int) -> str:
    """Mean ± standard error; a single episode has no standard error."""
    return f"{mean:.{digits}f}" + (f" ± {stderr:.{digits}f}" if stderr < float("inf") else "")


def marks_text(best: str) -> str:
    """What the marks mean; `best` says how the format marks the best entry."""
    return f"{best}: highest mean of the column. †: not significantly worse at the {100 * LEVEL:g}% level ({TEST})."


def mark(evaluation: Evaluation) -> str:
    """What stands behind the return of a planner whose search did not close."""
    return "‡" if evaluation.not_closed else ""


def mark_text(evaluations: Sequence[Evaluation]) -> list[str]:
    """What the mark means, if it occurs."""
    return ["‡: the search did not close, so the optimal return may be higher."] if any(map(mark, evaluations)) else []


def _cells(column: Column, i: int, reasons: list[str]) -> list[GridCell]:
    """Row i of a column: the return, and the success rate where the column has one."""
    entry = column.entries[i]
    if entry is None:
        return [GridCell("")] * (2 if column.success else 1)
    e = entry.evaluation
    if e is None:
        reason = entry.result.reason
        cell = GridCell("…") if reason is None else GridCell("–", reason=1 + reasons.index(reason))
        return [cell, GridCell("")] if column.success else [cell]
    text = number_text(e.mean, e.stderr, column.digits) + mark(e) + ("" if entry.finished else f" ({len(e.episodes)})")
    cells = [GridCell(text, entry.best and len(column.played) > 1, entry.equal)]
    if column.success:
        cells.append(GridCell("" if e.success_rate is None else _rate(e.success_rate)))
    return cells


def _cited(column: Column, published: Published | None) -> list[GridCell]:
    """Published numbers below a column's own."""
    if published is None:
        return [GridCell("")] * (2 if column.success else 1)
    rate = "" if published.success_rate is None else _rate(published.success_rate)
    text = number_text(published.mean, published.stderr, column.digits)
    return [GridCell(text, cited=True)] + ([GridCell(rate, cited=True)] if column.success else [])


def _rate(rate: float) -> str:
    return f"{100 * rate:.3g}%"


def _chosen(table: StudyTable) -> list[str]:
    """One note for every row in which a planner chose parameters that its label does not tell."""
    notes = []
    for i, row in enumerate(table.rows):
        entries = [(column.problem, column.entries[i]) for column in table.columns]
        found = [
            f"{chosen_text(name, value)} on {problem}"
            for problem, entry in entries if entry is not None and entry.evaluation is not None
            for name, value in entry.result.chosen.items() if name not in dict(row.parameters) or name not in row.chosen
        ]  # fmt: skip
        if found:
            notes.append(f"{row.label}: {', '.join(found)}.")
    return notes


def _notes(table: StudyTable, results: Results) -> list[str]:
    counts = sorted({e.result.cell.episodes for e in table.entries})
    wanted = f"{counts[0]:,}" if len(counts) == 1 else f"{counts[0]:,} to {counts[-1]:,}"
    wanted += " episodes" if counts != [1] else " episode"
    notes = [f"Mean discounted return ± standard error over {wanted}, seed {results.seed}."]
    if any(column.success for column in table.columns):
        notes.append(f"{SUCCESS}: share of episodes that reach the goal of the problem.")
    if table.unfinished:
        notes.append(
            f"The study is unfinished: {table.unfinished} of {len(table.entries)} entries lack episodes. "
            "Episodes so far are in parentheses; …: none yet."
        )
    notes += _chosen(table)
    notes += mark_text([e.evaluation for e in table.entries if e.evaluation is not None])
    return [*notes, *results.notes]
