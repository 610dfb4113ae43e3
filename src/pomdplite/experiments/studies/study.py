"""A study: problems × planners × parameters, so many episodes of each, written in Python or as a small TOML file."""

import copy
import inspect
import itertools
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pomdplite.errors import UsageError
from pomdplite.experiments.studies.published import read_published
from pomdplite.experiments.studies.results import Cell, Publications, Results
from pomdplite.experiments.studies.study_text import StudyText
from pomdplite.experiments.studies.watching import Watcher
from pomdplite.mdp.budget import CLOCKS
from pomdplite.model.model import Model
from pomdplite.planners import PLANNERS, make_planner
from pomdplite.worlds import placed, planning_model

EPISODES = 100  # of a cell that does not say
_MOST_EPISODES = 10**9
_BUDGETS = ("time", "sims")
_TOP = ("title", "notes", "seed", "episodes", "clock", *_BUDGETS, "cells", "publication", "published")
_BLOCK = ("problems", "planners", "episodes", *_BUDGETS, "options")  # and the planners' names
_PUBLICATION = "published"  # the label of published numbers
_SHIPPED = "shipped"  # the folder of the studies that come with the library


@dataclass(frozen=True, init=False)
class Study:
    """What to play: cells in the order of their playing, and the seed that names their episodes."""

    title: str
    seed: int
    clock: str  # what seconds mean: wall, or cpu (processor time)
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]  # for the reader of its tables
    publication: str  # where the published numbers are from, in a word
    published: Publications

    def __init__(
        self,
        title: str = "study",
        problems: Sequence[str] | None = None,
        planners: Sequence[str] | None = None,
        *,
        episodes: int = EPISODES,
        time: float | Sequence[float] | None = None,
        sims: int | Sequence[int] | None = None,
        options: Mapping[str, Any] | None = None,
        seed: int = 0,
        clock: str = "wall",
        cells: Sequence[Mapping[str, Any]] | None = None,
        notes: Sequence[str] = (),
        publication: str = _PUBLICATION,
        published: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    ) -> None:
        """Every problem with every planner; or `cells`, a list of such products as dictionaries.

        `time` or `sims` is the budget of a step, for the planners that take one. A list of budgets, or a list as an
        option's value, is a sweep. What only one planner takes stands in cells under that planner's name. Numbers
        that others published, {problem: {planner: (mean, standard error)}}, stand beside what is found here.
        """
        given: dict[str, Any] = {"title": title, "seed": seed, "episodes": episodes, "clock": clock}
        given |= {"notes": notes, "publication": publication, "published": published or {}}
        given |= {name: value for name, value in (("time", time), ("sims", sims)) if value is not None}
        if (cells is None) == (problems is None and planners is None):
            raise UsageError("a study is given problems and planners, or cells.")
        if cells is None:
            block = {"problems": problems, "planners": planners, "options": options}
            cells = [{name: value for name, value in block.items() if value is not None}]
        elif options is not None:
            raise UsageError("options are for problems and planners; in cells, give each its own options.")
        self._fill(given | {"cells": list(cells)}, StudyText("the study"))

    @classmethod
    def parse(cls, text: str, name: str = "the study") -> "Study":
        """The study that a TOML text describes; `name` is what errors call the text."""
        source = StudyText(name, text)
        study = cls.__new__(cls)
        study._fill(source.content, source)
        return study

    @classmethod
    def read(cls, path: str | Path) -> "Study":
        """The study in a TOML file."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise UsageError(f"{path} is not a text file in UTF-8.") from None
        except OSError as error:
            raise UsageError(f"cannot read the study {path}: {error.strerror}.") from None
        return cls.parse(text, str(path))

    @classmethod
    def named(cls, name: str) -> "Study":
        """A study that comes with the library."""
        if name not in shipped():
            raise UsageError(f"no study {name!r}; there are {', '.join(shipped())}, or give the path of a .toml file.")
        return cls.parse(_shipped_text(name), f"{name}.toml")

    @classmethod
    def find(cls, name: str) -> "Study":
        """A study by its name, or by the path of its file."""
        return cls.read(name) if name.endswith(".toml") or "/" in name else cls.named(name)

    def with_episodes(self, episodes: int) -> "Study":
        """The same study with so many episodes of every cell; what a file has of it stays good."""
        episodes = _plain(episodes)
        _check_counts({"episodes": episodes}, StudyText("the study"), None)
        study = copy.copy(self)
        object.__setattr__(study, "cells", tuple(replace(cell, episodes=episodes) for cell in self.cells))
        return study

    def toml(self) -> str:
        """The study as TOML, one block per cell; `parse` gives the same study back."""
        lines = [f"title = {toml_value(self.title)}", f"seed = {self.seed}", f"clock = {toml_value(self.clock)}"]
        if self.notes:
            lines.append(f"notes = {toml_value(self.notes)}")
        if self.published:
            lines.append(f"publication = {toml_value(self.publication)}")
        for cell in self.cells:
            lines += ["", "[[cells]]", f"problems = [{toml_value(cell.problem)}]"]
            lines += [f"planners = [{toml_value(cell.planner)}]", f"episodes = {cell.episodes}"]
            if cell.parameters:
                lines.append(f"options = {toml_value(cell.parameters)}")
        for problem, entries in self.published.items():
            lines += ["", f"[published.{toml_value(problem)}]"]
            lines += [f"{planner} = {toml_value([n for n in p if n is not None])}" for planner, p in entries.items()]
        return "\n".join(lines) + "\n"

    def run(
        self, path: str | Path, *, workers: int | None = None, dask: str | None = None, watcher: Watcher | None = None
    ) -> Results:
        """Play what is missing in the file `path`, and give what is in it then.

        `workers` is the number of processes, by default that of the cores; or `dask` is the address of a scheduler
        whose workers play. Neither changes a result.
        """
        from pomdplite.experiments.studies.running import run_study  # which needs this module

        return run_study(self, path, workers=workers, dask=dask, watcher=watcher or Watcher())

    def _fill(self, given: Mapping[str, Any], source: StudyText) -> None:
        """Check what was given, and set the fields of this frozen object."""
        given = _plain(given)
        for key in given:
            if key not in _TOP:
                raise source.error(f"no key {key!r}; there are {', '.join(_TOP)}.", None, key)
        title, seed, clock = (given.get(key, value) for key, value in (("title", ""), ("seed", 0), ("clock", "wall")))
        if not isinstance(title, str):
            raise source.error(f"title must be a text, not {title!r}.", None, "title")
        if not _whole(seed, -(2**63)) or seed >= 2**63:
            raise source.error(f"seed must be a whole number of 64 bits, not {seed!r}.", None, "seed")
        if clock not in CLOCKS:
            raise source.error(f"clock must be {' or '.join(CLOCKS)}, not {clock!r}.", None, "clock")
        notes, publication = given.get("notes", []), given.get("publication", _PUBLICATION)
        if not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
            raise source.error(f"notes must be a list of texts, not {notes!r}.", None, "notes")
        if not isinstance(publication, str) or not publication.strip():
            raise source.error(f"publication must be a name, not {publication!r}.", None, "publication")
        _check_counts(given, source, None)
        blocks = given.get("cells")
        if not isinstance(blocks, list) or not blocks or not all(isinstance(b, Mapping) for b in blocks):
            raise source.error("a study needs at least one [[cells]] block.", None, "cells")
        models: dict[str, Model] = {}
        cells: dict[str, Cell] = {}
        for number, block in enumerate(blocks):
            found = {cell.key: cell for cell in _product(block, number, given, source, models)}
            for key in found.keys() & cells.keys():
                cell = cells[key]
                raise source.error(f"{cell.planner} on {cell.problem} with the same parameters is there twice.", number)
            cells |= found
        published = read_published(given.get("published", {}), list(cells.values()), source)
        fields = {
            "title": title, "seed": seed, "clock": clock, "cells": tuple(cells.values()), "notes": tuple(notes),
            "publication": publication, "published": published,
        }  # fmt: skip
        for name, value in fields.items():
            object.__setattr__(self, name, value)
        self.toml()  # an error now if something cannot be written down

    def __hash__(self) -> int:
        """Of everything in it."""
        return hash(self.toml())


def shipped() -> list[str]:
    """The names of the studies that come with the library."""
    folder = resources.files("pomdplite.experiments.studies") / _SHIPPED
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith(".toml"))


def _shipped_text(name: str) -> str:
    return (resources.files("pomdplite.experiments.studies") / _SHIPPED / f"{name}.toml").read_text(encoding="utf-8")


def _product(
    block: Mapping[str, Any], number: int, top: Mapping[str, Any], source: StudyText, models: dict[str, Model]
) -> Iterator[Cell]:
    """The cells of one block."""
    for key in block:
        if key not in _BLOCK and key not in PLANNERS:
            known = f"{', '.join(_BLOCK)} and the planners' names"
            raise source.error(f"no key {key!r} in cells; there are {known}.", number, key)
    problems, planners = (_names(block, key, number, source) for key in ("problems", "planners"))
    _check_counts(block, source, number)
    for key, value in block.items():
        if key == "options" or key in PLANNERS:
            if not isinstance(value, Mapping):
                raise source.error(f"{key} must be a table, for example {{ beta = 10 }}, not {value!r}.", number, key)
            if key in PLANNERS and key not in planners:
                raise source.error(f"parameters for {key}, which is not among the planners here.", number, key)
            for name, values in value.items():
                if values == []:
                    raise source.error(f"{name} must be a value or a list of values, not [].", number, key, name)
    for problem in problems:
        if problem not in models:
            try:
                models[problem] = planning_model(*placed(problem))
            except UsageError as error:
                raise source.error(str(error), number, "problems", problem) from None
    episodes = block.get("episodes", top.get("episodes", EPISODES))
    for problem, planner in itertools.product(problems, planners):
        if planner not in PLANNERS:
            raise source.error(f"no planner {planner!r}; there are {', '.join(PLANNERS)}.", number, "planners", planner)
        for parameters in _sweep(_parameters(planner, block, top)):
            try:
                make_planner(planner, models[problem], **parameters)
            except UsageError as error:
                raise source.error(str(error), number, *_guilty(str(error), planner, block, top)) from None
            yield Cell(problem, planner, parameters, episodes)


def _parameters(planner: str, block: Mapping[str, Any], top: Mapping[str, Any]) -> dict[str, Any]:
    """A planner's parameters in a block, sweeps not yet spread; a budget only if the planner takes one."""
    own = {**block.get("options", {}), **block.get(planner, {})}
    taken = inspect.signature(PLANNERS[planner]).parameters
    for level in (block, top):
        if not any(key in own for key in _BUDGETS):
            own |= {key: level[key] for key in _BUDGETS if key in level and key in taken}
    return own


