"""Policy iteration (Howard 1960) for few states: each policy is evaluated exactly, by elimination.

With few states that takes less time than a single sweep's bookkeeping, whatever γ is, where sweeps take 1/(1 − γ)
times as long. I − γP is diagonally dominant, so elimination needs no pivoting.
"""

import numpy as np

from pomdplite.compile.jit import Floats, Ints, inner, kernel
from pomdplite.mdp.counts.sweeping import EVALUATED, SOLVED, CountedMdp, Queue, backed_up

MOST_STATES = 128  # for which it is used
_MOST_POLICIES = 10_000
_BETTER = 1e-12  # relative: what an action must gain to replace another


def elimination_room(states: int) -> tuple[Floats, Ints]:
    """Space for the equations, with two right-hand sides, and the policy: a state-action and its first edge."""
    return np.zeros((states, states + 2)), np.zeros((2, states), np.int64)


@kernel
def iterate_policies(mdp: CountedMdp, queue: Queue, equations: Floats, policy: Ints) -> None:
    """Solve all states, beginning with the greedy policy of the present values."""
    states = queue.v.shape[0]
    policy[0] = -1
    for _ in range(_MOST_POLICIES):
        if not _improve(mdp, queue, policy):
            break
        _equations(mdp, equations, policy)
        _eliminate(equations)
        for s in range(1, states):
            queue.v[s], queue.bonus[s] = equations[s, states], equations[s, states + 1]
        queue.at[SOLVED] += states - 1


@inner
def _improve(mdp: CountedMdp, queue: Queue, policy: Ints) -> bool:
    """Let each state take a better action, if there is one; whether there was any."""
    graph, changed = mdp.graph, False
    for s in range(1, queue.v.shape[0]):
        best, chosen, chosen_edge, edge = -np.inf, policy[0, s], policy[1, s], graph.first_edge[s]
        if chosen >= 0:
            best = backed_up(mdp, s, chosen, chosen_edge, mdp.values.internal, queue.v, False)
            best += _BETTER * max(1.0, abs(best))
        for pair in range(graph.first[s], graph.first[s + 1]):
            q = backed_up(mdp, s, pair, edge, mdp.values.internal, queue.v, False)
            if q > best:
                best, chosen, chosen_edge = q, pair, edge
            edge += mdp.distinct.branches[graph.step[pair]]
        queue.at[EVALUATED] += graph.first[s + 1] - graph.first[s]
        if chosen != policy[0, s]:
            policy[0, s], policy[1, s] = chosen, chosen_edge
            changed = True
    return changed


@inner
def _equations(mdp: CountedMdp, equations: Floats, policy: Ints) -> None:
    """(I − γP) v = r of the policy, with rewards and bonuses, and with bonuses alone. END, state 0, has v = 0."""
    states = policy.shape[1]
    equations[:] = 0.0
    for s in range(1, states):
        r = mdp.graph.step[policy[0, s]]
        equations[s, s] = 1.0
        equations[s, states], equations[s, states + 1] = mdp.values.internal[r], mdp.values.bonus[r]
        if not mdp.closed[r]:
            for j in range(mdp.distinct.branches[r]):
                chance = mdp.values.chance[mdp.distinct.first_branch[r] + j]
                equations[s, mdp.graph.next[policy[1, s] + j]] -= mdp.gamma * chance


@inner
def _eliminate(equations: Floats) -> None:
    """Solve the equations of states 1, 2, … in place: the solutions are in the last two columns."""
    states, columns = equations.shape
    for k in range(1, states):
        for i in range(k + 1, states):
            if equations[i, k] != 0.0:
                factor = equations[i, k] / equations[k, k]
                for j in range(k + 1, columns):
                    equations[i, j] -= factor * equations[k, j]
    for k in range(states - 1, 0, -1):
        for c in range(states, columns):
            total = equations[k, c]
            for j in range(k + 1, states):
                total -= equations[k, j] * equations[j, c]
            equations[k, c] = total / equations[k, k]
