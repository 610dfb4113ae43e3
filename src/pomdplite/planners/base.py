"""The interface of every planner (reset, decide, update) and of its decisions."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pomdplite.beliefs import Belief
from pomdplite.checking.model import check_before_planning
from pomdplite.compile.jit import Floats, Small, Words
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import CLOCKS, Budget
from pomdplite.mdp.solution import Solution
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.rng import checked_seed

_KEPT_DECISIONS = 20_000
NOT_CLOSED = "the search did not close"  # how a note begins that qualifies the planner's claim to be optimal
TIE = 1e-6  # relative difference below which two values count as equal


class ActionValue(NamedTuple):
    """The value of one action, q = reward + bonus."""

    action: int
    name: str
    q: float
    reward: float  # the part of q that rewards contribute
    bonus: float  # the part of q that exploration bonuses contribute
    mean_reward: float  # expected reward of the next step alone
    mean_bonus: float  # bonus of the next step alone


@dataclass(frozen=True, kw_only=True)
class Decision:
    """An action and the reasons for it."""

    action: int
    solution: Solution  # the values of all legal actions, and how they were found
    action_names: Sequence[str]  # of all actions of the model
    bounds: tuple[float, float] | None = None  # on the optimal value, if the planner knows them
    notes: tuple[str, ...] = ()  # what the user should know: memory that ran out, a belief that had to be recovered
    seconds: float = 0.0  # planning time; the same belief and state are not planned for twice

    @property
    def name(self) -> str:
        """The action's name."""
        return str(self.action_names[self.action])

    @property
    def value(self) -> float:
        """The value of the current state and belief, as far as the planner knows it."""
        return self.solution.value

    @property
    def line(self) -> tuple[str, ...]:
        """The principal variation: the actions that a search expects to take."""
        return tuple(str(self.action_names[a]) for a in self.solution.line)

    def table(self) -> list[ActionValue]:
        """Every legal action, best first."""
        found = self.solution
        return [
            ActionValue(
                action=int(found.actions[i]),
                name=str(self.action_names[found.actions[i]]),
                q=float(found.q[i]),
                reward=float(found.q[i] - found.bonus_part[i]),
                bonus=float(found.bonus_part[i]),
                mean_reward=float(found.mean_reward[i]),
                mean_bonus=float(found.mean_bonus[i]),
            )
            for i in np.argsort(-found.q, kind="stable")
        ]


def best_actions(actions: Small, q: Floats) -> Small:
    """The actions with the highest value, up to rounding."""
    best = float(np.max(q))
    return actions[q >= best - TIE * max(1.0, abs(best))]


def choose(actions: Small, q: Floats) -> int:
    """The best action; ties go to the smaller action number."""
    return int(np.min(best_actions(actions, q)))


