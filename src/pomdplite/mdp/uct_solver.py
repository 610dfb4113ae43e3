"""Solves the internal-reward MDP online: runs UCT (uct.py) from the current state until the step's budget is spent."""

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Words
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp.action_widening import MANY, allocate_widening, open_root, set_order
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.expansion import (
    DEEPEST,
    GRAPH_FULL,
    OUTCOME_BUFFER_FULL,
    RAN_FULL,
    SIMULATIONS,
    STEPS,
    SearchParameters,
    SearchWorkspace,
)
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.search_graph import (
    END,
    NODES,
    NOT_EXPANDED,
    allocate_search_graph,
    clear,
    edges_of,
    find_node,
    half_full,
    principal_variation,
)
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.uct import graph_search, tree_search
from pomdplite.model.compiled import KernelView

NODE_LIMIT = 400_000
PAIR_LIMIT = 6_000_000  # about 600 MB when full, with the nodes


class UctSolver:
    """UCT with a graph that is kept from step to step while the belief stays the same.

    tree     search the paper's tree instead of a graph
    nodes, pairs  the most states and state-actions that the search can hold
    """

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, budget: Budget, exploration: float, tree: bool = False,
        search_depth: int = 90, nodes: int = NODE_LIMIT, pairs: int = PAIR_LIMIT,
    ) -> None:  # fmt: skip
        self.view, self.budget, self.tree = view, budget, tree
        self.parameters = SearchParameters(
            beta=float(beta), gamma=float(gamma), c=float(exploration), search_depth=search_depth
        )
        model = view.kernel_model
        self._graph = allocate_search_graph(model, nodes, pairs)
        self._work = SearchWorkspace(
            out=allocate_outcomes(model, max(2, model.next_states)),
            path=np.zeros(2 * search_depth + 2, np.int64),
            stream=np.zeros(1, np.uint64),
            tally=np.zeros(4, np.int64),
        )
        many = model.actions > MANY and search_depth > 1
        self._widening = allocate_widening(model, merged=not tree) if many else None
        self._belief: tuple[Floats, Words] | None = (
            None  # the belief that the graph's numbers are for: b and its values
        )

    def use_beta(self, beta: float) -> None:
        """Search with this β from now on, with an empty graph."""
        self.parameters, self._belief = self.parameters._replace(beta=float(beta)), None

    def reset(self, prior: Floats, seed: int) -> None:
        """Start a new episode with an empty graph; the seed determines its random numbers."""
        self._work.stream[0] = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
        self._belief = None

    def warm_up(self, kernel_model: KernelModel, s: Words, b: Floats) -> None:
        """Compile everything that a search calls, so that no step's budget is spent on it."""
        budget, self.budget = self.budget, Budget(None, 1)
        for _ in range(2):  # the second search continues on the graph of the first
            self.solve(kernel_model, s, b)
        self.budget = budget

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Search from s under the belief b until the budget is spent."""
        # With a search depth of one there is one node to expand, and one simulation is enough.
        clock = (self.budget if self.parameters.search_depth > 1 else Budget(None, 1)).start()
        if len(self._work.out.reward) < int(np.max(np.diff(kernel_model.offsets))):
            self._allocate_outcomes(kernel_model, self._work.out.next.shape[0])
        root = self._root(s, b, kernel_model.theta)
        work, search = self._work, tree_search if self.tree else graph_search
        work.tally[:] = 0
        self._open_root(kernel_model, root, b)
        while (count := clock.portion(int(work.tally[SIMULATIONS]))) > 0:
            status = search(kernel_model, self._graph, b, self.parameters, self._work, root, count, self._widening)
            self.view.raise_fault()
            if status == OUTCOME_BUFFER_FULL:
                self._allocate_outcomes(kernel_model, 2 * self._work.out.next.shape[0])
        self._refuse_unbounded_value(root)
        return self._solution(root)

    def _open_root(self, kernel_model: KernelModel, root: int, b: Floats) -> None:
        """Where there are many actions, list all of the root's, and let them decide which ones come first elsewhere."""
        widening, graph = self._widening, self._graph
        if widening is None or (graph.first[root] != NOT_EXPANDED and graph.whole[root] == 1):
            return
        new = graph.counts[NODES] == root + 1
        if new:
            widening.order[:] = np.arange(kernel_model.actions)
        while True:
            status = open_root(kernel_model, graph, b, self.parameters, self._work, root, widening)
            self.view.raise_fault()
            if status != OUTCOME_BUFFER_FULL:
                break
            self._allocate_outcomes(kernel_model, 2 * self._work.out.next.shape[0])
        if status == GRAPH_FULL:
            raise TooLargeError(
                f"{self.view.model.name}: the next states of {kernel_model.actions:,} actions do not fit into the "
                f"{len(graph.value):,} states of the search graph."
            )
        if new:
            pairs = slice(int(graph.first[root]), int(graph.first[root] + graph.listed[root]))
            set_order(widening, graph.action[pairs], graph.q[pairs])

    def _allocate_outcomes(self, kernel_model: KernelModel, branches: int) -> None:
        self._work = self._work._replace(out=allocate_outcomes(kernel_model, branches))

    def _root(self, s: Words, b: Floats, theta: Words) -> int:
        """The node of s in the graph of the last step if the belief is the same, otherwise in a new graph.

        Particles move while their weights stay equal, so a belief is its weights b and its hidden values theta.
        """
        root = -1
        if not self.tree and self._belief is not None and not half_full(self._graph):
            if np.array_equal(self._belief[0], b) and np.array_equal(self._belief[1], theta):
                root = int(find_node(self._graph, s.reshape(1, -1)))
        if root < 0:
            clear(self._graph, s)
            root = 1
        self._belief = (b.copy(), theta.copy())
        return root

    def _refuse_unbounded_value(self, root: int) -> None:
        """Raise an error if the value is infinite: without discount, some action earns in a loop."""
        graph, gamma, model = self._graph, self.parameters.gamma, self.view.model
        if np.isfinite(graph.value[root]) or graph.value[root] == -np.inf:
            return
        for node in range(1, int(graph.counts[NODES])):
            first = int(graph.first[node])
            for pair in range(first, first + int(graph.pairs[node])) if first != NOT_EXPANDED else ():
                if graph.next[graph.first_edge[pair]] == node and graph.q[pair] == np.inf:
                    raise NotConvergingError(
                        f"{model.name}: with discount {gamma:g} the value is unbounded: in x = "
                        f"({self.view.describe(graph.states[node])}) {model.actions[graph.action[pair]]!r} earns "
                        f"{graph.reward[pair] + graph.gain[pair]:g} per step forever. Use a discount below 1, or "
                        "beta=0."
                    )

    def _known(self, root: int, pairs: Ints) -> Flags:
        """Whether the search knows what follows each pair of the root: not only the estimate that it began with.

        Where there are few actions, a graph has looked at all of them.
        """
        graph = self._graph
        tried = graph.tries[pairs] > 0
        if self.tree or self._widening is None:
            return tried | (not self.tree)
        considered = pairs < graph.first[root] + graph.pairs[root]
        for i in np.flatnonzero(considered & ~tried):
            following = graph.next[edges_of(graph, pairs[i])]
            tried[i] = all(node == END or graph.first[node] != NOT_EXPANDED for node in following)
        return tried

    def _solution(self, root: int) -> Solution:
        graph, tally = self._graph, self._work.tally
        first = int(graph.first[root])
        pairs = first + np.argsort(graph.action[first : first + int(graph.listed[root])])
        known, q = self._known(root, pairs), graph.q[pairs].copy()
        q[~known] = -np.inf
        if not known.any():
            q[:] = graph.reward[pairs] + graph.gain[pairs]
        return Solution(
            solver="UCT on a tree" if self.tree else "UCT on a graph",
            actions=graph.action[pairs].copy(),
            q=q,
            bonus_part=graph.q_bonus[pairs].copy(),
            mean_reward=graph.reward[pairs].copy(),
            mean_bonus=graph.gain[pairs].copy(),
            states=int(graph.counts[NODES]),
            visits=graph.tries[pairs].copy(),
            simulations=int(tally[SIMULATIONS]),
            steps=int(tally[STEPS]),
            deepest=int(tally[DEEPEST]),
            line=principal_variation(graph, root),
            full=bool(tally[RAN_FULL]),
        )
