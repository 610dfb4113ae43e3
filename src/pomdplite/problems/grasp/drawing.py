"""The shelf, the gripper and the belief about the cup, as text and as a Matplotlib picture."""

from typing import TYPE_CHECKING, Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.problems.grasp.geometry import DIRECTIONS, lattice_place
from pomdplite.problems.grasp.symbols import FREE, HAND_CLOSED, HAND_OPEN, TOUCH_RIGHT

if TYPE_CHECKING:
    from pomdplite.problems.grasp.rules import Grasp

_STEEL, _ORANGE, _BLUE, _RED = "0.45", "#f28e2b", "#1f5fbf", "#d62728"


def fingers_touching(model: "Grasp", x: Any, marginals: list[Floats]) -> tuple[bool, bool]:
    """Whether the left and the right finger feel the cup, by the belief's likeliest explanation of the last stop."""
    i, j = lattice_place(model, x)
    b = marginals[0]
    if x.hand == HAND_CLOSED:
        return (bool(b @ model.held[:, i, j] > 0.5),) * 2
    if x.stopped == FREE:
        return False, False
    move = x.stopped - 1
    reading = int(np.argmax(b @ (model.blocked[:, i, j, move, None] * model.sensed[:, i, j, move])))
    return reading % 2 == 1, reading >= TOUCH_RIGHT


def draw_shelf(model: "Grasp", x: Any, marginals: list[Floats]) -> str:
    """Draw the shelf from above, one cell per step, its back on top: the belief in percent, the palm and the fingers.

    A finger that feels the cup is ▓, one that does not is │.
    """
    geometry, step = model.geometry, model.step
    wide = geometry.mouth + geometry.finger_thickness / 2
    reach = round((max(abs(model.sides).max(), abs(model.cups[:, 0]).max()) + wide) / step)
    first = round(min(model.depths.min(), model.cups[:, 1].min()) / step)
    rows = range(first, round(max(model.depths.max() + geometry.finger_length, model.cups[:, 1].max()) / step) + 1)
    cells = {(row, col): "   " for row in rows for col in range(-reach, reach + 1)}
    for (cx, cy), p in zip(model.cups, marginals[0], strict=True):
        text = f"{100 * p:.0f}" if p >= 0.005 else "·"
        cells[round(cy / step), round(cx / step)] = text.center(3)
    closed = x.hand != HAND_OPEN
    palm, length = round(x.depth / step), round(geometry.finger_length / step)
    ends = [round((x.side + side * (geometry.cup_radius if closed else wide)) / step) for side in (-1, 1)]
    for col in range(max(-reach, ends[0]), min(reach, ends[1]) + 1):
        cells[palm, col] = "═══"
    for end, touching in zip(ends, fingers_touching(model, x, marginals), strict=True):
        for row in range(palm + 1, palm + 1 + length):
            if (row, end) in cells:
                cells[row, end] = " ▓ " if touching else " │ "
    lines = ["".join(cells[row, col] for col in range(-reach, reach + 1)).rstrip() for row in reversed(rows)]
    drawn = [i for i, line in enumerate(lines) if line]
    stopped = "" if x.stopped == FREE else f", {model.actions[x.stopped - 1]} was stopped"
    hand = model.state.labels["hand"][int(x.hand)]
    return "\n".join([*lines[drawn[0] : drawn[-1] + 1], f"palm at ({x.side:+.3f}, {x.depth:.3f}), {hand}{stopped}"])


def paint_shelf(model: "Grasp", axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Paint the shelf from above: the belief as a heat map, and the gripper. Fingers that feel the cup are orange."""
    _paint_belief(model, axes, marginals[0])
    _paint_gripper(model, axes, x, fingers_touching(model, x, marginals))
    geometry = model.geometry
    edge = geometry.mouth + geometry.finger_thickness + 0.01
    back = max(model.depths[-1] + geometry.finger_length, model.cups[:, 1].max() + model.step / 2)
    axes.set(xlim=(model.sides[0] - edge, model.sides[-1] + edge), aspect="equal", xlabel="x (m)", ylabel="y (m)")
    axes.set_ylim(model.depths[0] - 0.03, back + 0.02)
    closed = " (hand closed)" if x.hand != HAND_OPEN else ""
    axes.set_title(f"cup in percent; dotted: its mean{closed}", fontsize=9)


def _paint_belief(model: "Grasp", axes: Any, b: Floats) -> None:
    from matplotlib.patches import Circle

    heat = b.reshape(model.grid).T
    brightest = max(0.1, float(heat.max()))
    low, high = model.cups.min(axis=0) - model.step / 2, model.cups.max(axis=0) + model.step / 2
    extent = (low[0], high[0], low[1], high[1])
    axes.imshow(heat, origin="lower", extent=extent, cmap="Blues", vmin=0, vmax=brightest)
    for (cx, cy), p in zip(model.cups, b, strict=True):
        if p >= 0.005:
            ink = "white" if p > 0.6 * brightest else "0.25"
            axes.text(cx, cy, f"{100 * p:.0f}", ha="center", va="center", fontsize=6, color=ink)
    axes.add_patch(Circle(b @ model.cups, model.geometry.cup_radius, fill=False, ls=":", ec=_BLUE))


def _paint_gripper(model: "Grasp", axes: Any, x: Any, touching: tuple[bool, bool]) -> None:
    from matplotlib.patches import Polygon, Rectangle

    geometry = model.geometry
    radius, thickness = geometry.cup_radius, geometry.finger_thickness
    inner, tip = (geometry.opening / 2, geometry.mouth) if x.hand == HAND_OPEN else (radius, radius)
    outer, end = inner + thickness, x.depth + geometry.finger_length
    axes.add_patch(Rectangle((x.side - outer, x.depth - 0.02), 2 * outer, 0.02 + geometry.palm, color=_STEEL))
    for touches, side in zip(touching, (-1, 1), strict=True):
        corners = ((inner, x.depth), (tip, end), (tip + thickness, end), (outer, x.depth))
        color = _ORANGE if touches else _STEEL
        axes.add_patch(Polygon([(x.side + side * cx, cy) for cx, cy in corners], color=color))
    if x.stopped != FREE:
        across, on = DIRECTIONS[x.stopped - 1]
        head, tail = (x.side + 0.03 * across, x.depth - 0.01 + 0.03 * on), (x.side, x.depth - 0.01)
        axes.annotate("", head, tail, arrowprops={"arrowstyle": "-[", "color": _RED, "lw": 2})
