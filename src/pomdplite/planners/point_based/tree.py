"""The tree T_R of beliefs that SARSOP has sampled. Equal beliefs are one node, so it is a graph.

A node (x, b) holds its bounds V̲ and V̄. Once it is expanded it has an edge for each outcome of each action, with bounds
on what follows. A node keeps track of how far it has looked, so that it looks at every α-vector and at every point of
the sawtooth bound once, not at each visit.

Nodes are the points of the sawtooth bound. Each state has a list of its points, the last changed first. A node enters
the list, and later moves to its front, when its V̄ has improved by enough to be worth looking at.
"""

from typing import Any, NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Small, inlined, inner, kernel
from pomdplite.mdp.hash_table import empty_table, first_slot, next_slot
from pomdplite.planners.point_based.folding import dot, fold_marginals, fold_sums
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp, component_of, posterior, widest

_SAME = 1e-10  # beliefs that differ by no more than this in every entry are one node
_HASH_SCALE = 1e8  # the resolution of a belief's hash
_NOT_A_POINT = -2  # in the place of a neighbour in the list
_NOT_EXPANDED = -1
BINS = 24  # of entropy, and of the corner bound

# Indices into SampledBeliefTree.counts.
NODES, EDGES, GROUPS, PAIRS, POINT_CLOCK, ROOT = range(6)


class SampledBeliefTree(NamedTuple):
    """T_R. An expanded node has a block of edges, one of groups and one of pairs."""

    state: Small  # [node] x
    belief: Floats  # [node, joint value] b
    corner: Floats  # [node] Σ_j b(j) V_j(x), the bound of the corners of the simplex
    lower: Floats  # [node] V̲(b)
    vector: Small  # [node] the α-vector that attains it, -1 if it was pruned
    vectors_seen: Ints  # [node] when it last looked at the vectors, on their clock
    upper: Floats  # [node] V̄(b)
    published: Floats  # [node] V̄(b) when the node last came to the front of its list
    changed: Ints  # [node] when that was, on the clock of points
    newer: Small  # [node] its neighbours in the list of its state, -1 at the ends, _NOT_A_POINT if it is not listed
    older: Small
    first_edge: Ints  # [node] _NOT_EXPANDED for a leaf
    first_group: Ints  # [node]
    first_pair: Ints  # [node]
    bin: Ints  # [node] for the prediction V̂; -1 if it is in none yet
    bin_upper: Floats  # [node] V̄(b) as it is counted in its bin
    # Per node up to here.
    counts: Ints  # [6]
    table: Small  # hash table of nodes
    newest_point: Small  # [state] the front of its list, -1 if it is empty
    bins: Floats  # [bin, 2] how many nodes, and the sum of their V̄
    edge_chance: Floats  # [edge] P(outcome | b, a); the bounds of an edge are multiplied by it
    edge_corner: Floats  # [edge]
    edge_lower: Floats  # [edge]
    edge_upper: Floats  # [edge]
    edge_vector: Small  # [edge] the α-vector that attains edge_lower, -1 if it was pruned
    edge_child: Small  # [edge] node, -1 if it was not sampled yet
    group_vectors_seen: Ints  # [group] when the α-vectors of its next state were last looked at
    group_points_seen: Ints  # [group] when its points were
    reward: Floats  # [pair] R(b, x, a)


_PER_NODE = SampledBeliefTree._fields[: SampledBeliefTree._fields.index("counts")]


def allocate_tree(model: GroupedMomdp, count: int) -> SampledBeliefTree:
    """Space for so many nodes, all of them expanded; the operating system commits memory as it is used."""
    states, values = model.corner.shape
    most = widest(model)
    edges, groups, pairs = count * most.outcomes, count * most.groups, count * most.actions
    return SampledBeliefTree(
        state=np.empty(count, np.int32),
        belief=np.empty((count, values)),
        corner=np.empty(count),
        lower=np.empty(count),
        vector=np.empty(count, np.int32),
        vectors_seen=np.empty(count, np.int64),
        upper=np.empty(count),
        published=np.empty(count),
        changed=np.empty(count, np.int64),
        newer=np.empty(count, np.int32),
        older=np.empty(count, np.int32),
        first_edge=np.empty(count, np.int64),
        first_group=np.empty(count, np.int64),
        first_pair=np.empty(count, np.int64),
        bin=np.empty(count, np.int64),
        bin_upper=np.empty(count),
        counts=np.zeros(6, np.int64),
        table=empty_table(2 * count + 1),
        newest_point=np.full(states, -1, np.int32),
        bins=np.zeros((BINS * BINS, 2)),
        edge_chance=np.empty(edges),
        edge_corner=np.empty(edges),
        edge_lower=np.empty(edges),
        edge_upper=np.empty(edges),
        edge_vector=np.empty(edges, np.int32),
        edge_child=np.empty(edges, np.int32),
        group_vectors_seen=np.empty(groups, np.int64),
        group_points_seen=np.empty(groups, np.int64),
        reward=np.empty(pairs),
    )