def _sweep(parameters: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Every combination of the values that are lists."""
    values = [value if isinstance(value, list) else [value] for value in parameters.values()]
    for combination in itertools.product(*values):
        yield dict(zip(parameters, combination, strict=True))


def _guilty(message: str, planner: str, block: Mapping[str, Any], top: Mapping[str, Any]) -> tuple[str, ...]:
    """The key that a planner complains of, as far as its words tell."""
    words = re.findall(r"\w+", message)
    for table in (planner, "options"):
        for key in block.get(table, {}):
            if key in words:
                return table, key
    return next(((key,) for key in _BUDGETS if key in words and (key in block or key in top)), ("planners", planner))


def _names(block: Mapping[str, Any], key: str, number: int, source: StudyText) -> list[str]:
    names = block.get(key)
    if not isinstance(names, list) or not names:
        raise source.error(f"{key} must be a list of names, not {names!r}.", number, key)
    for name in names:
        if isinstance(name, Model):
            raise source.error(
                f"a study names its problems, so that it can be played again: write {type(name).__name__} into a file "
                f"and name it as path.py:{type(name).__name__}.", number, key,
            )  # fmt: skip
        if not isinstance(name, str):
            raise source.error(f"{key} must be a list of names; {name!r} is none.", number, key)
    return list(names)


def _check_counts(level: Mapping[str, Any], source: StudyText, number: int | None) -> None:
    """Episodes and budgets that a block, or the study as a whole, gives."""
    if "episodes" in level and not (_whole(level["episodes"], 1) and level["episodes"] <= _MOST_EPISODES):
        allowed = f"of at least 1 and at most {_MOST_EPISODES:,}"
        wrong = f"episodes must be a whole number {allowed}, not {level['episodes']!r}."
        raise source.error(wrong, number, "episodes")
    if all(key in level for key in _BUDGETS):
        raise source.error("give a budget in time or in sims, not both.", number, "sims")
    for key in _BUDGETS:
        if key in level and level[key] == []:
            raise source.error(f"{key} must be a number or a list of numbers, not {level[key]!r}.", number, key)


def _whole(value: Any, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= least


def toml_value(value: Any) -> str:
    """A text, a number, or a table or list of them in TOML's spelling."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_value(key)} = {toml_value(inner)}" for key, inner in value.items()) + " }"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(toml_value, value))}]"
    if isinstance(value, (str, bool)):
        # A JSON text without its rarer escapes is a TOML text, but for one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    if isinstance(value, (int, float)):
        return repr(value)
    raise UsageError(f"a study is written down in TOML, which has no {value!r}.")


def _plain(value: Any) -> Any:
    """Python's own numbers and lists in place of NumPy's, ranges and tuples."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [_plain(inner) for inner in value]
    return value.tolist() if isinstance(value, (np.generic, np.ndarray)) else value
