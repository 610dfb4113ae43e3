"""Worlds by name."""

from collections.abc import Callable
from dataclasses import dataclass

from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.problems import make_model
from pomdplite.worlds.base import World
from pomdplite.worlds.model import ModelWorld


def _gantry(model: Model) -> World:
    from pomdplite.worlds.grasp.gantry import GantryWorld

    return GantryWorld(model)


def _jaco(model: Model) -> World:
    from pomdplite.worlds.grasp.jaco import JacoWorld

    return JacoWorld(model)


def _for_grasp(model: Model) -> None:
    from pomdplite.worlds.grasp.scene import suited

    suited(model)


def _any(model: Model) -> None:
    """A world for every model."""


@dataclass(frozen=True)
class WorldKind:
    """A named world: how to make it, what it is, and which problem plans for it with a geometry fitted to it."""

    make: Callable[[Model], World]
    about: str
    fitted: dict[str, str]  # problem -> the same with the world's geometry
    check: Callable[[Model], None] = _any  # UsageError if the world is not for this model


WORLDS: dict[str, WorldKind] = {
    "model": WorldKind(ModelWorld, "the model itself", {}),
    "gantry": WorldKind(
        _gantry, "a two-finger gantry built from boxes, in MuJoCo", {"grasp": "grasp-gantry"}, _for_grasp
    ),
    "jaco": WorldKind(_jaco, "the Kinova Jaco arm with its hand, in MuJoCo", {"grasp": "grasp-jaco"}, _for_grasp),
}


WorldMaker = str | Callable[[Model], World]  # a world's name, or what makes it from the model


def _kind(name: str) -> WorldKind:
    if name not in WORLDS:
        raise UsageError(f"no world {name!r}; there are {', '.join(WORLDS)}.")
    return WORLDS[name]


def placed(name: str) -> tuple[str, str]:
    """Problem and world of a name such as "grasp in jaco"; the world is the model where none is named."""
    problem, _, world = name.partition(" in ")
    _kind(world := world or "model")
    return problem, world


def planning_problem(problem: str, world: WorldMaker) -> str:
    """The problem to plan with when acting in this world: the same, with the geometry fitted to the world."""
    return _kind(world).fitted.get(problem, problem) if isinstance(world, str) else problem


def planning_model(problem: str, world: WorldMaker) -> Model:
    """The model to plan with when acting in this world; UsageError if the world is not for it."""
    model = make_model(planning_problem(problem, world))
    if isinstance(world, str):
        _kind(world).check(model)
    return model


def make_world(world: WorldMaker, model: Model) -> World:
    """A world by name, or by what makes it, such as its class; for a model that fits it."""
    return (_kind(world).make if isinstance(world, str) else world)(model)
