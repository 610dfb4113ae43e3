"""The states that an online search has visited, and what it knows about their actions.

A node is a state s = (x, maps), a pair is a legal action of an expanded node, and an edge leads from a pair to a next
node. Where there are many actions, a node may have listed more of them than the search considers (action_widening.py).
Memory is allocated once and never grows: when it is full the search continues without new nodes and reports it.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.mdp import memory
from pomdplite.mdp.bellman import forever
from pomdplite.mdp.hash_table import empty_table, row_slot
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.rng import uniform

NOT_EXPANDED = -1
END = 0  # the node that stands for all terminal states

# Indices into SearchGraph.counts.
NODES, PAIRS, EDGES, SIMULATION = range(4)

_FEWEST_NODES = 1000


class SearchGraph(NamedTuple):
    """Arrays of fixed size; `counts` says how much of them is in use."""

    counts: Ints  # [4] nodes, pairs, edges, and the number of the current simulation
    states: Words  # [node, s_words]
    table: Small  # hash table of nodes, -1 where empty
    value: Floats  # [node] Ṽ; an estimate until the node is expanded
    bonus: Floats  # [node] the part of it that bonuses contribute
    estimate: Floats  # [node] Ṽ as it was estimated when the node was expanded, where there are many actions
    visits: Small  # [node]
    stamp: Small  # [node] the last simulation that visited it
    first: Ints  # [node] its first pair, or NOT_EXPANDED
    pairs: Small  # [node] number of its pairs that the search considers, the first ones
    listed: Small  # [node] number of its pairs
    whole: Small  # [node] 1 if every legal action is among them
    action: Small  # [pair]
    tries: Small  # [pair]
    q: Floats  # [pair] Q̃
    q_bonus: Floats  # [pair] the part of it that bonuses contribute
    reward: Floats  # [pair] mean reward of the step
    gain: Floats  # [pair] β E‖b' − b‖₁ of the step
    first_edge: Ints  # [pair]
    edges: Small  # [pair] number of its edges
    next: Small  # [edge]
    chance: Floats  # [edge] mean transition probability


def allocate_search_graph(model: KernelModel, nodes: int, pairs: int) -> SearchGraph:
    """An empty graph for up to this many nodes and pairs. The operating system maps memory only as it is used.

    Where the limit on memory is too low for all of it, every array is shorter in proportion.
    """
    node = 8 * model.s_words + 64 + 76 * pairs / nodes
    fits = memory.capacity(nodes, node, "nodes of the search graph", fewest=min(nodes, _FEWEST_NODES))
    nodes, pairs = fits, pairs * fits // nodes
    return SearchGraph(
        counts=np.zeros(4, np.int64),
        states=np.zeros((nodes, model.s_words), np.uint64),
        table=empty_table(2 * nodes),
        value=np.zeros(nodes),
        bonus=np.zeros(nodes),
        estimate=np.zeros(nodes),
        visits=np.zeros(nodes, np.int32),
        stamp=np.zeros(nodes, np.int32),
        first=np.zeros(nodes, np.int64),
        pairs=np.zeros(nodes, np.int32),
        listed=np.zeros(nodes, np.int32),
        whole=np.zeros(nodes, np.int32),
        action=np.zeros(pairs, np.int32),
        tries=np.zeros(pairs, np.int32),
        q=np.zeros(pairs),
        q_bonus=np.zeros(pairs),
        reward=np.zeros(pairs),
        gain=np.zeros(pairs),
        first_edge=np.zeros(pairs, np.int64),
        edges=np.zeros(pairs, np.int32),
        next=np.zeros(2 * pairs, np.int32),
        chance=np.zeros(2 * pairs),
    )


def clear(graph: SearchGraph, root: Words) -> None:
    """Remove everything, then add the root as node 1."""
    graph.table[:] = -1
    graph.counts[:] = 0
    graph.counts[NODES] = 1  # END
    graph.value[END] = graph.bonus[END] = 0.0
    graph.pairs[END] = 0
    add_node(graph, root.reshape(1, -1), 0, True)


def half_full(graph: SearchGraph) -> bool:
    """Whether more than half of the nodes or pairs are in use."""
    return bool(graph.counts[NODES] > 0.5 * len(graph.value) or graph.counts[PAIRS] > 0.5 * len(graph.q))


@inlined
def add_node(graph: SearchGraph, states: Words, i: int, merged: bool) -> int:
    """The node of states[i]: the existing one if states are merged and there is one, otherwise a new one."""
    slot = 0
    if merged:
        slot = row_slot(graph.states, graph.table, states, i)
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
def has_space(graph: SearchGraph, out: Outcomes, pairs: int) -> bool:
    """Whether there is space for this many more pairs, with any next nodes."""
    branches = pairs * out.next.shape[0]
    return (
        graph.counts[NODES] + branches < graph.states.shape[0]
        and graph.counts[PAIRS] + pairs < graph.q.shape[0]
        and graph.counts[EDGES] + branches < graph.next.shape[0]
    )


@kernel
def find_node(graph: SearchGraph, s: Words) -> int:
    """The node of s[0], or -1 if the search has not visited it."""
    return graph.table[row_slot(graph.states, graph.table, s, 0)]


@inlined
def sample_next(graph: SearchGraph, pair: int, stream: Words) -> int:
    """A next node drawn from the mean transition."""
    first = graph.first_edge[pair]
    last = first + graph.edges[pair]
    if last == first + 1:
        return graph.next[first]
    u, total = uniform(stream), 0.0
    for edge in range(first, last):
        total += graph.chance[edge]
        if u < total:
            return graph.next[edge]
    return graph.next[last - 1]


@inlined
def back_up_node(graph: SearchGraph, node: int, gamma: float) -> None:
    """Ṽ(s) = max_a Q̃(s, a), Equation 2. Every Q̃ is recomputed: next states may have changed since its last try."""
    best, at = -np.inf, graph.first[node]
    for pair in range(graph.first[node], graph.first[node] + graph.pairs[node]):
        back_up_pair(graph, node, pair, gamma)
        if graph.q[pair] > best:
            best, at = graph.q[pair], pair
    graph.value[node] = best
    graph.bonus[node] = graph.q_bonus[at]


@inlined
def back_up_pair(graph: SearchGraph, node: int, pair: int, gamma: float) -> None:
    """Q̃(s, a) = R̃ + γ Σ_s' P(s' | b, s, a) Ṽ(s'), and its bonus part.

    An action that may lead back to its own state gets the value of repeating it until it leaves. That equals its Q̃ if
    it is the best action; if it is not, Ṽ does not depend on the difference.
    """
    q, bonus, loop = graph.reward[pair] + graph.gain[pair], graph.gain[pair], 0.0
    for edge in range(graph.first_edge[pair], graph.first_edge[pair] + graph.edges[pair]):
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
            q = forever(q, gamma)
            bonus = forever(bonus, gamma)
    graph.q[pair] = q
    graph.q_bonus[pair] = bonus


def edges_of(graph: SearchGraph, pair: int) -> slice:
    """The edges of a pair."""
    return slice(int(graph.first_edge[pair]), int(graph.first_edge[pair] + graph.edges[pair]))


def principal_variation(graph: SearchGraph, node: int, longest: int = 12) -> tuple[int, ...]:
    """The actions that the search expects to take: the best one, then the best one in its likeliest next state, ..."""
    visited = set[int]()
    line: list[int] = []
    while node != END and graph.first[node] != NOT_EXPANDED and node not in visited and len(line) < longest:
        visited.add(node)
        first = int(graph.first[node])
        pair = first + int(np.argmax(graph.q[first : first + graph.pairs[node]]))
        line.append(int(graph.action[pair]))
        edges = edges_of(graph, pair)
        node = int(graph.next[edges][np.argmax(graph.chance[edges])])
    return tuple(line)
