"""The search of DESPOT (Ye, Somani, Hsu, Lee 2017, Algorithms 1 to 5).

BuildDespot(b₀):  while ε(b₀) = μ(b₀) − ℓ(b₀) is not small and there is time:
                      b ← Explore(b₀);  Backup(b)
Explore(b):       while Δ(b) ≤ D, E(b) > 0 and not Prune(b):
                      expand b if it is a leaf
                      a* ← argmax_a μ(b, a);  b ← argmax_b' E(b') over the children b' of (b, a*)
                  if Δ(b) > D or b is pruned: MakeDefault(b);  return b
Backup(b):        for b and each of its ancestors
                      ℓ(b) ← max{ℓ₀(b), max_a ρ(b, a) + Σ_b' ℓ(b')},  μ(b) likewise
Prune(b):         whether an ancestor b' has μ(b') − ℓ₀(b') ≤ λ · (the number of nodes from b' to b): no subtree
                  there can gain what its nodes cost
MakeDefault(b):   ℓ(b), μ(b) ← ℓ₀(b)

excess uncertainty  E(b) = ε(b) − |Φ_b| / K · ξ ε(b₀)
regularized reward  ρ(b, a) = γ^Δ(b) Σ_{φ ∈ Φ_b} R(φ, a) / K − λ
"""

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Words, inlined, inner, kernel
from pomdplite.mdp.sampling import draw_hidden, simulate
from pomdplite.mdp.value_table import joint_number
from pomdplite.planners.despot.bounds import set_initial_bounds
from pomdplite.planners.despot.tables import BoundTables
from pomdplite.planners.despot.tree import (
    DEEPEST,
    FULL,
    NEXT_STATE,
    NODES,
    NOT_EXPANDED,
    OBSERVATION,
    PAIRS,
    POOL,
    STEPS,
    THETAS,
    TRIALS,
    DespotSettings,
    ScenarioTree,
    TreeScratch,
    child_for,
    has_space,
    load_scenario,
    random_number,
    theta_after,
)
from pomdplite.rng import mix

_GAP = 1e-6  # ε(b₀) at which the search ends
_END = -1  # in the place of a child: the episode is over


@kernel
def plant(
    model: KernelModel, tree: ScenarioTree, tables: BoundTables, scratch: TreeScratch, settings: DespotSettings,
    s: Words, b: Floats, random: Words,
) -> None:  # fmt: skip
    """A new tree: the root b₀ in state s[0] with K scenarios drawn from the belief b."""
    k = tree.seeds.shape[0]
    for i in range(tree.counts.shape[0]):
        tree.counts[i] = 0
    for i in range(k):
        random[0] += np.uint64(0x9E3779B97F4A7C15)
        tree.seeds[i] = mix(random[0])
        draw_hidden(model, s, b, tree.thetas, i, random)
        tree.scenario[i] = tree.theta[i] = i
        tree.joint[i] = joint_number(tables.known, tree.thetas, i)
    tree.counts[THETAS] = tree.counts[POOL] = k
    tree.counts[NODES] = 1
    for w in range(tree.x.shape[1]):
        tree.x[0, w] = s[0, w]
    tree.parent[0], tree.depth[0], tree.phi[0], tree.phi_size[0] = -1, 0, 0, k
    tree.first_pair[0], tree.pairs[0] = NOT_EXPANDED, 0
    set_initial_bounds(model, tree, tables, scratch, settings, 0)


@kernel
def build_despot(
    model: KernelModel, tree: ScenarioTree, tables: BoundTables, scratch: TreeScratch, settings: DespotSettings,
    trials: int, expansions: int,
) -> bool:  # fmt: skip
    """BuildDespot: run trials until so many nodes have been expanded; return whether something is left to search."""
    for _ in range(trials):
        if tree.mu[0] - tree.l[0] <= _GAP or tree.counts[FULL] == 1:
            return False
        length, expansions = explore(model, tree, tables, scratch, settings, expansions)
        if abi.faulty(model):
            return False
        back_up_path(tree, scratch, length)
        tree.counts[TRIALS] += 1
        tree.counts[DEEPEST] = max(tree.counts[DEEPEST], length - 1)
        if expansions == 0:
            break
    return True


