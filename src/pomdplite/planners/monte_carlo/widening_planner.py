"""What POMCPOW and PFT-DPW have in common as planners: their parameters, the belief at the root, budgets.

Every step begins a new tree: readings do not repeat, so what was searched below the last one has not happened.
"""

import math
from abc import abstractmethod
from typing import Any, ClassVar

from pomdplite.beliefs import PARTICLES, initial_belief
from pomdplite.compile.jit import Words
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import SOLVE_SECONDS, Budget
from pomdplite.model.compiled import KernelView
from pomdplite.model.model import Model
from pomdplite.planners.monte_carlo.exploration import exploration_constant
from pomdplite.planners.monte_carlo.leaves import AUTO, checked_leaves, leaf_values
from pomdplite.planners.monte_carlo.nodes import SIMULATIONS, SearchNodes
from pomdplite.planners.monte_carlo.planner import MonteCarloPlanner
from pomdplite.planners.monte_carlo.simulation import SearchRoot, allocate_simulation
from pomdplite.planners.monte_carlo.widening import WideningSettings


class WideningPlanner(MonteCarloPlanner):
    """Tree search with progressive widening; next states and observations may be real numbers.

    time, sims         budget per step, update of the belief included: seconds (0.1 by default) or simulations
    exploration        c of the UCB1 rule; default: the model's return_range, or else the range of its rewards
    k_observation, alpha_observation
                       an action with N tries has up to k N^α + 1 outcomes in the tree; default: each planner's own
    k_action, alpha_action
                       a node with N visits considers k N^α + 1 actions; default: all
    search_depth       steps that the search looks ahead; default: to the end of the episode
    leaves             the value of a new leaf: "full-information", "heuristic", "rollouts", or "auto"
                       (monte_carlo/leaves.py)
    particles          draws of θ in the belief, if θ cannot be listed and has more than two numbers
    solve_time         seconds that preparing may take, once, before the first step; TooLargeError if it needs longer
    """

    default_k_observation: ClassVar[float]
    default_alpha_observation: ClassVar[float]
    _settings: WideningSettings

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        exploration: float | None = None,
        k_observation: float | None = None,
        alpha_observation: float | None = None,
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
        self.k_observation = self.default_k_observation if k_observation is None else k_observation
        self.alpha_observation = self.default_alpha_observation if alpha_observation is None else alpha_observation
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
        """Any model will do whose hidden values give next states their probabilities."""
        view.require_known_probabilities(f"the planner {self.title}")

    @abstractmethod
    def _allocate(self, held: int) -> SearchNodes:
        """Make room for a tree beside so many bytes; its nodes."""

    @abstractmethod
    def _plant(self, root: SearchRoot) -> None:
        """Start a new tree at the present history."""

    @abstractmethod
    def _simulate(self, root: SearchRoot, count: int) -> None:
        """Run so many simulations."""

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

    def _search(self, budget: Budget) -> None:
        clock, counts = budget.start(), self._nodes.counts
        b, no_particles = self.belief.probabilities, self._simulation.theta
        root = SearchRoot(node=0, s=self.s.reshape(1, -1), b=b, particles=no_particles)
        self._plant(root)
        self.view.raise_fault()
        while (count := clock.portion(int(counts[SIMULATIONS]))) > 0:
            self._simulate(root, count)
            self.view.raise_fault()

    def _advance(self, a: int, y: Words, o: int) -> None:
        """Update the belief with what happened, and what the model remembers of it."""
        before = self._x
        super()._advance(a, y, o)
        self._remember(before, a, y, o)
