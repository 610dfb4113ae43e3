"""The doorman's grid as text and as a Matplotlib picture."""

from typing import TYPE_CHECKING, Any

from pomdplite.compile.jit import Floats
from pomdplite.problems.assistance.belief_bars import BLUE, DARK, PALE, bar_lines, paint_bars

if TYPE_CHECKING:
    from pomdplite.problems.assistance.doorman import Doorman

_STEPS = ((0, 0), (0, -1), (0, 1), (1, 0), (-1, 0))  # of the open door, in columns and rows
_ARROWS = ("", "↑", "↓", "→", "←")
_GREEN = "#2c8e4a"


def draw_doors(model: "Doorman", x: Any, marginals: list[Floats]) -> str:
    """Draw the grid, the person as P with an arrow to the open door, and the belief."""
    names = {place: name for name, place in model.resources.items()}
    width = max(map(len, names.values())) + 4
    lines = []
    for row in range(model.size):
        texts = []
        for column in range(model.size):
            text = "###" if (column, row) in model.blocked else names.get((column, row), "·")
            if row * model.size + column == x.cell:
                text = f"P{_ARROWS[x.door]} {text}" if text != "·" else f"P{_ARROWS[x.door]}"
            texts.append(text.center(width))
        lines.append("".join(texts).rstrip())
    end = ["", "the person has what they want"] if x.done else []
    return "\n".join([*lines, *end, "", *bar_lines(tuple(model.resources), marginals[0])])


def paint_doors(model: "Doorman", axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Paint the grid with its shut doors, the open one in green, the person, and the belief below."""
    from matplotlib.patches import Circle, Rectangle

    size = model.size
    for cell in range(size * size):
        row, column = divmod(cell, size)
        blocked = (column, row) in model.blocked
        axes.add_patch(
            Rectangle((column - 0.5, -row - 0.5), 1, 1, facecolor="0.6" if blocked else "white", edgecolor="0.85")
        )
        for d, (right, down) in enumerate(_STEPS[1:]):
            if model.neighbour[cell, d] >= 0:
                opened = cell == x.cell and x.door == d + 1
                _door(axes, column + 0.5 * right, -row - 0.5 * down, down != 0, opened)
    for name, (column, row) in model.resources.items():
        axes.text(column, -row + 0.3, name, ha="center", va="center", fontsize=7, color=DARK, zorder=7)
    row, column = divmod(int(x.cell), size)
    axes.add_patch(Circle((column, -row - 0.12), 0.24, color=BLUE, zorder=5))
    axes.text(column, -row - 0.12, "P", ha="center", va="center", fontsize=7, color="white", zorder=6)
    axes.set(xlim=(-0.7, size - 0.3), ylim=(-size - 3.2, 0.7), aspect="equal")
    axes.axis("off")
    paint_bars(axes.inset_axes((0.2, 0.02, 0.75, 0.24), facecolor=PALE), tuple(model.resources), marginals[0])


def _door(axes: Any, across: float, up: float, level: bool, opened: bool) -> None:
    half = 0.22
    ends = ([across - half, across + half], [up, up]) if level else ([across, across], [up - half, up + half])
    axes.plot(*ends, color=_GREEN if opened else "0.45", lw=4 if opened else 1.2, zorder=4 if opened else 2)
