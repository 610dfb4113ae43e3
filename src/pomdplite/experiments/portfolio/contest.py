"""A race of planners on the same simulated episodes: the same hidden values and noise for all.

    prepare the contenders, each within its share of the seconds
    for 8, 16, 32, … 512 episodes:
        all that are in the race play up to so many, each within its share of the seconds that are left, those that
            search last; more if they take hardly any time; one that cannot play 8 within its share drops out
        who earns clearly less than the leader drops out, and who earns the same in every episode
        when half of the seconds are spent half of them have to go, and half of those at three quarters

Planners that look up their decisions play hundreds of episodes while one that searches for 0.1 s per step plays a few,
and a few say little. So one that cannot play 32 within its share races with a tenth or a hundredth of its budget per
step. If it is chosen it acts with all of it, and as a rule earns more then. Two are compared on the episodes that both
have played, and one takes the lead from another that has played more only if it earns more by a standard error of the
paired difference. With fewer than 8 episodes it cannot lead.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from pomdplite.experiments.episodes.episode import Step, run_episode
from pomdplite.experiments.episodes.players import CANNOT_PLAN, interrupts_restored
from pomdplite.experiments.statistics import Difference, standard_error
from pomdplite.mdp.budget import Deadline
from pomdplite.planners.base import Planner
from pomdplite.worlds import World

FEWEST = 8  # episodes without which a contender cannot lead
FASTEST = 0.01
_PACES = 1.0, 0.1, FASTEST  # shares of the budget per step with which a contender may race
_MOST = 512  # episodes of a contender
_TESTED = 32  # episodes from which on standard errors are trusted
_CLEARLY = 3.0  # standard errors
_SAME = 64  # episodes after which contenders that have earned the same in each of them are one
_HARDLY = 0.03  # of the seconds: what a contender may always spend in a round
_ROUNDING = 1e-9  # difference of returns

Report = Callable[[str], None]  # receives progress in words


@dataclass
class Contender:
    """A prepared planner, and what it has earned in the episodes 0, 1, …"""

    planner: Planner
    returns: list[float] = field(default_factory=list)
    reason: str | None = None  # why it dropped out without a comparison
    failed: bool = False  # whether it cannot be chosen at all
    pace: float = 1.0  # the share of its budget per step with which it races

    @property
    def title(self) -> str:
        """The planner's name."""
        return self.planner.title

    @property
    def mean(self) -> float:
        """Mean return."""
        return float(np.mean(self.returns))

    @property
    def stderr(self) -> float:
        """Its standard error."""
        return standard_error(np.array(self.returns))

    @property
    def searches(self) -> bool:
        """Whether it spends a budget in every step."""
        return self.planner.budget is not None and not self.planner.deterministic

    @contextmanager
    def at_its_pace(self) -> Iterator[Planner]:
        """The planner with the budget with which it races."""
        planner, budget = self.planner, self.planner.budget
        planner.budget = None if budget is None else budget.scaled(self.pace)
        try:
            yield planner
        finally:
            planner.budget = budget

    def against(self, other: "Contender") -> Difference:
        """The paired difference, over the episodes that both have played."""
        count = min(len(self.returns), len(other.returns))
        return Difference.of(np.array(self.returns[:count]) - other.returns[:count])


