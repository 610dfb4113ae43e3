"""Without discount: loops that earn or cost for ever, found where value iteration does not settle."""

import numpy as np

from pomdplite.compile.jit import Floats, allocating_kernel, kernel
from pomdplite.mdp.bellman import greedy
from pomdplite.mdp.distinct_steps import DistinctSteps, StepValues
from pomdplite.mdp.reachable import Graph


@kernel
def no_way_out(graph: Graph, distinct: DistinctSteps, values: StepValues, first: int, last: int, v: Floats) -> bool:
    """Whether no action leads out of a component to a value that is not -inf, and none earns anything inside."""
    for s in range(first, last):
        edge = graph.first_edge[s]
        for pair in range(graph.first[s], graph.first[s + 1]):
            k = distinct.branches[graph.step[pair]]
            inside = values.internal[graph.step[pair]] < 0.0
            for j in range(k):
                t = graph.next[edge + j]
                possible = values.chance[distinct.first_branch[graph.step[pair]] + j] > 0.0
                if possible and (t < first or t >= last) and v[t] != -np.inf:
                    inside = False
            doomed = False  # an action that may end in a trap is no way out
            for j in range(k):
                t = graph.next[edge + j]
                if values.chance[distinct.first_branch[graph.step[pair]] + j] > 0.0 and v[t] == -np.inf:
                    doomed = True
            if not inside and not doomed:
                return False
            edge += k
    return True


@allocating_kernel
def unbounded_loop(
    graph: Graph, distinct: DistinctSteps, values: StepValues, first: int, last: int, v: Floats, gamma: float
) -> tuple[int, int, float]:
    """(state, state-action, gain) of a loop inside a component that the greedy policy never leaves."""
    n = last - first
    for s in range(first, last):
        edge = graph.split_edge[s]
        for pair in range(graph.split[s], graph.first[s + 1]):
            k = distinct.branches[graph.step[pair]]
            if k == 1 and graph.next[edge] == s and values.internal[graph.step[pair]] > 0.0 and gamma == 1.0:
                return s, pair, values.internal[graph.step[pair]]
            edge += k
    inside = np.ones(n, np.bool_)
    pairs, edges = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        pairs[i], edges[i] = greedy(graph, distinct, values, first + i, v, gamma)
    shrinking = True
    while shrinking:
        shrinking = False
        for i in range(n):
            if inside[i]:
                for j in range(distinct.branches[graph.step[pairs[i]]]):
                    t = graph.next[edges[i] + j]
                    if values.chance[distinct.first_branch[graph.step[pairs[i]]] + j] > 0.0:
                        if t < first or t >= last or not inside[t - first]:
                            inside[i] = False
                            shrinking = True
    if not np.any(inside):
        return first, -1, 0.0
    # The mean reward of a step in there: the stationary distribution of the (lazy) chain, by power iteration.
    weight = inside / inside.sum()
    for _ in range(2000):
        flow = 0.5 * weight
        for i in range(n):
            if inside[i]:
                r = graph.step[pairs[i]]
                for j in range(distinct.branches[r]):
                    chance = values.chance[distinct.first_branch[r] + j]
                    if chance > 0.0:
                        flow[graph.next[edges[i] + j] - first] += 0.5 * chance * weight[i]
        weight = flow
    gain = 0.0
    for i in range(n):
        gain += weight[i] * values.internal[graph.step[pairs[i]]]
    most = int(np.argmax(weight))
    return first + most, pairs[most], gain
