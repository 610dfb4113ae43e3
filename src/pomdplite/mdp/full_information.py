"""Values for every x and every joint value of θ, by value iteration on all at once.

V_θ(x) is what an agent can have who is told θ. No planner can have more on average, so Σ_θ b(θ) V_θ(x) bounds the
Bayes-optimal value from above; acting greedily on Σ_θ b(θ) Q_θ(x, a) is QMDP. The same for an agent who always does
what a fixed policy says in x, whatever it has seen, bounds it from below.
"""

import numpy as np

from pomdplite.compile.jit import Floats, Ints, inlined, kernel
from pomdplite.errors import NotConvergingError, TooLargeError
from pomdplite.mdp.bellman import for_ever
from pomdplite.mdp.distinct_steps import DistinctSteps
from pomdplite.mdp.momdp import Joint, Momdp
from pomdplite.mdp.reachable import Graph

MEMORY = 2_000_000_000  # bytes of values
_MOST_SWEEPS = 100_000


def full_information_values(momdp: Momdp, gamma: float, *, tolerance: float = 1e-9, memory: int = MEMORY) -> Floats:
    """V_θ(x) as [state, joint value]; END, state 0, is worth nothing."""
    first = momdp.reachable.graph.first
    return _values(momdp, np.column_stack([first[:-1], first[1:]]), gamma, tolerance, memory)


def policy_values(momdp: Momdp, pairs: Ints, gamma: float, *, tolerance: float = 1e-3, memory: int = MEMORY) -> Floats:
    """The value of a policy that takes pairs[state] in each state, as [state, joint value].

    With a discount it is reached from below, so that it is a bound whatever the tolerance.
    """
    return _values(momdp, np.column_stack([pairs, pairs + 1]), gamma, tolerance, memory)


def repeated_action(momdp: Momdp, action: int) -> Ints:
    """The policy that repeats an action where it is legal and takes the first legal one where not: pairs[state]."""
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


def _values(momdp: Momdp, choice: Ints, gamma: float, tolerance: float, memory: int) -> Floats:
    """The best value where each state may choose among the pairs from choice[state, 0] to choice[state, 1]."""
    r, name = momdp.reachable, momdp.view.model.name
    needed = 8 * r.states * momdp.values
    if needed > memory:
        raise TooLargeError(
            f"{name}: values for every x and θ are {r.states:,} states × {momdp.values:,} values of θ, "
            f"{needed / 1e9:.1f} GB, more than the {memory / 1e9:.1f} GB allowed."
        )
    v = np.zeros((r.states, momdp.values))
    if gamma < 1:
        # From below and never down: then an action that only loops need be looked at once.
        v[1:] = _least(r.graph, r.distinct, r.view.table.offsets, choice) / (1 - gamma)
        _looping(r.graph, r.distinct, momdp.joint, choice, v, gamma)
    for first, last in zip(r.components.first[1:-1], r.components.first[2:], strict=True):
        for sweep in range(_MOST_SWEEPS):
            change = _sweep(r.graph, r.distinct, momdp.joint, choice, v, int(first), int(last), gamma, sweep % 2 == 1)
            if change <= tolerance:
                break
        else:
            raise NotConvergingError(
                f"{name}: with discount {gamma:g} the value of x for a known θ does not settle around "
                f"x = ({r.view.describe(r.graph.states[first])}): some loop earns, or costs, for ever."
            )
    return v


@kernel
def _least(graph: Graph, distinct: DistinctSteps, offsets: Ints, choice: Ints) -> float:
    """The smallest reward that may be chosen; 0 if all are positive."""
    least = 0.0
    for s in range(1, choice.shape[0]):
        for pair in range(choice[s, 0], choice[s, 1]):
            r = graph.step[pair]
            for value in range(offsets[distinct.component[r] + 1] - offsets[distinct.component[r]]):
                least = min(least, distinct.pool[distinct.at[r] + value])
    return least


@inlined
def only_loops(graph: Graph, distinct: DistinctSteps, joint: Joint, s: int, pair: int) -> bool:
    """Whether the action leaves x and θ as they are."""
    r = graph.step[pair]
    if distinct.branches[r] > 1 or graph.next[joint.edge[pair]] != s:
        return False
    for v in range(joint.size[distinct.component[r]]):
        if joint.later[pair, v] != v:
            return False
    return True


@kernel
def _looping(graph: Graph, distinct: DistinctSteps, joint: Joint, choice: Ints, v: Floats, gamma: float) -> None:
    """At least what repeating an action that only loops is worth."""
    for s in range(1, v.shape[0]):
        for pair in range(choice[s, 0], choice[s, 1]):
            if only_loops(graph, distinct, joint, s, pair):
                r = graph.step[pair]
                size, stride = joint.size[distinct.component[r]], joint.stride[distinct.component[r]]
                for j in range(v.shape[1]):
                    v[s, j] = max(v[s, j], for_ever(distinct.pool[distinct.at[r] + j // stride % size], gamma))


@kernel
def _sweep(
    graph: Graph, distinct: DistinctSteps, joint: Joint, choice: Ints, v: Floats, first: int, last: int, gamma: float,
    backwards: bool,
) -> float:  # fmt: skip
    """One Gauss–Seidel sweep of a component's states; the largest change."""
    change = 0.0
    for i in range(last - first):
        s = last - 1 - i if backwards else first + i
        change = max(change, _back_up(graph, distinct, joint, choice, v, s, gamma))
    return change


@inlined
def _back_up(
    graph: Graph, distinct: DistinctSteps, joint: Joint, choice: Ints, v: Floats, s: int, gamma: float
) -> float:
    count = v.shape[1]
    change = 0.0
    for j in range(count):
        best = v[s, j] if gamma < 1.0 else -np.inf
        for pair in range(choice[s, 0], choice[s, 1]):
            if gamma < 1.0 and graph.next[joint.edge[pair]] == s and only_loops(graph, distinct, joint, s, pair):
                continue
            best = max(best, full_information_q(graph, distinct, joint, v, s, pair, j, gamma, True))
        if best != v[s, j]:
            change = max(change, abs(best - v[s, j]))
            v[s, j] = best
    return change


@inlined
def full_information_q(
    graph: Graph,
    distinct: DistinctSteps,
    joint: Joint,
    v: Floats,
    s: int,
    pair: int,
    j: int,
    gamma: float,
    repeated: bool,
) -> float:
    """Q_θ(x, a) for the joint value j; `repeated`: if nothing changes, the action is taken again until something does.

    Where it is the best action that is the same, and needs no iteration.
    """
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
        q = q / (1.0 - gamma * loop) if gamma * loop < 1.0 else for_ever(q, gamma)
    return q
