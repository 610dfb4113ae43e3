"""Progress reports of evaluations, studies and tuning."""

from collections.abc import Sequence

from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.planners.base import Planner


class ProgressListener:
    """Receives progress reports and ignores them. Override the methods you need."""

    def started(self, total: int, done: int) -> None:
        """A study or tuning has started: episodes wanted in total, and how many are already stored.

        Cells whose planner cannot handle the problem count as done.
        """

    def preparing(self, cell: Cell, planner: Planner) -> None:
        """The planner of the next cell is being prepared."""

    def playing(self, cell: Cell, stored: Sequence[Episode]) -> None:
        """The cell's episodes are being played; `stored` are those from earlier runs."""

    def played(self, cell: Cell, episodes: Sequence[Episode]) -> None:
        """These episodes have finished, and are stored if there is a file."""

    def finished(self, cell: Cell) -> None:
        """All episodes of the cell are complete."""

    def pruned(self, cell: Cell) -> None:
        """The cell was abandoned because it is worse than another (tuning only)."""

    def failed(self, cell: Cell, reason: str) -> None:
        """The planner cannot handle the problem."""

    def message(self, text: str) -> None:
        """Something the user should know."""
