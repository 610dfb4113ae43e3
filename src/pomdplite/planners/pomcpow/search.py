"""Simulate of POMCPOW (Sunberg and Kochenderfer 2018, Algorithm 2).

    Simulate(s, h, d):  a ← ActionProgWiden(h)
                        (s', o, r) ~ G(s, a)
                        if |C(ha)| ≤ k_o N(ha)^α_o: M(hao) ← M(hao) + 1
                        else: o ∈ C(ha) with probability M(hao) / Σ_o M(hao)
                        append s' to B(hao), and Z(o | s, a, s') to W(hao)
                        if o ∉ C(ha): C(ha) ← C(ha) ∪ {o};  total ← r + γ Rollout(s', hao, d − 1)
                        else: s' ∈ B(hao) with probability W / ΣW;  total ← r + γ Simulate(s', hao, d − 1)
                        N(h) ← N(h) + 1,  N(ha) ← N(ha) + 1,  Q(ha) ← Q(ha) + (total − Q(ha)) / N(ha)

A state s is (x, θ), and x is observed: in place of o stands the outcome (y, z) of next state and observation, in place
of s' the value θ' in y, and in place of Z the weight p(y | x, θ, a) p(z | y, θ', a).

Where outcomes repeat, one thing differs: the simulation goes on from an outcome that is drawn in proportion to M(hao)
even while there is room for more. The paper lets it go on from its own outcome, which with readings is always new. An
outcome that repeats would then collect the values of θ that led to it, and weigh them by their likelihood once more.
"""

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inlined, kernel
from pomdplite.mdp.weighing import observation_log_probability, transition_log_probability
from pomdplite.planners.monte_carlo.leaves import leaf_value, needs_rollout
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
from pomdplite.planners.pomcpow.tree import ParticleTree, add_particle, draw_particle


@kernel
def plant(model: KernelModel, tree: ParticleTree, root: SearchRoot, simulation: Simulation) -> None:
    """A new tree with the real history as its only node; simulations draw from the belief there."""
    draw_state(model, root, simulation)
    tree.wide.nodes.counts[:] = 0
    tree.used[0] = 0
    open_node(model, tree.wide, add_node(model, tree.wide.nodes), simulation)


@kernel
def search(
    model: KernelModel, tree: ParticleTree, root: SearchRoot, simulation: Simulation, settings: WideningSettings,
    simulations: int,
) -> None:  # fmt: skip
    """Run simulations, until the model has a fault."""
    for _ in range(simulations):
        draw_state(model, root, simulation)
        simulate(model, tree, simulation, settings)
        if abi.faulty(model):
            return
        tree.wide.nodes.counts[SIMULATIONS] += 1


@inlined
def simulate(model: KernelModel, tree: ParticleTree, simulation: Simulation, settings: WideningSettings) -> None:
    """Simulate(s, h, 0) from the root, and the value of the leaf where it leaves the tree."""
    wide, out = tree.wide, simulation.outcomes
    node, depth, new, over = 0, 0, False, False
    while not new and not over and depth < settings.search_depth and not abi.faulty(model):
        pair = choose_pair(wide, node, settings, simulation.random)
        a = int(wide.nodes.action[pair])
        simulation.path[depth, 0], simulation.path[depth, 1] = node, pair
        i, o = take_step(model, simulation, a, depth)
        depth += 1
        if widens(wide, pair, settings):
            node = find_outcome(wide, pair, out.y, i, o)
            if node < 0:
                node, new = add_outcome(model, wide, pair, out.y, i, o), True
                if node < 0:  # no space: the leaf is valued all the same
                    arrive(model, simulation, a, out.y, i, o)
                    over = abi.terminal(model, simulation.x, 0)
                    break
                tree.size[node], tree.room[node] = 0, 0
            count_outcome(wide, pair, node)
        if not new:
            node = draw_outcome(wide, pair, simulation.random)
        log_weight = outcome_log_weight(model, tree, node, simulation, a)
        arrive(model, simulation, a, wide.outcome, node, wide.o[node])
        over = abi.terminal(model, simulation.x, 0)
        if over:
            break
        add_particle(tree, node, simulation.theta, log_weight)
        if new:
            open_node(model, wide, node, simulation)
        else:
            draw_particle(tree, node, simulation.theta, simulation.random)
    in_tree, leaf = depth, 0.0
    if not over and depth < settings.search_depth:
        if needs_rollout(model, settings.leaves, simulation):
            depth = rollout(model, simulation, depth, settings.search_depth)
        else:
            leaf = leaf_value(model, settings.leaves, simulation)
    back_up(wide.nodes, simulation, depth, in_tree, settings.gamma, leaf)


@inlined
def outcome_log_weight(model: KernelModel, tree: ParticleTree, node: int, simulation: Simulation, a: int) -> float:
    """log p(y | x, θ, a) + log p(z | y, θ', a) for the outcome of a node and the step that was just simulated."""
    out, wide = simulation.outcomes, tree.wide
    for w in range(simulation.theta.shape[1]):
        out.past[0, w] = simulation.theta[0, w]
    log = transition_log_probability(model, simulation.x, 0, a, wide.outcome, node, out)
    return log + observation_log_probability(model, wide.outcome, node, out.theta, a, wide.o[node], out)
