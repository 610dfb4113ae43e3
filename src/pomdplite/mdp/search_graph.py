"""The states that an online search has met, with what is known of their actions.

A node is a state s = (x, maps); a pair is a legal action of an expanded node; an edge leads from a pair to a next
node. Space is set aside once and never grows: when it is full the search goes on without new nodes, and says so.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.mdp.bellman import for_ever
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.outcomes import FULL, Outcomes, outcomes
from pomdplite.mdp.reachable import state_slot

NOT_EXPANDED = -1
END = 0  # the node that stands for every terminal state

# Places in SearchGraph.counts.
NODES, PAIRS, EDGES, STAMP = range(4)

# What expanding a node came to.
EXPANDED, NO_SPACE, NO_ROOM, FAULTY = range(4)


class SearchGraph(NamedTuple):
    """Arrays of fixed size; counts say how much of them is in use."""

    counts: Ints  # [4]
    states: Words  # [node, s_words]
    table: Small  # hash table of nodes, -1 where empty
    value: Floats  # [node] Ṽ; a guess until expanded
    bonus: Floats  # [node] the part of it that bonuses contribute
    visits: Small  # [node]
    stamp: Small  # [node] the last simulation that came by
    first: Ints  # [node] its first pair, NOT_EXPANDED before
    pairs: Small  # [node] how many
    action: Small  # [pair]
    tries: Small  # [pair]
    q: Floats  # [pair] Q̃
    q_bonus: Floats  # [pair] the part of it that bonuses contribute
    reward: Floats  # [pair] mean reward of the step
    gain: Floats  # [pair] β E‖b' − b‖₁ of the step
    first_edge: Ints  # [pair + 1]
    next: Small  # [edge]
    chance: Floats  # [edge] mean transition probability


def search_space(model: KernelModel, nodes: int, pairs: int) -> SearchGraph:
    """Space for that many nodes and pairs; the system hands memory out as it is used."""
    edges = 2 * pairs
    table = np.full(1 << (2 * nodes - 1).bit_length(), -1, np.int32)

    def small(count: int) -> Small:
        return np.zeros(count, np.int32)

    return SearchGraph(
        np.zeros(4, np.int64), np.zeros((nodes, model.s_words), np.uint64), table, np.zeros(nodes), np.zeros(nodes),
        small(nodes), small(nodes), np.zeros(nodes, np.int64), small(nodes), small(pairs), small(pairs),
        np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.zeros(pairs), np.zeros(pairs + 1, np.int64), small(edges),
        np.zeros(edges),
    )  # fmt: skip


def clear(graph: SearchGraph, root: Words) -> None:
    """Forget everything but the root, which becomes node 1."""
    graph.table[:] = -1
    graph.counts[:] = 0
    graph.counts[NODES] = 1  # END
    graph.value[END] = graph.bonus[END] = 0.0
    graph.pairs[END] = 0
    graph.first_edge[0] = 0
    add_node(graph, root.reshape(1, -1), 0, True)


@inlined
def add_node(graph: SearchGraph, states: Words, i: int, merged: bool) -> int:
    """The node of states[i]: the one that is there already if states are merged, else a new one."""
    slot = 0
    if merged:
        slot = state_slot(graph.states, graph.table, states, i)
        if graph.table[slot] >= 0:
            return graph.table[slot]
    node = graph.counts[NODES]
    if merged:
        graph.table[slot] = node
    for w in range(states.shape[1]):
        graph.states[node, w] = states[i, w]
    graph.first[node] = NOT_EXPANDED
    graph.pairs[node] = 0
    graph.visits[node] = 0
    graph.stamp[node] = 0
    graph.value[node] = 0.0
    graph.bonus[node] = 0.0
    graph.counts[NODES] = node + 1
    return node


@inlined
def has_space(model: KernelModel, graph: SearchGraph, out: Outcomes) -> bool:
    """Whether one more node can be expanded."""
    branches = model.actions * out.next.shape[0]
    return (
        graph.counts[NODES] + branches < graph.states.shape[0]
        and graph.counts[PAIRS] + model.actions < graph.q.shape[0]
        and graph.counts[EDGES] + branches < graph.next.shape[0]
    )


@kernel
def expand(
    model: KernelModel, graph: SearchGraph, b: Floats, beta: float, out: Outcomes, node: int, guess: float,
    merged: bool, fault: Ints,
) -> int:  # fmt: skip
    """List the node's legal actions, with their mean reward, bonus and mean transition under the belief b.

    A next node that is new is valued by the model's heuristic, or by `guess`.
    """
    if not has_space(model, graph, out):
        return NO_SPACE
    first, pair, edge = graph.counts[PAIRS], graph.counts[PAIRS], graph.counts[EDGES]
    for a in range(model.actions):
        if not abi.legal(model, graph.states, node, a):
            continue
        component, k, e = outcomes(model, graph.states, node, a, out)
        if k < 0:
            fault[0], fault[1], fault[2], fault[3] = a, component, k, e
            return NO_ROOM if k == FULL else FAULTY
        offset = model.offsets[component]
        n = model.offsets[component + 1] - offset
        block = b[offset : offset + n]
        mean = 0.0
        for v in range(n):
            mean += block[v] * out.reward[v]
        graph.action[pair] = a
        graph.tries[pair] = 0
        graph.q[pair] = graph.q_bonus[pair] = 0.0
        graph.reward[pair] = mean
        graph.gain[pair] = beta * expected_l1_change(block, out.likelihood[:e, :n])
        graph.first_edge[pair] = edge
        for j in range(k):
            chance = 0.0
            for v in range(n):
                chance += block[v] * out.chance[j, v]
            to = END
            if not abi.terminal(model, out.next, j):
                known = graph.counts[NODES]
                to = add_node(graph, out.next, j, merged)
                if to == known:
                    graph.value[to] = abi.heuristic(model, out.next, j) if abi.has_heuristic(model) else guess
            graph.next[edge] = to
            graph.chance[edge] = chance
            edge += 1
        pair += 1
        graph.first_edge[pair] = edge
        graph.counts[PAIRS] = pair
        graph.counts[EDGES] = edge
    graph.first[node] = first
    graph.pairs[node] = pair - first
    return EXPANDED


@inlined
def back_up_pair(graph: SearchGraph, node: int, pair: int, gamma: float) -> None:
    """Q̃(s, a) = R̃ + γ Σ_s' P(s' | b, s, a) Ṽ(s'), and its bonus part.

    An action that may lead back to its own state is worth what repeating it until it leaves is worth: where it is the
    best action that is its Q̃, and where it is not the difference does not matter to Ṽ.
    """
    q, bonus, loop = graph.reward[pair] + graph.gain[pair], graph.gain[pair], 0.0
    for edge in range(graph.first_edge[pair], graph.first_edge[pair + 1]):
        to = graph.next[edge]
        if to == node:
            loop += graph.chance[edge]
        else:
            q += gamma * graph.chance[edge] * graph.value[to]
            bonus += gamma * graph.chance[edge] * graph.bonus[to]
    if loop > 0.0:
        if gamma * loop < 1.0:
            q /= 1.0 - gamma * loop
            bonus /= 1.0 - gamma * loop
        else:
            q = for_ever(q, gamma)
            bonus = for_ever(bonus, gamma)
    graph.q[pair] = q
    graph.q_bonus[pair] = bonus


@inlined
def back_up_node(graph: SearchGraph, node: int, gamma: float) -> None:
    """Ṽ(s) = max_a Q̃(s, a), every Q̃ computed anew: next states may have changed since an action was last tried."""
    best, at = -np.inf, graph.first[node]
    for pair in range(graph.first[node], graph.first[node] + graph.pairs[node]):
        back_up_pair(graph, node, pair, gamma)
        if graph.q[pair] > best:
            best, at = graph.q[pair], pair
    graph.value[node] = best
    graph.bonus[node] = graph.q_bonus[at]


@kernel
def find_node(graph: SearchGraph, s: Words) -> int:
    """The node of s[0], -1 if it was not met."""
    return graph.table[state_slot(graph.states, graph.table, s, 0)]
