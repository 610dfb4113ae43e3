"""UCT with progressive widening (Couëtoux et al. 2011) on the internal-reward MDP of a model with noise or readings.

Next states that are drawn from a continuum are never met twice, so an action that has been tried n times considers only
the first k n^α of its drawn outcomes. Otherwise the search is that of listed/uct.py on a graph: simulate, expand,
backward; equal states share a node, a node's value is that of its best action, and a new one is valued by the model's
heuristic, by a coarse grid, or by a rollout. Next states that are listed are all children at once, with their
probabilities.

Where there are many actions, a node considers few of them at first, too (action_lists.py).
"""

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Words, inner, kernel
from pomdplite.mdp.real.frozen import FrozenBelief
from pomdplite.mdp.search.action_widening import ActionWidening, allowed
from pomdplite.mdp.search.drawn.action_lists import open_node, widen_actions
from pomdplite.mdp.search.drawn.expansion import WideningParameters, WideningWork, expand, needs_rollout, widen
from pomdplite.mdp.search.drawn.rollout import rollout
from pomdplite.mdp.search.drawn.tree import NO_CHILD, WideningTree, back_up_node
from pomdplite.mdp.search.nodes import DEEPEST, END, FAULTY, NOT_EXPANDED, SEARCHED, SIMULATION, SIMULATIONS, STEPS
from pomdplite.rng import uniform

EPSILON = 0.02  # share of uniformly random actions, so that a small c leaves no state unexplored


@kernel
def widening_search(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    root: int, simulations: int, widening: ActionWidening | None,
) -> int:  # fmt: skip
    """Run simulations; why it stopped."""
    for _ in range(simulations):
        leaf, depth = simulate(model, frozen, tree, parameters, work, root, widening)
        if abi.faulty(model):
            return FAULTY
        if leaf != END:
            estimate = tree.nodes.value[leaf]
            if needs_rollout(model, work) and depth > 0:
                for w in range(model.s_words):
                    work.here[0, w] = tree.nodes.states[leaf, w]
                estimate, steps = rollout(model, frozen, work, parameters.gamma, parameters.search_depth - depth)
                work.tally[STEPS] += steps
            if widening is None:
                status = expand(model, frozen, tree, parameters, work, leaf, estimate)
            else:
                tree.nodes.value[leaf] = estimate
                status = open_node(model, frozen, tree, parameters, work, leaf, widening, allowed(widening, 0))
            if status == FAULTY:
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
        pair = tree.nodes.first[node] + np.int64(uniform(stream) * tree.nodes.pairs[node])
        if not listed or not leads_back(tree, pair):
            return pair
    log_visits = np.log(tree.nodes.visits[node] + 1.0)
    best, chosen = -np.inf, -1
    for pair in range(tree.nodes.first[node], tree.nodes.first[node] + tree.nodes.pairs[node]):
        score = tree.q[pair] + c * np.sqrt(log_visits / (tree.tries[pair] + 1.0))
        if score > best and not leads_back(tree, pair):
            best, chosen = score, pair
    return chosen


@inner
def leads_back(tree: WideningTree, pair: int) -> bool:
    """Whether all known outcomes of an action are one state that this simulation has already visited."""
    child = tree.newest[pair]
    return tree.older[child] == NO_CHILD and tree.nodes.stamp[tree.next[child]] == tree.nodes.counts[SIMULATION]


# ---------------------------------------------------------------------- simulate


@inner
def simulate(
    model: KernelModel, frozen: FrozenBelief, tree: WideningTree, parameters: WideningParameters, work: WideningWork,
    root: int, widening: ActionWidening | None,
) -> tuple[int, int]:  # fmt: skip
    """Run down from the root: (the node to expand or END, length of the path).

    The run ends at a node that is not expanded, at a state that it has already visited, or at the search depth.
    """
    nodes = tree.nodes
    node, depth = root, 0
    nodes.counts[SIMULATION] += 1
    while node != END and depth < parameters.search_depth and nodes.stamp[node] != nodes.counts[SIMULATION]:
        nodes.stamp[node] = nodes.counts[SIMULATION]
        if nodes.first[node] == NOT_EXPANDED:
            return node, depth
        if widening is not None:
            widen_actions(model, frozen, tree, parameters, work, node, widening)
        pair = select_pair(model, tree, node, parameters.c, work.stream)
        nodes.visits[node] += 1
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
