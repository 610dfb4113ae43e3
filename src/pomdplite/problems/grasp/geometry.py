"""Contact between a planar gripper and a cup, tabulated over (cup, pose).

Frame: x is lateral, y points into the shelf. The gripper's reference point is the middle of its palm. In that frame the
palm is a plate behind y = 0, and the fingers are two bars that extend from it, straight or flared. (dx, dy) is the
cup's position minus the palm's. Poses form a lattice of sides (x) and depths (y).
"""

from dataclasses import dataclass, fields
from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.errors import UsageError

DIRECTIONS = ((1, 0), (-1, 0), (0, 1), (0, -1))  # of the moves +x, −x, +y, −y
READINGS = 4  # none, left, right, both
_CONTACT_TOLERANCE = 1e-9  # m; contact is not overlap
_MEASUREMENT_TOLERANCE = 0.002  # m; a cup measured to touch a finger still counts as between the fingers
_OFFSETS = 5  # sample positions across a cell, for cups that need not stand in its middle
_MIN_PALM_COSINE = 0.5  # the palm feels a contact whose normal is within 60° of straight ahead


class Gap(NamedTuple):
    """Distance from a part of the gripper to the cup's centre, and the unit vector that points there."""

    distance: Any
    across: Any
    ahead: Any


@dataclass(frozen=True)
class Geometry:
    """Gripper and cup, in metres: shapes, what the sensors feel, and what closed fingers hold."""

    opening: float = 0.125  # between the inner faces of the fingers, at the palm
    flare: float = 0.0  # how far each fingertip bends outwards
    finger_length: float = 0.08  # along y
    finger_thickness: float = 0.015
    palm: float = 0.0  # how far the palm extends beyond the reference point
    cup_radius: float = 0.04
    inward: float = 1.0  # a finger feels contacts whose normal has at least this cosine with the lateral direction
    held_side: float | None = None  # closing holds a cup with |dx| up to this; None: anywhere between the fingers
    held_near: float = 0.035  # and with dy from this
    held_far: float = 0.075  # to this
    spread: float = 0.0  # the cup stands up to this far from its listed position, in x and in y

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (np.isfinite(value) and (value >= 0 or field.name == "palm")):
                raise UsageError(f"grasp: {field.name} must be a non-negative number, not {value!r}.")
        if self.clearance < 0:
            raise UsageError(
                f"grasp: a cup of radius {self.cup_radius:g} does not fit between fingers {2 * self.mouth:g} apart."
            )

    @property
    def mouth(self) -> float:
        """Half the distance between the inner faces at the fingertips."""
        return self.opening / 2 + self.flare

    @property
    def clearance(self) -> float:
        """Free space on either side of a cup centred between the fingertips."""
        return self.mouth - self.cup_radius

    def gaps(self, dx: Any, dy: Any) -> tuple[Gap, Gap, Gap]:
        """Return the gaps from the left finger, the right finger and the palm to the cup's centre."""
        inner, tip, thick = self.opening / 2, self.mouth, self.finger_thickness
        corners = ((inner, 0.0), (tip, self.finger_length), (tip + thick, self.finger_length), (inner + thick, 0.0))
        right = _gap(dx, dy, corners)
        left = _gap(-np.asarray(dx), dy, corners)
        plate = self.opening / 2 + thick
        palm = _gap(dx, dy, ((-plate, -1.0), (-plate, self.palm), (plate, self.palm), (plate, -1.0)))
        return Gap(left.distance, -left.across, left.ahead), right, palm

    def overlaps(self, dx: Any, dy: Any) -> Any:
        """Whether the palm or a finger would overlap the cup."""
        return np.minimum.reduce([gap.distance for gap in self.gaps(dx, dy)]) < self.cup_radius - _CONTACT_TOLERANCE

    def reading(self, dx: Any, dy: Any, forward: bool) -> Any:
        """Return which fingers feel a move that ends in an overlap: 1 for the left, 2 for the right, 3 for both.

        A finger feels lateral pushes against its inner face. In a forward move, contact with the palm reads as both.
        """
        left, right, palm = (
            (gap.distance < self.cup_radius - _CONTACT_TOLERANCE, gap.across, gap.ahead) for gap in self.gaps(dx, dy)
        )
        seated = palm[0] & (palm[2] > _MIN_PALM_COSINE) & forward
        felt_left = seated | (left[0] & (left[1] >= self.inward - _CONTACT_TOLERANCE))
        felt_right = seated | (right[0] & (-right[1] >= self.inward - _CONTACT_TOLERANCE))
        return felt_left + 2 * felt_right

    def region(self, dx: Any, dy: Any) -> Any:
        """Return the region of the cup: 0 between the fingers, 1 ahead of the opening, 2 elsewhere."""
        slant = np.hypot(1.0, self.flare / self.finger_length)  # a slanted face is reached earlier
        inner = self.opening / 2 + self.flare * np.clip(dy / self.finger_length, 0.0, 1.0)
        fits = np.abs(dx) <= inner - slant * self.cup_radius + _MEASUREMENT_TOLERANCE
        between = fits & (dy <= self.finger_length + _CONTACT_TOLERANCE)
        ahead = (np.abs(dx) <= self.clearance + _MEASUREMENT_TOLERANCE) & (dy > self.finger_length)
        return np.where(between, 0, np.where(ahead, 1, 2))

    def held(self, dx: Any, dy: Any) -> Any:
        """Whether closing the fingers holds the cup."""
        side = self.clearance if self.held_side is None else self.held_side
        near, far = self.held_near - _CONTACT_TOLERANCE, self.held_far + _CONTACT_TOLERANCE
        return (np.abs(dx) <= side + _CONTACT_TOLERANCE) & (dy >= near) & (dy <= far)


