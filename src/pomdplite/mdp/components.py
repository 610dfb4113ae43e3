"""Strongly connected components of the reachable graph, and the numbering of states by component.

A component is a maximal set of states that can reach each other. Tarjan's algorithm (1972) finds components in reverse
topological order, successors first. That is also the order in which to solve them: by the time a component is solved,
everything outside it that it leads to already is. In RockSample a component is the grid for one set of sampled rocks,
and these sets only grow.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Flags, Ints, Small, Words, allocating_kernel, inner, kernel
from pomdplite.mdp.distinct_steps import STEPS, DistinctSteps, depends_on_belief


class StateActions(NamedTuple):
    """The legal actions of every state and the next states that they lead to, in one numbering of the states."""

    first: Ints  # [state + 1] the state's state-actions
    first_edge: Ints  # [state + 1] its edges
    action: Small  # [state-action]
    step: Small  # [state-action] which of the distinct steps it is
    next: Small  # [edge]


class Components(NamedTuple):
    """Component c holds the states first[c]:first[c + 1]."""

    first: Ints  # [component + 1]
    of: Small  # [state]
    touch: Words  # [component] bit (θ component mod 64) is set if a belief change there affects its steps
    first_next: Ints  # [component + 1] the components that it leads to
    next: Small


class Arrangement(NamedTuple):
    """States renumbered by component, and each state's actions sorted into those that stay in it and the rest."""

    order: Ints  # [new state] its old number
    components: Components
    state_actions: StateActions
    split: Ints  # [state] the first state-action that does not stay in the component
    split_edge: Ints  # [state] the first edge of that state-action


class _Numbering(NamedTuple):
    order: Ints  # [new state] its old number
    new: Small  # [old state] its new number
    component: Small  # [old state]


def arrange(model: KernelModel, distinct: DistinctSteps, found: StateActions) -> Arrangement:
    """Renumber the states by component, successors first."""
    n = len(found.first) - 1
    of, count = _tarjan(found.first_edge, found.next)
    order = np.argsort(of, kind="stable")  # within a component in the old order, which keeps neighbours close in memory
    numbering = _Numbering(order=order, new=np.empty(n, np.int32), component=of)
    numbering.new[order] = np.arange(n, dtype=np.int32)
    arranged = StateActions(
        first=np.zeros(n + 1, np.int64),
        first_edge=np.zeros(n + 1, np.int64),
        action=np.empty_like(found.action),
        step=np.empty_like(found.step),
        next=np.empty_like(found.next),
    )
    split, split_edge = np.zeros(n, np.int64), np.zeros(n, np.int64)
    _renumber(numbering, distinct, found, arranged, split, split_edge)
    component_of = of[order]
    bounds = np.searchsorted(component_of, np.arange(count + 1)).astype(np.int64)
    affected = np.array([depends_on_belief(model, distinct, r) for r in range(distinct.counts[STEPS])], np.bool_)
    first_next, component_next = _successors(bounds, component_of, arranged.first_edge, arranged.next)
    components = Components(
        first=bounds,
        of=component_of,
        touch=_touches(distinct, affected, component_of, arranged, count),
        first_next=first_next,
        next=component_next,
    )
    return Arrangement(order=order, components=components, state_actions=arranged, split=split, split_edge=split_edge)


@allocating_kernel
def _tarjan(first_edge: Ints, next_: Small) -> tuple[Small, int]:
    """(component of each state, number of components); END is component 0."""
    n = first_edge.shape[0] - 1
    number = np.full(n, -1, np.int32)  # order of discovery
    low = np.zeros(n, np.int32)
    of = np.full(n, -1, np.int32)
    at = first_edge[:n].copy()  # next edge to look at
    path = np.empty(n, np.int32)  # the depth-first path
    open_ = np.empty(n, np.int32)  # states whose component is incomplete
    count, discovered, opened = 0, 0, 0
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
                while True:
                    opened -= 1
                    t = open_[opened]
                    of[t] = count
                    if t == s:
                        break
                count += 1
            depth -= 1
    return of, count


@kernel
def _renumber(
    numbering: _Numbering, distinct: DistinctSteps, old: StateActions, new: StateActions, split: Ints, split_edge: Ints
) -> None:
    """Copy every state's actions to its new position, those that stay in the component first."""
    pair, edge = 0, 0
    for i in range(numbering.order.shape[0]):
        s = numbering.order[i]
        for staying in (True, False):
            if not staying:
                split[i] = pair
                split_edge[i] = edge
            at = old.first_edge[s]
            for old_pair in range(old.first[s], old.first[s + 1]):
                k = distinct.branches[old.step[old_pair]]
                if _stays(numbering.component, old.next, s, at, k) == staying:
                    new.action[pair] = old.action[old_pair]
                    new.step[pair] = old.step[old_pair]
                    pair += 1
                    for j in range(k):
                        new.next[edge] = numbering.new[old.next[at + j]]
                        edge += 1
                at += k
        new.first[i + 1] = pair
        new.first_edge[i + 1] = edge


@inner
def _stays(of: Small, next_: Small, s: int, at: int, k: int) -> bool:
    """Whether the value of this state-action depends on other states of the component."""
    if k == 1 and next_[at] == s:
        return False
    for j in range(k):
        if of[next_[at + j]] == of[s]:
            return True
    return False


@allocating_kernel
def _touches(distinct: DistinctSteps, affected: Flags, of: Small, arranged: StateActions, count: int) -> Words:
    touch = np.zeros(count, np.uint64)
    for s in range(of.shape[0]):
        for pair in range(arranged.first[s], arranged.first[s + 1]):
            if affected[arranged.step[pair]]:
                touch[of[s]] |= np.uint64(1) << np.uint64(distinct.component[arranged.step[pair]] % 64)
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
