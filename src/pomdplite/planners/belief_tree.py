"""The pairs (b, s) that can follow a belief and a state, and the values of Equation 1 on them.

Equal pairs are merged, so strictly this is a graph: pairs that were met before, at whatever depth, are not added again.
"""

from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Small, allocating_kernel, inlined, inner, kernel
from pomdplite.mdp import memory
from pomdplite.mdp.budget import Deadline
from pomdplite.mdp.distinct_steps import DistinctSteps
from pomdplite.mdp.hash_table import empty_table, first_slot, next_slot
from pomdplite.mdp.reachable import Graph, Reachable

RESOLUTION = 1e-10  # beliefs that differ by less in every entry are equal
_END = -1  # in place of a node
RESIDUAL = 1e-10  # of a solution

# Indices into BeliefTree.counts.
NODES, EXPANDED, PAIRS, EDGES = range(4)

# Why the expanding kernel returned.
_DONE, _NODES_FULL, _PAIR_BUFFER_FULL, _EDGE_BUFFER_FULL, _PAUSED = range(5)
_GROWTH = 24  # bytes of pairs and edges for each node, at least


class BeliefTree(NamedTuple):
    """Pairs (b, s) as nodes, their actions as pairs, and the outcomes of these as edges."""

    counts: Ints  # [4] nodes, expanded nodes, pairs, edges
    state: Small  # [node] number in the graph
    belief: Floats  # [node, θ]
    table: Small  # hash table of nodes, -1 where empty
    first: Ints  # [node + 1] its pairs; none if it is not expanded
    pair: Ints  # [pair] state-action in the graph
    reward: Floats  # [pair] R(b, s, a)
    first_edge: Ints  # [pair + 1]
    chance: Floats  # [edge] P(s', o | b, s, a)
    child: Small  # [edge] node, or _END


def search(
    reachable: Reachable, state: int, b: Floats, search_depth: int, nodes: int, deadline: Deadline
) -> tuple[BeliefTree, int]:
    """Expand from (b, state) level by level, as long as whole levels fit: (the tree, number of levels expanded)."""
    tree = _allocate(nodes, len(b))
    tree.counts[NODES] = 1
    tree.state[0] = state
    tree.belief[0] = b
    tree.table[_slot(tree, state, b)] = 0
    depth, scratch = 0, np.zeros(len(b))
    while depth < search_depth and tree.counts[EXPANDED] < tree.counts[NODES]:
        before, clock = tree.counts.copy(), deadline.batches()
        status = _PAUSED
        while status not in (_DONE, _NODES_FULL):
            if status != _PAUSED:
                _require(reachable, tree)
                tree = _grow(tree, pairs=status == _PAIR_BUFFER_FULL)
            expanded, name = int(tree.counts[EXPANDED]), reachable.view.model.name
            deadline.check(f"{name}: searching {depth + 1} steps ahead ({expanded:,} beliefs so far)")
            end = min(int(before[NODES]), expanded + clock.portion(expanded))
            status = _expand_level(reachable.graph, reachable.distinct, tree, end, scratch)
            if status == _DONE and end < before[NODES]:
                status = _PAUSED
        if status == _NODES_FULL:
            tree.counts[:] = before  # this level stays unexpanded
            tree.table[tree.table >= before[NODES]] = -1
            break
        depth += 1
    return _trim(tree), depth


def tree_bytes(nodes: int, thetas: int) -> int:
    """The memory of an empty tree for so many nodes."""
    return nodes * (8 * thetas + 12 + 16 + _GROWTH)


def _require(reachable: Reachable, tree: BeliefTree) -> None:
    """Raise TooLargeError if the tree cannot grow to twice its pairs or edges."""
    more = memory.size(tree.pair, tree.reward, tree.first_edge, tree.chance, tree.child)
    what = f"{reachable.view.model.name}: the search over beliefs ({int(tree.counts[EDGES]):,} outcomes so far)"
    memory.require(memory.size(reachable, tree) + 2 * more, what, "set fewer nodes")


