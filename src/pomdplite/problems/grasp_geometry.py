"""What a planar gripper and a cup can do to each other, as tables over (cup, pose).

Frame: x lateral, y into the shelf; the gripper's reference point is the middle of its palm. Seen from there the palm is
a plate behind y = 0 and the fingers are two bars from y = 0 to their length. (dx, dy) is cup minus palm.
"""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.jit import Floats

DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1))  # of the moves +x, −x, +y, −y
_TOUCHING = 1e-9  # m; contact is not overlap
_WITHIN = 5  # places across a cell at which a cup may stand, where it need not be in its middle


@dataclass(frozen=True)
class Geometry:
    """Gripper and cup in metres. The first five are the shapes; the others say what closing the fingers holds."""

    opening: float = 0.125  # between the inner faces of the fingers
    finger_length: float = 0.08
    finger_thickness: float = 0.015
    cup_radius: float = 0.04
    palm: float = 0.0  # how far the palm stands out before the reference point
    held_side: float | None = None  # closing holds a cup with |dx| up to here; None: as far as it fits in
    held_near: float = 0.035  # and dy from here
    held_far: float = 0.075  # to here
    spread: float = 0.0  # a cup stands up to this far off its listed place, in x and in y

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (np.isfinite(value) and (value >= 0 or field.name == "palm")):
                raise UsageError(f"grasp: {field.name} must be a length in metres, not {value!r}.")
        if self.opening <= 2 * self.cup_radius:
            raise UsageError(f"grasp: a cup of radius {self.cup_radius:g} does not fit an opening of {self.opening:g}.")

    @property
    def clearance(self) -> float:
        """Room on either side of a cup in the middle."""
        return self.opening / 2 - self.cup_radius

    def overlaps(self, dx: Any, dy: Any) -> Any:
        """Whether palm or fingers and the cup would share a place."""
        inner, outer = self.opening / 2, self.opening / 2 + self.finger_thickness
        across = np.abs(dx)
        finger = np.hypot(across - np.clip(across, inner, outer), dy - np.clip(dy, 0.0, self.finger_length))
        palm = np.hypot(np.maximum(across - outer, 0.0), np.maximum(dy - self.palm, 0.0))
        return np.minimum(finger, palm) < self.cup_radius - _TOUCHING

    def between(self, dx: Any, dy: Any) -> Any:
        """Whether the cup is between the fingers: region 0, where a sideways move would touch it."""
        return self.ahead(dx) & (dy <= self.finger_length + _TOUCHING)

    def ahead(self, dx: Any) -> Any:
        """Whether the cup fits between the fingers, as it stands or after moving on: region 0 or 1."""
        return np.abs(dx) <= self.clearance + _TOUCHING

    def region(self, dx: Any, dy: Any) -> Any:
        """0: between the fingers; 1: ahead of the opening; 2: neither."""
        return np.where(self.between(dx, dy), 0, np.where(self.ahead(dx), 1, 2))

    def held(self, dx: Any, dy: Any) -> Any:
        """Whether closing the fingers holds the cup."""
        side = self.clearance if self.held_side is None else self.held_side
        near, far = self.held_near - _TOUCHING, self.held_far + _TOUCHING
        return (np.abs(dx) <= side + _TOUCHING) & (dy >= near) & (dy <= far)


@dataclass(frozen=True)
class Tables:
    """What follows for every cup and every pose, [cup, side, depth] and, where it says so, [move]."""

    blocked: Floats  # [.., move] probability that a move from the pose is stopped
    sensed: Floats  # [.., move] probability that such a stop is felt inside the fingers
    held: Floats  # 1 where closing holds the cup
    cost: Floats  # of a move from the pose


def tables(g: Geometry, cups: Floats, sides: Floats, depths: Floats, costs: tuple[float, float, float]) -> Tables:
    """Tables for cups [cup, (x, y)] and the lattice of poses sides × depths.

    With a spread, a cup stands anywhere in the square around its place: what is then a matter of chance is a
    probability. Closing is judged for the place itself, so that what it shows of the cup is what picking relies on.
    """
    off = np.linspace(-g.spread, g.spread, _WITHIN) if g.spread else np.zeros(1)
    # [cup, side, depth, offset x, offset y]
    dx = cups[:, 0, None, None, None, None] - sides[None, :, None, None, None] + off[:, None]
    dy = cups[:, 1, None, None, None, None] - depths[None, None, :, None, None] + off[None, :]
    dx, dy = np.broadcast_arrays(dx, dy)
    step = sides[1] - sides[0] if len(sides) > 1 else depths[1] - depths[0]
    free = ~g.overlaps(dx, dy)
    free |= ~free.any(axis=(3, 4), keepdims=True)  # a pose that no such cup allows: judge the move by where it leads
    blocked, sensed = [], []
    for mx, my in DIRECTIONS:
        stopped = g.overlaps(dx - mx * step, dy - my * step) & free
        felt = g.between(dx, dy) if mx else g.ahead(dx) & (my > 0)
        some = stopped.any(axis=(3, 4), keepdims=True)
        blocked.append(stopped.sum(axis=(3, 4)) / free.sum(axis=(3, 4)))
        stops = np.where(some, stopped, free)  # what a stop that cannot be would be like
        sensed.append((stops & felt).sum(axis=(3, 4)) / stops.sum(axis=(3, 4)))
    middle = (slice(None),) * 3 + (len(off) // 2, len(off) // 2)
    cost = np.asarray(costs)[g.region(dx, dy)].mean(axis=(3, 4))
    held = g.held(dx[middle], dy[middle]).astype(float)
    return Tables(np.stack(blocked, axis=-1), np.stack(sensed, axis=-1), held, cost)
