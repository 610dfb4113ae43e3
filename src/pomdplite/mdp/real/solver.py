"""Solves the internal-reward MDP of models with noise or readings: searches (widening.py) until the budget is spent."""

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Floats, Ints, Words
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp.action_widening import MANY, allocate_widening, set_order
from pomdplite.mdp.budget import Budget
from pomdplite.mdp.real.action_lists import open_root
from pomdplite.mdp.real.expansion import (
    COMPARISONS,
    DEEPEST,
    RAN_FULL,
    SIMULATIONS,
    STEPS,
    TREE_FULL,
    WideningParameters,
    WideningWork,
)
from pomdplite.mdp.real.frozen import FrozenBelief, canonical, freeze
from pomdplite.mdp.real.steps import allocate_step_work
from pomdplite.mdp.real.tree import (
    END,
    NODES,
    NOT_EXPANDED,
    allocate_tree,
    clear,
    find_node,
    half_full,
    next_nodes,
    one_step_values,
    principal_variation,
)
from pomdplite.mdp.real.widening import widening_search
from pomdplite.mdp.solution import Solution
from pomdplite.model.compiled import KernelView

NODE_LIMIT = 400_000
PAIR_LIMIT = 2_000_000  # about 250 MB when full, with the nodes
# Of widening and of the bonus: docs/decisions/0015.
K, ALPHA = 1.0, 0.5
STEP_OUTCOMES = 8  # of a step with noise
READINGS = 32  # of a step with listed next states, whose bonus is computed once


