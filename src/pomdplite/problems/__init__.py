"""The problems that ship with the library, by name."""

from collections.abc import Callable
from dataclasses import dataclass

from pomdplite.errors import UsageError
from pomdplite.model import Model
from pomdplite.problems.from_file import load_model
from pomdplite.problems.rocksample import RockSample
from pomdplite.problems.rocksample_maps import MAPS
from pomdplite.problems.tiger import Tiger

__all__ = ["PROBLEMS", "Problem", "RockSample", "Tiger", "load_model", "make"]


@dataclass(frozen=True)
class Problem:
    """A named problem: how to make its model, and one line about it."""

    make: Callable[[], Model]
    about: str


def _map_maker(name: str) -> Callable[[], Model]:
    size, rocks = MAPS[name]
    return lambda: RockSample(size, rocks)


PROBLEMS: dict[str, Problem] = {
    "tiger": Problem(Tiger, "one-shot Tiger: listen at two doors, open the one without the tiger"),
    **{
        f"rocksample-{name}": Problem(
            _map_maker(name),
            f"RockSample({size},{len(rocks)}): {len(rocks)} rocks, good or bad, on a {size} × {size} grid",
        )
        for name, (size, rocks) in MAPS.items()
    },
}


def make(name: str) -> Model:
    """The model of a named problem, or of a class or object in a file: `make("robot.py:Delivery")`."""
    if ":" in name:
        return load_model(name)
    if name not in PROBLEMS:
        raise UsageError(
            f"no problem {name!r}; there are {', '.join(PROBLEMS)}. A model of your own is named as path.py:Class."
        )
    return PROBLEMS[name].make()
