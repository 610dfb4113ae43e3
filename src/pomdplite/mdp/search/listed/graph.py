"""The graph of a search with listed outcomes: the actions of its nodes (nodes.py), and where they lead.

An edge leads from a pair to a next node, with the probability of getting there.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined
from pomdplite.mdp.bellman import forever
from pomdplite.mdp.outcomes import Outcomes
from pomdplite.mdp.search.nodes import EDGES, NODES, PAIRS, StateNodes, allocate_nodes, sizes_that_fit
from pomdplite.rng import uniform

_PAIR_BYTES = 76  # with its edges


class SearchGraph(NamedTuple):
    """Nodes, pairs and edges."""

    nodes: StateNodes
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
    """An empty graph for up to this many nodes and pairs, or for as many as fit into the memory."""
    nodes, pairs = sizes_that_fit(model, nodes, pairs, _PAIR_BYTES, "nodes of the search graph")
    return SearchGraph(
        nodes=allocate_nodes(model, nodes),
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


@inlined
def has_space(graph: SearchGraph, out: Outcomes, pairs: int) -> bool:
    """Whether there is space for this many more pairs, with any next nodes."""
    branches = pairs * out.next.shape[0]
    return (
        graph.nodes.counts[NODES] + branches < graph.nodes.states.shape[0]
        and graph.nodes.counts[PAIRS] + pairs < graph.q.shape[0]
        and graph.nodes.counts[EDGES] + branches < graph.next.shape[0]
    )


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
    best, at = -np.inf, graph.nodes.first[node]
    for pair in range(graph.nodes.first[node], graph.nodes.first[node] + graph.nodes.pairs[node]):
        back_up_pair(graph, node, pair, gamma)
        if graph.q[pair] > best:
            best, at = graph.q[pair], pair
    graph.nodes.value[node] = best
    graph.nodes.bonus[node] = graph.q_bonus[at]


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
            q += gamma * graph.chance[edge] * graph.nodes.value[to]
            bonus += gamma * graph.chance[edge] * graph.nodes.bonus[to]
    if loop > 0.0:
        if gamma * loop < 1.0:
            q /= 1.0 - gamma * loop
            bonus /= 1.0 - gamma * loop
        else:
            q = forever(q, gamma)
            bonus = forever(bonus, gamma)
    graph.q[pair] = q
    graph.q_bonus[pair] = bonus


def edges_of(graph: SearchGraph, pair: int) -> tuple[Small, Floats]:
    """The nodes that a pair leads to, and their probabilities."""
    edges = slice(int(graph.first_edge[pair]), int(graph.first_edge[pair] + graph.edges[pair]))
    return graph.next[edges], graph.chance[edges]
