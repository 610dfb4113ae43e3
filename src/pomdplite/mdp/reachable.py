"""The graph of the states reachable from a start state. It is built once per model; beliefs change only its numbers.

States are numbered so that every state-action leads to its own strongly connected component or to an earlier one
(components.py). Components can therefore be solved in the order of their numbers. State 0 is END, which stands for
all terminal states.
"""

import logging
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.errors import ModelError, TooLargeError
from pomdplite.mdp import memory
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.components import Components, StateActions, arrange
from pomdplite.mdp.distinct_steps import (
    POOL,
    STEPS,
    DistinctSteps,
    allocate_steps,
    grow_steps,
    has_room_for,
    intern_step,
    steps_bytes,
)
from pomdplite.mdp.hash_table import empty_table, row_slot
from pomdplite.mdp.outcomes import FULL, Outcomes, allocate_outcomes, outcomes
from pomdplite.model.compiled import KernelView

log = logging.getLogger("pomdplite")

STATE_LIMIT = 1_000_000  # states; takes about half a gigabyte for a problem like RockSample
_MOST_FIRST_NUMBERS = 1 << 20  # of distinct steps, for which there is room from the beginning
_FIRST_STATES = 1024  # for which there is room from the beginning
_INSTEAD = "use a planner that lists no states (pomcp or despot)"

# Why the expanding kernel returned.
DONE, PAUSED, STATE_BUFFER_FULL, EDGE_BUFFER_FULL, STEP_BUFFER_FULL, OUTCOME_BUFFER_FULL, FAULTY = range(7)

# Indices into GrowingGraph.counts.
STATES, EXPANDED, PAIRS, EDGES = range(4)


class Graph(NamedTuple):
    """Reachable states and where their actions lead.

    A state's actions are sorted: up to split[s] those that stay in its component, then those whose value is known
    before the component is solved.
    """

    states: Words  # [state, s_words]
    table: Small  # hash table of state numbers, -1 where empty
    first: Ints  # [state + 1] the state's state-actions
    split: Ints  # [state] the first of them that leaves the component for good or only loops
    action: Small  # [state-action]
    step: Small  # [state-action] which of the distinct steps it is
    first_edge: Ints  # [state + 1] its edges: for each state-action as many as its step has branches
    split_edge: Ints  # [state] the first edge of the state-action at split
    next: Small  # [edge]


@dataclass(frozen=True)
class Reachable:
    """A graph with its distinct steps and components."""

    view: KernelView
    graph: Graph
    distinct: DistinctSteps
    components: Components

    @property
    def states(self) -> int:
        """Number of states, including END."""
        return len(self.graph.first) - 1

    @property
    def distinct_count(self) -> int:
        """Number of distinct steps."""
        return int(self.distinct.counts[STEPS])

    @property
    def state_actions(self) -> int:
        """Number of legal (state, action) pairs."""
        return len(self.graph.action)

    def find(self, s: Words) -> int:
        """The number of a state, -1 if it is not in the graph."""
        return int(find_state(self.graph.states, self.graph.table, s))

    def actions(self, state: int) -> Ints:
        """The state's state-actions, ordered by action number."""
        first, last = self.graph.first[state : state + 2]
        return first + np.argsort(self.graph.action[first:last], kind="stable")

    def edges(self, state: int, state_action: int) -> Small:
        """The next states of a state-action."""
        first = self.graph.first[state]
        at = self.graph.first_edge[state] + int(self.distinct.branches[self.graph.step[first:state_action]].sum())
        return self.graph.next[at : at + self.distinct.branches[self.graph.step[state_action]]]

    def likelihood(self, step: int) -> tuple[Floats, Floats, Ints, Ints]:
        """A distinct step as arrays: reward [n], likelihood [e, n], next state [e], observation [e]."""
        offsets = self.view.table.offsets
        distinct = self.distinct
        component, k, e = int(distinct.component[step]), int(distinct.branches[step]), int(distinct.outcomes[step])
        n = int(offsets[component + 1] - offsets[component])
        pool = distinct.pool[int(distinct.at[step]) :]
        tail = pool[n + k * n + e * n :]
        return (
            pool[:n], pool[n + k * n : n + k * n + e * n].reshape(e, n),
            tail[:e].astype(np.int64), tail[e : 2 * e].astype(np.int64),
        )  # fmt: skip


class GrowingGraph(NamedTuple):
    """The graph while it grows, with states in the order of discovery."""

    counts: Ints  # [4] states found, states expanded, state-actions, edges
    states: Words  # [capacity, s_words]
    table: Small  # hash table of state numbers, -1 where empty
    state_actions: StateActions


