"""Solves the internal-reward MDP online where outcomes are drawn: UCT with progressive widening (widening.py).

Where everything is listed, but a step compares many observations with many values of θ, the same search with a thinned
belief (mdp/real/frozen.py) and rollouts without bonuses runs far more simulations than UCT on a graph.
"""

from typing import ClassVar

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.grid.points import PointValues, no_values
from pomdplite.mdp.real.changing import ChangingValues
from pomdplite.mdp.real.frozen import FrozenBelief, canonical, freeze
from pomdplite.mdp.real.steps import allocate_step_work
from pomdplite.mdp.search.action_widening import ActionWidening
from pomdplite.mdp.search.drawn.action_lists import open_root
from pomdplite.mdp.search.drawn.expansion import WideningParameters, WideningWork
from pomdplite.mdp.search.drawn.tree import allocate_tree, children_of, one_step_values
from pomdplite.mdp.search.drawn.widening import widening_search
from pomdplite.mdp.search.nodes import COMPARISONS
from pomdplite.mdp.search.solver import NODE_LIMIT, SearchSolver
from pomdplite.mdp.solution import Solution
from pomdplite.model.compiled import KernelView
from pomdplite.model.spaces import Distributed

PAIR_LIMIT = 2_000_000  # about 250 MB when full, with the nodes
# Of widening and of the bonus: docs/decisions/0015.
K, ALPHA = 1.0, 0.5
STEP_OUTCOMES = 8  # of a step with noise
READINGS = 32  # of a step with listed next states, whose bonus is computed once
_MANY_OBSERVATIONS = 16
_MANY_LIKELIHOODS = 4096  # docs/decisions/0015


def has_many_likelihoods(view: KernelView, values: int) -> bool:
    """Whether a step has so many observations × values of θ that a search should thin the belief; so many values if θ
    has distributions. The particles of a user's Population are not thinned: nothing tells which ones are alike.
    """
    table, observations = view.table, view.kernel_model.observations
    if view.listed:
        if observations < _MANY_OBSERVATIONS:
            return False
        values = int(np.add.reduceat(table.prior > 0.0, table.offsets[:-1], dtype=np.int64).max())
    elif not isinstance(view.model.hidden, Distributed):
        return False
    return values * (observations + 1) > _MANY_LIKELIHOODS


class WideningSolver(SearchSolver):
    """UCT with progressive widening; the tree is kept from step to step while the belief stays the same.

    nodes, pairs  the most states and state-actions that the search can hold
    leaves        values of new nodes, if the model has no heuristic; rollouts if there are none
    """

    method = "UCT with progressive widening"
    shape: ClassVar[str] = "tree"
    _frozen: FrozenBelief
    _model: KernelModel  # with the values of θ that the frozen belief is about

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, budget: Budget, exploration: float,
        search_depth: int = 90, nodes: int = NODE_LIMIT, pairs: int = PAIR_LIMIT, leaves: PointValues | None = None,
    ) -> None:  # fmt: skip
        super().__init__(view, budget, search_depth)
        model = view.kernel_model
        self._changing = ChangingValues(model) if view.has_changing_numbers else None
        if self._changing is not None:
            model = self._changing.laid_out(model)
        self.parameters = WideningParameters(
            beta=float(beta), gamma=float(gamma), c=float(exploration), search_depth=search_depth, k=K, alpha=ALPHA,
            outcomes=STEP_OUTCOMES if model.noise.numbers > 0 else READINGS,
        )  # fmt: skip
        self._graph = allocate_tree(model, nodes, pairs)
        self._work = WideningWork(
            step=allocate_step_work(model, 1),
            path=np.zeros(2 * search_depth + 2, np.int64),
            stream=np.zeros(1, np.uint64),
            tally=np.zeros(5, np.int64),
            here=np.zeros((1, model.s_words), np.uint64),
            theta=np.zeros((1, model.theta.shape[1]), np.uint64),
            leaves=no_values(model.s_words) if leaves is None else leaves,
        )

    @property
    def comparisons(self) -> int:
        """How often the last search compared a hidden value with an outcome, or computed its reward."""
        return int(self._work.tally[COMPARISONS])

    def _make_room(self, kernel_model: KernelModel) -> None:
        """There is room for a thinned belief, whatever it was before."""

    def _freeze(self, kernel_model: KernelModel, b: Floats) -> None:
        self._frozen, self._model = freeze(self.view, kernel_model, b, self._work.stream), kernel_model
        if self._changing is not None:
            self._model, self._frozen = self._changing.begin(kernel_model, self._frozen)

    def _as_node(self, s: Words) -> Words:
        return canonical(self._frozen, s if self._changing is None else self._changing.state(s))

    def _list_root(self, kernel_model: KernelModel, b: Floats, root: int, widening: ActionWidening) -> int:
        status = open_root(self._model, self._frozen, self._graph, self.parameters, self._work, root, widening)
        self.view.raise_fault()
        return status

    def _search(self, kernel_model: KernelModel, b: Floats, root: int, count: int) -> None:
        widening_search(
            self._model, self._frozen, self._graph, self.parameters, self._work, root, count, self._widening
        )

    def _half_full(self) -> bool:
        graph = self._graph
        room = len(graph.nodes.value), len(graph.q), len(graph.next)
        return any(count > 0.5 * most for count, most in zip(graph.nodes.counts[:3], room, strict=True))

    def _following(self, pair: int) -> tuple[Small, Floats]:
        return children_of(self._graph, pair)

    def _gains(self, pairs: Ints) -> Floats:
        found: Floats = self.parameters.beta * self._graph.change[pairs]
        return found

    def _solution(self, root: int) -> Solution:
        one_step_values(self._graph, root, self.parameters.gamma, self.parameters.beta)
        return super()._solution(root)
