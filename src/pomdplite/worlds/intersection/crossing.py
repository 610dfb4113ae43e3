"""The intersection as a Gymnasium environment, in highway-env: real numbers, 15 frames a second.

The ego comes from below, the first car from the left, and the second from the right, one lane further on. An action
lasts 2/3 s, in which the ego's speed changes evenly by −4, −2, 0 or +2 m/s. What is seen are the ego's position and
speed, those of the other cars, and how the episode stands; positions are in m from where the lanes cross.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import gymnasium
import numpy as np
from highway_env.road.lane import LineType, StraightLane
from highway_env.road.road import Road, RoadNetwork

from pomdplite.problems.intersection.drivers import LANE, LEVEL, STEP, UNIT
from pomdplite.problems.intersection.rules import (
    ACCELERATIONS,
    APPROACH,
    APPROACH_SPEED,
    ARRIVAL_SPEED,
    COMFORT,
    CRASH,
    CRASHED,
    DRIVING,
    PASSED,
    STARTS,
    TOP,
)
from pomdplite.worlds.intersection.drivers import EDGE, Driver, Ego

FRAMES = 15  # a second
REACH = 60.0  # m: how far the lanes go from the crossing
SPREAD = 0.6  # m/s: how much cars differ in speed when they come into sight
LONGEST = 30.0  # s


class Frame(NamedTuple):
    """What happened in a fifteenth of a second."""

    time: float  # s
    ego: float  # m
    speed: float  # m/s
    acceleration: float  # m/s²
    cars: tuple[float, ...]  # m
    speeds: tuple[float, ...]  # m/s


class Crossing(gymnasium.Env):  # type: ignore[misc]
    """One ego and one or two other cars, whose drivers are of the types `kinds`."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["rgb_array"], "render_fps": FRAMES}

    def __init__(self, cars: int = 1, render_mode: str | None = None) -> None:
        self.cars, self.render_mode = cars, render_mode
        self.kinds = [1] * cars
        self.exit = LANE * UNIT * (cars - 1) + EDGE
        self.action_space = gymnasium.spaces.Discrete(len(ACCELERATIONS))
        limits = np.array([REACH, 20.0] + [2 * REACH] * cars + [20.0] * cars + [2.0])
        self.observation_space = gymnasium.spaces.Box(-limits, limits, dtype=np.float64)
        self.on_frame: Callable[[], object] | None = None  # called after every frame, to film
        self._picture: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Draw the drivers' habits, and where and how fast they come into sight after the first step."""
        super().reset(seed=seed)
        self.road = Road(network(self.cars), np_random=self.np_random)
        self.ego = Ego(self.road, [0.0, -APPROACH * UNIT], -np.pi / 2, APPROACH_SPEED * LEVEL)
        self.road.vehicles = [self.ego]
        starts = STARTS[self.cars - 1]
        apart = (starts[-1] - starts[0]) / (len(starts) - 1) if self.cars == 1 else 2.0
        for i in range(self.cars):
            place = self.np_random.choice(starts) + apart * self.np_random.uniform(-0.5, 0.5)
            speed = ARRIVAL_SPEED * LEVEL + self.np_random.uniform(-SPREAD, SPREAD)
            lane = self.road.network.get_lane((f"from{i}", f"to{i}", 0))
            driver = Driver(
                self.road, lane, place * UNIT - speed * STEP, speed, self.kinds[i], self.ego, i * LANE * UNIT
            )
            self.road.vehicles.append(driver)
        self.frames: list[Frame] = []
        self.over = DRIVING
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Two thirds of a second, or less if cars collide or the ego leaves the intersection."""
        before = self.ego.speed
        goal = LEVEL * min(TOP, max(0, round(before / LEVEL) + ACCELERATIONS[action]))
        for _ in range(round(STEP * FRAMES)):
            self.ego.act({"steering": 0.0, "acceleration": (goal - before) / STEP})
            self.road.act()
            self.road.step(1 / FRAMES)
            self._remember((goal - before) / STEP)
            if self.on_frame is not None:
                self.on_frame()
            if self.ego.crashed:
                self.over = CRASHED
                break
            if self.over == DRIVING and self._along() >= self.exit - 0.01:
                self.over = PASSED
        for driver in self.road.vehicles[1:]:
            driver.asleep = False
        reward = -1.0 - COMFORT[action] - (CRASH if self.over == CRASHED else 0.0)
        return self._seen(), reward, self.over != DRIVING, self.frames[-1].time >= LONGEST - 1e-6, {}

    def _along(self) -> float:
        return float(-self.ego.position[1])

    def _remember(self, acceleration: float) -> None:
        drivers = self.road.vehicles[1:]
        places, speeds = tuple(d.along for d in drivers), tuple(float(d.speed) for d in drivers)
        time = (len(self.frames) + 1) / FRAMES
        self.frames.append(Frame(time, self._along(), float(self.ego.speed), acceleration, places, speeds))

    def _seen(self) -> Any:
        drivers = self.road.vehicles[1:]
        cars = [d.along for d in drivers] + [d.speed for d in drivers]
        return np.array([self._along(), self.ego.speed, *cars, self.over])

    def render(self) -> Any:
        """highway-env's own picture of the road, seen from above."""
        import pygame
        from highway_env.road.graphics import RoadGraphics, WorldSurface

        if self._picture is None:
            size = (480, 400)
            self._picture = WorldSurface(size, 0, pygame.Surface(size))
            self._picture.scaling, self._picture.centering_position = 9.0, [0.5, 0.5]
        self._picture.move_display_window_to(np.array([0.0, 2.0]))
        RoadGraphics.display(self.road, self._picture)
        RoadGraphics.display_traffic(self.road, self._picture, simulation_frequency=FRAMES, offscreen=True)
        return np.moveaxis(pygame.surfarray.array3d(self._picture), 0, 1)


def network(cars: int) -> RoadNetwork:
    """The ego's lane from bottom to top, and the lanes of the other cars across it."""
    roads, edges = RoadNetwork(), [LineType.CONTINUOUS, LineType.CONTINUOUS]
    roads.add_lane("from", "to", StraightLane([0.0, REACH], [0.0, -REACH], line_types=edges))
    for i in range(cars):
        side, up = REACH * (1 - 2 * i), -i * LANE * UNIT
        roads.add_lane(f"from{i}", f"to{i}", StraightLane([-side, up], [side, up], line_types=edges))
    return roads
