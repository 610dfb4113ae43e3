"""Values for every x and every joint value of θ, computed for all of them at once by value iteration.

V_θ(x) is the value for an agent that knows θ. On average no planner can do better, so Σ_θ b(θ) V_θ(x) is an upper
bound on the Bayes-optimal value, the full-information upper bound; QMDP acts greedily on Σ_θ b(θ) Q_θ(x, a). The value
of a fixed policy, which takes the same action in x whatever it has observed, is a lower bound.
"""

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, inlined, kernel
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp import memory as memory_limit
from pomdplite.mdp.bellman import forever
from pomdplite.mdp.budget import NO_DEADLINE, Deadline
from pomdplite.mdp.endless import endless_worth
from pomdplite.mdp.momdp import Momdp, MomdpArrays
from pomdplite.mdp.reachable import Graph

MEMORY = 2_000_000_000  # bytes of values
_MAX_SWEEPS = 100_000
_BACKUPS = 2_000_000  # of values between two readings of the clock


def full_information_values(
    momdp: Momdp, gamma: float, *, memory: int = MEMORY, deadline: Deadline = NO_DEADLINE
) -> Floats:
    """V_θ(x) as [state, joint value]; the value of END, state 0, is 0."""
    require_room(momdp, memory)
    values = _values(momdp, every_choice(momdp), gamma, 1e-9, deadline, _zeros(momdp))
    endless = np.flatnonzero(np.isposinf(values).any(axis=1))
    if endless.size:
        r, name = momdp.reachable, momdp.view.model.name
        raise NotConvergingError(
            f"{name}: with discount {gamma:g} the value for a known θ is unbounded: a loop around "
            f"x = ({r.view.describe(r.graph.states[endless[0]])}) earns forever. Use a discount below 1, or a horizon."
        )
    return values


def require_room(momdp: Momdp, memory: int) -> None:
    """TooLargeError if the values do not fit in so many bytes."""
    r, needed = momdp.reachable, 8 * momdp.reachable.states * momdp.values
    what = f"{momdp.view.model.name}: values for every x and θ ({r.states:,} states × {momdp.values:,} values of θ)"
    if needed > memory:
        raise TooLargeError(
            f"{what} need {memory_limit.text(needed)}; the limit is {memory_limit.text(memory)} (memory)."
        )
    memory_limit.require(memory_limit.size(momdp) + needed, what, "use pomcp or despot")


def every_choice(momdp: Momdp) -> Ints:
    """The choice among all pairs of a state: choice[state, 0]:choice[state, 1]."""
    first = momdp.reachable.graph.first
    return np.column_stack([first[:-1], first[1:]])


def policy_values(momdp: Momdp, pairs: Ints, gamma: float, *, deadline: Deadline = NO_DEADLINE) -> Floats:
    """The value of the policy that takes pairs[state] in each state, as [state, joint value].

    With a discount, iteration approaches it from below, so the result is a lower bound for any tolerance. Without one,
    it is not finite where the policy earns or costs forever; sweeps alone would not find that out.
    """
    v = endless_worth(momdp, pairs, deadline) if gamma == 1.0 else _zeros(momdp)
    return _values(momdp, np.column_stack([pairs, pairs + 1]), gamma, 1e-3, deadline, v)


def repeated_action(momdp: Momdp, action: int) -> Ints:
    """The policy that takes an action wherever it is legal, and the first legal one elsewhere: pairs[state]."""
    pairs = np.zeros(momdp.reachable.states, np.int64)
    _repeat(momdp.reachable.graph, action, pairs)
    return pairs


@kernel
def _repeat(graph: Graph, action: int, pairs: Ints) -> None:
    for s in range(1, pairs.shape[0]):
        chosen = graph.first[s]
        for pair in range(graph.first[s], graph.first[s + 1]):
            number = graph.action[pair]
            if number == action or (graph.action[chosen] != action and number < graph.action[chosen]):
                chosen = pair
        pairs[s] = chosen


def _zeros(momdp: Momdp) -> Floats:
    return np.zeros((momdp.reachable.states, momdp.values))


