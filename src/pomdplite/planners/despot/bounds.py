"""The initial bounds of a node: ℓ₀(b), the value of a default policy, and μ₀(b), an upper bound on any policy's value.

ℓ₀  the model's policy, or else the best single action to repeat, averaged over the scenarios of the node
μ₀  what an agent that knows θ can expect, averaged in the same way

Both are looked up in tables of every x and θ where these fit (tables.py). Where they do not, the default policy is
simulated on the scenarios, and μ₀ is the model's own `upper`, or else the largest reward in every step that is left.
"""

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import inner
from pomdplite.mdp.sampling import simulate
from pomdplite.mdp.value_table import state_number
from pomdplite.planners.despot.tables import BoundTables
from pomdplite.planners.despot.tree import (
    DEFAULT_ACTION,
    NEXT_STATE,
    OBSERVATION,
    STEPS,
    DespotSettings,
    ScenarioTree,
    TreeScratch,
    load_scenario,
    random_number,
)

_MODEL_POLICY = -1  # in the place of an action to repeat


@inner
def set_initial_bounds(
    model: KernelModel, tree: ScenarioTree, tables: BoundTables, scratch: TreeScratch, settings: DespotSettings,
    node: int,
) -> None:  # fmt: skip
    """ℓ₀, ℓ and μ of a new node."""
    weight = settings.gamma ** tree.depth[node] / tree.seeds.shape[0]
    state = state_number(tables.known, tree.x, node)
    upper = weight * upper_bound(model, tree, tables, settings, node, state)
    if state > 0 and tables.default.shape[0] > 0:
        lower, tree.repeated[node] = tabled_default(tree, tables, node, state)
    else:
        lower, tree.repeated[node] = simulated_default(model, tree, scratch, settings, node)
    tree.l_0[node] = tree.l[node] = weight * lower
    tree.mu[node] = max(upper, tree.l_0[node])


@inner
def upper_bound(
    model: KernelModel, tree: ScenarioTree, tables: BoundTables, settings: DespotSettings, node: int, state: int
) -> float:
    """μ₀: the sum over the node's scenarios. `state` is the number of x in the tables, not positive if it has none."""
    first, last = tree.phi[node], tree.phi[node] + tree.phi_size[node]
    total = 0.0
    if state > 0:
        for i in range(first, last):
            total += tables.known.values[state, tree.joint[tree.theta[i]]]
        return total
    if model.functions[abi.UPPER] != 0:
        for i in range(first, last):
            total += abi.upper(model, tree.x, node, tree.thetas, tree.theta[i])
        return total
    gamma, left = settings.gamma, settings.search_depth - tree.depth[node]
    each = tables.largest_reward * ((1.0 - gamma**left) / (1.0 - gamma) if gamma < 1.0 else left)
    return max(each, 0.0) * (last - first)


@inner
def tabled_default(tree: ScenarioTree, tables: BoundTables, node: int, state: int) -> tuple[float, int]:
    """ℓ₀ from the tables: the sum over the node's scenarios, for the best default policy; and which that is."""
    best, chosen = -np.inf, 0
    for policy in range(tables.default.shape[0]):
        total = 0.0
        for i in range(tree.phi[node], tree.phi[node] + tree.phi_size[node]):
            total += tables.default[policy, state, tree.joint[tree.theta[i]]]
        if total > best:
            best, chosen = total, policy
    return best, chosen


@inner
def simulated_default(
    model: KernelModel, tree: ScenarioTree, scratch: TreeScratch, settings: DespotSettings, node: int
) -> tuple[float, int]:
    """ℓ₀ by simulation, for the best default policy; and which that is."""
    if model.functions[abi.POLICY] != 0:
        return simulate_policy(model, tree, scratch, settings, node, _MODEL_POLICY), 0
    best, chosen = -np.inf, 0
    for a in range(model.actions):
        if abi.legal(model, tree.x, node, a):
            total = simulate_policy(model, tree, scratch, settings, node, a)
            if total > best:
                best, chosen = total, a
    if best == -np.inf:
        abi.note_no_action(model, tree.x, node)
    return best, chosen


@inner
def simulate_policy(
    model: KernelModel, tree: ScenarioTree, scratch: TreeScratch, settings: DespotSettings, node: int, repeated: int
) -> float:
    """The sum over the node's scenarios of a policy's return.

    The policy is the model's, or takes `repeated` where that is legal and else the first legal action.
    """
    out = scratch.outcomes
    total = 0.0
    for i in range(tree.phi[node], tree.phi[node] + tree.phi_size[node]):
        scenario, discount = tree.scenario[i], 1.0
        load_scenario(tree, scratch, node, i)
        for step in range(tree.depth[node], settings.search_depth):
            a = repeated
            if repeated == _MODEL_POLICY:
                a = abi.policy(model, scratch.x, 0, random_number(tree, scenario, step, DEFAULT_ACTION))
            elif not abi.legal(model, scratch.x, 0, a):
                a = abi.first_legal(model, scratch.x, 0)
            u = random_number(tree, scenario, step, NEXT_STATE)
            v = random_number(tree, scenario, step, OBSERVATION)
            j, _, reward = simulate(model, scratch.x, scratch.theta, a, u, v, out)
            if abi.faulty(model):
                return 0.0
            total += discount * reward
            discount *= settings.gamma
            tree.counts[STEPS] += 1
            if abi.terminal(model, out.y, j):
                break
            for w in range(scratch.x.shape[1]):
                scratch.x[0, w] = out.y[j, w]
            for w in range(scratch.theta.shape[1]):
                scratch.theta[0, w] = out.theta[0, w]
    return total
