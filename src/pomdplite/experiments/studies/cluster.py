"""Episodes on the workers of a dask.distributed cluster: sent out in small batches, stored here as they come back.

The planner is prepared here once: a planner that cannot handle the problem fails here, and offline solutions are
computed once. It is sent as a pickle, and a worker caches the last ones it received. Batches of a worker that dies are
played by another.
"""

import logging
import pickle
import platform
import queue
import re
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from pomdplite.errors import PomdpLiteError, UsageError, shown
from pomdplite.experiments.episodes.cell import Cell
from pomdplite.experiments.episodes.episode import Episode, rehearse, run_episode
from pomdplite.experiments.episodes.players import CANNOT_PLAN, Batches
from pomdplite.experiments.episodes.progress import ProgressListener
from pomdplite.experiments.studies.provenance import versions
from pomdplite.planners.base import Planner
from pomdplite.worlds import Scenario, World, make_world

_CONNECT_SECONDS = 10.0
_POLL_SECONDS = 1.0  # between two looks at the list of workers
_BATCH_SECONDS = 1.0  # of a batch: long compared to its transfer, short compared to what a lost worker costs
_BATCHES_PER_WORKER = 2  # one being played and one queued
_MUST_AGREE = ("pomdplite", "numpy", "numba")  # packages whose versions must be the same on the workers
_CACHED = 2  # planners that a worker keeps prepared


class ClusterPlayers:
    """The workers of a scheduler; they may join and leave at any time."""

    def __init__(self, address: str, listener: ProgressListener) -> None:
        try:
            from distributed import Client
        except ImportError:
            raise UsageError("a cluster needs dask.distributed: pip install 'pomdplite[cluster]'.") from None
        # distributed logs pages of tracebacks about lost connections; what matters is raised here.
        for name in list(logging.root.manager.loggerDict):
            if name.split(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        parts = re.fullmatch(r"(?:\w+://)?.*:(\d+)", address)  # checked here: a client that fails to connect lingers
        if parts is None or not 0 < int(parts[1][:6]) < 65_536:
            raise UsageError(
                f"--dask {shown(address)[1:-1]}: give the scheduler's address, for example tcp://host:8786."
            )
        self.address, self._listener = address, listener
        self.place = {"cluster": address}
        try:
            self._client = Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, ImportError) as error:  # unreachable or malformed address
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            raise PomdpLiteError(f"no dask scheduler answers at {address}: {reason}") from None

    def close(self) -> None:
        """Disconnect from the cluster; batches under way are abandoned."""
        self._client.close(timeout=_CONNECT_SECONDS)

    def play(self, cell: Cell, planner: Planner, seed: int, indices: Sequence[int]) -> Batches:
        """Play these episodes with the prepared planner."""
        waiting, size = list(reversed(indices)), 1
        out: dict[str, Any] = {}  # the batches under way, by their keys
        ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        agreed = {name: version for name, version in versions().items() if name in _MUST_AGREE}
        scenario = replace(cell.scenario.absolute(), model=None)
        arguments = (pickle.dumps(planner), scenario, scenario.source, uuid.uuid4().hex, agreed)
        sent = self._client.submit(_SentPlanner, *arguments, pure=False)
        capacity, looked = 0, 0.0
        while waiting or out:
            if time.monotonic() - looked > _POLL_SECONDS:
                capacity, looked = _BATCHES_PER_WORKER * self._threads(), time.monotonic()
            while waiting and len(out) < capacity:
                batch = [waiting.pop() for _ in range(min(size, len(waiting), 1 + len(waiting) // capacity))]
                future = self._client.submit(_play, sent, seed, batch, pure=False)
                out[future.key] = future
                future.add_done_callback(ended.put)
            try:
                future = ended.get(timeout=_POLL_SECONDS)
            except queue.Empty:
                continue
            episodes, seconds = self._result(future)
            del out[future.key]
            yield episodes
            size = max(1, min(2 * size, int(len(episodes) * _BATCH_SECONDS / max(seconds, 1e-9))))

    def _threads(self) -> int:
        """How many batches the cluster can play at once."""
        if self._client.status != "running":
            raise self._lost()
        try:
            threads = sum(self._client.nthreads().values())
        except (OSError, RuntimeError):  # the connection broke during the request
            raise self._lost() from None
        if threads == 0:
            self._listener.message(f"waiting for workers at {self.address}")
        return threads

    def _result(self, future: Any) -> tuple[list[Episode], float]:
        """The episodes of a batch and the seconds they took; raises the error if the batch failed."""
        from distributed import KilledWorker

        if future.status == "finished":
            return future.result()
        if future.status != "error":  # cancelled, because the connection was lost
            raise self._lost()
        error = future.exception()
        if isinstance(error, UsageError) and not isinstance(error, CANNOT_PLAN):
            raise PomdpLiteError(f"a worker cannot play: {error}")  # the mistake is there, not in the arguments here
        if isinstance(error, PomdpLiteError):
            raise error
        if isinstance(error, KilledWorker):
            raise PomdpLiteError("several workers died while playing the same episodes: out of memory?")
        raise PomdpLiteError(f"a worker failed with {type(error).__name__}: {error}")

    def _lost(self) -> PomdpLiteError:
        return PomdpLiteError(f"the connection to the dask scheduler at {self.address} is lost.")


@dataclass(frozen=True)
class _SentPlanner:
    """A planner as it is sent to the workers."""

    pickled: bytes
    scenario: Scenario
    source: str | None  # digest of the user's modules behind problem and world, as the client loaded them
    name: str
    agreed: dict[str, str]  # versions of packages


_cache: OrderedDict[str, tuple[Planner, World]] = OrderedDict()  # in a worker, by the sent planners' names
_lock = threading.Lock()  # planners are not thread-safe, and threads would take each other's time


def _play(sent: _SentPlanner, seed: int, indices: list[int]) -> tuple[list[Episode], float]:
    """In a worker: play these episodes; also returns the seconds they took."""
    with _lock:
        planner, world = _unpacked(sent)
        started = time.perf_counter()
        episodes = [run_episode(planner, world, seed, index) for index in indices]
        return episodes, time.perf_counter() - started


def _unpacked(sent: _SentPlanner) -> tuple[Planner, World]:
    if sent.name not in _cache:
        here = versions()
        for name, version in sent.agreed.items():
            if here[name] != version:
                raise PomdpLiteError(f"a worker has {name} {here[name]}, but this study runs with {version}.")
        sent.scenario.load_files()  # registers the module of a user's file, so that it can be unpickled
        if sent.scenario.source != sent.source:
            raise PomdpLiteError(
                f"the worker on {platform.node()} has another version of {sent.scenario.problem.rpartition(':')[0]}, "
                "or of a module that it imports, than this study was started with."
            )
        planner: Planner = pickle.loads(sent.pickled)
        rehearse(planner)
        _cache[sent.name] = planner, make_world(sent.scenario.world, planner.model)
        while len(_cache) > _CACHED:
            _cache.popitem(last=False)[1][1].close()
    return _cache[sent.name]
