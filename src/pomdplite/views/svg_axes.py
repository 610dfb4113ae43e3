"""The axes of SVG panels: their place, ticks and labels."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from pomdplite.views.svg import Canvas, Scale, tick_text

WIDTH, HEIGHT = 360.0, 250.0  # of a panel
LEFT, RIGHT, TOP, BOTTOM = 50.0, 12.0, 10.0, 40.0  # margins around the axes
LETTER = 6.6  # generous width of a letter in a label


@dataclass(frozen=True)
class PlotArea:
    """The area inside the axes."""

    left: float = LEFT
    right: float = WIDTH - RIGHT
    top: float = TOP
    bottom: float = HEIGHT - BOTTOM


def draw_y_axis(canvas: Canvas, y: Scale, label: str, axes: PlotArea) -> None:
    """Horizontal lines with their numbers, and the label of the axis."""
    for value in y.ticks(5):
        canvas.line(axes.left, y(value), axes.right, y(value), "grid")
        canvas.text(axes.left - 6, y(value) + 4, tick_text(value), "tick", anchor="end")
    canvas.vertical_text(12, (axes.top + axes.bottom) / 2, label, "label")


def draw_x_axis(
    canvas: Canvas, x: Scale, ticks: Sequence[float], label: str, axes: PlotArea, *, grid: bool = True
) -> None:
    """The axis with its label and ticks; a tick label that would touch the previous one is left out."""
    canvas.line(axes.left, axes.bottom, axes.right, axes.bottom, "axis")
    free = -math.inf
    for value in ticks:
        canvas.line(x(value), axes.top if grid else axes.bottom - 4, x(value), axes.bottom, "grid")
        text = tick_text(value)
        half = LETTER * len(text) / 2
        if x(value) - half >= free:
            canvas.text(x(value), axes.bottom + 15, text, "tick", anchor="middle")
            free = x(value) + half + 5
    half = LETTER * len(label) / 2
    middle = max(half, min((axes.left + axes.right) / 2, canvas.width - half))
    canvas.text(middle, axes.bottom + 33, label, "label", anchor="middle")
