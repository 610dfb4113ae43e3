"""Equation 2 on the points of a grid, by modified policy iteration (Puterman and Shin 1978).

    Ṽ(b, p) = max_a { R̃(b, p, a) + γ Σ_q P(q | b, p, a) Ṽ(b, q) }          p, q grid points

P(q | b, p, a) is the mean over the next states of (p, a) of their interpolation weights (simplex.py), so this is an MDP
on the points. One sweep takes the maximum; those after it, which are cheaper, evaluate the actions that it found. If
the maximum changes values by between δ₋ and δ₊, then Ṽ lies between the new values plus γ / (1 − γ) times δ₋ and δ₊
(MacQueen 1966): sweeping ends when these bounds are close, and takes their middle.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Small, inlined, kernel

END = 0  # in the place of a next point: a terminal state, whose value is 0
EVALUATIONS = 10  # sweeps that evaluate the actions between two that improve them
NODES, PAIRS, EDGES, ENDS = range(4)  # indices into PointGraph.counts


class PointGraph(NamedTuple):
    """The points of a grid that are not terminal, with their legal actions and what these lead to."""

    counts: Ints  # [4] nodes, pairs and edges so far, and how often the graph meets a terminal state
    value: Small  # [node] the place of its value; node i is the i-th point
    first: Ints  # [node + 1] its first pair
    action: Small  # [pair]
    reward: Floats  # [pair] R(b, p, a)
    bonus: Floats  # [pair] β E‖b' − b‖₁
    first_edge: Ints  # [pair + 1]
    next: Small  # [edge] the place of the next point's value, or END
    chance: Floats  # [edge]


def allocate_point_graph(nodes: int, pairs: int, edges: int) -> PointGraph:
    """Room for so many."""
    return PointGraph(
        counts=np.zeros(4, np.int64),
        value=np.zeros(nodes, np.int32),
        first=np.zeros(nodes + 1, np.int64),
        action=np.zeros(pairs, np.int32),
        reward=np.zeros(pairs),
        bonus=np.zeros(pairs),
        first_edge=np.zeros(pairs + 1, np.int64),
        next=np.zeros(edges, np.int32),
        chance=np.zeros(edges),
    )


def with_room(graph: PointGraph, nodes: int, pairs: int, edges: int) -> PointGraph:
    """The same with room for so many."""
    larger = allocate_point_graph(nodes, pairs, edges)
    for name, old in graph._asdict().items():
        getattr(larger, name)[: len(old)] = old
    return larger


@kernel
def improve(graph: PointGraph, gamma: float, v: Floats, best: Small, fresh: Floats) -> tuple[float, float]:
    """Let every point take its best action: the smallest and the largest change of a value, terminal ones included."""
    nodes, ends = graph.counts[NODES], graph.counts[ENDS] > 0
    low, high = (0.0, 0.0) if ends else (np.inf, -np.inf)
    for i in range(nodes):
        top = -np.inf
        for pair in range(graph.first[i], graph.first[i + 1]):
            q = graph.reward[pair] + graph.bonus[pair] + gamma * _following(graph, pair, v)
            if q > top:
                top, best[i] = q, pair
        fresh[i] = top
        change = top - v[graph.value[i]]
        low, high = min(low, change), max(high, change)
    for i in range(nodes):
        v[graph.value[i]] = fresh[i]
    return low, high


@inlined
def _following(graph: PointGraph, pair: int, v: Floats) -> float:
    """Σ_q P(q | b, p, a) Ṽ(b, q)."""
    total = 0.0
    for edge in range(graph.first_edge[pair], graph.first_edge[pair + 1]):
        total += graph.chance[edge] * v[graph.next[edge]]
    return total


@kernel
def evaluate(graph: PointGraph, gamma: float, best: Small, rewards: bool, v: Floats, sweeps: int) -> float:
    """Sweep through the points, back and forth, with their actions fixed: the largest change of the last sweep.

    The gain of an action is its bonus, and its reward as well if `rewards`. Where it leads back to its own point, with
    some probability, the sum over the repetitions is taken at once.
    """
    nodes, largest = graph.counts[NODES], 0.0
    for sweep in range(sweeps):
        largest = 0.0
        for k in range(nodes):
            i = k if sweep % 2 == 0 else nodes - 1 - k
            pair, own = best[i], graph.value[i]
            total = graph.bonus[pair] + (graph.reward[pair] if rewards else 0.0)
            loop = 0.0
            for edge in range(graph.first_edge[pair], graph.first_edge[pair + 1]):
                if graph.next[edge] == own:
                    loop += graph.chance[edge]
                else:
                    total += gamma * graph.chance[edge] * v[graph.next[edge]]
            total /= 1.0 - gamma * loop
            largest = max(largest, abs(total - v[own]))
            v[own] = total
    return largest


@kernel
def shift(graph: PointGraph, v: Floats, by: float) -> None:
    """Add a number to the values of all points."""
    for i in range(graph.counts[NODES]):
        v[graph.value[i]] += by
