"""The graph of states reachable from a start, built once per model; only numbers change with the belief.

States are numbered so that every state-action leads to the same strongly connected component or an earlier one
(components.py): solving them in order of their numbers needs no state's value before it is known. State 0 is END,
in which all terminal states are one.
"""

import logging
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pomdplite.checking import faults
from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.jit import Floats, Ints, Small, Words, inlined, kernel
from pomdplite.errors import ModelError, TooLargeError
from pomdplite.mdp.components import Components, arrange
from pomdplite.mdp.distinct_steps import DistinctSteps, allocate_steps, grow_steps, intern_step
from pomdplite.mdp.outcomes import FULL, Outcomes, allocate_outcomes, outcomes
from pomdplite.model.compiled import KernelView

log = logging.getLogger("pomdplite")

STATE_LIMIT = 1_000_000  # states; about half a gigabyte for a problem like RockSample
_SUM_TOLERANCE = 1e-6  # by how much probabilities may miss one
_SLICE = 20_000  # states expanded between two looks at Ctrl-C

# Why the expanding kernel came back.
DONE, PAUSED, STATES_FULL, EDGES_FULL, DISTINCT_FULL, ROOM_FULL, FAULT, NO_ACTION, BAD_SUM, BAD_REWARD, BAD_Z = range(
    11
)


class Graph(NamedTuple):
    """Reachable states and what their actions lead to. A state's actions are those that stay in its
    component first, up to split[s], then those whose value is known before the component is solved."""

    states: Words  # [state, s_words]
    table: Small  # hash table of state numbers, -1 where empty
    first: Ints  # [state + 1] its state-actions
    split: Ints  # [state] the first of them that leaves the component for good, or only loops
    action: Small  # [state-action]
    step: Small  # [state-action] which of the distinct steps it is
    first_edge: Ints  # [state + 1] its edges, state-action by state-action, as many as its step has branches
    split_edge: Ints  # [state] the edge at split
    next: Small  # [edge]


@dataclass(frozen=True)
class Reachable:
    """A graph with its distinct steps and components."""

    view: KernelView
    graph: Graph
    distinct: DistinctSteps
    distinct_count: int
    components: Components

    @property
    def states(self) -> int:
        """Number of states, END included."""
        return len(self.graph.first) - 1

    @property
    def state_actions(self) -> int:
        """Number of legal (state, action) pairs."""
        return len(self.graph.action)

    def find(self, s: Words) -> int:
        """The number of a state, -1 if it is not in the graph."""
        return int(find_state(self.graph.states, self.graph.table, s))

    def actions(self, state: int) -> Ints:
        """The state's state-actions in the order of the action numbers."""
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
        d = self.distinct
        component, k, e = int(d.component[step]), int(d.branches[step]), int(d.outcomes[step])
        n, at = int(offsets[component + 1] - offsets[component]), int(d.at[step])
        pool = d.pool[at:]
        tail = pool[n + k * n + e * n :]
        return (
            pool[:n], pool[n + k * n : n + k * n + e * n].reshape(e, n),
            tail[:e].astype(np.int64), tail[e : 2 * e].astype(np.int64),
        )  # fmt: skip


class _Growing(NamedTuple):
    """The graph while it grows, in order of discovery."""

    states: Words  # [capacity, s_words]
    table: Small
    first: Ints  # [capacity + 1]
    first_edge: Ints  # [capacity + 1]
    action: Small
    step: Small
    next: Small


def build(
    view: KernelView,
    root: Words,
    *,
    limit: int = STATE_LIMIT,
) -> Reachable:
    """Every state reachable from `root`. The model's numbers are checked on the way."""
    growing, distinct, counts, _ = _explore(view, root, limit)
    if counts[0] > limit:
        raise TooLargeError(
            f"{view.model.name} has more than {limit:,} reachable states, the limit of the exact solver; larger "
            'problems are the online solver\'s: solver="uct".'
        )
    return _finish(view, growing, distinct, counts)


def reward_range(view: KernelView, states: int = 2000) -> tuple[float, float]:
    """The smallest and largest reward of the first reachable (x, θ, a)."""
    _, distinct, counts, offsets = _explore(view, view.root(), states)
    low, high = np.inf, -np.inf
    for r in range(int(counts[4])):
        component = distinct.component[r]
        rewards = distinct.pool[distinct.at[r] : distinct.at[r] + offsets[component + 1] - offsets[component]]
        low, high = min(low, float(rewards.min())), max(high, float(rewards.max()))
    return low, high


