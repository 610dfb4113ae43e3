"""The figures of a study's page, one small panel per problem: so a phone shows them one below the other, legibly."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
from pomdplite.views.palette import Palette
from pomdplite.views.svg import Canvas, Scale, spans_decades, tick_text

_WIDTH, _HEIGHT = 360.0, 250.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 50.0, 12.0, 10.0, 40.0
_LETTER = 6.6  # width of a letter of a label, rather more than less
_MOST_LETTERS = 22  # of a row's label
_BINS = 40
_DASHES = ("", " dash1", " dash2", " dash3")  # of a planner's second, third … curve


@dataclass(frozen=True)
class Figure:
    """Panels with one legend."""

    panels: tuple[tuple[str, str], ...]  # problem, SVG
    legend: tuple[tuple[str, str], ...] = ()  # label, SVG


def _colour(palette: Palette, planner: str) -> str:
    """The class that sets a planner's colour."""
    return f"c{palette.colour(planner)}"


def key(palette: Palette, planner: str, style: str = "", *, line: bool = False) -> str:
    """A planner's entry in a legend."""
    colour = _colour(palette, planner)
    canvas = Canvas(26, 12, planner)
    if line:
        canvas.line(1, 6, 25, 6, f"curve {colour}{style}")
    if "reference" not in style:
        canvas.marker(13, 6, palette.number(planner), f"mark {colour}")
    return canvas.svg()


def sweep_figure(results: Results, parameter: str, palette: Palette) -> Figure:
    """Return against a parameter with 95 % bands; planners with one entry, and without it, as dashed lines."""
    panels, legend = [], {}
    for problem in problems(results):
        drawn = curves(results, problem, parameter)
        if not any(len(curve.points) > 1 for curve in drawn):
            continue
        played = evaluations(results, problem)
        planners = [row.planner for row, _ in played]
        known = {curve.row.planner for curve in drawn}
        references = [(r, e) for r, e in played if r.planner not in known and planners.count(r.planner) == 1]
        panels.append((problem, _sweep_panel(problem, parameter, drawn, references, palette)))
        for curve, dash in zip(drawn, _dashes([c.row for c in drawn]), strict=True):
            legend[curve.row.label] = key(palette, curve.row.planner, dash, line=True)
        for row, _ in references:
            legend[row.label] = key(palette, row.planner, " reference", line=True)
    return Figure(tuple(panels), tuple(legend.items()))


def _dashes(rows: Sequence[Row]) -> list[str]:
    """A style for each curve that tells those of one planner apart."""
    before = [sum(other.planner == row.planner for other in rows[:i]) for i, row in enumerate(rows)]
    return [_DASHES[n % len(_DASHES)] for n in before]


def _sweep_panel(
    problem: str, parameter: str, drawn: Sequence[Curve],
    references: Sequence[tuple[Row, Evaluation]], palette: Palette,
) -> str:  # fmt: skip
    values = sorted({x for curve in drawn for x, _ in curve.points})
    shown = [e for curve in drawn for _, e in curve.points] + [e for _, e in references]
    canvas = Canvas(_WIDTH, _HEIGHT, f"{problem}: return against {parameter}")
    x = Scale(values, _LEFT, _WIDTH - _RIGHT, log=spans_decades(values))
    y = _return_axis(canvas, shown)
    _bottom_axis(canvas, x, values if len(values) <= 8 else x.ticks(), parameter_name(parameter))
    for row, e in references:
        canvas.line(_LEFT, y(e.mean), _WIDTH - _RIGHT, y(e.mean), f"curve {_colour(palette, row.planner)} reference")
    for curve, dash in zip(drawn, _dashes([c.row for c in drawn]), strict=True):
        colour = _colour(palette, curve.row.planner)
        low = [(x(v), y(_interval(e)[0])) for v, e in curve.points]
        high = [(x(v), y(_interval(e)[1])) for v, e in curve.points]
        canvas.path([*high, *reversed(low)], f"band {colour}", closed=True)
        canvas.path([(x(v), y(e.mean)) for v, e in curve.points], f"curve {colour}{dash}")
        for v, e in curve.points:
            about = f"{curve.row.label}, {parameter} {v:g}: {_in_words(e)}"
            canvas.marker(x(v), y(e.mean), palette.number(curve.row.planner), f"mark {colour}", about)
    return canvas.svg()


