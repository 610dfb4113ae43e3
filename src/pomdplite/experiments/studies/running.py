"""Running a study into its file: the missing episodes of each cell are played here or on a cluster."""

from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

from pomdplite.errors import UsageError
from pomdplite.experiments.episodes.players import CANNOT_PLAN, LocalPlayers, Players, prepare_planner
from pomdplite.experiments.episodes.progress import ProgressListener
from pomdplite.experiments.studies.cluster import ClusterPlayers
from pomdplite.experiments.studies.definition import StudyDefinition
from pomdplite.experiments.studies.results import Results
from pomdplite.experiments.studies.store import StudyStore
from pomdplite.model.model import Model
from pomdplite.problems import files_loaded_once


def run_study(
    study: StudyDefinition,
    path: str | Path,
    *,
    workers: int | None = None,
    dask: str | None = None,
    listener: ProgressListener,
) -> Results:
    """Play what is missing of a study, and return what its file then holds."""
    if workers is not None and workers < 1:
        raise UsageError(f"workers must be at least 1, not {workers}.")
    with files_loaded_once():  # all cells of a run are played with the same version of the user's files
        models = {cell.problem: cell.scenario.planning_model() for cell in study.cells}
    with StudyStore.create(path, study) as store:
        players: Players = LocalPlayers(workers, listener) if dask is None else ClusterPlayers(dask, listener)
        try:
            with closing(players):
                _play_missing(study, models, store, players, listener)
        finally:
            store.checkpoint()
        return Results.from_store(store)


def _play_missing(
    study: StudyDefinition,
    models: Mapping[str, Model],
    store: StudyStore,
    players: Players,
    listener: ProgressListener,
) -> None:
    """Play every cell's missing episodes, in the study's order."""
    wanted = {number: cell for number, cell in enumerate(study.cells) if store.reason(number) is None}
    stored_counts = {number: len(store.episodes(number)) for number in wanted}
    listener.started(sum(c.episodes for c in wanted.values()), sum(stored_counts.values()))
    unfinished = [cell for number, cell in wanted.items() if stored_counts[number] < cell.episodes]
    if unfinished:
        # A world that is not installed here stops the study before it begins: that is not a result.
        store.begin_run(
            players.place, {cell.problem: cell.scenario.constants(models[cell.problem]) for cell in unfinished}
        )
    for number, cell in wanted.items():
        stored = store.episodes(number)
        found = {e.index for e in stored}
        missing = [i for i in range(cell.episodes) if i not in found]
        if not missing:
            continue
        try:
            planner, chosen = prepare_planner(cell, models[cell.problem], study.clock, listener)
            store.set_prepared(number, planner.preparation_seconds, chosen)
            listener.playing(cell, stored)
            with closing(players.play(cell, planner, study.seed, missing)) as batches:
                for episodes in batches:
                    store.add(number, episodes)
                    listener.played(cell, episodes)
        except CANNOT_PLAN as error:
            store.set_reason(number, str(error))
            listener.failed(cell, str(error))
        else:
            listener.finished(cell)
        store.checkpoint()