def _explore(view: KernelView, root: Words, limit: int) -> tuple["_Growing", DistinctSteps, Ints, Ints]:
    """Expand states in order of discovery, until there are no more or more than the limit."""
    model = view.kernel_model
    if abi.terminal(model, root.reshape(1, -1), 0):
        raise ModelError(f"{view.model.name}: the first state x = ({view.describe(root)}) is terminal.")
    space = allocate_outcomes(model, max(4, model.next_states))
    distinct, growing = allocate_steps(256, 4096), _space(model, 1024, 8192)
    growing.states[1] = root
    _fill_table(growing.states[:2], growing.table)
    # counts: states found, states expanded, state-actions, edges, distinct, pool
    counts = np.array([2, 1, 0, 0, 0, 0], np.int64)
    fault = np.zeros(4, np.int64)  # state, action, component, value or code
    number = np.zeros(1)
    while counts[0] <= limit:
        why = _expand(model, growing, distinct, space, counts, fault, number, int(counts[1]) + min(_SLICE, limit))
        if why == DONE:
            break
        if why == STATES_FULL:
            growing = _grow(model, growing, counts, states=2, edges=1)
        elif why == EDGES_FULL:
            growing = _grow(model, growing, counts, states=1, edges=2)
        elif why == DISTINCT_FULL:
            distinct = grow_steps(distinct, int(counts[4]), int(counts[5]))
        elif why == ROOM_FULL:
            space = allocate_outcomes(model, 2 * space.next.shape[0])
        elif why != PAUSED:
            raise _complaint(view, growing.states[fault[0]].copy(), why, fault, float(number[0]))
    return growing, distinct, counts, model.offsets


def _finish(view: KernelView, growing: _Growing, distinct: DistinctSteps, counts: Ints) -> Reachable:
    """Number the states component by component."""
    n, pairs, edges, distinct_count = int(counts[0]), int(counts[2]), int(counts[3]), int(counts[4])
    order, components, arrays = arrange(
        view.kernel_model, distinct, distinct_count, growing.first[: n + 1], growing.first_edge[: n + 1],
        growing.action[:pairs], growing.step[:pairs], growing.next[:edges],
    )  # fmt: skip
    states = growing.states[:n][order]
    table = np.full(1 << (2 * n).bit_length(), -1, np.int32)
    _fill_table(states, table)
    graph = Graph(states, table, *arrays)
    log.debug("%s: %d states, %d state-actions, %d distinct steps", view.model.name, n, pairs, distinct_count)
    return Reachable(view, graph, distinct, distinct_count, components)


def _space(model: KernelModel, states: int, edges: int) -> _Growing:
    return _Growing(
        np.zeros((states, model.s_words), np.uint64), np.full(1 << (2 * states).bit_length(), -1, np.int32),
        np.zeros(states + 1, np.int64), np.zeros(states + 1, np.int64),
        np.zeros(edges, np.int32), np.zeros(edges, np.int32), np.zeros(edges, np.int32),
    )  # fmt: skip


def _grow(model: KernelModel, old: _Growing, counts: Ints, *, states: int, edges: int) -> _Growing:
    n = int(counts[0])
    new = _space(model, states * len(old.states), edges * len(old.next))
    new.states[:n] = old.states[:n]
    new.first[: n + 1] = old.first[: n + 1]
    new.first_edge[: n + 1] = old.first_edge[: n + 1]
    for before, after in zip(old[4:], new[4:], strict=True):
        after[: len(before)] = before
    _fill_table(new.states[:n], new.table)
    return new


@inlined
def hash_words(words: Words, i: int) -> np.uint64:
    """A hash of row i."""
    h = np.uint64(0x9E3779B97F4A7C15)
    for w in range(words.shape[1]):
        h = (h ^ words[i, w]) * np.uint64(0xFF51AFD7ED558CCD)
        h ^= h >> np.uint64(32)
    return h


@inlined
def state_slot(states: Words, table: Small, sought: Words, i: int) -> Any:
    """Where the state sought[i] is in the table, or where it would go."""
    slot = np.int64(hash_words(sought, i) & np.uint64(table.shape[0] - 1))
    while table[slot] >= 0:
        same = True
        for w in range(sought.shape[1]):
            if states[table[slot], w] != sought[i, w]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & (table.shape[0] - 1)
    return slot


@kernel
def find_state(states: Words, table: Small, s: Words) -> int:
    """The number of s, -1 if it is not there."""
    return table[state_slot(states, table, s.reshape((1, s.shape[0])), 0)]


@kernel
def _fill_table(states: Words, table: Small) -> None:
    """Enter every state but END, which may have the words of another."""
    for i in range(1, states.shape[0]):
        table[state_slot(states, table, states, i)] = i


