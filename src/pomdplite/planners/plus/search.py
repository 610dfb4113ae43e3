"""Greedy paths: where the policy that is known so far leads, and what looking one step ahead improves there.

    Follow(b):  a' ← the action of argmax_{α ∈ Γ} α · b
                e' ~ P(e | b, a')
                Follow(b_e')

An outcome e is what is observed after an action: (x', o). SARSOP samples where the upper bound is high, which with the
bound of an agent that knows θ is often far from any good policy. A greedy path is what the present policy does, so
every backup on it improves the policy where it will be used.
"""

import numpy as np

from pomdplite.compile.jit import Words, inlined, inner, kernel
from pomdplite.planners.point_based.backup import back_up, child
from pomdplite.planners.point_based.bounds import (
    BoundScratch,
    ensure_expanded,
    look_ahead,
    update_lower,
    update_node_lower,
)
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.tree import ROOT, SampledBeliefTree, edge_base
from pomdplite.planners.point_based.vectors import AlphaVectors
from pomdplite.rng import uniform

_LITTLE = 0.01  # of a reward: the weight at which a path ends


@kernel
def greedy_trial(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, precision: float,
    random: Words,
) -> int:  # fmt: skip
    """Follow the greedy policy from the root, and back up its beliefs; their number."""
    length = follow(model, vectors, tree, scratch, precision, random)
    back_up_path(model, vectors, tree, scratch, length)
    return length


@kernel
def back_up_path(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, length: int
) -> None:
    """Back up the beliefs in scratch.path from the last to the first."""
    for i in range(length - 1, -1, -1):
        node = scratch.path[i]
        best = look(model, vectors, tree, scratch, node)
        back_up(model, vectors, tree, scratch, node, model.first_pair[tree.state[node]] + best)


@inner
def follow(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, precision: float,
    random: Words,
) -> int:  # fmt: skip
    """One path from the root, into scratch.path; its length. It ends where nothing is left to gain."""
    node, length, weight = tree.counts[ROOT], 0, 1.0
    while True:
        scratch.path[length] = node
        length += 1
        ensure_expanded(model, tree, scratch, node)
        update_node_lower(vectors, tree, node)
        gap = tree.upper[node] - tree.lower[node]
        if length == scratch.path.shape[0] or weight < _LITTLE or weight * gap <= precision:
            break
        outcome = draw_outcome(model, tree, node, vectors.action[tree.vector[node]], uniform(random))
        if outcome < 0:
            break
        node = child(model, tree, scratch, node, outcome)
        weight *= model.gamma
    return length


@kernel
def look(model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, node: int) -> int:
    """Bring V̲ and, from its children, V̄ of a node up to date; argmax_a Q̲(b, a), counted from the state's first."""
    ensure_expanded(model, tree, scratch, node)
    update_lower(model, vectors, tree, scratch, node)
    look_ahead(model, tree, scratch, node)
    x, best, upper = tree.state[node], 0, -np.inf
    for i in range(model.first_pair[x + 1] - model.first_pair[x]):
        upper = max(upper, scratch.q_upper[i])
        if scratch.q_lower[i] > scratch.q_lower[best]:
            best = i
    tree.upper[node] = min(tree.upper[node], upper)
    return best


@inlined
def draw_outcome(model: GroupedMomdp, tree: SampledBeliefTree, node: int, action: int, u: float) -> int:
    """The outcome of an action that the random number u picks; -1 if the episode ends."""
    x, base = tree.state[node], edge_base(model, tree, node)
    for outcome in range(model.first_outcome[model.first_group[x]], model.first_outcome[model.first_group[x + 1]]):
        chance = tree.edge_chance[base + outcome]
        if model.action[model.pair[outcome]] == action and chance > 0.0:
            u -= chance
            if u < 0.0:
                return outcome
    return -1
