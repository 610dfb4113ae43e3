"""The points of x between which values are interpolated: what a user declares, and the check against the state."""

import math
from typing import Any, NamedTuple

import numpy as np

from pomdplite.errors import ModelError, shown
from pomdplite.model.records import float_fields
from pomdplite.model.spaces import State

_TURN = 2 * math.pi
_ROUNDED = 1e-3  # radians: how far from a full turn a range may be and still count as one


class Axis(NamedTuple):
    """The points along one number of x."""

    field: str
    word: int  # of the state
    low: float
    high: float
    points: int  # different ones: of a full turn, the last is the first
    angle: bool
    periodic: bool  # a full turn

    @property
    def spacing(self) -> float:
        """The distance between neighbours."""
        return (self.high - self.low) / (self.points if self.periodic else self.points - 1)


class Grid:
    """Points of x, evenly spaced: (lowest, highest, number of points) for each continuous field.

        Grid(angle=(-math.pi, math.pi, 41), speed=(-8, 8, 41))

    A planner computes the values at these points and interpolates between them. Beyond its range, a field counts as
    lying at the end of it; an angle whose range is a full turn has no ends. Each entry of an array gets the same
    points. Fields that are not named have to be discrete.
    """

    def __init__(self, **ranges: Any) -> None:
        if not ranges:
            raise ModelError("Grid needs at least one field of the state, e.g. Grid(speed=(-8, 8, 41)).")
        self.ranges: dict[str, tuple[float, float, int]] = {
            name: _checked_range(name, given) for name, given in ranges.items()
        }

    def __repr__(self) -> str:
        return f"Grid({', '.join(f'{name}={given!r}' for name, given in self.ranges.items())})"

    def coarser(self, most: int) -> "Grid":
        """The same ranges with at most so many points each."""
        return Grid(**{name: (low, high, min(points, most)) for name, (low, high, points) in self.ranges.items()})

    def axes(self, state: State, owner: str) -> list[Axis]:
        """The points along each number of a state; ModelError if they do not fit it. owner: the model, in messages."""
        names, found = state.dtype.names or (), list[Axis]()
        for field, (low, high, points) in self.ranges.items():
            if field not in names:
                raise ModelError(f"{owner}.grid: the state has no field {field}; it has {', '.join(names)}.")
            kind, angle = state.dtype[field], field in state.angles
            if kind.base != np.float64:
                raise ModelError(
                    f"{owner}.grid: {field} is not a float or an Angle; leave it out, since discrete fields are listed."
                )
            turn = angle and abs(high - low - _TURN) <= _ROUNDED
            if angle and high - low > _TURN and not turn:
                raise ModelError(f"{owner}.grid: the range of {field}, {low:g} to {high:g}, is more than a full turn.")
            if turn and points < 3:
                raise ModelError(
                    f"{owner}.grid: {field} needs at least 3 points, since the last of a full turn is the first."
                )
            first = int(state.dtype.fields[field][1]) // 8  # type: ignore[index]
            for entry in range(int(np.prod(kind.shape, dtype=int))):
                end, different = (low + _TURN, points - 1) if turn else (high, points)
                found.append(Axis(field, first + entry, low, end, different, angle, turn))
        left = [field for field in float_fields(state.dtype) if field not in self.ranges]
        if left:
            raise ModelError(
                f"{owner}.grid: the field {left[0]} holds real numbers, so the grid has to say its range: "
                f"{left[0]}=(lowest, highest, points)."
            )
        return found


def _checked_range(name: str, given: Any) -> tuple[float, float, int]:
    """A range as numbers."""
    try:
        low, high, points = given
        ends = float(low), float(high)
    except (TypeError, ValueError):
        raise ModelError(f"Grid: {name} must be (lowest, highest, points), not {shown(given)}.") from None
    if not all(map(math.isfinite, ends)) or not ends[0] < ends[1]:
        raise ModelError(f"Grid: the range of {name} is empty: {low!r} is not less than {high!r}.")
    if isinstance(points, bool) or not isinstance(points, (int, np.integer)) or points < 2:
        raise ModelError(f"Grid: {name} needs at least 2 points, not {shown(points)}.")
    return *ends, int(points)


def declared_grid(model: Any) -> Grid | None:
    """The model's grid; None if it declares none. `grid` may also be a parameter of the model, such as an array."""
    found = getattr(model, "grid", None)
    return found if isinstance(found, Grid) else None
