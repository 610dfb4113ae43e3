"""Bounds on the value of a belief in mixed-observability form, and what they are made of.

Below: α-vectors, V(x, b) ≥ max_{α ∈ Γ_x} Σ_j b(j) α(j). Above: the values of an agent who knows θ, and points
(b_i, v_i) at which better is known, by the sawtooth rule (Hauskrecht 2000)

    V(x, b) ≤ c(b) − max_i { (c(b_i) − v_i) · min_{j: b_i(j) > 0} b(j) / b_i(j) },      c(b) = Σ_j b(j) V_j(x).

Every sampled belief is a node, and every node is such a point. A node keeps the bounds of the beliefs that its actions
lead to and how far it has looked, so that every vector and every point is looked at once, not at each visit.

All outcomes that lead to one next state x' and leave θ as it is are looked at together: with w(j) = b(j) α(j), the
value of α after outcome e is Σ_v L(e, v) Σ_{j: v_c(j) = v} w(j), and these sums are found for all components c of θ by
folding w once. Eight sensor actions with two outcomes each cost about as much as three dot products, not sixteen. The
ratios of the sawtooth rule fold in the same way, with minima for sums.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numpy as np
from numba import njit

from pomdplite.compile.jit import Flags, Floats, Ints, Small, inlined, kernel
from pomdplite.mdp.distinct_steps import DistinctSteps
from pomdplite.mdp.momdp import Joint, Momdp
from pomdplite.mdp.reachable import Graph

F = TypeVar("F", bound=Callable[..., Any])

# Places in counts.
NODES, EDGES, GROUPS, PAIRS, VECTORS, NOW = range(6)
_CHUNK = 64  # values compared before a point that cannot help is left
_SAME = 1e-10  # beliefs closer than this in every entry are one
_HASHED = 1e8  # how finely a belief's hash is rounded


def _loose(function: F) -> F:
    """An inlined kernel whose sums may be taken in any order, so that they become vector instructions.

    The order is fixed when it is compiled: results are the same each time on one machine.
    """
    options = {"fastmath": {"reassoc", "contract", "nnan", "nsz"}, "forceinline": True}
    return cast(F, njit(cache=True, error_model="numpy", _nrt=False, **options)(function))


class Problem(NamedTuple):
    """The model, and the outcomes of each state's actions by group; outcomes that end the episode are left out."""

    graph: Graph
    distinct: DistinctSteps
    joint: Joint
    offsets: Ints  # [component + 1] places in a list of all components' values
    corner: Floats  # [state, joint value] of an agent who knows θ
    gamma: float
    first: Ints  # [state + 1] its groups
    to: Small  # [group] next state
    folded: Flags  # [group] whether several outcomes are looked at together
    first_edge: Ints  # [group + 1] its outcomes
    pair: Ints  # [edge] its state-action
    like: Ints  # [edge] where its likelihoods are in the pool of rows
    most: Floats  # [edge] the largest of them
    key: Floats  # [joint value] what beliefs are hashed with


class Vectors(NamedTuple):
    """α-vectors in the order in which they were made, with a list for each state from the newest to the oldest."""

    value: Floats  # [vector, joint value]
    state: Small  # [vector]
    action: Small  # [vector]
    made: Ints  # [vector] when
    follow: Small  # [vector, outcome] the vectors that it was made of
    next: Small  # [vector] the one made before it for the same state, or -1
    newest: Small  # [state]


class Nodes(NamedTuple):
    """Sampled beliefs; once expanded, with a block of edges, of groups and of state-actions each."""

    state: Small
    belief: Floats  # [node, joint value]
    corner: Floats  # the bound from above of an agent who knows θ
    low: Floats  # the best α-vector's
    vector: Small  # that vector, -1 if it was pruned
    looked: Ints  # when vectors were last looked at
    high: Floats
    told: Floats  # `high` when it was last told to others
    changed: Ints  # when that was
    newer: Small  # list of a state's nodes from the last changed to the first
    older: Small
    edge: Ints  # first edge, -1 if not expanded
    group: Ints
    pair: Ints
    bin: Ints
    bin_value: Floats
    latest: Small  # [state]
    table: Small  # hash table of nodes
    edge_chance: Floats
    edge_corner: Floats  # all bounds of edges are times their chance
    edge_low: Floats
    edge_high: Floats
    edge_vector: Small
    edge_child: Small  # node, -1 if there is none yet
    group_low: Ints  # when the group's vectors were looked at
    group_high: Ints  # and its points
    reward: Floats  # [state-action] R(b, x, a)


