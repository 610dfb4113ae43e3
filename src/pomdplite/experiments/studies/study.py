"""A study: problems × planners × parameters with a number of episodes each, defined in Python or in a TOML file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from importlib import resources
from pathlib import Path
from typing import Any, Self

from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.progress import ProgressListener
from pomdplite.experiments.studies.definition import StudyDefinition
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.running import run_study
from pomdplite.experiments.studies.study_parser import EPISODES, PUBLICATION, check_counts, parse_study, plain_values
from pomdplite.experiments.studies.study_text import StudyText

_SHIPPED = resources.files("pomdplite.experiments.studies") / "shipped"  # studies that come with the library
_NAME = "the study"  # in errors, if it has no file


@dataclass(frozen=True, init=False, eq=True)
class Study(StudyDefinition):
    """What to play, and how to run it."""

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
        publication: str = PUBLICATION,
        published: Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    ) -> None:
        """Every problem with every planner; or `cells`, a list of such products as dictionaries.

        `time` or `sims` is the budget per step, for planners that take one. A list of budgets, or a list as an option's
        value, is a sweep. Options of a single planner go into `cells` under that planner's name. Published numbers,
        {problem: {planner: (mean, standard error)}}, are shown next to the results.
        """
        given: dict[str, Any] = {"title": title, "seed": seed, "episodes": episodes, "clock": clock}
        given |= {"notes": notes, "publication": publication, "published": published or {}}
        given |= {name: value for name, value in (("time", time), ("sims", sims)) if value is not None}
        if (cells is None) == (problems is None and planners is None):
            raise UsageError("give a study either problems and planners, or cells.")
        if cells is None:
            block = {"problems": problems, "planners": planners, "options": options}
            cells = [{name: value for name, value in block.items() if value is not None}]
        elif options is not None:
            raise UsageError("options are for problems and planners; in cells, give each its own options.")
        self._set(parse_study(given | {"cells": list(cells)}, StudyText(_NAME)))

    @classmethod
    def parse(cls, text: str, name: str = _NAME) -> Self:
        """The study described by a TOML text; `name` identifies the text in errors."""
        source = StudyText(name, text)
        study = cls.__new__(cls)
        study._set(parse_study(source.content, source))
        return study

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The study in a TOML file."""
        try:
            text = Path(path).read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            raise UsageError(f"{path} is not a UTF-8 text file.") from None
        except OSError as error:
            raise UsageError(f"cannot read the study {path}: {error.strerror}.") from None
        return cls.parse(text, str(path))

    @classmethod
    def named(cls, name: str) -> Self:
        """A study that comes with the library."""
        if name not in shipped_studies():
            known = ", ".join(shipped_studies())
            raise UsageError(f"no study {name!r}; there are {known}, or give the path of a .toml file.")
        return cls.parse((_SHIPPED / f"{name}.toml").read_text(encoding="utf-8"), f"{name}.toml")

    @classmethod
    def find(cls, name: str) -> Self:
        """A study by its name, or by the path of its file."""
        return cls.read(name) if name.endswith(".toml") or "/" in name else cls.named(name)

    def with_episodes(self, episodes: int) -> Self:
        """The same study with this number of episodes per cell; a file that holds part of it can still be used."""
        episodes = plain_values(episodes)
        check_counts({"episodes": episodes}, StudyText(_NAME), None)
        study = self.__class__.__new__(self.__class__)
        cells = tuple(replace(cell, episodes=episodes) for cell in self.cells)
        study._set({f.name: getattr(self, f.name) for f in fields(self)} | {"cells": cells})
        return study

    def run(
        self,
        path: str | Path,
        *,
        workers: int | None = None,
        dask: str | None = None,
        listener: ProgressListener | None = None,
    ) -> Results:
        """Play the episodes that the file `path` does not have yet, and return all its results.

        `workers` is the number of processes, by default one per core; alternatively `dask` is the address of a
        scheduler whose workers play. Neither changes the results.
        """
        return run_study(self, path, workers=workers, dask=dask, listener=listener or ProgressListener())

    def _set(self, values: Mapping[str, Any]) -> None:
        """Set the fields of this frozen object."""
        for name, value in values.items():
            object.__setattr__(self, name, value)
        self.toml()  # fails now if something cannot be written down

    __hash__ = StudyDefinition.__hash__


def shipped_studies() -> list[str]:
    """The names of the studies that come with the library."""
    return sorted(f.name.removesuffix(".toml") for f in _SHIPPED.iterdir() if f.name.endswith(".toml"))
