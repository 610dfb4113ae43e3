"""The content of a study: what to play, and how it is written down."""

from dataclasses import dataclass
from typing import Any

import tomli_w

from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.studies.published import Publications


@dataclass(frozen=True)
class StudyDefinition:
    """Cells in the order in which they are played, and the seed of their episodes."""

    title: str
    seed: int
    clock: str  # how time is measured: wall, or cpu (processor time)
    cells: tuple[Cell, ...]
    notes: tuple[str, ...]  # shown below the study's tables
    publication: str  # the short name of the publication that `published` is from
    published: Publications

    def toml(self) -> str:
        """The study as TOML, with one entry of `cells` per cell; `Study.parse` reads it back."""
        content: dict[str, Any] = {"title": self.title, "seed": self.seed, "clock": self.clock}
        if self.notes:
            content["notes"] = list(self.notes)
        if self.published:
            content["publication"] = self.publication
        content["cells"] = [_cell_content(cell) for cell in self.cells]
        if self.published:
            content["published"] = {
                problem: {planner: [n for n in numbers if n is not None] for planner, numbers in entries.items()}
                for problem, entries in self.published.items()
            }
        return toml_text(content)

    def __hash__(self) -> int:
        """By content."""
        return hash(self.toml())


def toml_text(content: dict[str, Any]) -> str:
    """A TOML document; UsageError for a value that TOML cannot represent."""
    try:
        return tomli_w.dumps(content)
    except (TypeError, ValueError) as error:
        raise UsageError(f"a study is stored as TOML: {error}.") from None


def inline_table(content: dict[str, Any]) -> str:
    """A TOML inline table: { beta = 10, solver = "exact" }."""
    return f"{{ {', '.join(toml_text({name: value}).strip() for name, value in content.items())} }}"


def _cell_content(cell: Cell) -> dict[str, Any]:
    content: dict[str, Any] = {"problems": [cell.problem], "planners": [cell.planner], "episodes": cell.episodes}
    return content | {"options": cell.parameters} if cell.parameters else content
