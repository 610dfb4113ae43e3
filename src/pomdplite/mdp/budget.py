"""How long a planner may think about one step: seconds, or simulations."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from pomdplite.errors import UsageError

DEFAULT_SECONDS = 0.1  # of search per step, where no budget is given
_CHUNK_SECONDS = 0.004  # of simulations between two looks at the clock
CLOCKS: dict[str, Callable[[], float]] = {"wall": time.perf_counter, "cpu": time.thread_time}  # what seconds mean


@dataclass(frozen=True)
class Budget:
    """Seconds, or simulations (then the result depends on the seed alone)."""

    seconds: float | None = DEFAULT_SECONDS
    simulations: int | None = None
    clock: str = "wall"  # or "cpu": seconds of this thread's processor time, for measuring on a shared machine

    @classmethod
    def of(cls, time: float | None, sims: int | None) -> "Budget":
        """The budget that a user gave; both None: the default."""
        if time is not None and not (math.isfinite(time) and time > 0):
            raise UsageError(f"time must be a positive number of seconds, not {time!r}.")
        if sims is not None and sims < 1:
            raise UsageError(f"sims must be at least 1, not {sims!r}.")
        if time is not None and sims is not None:
            raise UsageError("give a budget in time or in sims, not both.")
        return cls(None, sims) if sims is not None else cls(DEFAULT_SECONDS if time is None else time)

    def start(self) -> "Clock":
        """Start the clock."""
        return Clock(self)


class Clock:
    """Portions a budget out: while (count := clock.portion(done)) > 0, run that many simulations.

    Portions are as large as keeps the time between two looks at the clock short, so that a budget is kept.
    """

    def __init__(self, budget: Budget) -> None:
        self.budget = budget
        self._now = CLOCKS[budget.clock]
        self.started = self._begun = self._now()
        self._size = 0

    def portion(self, done: int) -> int:
        """How many simulations to run now, after `done` of them; 0 when the budget is spent."""
        most, seconds = self.budget.simulations, self.budget.seconds
        now = self._now()
        if (most is not None and done >= most) or (
            seconds is not None and self._size and now - self.started >= seconds
        ):
            return 0
        fine = seconds if seconds is not None else math.inf
        if self._size == 0:
            self._size = 1
        elif now - self._begun < min(0.02 * fine, _CHUNK_SECONDS):
            self._size *= 2
        elif now - self._begun > min(0.05 * fine, 2 * _CHUNK_SECONDS):
            self._size = max(1, self._size // 2)
        self._begun = now
        return self._size if most is None else min(self._size, most - done)
