"""The results of a study: for each cell its episodes, or the reason why there are none."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from pomdplite.display import ShownInNotebooks
from pomdplite.errors import UsageError, shown
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.evaluate import Evaluation
from pomdplite.experiments.studies.published import Publications, read_published
from pomdplite.experiments.studies.rows import is_texts
from pomdplite.experiments.studies.store import StudyStore
from pomdplite.experiments.studies.study_text import StudyText

_STORED = "the study stored in the file"  # in errors
# Of a frame: one row per episode.
_COLUMNS = (
    "problem", "planner", "parameters", "seed", "episode", "return", "undiscounted", "success", "steps", "cut",
    "seconds_per_step", "simulations_per_step", "model_steps_per_step", "notes",
)  # fmt: skip


@dataclass(frozen=True)
class CellResult:
    """The result of a cell."""

    cell: Cell
    episodes: tuple[Episode, ...]  # in order of their index; fewer than wanted while the study is unfinished
    reason: str | None = None  # why the planner cannot handle the problem, in one line
    preparation_seconds: float = 0.0
    chosen: dict[str, Any] = field(default_factory=dict)  # values of parameters that the planner chose itself

    def evaluation(self, seed: int) -> Evaluation:
        """The episodes with their statistics, and the parameters that were used."""
        used = replace(self.cell, parameters=self.cell.parameters | self.chosen)
        return Evaluation(used, seed, self.episodes, self.preparation_seconds)


@dataclass(frozen=True)
class Results(ShownInNotebooks):
    """A study's cells, in its order, and how they were produced."""

    title: str
    seed: int
    clock: str  # how time was measured: wall or cpu
    cells: tuple[CellResult, ...]
    configuration: str  # the study as TOML
    versions: dict[str, str]  # of Python, this library and its dependencies
    machine: dict[str, str]  # processor, cores, system
    settings: dict[str, dict[str, str]] = field(default_factory=dict)  # by problem: its constants, and its world's

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The results in a study's file, finished or not."""
        with StudyStore.open(path) as store:
            return cls.from_store(store)

    @classmethod
    def from_store(cls, store: StudyStore) -> Self:
        """Everything that an open file holds."""
        cells = (
            CellResult(row.cell, store.episodes(row.number), row.reason, row.preparation_seconds, row.chosen)
            for row in store.cells()
        )
        return cls(cells=tuple(cells), **store.header()._asdict(), **store.provenance()._asdict())

    @property
    def missing(self) -> int:
        """Episodes that are wanted but not stored; none are wanted of a cell that cannot be played."""
        return sum(r.cell.episodes - len(r.episodes) for r in self.cells if r.reason is None)

    @property
    def notes(self) -> tuple[str, ...]:
        """The study's notes, shown below its tables."""
        notes = self._configured.content.get("notes", [])
        if not is_texts(notes):
            raise UsageError(f"{_STORED}: notes must be a list of strings, not {shown(notes)}.")
        return tuple(notes)

    @property
    def publication(self) -> str:
        """The short name of the publication that the published numbers are from."""
        return str(self._configured.content.get("publication", ""))

    @cached_property
    def published(self) -> Publications:
        """Published numbers for cells of this study."""
        given = self._configured.content.get("published", {})
        return read_published(given, [result.cell for result in self.cells], self._configured)

    @cached_property
    def _configured(self) -> StudyText:
        return StudyText(_STORED, self.configuration)

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
