"""What planners for unknown probabilities share: counts, and an MDP that is solved exactly for them at every step."""

import math
from typing import Any

from pomdplite.beliefs.counts import CountsBelief
from pomdplite.errors import UnsuitableError, UsageError
from pomdplite.mdp.budget import SOLVE_SECONDS
from pomdplite.mdp.counts.bonuses import BonusRule
from pomdplite.mdp.counts.solver import CountsSolver
from pomdplite.mdp.reward_range import reward_range
from pomdplite.mdp.undiscounted import planning_discount
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision, choose

_SHARE = 0.1  # of the range of rewards: β by default


class CountsPlanner(Planner):
    """Acts optimally in an MDP made of the counts: their mean, with some bonus for exploring."""

    belief: CountsBelief
    solver: CountsSolver

    def _require_outcomes(self, view: KernelView) -> None:
        view.require_listed(f"the planner {self.title}")
        if not view.counted:
            raise UnsuitableError(
                f"the planner {self.title} learns unknown probabilities, hidden = Dirichlet(...), but those of "
                f"{self.model.name} are known; use pomdp-lite."
            )

    def _rule(self) -> BonusRule:
        """The bonus."""
        raise NotImplementedError

    def _weight(self) -> float:
        """β, the weight of the bonus."""
        raise NotImplementedError

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.belief = CountsBelief(self.view)
        self.discount: float = planning_discount(self.model)
        self.solver = CountsSolver(self.view, self.discount, self._weight(), rule=self._rule(), deadline=self._deadline)

    def _begin(self, seed: int) -> None:
        self.solver.reset(self.belief.probabilities, seed)

    def _decide(self) -> Decision:
        found = self.solver.solve(self.belief.kernel_model, self.s, self.belief.probabilities)
        return Decision(
            action=choose(found.actions, found.q), solution=found, action_names=self.model.actions,
            notes=self.belief.notes,
        )  # fmt: skip

    @property
    def choices(self) -> tuple[str, ...]:
        """How it solves."""
        return (self.solver.method, *self._said_of_discount)


class BonusPlanner(CountsPlanner):
    """A bonus with a weight β."""

    def __init__(self, model: Model, beta: float | None = None, *, solve_time: float = SOLVE_SECONDS) -> None:
        super().__init__(model, solve_time)
        if beta is not None and not 0 <= beta < math.inf:
            raise UsageError(f"beta must be a number of at least 0, not {beta!r}.")
        self.beta = beta

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"beta": self.beta, "solve_time": self.solve_time}

    def _weight(self) -> float:
        if self.beta is not None:
            return self.beta
        low, high = reward_range(self.view, deadline=self._deadline)
        return _SHARE * (high - low if high > low else abs(high))

    @property
    def choices(self) -> tuple[str, ...]:
        """β, and how it solves."""
        origin = f"{100 * _SHARE:g}% of the range of rewards" if self.beta is None else "given"
        return (f"β = {self.solver.beta:g}: {origin}", *super().choices)
