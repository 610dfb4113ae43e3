"""A race of planners on the same simulated episodes: the same hidden values and noise for all.

    prepare the contenders, each within its share of the seconds
    for 8, 16, 32, … 512 episodes:
        all that are in the race play up to so many, each within its share of the seconds that are left; more if they
            take hardly any time; one whose first episode shows that 8 take longer than its share drops out
        who earns clearly less than the leader drops out, and who earns the same in every episode
        when half of the seconds are spent half of them have to go, and half of those at three quarters

Planners that look up their decisions play hundreds of episodes while one that searches for 0.1 s per step plays a few.
So two are compared on the episodes that both have played, and one takes the lead from another that has played more only
if it earns more by a standard error of the paired difference. With fewer than 8 episodes it cannot lead.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from pomdplite.experiments.episodes.episode import Step, run_episode
from pomdplite.experiments.episodes.players import CANNOT_PLAN, interrupts_restored
from pomdplite.experiments.statistics import Difference, standard_error
from pomdplite.mdp.budget import Deadline
from pomdplite.planners.base import Planner
from pomdplite.worlds import make_world

FEWEST = 8  # episodes without which a contender cannot lead
_MOST = 512  # episodes of a contender
_TESTED = 32  # episodes from which on standard errors are trusted
_CLEARLY = 3.0  # standard errors
_SAME = 64  # episodes after which contenders that have earned the same in each of them are one
_HARDLY = 0.03  # of the seconds: what a contender may always spend in a round
_ROUNDING = 1e-9  # difference of returns


@dataclass
class Contender:
    """A prepared planner, and what it has earned in the episodes 0, 1, …"""

    planner: Planner
    returns: list[float] = field(default_factory=list)
    reason: str | None = None  # why it dropped out without a comparison
    failed: bool = False  # whether it cannot be chosen at all

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

    def against(self, other: "Contender") -> Difference:
        """The paired difference, over the episodes that both have played."""
        count = min(len(self.returns), len(other.returns))
        return Difference.of(np.array(self.returns[:count]) - other.returns[:count])


class Contest:
    """The race, as far as it has come."""

    def __init__(
        self, contenders: Sequence[Contender], seed: int, deadline: Deadline, report: Callable[[str], None]
    ) -> None:
        self.running, self._all = list(contenders), list(contenders)
        self.seed, self.deadline, self._report = seed, deadline, report

    def run(self) -> None:
        """Race until one is left, all have played all episodes, or the time is up."""
        count = FEWEST
        while self.deadline.left > 0 and any(len(c.returns) < _MOST for c in self.running):
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
        for i, contender in enumerate(list(self.running)):
            share = self.deadline.left / (len(self.running) - i)
            self._play(contender, count, Deadline(share, self.deadline.clock))
            best = self.leader
            if best is not None:
                self._report(f"{best.title} leads with {best.mean:.2f}, {len(self.running)} racing")

    def _play(self, contender: Contender, count: int, deadline: Deadline) -> None:
        """Play up to so many episodes, and more if they take hardly any time, until the deadline."""

        def stop_in_time(_: Step) -> None:
            if deadline.left <= 0:
                raise _TimeUpError

        planner, hardly, compared = contender.planner, _HARDLY * self.deadline.seconds, len(self._all) > 1
        with make_world("model", planner.model) as world:
            while len(contender.returns) < (_MOST if deadline.elapsed < hardly else count) and deadline.left > 0:
                try:
                    with interrupts_restored():
                        episode = run_episode(planner, world, self.seed, len(contender.returns), stop_in_time)
                except _TimeUpError:
                    break
                except CANNOT_PLAN as error:
                    contender.reason, contender.failed = str(error), True
                    return
                contender.returns.append(episode.discounted)
                if compared and len(contender.returns) == 1 and deadline.elapsed * FEWEST > deadline.seconds:
                    break
        if compared and len(contender.returns) < FEWEST:
            needed = deadline.elapsed * FEWEST / max(1, len(contender.returns))
            least = "" if contender.returns else "more than "
            contender.reason = f"{FEWEST} episodes take {least}{needed:.2g} s, its share was {deadline.seconds:.2g} s"

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
