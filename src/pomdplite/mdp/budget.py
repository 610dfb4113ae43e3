"""Budgets: the search budget of one step, in seconds or simulations, and the time limit of preparing a planner.

All time in planners is read from CLOCKS, by the name of the planner's clock.
"""

import math
import time
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, replace
from typing import Any

from numba.core import event

from pomdplite.errors import TooLargeError, UsageError

DEFAULT_SECONDS = 0.1  # per step, if no budget is given
SOLVE_SECONDS = 300.0  # for preparing a planner, if no limit is given
_BATCH_SECONDS = 0.004  # target time between two readings of the clock
_LATE = 0.05, 0.01  # of the budget, and seconds: how late a batch may be expected to end
_INSTEAD = "use a planner that searches online (pomcp or despot)"
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.thread_time}


@dataclass(frozen=True)
class Budget:
    """Seconds, or simulations. With simulations the result depends on the seed alone."""

    seconds: float | None = DEFAULT_SECONDS
    simulations: int | None = None
    clock: str = "wall"  # or "cpu": CPU time of this thread, for measurements on a shared machine

    @classmethod
    def of(cls, time: float | None, sims: int | None) -> "Budget":
        """The budget that the user gave; the default if both are None."""
        if time is not None and not (math.isfinite(time) and time > 0):
            raise UsageError(f"time must be a positive number of seconds, not {time!r}.")
        if sims is not None and sims < 1:
            raise UsageError(f"sims must be at least 1, not {sims!r}.")
        if time is not None and sims is not None:
            raise UsageError("give a budget as time or as sims, not both.")
        return cls(None, sims) if sims is not None else cls(DEFAULT_SECONDS if time is None else time)

    def __str__(self) -> str:
        if self.simulations is not None:
            return f"{self.simulations:,} simulations per step"
        return f"{self.seconds:g} s per step"

    def scaled(self, share: float) -> "Budget":
        """A share of it; of simulations at least one."""
        if self.simulations is not None:
            return replace(self, simulations=max(1, round(share * self.simulations)))
        return self if self.seconds is None else replace(self, seconds=share * self.seconds)

    def start(self) -> "Clock":
        """Start the clock."""
        return Clock(self)


class Clock:
    """Spends a budget in batches: while (count := clock.portion(done)) > 0, run `count` simulations.

    Batches grow and shrink so that the clock is read often enough to keep the budget, and not more often. None is
    begun that, going by the last one, would end late.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._now = CLOCKS[budget.clock]
        self.started = self._batch_started = self._now()
        self._size = 0

    @property
    def left(self) -> float:
        """Seconds left; infinite if the budget is not in seconds."""
        seconds = self.budget.seconds
        return math.inf if seconds is None else self.started + seconds - self._now()

    def portion(self, done: int) -> int:
        """How many simulations to run next, after `done` of them; 0 when the budget is spent."""
        most, seconds = self.budget.simulations, self.budget.seconds
        now = self._now()
        if (most is not None and done >= most) or (
            seconds is not None and self._size and now - self.started >= seconds
        ):
            return 0
        total = seconds if seconds is not None else math.inf
        took, last_size = now - self._batch_started, self._size
        if self._size == 0:
            self._size = 1
        elif took < min(0.02 * total, _BATCH_SECONDS):
            self._size *= 2
        elif took > min(0.05 * total, 2 * _BATCH_SECONDS):
            self._size = max(1, self._size // 2)
        if seconds is not None and took > 0 and last_size:
            on_time = self.started + (1 + _LATE[0]) * seconds + _LATE[1] - now
            self._size = min(self._size, int(on_time * last_size / took))
            if self._size == 0:
                return 0
        self._batch_started = now
        return self._size if most is None else min(self._size, most - done)


class _Compiling(event.Listener):  # type: ignore[misc]
    """Counts the seconds spent compiling, on every clock."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys(CLOCKS, 0.0)
        self._depth = 0
        self._started: dict[str, float] = {}

    def on_start(self, event: Any) -> None:
        """A function begins to compile, perhaps while another does."""
        if self._depth == 0:
            self._started = {name: now() for name, now in CLOCKS.items()}
        self._depth += 1

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        self._depth -= 1
        if self._depth == 0:
            for name, now in CLOCKS.items():
                self.seconds[name] = self.seconds.get(name, 0.0) + now() - self._started.get(name, now())


_COMPILING = _Compiling()
event.register("numba:compile", _COMPILING)


class OutOfTimeError(TooLargeError):
    """Preparing takes longer than it may."""


class Deadline:
    """A limit on the seconds of one task. Compiling does not count: it is done once on a machine, not in each run."""

    def __init__(self, seconds: float = math.inf, clock: str = "wall") -> None:
        self.seconds, self.clock = seconds, clock
        self._now = CLOCKS[clock]
        self._started, self._compiled = self._now(), _COMPILING.seconds.get(clock, 0.0)

    @property
    def elapsed(self) -> float:
        """Seconds so far, without those spent compiling."""
        return self._now() - self._started - (_COMPILING.seconds.get(self.clock, 0.0) - self._compiled)

    @property
    def left(self) -> float:
        """Seconds left."""
        return self.seconds - self.elapsed

    def check(self, what: str, *, ahead: float = 0.0, instead: str = _INSTEAD) -> None:
        """Raise OutOfTimeError if the time is up, or will be after so many seconds more; `what` takes longer than that.

        `instead` says what else the user can do.
        """
        if self.elapsed + ahead >= self.seconds:
            raise OutOfTimeError(
                f"{what} takes longer than the {self.seconds:g} s allowed",
                f"allow more with solve_time, or {instead}.",
            )

    def until(self, share: float) -> "Deadline":
        """An earlier limit for the same task: after this share of the time that is left."""
        earlier = copy(self)
        earlier.seconds = self.elapsed + share * self.left if self.seconds < math.inf else math.inf
        return earlier

    def again(self) -> "Deadline":
        """The same limit for another task, from now on."""
        return Deadline(self.seconds, self.clock)

    def batches(self) -> Clock:
        """A clock whose portions are small enough to call `check` between them."""
        return Clock(Budget(None, None, self.clock))


NO_DEADLINE = Deadline()