class WideningSolver:
    """UCT with progressive widening; the tree is kept from step to step while the belief stays the same.

    nodes, pairs  the most states and state-actions that the search can hold
    """

    def __init__(
        self, view: KernelView, gamma: float, beta: float, *, budget: Budget, exploration: float,
        search_depth: int = 90, nodes: int = NODE_LIMIT, pairs: int = PAIR_LIMIT,
    ) -> None:  # fmt: skip
        self.view, self.budget = view, budget
        model = view.kernel_model
        self.parameters = WideningParameters(
            beta=float(beta), gamma=float(gamma), c=float(exploration), search_depth=search_depth, k=K, alpha=ALPHA,
            outcomes=STEP_OUTCOMES if model.noise.numbers > 0 else READINGS,
        )  # fmt: skip
        self._tree = allocate_tree(model, nodes, pairs)
        self._work = WideningWork(
            step=allocate_step_work(model, 1),
            path=np.zeros(2 * search_depth + 2, np.int64),
            stream=np.zeros(1, np.uint64),
            tally=np.zeros(5, np.int64),
            here=np.zeros((1, model.s_words), np.uint64),
            theta=np.zeros((1, model.theta.shape[1]), np.uint64),
        )
        many = model.actions > MANY and search_depth > 1
        self._widening = allocate_widening(model, merged=True) if many else None
        self._belief: tuple[Floats, Words] | None = None  # b and its hidden values, which the tree's numbers are for
        self._frozen: FrozenBelief

    def use_beta(self, beta: float) -> None:
        """Search with this β from now on, with an empty tree."""
        self.parameters, self._belief = self.parameters._replace(beta=float(beta)), None

    def reset(self, prior: Floats, seed: int) -> None:
        """Start a new episode with an empty tree; the seed determines its random numbers."""
        self._work.stream[0] = np.uint64(seed & 0xFFFFFFFFFFFFFFFF)
        self._belief = None

    def warm_up(self, kernel_model: KernelModel, s: Words, b: Floats) -> None:
        """Compile everything that a search calls, so that no step's budget is spent on it."""
        budget, self.budget = self.budget, Budget(None, 1)
        for _ in range(2):  # the second search continues on the tree of the first
            self.solve(kernel_model, s, b)
        self.budget = budget

    def solve(self, kernel_model: KernelModel, s: Words, b: Floats) -> Solution:
        """Search from s under the belief b until the budget is spent."""
        clock = (self.budget if self.parameters.search_depth > 1 else Budget(None, 1)).start()
        root = self._root(kernel_model, s, b)
        work = self._work
        work.tally[:] = 0
        self._open_root(kernel_model, root)
        while (count := clock.portion(int(work.tally[SIMULATIONS]))) > 0:
            widening_search(kernel_model, self._frozen, self._tree, self.parameters, work, root, count, self._widening)
            self.view.raise_fault()
        self._refuse_unbounded_value(root)
        one_step_values(self._tree, root, self.parameters.gamma, self.parameters.beta)
        return self._solution(root)

    @property
    def comparisons(self) -> int:
        """How often the last search compared a hidden value with an outcome, or computed its reward."""
        return int(self._work.tally[COMPARISONS])

    def _open_root(self, kernel_model: KernelModel, root: int) -> None:
        """Where there are many actions, list all of the root's, and let them decide which ones come first elsewhere."""
        widening, tree = self._widening, self._tree
        if widening is None or (tree.first[root] != NOT_EXPANDED and tree.whole[root] == 1):
            return
        new = tree.counts[NODES] == root + 1
        if new:
            widening.order[:] = np.arange(kernel_model.actions)
        status = open_root(kernel_model, self._frozen, tree, self.parameters, self._work, root, widening)
        self.view.raise_fault()
        if status == TREE_FULL:
            raise TooLargeError(
                f"{self.view.model.name}: the next states of {kernel_model.actions:,} actions do not fit into the "
                f"{len(tree.value):,} states of the search tree."
            )
        if new:
            pairs = slice(int(tree.first[root]), int(tree.first[root] + tree.listed[root]))
            set_order(widening, tree.action[pairs], tree.q[pairs])

    def _root(self, kernel_model: KernelModel, s: Words, b: Floats) -> int:
        """The node of s in the tree of the last step if the belief is the same, otherwise in a new tree.

        Particles move while their weights stay equal, so a belief is its weights b and its hidden values.
        """
        known, theta = self._belief, kernel_model.theta
        if known is not None and np.array_equal(known[0], b) and np.array_equal(known[1], theta):
            root = int(find_node(self._tree, canonical(self._frozen, s).reshape(1, -1)))
            if root >= 0 and not half_full(self._tree):
                return root
        self._frozen = freeze(self.view, kernel_model, b, self._work.stream)
        self._belief = (b.copy(), theta.copy())
        clear(self._tree, canonical(self._frozen, s))
        return 1

    def _refuse_unbounded_value(self, root: int) -> None:
        """Raise an error if the value is infinite: without discount, some action earns in a loop."""
        if self._tree.value[root] == np.inf:
            raise NotConvergingError(
                f"{self.view.model.name}: with discount {self.parameters.gamma:g} the value is unbounded: some action "
                "earns in a loop. Use a discount below 1, or beta=0."
            )

    def _known(self, root: int, pairs: Ints) -> Flags:
        """Whether the search knows what follows each pair of the root, and not only an estimate, as in UctSolver."""
        tree = self._tree
        if self._widening is None:
            return np.ones(len(pairs), np.bool_)
        known = tree.tries[pairs] > 0
        for i in np.flatnonzero(~known & (pairs < tree.first[root] + tree.pairs[root])):
            known[i] = all(node == END or tree.first[node] != NOT_EXPANDED for node in next_nodes(tree, int(pairs[i])))
        return known

    def _solution(self, root: int) -> Solution:
        tree, tally = self._tree, self._work.tally
        first = int(tree.first[root])
        pairs = first + np.argsort(tree.action[first : first + int(tree.listed[root])])
        q, known = tree.q[pairs].copy(), self._known(root, pairs)
        if known.any():
            q[~known] = -np.inf
        return Solution(
            solver="UCT with progressive widening",
            actions=tree.action[pairs].copy(),
            q=q,
            bonus_part=tree.q_bonus[pairs].copy(),
            mean_reward=tree.reward[pairs].copy(),
            mean_bonus=self.parameters.beta * tree.change[pairs],
            states=int(tree.counts[NODES]),
            visits=tree.tries[pairs].copy(),
            simulations=int(tally[SIMULATIONS]),
            steps=int(tally[STEPS]),
            deepest=int(tally[DEEPEST]),
            line=principal_variation(tree, root),
            full=bool(tally[RAN_FULL]),
        )