def time_figure(results: Results, palette: Palette) -> Figure:
    """Return against the planning time that a step really took; what differs in its budget alone is joined."""
    panels = []
    budgets = [b for b in swept(results) if b in BUDGETS]
    for problem in problems(results):
        points = [(row, e) for row, e in evaluations(results, problem) if e.seconds_per_step > 0]
        joined = [curve for budget in budgets for curve in curves(results, problem, budget)]
        if points:
            panels.append((problem, _time_panel(problem, points, joined, palette, results.clock)))
    return Figure(tuple(panels), tuple((p, key(palette, p)) for p in palette.planners))


def _time_panel(
    problem: str, points: Sequence[tuple[Row, Evaluation]], joined: Sequence[Curve], palette: Palette, clock: str
) -> str:
    times = [1000 * e.seconds_per_step for _, e in points]
    canvas = Canvas(_WIDTH, _HEIGHT, f"{problem}: return against planning time per step")
    x = Scale(times, _LEFT, _WIDTH - _RIGHT, log=spans_decades(times), pad=0.06)
    y = _return_axis(canvas, [e for _, e in points])
    _bottom_axis(canvas, x, x.ticks(), f"planning time per step, ms{' of processor time' if clock == 'cpu' else ''}")
    for curve in joined:
        way = [(x(1000 * e.seconds_per_step), y(e.mean)) for _, e in curve.points if e.seconds_per_step > 0]
        canvas.path(way, f"curve {_colour(palette, curve.row.planner)}")
    for row, e in points:
        at, colour = x(1000 * e.seconds_per_step), _colour(palette, row.planner)
        low, high = _interval(e)
        canvas.line(at, y(low), at, y(high), f"whisker {colour}")
        about = f"{row.label}: {_in_words(e)}, {1000 * e.seconds_per_step:.3g} ms a step"
        canvas.marker(at, y(e.mean), palette.number(row.planner), f"mark {colour}", about)
    return canvas.svg()


def distribution_figure(table: StudyTable, palette: Palette) -> Figure:
    """Histograms of returns, one line per planner, on one scale."""
    panels = []
    for column in table.columns:
        rows = [(r, e.evaluation) for r, e in zip(table.rows, column.entries, strict=True) if e and e.evaluation]
        if rows:
            panels.append((column.problem, _distribution_panel(column.problem, rows, palette)))
    return Figure(tuple(panels))


def _distribution_panel(problem: str, rows: Sequence[tuple[Row, Evaluation]], palette: Palette) -> str:
    step, tall = 30.0, 22.0
    left, bottom = _gutter([row for row, _ in rows]), _TOP + step * len(rows)
    canvas = Canvas(_WIDTH, bottom + _BOTTOM, f"{problem}: distribution of returns")
    returns = np.concatenate([e.returns for _, e in rows])
    x = Scale([float(returns.min()), float(returns.max())], left, _WIDTH - _RIGHT, pad=0.03)
    _bottom_axis(canvas, x, x.ticks(5), "discounted return", _TOP, bottom, left)
    edges = np.histogram_bin_edges(returns, _BINS)
    shares = [np.histogram(e.returns, edges)[0] / len(e.episodes) for _, e in rows]
    for i, ((row, e), share) in enumerate(zip(rows, shares, strict=True)):
        base = _TOP + step * (i + 1) - 4
        colour = _colour(palette, row.planner)
        _row_label(canvas, row, left, base - 3)
        canvas.line(left, base, _WIDTH - _RIGHT, base, "grid")
        for part, low, high in zip(share, edges[:-1], edges[1:], strict=True):
            if part > 0:
                height = max(1.0, tall * float(part / share.max()))
                about = f"{row.label}: {100 * part:.3g} % of returns from {low:.4g} to {high:.4g}"
                canvas.rect(x(low), base - height, max(1.5, x(high) - x(low) - 0.6), height, f"bar {colour}", about)
        canvas.line(x(e.mean), base - tall, x(e.mean), base + 3, "mean")
    return canvas.svg()


def difference_figure(table: StudyTable, palette: Palette) -> Figure:
    """Paired differences to the best with 95 % intervals; hollow where they cannot be told from zero."""
    panels = []
    for column in table.columns:
        rows = [(r, e) for r, e in zip(table.rows, column.entries, strict=True) if e is not None and e.difference]
        best = [r for r, e in zip(table.rows, column.entries, strict=True) if e is not None and e.best]
        if rows:
            panels.append((column.problem, _difference_panel(column.problem, rows, best[0], palette)))
    return Figure(tuple(panels))


