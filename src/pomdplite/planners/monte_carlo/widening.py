"""Double progressive widening (Couëtoux et al. 2011): which actions and which outcomes of an action are in the tree.

x is observed, so what follows an action is an outcome (y, z) with the next state and the observation or reading. A pair
(h, a) with N tries keeps up to k N^α + 1 outcomes C(ha). One that is drawn again is the same node, and M(hao) says how
often it was drawn; once there are enough, outcomes are drawn from C(ha) in proportion to that. So if few outcomes are
possible all of them are kept, with their true frequencies, and readings are each met once.

Likewise a node with N visits considers k N^α + 1 of its actions, preferred ones first, in the order of the model.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Ints, Small, Words, inlined
from pomdplite.planners.monte_carlo.leaves import LeafValues
from pomdplite.planners.monte_carlo.nodes import (
    NODE_BYTES,
    PAIR_BYTES,
    SearchNodes,
    add_node,
    allocate_nodes,
    list_actions,
    ucb1_pair,
)
from pomdplite.planners.monte_carlo.simulation import Simulation
from pomdplite.rng import uniform

OUTCOME_BYTES, OUTCOME_PAIR_BYTES = NODE_BYTES + 16, PAIR_BYTES + 16  # of a node without its outcome, and of a pair


class WideningSettings(NamedTuple):
    """The constants of a search with progressive widening."""

    c: float  # of the UCB1 rule
    gamma: float
    search_depth: int  # steps of a simulation
    k_action: float
    alpha_action: float
    k_observation: float
    alpha_observation: float
    leaves: LeafValues


class OutcomeTree(NamedTuple):
    """Histories, their actions, and the outcomes of these."""

    nodes: SearchNodes
    outcome: Words  # [node, x_words + z_words] y, with the reading behind it
    o: Small  # [node] the observation
    times: Ints  # [node] M(hao), how often the outcome was drawn
    sibling: Small  # [node] the next outcome of the same pair, -1 if it is the last
    child: Small  # [pair] its first outcome, -1 if there is none
    children: Small  # [pair] |C(ha)|
    drawn: Ints  # [pair] Σ_o M(hao)


def allocate_outcome_tree(model: KernelModel, nodes: int, pairs: int) -> OutcomeTree:
    """Space for so many nodes and pairs."""
    return OutcomeTree(
        nodes=allocate_nodes(nodes, pairs),
        outcome=np.zeros((nodes, model.x_words + model.z_words), np.uint64),
        o=np.zeros(nodes, np.int32),
        times=np.zeros(nodes, np.int64),
        sibling=np.zeros(nodes, np.int32),
        child=np.zeros(pairs, np.int32),
        children=np.zeros(pairs, np.int32),
        drawn=np.zeros(pairs, np.int64),
    )


@inlined
def open_node(model: KernelModel, tree: OutcomeTree, node: int, simulation: Simulation) -> None:
    """Give the last node, which the simulation has reached, its actions."""
    abi.preferred(model, simulation.x, 0, simulation.memory, 1, simulation.preferred)
    list_actions(model, tree.nodes, node, simulation.x, simulation.preferred)
    for pair in range(tree.nodes.first[node], tree.nodes.first[node] + tree.nodes.pairs[node]):
        tree.child[pair], tree.children[pair], tree.drawn[pair] = -1, 0, 0


@inlined
def choose_pair(tree: OutcomeTree, node: int, settings: WideningSettings, random: Words) -> int:
    """ActionProgWiden(h)."""
    most = settings.k_action * float(tree.nodes.visits[node]) ** settings.alpha_action
    return ucb1_pair(tree.nodes, node, settings.c, most, random)


@inlined
def widens(tree: OutcomeTree, pair: int, settings: WideningSettings) -> bool:
    """Whether the next outcome is a new draw: |C(ha)| ≤ k_o N(ha)^α_o."""
    tries = float(tree.nodes.tries[pair])
    return tree.children[pair] <= settings.k_observation * tries**settings.alpha_observation


@inlined
def find_outcome(tree: OutcomeTree, pair: int, y: Words, i: int, o: int) -> int:
    """The node in C(ha) with y[i], its reading, and o; -1 if there is none."""
    node = int(tree.child[pair])
    while node >= 0:
        same = tree.o[node] == o
        for w in range(tree.outcome.shape[1]):
            if tree.outcome[node, w] != y[i, w]:
                same = False
        if same:
            return node
        node = int(tree.sibling[node])
    return -1


@inlined
def add_outcome(model: KernelModel, tree: OutcomeTree, pair: int, y: Words, i: int, o: int) -> int:
    """C(ha) ← C(ha) ∪ {(y[i], o)}: its node, still without actions; -1 if there is no space."""
    node = add_node(model, tree.nodes)
    if node >= 0:
        for w in range(tree.outcome.shape[1]):
            tree.outcome[node, w] = y[i, w]
        tree.o[node], tree.times[node], tree.sibling[node] = o, 0, tree.child[pair]
        tree.child[pair] = node
        tree.children[pair] += 1
    return node


@inlined
def draw_outcome(tree: OutcomeTree, pair: int, random: Words) -> int:
    """The node of an outcome in C(ha), with probability M(hao) / Σ_o M(hao)."""
    node = int(tree.child[pair])
    left = uniform(random) * tree.drawn[pair] - tree.times[node]
    while left >= 0.0 and tree.sibling[node] >= 0:
        node = int(tree.sibling[node])
        left -= tree.times[node]
    return node


@inlined
def count_outcome(tree: OutcomeTree, pair: int, node: int) -> None:
    """M(hao) ← M(hao) + 1."""
    tree.times[node] += 1
    tree.drawn[pair] += 1
