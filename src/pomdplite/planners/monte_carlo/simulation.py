"""The state of a running simulation, draws of θ from the belief at the root, and rollouts."""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.mdp.sampling import draw_hidden
from pomdplite.mdp.sampling import simulate as simulate_step
from pomdplite.rng import uniform

_DRAWS = 4  # attempts to draw a preferred action before they are counted


class SearchRoot(NamedTuple):
    """The real history, from which every simulation starts, and its belief B(h)."""

    node: int
    s: Words  # [1, s_words] x, and the maps of a changing θ
    b: Floats  # the belief about θ; empty if particles represent it
    particles: Words  # [particle, theta_words] draws of the present θ; not used with b


class Simulation(NamedTuple):
    """The state of the running simulation, and space for its steps."""

    x: Words  # [1, x_words]
    theta: Words  # [1, theta_words]
    memory: Words  # [2, h_words] what the model remembers after the real history, and after the simulated one
    preferred: Floats  # [action] 1 for the actions that the model prefers
    path: Ints  # [depth, 2] the nodes and pairs passed in the tree
    reward: Floats  # [depth]
    outcomes: Outcomes
    random: Words  # [1] the stream of random numbers


def allocate_simulation(model: KernelModel, search_depth: int) -> Simulation:
    """Space for a simulation."""
    return Simulation(
        x=np.zeros((1, model.x_words), np.uint64),
        theta=np.zeros((1, model.theta.shape[1]), np.uint64),
        memory=np.zeros((2, model.h_words), np.uint64),
        preferred=np.zeros(model.actions),
        path=np.zeros((search_depth + 1, 2), np.int64),
        reward=np.zeros(search_depth + 1),
        outcomes=allocate_outcomes(model, max(2, model.next_states)),
        random=np.zeros(1, np.uint64),
    )


@inlined
def draw_state(model: KernelModel, root: SearchRoot, simulation: Simulation) -> int:
    """s ~ B(h); the number of the particle drawn, 0 if the belief has none."""
    particle = 0
    if root.b.shape[0] > 0:
        draw_hidden(model, root.s, root.b, simulation.theta, 0, simulation.random)
    else:
        particle = int(uniform(simulation.random) * root.particles.shape[0])
        for w in range(simulation.theta.shape[1]):
            simulation.theta[0, w] = root.particles[particle, w]
    for w in range(simulation.x.shape[1]):
        simulation.x[0, w] = root.s[0, w]
    for w in range(simulation.memory.shape[1]):
        simulation.memory[1, w] = simulation.memory[0, w]
    return particle


@inlined
def take_step(model: KernelModel, simulation: Simulation, a: int, depth: int) -> tuple[int, int]:
    """(s', o, r) ~ G(s, a): the row of y in the outcomes, and o; θ' is there, too, and r in reward[depth].

    The simulation itself stays in s until `arrive`.
    """
    u, v = uniform(simulation.random), uniform(simulation.random)
    i, o, reward = simulate_step(model, simulation.x, simulation.theta, a, u, v, simulation.outcomes)
    simulation.reward[depth] = reward
    return i, o


@inlined
def arrive(model: KernelModel, simulation: Simulation, a: int, y: Words, j: int, o: int) -> None:
    """Continue in y[j], where o was observed or the reading behind y[j] was taken; θ' is that of the outcomes."""
    abi.remember(model, simulation.x, a, y, j, o, simulation.memory, 1)
    for w in range(simulation.x.shape[1]):
        simulation.x[0, w] = y[j, w]
    for w in range(simulation.theta.shape[1]):
        simulation.theta[0, w] = simulation.outcomes.theta[0, w]


@inlined
def rollout(model: KernelModel, simulation: Simulation, depth: int, search_depth: int) -> int:
    """Rollout(s, h, depth) until the episode or the search depth ends; the depth reached, with rewards up to it."""
    while depth < search_depth and not abi.faulty(model):
        a = rollout_action(model, simulation)
        i, o = take_step(model, simulation, a, depth)
        depth += 1
        arrive(model, simulation, a, simulation.outcomes.y, i, o)
        if abi.terminal(model, simulation.x, 0):
            break
    return depth


@inlined
def rollout_action(model: KernelModel, simulation: Simulation) -> int:
    """a ~ π_rollout: uniform over the preferred actions; else the model's policy, or uniform over the legal actions."""
    if model.functions[abi.PREFERRED] == 0:
        return abi.policy(model, simulation.x, 0, uniform(simulation.random))
    count = abi.preferred(model, simulation.x, 0, simulation.memory, 1, simulation.preferred)
    for _ in range(_DRAWS if _DRAWS * count > model.actions else 0):  # faster where many are preferred
        a = int(uniform(simulation.random) * model.actions)
        if simulation.preferred[a] > 0.0:
            return a
    left = int(uniform(simulation.random) * count)
    for a in range(model.actions):
        if simulation.preferred[a] > 0.0:
            if left == 0:
                return a
            left -= 1
    return -1
