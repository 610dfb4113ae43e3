"""Simulate of PFT-DPW (Sunberg and Kochenderfer 2018, Algorithm 3).

    Simulate(b, d):  a ← ActionProgWiden(b)
                     if |C(ba)| ≤ k_o N(ba)^α_o: (b', r) ← G_PF(m)(b, a);  C(ba) ← C(ba) ∪ {(b', r)}
                                                 total ← r + γ Rollout(b', d − 1)
                     else: (b', r) ∈ C(ba) at random;  total ← r + γ Simulate(b', d − 1)
                     N(b) ← N(b) + 1,  N(ba) ← N(ba) + 1,  Q(ba) ← Q(ba) + (total − Q(ba)) / N(ba)

A belief is known by the outcome (y, z) that led to it. One that is drawn again is the same child, and the simulation
goes on from it. Going down the tree simulates nothing: particles are weighed when a belief is new.
"""

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inlined, kernel
from pomdplite.planners.monte_carlo.leaves import HEURISTIC, leaf_value, needs_rollout
from pomdplite.planners.monte_carlo.nodes import SIMULATIONS, add_node, back_up
from pomdplite.planners.monte_carlo.simulation import SearchRoot, Simulation, arrive, draw_state, rollout, take_step
from pomdplite.planners.monte_carlo.widening import (
    WideningSettings,
    add_outcome,
    choose_pair,
    count_outcome,
    draw_outcome,
    find_outcome,
    open_node,
    widens,
)
from pomdplite.planners.pft_dpw.filter import (
    draw_from_belief,
    draw_root_particles,
    draw_theta,
    filter_particles,
    set_root_rewards,
)
from pomdplite.planners.pft_dpw.tree import FilterTree

_NO_SPACE = -1


@kernel
def plant(model: KernelModel, tree: FilterTree, root: SearchRoot, simulation: Simulation) -> None:
    """A new tree with the real history as its only node."""
    draw_state(model, root, simulation)
    tree.wide.nodes.counts[:] = 0
    open_node(model, tree.wide, add_node(model, tree.wide.nodes), simulation)
    set_root_rewards(model, tree, root)


@kernel
def search(
    model: KernelModel, tree: FilterTree, root: SearchRoot, simulation: Simulation, settings: WideningSettings,
    simulations: int,
) -> None:  # fmt: skip
    """Run simulations, until the model has a fault."""
    for _ in range(simulations):
        simulate(model, tree, root, simulation, settings)
        if abi.faulty(model):
            return
        tree.wide.nodes.counts[SIMULATIONS] += 1


@inlined
def simulate(
    model: KernelModel, tree: FilterTree, root: SearchRoot, simulation: Simulation, settings: WideningSettings
) -> None:  # fmt: skip
    """Simulate(b, 0) from the root, and the value of the belief where it leaves the tree."""
    wide, node, depth, new = tree.wide, 0, 0, False
    while not new and depth < settings.search_depth and not abi.faulty(model):
        pair = choose_pair(wide, node, settings, simulation.random)
        simulation.path[depth, 0], simulation.path[depth, 1] = node, pair
        if widens(wide, pair, settings):
            node, new = next_belief(model, tree, root, simulation, node, pair, depth)
        else:
            node = draw_outcome(wide, pair, simulation.random)
        if node != _NO_SPACE:
            simulation.reward[depth] = tree.reward[node]
        depth += 1
        if node != _NO_SPACE and wide.nodes.pairs[node] == 0:  # the episode is over
            break
    in_tree, leaf = depth, 0.0
    if new and depth < settings.search_depth:
        if node == _NO_SPACE or wide.nodes.pairs[node] > 0:
            depth, leaf = value_leaf(model, tree, simulation, settings, node, depth)
    back_up(wide.nodes, simulation, depth, in_tree, settings.gamma, leaf)


@inlined
def next_belief(
    model: KernelModel, tree: FilterTree, root: SearchRoot, simulation: Simulation, node: int, pair: int, depth: int
) -> tuple[int, bool]:  # fmt: skip
    """(b', r) ← G_PF(m)(b, a): the child, with its mean reward, and whether it is new."""
    wide, out, a = tree.wide, simulation.outcomes, int(tree.wide.nodes.action[pair])
    draw_from_belief(model, tree, root, simulation, node)
    i, o = take_step(model, simulation, a, depth)
    child = find_outcome(wide, pair, out.y, i, o)
    if child >= 0:
        count_outcome(wide, pair, child)
        return child, False
    child = add_outcome(model, wide, pair, out.y, i, o)
    if child < 0:
        arrive(model, simulation, a, out.y, i, o)
        return _NO_SPACE, True
    count_outcome(wide, pair, child)
    if node == 0:
        draw_root_particles(model, tree, root, simulation)
    filter_particles(model, tree, simulation, node, child, a)
    arrive(model, simulation, a, wide.outcome, child, o)
    for w in range(tree.memory.shape[1]):
        tree.memory[child, w] = simulation.memory[1, w]
    if not abi.terminal(model, simulation.x, 0):
        open_node(model, wide, child, simulation)
    return child, True


@inlined
def value_leaf(
    model: KernelModel, tree: FilterTree, simulation: Simulation, settings: WideningSettings, node: int, depth: int
) -> tuple[int, float]:  # fmt: skip
    """The depth up to which a rollout has rewards, and the value there: the mean over the particles of a new belief."""
    if node != _NO_SPACE:
        draw_theta(tree, simulation, node)
    if needs_rollout(model, settings.leaves, simulation):
        return rollout(model, simulation, depth, settings.search_depth), 0.0
    if node == _NO_SPACE or settings.leaves.kind == HEURISTIC:
        return depth, leaf_value(model, settings.leaves, simulation)
    first, leaf = node * tree.log.shape[0], 0.0
    for k in range(tree.size[node]):
        for w in range(simulation.theta.shape[1]):
            simulation.theta[0, w] = tree.theta[first + k, w]
        leaf += tree.weight[first + k] * leaf_value(model, settings.leaves, simulation)
    return depth, leaf