def build(
    view: KernelView, root: Words, *, limit: int = STATE_LIMIT, numbers: float = math.inf,
    deadline: Deadline = NO_DEADLINE,
) -> Reachable:  # fmt: skip
    """The graph of all states reachable from `root`, with up to so many numbers in its distinct steps.

    The model's numbers are checked along the way.
    """
    check = partial(deadline.check, f"{view.model.name}: listing its reachable states")
    growing, distinct = explore(view, root, limit, numbers, deadline, check)
    if distinct.counts[POOL] > numbers:
        raise TooLargeError(
            f"{view.model.name}: the first {int(growing.counts[EXPANDED]):,} of its states have "
            f"{int(distinct.counts[STEPS]):,} distinct steps with {int(distinct.counts[POOL]):,} probabilities to "
            f"average over a belief, and a step has time for {int(numbers):,}."
        )
    if growing.counts[STATES] > limit or growing.counts[EXPANDED] < growing.counts[STATES]:
        raise TooLargeError(f"{view.model.name} has more than {limit:,} reachable states.")
    return _finish(view, growing, distinct)


def explore(
    view: KernelView, root: Words, limit: int, numbers: float, deadline: Deadline, check: Callable[..., None]
) -> tuple[GrowingGraph, DistinctSteps]:
    """Expand states in the order of discovery until none is left, or states or the numbers of their steps are too many.

    `check` ends it in time. A single (s, a) with more next states than the limit exceeds it, too.
    """
    model = view.kernel_model
    if model.noise.numbers > 0 or model.z_words > 0:
        view.require_listed("a graph of reachable states")
    if abi.terminal(model, root.reshape(1, -1), 0):
        raise ModelError(f"{view.model.name}: the initial state x = ({view.describe(root)}) is terminal.")
    out = allocate_outcomes(model, max(4, model.next_states))
    memory.require(
        graph_bytes(model, _FIRST_STATES, 8192), f"{view.model.name}: {_FIRST_STATES:,} of its states", _INSTEAD
    )
    first = min(_MOST_FIRST_NUMBERS, 4 * model.actions * len(out.reward))  # so that few states are expanded twice
    distinct, growing = allocate_steps(256, max(4096, first)), _allocate_graph(model, _FIRST_STATES, 8192)
    growing.counts[:] = (2, 1, 0, 0)  # END counts as found and expanded
    growing.states[1] = root
    _fill_table(growing.states[:2], growing.table)
    clock, took = deadline.batches(), 0.0
    while growing.counts[STATES] <= limit and distinct.counts[POOL] <= numbers:
        expanded = int(growing.counts[EXPANDED])
        began = deadline.elapsed
        check(ahead=took)
        status = _expand(model, growing, distinct, out, expanded + min(clock.portion(expanded), limit))
        view.raise_fault()
        took = deadline.elapsed - began
        if status == DONE:
            break
        states, edges = len(growing.states), len(growing.state_actions.next)
        if status == STATE_BUFFER_FULL:
            _require(view, growing, distinct, graph_bytes(model, 2 * states, edges))
            growing = _grow(model, growing, states=2, edges=1)
        elif status == EDGE_BUFFER_FULL:
            _require(view, growing, distinct, graph_bytes(model, states, 2 * edges))
            growing = _grow(model, growing, states=1, edges=2)
        elif status == STEP_BUFFER_FULL:
            _require(view, growing, distinct, steps_bytes(2 * len(distinct.at), 2 * len(distinct.pool)))
            distinct = grow_steps(distinct)
        elif status == OUTCOME_BUFFER_FULL:
            if out.next.shape[0] > limit:
                break
            out = allocate_outcomes(model, 2 * out.next.shape[0])
    return growing, distinct


def _require(view: KernelView, growing: GrowingGraph, distinct: DistinctSteps, more: int) -> None:
    """Raise TooLargeError if the graph and so many bytes more do not fit."""
    states, steps = int(growing.counts[STATES]), int(distinct.counts[STEPS])
    what = (
        f"{view.model.name}: the graph of its reachable states ({states:,} states and {steps:,} distinct steps so far)"
    )
    memory.require(memory.size(growing, distinct) + more, what, _INSTEAD)


def graph_bytes(model: KernelModel, states: int, edges: int) -> int:
    """The memory of a graph with this capacity."""
    return states * (8 * model.s_words + 16 + 16) + 12 * edges


