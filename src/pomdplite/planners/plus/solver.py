"""Solves by greedy paths, with one of SARSOP's now and then, and goes on from the present belief in every step.

Greedy paths improve the policy where it leads. SARSOP's look elsewhere: where the bounds leave room for a better one.
What is found in an episode is forgotten when the next one begins, so that episodes do not depend on each other.
"""

from collections.abc import Iterable

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.mdp.budget import Budget, Deadline
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.plus.repeating import values_of_repeating
from pomdplite.planners.plus.search import greedy_trial, look
from pomdplite.planners.point_based.bounds import BoundScratch, update_node_lower
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.solver import PointBasedSolver
from pomdplite.planners.point_based.tree import NODES, ROOT, clear, make_node
from pomdplite.planners.point_based.vectors import AlphaVectors, kept_vectors, remove_later_vectors, trimmed
from pomdplite.planners.sarsop.search import trial
from pomdplite.rng import stream

_OPTIMISTIC = 10  # every so many paths, one is SARSOP's
_EPSILON = 0.5  # of the gap at the root, for these
_WORTHWHILE = 0.0003  # of the gap at the root: an improvement of V̲ that justifies twice as many paths again
_FEWEST = 300  # paths before solving may end without one
_RANDOM = 3  # the purpose of the random numbers


class PlusSolver(PointBasedSolver):
    """Γ and the tree of sampled beliefs, before and during an episode."""

    initial_share = 0.02

    def __init__(
        self, momdp: Momdp, model: GroupedMomdp, memory: float, deadline: Deadline, known: AlphaVectors | None = None
    ) -> None:
        super().__init__(momdp, model, memory, deadline, known)
        self._random = stream(0, _RANDOM)
        self._best, self._improved = -np.inf, 0  # V̲ at the last worthwhile improvement, and the path that made it

    def _initial_actions(self) -> Iterable[int]:
        """The best first, as far as can be told from the prior."""
        return np.argsort(-values_of_repeating(self.momdp, self.model.gamma), kind="stable").tolist()

    def _trial(self, scratch: BoundScratch) -> int:
        if self.trials % _OPTIMISTIC == _OPTIMISTIC - 1:
            lower, upper = self.bounds
            epsilon = max(_EPSILON * (upper - lower), 0.9 * self.precision)
            return trial(self.model, self.vectors, self.tree, scratch, epsilon)
        return greedy_trial(self.model, self.vectors, self.tree, scratch, self.precision, self._random)

    def _settled(self) -> bool:
        """Whether twice as many paths as it took to come here have brought no worthwhile improvement."""
        lower, upper = self.bounds
        if lower > self._best + _WORTHWHILE * (upper - lower):
            self._best, self._improved = lower, self.trials
        return self.trials >= 3 * self._improved + _FEWEST

    def finish(self) -> AlphaVectors:
        """End solving: what comes later belongs to an episode. Γ as it is now."""
        if self.trials > 0:
            self._prune()
        self._kept_vectors = kept_vectors(self.vectors)
        return trimmed(self.vectors)

    def begin(self, seed: int) -> None:
        """Begin an episode with what solving has found."""
        remove_later_vectors(self.vectors, self._kept_vectors)
        clear(self.tree)
        self._random = stream(seed, _RANDOM)
        self._belief_seconds = self._pruning_seconds = 0.0

    def search(self, state: int, b: Floats, budget: Budget, precision: float) -> None:
        """Sample paths from the belief b in x, which is the tree's root from now on.

        A path is no longer than there is time for. Without memory for another path there is none.
        """
        self.deadline = Deadline(np.inf if budget.seconds is None else budget.seconds, budget.clock)
        self.precision, self.trials, depth = precision, 0, 1
        if self.tree.counts[NODES] + self.depth > len(self.tree.state):
            clear(self.tree)
        root = self.tree.counts[ROOT] = make_node(self.model, self.tree, state, b, np.inf)
        update_node_lower(self.vectors, self.tree, root)
        look(self.model, self.vectors, self.tree, self.scratch, root)
        while self.trials != budget.simulations and self._has_room():
            lower, upper = self.bounds
            depth = self._affordable(2 * depth)
            if upper - lower <= precision or depth < 1:
                break
            self._sample(depth)
        look(self.model, self.vectors, self.tree, self.scratch, root)
