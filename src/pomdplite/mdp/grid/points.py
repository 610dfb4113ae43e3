"""The MDP on the points of a grid under a frozen belief: what each action leads to.

A state s is its numbers on the axes and the *rest*: its discrete fields and, where θ changes, its maps. Rests are found
by reachability, from that of the present state on, and each of them has all points of the grid. A next state that is
terminal is worth 0; any other is worth what the points around it are (simplex.py), and of these a terminal one is worth
0. Near a terminal region smaller than a cell, a state therefore ends there with some probability.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.mdp.grid.drawing import Drawing, step_from
from pomdplite.mdp.grid.simplex import Axes, Simplex, allocate_simplex, axes_of, locate, write_point
from pomdplite.mdp.grid.sweeps import EDGES, END, ENDS, NODES, PAIRS, PointGraph
from pomdplite.mdp.hash_table import empty_table, row_slot

BUILT, PAUSED, GRAPH_FULL, RESTS_FULL = range(4)  # why `build` returned
FOUND, ACTIVE, AT_REST, AT_POINT = range(4)  # indices into Space.counts


class Space(NamedTuple):
    """The points of a grid for each rest. The value of point p with rest r is in place 1 + r · points + p."""

    axes: Axes
    points: int
    counts: Ints  # [4] rests found; of them active; the active rest and the point at which building goes on
    rests: Words  # [rest, s_words] with zeros for the axes
    table: Small  # hash table of rests
    active: Small  # [k] the rests that the present state can reach, in the order in which they were found
    reached: Small  # [rest] whether it is active
    # scratch
    simplex: Simplex
    state: Words  # [1, s_words]
    rest: Words  # [1, s_words]


class PointValues(NamedTuple):
    """Values between which to interpolate; there are none if `value` is empty."""

    space: Space
    value: Floats  # [place]


def no_values(s_words: int) -> PointValues:
    """Nothing to interpolate between."""
    return PointValues(allocate_space(axes_of([]), s_words, 1), np.zeros(0))


def allocate_space(axes: Axes, s_words: int, rests: int) -> Space:
    """Room for so many rests."""
    return Space(
        axes=axes,
        points=int(np.prod(axes.points)),
        counts=np.zeros(4, np.int64),
        rests=np.zeros((rests, s_words), np.uint64),
        table=empty_table(2 * rests),
        active=np.zeros(rests, np.int32),
        reached=np.zeros(rests, np.int32),
        simplex=allocate_simplex(axes),
        state=np.zeros((1, s_words), np.uint64),
        rest=np.zeros((1, s_words), np.uint64),
    )


def with_rests(space: Space, rests: int) -> Space:
    """The same with room for so many rests."""
    larger, old = allocate_space(space.axes, space.rests.shape[1], rests), len(space.rests)
    larger.counts[:] = space.counts
    larger.rests[:old], larger.active[:old], larger.reached[:old] = space.rests, space.active, space.reached
    for rest in range(int(space.counts[FOUND])):
        larger.table[row_slot(larger.rests, larger.table, larger.rests, rest)] = rest
    return larger


@kernel
def begin(space: Space, graph: PointGraph) -> None:
    """Begin a new graph."""
    for k in range(space.counts[ACTIVE]):
        space.reached[space.active[k]] = 0
    space.counts[ACTIVE] = space.counts[AT_REST] = space.counts[AT_POINT] = 0
    graph.counts[:] = 0


@kernel
def open_state(model: KernelModel, drawing: Drawing, space: Space, states: Words) -> int:
    """Let the graph reach what can follow states[0]: BUILT if it does already, else PAUSED or RESTS_FULL."""
    for a in range(model.actions):
        if not abi.legal(model, states, 0, a):
            continue
        if space.counts[FOUND] + drawing.work.next.shape[0] > space.rests.shape[0]:
            return RESTS_FULL
        _, _, k = step_from(model, drawing, states, a)
        for j in range(k):
            if drawing.work.chance[j] > 0.0 and not abi.terminal(model, drawing.work.next, j):
                _activate(space, _rest_of(space, drawing.work.next, j))
    return BUILT if space.counts[AT_REST] == space.counts[ACTIVE] else PAUSED


@inlined
def _slot(space: Space, states: Words, s: int) -> int:
    """The slot of the rest of states[s]."""
    for w in range(states.shape[1]):
        space.rest[0, w] = states[s, w]
    for k in range(space.axes.word.shape[0]):
        space.rest[0, space.axes.word[k]] = np.uint64(0)
    return row_slot(space.rests, space.table, space.rest, 0)


@inlined
def _rest_of(space: Space, states: Words, s: int) -> int:
    """The number of the rest of states[s], a new one if need be."""
    slot = _slot(space, states, s)
    if space.table[slot] < 0:
        new = space.counts[FOUND]
        space.counts[FOUND] += 1
        space.table[slot] = new
        for w in range(states.shape[1]):
            space.rests[new, w] = space.rest[0, w]
    return space.table[slot]


@inlined
def interpolated(known: PointValues, states: Words, s: int) -> float:
    """The value of states[s] between the points of its rest; nan if they have none."""
    space, value = known.space, 0.0
    rest = space.table[_slot(space, states, s)]
    if rest < 0:
        return np.nan
    locate(space.axes, states, s, space.simplex)
    for i in range(space.simplex.vertex.shape[0]):
        value += space.simplex.weight[i] * known.value[1 + rest * space.points + space.simplex.vertex[i]]
    return value


@inlined
def _activate(space: Space, rest: int) -> None:
    if space.reached[rest] == 0:
        space.reached[rest] = 1
        space.active[space.counts[ACTIVE]] = rest
        space.counts[ACTIVE] += 1


@kernel
def build(model: KernelModel, drawing: Drawing, space: Space, graph: PointGraph, portion: int) -> int:
    """Add at most so many points to the graph. BUILT if it is complete; otherwise to be called again, with more room.

    A fault in the model is on record.
    """
    counts, most = space.counts, drawing.work.next.shape[0]
    for _ in range(portion):
        if counts[AT_REST] == counts[ACTIVE]:
            return BUILT
        if counts[FOUND] + model.actions * most > space.rests.shape[0]:
            return RESTS_FULL
        edges = model.actions * most * space.simplex.vertex.shape[0]
        if graph.counts[EDGES] + edges > graph.next.shape[0] or graph.counts[NODES] + 1 > graph.value.shape[0]:
            return GRAPH_FULL
        _add_point(model, drawing, space, graph)
        counts[AT_POINT] += 1
        if counts[AT_POINT] == space.points:
            counts[AT_POINT] = 0
            counts[AT_REST] += 1
    return PAUSED


@inlined
def _add_point(model: KernelModel, drawing: Drawing, space: Space, graph: PointGraph) -> None:
    """Add the next point, unless it is terminal."""
    rest, point = space.active[space.counts[AT_REST]], space.counts[AT_POINT]
    for w in range(space.state.shape[1]):
        space.state[0, w] = space.rests[rest, w]
    write_point(space.axes, point, space.state, 0)
    if abi.terminal(model, space.state, 0):
        graph.counts[ENDS] += 1
        return
    node = graph.counts[NODES]
    graph.value[node] = 1 + rest * space.points + point
    for a in range(model.actions):
        if abi.legal(model, space.state, 0, a):
            _add_pair(model, drawing, space, graph, a)
    if graph.counts[PAIRS] == graph.first[node]:
        abi.note_no_action(model, space.state, 0)
    graph.counts[NODES] = node + 1
    graph.first[node + 1] = graph.counts[PAIRS]


@inlined
def _add_pair(model: KernelModel, drawing: Drawing, space: Space, graph: PointGraph, a: int) -> None:
    """Add an action of the point in space.state."""
    work, pair = drawing.work, graph.counts[PAIRS]
    reward, change, k = step_from(model, drawing, space.state, a)
    graph.action[pair], graph.reward[pair], graph.bonus[pair] = a, reward, drawing.beta * change
    first = graph.counts[EDGES]
    for j in range(k):
        if work.chance[j] == 0.0:
            continue
        if abi.terminal(model, work.next, j):
            graph.counts[ENDS] += 1
            _add_edge(graph, first, END, work.chance[j])
            continue
        rest = _rest_of(space, work.next, j)
        _activate(space, rest)
        locate(space.axes, work.next, j, space.simplex)
        for i in range(space.simplex.vertex.shape[0]):
            if space.simplex.weight[i] > 0.0:
                place = 1 + rest * space.points + space.simplex.vertex[i]
                _add_edge(graph, first, place, work.chance[j] * space.simplex.weight[i])
    graph.counts[PAIRS] = pair + 1
    graph.first_edge[pair + 1] = graph.counts[EDGES]


@inlined
def _add_edge(graph: PointGraph, first: int, place: int, chance: float) -> None:
    """Add an edge to those from `first` on, or its probability to that of an edge to the same place."""
    edge = first
    while edge < graph.counts[EDGES] and graph.next[edge] != place:
        edge += 1
    if edge == graph.counts[EDGES]:
        graph.counts[EDGES] += 1
        graph.next[edge], graph.chance[edge] = place, 0.0
    graph.chance[edge] += chance


@kernel
def look_ahead(
    model: KernelModel, drawing: Drawing, space: Space, states: Words, a: int, values: Floats, into: Floats
) -> None:
    """One exact step from states[0] by action a, then interpolation, behind `open_state`.

    into: mean reward, E‖b_e − b‖₁, and the means of each row of values [row, place] after the step.
    """
    work, simplex = drawing.work, space.simplex
    into[:] = 0.0
    into[0], into[1], k = step_from(model, drawing, states, a)
    for j in range(k):
        if work.chance[j] == 0.0 or abi.terminal(model, work.next, j):
            continue
        rest = _rest_of(space, work.next, j)
        locate(space.axes, work.next, j, simplex)
        for i in range(simplex.vertex.shape[0]):
            place = 1 + rest * space.points + simplex.vertex[i]
            for row in range(values.shape[0]):
                into[2 + row] += work.chance[j] * simplex.weight[i] * values[row, place]
