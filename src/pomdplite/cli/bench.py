"""`pomdplite bench`: a study into its file, with progress on the screen and a table at the end."""

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from pomdplite.cli.console import err, out, running_mean
from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments import Episode, Results, Study
from pomdplite.experiments.studies.results import Cell
from pomdplite.experiments.studies.study import shipped
from pomdplite.experiments.studies.watching import Watcher
from pomdplite.planners import Planner, Sarsop
from pomdplite.views import text
from pomdplite.views.tables import tables
from pomdplite.views.terminal import print_in_full


def bench(
    study: Annotated[str | None, typer.Argument(help="a study's name, or the path of its .toml file")] = None,
    file: Annotated[
        Path | None, typer.Option("--out", help="the file of its episodes; begun again where it is")
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", "-w", min=1, help="processes; left out, one for each core")
    ] = None,
    episodes: Annotated[
        int | None, typer.Option("--episodes", "-n", min=1, help="of every cell; left out, what the study says")
    ] = None,
    dask: Annotated[str | None, typer.Option(help="play on a cluster: its scheduler, as tcp://host:port")] = None,
    list_: Annotated[bool, typer.Option("--list", help="the studies that come with the library")] = False,
) -> None:
    """Play a study, or what is missing of it, and keep every episode in a file."""
    if list_:
        out.print(_shipped_table())
        return
    if study is None or file is None:
        raise UsageError("name a study and its file: pomdplite bench STUDY --out FILE. `bench --list` shows studies.")
    if dask is not None and workers is not None:
        raise UsageError("--workers are of this machine; with --dask the cluster's workers play.")
    found = Study.find(study)
    screen = Screen()
    command = ["pomdplite", "bench", study, "--out", str(file)]
    if episodes is not None:
        found = found.with_episodes(episodes)
        command += ["--episodes", str(episodes)]
    command += ["--workers", str(workers)] if workers else ["--dask", dask] if dask else []
    try:
        with screen.progress:
            results = found.run(file, workers=workers, dask=dask, watcher=screen)
    except KeyboardInterrupt:
        if screen.total is None:  # it had not begun
            raise
        _stopped("interrupted", file, command)
        raise typer.Exit(130) from None
    except PomdpLiteError:
        if screen.total is not None:
            _stopped("stopped by an error", file, command)
        raise
    if screen.total == screen.done:
        err.print(f"all {screen.done:,} episodes are in {file} already", highlight=False)
    print_in_full(out, tables(results))


class Screen(Watcher):
    """A line for each cell that is finished, and below them a bar for the one under way and one for all."""

    def __init__(self) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(16), MofNCompleteColumn(), TimeRemainingColumn())
        self.progress = Progress(*columns, console=err, transient=True, disable=not err.is_terminal)
        self.total: int | None = None  # episodes of the whole study; None before it has begun
        self.done = 0  # of them, before this start
        self._returns: list[float] = []  # of the cell under way

    def starting(self, total: int, done: int) -> None:
        """Show the bar for all."""
        self.total, self.done = total, done
        self._all = self.progress.add_task("all", total=total, completed=done)

    def preparing(self, cell: Cell, planner: Planner) -> None:
        """Show the cell's bar, without episodes yet."""
        self._label = f"{cell.problem} {text.cell_name(cell)}"
        self._cell = self.progress.add_task(f"{escape(self._label)}  preparing", total=cell.episodes)
        if isinstance(planner, Sarsop):
            planner.progress = lambda p: self.progress.update(
                self._cell, description=escape(f"{self._label}  {text.solving(p)}")
            )

    def playing(self, cell: Cell, stored: Sequence[Episode]) -> None:
        """Start the cell's bar at what is there."""
        self._returns = [e.discounted for e in stored]
        self.progress.reset(self._cell, completed=len(stored))

    def played(self, cell: Cell, episodes: Sequence[Episode]) -> None:
        """Move both bars."""
        self._returns += [e.discounted for e in episodes]
        self.progress.update(
            self._cell, advance=len(episodes), description=escape(f"{self._label}  {running_mean(self._returns)}")
        )
        self.progress.update(self._all, advance=len(episodes))

    def finished(self, cell: Cell) -> None:
        """The cell's bar becomes a line that stays."""
        self._leave(f"{self._label}  {running_mean(self._returns)} ({cell.episodes:,})")

    def pruned(self, cell: Cell) -> None:
        """What is not played of it counts as done."""
        self.progress.update(self._all, advance=cell.episodes - len(self._returns))
        self._leave(f"{self._label}  {running_mean(self._returns)} ({len(self._returns):,})  given up")

    def cannot(self, cell: Cell, reason: str) -> None:
        """So it does where there is nothing to play."""
        self._leave(f"{self._label}  – {reason}")

    def note(self, message: str) -> None:
        """A line of its own."""
        self.progress.console.print(escape(message), highlight=False, soft_wrap=True)

    def _leave(self, line: str) -> None:
        self.progress.remove_task(self._cell)
        self.note(line)


def _stopped(why: str, file: Path, command: Sequence[str]) -> None:
    """What there is, and how to go on."""
    results = Results.read(file)
    print_in_full(out, tables(results))
    there = sum(len(r.episodes) for r in results.cells)
    err.print(f"{why}; {there:,} episodes are in {file}, {results.missing:,} are missing. To go on:", highlight=False)
    err.print(f"  {shlex.join(command)}", highlight=False, soft_wrap=True, markup=False)


def _shipped_table() -> Table:
    table = Table("study", "what it is", "cells", "episodes", box=None, padding=(0, 2, 0, 0))
    for name in shipped():
        study = Study.named(name)
        table.add_row(name, study.title, str(len(study.cells)), f"{sum(c.episodes for c in study.cells):,}")
    return table
