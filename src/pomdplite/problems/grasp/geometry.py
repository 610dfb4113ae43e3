"""What a planar gripper and a cup can do to each other, as tables over (cup, pose).

Frame: x lateral, y into the shelf; the gripper's reference point is the middle of its palm. Seen from there the palm is
a plate behind y = 0 and the fingers are two bars that lead on from it, straight or flared. (dx, dy) is cup minus palm.
"""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError

DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1))  # of the moves +x, −x, +y, −y
READINGS = 4  # none, left, right, both
_TOUCHING = 1e-9  # m; contact is not overlap
_LEANING = 0.002  # m; a cup that touches a finger, as measured, is between the fingers still
_WITHIN = 5  # places across a cell at which a cup may stand, where it need not be in its middle
_AHEAD = 0.5  # cosine: a push against the palm is this much straight ahead


class Gap(NamedTuple):
    """How far the cup's centre is from a part of the gripper, and the direction from there to the centre."""

    distance: Any
    across: Any
    ahead: Any


@dataclass(frozen=True)
class Geometry:
    """Gripper and cup in metres: shapes, what is felt, and what closing the fingers holds."""

    opening: float = 0.125  # between the inner faces of the fingers, at the palm
    flare: float = 0.0  # how much further out each finger's tip is
    finger_length: float = 0.08  # along y
    finger_thickness: float = 0.015
    palm: float = 0.0  # how far the palm stands out before the reference point
    cup_radius: float = 0.04
    inward: float = 1.0  # cosine: a finger feels pushes that are at least this much sideways
    held_side: float | None = None  # closing holds a cup with |dx| up to here; None: as far as it fits in
    held_near: float = 0.035  # and dy from here
    held_far: float = 0.075  # to here
    spread: float = 0.0  # a cup stands up to this far off its listed place, in x and in y

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (np.isfinite(value) and (value >= 0 or field.name == "palm")):
                raise UsageError(f"grasp: {field.name} must be a number of at least 0, not {value!r}.")
        if self.clearance < 0:
            raise UsageError(
                f"grasp: a cup of radius {self.cup_radius:g} does not fit between fingers {2 * self.mouth:g} apart."
            )

    @property
    def mouth(self) -> float:
        """From the middle to the inner face of a finger, at its tip."""
        return self.opening / 2 + self.flare

    @property
    def clearance(self) -> float:
        """Room on either side of a cup that goes in between the tips in the middle."""
        return self.mouth - self.cup_radius

    def gaps(self, dx: Any, dy: Any) -> tuple[Gap, Gap, Gap]:
        """From the left finger, the right finger and the palm to the cup's centre."""
        inner, tip, thick = self.opening / 2, self.mouth, self.finger_thickness
        corners = ((inner, 0.0), (tip, self.finger_length), (tip + thick, self.finger_length), (inner + thick, 0.0))
        right = _gap(dx, dy, corners)
        left = _gap(-np.asarray(dx), dy, corners)
        plate = self.opening / 2 + thick
        palm = _gap(dx, dy, ((-plate, -1.0), (-plate, self.palm), (plate, self.palm), (plate, -1.0)))
        return Gap(left.distance, -left.across, left.ahead), right, palm

    def overlaps(self, dx: Any, dy: Any) -> Any:
        """Whether palm or fingers and the cup would share a place."""
        return np.minimum.reduce([gap.distance for gap in self.gaps(dx, dy)]) < self.cup_radius - _TOUCHING

    def reading(self, dx: Any, dy: Any, forward: bool) -> Any:
        """What a move that ends in an overlap lets the fingers feel: 1 for the left, 2 for the right, 3 for both.

        Fingers feel sideways pushes against their inner faces; moving forward, the palm feels the cup for both.
        """
        left, right, palm = (
            (gap.distance < self.cup_radius - _TOUCHING, gap.across, gap.ahead) for gap in self.gaps(dx, dy)
        )
        seated = palm[0] & (palm[2] > _AHEAD) & forward
        felt_left = seated | (left[0] & (left[1] >= self.inward - _TOUCHING))
        felt_right = seated | (right[0] & (-right[1] >= self.inward - _TOUCHING))
        return felt_left + 2 * felt_right

    def region(self, dx: Any, dy: Any) -> Any:
        """0: between the fingers; 1: ahead of the opening; 2: neither."""
        slant = np.hypot(1.0, self.flare / self.finger_length)  # a slanted face is met earlier
        inner = self.opening / 2 + self.flare * np.clip(dy / self.finger_length, 0.0, 1.0)
        fits = np.abs(dx) <= inner - slant * self.cup_radius + _LEANING
        between = fits & (dy <= self.finger_length + _TOUCHING)
        ahead = (np.abs(dx) <= self.clearance + _LEANING) & (dy > self.finger_length)
        return np.where(between, 0, np.where(ahead, 1, 2))

    def held(self, dx: Any, dy: Any) -> Any:
        """Whether closing the fingers holds the cup."""
        side = self.clearance if self.held_side is None else self.held_side
        near, far = self.held_near - _TOUCHING, self.held_far + _TOUCHING
        return (np.abs(dx) <= side + _TOUCHING) & (dy >= near) & (dy <= far)


