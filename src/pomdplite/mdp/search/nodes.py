"""The states that an online search has visited: what both searches know of them.

A node is a state s = (x, maps), and a pair is a legal action of an expanded node. What is known of pairs, and what they
lead to, is the business of each search (listed/graph.py, drawn/tree.py). Memory is allocated once and never grows: when
it is full the search continues without new nodes and reports it.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.mdp import memory
from pomdplite.mdp.hash_table import empty_table, first_slot, hash_row, next_slot, row_slot

NOT_EXPANDED = -1
END = 0  # the node that stands for all terminal states
ROOT = 1  # of a new search

# Indices into StateNodes.counts.
NODES, PAIRS, EDGES, SIMULATION = range(4)

# Indices into the tally of a decision: simulations, model steps, longest simulation, whether the search ran full, and
# how often a hidden value was compared with an outcome.
SIMULATIONS, STEPS, DEEPEST, RAN_FULL, COMPARISONS = range(5)

# Why a search returned, and what became of an expansion.
SEARCHED, NO_SPACE, OUTCOME_BUFFER_FULL, FAULTY = range(4)

_NODE_BYTES = 64  # without its state
_FEWEST_NODES = 1000


class StateNodes(NamedTuple):
    """Arrays of fixed size; `counts` says how much of them is in use."""

    counts: Ints  # [4] nodes, pairs, edges from pairs to nodes, and the number of the current simulation
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


def sizes_that_fit(model: KernelModel, nodes: int, pairs: int, pair_bytes: int, what: str) -> tuple[int, int]:
    """So many nodes and pairs; fewer in proportion where the limit on memory is too low for all of them."""
    node = 8 * model.s_words + _NODE_BYTES + pair_bytes * pairs / nodes
    fits = memory.capacity(nodes, node, what, fewest=min(nodes, _FEWEST_NODES))
    return fits, pairs * fits // nodes


def allocate_nodes(model: KernelModel, nodes: int) -> StateNodes:
    """Space for so many. The operating system maps memory only as it is used."""
    return StateNodes(
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
    )


@kernel
def clear(nodes: StateNodes, root: Words, merged: bool) -> None:
    """Remove everything, then add the state root[0] as node ROOT.

    merged: whether all nodes are in the hash table; if not, the root is. They are taken out one by one, since they are
    far fewer than the table has slots, as a rule.
    """
    for node in range(ROOT, nodes.counts[NODES] if merged else min(ROOT + 1, nodes.counts[NODES])):
        slot = first_slot(nodes.table, hash_row(nodes.states[node : node + 1], 0))
        while nodes.table[slot] != node:
            slot = next_slot(nodes.table, slot)
        nodes.table[slot] = -1
    nodes.counts[:] = 0
    nodes.counts[NODES] = ROOT
    nodes.value[END] = nodes.bonus[END] = 0.0
    nodes.pairs[END] = 0
    add_node(nodes, root, 0, True)


@inlined
def add_node(nodes: StateNodes, states: Words, i: int, merged: bool) -> int:
    """The node of states[i]: the existing one if states are merged and there is one, otherwise a new one."""
    slot = 0
    if merged:
        slot = row_slot(nodes.states, nodes.table, states, i)
        if nodes.table[slot] >= 0:
            return nodes.table[slot]
    node = nodes.counts[NODES]
    if merged:
        nodes.table[slot] = node
    for w in range(states.shape[1]):
        nodes.states[node, w] = states[i, w]
    nodes.first[node] = NOT_EXPANDED
    nodes.pairs[node] = 0
    nodes.visits[node] = 0
    nodes.stamp[node] = 0
    nodes.value[node] = 0.0
    nodes.bonus[node] = 0.0
    nodes.counts[NODES] = node + 1
    return node


@kernel
def find_node(nodes: StateNodes, s: Words) -> int:
    """The node of s[0], or -1 if the search has not visited it."""
    return nodes.table[row_slot(nodes.states, nodes.table, s, 0)]
