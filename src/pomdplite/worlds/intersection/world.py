"""The intersection in highway-env as a world of the problem."""

from functools import partial
from typing import Any

from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.problems.intersection.rules import Intersection
from pomdplite.worlds.base import World
from pomdplite.worlds.gymnasium import GymnasiumWorld


def require_intersection(model: Model) -> Intersection:
    """The model, if it is an intersection whose drivers are of all types; UsageError otherwise."""
    if not isinstance(model, Intersection):
        raise UsageError(f"this world is an intersection, for intersection, not for {model.name}.")
    if model.assumed is not None:
        raise UsageError("this world draws drivers of all types, so make it with a model that assumes none.")
    return model


def make_crossing(cars: int) -> Any:
    """The environment, with what is seen on the model's lattice."""
    from pomdplite.worlds.intersection.crossing import Crossing
    from pomdplite.worlds.intersection.lattice import OnLattice

    return OnLattice(Crossing(cars, render_mode="rgb_array"))


def state(seen: Any) -> Any:
    """The model's state."""
    ego, ego_speed, *rest, over = (int(number) for number in seen)
    half = len(rest) // 2
    return {"ego": ego, "ego_speed": ego_speed, "car": rest[:half], "speed": rest[half:], "over": over}


def put_drivers(env: Any, theta: Any) -> None:
    """Give the other cars drivers of these types."""
    env.unwrapped.kinds = [int(kind) for kind in theta.driver]


def highway(model: Model) -> World:
    """The world for a model of the intersection."""
    cars = require_intersection(model).cars
    return GymnasiumWorld(partial(make_crossing, cars), state, hidden=put_drivers, name="highway")(model)
