"""Search, Simulate and Rollout of POMCP (Silver and Veness 2010, Algorithm 1).

    Search(h):             repeat: s ~ B(h), Simulate(s, h, 0)
    Simulate(s, h, depth): if h ∉ T: add h and its actions to T; return Rollout(s, h, depth)
                           a ← argmax_b V(hb) + c √(log N(h) / N(hb))
                           (s', o, r) ~ G(s, a)
                           R ← r + γ Simulate(s', hao, depth + 1)
                           N(h) ← N(h) + 1,  N(ha) ← N(ha) + 1,  V(ha) ← V(ha) + (R − V(ha)) / N(ha)
                           return R
    Rollout(s, h, depth):  a ~ π_rollout(h, ·), (s', o, r) ~ G(s, a), return r + γ Rollout(s', hao, depth + 1)

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
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.mdp.sampling import draw_hidden
from pomdplite.mdp.sampling import simulate as simulate_step
from pomdplite.planners.pomcp.tree import DEEPEST, LOGGED, SIMULATIONS, STEPS, HistoryTree, add_history, find_history
from pomdplite.rng import uniform

PREFERRED_TRIES = 10  # of each preferred action before the others are considered
_DRAWS = 4  # attempts to draw a preferred action before they are counted


class SearchRoot(NamedTuple):
    """The real history, from which every simulation starts, and its belief B(h)."""

    node: int
    s: Words  # [1, s_words] x, and the maps of a changing θ
    b: Floats  # the belief about θ; empty if particles represent it
    particles: Words  # [particle, theta_words] draws of the present θ; not used with b


class SearchSettings(NamedTuple):
    """The constants of Simulate."""

    c: float  # of the UCB1 rule
    gamma: float
    search_depth: int  # steps of a simulation


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


class FirstSteps(NamedTuple):
    """The first step of each simulation: the particle, and what followed. The next belief is made of these."""

    particle: Small
    action: Small
    y: Words  # [step, x_words]
    o: Small


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
        tree.counts[SIMULATIONS] += 1


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
def simulate(
    model: KernelModel, tree: HistoryTree, root: SearchRoot, simulation: Simulation, first_steps: FirstSteps,
    settings: SearchSettings, particle: int,
) -> None:  # fmt: skip
    """Simulate(s, h, 0), and Rollout from where it leaves the tree."""
    out = simulation.outcomes
    node, depth, in_tree = root.node, 0, 0
    while depth < settings.search_depth and not abi.faulty(model):
        pair = -1
        if node >= 0:
            pair = ucb1_pair(tree, node, settings.c, simulation.random)
            a = int(tree.action[pair])
            simulation.path[in_tree, 0], simulation.path[in_tree, 1] = node, pair
            in_tree += 1
        else:
            a = rollout_action(model, simulation)
        u, v = uniform(simulation.random), uniform(simulation.random)
        i, o, reward = simulate_step(model, simulation.x, simulation.theta, a, u, v, out)
        simulation.reward[depth] = reward
        depth += 1
        if depth == 1 and root.b.shape[0] == 0:
            log_first_step(tree, first_steps, particle, a, out.y, i, o)
        abi.remember(model, simulation.x, a, out.y, i, o, simulation.memory, 1)
        for w in range(simulation.x.shape[1]):
            simulation.x[0, w] = out.y[i, w]
        for w in range(simulation.theta.shape[1]):
            simulation.theta[0, w] = out.theta[0, w]
        if abi.terminal(model, simulation.x, 0):
            break
        if node >= 0:
            node = find_history(tree, pair, simulation.x, o)
            if node < 0 and tree.tries[pair] > 0:
                abi.preferred(model, simulation.x, 0, simulation.memory, 1, simulation.preferred)
                node = add_history(model, tree, pair, simulation.x, o, simulation.preferred)
    back_up(tree, simulation, depth, in_tree, settings.gamma)


@inlined
def ucb1_pair(tree: HistoryTree, node: int, c: float, random: Words) -> int:
    """argmax_b V(hb) + c √(log N(h) / N(hb)): untried actions come first, and ties are broken at random."""
    log = np.log(tree.visits[node] + 1.0)
    best, chosen, ties = -np.inf, -1, 0
    count = tree.preferred[node] if tree.visits[node] < PREFERRED_TRIES * tree.preferred[node] else tree.pairs[node]
    for pair in range(tree.first[node], tree.first[node] + count):
        score = np.inf if tree.tries[pair] == 0 else tree.value[pair] + c * np.sqrt(log / tree.tries[pair])
        if score > best:
            best, chosen, ties = score, pair, 1
        elif score == best:
            ties += 1
            if uniform(random) * ties < 1.0:
                chosen = pair
    return chosen


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


@inlined
def log_first_step(tree: HistoryTree, first_steps: FirstSteps, particle: int, a: int, y: Words, i: int, o: int) -> None:
    """Record that the particle's simulation led from the root by a to (y[i], o)."""
    at = tree.counts[LOGGED] % first_steps.action.shape[0]
    first_steps.particle[at], first_steps.action[at], first_steps.o[at] = particle, a, o
    for w in range(first_steps.y.shape[1]):
        first_steps.y[at, w] = y[i, w]
    tree.counts[LOGGED] += 1


@inlined
def back_up(tree: HistoryTree, simulation: Simulation, depth: int, in_tree: int, gamma: float) -> None:
    """N(h), N(ha) and V(ha) along the part of the path that is in the tree, from the last step to the first."""
    total = 0.0
    for d in range(depth - 1, -1, -1):
        total = simulation.reward[d] + gamma * total
        if d < in_tree:
            node, pair = simulation.path[d, 0], simulation.path[d, 1]
            tree.visits[node] += 1
            tree.tries[pair] += 1
            tree.value[pair] += (total - tree.value[pair]) / tree.tries[pair]
    tree.counts[STEPS] += depth
    tree.counts[DEEPEST] = max(tree.counts[DEEPEST], in_tree)
