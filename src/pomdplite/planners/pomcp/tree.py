"""The tree T of POMCP: a node for each history h, a pair for each (h, a) with a legal action a.

A history is a node known by the pair that it continues and by what followed, (x, o). Nodes are found through a hash
table, so a pair needs no list of children. Arrays have a fixed size: when they are full, the search goes on without
new histories and says so.
"""

from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.mdp import memory
from pomdplite.mdp.hash_table import empty_table, row_slot

NODE_LIMIT = 1_000_000
PAIR_LIMIT = 12_000_000
_CROWDED = 0.5  # of the arrays in use: start a new tree at the next decision

# Indices into HistoryTree.counts. Those from SIMULATIONS on are counted for each decision.
NODES, PAIRS, SIMULATIONS, STEPS, DEEPEST, FULL, LOGGED = range(7)


class HistoryTree(NamedTuple):
    """Histories and their actions."""

    counts: Ints  # [7]
    table: Small  # hash table of nodes
    key: Words  # [node, x_words + 1] what the node is known by: x, then the pair and o in one word
    sought: Words  # [1, x_words + 1] space for the key of a history that is looked up
    visits: Ints  # [node] N(h)
    first: Ints  # [node] its first pair
    pairs: Small  # [node] how many pairs it has
    preferred: Small  # [node] how many of them have preferred actions; these come first
    action: Small  # [pair] a
    tries: Ints  # [pair] N(ha)
    value: Floats  # [pair] V(ha)


def allocate_tree(model: KernelModel, held: int) -> HistoryTree:
    """Space for a tree, beside so many bytes; the operating system commits memory as it is used.

    Where the limit on memory is too low for all of it, every array is shorter in proportion.
    """
    pairs = min(PAIR_LIMIT, NODE_LIMIT * model.actions)
    node = 8 * (model.x_words + 1) + 40 + 20 * pairs / NODE_LIMIT
    nodes = memory.capacity(NODE_LIMIT, node, "nodes of the search tree", held=held)
    pairs = max(int(pairs * (nodes / NODE_LIMIT)), 2 * model.actions)
    return HistoryTree(
        counts=np.zeros(7, np.int64),
        table=empty_table(2 * nodes),
        key=np.zeros((nodes, model.x_words + 1), np.uint64),
        sought=np.zeros((1, model.x_words + 1), np.uint64),
        visits=np.zeros(nodes, np.int64),
        first=np.zeros(nodes, np.int64),
        pairs=np.zeros(nodes, np.int32),
        preferred=np.zeros(nodes, np.int32),
        action=np.zeros(pairs, np.int32),
        tries=np.zeros(pairs, np.int64),
        value=np.zeros(pairs),
    )


def crowded(tree: HistoryTree) -> bool:
    """Whether so much space is in use that the next search had better start afresh."""
    return bool(
        tree.counts[NODES] > _CROWDED * len(tree.visits) or tree.counts[PAIRS] > _CROWDED * len(tree.value)
    )  # fmt: skip


def clear(tree: HistoryTree) -> None:
    """Remove all histories."""
    tree.table[:] = -1
    tree.counts[:] = 0


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
    for pair in range(tree.first[root], tree.first[root] + tree.pairs[root]):
        if tree.action[pair] == a:
            return find_history(tree, pair, x, o)
    return -1


@inlined
def list_actions(model: KernelModel, tree: HistoryTree, node: int, x: Words, preferred: Floats) -> None:
    """Give a new node its legal actions, the preferred ones first, with N(ha) = 0 and V(ha) = 0."""
    first = tree.counts[PAIRS]
    tree.first[node] = first
    for turn in range(2):
        for a in range(model.actions):
            if (preferred[a] > 0.0) == (turn == 0) and abi.legal(model, x, 0, a):
                tree.action[first], tree.tries[first], tree.value[first] = a, 0, 0.0
                first += 1
        if turn == 0:
            tree.preferred[node] = first - tree.first[node]
    tree.pairs[node] = first - tree.first[node]
    tree.counts[PAIRS] = first
    if tree.pairs[node] == 0:
        abi.note_no_action(model, x, 0)


@inlined
def add_history(model: KernelModel, tree: HistoryTree, pair: int, x: Words, o: int, preferred: Floats) -> int:
    """A node for the history that continues `pair` with (x[0], o), which is not in the tree; -1 if there is no space.

    `preferred` says which actions the model prefers there.
    """
    node = tree.counts[NODES]
    if node + 1 >= tree.visits.shape[0] or tree.counts[PAIRS] + model.actions >= tree.value.shape[0]:
        tree.counts[FULL] = 1
        return -1
    tree.table[history_slot(tree, pair, x, o)] = node
    for w in range(tree.key.shape[1]):
        tree.key[node, w] = tree.sought[0, w]
    tree.visits[node] = 0
    list_actions(model, tree, node, x, preferred)
    tree.counts[NODES] = node + 1
    return node


@kernel
def add_root(model: KernelModel, tree: HistoryTree, x: Words, memory: Words, preferred: Floats) -> int:
    """The first node of an empty tree: the present history, in state x[0] and with memory[0]."""
    abi.preferred(model, x, 0, memory, 0, preferred)
    return add_history(model, tree, -1, x, -1, preferred)
