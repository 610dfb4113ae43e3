"""The pieces of Bellman's equation on a graph, shared by what solves and what examines it."""

import numpy as np

from pomdplite.compile.jit import Floats, inlined
from pomdplite.mdp.distinct_steps import DistinctSteps, StepValues
from pomdplite.mdp.reachable import Graph


@inlined
def for_ever(r: float, gamma: float) -> float:
    """The value of earning r in every step for ever."""
    if gamma < 1.0:
        return r / (1.0 - gamma)
    return 0.0 if r == 0.0 else np.inf * r


@inlined
def action_value(
    graph: Graph, distinct: DistinctSteps, values: StepValues, pair: int, edge: int, v: Floats, gamma: float
) -> float:
    """Q̃ of a state-action whose first edge is `edge`."""
    r = graph.step[pair]
    q = values.internal[r]
    for j in range(distinct.branches[r]):
        if values.chance[distinct.first_branch[r] + j] > 0.0:
            q += gamma * values.chance[distinct.first_branch[r] + j] * v[graph.next[edge + j]]
    return q


@inlined
def greedy(
    graph: Graph, distinct: DistinctSteps, values: StepValues, s: int, v: Floats, gamma: float
) -> tuple[int, int]:
    """The best state-action of s and its first edge; the smaller action number among equals."""
    best, chosen, chosen_edge = -np.inf, graph.first[s], graph.first_edge[s]
    edge = graph.first_edge[s]
    for pair in range(graph.first[s], graph.first[s + 1]):
        q = action_value(graph, distinct, values, pair, edge, v, gamma)
        if q > best + 1e-9 or (q > best - 1e-9 and graph.action[pair] < graph.action[chosen]):
            best, chosen, chosen_edge = max(q, best), pair, edge
        edge += distinct.branches[graph.step[pair]]
    return chosen, chosen_edge


@inlined
def first_edge_of(graph: Graph, distinct: DistinctSteps, s: int, pair: int) -> int:
    """The first edge of a state-action of s."""
    edge = graph.first_edge[s]
    for before in range(graph.first[s], pair):
        edge += distinct.branches[graph.step[before]]
    return edge
