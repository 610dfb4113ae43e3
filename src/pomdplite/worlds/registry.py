"""Worlds by name."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.worlds.base import World
from pomdplite.worlds.grasp.gantry import GantryWorld
from pomdplite.worlds.grasp.jaco import JacoWorld
from pomdplite.worlds.grasp.world import require_grasp
from pomdplite.worlds.model import ModelWorld

WorldMaker = str | Callable[[Model], World]  # a world's name, or a callable such as its class that makes it


def _accept(model: Model) -> object:
    """Any model will do."""
    return model


@dataclass(frozen=True)
class WorldEntry:
    """A named world: how to make it, what it is, and which problems are planned with a geometry fitted to it."""

    make: Callable[[Model], World]
    about: str
    fitted: dict[str, str] = field(default_factory=dict)  # problem -> the same problem with the world's geometry
    check: Callable[[Model], object] = _accept  # raises UsageError if the world does not support the model


WORLDS: dict[str, WorldEntry] = {
    "model": WorldEntry(ModelWorld, "the model itself"),
    "gantry": WorldEntry(
        GantryWorld, "a two-finger gantry built from boxes, in MuJoCo", {"grasp": "grasp-gantry"}, require_grasp
    ),
    "jaco": WorldEntry(
        JacoWorld, "the Kinova Jaco arm with its hand, in MuJoCo", {"grasp": "grasp-jaco"}, require_grasp
    ),
}


def world_entry(name: str) -> WorldEntry:
    """The registered world with this name."""
    if name not in WORLDS:
        raise UsageError(f"no world {name!r}; there are {', '.join(WORLDS)}.")
    return WORLDS[name]


def make_world(world: WorldMaker, model: Model) -> World:
    """Make a world for a model, given the world's name or a callable such as its class."""
    return (world_entry(world).make if isinstance(world, str) else world)(model)