def node_bytes(model: GroupedMomdp) -> int:
    """What one node takes, at most."""
    most = widest(model)
    return 8 * model.corner.shape[1] + 136 + 16 * most.groups + 40 * most.outcomes + 8 * most.actions


def clear(tree: SampledBeliefTree) -> None:
    """Remove all nodes."""
    tree.counts[:], tree.bins[:] = 0, 0.0
    tree.table[:] = tree.newest_point[:] = -1


def with_room_for_one(model: GroupedMomdp, tree: SampledBeliefTree) -> SampledBeliefTree:
    """The nodes of a tree in which none is expanded, in no more memory than they need, and room for one more."""
    count, one = int(tree.counts[NODES]), allocate_tree(model, 1)
    grown = {name: np.concatenate([getattr(tree, name)[:count], getattr(one, name)]) for name in _PER_NODE}
    return one._replace(**grown, newest_point=tree.newest_point.copy())


def put_last(model: GroupedMomdp, tree: SampledBeliefTree, state: int, b: Floats) -> int:
    """Make (x, b) the last node that the tree has room for, apart from the nodes before it; its number."""
    node = len(tree.state) - 1
    tree.table[:] = -1  # the other nodes are only points
    tree.counts[:] = 0
    tree.counts[NODES] = node
    make_node(model, tree, state, b, np.inf)
    return node


def points_of_states(tree: SampledBeliefTree) -> Ints:
    """The number of points of the sawtooth bound in each state."""
    count = int(tree.counts[NODES])
    points = tree.state[:count][tree.newer[:count] != _NOT_A_POINT]
    return np.bincount(points, minlength=len(tree.newest_point))


def point_count(tree: SampledBeliefTree) -> int:
    """The number of points of the sawtooth bound."""
    return int(np.count_nonzero(tree.newer[: tree.counts[NODES]] != _NOT_A_POINT))


@inlined
def is_point(tree: SampledBeliefTree, node: int) -> bool:
    """Whether the node is in the list of its state's points."""
    return tree.newer[node] != _NOT_A_POINT


@inlined
def expanded(tree: SampledBeliefTree, node: int) -> bool:
    """Whether the node has edges."""
    return tree.first_edge[node] != _NOT_EXPANDED


@inlined
def edge_base(model: GroupedMomdp, tree: SampledBeliefTree, node: int) -> int:
    """Added to the number of an outcome, the node's edge for it."""
    return tree.first_edge[node] - model.first_outcome[model.first_group[tree.state[node]]]


