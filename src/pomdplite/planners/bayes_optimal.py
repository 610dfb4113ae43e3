"""The Bayes-optimal value and policy, by search over reachable (b, s) with memory. For small models.

    V*(b, s) = max_a { R(b, s, a) + γ Σ_s' P(s' | b, s, a) V*(b', s') }      (Equation 1 of the paper)

The search goes `search_depth` steps deep; pairs (b, s) that were met before, at whatever depth, are not met again. At
the horizon the value is bounded from above by that of an agent who is told θ, Σ_θ b(θ) V_θ(s), and from below by
that of the best policy that repeats one action. So the value at the root lies between two bounds, and their
difference is what the discounted tail beyond the horizon can still matter. If no new pair is met the bounds meet.
"""

from typing import Any, ClassVar, NamedTuple

import numpy as np

from pomdplite.beliefs import CategoricalBelief
from pomdplite.compile.jit import Floats, Ints, Small, Words, allocating_kernel, kernel
from pomdplite.errors import NotConvergingError, UsageError
from pomdplite.mdp.distinct_steps import DistinctSteps
from pomdplite.mdp.reachable import Graph, Reachable, build
from pomdplite.mdp.value_iteration import ValueIteration
from pomdplite.model.model import Model
from pomdplite.planners.base import Decision, Planner, choose

RESOLUTION = 1e-10  # beliefs closer than this in every entry are one
_STATES = 100_000  # reachable states, more is no small model
_MOST_SWEEPS = 100_000
_CLOSED = 1e-6  # bounds closer than this have met
_EXACT = 1e-12  # residual of the values that bound the tail


class Tree(NamedTuple):
    """Pairs (b, s) and what follows them."""

    state: Small  # [node] number in the graph
    belief: Floats  # [node, θ]
    table: Small  # hash table of nodes
    first: Ints  # [node + 1] its actions; none at the horizon
    pair: Ints  # [action] state-action in the graph
    reward: Floats  # [action] R(b, s, a)
    first_edge: Ints  # [action + 1]
    chance: Floats  # [edge] P(s' | b, s, a)
    child: Small  # [edge] node, -1 for END


class BayesOptimal(Planner):
    """Exact for small models: our ground truth."""

    title: ClassVar[str] = "bayes-optimal"
    deterministic = True

    belief: CategoricalBelief

    def __init__(self, model: Model, search_depth: int = 200, nodes: int = 200_000) -> None:
        super().__init__(model)
        if search_depth < 1 or nodes < 2:
            raise UsageError(f"search_depth and nodes must be positive, not {search_depth} and {nodes}.")
        self.search_depth, self.nodes = search_depth, nodes

    @property
    def parameters(self) -> dict[str, Any]:
        """How deep to search, and how many pairs (b, s) to hold."""
        return {"search_depth": self.search_depth, "nodes": self.nodes}

    def _prepare(self) -> None:
        self.view = self.model.compiled_form.kernel_view(joint=True)
        self.belief = CategoricalBelief(self.view)
        self._build(self.view.root())

    def _build(self, root: Words) -> None:
        self.reachable = build(self.view, root, limit=_STATES)
        self.upper, self.lower = _informed(self.reachable, self.model), _repeating(self.reachable, self.model)
        self._tree: Tree | None = None

    def _decide(self) -> Decision:
        state = self.reachable.find(self.s)
        if state < 0:  # a world outside the model put us where the model never leads
            self._build(self.s)
            state = self.reachable.find(self.s)
        b = self.belief.vector
        node = -1 if self._tree is None else int(_find(self._tree, state, b))
        # Bounds that meet at the root need not meet at every pair: look again unless they do here.
        if self._tree is None or node < 0 or self._high[node] - self._low[node] > _CLOSED:
            self._search(state, b)
            node = 0
        return self._decision(node)

    def _search(self, state: int, b: Floats) -> None:
        r = self.reachable
        self._tree, self.depth = _expand(r.graph, r.distinct, state, b, self.search_depth, self.nodes, len(b))
        self._low = self._solve(self.lower)
        self._high = self._solve(self.upper)

    def _solve(self, leaf: Floats) -> Floats:
        assert self._tree is not None
        values, settled = _solve(self._tree, leaf, self.model.discount, _MOST_SWEEPS)
        if not settled:
            raise NotConvergingError(
                f"{self.model.name}: the Bayes-optimal value does not settle with discount {self.model.discount:g}: "
                "it is unbounded, or some belief is returned to for ever."
            )
        return values

    def _decision(self, node: int) -> Decision:
        tree = self._tree
        assert tree is not None
        graph, first, last = self.reachable.graph, int(tree.first[node]), int(tree.first[node + 1])
        q = np.array([_q(tree, i, self._low, self.model.discount) for i in range(first, last)])
        actions = graph.action[tree.pair[first:last]]
        order = np.argsort(actions, kind="stable")
        actions, q, zero = actions[order], q[order], np.zeros(len(order))
        action = choose(actions, q)
        low, high = float(self._low[node]), float(max(self._high[node], self._low[node]))
        return Decision(
            action, str(self.model.actions[action]), low, actions, q, zero, tree.reward[first:last][order], zero,
            f"search over beliefs, {self.depth} steps deep", len(tree.state), len(tree.state), high - low, (low, high),
            notes=() if high - low <= _CLOSED else (_open(high - low),),
        )  # fmt: skip


