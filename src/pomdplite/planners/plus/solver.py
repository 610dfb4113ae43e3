"""Solves by greedy paths, with one of SARSOP's now and then, and goes on from the present belief in every step.

Greedy paths improve the policy where it leads. SARSOP's look elsewhere: where the bounds leave room for a better one.
What is found in an episode is forgotten when the next one begins, so that episodes do not depend on each other.
"""

from typing import NamedTuple

from pomdplite.compile.jit import Floats
from pomdplite.mdp.budget import Budget, Deadline
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.plus.search import greedy_trial, look
from pomdplite.planners.point_based.bounds import BoundScratch, update_node_lower
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.pruning import forget_edges
from pomdplite.planners.point_based.solver import PointBasedSolver
from pomdplite.planners.point_based.tree import NODES, ROOT, KeptNodes, kept_nodes, make_node, restore_nodes
from pomdplite.planners.point_based.vectors import KeptVectors, kept_vectors, restore_vectors
from pomdplite.planners.sarsop.search import trial
from pomdplite.rng import stream

_OPTIMISTIC = 10  # every so many paths, one is SARSOP's
_EPSILON = 0.5  # of the gap at the root, for these
_WORTHWHILE = 0.0003  # of the gap at the root: an improvement of V̲ that justifies as many paths again
_FEWEST = 300  # paths before solving may end without one
_DEV = 0.0
_KIND = 1
_RANDOM = 3  # the purpose of the random numbers


class _Solved(NamedTuple):
    """What solving has found, before an episode adds to it."""

    vectors: KeptVectors
    nodes: KeptNodes


class PlusSolver(PointBasedSolver):
    """Γ and the tree of sampled beliefs, before and during an episode."""

    def __init__(self, momdp: Momdp, model: GroupedMomdp, memory: float, deadline: Deadline) -> None:
        super().__init__(momdp, model, memory, deadline)
        self._random = stream(0, _RANDOM)
        self._best, self._improved = self.bounds[0], 0  # V̲ at the last worthwhile improvement, and the path that made it

    def _trial(self, scratch: BoundScratch) -> int:
        lower, upper = self.bounds
        if self.trials % _OPTIMISTIC == _OPTIMISTIC - 1:
            epsilon = max(_EPSILON * (upper - lower), 0.9 * self.precision)
            return trial(self.model, self.vectors, self.tree, scratch, epsilon)
        return greedy_trial(self.model, self.vectors, self.tree, scratch, self.precision, self._random, _DEV if self.trials % 2 else 0.0, _KIND)

    def _settled(self) -> bool:
        """Whether as many paths as it took to come here have brought no worthwhile improvement."""
        lower, upper = self.bounds
        if lower > self._best + _WORTHWHILE * (upper - lower):
            self._best, self._improved = lower, self.trials
        return self.trials >= 3 * self._improved + _FEWEST

    def finish(self) -> None:
        """End solving: what comes later belongs to an episode."""
        self._prune()
        forget_edges(self.model, self.tree, len(self.tree.state) // 2)
        self._solved = _Solved(vectors=kept_vectors(self.vectors), nodes=kept_nodes(self.tree))

    def begin(self, seed: int) -> None:
        """Begin an episode with what solving has found."""
        restore_vectors(self.vectors, self._solved.vectors)
        restore_nodes(self.tree, self._solved.nodes)
        self.tree.bins[:] = 0.0
        self._random = stream(seed, _RANDOM)
        self._belief_seconds = self._pruning_seconds = 0.0

    def search(self, state: int, b: Floats, budget: Budget, precision: float) -> int:
        """Sample paths from the belief b in x; the number of paths. The bounds and the tree's root are then those of b.

        A path is no longer than there is time for.
        """
        clock = budget.start()
        self.precision, self.trials = precision, 0
        self.deadline = Deadline(clock.left, budget.clock)
        if self.tree.counts[NODES] + self.depth > len(self.tree.state):
            restore_nodes(self.tree, self._solved.nodes)
        self.tree.counts[ROOT] = make_node(self.model, self.tree, state, b, float("inf"))
        update_node_lower(self.vectors, self.tree, self.tree.counts[ROOT])
        look(self.model, self.vectors, self.tree, self.scratch, self.tree.counts[ROOT])
        depth = 1
        while self.trials != budget.simulations:
            lower, upper = self.bounds
            depth = self._affordable(2 * depth)
            if upper - lower <= precision or depth < 1 or not self._has_room():
                break
            self._sample(depth)
        return self.trials