@inlined
def explore(
    model: KernelModel, tree: ScenarioTree, tables: BoundTables, scratch: TreeScratch, settings: DespotSettings,
    expansions: int,
) -> tuple[int, int]:  # fmt: skip
    """Explore: one path from the root, into scratch.path; its length, and the expansions left."""
    node, length = 0, 0
    while node >= 0:
        scratch.path[length] = node
        length += 1
        if tree.depth[node] >= settings.search_depth or pruned(tree, scratch, length, settings.pruning):
            make_default(tree, node)
            break
        if tree.first_pair[node] == NOT_EXPANDED:
            if expansions == 0:
                break
            expansions -= 1
            expand(model, tree, tables, scratch, settings, node)
            if tree.first_pair[node] == NOT_EXPANDED:  # there was no space, or the model has a fault
                break
        node = most_uncertain_child(tree, best_pair(tree, node), settings.xi)
    return length, expansions


@inlined
def best_pair(tree: ScenarioTree, node: int) -> int:
    """a* = argmax_a μ(b, a)."""
    best, chosen = -np.inf, -1
    for pair in range(tree.first_pair[node], tree.first_pair[node] + tree.pairs[node]):
        if tree.pair_mu[pair] > best:
            best, chosen = tree.pair_mu[pair], pair
    return chosen


@inlined
def most_uncertain_child(tree: ScenarioTree, pair: int, xi: float) -> int:
    """argmax_b' E(b') over the children of a pair, -1 if none has E(b') > 0."""
    most, chosen = 0.0, -1
    for child in range(tree.first_child[pair], tree.first_child[pair] + tree.children[pair]):
        excess = excess_uncertainty(tree, child, xi)
        if excess > most:
            most, chosen = excess, child
    return chosen


@inlined
def excess_uncertainty(tree: ScenarioTree, node: int, xi: float) -> float:
    """E(b) = ε(b) − |Φ_b| / K · ξ ε(b₀)."""
    root_gap = tree.mu[0] - tree.l[0]
    return tree.mu[node] - tree.l[node] - tree.phi_size[node] / tree.phi_size[0] * xi * root_gap


@inlined
def pruned(tree: ScenarioTree, scratch: TreeScratch, length: int, pruning: float) -> bool:
    """Prune: whether some node b' on the path has μ(b') − ℓ₀(b') ≤ λ · (the number of nodes from b' on)."""
    if pruning > 0.0:
        for i in range(length):
            node = scratch.path[i]
            if tree.mu[node] - tree.l_0[node] <= pruning * (length - i):
                return True
    return False


@inlined
def make_default(tree: ScenarioTree, node: int) -> None:
    """MakeDefault: ℓ(b), μ(b) ← ℓ₀(b)."""
    tree.l[node] = tree.mu[node] = tree.l_0[node]


@inlined
def back_up_path(tree: ScenarioTree, scratch: TreeScratch, length: int) -> None:
    """Backup: the bounds of the path's nodes and pairs, from the last to the root."""
    for i in range(length - 1, -1, -1):
        node = scratch.path[i]
        if tree.first_pair[node] != NOT_EXPANDED:
            back_up(tree, node)
        if tree.parent[node] >= 0:
            back_up_pair(tree, tree.parent[node])


@inlined
def back_up(tree: ScenarioTree, node: int) -> None:
    """ℓ(b) = max{ℓ₀(b), max_a ℓ(b, a)} and μ(b) = max{ℓ₀(b), max_a μ(b, a)}, neither looser than before."""
    lower = upper = tree.l_0[node]
    for pair in range(tree.first_pair[node], tree.first_pair[node] + tree.pairs[node]):
        lower, upper = max(lower, tree.pair_l[pair]), max(upper, tree.pair_mu[pair])
    tree.l[node] = max(tree.l[node], lower)
    tree.mu[node] = max(min(tree.mu[node], upper), tree.l[node])