@kernel
def _expand(
    model: KernelModel,
    growing: _Growing,
    distinct: DistinctSteps,
    out: Outcomes,
    counts: Ints,
    fault: Ints,
    number: Floats,
    pause: int,
) -> int:
    """Expand states in order of discovery until done, paused or out of room."""
    biggest = out.reward.shape[0] * (1 + out.next.shape[0] + out.likelihood.shape[0]) + 2 * out.likelihood.shape[0]
    while counts[1] < counts[0]:
        s = counts[1]
        if s >= pause:
            return PAUSED
        if counts[0] + model.actions * out.next.shape[0] > growing.states.shape[0]:
            return STATES_FULL
        if counts[3] + model.actions * out.next.shape[0] > growing.next.shape[0]:
            return EDGES_FULL
        if (
            counts[4] + model.actions >= distinct.at.shape[0]
            or counts[5] + model.actions * biggest > distinct.pool.shape[0]
        ):
            return DISTINCT_FULL
        pairs, edges = counts[2], counts[3]  # taken as final only when the whole state is done
        for a in range(model.actions):
            if not abi.legal(model, growing.states, s, a):
                continue
            component, k, e = outcomes(model, growing.states, s, a, out)
            fault[0], fault[1], fault[2] = s, a, component
            if k == FULL:
                return ROOM_FULL
            if k < 0:
                fault[3] = e
                number[0] = k
                return FAULT
            n = model.offsets[component + 1] - model.offsets[component]
            why = _sound(out, n, k, e, fault, number)
            if why != DONE:
                return why
            r, used = intern_step(distinct, counts[4], counts[5], component, n, k, e, out)
            if r == counts[4]:
                counts[4] += 1
                counts[5] = used
            growing.action[pairs] = a
            growing.step[pairs] = r
            pairs += 1
            for j in range(k):
                to = 0
                if not abi.terminal(model, out.next, j):
                    slot = state_slot(growing.states, growing.table, out.next, j)
                    to = growing.table[slot]
                    if to < 0:
                        to = counts[0]
                        for w in range(model.s_words):
                            growing.states[to, w] = out.next[j, w]
                        growing.table[slot] = to
                        counts[0] += 1
                growing.next[edges] = to
                edges += 1
        if pairs == counts[2]:
            fault[0] = s
            return NO_ACTION
        counts[2], counts[3] = pairs, edges
        growing.first[s + 1] = pairs
        growing.first_edge[s + 1] = edges
        counts[1] = s + 1
    return DONE


@inlined
def _sound(out: Outcomes, n: int, k: int, e: int, fault: Ints, number: Floats) -> int:
    """Whether the numbers of one (s, a) are probabilities and rewards."""
    for v in range(n):
        fault[3] = v
        number[0] = out.reward[v]
        if not np.isfinite(out.reward[v]):
            return BAD_REWARD
        total, seen = 0.0, 0.0
        smallest = 0.0
        for j in range(k):
            total += out.chance[j, v]
            smallest = min(smallest, out.chance[j, v])
        number[0] = smallest if smallest < 0.0 else total
        if smallest < 0.0 or not abs(total - 1.0) <= _SUM_TOLERANCE:
            return BAD_SUM
        smallest = 0.0
        for i in range(e):
            seen += out.likelihood[i, v]
            smallest = min(smallest, out.likelihood[i, v])
        number[0] = smallest if smallest < 0.0 else seen
        if smallest < 0.0 or not abs(seen - 1.0) <= 2 * _SUM_TOLERANCE:
            return BAD_Z
    return DONE


def _complaint(view: KernelView, s: Words, why: int, fault: Ints, number: float) -> ModelError:
    name = view.model.name
    if why == NO_ACTION:
        try:
            for a in range(len(view.model.actions)):
                view.model.compiled_form.interpreted.legal(view.record(s), a)
        except Exception as error:  # noqa: BLE001  whatever the user's code raised is what is reported
            where = f"x = ({view.describe(s)}), action {view.model.actions[a]!r}"
            return ModelError(f"{name}.legal raised {type(error).__name__} ({error}) at {where}.")
        return ModelError(f"{name}: no action is legal in x = ({view.describe(s)}), which is not terminal.")
    a, component, value = (int(f) for f in fault[1:])
    if why == FAULT or (why == BAD_REWARD and view.model.compiled_form.functions.failures):
        code = int(number) if why == FAULT else faults.RAISED
        return faults.model_error(view, s, a, component, code, value)
    where = faults.place(view, s, a, component, value)
    if why == BAD_REWARD:
        raised = faults.replayed(view, s, a, component, value)
        return ModelError(f"{name}.reward {raised or f'gives {number}'} at {where}.")
    function = "transition" if why == BAD_SUM else "observation"
    wrong = f"a negative probability, {number:g}" if number < 0 else f"probabilities that sum to {number:.9g}, not 1"
    return ModelError(f"{name}.{function} gives {wrong}, at {where}.")
