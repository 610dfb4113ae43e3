"""Solves the internal-reward MDP of a listed θ by value iteration, on one graph for all steps and episodes."""

import math

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.reachable import STATE_LIMIT, build
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.value_iteration import TOLERANCE, ValueIteration
from pomdplite.model.compiled import KernelView


class ExactSolver:
    """Solves the internal-reward MDP by value iteration on every state reachable from the model's initial state.

    limit    the most states
    numbers  the most numbers in their distinct steps, which every decision averages over a belief
    """

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, tolerance: float = TOLERANCE, limit: int = STATE_LIMIT,
        numbers: float = math.inf, deadline: Deadline = NO_DEADLINE,
    ) -> None:  # fmt: skip
        self.view, self.gamma, self.beta, self.tolerance, self.limit = view, gamma, beta, tolerance, limit
        self.numbers = numbers
        self._build(view.root(), deadline)

    def _build(self, root: Words, deadline: Deadline) -> None:
        self.reachable = build(self.view, root, limit=self.limit, numbers=self.numbers, deadline=deadline)
        self.iteration = self.iterate(self.beta, deadline)

    def iterate(self, beta: float, deadline: Deadline) -> ValueIteration:
        """Value iteration for a β on the same graph."""
        return ValueIteration(self.reachable, self.gamma, beta, tolerance=self.tolerance, deadline=deadline)

    def use_beta(self, beta: float) -> None:
        """Solve for this β from now on."""
        self.beta, self.iteration = beta, self.iterate(beta, self.iteration.deadline.again())

    def reset(self, prior: Floats, seed: int) -> None:
        """Start from the solution for the prior."""
        self.iteration.reset(prior)

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Solve for the belief b all that s can reach."""
        self.iteration.deadline = self.iteration.deadline.again()
        state = self.reachable.find(s)
        if state < 0:  # a world other than the model led to a state that the model never reaches
            self._build(s, self.iteration.deadline)
            state = self.reachable.find(s)
        return self.iteration.solve_at(state, b)
