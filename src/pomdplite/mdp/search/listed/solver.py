"""Solves the internal-reward MDP online where outcomes are listed: UCT (uct.py) on a graph, or on the paper's tree."""

from typing import ClassVar

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.outcomes import allocate_outcomes
from pomdplite.mdp.search.action_widening import ActionWidening
from pomdplite.mdp.search.listed.action_lists import open_root
from pomdplite.mdp.search.listed.expansion import SearchParameters, SearchWorkspace
from pomdplite.mdp.search.listed.graph import allocate_search_graph, edges_of
from pomdplite.mdp.search.listed.uct import graph_search, tree_search
from pomdplite.mdp.search.nodes import NODES, OUTCOME_BUFFER_FULL, PAIRS
from pomdplite.mdp.search.solver import NODE_LIMIT, SearchSolver
from pomdplite.model.compiled import KernelView

PAIR_LIMIT = 6_000_000  # about 600 MB when full, with the nodes


class UctSolver(SearchSolver):
    """UCT with a graph that is kept from step to step while the belief stays the same.

    tree     search the paper's tree instead of a graph
    nodes, pairs  the most states and state-actions that the search can hold
    """

    shape: ClassVar[str] = "graph"

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, budget: Budget, exploration: float, tree: bool = False,
        search_depth: int = 90, nodes: int = NODE_LIMIT, pairs: int = PAIR_LIMIT,
    ) -> None:  # fmt: skip
        super().__init__(view, budget, search_depth, merged=not tree)
        self.tree, self.method = tree, "UCT on a tree" if tree else "UCT on a graph"
        self.parameters = SearchParameters(
            beta=float(beta), gamma=float(gamma), c=float(exploration), search_depth=search_depth
        )
        model = view.kernel_model
        self._graph = allocate_search_graph(model, nodes, pairs)
        self._work = SearchWorkspace(
            out=allocate_outcomes(model, max(2, model.next_states)),
            path=np.zeros(2 * search_depth + 2, np.int64),
            stream=np.zeros(1, np.uint64),
            tally=np.zeros(5, np.int64),
        )

    def _make_room(self, kernel_model: KernelModel) -> None:
        if len(self._work.out.reward) < int(np.max(np.diff(kernel_model.offsets))):
            self._allocate_outcomes(kernel_model, self._work.out.next.shape[0])

    def _allocate_outcomes(self, kernel_model: KernelModel, branches: int) -> None:
        self._work = self._work._replace(out=allocate_outcomes(kernel_model, branches))

    def _freeze(self, kernel_model: KernelModel, b: Floats) -> None:
        """A search with listed outcomes uses b as it is."""

    def _as_node(self, s: Words) -> Words:
        return s

    def _list_root(self, kernel_model: KernelModel, b: Floats, root: int, widening: ActionWidening) -> int:
        status = OUTCOME_BUFFER_FULL
        while status == OUTCOME_BUFFER_FULL:
            status = open_root(kernel_model, self._graph, b, self.parameters, self._work, root, widening)
            self._after(kernel_model, status)
        return status

    def _search(self, kernel_model: KernelModel, b: Floats, root: int, count: int) -> None:
        search = tree_search if self.tree else graph_search
        status = search(kernel_model, self._graph, b, self.parameters, self._work, root, count, self._widening)
        self._after(kernel_model, status)

    def _after(self, kernel_model: KernelModel, status: int) -> None:
        """Report faults of the model, and make more room for outcomes if that is why a kernel returned."""
        self.view.raise_fault()
        if status == OUTCOME_BUFFER_FULL:
            self._allocate_outcomes(kernel_model, 2 * self._work.out.next.shape[0])

    def _half_full(self) -> bool:
        counts = self._graph.nodes.counts
        return bool(counts[NODES] > 0.5 * len(self._graph.nodes.value) or counts[PAIRS] > 0.5 * len(self._graph.q))

    def _following(self, pair: int) -> tuple[Small, Floats]:
        return edges_of(self._graph, pair)

    def _gains(self, pairs: Ints) -> Floats:
        found: Floats = self._graph.gain[pairs]
        return found
