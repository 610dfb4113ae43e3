"""Each planner's colour and marker, the same in all pictures of a study.

The colours are Okabe and Ito's, which colour-blind readers can tell apart, some made darker or lighter to stand off
the ground.
"""

from dataclasses import dataclass

from pomdplite.experiments.studies.results import Results

LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3d9bd4", "#4d4d4d", "#7b4fa3")  # on white
DARK = ("#4ea8de", "#f08a4b", "#2fc296", "#e39ac4", "#e6b450", "#8ccdf2", "#b8bec4", "#b691d9")  # the same on black


@dataclass(frozen=True)
class Palette:
    """Planners by number: colours repeat after eight and markers after nine, so not both at once."""

    planners: tuple[str, ...]

    @classmethod
    def of(cls, results: Results) -> "Palette":
        """Numbers in the study's order."""
        return cls(tuple(dict.fromkeys(r.cell.planner for r in results.cells)))

    def number(self, planner: str) -> int:
        """For the marker."""
        return self.planners.index(planner)

    def colour(self, planner: str) -> int:
        """A place in LIGHT and DARK."""
        return self.number(planner) % len(LIGHT)
