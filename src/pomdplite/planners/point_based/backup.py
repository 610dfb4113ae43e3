"""Point-based backup: the α-vector that looking one step ahead gives at a sampled belief.

    Backup(b):  α_{a,e} ← argmax_{α ∈ Γ} α · b_e,  α_a ← R + γ Σ_e P(e | ·, a) α_{a,e}
                add α_a to Γ, for the best a or a given one

An outcome e is what is observed after an action: (x', o).
"""

from pomdplite.compile.jit import inlined, inner
from pomdplite.planners.point_based.bounds import BoundScratch
from pomdplite.planners.point_based.folding import dot
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp, component_of, posterior
from pomdplite.planners.point_based.tree import SampledBeliefTree, edge_base, make_node
from pomdplite.planners.point_based.vectors import VECTORS, AlphaVectors, add_vector

_BETTER = 1e-9  # by how much, relatively, a new α-vector must be better


@inlined
def child(model: GroupedMomdp, tree: SampledBeliefTree, scratch: BoundScratch, node: int, outcome: int) -> int:
    """The node of τ(b, a, e), made if it is not there yet."""
    edge = edge_base(model, tree, node) + outcome
    if tree.edge_child[edge] < 0:
        posterior(model, tree.belief[node], outcome, scratch.after)
        for j in range(scratch.after.shape[0]):
            scratch.after[j] /= tree.edge_chance[edge]
        group = model.first_group[tree.state[node]]
        while model.first_outcome[group + 1] <= outcome:
            group += 1
        upper = tree.edge_upper[edge] / tree.edge_chance[edge]
        tree.edge_child[edge] = make_node(model, tree, model.next_state[group], scratch.after, upper)
    return tree.edge_child[edge]


@inner
def back_up(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, node: int, pair: int
) -> None:
    """Backup: the vector α_a of a pair at the node's belief, added to Γ if it is better there than all others."""
    x, base, alpha = tree.state[node], edge_base(model, tree, node), scratch.alpha
    component = component_of(model, pair)
    size, stride = model.joint.size[component], model.joint.stride[component]
    rewards = model.rewards[pair]
    for block in range(0, alpha.shape[0], size * stride):
        for v in range(size):
            for k in range(block + v * stride, block + v * stride + stride):
                alpha[k] = model.pool[rewards + v]
    successors = vectors.successors[vectors.counts[VECTORS]]
    count = 0
    for outcome in range(model.first_outcome[model.first_group[x]], model.first_outcome[model.first_group[x + 1]]):
        if model.pair[outcome] == pair:
            successors[count] = tree.edge_vector[base + outcome]
            add_successor(model, vectors, scratch, outcome, successors[count])
            count += 1
    value = dot(tree.belief[node], alpha)
    if value > tree.lower[node] + _BETTER * max(1.0, abs(value)):
        for i in range(count, successors.shape[0]):
            successors[i] = -1
        tree.lower[node] = value
        tree.vector[node] = add_vector(vectors, x, model.action[pair], alpha)


@inlined
def add_successor(
    model: GroupedMomdp, vectors: AlphaVectors, scratch: BoundScratch, outcome: int, successor: int
) -> None:
    """α_a(j) ← α_a(j) + γ P(e | j, a) α_{a,e}(j') for all j, where θ goes from j to j'."""
    pair, alpha = model.pair[outcome], scratch.alpha
    component = component_of(model, pair)
    size, stride = model.joint.size[component], model.joint.stride[component]
    for block in range(0, alpha.shape[0], size * stride):
        for v in range(size):
            likelihood = model.gamma * model.pool[model.likelihood[outcome] + v]
            if likelihood > 0.0:
                there = block + model.joint.later[pair, v] * stride
                here = block + v * stride
                for k in range(stride):
                    alpha[here + k] += likelihood * vectors.value[successor, there + k]
