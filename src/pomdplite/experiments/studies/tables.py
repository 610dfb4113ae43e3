"""A study's results laid out as in the paper's Table I, planners by problems, with the statistical comparisons.

This decides what appears where; views/grid.py and views/figures.py render it.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.evaluate import Evaluation
from pomdplite.experiments.statistics import FLIPS, LEVEL, Difference, holm, paired_differences, sign_flip_p
from pomdplite.experiments.studies.published import Published
from pomdplite.experiments.studies.results import CellResult, Results

BUDGETS = ("time", "sims")  # parameters that limit the work of a step
_AXES = {
    "beta": "β, weight of exploration",
    "time": "budget per step, s",
    "sims": "budget per step, simulations",
}


@dataclass(frozen=True)
class Row:
    """A planner, with the parameters that distinguish its rows."""

    planner: str
    parameters: tuple[tuple[str, Any], ...] = ()
    chosen: dict[str, Any] = field(default_factory=dict, compare=False)  # what the planner chose in all its entries

    @property
    def label(self) -> str:
        """The row's name in tables and figures."""
        texts = (
            parameter_text(name, value) if name not in self.chosen else chosen_text(name, self.chosen[name])
            for name, value in self.parameters
        )
        return f"{self.planner} {', '.join(texts)}".strip()


@dataclass(frozen=True)
class Entry:
    """A cell of the study in its column."""

    result: CellResult
    evaluation: Evaluation | None  # None before the first episode
    best: bool = False  # the highest mean of the column
    difference: Difference | None = None  # to the best; None for the best itself, or without common episodes
    p: float | None = None  # p value of that difference, corrected for the column's comparisons

    @property
    def finished(self) -> bool:
        """Whether all episodes are played, or the planner cannot handle the problem."""
        return self.result.reason is not None or len(self.result.episodes) >= self.result.cell.episodes

    @property
    def equal(self) -> bool:
        """Whether it is not distinguishable from the best: not significantly worse."""
        if self.difference is None or self.p is None:
            return False
        return self.p >= LEVEL or self.difference.mean > 0


