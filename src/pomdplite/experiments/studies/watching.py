"""What a study tells of its progress to who wants to know: a command, a notebook, a test."""

from collections.abc import Sequence

from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.studies.results import Cell
from pomdplite.planners.base import Planner


class Watcher:
    """Told what happens; this one does nothing with it. Derive from it and keep what you need."""

    def starting(self, total: int, done: int) -> None:
        """So many episodes are wanted in all, and so many are there already; cells that cannot count as done."""

    def preparing(self, cell: Cell, planner: Planner) -> None:
        """A cell is next: its planner is being prepared."""

    def playing(self, cell: Cell, stored: Sequence[Episode]) -> None:
        """Its episodes are being played; these are there from before."""

    def played(self, cell: Cell, episodes: Sequence[Episode]) -> None:
        """These have ended, and are stored."""

    def finished(self, cell: Cell) -> None:
        """All episodes of the cell are there."""

    def pruned(self, cell: Cell) -> None:
        """The cell is given up: it is worse than another (in tuning only)."""

    def cannot(self, cell: Cell, reason: str) -> None:
        """The planner cannot plan for the problem."""

    def note(self, message: str) -> None:
        """Something a person should know."""
