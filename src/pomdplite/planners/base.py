"""What every planner is: reset, decide, update; and what it says of a decision."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pomdplite.beliefs import FactoredBelief, UnweightedParticles
from pomdplite.checking.model import check_model
from pomdplite.compile.jit import Floats, Small, Words
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import CLOCKS, Budget
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import to_words

_CHECKED_STATES, _CHECKED_CALLS = 50, 300  # what every planner looks at before it trusts a model
_KEPT_DECISIONS = 20_000
TIE = 1e-6  # values closer than this are equal; the smaller action number is taken


class ActionValue(NamedTuple):
    """One action as the planner sees it: q = reward + bonus."""

    action: int
    name: str
    q: float
    reward: float  # the part of q that rewards contribute
    bonus: float  # the part of q that exploration bonuses contribute
    mean_reward: float  # expected reward of this step alone
    mean_bonus: float  # bonus of this step alone


@dataclass(frozen=True)
class Decision:
    """An action and why. Arrays are per legal action."""

    action: int
    name: str
    value: float  # of the best action
    actions: Small  # numbers of the legal actions
    q: Floats
    bonus_part: Floats
    mean_reward: Floats
    mean_bonus: Floats
    solver: str  # what found the values
    states: int  # states that the solution covers, or that the search met
    solved: int = 0  # states solved again for this decision
    residual: float = 0.0  # largest Bellman residual left
    bounds: tuple[float, float] | None = None  # on the optimal value, where the planner knows them
    visits: Small | None = None  # how often a search tried each action
    simulations: int = 0
    steps: int = 0  # simulated model steps
    deepest: int = 0  # steps of the longest simulation
    line: tuple[str, ...] = ()  # the principal line of play: what the search expects to do
    notes: tuple[str, ...] = ()  # what a person should know: space that ran out, a belief that had to be recovered
    seconds: float = 0.0  # that finding it took; the same belief and state again cost nothing

    def table(self, names: Any) -> list[ActionValue]:
        """Every legal action, the best first."""
        order = np.argsort(-self.q, kind="stable")
        return [
            ActionValue(
                int(self.actions[i]), str(names[self.actions[i]]), float(self.q[i]),
                float(self.q[i] - self.bonus_part[i]), float(self.bonus_part[i]),
                float(self.mean_reward[i]), float(self.mean_bonus[i]),
            )
            for i in order
        ]  # fmt: skip


def best_actions(actions: Small, q: Floats) -> Small:
    """The best actions."""
    best = float(np.max(q))
    return actions[q >= best - TIE * max(1.0, abs(best))]


def choose(actions: Small, q: Floats) -> int:
    """The best action, the smaller number among equals."""
    return int(np.min(best_actions(actions, q)))


class Planner(ABC):
    """A belief, a state, and a way to choose the next action. Algorithm 1's loop is

    planner.reset()
    while not over:
        decision = planner.decide()
        y, o = execute(decision.action)
        planner.update(decision.action, y, o)
    """

    title: ClassVar[str]  # the name in the registry and in tables
    budget: Budget | None = None  # of a step, for planners that search
    deterministic: bool = (
        False  # whether the same state and belief always lead to the same decision, so that it can be kept
    )

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise UsageError(
                f"a planner plans for a model object, not {model!r}; make one with make_model(...) or MyModel()."
            )
        self.model = model
        self._ready = False
        self.preparation_seconds = 0.0
        self.clock = "wall"
        self._decided: dict[tuple[bytes, bytes], Decision] = {}

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What the planner was made with: type(planner)(model, **planner.parameters) is its twin."""

    @abstractmethod
    def _prepare(self) -> None:
        """Work that is done once: compiling, building graphs."""

    @abstractmethod
    def _decide(self) -> Decision:
        """Choose in the present state and belief."""

    view: KernelView
    belief: FactoredBelief | UnweightedParticles
    s: Words  # the present state: x and the maps of a changing θ

    def prepare(self) -> None:
        """Do what is done once; `reset` calls it if nobody has."""
        if not self._ready:
            started = self.now()
            check_model(self.model, states=_CHECKED_STATES, calls=_CHECKED_CALLS).raise_if_wrong()
            self._prepare()
            self.preparation_seconds = self.now() - started
            self._ready = True

    def use_clock(self, clock: str) -> None:
        """What seconds mean, in budgets and reports: "wall", or "cpu" for this thread's processor time.

        A robot waits on the wall's clock. Planners that are compared on a shared machine are given processor time:
        what else runs there then costs them nothing.
        """
        if clock not in CLOCKS:
            raise UsageError(f"no clock {clock!r}; there are {', '.join(CLOCKS)}.")
        if self._ready:
            raise UsageError("choose the clock before the planner is prepared.")
        self.clock = clock
        if self.budget is not None:
            self.budget = replace(self.budget, clock=clock)

    def now(self) -> float:
        """Seconds on the planner's clock."""
        return CLOCKS[self.clock]()

    def reset(self, seed: int = 0) -> None:
        """Back to the first state and the prior. The seed is for planners that sample."""
        self.prepare()
        self.belief.reset(seed)
        self.s = self.view.root()

    def decide(self) -> Decision:
        """The next action, and why."""
        self._must_be_reset()
        if not self.deterministic or not isinstance(self.belief, FactoredBelief):
            return self._timed()
        key = self.s.tobytes(), self.belief.probabilities.tobytes()
        known = self._decided.get(key)
        if known is None:
            if len(self._decided) >= _KEPT_DECISIONS:
                self._decided.clear()
            known = self._decided[key] = self._timed()
        return known

    def _timed(self) -> Decision:
        started = self.now()
        decision = self._decide()
        return replace(decision, seconds=self.now() - started)

    def update(self, a: int | str, y: Any, o: int | str | None) -> None:
        """Take in that a led to state y and observation o."""
        self._must_be_reset()
        words = to_words(self.model.state.dtype, self.model.state_record(y))
        self.advance(self.model.action_index(a), words, self.model.observation_index(o))

    def advance(self, a: int, y: Words, o: int) -> None:
        """The same on numbers and words."""
        self.s = self.belief.advance(self.s, a, y, o)

    def recover(self, y: Any) -> None:
        """Go on in state y after something that the model calls impossible."""
        self.s = self.belief.recover(to_words(self.model.state.dtype, self.model.state_record(y)))

    @property
    def state(self) -> Any:
        """The present observed state x."""
        self._must_be_reset()
        return self.view.record(self.s)

    def _must_be_reset(self) -> None:
        if not hasattr(self, "s"):
            raise UsageError("call reset() first: it takes the planner to the first state and the prior.")

    def __repr__(self) -> str:
        return f"<{self.title} for {self.model.name}: {self.parameters}>"

    def __reduce__(self) -> Any:
        return _remake, (type(self), self.model, self.parameters, self.clock)


def _remake(kind: type[Planner], model: Model, parameters: dict[str, Any], clock: str) -> Planner:
    planner = kind(model, **parameters)
    planner.use_clock(clock)
    return planner
