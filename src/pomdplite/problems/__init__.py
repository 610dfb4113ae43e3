"""The problems that ship with the library, by name."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from pomdplite.errors import UsageError
from pomdplite.model.model import Model
from pomdplite.problems.battleship.rules import Battleship
from pomdplite.problems.from_file import load_model
from pomdplite.problems.grasp.robots import grasp_gantry, grasp_jaco
from pomdplite.problems.grasp.rules import Grasp
from pomdplite.problems.rocksample.maps import MAPS, random_rocks
from pomdplite.problems.rocksample.rules import RockSample
from pomdplite.problems.tiger import Tiger

__all__ = ["PROBLEMS", "Battleship", "Grasp", "Problem", "RockSample", "Tiger", "load_model", "make_model"]


@dataclass(frozen=True)
class Problem:
    """A named problem: how to make its model, and one line about it."""

    make: Callable[[], Model]
    about: str


def _map_maker(name: str) -> Callable[[], Model]:
    size, rocks = MAPS[name]
    return lambda: RockSample(size, rocks)


def _board_maker(size: int, ships: int) -> Callable[[], Model]:
    return lambda: Battleship(size, ships)


PROBLEMS: dict[str, Problem] = {
    "tiger": Problem(Tiger, "one-shot Tiger: listen at two doors, open the one without the tiger"),
    **{
        f"rocksample-{name}": Problem(
            _map_maker(name),
            f"RockSample({size},{len(rocks)}): {len(rocks)} rocks, good or bad, on a {size} × {size} grid",
        )
        for name, (size, rocks) in MAPS.items()
    },
    **{
        f"battleship-{size}-{ships}": Problem(
            _board_maker(size, ships),
            f"Battleship({size},{ships}): find and sink {ships} ships on a {size} × {size} board",
        )
        for size, ships in ((5, 2), (10, 5), (15, 7))
    },
    "grasp": Problem(Grasp, "feel for a cup in a shelf with a gripper and pick it"),
    "grasp-gantry": Problem(grasp_gantry, "grasp with the geometry of the simulated two-finger gantry"),
    "grasp-jaco": Problem(grasp_jaco, "grasp with the geometry of the simulated Kinova Jaco"),
}


def make_model(name: str) -> Model:
    """The model of a named problem, or of a class or object in a file: `make_model("robot.py:Delivery")`.

    Besides the named ones: battleship-N-K, and rocksample-N-K-SEED with rocks placed at random.
    """
    pattern = re.fullmatch(r"(battleship|rocksample)-(\d+)-(\d+)(?:-(\d+))?", name)
    if ":" in name or name.endswith(".py"):
        return load_model(name)
    if pattern and name not in PROBLEMS:
        kind, size, count, seed = pattern[1], int(pattern[2]), int(pattern[3]), pattern[4]
        if kind == "battleship" and seed is None:
            return Battleship(size, count)
        if kind == "rocksample" and seed is not None:
            return RockSample(size, random_rocks(size, count, int(seed)))
    if name not in PROBLEMS:
        raise UsageError(
            f"no problem {name!r}; there are {', '.join(PROBLEMS)}. A model of your own is named as path.py:Class."
        )
    return PROBLEMS[name].make()
