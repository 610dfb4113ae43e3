"""What executes an action for real: the model itself, or a simulated robot."""

from pomdplite.worlds.base import Outcome, World
from pomdplite.worlds.model import ModelWorld
from pomdplite.worlds.registry import WORLDS, make_world, planning_problem

__all__ = ["WORLDS", "ModelWorld", "Outcome", "World", "make_world", "planning_problem"]
