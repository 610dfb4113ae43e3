"""What both searches have in common as solvers: they run from the current state until the step's budget is spent.

The nodes of the last step are kept while the belief stays the same. Where there are many actions, the root lists all
of them at once, and what they promise decides which ones come first in other nodes (action_widening.py).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Small, Words
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.search.action_widening import MANY, ActionWidening, allocate_widening, set_order
from pomdplite.mdp.search.nodes import (
    DEEPEST,
    END,
    NO_SPACE,
    NODES,
    NOT_EXPANDED,
    RAN_FULL,
    ROOT,
    SIMULATIONS,
    STEPS,
    clear,
    find_node,
)
from pomdplite.mdp.solution import LONGEST_LINE, Solution
from pomdplite.model.compiled import KernelView

NODE_LIMIT = 400_000


class SearchSolver(ABC):
    """UCT within a budget, whatever the outcomes of a step are."""

    method: str  # its name for people
    shape: ClassVar[str]  # of what it searches: a graph or a tree
    parameters: Any  # its constants, among them beta, gamma and search_depth
    _graph: Any  # nodes (StateNodes), pairs and what they lead to
    _work: Any  # arrays that a search writes to, among them the stream of random numbers and the tally

    def __init__(self, view: KernelView, budget: Budget, search_depth: int, *, merged: bool = True) -> None:
        """merged: whether equal states share a node."""
        self.view, self.budget, self._merged = view, budget, merged
        many = view.kernel_model.actions > MANY and search_depth > 1
        self._widening: ActionWidening | None = allocate_widening(view.kernel_model, merged=merged) if many else None
        self._belief: tuple[Floats, Words] | None = None  # b and its hidden values, which the nodes' numbers are for

    # ------------------------------------------------------------------ what each search has to say

    @abstractmethod
    def _make_room(self, kernel_model: KernelModel) -> None:
        """Have space for the outcomes of a step under this belief."""

    @abstractmethod
    def _freeze(self, kernel_model: KernelModel, b: Floats) -> None:
        """Begin with a new belief."""

    @abstractmethod
    def _as_node(self, s: Words) -> Words:
        """The state s as nodes hold it."""

    @abstractmethod
    def _list_root(self, kernel_model: KernelModel, b: Floats, root: int, widening: ActionWidening) -> int:
        """List all actions of the root; NO_SPACE if they do not fit."""

    @abstractmethod
    def _search(self, kernel_model: KernelModel, b: Floats, root: int, count: int) -> None:
        """Run so many simulations, or fewer."""

    @abstractmethod
    def _half_full(self) -> bool:
        """Whether more than half of the space is in use."""

    @abstractmethod
    def _following(self, pair: int) -> tuple[Small, Floats]:
        """The nodes that a pair leads to, and their weights."""

    @abstractmethod
    def _gains(self, pairs: Ints) -> Floats:
        """β E‖b' − b‖₁ of the step, for each pair."""

    # ------------------------------------------------------------------ the interface of solvers

    def use_beta(self, beta: float) -> None:
        """Search with this β from now on, and forget all nodes."""
        self.parameters, self._belief = self.parameters._replace(beta=float(beta)), None

    def reset(self, prior: Floats, seed: int) -> None:
        """Start a new episode without nodes; the seed determines its random numbers."""
        self._work.stream[0] = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
        self._belief = None

    def warm_up(self, kernel_model: KernelModel, s: Words, b: Floats) -> None:
        """Compile everything that a search calls, so that no step's budget is spent on it."""
        budget, self.budget = self.budget, Budget(None, 1)
        for _ in range(2):  # the second search continues on the nodes of the first
            self.solve(kernel_model, s, b)
        self.budget = budget

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Search from s under the belief b until the budget is spent."""
        # With a search depth of one there is one node to expand, and one simulation is enough.
        clock = (self.budget if self.parameters.search_depth > 1 else Budget(None, 1)).start()
        self._make_room(kernel_model)
        root, tally = self._root(kernel_model, s, b), self._work.tally
        tally[:] = 0
        self._open_root(kernel_model, b, root)
        while (count := clock.portion(int(tally[SIMULATIONS]))) > 0:
            self._search(kernel_model, b, root, count)
            self.view.raise_fault()
        self._refuse_unbounded_value(root)
        return self._solution(root)

    # ------------------------------------------------------------------ the root

    def _root(self, kernel_model: KernelModel, s: Words, b: Floats) -> int:
        """The node of s among those of the last step if the belief is the same, otherwise the first of a new search.

        Particles move while their weights stay equal, so a belief is its weights b and its hidden values.
        """
        known, theta, nodes = self._belief, kernel_model.theta, self._graph.nodes
        if self._merged and known is not None and not self._half_full():
            if np.array_equal(known[0], b) and np.array_equal(known[1], theta):
                root = int(find_node(nodes, self._as_node(s).reshape(1, -1)))
                if root >= 0:
                    return root
        self._freeze(kernel_model, b)
        self._belief = (b.copy(), theta.copy())
        clear(nodes, self._as_node(s).reshape(1, -1), self._merged)
        return ROOT

    def _open_root(self, kernel_model: KernelModel, b: Floats, root: int) -> None:
        """Where there are many actions, list all of the root's, and let them decide which ones come first elsewhere."""
        widening, graph, nodes = self._widening, self._graph, self._graph.nodes
        if widening is None or (nodes.first[root] != NOT_EXPANDED and nodes.whole[root] == 1):
            return
        new = nodes.counts[NODES] == root + 1
        if new:
            widening.order[:] = np.arange(kernel_model.actions)
        status = self._list_root(kernel_model, b, root, widening)
        if status == NO_SPACE:
            raise TooLargeError(
                f"{self.view.model.name}: the next states of {kernel_model.actions:,} actions do not fit into the "
                f"{len(nodes.value):,} states of the search {self.shape}."
            )
        if new:
            pairs = slice(int(nodes.first[root]), int(nodes.first[root] + nodes.listed[root]))
            set_order(widening, graph.action[pairs], graph.q[pairs])

    def _refuse_unbounded_value(self, root: int) -> None:
        """Raise an error if the value is infinite: without discount, some action earns in a loop."""
        graph, nodes, model = self._graph, self._graph.nodes, self.view.model
        if np.isfinite(nodes.value[root]) or nodes.value[root] == -np.inf:
            return
        for node in range(ROOT, int(nodes.counts[NODES])):
            first = int(nodes.first[node])
            for pair in range(first, first + int(nodes.pairs[node])) if first != NOT_EXPANDED else ():
                if graph.q[pair] == np.inf and self._following(pair)[0][0] == node:
                    earned = graph.reward[pair] + self._gains(np.array([pair]))[0]
                    raise NotConvergingError(
                        f"{model.name}: with discount {self.parameters.gamma:g} the value is unbounded: in x = "
                        f"({self.view.describe(nodes.states[node])}) {model.actions[graph.action[pair]]!r} earns "
                        f"{earned:g} per step forever. Use a discount below 1, or beta=0."
                    )

    # ------------------------------------------------------------------ the solution

    def _known(self, root: int, pairs: Ints) -> Flags:
        """Whether the search knows what follows each pair of the root: not only the estimate that it began with.

        Where there are few actions and states are merged, it has looked at all of them.
        """
        nodes, tried = self._graph.nodes, self._graph.tries[pairs] > 0
        if not self._merged or self._widening is None:
            return tried | self._merged
        for i in np.flatnonzero(~tried & (pairs < nodes.first[root] + nodes.pairs[root])):
            following = self._following(int(pairs[i]))[0]
            tried[i] = all(node == END or nodes.first[node] != NOT_EXPANDED for node in following)
        return tried

    def _solution(self, root: int) -> Solution:
        graph, nodes, tally = self._graph, self._graph.nodes, self._work.tally
        first = int(nodes.first[root])
        pairs = first + np.argsort(graph.action[first : first + int(nodes.listed[root])])
        known, q, gains = self._known(root, pairs), graph.q[pairs].copy(), self._gains(pairs)
        q[~known] = -np.inf
        if not known.any():
            q[:] = graph.reward[pairs] + gains
        return Solution(
            solver=self.method,
            actions=graph.action[pairs].copy(),
            q=q,
            bonus_part=graph.q_bonus[pairs].copy(),
            mean_reward=graph.reward[pairs].copy(),
            mean_bonus=gains,
            states=int(nodes.counts[NODES]),
            visits=graph.tries[pairs].copy(),
            simulations=int(tally[SIMULATIONS]),
            steps=int(tally[STEPS]),
            deepest=int(tally[DEEPEST]),
            line=tuple(self._line(root)),
            full=bool(tally[RAN_FULL]),
        )

    def _line(self, node: int) -> Iterator[int]:
        """The principal variation: the best action, then the best one in its likeliest next state, ..."""
        graph, nodes, visited = self._graph, self._graph.nodes, set[int]()
        while node != END and nodes.first[node] != NOT_EXPANDED and node not in visited:
            if len(visited) == LONGEST_LINE:
                return
            visited.add(node)
            first = int(nodes.first[node])
            pair = first + int(np.argmax(graph.q[first : first + nodes.pairs[node]]))
            yield int(graph.action[pair])
            following, weights = self._following(pair)
            node = int(following[np.argmax(weights)])
