"""Published numbers for a study's cells, shown next to its results."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pomdplite.errors import shown
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.studies.study_text import StudyText


class Published(NamedTuple):
    """A published result."""

    mean: float
    stderr: float
    success_rate: float | None = None


Publications = dict[str, dict[str, Published]]  # by problem and planner


def read_published(given: Any, cells: list[Cell], source: StudyText) -> Publications:
    """Check and read the [published.PROBLEM] tables of a study."""
    if not isinstance(given, Mapping):
        raise source.error(f"published must be tables [published.PROBLEM], not {shown(given)}.", None, "published")
    found: Publications = {}
    for problem, entries in given.items():
        if not isinstance(entries, Mapping):
            raise source.error(
                f"published.{problem} must be a table, not {shown(entries)}.", None, "published", problem
            )
        planners = {cell.planner for cell in cells if cell.problem == problem}
        for planner, numbers in entries.items():
            place = ("published", problem, planner)
            if planner not in planners:
                message = f"published for {planner} on {problem}, which is not part of this study."
                raise source.error(message, None, *place)
            if not isinstance(numbers, list) or len(numbers) not in (2, 3) or not all(map(_is_finite, numbers)):
                wanted = "[mean, standard error] or [mean, standard error, success rate]"
                raise source.error(f"published for {planner} must be {wanted}, not {shown(numbers)}.", None, *place)
            if numbers[1] < 0 or not 0 <= (*numbers, 1)[2] <= 1:
                wanted = "the standard error must not be negative, and the success rate must be from 0 to 1"
                raise source.error(f"published for {planner}: {wanted}, not {shown(numbers)}.", None, *place)
            found.setdefault(problem, {})[planner] = Published(*map(float, numbers))
    return found


def _is_finite(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300  # no nan, no inf