class Scratch(NamedTuple):
    """Room for kernels."""

    w: Floats  # [joint value]
    b: Floats  # [joint value]
    part: Floats  # [component value] sums or minima
    q_low: Floats  # [action]
    q_high: Floats  # [action]
    path: Ints
    vector: Floats  # [joint value]


def arrange(momdp: Momdp, corner: Floats, gamma: float) -> Problem:
    """Sort the outcomes of every state's actions into groups."""
    r, joint = momdp.reachable, momdp.joint
    graph, distinct = r.graph, r.distinct
    row = graph.step.astype(np.int64)
    outcomes = distinct.outcomes[row].astype(np.int64)
    pair = np.repeat(np.arange(len(row)), outcomes)
    number = np.arange(len(pair)) - np.repeat(np.cumsum(outcomes) - outcomes, outcomes)
    of = row[pair]
    size, branches = joint.size[distinct.component[of]], distinct.branches[of].astype(np.int64)
    block = distinct.at[of] + size + branches * size
    like = block + number * size
    branch = distinct.pool[block + outcomes[pair] * size + number].astype(np.int64)
    to, state = graph.next[joint.edge[pair] + branch], np.repeat(np.arange(r.states), np.diff(graph.first))[pair]
    width = joint.later.shape[1]
    moved = (joint.later != np.arange(width)) & (np.arange(width) < joint.size[distinct.component[row]][:, None])
    alone = np.where(moved.any(axis=1)[pair], np.arange(1, len(pair) + 1), 0)  # a change of θ: no group
    most = np.zeros(len(pair))
    for v in range(width):
        most = np.maximum(most, np.where(v < size, distinct.pool[like + np.minimum(v, size - 1)], 0.0))
    keep = np.lexsort((np.arange(len(pair)), alone, to, state))
    keep = keep[to[keep] > 0]
    pair, like, most, to, state, alone = (a[keep] for a in (pair, like, most, to, state, alone))
    start = np.ones(len(pair), np.bool_)
    start[1:] = (np.diff(state) != 0) | (np.diff(to) != 0) | (np.diff(alone) != 0)
    first_edge = np.append(np.flatnonzero(start), len(pair)).astype(np.int64)
    return Problem(
        graph, distinct, joint, momdp.view.table.offsets.astype(np.int64), corner, gamma,
        np.searchsorted(state[start], np.arange(r.states + 1)).astype(np.int64), to[start].astype(np.int32),
        np.diff(first_edge) > 1, first_edge, pair.astype(np.int64), like.astype(np.int64), most,
        np.random.default_rng(0).random(momdp.values),
    )  # fmt: skip


def most_outcomes(problem: Problem) -> int:
    """The largest number of outcomes of a state-action."""
    return int(np.bincount(problem.pair, minlength=1).max())


def empty_vectors(problem: Problem, count: int) -> Vectors:
    """Room for so many vectors; what is not used takes no memory."""
    states, values = problem.corner.shape
    small = [np.zeros(count, np.int32) for _ in range(3)]
    return Vectors(np.empty((count, values)), small[0], small[1], np.zeros(count, np.int64),
                   np.zeros((count, most_outcomes(problem)), np.int32), small[2], np.full(states, -1,
                   np.int32))  # fmt: skip


def empty_nodes(problem: Problem, count: int) -> Nodes:
    """Room for so many nodes, all of them expanded."""
    states, values = problem.corner.shape
    groups = np.diff(problem.first)
    edges = np.diff(problem.first_edge[problem.first])
    pairs = np.diff(problem.graph.first)
    floats = [np.empty(count) for _ in range(5)]
    small = [np.empty(count, np.int32) for _ in range(4)]
    longs = [np.empty(count, np.int64) for _ in range(6)]
    bounds = [np.empty(count * int(edges.max())) for _ in range(4)]
    ids = [np.empty(count * int(edges.max()), np.int32) for _ in range(2)]
    times = [np.empty(count * int(groups.max()), np.int64) for _ in range(2)]
    return Nodes(
        small[0], np.empty((count, values)), floats[0], floats[1], small[1], longs[0], floats[2], floats[3], longs[1],
        small[2], small[3], longs[2], longs[3], longs[4], longs[5], floats[4], np.full(states, -1, np.int32),
        np.full(1 << (2 * count).bit_length(), -1, np.int32), bounds[0], bounds[1], bounds[2], bounds[3],
        ids[0], ids[1], times[0], times[1], np.empty(count * int(pairs.max())),
    )  # fmt: skip


