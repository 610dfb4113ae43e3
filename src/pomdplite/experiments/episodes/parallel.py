"""Episodes on local worker processes: handed out in small batches, returned as they finish.

Forked workers inherit the prepared planner; without fork they receive a copy and prepare it themselves. Which worker
plays an episode changes nothing in it, and neither does the number of workers.

This uses multiprocessing rather than concurrent.futures, because ProcessPoolExecutor does not

- stop running workers on Ctrl-C (before Python 3.14): it waits for them, and an episode may take minutes
- end its workers if the parent is killed: they hold each other's queue open and stay behind as orphans
- return finished episodes of a batch before the batch is complete, so that a killed program loses little
"""

import logging
import multiprocessing
import os
import pickle
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection, wait
from typing import Any

from pomdplite.compile.interrupts import end_with_parent
from pomdplite.errors import PomdpLiteError
from pomdplite.experiments.episodes.episode import Episode, run_episode
from pomdplite.mdp import memory
from pomdplite.planners.base import Planner
from pomdplite.worlds import World, WorldMaker, make_world

log = logging.getLogger("pomdplite")

_BATCH_SECONDS = 0.2  # a worker that is faster gets larger batches
_SEND_SECONDS = 0.02  # episodes that finish within this time of each other are sent together
_PARENT_CHECK_SECONDS = 2.0
_SIGNALS = {signal.SIGINT, signal.SIGTERM}


def play_on_workers(
    planner: Planner, seed: int, indices: Sequence[int], workers: int, world: WorldMaker
) -> Generator[list[Episode], None, None]:
    """Play these episodes, in any order, and yield them as they finish; an error in a worker is raised here."""
    waiting = list(reversed(indices))
    processes: dict[Any, Any] = {}  # by the parent's end of the pipe
    try:
        for _ in range(workers):
            pipe, process = _started(planner, seed, world, workers)
            processes[pipe] = process
        batch_size = dict.fromkeys(processes, 1)
        busy = {pipe for pipe, process in processes.items() if _send_batch(pipe, process, waiting, 1)}
        while busy:
            for pipe in wait(list(busy)):
                try:
                    episodes, seconds, error = _receive(pipe, processes[pipe])
                except WorkerDiedError:
                    yield from _finished(busy - {pipe})
                    raise
                yield episodes
                if error is not None:
                    raise error
                if seconds is None:
                    continue  # the batch is not complete yet
                if seconds < _BATCH_SECONDS:
                    batch_size[pipe] = min(2 * batch_size[pipe], 1 + len(waiting) // (2 * workers))
                if not _send_batch(pipe, processes[pipe], waiting, batch_size[pipe]):
                    busy.discard(pipe)
    finally:
        for pipe, process in processes.items():
            pipe.close()
            process.terminate()
        for process in processes.values():
            process.join()


class WorkerDiedError(PomdpLiteError, RuntimeError):
    """A worker process ended without being asked to."""

    def __init__(self, process: Any) -> None:
        process.join()
        super().__init__(
            f"a worker process died (exit code {process.exitcode}: killed, or out of memory); try fewer workers."
        )


def _started(planner: Planner, seed: int, world: WorldMaker, workers: int) -> tuple[Any, Any]:
    """A worker process, and the parent's end of the pipe to it."""
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    ours, theirs = context.Pipe()
    given = (planner, seed, world, theirs, workers)
    process = context.Process(target=_work, args=given, daemon=True)  # type: ignore[attr-defined]
    try:
        with _signals_held():  # until the worker handles them in its own way
            process.start()
    except OSError as error:
        ours.close()
        raise PomdpLiteError(f"cannot start a worker process ({error.strerror}); try fewer workers.") from None
    finally:
        theirs.close()
    return ours, process


@contextmanager
def _signals_held() -> Iterator[None]:
    """Hold back Ctrl-C and termination; a forked worker inherits that."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _send_batch(pipe: Any, process: Any, waiting: list[int], count: int) -> bool:
    """Send a worker its next episodes; False if there are none left."""
    batch = [waiting.pop() for _ in range(min(count, len(waiting)))]
    if batch:
        try:
            pipe.send(batch)
        except OSError:
            raise WorkerDiedError(process) from None
    return bool(batch)


def _receive(pipe: Any, process: Any) -> tuple[list[Episode], float | None, BaseException | None]:
    try:
        return pipe.recv()
    except (EOFError, OSError):  # OSError: it died while sending
        raise WorkerDiedError(process) from None


def _finished(pipes: Iterable[Any]) -> Iterator[list[Episode]]:
    """What other workers have already sent."""
    for pipe in pipes:
        try:
            while pipe.poll():
                yield pipe.recv()[0]
        except (EOFError, OSError) as error:
            log.debug("another worker died too: %s", error)


def _work(planner: Planner, seed: int, world: WorldMaker, pipe: Connection, workers: int) -> None:
    """The worker process: play batches until the parent closes the pipe."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # and terminates its workers
    end_with_parent()  # a parent that is killed cannot terminate them
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    memory.share(workers)
    planner.prepare()  # does nothing in a forked worker
    try:
        _play_batches(planner, seed, world, pipe)
    except (EOFError, OSError) as error:
        log.debug("the parent has closed the pipe: %s", error)


def _play_batches(planner: Planner, seed: int, world: WorldMaker, pipe: Connection) -> None:
    """Play batches in a world of this process's own, which is closed in the end."""
    with ExitStack() as closing:
        _play_in(lambda: closing.enter_context(make_world(world, planner.model)), planner, seed, pipe)


def _play_in(make: Callable[[], World], planner: Planner, seed: int, pipe: Connection) -> None:
    parent, place = os.getppid(), None
    while True:
        while not pipe.poll(_PARENT_CHECK_SECONDS):
            if os.getppid() != parent:  # the parent was killed
                return
        batch = pipe.recv()
        started, failure = time.perf_counter(), None
        episodes: list[Episode] = []
        sent = started
        for index in batch:
            if episodes and time.perf_counter() - sent > _SEND_SECONDS:
                pipe.send((episodes, None, None))
                episodes, sent = [], time.perf_counter()
            try:
                place = place or make()
                episodes.append(run_episode(planner, place, seed, index))
            except Exception as error:  # noqa: BLE001  raised in the parent
                failure = _portable(error)
                break
        pipe.send((episodes, time.perf_counter() - started, failure))


def _portable(error: Exception) -> Exception:
    """The error as the parent can receive it: not every exception survives the way."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # noqa: BLE001  an exception's own methods decide
        return PomdpLiteError(f"a worker failed with {type(error).__name__}: {error}")
    return error
