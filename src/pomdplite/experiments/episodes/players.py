"""The engine that evaluations, studies and tuning share: prepare a planner once, then play episodes with it."""

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from pomdplite.compile.interrupts import is_interrupt
from pomdplite.errors import NotConvergingError, TooLargeError, UnsuitableError
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode, rehearse, run_episode
from pomdplite.experiments.episodes.parallel import play_on_workers
from pomdplite.experiments.episodes.progress import ProgressListener
from pomdplite.model.model import Model
from pomdplite.planners import make_planner
from pomdplite.planners.base import Planner
from pomdplite.worlds import make_world

Batches = Generator[list[Episode], None, None]  # episodes as they finish; close it to stop the players

# How a planner says that it cannot handle a problem. That is a result: it will be so tomorrow. Other errors, such as a
# missing file, are not.
CANNOT_PLAN = (TooLargeError, NotConvergingError, UnsuitableError)


class Players(Protocol):
    """Whatever plays episodes: processes of this machine, or a cluster."""

    place: dict[str, str]  # recorded in a study's file

    def play(self, cell: Cell, planner: Planner, seed: int, indices: Sequence[int]) -> Batches:
        """Play these episodes with the prepared planner, in any order, and yield them as they finish."""

    def close(self) -> None:
        """Release workers and connections."""


class LocalPlayers:
    """Processes of this machine."""

    def __init__(self, workers: int | None, listener: ProgressListener) -> None:
        self.workers, self._listener = workers or available_cores(), listener
        self.place = {"workers": str(self.workers)}

    def play(self, cell: Cell, planner: Planner, seed: int, indices: Sequence[int]) -> Batches:
        """Play these episodes with the prepared planner."""
        workers = self.workers
        if planner.budget is not None and planner.budget.seconds is not None and workers > available_cores():
            workers = available_cores()  # workers that share a core would take each other's time
            self._listener.message(f"{cell.planner} has a time budget: using {workers} workers, one per core")
        workers = min(workers, len(indices))
        if workers > 1:
            yield from play_on_workers(planner, seed, indices, workers, cell.scenario.world)
            return
        with make_world(cell.scenario.world, planner.model) as world:
            for index in indices:
                with interrupts_restored():
                    episode = run_episode(planner, world, seed, index)
                yield [episode]

    def close(self) -> None:
        """Nothing to release: worker processes end with their cell."""


def available_cores() -> int:
    """The number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def prepare_planner(cell: Cell, model: Model, clock: str, listener: ProgressListener) -> tuple[Planner, dict[str, Any]]:
    """Make the cell's planner and prepare it. Also returns the parameters that it has chosen itself, such as β."""
    planner = make_planner(cell.planner, model, **cell.parameters)
    asked = planner.parameters
    planner.use_clock(clock)
    prepare(planner, cell, listener)
    return planner, {name: value for name, value in planner.parameters.items() if value != asked[name]}


def prepare(planner: Planner, cell: Cell, listener: ProgressListener) -> None:
    """Prepare a planner, and compile everything that its episodes will use."""
    listener.preparing(cell, planner)
    with interrupts_restored():
        rehearse(planner)


@contextmanager
def interrupts_restored() -> Iterator[None]:
    """Ctrl-C inside a compiled function surfaces as a SystemError; raise KeyboardInterrupt instead."""
    try:
        yield
    except SystemError as error:
        if is_interrupt(error):
            raise KeyboardInterrupt from None
        raise
