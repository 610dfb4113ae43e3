"""The Bayes-optimal value and policy, by search over the reachable pairs (b, s). For small models.

    V*(b, s) = max_a { R(b, s, a) + γ Σ_s' P(s' | b, s, a) V*(b', s') }      (Equation 1 of the paper)

The search looks `search_depth` steps ahead (belief_tree.py). Below that, the value is bounded from above by the
full-information value Σ_θ b(θ) V_θ(s), and from below by the best policy that repeats one action. These give an upper
and a lower bound on the value at the root, whose difference is due to the discounted rewards beyond the search depth.
The bounds meet if the search finds no new pairs.
"""

from typing import Any, ClassVar

import numpy as np

from pomdplite.beliefs import CategoricalBelief
from pomdplite.compile.jit import Floats, Words, inlined, kernel
from pomdplite.errors import NotConvergingError, UsageError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import SOLVE_SECONDS, Deadline
from pomdplite.mdp.distinct_steps import DistinctSteps
from pomdplite.mdp.reachable import Graph, Reachable, build
from pomdplite.mdp.solution import Solution
from pomdplite.mdp.value_iteration import ValueIteration
from pomdplite.model.model import Model
from pomdplite.planners import belief_tree
from pomdplite.planners.base import Planner
from pomdplite.planners.belief_tree import BeliefTree
from pomdplite.planners.decision import NOT_CLOSED, Decision, choose

_STATE_LIMIT = 100_000  # reachable states
_MAX_SWEEPS = 100_000
_CLOSED = 1e-6  # the bounds have met if they differ by less
_TOLERANCE = 1e-12  # of the values below the tree


class BayesOptimal(Planner):
    """The optimal planner, for small models; other planners are tested against it.

    search_depth  steps that the search looks ahead
    nodes         most pairs (b, s) that it holds
    solve_time    seconds that preparing, and each search, may take; TooLargeError if it needs longer
    """

    title: ClassVar[str] = "bayes-optimal"
    deterministic = True

    belief: CategoricalBelief

    def __init__(
        self, model: Model, search_depth: int = 200, nodes: int = 200_000, solve_time: float = SOLVE_SECONDS
    ) -> None:
        super().__init__(model, solve_time)
        if search_depth < 1 or nodes < 2:
            raise UsageError(f"search_depth must be at least 1 and nodes at least 2, not {search_depth} and {nodes}.")
        self.search_depth, self.nodes = search_depth, nodes

    @property
    def parameters(self) -> dict[str, Any]:
        """The constructor's arguments."""
        return {"search_depth": self.search_depth, "nodes": self.nodes, "solve_time": self.solve_time}

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view(joint=True)
        self.belief = CategoricalBelief(self.view)
        self._build(self.view.root())

    def _build(self, root: Words) -> None:
        deadline = self._deadline
        self.reachable = build(self.view, root, limit=_STATE_LIMIT, deadline=deadline)
        thetas, actions = int(self.view.table.offsets[1]), len(self.model.actions)
        memory.require(
            memory.size(self.reachable) + 8 * self.reachable.states * thetas * (actions + 1),
            f"{self.model.name}: bounds for {self.reachable.states:,} states × {thetas:,} values of θ × {actions:,} "
            "actions", "use sarsop or pomcp",
        )  # fmt: skip
        self.upper = _full_information_values(self.reachable, self.model, deadline)
        self.lower = _repeated_action_values(self.reachable, self.model, deadline)
        self._tree: BeliefTree | None = None

    def _decide(self) -> Decision:
        self._deadline = self._deadline.again()
        state = self.reachable.find(self.s)
        if state < 0:  # a world other than the model led to a state that the model never reaches
            self._build(self.s)
            state = self.reachable.find(self.s)
        b = self.belief.vector
        node = -1 if self._tree is None else int(belief_tree.find_expanded(self._tree, state, b))
        # The bounds may have met at the root but not here. If so, search again from here.
        if self._tree is None or node < 0 or self._high[node] - self._low[node] > _CLOSED:
            self._search(state, b)
            node = 0
        return self._decision(node)

    def _search(self, state: int, b: Floats) -> None:
        memory.require(
            memory.size(self.reachable, self.upper, self.lower) + belief_tree.tree_bytes(self.nodes, len(b)),
            f"{self.model.name}: a search over {self.nodes:,} beliefs about {len(b):,} values of θ", "set fewer nodes",
        )  # fmt: skip
        self._tree, self._depth = belief_tree.search(
            self.reachable, state, b, self.search_depth, self.nodes, self._deadline
        )  # fmt: skip
        self._low = self._solve(self._tree, self.lower)
        self._high = self._solve(self._tree, self.upper)

    def _solve(self, tree: BeliefTree, leaf: Floats) -> Floats:
        values = np.zeros(len(tree.state))
        belief_tree.set_leaves(tree, leaf, values)
        for _ in range(_MAX_SWEEPS):
            self._deadline.check(f"{self.model.name}: solving for the values of {len(values):,} beliefs")
            if belief_tree.sweep(tree, values, self.model.discount) <= belief_tree.RESIDUAL:
                break
        else:
            raise NotConvergingError(
                f"{self.model.name}: with discount {self.model.discount:g} the Bayes-optimal value does not converge: "
                "it is unbounded, or some belief can recur forever."
            )
        return values

    def _decision(self, node: int) -> Decision:
        tree = self._tree
        assert tree is not None
        pairs = range(int(tree.first[node]), int(tree.first[node + 1]))
        actions = self.reachable.graph.action[tree.pair[pairs.start : pairs.stop]]
        order = np.argsort(actions, kind="stable")
        q = np.array([belief_tree.action_value(tree, pair, self._low, self.model.discount) for pair in pairs])[order]
        low, high = float(self._low[node]), float(max(self._high[node], self._low[node]))
        zero = np.zeros(len(order))
        return Decision(
            action=choose(actions[order], q),
            solution=Solution(
                solver=f"search over beliefs, {self._depth} steps deep", actions=actions[order], q=q, bonus_part=zero,
                mean_reward=tree.reward[pairs.start : pairs.stop][order], mean_bonus=zero, states=len(tree.state),
                solved=len(tree.state), residual=high - low, state_value=low,
            ),
            action_names=self.model.actions,
            bounds=(low, high),
            notes=() if high - low <= _CLOSED else (_open_note(high - low),),
        )  # fmt: skip


