"""Strongly connected components of the reachable graph, and the order of states that follows them.

A component is a set of states that can reach each other. Tarjan's algorithm (1972) finds the components
successors first, which is the order to solve them in: when a component's turn comes, everything that it can
leave to is solved. In RockSample a component is the grid for one set of sampled rocks, and the sets only grow.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Ints, Small, Words, allocating_kernel, kernel
from pomdplite.mdp.distinct_steps import DistinctSteps, tells


class Components(NamedTuple):
    """Component c holds the states first[c]:first[c + 1]."""

    first: Ints  # [component + 1]
    of: Small  # [state]
    touch: Words  # [component] bit (θ component mod 64) set where its steps tell of that component
    first_next: Ints  # [component + 1] the components that it leads to
    next: Small


def arrange(
    model: KernelModel,
    distinct: DistinctSteps,
    distinct_count: int,
    first: Ints,
    first_edge: Ints,
    action: Small,
    step: Small,
    next_: Small,
) -> tuple[Ints, Components, tuple[Ints, Ints, Small, Small, Ints, Ints, Small]]:
    """(old number of each new state, components, the graph's arrays in the new numbering)."""
    n = len(first) - 1
    of, order, count = _tarjan(first_edge, next_)
    new_number = np.empty(n, np.int32)
    new_number[order] = np.arange(n, dtype=np.int32)
    component_of = of[order]
    bounds = np.searchsorted(component_of, np.arange(count + 1)).astype(np.int64)
    pairs = np.empty_like(action), np.empty_like(step), np.empty_like(next_)
    new_first, new_split, new_edge, new_split_edge = (np.zeros(n + 1, np.int64) for _ in range(4))
    _renumber(
        order, new_number, of, distinct, first, first_edge, action, step, next_,
        new_first, new_split, new_edge, new_split_edge, *pairs,
    )  # fmt: skip
    told = np.array([tells(distinct, model, r) for r in range(distinct_count)], np.bool_)
    touch = _touches(distinct, told, component_of, new_first, pairs[1], count)
    first_next, component_next = _successors(bounds, component_of, new_edge, pairs[2])
    components = Components(bounds, component_of, touch, first_next, component_next)
    return order, components, (new_first, new_split[:-1], pairs[0], pairs[1], new_edge, new_split_edge[:-1], pairs[2])


@allocating_kernel
def _tarjan(first_edge: Ints, next_: Small) -> tuple[Small, Ints, int]:
    """(component of each state, states ordered by component, number of components); END is component 0."""
    n = first_edge.shape[0] - 1
    number = np.full(n, -1, np.int32)  # order of discovery
    low = np.zeros(n, np.int32)
    of = np.full(n, -1, np.int32)
    at = first_edge[:n].copy()  # next edge to look at
    path = np.empty(n, np.int32)  # the depth-first path
    open_ = np.empty(n, np.int32)  # states whose component is not complete
    order = np.empty(n, np.int64)
    count, placed, discovered, opened = 0, 0, 0, 0
    for start in range(n):
        if number[start] >= 0:
            continue
        depth = 0
        path[0] = start
        while depth >= 0:
            s = path[depth]
            if number[s] < 0:
                number[s] = low[s] = discovered
                discovered += 1
                open_[opened] = s
                opened += 1
            deeper = False
            while at[s] < first_edge[s + 1]:
                t = next_[at[s]]
                if number[t] < 0:
                    depth += 1
                    path[depth] = t
                    deeper = True
                    break
                if of[t] < 0:
                    low[s] = min(low[s], low[t])
                at[s] += 1
            if deeper:
                continue
            if low[s] == number[s]:
                begin = placed
                while True:
                    opened -= 1
                    t = open_[opened]
                    of[t] = count
                    order[placed] = t
                    placed += 1
                    if t == s:
                        break
                order[begin:placed] = np.sort(order[begin:placed])  # neighbours stay near each other
                count += 1
            depth -= 1
    return of, order, count


@kernel
def _renumber(
    order: Ints, new_number: Small, of: Small, distinct: DistinctSteps, first: Ints, first_edge: Ints,
    action: Small, step: Small,
    next_: Small, new_first: Ints, new_split: Ints, new_edge: Ints, new_split_edge: Ints, new_action: Small,
    new_step: Small, new_next: Small,
) -> None:  # fmt: skip
    """Copy every state's actions to its new place, those that stay in the component first."""
    pair, edge = 0, 0
    for i in range(order.shape[0]):
        s = order[i]
        for staying in (True, False):
            if not staying:
                new_split[i] = pair
                new_split_edge[i] = edge
            at = first_edge[s]
            for old in range(first[s], first[s + 1]):
                k = distinct.branches[step[old]]
                if _stays(of, next_, s, at, k) == staying:
                    new_action[pair] = action[old]
                    new_step[pair] = step[old]
                    pair += 1
                    for j in range(k):
                        new_next[edge] = new_number[next_[at + j]]
                        edge += 1
                at += k
        new_first[i + 1] = pair
        new_edge[i + 1] = edge


@kernel
def _stays(of: Small, next_: Small, s: int, at: int, k: int) -> bool:
    """Whether the value of this state-action depends on other states of the component."""
    if k == 1 and next_[at] == s:
        return False
    for j in range(k):
        if of[next_[at + j]] == of[s]:
            return True
    return False


@allocating_kernel
def _touches(distinct: DistinctSteps, told: Flags, of: Small, first: Ints, step: Small, count: int) -> Words:
    touch = np.zeros(count, np.uint64)
    for s in range(of.shape[0]):
        for pair in range(first[s], first[s + 1]):
            if told[step[pair]]:
                touch[of[s]] |= np.uint64(1) << np.uint64(distinct.component[step[pair]] % 64)
    return touch


@allocating_kernel
def _successors(bounds: Ints, of: Small, first_edge: Ints, next_: Small) -> tuple[Ints, Small]:
    """The different components that each component leads to."""
    count = bounds.shape[0] - 1
    total = 0
    last = np.full(count, -1, np.int32)
    first = np.zeros(count + 1, np.int64)
    out = np.empty(min(next_.shape[0], 64), np.int32)
    for c in range(count):
        for edge in range(first_edge[bounds[c]], first_edge[bounds[c + 1]]):
            d = of[next_[edge]]
            if d != c and last[d] != c:
                last[d] = c
                if total == out.shape[0]:
                    out = np.concatenate((out, np.empty_like(out)))
                out[total] = d
                total += 1
        first[c + 1] = total
    return first, out[:total].copy()
