"""Progressive widening over actions (Couëtoux et al. 2011): a search of many actions considers few of them at first.

A node that was visited n times considers ⌈k (n + 1)^α⌉ of its actions, so it considers all of them in the end. Which
ones come first matters (PA-POMCPOW, Mern et al. 2021). Half of them are those with the best value of one step,

    R(b, s, a) + RB(b, s, a) + γ Σ_s' P(s' | b, s, a) Ṽ(s'),

where the value of a new s' is the model's heuristic or the node's own. The other half are the first ones of the model's
list, because one step may say nothing, or mislead; ranges are listed from coarse to fine (model/actions.py).

The root computes the value of one step for all of its actions, once per decision. Elsewhere that would be most of the
work: a node lists ⌈k⌉ actions when it is expanded, and twice as many whenever all of them are considered, in one order
for all nodes, by turns the best in the root and the first in the model's list. Measured in docs/decisions/0017.
"""

import math
from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, inlined, inner, kernel
from pomdplite.mdp.expansion import (
    FAULTY,
    GRAPH_FULL,
    OUTCOME_BUFFER_FULL,
    RAN_FULL,
    SEARCHED,
    SearchParameters,
    SearchWorkspace,
    add_pair,
)
from pomdplite.mdp.search_graph import NOT_EXPANDED, PAIRS, SearchGraph, back_up_pair, has_space

MANY = 32  # widen if there are more actions than this
K, ALPHA = 8.0, 0.5


class ActionWidening(NamedTuple):
    """What decides which actions a node considers."""

    k: float
    alpha: float
    merged: bool  # whether equal states share a node
    order: Small  # [action] the order in which nodes list actions
    mark: Ints  # [1 + action] a counter, then its value at the time when each action was last found to be listed


@inlined
def allowed(widening: ActionWidening, visits: int) -> int:
    """The number of actions that a node considers after this many visits."""
    return int(np.ceil(widening.k * (visits + 1.0) ** widening.alpha))


@inner
def widen(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    widening: ActionWidening,
) -> int:  # fmt: skip
    """Let an expanded node consider one more action if it was visited often enough."""
    exhausted = graph.pairs[node] == graph.listed[node]
    if (exhausted and graph.whole[node] == 1) or graph.pairs[node] >= allowed(widening, graph.visits[node]):
        return SEARCHED
    if exhausted:
        status = list_actions(model, graph, b, parameters, work, node, widening, 2 * graph.listed[node])
        if status != SEARCHED:
            return status
    consider_more(graph, node, graph.pairs[node] + 1)
    return SEARCHED


@inner
def open_node(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    widening: ActionWidening, wanted: int,
) -> int:  # fmt: skip
    """List this many of the node's actions, and consider as many as its visits allow."""
    status = list_actions(model, graph, b, parameters, work, node, widening, wanted)
    if status == SEARCHED:
        consider_more(graph, node, allowed(widening, graph.visits[node]))
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
    known = graph.listed[node] if graph.first[node] != NOT_EXPANDED else 0
    if known == 0:
        graph.estimate[node] = graph.value[node]
    wanted = min(wanted, model.actions)
    if not has_space(graph, work.out, wanted):
        work.tally[RAN_FULL] = 1
        return GRAPH_FULL
    first = graph.counts[PAIRS]
    widening.mark[0] += 1
    for i in range(known):
        copy_pair(graph, graph.first[node] + i, first + i)
        widening.mark[1 + graph.action[first + i]] = widening.mark[0]
    graph.counts[PAIRS] = first + known
    at, added, value = 0, True, graph.value[node]
    graph.value[node] = graph.estimate[node]  # the value of new next nodes: the present one counts on the best action
    while added and at < model.actions and graph.counts[PAIRS] < first + wanted:
        a = widening.order[at]
        if widening.mark[1 + a] != widening.mark[0] and abi.legal(model, graph.states, node, a):
            added = add_pair(model, graph, b, parameters, work, node, a, widening.merged)
        at += 1
    graph.value[node] = value
    if not added:
        return OUTCOME_BUFFER_FULL
    if graph.counts[PAIRS] == first:
        abi.note_no_action(model, graph.states, node)
    if abi.faulty(model):
        return FAULTY
    for pair in range(first + known, graph.counts[PAIRS]):
        back_up_pair(graph, node, pair, parameters.gamma)
    graph.pairs[node] = graph.pairs[node] if known > 0 else 0
    graph.first[node], graph.listed[node] = first, graph.counts[PAIRS] - first
    graph.whole[node] = 1 if at == model.actions else 0
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
    first, last = graph.first[node], graph.first[node] + graph.listed[node]
    while graph.pairs[node] < min(count, graph.listed[node]):
        at = first + graph.pairs[node]
        chosen = next_considered(graph.action, graph.q, at, last, graph.pairs[node] % 2 == 0)
        if chosen != at:
            exchange_pairs(graph, at, chosen)
        graph.pairs[node] += 1


@inlined
def next_considered(action: Small, q: Floats, first: int, last: int, by_number: bool) -> int:
    """Of the pairs from `first` to before `last`, the first in the model's list, or the best by Q̃."""
    chosen = first
    for pair in range(first + 1, last):
        if action[pair] < action[chosen] if by_number else q[pair] > q[chosen]:
            chosen = pair
    return chosen


@inlined
def exchange_pairs(graph: SearchGraph, one: int, other: int) -> None:
    """Let two pairs change places."""
    spare = graph.counts[PAIRS]  # there is space: pairs are added only while there is more than enough
    copy_pair(graph, one, spare)
    copy_pair(graph, other, one)
    copy_pair(graph, spare, other)


def listed_at_first(actions: int) -> int:
    """How many of so many actions a node lists when it is expanded."""
    return actions if actions <= MANY else math.ceil(K)


def allocate_widening(model: KernelModel, *, merged: bool) -> ActionWidening:
    """Widening with the actions in the order of the model's list."""
    return ActionWidening(
        K, ALPHA, merged, np.arange(model.actions, dtype=np.int32), np.zeros(1 + model.actions, np.int64)
    )


def set_order(widening: ActionWidening, actions: Small, q: Floats) -> None:
    """List actions from now on by turns by these values, of all legal actions of the root, and as the model does."""
    ranked = actions[np.argsort(-q, kind="stable")]
    listed = np.arange(len(widening.order))
    illegal = np.setdiff1d(listed, ranked)
    both = np.stack([np.concatenate([ranked, illegal]), listed], axis=1).ravel()
    _, place = np.unique(both, return_index=True)
    widening.order[:] = both[np.sort(place)]