def node_bytes(problem: Problem) -> int:
    """What one node takes, at most."""
    widest = [int(np.diff(a).max()) for a in (problem.first, problem.first_edge[problem.first], problem.graph.first)]
    return 8 * problem.corner.shape[1] + 120 + 16 * widest[0] + 40 * widest[1] + 8 * widest[2]


def scratch(problem: Problem, depth: int) -> Scratch:
    """Room for paths of this length."""
    values, actions = problem.corner.shape[1], int(np.diff(problem.graph.first).max())
    return Scratch(np.zeros(values), np.zeros(values), np.zeros(int(problem.offsets[-1])), np.zeros(actions),
                   np.zeros(actions), np.zeros(depth, np.int64), np.zeros(values))  # fmt: skip


# ---------------------------------------------------------------------- sums


@_loose
def dot(a: Floats, b: Floats) -> float:
    """Σ_j a(j) b(j)."""
    total = 0.0
    for j in range(a.shape[0]):
        total += a[j] * b[j]
    return total


@_loose
def fold_sums(joint: Joint, offsets: Ints, a: Floats, b: Floats, w: Floats, part: Floats) -> None:
    """part[v of c] = Σ_{j: v_c(j) = v} a(j) b(j), for every component c; the last is the sum of all."""
    for j in range(a.shape[0]):
        w[j] = a[j] * b[j]
    total = 0.0
    for c in range(offsets.shape[0] - 2):
        stride = joint.stride[c]
        total = 0.0
        for v in range(joint.size[c]):
            one = 0.0
            for k in range(v * stride, v * stride + stride):
                one += w[k]
            part[offsets[c] + v] = one
            total += one
        for v in range(1, joint.size[c]):
            for k in range(stride):
                w[k] += w[v * stride + k]
    part[offsets[offsets.shape[0] - 2]] = total


@_loose
def fold_ratios(joint: Joint, offsets: Ints, b: Floats, point: Floats, w: Floats, part: Floats) -> None:
    """part[v of c] = min_{j: v_c(j) = v, point(j) > 0} b(j) / point(j), for every component c; the last is over all."""
    for j in range(b.shape[0]):
        w[j] = b[j] / point[j] if point[j] > 0.0 else np.inf
    least = np.inf
    for c in range(offsets.shape[0] - 2):
        stride = joint.stride[c]
        least = np.inf
        for v in range(joint.size[c]):
            one = np.inf
            for k in range(v * stride, v * stride + stride):
                one = min(one, w[k])
            part[offsets[c] + v] = one
            least = min(least, one)
        for v in range(1, joint.size[c]):
            for k in range(stride):
                w[k] = min(w[k], w[v * stride + k])
    part[offsets[offsets.shape[0] - 2]] = least


@_loose
def _least_difference(b: Floats, point: Floats, needed: float, first: int, last: int) -> float:
    least = 1.0
    for j in range(first, last):
        least = min(least, b[j] - needed * point[j])
    return least


@_loose
def _least_ratio(b: Floats, point: Floats) -> float:
    least = np.inf
    for j in range(b.shape[0]):
        least = min(least, b[j] / point[j] if point[j] > 0.0 else np.inf)
    return least


@inlined
def _exceeds(b: Floats, point: Floats, needed: float) -> bool:
    """Whether b(j) ≥ needed · point(j) for all j."""
    for first in range(0, b.shape[0], _CHUNK):
        if _least_difference(b, point, needed, first, min(first + _CHUNK, b.shape[0])) < 0.0:
            return False
    return True


@inlined
def posterior(p: Problem, b: Floats, edge: int, out: Floats) -> float:
    """b(j') after an outcome, times the outcome's chance; the chance."""
    pair, like = p.pair[edge], p.like[edge]
    component = p.distinct.component[p.graph.step[pair]]
    size, stride = p.joint.size[component], p.joint.stride[component]
    for j in range(b.shape[0]):
        out[j] = 0.0
    chance = 0.0
    for high in range(0, b.shape[0], size * stride):
        for v in range(size):
            likelihood = p.distinct.pool[like + v]
            if likelihood > 0.0:
                there = high + p.joint.later[pair, v] * stride
                here = high + v * stride
                for k in range(stride):
                    out[there + k] += likelihood * b[here + k]
                    chance += likelihood * b[here + k]
    return chance


