"""Episodes on the workers of a dask.distributed cluster: sent out in small batches, stored here as they come back.

The planner is prepared here once, so that who cannot plan says so here and what is solved offline is solved once; it
travels as its pickle, and a worker keeps the last ones it was sent. What a dying worker had is played by another.
"""

import logging
import pickle
import queue
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pomdplite.errors import PomdpLiteError, UsageError
from pomdplite.experiments.episodes.episode import Episode, rehearse, run_episode
from pomdplite.experiments.studies.provenance import versions
from pomdplite.experiments.studies.results import Cell
from pomdplite.experiments.studies.watching import Watcher
from pomdplite.planners.base import Planner
from pomdplite.problems import make_model
from pomdplite.worlds import World, make_world, placed, planning_problem

_CONNECT_SECONDS = 10.0
_LOOK_SECONDS = 1.0  # between two looks at who is there
_BATCH_SECONDS = 1.0  # of a batch: long against its way to the worker, short against what a dead worker costs
_BATCHES_EACH = 2  # batches out for each worker: one being played and one waiting
_MUST_AGREE = ("pomdplite", "numpy", "numba")  # versions that the workers must share with this process
_KEPT = 2  # planners that a worker keeps prepared


class ClusterPlayers:
    """The workers of a scheduler; they may come and go."""

    def __init__(self, address: str, watcher: Watcher) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("a cluster needs dask.distributed: pip install 'pomdplite[cluster]'.") from None
        # What distributed logs of lost connections are pages of tracebacks; what matters of them is raised here.
        for name in list(logging.root.manager.loggerDict):
            if name.split(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self.address, self._watcher = address, watcher
        self.place = {"cluster": address}
        try:
            self._client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:  # what an address that leads nowhere, or is none, comes to
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise PomdpLiteError(f"no dask scheduler answers at {address}: {reason}") from None

    def close(self) -> None:
        """Leave the cluster; batches that are out are given up."""
        self._client.close(timeout=_CONNECT_SECONDS)

    def play(self, cell: Cell, planner: Planner, seed: int, indices: Sequence[int]) -> Iterator[list[Episode]]:
        """Play these episodes with the prepared planner."""
        waiting, size = list(reversed(indices)), 1
        out: dict[str, Any] = {}  # by their names, the batches that are being played
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        agreed = {name: version for name, version in versions().items() if name in _MUST_AGREE}
        name = uuid.uuid4().hex
        sent = self._client.submit(_Parcel, pickle.dumps(planner), *_everywhere(cell.problem), name, agreed, pure=False)
        capacity, looked = 0, 0.0
        while waiting or out:
            if time.monotonic() - looked > _LOOK_SECONDS:
                capacity, looked = _BATCHES_EACH * self._threads(), time.monotonic()
            while waiting and len(out) < capacity:
                batch = [waiting.pop() for _ in range(min(size, len(waiting), 1 + len(waiting) // capacity))]
                future = self._client.submit(_play, sent, seed, batch, pure=False)
                out[future.key] = future
                future.add_done_callback(ended.put)
            try:
                future = ended.get(timeout=_LOOK_SECONDS)
            except queue.Empty:
                continue
            episodes, seconds = self._result(future)
            del out[future.key]
            yield episodes
            size = max(1, min(2 * size, int(len(episodes) * _BATCH_SECONDS / max(seconds, 1e-9))))

    def _threads(self) -> int:
        """How many batches the cluster plays at once."""
        if self._client.status != "running":
            raise self._lost()
        try:
            threads = sum(self._client.nthreads().values())
        except (OSError, RuntimeError):  # the connection broke while we asked
            raise self._lost() from None
        if threads == 0:
            self._watcher.note(f"waiting for workers at {self.address}")
        return threads

    def _result(self, future: Any) -> tuple[list[Episode], float]:
        """What a batch came to, or the reason why it came to nothing."""
        from distributed import KilledWorker

        if future.status == "finished":
            return future.result()
        if future.status != "error":  # given up with the connection
            raise self._lost()
        error = future.exception()
        if isinstance(error, PomdpLiteError):
            raise error
        if isinstance(error, KilledWorker):
            raise PomdpLiteError("several workers died while playing the same episodes: out of memory?")
        raise PomdpLiteError(f"a worker failed with {type(error).__name__}: {error}")

    def _lost(self) -> PomdpLiteError:
        return PomdpLiteError(f"the connection to the dask scheduler at {self.address} is lost.")


class _Parcel:
    """A planner on its way to the workers."""

    def __init__(self, pickled: bytes, problem: str, world: str, name: str, agreed: dict[str, str]) -> None:
        self.pickled, self.problem, self.world, self.name, self.agreed = pickled, problem, world, name, agreed


_kept: OrderedDict[str, tuple[Planner, World]] = OrderedDict()  # in a worker, by the parcels' names
_one_at_a_time = threading.Lock()  # planners are not for two threads, and threads would take each other's time


def _play(parcel: _Parcel, seed: int, indices: list[int]) -> tuple[list[Episode], float]:
    """In a worker: play these episodes; the seconds that they took."""
    with _one_at_a_time:
        planner, world = _unpacked(parcel)
        started = time.perf_counter()
        episodes = [run_episode(planner, world, seed, index) for index in indices]
        return episodes, time.perf_counter() - started


def _unpacked(parcel: _Parcel) -> tuple[Planner, World]:
    if parcel.name not in _kept:
        here = versions()
        for name, version in parcel.agreed.items():
            if here[name] != version:
                raise PomdpLiteError(f"a worker has {name} {here[name]}, but the study is run with {version}.")
        make_model(parcel.problem)  # a model from a user's file is then known by the name that its pickle has
        planner: Planner = pickle.loads(parcel.pickled)
        rehearse(planner)
        _kept[parcel.name] = planner, make_world(parcel.world, planner.model)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)[1][1].close()
    return _kept[parcel.name]


def _everywhere(cell: str) -> tuple[str, str]:
    """The problem that is planned with, by a name that means the same in another folder, and the world."""
    problem, world = placed(cell)
    file, colon, name = problem.rpartition(":")
    return f"{Path(file).expanduser().resolve()}:{name}" if colon else planning_problem(problem, world), world
