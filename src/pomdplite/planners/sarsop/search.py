"""Sample of SARSOP (Kurniawati, Hsu, Lee 2008, Algorithms 2 and 3). Backup is point_based/backup.py.

    Sample:                       L ← V̲(b₀),  U ← V̲(b₀) + ε,  SamplePoints(b₀, L, U, ε, 0)
    SamplePoints(b, L, U, ε, t):  V̂ ← the predicted value of b
                                  stop if V̂ ≤ L and V̄(b) ≤ max{U, V̲(b) + ε γ^-t}
                                  L' ← max{L, max_a Q̲(b, a)},  U' ← max{U, max_a Q̲(b, a) + ε γ^-t}
                                  a' ← argmax_a Q̄(b, a)
                                  e' ← argmax_e P(e | b, a') (V̄(b_e) − V̲(b_e) − ε γ^-(t+1))
                                  L, U ← the values of b_e' at which Q̲(b, a') = L' and Q̄(b, a') = U'
                                  SamplePoints(b_e', L, U, ε, t + 1)

An outcome e is what is observed after an action: (x', o). V̂(b) is the mean V̄ of the sampled beliefs that are like b in
entropy and in the value of an agent that knows θ. Where there are no others it is V̄(b), so the search goes deep only
where that may pay.
"""

import numpy as np

from pomdplite.compile.jit import inlined, inner, kernel
from pomdplite.planners.point_based.backup import back_up, child
from pomdplite.planners.point_based.bounds import (
    WORTH,
    BoundScratch,
    ensure_expanded,
    look_ahead,
    lower_node_upper,
    update_lower,
    update_upper,
)
from pomdplite.planners.point_based.grouped_momdp import GroupedMomdp
from pomdplite.planners.point_based.tree import BINS, ROOT, SampledBeliefTree, edge_base
from pomdplite.planners.point_based.vectors import AlphaVectors


@kernel
def trial(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, epsilon: float
) -> int:
    """Sample one path, and back up its beliefs from the last to the first; its length."""
    length = sample(model, vectors, tree, scratch, epsilon)
    for i in range(length - 1, -1, -1):
        node = scratch.path[i]
        best, _ = update_bounds(model, vectors, tree, scratch, node, WORTH * epsilon)
        back_up(model, vectors, tree, scratch, node, model.first_pair[tree.state[node]] + best)
        if tree.bin[node] >= 0:
            tree.bins[tree.bin[node], 1] += tree.upper[node] - tree.bin_upper[node]
            tree.bin_upper[node] = tree.upper[node]
    return length


@inner
def sample(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, epsilon: float
) -> int:
    """Sample: one path from the root, into scratch.path; its length."""
    node, length = tree.counts[ROOT], 0
    slack = epsilon  # ε γ^-t
    L, U = tree.lower[node], tree.lower[node] + epsilon
    while True:
        best, a = update_bounds(model, vectors, tree, scratch, node, WORTH * epsilon)
        scratch.path[length] = node
        length += 1
        value = max(tree.lower[node], scratch.q_lower[best])
        if length == scratch.path.shape[0] or tree.upper[node] - value <= slack:
            break
        if predict(tree, node) <= L and tree.upper[node] <= max(U, value + slack):
            break
        L, U = max(L, value), max(U, value + slack)
        slack /= model.gamma
        outcome, L, U = choose_outcome(model, tree, node, a, L, U, slack)
        if outcome < 0:
            break
        node = child(model, tree, scratch, node, outcome)
    return length


@inner
def update_bounds(
    model: GroupedMomdp, vectors: AlphaVectors, tree: SampledBeliefTree, scratch: BoundScratch, node: int, worth: float
) -> tuple[int, int]:
    """Bring all bounds of a node up to date; argmax_a Q̲(b, a) and argmax_a Q̄(b, a), counted from the state's first."""
    ensure_expanded(model, tree, scratch, node)
    update_lower(model, vectors, tree, scratch, node)
    update_upper(model, tree, scratch, node)
    look_ahead(model, tree, scratch, node)
    x = tree.state[node]
    lower = upper = 0
    for i in range(1, model.first_pair[x + 1] - model.first_pair[x]):
        if scratch.q_lower[i] > scratch.q_lower[lower]:
            lower = i
        if scratch.q_upper[i] > scratch.q_upper[upper]:
            upper = i
    lower_node_upper(tree, node, scratch.q_upper[upper], worth)
    return lower, upper


@inner
def predict(tree: SampledBeliefTree, node: int) -> float:
    """V̂(b): the mean V̄ of the beliefs in its bin, or V̄(b) if it is the only one."""
    if tree.bin[node] < 0:
        b = tree.belief[node]
        entropy = 0.0
        for j in range(b.shape[0]):
            if b[j] > 0.0:
                entropy -= b[j] * np.log(b[j])
        scale = max(1.0, np.log(b.shape[0]))
        place = 0.5 + 0.25 * tree.corner[node] / max(abs(tree.corner[tree.counts[ROOT]]), 1e-9)
        row = int(min(BINS - 1.0, max(0.0, place * BINS)))
        tree.bin[node] = row * BINS + int(min(BINS - 1.0, entropy / scale * BINS))
        tree.bin_upper[node] = tree.upper[node]
        tree.bins[tree.bin[node], 0] += 1.0
        tree.bins[tree.bin[node], 1] += tree.upper[node]
    at = tree.bin[node]
    return tree.upper[node] if tree.bins[at, 0] < 2.0 else tree.bins[at, 1] / tree.bins[at, 0]


@inlined
def choose_outcome(
    model: GroupedMomdp, tree: SampledBeliefTree, node: int, a: int, L: float, U: float, slack: float
) -> tuple[int, float, float]:
    """e' for the state's action number a, with L and U of the next belief; -1 if every gap is below the slack."""
    x, base = tree.state[node], edge_base(model, tree, node)
    pair = model.first_pair[x] + a
    q_lower = q_upper = tree.reward[tree.first_pair[node] + a]
    most, chosen = 0.0, -1
    for outcome in range(model.first_outcome[model.first_group[x]], model.first_outcome[model.first_group[x + 1]]):
        edge = base + outcome
        if model.pair[outcome] == pair and tree.edge_chance[edge] > 0.0:
            q_lower += model.gamma * tree.edge_lower[edge]
            q_upper += model.gamma * tree.edge_upper[edge]
            excess = tree.edge_upper[edge] - tree.edge_lower[edge] - slack * tree.edge_chance[edge]
            if excess > most:
                most, chosen = excess, outcome
    if chosen < 0:
        return chosen, L, U
    edge = base + chosen
    chance = model.gamma * tree.edge_chance[edge]
    L = (L - q_lower + model.gamma * tree.edge_lower[edge]) / chance
    U = (U - q_upper + model.gamma * tree.edge_upper[edge]) / chance
    return chosen, L, U
