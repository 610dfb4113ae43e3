"""Search, Simulate and Rollout of POMCP (Silver and Veness 2010, Algorithm 1).

    Search(h):             repeat: s ~ B(h), Simulate(s, h, 0)
    Simulate(s, h, depth): if h ∉ T: add h and its actions to T; return Rollout(s, h, depth)
                           a ← argmax_b V(hb) + c √(log N(h) / N(hb))
                           (s', o, r) ~ G(s, a)
                           R ← r + γ Simulate(s', hao, depth + 1)
                           N(h) ← N(h) + 1,  N(ha) ← N(ha) + 1,  V(ha) ← V(ha) + (R − V(ha)) / N(ha)
                           return R
    Rollout(s, h, depth):  a ~ π_rollout(h, ·), (s', o, r) ~ G(s, a), return r + γ Rollout(s', hao, depth + 1)

A leaf may have a better value than a rollout's (monte_carlo/leaves.py).

A state s is (x, θ), and x is observed, so a history continues with (x', o). Two details follow the authors' program
rather than the paper: a history enters the tree when it is met for the second time, and rollouts draw only from the
actions that the model prefers. In the tree, preferred actions get a head start: the other actions are considered
once each preferred one has been tried ten times on average. (The program starts them with ten tries of a fixed value
instead, which helps only if that value fits the scale of the returns.)
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Small, Words, inlined, kernel
from pomdplite.planners.monte_carlo.leaves import LeafValues, leaf_value, needs_rollout
from pomdplite.planners.monte_carlo.nodes import LOGGED, SIMULATIONS, SearchNodes, back_up, ucb1_pair
from pomdplite.planners.monte_carlo.simulation import (
    SearchRoot,
    Simulation,
    arrive,
    draw_state,
    rollout,
    take_step,
)
from pomdplite.planners.pomcp.tree import HistoryTree, add_history, find_history


class SearchSettings(NamedTuple):
    """The constants of Simulate."""

    c: float  # of the UCB1 rule
    gamma: float
    search_depth: int  # steps of a simulation
    leaves: LeafValues


class FirstSteps(NamedTuple):
    """The first step of each simulation: the particle, and what followed. The next belief is made of these."""

    particle: Small
    action: Small
    y: Words  # [step, x_words]
    o: Small


def allocate_first_steps(model: KernelModel, steps: int) -> FirstSteps:
    """Space for so many steps; later ones replace the earliest."""
    return FirstSteps(
        particle=np.zeros(steps, np.int32),
        action=np.zeros(steps, np.int32),
        y=np.zeros((steps, model.x_words), np.uint64),
        o=np.zeros(steps, np.int32),
    )


@kernel
def search(
    model: KernelModel, tree: HistoryTree, root: SearchRoot, simulation: Simulation, first_steps: FirstSteps,
    settings: SearchSettings, simulations: int,
) -> None:  # fmt: skip
    """Search(h): run simulations, until the model has a fault."""
    for _ in range(simulations):
        particle = draw_state(model, root, simulation)
        simulate(model, tree, root, simulation, first_steps, settings, particle)
        if abi.faulty(model):
            return
        tree.nodes.counts[SIMULATIONS] += 1


@inlined
def simulate(
    model: KernelModel, tree: HistoryTree, root: SearchRoot, simulation: Simulation, first_steps: FirstSteps,
    settings: SearchSettings, particle: int,
) -> None:  # fmt: skip
    """Simulate(s, h, 0), and the value of the leaf where it leaves the tree."""
    nodes, out = tree.nodes, simulation.outcomes
    node, depth, over = root.node, 0, False
    while node >= 0 and depth < settings.search_depth and not abi.faulty(model):
        pair = ucb1_pair(nodes, node, settings.c, np.inf, simulation.random)
        a = int(nodes.action[pair])
        simulation.path[depth, 0], simulation.path[depth, 1] = node, pair
        i, o = take_step(model, simulation, a, depth)
        depth += 1
        if depth == 1 and root.b.shape[0] == 0:
            log_first_step(nodes, first_steps, particle, a, out.y, i, o)
        arrive(model, simulation, a, out.y, i, o)
        over = abi.terminal(model, simulation.x, 0)
        if over:
            break
        node = find_history(tree, pair, simulation.x, o)
        if node < 0 and nodes.tries[pair] > 0:
            abi.preferred(model, simulation.x, 0, simulation.memory, 1, simulation.preferred)
            node = add_history(model, tree, pair, simulation.x, o, simulation.preferred)
    in_tree, leaf = depth, 0.0
    if not over and depth < settings.search_depth:
        if needs_rollout(model, settings.leaves, simulation):
            depth = rollout(model, simulation, depth, settings.search_depth)
        else:
            leaf = leaf_value(model, settings.leaves, simulation)
    back_up(nodes, simulation, depth, in_tree, settings.gamma, leaf)


@inlined
def log_first_step(
    nodes: SearchNodes, first_steps: FirstSteps, particle: int, a: int, y: Words, i: int, o: int
) -> None:  # fmt: skip
    """Record that the particle's simulation led from the root by a to (y[i], o)."""
    at = nodes.counts[LOGGED] % first_steps.action.shape[0]
    first_steps.particle[at], first_steps.action[at], first_steps.o[at] = particle, a, o
    for w in range(first_steps.y.shape[1]):
        first_steps.y[at, w] = y[i, w]
    nodes.counts[LOGGED] += 1
