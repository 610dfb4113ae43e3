"""UCT (Kocsis and Szepesvári 2006) on the internal-reward MDP, searched online from the current state.

A simulation runs down from the root, selecting actions by UCB1 (`select_action`), to a node without children, expands
it and backs its value up along the path: simulate, expand, backward. There are two forms.

`tree_search`, the paper's: the nodes form a tree. A new node is valued by the return of a rollout, and every action on
the path averages the returns that pass through it.

`graph_search`, our default (docs/decisions/0003): equal states share a node. A new node is valued by the model's
heuristic, or by a rollout if there is none. A node's value is that of its best action, and an action's value is its
mean reward and bonus plus the mean value of its next states. Averaging returns is correct in a tree; where states are
merged it would mix the returns of different paths through a state, and max backups are correct.
"""

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Words, inlined, inner, kernel
from pomdplite.mdp.bonus import expected_l1_change
from pomdplite.mdp.outcomes import FULL, Outcomes, outcomes
from pomdplite.mdp.sampling import pick
from pomdplite.mdp.search.action_widening import ActionWidening, allowed
from pomdplite.mdp.search.listed.action_lists import open_node, widen
from pomdplite.mdp.search.listed.expansion import SearchParameters, SearchWorkspace, expand
from pomdplite.mdp.search.listed.graph import SearchGraph, back_up_node, sample_next
from pomdplite.mdp.search.nodes import (
    DEEPEST,
    END,
    FAULTY,
    NOT_EXPANDED,
    OUTCOME_BUFFER_FULL,
    SEARCHED,
    SIMULATION,
    SIMULATIONS,
    STEPS,
)
from pomdplite.rng import uniform

EPSILON = 0.02  # share of uniformly random actions, so that a small c leaves no state unexplored
_NEGLIGIBLE = 1e-3  # a rollout ends once its discount factor is below this

STOPPED = -2  # in place of a node: a simulation that could not go on

# ---------------------------------------------------------------------- the two searches


@kernel
def graph_search(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, root: int,
    simulations: int, widening: ActionWidening | None,
) -> int:  # fmt: skip
    """Run simulations with merged states and max backups; why it stopped."""
    for _ in range(simulations):
        leaf, depth = simulate_graph(model, graph, b, parameters, work, root, widening)
        if leaf == STOPPED:
            return depth
        if leaf != END:
            estimate = graph.nodes.value[leaf]
            if not abi.has_heuristic(model) and depth > 0:
                estimate = rollout(model, graph, b, parameters, work, leaf, depth)
            if widening is None:
                status = expand(model, graph, b, parameters, work, leaf, estimate, True)
            else:
                graph.nodes.value[leaf] = estimate
                status = open_node(model, graph, b, parameters, work, leaf, widening, allowed(widening, 0))
            if status in (OUTCOME_BUFFER_FULL, FAULTY):
                return status
            if status == SEARCHED:
                back_up_node(graph, leaf, parameters.gamma)
                graph.nodes.visits[leaf] += 1
        backward_max(graph, parameters.gamma, work.path, depth)
        count_simulation(work.tally, depth)
    return SEARCHED


@kernel
def tree_search(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, root: int,
    simulations: int, widening: ActionWidening | None,
) -> int:  # fmt: skip
    """Run simulations in a tree with averaged returns; why it stopped."""
    if graph.nodes.first[root] == NOT_EXPANDED:
        status = expand(model, graph, b, parameters, work, root, 0.0, False)
        if status in (OUTCOME_BUFFER_FULL, FAULTY):
            return status
    for _ in range(simulations):
        leaf, depth = simulate_tree(model, graph, b, parameters, work, root, widening)
        if leaf == STOPPED:
            return depth
        value = 0.0
        if leaf != END:
            if depth > 0:
                value = rollout(model, graph, b, parameters, work, leaf, depth)
            if widening is None:
                status = expand(model, graph, b, parameters, work, leaf, 0.0, False)
            else:
                status = open_node(model, graph, b, parameters, work, leaf, widening, allowed(widening, 0))
            if status in (OUTCOME_BUFFER_FULL, FAULTY):
                return status
        backward_mean(graph, parameters.gamma, work.path, depth, value)
        count_simulation(work.tally, depth)
    return SEARCHED


@inlined
def count_simulation(tally: Ints, depth: int) -> None:
    """Count a finished simulation."""
    tally[SIMULATIONS] += 1
    tally[STEPS] += depth + 1
    tally[DEEPEST] = max(tally[DEEPEST], depth)


# ---------------------------------------------------------------------- select


@inlined
def select_action(graph: SearchGraph, node: int, c: float, tree: bool) -> int:
    """UCB1: the pair with the highest Q̃ + c √(ln N / n), where N counts visits of the node and n tries of the pair.

    In a tree, untried pairs come first. In a graph, n + 1 takes the place of n, since heuristics give untried pairs a
    value too; and pairs that lead back are left out, so there may be none to select: -1.
    """
    log_visits = np.log(graph.nodes.visits[node] + 1.0)
    best, chosen = -np.inf, -1
    for pair in range(graph.nodes.first[node], graph.nodes.first[node] + graph.nodes.pairs[node]):
        n = graph.tries[pair]
        if n == 0 and tree:
            return pair
        score = graph.q[pair] + c * np.sqrt(log_visits / (n if tree else n + 1.0))
        if score > best and (tree or not leads_back(graph, pair)):
            best, chosen = score, pair
    return chosen


