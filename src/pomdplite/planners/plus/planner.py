"""POMDP-lite plus as a planner: α-vectors found before the first step, improved at the present belief in every step."""

import math
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import PARTICLES, ExactBelief, exact_belief
from pomdplite.compile.jit import Floats
from pomdplite.errors import TooLargeError, UsageError
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.full_information import full_information_values
from pomdplite.mdp.momdp import momdp_form
from pomdplite.mdp.solution import Solution
from pomdplite.model.model import Model
from pomdplite.planners.base import Decision, Planner, choose
from pomdplite.planners.plus.search import look
from pomdplite.planners.plus.solver import PlusSolver
from pomdplite.planners.point_based.grouped_momdp import group_outcomes
from pomdplite.planners.point_based.tree import ROOT
from pomdplite.planners.point_based.vectors import VECTORS


class PomdpLitePlus(Planner):
    title: ClassVar[str] = "pomdp-lite-plus"

    def __init__(self, model: Model, *, time: float | None = None, sims: int | None = None, solve_time: float = 30.0,
                 solve_trials: int | None = None, precision: float = 0.001, memory: float = 4.0, particles: int = PARTICLES):
        super().__init__(model, solve_time)
        self.budget: Budget = Budget.of(time, sims)
        self.time, self.sims, self.solve_trials, self.precision, self.memory, self.particles = time, sims, solve_trials, precision, memory, particles

    @property
    def parameters(self) -> dict[str, Any]:
        return {"time": self.time, "sims": self.sims, "solve_time": self.solve_time, "solve_trials": self.solve_trials,
                "precision": self.precision, "memory": self.memory, "particles": self.particles}

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.momdp = momdp_form(self.model, deadline=self._deadline)
        self.belief = exact_belief(self.view)
        corner = full_information_values(self.momdp, self.model.discount, memory=int(self.memory * 1e9), deadline=self._deadline)
        self._grouped = group_outcomes(self.momdp, corner, self.model.discount, alike=0.15)
        self.solver = PlusSolver(self.momdp, self._grouped, self.memory, self._deadline)
        self.solver.solve(self.precision, self.solve_trials, getattr(self, "progress", None))
        self.solver.finish()

    def reset(self, seed: int = 0) -> None:
        super().reset(seed)
        self.solver.begin(seed)

    def _decide(self) -> Decision:
        r, solver = self.momdp.reachable, self.solver
        state = r.find(self.s[: self.model.state.words])
        trials = solver.search(state, self.belief.joint(), self._search_budget(), self.precision)
        root = int(solver.tree.counts[ROOT])
        look(solver.model, solver.vectors, solver.tree, solver.scratch, root)
        pairs = r.actions(state)
        order = pairs - r.graph.first[state]
        q = solver.scratch.q_lower[order].copy()
        actions, zero = r.graph.action[pairs], np.zeros(len(pairs))
        lower, upper = solver.bounds
        return Decision(
            action=choose(actions, q),
            solution=Solution(solver=f"{solver.vectors.counts[VECTORS]} α-vectors", actions=actions, q=q, bonus_part=zero,
                              mean_reward=solver.tree.reward[solver.tree.first_pair[root] + order], mean_bonus=zero, states=r.states,
                              residual=upper - lower, simulations=trials),
            action_names=self.model.actions, bounds=(lower, upper),
        )
