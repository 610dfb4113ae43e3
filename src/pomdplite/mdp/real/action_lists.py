"""Widening over actions (mdp/action_widening.py) in a search with drawn outcomes.

A node considers the first `pairs` of its `listed` pairs. Pairs move within their arrays; their children do not.
"""

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inner, kernel
from pomdplite.mdp.action_widening import ActionWidening, allowed, next_considered
from pomdplite.mdp.real.expansion import (
    FAULTY,
    SEARCHED,
    TREE_FULL,
    WideningParameters,
    WideningWork,
    add_action,
    has_room,
)
from pomdplite.mdp.real.frozen import FrozenBelief
from pomdplite.mdp.real.tree import NOT_EXPANDED, PAIRS, WideningTree, back_up_node, back_up_pair


@inner
def widen_actions(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, widening: ActionWidening,
) -> None:  # fmt: skip
    """Let an expanded node consider one more action if it was visited often enough."""
    exhausted = tree.pairs[node] == tree.listed[node]
    if (exhausted and tree.whole[node] == 1) or tree.pairs[node] >= allowed(widening, tree.visits[node]):
        return
    if exhausted:
        list_actions(model, frozen, tree, parameters, work, node, widening, 2 * tree.listed[node])
    consider_more(tree, node, tree.pairs[node] + 1)


@inner
def open_node(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, widening: ActionWidening, wanted: int,
) -> int:  # fmt: skip
    """Expand a node: list so many of its actions, and consider as many as its visits allow."""
    status = list_actions(model, frozen, tree, parameters, work, node, widening, wanted)
    if status == SEARCHED:
        consider_more(tree, node, allowed(widening, tree.visits[node]))
        tree.visits[node] += 1
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
    known = tree.listed[node] if tree.first[node] != NOT_EXPANDED else 0
    wanted = min(wanted, model.actions)
    if not has_room(model, tree, work, wanted):
        return TREE_FULL
    if known == 0:
        tree.estimate[node] = tree.value[node]
    first = tree.counts[PAIRS]
    widening.mark[0] += 1
    for i in range(known):
        copy_pair(tree, tree.first[node] + i, first + i)
        widening.mark[1 + tree.action[first + i]] = widening.mark[0]
    tree.counts[PAIRS] = first + known
    at, value = 0, tree.value[node]
    tree.value[node] = tree.estimate[node]  # the value of new next nodes: the present one counts on the best action
    while at < model.actions and tree.counts[PAIRS] < first + wanted:
        a = widening.order[at]
        if widening.mark[1 + a] != widening.mark[0] and abi.legal(model, tree.states, node, a):
            add_action(model, frozen, tree, parameters, work, node, a)
        at += 1
    tree.value[node] = value
    if tree.counts[PAIRS] == first:
        abi.note_no_action(model, tree.states, node)
    if abi.faulty(model):
        return FAULTY
    for pair in range(first + known, tree.counts[PAIRS]):
        back_up_pair(tree, node, pair, parameters.gamma, parameters.beta)
    tree.pairs[node] = tree.pairs[node] if known > 0 else 0
    tree.first[node], tree.listed[node] = first, tree.counts[PAIRS] - first
    tree.whole[node] = 1 if at == model.actions else 0
    return SEARCHED


@inner
def consider_more(tree: WideningTree, node: int, count: int) -> None:
    """Let the node consider so many of its listed pairs: by turns the first in the model's list, and the best by Q̃."""
    while tree.pairs[node] < min(count, tree.listed[node]):
        at = tree.first[node] + tree.pairs[node]
        last = tree.first[node] + tree.listed[node]
        chosen = next_considered(tree.action, tree.q, at, last, tree.pairs[node] % 2 == 0)
        if chosen != at:
            spare = tree.counts[PAIRS]  # there is space: pairs are added only while there is more than enough
            copy_pair(tree, at, spare)
            copy_pair(tree, chosen, at)
            copy_pair(tree, spare, chosen)
        tree.pairs[node] += 1


@inner
def copy_pair(tree: WideningTree, source: int, target: int) -> None:
    """Copy a pair; its children stay where they are."""
    tree.action[target], tree.tries[target] = tree.action[source], tree.tries[source]
    tree.q[target], tree.q_bonus[target] = tree.q[source], tree.q_bonus[source]
    tree.reward[target], tree.change[target] = tree.reward[source], tree.change[source]
    tree.compared[target], tree.drawn[target] = tree.compared[source], tree.drawn[source]
    tree.newest[target], tree.total[target] = tree.newest[source], tree.total[source]