def _open(gap: float) -> str:
    return f"the search did not close: the value is known to {gap:.2g} (raise nodes or search_depth)"


def _informed(reachable: Reachable, model: Model) -> Floats:
    """V_θ(s) for an agent who knows θ: [state, θ]."""
    count = int(reachable.view.table.offsets[1])
    values = np.zeros((reachable.states, count))
    for theta in range(count):
        b = np.zeros(count + 1)
        b[theta] = b[-1] = 1.0
        known = ValueIteration(reachable, model.discount, 0.0, tolerance=_EXACT)
        known.reset(b)
        values[:, theta] = known.values
    return values


def _repeating(reachable: Reachable, model: Model) -> Floats:
    """The value of repeating one action wherever it is legal, else the first legal one: [state, θ, action]."""
    count, actions = int(reachable.view.table.offsets[1]), len(model.actions)
    values = np.zeros((reachable.states, count, actions))
    for a in range(actions):
        for theta in range(count):
            column = np.zeros(reachable.states)
            settled = _follow(
                reachable.graph, reachable.distinct, a, theta, count, model.discount, column, _MOST_SWEEPS
            )
            values[:, theta, a] = column if settled else -np.inf
    return values


@kernel
def _follow(
    graph: Graph, distinct: DistinctSteps, a: int, theta: int, count: int, gamma: float, v: Floats, most: int
) -> bool:
    """The value of repeating action a under θ; False if it does not settle."""
    for _ in range(most):
        left = 0.0
        for s in range(1, v.shape[0]):
            # the action itself, or the legal one with the smallest number
            chosen, chosen_edge, edge = -1, -1, graph.first_edge[s]
            for pair in range(graph.first[s], graph.first[s + 1]):
                number = graph.action[pair]
                if chosen < 0 or number == a or (graph.action[chosen] != a and number < graph.action[chosen]):
                    chosen, chosen_edge = pair, edge
                edge += distinct.branches[graph.step[pair]]
            r = graph.step[chosen]
            at = distinct.at[r]
            total = distinct.pool[at + theta]
            for j in range(distinct.branches[r]):
                total += gamma * distinct.pool[at + count + j * count + theta] * v[graph.next[chosen_edge + j]]
            left = max(left, abs(total - v[s]))
            v[s] = total
        if left <= _EXACT:
            return True
    return False


@kernel
def _same(tree: Tree, node: int, state: int, b: Floats) -> bool:
    if tree.state[node] != state:
        return False
    for v in range(b.shape[0]):
        if abs(tree.belief[node, v] - b[v]) > RESOLUTION:
            return False
    return True


@kernel
def _hash(state: int, b: Floats) -> np.uint64:
    """Equal for most pairs of beliefs that `_same` calls equal; a miss costs a node, not the answer."""
    h = np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)
    for v in range(b.shape[0]):
        h = (h ^ np.uint64(np.int64(b[v] * 1e8 + 0.5))) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


@kernel
def _slot(tree: Tree, state: int, b: Floats) -> Any:
    slot = np.int64(_hash(state, b) & np.uint64(tree.table.shape[0] - 1))
    while tree.table[slot] >= 0 and not _same(tree, tree.table[slot], state, b):
        slot = (slot + 1) & (tree.table.shape[0] - 1)
    return slot


@kernel
def _find(tree: Tree, state: int, b: Floats) -> int:
    """The node of (b, s), -1 if it was not met or was left at the horizon."""
    node = tree.table[_slot(tree, state, b)]
    return node if node >= 0 and tree.first[node + 1] > tree.first[node] else -1


