"""UCT with progressive widening (Couëtoux et al. 2011) on the internal-reward MDP of a model with noise or readings.

Next states that are drawn from a continuum are never met twice, so an action that has been tried n times considers only
the first k n^α of its drawn outcomes. Otherwise the search is that of mdp/uct.py on a graph: simulate, expand,
backward; equal states share a node, a node's value is that of its best action, and a new one is valued by the model's
heuristic or by a rollout. Next states that are listed are all children at once, with their probabilities.

A pair's bonus is β times the mean of ‖b_e − b‖₁ over its outcomes: of a few when it is added, so that it is never
blind, and of every further one that is drawn.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Ints, Words, inner, kernel
from pomdplite.mdp.hash_table import hash_row
from pomdplite.mdp.real.frozen import FrozenBelief
from pomdplite.mdp.real.rollout import rollout
from pomdplite.mdp.real.steps import (
    StepWork,
    begin_step,
    draw_next_state,
    drawn_change,
    kept_values,
    list_next_states,
    listed_change,
)
from pomdplite.mdp.real.tree import (
    END,
    NO_CHILD,
    NODES,
    NOT_EXPANDED,
    PAIRS,
    SIMULATION,
    WideningTree,
    add_child,
    add_node,
    add_pair,
    back_up_node,
    has_space,
)
from pomdplite.rng import uniform

EPSILON = 0.02  # share of uniformly random actions, so that a small c leaves no state unexplored

# Why a search returned, and what became of an expansion.
SEARCHED, TREE_FULL, FAULTY = range(3)

# Indices into WideningWork.tally.
SIMULATIONS, STEPS, DEEPEST, RAN_FULL, COMPARISONS = range(5)


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
    tally: Ints  # [5] simulations, model steps, longest simulation, whether the tree ran full, (θ, outcome) compared
    here: Words  # [1, s_words] the state of a rollout
    theta: Words  # [1, theta_words] the hidden value of a rollout


@kernel
def widening_search(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    root: int, simulations: int,
) -> int:  # fmt: skip
    """Run simulations; why it stopped."""
    for _ in range(simulations):
        leaf, depth = simulate(model, frozen, tree, parameters, work, root)
        if abi.faulty(model):
            return FAULTY
        if leaf != END:
            estimate = tree.value[leaf]
            if not abi.has_heuristic(model) and depth > 0:
                for w in range(model.s_words):
                    work.here[0, w] = tree.states[leaf, w]
                estimate, steps = rollout(model, frozen, work, parameters.gamma, parameters.search_depth - depth)
                work.tally[STEPS] += steps
            if expand(model, frozen, tree, parameters, work, leaf, estimate) == FAULTY:
                return FAULTY
        for i in range(depth - 1, -1, -1):
            back_up_node(tree, work.path[2 * i], parameters.gamma, parameters.beta)
        work.tally[SIMULATIONS] += 1
        work.tally[STEPS] += depth + 1
        work.tally[DEEPEST] = max(work.tally[DEEPEST], depth)
    return SEARCHED


# ---------------------------------------------------------------------- select


@inner
def select_pair(model: KernelModel, tree: WideningTree, node: int, c: float, stream: Words) -> int:
    """UCB1: the pair with the highest Q̃ + c √(ln N / (n + 1)), or a random one; -1 if all lead back.

    N counts visits of the node and n tries of the pair.
    """
    listed = model.noise.numbers == 0
    if uniform(stream) < EPSILON:
        pair = tree.first[node] + np.int64(uniform(stream) * tree.pairs[node])
        if not listed or not leads_back(tree, pair):
            return pair
    log_visits = np.log(tree.visits[node] + 1.0)
    best, chosen = -np.inf, -1
    for pair in range(tree.first[node], tree.first[node] + tree.pairs[node]):
        score = tree.q[pair] + c * np.sqrt(log_visits / (tree.tries[pair] + 1.0))
        if score > best and not leads_back(tree, pair):
            best, chosen = score, pair
    return chosen


@inner
def leads_back(tree: WideningTree, pair: int) -> bool:
    """Whether all known outcomes of an action are one state that this simulation has already visited."""
    child = tree.newest[pair]
    return tree.older[child] == NO_CHILD and tree.stamp[tree.next[child]] == tree.counts[SIMULATION]


# ---------------------------------------------------------------------- simulate


@inner
def simulate(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    root: int,
) -> tuple[int, int]:  # fmt: skip
    """Run down from the root: (the node to expand or END, length of the path).

    The run ends at a node that is not expanded, at a state that it has already visited, or at the search depth.
    """
    node, depth = root, 0
    tree.counts[SIMULATION] += 1
    while node != END and depth < parameters.search_depth and tree.stamp[node] != tree.counts[SIMULATION]:
        tree.stamp[node] = tree.counts[SIMULATION]
        if tree.first[node] == NOT_EXPANDED:
            return node, depth
        pair = select_pair(model, tree, node, parameters.c, work.stream)
        tree.visits[node] += 1
        if pair < 0:
            back_up_node(tree, node, parameters.gamma, parameters.beta)
            break
        tree.tries[pair] += 1
        work.path[2 * depth], work.path[2 * depth + 1] = node, pair
        if 0 < tree.drawn[pair] < parameters.k * tree.tries[pair] ** parameters.alpha:
            widen(model, frozen, tree, parameters, work, node, pair)
        node = next_node(tree, pair)
        depth += 1
    return END, depth


@inner
def next_node(tree: WideningTree, pair: int) -> int:
    """The child that has been chosen least often for its weight."""
    child = tree.newest[pair]
    best, least = child, np.inf
    while child != NO_CHILD:
        share = (tree.chosen[child] + 0.5) / tree.weight[child]
        if share < least:
            best, least = child, share
        child = tree.older[child]
    tree.chosen[best] += 1
    return tree.next[best]


# ---------------------------------------------------------------------- expand and widen


@inner
def first_point(tree: WideningTree, node: int) -> int:
    """Where the outcomes of a node begin among the points: the same for its actions, another one for each node."""
    return int(np.int64(hash_row(tree.states[node : node + 1], 0) >> np.uint64(33)))


@inner
def expand(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, estimate: float,
) -> int:  # fmt: skip
    """Add the node's legal actions with their mean reward, bonus and first children under the frozen belief.

    A new next node is valued by the model's heuristic, or by `estimate` if there is none.
    """
    step, branches = work.step, 1 if model.noise.numbers > 0 else work.step.next.shape[0]
    if not has_space(tree, model.actions, model.actions * branches):
        work.tally[RAN_FULL] = 1
        return TREE_FULL
    first, point, compare = tree.counts[PAIRS], first_point(tree, node), parameters.beta > 0.0
    for a in range(model.actions):
        if not abi.legal(model, tree.states, node, a):
            continue
        pair = add_pair(tree, a, begin_step(model, frozen, step, tree.states, node, a))
        work.tally[COMPARISONS] += kept_values(step) * (1 + (parameters.outcomes if compare else 0))
        if model.noise.numbers == 0:
            k = list_next_states(model, step, tree.states, node, a)
            if compare:
                tree.change[pair] = listed_change(model, frozen, step, a, k, point, parameters.outcomes)
            for j in range(k):
                add_child(tree, pair, reached(model, tree, step, j, estimate), step.chance[j])
            continue
        for i in range(parameters.outcomes if compare else 0):
            v = draw_next_state(model, frozen, step, tree.states, node, a, point + i, 0)
            change = drawn_change(model, frozen, step, tree.states, node, a, point + i, v)
            tree.change[pair] += change / parameters.outcomes
            tree.compared[pair] += 1
        draw_child(model, frozen, tree, work, node, pair, estimate)
    if tree.counts[PAIRS] == first:
        abi.note_no_action(model, tree.states, node)
    if abi.faulty(model):
        return FAULTY
    tree.first[node] = first
    tree.pairs[node] = tree.counts[PAIRS] - first
    tree.visits[node] += 1
    back_up_node(tree, node, parameters.gamma, parameters.beta)
    return SEARCHED


@inner
def widen(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    node: int, pair: int,
) -> None:  # fmt: skip
    """Draw one more outcome of a pair."""
    if not has_space(tree, 0, 1):
        work.tally[RAN_FULL] = 1
        return
    begin_step(model, frozen, work.step, tree.states, node, tree.action[pair])
    work.tally[COMPARISONS] += kept_values(work.step)
    point = first_point(tree, node) + tree.drawn[pair]
    v = draw_child(model, frozen, tree, work, node, pair, tree.value[node])
    if parameters.beta > 0.0 and tree.drawn[pair] > tree.compared[pair]:
        change = drawn_change(model, frozen, work.step, tree.states, node, tree.action[pair], point, v)
        tree.compared[pair] += 1
        tree.change[pair] += (change - tree.change[pair]) / tree.compared[pair]


@inner
def draw_child(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, work: WideningWork, node: int, pair: int,
    estimate: float,
) -> int:  # fmt: skip
    """Behind `begin_step`: add the next drawn outcome to the pair's children; the hidden value behind it."""
    point = first_point(tree, node) + tree.drawn[pair]
    v = draw_next_state(model, frozen, work.step, tree.states, node, tree.action[pair], point, 0)
    add_child(tree, pair, reached(model, tree, work.step, 0, estimate), 1.0)
    tree.drawn[pair] += 1
    return v


@inner
def reached(model: KernelModel, tree: WideningTree, step: StepWork, j: int, estimate: float) -> int:
    """The node of next state j; a new one starts with the heuristic or the estimate as its value."""
    if abi.terminal(model, step.next, j):
        return END
    count = tree.counts[NODES]
    node = add_node(tree, step.next, j)
    if node == count:
        tree.value[node] = abi.heuristic(model, step.next, j) if abi.has_heuristic(model) else estimate
    return node
