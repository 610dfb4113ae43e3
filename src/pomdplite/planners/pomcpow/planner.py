"""POMCPOW as a planner: simulations from the present belief within a budget, then the action with the best mean return.

The default constants of widening are those of Sunberg and Kochenderfer (2018) for Light-Dark; for their other problems
k_o was between 4 and 6 and α_o between 1/100 and 1/15.
"""

from typing import ClassVar

from pomdplite.planners.monte_carlo.nodes import SearchNodes
from pomdplite.planners.monte_carlo.simulation import SearchRoot
from pomdplite.planners.monte_carlo.widening_planner import WideningPlanner
from pomdplite.planners.pomcpow.search import plant, search
from pomdplite.planners.pomcpow.tree import allocate_particle_tree


class Pomcpow(WideningPlanner):
    """Monte-Carlo tree search over histories with weighted particles; next states and observations may be real numbers.

    The parameters are those of `WideningPlanner`.
    """

    title: ClassVar[str] = "pomcpow"
    method: ClassVar[str] = "POMCPOW"
    default_k_observation: ClassVar[float] = 5.0
    default_alpha_observation: ClassVar[float] = 1 / 15

    def _allocate(self, held: int) -> SearchNodes:
        self._tree = allocate_particle_tree(self.belief.kernel_model, held)
        return self._tree.wide.nodes

    def _plant(self, root: SearchRoot) -> None:
        plant(self.belief.kernel_model, self._tree, root, self._simulation)

    def _simulate(self, root: SearchRoot, count: int) -> None:
        search(self.belief.kernel_model, self._tree, root, self._simulation, self._settings, count)
