"""How the other drivers drive: each type has a speed that it heads for, and reaches it by chance.

Lengths are in units of 2/3 m, speeds in levels of 2 m/s and time in steps of 2/3 s, so that a step of constant
acceleration from level v to level v' covers exactly v + v' units. One level more or less in a step is 3 m/s².
"""

from typing import Any

import numpy as np

STEP, UNIT, LEVEL = 2 / 3, 2 / 3, 2.0  # seconds, metres, metres per second
ZONE = 6  # units: two cars touch if both are within 5.25 (3.5 m) of the crossing of their lanes; the rest is margin
LINE = 8  # units before the crossing of the lanes, where drivers who yield come to stand
LANE = 6  # units between the lanes of two cars, which come from either side
FASTEST = 5  # level

TYPES = ("aggressive", "normal", "timid", "inattentive")
AGGRESSIVE, NORMAL, TIMID, INATTENTIVE = range(4)
PRIOR = (0.2, 0.4, 0.2, 0.2)
FREE = (5, 3, 1, 3)  # the level that each type drives at on an empty road
YIELDING = 2  # the highest level at which a driver who yields comes near

LOOKS = 4  # times a step at which the places of two cars are compared

CHANGES = (-2, -1, 0, 1)  # of the level in a step
HARD, BRAKE, KEEP, GO, STAND, WAIT = range(6)
HABITS = np.array([  # the chances of these changes
    (0.75, 0.20, 0.045, 0.005),  # two levels too fast, or more
    (0.10, 0.75, 0.145, 0.005),  # one level too fast
    (0.002, 0.02, 0.958, 0.02),  # at the speed that the driver heads for
    (0.002, 0.01, 0.338, 0.65),  # too slow
    (0.002, 0.02, 0.977, 0.001),  # stands, and lets the other car pass
    (0.01, 0.04, 0.89, 0.06),  # stands, and the other car does so, too: goes at some time
])  # fmt: skip


def stopping_level(room: int, speed: int) -> int:
    """The highest level, up to YIELDING, for the next step after which a level less per step still stops in time."""
    level = 0
    while level < YIELDING and speed + (level + 1) + (level + 1) * (level + 1) <= room:
        level += 1
    return level


def yields(kind: int, ego: int, ego_speed: int, place: int, speed: int) -> bool:
    """Whether a driver lets the ego pass; ego and place are positions from the crossing of the lanes, ahead is > 0.

    A timid driver lets it pass in any case, a normal one if it is in the way or will be at the crossing first: not if
    it stands. Nobody yields who is in the crossing or could not stop any more.
    """
    room = -ZONE - place
    if kind in (AGGRESSIVE, INATTENTIVE) or ego >= ZONE or 2 * room < speed * speed:
        return False
    return kind == TIMID or ego > -ZONE or ego * speed > place * ego_speed


def habit(free: Any, kind: int, ego: int, ego_speed: int, place: int, speed: int) -> int:
    """Which row of HABITS a driver follows; free[kind] is the level on an empty road."""
    goal = free[kind]
    if yields(kind, ego, ego_speed, place, speed):
        goal = min(goal, stopping_level(-LINE - place, speed))
        if goal == 0 and speed == 0:
            return WAIT if ego_speed == 0 else STAND
    return HARD if speed > goal + 1 else BRAKE if speed > goal else KEEP if speed == goal else GO


def chance(m: Any, x: Any, theta: Any, i: int, branch: int) -> float:
    """The probability that driver i changes the speed this way; changes below 0 and above FASTEST are not made."""
    total, ego = 0.0, x.ego - m.lane[i]
    for kind in range(m.mix.shape[1]):
        weight = m.mix[theta.driver[i], kind]
        if weight > 0.0:
            row = habit(m.free, kind, ego, x.ego_speed, x.car[i], x.speed[i])
            total += weight * m.habits[row, branch]
            if m.changes[branch] == 0:
                for other in range(m.changes.shape[0]):
                    if not 0 <= x.speed[i] + m.changes[other] <= FASTEST:
                        total += weight * m.habits[row, other]
    return total


def touch(ego: int, ego_speed: int, ego_next: int, place: int, speed: int, speed_next: int) -> bool:
    """Whether both cars are in the crossing of their lanes at the same time, on the way from these places in a step."""
    if ego >= ZONE or place >= ZONE or ego + ego_speed + ego_next <= -ZONE or place + speed + speed_next <= -ZONE:
        return False
    for look in range(1, LOOKS + 1):
        t = look / LOOKS
        first = ego + 2 * ego_speed * t + (ego_next - ego_speed) * t * t
        second = place + 2 * speed * t + (speed_next - speed) * t * t
        if abs(first) < ZONE and abs(second) < ZONE:
            return True
    return False
