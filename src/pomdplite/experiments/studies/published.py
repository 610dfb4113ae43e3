"""Numbers that others published for a study's entries, to be shown beside them."""

from collections.abc import Mapping
from typing import Any

from pomdplite.experiments.studies.results import Cell, Publications, Published
from pomdplite.experiments.studies.study_text import StudyText


def read_published(given: Any, cells: list[Cell], source: StudyText) -> Publications:
    """The [published.PROBLEM] tables of a study, checked."""
    if not isinstance(given, Mapping):
        raise source.error(f"published must be tables [published.PROBLEM], not {given!r}.", None, "published")
    found: Publications = {}
    for problem, entries in given.items():
        if not isinstance(entries, Mapping):
            raise source.error(f"published.{problem} must be a table, not {entries!r}.", None, "published", problem)
        planners = {cell.planner for cell in cells if cell.problem == problem}
        for planner, numbers in entries.items():
            place = ("published", problem, planner)
            if planner not in planners:
                unplayed = f"published for {planner} on {problem}, which this study does not play."
                raise source.error(unplayed, None, *place)
            if not isinstance(numbers, list) or len(numbers) not in (2, 3) or not all(map(_number, numbers)):
                wanted = "[mean, standard error] or [mean, standard error, success rate]"
                raise source.error(f"published for {planner} must be {wanted}, not {numbers!r}.", None, *place)
            if numbers[1] < 0 or not 0 <= (*numbers, 1)[2] <= 1:
                wanted = "the error must not be negative, and the success rate from 0 to 1"
                raise source.error(f"published for {planner}: {wanted}, not {numbers!r}.", None, *place)
            found.setdefault(problem, {})[planner] = Published(*map(float, numbers))
    return found


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e300  # no nan, no inf
