"""The interface of every planner: reset, decide, update."""

import math
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import numpy as np

from pomdplite.beliefs import Belief
from pomdplite.checking.model import check_before_planning
from pomdplite.compile.jit import Words
from pomdplite.errors import TooLargeError, UsageError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import CLOCKS, SOLVE_SECONDS, Budget, Deadline
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.model.records import to_words
from pomdplite.planners.decision import Decision
from pomdplite.planners.storable import Storable
from pomdplite.rng import checked_seed

_KEPT_DECISIONS = 20_000
_INSTANT = 1e-9  # seconds: enough for the least that a search can do
_REHEARSALS = 3  # of a step, before it is refused as too slow
_UPDATE_SHARE = 0.25  # of a step's time that an update may take if it can end early
_LONGEST_UPDATE = 0.75  # of a step's time that is kept free for an update that cannot
_LATE = 1.1, 0.02  # times its budget, and seconds: what a step may take


class Planner(Storable):
    """A belief, a state, and a way to choose the next action. The loop of Algorithm 1 is:

        planner.reset()
        while not over:
            decision = planner.decide()
            y, o = execute(decision.action)
            planner.update(decision.action, y, o)

    `execute` stands for your robot or simulator.
    """

    budget: Budget | None = None  # per step, deciding and updating together, for planners that search
    stand_in: str | None = None  # the title of the planner that decides in its place, if it cannot
    discount: float | None = None  # that a prepared planner without a clock plans with (mdp/undiscounted.py)
    deterministic: bool = False  # whether state and belief determine the decision, so that it can be cached

    def __init__(self, model: Model, solve_time: float = SOLVE_SECONDS) -> None:
        if not isinstance(model, Model):
            raise UsageError(
                f"a planner needs a model object, not {model!r}; create one with make_model(...) or MyModel()."
            )
        if not (math.isfinite(solve_time) and solve_time > 0):
            raise UsageError(f"solve_time must be a positive number of seconds, not {solve_time!r}.")
        self.model, self.solve_time = model, solve_time
        self._ready = False
        self._given, self._given_by = {}, ""
        self.preparation_seconds = 0.0
        self.clock = "wall"
        self._decided: dict[tuple[bytes, bytes], Decision] = {}
        self._deadline = Deadline()  # for preparing
        self._update_seconds = 0.0  # of the last update

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
        if self._ready:
            return
        started = self.now()
        with self._explained_memory_errors():
            self._require_outcomes(self.model.compiled_form.kernel_view())
            check_before_planning(self.model)
            self._deadline = Deadline(self._preparation_limit, self.clock)
            self._prepare()
            self.view.raise_fault()
            self._ready = True
            if self.budget is not None and self.budget.seconds is not None:
                self._rehearse(self.budget, self.budget.seconds)
        self.preparation_seconds = self.now() - started

    def prepare_for(self, other: "Planner", deadline: Deadline) -> None:
        """Do the one-time work of a planner that decides for another, whose preparing this is part of."""
        self._require_outcomes(self.model.compiled_form.kernel_view())
        self.use_clock(other.clock)
        self._deadline = deadline
        self._prepare()
        self._ready = True

    def _require_outcomes(self, view: KernelView) -> None:
        """Refuse a model with noise or readings, unless the planner can plan for it."""
        view.require_listed(f"the planner {self.title}")
        view.require_known_probabilities(f"the planner {self.title}")

    @property
    def _preparation_limit(self) -> float:
        """The seconds that preparing may take."""
        return self.solve_time

    def _rehearse(self, budget: Budget, seconds: float) -> None:
        """Take the shortest step that the planner can take, so that nothing is left to compile.

        Refuse if even that takes longer than a step may.
        """
        self.belief.update_budget = replace(budget, seconds=_UPDATE_SHARE * seconds)
        self.budget, self._ready = replace(budget, seconds=_INSTANT), True
        took = math.inf
        try:
            for i in range(_REHEARSALS):
                self.reset()
                decision = self._timed()
                self._timed_advance(decision.action, *self._likely_outcome(decision.action))
                took = min(took, decision.seconds + self._update_seconds)
                if i > 0 and took <= _LATE[0] * seconds + _LATE[1]:
                    break
        finally:
            self.budget, self._ready = budget, False
            del self._x
        if took > _LATE[0] * seconds + _LATE[1] and not self.deterministic:
            raise TooLargeError(
                f"{self.model.name}: the shortest step of {self.title}, one simulation and an update of the belief, "
                f"takes {took:.2g} s, but a step has {seconds:g} s; give it more time."
            )
        self._ready = True

    def _likely_outcome(self, a: int) -> tuple[Words, int]:
        """A next state and observation that are possible after action a."""
        run, x = self.model.compiled_form.interpreted, self.state
        theta = self.belief.likely_theta(x, a)
        y, _ = max(run.transition(x, theta, a), key=lambda branch: float(branch[1]))
        later = run.evolve(x, theta, a)
        real = self.model.reading is not None
        return self.model.seen_words(
            y, run.reading(y, later, a) if real else int(np.argmax(run.observation(y, later, a)))
        )

    def _search_budget(self) -> Budget:
        """The budget of a step's search: without the time that the update will take, going by the last one."""
        assert self.budget is not None
        if self.budget.seconds is None:
            return self.budget
        kept = min(self._update_seconds, _LONGEST_UPDATE * self.budget.seconds)
        return replace(self.budget, seconds=max(_INSTANT, self.budget.seconds - kept))

    @contextmanager
    def _explained_memory_errors(self) -> Iterator[None]:
        """Say what to do if the operating system refuses memory."""
        try:
            yield
        except MemoryError:
            raise memory.ran_out(self.model.name) from None

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

    def reset(self, seed: int = 0, x: Any = None) -> None:
        """Return to the prior and the initial state, or state x if the episode starts elsewhere.

        The seed is for planners that sample.
        """
        seed = checked_seed(seed)
        self.prepare()
        self.belief.reset(seed)
        self._start(x)
        self._begin(seed)

    def _start(self, x: Any = None) -> None:
        self._x = self._state_words(self.model.initial_state() if x is None else x).copy()

    def _begin(self, seed: int) -> None:
        """Forget the last episode; the seed determines the random numbers of the next one."""

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
        with self._explained_memory_errors():
            decision = self._decide()
        self.view.raise_fault()
        return replace(decision, seconds=self.now() - started)

    def update(self, a: Any, y: Any, o: Any) -> None:
        """Update state and belief: action a led to state y and observation o.

        Actions and observations are numbers or names (no observation is None). A state is a record, a dictionary or a
        tuple, and so is a reading; a reading with one field may be given as a number. An action with fields may be
        given by their values as a dictionary or tuple, for which the nearest listed action stands.
        """
        self._must_be_reset()
        self._timed_advance(self.model.action_index(a), *self.model.seen_words(y, o))

    def _timed_advance(self, a: int, y: Words, o: int) -> None:
        started = self.now()
        try:
            with self._explained_memory_errors():
                self._advance(a, y, o)
        finally:
            self._update_seconds = self.now() - started

    def recover(self, y: Any) -> None:
        """Continue in state y after an observation that the model considers impossible."""
        self._must_be_reset()
        self._recover(self._state_words(y))

    def _state_words(self, y: Any) -> Words:
        return to_words(self.model.state.dtype, self.model.state_record(y))

    def _advance(self, a: int, y: Words, o: int) -> None:
        """`update` on action number, words (a reading's behind those of y) and observation number."""
        self.belief._advance(self._x, a, y, o)
        self._x = y[: self.model.state.words].copy()

    def _recover(self, y: Words) -> None:
        """`recover` on words."""
        self.belief.recover()
        self._x = y.copy()

    @property
    def choices(self) -> tuple[str, ...]:
        """What a prepared planner uses, in words: the budget of one that searches, and whether it is the default."""
        if self.budget is None:
            return self._said_of_discount
        default = self.budget.simulations is None and self.parameters.get("time") is None
        return (f"{self.budget}{', the default' if default else ''}", *self._said_of_discount)

    @property
    def _said_of_discount(self) -> tuple[str, ...]:
        """That the planner plans with another discount than the model's, and why."""
        if self.discount in (None, self.model.discount):
            return ()
        why = f"since the model's is {self.model.discount:g} and its horizon {self.model.episode_horizon:,}"
        return (f"plans with γ = {self.discount:.4g}, {why}",)

    @property
    def value_bounds(self) -> tuple[float, float] | None:
        """Of a prepared planner: what it earns in an episode at least, on average, and what no planner can exceed.

        None if preparing has found no such bounds.
        """
        return None

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