class Contest:
    """The race, as far as it has come."""

    def __init__(
        self, contenders: Sequence[Contender], world: World, seed: int, deadline: Deadline, report: Report
    ) -> None:
        self.running, self._all, self.world = list(contenders), list(contenders), world
        self.seed, self.deadline, self._report = seed, deadline, report

    def run(self) -> None:
        """Race until one is left, all have played all episodes, or the time is up."""
        self._race()
        for contender in self._all:
            if len(self._all) > 1 and contender.reason is None and not contender.returns:
                contender.reason = "no time was left to race it"

    def _race(self) -> None:
        count = FEWEST
        # One alone plays for its mean return only, and more than these if they take hardly any time.
        most = _MOST if len(self._all) > 1 else min(_TESTED, _MOST)
        while self.deadline.left > 0 and any(len(c.returns) < most for c in self.running):
            self._round(count)
            self._reject()
            if len(self.running) < 2 <= len(self._all):
                break
            count = min(2 * count, _MOST)

    @property
    def leader(self) -> Contender | None:
        """The one to choose; None if no episode has ended."""
        return _leader(self.running) or _leader(self._all)

    def _round(self, count: int) -> None:
        """Let all play up to this number of episodes; the time is divided among those that have still to play."""
        for i, contender in enumerate(sorted(self.running, key=lambda c: c.searches)):
            share = self.deadline.left / (len(self.running) - i)
            self._play(contender, count, Deadline(share, self.deadline.clock))
            best = self.leader
            if best is not None:
                self._report(f"{best.title} leads with {best.mean:.2f}, {len(self.running)} racing")

    def _play(self, contender: Contender, count: int, deadline: Deadline) -> None:
        """Play up to so many episodes, and more if they take hardly any time, until the deadline."""
        hardly, compared = _HARDLY * self.deadline.seconds, len(self._all) > 1
        if compared and contender.searches and not contender.returns:
            self._find_pace(contender, deadline)
        while len(contender.returns) < (_MOST if deadline.elapsed < hardly else count) and deadline.left > 0:
            if not self._episode(contender, deadline):
                break
            if compared and len(contender.returns) == 1 and deadline.elapsed * FEWEST > deadline.seconds:
                break
        if compared and not contender.failed and len(contender.returns) < FEWEST:
            needed = deadline.elapsed * FEWEST / max(1, len(contender.returns))
            least = "" if contender.returns else "more than "
            contender.reason = f"{FEWEST} episodes take {least}{needed:.2g} s, its share was {deadline.seconds:.2g} s"

    def _find_pace(self, contender: Contender, deadline: Deadline) -> None:
        """Play the first episode as fast as needed to play enough of them for a comparison."""
        allowed, budget = deadline.seconds / _TESTED, contender.planner.budget
        for pace in _PACES:
            contender.pace = pace
            if budget is not None and budget.seconds is not None and pace * budget.seconds > allowed:
                continue  # not even one step
            if self._episode(contender, Deadline(allowed, deadline.clock)) or contender.failed:
                break

    def _episode(self, contender: Contender, deadline: Deadline) -> bool:
        """Play the next episode; whether it has ended within the deadline."""

        def stop_in_time(_: Step) -> None:
            if deadline.left <= 0:
                raise _TimeUpError

        try:
            with interrupts_restored(), contender.at_its_pace() as planner:
                episode = run_episode(planner, self.world, self.seed, len(contender.returns), stop_in_time)
        except _TimeUpError:
            return False
        except CANNOT_PLAN as error:
            contender.reason, contender.failed = str(error), True
            return False
        contender.returns.append(episode.discounted)
        return True

    def _reject(self) -> None:
        self.running = [c for c in self.running if c.reason is None]
        best = _leader(self.running)
        if best is None:
            return
        spent = self.deadline.elapsed / self.deadline.seconds
        most = max(2, len(self._all) >> max(0, int(4 * spent) - 1))
        able = [c for c in self.running if c is not best and not _drops_out(c, best)]
        kept = [best, *sorted(able, key=lambda c: -_standing(c, best))[: most - 1]]
        self.running = [c for c in self.running if c in kept]


class _TimeUpError(Exception):
    """The share of the time is spent, within an episode."""


def _leader(contenders: Sequence[Contender]) -> Contender | None:
    able = [c for c in contenders if c.returns and not c.failed]
    able = [c for c in able if c.reason is None] or able
    if not able:
        return None
    reference = max(able, key=lambda c: len(c.returns))  # the first of them
    able = [c for c in able if len(c.returns) >= min(FEWEST, len(reference.returns))]
    return max([reference, *able], key=lambda c: _standing(c, reference))


def _standing(contender: Contender, reference: Contender) -> float:
    """By how much a contender earns more than another, less the standard error; −∞ if that is not known."""
    if contender is reference:
        return 0.0
    if not contender.returns:
        return -math.inf
    difference = contender.against(reference)
    return difference.mean - difference.stderr


def _drops_out(contender: Contender, best: Contender) -> bool:
    """Whether it earns clearly less than the best one, or the same in every episode."""
    if not contender.returns:
        return False
    difference = contender.against(best)
    if difference.episodes >= _SAME and max(abs(difference.mean), difference.stderr) < _ROUNDING:
        return True
    return difference.episodes >= _TESTED and difference.mean < -_CLEARLY * difference.stderr
