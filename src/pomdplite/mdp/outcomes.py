"""The outcomes of (s, a): the one derivation from T, Z, R and φ that beliefs, graphs and searches share.

s = (x, maps): the observed state and, where θ changes, the map from the initial value of each component to its present
one (second half of Theorem 1), so that the belief can stay about initial values.
"""

from typing import NamedTuple

import numpy as np

from pomdplite.compile import abi
from pomdplite.compile.abi import KernelModel
from pomdplite.compile.faults import FaultKind
from pomdplite.compile.jit import Floats, Ints, Words, inlined
from pomdplite.mdp import memory
from pomdplite.mdp.observation_rows import ObservationRows, allocate_observation_rows, observation_row

FULL = -1  # no room for another next state; returned in place of a count
_DOMAIN = int(FaultKind.DOMAIN)


class Outcomes(NamedTuple):
    """The outcomes of one (s, a) for each of the n initial values of the component that it depends on."""

    reward: Floats  # [n]
    next: Words  # [k, s_words] the distinct next states
    chance: Floats  # [k, n] P(s' | θ, s, a)
    likelihood: Floats  # [e, n] P(s', o | θ, s, a)
    branch: Ints  # [e] the number of the next state
    seen: Ints  # [e] the observation
    # scratch
    present: Ints  # [n] row of the value before the step
    later: Ints  # [n] row of the value after it
    y: Words  # [next_states, x_words + z_words] a reading lies behind the state in which it was taken
    p: Floats  # [next_states]
    rows: ObservationRows  # of Z
    theta: Words  # [1, theta_words]
    here: Words  # [1, s_words] the state of a rollout
    past: Words  # [1, theta_words] θ along a history
    other: Words  # [1, theta_words] a θ kept aside
    noise: Floats  # [random numbers of a step or of a reading]


def allocate_outcomes(model: KernelModel, branches: int) -> Outcomes:
    """Room for up to this many distinct next states."""
    n = int(np.max(np.diff(model.offsets)))
    pairs = branches * (model.observations + 1)
    memory.require(
        8 * ((branches + pairs) * (n + 2) + branches * model.s_words),
        f"listing what may follow an action ({branches:,} next states × {model.observations:,} observations × {n:,} "
        "values of θ)", "declare fewer observations or hidden values",
    )  # fmt: skip
    theta_words = model.theta.shape[1]
    return Outcomes(
        reward=np.zeros(n),
        next=np.zeros((branches, model.s_words), np.uint64),
        chance=np.zeros((branches, n)),
        likelihood=np.zeros((pairs, n)),
        branch=np.zeros(pairs, np.int64),
        seen=np.zeros(pairs, np.int64),
        present=np.zeros(n, np.int64),
        later=np.zeros(n, np.int64),
        y=np.zeros((model.next_states, model.x_words + model.z_words), np.uint64),
        p=np.zeros(model.next_states),
        rows=allocate_observation_rows(model),
        theta=np.zeros((1, theta_words), np.uint64),
        here=np.zeros((1, model.s_words), np.uint64),
        past=np.zeros((1, theta_words), np.uint64),
        other=np.zeros((1, theta_words), np.uint64),
        noise=np.zeros(max(1, model.noise.numbers, model.reading.numbers)),
    )


@inlined
def present_row(model: KernelModel, states: Words, s: int, component: int, row: int) -> int:
    """The row of the present value of a component whose initial value has this row; the same row if s has no maps."""
    if model.s_words == model.x_words or component == model.offsets.shape[0] - 2 or ruled_out(model, row):
        return row
    held = states[s, model.map_word[row]] >> model.map_shift[row]
    return model.offsets[component] + np.int64(held & model.map_mask[component])


@inlined
def ruled_out(model: KernelModel, row: int) -> bool:
    """Whether the prior rules out the initial value of this row: states do not hold what has become of it."""
    return model.s_words > model.x_words and model.map_word[row] < 0


@inlined
def row_of(model: KernelModel, component: int, theta: Words, guess: int) -> int:
    """The row of the component's value in this record of θ; -1 if it is not one of its values."""
    first, last = model.offsets[component], model.offsets[component + 1]
    for i in range(first - 1, last):
        row = guess if i < first else i
        same = True
        for w in range(theta.shape[1]):
            if model.theta[row, w] != theta[0, w]:
                same = False
        if same:
            return row
    return -1


