"""Expanding a node of a search with drawn outcomes: its actions with their reward, bonus and first next states.

A pair's bonus is β times the mean of ‖b_e − b‖₁ over its outcomes: of a few when it is added, so that it is never
blind, and of every further one that is drawn.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Ints, Words, inlined, inner
from pomdplite.mdp.grid.points import PointValues, interpolated
from pomdplite.mdp.hash_table import hash_row
from pomdplite.mdp.real.frozen import FrozenBelief
from pomdplite.mdp.real.steps import (
    StepWork,
    begin_step,
    draw_next_state,
    drawn_change,
    kept_values,
    list_next_states,
    listed_change,
    pool_has_room,
)
from pomdplite.mdp.search.drawn.tree import WideningTree, add_child, add_pair, back_up_node, has_space
from pomdplite.mdp.search.nodes import (
    COMPARISONS,
    END,
    FAULTY,
    NO_SPACE,
    NODES,
    PAIRS,
    RAN_FULL,
    SEARCHED,
    add_node,
)


class WideningParameters(NamedTuple):
    """The constants of a search."""

    beta: float  # weight of the bonus, Definition 1
    gamma: float
    c: float  # weight of exploration in UCB1
    search_depth: int
    k: float  # of widening, k n^α
    alpha: float
    outcomes: int  # drawn for the bonus of a new pair


class WideningWork(NamedTuple):
    """Arrays that a search writes to, besides its tree."""

    step: StepWork
    path: Ints  # [2 depth] node and pair at every depth of the current simulation
    stream: Words  # [1] random numbers
    tally: Ints  # [5] of the decision (nodes.py)
    here: Words  # [1, s_words] the state of a rollout
    theta: Words  # [1, theta_words] the hidden value of a rollout
    leaves: PointValues  # of a coarse grid; empty unless new nodes are valued by it


@inner
def first_point(tree: WideningTree, node: int) -> int:
    """Where the outcomes of a node begin among the points: the same for its actions, another one for each node."""
    return int(np.int64(hash_row(tree.nodes.states[node : node + 1], 0) >> np.uint64(33)))


@inner
def expand(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, estimate: float,
) -> int:  # fmt: skip
    """Add all of the node's legal actions; `estimate` is its value until then."""
    nodes = tree.nodes
    if not has_room(model, frozen, tree, work, model.actions):
        return NO_SPACE
    first = nodes.counts[PAIRS]
    nodes.value[node] = estimate
    for a in range(model.actions):
        if abi.legal(model, nodes.states, node, a):
            add_action(model, frozen, tree, parameters, work, node, a)
    if nodes.counts[PAIRS] == first:
        abi.note_no_action(model, nodes.states, node)
    if abi.faulty(model):
        return FAULTY
    nodes.first[node] = first
    nodes.pairs[node] = nodes.listed[node] = nodes.counts[PAIRS] - first
    nodes.whole[node] = 1
    nodes.visits[node] += 1
    back_up_node(tree, node, parameters.gamma, parameters.beta)
    return SEARCHED


@inner
def has_room(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, work: WideningWork, actions: int
) -> bool:  # fmt: skip
    """Whether so many actions can be added, with any next states; if not, the tree has run full."""
    branches = 1 if model.noise.numbers > 0 else work.step.next.shape[0]
    found = has_space(tree, actions, actions * branches) and pool_has_room(model, frozen, actions)
    if not found:
        work.tally[RAN_FULL] = 1
    return found


@inner
def add_action(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, a: int,
) -> None:  # fmt: skip
    """Add a legal action behind all pairs, with its mean reward, bonus and first children under the frozen belief.

    A new next node is valued by the model's heuristic or by a coarse grid, or else like the node itself.
    """
    step, point, compare = work.step, first_point(tree, node), parameters.beta > 0.0
    estimate = tree.nodes.value[node]
    pair = add_pair(tree, a, begin_step(model, frozen, step, tree.nodes.states, node, a))
    work.tally[COMPARISONS] += kept_values(step) * (1 + (compared_outcomes(model, parameters) if compare else 0))
    if model.noise.numbers == 0:
        k = list_next_states(model, step, tree.nodes.states, node, a)
        if compare:
            tree.change[pair] = listed_change(model, frozen, step, a, k, point, parameters.outcomes)
        for j in range(k):
            add_child(tree, pair, reached(model, tree, work, j, estimate), step.chance[j])
        return
    for i in range(parameters.outcomes if compare else 0):
        v = draw_next_state(model, frozen, step, tree.nodes.states, node, a, point + i, 0)
        change = drawn_change(model, frozen, step, tree.nodes.states, node, a, point + i, v)
        tree.change[pair] += change / parameters.outcomes
        tree.compared[pair] += 1
    draw_child(model, frozen, tree, work, node, pair, estimate)


@inlined
def compared_outcomes(model: KernelModel, parameters: WideningParameters) -> int:
    """With how many outcomes every value is compared for the bonus of a new pair. Four listed ones count as one drawn
    one: their probabilities lie ready, those of readings are computed.
    """
    if model.z_words > 0:
        return parameters.outcomes
    drawn = parameters.outcomes if model.noise.numbers > 0 else 1
    return drawn * (1 + model.observations // 4)


@inner
def widen(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, pair: int,
) -> None:  # fmt: skip
    """Draw one more outcome of a pair."""
    if not has_space(tree, 0, 1):
        work.tally[RAN_FULL] = 1
        return
    begin_step(model, frozen, work.step, tree.nodes.states, node, tree.action[pair])
    work.tally[COMPARISONS] += kept_values(work.step)
    point = first_point(tree, node) + tree.drawn[pair]
    v = draw_child(model, frozen, tree, work, node, pair, tree.nodes.value[node])
    if parameters.beta > 0.0 and tree.drawn[pair] > tree.compared[pair]:
        change = drawn_change(model, frozen, work.step, tree.nodes.states, node, tree.action[pair], point, v)
        tree.compared[pair] += 1
        tree.change[pair] += (change - tree.change[pair]) / tree.compared[pair]


@inner
def draw_child(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, work: WideningWork, node: int, pair: int,
    estimate: float,
) -> int:  # fmt: skip
    """Behind `begin_step`: add the next drawn outcome to the pair's children; the hidden value behind it."""
    point = first_point(tree, node) + tree.drawn[pair]
    v = draw_next_state(model, frozen, work.step, tree.nodes.states, node, tree.action[pair], point, 0)
    add_child(tree, pair, reached(model, tree, work, 0, estimate), 1.0)
    tree.drawn[pair] += 1
    return v


@inner
def reached(model: KernelModel, tree: WideningTree, work: WideningWork, j: int, estimate: float) -> int:
    """The node of next state j; a new one starts with the heuristic, the grid's value, or the estimate as its value."""
    following = work.step.next
    if abi.terminal(model, following, j):
        return END
    count = tree.nodes.counts[NODES]
    node = add_node(tree.nodes, following, j, True)
    if node == count:
        if abi.has_heuristic(model):
            estimate = abi.heuristic(model, following, j)
        elif work.leaves.value.shape[0] > 0:
            value = interpolated(work.leaves, following, j)
            estimate = estimate if np.isnan(value) else value
        tree.nodes.value[node] = estimate
    return node


@inner
def needs_rollout(model: KernelModel, work: WideningWork) -> bool:
    """Whether neither a heuristic nor a grid values new nodes."""
    return not abi.has_heuristic(model) and work.leaves.value.shape[0] == 0
