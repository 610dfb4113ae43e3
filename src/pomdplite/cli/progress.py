"""Progress on the terminal, for all commands that play episodes."""

from collections.abc import Sequence

from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeRemainingColumn
from rich.progress import Progress as ProgressBars

from pomdplite.cli.console import err, running_mean
from pomdplite.experiments import Episode, ProgressListener
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.planners import Planner, Sarsop
from pomdplite.views import text

_UPDATES = 200  # of a cell's bar: the running mean is not recomputed for every episode


class ProgressDisplay(ProgressListener):
    """A bar for the current cell, and for a study or tuning one for all cells and a line per finished cell."""

    def __init__(self, *, lines: bool) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), TimeRemainingColumn())
        self.bars = ProgressBars(*columns, console=err, transient=True, disable=not err.is_terminal)
        self.total: int | None = None  # episodes of the whole study; None before it has started
        self.done = 0  # of them, before this run
        self._lines = lines  # whether finished cells leave a line
        self.returns: list[float] = []  # of the current cell
        self._shown = 0  # of them, on the bars
        self._cell: TaskID | None = None  # the current cell's bar

    def started(self, total: int, done: int) -> None:
        """Show the bar for all cells."""
        self.total, self.done = total, done
        self._all = self.bars.add_task("all", total=total, completed=done)

    def preparing(self, cell: Cell, planner: Planner) -> None:
        """Show the cell's bar, without episodes yet."""
        label = self._label(cell)
        task = self._cell = self.bars.add_task(f"{escape(label)}  preparing", total=cell.episodes)
        self.returns, self._shown = [], 0
        if isinstance(planner, Sarsop):
            planner.progress = lambda p: self.bars.update(task, description=escape(f"{label}  {text.solving(p)}"))

    def playing(self, cell: Cell, stored: Sequence[Episode]) -> None:
        """Start the cell's bar at the stored episodes."""
        self.returns = [e.discounted for e in stored]
        self._shown = len(stored)
        if self._cell is not None:
            self.bars.reset(self._cell, completed=len(stored))

    def played(self, cell: Cell, episodes: Sequence[Episode]) -> None:
        """Advance both bars."""
        self.returns += [e.discounted for e in episodes]
        if len(self.returns) - self._shown >= cell.episodes / _UPDATES:
            self._advance(cell)

    def finished(self, cell: Cell) -> None:
        """Replace the cell's bar by a line."""
        self._remove(cell, f"{running_mean(self.returns)} ({cell.episodes:,})")

    def pruned(self, cell: Cell) -> None:
        """Replace the cell's bar by a line; its remaining episodes count as done."""
        self._remove(cell, f"{running_mean(self.returns)} ({len(self.returns):,})  abandoned")
        self.bars.update(self._all, advance=cell.episodes - len(self.returns))

    def failed(self, cell: Cell, reason: str) -> None:
        """Replace the cell's bar by the reason."""
        self._remove(cell, f"– {reason}")

    def message(self, text: str) -> None:
        """Print a line above the bars."""
        self.bars.console.print(escape(text), highlight=False, soft_wrap=True)

    def _label(self, cell: Cell) -> str:
        return f"{cell.problem} {text.cell_name(cell) if self._lines else cell.planner}"

    def _advance(self, cell: Cell) -> None:
        new, self._shown = len(self.returns) - self._shown, len(self.returns)
        if new and self._cell is not None and not self.bars.disable:
            label = escape(f"{self._label(cell)}  {running_mean(self.returns)}")
            self.bars.update(self._cell, advance=new, description=label)
            if self.total is not None:
                self.bars.update(self._all, advance=new)

    def _remove(self, cell: Cell, result: str) -> None:
        """Remove the cell's bar, and leave a line with the result."""
        self._advance(cell)
        if self._cell is not None:
            self.bars.remove_task(self._cell)
            self._cell = None
        if self._lines:
            self.message(f"{self._label(cell)}  {result}")
