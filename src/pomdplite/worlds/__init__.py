"""Worlds execute actions: the model itself, or a simulated robot."""

from pomdplite.worlds.base import StepResult, World
from pomdplite.worlds.gymnasium import GymnasiumWorld
from pomdplite.worlds.model import ModelWorld
from pomdplite.worlds.registry import WORLDS, WorldMaker, make_world
from pomdplite.worlds.scenario import Scenario

__all__ = ["WORLDS", "GymnasiumWorld", "ModelWorld", "Scenario", "StepResult", "World", "WorldMaker", "make_world"]
