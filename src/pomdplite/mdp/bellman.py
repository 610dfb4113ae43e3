"""The internal-reward MDP as kernels see it, and the right-hand side of Equation 2 on it."""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, inlined
from pomdplite.mdp.distinct_steps import DistinctSteps, StepValues
from pomdplite.mdp.reachable import Graph


class InternalMdp(NamedTuple):
    """The internal-reward MDP of one frozen belief: the reachable graph with the belief's step values."""

    graph: Graph
    distinct: DistinctSteps
    values: StepValues
    gamma: float
    beta: float


@inlined
def forever(r: float, gamma: float) -> float:
    """The value of earning r in every step forever."""
    if gamma < 1.0:
        return r / (1.0 - gamma)
    return 0.0 if r == 0.0 else np.inf * r


@inlined
def action_value(mdp: InternalMdp, pair: int, edge: int, v: Floats) -> float:
    """Q̃(b, s, a) = R̃(b, s, a) + γ Σ_s' P(s' | b, s, a) Ṽ(b, s') of a state-action whose first edge is `edge`."""
    graph, distinct, values = mdp.graph, mdp.distinct, mdp.values
    r = graph.step[pair]
    q = values.internal[r]
    for j in range(distinct.branches[r]):
        if values.chance[distinct.first_branch[r] + j] > 0.0:  # an impossible next state may be worth -inf
            q += mdp.gamma * values.chance[distinct.first_branch[r] + j] * v[graph.next[edge + j]]
    return q


@inlined
def action_value_if_repeated(mdp: InternalMdp, s: int, pair: int, edge: int, v: Floats) -> float:
    """Q̃ of taking the action in s again for as long as it leads back to s.

    It equals Q̃ where the action is the best one, and needs no iteration.
    """
    graph, distinct, values, gamma = mdp.graph, mdp.distinct, mdp.values, mdp.gamma
    r = graph.step[pair]
    k = distinct.branches[r]
    q = values.internal[r]
    if k == 1:  # components.py keeps an action that can only loop away from here
        return q + gamma * v[graph.next[edge]]
    loop = 0.0
    for j in range(k):
        chance = values.chance[distinct.first_branch[r] + j]
        if graph.next[edge + j] == s:
            loop += chance
        elif chance > 0.0:
            q += gamma * chance * v[graph.next[edge + j]]
    if loop > 0.0:
        q = q / (1.0 - gamma * loop) if gamma * loop < 1.0 else forever(q, gamma)
    return q


@inlined
def greedy(mdp: InternalMdp, s: int, v: Floats) -> tuple[int, int]:
    """The best state-action of s and its first edge; ties go to the smaller action number."""
    graph, distinct = mdp.graph, mdp.distinct
    best, chosen, chosen_edge = -np.inf, graph.first[s], graph.first_edge[s]
    edge = graph.first_edge[s]
    for pair in range(graph.first[s], graph.first[s + 1]):
        q = action_value(mdp, pair, edge, v)
        if q > best + 1e-9 or (q > best - 1e-9 and graph.action[pair] < graph.action[chosen]):
            best, chosen, chosen_edge = max(q, best), pair, edge
        edge += distinct.branches[graph.step[pair]]
    return chosen, chosen_edge


@inlined
def first_edge_of(mdp: InternalMdp, s: int, pair: int) -> int:
    """The first edge of a state-action of s."""
    edge = mdp.graph.first_edge[s]
    for before in range(mdp.graph.first[s], pair):
        edge += mdp.distinct.branches[mdp.graph.step[before]]
    return edge
