"""A study into its file: for each cell the episodes that are missing, here or on a cluster."""

import os
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from pomdplite.errors import NotConvergingError, TooLargeError, UsageError
from pomdplite.experiments.episodes.episode import Episode
from pomdplite.experiments.episodes.parallel import plain_interrupts, play
from pomdplite.experiments.studies.cluster import ClusterPlayers
from pomdplite.experiments.studies.results import Cell, Results
from pomdplite.experiments.studies.store import Store
from pomdplite.experiments.studies.study import Study
from pomdplite.experiments.studies.watching import Watcher
from pomdplite.planners import make_planner
from pomdplite.planners.base import Planner
from pomdplite.worlds import make_world, placed, planning_model

CANNOT = (TooLargeError, NotConvergingError, UsageError)  # what a planner says that cannot plan for a problem


class Players(Protocol):
    """Who plays episodes."""

    place: dict[str, str]  # told in the file

    def play(self, cell: Cell, planner: Planner, seed: int, indices: Sequence[int]) -> Iterator[list[Episode]]:
        """Play these episodes with the prepared planner, in any order, and give them as they end."""

    def close(self) -> None:
        """The study is over."""


class LocalPlayers:
    """Processes of this machine."""

    def __init__(self, workers: int | None, watcher: Watcher) -> None:
        self.workers, self._watcher = workers or cores(), watcher
        self.place = {"workers": str(self.workers)}

    def play(self, cell: Cell, planner: Planner, seed: int, indices: Sequence[int]) -> Iterator[list[Episode]]:
        """Play these episodes with the prepared planner."""
        workers = self.workers
        if planner.budget is not None and planner.budget.seconds is not None and workers > cores():
            workers = cores()  # workers that share a core would take each other's time
            self._watcher.note(f"{cell.planner} has a budget in seconds: {workers} workers, one for each core")
        yield from play(planner, seed, indices, min(workers, len(indices)), placed(cell.problem)[1])

    def close(self) -> None:
        """Nothing to leave: the processes end with their cell."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run_study(
    study: Study, path: str | Path, *, workers: int | None = None, dask: str | None = None, watcher: Watcher
) -> Results:
    """Play what is missing of a study, and give what its file then holds."""
    if workers is not None and workers < 1:
        raise UsageError(f"workers must be at least 1, not {workers}.")
    with Store.create(path, study) as store:
        players: Players = LocalPlayers(workers, watcher) if dask is None else ClusterPlayers(dask, watcher)
        with closing(players):
            _fill(study, store, players, watcher)
        return store.results()


def _fill(study: Study, store: Store, players: Players, watcher: Watcher) -> None:
    """Play every cell's missing episodes, in the study's order."""
    wanted = {number: cell for number, cell in enumerate(study.cells) if store.reason(number) is None}
    there = {number: len(store.episodes(number)) for number in wanted}
    watcher.starting(sum(c.episodes for c in wanted.values()), sum(there.values()))
    unfinished = [cell for number, cell in wanted.items() if there[number] < cell.episodes]
    if unfinished:
        store.begin_run(players.place, {cell.problem: setting(cell.problem) for cell in unfinished})
    for number, cell in wanted.items():
        stored = store.episodes(number)
        found = {e.index for e in stored}
        missing = [i for i in range(cell.episodes) if i not in found]
        if not missing:
            continue
        try:
            with plain_interrupts():
                planner = prepared(cell, study.clock, watcher)
            store.set_prepared(number, planner.preparation_seconds)
            watcher.playing(cell, stored)
            for episodes in players.play(cell, planner, study.seed, missing):
                store.add(number, episodes)
                watcher.played(cell, episodes)
        except CANNOT as error:
            store.set_reason(number, str(error))
            watcher.cannot(cell, str(error))
        else:
            watcher.finished(cell)


def setting(problem: str) -> dict[str, str]:
    """What a problem and its world are made with.

    What a world lacks here, it may have elsewhere: that stops the study before it begins, and is no result.
    """
    name, world = placed(problem)
    model = planning_model(name, world)
    own = getattr(model, "constants", None)  # a model may tell
    found = {"discount": f"{model.discount:g}", "episode limit": f"{model.episode_horizon:,} steps"}
    found |= {} if model.beta is None else {"β": f"{model.beta:g}"}
    found |= own() if callable(own) else {}
    if world != "model":
        with make_world(world, model) as place:
            found |= place.constants()
    return found


def prepared(cell: Cell, clock: str, watcher: Watcher) -> Planner:
    """The cell's planner, ready to play."""
    planner = make_planner(cell.planner, planning_model(*placed(cell.problem)), **cell.parameters)
    planner.use_clock(clock)
    watcher.preparing(cell, planner)
    planner.prepare()
    return planner