def _gap(dx: Any, dy: Any, corners: tuple[tuple[float, float], ...]) -> Gap:
    """Return the gap from a convex polygon, its corners given clockwise, to a point."""
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
        across = np.where(nearer, ox / np.maximum(distance, _CONTACT_TOLERANCE), across)
        ahead = np.where(nearer, oy / np.maximum(distance, _CONTACT_TOLERANCE), ahead)
        inside &= (x1 - x0) * (dy - y0) - (y1 - y0) * (dx - x0) < 0
    return Gap(np.where(inside, 0.0, best), across, ahead)


def lattice(start: float, low: float, high: float, step: float) -> Floats:
    """Return the coordinates that whole steps from the start reach within bounds, rounded to be reproducible."""
    if not low <= start <= high:
        raise UsageError(f"grasp: the start {start:g} is outside the reach from {low:g} to {high:g}.")
    back, on = int((start - low) / step + 1e-6), int((high - start) / step + 1e-6)
    return np.round(start + step * np.arange(-back, on + 1), 12) + 0.0


def lattice_place(m: Any, x: Any) -> tuple[int, int]:
    """Return the pose's indices in the lattice."""
    return int((x.side - m.sides[0]) / m.step + 0.5), int((x.depth - m.depths[0]) / m.step + 0.5)


@dataclass(frozen=True)
class Tables:
    """What the geometry implies for every cup and pose, indexed [cup, side, depth] and, where noted, by move."""

    blocked: Floats  # [..., move] probability that a move from the pose is stopped
    sensed: Floats  # [..., move, reading] probability of each reading after such a stop
    held: Floats  # 1 where closing holds the cup
    cost: Floats  # reward of a move from the pose


def tables(
    geometry: Geometry, cups: Floats, sides: Floats, depths: Floats, costs: tuple[float, float, float]
) -> Tables:
    """Compute the tables for cups [cup, (x, y)] and the lattice of poses sides × depths.

    With a spread, a cup stands anywhere in a square around its listed position, and stops become random. Closing is
    evaluated at the listed position itself, so that what closing reveals about the cup is what picking depends on.
    """
    off = np.linspace(-geometry.spread, geometry.spread, _OFFSETS) if geometry.spread else np.zeros(1)
    # [cup, side, depth, offset x, offset y]
    dx = cups[:, 0, None, None, None, None] - sides[None, :, None, None, None] + off[:, None]
    dy = cups[:, 1, None, None, None, None] - depths[None, None, :, None, None] + off[None, :]
    dx, dy = np.broadcast_arrays(dx, dy)
    step = sides[1] - sides[0] if len(sides) > 1 else depths[1] - depths[0]
    free = ~geometry.overlaps(dx, dy)
    free |= ~free.any(axis=(3, 4), keepdims=True)  # no such cup allows this pose: consider only where moves lead
    blocked, sensed = [], []
    for mx, my in DIRECTIONS:
        there = dx - mx * step, dy - my * step
        stopped = geometry.overlaps(*there) & free
        felt = np.where(stopped, geometry.reading(*there, forward=my > 0), 0)  # an impossible stop is not felt
        stops = np.maximum(stopped.sum(axis=(3, 4)), 1)
        shares = [((felt == k) & stopped).sum(axis=(3, 4)) / stops for k in range(1, READINGS)]
        blocked.append(stopped.sum(axis=(3, 4)) / free.sum(axis=(3, 4)))
        sensed.append(np.stack([1.0 - sum(shares), *shares], axis=-1))
    middle = (slice(None),) * 3 + (len(off) // 2, len(off) // 2)
    cost = np.asarray(costs)[geometry.region(dx, dy)].mean(axis=(3, 4))
    held = geometry.held(dx[middle], dy[middle]).astype(float)
    return Tables(np.stack(blocked, axis=-1), np.stack(sensed, axis=-2), held, cost)
