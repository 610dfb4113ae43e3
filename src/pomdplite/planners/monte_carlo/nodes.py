"""The nodes of a search tree and the actions of each: N(h), N(ha), Q(ha), and the UCB1 rule.

A node is a history h, and a pair is (h, a) with a legal action a. What a node is known by is the business of each tree.
Arrays have a fixed size: when they are full, the search goes on without new nodes and says so.

With progressive widening (Couëtoux et al. 2011) a node with N visits considers its first k N^α + 1 actions: preferred
ones first, in the order of the model.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined
from pomdplite.planners.monte_carlo.simulation import Simulation
from pomdplite.rng import uniform

NODE_LIMIT = 1_000_000
PAIR_LIMIT = 12_000_000
PAIR_BYTES = 20
NODE_BYTES = 24
PREFERRED_TRIES = 10  # of each preferred action before the others are considered

# Indices into SearchNodes.counts. Those from SIMULATIONS on are counted for each decision.
NODES, PAIRS, SIMULATIONS, STEPS, DEEPEST, FULL, LOGGED = range(7)


class SearchNodes(NamedTuple):
    """Nodes and pairs."""

    counts: Ints  # [7]
    visits: Ints  # [node] N(h)
    first: Ints  # [node] its first pair
    pairs: Small  # [node] how many pairs it has
    preferred: Small  # [node] how many of them have preferred actions; these come first
    action: Small  # [pair] a
    tries: Ints  # [pair] N(ha)
    value: Floats  # [pair] Q(ha)


def allocate_nodes(nodes: int, pairs: int) -> SearchNodes:
    """Space for so many nodes and pairs; the operating system commits memory as it is used."""
    return SearchNodes(
        counts=np.zeros(7, np.int64),
        visits=np.zeros(nodes, np.int64),
        first=np.zeros(nodes, np.int64),
        pairs=np.zeros(nodes, np.int32),
        preferred=np.zeros(nodes, np.int32),
        action=np.zeros(pairs, np.int32),
        tries=np.zeros(pairs, np.int64),
        value=np.zeros(pairs),
    )


@inlined
def add_node(model: KernelModel, nodes: SearchNodes) -> int:
    """A node without actions; -1 if there is no space for it and its actions."""
    node = nodes.counts[NODES]
    if node + 1 >= nodes.visits.shape[0] or nodes.counts[PAIRS] + model.actions >= nodes.value.shape[0]:
        nodes.counts[FULL] = 1
        return -1
    nodes.visits[node], nodes.first[node], nodes.pairs[node], nodes.preferred[node] = 0, nodes.counts[PAIRS], 0, 0
    nodes.counts[NODES] = node + 1
    return node


@inlined
def list_actions(model: KernelModel, nodes: SearchNodes, node: int, x: Words, preferred: Floats) -> None:
    """Give the last node its legal actions, the preferred ones first, with N(ha) = 0 and Q(ha) = 0."""
    first = nodes.counts[PAIRS]
    for turn in range(2):
        for a in range(model.actions):
            if (preferred[a] > 0.0) == (turn == 0) and abi.legal(model, x, 0, a):
                nodes.action[first], nodes.tries[first], nodes.value[first] = a, 0, 0.0
                first += 1
        if turn == 0:
            nodes.preferred[node] = first - nodes.first[node]
    nodes.pairs[node] = first - nodes.first[node]
    nodes.counts[PAIRS] = first
    if nodes.pairs[node] == 0:
        abi.note_no_action(model, x, 0)


@inlined
def ucb1_pair(nodes: SearchNodes, node: int, c: float, most: float, random: Words) -> int:
    """argmax_b Q(hb) + c √(log N(h) / N(hb)): untried actions come first, and ties are broken at random.

    Of the node's actions, about `most` are considered, at least one.
    """
    log = np.log(nodes.visits[node] + 1.0)
    best, chosen, ties = -np.inf, -1, 0
    few = nodes.visits[node] < PREFERRED_TRIES * nodes.preferred[node]
    count = nodes.preferred[node] if few else nodes.pairs[node]
    if most < count:
        count = int(most) + 1
    for pair in range(nodes.first[node], nodes.first[node] + count):
        score = np.inf if nodes.tries[pair] == 0 else nodes.value[pair] + c * np.sqrt(log / nodes.tries[pair])
        if score > best:
            best, chosen, ties = score, pair, 1
        elif score == best:
            ties += 1
            if uniform(random) * ties < 1.0:
                chosen = pair
    return chosen


@inlined
def back_up(
    nodes: SearchNodes, simulation: Simulation, depth: int, in_tree: int, gamma: float, total: float
) -> None:  # fmt: skip
    """N(h), N(ha) and Q(ha) along the part of the path that is in the tree, from the last step to the first.

    total: the value of where the simulation has ended.
    """
    for d in range(depth - 1, -1, -1):
        total = simulation.reward[d] + gamma * total
        if d < in_tree:
            node, pair = simulation.path[d, 0], simulation.path[d, 1]
            nodes.visits[node] += 1
            nodes.tries[pair] += 1
            nodes.value[pair] += (total - nodes.value[pair]) / nodes.tries[pair]
    nodes.counts[STEPS] += depth
    nodes.counts[DEEPEST] = max(nodes.counts[DEEPEST], in_tree)
