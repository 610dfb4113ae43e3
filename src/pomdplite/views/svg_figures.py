"""Draws the panels of a report as SVG: small enough to be legible one below the other on a phone."""

from collections.abc import Sequence

from pomdplite.views.figures import (
    RETURN_LABEL,
    HistogramPanel,
    HistogramRow,
    IntervalPanel,
    IntervalRow,
    Panel,
    ReturnPanel,
    shortened,
)
from pomdplite.views.palette import Palette
from pomdplite.views.svg import Canvas, Scale
from pomdplite.views.svg_axes import BOTTOM, HEIGHT, LETTER, TOP, WIDTH, PlotArea, draw_x_axis, draw_y_axis

_DASHES = ("", " dash1", " dash2", " dash3")
_REFERENCE = " reference"


def draw(panel: Panel, palette: Palette) -> str:
    """A panel as an <svg> element."""
    match panel:
        case ReturnPanel():
            return _draw_returns(panel, palette)
        case IntervalPanel():
            return _draw_intervals(panel, palette)
        case HistogramPanel():
            return _draw_histograms(panel, palette)


def sweep_legend(panels: Sequence[ReturnPanel], palette: Palette) -> dict[str, str]:
    """Label and sample, as an <svg> element, of each line in these panels."""
    legend = {}
    for panel in panels:
        for series in panel.series:
            legend[series.label] = sample(palette, series.planner, _dash(series.dash))
        for reference in panel.references:
            legend[reference.label] = sample(palette, reference.planner, _REFERENCE)
    return legend


def sample(palette: Palette, planner: str, line: str | None = None) -> str:
    """How a planner looks: its marker, on a line of the given style if there is one."""
    colour = _colour(palette, planner)
    canvas = Canvas(26, 12, planner)
    if line is not None:
        canvas.line(1, 6, 25, 6, f"curve {colour}{line}")
    if line != _REFERENCE:
        canvas.marker(13, 6, palette.number(planner), f"mark {colour}")
    return canvas.svg()


def _colour(palette: Palette, planner: str) -> str:
    """The CSS class that sets the colour of a planner."""
    return f"c{palette.colour(planner)}"


def _dash(number: int) -> str:
    return _DASHES[number % len(_DASHES)]


def _draw_returns(panel: ReturnPanel, palette: Palette) -> str:
    canvas, axes = Canvas(WIDTH, HEIGHT, panel.description), PlotArea()
    points = panel.points
    x = Scale([p.x for p in points], axes.left, axes.right, log=panel.log_x, pad=0.05 if panel.bands else 0.06)
    ends = [v for p in points for v in (p.low, p.high)] + [reference.mean for reference in panel.references]
    y = Scale(ends, axes.bottom, axes.top)
    draw_y_axis(canvas, y, RETURN_LABEL, axes)
    draw_x_axis(canvas, x, panel.ticks or x.ticks(), panel.x_label, axes, grid=False)
    for reference in panel.references:
        level = y(reference.mean)
        canvas.line(axes.left, level, axes.right, level, f"curve {_colour(palette, reference.planner)}{_REFERENCE}")
    for series in panel.series:
        colour = _colour(palette, series.planner)
        if panel.bands:
            above = [(x(p.x), y(p.high)) for p in series.points]
            below = [(x(p.x), y(p.low)) for p in series.points]
            canvas.path([*above, *reversed(below)], f"band {colour}", closed=True)
        else:
            for p in series.points:
                canvas.line(x(p.x), y(p.low), x(p.x), y(p.high), f"whisker {colour}")
        canvas.path([(x(p.x), y(p.mean)) for p in series.points], f"curve {colour}{_dash(series.dash)}")
        for p in series.points:
            canvas.marker(x(p.x), y(p.mean), palette.number(series.planner), f"mark {colour}", p.tooltip)
    return canvas.svg()


def _draw_histograms(panel: HistogramPanel, palette: Palette) -> str:
    step, tallest = 30.0, 22.0
    axes = PlotArea(left=_label_width(panel.rows), bottom=TOP + step * len(panel.rows))
    canvas = Canvas(WIDTH, axes.bottom + BOTTOM, panel.description)
    x = Scale([float(panel.edges[0]), float(panel.edges[-1])], axes.left, axes.right, pad=0.03)
    draw_x_axis(canvas, x, x.ticks(5), panel.x_label, axes)
    for i, row in enumerate(panel.rows):
        base = axes.top + step * (i + 1) - 4
        _draw_row_label(canvas, row.label, axes, base - 3)
        canvas.line(axes.left, base, axes.right, base, "grid")
        for share, low, high in zip(row.shares, panel.edges[:-1], panel.edges[1:], strict=True):
            if share > 0:
                height = max(1.0, tallest * float(share / row.shares.max()))
                tooltip = f"{row.label}: {100 * share:.3g}% of returns between {low:.4g} and {high:.4g}"
                style = f"bar {_colour(palette, row.planner)}"
                canvas.rect(x(low), base - height, max(1.5, x(high) - x(low) - 0.6), height, style, tooltip)
        canvas.line(x(row.mean), base - tallest, x(row.mean), base + 3, "mean")
    return canvas.svg()


def _draw_intervals(panel: IntervalPanel, palette: Palette) -> str:
    step, p_width, heading = 22.0, 58.0, 12.0
    axes = PlotArea(_label_width(panel.rows), WIDTH - p_width, TOP + heading, TOP + heading + step * len(panel.rows))
    canvas = Canvas(WIDTH, axes.bottom + BOTTOM, panel.description)
    x = Scale([0.0, *(v for row in panel.rows for v in (row.low, row.high))], axes.left, axes.right)
    draw_x_axis(canvas, x, x.ticks(4), panel.x_label, axes)
    canvas.line(x(0), axes.top, x(0), axes.bottom, "zero")
    canvas.text(WIDTH - 4, TOP + 4, "corrected p", "tick", anchor="end")
    for i, row in enumerate(panel.rows):
        y, colour = axes.top + step * (i + 0.5), _colour(palette, row.planner)
        _draw_row_label(canvas, row.label, axes, y + 4)
        canvas.line(x(row.low), y, x(row.high), y, f"whisker {colour}")
        hollow = " hollow" if row.hollow else ""
        canvas.marker(x(row.mean), y, palette.number(row.planner), f"mark {colour}{hollow}", row.tooltip)
        if row.p is not None:
            canvas.text(WIDTH - 4, y + 4, "< 0.001" if row.p < 0.001 else f"{row.p:.3f}", "tick", anchor="end")
    return canvas.svg()


def _label_width(rows: Sequence[IntervalRow] | Sequence[HistogramRow]) -> float:
    return 14 + LETTER * max(len(shortened(row.label)) for row in rows)


def _draw_row_label(canvas: Canvas, label: str, axes: PlotArea, y: float) -> None:
    text = shortened(label)
    canvas.text(axes.left - 8, y, text, "row", anchor="end", tooltip="" if text == label else label)
