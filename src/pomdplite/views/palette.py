"""The colour and marker of each planner, the same in every figure of a study.

The colours are those of Okabe and Ito, which colour-blind readers can tell apart, some of them darkened or lightened
for contrast with the background.
"""

from dataclasses import dataclass

from pomdplite.experiments.studies.results import Results

LIGHT = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#b8860b", "#3d9bd4", "#4d4d4d", "#7b4fa3")  # on white
DARK = ("#4ea8de", "#f08a4b", "#2fc296", "#e39ac4", "#e6b450", "#8ccdf2", "#b8bec4", "#b691d9")  # on a dark page


@dataclass(frozen=True)
class Palette:
    """Numbers the planners of a study. There are 8 colours and 9 markers, so 72 planners differ in one or the other."""

    planners: tuple[str, ...]

    @classmethod
    def of(cls, results: Results) -> "Palette":
        """Planners in the order of the study."""
        return cls(tuple(dict.fromkeys(r.cell.planner for r in results.cells)))

    def number(self, planner: str) -> int:
        """The number of a planner, which chooses its marker."""
        return self.planners.index(planner)

    def colour(self, planner: str) -> int:
        """The index of a planner's colour in LIGHT and DARK."""
        return self.number(planner) % len(LIGHT)
