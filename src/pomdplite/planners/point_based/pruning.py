"""Prune: remove the α-vectors and the sampled beliefs that are no longer needed."""

from pomdplite.compile.jit import Flags, Small, inner, kernel
from pomdplite.planners.point_based.bounds import BoundScratch, implied, look_ahead, update_node_lower
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.tree import (
    EDGES,
    GROUPS,
    NODES,
    PAIRS,
    ROOT,
    SampledBeliefTree,
    edge_base,
    expanded,
    is_point,
    link_by_time,
    make_leaf,
    node_slot,
    unlink,
)
from pomdplite.planners.point_based.vectors import VECTORS, AlphaVectors


@kernel
def flag_reachable(
    model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, reachable: Flags, stack: Small
) -> None:
    """Flag the nodes that can be reached by actions that may be optimal: Q̄(b, a) ≥ max{V̲(b), max_a' Q̲(b, a')}."""
    reachable[tree.counts[ROOT]] = True
    count = 1
    stack[0] = tree.counts[ROOT]
    while count > 0:
        count -= 1
        node = stack[count]
        if not expanded(tree, node):
            continue
        look_ahead(model, tree, scratch, node)
        x, base = tree.state[node], edge_base(model, tree, node)
        best = tree.lower[node]
        for i in range(model.first_pair[x + 1] - model.first_pair[x]):
            best = max(best, scratch.q_lower[i])
        for outcome in range(model.first_outcome[model.first_group[x]], model.first_outcome[model.first_group[x + 1]]):
            child = tree.edge_child[base + outcome]
            action = model.pair[outcome] - model.first_pair[x]
            if child >= 0 and not reachable[child] and scratch.q_upper[action] >= best:
                reachable[child] = True
                stack[count] = child
                count += 1


@kernel
def prune_vectors(
    vectors: AlphaVectors, tree: SampledBeliefTree, reachable: Flags, number: Small, initial: int
) -> None:
    """Remove the vectors that are best at no reachable node; `number` has -1 for each vector, and is overwritten.

    The first `initial` vectors stay, and so do the successors of a vector that stays: then looking one step ahead is,
    at any belief, worth at least what a vector promises, so the policy is worth at least its lower bound.
    """
    for node in range(reachable.shape[0]):
        if reachable[node]:
            update_node_lower(vectors, tree, node)
            number[tree.vector[node]] = 0
    for alpha in range(number.shape[0] - 1, -1, -1):  # a vector is older than those that are backed up from it
        if alpha < initial:
            number[alpha] = 0
        elif number[alpha] == 0:
            for i in range(vectors.successors.shape[1]):
                if vectors.successors[alpha, i] >= 0:
                    number[vectors.successors[alpha, i]] = 0
    compact_vectors(vectors, number, initial)
    for node in range(tree.counts[NODES]):
        if tree.vector[node] >= 0:
            tree.vector[node] = number[tree.vector[node]]
    for edge in range(tree.counts[EDGES]):
        if tree.edge_vector[edge] >= 0:
            tree.edge_vector[edge] = number[tree.edge_vector[edge]]


@inner
def compact_vectors(vectors: AlphaVectors, number: Small, initial: int) -> None:
    """Keep the vectors that `number` has 0 for, in their order, and write their new numbers there."""
    for state in range(vectors.newest.shape[0]):
        vectors.newest[state] = -1
    count = 0
    for alpha in range(number.shape[0]):
        if number[alpha] != 0:
            continue
        number[alpha] = count
        for j in range(vectors.value.shape[1]):
            vectors.value[count, j] = vectors.value[alpha, j]
        for i in range(vectors.successors.shape[1]):
            successor = vectors.successors[alpha, i]
            vectors.successors[count, i] = number[successor] if alpha >= initial and successor >= 0 else -1
        state = vectors.state[alpha]
        vectors.state[count], vectors.action[count] = state, vectors.action[alpha]
        vectors.added[count] = vectors.added[alpha]
        vectors.next[count] = vectors.newest[state]
        vectors.newest[state] = count
        count += 1
    vectors.counts[VECTORS] = count


@kernel
def prune_points(tree: SampledBeliefTree, worth: float) -> None:
    """Remove from the lists the points that others imply, up to `worth`."""
    for state in range(1, tree.newest_point.shape[0]):
        point = tree.newest_point[state]
        while point >= 0:
            older = tree.older[point]
            if implied(tree, point, worth):
                unlink(tree, point)
            point = older


@kernel
def forget_edges(model: GroupedMomdp, tree: SampledBeliefTree, most: int) -> None:
    """Keep the root and the `most` points that were sampled last, without their edges; remove all other nodes."""
    for slot in range(tree.table.shape[0]):
        tree.table[slot] = -1
    for state in range(tree.newest_point.shape[0]):
        tree.newest_point[state] = -1
    points = 0
    for node in range(tree.counts[NODES]):
        points += is_point(tree, node)
    count = root = 0
    for node in range(tree.counts[NODES]):
        point = is_point(tree, node)
        points -= point
        if node != tree.counts[ROOT] and (not point or points >= most):
            continue
        if node == tree.counts[ROOT]:
            root = count
        tree.state[count] = tree.state[node]
        for j in range(tree.belief.shape[1]):
            tree.belief[count, j] = tree.belief[node, j]
        tree.corner[count], tree.lower[count], tree.upper[count] = tree.corner[node], tree.lower[node], tree.upper[node]
        tree.vector[count], tree.vectors_seen[count] = tree.vector[node], tree.vectors_seen[node]
        tree.published[count], tree.changed[count] = tree.published[node], tree.changed[node]
        make_leaf(tree, count)
        tree.table[node_slot(model, tree, tree.state[count], tree.belief[count])] = count
        if point:
            link_by_time(tree, count)
        count += 1
    tree.counts[NODES], tree.counts[ROOT] = count, root
    tree.counts[EDGES] = tree.counts[GROUPS] = tree.counts[PAIRS] = 0
