"""Worlds by name."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pomdplite.errors import PomdpLiteError, UsageError, shown
from pomdplite.model.model import Model
from pomdplite.problems import is_own, load_maker
from pomdplite.worlds.acrobot import AcrobotWorld, require_acrobot
from pomdplite.worlds.base import World
from pomdplite.worlds.grasp.gantry import GantryWorld
from pomdplite.worlds.grasp.jaco import JacoWorld
from pomdplite.worlds.grasp.world import require_grasp
from pomdplite.worlds.intersection.world import highway, require_intersection
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
    "acrobot": WorldEntry(AcrobotWorld, "Gymnasium's Acrobot-v1", check=require_acrobot),
    "highway": WorldEntry(
        highway, "the intersection in highway-env, with drivers of its own", check=require_intersection
    ),
}
"""The worlds by name, as `--world` takes them."""


def world_entry(name: str) -> WorldEntry:
    """The registered world with this name, or the one in a user's file that `path.py:name` refers to."""
    if is_own(name):
        return WorldEntry(_maker(name), "a world of your own")
    if name not in WORLDS:
        raise UsageError(
            f"no world {name!r}; there are {', '.join(WORLDS)}. Refer to a world of your own as path.py:name."
        )
    return WORLDS[name]


def _maker(name: str) -> Callable[[Model], World]:
    """What makes the world in a user's file, whose result is checked to be one."""
    make = load_maker(name)

    def made(model: Model) -> World:
        try:
            world = make(model)
        except PomdpLiteError:
            raise
        except Exception as error:
            raise UsageError(f"{name} raised {type(error).__name__}: {error}") from error
        if not isinstance(world, World):
            raise UsageError(f"{name} made {shown(world)} from the model, which is no World.")
        return world

    return made


def make_world(world: WorldMaker, model: Model) -> World:
    """Make a world for a model, given the world's name or a callable such as its class."""
    return (world_entry(world).make if isinstance(world, str) else world)(model)
