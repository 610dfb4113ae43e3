"""The acrobot drawn for terminals and painted: the two links, the line, and the masses as mean and interval."""

import math
from itertools import pairwise
from typing import Any

import numpy as np

from pomdplite.problems.acrobot.dynamics import GOAL

Interval = tuple[float, float, float]  # mean, lower and upper end
_HIGH, _WIDE = 4, 8  # characters: the length of a link in a drawing
_BLUE, _ORANGE, _DARK = "#1f5fbf", "#c8690a", "#454b57"


def joints(x: Any) -> list[tuple[float, float]]:
    """Where the fixed joint, the joint between the links and the tip are: (to the right, up)."""
    across, up = math.sin(x.angle_1), -math.cos(x.angle_1)
    both = x.angle_1 + x.angle_2
    return [(0.0, 0.0), (across, up), (across + math.sin(both), up - math.cos(both))]


def drawn(x: Any, masses: list[Interval]) -> str:
    """The links and the line as text, with the state and what is believed about the masses."""
    canvas = [[" "] * (4 * _WIDE + 1) for _ in range(4 * _HIGH + 1)]
    canvas[round(_HIGH * (2 - GOAL))] = list("┄" * (4 * _WIDE + 1))
    places = joints(x)
    for link, (here, there) in enumerate(pairwise(places)):
        for share in np.linspace(0.0, 1.0, 3 * _WIDE):
            across, up = ((1 - share) * p + share * q for p, q in zip(here, there, strict=True))
            canvas[round(_HIGH * (2 - up))][round(_WIDE * (2 + across))] = "·•"[link]
    for (across, up), mark in zip(places, "+○●", strict=True):
        canvas[round(_HIGH * (2 - up))][round(_WIDE * (2 + across))] = mark
    where = (
        f"angles {x.angle_1:+.2f} {x.angle_2:+.2f}, speeds {x.speed_1:+.2f} {x.speed_2:+.2f}, "
        f"tip at {places[-1][1]:+.2f} of {GOAL:+g}"
    )
    return "\n".join([*("".join(row).rstrip() for row in canvas), where, *mass_texts(masses)])


def painted(axes: Any, x: Any, masses: list[Interval], ends: tuple[float, float]) -> None:
    """The links and the line, and below them an interval for each mass."""
    places = joints(x)
    axes.axhline(GOAL, color=_DARK, ls="--", lw=1)
    for (here, there), color in zip(pairwise(places), (_BLUE, _ORANGE), strict=True):
        axes.plot(*zip(here, there, strict=True), color=color, lw=7, solid_capstyle="round")
    axes.plot(*zip(*places[:2], strict=True), "o", color="black", ms=5)
    axes.plot(*places[2], "o", color=_DARK, ms=8)
    axes.set(xlim=(-2.2, 2.2), ylim=(-3.6, 2.2), aspect="equal")
    axes.axis("off")
    axes.set_title(f"tip at {places[-1][1]:+.2f}, to be above {GOAL:+g}", fontsize=9)
    scale = axes.inset_axes((0.2, 0.08, 0.6, 0.12))
    for at, ((mean, low, high), color) in enumerate(zip(masses, (_BLUE, _ORANGE), strict=True)):
        scale.plot([low, high], [-at, -at], color=color, lw=4, solid_capstyle="butt")
        scale.plot(mean, -at, "o", color="black", ms=4)
    span = min(ends[0], *(low for _, low, _ in masses)), max(ends[1], *(high for _, _, high in masses))
    scale.set(xlim=span, ylim=(-1.6, 0.6), yticks=(0, -1), yticklabels=("mass 1", "mass 2"))
    scale.tick_params(labelsize=8)


def mass_texts(masses: list[Interval]) -> list[str]:
    """A line for each mass: its mean and its interval, or the number if it is known."""
    return [
        f"mass {link}: " + (f"{mean:.3g}" if low == high else f"{mean:.2f}, from {low:.2f} to {high:.2f} with 95 %")
        for link, (mean, low, high) in enumerate(masses, 1)
    ]