def _open_note(gap: float) -> str:
    return f"{NOT_CLOSED}: the value is known to within {gap:.2g} (increase nodes or search_depth)"


def _full_information_values(reachable: Reachable, model: Model, deadline: Deadline) -> Floats:
    """V_θ(s), the value for an agent that knows θ: [state, θ]."""
    count = int(reachable.view.table.offsets[1])
    values = np.zeros((reachable.states, count))
    for theta in range(count):
        b = np.zeros(count + 1)
        b[theta] = b[-1] = 1.0
        deadline.check(f"{model.name}: computing the values of a known θ")
        known = ValueIteration(reachable, model.discount, 0.0, tolerance=_TOLERANCE, deadline=deadline)
        known.reset(b)
        values[:, theta] = known.values
    return values


def _repeated_action_values(reachable: Reachable, model: Model, deadline: Deadline) -> Floats:
    """The value of taking one action wherever it is legal, and the first legal one elsewhere: [state, θ, action]."""
    count, actions = int(reachable.view.table.offsets[1]), len(model.actions)
    values = np.zeros((reachable.states, count, actions))
    for a in range(actions):
        for theta in range(count):
            deadline.check(f"{model.name}: computing the values of repeated actions")
            column = np.zeros(reachable.states)
            converged = _evaluate_repeated(reachable.graph, reachable.distinct, a, theta, count, model.discount, column)
            values[:, theta, a] = column if converged else -np.inf
    return values


@kernel
def _evaluate_repeated(
    graph: Graph, distinct: DistinctSteps, a: int, theta: int, thetas: int, gamma: float, v: Floats
) -> bool:
    """Fill v with the value of repeating action a under θ; False if it does not converge."""
    for _ in range(_MAX_SWEEPS):
        left = 0.0
        for s in range(1, v.shape[0]):
            pair, edge = _repeated_pair(graph, distinct, a, s)
            r = graph.step[pair]
            at = distinct.at[r] + theta
            total = distinct.pool[at]
            for j in range(distinct.branches[r]):
                total += gamma * distinct.pool[at + thetas + j * thetas] * v[graph.next[edge + j]]
            left = max(left, abs(total - v[s]))
            v[s] = total
        if left <= _TOLERANCE:
            return True
    return False


@inlined
def _repeated_pair(graph: Graph, distinct: DistinctSteps, a: int, s: int) -> tuple[int, int]:
    """The state-action of a in s, or of the legal action with the smallest number; and its first edge."""
    chosen, chosen_edge, edge = -1, -1, graph.first_edge[s]
    for pair in range(graph.first[s], graph.first[s + 1]):
        number = graph.action[pair]
        if chosen < 0 or number == a or (graph.action[chosen] != a and number < graph.action[chosen]):
            chosen, chosen_edge = pair, edge
        edge += distinct.branches[graph.step[pair]]
    return chosen, chosen_edge
