"""Crossing an uncontrolled intersection: what the other drivers are like is hidden, and shows in how they react.

The ego drives straight on, cars come on the crossing lanes: the first from the left, a second from the right, one lane
further on. x holds positions and speeds; θ holds the type of each driver (drivers.py), and T depends on it.
"""

from typing import Any

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.model.spaces import Hidden, State, independent
from pomdplite.problems.intersection.drawing import draw_crossing, paint_crossing
from pomdplite.problems.intersection.drivers import (
    CHANGES,
    FASTEST,
    FREE,
    HABITS,
    LANE,
    PRIOR,
    TYPES,
    ZONE,
    chance,
    touch,
)

ACCELERATIONS = (-2, -1, 0, 1)  # levels per step
BRAKING, SLOWING, KEEPING, GOING = range(4)  # actions
TOP = 2  # the ego's highest level
APPROACH, APPROACH_SPEED = -20, 2  # where the ego starts
UNSEEN = -60  # the place of a car that is not in sight yet
STARTS = (tuple(range(-36, -16, 2)), (-36, -30, -24, -18))  # where cars come into sight: of one, of each of two
ARRIVAL_SPEED = 3
DRIVING, PASSED, CRASHED = range(3)
MEAN = "mean"
CRASH = 1000.0  # what a collision costs
COMFORT = (1.0, 0.1, 0.0, 0.0)  # what the accelerations cost


class Intersection(Model):
    """Cross an intersection without rules of priority; other drivers are aggressive, normal, timid or inattentive.

    cars    1 or 2 other cars
    assume  a type, if all drivers are taken to be of that type; "mean" for one whose every reaction is drawn anew from
            the mean of all types

    A step of 2/3 s costs 1 and ends with all cars at new positions and speeds, a level of acceleration (3 m/s²) costs a
    little, hard braking more, and a collision `crash`. An episode ends when the ego has crossed or collided.
    """

    actions = ("brake", "slow", "keep", "go")
    discount = 0.98
    beta = 4.0  # chosen on seed 1001 in highway-env; "auto" finds 0.2 in the model
    horizon = 45
    return_range = 50.0  # collisions apart; POMCP, tuned on seed 1000 among 10, 50 and the range of rewards

    def __init__(self, cars: int = 1, assume: str | None = None, crash: float = CRASH) -> None:
        if cars not in (1, 2):
            raise UsageError(f"intersection: there are 1 or 2 other cars, not {cars!r}.")
        if assume not in (None, MEAN, *TYPES):
            raise UsageError(f"intersection: assume one of {', '.join(TYPES)} or {MEAN}, not {assume!r}.")
        self.cars, self.assumed, self.crash = cars, assume, float(crash)
        kinds = dict(zip(TYPES, PRIOR, strict=True)) if assume is None else (assume,)
        self.hidden = Hidden(driver=independent(cars, kinds))
        self.state = State(
            ego=np.int16,
            ego_speed=np.int16,
            car=(np.int16, cars),
            speed=(np.int16, cars),
            over=("no", "passed", "crashed"),
        )
        eye = np.eye(len(TYPES))
        self.mix = eye if assume is None else np.array([PRIOR if assume == MEAN else eye[TYPES.index(assume)]])
        self.starts, self.habits, self.changes = np.array(STARTS[cars - 1]), HABITS, np.array(CHANGES)
        self.free, self.accelerations, self.comfort = np.array(FREE), np.array(ACCELERATIONS), np.array(COMFORT)
        self.lane = np.array([0, LANE])  # where the ego meets each car's lane
        self.exit = LANE * (cars - 1) + ZONE
        self.next_states = max(len(CHANGES), len(self.starts)) ** cars

    def start(self, x: Any) -> None:
        x.ego, x.ego_speed, x.car[:] = APPROACH, APPROACH_SPEED, UNSEEN

    def transition(m: Any, x: Any, theta: Any, a: int, y: Any, p: Any) -> None:
        unseen, speed = x.car[0] == UNSEEN, x.ego_speed + m.accelerations[a]
        ego = x.ego + x.ego_speed + speed
        branches = m.starts.shape[0] if unseen else m.changes.shape[0]
        for k in range(branches**m.cars):
            chances, rest, over = 1.0, k, PASSED if ego >= m.exit else DRIVING
            y[k].ego, y[k].ego_speed = ego, speed
            for i in range(m.cars):
                branch, rest = rest % branches, rest // branches
                place, pace = m.starts[branch], ARRIVAL_SPEED
                if unseen:
                    chances /= branches
                else:
                    pace = x.speed[i] + m.changes[branch]
                    place = x.car[i] + x.speed[i] + pace
                    if x.car[i] >= ZONE:
                        chances *= 1.0 if branch == 0 else 0.0
                    elif not 0 <= pace <= FASTEST:
                        chances = 0.0
                    elif chances > 0.0:
                        chances *= chance(m, x, theta, i, branch)
                        if touch(x.ego - m.lane[i], x.ego_speed, speed, x.car[i], x.speed[i], pace):
                            over = CRASHED
                gone = place >= ZONE or x.car[i] >= ZONE
                y[k].car[i], y[k].speed[i] = (ZONE, 0) if gone else (place, pace)
            y[k].over, p[k] = over, chances

    def reward(m: Any, x: Any, theta: Any, a: int, y: Any) -> float:
        return -1.0 - m.comfort[a] - (m.crash if y.over == CRASHED else 0.0)

    def legal(m: Any, x: Any, a: int) -> bool:
        return 0 <= x.ego_speed + m.accelerations[a] <= TOP

    def terminal(m: Any, x: Any) -> bool:
        return x.over != DRIVING

    def policy(m: Any, x: Any, u: float) -> int:
        """Wait at the line until all cars have gone; go on if the ego is past it."""
        waits = x.ego <= -ZONE
        for i in range(m.cars):
            waits = waits and x.car[i] < ZONE
        if not waits:
            return GOING if x.ego_speed < TOP else KEEPING
        if x.ego + 2 * x.ego_speed + x.ego_speed**2 <= -ZONE:
            return KEEPING
        return SLOWING if x.ego + x.ego_speed**2 <= -ZONE else BRAKING

    def success(self, x: Any, theta: Any) -> bool:
        """The ego has crossed."""
        return bool(x.over == PASSED)

    def constants(self) -> dict[str, str]:
        """What reports say about the problem."""
        return {"other cars": str(self.cars), "collision": f"-{self.crash:g}", "assumed": self.assumed or "nothing"}

    def draw(self, x: Any, marginals: list[Floats]) -> str:
        return draw_crossing(self, x, marginals)

    def paint(self, axes: Any, x: Any, marginals: list[Floats]) -> None:
        paint_crossing(self, axes, x, marginals)