@dataclass(frozen=True)
class Column:
    """A problem, with one entry per row of the table; None where the study has no such cell."""

    problem: str
    entries: tuple[Entry | None, ...]
    rated: bool = False  # whether the published numbers include success rates

    @property
    def played(self) -> list[Evaluation]:
        """The evaluations in this column."""
        return [e.evaluation for e in self.entries if e is not None and e.evaluation is not None]

    @property
    def success(self) -> bool:
        """Whether to show success rates: some episode failed, or published rates are shown next to them."""
        return self.rated or any(e.success_rate is not None and e.success_rate < 1 for e in self.played)

    @property
    def digits(self) -> int:
        """Decimals that show the first digit of the median standard error; at least two, as in the paper."""
        errors = sorted(e.stderr for e in self.played if 0 < e.stderr < math.inf)
        return min(6, max(2, -math.floor(math.log10(errors[len(errors) // 2])))) if errors else 2


@dataclass(frozen=True)
class StudyTable:
    """Rows and columns, with the budget they share."""

    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    budget: tuple[str, Any] | None = None  # of all entries, if the study has one table per budget

    @property
    def entries(self) -> list[Entry]:
        """All entries, row by row."""
        return [c.entries[i] for i in range(len(self.rows)) for c in self.columns if c.entries[i] is not None]  # type: ignore[misc]

    @property
    def reasons(self) -> list[str]:
        """Why planners cannot handle problems, each reason once, in the order of their footnotes 1, 2, …"""
        return list(dict.fromkeys(e.result.reason for e in self.entries if e.result.reason is not None))

    @property
    def unfinished(self) -> int:
        """The number of entries with missing episodes."""
        return sum(not e.finished for e in self.entries)


def study_tables(results: Results) -> list[StudyTable]:
    """The study's tables: one, or one per budget if several planners were given several budgets.

    Planners without a budget appear in each.
    """
    names = varying(results)
    for budget in BUDGETS:
        if sum(budget in own for own in names.values()) > 1:
            values = _distinct(r.cell.parameters.get(budget) for r in results.cells)
            return [
                _table(
                    [r for r in results.cells if r.cell.parameters.get(budget) in (None, value)],
                    {planner: [n for n in own if n != budget] for planner, own in names.items()},
                    results,
                    (budget, value),
                )
                for value in values
                if value is not None
            ]
    return [_table(results.cells, names, results, None)]


def _table(
    cells: Sequence[CellResult], names: dict[str, list[str]], results: Results, budget: tuple[str, Any] | None
) -> StudyTable:
    rows = _distinct(row_of(r.cell, names) for r in cells)
    columns = []
    for problem in _distinct(r.cell.problem for r in cells):
        entries: list[Entry | None] = [None] * len(rows)
        for r in cells:
            if r.cell.problem == problem:
                entries[rows.index(row_of(r.cell, names))] = Entry(r, _evaluated(r, results))
        rated = any(p.success_rate is not None for p in results.published.get(problem, {}).values())
        columns.append(Column(problem, tuple(compared(entries)), rated))
    named = (_with_chosen(row, [r for r in cells if row_of(r.cell, names) == row]) for row in rows)
    return StudyTable(tuple(named), tuple(columns), budget)


def compared(entries: list[Entry | None]) -> list[Entry | None]:
    """The column with its best entry marked and the others compared to it.

    An unfinished entry can be the best only if all are unfinished: one lucky episode does not make a planner the best.
    The best is chosen from the same returns, so every pair counts as a comparison, not only those with the best:
    otherwise, of ten equal planners, one would be called worse in one study out of seven.
    """
    means = {i: (e.finished, e.evaluation.mean) for i, e in enumerate(entries) if e is not None and e.evaluation}
    if not means:
        return entries
    top = max(means.values())
    best = next(i for i, mean in means.items() if mean == top)
    marked = list(entries)
    pairs = len(means) * (len(means) - 1) // 2
    flips = max(FLIPS, 100 * pairs)  # so that a corrected p can be as small as 1 %
    compared_entries: list[int] = []
    p_values: list[float] = []
    for i, mean in means.items():
        entry, reference = entries[i], entries[best]
        assert entry is not None and reference is not None
        if mean == top:
            marked[i] = replace(entry, best=True)
            continue
        differences = paired_differences(entry.result.episodes, reference.result.episodes)
        if len(differences):
            marked[i] = replace(entry, difference=Difference.of(differences))
            compared_entries.append(i)
            p_values.append(sign_flip_p(differences, flips))
    for i, p in zip(compared_entries, holm(p_values, pairs), strict=True):
        marked[i] = replace(marked[i], p=p)  # type: ignore[type-var]
    return marked


def varying(results: Results) -> dict[str, list[str]]:
    """For each planner, the parameters that take several values on one problem.

    A parameter that merely differs between problems, as a tuned β does, does not make separate rows.
    """
    found: dict[str, list[str]] = {}
    for planner in _distinct(r.cell.planner for r in results.cells):
        own = [r.cell for r in results.cells if r.cell.planner == planner]
        problems = _distinct(cell.problem for cell in own)
        found[planner] = [
            name
            for name in _distinct(name for cell in own for name in cell.parameters)
            if any(len(_distinct(c.parameters.get(name) for c in own if c.problem == p)) > 1 for p in problems)
        ]
    return found


def row_of(cell: Cell, names: dict[str, list[str]], without: str | None = None) -> Row:
    """The row that a cell belongs to, given the parameters that vary."""
    return Row(cell.planner, tuple((n, cell.parameters.get(n)) for n in names[cell.planner] if n != without))


def _with_chosen(row: Row, results: Sequence[CellResult]) -> Row:
    """The row with what the planner chose, as far as it is the same in all that was played."""
    chosen = [r.chosen for r in results if r.episodes]
    return (
        replace(row, chosen={n: v for n, v in chosen[0].items() if all(c.get(n) == v for c in chosen)})
        if chosen
        else row
    )


def chosen_text(name: str, value: Any) -> str:
    """A parameter that a planner chose, in a label."""
    return f"{parameter_text(name, float(f'{value:.3g}') if _is_number(value) else value)} (auto)"


def parameter_name(name: str) -> str:
    """A parameter's name on an axis."""
    return _AXES.get(name, name)


def parameter_text(name: str, value: Any) -> str:
    """A parameter in a label."""
    if value is None:
        return f"{name} left out"
    number = f"{value:g}" if isinstance(value, float) else str(value)
    return {"beta": f"β = {number}", "time": f"{number} s", "sims": f"{number} sims"}.get(name, f"{name} = {number}")


def problems(results: Results) -> list[str]:
    """The study's problems."""
    return _distinct(r.cell.problem for r in results.cells)


def evaluations(results: Results, problem: str) -> list[tuple[Row, Evaluation]]:
    """The evaluations of a problem, with their rows."""
    names = varying(results)
    return [
        (_with_chosen(row_of(r.cell, names), [r]), r.evaluation(results.seed))
        for r in results.cells
        if r.cell.problem == problem and r.episodes
    ]


@dataclass(frozen=True)
class Curve:
    """A planner's return against a parameter, in order of the parameter."""

    row: Row  # without that parameter
    points: tuple[tuple[float, Evaluation], ...]


def swept(results: Results) -> list[str]:
    """Parameters that take several numbers on one problem, against which the return can be plotted."""
    names = _distinct(name for own in varying(results).values() for name in own)
    return [n for n in names if any(len(c.points) > 1 for r in problems(results) for c in curves(results, r, n))]


def curves(results: Results, problem: str, parameter: str) -> list[Curve]:
    """A curve for every planner that has numeric values of the parameter on the problem."""
    names = varying(results)
    cells = [
        r for r in results.cells
        if r.cell.problem == problem and r.episodes
        and parameter in names[r.cell.planner] and _is_number(r.cell.parameters.get(parameter))
    ]  # fmt: skip
    found = []
    for row in _distinct(row_of(r.cell, names, without=parameter) for r in cells):
        own = [r for r in cells if row_of(r.cell, names, without=parameter) == row]
        points = [(float(r.cell.parameters[parameter]), r.evaluation(results.seed)) for r in own]
        found.append(Curve(_with_chosen(row, own), tuple(sorted(points, key=lambda p: p[0]))))
    return found


def records(results: Results) -> list[dict[str, Any]]:
    """One record per cell with all its numbers; None for those it does not have."""
    return [
        _record(
            r,
            _evaluated(r, results),
            results.published.get(r.cell.problem, {}).get(r.cell.planner),
        )
        for r in results.cells
    ]


def _record(result: CellResult, e: Evaluation | None, published: Published | None) -> dict[str, Any]:
    cell, several = result.cell, e is not None and len(e.episodes) > 1
    return {
        "problem": cell.problem,
        "planner": cell.planner,
        "parameters": cell.parameters,
        "chosen": result.chosen,
        "wanted": cell.episodes,
        "episodes": len(result.episodes),
        "mean": e.mean if e else None,
        "stderr": e.stderr if e and several else None,
        "ci95_low": e.ci95[0] if e and several else None,
        "ci95_high": e.ci95[1] if e and several else None,
        "success_rate": e.success_rate if e else None,
        "steps": e.steps_mean if e else None,
        "cut": e.cut if e else None,
        "seconds_per_step": e.seconds_per_step if e else None,
        "simulations_per_step": e.simulations_per_step if e else None,
        "preparation_seconds": result.preparation_seconds if e else None,
        "reason": result.reason,
        "published_mean": published.mean if published else None,
        "published_stderr": published.stderr if published else None,
        "published_success_rate": published.success_rate if published else None,
    }


def _evaluated(result: CellResult, results: Results) -> Evaluation | None:
    return result.evaluation(results.seed) if result.episodes else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _distinct(values: Iterable[Any]) -> list[Any]:
    """Distinct values in order of appearance; values from a file need not be hashable."""
    found: list[Any] = []
    for value in values:
        if value not in found:
            found.append(value)
    return found
