"""PFT-DPW as a planner: simulations from the present belief within a budget, then the action with the best mean return.

The default constants of widening are those of Sunberg and Kochenderfer (2018) for Light-Dark. They had m = 20 there;
what either is worth is in docs/decisions/0005.
"""

from typing import Any, ClassVar

from pomdplite.beliefs import PARTICLES
from pomdplite.errors import UsageError
from pomdplite.mdp.budget import SOLVE_SECONDS
from pomdplite.model.model import Model
from pomdplite.planners.monte_carlo.leaves import AUTO
from pomdplite.planners.monte_carlo.nodes import SearchNodes
from pomdplite.planners.monte_carlo.planner import WideningPlanner
from pomdplite.planners.monte_carlo.simulation import SearchRoot
from pomdplite.planners.pft_dpw.search import plant, search
from pomdplite.planners.pft_dpw.tree import allocate_filter_tree

M = 64
K_OBSERVATION, ALPHA_OBSERVATION = 4.0, 1 / 10


class PftDpw(WideningPlanner):
    """Monte-Carlo tree search over beliefs of a few particles; next states and observations may be real numbers.

    time, sims         budget per step, update of the belief included: seconds (0.1 by default) or simulations
    exploration        c of the UCB1 rule; default: the model's return_range, or else the range of its rewards
    m                  particles of a belief in the tree
    k_observation, alpha_observation
                       an action with N tries has up to k N^α + 1 outcomes in the tree
    k_action, alpha_action
                       a node with N visits considers k N^α + 1 actions; default: all
    search_depth       steps that the search looks ahead; default: to the end of the episode
    leaves             the value of a new leaf: "full-information", "heuristic", "rollouts", or "auto"
                       (monte_carlo/leaves.py)
    particles          draws of θ in the planner's own belief, if θ cannot be listed and has more than two numbers
    solve_time         seconds that preparing may take, once, before the first step; TooLargeError if it needs longer
    """

    title: ClassVar[str] = "pft-dpw"
    method: ClassVar[str] = "PFT-DPW"

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        exploration: float | None = None,
        m: int = M,
        k_observation: float = K_OBSERVATION,
        alpha_observation: float = ALPHA_OBSERVATION,
        k_action: float | None = None,
        alpha_action: float = 0.5,
        search_depth: int | None = None,
        leaves: str = AUTO,
        particles: int = PARTICLES,
        solve_time: float = SOLVE_SECONDS,
    ) -> None:
        super().__init__(
            model, time=time, sims=sims, exploration=exploration, k_observation=k_observation,
            alpha_observation=alpha_observation, k_action=k_action, alpha_action=alpha_action,
            search_depth=search_depth, leaves=leaves, particles=particles, solve_time=solve_time,
        )  # fmt: skip
        if m < 2:
            raise UsageError(f"m must be at least 2, not {m!r}.")
        self.m = m

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return super().parameters | {"m": self.m}

    def _allocate(self, held: int) -> SearchNodes:
        self._tree = allocate_filter_tree(self.belief.kernel_model, self.m, held)
        return self._tree.wide.nodes

    def _plant(self, root: SearchRoot) -> None:
        plant(self.belief.kernel_model, self._tree, root, self._simulation)

    def _simulate(self, root: SearchRoot, count: int) -> None:
        search(self.belief.kernel_model, self._tree, root, self._simulation, self._settings, count)
