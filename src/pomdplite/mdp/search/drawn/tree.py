"""The tree of a search with drawn outcomes: the actions of its nodes (nodes.py), and where they lead.

A child is an edge from a pair to a next node, with the weight that it has among the pair's children. Children are added
one by one as a search draws them, so they form a list. Equal states share a node.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Small, inner, kernel
from pomdplite.mdp.bellman import forever
from pomdplite.mdp.search.nodes import EDGES, NODES, PAIRS, StateNodes, allocate_nodes, sizes_that_fit

NO_CHILD = -1
_PAIR_BYTES = 96  # with a child


class WideningTree(NamedTuple):
    """Nodes, pairs and children; there may be as many children as pairs."""

    nodes: StateNodes
    action: Small  # [pair]
    tries: Small  # [pair]
    q: Floats  # [pair] Q̃
    q_bonus: Floats  # [pair] the part of it that bonuses contribute
    reward: Floats  # [pair] mean reward of the step
    change: Floats  # [pair] mean of ‖b_e − b‖₁ over the outcomes e that were compared with b
    compared: Small  # [pair] how many
    drawn: Small  # [pair] how many outcomes were drawn as children; 0 if they are listed
    newest: Small  # [pair] its last child, or NO_CHILD
    total: Floats  # [pair] sum of the weights of its children
    next: Small  # [child] the node
    weight: Floats  # [child] its probability, or how often it was drawn
    chosen: Small  # [child] how many simulations went this way
    older: Small  # [child] the child of the pair before it, or NO_CHILD


def allocate_tree(model: KernelModel, nodes: int, pairs: int) -> WideningTree:
    """An empty tree for up to this many nodes, pairs, and children, or for as many as fit into the memory."""
    nodes, pairs = sizes_that_fit(model, nodes, pairs, _PAIR_BYTES, "nodes of the search tree")
    return WideningTree(
        nodes=allocate_nodes(model, nodes),
        action=np.zeros(pairs, np.int32),
        tries=np.zeros(pairs, np.int32),
        q=np.zeros(pairs),
        q_bonus=np.zeros(pairs),
        reward=np.zeros(pairs),
        change=np.zeros(pairs),
        compared=np.zeros(pairs, np.int32),
        drawn=np.zeros(pairs, np.int32),
        newest=np.zeros(pairs, np.int32),
        total=np.zeros(pairs),
        next=np.zeros(pairs, np.int32),
        weight=np.zeros(pairs),
        chosen=np.zeros(pairs, np.int32),
        older=np.zeros(pairs, np.int32),
    )


@inner
def add_pair(tree: WideningTree, a: int, reward: float) -> int:
    """A new pair without children."""
    pair = tree.nodes.counts[PAIRS]
    tree.action[pair], tree.tries[pair], tree.q[pair], tree.q_bonus[pair] = a, 0, 0.0, 0.0
    tree.reward[pair], tree.change[pair], tree.compared[pair], tree.drawn[pair] = reward, 0.0, 0, 0
    tree.newest[pair], tree.total[pair] = NO_CHILD, 0.0
    tree.nodes.counts[PAIRS] = pair + 1
    return pair


@inner
def add_child(tree: WideningTree, pair: int, node: int, weight: float) -> int:
    """Let the pair lead to a node with so much more weight: its child for that node, if there is none a new one."""
    tree.total[pair] += weight
    child = tree.newest[pair]
    while child != NO_CHILD:
        if tree.next[child] == node:
            tree.weight[child] += weight
            return child
        child = tree.older[child]
    child = tree.nodes.counts[EDGES]
    tree.next[child], tree.weight[child], tree.chosen[child] = node, weight, 0
    tree.older[child] = tree.newest[pair]
    tree.newest[pair] = child
    tree.nodes.counts[EDGES] = child + 1
    return child


@inner
def has_space(tree: WideningTree, pairs: int, children: int) -> bool:
    """Whether so many pairs and children, each with a new node, can be added."""
    return (
        tree.nodes.counts[NODES] + children < tree.nodes.states.shape[0]
        and tree.nodes.counts[PAIRS] + pairs < tree.q.shape[0]
        and tree.nodes.counts[EDGES] + children < tree.next.shape[0]
    )


@inner
def back_up_node(tree: WideningTree, node: int, gamma: float, beta: float) -> None:
    """Ṽ(s) = max_a Q̃(s, a), Equation 2. Every Q̃ is recomputed: next states may have changed since its last try."""
    best, at = -np.inf, tree.nodes.first[node]
    for pair in range(tree.nodes.first[node], tree.nodes.first[node] + tree.nodes.pairs[node]):
        back_up_pair(tree, node, pair, gamma, beta)
        if tree.q[pair] > best:
            best, at = tree.q[pair], pair
    tree.nodes.value[node] = best
    tree.nodes.bonus[node] = tree.q_bonus[at]


@inner
def back_up_pair(tree: WideningTree, node: int, pair: int, gamma: float, beta: float) -> None:
    """Q̃(s, a) = R̃ + γ Σ_s' P(s' | b, s, a) Ṽ(s') over the children, and its bonus part.

    An action that may lead back to its own state gets the value of repeating it until it leaves, as in listed/graph.py.
    """
    bonus, loop = beta * tree.change[pair], 0.0
    q = tree.reward[pair] + bonus
    scale = gamma / tree.total[pair]
    child = tree.newest[pair]
    while child != NO_CHILD:
        to = tree.next[child]
        if to == node:
            loop += scale * tree.weight[child]
        else:
            q += scale * tree.weight[child] * tree.nodes.value[to]
            bonus += scale * tree.weight[child] * tree.nodes.bonus[to]
        child = tree.older[child]
    if loop > 0.0:
        if loop < 1.0:
            q /= 1.0 - loop
            bonus /= 1.0 - loop
        else:
            q = forever(q, gamma)
            bonus = forever(bonus, gamma)
    tree.q[pair] = q
    tree.q_bonus[pair] = bonus


@kernel
def one_step_values(tree: WideningTree, node: int, gamma: float, beta: float) -> None:
    """Q̃ of taking each action of a node once, also of those that lead back to it."""
    for pair in range(tree.nodes.first[node], tree.nodes.first[node] + tree.nodes.pairs[node]):
        bonus, later, later_bonus = beta * tree.change[pair], 0.0, 0.0
        child = tree.newest[pair]
        while child != NO_CHILD:
            later += tree.weight[child] * tree.nodes.value[tree.next[child]]
            later_bonus += tree.weight[child] * tree.nodes.bonus[tree.next[child]]
            child = tree.older[child]
        tree.q[pair] = tree.reward[pair] + bonus + gamma * later / tree.total[pair]
        tree.q_bonus[pair] = bonus + gamma * later_bonus / tree.total[pair]


def children_of(tree: WideningTree, pair: int) -> tuple[Small, Floats]:
    """The nodes that a pair leads to, as far as they were drawn, and their weights; those drawn first come first."""
    found, child = list[int](), int(tree.newest[pair])
    while child != NO_CHILD:
        found.append(child)
        child = int(tree.older[child])
    return tree.next[found[::-1]], tree.weight[found[::-1]]