# ---------------------------------------------------------------------- nodes


@kernel
def find_node(p: Problem, t: Nodes, state: int, b: Floats) -> Any:
    """Where in the hash table the node (x, b) is, or would go."""
    h = np.uint64(np.int64(dot(b, p.key) * _HASHED)) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(state)
    h = (h ^ (h >> np.uint64(31))) * np.uint64(0xFF51AFD7ED558CCD)
    slot = np.int64((h ^ (h >> np.uint64(32))) & np.uint64(t.table.shape[0] - 1))
    while t.table[slot] >= 0:
        node = t.table[slot]
        if t.state[node] == state:
            same = True
            for j in range(b.shape[0]):
                if abs(t.belief[node, j] - b[j]) > _SAME:
                    same = False
                    break
            if same:
                break
        slot = (slot + 1) & (t.table.shape[0] - 1)
    return slot


@kernel
def make_node(p: Problem, t: Nodes, counts: Ints, state: int, b: Floats, high: float) -> int:
    """The node (x, b), a new one if there is none."""
    slot = find_node(p, t, state, b)
    if t.table[slot] >= 0:
        return t.table[slot]
    node = counts[NODES]
    counts[NODES] += 1
    t.table[slot] = node
    t.state[node] = state
    for j in range(b.shape[0]):
        t.belief[node, j] = b[j]
    t.corner[node] = dot(b, p.corner[state])
    t.low[node], t.vector[node], t.looked[node] = -np.inf, -1, 0
    t.high[node] = t.told[node] = min(high, t.corner[node])
    t.edge[node] = t.group[node] = t.pair[node] = t.bin[node] = -1
    t.newer[node] = t.older[node] = -2  # in no list: it tells nothing yet
    t.changed[node] = 0
    return node


@kernel
def lower_high(t: Nodes, counts: Ints, node: int, high: float, worth: float) -> None:
    """A better bound from above. It is told to others once it is better by what is worth it."""
    t.high[node] = min(t.high[node], high)
    if t.told[node] - t.high[node] <= worth:
        return
    unlink(t, node)
    counts[NOW] += 1
    t.changed[node], t.told[node] = counts[NOW], t.high[node]
    link(t, node)


@inlined
def link(t: Nodes, node: int) -> None:
    """Put the node first in its state's list."""
    first = t.latest[t.state[node]]
    t.newer[node], t.older[node] = -1, first
    if first >= 0:
        t.newer[first] = node
    t.latest[t.state[node]] = node


@inlined
def unlink(t: Nodes, node: int) -> None:
    """Take the node out of its state's list, if it is there."""
    if t.newer[node] == -2:
        return
    if t.newer[node] >= 0:
        t.older[t.newer[node]] = t.older[node]
    else:
        t.latest[t.state[node]] = t.older[node]
    if t.older[node] >= 0:
        t.newer[t.older[node]] = t.newer[node]
    t.newer[node] = t.older[node] = -2


@kernel
def expand(p: Problem, t: Nodes, s: Scratch, counts: Ints, node: int) -> None:
    """Give the node its edges."""
    x = t.state[node]
    b = t.belief[node]
    first, last = p.first[x], p.first[x + 1]
    t.edge[node], t.group[node], t.pair[node] = counts[EDGES], counts[GROUPS], counts[PAIRS]
    counts[EDGES] += p.first_edge[last] - p.first_edge[first]
    counts[GROUPS] += last - first
    counts[PAIRS] += p.graph.first[x + 1] - p.graph.first[x]
    for pair in range(p.graph.first[x], p.graph.first[x + 1]):
        row = p.graph.step[pair]
        component = p.distinct.component[row]
        size, stride = p.joint.size[component], p.joint.stride[component]
        mean = 0.0
        for high in range(0, b.shape[0], size * stride):
            for v in range(size):
                for k in range(high + v * stride, high + v * stride + stride):
                    mean += b[k] * p.distinct.pool[p.distinct.at[row] + v]
        t.reward[t.pair[node] + pair - p.graph.first[x]] = mean
    at = t.edge[node]
    for i in range(first, last):
        t.group_low[t.group[node] + i - first] = t.group_high[t.group[node] + i - first] = 0
        for edge in range(p.first_edge[i], p.first_edge[i + 1]):
            t.edge_chance[at] = posterior(p, b, edge, s.b)
            t.edge_corner[at] = t.edge_high[at] = dot(s.b, p.corner[p.to[i]])
            t.edge_low[at], t.edge_vector[at], t.edge_child[at] = -np.inf, -1, -1
            at += 1


