"""The intersection drawn for terminals and painted: cars from above, and the belief about each driver's type."""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.problems.intersection.drivers import LANE, LEVEL, TYPES, UNIT, ZONE

COLORS = ("#c0392b", "#2c8a3c", "#1f5fbf", "#8e8e93")  # of the types
_WEST, _EAST, _SOUTH, _NORTH = -40, 14, -22, 12  # units: the part that is drawn
_SCALE = 2  # units for a character
_OVER = ("", ", passed", ", collision")
_LONG, _WIDE, _ROAD = 7.5, 3.0, 5.4  # units: length and width of a car, width of a lane
_GREY, _EGO = "#d5d8dc", "#e67e22"


def positions(model: Any, x: Any) -> list[tuple[int, int, int]]:
    """The cars in sight that have not passed: their number, and their place to the right of and above the crossing."""
    seen = [(i, int(x.car[i])) for i in range(model.cars) if _WEST - 14 <= x.car[i] < ZONE]
    return [(i, place if i == 0 else -place, i * LANE) for i, place in seen]


def draw_crossing(model: Any, x: Any, marginals: list[Floats]) -> str:
    """Draw the lanes with the cars on them, their speeds, and the belief."""
    wide, high = (_EAST - _WEST) // _SCALE + 1, (_NORTH - _SOUTH) // _SCALE + 1
    canvas = [[" "] * wide for _ in range(high)]

    def put(right: int, up: int, mark: str) -> None:
        column, row = (right - _WEST) // _SCALE, (_NORTH - up) // _SCALE
        canvas[min(high - 1, max(0, row))][min(wide - 1, max(0, column))] = mark

    for i in range(model.cars):
        for right in range(_WEST, _EAST + 1, _SCALE):
            put(right, i * LANE, "─")
    for up in range(_SOUTH, _NORTH + 1, _SCALE):
        put(0, up, "┼" if up % LANE == 0 and 0 <= up < model.cars * LANE else "│")
    for i, right, up in positions(model, x):
        put(right, up, "▶" if i == 0 else "◀")
    put(0, int(x.ego), "▲" if x.over < len(_OVER) - 1 else "✶")
    ego = f"▲ {UNIT * x.ego:+.1f} m, {LEVEL * x.ego_speed:.0f} m/s{_OVER[int(x.over)]}"
    lines = ["".join(row).rstrip() for row in canvas] + [ego]
    for i in range(model.cars):
        lines.append(f"{'▶◀'[i]} {_car_text(x, i)}: {_belief_text(model, marginals[i])}")
    return "\n".join(lines)


def _car_text(x: Any, i: int) -> str:
    if x.car[i] >= ZONE:
        return "has passed"
    return "not in sight" if x.car[i] < _WEST - 14 else f"{UNIT * x.car[i]:+.1f} m, {LEVEL * x.speed[i]:.0f} m/s"


def _belief_text(model: Any, belief: Floats) -> str:
    if model.assumed is not None:
        return f"taken to be {model.assumed}"
    return ", ".join(f"{name} {100 * p:.0f} %" for name, p in zip(TYPES, belief, strict=True))


def paint_crossing(model: Any, axes: Any, x: Any, marginals: list[Floats]) -> None:
    """Paint the lanes and cars, and the belief as bars."""
    from matplotlib.patches import Rectangle

    def rectangle(right: float, up: float, wide: float, high: float, color: str, **more: Any) -> None:
        axes.add_patch(Rectangle((right - wide / 2, up - high / 2), wide, high, facecolor=color, **more))

    rectangle(0, 0, _ROAD, 80, _GREY)
    for i in range(model.cars):
        rectangle(0, i * LANE, 120, _ROAD, _GREY)
    for i, right, up in positions(model, x):
        color = "#454b57" if model.assumed is not None else COLORS[int(np.argmax(marginals[i]))]
        rectangle(right, up, _LONG, _WIDE, color, ec="black", lw=1)
        axes.text(right, up, f"{LEVEL * x.speed[i]:.0f}", ha="center", va="center", color="white", fontsize=8)
    rectangle(0, float(x.ego), _WIDE, _LONG, _EGO, ec="black", lw=1)
    axes.text(0, float(x.ego), f"{LEVEL * x.ego_speed:.0f}", ha="center", va="center", fontsize=8)
    axes.set(xlim=(_WEST - 6, -_WEST + 6 if model.cars > 1 else _EAST), ylim=(_SOUTH - 6, _NORTH + 2), aspect="equal")
    axes.axis("off")
    axes.set_title(f"speeds in m/s{_OVER[int(x.over)]}", fontsize=9)
    for i in range(model.cars if model.assumed is None else 0):
        bars = axes.inset_axes((0.22 if i == 0 else 0.72, 0.06, 0.22, 0.30))
        bars.barh(range(len(TYPES)), marginals[i], color=COLORS)
        bars.set(xlim=(0, 1), xticks=(), yticks=range(len(TYPES)), yticklabels=TYPES)
        bars.invert_yaxis()
        bars.tick_params(labelsize=7, length=0)
        bars.spines[["top", "right", "bottom"]].set_visible(False)
        bars.patch.set_alpha(0.0)
