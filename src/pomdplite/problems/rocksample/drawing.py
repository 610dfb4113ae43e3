"""RockSample's map as text and as a Matplotlib picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.problems.rocksample.symbols import GOOD, NO_ROCK

if TYPE_CHECKING:
    from pomdplite.problems.rocksample.rules import RockSample

_WIDEST_LABELLED = 10  # columns; wider maps list the probabilities below the map
_BLUE = "#1f5fbf"


def draw_map(model: "RockSample", x: Any, marginals: list[Floats]) -> str:
    """Draw the map, north up: each rock as number:probability of being good in percent, the rover in brackets.

    On maps too wide for a terminal, cells show only the rock's number and the probabilities are listed below.
    """
    labelled = model.size <= _WIDEST_LABELLED
    width = 7 if labelled else 4
    good = [f"{rock}:{100 * p[GOOD]:.0f}" for rock, p in enumerate(marginals)]
    lines = []
    for row in reversed(range(model.size)):
        cells = []
        for col in range(model.size):
            rock = int(model.rock_at[col, row])
            text = "·" if rock == NO_ROCK else good[rock] if labelled else str(rock)
            here = x.col == col and x.row == row
            cells.append(f"[{'R' if rock == NO_ROCK else text}]".center(width) if here else text.center(width))
        lines.append("".join(cells).ljust(width * model.size) + "║")
    if not labelled:
        lines += ["", *("  ".join(good[i : i + 10]) for i in range(0, len(good), 10))]
    if x.col == model.size:
        lines.append("the rover has left past the east edge")
    return "\n".join(lines)


def paint_map(model: "RockSample", axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Paint the rocks from red (bad) to green (good), with the rover's cell framed in blue."""
    from matplotlib import colormaps
    from matplotlib.patches import Circle, Rectangle

    size = model.size
    axes.set(xlim=(-0.5, size + 0.5), ylim=(-0.5, size - 0.5), aspect="equal")
    axes.set_xticks(np.arange(-0.5, size), minor=True)
    axes.set_yticks(np.arange(-0.5, size), minor=True)
    axes.grid(which="minor", color="0.85")
    axes.axvspan(size - 0.5, size + 0.5, color="#cfe8cf")
    axes.text(size, (size - 1) / 2, "exit", rotation=90, ha="center", va="center", color="#2c6e2c")
    small = 70 / size  # points; scales with the map so that the text fits its circle
    for rock, (col, row) in enumerate(model.rocks):
        p = float(marginals[rock][GOOD])
        ink = "black" if 0.2 < p < 0.85 else "white"
        axes.add_patch(Circle((col, row), 0.42, facecolor=colormaps["RdYlGn"](p), edgecolor="0.3"))
        axes.text(col, row + 0.12, str(rock), ha="center", va="center", fontsize=small, weight="bold", color=ink)
        axes.text(col, row - 0.2, f"{100 * p:.0f}%", ha="center", va="center", fontsize=0.65 * small, color=ink)
    left, bottom = float(x.col) - 0.5, float(x.row) - 0.5
    axes.add_patch(Rectangle((left, bottom), 1, 1, fill=False, edgecolor=_BLUE, lw=3, zorder=5, clip_on=False))
    axes.text(left + 0.06, bottom + 0.94, "▲", color=_BLUE, fontsize=0.8 * small, ha="left", va="top", zorder=6)
    axes.set_xticks(range(size))
    axes.set_yticks(range(size))
    axes.tick_params(length=0, which="both")
