"""What POMCPOW and PFT-DPW have in common as planners: their parameters, the belief at the root, budgets, decisions.

Every step begins a new tree: readings do not repeat, so what was searched below the last one has not happened.
"""

import math
from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import PARTICLES, initial_belief
from pomdplite.compile import abi
from pomdplite.compile.jit import Words
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import SOLVE_SECONDS, Budget
from pomdplite.mdp.solution import Solution
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.planners.base import Planner
from pomdplite.planners.decision import Decision, choose
from pomdplite.planners.monte_carlo.exploration import exploration_constant
from pomdplite.planners.monte_carlo.leaves import AUTO, checked_leaves, leaf_values
from pomdplite.planners.monte_carlo.nodes import DEEPEST, FULL, NODES, SIMULATIONS, STEPS, SearchNodes
from pomdplite.planners.monte_carlo.simulation import SearchRoot, Simulation, allocate_simulation
from pomdplite.planners.monte_carlo.widening import WideningSettings
from pomdplite.rng import stream


class WideningPlanner(Planner):
    """Tree search with progressive widening from the package's belief."""

    method: ClassVar[str]  # its name for people

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        exploration: float | None = None,
        k_observation: float,
        alpha_observation: float,
        k_action: float | None = None,
        alpha_action: float = 0.5,
        search_depth: int | None = None,
        leaves: str = AUTO,
        particles: int = PARTICLES,
        solve_time: float = SOLVE_SECONDS,
    ) -> None:
        super().__init__(model, solve_time)
        self.budget: Budget = Budget.of(time, sims)
        for name, value in (("exploration", exploration), ("alpha_observation", alpha_observation),
                            ("alpha_action", alpha_action)):  # fmt: skip
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise UsageError(f"{name} must be at least 0, not {value!r}.")
        for name, value in (("k_observation", k_observation), ("k_action", k_action)):
            if value is not None and not (math.isfinite(value) and value > 0):
                raise UsageError(f"{name} must be positive, not {value!r}.")
        if search_depth is not None and search_depth < 1:
            raise UsageError(f"search_depth must be at least 1, not {search_depth!r}.")
        if particles < 2:
            raise UsageError(f"particles must be at least 2, not {particles!r}.")
        self.time, self.sims, self.exploration, self.particles = time, sims, exploration, particles
        self.k_observation, self.alpha_observation = k_observation, alpha_observation
        self.k_action, self.alpha_action = k_action, alpha_action
        self.search_depth, self.leaves = search_depth, checked_leaves(leaves)

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {
            "time": self.time, "sims": self.sims, "exploration": self.exploration,
            "k_observation": self.k_observation, "alpha_observation": self.alpha_observation,
            "k_action": self.k_action, "alpha_action": self.alpha_action, "search_depth": self.search_depth,
            "leaves": self.leaves, "particles": self.particles, "solve_time": self.solve_time,
        }  # fmt: skip

    def _require_outcomes(self, view: KernelView) -> None:
        """Any model will do."""

    @abstractmethod
    def _allocate(self, held: int) -> SearchNodes:
        """Make room for a tree beside so many bytes; its nodes."""

    @abstractmethod
    def _plant(self, root: SearchRoot) -> None:
        """Start a new tree at the present history."""

    @abstractmethod
    def _simulate(self, root: SearchRoot, count: int) -> None:
        """Run so many simulations."""

    _simulation: Simulation
    _settings: WideningSettings

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        self.belief = initial_belief(self.view, self.particles)
        horizon = self.model.episode_horizon
        self._settings = WideningSettings(
            c=float(exploration_constant(self.view, self.exploration, self._deadline)),
            gamma=float(self.model.discount),
            search_depth=min(horizon, self.search_depth or horizon),
            k_action=math.inf if self.k_action is None else float(self.k_action),
            alpha_action=0.0 if self.k_action is None else float(self.alpha_action),
            k_observation=float(self.k_observation),
            alpha_observation=float(self.alpha_observation),
            leaves=leaf_values(self.model, self.leaves, self._deadline),
        )
        self._simulation = allocate_simulation(self.belief.kernel_model, self._settings.search_depth)
        self._nodes = self._allocate(0)
        self._begin(0)
        self._start()
        self._search(Budget(None, 2))  # compiles the kernels

    def _begin(self, seed: int) -> None:
        self._simulation.random[:] = stream(seed, 1)
        self._simulation.memory[:] = 0

    def _decide(self) -> Decision:
        self._search(self._search_budget())
        return self._decision()

    def _search(self, budget: Budget) -> None:
        clock, counts = budget.start(), self._nodes.counts
        b, no_particles = self.belief.probabilities, self._simulation.theta
        root = SearchRoot(node=0, s=self.s.reshape(1, -1), b=b, particles=no_particles)
        self._plant(root)
        self.view.raise_fault()
        while (count := clock.portion(int(counts[SIMULATIONS]))) > 0:
            self._simulate(root, count)
            self.view.raise_fault()

    def _decision(self) -> Decision:
        nodes = self._nodes
        pairs = slice(int(nodes.first[0]), int(nodes.first[0] + nodes.pairs[0]))
        q, tries, actions = nodes.value[pairs].copy(), nodes.tries[pairs].copy(), nodes.action[pairs].copy()
        q[tries == 0] = -np.inf  # nothing is known of them
        zero, counts = np.zeros(len(q)), nodes.counts
        notes = ("the search ran out of space for new histories",) if counts[FULL] else ()
        return Decision(
            action=choose(actions, q),
            solution=Solution(
                solver=self.method, actions=actions, q=q, bonus_part=zero, mean_reward=zero, mean_bonus=zero,
                states=int(counts[NODES]), visits=tries.astype(np.int32), simulations=int(counts[SIMULATIONS]),
                steps=int(counts[STEPS]), deepest=int(counts[DEEPEST]),
            ),
            action_names=self.model.actions,
            notes=notes + self.belief.notes,
        )  # fmt: skip

    def _advance(self, a: int, y: Words, o: int) -> None:
        """Update the belief with what happened, and what the model remembers of it."""
        before = self._x
        super()._advance(a, y, o)
        model, memory = self.belief.kernel_model, self._simulation.memory
        abi.remember(model, before.reshape(1, -1), a, y.reshape(1, -1), 0, o, memory, 0)
        self.view.raise_fault()