@inlined
def back_up_pair(tree: ScenarioTree, pair: int) -> None:
    """ℓ(b, a) = ρ(b, a) + Σ_b' ℓ(b') and μ(b, a) = ρ(b, a) + Σ_b' μ(b')."""
    lower = upper = tree.rho[pair]
    for child in range(tree.first_child[pair], tree.first_child[pair] + tree.children[pair]):
        lower += tree.l[child]
        upper += tree.mu[child]
    tree.pair_l[pair], tree.pair_mu[pair] = lower, upper


@inner
def expand(
    model: KernelModel, tree: ScenarioTree, tables: BoundTables, scratch: TreeScratch, settings: DespotSettings,
    node: int,
) -> None:  # fmt: skip
    """Take every legal action on every scenario of the node, and give it the children to which they lead.

    The node stays a leaf if there is no space, or if the model has a fault.
    """
    if not has_space(model, tree, node):
        tree.counts[FULL] = 1
        return
    weight = settings.gamma ** tree.depth[node] / tree.seeds.shape[0]
    first = tree.counts[PAIRS]
    for a in range(model.actions):
        if not abi.legal(model, tree.x, node, a):
            continue
        pair = tree.counts[PAIRS]
        total, children = step_scenarios(model, tree, tables, scratch, node, a)
        if abi.faulty(model):
            return
        tree.action[pair], tree.rho[pair] = a, weight * total - settings.pruning
        add_children(tree, scratch, node, pair, children)
        for child in range(tree.first_child[pair], tree.first_child[pair] + children):
            set_initial_bounds(model, tree, tables, scratch, settings, child)
        back_up_pair(tree, pair)
        tree.counts[PAIRS] = pair + 1
    tree.first_pair[node], tree.pairs[node] = first, tree.counts[PAIRS] - first
    back_up(tree, node)


@inlined
def step_scenarios(
    model: KernelModel, tree: ScenarioTree, tables: BoundTables, scratch: TreeScratch, node: int, a: int
) -> tuple[float, int]:
    """Take an action on every scenario of the node and sort them by what follows, into `scratch`.

    The sum of the rewards, and the number of children.
    """
    out, depth, first = scratch.outcomes, tree.depth[node], tree.counts[NODES]
    total, children = 0.0, 0
    for i in range(tree.phi_size[node]):
        at = tree.phi[node] + i
        load_scenario(tree, scratch, node, at)
        u = random_number(tree, tree.scenario[at], depth, NEXT_STATE)
        v = random_number(tree, tree.scenario[at], depth, OBSERVATION)
        j, o, reward = simulate(model, scratch.x, scratch.theta, a, u, v, out)
        total += reward
        tree.counts[STEPS] += 1
        scratch.child[i] = _END
        if abi.terminal(model, out.y, j):
            continue
        scratch.next_theta[i] = theta_after(tree, tables, tree.theta[at], out.theta)
        c = child_for(tree, first, children, out.y, j, o)
        if c == children:
            children += 1
            scratch.members[c] = 0
        scratch.child[i] = c
        scratch.members[c] += 1
    return total, children


@inlined
def add_children(tree: ScenarioTree, scratch: TreeScratch, node: int, pair: int, children: int) -> None:
    """Make nodes of the children that `step_scenarios` found, and hand them their scenarios."""
    first = tree.counts[NODES]
    tree.first_child[pair], tree.children[pair] = first, children
    tree.counts[NODES] = first + children
    for c in range(children):
        child = first + c
        tree.parent[child], tree.depth[child], tree.phi_size[child] = pair, tree.depth[node] + 1, 0
        tree.first_pair[child], tree.pairs[child] = NOT_EXPANDED, 0
        tree.phi[child] = tree.counts[POOL]
        tree.counts[POOL] += scratch.members[c]
    for i in range(tree.phi_size[node]):
        if scratch.child[i] != _END:
            child = first + scratch.child[i]
            at = tree.phi[child] + tree.phi_size[child]
            tree.scenario[at] = tree.scenario[tree.phi[node] + i]
            tree.theta[at] = scratch.next_theta[i]
            tree.phi_size[child] += 1
