"""What a study found: for each cell the episodes that were played, or the reason why there are none."""

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.evaluate import Evaluation

# Of a frame: one row per episode.
_COLUMNS = (
    "problem", "planner", "parameters", "seed", "episode", "return", "undiscounted", "success", "steps", "cut",
    "seconds_per_step", "simulations_per_step", "model_steps_per_step", "notes",
)  # fmt: skip


@dataclass(frozen=True)
class Cell:
    """One entry of a table: a planner with its parameters on a problem."""

    problem: str  # by name, with the world if it is not the model: "grasp in jaco"
    planner: str
    parameters: dict[str, Any]  # as make_planner takes them, the budget among them
    episodes: int  # that are wanted

    @property
    def key(self) -> str:
        """A name that differs between cells that differ in anything but the number of episodes."""
        parameters = {name: _number(value) for name, value in self.parameters.items()}
        return json.dumps([self.problem, self.planner, parameters], sort_keys=True, ensure_ascii=False)


def _number(value: Any) -> Any:
    """1 and 1.0 are one value."""
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


@dataclass(frozen=True)
class CellResult:
    """What came of a cell."""

    cell: Cell
    episodes: tuple[Episode, ...]  # in order of their index; fewer than wanted while the study is not finished
    reason: str | None = None  # why the planner cannot plan for the problem, in one line
    preparation_seconds: float = 0.0

    def evaluation(self, seed: int) -> Evaluation:
        """The episodes with their statistics."""
        cell = self.cell
        return Evaluation(cell.problem, cell.planner, cell.parameters, seed, self.episodes, self.preparation_seconds)


class Published(NamedTuple):
    """What others published of an entry."""

    mean: float
    stderr: float
    success_rate: float | None = None


Publications = dict[str, dict[str, Published]]  # by problem and planner


@dataclass(frozen=True)
class Results:
    """A study's cells, in its order, and what it was run with."""

    title: str
    seed: int
    clock: str  # what seconds mean: wall or cpu
    cells: tuple[CellResult, ...]
    configuration: str  # the study as TOML
    versions: dict[str, str]  # of Python, of this library and of what it stands on
    machine: dict[str, str]  # processor, cores, system
    settings: dict[str, dict[str, str]] = field(default_factory=dict)  # by problem: its constants, and its world's

    @classmethod
    def read(cls, path: str | Path) -> "Results":
        """What a study's file holds, finished or not."""
        from pomdplite.experiments.studies.store import Store  # which needs this module

        with Store.open(path) as store:
            return store.results()

    @property
    def missing(self) -> int:
        """Episodes that are wanted and not there; of a cell that cannot be played none are wanted."""
        return sum(r.cell.episodes - len(r.episodes) for r in self.cells if r.reason is None)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the study says to the reader of its tables."""
        return tuple(self._configured.get("notes", ()))

    @property
    def publication(self) -> str:
        """Where the published numbers are from, in a word."""
        return str(self._configured.get("publication", ""))

    @cached_property
    def published(self) -> Publications:
        """Numbers that others published for entries of this study."""
        given = self._configured.get("published", {})
        return {problem: {name: Published(*n) for name, n in found.items()} for problem, found in given.items()}

    @cached_property
    def _configured(self) -> dict[str, Any]:
        return tomllib.loads(self.configuration)

    def frame(self) -> Any:
        """A pandas DataFrame with one row per episode."""
        try:
            import pandas
        except ImportError:
            raise UsageError("frame() needs pandas: pip install 'pomdplite[frames]'.") from None
        return pandas.DataFrame(list(self._rows()), columns=list(_COLUMNS))

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for result in self.cells:
            cell = result.cell
            parameters = json.dumps(cell.parameters, sort_keys=True)
            for e in result.episodes:
                steps = max(1, e.steps)
                yield (
                    cell.problem, cell.planner, parameters, self.seed, e.index, e.discounted, e.undiscounted, e.success,
                    e.steps, e.cut, e.seconds / steps, e.simulations / steps, e.model_steps / steps, "; ".join(e.notes),
                )  # fmt: skip
