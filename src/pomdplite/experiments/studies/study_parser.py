"""Reading a study: check what was given, and expand products and sweeps into cells."""

import inspect
import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pomdplite.errors import UsageError, shown
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.studies.published import read_published
from pomdplite.experiments.studies.study_text import StudyText
from pomdplite.mdp.budget import CLOCKS
from pomdplite.model.model import Model
from pomdplite.planners import PLANNERS, make_planner
from pomdplite.worlds import Scenario

EPISODES = 100  # of a cell, by default
PUBLICATION = "published"  # the default label of published numbers
_MAX_EPISODES = 10**9
_MAX_DEPTH = 20  # of nested tables and lists
_BUDGETS = ("time", "sims")
_TOP_KEYS = ("title", "notes", "seed", "episodes", "clock", *_BUDGETS, "cells", "publication", "published")
_BLOCK_KEYS = ("problems", "planners", "episodes", *_BUDGETS, "options")  # and the planners' names


def parse_study(given: Mapping[str, Any], source: StudyText) -> dict[str, Any]:
    """The fields of a StudyDefinition; errors give the line in the source."""
    _check_sizes(given, source)
    given = plain_values(given)
    for key in given:
        if key not in _TOP_KEYS:
            raise source.error(f"no key {shown(key)}; there are {', '.join(_TOP_KEYS)}.", None, key)
    title, seed, clock = (given.get(key, value) for key, value in (("title", ""), ("seed", 0), ("clock", "wall")))
    if not isinstance(title, str):
        raise source.error(f"title must be a string, not {shown(title)}.", None, "title")
    if not _is_whole(seed, -(2**63)) or seed >= 2**63:
        raise source.error(f"seed must be a 64-bit integer, not {shown(seed)}.", None, "seed")
    if not isinstance(clock, str) or clock not in CLOCKS:
        raise source.error(f"clock must be {' or '.join(CLOCKS)}, not {shown(clock)}.", None, "clock")
    notes, publication = given.get("notes", []), given.get("publication", PUBLICATION)
    if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise source.error(f"notes must be a list of strings, not {shown(notes)}.", None, "notes")
    if not isinstance(publication, str) or not publication.strip():
        raise source.error(f"publication must be a name, not {shown(publication)}.", None, "publication")
    check_counts(given, source, None)
    cells = _cells(given, source)
    return {
        "title": title, "seed": seed, "clock": clock, "cells": cells, "notes": tuple(notes),
        "publication": publication, "published": read_published(given.get("published", {}), list(cells), source),
    }  # fmt: skip


def _check_sizes(given: Any, source: StudyText) -> None:
    """Refuse what TOML does not promise to hold: numbers beyond 64 bits, and endlessly nested tables."""
    level = [given]
    for _ in range(_MAX_DEPTH):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, int) and not -(2**63) <= value < 2**63:
                raise source.error(f"numbers must fit into 64 bits, unlike {shown(value)}.", None)
            if isinstance(value, Mapping):
                inner += value.values()
            elif isinstance(value, (list, tuple)):
                inner += value
        level = inner
    if level:
        raise source.error("its lists or tables are nested too deeply.", None)


def check_counts(level: Mapping[str, Any], source: StudyText, number: int | None) -> None:
    """Check the episodes and budgets of a block (with its number) or of the study as a whole."""
    if "episodes" in level and not (_is_whole(level["episodes"], 1) and level["episodes"] <= _MAX_EPISODES):
        message = f"episodes must be an integer from 1 to {_MAX_EPISODES:,}, not {shown(level['episodes'])}."
        raise source.error(message, number, "episodes")
    if all(key in level for key in _BUDGETS):
        raise source.error("give a budget in time or in sims, not both.", number, "sims")
    for key in _BUDGETS:
        if key in level and level[key] == []:
            raise source.error(f"{key} must be a number or a list of numbers, not {shown(level[key])}.", number, key)


