"""The tree T of POMCP: a node for each history h, a pair for each (h, a) with a legal action a.

A history is a node (monte_carlo/nodes.py) known by the pair that it continues and by what followed, (x, o). Nodes are
found through a hash table, so a pair needs no list of children.
"""

from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Small, Words, inlined, kernel
from pomdplite.mdp import memory
from pomdplite.mdp.hash_table import empty_table, row_slot
from pomdplite.planners.monte_carlo.nodes import (
    NODE_BYTES,
    NODE_LIMIT,
    NODES,
    PAIR_BYTES,
    PAIR_LIMIT,
    PAIRS,
    SearchNodes,
    add_node,
    allocate_nodes,
    list_actions,
)

_CROWDED = 0.5  # of the arrays in use: start a new tree at the next decision


class HistoryTree(NamedTuple):
    """Histories and their actions."""

    nodes: SearchNodes
    table: Small  # hash table of nodes
    key: Words  # [node, x_words + 1] what the node is known by: x, then the pair and o in one word
    sought: Words  # [1, x_words + 1] space for the key of a history that is looked up


def allocate_tree(model: KernelModel, held: int) -> HistoryTree:
    """Space for a tree, beside so many bytes; the operating system commits memory as it is used.

    Where the limit on memory is too low for all of it, every array is shorter in proportion.
    """
    pairs = min(PAIR_LIMIT, NODE_LIMIT * model.actions)
    node = 8 * (model.x_words + 1) + 16 + NODE_BYTES + PAIR_BYTES * pairs / NODE_LIMIT
    nodes = memory.capacity(NODE_LIMIT, node, "nodes of the search tree", held=held)
    pairs = max(int(pairs * (nodes / NODE_LIMIT)), 2 * model.actions)
    return HistoryTree(
        nodes=allocate_nodes(nodes, pairs),
        table=empty_table(2 * nodes),
        key=np.zeros((nodes, model.x_words + 1), np.uint64),
        sought=np.zeros((1, model.x_words + 1), np.uint64),
    )


def crowded(tree: HistoryTree) -> bool:
    """Whether so much space is in use that the next search had better start afresh."""
    counts = tree.nodes.counts
    return bool(
        counts[NODES] > _CROWDED * len(tree.nodes.visits) or counts[PAIRS] > _CROWDED * len(tree.nodes.value)
    )  # fmt: skip


def clear(tree: HistoryTree) -> None:
    """Remove all histories."""
    tree.table[:] = -1
    tree.nodes.counts[:] = 0


@inlined
def history_slot(tree: HistoryTree, pair: int, x: Words, o: int) -> Any:
    """The slot in the table of the history that continues `pair` with (x[0], o), or where it belongs."""
    last = x.shape[1]
    for w in range(last):
        tree.sought[0, w] = x[0, w]
    tree.sought[0, last] = (np.uint64(pair + 1) << np.uint64(32)) | np.uint64(o + 1)
    return row_slot(tree.key, tree.table, tree.sought, 0)


@inlined
def find_history(tree: HistoryTree, pair: int, x: Words, o: int) -> int:
    """The node of the history that continues `pair` with (x[0], o), -1 if it is not in the tree."""
    return tree.table[history_slot(tree, pair, x, o)]


@kernel
def follow(tree: HistoryTree, root: int, a: int, x: Words, o: int) -> int:
    """The node reached from `root` by the action taken and what followed, -1 if it is not in the tree."""
    nodes = tree.nodes
    for pair in range(nodes.first[root], nodes.first[root] + nodes.pairs[root]):
        if nodes.action[pair] == a:
            return find_history(tree, pair, x, o)
    return -1


@inlined
def add_history(model: KernelModel, tree: HistoryTree, pair: int, x: Words, o: int, preferred: Floats) -> int:
    """A node for the history that continues `pair` with (x[0], o), which is not in the tree; -1 if there is no space.

    `preferred` says which actions the model prefers there.
    """
    node = add_node(model, tree.nodes)
    if node >= 0:
        list_actions(model, tree.nodes, node, x, preferred)
        tree.table[history_slot(tree, pair, x, o)] = node
        for w in range(tree.key.shape[1]):
            tree.key[node, w] = tree.sought[0, w]
    return node


@kernel
def add_root(model: KernelModel, tree: HistoryTree, x: Words, memory: Words, preferred: Floats) -> int:
    """The first node of an empty tree: the present history, in state x[0] and with memory[0]."""
    abi.preferred(model, x, 0, memory, 0, preferred)
    return add_history(model, tree, -1, x, -1, preferred)
