"""The kitchen as text and as a Matplotlib picture."""

from typing import TYPE_CHECKING, Any

from pomdplite.compile.jit import Floats
from pomdplite.problems.assistance.belief_bars import BLUE, DARK, PALE, bar_lines, paint_bars

if TYPE_CHECKING:
    from pomdplite.problems.assistance.kitchen import Kitchen

_ORANGE = "#c8641e"


def _label(model: "Kitchen", x: Any, cell: int) -> str:
    """The station of a cell: an ingredient, in brackets if its container is open and as a dash if it is gone."""
    item = int(model.station[cell])
    if item == 0:
        return "·"
    if item > model.items:
        return "bowl"
    gone = item in (x.hand, x.hatch) or (int(x.bowl) >> (item - 1)) & 1
    return "–" if gone else f"[{model.ingredients[item - 1]}]" if x.open == item else model.ingredients[item - 1]


def _holding(model: "Kitchen", x: Any) -> list[tuple[str, str]]:
    """Where the ingredients are that are not in their containers."""
    in_bowl = [name for i, name in enumerate(model.ingredients) if (int(x.bowl) >> i) & 1]
    names = ("–", *model.ingredients)
    return [("bowl", ", ".join(in_bowl) or "–"), ("cook", names[x.hand]), ("hatch", names[x.hatch])]


def draw_kitchen(model: "Kitchen", x: Any, marginals: list[Floats]) -> str:
    """Draw the room with the cook as C and the assistant as A, what cook, bowl and hatch hold, and the belief."""
    width = max(map(len, model.ingredients)) + 6
    lines = []
    for row in range(model.rows):
        cells = range(row * model.columns, (row + 1) * model.columns)
        labels = [_label(model, x, cell).replace("bowl", "bowl A") for cell in cells]
        texts = [f"C {text}" if cell == x.cell else text for cell, text in zip(cells, labels, strict=True)]
        lines.append("".join(text.center(width) for text in texts).rstrip())
    held = "   ".join(f"{where}: {what}" for where, what in _holding(model, x))
    if x.done:
        held += "   the dish is complete"
    return "\n".join([*lines, "", held, "", *bar_lines(tuple(model.recipes), marginals[0])])


def paint_kitchen(model: "Kitchen", axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Paint the room, with the assistant's arm at the counter, and the belief below."""
    from matplotlib.patches import Circle, Rectangle

    places = {}
    for cell in range(model.rows * model.columns):
        row, column = divmod(cell, model.columns)
        item = int(model.station[cell])
        places[item] = (column, -row)
        open_now = 0 < item <= model.items and x.open == item
        color = "#f6e3c5" if item > model.items else "#cfe8cf" if open_now else "#dfe5ee" if item else "white"
        axes.add_patch(Rectangle((column - 0.5, -row - 0.5), 1, 1, facecolor=color, edgecolor="0.8"))
        if item:
            text = _label(model, x, cell)
            axes.text(column, -row + 0.33, text, ha="center", va="center", fontsize=7, color=DARK, zorder=4)
    counter, target = places[model.items + 1], places.get(int(x.open)) if x.open else None
    base = (counter[0] + 0.3, counter[1] - 0.3)
    if target is not None:
        axes.plot([base[0], target[0]], [base[1], target[1]], color=_ORANGE, lw=1.5, ls=":", zorder=3)
    axes.add_patch(Rectangle((base[0] - 0.13, base[1] - 0.13), 0.26, 0.26, color=_ORANGE, zorder=5))
    axes.text(*base, "A", ha="center", va="center", fontsize=6, color="white", zorder=6)
    row, column = divmod(int(x.cell), model.columns)
    axes.add_patch(Circle((column - 0.18, -row - 0.12), 0.2, color=BLUE, zorder=5))
    axes.text(column - 0.18, -row - 0.12, "C", ha="center", va="center", fontsize=7, color="white", zorder=6)
    axes.set(xlim=(-0.6, model.columns - 0.4), ylim=(-model.rows - 2.2, 0.6), aspect="equal")
    axes.axis("off")
    axes.set_title("   ".join(f"{where}: {what}" for where, what in _holding(model, x)), fontsize=7)
    paint_bars(axes.inset_axes((0.3, 0.02, 0.65, 0.32), facecolor=PALE), tuple(model.recipes), marginals[0])
