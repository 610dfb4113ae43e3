"""Value iteration where few steps change at a time: only states that a change can have reached are solved again.

A queue holds the states to be solved. When the value of a state has moved by more than a threshold since its
predecessors last heard of it, they join the queue. In the end, every state's successors lie within the threshold of
what the state was solved with, so its Bellman residual is at most γ times the threshold, whatever the order.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, Small, inlined, inner, kernel
from pomdplite.mdp.distinct_steps import DistinctSteps, StepValues
from pomdplite.mdp.reachable import Graph

# Indices into Queue.at.
HEAD, LENGTH, EVALUATED, SOLVED = range(4)

LONGEST = 0.25  # of the states: a longer queue is not worth keeping
SETTLED, UNFINISHED, TOO_LONG = range(3)  # how `settle` ends


class Backwards(NamedTuple):
    """The graph read backwards, as compressed rows."""

    first_pair: Ints  # [step + 1] into `state`
    state: Small  # the states of the state-actions with this step
    first_before: Ints  # [state + 1] into `before`
    before: Small  # the states that may lead to this one


class CountedMdp(NamedTuple):
    """The internal-reward MDP of one belief."""

    graph: Graph
    distinct: DistinctSteps
    values: StepValues  # the bonus with its weight β
    closed: Flags  # [step] whether it is worth its internal reward alone
    gamma: float


class Queue(NamedTuple):
    """Values, and the states that are to be solved again."""

    v: Floats  # [state] Ṽ
    bonus: Floats  # [state] the part of it that bonuses contribute under the greedy policy
    told: Floats  # [2, state] both, as predecessors have heard of them
    waiting: Flags  # [state] whether it is in the queue
    states: Small  # [state] a ring
    at: Ints  # [4] the queue's head and length; state-actions evaluated, and states solved, in all


def read_backwards(graph: Graph, distinct: DistinctSteps) -> Backwards:
    """Where steps are taken, and what leads to a state."""
    states, pairs = len(graph.first) - 1, len(graph.action)
    owner = np.repeat(np.arange(states), np.diff(graph.first)).astype(np.int32)
    by_step = np.argsort(graph.step, kind="stable")
    first_pair = np.searchsorted(graph.step[by_step], np.arange(len(distinct.first_branch)))
    origin = np.repeat(owner, distinct.branches[graph.step]) if pairs else owner
    by_next = np.argsort(graph.next, kind="stable")
    first_before = np.searchsorted(graph.next[by_next], np.arange(states + 1))
    return Backwards(first_pair, owner[by_step], first_before, origin[by_next].astype(np.int32))


def empty_queue(states: int) -> Queue:
    """Values of 0, and nothing to solve."""
    return Queue(
        v=np.zeros(states), bonus=np.zeros(states), told=np.zeros((2, states)), waiting=np.zeros(states, np.bool_),
        states=np.zeros(states, np.int32), at=np.zeros(4, np.int64),
    )  # fmt: skip


@inlined
def _join(queue: Queue, s: int) -> None:
    if s != 0 and not queue.waiting[s]:  # END is never solved
        queue.waiting[s] = True
        tail = queue.at[HEAD] + queue.at[LENGTH]
        queue.states[tail if tail < queue.states.shape[0] else tail - queue.states.shape[0]] = s
        queue.at[LENGTH] += 1


@kernel
def join_states_of(backwards: Backwards, steps: Ints, queue: Queue) -> None:
    """Let every state with one of these steps be solved again."""
    for i in range(steps.shape[0]):
        for at in range(backwards.first_pair[steps[i]], backwards.first_pair[steps[i] + 1]):
            _join(queue, backwards.state[at])


@kernel
def join_all(queue: Queue) -> None:
    """Let every state be solved again, those with the lowest numbers, from which fewest others are reached, first."""
    for s in range(1, queue.v.shape[0]):
        _join(queue, s)


@inlined
def backed_up(mdp: CountedMdp, s: int, pair: int, edge: int, gain: Floats, x: Floats, repeated: bool) -> float:
    """What a state-action earns: its step's gain, and γ times what the next states are worth according to x.

    repeated: of taking it again for as long as it leads back to s, which is the same where it is the best action.
    """
    r = mdp.graph.step[pair]
    worth, loop, first = gain[r], 0.0, mdp.distinct.first_branch[r]
    if mdp.closed[r]:
        return worth
    for j in range(mdp.distinct.branches[r]):
        weight, t = mdp.gamma * mdp.values.chance[first + j], mdp.graph.next[edge + j]
        if repeated and t == s:
            loop += weight
        else:
            worth += weight * x[t]
    return worth / (1.0 - loop)


@inlined
def best_action(mdp: CountedMdp, s: int, v: Floats) -> tuple[float, int, int]:
    """Ṽ(b, s) = max_a Q̃(b, s, a), Equation 2 of the paper, with the state-action that attains it and its first edge."""
    best, chosen, chosen_edge, edge = -np.inf, -1, -1, mdp.graph.first_edge[s]
    for pair in range(mdp.graph.first[s], mdp.graph.first[s + 1]):
        q = backed_up(mdp, s, pair, edge, mdp.values.internal, v, True)
        if q > best:
            best, chosen, chosen_edge = q, pair, edge
        edge += mdp.distinct.branches[mdp.graph.step[pair]]
    return best, chosen, chosen_edge


@inner
def _solve_state(mdp: CountedMdp, s: int, queue: Queue) -> None:
    """The value of a state, and the part of it that bonuses contribute."""
    queue.v[s], pair, edge = best_action(mdp, s, queue.v)
    queue.bonus[s] = backed_up(mdp, s, pair, edge, mdp.values.bonus, queue.bonus, True)


@kernel
def settle(mdp: CountedMdp, backwards: Backwards, queue: Queue, threshold: float, most: int) -> int:
    """Solve until the queue is empty, or too long, or that has taken so many state-actions; what of these."""
    at, told, stop, states = queue.at, queue.told, queue.at[EVALUATED] + most, queue.states.shape[0]
    while at[LENGTH] > 0:
        if at[LENGTH] > LONGEST * states:
            return TOO_LONG
        if at[EVALUATED] >= stop:
            return UNFINISHED
        s = queue.states[at[HEAD]]
        at[HEAD] = at[HEAD] + 1 if at[HEAD] + 1 < states else 0
        at[LENGTH] -= 1
        queue.waiting[s] = False
        _solve_state(mdp, s, queue)
        at[EVALUATED] += mdp.graph.first[s + 1] - mdp.graph.first[s]
        at[SOLVED] += 1
        if max(abs(queue.v[s] - told[0, s]), abs(queue.bonus[s] - told[1, s])) > threshold:
            told[0, s], told[1, s] = queue.v[s], queue.bonus[s]
            for i in range(backwards.first_before[s], backwards.first_before[s + 1]):
                _join(queue, backwards.before[i])
    return SETTLED


def all_solved(queue: Queue) -> None:
    """Empty the queue: all states have been solved, and all predecessors know their values."""
    queue.told[0], queue.told[1] = queue.v, queue.bonus
    queue.waiting[:] = False
    queue.at[LENGTH] = 0


@kernel
def pair_values(mdp: CountedMdp, s: int, queue: Queue, q: Floats, bonus: Floats) -> None:
    """Q̃ of the state-actions of s and the bonus parts, in the order of the graph."""
    edge = mdp.graph.first_edge[s]
    for i in range(mdp.graph.first[s + 1] - mdp.graph.first[s]):
        pair = mdp.graph.first[s] + i
        q[i] = backed_up(mdp, s, pair, edge, mdp.values.internal, queue.v, False)
        bonus[i] = backed_up(mdp, s, pair, edge, mdp.values.bonus, queue.bonus, False)
        edge += mdp.distinct.branches[mdp.graph.step[pair]]
