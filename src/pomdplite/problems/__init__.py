"""The problems that ship with the library, and models from users' files."""

from pomdplite.problems.acrobot.rules import Acrobot
from pomdplite.problems.assistance.doorman import Doorman
from pomdplite.problems.assistance.kitchen import Kitchen
from pomdplite.problems.battleship.rules import Battleship
from pomdplite.problems.from_file import files_loaded_once, load_maker, load_model, source_digest
from pomdplite.problems.gouldian_finch import GouldianFinch
from pomdplite.problems.grasp.rules import Grasp
from pomdplite.problems.intersection.rules import Intersection
from pomdplite.problems.light_dark.bins import LightDarkBins
from pomdplite.problems.light_dark.rules import LightDark
from pomdplite.problems.maze import Maze
from pomdplite.problems.pendulum import Pendulum
from pomdplite.problems.registry import PROBLEMS, ProblemEntry, is_own, make_model
from pomdplite.problems.rocksample.rules import RockSample
from pomdplite.problems.table_carrying.rules import TableCarrying
from pomdplite.problems.tiger import Tiger
from pomdplite.problems.unknown.chain import SlipperyChain
from pomdplite.problems.unknown.flag_maze import FlagMaze
from pomdplite.problems.unknown.from_gymnasium import unknown_from_gymnasium
from pomdplite.problems.unknown.frozen_lake import FrozenLake
from pomdplite.problems.unknown.taxi import Taxi

__all__ = [
    "PROBLEMS",
    "Acrobot",
    "Battleship",
    "Doorman",
    "FlagMaze",
    "FrozenLake",
    "GouldianFinch",
    "Grasp",
    "Intersection",
    "Kitchen",
    "LightDark",
    "LightDarkBins",
    "Maze",
    "Pendulum",
    "ProblemEntry",
    "RockSample",
    "SlipperyChain",
    "TableCarrying",
    "Taxi",
    "Tiger",
    "files_loaded_once",
    "is_own",
    "load_maker",
    "load_model",
    "make_model",
    "source_digest",
    "unknown_from_gymnasium",
]
