"""Drivers in highway-env: the Intelligent Driver Model, and a stop line for those who yield.

What distinguishes the types is drawn for every driver: desired speed, time gap, acceleration and braking, the margin
with which it wants to be first, how late it reacts, and how long it waits for somebody who stands. The model that is
planned with (problems/intersection/drivers.py) knows none of these numbers.
"""

from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np
from highway_env.road.road import Road
from highway_env.vehicle.behavior import IDMVehicle
from highway_env.vehicle.kinematics import Vehicle
from highway_env.vehicle.objects import Landmark

from pomdplite.problems.intersection.drivers import AGGRESSIVE, INATTENTIVE, LINE, NORMAL, TIMID, UNIT, ZONE

EDGE = ZONE * UNIT  # m: of the crossing, from its centre
IN_THE_WAY = 3.5  # m: a car nearer to the centre of the crossing blocks the other lane
STOP = -LINE * UNIT  # m: where a driver who yields comes to stand
STANDS = 0.4  # m/s: slower counts as standing
HARDEST = 5.5  # m/s²: a driver who would have to brake harder goes on
UNSTEADY, SETTLES = 0.2, 1.0  # m/s² and s: the standard deviation of the acceleration, and how long a deviation lasts


@dataclass(frozen=True)
class Temper:
    """Ranges from which a driver's habits are drawn."""

    speed: tuple[float, float]  # m/s on an empty road
    gap: tuple[float, float]  # s to the car ahead
    speeding: tuple[float, float]  # m/s²
    braking: tuple[float, float]  # m/s², comfortable
    margin: tuple[float, float] = (0.0, 0.0)  # s: goes first if that much earlier at the crossing than the ego
    delay: tuple[float, float] = (0.2, 0.6)  # s until it reacts to the ego
    patience: tuple[float, float] = (0.0, 0.0)  # s that it waits for an ego that stands


TEMPERS = {
    AGGRESSIVE: Temper((9.0, 10.5), (0.4, 0.8), (2.5, 3.5), (4.0, 6.0)),
    NORMAL: Temper((5.4, 6.6), (1.0, 1.8), (1.8, 2.8), (2.5, 4.0), margin=(-0.3, 0.6)),
    TIMID: Temper((1.8, 2.8), (1.5, 2.5), (1.2, 2.0), (2.0, 3.0), patience=(6.0, 18.0)),
    INATTENTIVE: Temper((5.6, 6.4), (1.0, 1.8), (1.5, 2.5), (2.5, 4.0)),
}


class Ego(Vehicle):  # type: ignore[misc]
    """A car that moves exactly as a constant acceleration says; highway-env's moves at the speed before the frame."""

    def step(self, dt: float) -> None:
        """A frame of `dt` seconds."""
        self.position += self.direction * 0.5 * self.action["acceleration"] * dt**2
        super().step(dt)


class Driver(IDMVehicle):  # type: ignore[misc]
    """A car on a lane that crosses the ego's, driven by one of the types."""

    def __init__(
        self, road: Road, lane: Any, along: float, speed: float, kind: int, ego: Vehicle, meets: float
    ) -> None:
        """`along` is where it starts, in m from the crossing; the ego meets the lane `meets` m after its own zero."""
        start = lane.length / 2 + along
        super().__init__(
            road, lane.position(start, 0), lane.heading_at(start), speed, enable_lane_change=False, timer=1.0
        )
        random, temper = road.np_random, TEMPERS[kind]
        self.kind, self.ego, self.meets = kind, ego, meets
        self.target_speed = random.uniform(*temper.speed)
        self.TIME_WANTED, self.COMFORT_ACC_MAX = random.uniform(*temper.gap), random.uniform(*temper.speeding)
        self.COMFORT_ACC_MIN, self.DISTANCE_WANTED = -random.uniform(*temper.braking), self.LENGTH + 1.0
        self.margin, self.patience = random.uniform(*temper.margin), random.uniform(*temper.patience)
        self.line = Landmark(road, lane.position(lane.length / 2 + STOP + self.DISTANCE_WANTED, 0))
        self.seen: deque[tuple[float, float]] = deque(maxlen=1 + round(15 * random.uniform(*temper.delay)))
        self.waited, self.drift, self.goes, self.asleep = 0.0, 0.0, False, True

    @property
    def along(self) -> float:
        """Its position in m from the crossing of the lanes."""
        return float(self.lane.local_coordinates(self.position)[0] - self.lane.length / 2)

    def act(self, action: Any = None) -> None:
        """Steer along the lane, and choose the acceleration for the next frame."""
        if self.crashed:
            return
        ahead = None if self.kind == INATTENTIVE else self.road.neighbour_vehicles(self, self.lane_index)[0]
        wanted = self.acceleration(self, ahead)
        if self.yields():
            wanted = min(wanted, self.acceleration(self, self.line))
        self.drift += (-self.drift + UNSTEADY * np.sqrt(30 * SETTLES) * self.road.np_random.normal()) / (15 * SETTLES)
        wanted = 0.0 if self.asleep else np.clip(wanted + self.drift, -self.ACC_MAX, self.ACC_MAX)
        Vehicle.act(self, {"steering": 0.0, "acceleration": max(wanted, -15 * self.speed)})  # it does not reverse

    def yields(self) -> bool:
        """Whether it lets the ego pass, by what it saw of it some tenths of a second ago."""
        self.seen.append((float(-self.ego.position[1]) - self.meets, self.ego.speed))
        ego, ego_speed = self.seen[0]
        room, stands = STOP - self.along, ego_speed < STANDS
        self.waited = self.waited + 1 / 15 if stands and self.speed < STANDS else 0.0
        self.goes = self.goes or (self.kind == TIMID and self.waited > self.patience)
        if self.kind in (AGGRESSIVE, INATTENTIVE) or self.goes or ego > EDGE:
            return False
        if self.speed**2 > 2 * HARDEST * max(room + 2.0, 0.0):
            return False
        if self.kind == TIMID or ego > -IN_THE_WAY:
            return True
        return not stands and -ego / ego_speed < -self.along / max(self.speed, 0.1) + self.margin