@inner
def node_slot(model: GroupedMomdp, tree: SampledBeliefTree, state: int, b: Floats) -> Any:
    """The slot in the table of the node (x, b), or where it belongs."""
    h = np.uint64(np.int64(dot(b, model.hash_weights) * _HASH_SCALE)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(state)
    h = (h ^ (h >> np.uint64(31))) * np.uint64(0xFF51AFD7ED558CCD)
    slot = first_slot(tree.table, h ^ (h >> np.uint64(32)))
    while tree.table[slot] >= 0 and not same_belief(tree, tree.table[slot], state, b):
        slot = next_slot(tree.table, slot)
    return slot


@inlined
def same_belief(tree: SampledBeliefTree, node: int, state: int, b: Floats) -> bool:
    """Whether a node is (x, b)."""
    if tree.state[node] != state:
        return False
    for j in range(b.shape[0]):
        if abs(tree.belief[node, j] - b[j]) > _SAME:
            return False
    return True


@kernel
def make_node(model: GroupedMomdp, tree: SampledBeliefTree, state: int, b: Floats, upper: float) -> int:
    """The node (x, b): the one that is there, or a new one whose V̄ is at most `upper`."""
    slot = node_slot(model, tree, state, b)
    if tree.table[slot] >= 0:
        return tree.table[slot]
    node = tree.counts[NODES]
    tree.counts[NODES] += 1
    tree.table[slot] = node
    tree.state[node] = state
    for j in range(b.shape[0]):
        tree.belief[node, j] = b[j]
    tree.corner[node] = dot(b, model.corner[state])
    tree.lower[node], tree.vector[node], tree.vectors_seen[node] = -np.inf, -1, 0
    tree.upper[node] = tree.published[node] = min(upper, tree.corner[node])
    make_leaf(tree, node)
    tree.changed[node] = 0
    return node


@inlined
def make_leaf(tree: SampledBeliefTree, node: int) -> None:
    """Take the node's edges away, and take it out of the list and its bin."""
    tree.first_edge[node] = _NOT_EXPANDED
    tree.first_group[node] = tree.first_pair[node] = tree.bin[node] = -1
    tree.newer[node] = tree.older[node] = _NOT_A_POINT


@kernel
def expand(
    model: GroupedMomdp, tree: SampledBeliefTree, node: int, after: Floats, w: Floats, marginals: Floats, part: Floats
) -> None:
    """Give the node its edges, with the bounds of the corners; the last four arrays are overwritten."""
    x, b = tree.state[node], tree.belief[node]
    tree.first_edge[node] = tree.counts[EDGES]
    tree.first_group[node] = tree.counts[GROUPS]
    tree.first_pair[node] = tree.counts[PAIRS]
    fold_marginals(model.joint, model.offsets, b, w, marginals)
    for pair in range(model.first_pair[x], model.first_pair[x + 1]):
        tree.reward[tree.counts[PAIRS]] = mean_over_component(model, pair, model.rewards[pair], marginals)
        tree.counts[PAIRS] += 1
    for group in range(model.first_group[x], model.first_group[x + 1]):
        tree.group_vectors_seen[tree.counts[GROUPS]] = tree.group_points_seen[tree.counts[GROUPS]] = 0
        tree.counts[GROUPS] += 1
        for outcome in range(model.first_outcome[group], model.first_outcome[group + 1]):
            edge = tree.counts[EDGES] + outcome - model.first_outcome[group]
            if model.folded[group]:
                likelihood = model.likelihood[outcome]
                tree.edge_chance[edge] = mean_over_component(model, model.pair[outcome], likelihood, marginals)
            tree.edge_lower[edge], tree.edge_vector[edge], tree.edge_child[edge] = -np.inf, -1, -1
        set_corners(model, tree, b, group, after, w, part)
        tree.counts[EDGES] += model.first_outcome[group + 1] - model.first_outcome[group]


@inlined
def set_corners(
    model: GroupedMomdp, tree: SampledBeliefTree, b: Floats, group: int, after: Floats, w: Floats, part: Floats
) -> None:
    """The bounds of the corners after the outcomes of a group, which are the last edges; arrays are overwritten.

    If several outcomes lead to one next state, the products with its corners are folded once for all of them.
    """
    corner, first = model.corner[model.next_state[group]], model.first_outcome[group]
    if not model.folded[group]:
        edge = tree.counts[EDGES]
        tree.edge_chance[edge] = posterior(model, b, first, after)
        tree.edge_corner[edge] = tree.edge_upper[edge] = dot(after, corner)
        return
    fold_sums(model.joint, model.offsets, b, corner, w, part)
    for outcome in range(first, model.first_outcome[group + 1]):
        edge = tree.counts[EDGES] + outcome - first
        value = mean_over_component(model, model.pair[outcome], model.likelihood[outcome], part)
        tree.edge_corner[edge] = tree.edge_upper[edge] = value


@inlined
def mean_over_component(model: GroupedMomdp, pair: int, numbers: int, part: Floats) -> float:
    """Σ_v part(v) n(v) over the values of the pair's component, with n from this place of the pool on."""
    component, mean = component_of(model, pair), 0.0
    for v in range(model.joint.size[component]):
        mean += model.pool[numbers + v] * part[model.offsets[component] + v]
    return mean


@inlined
def link(tree: SampledBeliefTree, node: int) -> None:
    """Put the node at the front of its state's list."""
    first = tree.newest_point[tree.state[node]]
    tree.newer[node], tree.older[node] = -1, first
    if first >= 0:
        tree.newer[first] = node
    tree.newest_point[tree.state[node]] = node


@inlined
def unlink(tree: SampledBeliefTree, node: int) -> None:
    """Take the node out of its state's list, if it is there."""
    if not is_point(tree, node):
        return
    if tree.newer[node] >= 0:
        tree.older[tree.newer[node]] = tree.older[node]
    else:
        tree.newest_point[tree.state[node]] = tree.older[node]
    if tree.older[node] >= 0:
        tree.newer[tree.older[node]] = tree.newer[node]
    tree.newer[node] = tree.older[node] = _NOT_A_POINT


@inner
def link_by_time(tree: SampledBeliefTree, node: int) -> None:
    """Put the node into its state's list at the place of its last change."""
    after, before = -1, tree.newest_point[tree.state[node]]
    while before >= 0 and tree.changed[before] > tree.changed[node]:
        after, before = before, tree.older[before]
    tree.newer[node], tree.older[node] = after, before
    if before >= 0:
        tree.newer[before] = node
    if after >= 0:
        tree.older[after] = node
    else:
        tree.newest_point[tree.state[node]] = node
