"""The bounds V̲ ≤ V* ≤ V̄ on the value of a belief, and Q̲, Q̄ one step ahead.

V̲  α-vectors:  V̲(x, b) = max_{α ∈ Γ_x} Σ_j b(j) α(j)
V̄  the sawtooth rule (Hauskrecht 2000):  the corners c(b) of an agent that knows θ, lowered by the points (b_i, v_i)

        V̄(x, b) = c(b) − max_i { (c(b_i) − v_i) · min_{j: b_i(j) > 0} b(j) / b_i(j) },      c(b) = Σ_j b(j) V_j(x)

Q̲, Q̄  R(b, x, a) + γ Σ_e P(e | b, a) V(b_e) over the outcomes e, with V̲ or V̄ of the next belief b_e = τ(b, a, e)

Both bounds are positively homogeneous in b, so an edge holds P(e | b, a) V(b_e) and no belief is normalized. Each
update looks only at the α-vectors and points that are new to the node.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, inlined, inner, kernel
from pomdplite.planners.point_based.folding import dot, fold_ratios, fold_sums, least_ratio, ratio_reaches
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp, component_of, posterior, widest
from pomdplite.planners.point_based.tree import (
    POINT_CLOCK,
    SampledBeliefTree,
    edge_base,
    expand,
    expanded,
    link,
    unlink,
)
from pomdplite.planners.point_based.vectors import VECTOR_CLOCK, AlphaVectors

WORTH = 0.01  # of ε, or of the gap at the root: by how much V̄ of a point must improve to be looked at again


class BoundScratch(NamedTuple):
    """Space for the kernels, and the results of `look_ahead`."""

    w: Floats  # [joint value] for folding
    part: Floats  # [value of a component] the folded sums or minima
    marginals: Floats  # [value of a component] its probability
    after: Floats  # [joint value] P(e | b, a) b_e
    alpha: Floats  # [joint value] a new α-vector
    q_lower: Floats  # [action] Q̲(b, a)
    q_upper: Floats  # [action] Q̄(b, a)
    path: Ints  # [depth] the nodes of a sampled path


def allocate_scratch(model: GroupedMomdp, depth: int) -> BoundScratch:
    """Space for paths of up to this depth."""
    values, actions = model.corner.shape[1], widest(model).actions
    return BoundScratch(
        w=np.zeros(values),
        part=np.zeros(int(model.offsets[-1])),
        marginals=np.zeros(int(model.offsets[-1])),
        after=np.zeros(values),
        alpha=np.zeros(values),
        q_lower=np.zeros(actions),
        q_upper=np.zeros(actions),
        path=np.zeros(depth, np.int64),
    )


# ---------------------------------------------------------------------- V̲


@kernel
def update_node_lower(vectors: AlphaVectors, tree: SampledBeliefTree, node: int) -> None:
    """V̲(b) of the node itself."""
    if tree.vector[node] < 0:  # it was pruned: look at all vectors again
        tree.vectors_seen[node], tree.lower[node] = 0, -np.inf
    alpha = vectors.newest[tree.state[node]]
    while alpha >= 0 and vectors.added[alpha] > tree.vectors_seen[node]:
        value = dot(tree.belief[node], vectors.value[alpha])
        if value > tree.lower[node]:
            tree.lower[node], tree.vector[node] = value, alpha
        alpha = vectors.next[alpha]
    tree.vectors_seen[node] = vectors.counts[VECTOR_CLOCK]


@kernel
def update_lower(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, node: int
) -> None:
    """V̲ of the node and, if it is expanded, of its edges."""
    update_node_lower(vectors, tree, node)
    if not expanded(tree, node):
        return
    x, base = tree.state[node], edge_base(model, tree, node)
    for group in range(model.first_group[x], model.first_group[x + 1]):
        seen = tree.first_group[node] + group - model.first_group[x]
        first = model.first_outcome[group]
        for outcome in range(first, model.first_outcome[group + 1]):
            if tree.edge_vector[base + outcome] < 0:  # it was pruned: look at all vectors again
                tree.group_vectors_seen[seen] = 0
                tree.edge_lower[base + outcome] = -np.inf
        alpha = vectors.newest[model.next_state[group]]
        if alpha < 0 or vectors.added[alpha] <= tree.group_vectors_seen[seen]:
            continue
        if not model.folded[group]:
            posterior(model, tree.belief[node], first, scratch.after)
        while alpha >= 0 and vectors.added[alpha] > tree.group_vectors_seen[seen]:
            if model.folded[group]:
                raise_group_lower(model, vectors, tree, scratch, node, group, alpha)
            else:
                value = dot(scratch.after, vectors.value[alpha])
                if value > tree.edge_lower[base + first]:
                    tree.edge_lower[base + first], tree.edge_vector[base + first] = value, alpha
            alpha = vectors.next[alpha]
        tree.group_vectors_seen[seen] = vectors.counts[VECTOR_CLOCK]


@inlined
def raise_group_lower(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, node: int, group: int,
    alpha: int,
) -> None:  # fmt: skip
    """V̲ after each outcome of a group: at least what this α-vector is worth there."""
    base = edge_base(model, tree, node)
    fold_sums(model.joint, model.offsets, tree.belief[node], vectors.value[alpha], scratch.w, scratch.part)
    for outcome in range(model.first_outcome[group], model.first_outcome[group + 1]):
        component, likelihood = component_of(model, model.pair[outcome]), model.likelihood[outcome]
        value = 0.0
        for v in range(model.joint.size[component]):
            value += model.pool[likelihood + v] * scratch.part[model.offsets[component] + v]
        if value > tree.edge_lower[base + outcome]:
            tree.edge_lower[base + outcome], tree.edge_vector[base + outcome] = value, alpha


# ---------------------------------------------------------------------- V̄


@kernel
def update_upper(model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, node: int) -> None:
    """V̄ of the edges of an expanded node, by the sawtooth rule."""
    x = tree.state[node]
    for group in range(model.first_group[x], model.first_group[x + 1]):
        seen = tree.first_group[node] + group - model.first_group[x]
        point = tree.newest_point[model.next_state[group]]
        if point < 0 or tree.changed[point] <= tree.group_points_seen[seen]:
            continue
        if not model.folded[group]:
            posterior(model, tree.belief[node], model.first_outcome[group], scratch.after)
        while point >= 0 and tree.changed[point] > tree.group_points_seen[seen]:
            if model.folded[group]:
                sawtooth_group(model, tree, scratch, node, group, point)
            else:
                sawtooth(model, tree, scratch, node, group, point)
            point = tree.older[point]
        tree.group_points_seen[seen] = tree.counts[POINT_CLOCK]


@inlined
def sawtooth(
    model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, node: int, group: int, point: int
) -> None:
    """The sawtooth rule with one point (b_i, v_i), for a group of one outcome whose belief is in scratch.after:

    V̄ ← min{V̄, c(b) − (c(b_i) − v_i) · min_j b(j) / b_i(j)}
    """
    edge = edge_base(model, tree, node) + model.first_outcome[group]
    gap = tree.corner[point] - tree.upper[point]
    needed = (tree.edge_corner[edge] - tree.edge_upper[edge]) / gap  # the ratio from which on the point improves V̄
    if ratio_reaches(scratch.after, tree.belief[point], needed):
        upper = tree.edge_corner[edge] - gap * least_ratio(scratch.after, tree.belief[point])
        tree.edge_upper[edge] = min(tree.edge_upper[edge], upper)


@inlined
def sawtooth_group(
    model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, node: int, group: int, point: int
) -> None:
    """The sawtooth rule with one point for all outcomes of a group, by folding the ratios."""
    base, b = edge_base(model, tree, node), tree.belief[node]
    first, last = model.first_outcome[group], model.first_outcome[group + 1]
    gap = tree.corner[point] - tree.upper[point]
    needed = np.inf  # the ratio from which on the point may improve V̄ after some outcome
    for outcome in range(first, last):
        edge = base + outcome
        slack = tree.edge_corner[edge] - tree.edge_upper[edge]
        needed = min(needed, slack / (gap * model.largest[outcome]))
    if not (needed < 1.0 and ratio_reaches(b, tree.belief[point], needed)):
        return
    fold_ratios(model.joint, model.offsets, b, tree.belief[point], scratch.w, scratch.part)
    for outcome in range(first, last):
        edge = base + outcome
        component, likelihood = component_of(model, model.pair[outcome]), model.likelihood[outcome]
        ratio = np.inf
        for v in range(model.joint.size[component]):
            part = scratch.part[model.offsets[component] + v]
            if part < np.inf:
                ratio = min(ratio, model.pool[likelihood + v] * part)
        tree.edge_upper[edge] = min(tree.edge_upper[edge], tree.edge_corner[edge] - gap * ratio)


@inner
def lower_node_upper(tree: SampledBeliefTree, node: int, upper: float, worth: float) -> None:
    """V̄(b) ← min{V̄(b), upper}; the node moves to the front of its state's list once V̄ is lower by more than `worth`."""
    tree.upper[node] = min(tree.upper[node], upper)
    if tree.published[node] - tree.upper[node] <= worth:
        return
    unlink(tree, node)
    tree.counts[POINT_CLOCK] += 1
    tree.changed[node], tree.published[node] = tree.counts[POINT_CLOCK], tree.upper[node]
    link(tree, node)