def _finish(view: KernelView, growing: GrowingGraph, distinct: DistinctSteps) -> Reachable:
    """Renumber the states by component."""
    n, pairs, edges = (int(growing.counts[i]) for i in (STATES, PAIRS, EDGES))
    _require(view, growing, distinct, graph_bytes(view.kernel_model, 2 * n, edges))
    found = growing.state_actions
    arranged = arrange(
        view.kernel_model,
        distinct,
        StateActions(
            first=found.first[: n + 1],
            first_edge=found.first_edge[: n + 1],
            action=found.action[:pairs],
            step=found.step[:pairs],
            next=found.next[:edges],
        ),
    )
    states = growing.states[:n][arranged.order]
    table = empty_table(2 * n + 1)
    _fill_table(states, table)
    graph = Graph(
        states=states,
        table=table,
        split=arranged.split,
        split_edge=arranged.split_edge,
        **arranged.state_actions._asdict(),
    )
    reachable = Reachable(view=view, graph=graph, distinct=distinct, components=arranged.components)
    log.debug("%s: %d states, %d state-actions, %d distinct steps", view.model.name, n, pairs, reachable.distinct_count)
    return reachable


def _allocate_graph(model: KernelModel, states: int, edges: int) -> GrowingGraph:
    return GrowingGraph(
        counts=np.zeros(4, np.int64),
        states=np.zeros((states, model.s_words), np.uint64),
        table=empty_table(2 * states + 1),
        state_actions=StateActions(
            first=np.zeros(states + 1, np.int64),
            first_edge=np.zeros(states + 1, np.int64),
            action=np.zeros(edges, np.int32),
            step=np.zeros(edges, np.int32),
            next=np.zeros(edges, np.int32),
        ),
    )


def _grow(model: KernelModel, old: GrowingGraph, *, states: int, edges: int) -> GrowingGraph:
    """A copy with the capacities multiplied by these factors."""
    new = _allocate_graph(model, states * len(old.states), edges * len(old.state_actions.next))
    n = int(old.counts[STATES])
    new.counts[:] = old.counts
    new.states[:n] = old.states[:n]
    for name in StateActions._fields:
        before = getattr(old.state_actions, name)
        getattr(new.state_actions, name)[: len(before)] = before
    _fill_table(new.states[:n], new.table)
    return new


@kernel
def find_state(states: Words, table: Small, s: Words) -> int:
    """The number of s, -1 if it is not there."""
    return table[row_slot(states, table, s.reshape((1, s.shape[0])), 0)]


@kernel
def _fill_table(states: Words, table: Small) -> None:
    """Enter every state except END, whose words may equal those of another state."""
    for i in range(1, states.shape[0]):
        table[row_slot(states, table, states, i)] = i


@kernel
def _expand(model: KernelModel, growing: GrowingGraph, distinct: DistinctSteps, out: Outcomes, pause: int) -> int:
    """Expand states in the order of discovery: until done, until `pause` states, or until a buffer is full."""
    counts, branches = growing.counts, model.actions * out.next.shape[0]
    while counts[EXPANDED] < counts[STATES]:
        if counts[EXPANDED] >= pause:
            return PAUSED
        if counts[STATES] + branches > growing.states.shape[0]:
            return STATE_BUFFER_FULL
        if counts[EDGES] + branches > growing.state_actions.next.shape[0]:
            return EDGE_BUFFER_FULL
        status = _expand_state(model, growing, distinct, out, counts[EXPANDED])
        if status != DONE:
            return status
    return DONE


@inlined
def _expand_state(model: KernelModel, growing: GrowingGraph, distinct: DistinctSteps, out: Outcomes, s: int) -> int:
    """List the state-actions of s. The counts are updated only once all of them are listed."""
    counts, listed = growing.counts, growing.state_actions
    pair, edge = counts[PAIRS], counts[EDGES]
    for a in range(model.actions):
        if not abi.legal(model, growing.states, s, a):
            continue
        component, k, e = outcomes(model, growing.states, s, a, out)
        if k == FULL:
            return OUTCOME_BUFFER_FULL
        n = model.offsets[component + 1] - model.offsets[component]
        if not has_room_for(distinct, n, k, e):
            return STEP_BUFFER_FULL
        listed.action[pair] = a
        listed.step[pair] = intern_step(distinct, component, n, k, e, out)
        pair += 1
        for j in range(k):
            listed.next[edge] = 0 if abi.terminal(model, out.next, j) else _number_of(growing, out.next, j)
            edge += 1
    if pair == counts[PAIRS]:
        abi.note_no_action(model, growing.states, s)
    if abi.faulty(model):
        return FAULTY
    counts[PAIRS], counts[EDGES], counts[EXPANDED] = pair, edge, s + 1
    listed.first[s + 1] = pair
    listed.first_edge[s + 1] = edge
    return DONE


@inlined
def _number_of(growing: GrowingGraph, states: Words, j: int) -> int:
    """The number of the state in row j, which is added if it is new."""
    slot = row_slot(growing.states, growing.table, states, j)
    number = growing.table[slot]
    if number < 0:
        number = growing.counts[STATES]
        for w in range(states.shape[1]):
            growing.states[number, w] = states[j, w]
        growing.table[slot] = number
        growing.counts[STATES] = number + 1
    return number
