"""What `plan` has found: a planner, and the reasons for it."""

import json
import math
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple, Self

from pomdplite.experiments.portfolio.contest import Contender
from pomdplite.experiments.statistics import Difference
from pomdplite.mdp.yardsticks import Yardsticks
from pomdplite.planners.base import Planner


def tightened(yards: Yardsticks | None, planner: Planner) -> Yardsticks | None:
    """The yardsticks of a model with the bound that a prepared planner has found, if that is lower or the only one."""
    bounds = planner.value_bounds
    if bounds is None or not math.isfinite(bounds[1]):
        return yards
    found = Yardsticks(bounds[1], planner.title)
    return found if yards is None else yards.tightened(found)


class Standing(NamedTuple):
    """A planner in the race: what it has earned, or why it was left out."""

    title: str
    mean: float = math.nan
    stderr: float = math.nan
    episodes: int = 0
    difference: Difference | None = None  # from the chosen planner, on the episodes that both have played
    reason: str | None = None  # why it could not be compared
    step: str | None = None  # the budget of a step in the race, in words, if that was less than it will have

    @classmethod
    def of(cls, contender: Contender, best: Contender) -> Self:
        """The standing of a planner that took part."""
        if not contender.returns:
            return cls(contender.title, reason=contender.reason)
        difference = None if contender is best or not best.returns else contender.against(best)
        with contender.at_its_pace() as planner:
            step = None if contender.pace == 1 else str(planner.budget)
        count = len(contender.returns)
        return cls(contender.title, contender.mean, contender.stderr, count, difference, contender.reason, step)

    @property
    def number(self) -> str:
        """Mean return ± standard error, on how many episodes, and the difference from the chosen planner."""
        if self.episodes == 0:
            return "not measured"
        number = _with_error(f"{self.mean:.2f}", self.stderr)
        pace = "" if self.step is None else f", with {self.step}"
        if self.difference is None:
            return f"{number} ({self.episodes} episodes{pace})"
        less = _with_error(f"{self.difference.mean:+.2f}", self.difference.stderr)
        return f"{number} ({less} on the same {self.difference.episodes} episodes{pace})"


def _with_error(number: str, stderr: float) -> str:
    return number + (f" ± {stderr:.2f}" if math.isfinite(stderr) else "")


@dataclass(frozen=True)
class PlanFacts:
    """What is known of a choice, apart from the planner itself; also kept on disk."""

    standings: tuple[Standing, ...]  # the chosen one first, then the others by what they have earned
    step: str  # the budget of a step, in words
    seconds: float  # that choosing took
    yardsticks: Yardsticks | None
    proven: float | None  # what the chosen one is proven to earn at least, if that is why it was chosen
    remembered: bool = False
    interrupted: bool = False

    def to_json(self) -> str:
        """The facts as text."""
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The facts from text, as remembered; ValueError, KeyError or TypeError if it is not the text of facts."""
        held: dict[str, Any] = json.loads(text)
        yards = held["yardsticks"]
        found = cls(**held | {
            "standings": tuple(_standing(*standing) for standing in held["standings"]),
            "yardsticks": None if yards is None else Yardsticks(*yards),
        })  # fmt: skip
        str(found.line)  # fails on values of other types
        return replace(found, remembered=True)

    @property
    def raced(self) -> list[Standing]:
        """The chosen planner, then those that it was compared with."""
        best, *others = self.standings
        return [best, *(s for s in others if s.reason is None)]

    @property
    def left_out(self) -> dict[str, list[str]]:
        """The planners that could not be compared, by the reason."""
        found: dict[str, list[str]] = {}
        for standing in self.standings[1:]:
            if standing.reason is not None:
                found.setdefault(standing.reason.removesuffix("."), []).append(standing.title)
        return found

    @property
    def how(self) -> str:
        """How the choice came about."""
        count = len(self.raced)
        chosen = f"chosen from {count} planners" if count > 1 else "chosen"
        ended = ", remembered" if self.remembered else ", interrupted" if self.interrupted else ""
        why = self.standings[0].reason
        blind = "" if why is None else f" without a comparison ({why})"
        return f"{chosen} in {self.seconds:.1f} s for {self.step}{ended}{blind}"

    @property
    def bound(self) -> str:
        """What no planner can exceed, and how far the chosen one is from it; empty if that is not known."""
        best = self.standings[0]
        if self.yardsticks is None or (self.proven is None and not best.episodes):
            return ""
        if self.proven is not None:
            return self.yardsticks.text(self.proven)
        return self.yardsticks.text(best.mean, best.stderr)

    @property
    def reasons(self) -> str:
        """The choice and the reasons for it in one line, without the bound."""
        best, *others = (f"{standing.title} {standing.number}" for standing in self.raced)
        proof = "" if self.proven is None else f"proven to earn at least {self.proven:.2f} on average"
        return "; ".join(filter(None, [f"{best}, {self.how}", proof, *others, *self._left_out_lines()]))

    @property
    def line(self) -> str:
        """The choice, the reasons for it, and the bound, in one line."""
        return "; ".join(filter(None, [self.reasons, self.bound]))

    def _left_out_lines(self) -> list[str]:
        return [f"{', '.join(titles)} left out: {reason}" for reason, titles in self.left_out.items()]

    def __str__(self) -> str:
        width = max(len(standing.title) for standing in self.raced)
        rows = [f"{s.title:{width}}  {s.number}" for s in self.raced]
        proof = [] if self.proven is None else [f"proven to earn at least {self.proven:.2f} on average"]
        lines = [*rows, *self._left_out_lines(), *proof, *filter(None, [self.bound])]
        return "\n  ".join([f"{self.standings[0].title}, {self.how}", *lines])


def _standing(*held: Any) -> Standing:
    """A standing as JSON has kept it."""
    found = Standing(*held)
    return found if found.difference is None else found._replace(difference=Difference(**held[4]))


@dataclass(frozen=True)
class Plan:
    """A planner that is ready to act, and why it was chosen: print it."""

    planner: Planner
    facts: PlanFacts

    @property
    def title(self) -> str:
        """The name of the planner that was chosen."""
        return self.planner.title

    def __str__(self) -> str:
        return str(self.facts)
