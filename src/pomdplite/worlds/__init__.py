"""What executes an action for real: the model itself, or a simulated robot."""

from pomdplite.worlds.base import Outcome, World
from pomdplite.worlds.model import ModelWorld
from pomdplite.worlds.registry import WORLDS, WorldMaker, make_world, placed, planning_model, planning_problem

__all__ = [
    "WORLDS",
    "ModelWorld",
    "Outcome",
    "World",
    "WorldMaker",
    "make_world",
    "placed",
    "planning_model",
    "planning_problem",
]
