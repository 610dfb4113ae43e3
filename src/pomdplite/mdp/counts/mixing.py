"""Policy iteration (Howard 1960) for many states, used when a change has reached a good part of them.

The values of a policy solve v = r + γ P v. Sweeps v ← G(v), each state with the newest values of the others, shrink the
error along every eigenvector by its eigenvalue. The largest eigenvalue is close to γ, and its eigenvector to a
constant; where next states are scattered, all others are far smaller. Anderson's mixing (1965) of the last sweeps

    v ← Σ_i w_i G(v_i)      where Σ_i w_i = 1 and ‖Σ_i w_i (G(v_i) − v_i)‖₂ is least

removes the few eigenvectors that are slow. With two sweeps it is much like the rank-one correction of Bertsekas (1995),
with all of them it is GMRES (Walker and Ni 2011). A mix is kept only if it shrinks the largest change of a sweep by γ,
as a sweep itself does for certain.

A sweep over all actions that changes no value by more than the threshold ends it: the residual is then at most γ times
the threshold, as in sweeping.py. The bonuses of the greedy policy are evaluated in the same way at the end.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile.jit import Floats, Ints, inlined, inner, kernel
from pomdplite.mdp.counts.sweeping import EVALUATED, SOLVED, CountedMdp, Queue, backed_up, best_action

MEMORY = 8  # sweeps that are mixed with the last one
_SHARE = 0.1  # of the last improvement: to what a policy's values may still change before it is improved
_MOST_POLICIES = 100  # then sweeps over all actions go on alone, since approximate values could lead in a circle
_NEW = 1e-12  # what must be left of a sweep's square without those before it


class Mixing(NamedTuple):
    """Room for it."""

    policy: Ints  # [2, state] a state-action and its first edge
    before: Floats  # [state] v
    change: Floats  # [state] G(v) − v
    after: Floats  # [state] G(v)
    changes: Floats  # [MEMORY, state] by how much `change` changed from one sweep to the next
    afters: Floats  # [MEMORY, state] the same of `after`
    products: Floats  # [MEMORY, MEMORY] of the changes
    equations: Floats  # [MEMORY, MEMORY + 1] for the weights
    rounds: Ints  # [1] policies evaluated


def mixing_room(states: int) -> Mixing:
    """Space for this many states."""
    return Mixing(
        np.zeros((2, states), np.int64), np.zeros(states), np.zeros(states), np.zeros(states),
        np.zeros((MEMORY, states)), np.zeros((MEMORY, states)), np.zeros((MEMORY, MEMORY)),
        np.zeros((MEMORY, MEMORY + 1)), np.zeros(1, np.int64),
    )  # fmt: skip


@kernel
def mix_policies(mdp: CountedMdp, queue: Queue, room: Mixing, threshold: float, most: int) -> bool:
    """Find the best policy and its values; False if it takes more than so many state-actions: to be called again."""
    stop, pairs = queue.at[EVALUATED] + most, mdp.graph.first[queue.v.shape[0]]
    while queue.at[EVALUATED] < stop:
        change = _improve(mdp, queue.v, room.policy)
        queue.at[EVALUATED] += pairs
        queue.at[SOLVED] += queue.v.shape[0] - 1
        if change <= threshold:
            return True
        if room.rounds[0] < _MOST_POLICIES:
            room.rounds[0] += 1
            _evaluate(mdp, mdp.values.internal, queue.v, queue.at, room, max(threshold, _SHARE * change), stop)
    return False


@kernel
def mix_bonuses(mdp: CountedMdp, queue: Queue, room: Mixing, threshold: float, most: int) -> bool:
    """Find what bonuses contribute to the values of that policy; False as before."""
    return _evaluate(mdp, mdp.values.bonus, queue.bonus, queue.at, room, threshold, queue.at[EVALUATED] + most)


@inner
def _improve(mdp: CountedMdp, v: Floats, policy: Ints) -> float:
    """A sweep over all actions; returns the largest change of a value."""
    most = 0.0
    for s in range(1, v.shape[0]):
        before = v[s]
        v[s], policy[0, s], policy[1, s] = best_action(mdp, s, v)
        most = max(most, abs(v[s] - before))
    return most


@inner
def _evaluate(
    mdp: CountedMdp, gain: Floats, x: Floats, at: Ints, room: Mixing, tolerance: float, stop: int
) -> bool:  # fmt: skip
    """What the policy earns of these gains, in x, until a sweep changes nothing by more than the tolerance."""
    last, kept, mixed = np.inf, 0, False  # the largest change of the last sweep, and the sweeps in memory
    while at[EVALUATED] < stop:
        change = _sweep(mdp, gain, x, room)
        at[EVALUATED] += x.shape[0] - 1
        if change <= tolerance:
            return True
        if last < np.inf:
            _remember(x, room, kept % MEMORY, min(kept + 1, MEMORY))
            kept += 1
        if mixed and change > mdp.gamma * last:  # go on from the last sweep; what this one taught is in memory
            for s in range(x.shape[0]):
                x[s] = room.after[s]
            mixed = False
            continue
        for s in range(x.shape[0]):
            room.after[s], room.change[s] = x[s], x[s] - room.before[s]
        mixed, last = kept > 0, change
        if mixed:
            _mix(x, room, min(kept, MEMORY))
    return False


@inner
def _sweep(mdp: CountedMdp, gain: Floats, x: Floats, room: Mixing) -> float:
    """G: every state by the policy's action; returns the largest change."""
    most = 0.0
    for s in range(1, x.shape[0]):
        room.before[s] = x[s]
        x[s] = backed_up(mdp, s, room.policy[0, s], room.policy[1, s], gain, x, True)
        most = max(most, abs(x[s] - room.before[s]))
    return most


@inner
def _remember(x: Floats, room: Mixing, slot: int, kept: int) -> None:
    """Keep how this sweep differs from the last one, and its products with all that are kept."""
    for s in range(x.shape[0]):
        room.afters[slot, s] = x[s] - room.after[s]
        room.changes[slot, s] = x[s] - room.before[s] - room.change[s]
    for j in range(kept):
        product = 0.0
        for s in range(x.shape[0]):
            product += room.changes[slot, s] * room.changes[j, s]
        room.products[slot, j] = room.products[j, slot] = product


@inner
def _mix(x: Floats, room: Mixing, kept: int) -> None:
    """x ← x − Σ_j c_j afters_j with least ‖change − Σ_j c_j changes_j‖₂: the same as the mix above, in differences."""
    equations, right = room.equations, MEMORY
    for i in range(kept):
        equations[i, right] = 0.0
        for s in range(x.shape[0]):
            equations[i, right] += room.changes[i, s] * room.change[s]
        for j in range(kept):
            equations[i, j] = room.products[i, j]
    for k in range(kept):
        if not _is_new(room, k):
            continue
        for i in range(k + 1, kept):
            factor = equations[i, k] / equations[k, k]
            for j in range(k, kept):
                equations[i, j] -= factor * equations[k, j]
            equations[i, right] -= factor * equations[k, right]
    for k in range(kept - 1, -1, -1):
        for j in range(k + 1, kept):
            equations[k, right] -= equations[k, j] * equations[j, right]
        equations[k, right] = equations[k, right] / equations[k, k] if _is_new(room, k) else 0.0
        for s in range(x.shape[0]):
            x[s] -= equations[k, right] * room.afters[k, s]


@inlined
def _is_new(room: Mixing, k: int) -> bool:
    """Whether the k-th sweep in memory is no combination of those before it, so that it has a weight."""
    return room.equations[k, k] > _NEW * room.products[k, k]