@kernel
def look_low(p: Problem, g: Vectors, t: Nodes, s: Scratch, node: int, now: int) -> None:
    """Look at the vectors that are new to the node, for itself and, if it is expanded, for its edges."""
    look_own(g, t, node, now)
    if t.edge[node] < 0:
        return
    x = t.state[node]
    b = t.belief[node]
    base = t.edge[node] - p.first_edge[p.first[x]]
    for i in range(p.first[x], p.first[x + 1]):
        slot = t.group[node] + i - p.first[x]
        first, last = p.first_edge[i], p.first_edge[i + 1]
        for edge in range(first, last):
            if t.edge_vector[base + edge] < 0:  # it was pruned: look at all
                t.group_low[slot] = 0
                t.edge_low[base + edge] = -np.inf
        a = g.newest[p.to[i]]
        if a < 0 or g.made[a] <= t.group_low[slot]:
            continue
        if not p.folded[i]:
            posterior(p, b, first, s.b)
        while a >= 0 and g.made[a] > t.group_low[slot]:
            if p.folded[i]:
                fold_sums(p.joint, p.offsets, b, g.value[a], s.w, s.part)
                for edge in range(first, last):
                    component = p.distinct.component[p.graph.step[p.pair[edge]]]
                    value = 0.0
                    for v in range(p.joint.size[component]):
                        value += p.distinct.pool[p.like[edge] + v] * s.part[p.offsets[component] + v]
                    if value > t.edge_low[base + edge]:
                        t.edge_low[base + edge], t.edge_vector[base + edge] = value, a
            else:
                value = dot(s.b, g.value[a])
                if value > t.edge_low[base + first]:
                    t.edge_low[base + first], t.edge_vector[base + first] = value, a
            a = g.next[a]
        t.group_low[slot] = now


@kernel
def look_own(g: Vectors, t: Nodes, node: int, now: int) -> None:
    """Look at the vectors that are new to the node for itself."""
    if t.vector[node] < 0:
        t.looked[node], t.low[node] = 0, -np.inf
    a = g.newest[t.state[node]]
    while a >= 0 and g.made[a] > t.looked[node]:
        value = dot(t.belief[node], g.value[a])
        if value > t.low[node]:
            t.low[node], t.vector[node] = value, a
        a = g.next[a]
    t.looked[node] = now


@kernel
def look_high(p: Problem, t: Nodes, s: Scratch, node: int, now: int) -> None:
    """Look at the points that are new to the node, for its edges."""
    x = t.state[node]
    b = t.belief[node]
    base = t.edge[node] - p.first_edge[p.first[x]]
    for i in range(p.first[x], p.first[x + 1]):
        slot = t.group[node] + i - p.first[x]
        first, last = p.first_edge[i], p.first_edge[i + 1]
        point = t.latest[p.to[i]]
        if point < 0 or t.changed[point] <= t.group_high[slot]:
            continue
        if not p.folded[i]:
            posterior(p, b, first, s.b)
        while point >= 0 and t.changed[point] > t.group_high[slot]:
            gap = t.corner[point] - t.high[point]
            needed = np.inf  # of the ratio, to be of use to some edge
            for edge in range(first, last):
                most = p.most[edge] if p.folded[i] else 1.0
                needed = min(needed, (t.edge_corner[base + edge] - t.edge_high[base + edge]) / (gap * most))
            if p.folded[i]:
                if needed < 1.0 and _exceeds(b, t.belief[point], needed):
                    fold_ratios(p.joint, p.offsets, b, t.belief[point], s.w, s.part)
                    for edge in range(first, last):
                        component = p.distinct.component[p.graph.step[p.pair[edge]]]
                        ratio = np.inf
                        for v in range(p.joint.size[component]):
                            if s.part[p.offsets[component] + v] < np.inf:
                                ratio = min(ratio, p.distinct.pool[p.like[edge] + v] * s.part[p.offsets[component] + v])
                        high = t.edge_corner[base + edge] - gap * ratio
                        t.edge_high[base + edge] = min(t.edge_high[base + edge], high)
            elif _exceeds(s.b, t.belief[point], needed):
                high = t.edge_corner[base + first] - gap * _least_ratio(s.b, t.belief[point])
                t.edge_high[base + first] = min(t.edge_high[base + first], high)
            point = t.older[point]
        t.group_high[slot] = now


