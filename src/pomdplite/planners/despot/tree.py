"""The DESPOT: a tree of beliefs, each represented by the scenarios that agree with its history.

A scenario φ is a value of θ drawn from the belief and a sequence of random numbers, which together make the outcome
of every policy certain. A node b holds its scenarios Φ_b and the bounds ℓ₀(b) ≤ ℓ(b) ≤ μ(b) of the paper; a pair
(b, a) holds ρ(b, a) and the bounds ℓ(b, a) ≤ μ(b, a). All are weighted by γ^Δ(b) |Φ_b| / K, with the depth Δ(b), so
that the bounds of children add up to those of their parent. Arrays have a fixed size: when they are full, the search
ends and says so.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined
from pomdplite.mdp import memory
from pomdplite.mdp.outcomes import Outcomes, allocate_outcomes
from pomdplite.mdp.value_table import joint_number
from pomdplite.planners.despot.tables import BoundTables
from pomdplite.rng import mix

NODE_LIMIT, PAIR_LIMIT, POOL_LIMIT, THETA_LIMIT = 1_000_000, 8_000_000, 24_000_000, 1_000_000
NOT_EXPANDED = -1

# Indices into ScenarioTree.counts.
NODES, PAIRS, POOL, THETAS, TRIALS, STEPS, DEEPEST, FULL = range(8)
# What the random numbers of a scenario decide.
NEXT_STATE, OBSERVATION, DEFAULT_ACTION = range(3)


class ScenarioTree(NamedTuple):
    """The DESPOT. The scenarios of a node are consecutive in the pool, as are the children of a pair."""

    counts: Ints  # [8]
    seeds: Words  # [K] of the random numbers of each scenario
    x: Words  # [node, x_words] the observed state
    o: Small  # [node] the last observation
    parent: Ints  # [node] the pair that it follows, -1 for the root
    depth: Small  # [node] Δ(b)
    phi: Ints  # [node] where Φ_b starts in the pool
    phi_size: Small  # [node] |Φ_b|
    l_0: Floats  # [node] ℓ₀(b), of the default policy
    repeated: Small  # [node] the action that the default policy repeats, if the model has no policy of its own
    l: Floats  # [node] ℓ(b)
    mu: Floats  # [node] μ(b)
    first_pair: Ints  # [node] NOT_EXPANDED for a leaf
    pairs: Small  # [node] how many pairs it has
    action: Small  # [pair] a
    rho: Floats  # [pair] ρ(b, a)
    pair_l: Floats  # [pair] ℓ(b, a)
    pair_mu: Floats  # [pair] μ(b, a)
    first_child: Ints  # [pair]
    children: Small  # [pair] how many children it has
    scenario: Small  # [pool] the number of the scenario
    theta: Small  # [pool] its present θ: a row of `thetas`
    thetas: Words  # [θ, theta_words]
    joint: Ints  # [θ] its number among the joint values


class TreeScratch(NamedTuple):
    """Space for expanding a node and for the path of a trial."""

    x: Words  # [1, x_words]
    theta: Words  # [1, theta_words]
    outcomes: Outcomes
    child: Small  # [K] which child each scenario goes to
    next_theta: Small  # [K] its θ after the step
    members: Small  # [K] how many scenarios each child gets
    path: Ints  # [depth]


class DespotSettings(NamedTuple):
    """The constants of the search."""

    gamma: float
    search_depth: int  # D
    pruning: float  # λ
    xi: float  # ξ


def allocate_tree(model: KernelModel, scenarios: int, held: int) -> ScenarioTree:
    """Space for a tree of K scenarios, beside so many bytes; the operating system commits memory as it is used.

    Where the limit on memory is too low for all of it, every array is shorter in proportion.
    """
    nodes, pairs = NODE_LIMIT, min(PAIR_LIMIT, NODE_LIMIT * model.actions)
    node, theta = 8 * model.x_words + 72, 8 * model.theta.shape[1] + 8
    whole = NODE_LIMIT * node + pairs * 40 + POOL_LIMIT * 8 + THETA_LIMIT * theta
    nodes = memory.capacity(NODE_LIMIT, whole / NODE_LIMIT, "nodes of the search tree", held=held)
    share = nodes / NODE_LIMIT
    pairs, pool, thetas = int(share * pairs), int(share * POOL_LIMIT), int(share * THETA_LIMIT) + scenarios
    return ScenarioTree(
        counts=np.zeros(8, np.int64),
        seeds=np.zeros(scenarios, np.uint64),
        x=np.zeros((nodes, model.x_words), np.uint64),
        o=np.zeros(nodes, np.int32),
        parent=np.zeros(nodes, np.int64),
        depth=np.zeros(nodes, np.int32),
        phi=np.zeros(nodes, np.int64),
        phi_size=np.zeros(nodes, np.int32),
        l_0=np.zeros(nodes),
        repeated=np.zeros(nodes, np.int32),
        l=np.zeros(nodes),
        mu=np.zeros(nodes),
        first_pair=np.zeros(nodes, np.int64),
        pairs=np.zeros(nodes, np.int32),
        action=np.zeros(pairs, np.int32),
        rho=np.zeros(pairs),
        pair_l=np.zeros(pairs),
        pair_mu=np.zeros(pairs),
        first_child=np.zeros(pairs, np.int64),
        children=np.zeros(pairs, np.int32),
        scenario=np.zeros(pool, np.int32),
        theta=np.zeros(pool, np.int32),
        thetas=np.zeros((thetas, model.theta.shape[1]), np.uint64),
        joint=np.zeros(thetas, np.int64),
    )


def with_scenarios(tree: ScenarioTree, scenarios: int) -> ScenarioTree:
    """The same space for K scenarios; what was in the tree is lost."""
    return tree._replace(
        seeds=np.zeros(scenarios, np.uint64),
        thetas=np.zeros((len(tree.thetas) - len(tree.seeds) + scenarios, tree.thetas.shape[1]), np.uint64),
        joint=np.zeros(len(tree.thetas) - len(tree.seeds) + scenarios, np.int64),
    )


def room_for_root(model: KernelModel, tree: ScenarioTree, scenarios: int) -> bool:
    """Whether a root with K scenarios can be expanded."""
    steps = model.actions * scenarios
    room = min(len(tree.l), len(tree.scenario) - scenarios, len(tree.thetas) - len(tree.seeds))
    return steps + 1 < room and model.actions < len(tree.rho)


def agreement(tree: ScenarioTree) -> float:
    """The probability that two scenarios of the root agree on the outcome of an action, for the one that parts most."""
    found, k = 1.0, max(2, int(tree.phi_size[0]))
    for pair in range(tree.first_pair[0], tree.first_pair[0] + tree.pairs[0]):
        first = int(tree.first_child[pair])
        sizes = tree.phi_size[first : first + int(tree.children[pair])].astype(float)
        ended = k - sizes.sum()
        alike = (sizes * (sizes - 1)).sum() + ended * (ended - 1)  # ordered pairs of scenarios
        found = min(found, float(alike) / (k * (k - 1)))
    return found


def allocate_scratch(model: KernelModel, scenarios: int, search_depth: int) -> TreeScratch:
    """Space for nodes of up to K scenarios and paths of up to this depth."""
    return TreeScratch(
        x=np.zeros((1, model.x_words), np.uint64),
        theta=np.zeros((1, model.theta.shape[1]), np.uint64),
        outcomes=allocate_outcomes(model, max(2, model.next_states)),
        child=np.zeros(scenarios, np.int32),
        next_theta=np.zeros(scenarios, np.int32),
        members=np.zeros(scenarios, np.int32),
        path=np.zeros(search_depth + 2, np.int64),
    )


@inlined
def random_number(tree: ScenarioTree, scenario: int, step: int, decides: int) -> float:
    """The scenario's random number for one step, uniform in [0, 1); `decides` says what it decides."""
    z = mix(tree.seeds[scenario] + np.uint64(4 * step + decides) * np.uint64(0x9E3779B97F4A7C15))
    return np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@inlined