def _allocate(nodes: int, thetas: int, pairs: int = 1024, edges: int = 1024) -> BeliefTree:
    return BeliefTree(
        counts=np.zeros(4, np.int64),
        state=np.zeros(nodes, np.int32),
        belief=np.zeros((nodes, thetas)),
        table=empty_table(max(16, 4 * nodes)),
        first=np.zeros(nodes + 1, np.int64),
        pair=np.zeros(pairs, np.int64),
        reward=np.zeros(pairs),
        first_edge=np.zeros(pairs + 1, np.int64),
        chance=np.zeros(edges),
        child=np.zeros(edges, np.int32),
    )


def _grow(tree: BeliefTree, *, pairs: bool) -> BeliefTree:
    """The tree with twice the capacity for pairs or for edges."""
    names = ("pair", "reward", "first_edge") if pairs else ("chance", "child")
    return tree._replace(
        **{name: np.concatenate((getattr(tree, name), np.zeros_like(getattr(tree, name)))) for name in names}
    )


def _trim(tree: BeliefTree) -> BeliefTree:
    """The tree without unused capacity. Nodes that are not expanded have no pairs."""
    nodes, expanded, pairs, edges = (int(count) for count in tree.counts)
    tree.first[expanded + 1 : nodes + 1] = pairs
    return tree._replace(
        state=tree.state[:nodes].copy(),
        belief=tree.belief[:nodes].copy(),
        first=tree.first[: nodes + 1].copy(),
        pair=tree.pair[:pairs].copy(),
        reward=tree.reward[:pairs].copy(),
        first_edge=tree.first_edge[: pairs + 1].copy(),
        chance=tree.chance[:edges].copy(),
        child=tree.child[:edges].copy(),
    )


@inner
def _equal(tree: BeliefTree, node: int, state: int, b: Floats) -> bool:
    if tree.state[node] != state:
        return False
    for v in range(b.shape[0]):
        if abs(tree.belief[node, v] - b[v]) > RESOLUTION:
            return False
    return True


@inner
def _hash(state: int, b: Floats) -> np.uint64:
    """The same for nearly all beliefs that `_equal` considers equal; a miss costs a node but not correctness."""
    h = np.uint64(state) * np.uint64(0x9E3779B97F4A7C15)
    for v in range(b.shape[0]):
        h = (h ^ np.uint64(np.int64(b[v] * 1e8 + 0.5))) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


@kernel
def _slot(tree: BeliefTree, state: int, b: Floats) -> Any:
    """The slot of (b, s), or the empty slot where it belongs."""
    slot = first_slot(tree.table, _hash(state, b))
    while tree.table[slot] >= 0 and not _equal(tree, tree.table[slot], state, b):
        slot = next_slot(tree.table, slot)
    return slot


@kernel
def find_expanded(tree: BeliefTree, state: int, b: Floats) -> int:
    """The node of (b, s), or -1 if it is not in the tree or not expanded."""
    node = tree.table[_slot(tree, state, b)]
    return node if node >= 0 and tree.first[node + 1] > tree.first[node] else -1


@kernel
def _expand_level(graph: Graph, distinct: DistinctSteps, tree: BeliefTree, level_end: int, scratch: Floats) -> int:
    """Expand the nodes up to level_end, or until there is no space; counts then include complete nodes only."""
    while tree.counts[EXPANDED] < level_end:
        pairs, edges = tree.counts[PAIRS], tree.counts[EDGES]
        status = _expand_node(graph, distinct, tree, tree.counts[EXPANDED], scratch)
        if status != _DONE:
            tree.counts[PAIRS], tree.counts[EDGES] = pairs, edges
            return status
        tree.counts[EXPANDED] += 1
        tree.first[tree.counts[EXPANDED]] = tree.counts[PAIRS]
    return _DONE


