"""Light-Dark drawn for terminals and painted: the belief over the present position."""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats

LIGHT, GOAL = 10, 0
_BLOCKS = " ▁▂▃▄▅▆▇█"
_ROWS = 4  # of a drawing
_DARK, _BLUE, _GREEN = "#454b57", "#1f5fbf", "#2c8a3c"


def drawn(p: Floats, west: int, stopped: bool) -> str:
    """The probabilities of the positions from `west` on, two to a bar, over a scale with the goal and the light."""
    bars = np.append(p, np.zeros(len(p) % 2)).reshape(-1, 2).sum(axis=1)
    heights = np.round(8 * _ROWS * bars / bars.max()).astype(int)  # in eighths of a row
    heights[(heights == 0) & (bars >= 0.005)] = 1  # visible from half a per cent on
    lines = ["".join(_BLOCKS[min(8, max(0, h - 8 * row))] for h in heights) for row in reversed(range(_ROWS))]
    scale = ["─"] * len(bars)
    scale[(GOAL - west) // 2], scale[(LIGHT - west) // 2] = "G", "L"
    ticks = "".join(f"{tick:<10}" for tick in range(west, west + len(p), 20))
    best = int(p.argmax())
    likely = f"G goal, L light; likeliest position {west + best} ({100 * p[best]:.0f} %)"
    return "\n".join([*lines, "".join(scale), ticks.rstrip(), likely + (", stopped" if stopped else "")])


def painted(axes: Any, p: Floats, west: int, stopped: bool) -> None:
    """The same as a bar chart, on a background that is bright where readings are good."""
    positions = np.arange(west, west + len(p))
    top, ends = 1.25 * float(p.max()), (west - 0.5, west + len(p) - 0.5)
    distance = np.abs(positions - LIGHT)
    axes.imshow(distance[None], cmap="cividis_r", aspect="auto", alpha=0.5, extent=(*ends, 0, top))
    axes.bar(positions, p, width=1.0, color=_BLUE)
    for place, name, color, side in ((GOAL, "goal ", _GREEN, "right"), (LIGHT, " light", _DARK, "left")):
        axes.axvline(place, color=color, ls="--", lw=1)
        axes.text(place, 0.97 * top, name, color=color, ha=side, va="top")
    axes.set(xlim=ends, ylim=(0, top), xlabel="position", ylabel="probability")
    axes.set_title("stopped" if stopped else "", fontsize=9)