def _gap(dx: Any, dy: Any, corners: tuple[tuple[float, float], ...]) -> Gap:
    """From a convex shape, its corners given clockwise, to a point."""
    dx, dy = np.broadcast_arrays(np.asarray(dx, float), np.asarray(dy, float))
    best = np.full(dx.shape, np.inf)
    across, ahead = np.zeros(dx.shape), np.zeros(dx.shape)
    inside = np.ones(dx.shape, bool)
    for (x0, y0), (x1, y1) in zip(corners, corners[1:] + corners[:1], strict=True):
        along = np.clip(((dx - x0) * (x1 - x0) + (dy - y0) * (y1 - y0)) / ((x1 - x0) ** 2 + (y1 - y0) ** 2), 0.0, 1.0)
        ox, oy = dx - x0 - along * (x1 - x0), dy - y0 - along * (y1 - y0)
        distance = np.hypot(ox, oy)
        nearer = distance < best
        best = np.where(nearer, distance, best)
        across = np.where(nearer, ox / np.maximum(distance, _TOUCHING), across)
        ahead = np.where(nearer, oy / np.maximum(distance, _TOUCHING), ahead)
        inside &= (x1 - x0) * (dy - y0) - (y1 - y0) * (dx - x0) < 0
    return Gap(np.where(inside, 0.0, best), across, ahead)


@dataclass(frozen=True)
class Tables:
    """What follows for every cup and every pose, [cup, side, depth] and, where it says so, [move]."""

    blocked: Floats  # [.., move] probability that a move from the pose is stopped
    sensed: Floats  # [.., move, reading] probability of each reading after such a stop
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
        there = dx - mx * step, dy - my * step
        stopped = g.overlaps(*there) & free
        felt = np.where(stopped, g.reading(*there, forward=my > 0), 0)  # a stop that cannot be is felt as nothing
        stops = np.maximum(stopped.sum(axis=(3, 4)), 1)
        shares = [((felt == k) & stopped).sum(axis=(3, 4)) / stops for k in range(1, READINGS)]
        blocked.append(stopped.sum(axis=(3, 4)) / free.sum(axis=(3, 4)))
        sensed.append(np.stack([1.0 - sum(shares), *shares], axis=-1))
    middle = (slice(None),) * 3 + (len(off) // 2, len(off) // 2)
    cost = np.asarray(costs)[g.region(dx, dy)].mean(axis=(3, 4))
    held = g.held(dx[middle], dy[middle]).astype(float)
    return Tables(np.stack(blocked, axis=-1), np.stack(sensed, axis=-2), held, cost)
