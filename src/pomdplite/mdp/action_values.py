"""Q̃ of the current state's actions once Equation 2 is solved, split into what rewards and what bonuses contribute;
and the principal variation, the actions that the agent expects to take.

The split is for people, and no decision depends on it: the bonus part of Q̃ is the value of the bonuses alone under
the greedy policy. It is computed on the states that this policy can visit.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, Small, allocating_kernel, inlined, kernel
from pomdplite.mdp.bellman import InternalMdp, action_value, first_edge_of, greedy
from pomdplite.mdp.solution import LONGEST_LINE, TIE

_MAX_SWEEPS = 10_000
_RESIDUAL = 1e-9


class BonusWorkspace(NamedTuple):
    """Arrays for the value of the bonuses, with one entry per state."""

    bonus: Floats  # value of the bonuses alone
    visited: Small  # 1 for the states collected so far; all 0 between calls


def allocate_bonus_workspace(states: int) -> BonusWorkspace:
    """Arrays for that many states."""
    return BonusWorkspace(bonus=np.zeros(states), visited=np.zeros(states, np.int32))


@allocating_kernel
def root_action_values(
    mdp: InternalMdp, root: int, pairs: Ints, v: Floats, work: BonusWorkspace
) -> tuple[Floats, Floats]:
    """Q̃ of the root's state-actions, and the part of it that bonuses contribute under the greedy policy."""
    q, part = np.zeros(pairs.shape[0]), np.zeros(pairs.shape[0])
    for i in range(pairs.shape[0]):
        q[i] = action_value(mdp, pairs[i], first_edge_of(mdp, root, pairs[i]), v)
    if mdp.beta > 0.0:
        visited = _greedy_states(mdp, root, pairs, v, work.visited)
        _bonus_values(mdp, visited, v, work.bonus)
        for i in range(pairs.shape[0]):
            edge = first_edge_of(mdp, root, pairs[i])
            r = mdp.graph.step[pairs[i]]
            part[i] = mdp.beta * mdp.values.bonus[r]
            for j in range(mdp.distinct.branches[r]):
                t = mdp.graph.next[edge + j]
                if t != 0:
                    part[i] += mdp.gamma * mdp.values.chance[mdp.distinct.first_branch[r] + j] * work.bonus[t]
        work.visited[visited] = 0
    return q, part


@allocating_kernel
def _greedy_states(mdp: InternalMdp, root: int, pairs: Ints, v: Floats, visited: Small) -> Ints:
    """The states that the greedy policy can visit after any first action, in increasing order."""
    graph, distinct = mdp.graph, mdp.distinct
    found, count = np.empty(64, np.int64), 0
    for i in range(pairs.shape[0]):
        edge = first_edge_of(mdp, root, pairs[i])
        for j in range(distinct.branches[graph.step[pairs[i]]]):
            found, count = _visit(found, count, visited, graph.next[edge + j])
    done = 0
    while done < count:
        pair, edge = greedy(mdp, found[done], v)
        for j in range(distinct.branches[graph.step[pair]]):
            found, count = _visit(found, count, visited, graph.next[edge + j])
        done += 1
    return np.sort(found[:count])


@allocating_kernel
def _visit(found: Ints, count: int, visited: Small, s: int) -> tuple[Ints, int]:
    if s == 0 or visited[s] != 0:
        return found, count
    visited[s] = 1
    if count == found.shape[0]:
        found = np.concatenate((found, np.empty_like(found)))
    found[count] = s
    return found, count + 1


@allocating_kernel
def _bonus_values(mdp: InternalMdp, visited: Ints, v: Floats, bonus: Floats) -> None:
    """The value of the bonuses alone under the greedy policy, on the visited states."""
    graph, distinct, values = mdp.graph, mdp.distinct, mdp.values
    pairs, edges = np.empty_like(visited), np.empty_like(visited)
    for i in range(visited.shape[0]):
        pairs[i], edges[i] = greedy(mdp, visited[i], v)
        bonus[visited[i]] = 0.0
    for _ in range(_MAX_SWEEPS):
        left = 0.0
        for i in range(visited.shape[0]):
            s, r = visited[i], graph.step[pairs[i]]
            total, loop = mdp.beta * values.bonus[r], 0.0
            for j in range(distinct.branches[r]):
                t = graph.next[edges[i] + j]
                chance = values.chance[distinct.first_branch[r] + j]
                if t == s:
                    loop += chance
                elif t != 0:
                    total += mdp.gamma * chance * bonus[t]
            if mdp.gamma * loop < 1.0:
                total /= 1.0 - mdp.gamma * loop
            left = max(left, abs(total - bonus[s]))
            bonus[s] = total
        if left <= _RESIDUAL:
            return


@kernel
def principal_line(mdp: InternalMdp, root: int, v: Floats, line: Small, states: Ints) -> int:
    """Write the best action of the root into `line`, then that of its likeliest next state, and so on.

    It ends at the end of the episode, at a state that has been on the way, or where `line` and `states` are full:
    the number of actions.
    """
    s, count = root, 0
    while s != 0 and count < LONGEST_LINE:
        for i in range(count):
            if states[i] == s:
                return count
        states[count] = s
        pair, edge = _first_of_the_best(mdp, s, v)
        line[count] = mdp.graph.action[pair]
        count += 1
        first = mdp.distinct.first_branch[mdp.graph.step[pair]]
        likeliest = 0
        for j in range(mdp.distinct.branches[mdp.graph.step[pair]]):
            if mdp.values.chance[first + j] > mdp.values.chance[first + likeliest]:
                likeliest = j
        s = mdp.graph.next[edge + likeliest]
    return count


@inlined
def _first_of_the_best(mdp: InternalMdp, s: int, v: Floats) -> tuple[int, int]:
    """The state-action that planners choose, and its first edge: the smallest action number among equal values."""
    graph, chosen, chosen_edge, best = mdp.graph, -1, -1, -np.inf
    for choosing in range(2):
        edge = graph.first_edge[s]
        for pair in range(graph.first[s], graph.first[s + 1]):
            q = action_value(mdp, pair, edge, v)
            if choosing == 0:
                best = max(best, q)
            elif q >= best - TIE * max(1.0, abs(best)) and (chosen < 0 or graph.action[pair] < graph.action[chosen]):
                chosen, chosen_edge = pair, edge
            edge += mdp.distinct.branches[graph.step[pair]]
    return chosen, chosen_edge