def plain_values(value: Any) -> Any:
    """Python's own numbers and lists in place of NumPy's, ranges and tuples."""
    if isinstance(value, Mapping):
        return {key: plain_values(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [plain_values(inner) for inner in value]
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value


def _cells(given: Mapping[str, Any], source: StudyText) -> tuple[Cell, ...]:
    """All cells of the study, each once."""
    blocks = given.get("cells")
    if not isinstance(blocks, list) or not blocks or not all(isinstance(b, Mapping) for b in blocks):
        raise source.error("a study needs at least one [[cells]] block.", None, "cells")
    models: dict[str, Model] = {}
    cells: dict[str, Cell] = {}
    for number, block in enumerate(blocks):
        found = {cell.key: cell for cell in _product(block, number, given, source, models)}
        for key in found.keys() & cells.keys():
            cell = cells[key]
            message = f"{cell.planner} on {cell.problem} with the same parameters appears twice."
            raise source.error(message, number)
        cells |= found
    return tuple(cells.values())


def _product(
    block: Mapping[str, Any], number: int, top: Mapping[str, Any], source: StudyText, models: dict[str, Model]
) -> Iterator[Cell]:
    """The cells of one block: every problem with every planner and every combination of swept values."""
    _check_block(block, number, source)
    problems, planners = (_names(block, key, number, source) for key in ("problems", "planners"))
    for key in block:
        if key in PLANNERS and key not in planners:
            raise source.error(f"parameters for {key}, which is not among this block's planners.", number, key)
    for problem in problems:
        if problem not in models:
            try:
                models[problem] = Scenario.parse(problem).planning_model()
            except UsageError as error:
                raise source.error(str(error), number, "problems", problem) from None
    episodes = block.get("episodes", top.get("episodes", EPISODES))
    for problem, planner in itertools.product(problems, planners):
        if planner not in PLANNERS:
            raise source.error(
                f"no planner {shown(planner)}; there are {', '.join(PLANNERS)}.", number, "planners", planner
            )
        for parameters in _sweep(_parameters(planner, block, top)):
            try:
                make_planner(planner, models[problem], **parameters)
            except UsageError as error:
                raise source.error(str(error), number, *_offending_key(str(error), planner, block, top)) from None
            yield Cell(Scenario.parse(problem), planner, parameters, episodes)


def _check_block(block: Mapping[str, Any], number: int, source: StudyText) -> None:
    for key in block:
        if key not in _BLOCK_KEYS and key not in PLANNERS:
            known = f"{', '.join(_BLOCK_KEYS)} and the planners' names"
            raise source.error(f"no key {shown(key)} in cells; there are {known}.", number, key)
    check_counts(block, source, number)
    for key, value in block.items():
        if key == "options" or key in PLANNERS:
            if not isinstance(value, Mapping):
                raise source.error(
                    f"{key} must be a table, for example {{ beta = 10 }}, not {shown(value)}.", number, key
                )
            for name, values in value.items():
                if values == []:
                    raise source.error(f"{name} must be a value or a list of values, not [].", number, key, name)


def _parameters(planner: str, block: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """A planner's parameters in a block before sweeps are expanded; a budget only if the planner takes one."""
    own = {**block.get("options", {}), **block.get(planner, {})}
    accepted = inspect.signature(PLANNERS[planner]).parameters
    for level in (block, top):
        if not any(key in own for key in _BUDGETS):
            own |= {key: level[key] for key in _BUDGETS if key in level and key in accepted}
    return own


def _sweep(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of the values that are lists."""
    values = [value if isinstance(value, list) else [value] for value in parameters.values()]
    for combination in itertools.product(*values):
        yield dict(zip(parameters, combination, strict=True))


def _offending_key(message: str, planner: str, block: Mapping[str, Any], top: Mapping[str, Any]) -> tuple[str, ...]:
    """The key that a planner's error message is about, as far as its words tell."""
    words = re.findall(r"\w+", message)
    for table in (planner, "options"):
        for key in block.get(table, {}):
            if key in words:
                return table, key
    return next(((key,) for key in _BUDGETS if key in words and (key in block or key in top)), ("planners", planner))


def _names(block: Mapping[str, Any], key: str, number: int, source: StudyText) -> list[str]:
    names = block.get(key)
    if not isinstance(names, list) or not names:
        raise source.error(f"{key} must be a list of names, not {shown(names)}.", number, key)
    for name in names:
        if isinstance(name, Model):
            raise source.error(
                f"a study refers to problems by name, so that it can be repeated: put {type(name).__name__} into a "
                f"file and name it as path.py:{type(name).__name__}.", number, key,
            )  # fmt: skip
        if not isinstance(name, str):
            raise source.error(f"{key} must be a list of names; {shown(name)} is not a name.", number, key)
    return list(names)


def _is_whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least