@kernel
def look_ahead(p: Problem, t: Nodes, s: Scratch, node: int) -> None:
    """Bounds on every action's value, from what the edges know: into s.q_low and s.q_high."""
    x = t.state[node]
    first, count = p.graph.first[x], p.graph.first[x + 1] - p.graph.first[x]
    for i in range(count):
        s.q_low[i] = s.q_high[i] = t.reward[t.pair[node] + i]
    at = t.edge[node]
    for edge in range(p.first_edge[p.first[x]], p.first_edge[p.first[x + 1]]):
        if t.edge_chance[at] > 0.0:
            i = p.pair[edge] - first
            child = t.edge_child[at]
            if child >= 0:
                t.edge_high[at] = min(t.edge_high[at], t.edge_chance[at] * t.high[child])
            s.q_low[i] += p.gamma * t.edge_low[at]
            s.q_high[i] += p.gamma * t.edge_high[at]
        at += 1


@kernel
def back_up(p: Problem, g: Vectors, t: Nodes, s: Scratch, counts: Ints, node: int, pair: int) -> None:
    """A new α-vector: the action's reward, then for each outcome the vector that is best there. Kept if better."""
    x = t.state[node]
    row = p.graph.step[pair]
    component = p.distinct.component[row]
    size, stride = p.joint.size[component], p.joint.stride[component]
    for high in range(0, s.vector.shape[0], size * stride):
        for v in range(size):
            for k in range(high + v * stride, high + v * stride + stride):
                s.vector[k] = p.distinct.pool[p.distinct.at[row] + v]
    base, made_of = t.edge[node] - p.first_edge[p.first[x]], g.follow[counts[VECTORS]]
    count = 0
    for i in range(p.first[x], p.first[x + 1]):
        for edge in range(p.first_edge[i], p.first_edge[i + 1]):
            if p.pair[edge] != pair:
                continue
            a = t.edge_vector[base + edge]
            made_of[count] = a
            count += 1
            for high in range(0, s.vector.shape[0], size * stride):
                for v in range(size):
                    likelihood = p.gamma * p.distinct.pool[p.like[edge] + v]
                    if likelihood > 0.0:
                        there = high + p.joint.later[pair, v] * stride
                        here = high + v * stride
                        for k in range(stride):
                            s.vector[here + k] += likelihood * g.value[a, there + k]
    value = dot(t.belief[node], s.vector)
    if value > t.low[node] + 1e-9 * max(1.0, abs(value)):
        for i in range(count, made_of.shape[0]):
            made_of[i] = -1
        a = add_vector(g, counts, x, p.graph.action[pair], s.vector)
        t.low[node], t.vector[node] = value, a


@kernel
def add_vector(g: Vectors, counts: Ints, state: int, action: int, value: Floats) -> int:
    """Put a vector into its state's set."""
    a = counts[VECTORS]
    counts[VECTORS] += 1
    counts[NOW] += 1
    for j in range(value.shape[0]):
        g.value[a, j] = value[j]
    g.state[a], g.action[a], g.made[a] = state, action, counts[NOW]
    g.next[a] = g.newest[state]
    g.newest[state] = a
    return a


@kernel
def implied(t: Nodes, node: int, worth: float) -> bool:
    """Whether the other points of its state imply a point, up to what is worth it."""
    needed = t.corner[node] - t.high[node] - worth
    other = t.latest[t.state[node]]
    while other >= 0:
        gap = t.corner[other] - t.high[other]
        if other != node and needed <= gap and _exceeds(t.belief[node], t.belief[other], needed / gap):
            return True
        other = t.older[other]
    return False


@kernel
def link_by_time(t: Nodes, node: int) -> None:
    """Put the node into its state's list where its last change puts it."""
    after, before = -1, t.latest[t.state[node]]
    while before >= 0 and t.changed[before] > t.changed[node]:
        after, before = before, t.older[before]
    t.newer[node], t.older[node] = after, before
    if before >= 0:
        t.newer[before] = node
    if after >= 0:
        t.older[after] = node
    else:
        t.latest[t.state[node]] = node
