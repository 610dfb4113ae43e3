"""Values from a study's file, checked as they are read: somebody may have edited the file, or a disk damaged it.

What is wrong is raised as SQLite's own error for a damaged file, which the store reports with the file's name.
"""

import json
import math
import sqlite3
from collections.abc import Callable
from typing import Any, NamedTuple

from pomdplite.errors import shown
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.worlds import Scenario

_WHOLE = 2**63
Check = Callable[[Any], bool]


class CellRow(NamedTuple):
    """A cell in the file."""

    number: int
    cell: Cell
    reason: str | None
    preparation_seconds: float
    chosen: dict[str, Any]  # values of parameters that the planner chose itself


def wrong(what: str, value: Any) -> sqlite3.DatabaseError:
    """The error for a value that cannot be right."""
    return sqlite3.DatabaseError(f"{what} is {shown(value)}")


def text(what: str, value: Any) -> str:
    """A text."""
    if not isinstance(value, str):
        raise wrong(what, value)
    return value


def whole(what: str, value: Any, least: int = 0) -> int:
    """An integer of 64 bits."""
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value < _WHOLE:
        raise wrong(what, value)
    return value


def number(what: str, value: Any) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise wrong(what, value)
    return float(value)


def flag(what: str, value: Any) -> bool:
    """0 or 1."""
    if not isinstance(value, int) or value not in (0, 1):
        raise wrong(what, value)
    return bool(value)


def from_json(what: str, value: Any, fits: Check) -> Any:
    """What a text encodes as JSON, if it passes the check."""
    try:
        found = json.loads(text(what, value))
    except (ValueError, RecursionError):
        raise wrong(what, value) from None
    if not fits(found):
        raise wrong(what, value)
    return found


def is_texts(value: Any) -> bool:
    """Whether a value is a list of texts."""
    return isinstance(value, list) and all(isinstance(item, str) for item in value)


def is_facts(value: Any) -> bool:
    """Whether a value is an object whose values are texts."""
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def is_settings(value: Any) -> bool:
    """Whether a value is an object of such objects."""
    return isinstance(value, dict) and all(is_facts(item) for item in value.values())


def is_parameters(value: Any) -> bool:
    """Whether a value is an object of words and numbers, as planners take them."""
    return isinstance(value, dict) and not any(isinstance(item, (dict, list)) for item in value.values())


def episode(row: tuple[Any, ...]) -> Episode:
    """An episode from its row, in the order of Episode's fields."""
    index, discounted, undiscounted, steps, seconds, success, cut, notes, simulations, model_steps = row
    return Episode(
        whole("an episode's number", index), number("a return", discounted), number("a return", undiscounted),
        whole("a number of steps", steps), number("a time", seconds),
        None if success is None else flag("a success", success), flag("a cut", cut),
        tuple(from_json("an episode's notes", notes, is_texts)), whole("a number of simulations", simulations),
        whole("a number of model steps", model_steps),
    )  # fmt: skip


def cell(expected: int, row: tuple[Any, ...]) -> CellRow:
    """A cell from its row, which must have the expected number."""
    place, problem, planner, parameters, episodes, reason, seconds, chosen = row
    if place != expected:
        raise wrong(f"the number of cell {expected}", place)
    given = from_json("a cell's parameters", parameters, is_parameters)
    scenario = Scenario.parse(text("a cell's problem", problem))
    found = Cell(scenario, text("a cell's planner", planner), given, whole("a cell's episodes", episodes, 1))
    why = None if reason is None else text("a cell's reason", reason)
    own = {} if chosen is None else from_json("a cell's chosen parameters", chosen, is_parameters)
    return CellRow(place, found, why, 0.0 if seconds is None else number("a time", seconds), own)
