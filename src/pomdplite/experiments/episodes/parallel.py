"""Episodes on local worker processes: handed out in small batches, returned as they finish.

Forked workers inherit the prepared planner; without fork they receive a copy and prepare it themselves. Which worker
plays an episode changes nothing in it, and neither does the number of workers.

This uses multiprocessing rather than concurrent.futures, because ProcessPoolExecutor does not

- stop running workers on Ctrl-C (before Python 3.14): it waits for them, and an episode may take minutes
- end its workers if the parent is killed: they hold each other's queue open and stay behind as orphans
- return finished episodes of a batch before the batch is complete, so that a killed program loses little
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Generator, Sequence
from multiprocessing.connection import Connection, wait
from typing import Any

from pomdplite.compile.interrupts import end_with_parent
from pomdplite.errors import PomdpLiteError
from pomdplite.experiments.episodes.episode import Episode, run_episode
from pomdplite.planners.base import Planner
from pomdplite.worlds import WorldMaker, make_world

_BATCH_SECONDS = 0.2  # a worker that is faster gets larger batches
_SEND_SECONDS = 0.02  # episodes that finish within this time of each other are sent together
_PARENT_CHECK_SECONDS = 2.0


def play_on_workers(
    planner: Planner, seed: int, indices: Sequence[int], workers: int, world: WorldMaker
) -> Generator[list[Episode], None, None]:
    """Play these episodes, in any order, and yield them as they finish; an error in a worker is raised here."""
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    waiting = list(reversed(indices))
    processes: dict[Any, Any] = {}  # by the parent's end of the pipe
    for _ in range(workers):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(planner, seed, world, theirs), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        processes[ours] = process
    batch_size = dict.fromkeys(processes, 1)
    try:
        busy = {pipe for pipe in processes if _send_batch(pipe, waiting, 1)}
        while busy:
            for pipe in wait(list(busy)):
                episodes, seconds, error = _receive(pipe, processes[pipe])
                yield episodes
                if error is not None:
                    raise error
                if seconds is None:
                    continue  # the batch is not complete yet
                if seconds < _BATCH_SECONDS:
                    batch_size[pipe] = min(2 * batch_size[pipe], 1 + len(waiting) // (2 * workers))
                if not _send_batch(pipe, waiting, batch_size[pipe]):
                    busy.discard(pipe)
    finally:
        for pipe, process in processes.items():
            pipe.close()
            process.terminate()
        for process in processes.values():
            process.join()


def _send_batch(pipe: Any, waiting: list[int], count: int) -> bool:
    """Send a worker its next episodes; False if there are none left."""
    batch = [waiting.pop() for _ in range(min(count, len(waiting)))]
    if batch:
        pipe.send(batch)
    return bool(batch)


def _receive(pipe: Any, process: Any) -> tuple[list[Episode], float | None, BaseException | None]:
    try:
        return pipe.recv()
    except EOFError:
        process.join()
        raise PomdpLiteError(
            f"a worker process died (exit code {process.exitcode}: killed, or out of memory); try fewer workers."
        ) from None


def _work(planner: Planner, seed: int, world: WorldMaker, pipe: Connection) -> None:
    """The worker process: play batches until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # and terminates its workers
    end_with_parent()  # a parent that is killed cannot terminate them
    planner.prepare()  # does nothing in a forked worker
    parent, place = os.getppid(), None
    while True:
        while not pipe.poll(_PARENT_CHECK_SECONDS):
            if os.getppid() != parent:  # the parent was killed
                return
        try:
            batch = pipe.recv()
        except EOFError:
            return
        started, failure = time.perf_counter(), None
        episodes: list[Episode] = []
        sent = started
        try:
            place = place or make_world(world, planner.model)
            for index in batch:
                if episodes and time.perf_counter() - sent > _SEND_SECONDS:
                    pipe.send((episodes, None, None))
                    episodes, sent = [], time.perf_counter()
                episodes.append(run_episode(planner, place, seed, index))
        except Exception as error:  # noqa: BLE001  raised in the parent
            failure = error
        pipe.send((episodes, time.perf_counter() - started, failure))
