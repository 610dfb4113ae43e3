"""G_PF(m) of PFT-DPW: from a belief and an action to the next belief and the mean reward.

    s ∈ b,  (s', o) ~ G(s, a),  b' ← b weighed by the likelihood of o,  r ← Σ b(s) R(s, a)

A state s is (x, θ), and all particles of a belief share its x; the likelihood is p(y | x, θ, a) p(z | y, θ', a). θ does
not change by chance, so resampling would only lose values of θ: particles keep their weights instead.

The belief of the real history is the planner's own. Where it has at most m values these are the particles; else m are
drawn anew for each child, evenly spread over the probabilities (systematic sampling) if θ has one component. The value
from whose simulation the outcome comes is one of them. The mean reward there is that of the planner's belief.
"""

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inlined, inner
from pomdplite.mdp.outcomes import present_row
from pomdplite.mdp.sampling import draw_hidden, pick_from
from pomdplite.mdp.weighing import observation_log_probability, transition_log_probability
from pomdplite.planners.monte_carlo.simulation import SearchRoot, Simulation, draw_state
from pomdplite.planners.pft_dpw.tree import FilterTree
from pomdplite.rng import uniform


@inner
def set_root_rewards(model: KernelModel, tree: FilterTree, root: SearchRoot) -> None:
    """R(b, x, a) of the real history for every action that is legal there."""
    for a in range(model.actions):
        tree.root_reward[a] = 0.0
        if abi.legal(model, root.s, 0, a):
            component = abi.depends(model, root.s, 0, a)
            for row in range(model.offsets[component], model.offsets[component + 1]):
                if root.b[row] > 0.0:
                    now = present_row(model, root.s, 0, component, row)
                    tree.root_reward[a] += root.b[row] * abi.reward(model, root.s, 0, model.theta, now, a)


@inlined
def draw_from_belief(model: KernelModel, tree: FilterTree, root: SearchRoot, simulation: Simulation, node: int) -> None:
    """s ∈ b: continue the simulation from a node, with a θ drawn from its belief."""
    if node == 0:
        draw_state(model, root, simulation)
        return
    for w in range(simulation.x.shape[1]):
        simulation.x[0, w] = tree.wide.outcome[node, w]
    for w in range(simulation.memory.shape[1]):
        simulation.memory[1, w] = tree.memory[node, w]
    draw_theta(tree, simulation, node)


@inlined
def draw_theta(tree: FilterTree, simulation: Simulation, node: int) -> None:
    """Draw θ from the particles of a node."""
    first = node * tree.log.shape[0]
    place = first + pick_from(tree.weight, first, tree.size[node], uniform(simulation.random))
    for w in range(simulation.theta.shape[1]):
        simulation.theta[0, w] = tree.theta[place, w]


@inner
def draw_root_particles(model: KernelModel, tree: FilterTree, root: SearchRoot, simulation: Simulation) -> None:
    """The particles of node 0: all values if there are at most m, else m draws, the simulation's θ among them."""
    m, none, possible = tree.log.shape[0], model.offsets.shape[0] - 2, 0
    if none == 1:
        for row in range(model.offsets[0], model.offsets[1]):
            possible += 1 if root.b[row] > 0.0 else 0
        if possible <= m:
            list_root_particles(model, tree, root)
            return
    tree.size[0] = m
    for w in range(tree.theta.shape[1]):
        tree.theta[0, w] = simulation.theta[0, w]
    for k in range(m):
        tree.weight[k] = 1.0 / m
    if none > 1:
        for k in range(1, m):
            draw_hidden(model, root.s, root.b, tree.theta, k, simulation.random)
        return
    row, total = model.offsets[0], root.b[model.offsets[0]]
    start = uniform(simulation.random)
    for k in range(1, m):
        while total <= (k - 1 + start) / (m - 1) and row + 1 < model.offsets[1]:
            row += 1
            total += root.b[row]
        now = present_row(model, root.s, 0, 0, row)
        for w in range(tree.theta.shape[1]):
            tree.theta[k, w] = model.theta[now, w]


@inlined
def list_root_particles(model: KernelModel, tree: FilterTree, root: SearchRoot) -> None:
    """Every value of θ that the belief holds possible, with its probability."""
    k = 0
    for row in range(model.offsets[0], model.offsets[1]):
        if root.b[row] > 0.0:
            now = present_row(model, root.s, 0, 0, row)
            for w in range(tree.theta.shape[1]):
                tree.theta[k, w] = model.theta[now, w]
            tree.weight[k] = root.b[row]
            k += 1
    tree.size[0] = k


@inner
def filter_particles(
    model: KernelModel, tree: FilterTree, simulation: Simulation, node: int, child: int, a: int
) -> None:  # fmt: skip
    """b' and r: weigh the particles of a node, from which a led to the outcome of the child. x is the simulation's."""
    out, wide, m = simulation.outcomes, tree.wide, tree.log.shape[0]
    highest, reward = -np.inf, 0.0
    for k in range(tree.size[node]):
        here, there = node * m + k, child * m + k
        for w in range(tree.theta.shape[1]):
            out.past[0, w] = out.theta[0, w] = tree.theta[here, w]
        reward += tree.weight[here] * abi.reward(model, simulation.x, 0, out.past, 0, a)
        if model.evolves:
            abi.evolve(model, simulation.x, 0, out.past, 0, a, out.theta)
        log = transition_log_probability(model, simulation.x, 0, a, wide.outcome, child, out)
        if log > -np.inf:
            log += observation_log_probability(model, wide.outcome, child, out.theta, a, wide.o[child], out)
        tree.log[k] = log + np.log(tree.weight[here])
        highest = max(highest, tree.log[k])
        for w in range(tree.theta.shape[1]):
            tree.theta[there, w] = out.theta[0, w]
    tree.reward[child] = tree.root_reward[a] if node == 0 else reward
    keep_possible(tree, child, tree.size[node], highest)


@inlined
def keep_possible(tree: FilterTree, child: int, count: int, highest: float) -> None:
    """Normalise the weights of a new belief, and drop particles without weight."""
    first, kept, total = child * tree.log.shape[0], 0, 0.0
    for k in range(count):
        weight = np.exp(tree.log[k] - highest) if highest > -np.inf else 1.0
        if weight > 0.0:
            for w in range(tree.theta.shape[1]):
                tree.theta[first + kept, w] = tree.theta[first + k, w]
            tree.weight[first + kept] = weight
            total += weight
            kept += 1
    for k in range(kept):
        tree.weight[first + k] /= total
    tree.size[child] = kept
