"""From real numbers to the model's lattice.

A step from level v to level v' covers v + v' units in the model. A car in the simulator keeps to no lattice, so each is
followed by a point on it: of the levels that the model allows next, the one is taken that brings position and speed
nearest to those of the car. Errors do not add up: too slow a level in one step is made good by the next.
"""

from typing import Any

import gymnasium
import numpy as np

from pomdplite.problems.intersection.drivers import CHANGES, FASTEST, LEVEL, UNIT, ZONE
from pomdplite.problems.intersection.rules import (
    APPROACH,
    APPROACH_SPEED,
    ARRIVAL_SPEED,
    CRASHED,
    DRIVING,
    STARTS,
    UNSEEN,
)


class OnLattice(gymnasium.ObservationWrapper):  # type: ignore[misc]
    """What the model's state holds: the ego's place and speed, those of the other cars, and how the episode stands."""

    def __init__(self, env: gymnasium.Env) -> None:
        super().__init__(env)
        self.cars = env.unwrapped.cars
        size = 3 + 2 * self.cars
        self.observation_space = gymnasium.spaces.Box(-200, 200, (size,), np.int64)

    def reset(self, **options: Any) -> Any:
        """Start with all cars out of sight."""
        self.ego, self.places = (APPROACH, APPROACH_SPEED), [(UNSEEN, 0)] * self.cars
        _, info = self.env.reset(**options)
        return self._lattice(DRIVING), info

    def observation(self, observation: Any) -> Any:
        """Move every point of the lattice on by a step."""
        ego, ego_speed, *rest, over = observation
        units = np.array(rest[: self.cars]) / UNIT, np.array(rest[self.cars :]) / LEVEL
        level = round(ego_speed / LEVEL)
        if over == CRASHED:
            self.ego = round(ego / UNIT), level
            self.places = [(round(place), round(speed)) for place, speed in zip(*units, strict=True)]
        else:
            self.ego = self.ego[0] + self.ego[1] + level, level
            followed = zip(self.places, *units, strict=True)
            self.places = [follow(point, float(place), float(speed)) for point, place, speed in followed]
        return self._lattice(int(over))

    def _lattice(self, over: int) -> Any:
        places, speeds = zip(*self.places, strict=True)
        return np.array([*self.ego, *places, *speeds, over], np.int64)


def follow(point: tuple[int, int], place: float, speed: float) -> tuple[int, int]:
    """The next place and level on the lattice of a car that is really at `place` units, at `speed` levels."""
    at, level = point
    if at == UNSEEN:
        return min(STARTS[0], key=lambda start: abs(start - place)), ARRIVAL_SPEED
    if at >= ZONE or place >= ZONE:
        return ZONE, 0
    levels = [level + change for change in CHANGES if 0 <= level + change <= FASTEST]
    best = min(levels, key=lambda v: (at + level + v - place) ** 2 + 2 * (v - speed) ** 2)
    here = at + level + best
    return (here, best) if here < ZONE else (ZONE, 0)