@allocating_kernel
def _expand(
    graph: Graph, distinct: DistinctSteps, state: int, b: Floats, horizon: int, most: int, n: int
) -> tuple[Tree, int]:
    """Every pair reachable within the horizon, level by level, as long as whole levels fit `most` nodes."""
    size = 16
    while size < 4 * most:
        size *= 2
    tree = Tree(
        np.zeros(most, np.int32), np.zeros((most, n)), np.full(size, -1, np.int32), np.zeros(most + 1, np.int64),
        np.zeros(1024, np.int64), np.zeros(1024), np.zeros(1025, np.int64), np.zeros(1024), np.zeros(1024, np.int32),
    )  # fmt: skip
    pair_list, reward_list, edge_list = tree.pair, tree.reward, tree.first_edge
    chance_list, child_list = tree.chance, tree.child
    tree.state[0] = state
    tree.belief[0] = b
    tree.table[_slot(tree, state, b)] = 0
    count, done, pairs, edges, depth = 1, 0, 0, 0, 0
    new = np.zeros(n)
    full = False
    while depth < horizon and done < count and not full:
        level = count
        mark_done, mark_pairs, mark_edges = done, pairs, edges
        while done < level and not full:
            s = tree.state[done]
            edge = graph.first_edge[s]
            for pair in range(graph.first[s], graph.first[s + 1]):
                r = graph.step[pair]
                k, e, at = distinct.branches[r], distinct.outcomes[r], distinct.at[r]
                if pairs + 1 >= pair_list.shape[0]:
                    pair_list = np.concatenate((pair_list, np.zeros_like(pair_list)))
                    reward_list = np.concatenate((reward_list, np.zeros_like(reward_list)))
                    edge_list = np.concatenate((edge_list, np.zeros_like(edge_list)))
                while edges + e >= child_list.shape[0]:
                    chance_list = np.concatenate((chance_list, np.zeros_like(chance_list)))
                    child_list = np.concatenate((child_list, np.zeros_like(child_list)))
                pair_list[pairs] = pair
                mean = 0.0
                for v in range(n):
                    mean += tree.belief[done, v] * distinct.pool[at + v]
                reward_list[pairs] = mean
                likelihood = at + n + k * n
                for i in range(e):
                    chance = 0.0
                    for v in range(n):
                        new[v] = tree.belief[done, v] * distinct.pool[likelihood + i * n + v]
                        chance += new[v]
                    if chance <= 0.0:
                        continue
                    to = graph.next[edge + np.int64(distinct.pool[likelihood + e * n + i])]
                    child = -1
                    if to != 0:
                        for v in range(n):
                            new[v] /= chance
                        slot = _slot(tree, to, new)
                        child = tree.table[slot]
                        if child < 0:
                            if count == most:
                                full = True
                                break
                            child = count
                            tree.table[slot] = child
                            tree.state[child] = to
                            tree.belief[child] = new
                            count += 1
                    chance_list[edges] = chance
                    child_list[edges] = child
                    edges += 1
                if full:
                    break
                pairs += 1
                edge_list[pairs] = edges
                edge += k
            if full:
                break
            done += 1
            tree.first[done] = pairs
        if full:
            done, pairs, edges = mark_done, mark_pairs, mark_edges  # this level stays at the horizon
            count = level
        else:
            depth += 1
    tree.first[done + 1 : count + 1] = pairs
    for slot in range(size):
        if tree.table[slot] >= count:
            tree.table[slot] = -1
    return Tree(
        tree.state[:count].copy(), tree.belief[:count].copy(), tree.table, tree.first[: count + 1].copy(),
        pair_list[:pairs].copy(), reward_list[:pairs].copy(), edge_list[: pairs + 1].copy(),
        chance_list[:edges].copy(), child_list[:edges].copy(),
    ), depth  # fmt: skip


@kernel
def _q(tree: Tree, i: int, v: Floats, gamma: float) -> float:
    q = tree.reward[i]
    for edge in range(tree.first_edge[i], tree.first_edge[i + 1]):
        if tree.child[edge] >= 0:
            q += gamma * tree.chance[edge] * v[tree.child[edge]]
    return q


@allocating_kernel
def _solve(tree: Tree, leaf: Floats, gamma: float, most: int) -> tuple[Floats, bool]:
    """Values of all pairs, given `leaf` [state, θ(, policy)] at the horizon; and whether they settled."""
    n = tree.state.shape[0]
    v = np.zeros(n)
    cube = leaf.reshape((leaf.shape[0], tree.belief.shape[1], -1))
    for i in range(n):
        if tree.first[i + 1] == tree.first[i]:
            best = -np.inf
            for policy in range(cube.shape[2]):
                mean = 0.0
                for theta in range(cube.shape[1]):
                    if tree.belief[i, theta] > 0.0:
                        mean += tree.belief[i, theta] * cube[tree.state[i], theta, policy]
                best = max(best, mean)
            v[i] = best
    for _ in range(most):
        left = 0.0
        for i in range(n - 1, -1, -1):
            if tree.first[i + 1] == tree.first[i]:
                continue
            best = -np.inf
            for a in range(tree.first[i], tree.first[i + 1]):
                best = max(best, _q(tree, a, v, gamma))
            if best != v[i]:
                left = max(left, abs(best - v[i]))
            v[i] = best
        if left <= 1e-10:
            return v, True
    return v, False
