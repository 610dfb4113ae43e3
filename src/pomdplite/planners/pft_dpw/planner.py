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
from pomdplite.planners.monte_carlo.simulation import SearchRoot
from pomdplite.planners.monte_carlo.widening_planner import WideningPlanner
from pomdplite.planners.pft_dpw.search import plant, search
from pomdplite.planners.pft_dpw.tree import allocate_filter_tree

M = 64


class PftDpw(WideningPlanner):
    """Monte-Carlo tree search over beliefs of a few particles; next states and observations may be real numbers.

    m  particles of a belief in the tree; `particles` are those of the planner's own belief

    All other parameters are those of `WideningPlanner`.
    """

    title: ClassVar[str] = "pft-dpw"
    method: ClassVar[str] = "PFT-DPW"
    default_k_observation: ClassVar[float] = 4.0
    default_alpha_observation: ClassVar[float] = 1 / 10

    def __init__(
        self,
        model: Model,
        *,
        time: float | None = None,
        sims: int | None = None,
        exploration: float | None = None,
        m: int = M,
        k_observation: float | None = None,
        alpha_observation: float | None = None,
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
