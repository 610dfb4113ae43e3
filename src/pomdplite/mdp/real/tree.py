"""The states that a search with drawn outcomes has visited, and what it knows about their actions.

A node is a state s = (x, maps), a pair is a legal action of an expanded node, and a child is an edge from a pair to a
next node, with the weight that it has among the pair's children. Children are added one by one as a search draws them,
so they form a list. Equal states share a node. Memory is allocated once: when it is full, the search continues
without new nodes and reports it.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inner, kernel
from pomdplite.mdp import memory
from pomdplite.mdp.bellman import forever
from pomdplite.mdp.hash_table import empty_table, first_slot, hash_row, next_slot, row_slot

NOT_EXPANDED = -1
NO_CHILD = -1
END = 0  # the node that stands for all terminal states

# Indices into WideningTree.counts.
NODES, PAIRS, CHILDREN, SIMULATION = range(4)

_FEWEST_NODES = 1000


class WideningTree(NamedTuple):
    """Arrays of fixed size; `counts` says how much of them is in use."""

    counts: Ints  # [4] nodes, pairs, children, and the number of the current simulation
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
    """An empty tree for up to this many nodes, pairs, and children. The system maps memory only as it is used.

    Where the limit on memory is too low for all of it, every array is shorter in proportion.
    """
    node = 8 * model.s_words + 64 + 96 * pairs / nodes
    fits = memory.capacity(nodes, node, "nodes of the search tree", fewest=min(nodes, _FEWEST_NODES))
    nodes, pairs = fits, pairs * fits // nodes
    small = np.int32
    return WideningTree(
        counts=np.zeros(4, np.int64), states=np.zeros((nodes, model.s_words), np.uint64),
        table=empty_table(2 * nodes), value=np.zeros(nodes), bonus=np.zeros(nodes), estimate=np.zeros(nodes),
        listed=np.zeros(nodes, small), whole=np.zeros(nodes, small), visits=np.zeros(nodes, small),
        stamp=np.zeros(nodes, small), first=np.zeros(nodes, np.int64), pairs=np.zeros(nodes, small),
        action=np.zeros(pairs, small), tries=np.zeros(pairs, small), q=np.zeros(pairs), q_bonus=np.zeros(pairs),
        reward=np.zeros(pairs), change=np.zeros(pairs), compared=np.zeros(pairs, small), drawn=np.zeros(pairs, small),
        newest=np.zeros(pairs, small), total=np.zeros(pairs), next=np.zeros(pairs, small), weight=np.zeros(pairs),
        chosen=np.zeros(pairs, small), older=np.zeros(pairs, small),
    )  # fmt: skip


def clear(tree: WideningTree, root: Words) -> None:
    """Remove everything, then add the root as node 1."""
    empty(tree)
    tree.counts[:] = 0
    tree.counts[NODES] = 1  # END
    tree.value[END] = tree.bonus[END] = 0.0
    tree.pairs[END] = 0
    add_node(tree, root.reshape(1, -1), 0)


def half_full(tree: WideningTree) -> bool:
    """Whether more than half of the nodes, pairs or children are in use."""
    room = len(tree.value), len(tree.q), len(tree.next)
    return any(count > 0.5 * most for count, most in zip(tree.counts[:3], room, strict=True))


@kernel
def empty(tree: WideningTree) -> None:
    """Take all nodes out of the hash table: far fewer than it has slots, as a rule."""
    for node in range(1, tree.counts[NODES]):
        slot = first_slot(tree.table, hash_row(tree.states[node : node + 1], 0))
        while tree.table[slot] != node:
            slot = next_slot(tree.table, slot)
        tree.table[slot] = -1


@kernel
def add_node(tree: WideningTree, states: Words, i: int) -> int:
    """The node of states[i]: the existing one, or a new one with the value 0."""
    slot = row_slot(tree.states, tree.table, states, i)
    if tree.table[slot] >= 0:
        return tree.table[slot]
    node = tree.counts[NODES]
    tree.table[slot] = node
    for w in range(states.shape[1]):
        tree.states[node, w] = states[i, w]
    tree.first[node] = NOT_EXPANDED
    tree.pairs[node] = 0
    tree.visits[node] = 0
    tree.stamp[node] = 0
    tree.value[node] = 0.0
    tree.bonus[node] = 0.0
    tree.counts[NODES] = node + 1
    return node


@inner
def add_pair(tree: WideningTree, a: int, reward: float) -> int:
    """A new pair without children."""
    pair = tree.counts[PAIRS]
    tree.action[pair], tree.tries[pair], tree.q[pair], tree.q_bonus[pair] = a, 0, 0.0, 0.0
    tree.reward[pair], tree.change[pair], tree.compared[pair], tree.drawn[pair] = reward, 0.0, 0, 0
    tree.newest[pair], tree.total[pair] = NO_CHILD, 0.0
    tree.counts[PAIRS] = pair + 1
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
    child = tree.counts[CHILDREN]
    tree.next[child], tree.weight[child], tree.chosen[child] = node, weight, 0
    tree.older[child] = tree.newest[pair]
    tree.newest[pair] = child
    tree.counts[CHILDREN] = child + 1
    return child


@inner
def has_space(tree: WideningTree, pairs: int, children: int) -> bool:
    """Whether so many pairs and children, each with a new node, can be added."""
    return (
        tree.counts[NODES] + children < tree.states.shape[0]
        and tree.counts[PAIRS] + pairs < tree.q.shape[0]
        and tree.counts[CHILDREN] + children < tree.next.shape[0]
    )


@kernel
def find_node(tree: WideningTree, s: Words) -> int:
    """The node of s[0], or -1 if the search has not visited it."""
    return tree.table[row_slot(tree.states, tree.table, s, 0)]


@inner
def back_up_node(tree: WideningTree, node: int, gamma: float, beta: float) -> None:
    """Ṽ(s) = max_a Q̃(s, a), Equation 2. Every Q̃ is recomputed: next states may have changed since its last try."""
    best, at = -np.inf, tree.first[node]
    for pair in range(tree.first[node], tree.first[node] + tree.pairs[node]):
        back_up_pair(tree, node, pair, gamma, beta)
        if tree.q[pair] > best:
            best, at = tree.q[pair], pair
    tree.value[node] = best
    tree.bonus[node] = tree.q_bonus[at]


@inner
def back_up_pair(tree: WideningTree, node: int, pair: int, gamma: float, beta: float) -> None:
    """Q̃(s, a) = R̃ + γ Σ_s' P(s' | b, s, a) Ṽ(s') over the children, and its bonus part.

    An action that may lead back to its own state gets the value of repeating it until it leaves, as in search_graph.py.
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
            q += scale * tree.weight[child] * tree.value[to]
            bonus += scale * tree.weight[child] * tree.bonus[to]
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
    for pair in range(tree.first[node], tree.first[node] + tree.pairs[node]):
        bonus, later, later_bonus = beta * tree.change[pair], 0.0, 0.0
        child = tree.newest[pair]
        while child != NO_CHILD:
            later += tree.weight[child] * tree.value[tree.next[child]]
            later_bonus += tree.weight[child] * tree.bonus[tree.next[child]]
            child = tree.older[child]
        tree.q[pair] = tree.reward[pair] + bonus + gamma * later / tree.total[pair]
        tree.q_bonus[pair] = bonus + gamma * later_bonus / tree.total[pair]


def next_nodes(tree: WideningTree, pair: int) -> list[int]:
    """The nodes that a pair leads to, as far as they were drawn."""
    found, child = [], int(tree.newest[pair])
    while child != NO_CHILD:
        found.append(int(tree.next[child]))
        child = int(tree.older[child])
    return found


def principal_variation(tree: WideningTree, node: int, longest: int = 12) -> tuple[int, ...]:
    """The actions that the search expects to take: the best one, then the best one in its likeliest next state, ..."""
    visited = set[int]()
    line: list[int] = []
    while node != END and tree.first[node] != NOT_EXPANDED and node not in visited and len(line) < longest:
        visited.add(node)
        first = int(tree.first[node])
        pair = first + int(np.argmax(tree.q[first : first + tree.pairs[node]]))
        line.append(int(tree.action[pair]))
        best = child = int(tree.newest[pair])
        while child != NO_CHILD:
            if tree.weight[child] >= tree.weight[best]:
                best = child
            child = int(tree.older[child])
        node = int(tree.next[best])
    return tuple(line)
