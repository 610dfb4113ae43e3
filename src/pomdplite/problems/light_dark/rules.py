"""One-dimensional Light-Dark as Sunberg and Kochenderfer (2018) published it.

The hidden position is a whole number and changes deterministically: moves add to it, walls at ±60 stop them. Readings
are real numbers, normal around the position with the distance from the light as their standard deviation.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.model.model import Model
from pomdplite.model.readings import Reading
from pomdplite.model.spaces import Hidden, State
from pomdplite.problems.light_dark.drawing import GOAL, LIGHT, drawn, painted

MOVES = (-10, -1, 0, 1, 10)
STOP = 2
FARTHEST, WALL = 30, 60  # from 0: of the start, and of the position
SHARPEST = 0.0001  # the standard deviation of a reading in the light


class LightDark(Model):
    """Stop at 0 on a line. After each move the robot reads its position: exactly at the light at 10, poorly elsewhere.

    The noise of a reading is normal, with the distance to the light as its standard deviation. Stopping ends the
    episode with +100 at position 0 and −100 elsewhere; every move costs 1. The start is within 30 of 0.
    """

    state = State(over=bool)
    hidden = Hidden(position={p: 1 / (2 * FARTHEST + 1) if abs(p) <= FARTHEST else 0.0 for p in range(-WALL, WALL + 1)})
    actions = ("left-10", "left-1", "stop", "right-1", "right-10")
    observations = Reading(position=float)
    discount = 0.95
    horizon = 100
    return_range = 100.0

    def __init__(self) -> None:
        self.moves = np.array(MOVES)

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        y.over = a == STOP

    def evolve(m: Any, x: Any, theta: Any, a: int, theta_next: Any) -> None:
        theta_next.position = min(WALL, max(-WALL, theta.position + m.moves[a]))

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any, sd: Any) -> None:
        if a != STOP:
            z.position = theta.position
            sd.position = abs(theta.position - LIGHT) + SHARPEST

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        if a != STOP:
            return -1.0
        return 100.0 if theta.position == GOAL else -100.0

    def terminal(m: Any, x: Any) -> bool:
        return x.over

    def heuristic(m: Any, x: Any) -> float:
        return 0.0 if x.over else -20.0  # moving forever

    def policy(m: Any, x: Any, u: float) -> int:
        return STOP + 1  # anything but to stop

    def success(self, x: Any, theta: Any) -> bool:
        """The robot stopped at 0."""
        return bool(x.over and theta.position == GOAL)

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the probability of every two positions as a bar, over a scale with the goal and the light."""
        return drawn(marginals[0], -WALL, bool(x.over))

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the probability of every position, on a background that is bright where readings are good."""
        painted(axes, marginals[0], -WALL, bool(x.over))
