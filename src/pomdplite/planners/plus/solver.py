"""Solves by greedy paths, SARSOP's and POMDP-lite's, and goes on from the present belief in every step.

Greedy paths improve the policy where it leads. SARSOP's look elsewhere: where the bounds leave room for a better one.
Small models need no more. Where that is not enough, POMDP-lite's paths show a policy that is good already.
What is found in an episode is forgotten when the next one begins, so that episodes do not depend on each other.
"""

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats
from pomdplite.mdp.budget import Budget, Deadline
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.plus.lite_paths import LitePaths, Visit
from pomdplite.planners.plus.repeating import values_of_repeating
from pomdplite.planners.plus.search import back_up_path, greedy_trial, look
from pomdplite.planners.point_based.bounds import BoundScratch, update_node_lower
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.tree import NODES, ROOT, clear, make_node
from pomdplite.planners.point_based.vectors import (
    VECTORS,
    AlphaVectors,
    add_vector,
    first_vectors,
    kept_vectors,
    remove_later_vectors,
    restore_vectors,
    trimmed,
)
from pomdplite.planners.sarsop.solver import SarsopSolver
from pomdplite.rng import stream

_GREEDY, _SARSOPS, _LITES = range(3)  # kinds of paths
_SHARE = 0.5  # of the work that is for SARSOP's paths
_LONGEST_STREAK = 10  # greedy paths in a row: where they find no new nodes, they find nothing new
_OLD_NODE = 0.05  # the work of a node that was there, compared with a new one
_WORTHWHILE = 0.0003  # of the gap at the root: an improvement of V̲ that justifies twice as much work again
_LEAST = 2000  # new nodes before solving may end without one, and before POMDP-lite is asked for paths
_RANDOM = 3  # the purpose of the random numbers


class Ending(NamedTuple):
    """Where a greedy path has nothing left to do that depends on θ."""

    state: int
    b: Floats


class Promise(NamedTuple):
    """What another part of the model is worth from a state on (rest.py)."""

    state: int
    action: int
    value: Floats  # [joint value]