@inlined
def _expand_node(graph: Graph, distinct: DistinctSteps, tree: BeliefTree, node: int, scratch: Floats) -> int:
    """Add the actions of a node, their mean rewards, and the beliefs and states that follow them (Bayes' rule)."""
    s, n = tree.state[node], tree.belief.shape[1]
    edge = graph.first_edge[s]
    for pair in range(graph.first[s], graph.first[s + 1]):
        r = graph.step[pair]
        k, e, at = distinct.branches[r], distinct.outcomes[r], distinct.at[r]
        if tree.counts[PAIRS] + 1 >= tree.pair.shape[0]:
            return _PAIR_BUFFER_FULL
        if tree.counts[EDGES] + e >= tree.child.shape[0]:
            return _EDGE_BUFFER_FULL
        mean = 0.0
        for v in range(n):
            mean += tree.belief[node, v] * distinct.pool[at + v]
        tree.pair[tree.counts[PAIRS]] = pair
        tree.reward[tree.counts[PAIRS]] = mean
        likelihood = at + n + k * n
        for i in range(e):
            chance = 0.0
            for v in range(n):
                scratch[v] = tree.belief[node, v] * distinct.pool[likelihood + i * n + v]
                chance += scratch[v]
            if chance <= 0.0:
                continue
            child, to = _END, graph.next[edge + np.int64(distinct.pool[likelihood + e * n + i])]
            if to != 0:
                for v in range(n):
                    scratch[v] /= chance
                child = _node_of(tree, to, scratch)
                if child < 0:
                    return _NODES_FULL
            tree.chance[tree.counts[EDGES]] = chance
            tree.child[tree.counts[EDGES]] = child
            tree.counts[EDGES] += 1
        tree.counts[PAIRS] += 1
        tree.first_edge[tree.counts[PAIRS]] = tree.counts[EDGES]
        edge += k
    return _DONE


@inlined
def _node_of(tree: BeliefTree, state: int, b: Floats) -> int:
    """The node of (b, s), which is added if it is new; -1 if there is no space."""
    slot = _slot(tree, state, b)
    node = tree.table[slot]
    if node < 0 and tree.counts[NODES] < tree.state.shape[0]:
        node = tree.counts[NODES]
        tree.table[slot] = node
        tree.state[node] = state
        for v in range(b.shape[0]):
            tree.belief[node, v] = b[v]
        tree.counts[NODES] += 1
    return node


@kernel
def action_value(tree: BeliefTree, pair: int, v: Floats, gamma: float) -> float:
    """R(b, s, a) + γ Σ P(s', o | b, s, a) V(b', s'), the right-hand side of Equation 1."""
    q = tree.reward[pair]
    for edge in range(tree.first_edge[pair], tree.first_edge[pair + 1]):
        if tree.child[edge] >= 0:
            q += gamma * tree.chance[edge] * v[tree.child[edge]]
    return q


@allocating_kernel
def set_leaves(tree: BeliefTree, leaf: Floats, v: Floats) -> None:
    """The values of the nodes that are not expanded, given the values `leaf` [state, θ(, policy)] below the tree."""
    cube = leaf.reshape((leaf.shape[0], tree.belief.shape[1], -1))
    for node in range(v.shape[0]):
        if tree.first[node + 1] == tree.first[node]:
            v[node] = _leaf_value(tree, node, cube)


@kernel
def sweep(tree: BeliefTree, v: Floats, gamma: float) -> float:
    """Back up every expanded node, the last one first; the largest change."""
    left = 0.0
    for node in range(v.shape[0] - 1, -1, -1):
        if tree.first[node + 1] == tree.first[node]:
            continue
        best = -np.inf
        for pair in range(tree.first[node], tree.first[node + 1]):
            best = max(best, action_value(tree, pair, v, gamma))
        if best != v[node]:
            left = max(left, abs(best - v[node]))
        v[node] = best
    return left


@inlined
def _leaf_value(tree: BeliefTree, node: int, cube: Floats) -> float:
    """The best policy's mean value under the node's belief."""
    best = -np.inf
    for policy in range(cube.shape[2]):
        mean = 0.0
        for theta in range(cube.shape[1]):
            if tree.belief[node, theta] > 0.0:
                mean += tree.belief[node, theta] * cube[tree.state[node], theta, policy]
        best = max(best, mean)
    return best
