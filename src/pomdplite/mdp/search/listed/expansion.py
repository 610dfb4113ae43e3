"""Expanding a node of an online search: its actions with their mean reward, bonus and mean transition.

What a step means to the search, R(b, s, a), RB(b, s, a) and P(s' | b, s, a), is computed once, when an action is added.
"""

from typing import NamedTuple

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined, inner
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.outcomes import FULL, Outcomes, outcomes
from pomdplite.mdp.search.listed.graph import SearchGraph, has_space
from pomdplite.mdp.search.nodes import (
    EDGES,
    END,
    FAULTY,
    NO_SPACE,
    NODES,
    OUTCOME_BUFFER_FULL,
    PAIRS,
    RAN_FULL,
    SEARCHED,
    add_node,
)


class SearchParameters(NamedTuple):
    """The constants of a search."""

    beta: float  # weight of the bonus, Definition 1
    gamma: float
    c: float  # weight of exploration in UCB1
    search_depth: int


class SearchWorkspace(NamedTuple):
    """Arrays that a search writes to, besides its graph."""

    out: Outcomes
    path: Ints  # [2 depth] node and pair at every depth of the current simulation
    stream: Words  # [1] random numbers
    tally: Ints  # [5] of the decision (nodes.py)


@inner
def expand(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    estimate: float, merged: bool,
) -> int:  # fmt: skip
    """Add all of the node's legal actions; `estimate` is its value until then."""
    nodes = graph.nodes
    if not has_space(graph, work.out, model.actions):
        work.tally[RAN_FULL] = 1
        return NO_SPACE
    first = nodes.counts[PAIRS]
    nodes.value[node] = estimate
    for a in range(model.actions):
        if abi.legal(model, nodes.states, node, a):
            if not add_pair(model, graph, b, parameters, work, node, a, merged):
                return OUTCOME_BUFFER_FULL
    count = nodes.counts[PAIRS] - first
    if count == 0:
        abi.note_no_action(model, nodes.states, node)
    if abi.faulty(model):
        return FAULTY
    nodes.first[node] = first
    nodes.pairs[node] = nodes.listed[node] = count
    nodes.whole[node] = 1
    return SEARCHED


@inlined
def add_pair(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    a: int, merged: bool,
) -> bool:  # fmt: skip
    """Add action a of the node behind all pairs; False if its outcomes do not fit into the buffer.

    A new next node is valued by the model's heuristic, or like the node itself if there is none.
    """
    out, pair, edge = work.out, graph.nodes.counts[PAIRS], graph.nodes.counts[EDGES]
    component, k, e = outcomes(model, graph.nodes.states, node, a, out)
    if k == FULL:
        return False
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
    change = model.bonus_scale[component] * expected_l1_change(block, out.likelihood, e)
    graph.gain[pair] = parameters.beta * change
    graph.first_edge[pair] = edge
    for j in range(k):
        chance = 0.0
        for v in range(n):
            chance += block[v] * out.chance[j, v]
        graph.next[edge] = next_node(model, graph, out, j, graph.nodes.value[node], merged)
        graph.chance[edge] = chance
        edge += 1
    graph.edges[pair] = k
    graph.nodes.counts[PAIRS] = pair + 1
    graph.nodes.counts[EDGES] = edge
    return True


@inlined
def next_node(model: KernelModel, graph: SearchGraph, out: Outcomes, j: int, estimate: float, merged: bool) -> int:
    """The node of next state j; a new one starts with the heuristic or the estimate as its value."""
    if abi.terminal(model, out.next, j):
        return END
    count = graph.nodes.counts[NODES]
    node = add_node(graph.nodes, out.next, j, merged)
    if node == count:
        graph.nodes.value[node] = abi.heuristic(model, out.next, j) if abi.has_heuristic(model) else estimate
    return node
