"""Episodes in this process or on worker processes: handed out in small batches, given back as they end.

Forked workers inherit the prepared planner; where there is no fork they get a copy and prepare it themselves.
Which worker plays an episode changes nothing in it, so neither does their number.
"""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from pomdplite.errors import PomdpLiteError
from pomdplite.experiments.episodes.episode import Episode, rehearse, run_episode
from pomdplite.planners.base import Planner
from pomdplite.worlds import WorldMaker, make_world

_BATCH_SECONDS = 0.2  # a worker that is faster gets larger batches
_SEND_SECONDS = 0.02  # episodes that end closer together than this are sent together


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Ctrl-C inside a compiled function comes out as a SystemError; here it is a KeyboardInterrupt again."""
    try:
        yield
    except SystemError as error:
        if isinstance(error.__cause__ or error.__context__, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise


def play(
    planner: Planner, seed: int, indices: Sequence[int], workers: int, world: WorldMaker = "model"
) -> Iterator[list[Episode]]:
    """Play these episodes, in any order, and give them as they end; an error in a worker is raised here."""
    with plain_interrupts():
        rehearse(planner)
    if workers == 1:
        with make_world(world, planner.model) as place:
            for index in indices:
                with plain_interrupts():
                    episode = run_episode(planner, place, seed, index)
                yield [episode]
    else:
        yield from _shared_out(planner, seed, indices, workers, world)


def _shared_out(
    planner: Planner, seed: int, indices: Sequence[int], workers: int, world: WorldMaker
) -> Iterator[list[Episode]]:
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    waiting = list(reversed(indices))
    pipes: dict[Any, tuple[Connection, Any]] = {}  # parent's end -> (itself, process)
    for _ in range(workers):
        ours, theirs = context.Pipe()
        process = context.Process(target=_work, args=(planner, seed, world, theirs), daemon=True)  # type: ignore[attr-defined]
        process.start()
        theirs.close()
        pipes[ours] = (ours, process)
    batch = dict.fromkeys(pipes, 1)
    try:
        busy = set()
        for pipe in pipes:
            busy |= _hand_out(pipe, waiting, 1)
        while busy:
            for pipe in wait(list(busy)):
                episodes, seconds, error = _receive(pipe, pipes[pipe][1])
                yield episodes
                if error is not None:
                    raise error
                if seconds is None:
                    continue  # there is more to come of this batch
                if seconds < _BATCH_SECONDS:
                    batch[pipe] = min(2 * batch[pipe], 1 + len(waiting) // (2 * workers))
                busy.discard(pipe)
                busy |= _hand_out(pipe, waiting, batch[pipe])
    finally:
        for pipe, process in pipes.values():
            pipe.close()
            process.terminate()
        for _, process in pipes.values():
            process.join()


def _hand_out(pipe: Any, waiting: list[int], count: int) -> set[Any]:
    """Give the worker its next episodes; the pipe to wait for, if there were any."""
    batch = [waiting.pop() for _ in range(min(count, len(waiting)))]
    if not batch:
        return set()
    pipe.send(batch)
    return {pipe}


def _receive(pipe: Any, process: Any) -> tuple[list[Episode], float | None, BaseException | None]:
    try:
        return pipe.recv()
    except EOFError:
        process.join()
        raise PomdpLiteError(
            f"a worker process died (exit code {process.exitcode}: killed, or out of memory); try fewer workers."
        ) from None


def _work(planner: Planner, seed: int, world: WorldMaker, pipe: Connection) -> None:
    """A worker: play batches until the other end closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # which is how it ends its workers
    planner.prepare()
    parent, place = os.getppid(), None
    while True:
        while not pipe.poll(2.0):
            if os.getppid() != parent:  # it was killed
                return
        try:
            batch = pipe.recv()
        except EOFError:
            return
        started, error = time.perf_counter(), None
        episodes: list[Episode] = []
        sent = started
        try:
            place = place or make_world(world, planner.model)
            for index in batch:
                if episodes and time.perf_counter() - sent > _SEND_SECONDS:
                    pipe.send((episodes, None, None))
                    episodes, sent = [], time.perf_counter()
                episodes.append(run_episode(planner, place, seed, index))
        except Exception as problem:  # noqa: BLE001  sent to the parent, which raises it
            error = problem
        pipe.send((episodes, time.perf_counter() - started, error))