@inlined
def select_or_explore(graph: SearchGraph, node: int, c: float, stream: Words) -> int:
    """UCB1 in a graph, or a uniformly random pair with probability EPSILON."""
    if uniform(stream) < EPSILON:
        pair = graph.nodes.first[node] + np.int64(uniform(stream) * graph.nodes.pairs[node])
        if not leads_back(graph, pair):
            return pair
    return select_action(graph, node, c, False)


@inlined
def leads_back(graph: SearchGraph, pair: int) -> bool:
    """Whether the action leads with certainty to a state that this simulation has already visited."""
    nodes = graph.nodes
    return graph.edges[pair] == 1 and nodes.stamp[graph.next[graph.first_edge[pair]]] == nodes.counts[SIMULATION]


# ---------------------------------------------------------------------- simulate


@inlined
def simulate_graph(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, root: int,
    widening: ActionWidening | None,
) -> tuple[int, int]:  # fmt: skip
    """Run down from the root: (the node to expand or END, length of the path), or (STOPPED, why).

    The run ends at a node that is not expanded, at a state that it has already visited, or at the search depth.
    """
    nodes = graph.nodes
    node, depth = root, 0
    nodes.counts[SIMULATION] += 1
    while node != END and depth < parameters.search_depth and nodes.stamp[node] != nodes.counts[SIMULATION]:
        nodes.stamp[node] = nodes.counts[SIMULATION]
        if nodes.first[node] == NOT_EXPANDED:
            return node, depth
        if widening is not None:
            status = widen(model, graph, b, parameters, work, node, widening)
            if status in (OUTCOME_BUFFER_FULL, FAULTY):
                return STOPPED, status
        pair = select_or_explore(graph, node, parameters.c, work.stream)
        nodes.visits[node] += 1
        if pair < 0:
            back_up_node(graph, node, parameters.gamma)
            break
        graph.tries[pair] += 1
        work.path[2 * depth], work.path[2 * depth + 1] = node, pair
        node = sample_next(graph, pair, work.stream)
        depth += 1
    return END, depth


@inlined
def simulate_tree(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, root: int,
    widening: ActionWidening | None,
) -> tuple[int, int]:  # fmt: skip
    """Run down from the root to a node that is not expanded or to the search depth: (the node or END, depth).

    Or (STOPPED, why).
    """
    nodes = graph.nodes
    node, depth = root, 0
    while node != END and depth < parameters.search_depth:
        if nodes.first[node] == NOT_EXPANDED:
            return node, depth
        if widening is not None:
            status = widen(model, graph, b, parameters, work, node, widening)
            if status in (OUTCOME_BUFFER_FULL, FAULTY):
                return STOPPED, status
        pair = select_action(graph, node, parameters.c, True)
        nodes.visits[node] += 1
        work.path[2 * depth], work.path[2 * depth + 1] = node, pair
        node = sample_next(graph, pair, work.stream)
        depth += 1
    return END, depth


@inner
def rollout(
    model: KernelModel, graph: SearchGraph, b: Floats, parameters: SearchParameters, work: SearchWorkspace, node: int,
    depth: int,
) -> float:  # fmt: skip
    """The internal return of a rollout from a node with the belief frozen, by the model's policy or uniform actions."""
    total, discount, out, stream = 0.0, 1.0, work.out, work.stream
    here = out.here
    for w in range(model.s_words):
        here[0, w] = graph.nodes.states[node, w]
    for _ in range(parameters.search_depth - depth):
        a = abi.policy(model, here, 0, uniform(stream))
        component, k, e = outcomes(model, here, 0, a, out)
        if k == FULL or abi.faulty(model):
            return total
        offset = model.offsets[component]
        n = model.offsets[component + 1] - offset
        block = b[offset : offset + n]
        v = pick(block, n, uniform(stream))
        mean = 0.0
        for i in range(n):
            mean += block[i] * out.reward[i]
        change = model.bonus_scale[component] * expected_l1_change(block, out.likelihood, e)
        total += discount * (mean + parameters.beta * change)
        discount *= parameters.gamma
        j = sample_outcome(out, k, v, uniform(stream))
        work.tally[STEPS] += 1
        if abi.terminal(model, out.next, j) or discount < _NEGLIGIBLE:
            break
        for w in range(model.s_words):
            here[0, w] = out.next[j, w]
    return total


@inlined
def sample_outcome(out: Outcomes, k: int, v: int, u: float) -> int:
    """The next state that the uniform number u selects under value v."""
    total, j = 0.0, 0
    for i in range(k):
        total += out.chance[i, v]
        j = i
        if u < total:
            break
    return j


# ---------------------------------------------------------------------- backward


@inlined
def backward_max(graph: SearchGraph, gamma: float, path: Ints, depth: int) -> None:
    """Back up every node on the path, the last one first."""
    for i in range(depth - 1, -1, -1):
        back_up_node(graph, path[2 * i], gamma)


@inlined
def backward_mean(graph: SearchGraph, gamma: float, path: Ints, depth: int, value: float) -> None:
    """Average the return from each depth on, which ends with `value`, into the action taken there."""
    total, total_bonus = value, 0.0
    for i in range(depth - 1, -1, -1):
        pair = path[2 * i + 1]
        total = graph.reward[pair] + graph.gain[pair] + gamma * total
        total_bonus = graph.gain[pair] + gamma * total_bonus
        graph.tries[pair] += 1
        share = 1.0 / graph.tries[pair]
        graph.q[pair] = (1.0 - share) * graph.q[pair] + share * total
        graph.q_bonus[pair] = (1.0 - share) * graph.q_bonus[pair] + share * total_bonus