def load_scenario(tree: ScenarioTree, scratch: TreeScratch, node: int, at: int) -> None:
    """Copy (x, θ) of the scenario at this place of the pool, which is the node's, to the scratch space."""
    for w in range(scratch.x.shape[1]):
        scratch.x[0, w] = tree.x[node, w]
    for w in range(scratch.theta.shape[1]):
        scratch.theta[0, w] = tree.thetas[tree.theta[at], w]


@inlined
def has_space(model: KernelModel, tree: ScenarioTree, node: int) -> bool:
    """Whether the node can be expanded."""
    steps = model.actions * tree.phi_size[node]
    return (
        tree.counts[NODES] + steps < tree.l.shape[0]
        and tree.counts[PAIRS] + model.actions < tree.rho.shape[0]
        and tree.counts[POOL] + steps < tree.scenario.shape[0]
        and tree.counts[THETAS] + steps < tree.thetas.shape[0]
    )


@inlined
def child_for(tree: ScenarioTree, first: int, children: int, y: Words, i: int, o: int) -> int:
    """Which of the children from node `first` on follows (y[i], o); `children`, as a new one, if none does."""
    for c in range(children):
        same = tree.o[first + c] == o
        for w in range(tree.x.shape[1]):
            same = same and tree.x[first + c, w] == y[i, w]
        if same:
            return c
    tree.o[first + children] = o
    for w in range(tree.x.shape[1]):
        tree.x[first + children, w] = y[i, w]
    return children


@inlined
def theta_after(tree: ScenarioTree, tables: BoundTables, before: int, theta: Words) -> int:
    """The row of θ after a step: the same row if it did not change, else a new one."""
    same = True
    for w in range(theta.shape[1]):
        same = same and tree.thetas[before, w] == theta[0, w]
    if same:
        return before
    row = tree.counts[THETAS]
    for w in range(theta.shape[1]):
        tree.thetas[row, w] = theta[0, w]
    tree.joint[row] = joint_number(tables.known, tree.thetas, row)
    tree.counts[THETAS] = row + 1
    return row