def _difference_panel(problem: str, rows: Sequence[tuple[Row, Entry]], best: Row, palette: Palette) -> str:
    step, figures = 22.0, 58.0
    left, bottom = _gutter([row for row, _ in rows]), _TOP + 12 + step * len(rows)
    right = _WIDTH - figures
    canvas = Canvas(_WIDTH, bottom + _BOTTOM, f"{problem}: differences of returns to {best.label}")
    ends = [0.0]
    for _, entry in rows:
        assert entry.difference is not None
        low, high = entry.difference.ci95
        ends += [v for v in (low, high, entry.difference.mean) if math.isfinite(v)]
    x = Scale(ends, left, right)
    _bottom_axis(canvas, x, x.ticks(4), f"return less that of {_shortened(best.label)}", _TOP + 12, bottom, left, right)
    canvas.line(x(0), _TOP + 12, x(0), bottom, "zero")
    canvas.text(_WIDTH - 4, _TOP + 4, "p, corrected", "tick", anchor="end")
    for i, (row, entry) in enumerate(rows):
        d, p = entry.difference, entry.p
        assert d is not None and p is not None
        y, colour = _TOP + 12 + step * (i + 0.5), _colour(palette, row.planner)
        _row_label(canvas, row, left, y + 4)
        if math.isfinite(d.stderr):
            canvas.line(x(d.ci95[0]), y, x(d.ci95[1]), y, f"whisker {colour}")
        about = f"{row.label}: {d.mean:+.3g} [{d.ci95[0]:+.3g}, {d.ci95[1]:+.3g}] over {d.episodes} episodes, p {p:.2g}"
        hollow = "" if p < LEVEL else " hollow"
        canvas.marker(x(d.mean), y, palette.number(row.planner), f"mark {colour}{hollow}", about)
        canvas.text(_WIDTH - 4, y + 4, "< 0.001" if p < 0.001 else f"{p:.3f}", "tick", anchor="end")
    return canvas.svg()


def _interval(e: Evaluation) -> tuple[float, float]:
    """The 95 % interval; of a single episode, which has none, its return."""
    return e.ci95 if math.isfinite(e.stderr) else (e.mean, e.mean)


def _in_words(e: Evaluation) -> str:
    low, high = _interval(e)
    return f"{e.mean:.4g} [{low:.4g}, {high:.4g}]"


def _return_axis(canvas: Canvas, shown: Sequence[Evaluation]) -> Scale:
    y = Scale([v for e in shown for v in _interval(e)], _HEIGHT - _BOTTOM, _TOP)
    for value in y.ticks(5):
        canvas.line(_LEFT, y(value), _WIDTH - _RIGHT, y(value), "grid")
        canvas.text(_LEFT - 6, y(value) + 4, tick_text(value), "tick", anchor="end")
    canvas.upright(12, (_TOP + _HEIGHT - _BOTTOM) / 2, "mean discounted return", "label")
    return y


def _bottom_axis(
    canvas: Canvas, x: Scale, ticks: Sequence[float], label: str, top: float = _HEIGHT - _BOTTOM - 4,
    bottom: float = _HEIGHT - _BOTTOM, left: float = _LEFT, right: float = _WIDTH - _RIGHT,
) -> None:  # fmt: skip
    """Ticks from `top` down to the axis at `bottom`; a label that would touch the one before is left out."""
    canvas.line(left, bottom, right, bottom, "axis")
    free = -math.inf
    for value in ticks:
        canvas.line(x(value), top, x(value), bottom, "grid")
        text = tick_text(value)
        half = _LETTER * len(text) / 2
        if x(value) - half >= free:
            canvas.text(x(value), bottom + 15, text, "tick", anchor="middle")
            free = x(value) + half + 5
    half = _LETTER * len(label) / 2
    middle = max(half, min((left + right) / 2, canvas.width - half))
    canvas.text(middle, bottom + 33, label, "label", anchor="middle")


def _gutter(rows: Sequence[Row]) -> float:
    return 14 + _LETTER * max(len(_shortened(row.label)) for row in rows)


def _row_label(canvas: Canvas, row: Row, left: float, y: float) -> None:
    text = _shortened(row.label)
    canvas.text(left - 8, y, text, "row", anchor="end", about="" if text == row.label else row.label)


def _shortened(label: str) -> str:
    return label if len(label) <= _MOST_LETTERS else label[: _MOST_LETTERS - 1] + "…"