def _values(
    momdp: Momdp, choice: Ints, gamma: float, tolerance: float, deadline: Deadline, v: Floats
) -> Floats:  # fmt: skip
    """The optimal value if each state may choose among the pairs choice[state, 0]:choice[state, 1], found in v."""
    r, name, arrays = momdp.reachable, momdp.view.model.name, momdp.arrays
    loops = np.zeros(len(arrays.graph.step), np.bool_)  # by pair: with a discount, actions that never change anything
    if gamma < 1:
        _find_loops(arrays, choice, loops)
        # Values start low and only increase, so an action that only loops needs to be considered just once.
        v[1:] = _smallest_reward(arrays, r.view.table.offsets, choice) / (1 - gamma)
        _raise_to_loop_values(arrays, choice, loops, v, gamma)
    for first, last in zip(r.components.first[1:-1], r.components.first[2:], strict=True):
        part = max(1, _BACKUPS * int(last - first) // max(1, momdp.values * int((choice[first:last] @ (-1, 1)).sum())))
        for sweep in range(_MAX_SWEEPS):
            change, starts = 0.0, range(int(first), int(last), part)
            for start in reversed(starts) if sweep % 2 == 1 else starts:
                deadline.check(f"{name}: computing the values of a known θ")
                end = min(start + part, int(last))
                change = max(change, _sweep(arrays, choice, loops, v, start, end, gamma, sweep % 2 == 1))
            if change <= tolerance:
                break
        else:
            raise NotConvergingError(
                f"{name}: with discount {gamma:g} the value for a known θ does not converge around "
                f"x = ({r.view.describe(r.graph.states[first])}): some loop earns or costs forever."
            )
    return v


@kernel
def _smallest_reward(arrays: MomdpArrays, offsets: Ints, choice: Ints) -> float:
    """The smallest reward among the choices; 0 if all are positive."""
    distinct, smallest = arrays.distinct, 0.0
    for s in range(1, choice.shape[0]):
        for pair in range(choice[s, 0], choice[s, 1]):
            r = arrays.graph.step[pair]
            for value in range(offsets[distinct.component[r] + 1] - offsets[distinct.component[r]]):
                smallest = min(smallest, distinct.pool[distinct.at[r] + value])
    return smallest


@kernel
def _find_loops(arrays: MomdpArrays, choice: Ints, loops: Flags) -> None:
    """Mark the pairs that only loop."""
    for s in range(1, choice.shape[0]):
        for pair in range(choice[s, 0], choice[s, 1]):
            loops[pair] = _only_loops(arrays, s, pair)


@inlined
def _only_loops(arrays: MomdpArrays, s: int, pair: int) -> bool:
    """Whether the action never changes x or θ."""
    joint, r = arrays.joint, arrays.graph.step[pair]
    if arrays.distinct.branches[r] > 1 or arrays.graph.next[joint.edge[pair]] != s:
        return False
    for v in range(joint.size[arrays.distinct.component[r]]):
        if joint.later[pair, v] != v:
            return False
    return True


@kernel
def _raise_to_loop_values(arrays: MomdpArrays, choice: Ints, loops: Flags, v: Floats, gamma: float) -> None:
    """Raise values to what repeating an action that only loops is worth."""
    distinct, joint = arrays.distinct, arrays.joint
    for s in range(1, v.shape[0]):
        for pair in range(choice[s, 0], choice[s, 1]):
            if loops[pair]:
                r = arrays.graph.step[pair]
                size, stride = joint.size[distinct.component[r]], joint.stride[distinct.component[r]]
                for j in range(v.shape[1]):
                    v[s, j] = max(v[s, j], forever(distinct.pool[distinct.at[r] + j // stride % size], gamma))


@kernel
def _sweep(
    arrays: MomdpArrays, choice: Ints, loops: Flags, v: Floats, first: int, last: int, gamma: float, backwards: bool
) -> float:
    """One Gauss–Seidel sweep over a component's states; the largest change."""
    change = 0.0
    for i in range(last - first):
        s = last - 1 - i if backwards else first + i
        change = max(change, _back_up(arrays, choice, loops, v, s, gamma))
    return change


@inlined
def _back_up(arrays: MomdpArrays, choice: Ints, loops: Flags, v: Floats, s: int, gamma: float) -> float:
    """V_θ(x) = max_a Q_θ(x, a) for every θ; the largest change."""
    change = 0.0
    for j in range(v.shape[1]):
        best = v[s, j] if gamma < 1.0 else -np.inf
        for pair in range(choice[s, 0], choice[s, 1]):
            if loops[pair]:
                continue
            best = max(best, full_information_q(arrays, v, s, pair, j, gamma, True))
        if best != v[s, j]:
            change = max(change, abs(best - v[s, j]))
            v[s, j] = best
    return change


@inlined
def full_information_q(
    arrays: MomdpArrays, v: Floats, s: int, pair: int, j: int, gamma: float, repeated: bool
) -> float:
    """Q_θ(x, a) for the joint value j. If `repeated`, the action is taken again for as long as nothing changes.

    Repeating makes no difference where the action is the best one, and it needs no iteration.
    """
    graph, distinct, joint = arrays.graph, arrays.distinct, arrays.joint
    r = graph.step[pair]
    size, stride = joint.size[distinct.component[r]], joint.stride[distinct.component[r]]
    value = j // stride % size
    later = j + (joint.later[pair, value] - value) * stride
    at = distinct.at[r] + value
    q, loop = distinct.pool[at], 0.0
    for branch in range(distinct.branches[r]):
        at += size
        to = graph.next[joint.edge[pair] + branch]
        if repeated and to == s and later == j:
            loop += distinct.pool[at]
        elif distinct.pool[at] > 0.0:
            q += gamma * distinct.pool[at] * v[to, later]
    if loop > 0.0:
        q = q / (1.0 - gamma * loop) if gamma * loop < 1.0 else forever(q, gamma)
    return q
