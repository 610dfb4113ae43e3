"""Loops that earn or cost forever without discount, found where value iteration does not converge."""

import numpy as np

from pomdplite.compile.jit import Flags, Floats, Ints, allocating_kernel, inlined, inner
from pomdplite.errors import NotConvergingError
from pomdplite.mdp.bellman import InternalMdp, greedy
from pomdplite.mdp.reachable import Reachable

_POWER_ITERATIONS = 2000


def not_converging_error(
    reachable: Reachable, mdp: InternalMdp, component: int, v: Floats, max_sweeps: int
) -> NotConvergingError:
    """The error for a component that does not converge; it names a loop that earns or costs forever."""
    first, last = reachable.components.first[component : component + 2]
    state, pair, gain = unbounded_loop(mdp, first, last, v)
    model, where = reachable.view.model, reachable.view.describe(mdp.graph.states[state])
    if pair >= 0 and gain > 0:
        r = mdp.graph.step[pair]
        parts = f"reward {mdp.values.reward[r]:g}, bonus {mdp.beta * mdp.values.bonus[r]:g}"
        return NotConvergingError(
            f"{model.name}: with discount {mdp.gamma:g} the value is unbounded: from x = ({where}) a loop that starts "
            f"with {model.actions[mdp.graph.action[pair]]!r} ({parts}) earns {gain:g} per step forever. "
            "Use a discount below 1, beta=0 if the bonus is the cause, or a model in which the loop has a cost."
        )
    if pair >= 0 and gain < 0:
        return NotConvergingError(
            f"{model.name}: with discount {mdp.gamma:g} the value is unbounded below: from x = ({where}) no legal "
            "action leads towards a terminal state, and every step costs. Use a discount below 1, or add a way to "
            "reach a terminal state."
        )
    return NotConvergingError(
        f"{model.name}: value iteration did not converge within {max_sweeps:,} sweeps around x = ({where}) with "
        f"discount {mdp.gamma:g}; use a smaller discount or a larger tolerance."
    )


@inner
def no_way_out(mdp: InternalMdp, first: int, last: int, v: Floats) -> bool:
    """Whether no action earns anything inside the component or leads out of it to a value other than -inf."""
    graph, distinct, values = mdp.graph, mdp.distinct, mdp.values
    for s in range(first, last):
        edge = graph.first_edge[s]
        for pair in range(graph.first[s], graph.first[s + 1]):
            k = distinct.branches[graph.step[pair]]
            inside = values.internal[graph.step[pair]] < 0.0
            doomed = False  # an action that may end in a trap is no way out
            for j in range(k):
                t = graph.next[edge + j]
                if values.chance[distinct.first_branch[graph.step[pair]] + j] > 0.0:
                    if v[t] == -np.inf:
                        doomed = True
                    elif t < first or t >= last:
                        inside = False
            if not inside and not doomed:
                return False
            edge += k
    return True


@allocating_kernel
def unbounded_loop(mdp: InternalMdp, first: int, last: int, v: Floats) -> tuple[int, int, float]:
    """(state, state-action, mean reward per step) of a loop in a component that the greedy policy never leaves."""
    state, pair = _earning_self_loop(mdp, first, last)
    if pair >= 0:
        return state, pair, mdp.values.internal[mdp.graph.step[pair]]
    n = last - first
    pairs, edges = np.empty(n, np.int64), np.empty(n, np.int64)
    for i in range(n):
        pairs[i], edges[i] = greedy(mdp, first + i, v)
    inside = np.ones(n, np.bool_)
    while _remove_leaving(mdp, first, pairs, edges, inside):
        pass
    if not np.any(inside):
        return first, -1, 0.0
    # The stationary distribution of the (lazy) chain, by power iteration.
    weight = inside / inside.sum()
    for _ in range(_POWER_ITERATIONS):
        flow = 0.5 * weight
        _add_flow(mdp, first, pairs, edges, weight, flow)
        weight = flow
    gain = 0.0
    for i in range(n):
        gain += weight[i] * mdp.values.internal[mdp.graph.step[pairs[i]]]
    most = int(np.argmax(weight))
    return first + most, pairs[most], gain


@inlined
def _earning_self_loop(mdp: InternalMdp, first: int, last: int) -> tuple[int, int]:
    """A state and an action that stays in it and earns, without discount; -1 if there is none."""
    graph = mdp.graph
    for s in range(first, last):
        edge = graph.split_edge[s]
        for pair in range(graph.split[s], graph.first[s + 1]):
            k = mdp.distinct.branches[graph.step[pair]]
            if k == 1 and graph.next[edge] == s and mdp.values.internal[graph.step[pair]] > 0.0 and mdp.gamma == 1.0:
                return s, pair
            edge += k
    return -1, -1


@inner
def _remove_leaving(mdp: InternalMdp, first: int, pairs: Ints, edges: Ints, inside: Flags) -> bool:
    """Remove the states from which the greedy action may leave `inside`; whether there were any."""
    removed = False
    for i in range(inside.shape[0]):
        if inside[i]:
            r = mdp.graph.step[pairs[i]]
            for j in range(mdp.distinct.branches[r]):
                t = mdp.graph.next[edges[i] + j] - first
                if mdp.values.chance[mdp.distinct.first_branch[r] + j] > 0.0:
                    if t < 0 or t >= inside.shape[0] or not inside[t]:
                        inside[i] = False
                        removed = True
    return removed


@inner
def _add_flow(mdp: InternalMdp, first: int, pairs: Ints, edges: Ints, weight: Floats, flow: Floats) -> None:
    """Add half of every state's probability to its next states under the greedy policy."""
    for i in range(weight.shape[0]):
        if weight[i] > 0.0:
            r = mdp.graph.step[pairs[i]]
            for j in range(mdp.distinct.branches[r]):
                chance = mdp.values.chance[mdp.distinct.first_branch[r] + j]
                if chance > 0.0:
                    flow[mdp.graph.next[edges[i] + j] - first] += 0.5 * chance * weight[i]
