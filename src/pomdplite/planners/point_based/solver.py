"""What point-based solvers share: Γ and the tree of sampled beliefs, and the loop in which they grow.

    initialize Γ and V̄, and make b₀ the root of the tree
    repeat until the bounds at the root are close or the budget is spent
        sample a path of beliefs from the root
        Backup(b) for the beliefs b on the path, from the last to the first
        Prune

Γ starts with the policies that repeat one action, and V̄ with the values of an agent that knows θ. Sampling ends early,
without losing what was found, when the user presses Ctrl-C.

With many actions and observations the bounds of a single belief can take seconds. So with a limit in seconds the first
path has one belief, the next ones up to twice as many as the last, and none has more than there is time for.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pomdplite.errors import NotConvergingError, TooLargeError, UsageError
from pomdplite.mdp import memory as memory_limit
from pomdplite.mdp.budget import Deadline, OutOfTimeError
from pomdplite.mdp.full_information import policy_values, repeated_action
from pomdplite.mdp.momdp import Momdp
from pomdplite.planners.point_based.bounds import WORTH, BoundScratch, allocate_scratch, update_node_lower
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.pruning import flag_reachable, forget_edges, prune_points, prune_vectors
from pomdplite.planners.point_based.tree import (
    NODES,
    ROOT,
    SampledBeliefTree,
    allocate_tree,
    make_node,
    node_bytes,
    point_count,
    with_room_for_one,
)
from pomdplite.planners.point_based.vectors import (
    VECTORS,
    AlphaVectors,
    add_policy,
    allocate_vectors,
    append_vectors,
    trimmed,
    vector_bytes,
)

_DEPTH = 500  # of the longest path
_NODE_LIMIT, _VECTOR_LIMIT = 500_000, 500_000
_VECTOR_SHARE = 0.4  # of the memory; the rest is for nodes
_GROWTH = 1.3  # of the number of vectors between two prunings
_REPORT_INTERVAL = 1.0  # seconds
_RESERVE = 2.0  # times what a belief or a pruning took last: the time that the next may take
_FADING = 0.9  # per path: how fast a belief that took long is forgotten; new ones take ten times as long as known ones


@dataclass(frozen=True)
class SolveProgress:
    """How far solving has come."""

    seconds: float
    trials: int
    lower: float  # V̲(b₀)
    upper: float  # V̄(b₀)
    vectors: int
    points: int  # of the sawtooth bound


def check_limits(precision: float, memory: float, solve_trials: int | None) -> None:
    """Refuse limits of solving that are none."""
    for name, value in (("precision", precision), ("memory", memory)):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} must be a positive number, not {value!r}.")
    if solve_trials is not None and solve_trials < 1:
        raise UsageError(f"solve_trials must be at least 1, not {solve_trials!r}.")


class PointBasedSolver(ABC):
    """Γ and the tree of sampled beliefs while they grow."""

    initial_share = 0.5  # of the time in which the initial vectors are to be found

    def __init__(
        self, momdp: Momdp, model: GroupedMomdp, memory: float, deadline: Deadline, known: AlphaVectors | None = None
    ) -> None:
        """`known` are vectors that were found before."""
        self.momdp, self.model, self.deadline = momdp, model, deadline
        states, values = model.corner.shape
        allowed = min(memory * 1e9, memory_limit.limit() - memory_limit.size(momdp, model))
        available = allowed - model.corner.nbytes
        vectors = min(_VECTOR_LIMIT, int(_VECTOR_SHARE * available / vector_bytes(model)))
        nodes = min(_NODE_LIMIT, int((1 - _VECTOR_SHARE) * available / node_bytes(model)))
        self.depth = min(_DEPTH, nodes // 4, vectors // 4)
        if self.depth < 2:
            raise TooLargeError(
                f"{momdp.view.model.name}: {values:,} joint values of θ and {states:,} states leave no room for "
                f"α-vectors in {memory_limit.text(max(0, allowed))}: allow more with memory and POMDPLITE_MEMORY."
            )
        self.vectors, self.tree = allocate_vectors(model, vectors), allocate_tree(model, nodes)
        self.scratch = allocate_scratch(model, self.depth)
        self.trials = 0
        self.precision = 0.0  # at which solving ends
        self.out_of_memory = self.interrupted = False  # before the budget was spent
        self._kept = 0  # vectors after the last pruning
        self._belief_seconds = self._pruning_seconds = 0.0  # what a belief of a path, and a pruning, took last
        if known is None:
            self._add_initial_vectors()
        else:
            append_vectors(self.vectors, known)
        self._initial = int(self.vectors.counts[VECTORS])
        root = int(momdp.reachable.find(momdp.view.root()))
        make_node(model, self.tree, root, momdp.prior, np.inf)
        update_node_lower(self.vectors, self.tree, 0)

    def _initial_actions(self) -> Iterable[int]:
        """The actions whose repetition gives the initial vectors, in the order in which they are tried."""
        return range(len(self.momdp.view.model.actions))

    def _add_initial_vectors(self) -> None:
        """The values of the policies that repeat one action wherever it is legal, and else take the first legal one."""
        name, found = self.momdp.view.model.name, False
        for action in self._initial_actions():
            left = self.deadline.left - (1 - self.initial_share) * self.deadline.seconds
            deadline = Deadline(left, self.deadline.clock) if found and left < np.inf else self.deadline
            try:
                pairs = repeated_action(self.momdp, action)
                values = policy_values(self.momdp, pairs, self.model.gamma, deadline=deadline)
            except NotConvergingError:
                continue
            except OutOfTimeError:
                if found:
                    break
                raise
            if not np.isfinite(values).all():
                continue
            found = True
            if self.vectors.counts[VECTORS] + len(values) > len(self.vectors.value) - self.depth:
                raise TooLargeError(
                    f"{name}: the initial α-vectors, {len(values):,} for each action, do not fit in memory."
                )
            add_policy(self.vectors, action, values)
        if not found:
            raise NotConvergingError(f"{name}: with discount 1, no policy that repeats an action has a finite value.")

    @property
    def bounds(self) -> tuple[float, float]:
        """V̲ and V̄ at the root."""
        root = self.tree.counts[ROOT]
        lower = float(self.tree.lower[root])
        return lower, max(float(self.tree.upper[root]), lower)

    def solve(
        self, precision: float, solve_trials: int | None, progress: Callable[[SolveProgress], None] | None
    ) -> None:
        """Sample, back up and prune until the bounds are close or the budget is spent; Ctrl-C ends it, too."""
        self.precision = precision
        reported, depth = self.deadline.elapsed, 1
        try:
            while True:
                lower, upper = self.bounds
                time = self.deadline.elapsed
                depth = self._affordable(2 * depth) if self.trials else self._affordable(1)
                spent = self.trials == solve_trials or (depth < 1 and self.trials > 0)
                over = spent or upper - lower <= precision or (solve_trials is None and self._settled())
                if progress is not None and (over or time - reported >= _REPORT_INTERVAL):
                    reported = time
                    progress(self._progress(time))
                if over:
                    break
                if not self._make_room():
                    self.out_of_memory = True
                    break
                self._sample(max(1, depth))
                if self.trials == 1:
                    self._prune()
        except KeyboardInterrupt:
            if self.trials == 0:
                raise
            self.interrupted = True

    def _affordable(self, depth: int) -> int:
        """How many of so many beliefs of a path there is time for; all that a path may have if time is unlimited."""
        if self.deadline.seconds == np.inf:
            return self.depth
        left = self.deadline.left - _RESERVE * self._pruning_seconds
        each = max(_RESERVE * self._belief_seconds, 1e-9)
        return min(self.depth, depth, int(max(0.0, left) / each))

    def _settled(self) -> bool:
        """Whether solving can end before the bounds are close or the time is up."""
        return False

    @abstractmethod
    def _trial(self, scratch: BoundScratch) -> int:
        """Sample one path from the root, no longer than scratch.path, and back up its beliefs; its length."""

    def _sample(self, depth: int) -> int:
        """One path of at most so many beliefs; its length."""
        started = self.deadline.elapsed
        scratch = self.scratch._replace(path=self.scratch.path[:depth])
        length = self._trial(scratch)
        took = (self.deadline.elapsed - started) / length
        self._belief_seconds = max(took, _FADING * self._belief_seconds)
        self.trials += 1
        return length

    def _progress(self, seconds: float) -> SolveProgress:
        lower, upper = self.bounds
        return SolveProgress(
            seconds=seconds,
            trials=self.trials,
            lower=lower,
            upper=upper,
            vectors=int(self.vectors.counts[VECTORS]),
            points=point_count(self.tree),
        )

    def _make_room(self) -> bool:
        """Prune if the sets have grown; False if the vectors of one more path do not fit."""
        vectors, capacity = self.vectors.counts, len(self.vectors.value)
        if vectors[VECTORS] + self.depth > capacity or vectors[VECTORS] > _GROWTH * self._kept + 50:
            started = self.deadline.elapsed
            self._prune()
            self._pruning_seconds = self.deadline.elapsed - started
        if self.tree.counts[NODES] + self.depth > len(self.tree.state):
            forget_edges(self.model, self.tree, int(0.5 * len(self.tree.state)))
            self.tree.bins[:] = 0.0
        return self._has_room()

    def _has_room(self) -> bool:
        """Whether the vectors and nodes of one more path fit."""
        vectors, nodes = int(self.vectors.counts[VECTORS]), int(self.tree.counts[NODES])
        return vectors + self.depth <= len(self.vectors.value) and nodes + self.depth <= len(self.tree.state)

    def _prune(self) -> None:
        """Remove vectors and points that are not needed."""
        nodes, vectors = int(self.tree.counts[NODES]), int(self.vectors.counts[VECTORS])
        reachable, number = np.zeros(nodes, np.bool_), np.full(vectors, -1, np.int32)
        flag_reachable(self.model, self.tree, self.scratch, reachable, np.zeros(nodes, np.int32))
        prune_vectors(self.vectors, self.tree, reachable, number, self._initial)
        self._kept = int(self.vectors.counts[VECTORS])
        lower, upper = self.bounds
        prune_points(self.tree, WORTH * (upper - lower))

    def result(self) -> tuple[AlphaVectors, SampledBeliefTree]:
        """Γ, and the points of the sawtooth bound with room for one more node, in no more memory than they need."""
        forget_edges(self.model, self.tree, len(self.tree.state))
        return trimmed(self.vectors), with_room_for_one(self.model, self.tree)
