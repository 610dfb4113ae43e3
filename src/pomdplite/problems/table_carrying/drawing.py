"""The table at the door, as text and as a Matplotlib picture, with the belief about the person."""

import math
from typing import TYPE_CHECKING, Any

from pomdplite.compile.jit import Floats

if TYPE_CHECKING:
    from pomdplite.problems.table_carrying.rules import TableCarrying

_BAR = 20  # characters
_BLUE, _ORANGE, _WOOD, _WALL = "#1f5fbf", "#d9822b", "#c9a26b", "#454b57"
_DOOR = 0.62  # half the width of the door; the table is 1.8 long and 0.9 wide


def _way(turn: int) -> str:
    return {1: "A", -1: "B", 0: "–"}[turn]


def draw_table(model: "TableCarrying", x: Any, marginals: list[Floats]) -> str:
    """Draw how far the table is turned, the last turns, and how adaptable the person is believed to be."""
    track = ["·"] * (2 * model.turns + 1)
    track[int(x.rotation) + model.turns] = "●"
    turned = [f"{who} {' '.join(_way(int(turn)) for turn in turns)}" for who, turns in _turns(x)]
    lines = [f"way B ◂ {' '.join(track)} ▸ way A", f"last turns: {', '.join(turned)}", ""]
    for label, p in zip(model.hidden.components[0].labels, marginals[0], strict=True):
        lines.append(f"adaptability {label:>4}  {100 * p:3.0f} %  {'█' * round(_BAR * float(p))}".rstrip())
    prefers = (f"{way} {100 * p:.0f} %" for way, p in zip("AB", marginals[1], strict=True))
    return "\n".join([*lines, f"preferred way: {', '.join(prefers)}"])


def paint_table(model: "TableCarrying", axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Paint the table from above, turned as far as it is, and below it the belief about the adaptability."""
    from matplotlib.patches import Circle, Rectangle
    from matplotlib.transforms import Affine2D

    angle = math.pi / 2 * int(x.rotation) / model.turns  # by A the person's end goes first, by B the robot's
    turn = Affine2D().rotate(angle) + axes.transData
    axes.add_patch(Rectangle((-0.9, -0.45), 1.8, 0.9, facecolor=_WOOD, edgecolor="0.3", transform=turn))
    for side, color, name in ((-1.2, _BLUE, "robot"), (1.2, _ORANGE, "person")):
        at = (side * math.cos(angle), side * math.sin(angle))
        axes.add_patch(Circle(at, 0.22, facecolor=color, edgecolor="0.3"))
        axes.text(*at, name[0].upper(), ha="center", va="center", color="white", weight="bold", fontsize=8)
    for left in (-2.2, _DOOR):
        axes.add_patch(Rectangle((left, 1.6), 2.2 - _DOOR, 0.15, facecolor=_WALL))
    axes.text(0.0, 1.68, "door", ha="center", va="center", fontsize=8)
    for row, ((who, turns), color) in enumerate(zip(_turns(x), (_BLUE, _ORANGE), strict=True)):
        latest = _way(int(turns[0]))
        said = "has not turned yet" if latest == "–" else f"turned to {latest}"
        axes.text(-2.2, 2.35 - 0.28 * row, f"{who} {said}", color=color, fontsize=9, va="center")
    axes.set(xlim=(-2.3, 2.3), ylim=(-3.6, 2.6), aspect="equal")
    axes.axis("off")
    scale = axes.inset_axes((0.1, 0.09, 0.8, 0.22))
    labels = model.hidden.components[0].labels
    scale.bar(range(len(labels)), marginals[0], color=_ORANGE, width=0.7)
    for i, p in enumerate(marginals[0]):
        scale.text(i, float(p) + 0.03, f"{100 * p:.0f} %", ha="center", fontsize=7)
    scale.set(ylim=(0, 1.2), yticks=(), xticks=range(len(labels)))
    scale.set_xticklabels(labels, fontsize=8)
    scale.set_xlabel("adaptability of the person", fontsize=8)
    for edge in ("top", "left", "right"):
        scale.spines[edge].set_visible(False)


def _turns(x: Any) -> tuple[tuple[str, Any], tuple[str, Any]]:
    """The last turns of each, the latest first."""
    return ("robot", x.robot), ("person", x.person)
