"""Widening over actions (action_widening.py) in a search with listed outcomes.

A node considers the first `pairs` of its `listed` pairs. Pairs move within their arrays; their edges do not.
"""

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, inlined, inner, kernel
from pomdplite.mdp.search.action_widening import ActionWidening, allowed, next_considered
from pomdplite.mdp.search.listed.expansion import SearchParameters, SearchWorkspace, add_pair
from pomdplite.mdp.search.listed.graph import SearchGraph, back_up_pair, has_space
from pomdplite.mdp.search.nodes import (
    FAULTY,
    NO_SPACE,
    NOT_EXPANDED,
    OUTCOME_BUFFER_FULL,
    PAIRS,
    RAN_FULL,
    SEARCHED,
)


@inner
def widen(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    widening: ActionWidening,
) -> int:  # fmt: skip
    """Let an expanded node consider one more action if it was visited often enough."""
    nodes = graph.nodes
    exhausted = nodes.pairs[node] == nodes.listed[node]
    if (exhausted and nodes.whole[node] == 1) or nodes.pairs[node] >= allowed(widening, nodes.visits[node]):
        return SEARCHED
    if exhausted:
        status = list_actions(model, graph, b, parameters, work, node, widening, 2 * nodes.listed[node])
        if status != SEARCHED:
            return status
    consider_more(graph, node, nodes.pairs[node] + 1)
    return SEARCHED


@inner
def open_node(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    widening: ActionWidening, wanted: int,
) -> int:  # fmt: skip
    """List this many of the node's actions, and consider as many as its visits allow."""
    status = list_actions(model, graph, b, parameters, work, node, widening, wanted)
    if status == SEARCHED:
        consider_more(graph, node, allowed(widening, graph.nodes.visits[node]))
    return status


@kernel
def open_root(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    widening: ActionWidening,
) -> int:  # fmt: skip
    """List all actions of the node that a search begins with."""
    return open_node(model, graph, b, parameters, work, node, widening, model.actions)


@inner
def list_actions(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    widening: ActionWidening, wanted: int,
) -> int:  # fmt: skip
    """List actions until the node has as many as wanted, or all that are legal. Its pairs move behind all others."""
    nodes = graph.nodes
    known = nodes.listed[node] if nodes.first[node] != NOT_EXPANDED else 0
    if known == 0:
        nodes.estimate[node] = nodes.value[node]
    wanted = min(wanted, model.actions)
    if not has_space(graph, work.out, wanted):
        work.tally[RAN_FULL] = 1
        return NO_SPACE
    first = nodes.counts[PAIRS]
    widening.mark[0] += 1
    for i in range(known):
        copy_pair(graph, nodes.first[node] + i, first + i)
        widening.mark[1 + graph.action[first + i]] = widening.mark[0]
    nodes.counts[PAIRS] = first + known
    at, added, value = 0, True, nodes.value[node]
    nodes.value[node] = nodes.estimate[node]  # the value of new next nodes: the present one counts on the best action
    while added and at < model.actions and nodes.counts[PAIRS] < first + wanted:
        a = widening.order[at]
        if widening.mark[1 + a] != widening.mark[0] and abi.legal(model, nodes.states, node, a):
            added = add_pair(model, graph, b, parameters, work, node, a, widening.merged)
        at += 1
    nodes.value[node] = value
    if not added:
        return OUTCOME_BUFFER_FULL
    if nodes.counts[PAIRS] == first:
        abi.note_no_action(model, nodes.states, node)
    if abi.faulty(model):
        return FAULTY
    for pair in range(first + known, nodes.counts[PAIRS]):
        back_up_pair(graph, node, pair, parameters.gamma)
    nodes.pairs[node] = nodes.pairs[node] if known > 0 else 0
    nodes.first[node], nodes.listed[node] = first, nodes.counts[PAIRS] - first
    nodes.whole[node] = 1 if at == model.actions else 0
    return SEARCHED


@inlined
def copy_pair(graph: SearchGraph, source: int, target: int) -> None:
    """Copy a pair; its edges stay where they are."""
    graph.action[target], graph.tries[target] = graph.action[source], graph.tries[source]
    graph.q[target], graph.q_bonus[target] = graph.q[source], graph.q_bonus[source]
    graph.reward[target], graph.gain[target] = graph.reward[source], graph.gain[source]
    graph.first_edge[target], graph.edges[target] = graph.first_edge[source], graph.edges[source]


@inlined
def consider_more(graph: SearchGraph, node: int, count: int) -> None:
    """Let the node consider so many of its listed pairs: by turns the first in the model's list, and the best by Q̃."""
    nodes = graph.nodes
    first, last = nodes.first[node], nodes.first[node] + nodes.listed[node]
    while nodes.pairs[node] < min(count, nodes.listed[node]):
        at = first + nodes.pairs[node]
        chosen = next_considered(graph.action, graph.q, at, last, nodes.pairs[node] % 2 == 0)
        if chosen != at:
            exchange_pairs(graph, at, chosen)
        nodes.pairs[node] += 1


@inlined
def exchange_pairs(graph: SearchGraph, one: int, other: int) -> None:
    """Let two pairs change places."""
    spare = graph.nodes.counts[PAIRS]  # there is space: pairs are added only while there is more than enough
    copy_pair(graph, one, spare)
    copy_pair(graph, other, one)
    copy_pair(graph, spare, other)
