"""One-dimensional Light-Dark (Sunberg and Kochenderfer 2018), with its readings in bins.

Readings are rounded to whole numbers, except that those within 0.001 of the light are told apart from others that
round to the same number: in the light the noise is 0.0001, so the original's exact readings reveal it.

The position changes deterministically and its start is hidden, so θ is the start, and the sum of the moves is observed:
the robot is at θ + x.shift.

Moves that would take x.shift below −30 or above 40 are illegal here: there the robot is to the left, or to the right,
of both goal and light wherever it started. The walls of the original at ±60 are left out. Within these limits, only a
robot that started beyond 20 and still went right by more than 30 would have met one; under POMDP-lite none did in 2,000
episodes.
"""

from math import erf, sqrt
from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State
from pomdplite.problems.light_dark.drawing import GOAL, LIGHT, drawn, painted

MOVES = (-10, -1, 0, 1, 10)
STOP = 2
FARTHEST = 30  # of the start from 0
LEAST, MOST = GOAL - FARTHEST, LIGHT + FARTHEST  # shifts; beyond them goal and light are behind the robot
WEST, EAST = LEAST - FARTHEST, MOST + FARTHEST  # the ends of the line
LOWEST, HIGHEST = -80, 80  # readings; those beyond count as these
NARROW = 0.001  # a reading this close to the light is told apart from others that round to the same number


class LightDarkBins(Model):
    """Stop at 0 on a line. After each move the robot reads its position: exactly at the light at 10, poorly elsewhere.

    The noise of a reading is normal, with the distance to the light as its standard deviation. Stopping ends the
    episode with +100 at position 0 and −100 elsewhere; every move costs 1. The start is within 30 of 0.
    """

    state = State(shift=np.int16, over=bool)
    hidden = Hidden(start=tuple(range(-FARTHEST, FARTHEST + 1)))
    actions = ("left-10", "left-1", "stop", "right-1", "right-10")
    observations = (*(str(reading) for reading in range(LOWEST, HIGHEST + 1)), "light")
    discount = 0.95
    horizon = 100
    return_range = 100.0

    def __init__(self) -> None:
        self.moves = np.array(MOVES)
        self.sight = np.array([reading_probabilities(position) for position in range(WEST, EAST + 1)])

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any) -> None:
        y.shift = x.shift + m.moves[a]
        y.over = a == STOP

    def observation(m: Any, y: Any, theta: Any, a: int, z: Any) -> None:
        if a != STOP:
            position = theta.start + y.shift
            for reading in range(m.sight.shape[1]):
                z[reading] = m.sight[position - WEST, reading]

    def reward(m: Any, x: Any, theta: Any, a: int) -> float:
        if a != STOP:
            return -1.0
        return 100.0 if theta.start + x.shift == GOAL else -100.0

    def legal(m: Any, x: Any, a: int) -> bool:
        return LEAST <= x.shift + m.moves[a] <= MOST

    def terminal(m: Any, x: Any) -> bool:
        return x.over

    def heuristic(m: Any, x: Any) -> float:
        return 0.0 if x.over else -20.0  # moving forever

    def policy(m: Any, x: Any, u: float) -> int:
        return STOP + 1 if x.shift < MOST else STOP - 1  # neither stop nor leave the region

    def success(self, x: Any, theta: Any) -> bool:
        """The robot stopped at 0."""
        return bool(x.over and theta.start + x.shift == GOAL)

    # ------------------------------------------------------------------ drawing

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        """Draw the probability of every two positions as a bar, over a scale with the goal and the light."""
        return drawn(self._positions(x, marginals), WEST, bool(x.over))

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        """Paint the probability of every position, on a background that is bright where readings are good."""
        painted(axes, self._positions(x, marginals), WEST, bool(x.over))

    def _positions(self, x: Any, marginals: list[Floats]) -> Floats:
        """The belief over present positions."""
        p = np.zeros(EAST - WEST + 1)
        p[x.shift - LEAST : x.shift - LEAST + len(marginals[0])] = marginals[0]
        return p


def reading_probabilities(position: int) -> Floats:
    """The probability of every reading at a position: normal around it, rounded; the last is "in the light"."""
    spread = (abs(position - LIGHT) + 0.0001) * sqrt(2)

    def below(edge: float) -> float:
        return 0.5 * (1 + erf((edge - position) / spread))

    rounded = np.diff([0.0, *(below(edge) for edge in np.arange(LOWEST + 0.5, HIGHEST)), 1.0])
    light = below(LIGHT + NARROW) - below(LIGHT - NARROW)
    rounded[LIGHT - LOWEST] -= light
    return np.append(np.maximum(rounded, 0.0), light)
