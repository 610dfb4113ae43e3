"""Widening over actions (action_widening.py) in a search with drawn outcomes.

A node considers the first `pairs` of its `listed` pairs. Pairs move within their arrays; their children do not.
"""

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inner, kernel
from pomdplite.mdp.real.frozen import FrozenBelief
from pomdplite.mdp.search.action_widening import ActionWidening, allowed, next_considered
from pomdplite.mdp.search.drawn.expansion import WideningParameters, WideningWork, add_action, has_room
from pomdplite.mdp.search.drawn.tree import WideningTree, back_up_node, back_up_pair
from pomdplite.mdp.search.nodes import FAULTY, NO_SPACE, NOT_EXPANDED, PAIRS, SEARCHED


@inner
def widen_actions(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, widening: ActionWidening,
) -> None:  # fmt: skip
    """Let an expanded node consider one more action if it was visited often enough."""
    nodes = tree.nodes
    exhausted = nodes.pairs[node] == nodes.listed[node]
    if (exhausted and nodes.whole[node] == 1) or nodes.pairs[node] >= allowed(widening, nodes.visits[node]):
        return
    if exhausted:
        list_actions(model, frozen, tree, parameters, work, node, widening, 2 * nodes.listed[node])
    consider_more(tree, node, nodes.pairs[node] + 1)


@inner
def open_node(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, widening: ActionWidening, wanted: int,
) -> int:  # fmt: skip
    """Expand a node: list so many of its actions, and consider as many as its visits allow."""
    status = list_actions(model, frozen, tree, parameters, work, node, widening, wanted)
    if status == SEARCHED:
        consider_more(tree, node, allowed(widening, tree.nodes.visits[node]))
        tree.nodes.visits[node] += 1
        back_up_node(tree, node, parameters.gamma, parameters.beta)
    return status


@kernel
def open_root(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, widening: ActionWidening,
) -> int:  # fmt: skip
    """List all actions of the node that a search begins with."""
    return open_node(model, frozen, tree, parameters, work, node, widening, model.actions)


@inner
def list_actions(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, widening: ActionWidening, wanted: int,
) -> int:  # fmt: skip
    """List actions until the node has as many as wanted, or all that are legal. Its pairs move behind all others."""
    nodes = tree.nodes
    known = nodes.listed[node] if nodes.first[node] != NOT_EXPANDED else 0
    wanted = min(wanted, model.actions)
    if not has_room(model, frozen, tree, work, wanted):
        return NO_SPACE
    if known == 0:
        nodes.estimate[node] = nodes.value[node]
    first = nodes.counts[PAIRS]
    widening.mark[0] += 1
    for i in range(known):
        copy_pair(tree, nodes.first[node] + i, first + i)
        widening.mark[1 + tree.action[first + i]] = widening.mark[0]
    nodes.counts[PAIRS] = first + known
    at, value = 0, nodes.value[node]
    nodes.value[node] = nodes.estimate[node]  # the value of new next nodes: the present one counts on the best action
    while at < model.actions and nodes.counts[PAIRS] < first + wanted:
        a = widening.order[at]
        if widening.mark[1 + a] != widening.mark[0] and abi.legal(model, nodes.states, node, a):
            add_action(model, frozen, tree, parameters, work, node, a)
        at += 1
    nodes.value[node] = value
    if nodes.counts[PAIRS] == first:
        abi.note_no_action(model, nodes.states, node)
    if abi.faulty(model):
        return FAULTY
    for pair in range(first + known, nodes.counts[PAIRS]):
        back_up_pair(tree, node, pair, parameters.gamma, parameters.beta)
    nodes.pairs[node] = nodes.pairs[node] if known > 0 else 0
    nodes.first[node], nodes.listed[node] = first, nodes.counts[PAIRS] - first
    nodes.whole[node] = 1 if at == model.actions else 0
    return SEARCHED


@inner
def consider_more(tree: WideningTree, node: int, count: int) -> None:
    """Let the node consider so many of its listed pairs: by turns the first in the model's list, and the best by Q̃."""
    nodes = tree.nodes
    while nodes.pairs[node] < min(count, nodes.listed[node]):
        at = nodes.first[node] + nodes.pairs[node]
        last = nodes.first[node] + nodes.listed[node]
        chosen = next_considered(tree.action, tree.q, at, last, nodes.pairs[node] % 2 == 0)
        if chosen != at:
            spare = nodes.counts[PAIRS]  # there is space: pairs are added only while there is more than enough
            copy_pair(tree, at, spare)
            copy_pair(tree, chosen, at)
            copy_pair(tree, spare, chosen)
        nodes.pairs[node] += 1


@inner
def copy_pair(tree: WideningTree, source: int, target: int) -> None:
    """Copy a pair; its children stay where they are."""
    tree.action[target], tree.tries[target] = tree.action[source], tree.tries[source]
    tree.q[target], tree.q_bonus[target] = tree.q[source], tree.q_bonus[source]
    tree.reward[target], tree.change[target] = tree.reward[source], tree.change[source]
    tree.compared[target], tree.drawn[target] = tree.compared[source], tree.drawn[source]
    tree.newest[target], tree.total[target] = tree.newest[source], tree.total[source]
