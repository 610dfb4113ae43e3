"""Problems by name."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pomdplite.errors import UsageError, shown
from pomdplite.formats.loading import is_model_file, load
from pomdplite.model.model import Model
from pomdplite.problems.acrobot.rules import LISTED, Acrobot
from pomdplite.problems.assistance.doorman import Doorman
from pomdplite.problems.assistance.kitchen import Kitchen
from pomdplite.problems.assistance.kitchen_plans import generated_recipes
from pomdplite.problems.battleship.rules import Battleship
from pomdplite.problems.from_file import load_model
from pomdplite.problems.gouldian_finch import GouldianFinch
from pomdplite.problems.grasp.robots import grasp_gantry, grasp_jaco
from pomdplite.problems.grasp.rules import Grasp
from pomdplite.problems.intersection.rules import Intersection
from pomdplite.problems.light_dark.bins import LightDarkBins
from pomdplite.problems.light_dark.rules import LightDark
from pomdplite.problems.maze import Maze
from pomdplite.problems.pendulum import Pendulum
from pomdplite.problems.rocksample.maps import MAPS, random_rocks
from pomdplite.problems.rocksample.rules import RockSample
from pomdplite.problems.table_carrying.rules import TableCarrying
from pomdplite.problems.tiger import Tiger
from pomdplite.problems.unknown.chain import SlipperyChain
from pomdplite.problems.unknown.flag_maze import FlagMaze
from pomdplite.problems.unknown.frozen_lake import FrozenLake
from pomdplite.problems.unknown.taxi import Taxi

_BOARDS = ((5, 2), (10, 5), (15, 7))  # Battleship(size, ships)
_ROOM = (5, 4)  # of a kitchen with generated recipes
_KITCHENS: dict[int, float | None] = {10: None, 50: 0.75}  # recipes, with the β tuned for them (docs/tuning.md)
_DOORMAN_BETA = 0.95  # tuned for this grid; with 1.1 some loops are worth infinitely much
_KITCHEN = re.compile(r"kitchen-(\d{1,9})")
_GENERATED = re.compile(r"(battleship|rocksample)-(\d{1,9})-(\d{1,9})(?:-(\d{1,18}))?")


@dataclass(frozen=True)
class ProblemEntry:
    """A registered problem: a function that makes its model, and a one-line description."""

    make: Callable[[], Model]
    about: str


def _map_maker(name: str) -> Callable[[], Model]:
    size, rocks = MAPS[name]
    return lambda: RockSample(size, rocks)


def _board_maker(size: int, ships: int) -> Callable[[], Model]:
    return lambda: Battleship(size, ships)


def _kitchen_maker(recipes: int) -> Callable[[], Model]:
    return lambda: Kitchen(generated_recipes(recipes), _ROOM, beta=_KITCHENS.get(recipes))


PROBLEMS: dict[str, ProblemEntry] = {
    "tiger": ProblemEntry(Tiger, "one-shot Tiger: listen at two doors, open the one without the tiger"),
    "maze": ProblemEntry(Maze, "find the way through two walls with hidden doors; nothing is left to chance"),
    "light-dark": ProblemEntry(LightDark, "1-D Light-Dark: read the position near the light, then stop at 0"),
    "light-dark-bins": ProblemEntry(LightDarkBins, "1-D Light-Dark with readings in bins, instead of real numbers"),
    "pendulum": ProblemEntry(Pendulum, "swing up a pendulum of unknown mass, with noise, and hold it there"),
    "acrobot": ProblemEntry(Acrobot, "swing up two links of unknown mass by a torque between them"),
    "acrobot-listed": ProblemEntry(lambda: Acrobot(LISTED, LISTED), "acrobot, with eight values listed for each mass"),
    **{
        f"rocksample-{name}": ProblemEntry(
            _map_maker(name),
            f"RockSample({size},{len(rocks)}): {len(rocks)} rocks, good or bad, on a {size} × {size} grid",
        )
        for name, (size, rocks) in MAPS.items()
    },
    **{
        f"battleship-{size}-{ships}": ProblemEntry(
            _board_maker(size, ships),
            f"Battleship({size},{ships}): find and sink {ships} ships on a {size} × {size} board",
        )
        for size, ships in _BOARDS
    },
    "kitchen": ProblemEntry(Kitchen, "hand ingredients to a cook whose recipe, one of 4, is hidden"),
    **{
        f"kitchen-{recipes}": ProblemEntry(
            _kitchen_maker(recipes), f"the same in a larger room, with {recipes} recipes"
        )
        for recipes in _KITCHENS
    },
    "doorman": ProblemEntry(partial(Doorman, beta=_DOORMAN_BETA), "open doors for a person who wants one of 8 things"),
    "intersection": ProblemEntry(Intersection, "cross an intersection: is the other driver one who yields?"),
    "intersection-2": ProblemEntry(partial(Intersection, 2), "cross an intersection, with a car from either side"),
    "grasp": ProblemEntry(Grasp, "find a cup in a shelf by touch and pick it"),
    "grasp-gantry": ProblemEntry(grasp_gantry, "grasp, with the geometry of the simulated two-finger gantry"),
    "grasp-jaco": ProblemEntry(grasp_jaco, "grasp, with the geometry of the simulated Kinova Jaco"),
    "table-carrying": ProblemEntry(TableCarrying, "turn a table with a person of unknown preference and adaptability"),
    "gouldian-finch": ProblemEntry(GouldianFinch, "protect a bird while learning which of four experts is right"),
    "chain": ProblemEntry(SlipperyChain, "learn the unknown probabilities of a chain of five states"),
    "chain-semi-tied": ProblemEntry(
        partial(SlipperyChain, "semi-tied"), "chain, if each action has a chance of its own"
    ),
    "chain-tied": ProblemEntry(partial(SlipperyChain, "tied"), "chain, if both actions have the same chance"),
    "flag-maze": ProblemEntry(FlagMaze, "learn how moves slip in a maze of 264 states, and collect its flags"),
    "flag-maze-tied": ProblemEntry(partial(FlagMaze, "tied"), "flag-maze, if moves slip in the same way everywhere"),
    "frozen-lake": ProblemEntry(FrozenLake, "Gymnasium's FrozenLake: learn how ice slips, and cross it past holes"),
    "taxi": ProblemEntry(Taxi, "Gymnasium's Taxi: learn what six actions do, and take a passenger to a place"),
}
"""The problems by name, as every command takes them; `make_model` makes the model."""


def is_own(name: str) -> bool:
    """Whether a problem or world is in a user's file, rather than registered."""
    return ":" in name or name.endswith(".py") or is_model_file(name)


def make_model(name: str) -> Model:
    """Make the model of a registered problem, or load one from a file: `make_model("robot.py:Delivery")`.

    A .pomdp or .pomdpx file is one model: `make_model("Hallway.pomdp")`.

    More forms are accepted: battleship-N-K, rocksample-N-K-SEED with rocks at random positions, and kitchen-N with N
    generated recipes.
    """
    if is_model_file(name):
        return load(name)
    if is_own(name):
        return load_model(name)
    if name in PROBLEMS:
        return PROBLEMS[name].make()
    if generated := _GENERATED.fullmatch(name):
        kind, size, count, seed = generated[1], int(generated[2]), int(generated[3]), generated[4]
        if kind == "battleship" and seed is None:
            return Battleship(size, count)
        if kind == "rocksample" and seed is not None:
            return RockSample(size, random_rocks(size, count, int(seed)))
    if kitchen := _KITCHEN.fullmatch(name):
        return _kitchen_maker(int(kitchen[1]))()
    raise UsageError(
        f"no problem {shown(name)}; choose from {', '.join(PROBLEMS)}. Refer to a model of your own as path.py:Class, "
        "or as a .pomdp or .pomdpx file."
    )
