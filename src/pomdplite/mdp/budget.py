"""The search budget of one step: seconds or simulations."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pomdplite.errors import UsageError

DEFAULT_SECONDS = 0.1  # per step, if no budget is given
_BATCH_SECONDS = 0.004  # target time between two readings of the clock
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

    def start(self) -> "Clock":
        """Start the clock."""
        return Clock(self)


class Clock:
    """Spends a budget in batches: while (count := clock.portion(done)) > 0, run `count` simulations.

    Batches grow and shrink so that the clock is read often enough to keep the budget, and not more often.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._now = CLOCKS[budget.clock]
        self.started = self._batch_started = self._now()
        self._size = 0

    def portion(self, done: int) -> int:
        """How many simulations to run next, after `done` of them; 0 when the budget is spent."""
        most, seconds = self.budget.simulations, self.budget.seconds
        now = self._now()
        if (most is not None and done >= most) or (
            seconds is not None and self._size and now - self.started >= seconds
        ):
            return 0
        total = seconds if seconds is not None else math.inf
        if self._size == 0:
            self._size = 1
        elif now - self._batch_started < min(0.02 * total, _BATCH_SECONDS):
            self._size *= 2
        elif now - self._batch_started > min(0.05 * total, 2 * _BATCH_SECONDS):
            self._size = max(1, self._size // 2)
        self._batch_started = now
        return self._size if most is None else min(self._size, most - done)
