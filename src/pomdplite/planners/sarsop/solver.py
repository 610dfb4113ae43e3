"""SARSOP's way to sample: where the bounds are apart, with ε half of the present gap at the root."""

from pomdplite.planners.point_based.bounds import BoundScratch
from pomdplite.planners.point_based.solver import PointBasedSolver
from pomdplite.planners.sarsop.search import trial

_EPSILON = 0.5  # of the gap at the root: ε


class SarsopSolver(PointBasedSolver):
    """The main loop of SARSOP (Kurniawati, Hsu, Lee 2008, Algorithm 1)."""

    def _trial(self, scratch: BoundScratch) -> int:
        lower, upper = self.bounds
        epsilon = max(_EPSILON * (upper - lower), 0.9 * self.precision)
        return trial(self.model, self.vectors, self.tree, scratch, epsilon)