class Planner(ABC):
    """A belief, a state, and a way to choose the next action. The loop of Algorithm 1 is

    planner.reset()
    while not over:
        decision = planner.decide()
        y, o = execute(decision.action)
        planner.update(decision.action, y, o)
    """

    title: ClassVar[str]  # the name in the registry and in tables
    budget: Budget | None = None  # per step, for planners that search
    deterministic: bool = False  # whether state and belief determine the decision, so that it can be cached

    def __init__(self, model: Model) -> None:
        if not isinstance(model, Model):
            raise UsageError(
                f"a planner needs a model object, not {model!r}; create one with make_model(...) or MyModel()."
            )
        self.model = model
        self._ready = False
        self.preparation_seconds = 0.0
        self.clock = "wall"
        self._decided: dict[tuple[bytes, bytes], Decision] = {}

    @property
    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments: type(planner)(model, **planner.parameters) is an equal planner."""

    @abstractmethod
    def _prepare(self) -> None:
        """One-time work, such as compiling and building graphs."""

    @abstractmethod
    def _decide(self) -> Decision:
        """Choose an action for the current state and belief."""

    view: KernelView
    belief: Belief
    _x: Words  # the words of the current x

    def prepare(self) -> None:
        """Do the one-time work. `reset` calls this if it has not been called before."""
        if not self._ready:
            started = self.now()
            check_before_planning(self.model)
            self._prepare()
            self.view.raise_fault()
            self.preparation_seconds = self.now() - started
            self._ready = True

    def use_clock(self, clock: str) -> None:
        """Measure seconds, in budgets and reports, as wall-clock time ("wall") or as this thread's CPU time ("cpu").

        A robot waits in wall-clock time. CPU time makes planners comparable on a shared machine, whatever else runs on
        it.
        """
        if clock not in CLOCKS:
            raise UsageError(f"no clock {clock!r}; there are {', '.join(CLOCKS)}.")
        if self._ready:
            raise UsageError("choose the clock before preparing the planner.")
        self.clock = clock
        if self.budget is not None:
            self.budget = replace(self.budget, clock=clock)

    def now(self) -> float:
        """Seconds on the planner's clock."""
        return CLOCKS[self.clock]()

    def reset(self, seed: int = 0) -> None:
        """Return to the initial state and the prior. The seed is for planners that sample."""
        seed = checked_seed(seed)
        self.prepare()
        self.belief.reset(seed)
        self._start()

    def _start(self) -> None:
        self._x = to_words(self.model.state.dtype, self.model.initial_state())

    def decide(self) -> Decision:
        """The next action and the reasons for it."""
        self._must_be_reset()
        belief = self.belief.key() if self.deterministic else None
        if belief is None:
            return self._timed()
        key = self._x.tobytes(), belief
        known = self._decided.get(key)
        if known is None:
            if len(self._decided) >= _KEPT_DECISIONS:
                self._decided.clear()
            known = self._decided[key] = self._timed()
        return known

    def _timed(self) -> Decision:
        started = self.now()
        decision = self._decide()
        self.view.raise_fault()
        return replace(decision, seconds=self.now() - started)

    def update(self, a: int | str, y: Any, o: int | str | None) -> None:
        """Update state and belief: action a led to state y and observation o.

        Actions and observations are numbers or names (no observation is None). A state is a record, a dictionary or a
        tuple.
        """
        self._must_be_reset()
        self._advance(self.model.action_index(a), self._state_words(y), self.model.observation_index(o))

    def recover(self, y: Any) -> None:
        """Continue in state y after an observation that the model considers impossible."""
        self._must_be_reset()
        self._recover(self._state_words(y))

    def _state_words(self, y: Any) -> Words:
        return to_words(self.model.state.dtype, self.model.state_record(y))

    def _advance(self, a: int, y: Words, o: int) -> None:
        """`update` on action number, words and observation number."""
        self.belief._advance(self._x, a, y, o)
        self._x = y.copy()

    def _recover(self, y: Words) -> None:
        """`recover` on words."""
        self.belief.recover()
        self._x = y.copy()

    @property
    def choices(self) -> tuple[str, ...]:
        """What a prepared planner uses, in words: the budget of one that searches, and whether it is the default."""
        if self.budget is None:
            return ()
        if self.budget.simulations is not None:
            return (f"{self.budget.simulations:,} simulations per step",)
        default = ", the default" if self.parameters.get("time") is None else ""
        return (f"{self.budget.seconds:g} s per step{default}",)

    @property
    def s(self) -> Words:
        """The current state s = (x, maps) of Theorem 1: the planner's x with the belief's maps."""
        return self.belief._state(self._x)

    @property
    def state(self) -> Any:
        """The current observed state x."""
        self._must_be_reset()
        return self.view.record(self._x)

    def _must_be_reset(self) -> None:
        if not hasattr(self, "_x"):
            raise UsageError("call reset() first: it takes the planner to the initial state and the prior.")

    def __repr__(self) -> str:
        return f"<{self.title} for {self.model.name}: {self.parameters}>"

    def __reduce__(self) -> Any:
        return _remake, (type(self), self.model, self.parameters, self.clock)


def _remake(kind: type[Planner], model: Model, parameters: dict[str, Any], clock: str) -> Planner:
    planner = kind(model, **parameters)
    planner.use_clock(clock)
    return planner