@inner
def implied(tree: SampledBeliefTree, node: int, worth: float) -> bool:
    """Whether the other points of its state imply V̄ of a point by the sawtooth rule, up to `worth`."""
    needed = tree.corner[node] - tree.upper[node] - worth
    other = tree.newest_point[tree.state[node]]
    while other >= 0:
        gap = tree.corner[other] - tree.upper[other]
        if other != node and needed <= gap and ratio_reaches(tree.belief[node], tree.belief[other], needed / gap):
            return True
        other = tree.older[other]
    return False


# ---------------------------------------------------------------------- Q̲ and Q̄


@kernel
def look_ahead(model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, node: int) -> None:
    """Q̲(b, a) and Q̄(b, a) of every action of an expanded node, from its edges: scratch.q_lower and scratch.q_upper."""
    x, base = tree.state[node], edge_base(model, tree, node)
    first, last = model.first_pair[x], model.first_pair[x + 1]
    for i in range(last - first):
        scratch.q_lower[i] = scratch.q_upper[i] = tree.reward[tree.first_pair[node] + i]
    for outcome in range(model.first_outcome[model.first_group[x]], model.first_outcome[model.first_group[x + 1]]):
        edge = base + outcome
        if tree.edge_chance[edge] > 0.0:
            i, child = model.pair[outcome] - first, tree.edge_child[edge]
            if child >= 0:
                tree.edge_upper[edge] = min(tree.edge_upper[edge], tree.edge_chance[edge] * tree.upper[child])
            scratch.q_lower[i] += model.gamma * tree.edge_lower[edge]
            scratch.q_upper[i] += model.gamma * tree.edge_upper[edge]


# ---------------------------------------------------------------------- edges


@inlined
def ensure_expanded(model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, node: int) -> None:
    """Give the node its edges, if it has none."""
    if not expanded(tree, node):
        expand(model, tree, node, scratch.after, scratch.w, scratch.marginals, scratch.part)
