"""Draws the figures of the analysis: as SVG for a page, with matplotlib as pictures."""

from typing import Any

from pomdplite.views.mpl import new_figure
from pomdplite.views.palette import LIGHT
from pomdplite.views.svg import Canvas, Scale, SignedLogScale
from pomdplite.views.svg_axes import HEIGHT, WIDTH, PlotArea, draw_x_axis, draw_y_axis
from pomdplite.views.theory.panels import LINEAR, LOG, SIGNED_LOG, Line, LinePanel

_LEFT = 58.0  # room for the numbers on the y axis


def svg(panel: LinePanel) -> str:
    """A panel as an <svg> element."""
    canvas, axes = Canvas(WIDTH, HEIGHT, f"{panel.title}: {panel.y_label} by {panel.x_label}"), PlotArea(left=_LEFT)
    x = _scale(panel, panel.x_scale, panel.xs, axes.left, axes.right)
    y = _scale(panel, panel.y_scale, panel.ys, axes.bottom, axes.top, panel.bottom)
    draw_y_axis(canvas, y, panel.y_label, axes)
    draw_x_axis(canvas, x, _whole(x.ticks()) if panel.x_scale == LINEAR else x.ticks(), panel.x_label, axes, grid=False)
    for guide in panel.guides:
        if guide.vertical:
            at = x(guide.value)
            canvas.line(at, axes.top, at, axes.bottom, "zero")
            share = _label_share(panel, guide.value)
            canvas.vertical_text(at - 4, axes.bottom + share * (axes.top - axes.bottom), guide.label, "tick")
        else:
            canvas.line(axes.left, y(guide.value), axes.right, y(guide.value), "zero")
            canvas.text(axes.right - 2, y(guide.value) - 4, guide.label, "tick", anchor="end")
    for curve in panel.lines:
        colour = f"c{curve.colour}"
        if curve.band:
            above = [(x(at), y(high)) for (at, _), (_, high) in zip(curve.points, curve.band, strict=True)]
            below = [(x(at), y(low)) for (at, _), (low, _) in zip(curve.points, curve.band, strict=True)]
            canvas.path([*above, *reversed(below)], f"band {colour}", closed=True)
        canvas.path([(x(at), y(v)) for at, v in curve.points], _style(curve))
        for at, v in (curve.points[i] for i in panel.marked(curve)):
            canvas.marker(x(at), y(v), curve.colour, f"mark {colour}", f"{curve.label}: {v:.4g} at {at:g}")
    return canvas.svg()


def legend(panel: LinePanel) -> dict[str, str]:
    """Label and sample, as an <svg> element, of each curve."""
    found = {}
    for curve in panel.lines:
        canvas = Canvas(26, 12, curve.label)
        canvas.line(1, 6, 25, 6, _style(curve))
        if curve.markers:
            canvas.marker(13, 6, curve.colour, f"mark c{curve.colour}")
        found[curve.label] = canvas.svg()
    return found


def _style(curve: Line) -> str:
    return f"curve c{curve.colour}{' reference' if curve.dashed else ''}"


def _whole(ticks: list[float]) -> list[float]:
    """Steps and visits are whole numbers."""
    return [tick for tick in ticks if float(tick).is_integer()]


def _label_share(panel: LinePanel, x: float) -> float:
    """How far up the label of a vertical line goes: away from the curve."""
    return 0.4 if panel.height_at(x) > 0.5 else 0.72


def _scale(
    panel: LinePanel, kind: str, values: list[float], start: float, end: float, bottom: float | None = None
) -> Scale:  # fmt: skip
    if kind == SIGNED_LOG:
        return SignedLogScale(values, start, end, width=panel.width)
    return Scale(values, start, end, log=kind == LOG, bottom=bottom)


def figure(panel: LinePanel) -> Any:
    """A panel as a matplotlib figure."""
    drawn = new_figure(5.6, 3.7)
    axes = drawn.subplots()
    for curve in panel.lines:
        xs, ys = zip(*curve.points, strict=True)
        colour = LIGHT[curve.colour % len(LIGHT)]
        if curve.band:
            low, high = zip(*curve.band, strict=True)
            axes.fill_between(xs, low, high, color=colour, alpha=0.16, linewidth=0)
        marker = "osD^"[curve.colour % 4] if curve.markers else None
        style = (0, (4, 3)) if curve.dashed else "-"
        axes.plot(
            xs, ys, color=colour, linestyle=style, marker=marker, markersize=4, markevery=panel.marked(curve),
            label=curve.label,
        )  # fmt: skip
        axes.update_datalim([(xs[0], y) for y in panel.covered])
    if panel.x_scale == LOG:
        axes.set_xscale("log")
    else:
        axes.xaxis.get_major_locator().set_params(integer=True)
    if panel.y_scale == LOG:
        axes.set_yscale("log")
        axes.set_ylim(bottom=panel.bottom)
    elif panel.y_scale == SIGNED_LOG:
        axes.set_yscale("asinh", linear_width=panel.width)
        axes.set_ylim(2 * min(panel.ys) - panel.width, 2 * max(panel.ys))
    for guide in panel.guides:
        if guide.vertical:
            axes.axvline(guide.value, color="0.45", linestyle=":", linewidth=1.1)
            axes.annotate(
                guide.label, (guide.value, _label_share(panel, guide.value)), xycoords=("data", "axes fraction"),
                xytext=(-3, 0), textcoords="offset points", ha="right", va="center", rotation=90, fontsize=8,
                color="0.3",
            )  # fmt: skip
        else:
            axes.axhline(guide.value, color="0.45", linestyle=":", linewidth=1.1)
            axes.annotate(
                guide.label, (0.995, guide.value), xycoords=("axes fraction", "data"), fontsize=8, xytext=(0, 3),
                textcoords="offset points", ha="right", color="0.3",
            )  # fmt: skip
    axes.set(title=panel.title, xlabel=panel.x_label, ylabel=panel.y_label)
    axes.grid(color="0.92")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    if len(panel.lines) > 1:
        axes.legend(frameon=False, fontsize=8)
    return drawn