class PlusSolver(SarsopSolver):
    """Γ and the tree of sampled beliefs, before and during an episode."""

    initial_share = 0.02

    def __init__(
        self, momdp: Momdp, model: GroupedMomdp, memory: float, deadline: Deadline, known: AlphaVectors | None = None,
        lite: LitePaths | None = None,
    ) -> None:  # fmt: skip
        super().__init__(momdp, model, memory, deadline, known)
        self._lite, self._lite_path = lite, list[Visit]()  # the source of POMDP-lite's paths, and the next of them
        self._lite_paths = 0  # so far
        self._random = stream(0, _RANDOM)
        self._best, self._improved = -np.inf, 0.0  # V̲ at the last worthwhile improvement, and the work until then
        self._seconds = [0.0] * 3  # by kind: what a belief of a path took last; 0 if there was none yet
        self.own: int | None = None  # the number of vectors that rely on no promise; all if there are none
        self._start_over()

    def _start_over(self) -> None:
        self._kind, self._streak = _GREEDY, 0  # of the next path; greedy paths since SARSOP's last
        self._work = [0.0] * 3  # by kind: new nodes, and old ones at a fraction
        self._belief_seconds = self._seconds[self._kind]

    def _initial_actions(self) -> Iterable[int]:
        """The best first, as far as can be told from the prior."""
        return np.argsort(-values_of_repeating(self.momdp, self.model.gamma), kind="stable").tolist()

    def _trial(self, scratch: BoundScratch) -> int:
        before = int(self.tree.counts[NODES])
        if self._kind == _SARSOPS:
            length = super()._trial(scratch)
        elif self._kind == _LITES:
            length = self._lite_trial(scratch)
        else:
            length = greedy_trial(self.model, self.vectors, self.tree, scratch, self.precision, self._random)
        self._work[self._kind] += int(self.tree.counts[NODES]) - before + _OLD_NODE * length
        return length

    def _lite_trial(self, scratch: BoundScratch) -> int:
        """Back up the beliefs of a path of POMDP-lite."""
        path, momdp = self._lite_path[: len(scratch.path)], self.momdp
        for i, visit in enumerate(path):
            b = momdp.view.table.joint_distribution(visit.b, momdp.components)
            scratch.path[i] = make_node(self.model, self.tree, momdp.reachable.find(visit.x), b, np.inf)
        back_up_path(self.model, self.vectors, self.tree, scratch, len(path))
        return len(path)

    def _sample(self, depth: int) -> int:
        length = super()._sample(depth)
        self._seconds[self._kind] = self._belief_seconds
        self._kind = self._next_kind()
        self._belief_seconds = self._seconds[self._kind]
        return length

    def _next_kind(self) -> int:
        """Of the next path."""
        self._streak = self._streak + 1 if self._kind == _GREEDY else 0
        if self._kind != _LITES and sum(self._work) >= _LEAST and self._lite is not None:
            path = self._lite.path(self._lite_paths)
            if path is not None:
                self._lite_path, self._lite_paths = path, self._lite_paths + 1
                return _LITES
            self._lite = None
        behind = self._work[_SARSOPS] < _SHARE * (self._work[_SARSOPS] + self._work[_GREEDY])
        return _SARSOPS if behind or self._streak >= _LONGEST_STREAK else _GREEDY

    def _settled(self) -> bool:
        """Whether twice as much work as it took to come here has brought no worthwhile improvement."""
        lower, upper = self.bounds
        work = sum(self._work)
        if lower > self._best + _WORTHWHILE * (upper - lower):
            self._best, self._improved = lower, work
        return self._lite is None and work >= 3 * self._improved + _LEAST

    def ending(self) -> Ending:
        """Where one more greedy path ends, apart from actions that depend on no component of θ."""
        model, tree = self.model, self.tree
        self._make_room()
        length = greedy_trial(model, self.vectors, tree, self.scratch, self.precision, self._random)
        path, last = self.scratch.path[:length], 0
        for i, node in enumerate(path):
            update_node_lower(self.vectors, tree, node)
            pairs = slice(*model.first_pair[tree.state[node] : tree.state[node] + 2])
            taken = model.action[pairs] == self.vectors.action[tree.vector[node]]
            if (model.component[pairs][taken] < len(model.offsets) - 2).any():
                last = i
        node = path[min(last + 1, length - 1)]
        return Ending(int(tree.state[node]), tree.belief[node].copy())

    def accept(self, promises: Iterable[Promise], lite: LitePaths) -> None:
        """Begin at b₀ again, with all vectors so far and those that another part promises."""
        self._prune()
        self.own = int(self.vectors.counts[VECTORS])
        for promise in promises:
            number = int(self.vectors.counts[VECTORS])
            if number + self.depth < len(self.vectors.value):
                self.vectors.successors[number] = -1
                add_vector(self.vectors, *promise)
        self.return_to_start()
        self._lite, self._lite_paths, self.trials = lite, 0, 0
        self._best, self._improved = -np.inf, 0.0
        self._start_over()

    def return_to_start(self) -> None:
        """Make b₀ the root again, and prune none of the vectors so far: they may be needed elsewhere."""
        self._initial = self._kept = int(self.vectors.counts[VECTORS])
        clear(self.tree)
        make_node(self.model, self.tree, self.momdp.reachable.find(self.momdp.view.root()), self.momdp.prior, np.inf)
        update_node_lower(self.vectors, self.tree, 0)

    def finish(self) -> AlphaVectors:
        """End solving: what comes later belongs to an episode. Γ as it is now."""
        if self.trials > 0:
            self._prune()
        self._lite = None
        self._kept_vectors, self._pruning_seconds = kept_vectors(self.vectors), 0.0  # nothing is pruned from now on
        self._found, self._promised = trimmed(self.vectors), self.own is not None
        return self._found

    def begin(self, seed: int) -> None:
        """Begin an episode with what solving has found."""
        if self.own is not None and not self._promised:
            restore_vectors(self.vectors, self._found, self._kept_vectors)
        self._promised = self.own is not None
        remove_later_vectors(self.vectors, self._kept_vectors)
        clear(self.tree)
        self._random = stream(seed, _RANDOM)
        self._start_over()

    def break_promises(self) -> None:
        """Do without the vectors that rely on promises until the episode ends."""
        if self._promised and self.own is not None:
            remove_later_vectors(self.vectors, first_vectors(self.vectors, self.own))
            clear(self.tree)
            self._promised = False

    def search(self, state: int, b: Floats, budget: Budget, precision: float) -> None:
        """Sample paths from the belief b in x, which is the tree's root from now on.

        A path is no longer than there is time for, and at most twice as long as those of its kind before it: they tell
        how long a belief takes, and on new ground it takes longer. Without memory for another path there is none.
        """
        self.deadline = Deadline(np.inf if budget.seconds is None else budget.seconds, budget.clock)
        self.precision, self.trials, longest = precision, 0, [0] * len(self._seconds)
        if self.tree.counts[NODES] + self.depth > len(self.tree.state):
            clear(self.tree)
        root = self.tree.counts[ROOT] = make_node(self.model, self.tree, state, b, np.inf)
        update_node_lower(self.vectors, self.tree, root)
        look(self.model, self.vectors, self.tree, self.scratch, root)
        while self.trials != budget.simulations and self._has_room():
            lower, upper = self.bounds
            kind = self._kind
            depth = self._affordable(max(1, 2 * longest[kind]) if self._belief_seconds > 0 else 1)
            if upper - lower <= precision or depth < 1:
                break
            longest[kind] = max(longest[kind], self._sample(depth))
        look(self.model, self.vectors, self.tree, self.scratch, root)
