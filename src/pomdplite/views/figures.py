"""What the figures of a study show: points, intervals, labels and captions for tooltips, but nothing of how it looks.

A report draws these descriptions as SVG (svg_figures.py), `pl.plot` with matplotlib (plots.py).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.experiments.episodes.evaluate import Evaluation
from pomdplite.experiments.statistics import LEVEL
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.tables import (
    BUDGETS,
    Curve,
    Entry,
    Row,
    StudyTable,
    curves,
    evaluations,
    parameter_name,
    problems,
    swept,
)

RETURN_LABEL = "mean discounted return"
_BINS = 40
_LOG_RATIO = 20.0  # positive values that span a larger ratio are drawn on a logarithmic scale
_MOST_TICKS = 8  # parameter values that are all labelled on the axis


@dataclass(frozen=True)
class Point:
    """A mean return with its 95% interval."""

    x: float
    mean: float
    low: float
    high: float
    tooltip: str


@dataclass(frozen=True)
class Series:
    """Points of one planner, joined by a line."""

    label: str
    planner: str
    points: tuple[Point, ...]
    dash: int = 0  # 0 for the first series of a planner, 1 for the second, …: selects the dash pattern


@dataclass(frozen=True)
class ReferenceLine:
    """The mean return of a planner that does not have the parameter on the x axis."""

    label: str
    planner: str
    mean: float


@dataclass(frozen=True)
class ReturnPanel:
    """Mean return on one problem against a number."""

    problem: str
    x_label: str
    description: str  # for screen readers
    series: tuple[Series, ...]
    references: tuple[ReferenceLine, ...] = ()
    bands: bool = True  # intervals as a band along the line; otherwise as a bar at each point

    @property
    def points(self) -> list[Point]:
        """The points of all series."""
        return [point for series in self.series for point in series.points]

    @property
    def log_x(self) -> bool:
        """Whether x belongs on a logarithmic scale."""
        values = [point.x for point in self.points]
        return min(values) > 0 and max(values) / min(values) > _LOG_RATIO

    @property
    def ticks(self) -> list[float] | None:
        """The parameter values if they are few enough to label all of them."""
        values = sorted({point.x for point in self.points})
        return values if self.bands and len(values) <= _MOST_TICKS else None


@dataclass(frozen=True)
class IntervalRow:
    """A mean or a mean difference with its 95% interval."""

    label: str
    planner: str
    mean: float
    low: float
    high: float
    tooltip: str = ""
    hollow: bool = False  # not significant
    p: float | None = None


@dataclass(frozen=True)
class IntervalPanel:
    """Intervals on one problem, one row per planner."""

    problem: str
    x_label: str
    description: str
    rows: tuple[IntervalRow, ...]


@dataclass(frozen=True)
class HistogramRow:
    """How the returns of a planner are distributed over the bins of its panel."""

    label: str
    planner: str
    mean: float
    shares: Floats


@dataclass(frozen=True)
class HistogramPanel:
    """Histograms of returns on one problem, one row per planner."""

    problem: str
    x_label: str
    description: str
    edges: Floats  # of the bins
    rows: tuple[HistogramRow, ...]


Panel = ReturnPanel | IntervalPanel | HistogramPanel


def sweep_panels(results: Results, parameter: str) -> list[ReturnPanel]:
    """Return against a parameter; planners with a single entry and without that parameter become reference lines."""
    panels = []
    for problem in problems(results):
        found = curves(results, problem, parameter)
        if not any(len(curve.points) > 1 for curve in found):
            continue
        played = evaluations(results, problem)
        planners = [row.planner for row, _ in played]
        drawn = {curve.row.planner for curve in found}
        references = [
            ReferenceLine(row.label, row.planner, e.mean)
            for row, e in played
            if row.planner not in drawn and planners.count(row.planner) == 1
        ]
        series = [_sweep_series(curve, parameter, _dash(found, i)) for i, curve in enumerate(found)]
        description = f"{problem}: return against {parameter}"
        panels.append(
            ReturnPanel(problem, parameter_name(parameter), description, tuple(series), tuple(references))
        )  # fmt: skip
    return panels


def _dash(found: Sequence[Curve], i: int) -> int:
    """How many curves of the same planner come before curve i."""
    return sum(other.row.planner == found[i].row.planner for other in found[:i])


def _sweep_series(curve: Curve, parameter: str, dash: int) -> Series:
    row = curve.row
    points = [_point(x, e, f"{row.label}, {parameter} {x:g}: {_numbers(e)}") for x, e in curve.points]
    return Series(row.label, row.planner, tuple(points), dash)


def time_panels(results: Results) -> list[ReturnPanel]:
    """Return against the measured planning time per step; entries that differ only in their budget form a series."""
    panels = []
    budgets = [name for name in swept(results) if name in BUDGETS]
    unit = "ms of CPU time" if results.clock == "cpu" else "ms"
    for problem in problems(results):
        played = [(row, e) for row, e in evaluations(results, problem) if e.seconds_per_step > 0]
        joined = [
            [(row, e) for _, point in curve.points for row, e in played if _same_entry(e, point)]
            for budget in budgets
            for curve in curves(results, problem, budget)
        ]
        known = [row for entries in joined for row, _ in entries]
        joined += [[(row, e)] for row, e in played if row not in known]
        series = [_time_series(entries) for entries in joined if entries]
        if series:
            description = f"{problem}: return against planning time per step"
            panels.append(
                ReturnPanel(problem, f"planning time per step, {unit}", description, tuple(series), bands=False)
            )
    return panels


def _same_entry(one: Evaluation, other: Evaluation) -> bool:
    return (one.planner, one.parameters) == (other.planner, other.parameters)


def _time_series(entries: Sequence[tuple[Row, Evaluation]]) -> Series:
    points = []
    for row, e in entries:
        milliseconds = 1000 * e.seconds_per_step
        points.append(_point(milliseconds, e, f"{row.label}: {_numbers(e)}, {milliseconds:.3g} ms per step"))
    row = entries[0][0]
    return Series(row.label, row.planner, tuple(points))


def mean_panels(results: Results) -> list[IntervalPanel]:
    """Mean returns with their intervals."""
    panels = []
    for problem in problems(results):
        rows = [
            IntervalRow(row.label, row.planner, e.mean, *interval(e), f"{row.label}: {_numbers(e)}")
            for row, e in evaluations(results, problem)
        ]
        if rows:
            panels.append(IntervalPanel(problem, RETURN_LABEL, f"{problem}: mean returns", tuple(rows)))
    return panels


def difference_panels(table: StudyTable) -> list[IntervalPanel]:
    """Paired differences from the best planner of each problem; hollow where they are not significant."""
    panels = []
    for column in table.columns:
        entries = [(row, e) for row, e in zip(table.rows, column.entries, strict=True) if e is not None]
        rows = [_difference_row(row, e) for row, e in entries if e.difference is not None]
        if rows:
            best = next(row.label for row, e in entries if e.best)
            description = f"{column.problem}: differences in return from {best}"
            x_label = f"return minus that of {shortened(best)}"
            panels.append(IntervalPanel(column.problem, x_label, description, tuple(rows)))
    return panels


def _difference_row(row: Row, entry: Entry) -> IntervalRow:
    difference, p = entry.difference, entry.p
    assert difference is not None and p is not None
    mean, (low, high) = difference.mean, difference.ci95
    if not math.isfinite(low):
        low = high = mean
    tooltip = f"{row.label}: {mean:+.3g} [{low:+.3g}, {high:+.3g}] over {difference.episodes} episodes, p = {p:.2g}"
    return IntervalRow(row.label, row.planner, mean, low, high, tooltip, hollow=p >= LEVEL, p=p)


def histogram_panels(table: StudyTable) -> list[HistogramPanel]:
    """Distributions of returns, with the same bins for all planners on a problem."""
    panels = []
    for column in table.columns:
        entries = [(r, e.evaluation) for r, e in zip(table.rows, column.entries, strict=True) if e and e.evaluation]
        if not entries:
            continue
        edges = np.histogram_bin_edges(np.concatenate([e.returns for _, e in entries]), _BINS)
        rows = [
            HistogramRow(row.label, row.planner, e.mean, np.histogram(e.returns, edges)[0] / len(e.episodes))
            for row, e in entries
        ]
        description = f"{column.problem}: distribution of returns"
        panels.append(HistogramPanel(column.problem, "discounted return", description, edges, tuple(rows)))
    return panels


def interval(e: Evaluation) -> tuple[float, float]:
    """The 95% interval of the mean; a single episode has none, so its return alone."""
    return e.ci95 if math.isfinite(e.stderr) else (e.mean, e.mean)


def shortened(label: str, most: int = 22) -> str:
    """A label that fits beside an axis."""
    return label if len(label) <= most else label[: most - 1] + "…"


def _point(x: float, e: Evaluation, tooltip: str) -> Point:
    return Point(x, e.mean, *interval(e), tooltip)


def _numbers(e: Evaluation) -> str:
    low, high = interval(e)
    return f"{e.mean:.4g} [{low:.4g}, {high:.4g}]"
