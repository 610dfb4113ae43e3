"""POMDP-lite: Algorithm 1 of the paper, with the internal-reward MDP solved exactly.

    t ← 0, b ← b₀, s ← s₀
    while not end and t < T:
        a ← argmax_a Q̃*(b, s, a)        solve the internal-reward MDP (mdp/value_iteration.py), b frozen
        (r, s') ← ExecuteAction(a)       a world (worlds/)
        b ← UpdateBelief(b, s')          Bayes' rule (beliefs/)

where Q̃* counts β times the expected L1 change of the belief as reward (Definition 1, bonus.py).
"""

import math
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import initial_belief
from pomdplite.errors import UsageError
from pomdplite.mdp.reachable import STATE_LIMIT, Reachable, build
from pomdplite.mdp.value_iteration import TOLERANCE, ValueIteration
from pomdplite.model import Model
from pomdplite.planners.base import Decision, Planner, choose

DEFAULT_BETA = 0.05  # of the range of rewards, where the model names no β


class PomdpLite(Planner):
    """The paper's planner. `beta` weighs exploration; left out, it is the model's own, or 5 % of the reward range."""

    title: ClassVar[str] = "pomdp-lite"

    def __init__(
        self, model: Model, beta: float | None = None, *, tolerance: float = TOLERANCE, limit: int = STATE_LIMIT
    ) -> None:
        super().__init__(model)
        if beta is not None and not (math.isfinite(beta) and beta >= 0):
            raise UsageError(f"beta must be a number of at least 0, not {beta!r}.")
        self.beta = model.beta if beta is None else beta  # None until the rewards are known
        self.tolerance, self.limit = tolerance, limit

    @property
    def parameters(self) -> dict[str, Any]:
        """β, the solver's tolerance and the limit on states."""
        return {"beta": self.beta, "tolerance": self.tolerance, "limit": self.limit}

    def _prepare(self) -> None:
        self.view = self.model.kernel_view()
        self.belief = initial_belief(self.view)
        self._build(self.view.root())

    def _build(self, root: Any) -> None:
        self.reachable = build(self.view, root, limit=self.limit)
        if self.beta is None:
            low, high = reward_range(self.reachable)
            self.beta = DEFAULT_BETA * (high - low)
        self.solver = ValueIteration(self.reachable, self.model.discount, self.beta, tolerance=self.tolerance)
        self.solver.reset(self.view.table.prior)

    def reset(self, seed: int = 0) -> None:
        """Back to the first state, the prior, and the solution for the prior."""
        super().reset(seed)
        self.solver.reset(self.view.table.prior)

    def _decide(self) -> Decision:
        state = self.reachable.find(self.s)
        if state < 0:  # a world outside the model put us where the model never leads
            self._build(self.s)
            state = self.reachable.find(self.s)
        found = self.solver.solve(state, self.belief.probabilities)
        action = choose(found.actions, found.q)
        return Decision(
            action, str(self.model.actions[action]), found.value, found.actions, found.q, found.bonus_part,
            found.mean_reward, found.mean_bonus, "value iteration", found.states, found.solved, found.residual,
        )  # fmt: skip


def reward_range(reachable: Reachable) -> tuple[float, float]:
    """The smallest and largest reward of any reachable (x, θ, a)."""
    rewards = [reachable.likelihood(r)[0] for r in range(reachable.row_count)]
    return float(min(np.min(r) for r in rewards)), float(max(np.max(r) for r in rewards))
