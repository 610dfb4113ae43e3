"""POMCP as a planner: simulations from the present belief within a budget, then the action with the best mean return.

The belief is POMCP's own, unweighted particles kept by the simulations of the last search, or the package's belief
(`pomcp-exact`). The subtree of the history that really follows is kept from one step to the next.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import RejectionBelief, initial_belief
from pomdplite.compile.jit import Words
from pomdplite.errors import UsageError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import SOLVE_SECONDS, Budget
from pomdplite.model.model import Model
from pomdplite.planners.monte_carlo.exploration import exploration_constant
from pomdplite.planners.monte_carlo.leaves import AUTO, checked_leaves, leaf_values
from pomdplite.planners.monte_carlo.nodes import LOGGED, SIMULATIONS
from pomdplite.planners.monte_carlo.planner import MonteCarloPlanner
from pomdplite.planners.monte_carlo.simulation import SearchRoot, allocate_simulation
from pomdplite.planners.pomcp.search import SearchSettings, allocate_first_steps, search
from pomdplite.planners.pomcp.tree import add_root, allocate_tree, clear, crowded, follow

PARTICLES = 1000
_FIRST_STEPS = 1 << 18  # simulations of one search whose first step is recorded
_FIRST_STEPS_SHARE = 0.25  # of the memory


class Pomcp(MonteCarloPlanner):
    """Monte-Carlo tree search over histories.

    time, sims   budget per step, update of the belief included: seconds (0.1 by default) or simulations
    exploration  c of the UCB1 rule; default: the model's return_range, or else the range of its rewards
    particles    draws of θ in the belief
    leaves       the value of a new leaf: "full-information", "heuristic", "rollouts", or "auto" (monte_carlo/leaves.py)
    solve_time   seconds that preparing may take, once, before the first step; TooLargeError if it needs longer
    """

    title: ClassVar[str] = "pomcp"
    method: ClassVar[str] = "POMCP"
    exact: ClassVar[bool] = False  # whether to search from the package's belief instead of unweighted particles

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        exploration: float | None = None,
        particles: int = PARTICLES,
        leaves: str = AUTO,
        solve_time: float = SOLVE_SECONDS,
    ) -> None:
        super().__init__(model, solve_time)
        self.budget: Budget = Budget.of(time, sims)
        if exploration is not None and not exploration >= 0:
            raise UsageError(f"exploration must be at least 0, not {exploration!r}.")
        if particles < 1:
            raise UsageError(f"particles must be at least 1, not {particles!r}.")
        self.time, self.sims, self.exploration, self.particles = time, sims, exploration, particles
        self.leaves = checked_leaves(leaves)

    @property
    def parameters(self) -> dict[str, Any]:
        """The budget, c, the number of particles, how leaves are valued, and the time to prepare."""
        return {
            "time": self.time, "sims": self.sims, "exploration": self.exploration, "particles": self.particles,
            "leaves": self.leaves, "solve_time": self.solve_time,
        }  # fmt: skip

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view()
        model = self.view.kernel_model
        if self.exact:
            self.belief = initial_belief(self.view, self.particles)
        else:
            self.belief = self._filter = RejectionBelief(self.view, self.particles)
            self.view = self.belief.view
        self.c = exploration_constant(self.view, self.exploration, self._deadline)
        self._settings = SearchSettings(
            c=float(self.c), gamma=float(self.model.discount), search_depth=self.model.episode_horizon,
            leaves=leaf_values(self.model, self.leaves, self._deadline),
        )  # fmt: skip
        steps = memory.capacity(
            _FIRST_STEPS, 8 * model.x_words + 12, "first steps of simulations", share=_FIRST_STEPS_SHARE
        )
        self._first_steps = allocate_first_steps(model, 1 if self.exact else steps)
        self._tree = allocate_tree(model, memory.size(self._first_steps, self._settings))
        self._nodes = self._tree.nodes
        self._simulation = allocate_simulation(model, self._settings.search_depth)
        self._begin(0)
        self._start()
        self._search(Budget(None, 2))  # compiles the kernels

    def _begin(self, seed: int) -> None:
        """Drop the tree and the history."""
        super()._begin(seed)
        self._root = -1

    def _search(self, budget: Budget) -> None:
        clock = budget.start()
        tree, model, simulation = self._tree, self.belief.kernel_model, self._simulation
        if self._root < 0 or crowded(tree):
            self._plant()
        tree.nodes.counts[SIMULATIONS:] = 0
        particles, b = simulation.theta, np.zeros(0)
        if self.exact:
            b = self.belief.probabilities
        else:
            particles = self._filter.draws
        root = SearchRoot(node=self._root, s=self.s.reshape(1, -1), b=b, particles=particles)
        while (count := clock.portion(int(tree.nodes.counts[SIMULATIONS]))) > 0:
            search(model, tree, root, simulation, self._first_steps, self._settings, count)
            self.view.raise_fault()

    def _plant(self) -> None:
        """Start a new tree at the present history."""
        model, simulation = self.belief.kernel_model, self._simulation
        x = self.s[: model.x_words].reshape(1, -1)
        clear(self._tree)
        self._root = int(add_root(model, self._tree, x, simulation.memory, simulation.preferred))
        self.view.raise_fault()

    def _advance(self, a: int, y: Words, o: int) -> None:
        """Update the belief with what happened, and keep the part of the tree that follows it."""
        before = self._x
        if self.exact:
            super()._advance(a, y, o)
        else:
            steps = self._first_steps
            logged = min(int(self._tree.nodes.counts[LOGGED]), len(steps.action)) if self._root >= 0 else 0
            same = (steps.action[:logged] == a) & (steps.o[:logged] == o) & (steps.y[:logged] == y).all(axis=1)
            self._filter._advance(before, a, y, o, steps.particle[:logged][same])
            self._x = y.copy()
        self._remember(before, a, y, o)
        if self._root >= 0:
            self._root = int(follow(self._tree, self._root, a, y.reshape(1, -1), o))

    def _recover(self, y: Words) -> None:
        """Continue from state y with a new tree."""
        super()._recover(y)
        self._root = -1


class PomcpExact(Pomcp):
    """POMCP that searches from the package's belief, exact where θ can be listed, instead of its own particles."""

    title: ClassVar[str] = "pomcp-exact"
    exact: ClassVar[bool] = True