@inlined
def outcomes(model: KernelModel, states: Words, s: int, a: int, out: Outcomes) -> tuple[int, int, int]:
    """Fill `out` for (states[s], a): (component, number of next states k, number of (next state, observation) pairs e).

    k is FULL if `out` has no room. A fault in the model is on record, and `out` then holds harmless numbers.
    """
    component = abi.depends(model, states, s, a)
    first = model.offsets[component]
    n = model.offsets[component + 1] - first
    evolving = model.evolves and component < model.offsets.shape[0] - 2
    for v in range(n):
        out.present[v] = present_row(model, states, s, component, first + v)
        out.later[v] = out.present[v]
        if evolving and not ruled_out(model, first + v):
            abi.evolve(model, states, s, model.theta, out.present[v], a, out.theta)
            # Values often move by the same number of rows, so look first after where the last one went.
            guess = min(out.later[v - 1] + 1, first + n - 1) if v > 0 else out.present[v]
            out.later[v] = row_of(model, component, out.theta, guess)
            if out.later[v] < 0:
                abi.note_fault(model, _DOMAIN, abi.EVOLVE, states, s, model.theta, out.present[v], a)
                out.later[v] = out.present[v]
        out.reward[v] = abi.reward(model, states, s, model.theta, out.present[v], a)
    k = distinct_next_states(model, states, s, a, n, out)
    if k == FULL:
        return component, FULL, 0
    if evolving and model.s_words > model.x_words:
        advance_maps(model, component, k, out)
    return component, k, _split_by_observation(model, a, n, k, out)


@inlined
def distinct_next_states(model: KernelModel, states: Words, s: int, a: int, n: int, out: Outcomes) -> int:
    """T: the distinct next states, with maps as before, and their probability under each value; how many, or FULL."""
    k = 0
    for v in range(n):
        count = abi.transition(model, states, s, model.theta, out.present[v], a, out.y, out.p)
        if model.z_words > 0:
            abi.make_room(model, out.y, count)
        for i in range(count):
            if out.p[i] == 0.0:
                continue
            j = 0
            while j < k:
                same = True
                for w in range(model.x_words):
                    if out.next[j, w] != out.y[i, w]:
                        same = False
                if same:
                    break
                j += 1
            if j == k:
                if k == out.next.shape[0]:
                    return FULL
                k += 1
                for u in range(n):
                    out.chance[j, u] = 0.0
                for w in range(model.s_words):
                    out.next[j, w] = out.y[i, w] if w < model.x_words else states[s, w]
            out.chance[j, v] += out.p[i]
    return k


@inlined
def advance_maps(model: KernelModel, component: int, k: int, out: Outcomes) -> None:
    """φ: let the maps of the next states lead to the later values of the component."""
    first = model.offsets[component]
    for v in range(model.offsets[component + 1] - first):
        if ruled_out(model, first + v):
            continue
        word, shift = model.map_word[first + v], model.map_shift[first + v]
        value = np.uint64(out.later[v] - first)
        for j in range(k):
            cleared = out.next[j, word] & ~(model.map_mask[component] << shift)
            out.next[j, word] = cleared | (value << shift)


@inlined
def _split_by_observation(model: KernelModel, a: int, n: int, k: int, out: Outcomes) -> int:
    """Z: the possible pairs (next state, observation) and their likelihood under each value; how many."""
    if model.z_words > 0:  # readings are not listed: next states alone are told apart
        for j in range(k):
            out.branch[j], out.seen[j] = j, 0
            for v in range(n):
                out.likelihood[j, v] = out.chance[j, v]
        return k
    e = 0
    for j in range(k):
        base = e
        for v in range(n):
            if out.chance[j, v] == 0.0:
                for o in range(model.observations + 1):
                    out.likelihood[base + o, v] = 0.0
                continue
            first = observation_row(model, out.next, j, model.theta, out.later[v], a, out.rows)
            for o in range(model.observations + 1):
                out.likelihood[base + o, v] = out.chance[j, v] * out.rows.z[first + o]
        for o in range(model.observations + 1):
            possible = False
            for v in range(n):
                if out.likelihood[base + o, v] != 0.0:
                    possible = True
                    break
            if possible:
                out.branch[e] = j
                out.seen[e] = o
                if e != base + o:
                    for v in range(n):
                        out.likelihood[e, v] = out.likelihood[base + o, v]
                e += 1
    return e
